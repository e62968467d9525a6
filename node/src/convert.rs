//! What crosses into JavaScript and back: the only file that names JavaScript's value types.

use napi::bindgen_prelude::{Either, Uint8Array};

/// A text from JavaScript: a string, or the UTF-8 bytes of one as they came from a pipe.
pub(crate) type Text = Either<String, Uint8Array>;

/// The bytes of a text, without a copy.
pub(crate) fn bytes(text: &Text) -> &[u8] {
    match text {
        Either::A(text) => text.as_bytes(),
        Either::B(bytes) => bytes,
    }
}
