//! The operating system's random bytes, for the engine.

use ferromcp_engine::Entropy;

/// Bytes that nobody can guess, new ones in a forked child too.
///
/// # Panics
/// When the operating system has none: what would be sealed or named with something else would be no secret.
pub fn system() -> impl Entropy {
    |bytes: &mut [u8]| getrandom::fill(bytes).expect("the operating system has random bytes")
}
