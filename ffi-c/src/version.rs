//! Which library this is.

use std::ffi::{CStr, c_char};

/// The version as C sees it. `env!` ends where the version ends, so the zero byte is added here.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version holds no zero byte"),
};

/// The version of the library that is running, as "MAJOR.MINOR.PATCH" with a terminating zero. Compare it with
/// FMCP_VERSION, the version of the header that the program was compiled with. The text lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn fmcp_version() -> *const c_char {
    VERSION.as_ptr()
}
