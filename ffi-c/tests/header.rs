//! The checked-in header is what the sources give.
//!
//! `make header` runs this with FERROMCP_WRITE=1, which writes the file instead of comparing it.

use std::path::Path;
use std::{env, fs};

#[test]
fn the_header_is_up_to_date() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = crate_dir.join("include/ferromcp.h");
    let wanted = generate(crate_dir);
    if env::var_os("FERROMCP_WRITE").is_some() {
        fs::write(&path, wanted).expect("the header's folder is writable");
        return;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    if found != wanted {
        let line = found.lines().zip(wanted.lines()).position(|(found, wanted)| found != wanted);
        let line = line.unwrap_or_else(|| found.lines().count().min(wanted.lines().count()));
        panic!("include/ferromcp.h differs from line {} on; run `make header`", line + 1);
    }
}

/// The header's text, with the version macros made from the crate's version.
fn generate(crate_dir: &Path) -> String {
    let mut config = cbindgen::Config::from_file(crate_dir.join("cbindgen.toml")).expect("cbindgen.toml is valid");
    config.after_includes = Some(format!(
        "\n/* The version of this header. */\n\
         #define FMCP_VERSION \"{}\"\n#define FMCP_VERSION_MAJOR {}\n#define FMCP_VERSION_MINOR {}\n#define FMCP_VERSION_PATCH {}",
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    ));
    let bindings = cbindgen::Builder::new().with_crate(crate_dir).with_config(config).generate();
    let mut text = Vec::new();
    bindings.expect("the exports can be said in C").write(&mut text);
    String::from_utf8(text).expect("cbindgen writes UTF-8")
}
