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
fn tasks() {
    run("tasks", drivers::tasks);
    // Whatever the inputs above do not come to.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..1_500 {
        let mut data = Vec::with_capacity(160);
        while data.len() < 160 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            data.extend(state.to_le_bytes());
        }
        drivers::tasks(&data);
    }
}

#[test]
fn schema() {
    run("schema", drivers::schema);
}

#[test]
fn template() {
    run("template", drivers::template);
}
