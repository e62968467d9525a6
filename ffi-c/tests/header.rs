//! The checked-in header, and the list of symbols, are what the sources give.
//!
//! `make header` runs this with FERROMCP_WRITE=1, which writes the files instead of comparing them. Whether the library
//! exports just these symbols, tests/run.sh asks the library.

use ferromcp_engine::error::code;
use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

/// What a handler may fail with; the rest is the engine's own.
const CODES: [(&str, i64); 3] = [
    ("INVALID_REQUEST", code::INVALID_REQUEST),
    ("INVALID_PARAMS", code::INVALID_PARAMS),
    ("INTERNAL_ERROR", code::INTERNAL_ERROR),
];

#[test]
fn the_header_is_up_to_date() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = generate(crate_dir);
    compare(&crate_dir.join("symbols.txt"), &symbols(&header));
    compare(&crate_dir.join("include/ferromcp.h"), &header);
}

/// Compares a checked-in file with what it should be, or writes it.
fn compare(path: &Path, wanted: &str) {
    if env::var_os("FERROMCP_WRITE").is_some() {
        return fs::write(path, wanted).expect("the crate's folder is writable");
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    if found != wanted {
        let line = found.lines().zip(wanted.lines()).position(|(found, wanted)| found != wanted);
        let line = line.unwrap_or_else(|| found.lines().count().min(wanted.lines().count()));
        panic!("{} differs from line {} on; run `make header`", path.display(), line + 1);
    }
}

/// The functions that the header declares, one a line, sorted: what the library may export.
fn symbols(header: &str) -> String {
    let starts =
        |line: &&str| line.starts_with(|first: char| first.is_ascii_lowercase()) && !line.starts_with("typedef");
    let name = |line: &str| {
        let (before, _) = line.split_once('(')?;
        before.rsplit([' ', '*']).next().filter(|name| name.starts_with("fmcp_")).map(str::to_owned)
    };
    let names: BTreeSet<_> = header.lines().filter(starts).filter_map(name).collect();
    names.into_iter().map(|name| name + "\n").collect()
}

/// The header's text, with the version macros made from the crate's version.
fn generate(crate_dir: &Path) -> String {
    let mut config = cbindgen::Config::from_file(crate_dir.join("cbindgen.toml")).expect("cbindgen.toml is valid");
    let codes: String = CODES.iter().map(|(name, code)| format!("\n#define FMCP_CODE_{name} ({code})")).collect();
    config.after_includes = Some(format!(
        "\n/* The version of this header. */\n\
         #define FMCP_VERSION \"{}\"\n#define FMCP_VERSION_MAJOR {}\n#define FMCP_VERSION_MINOR {}\n#define FMCP_VERSION_PATCH {}\n\
         \n/* Codes of errors that handlers have a use for, as JSON-RPC numbers them. */{codes}",
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    ));
    // After the types, because it is made of one.
    config.trailer = Some("/* No text. */\n#define FMCP_NONE fmcp_text_of(NULL)".to_owned());
    let bindings = cbindgen::Builder::new().with_crate(crate_dir).with_config(config).generate();
    let mut text = Vec::new();
    bindings.expect("the exports can be said in C").write(&mut text);
    String::from_utf8(text).expect("cbindgen writes UTF-8")
}
