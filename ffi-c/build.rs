//! Gives the shared library the name by which programs that link to it will look for it.
//!
//! The number comes from the workspace's version and from nowhere else. Before 1.0 every minor version may change the
//! ABI, so the name carries both numbers (`libferromcp.so.0.1`); from 1.0 on it carries the major number alone.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let part = |name: &str| env::var(format!("CARGO_PKG_VERSION_{name}")).unwrap_or_default();
    let (major, minor) = (part("MAJOR"), part("MINOR"));
    let abi = if major == "0" { format!("0.{minor}") } else { major };
    match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libferromcp.{abi}.dylib");
        }
        Ok("windows") => {} // A DLL carries no such name.
        _ => println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libferromcp.so.{abi}"),
    }
}
