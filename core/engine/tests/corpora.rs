//! The fuzz targets over the inputs that are checked in, and over some seconds' worth of made-up ones.

#![allow(clippy::disallowed_methods, reason = "the engine reads no files; this test reads its inputs")]

#[path = "../fuzz/drivers/mod.rs"]
mod drivers;

use std::path::Path;

fn run(name: &str, driver: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut inputs = 0;
    for entry in std::fs::read_dir(&folder).expect("a corpus") {
        let data = std::fs::read(entry.expect("a file").path()).expect("readable");
        driver(&data);
        // The same input with each eighth of it gone, and turned round.
        for part in 0..8 {
            let at = data.len() * part / 8;
            let mut changed = data.clone();
            changed.drain(at..data.len() * (part + 1) / 8);
            driver(&changed);
            let by = at.min(changed.len());
            changed.rotate_left(by);
            driver(&changed);
        }
        inputs += 1;
    }
    assert!(inputs > 0, "{} holds no input", folder.display());
}

#[test]
fn bytes() {
    run("bytes", drivers::bytes);
}

#[test]
fn sequence() {
    run("sequence", drivers::sequence);
}

#[test]
fn schema() {
    run("schema", drivers::schema);
}

#[test]
fn template() {
    run("template", drivers::template);
}
