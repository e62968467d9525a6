//! Text across the border: a pointer and a length.

use crate::guard;
use crate::handle;
use std::ffi::c_char;
use std::ptr;

/// A piece of UTF-8 text: from the library it belongs to the object that it was asked from, into the library it stays
/// yours. `data` is not terminated by a zero byte, and is NULL where there is no text (which is not the same as an empty
/// text).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// The first byte, or NULL.
    pub data: *const c_char,
    /// The number of bytes.
    pub len: usize,
}

impl Text {
    /// No text.
    pub(crate) const NONE: Self = Self { data: ptr::null(), len: 0 };

    /// A view of `text`, which must outlive it; the header ties that to the object's life.
    pub(crate) fn of(text: &str) -> Self {
        Self { data: text.as_ptr().cast(), len: text.len() }
    }

    /// A view of `text`, or [`Text::NONE`].
    pub(crate) fn of_option(text: Option<&str>) -> Self {
        text.map_or(Self::NONE, Self::of)
    }
}

/// A zero-terminated string as a text, without its zero; no text for NULL. It points to the string, which stays yours.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_text_of(terminated: *const c_char) -> Text {
    // SAFETY: null or zero-terminated, by the header's contract.
    guard::value(Text::NONE, || unsafe { handle::text_of(terminated) })
}
