//! Raw pointers become references here, and in no other file.
//!
//! Two kinds of handle exist. One that a caller owns alone is a `Box`, given away by [`give`] and taken back by [`free`].
//! One that has several owners (a call: the library's, and whoever keeps it) is an `Arc`, counted by [`share`],
//! [`retain`] and [`release`]. In between either is only read, or changed behind a lock of its own, so any number of
//! threads may use one at the same time.

use crate::error::Error;
use crate::text::Text;
use std::ffi::{CStr, c_char};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::slice;
use std::sync::Arc;

/// Puts `value` on the heap, writes the pointer to `out`, and leaves the caller as its owner.
///
/// # Safety
/// `out` is not null and points to a writable pointer.
pub(crate) unsafe fn give<T>(out: *mut *mut T, value: T) {
    let owned = Box::into_raw(Box::new(value));
    // SAFETY: writable, by the contract above; what it held before is the caller's and may be uninitialized.
    unsafe { out.write(owned) };
}

/// The same as [`give`], and does nothing when the caller did not ask for the value.
///
/// # Safety
/// `out` is null or points to a writable pointer.
pub(crate) unsafe fn give_if_wanted<T>(out: *mut *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: not null, so writable by the contract above.
        unsafe { give(out, value) };
    }
}

/// Writes a value of C's own to `out`.
///
/// # Safety
/// `out` is not null and points to a writable `T`.
pub(crate) unsafe fn put<T: Copy>(out: *mut T, value: T) {
    // SAFETY: writable, by the contract above.
    unsafe { out.write(value) };
}

/// The object behind a handle, or None for null.
///
/// # Safety
/// `handle` is null, or came from here and was not freed; it is not freed while the reference is used.
pub(crate) unsafe fn borrow<'a, T>(handle: *const T) -> Option<&'a T> {
    // SAFETY: by the contract above.
    unsafe { handle.as_ref() }
}

/// The object behind a handle that must be there; `what` is the parameter's name.
///
/// # Safety
/// As [`borrow`].
pub(crate) unsafe fn required<'a, T>(handle: *const T, what: &str) -> Result<&'a T, Error> {
    // SAFETY: passed on from our caller.
    unsafe { borrow(handle) }.ok_or_else(|| Error::argument(format!("{what} is NULL")))
}

/// Refuses a null pointer for a result; `what` is the parameter's name.
pub(crate) fn wanted<T>(out: *mut T, what: &str) -> Result<(), Error> {
    if out.is_null() { Err(Error::argument(format!("{what} is NULL"))) } else { Ok(()) }
}

/// Takes a handle back and drops the object; null does nothing.
///
/// # Safety
/// `handle` is null, or came from [`give`], was not freed before, and nobody uses it any more.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: it came from `Box::into_raw` in `give`, and this is its only return.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// A handle to what somebody else holds a share of.
pub(crate) fn peek<T>(value: &Arc<T>) -> *mut T {
    Arc::as_ptr(value).cast_mut()
}

/// Adds a share to a handle; null does nothing.
///
/// # Safety
/// `handle` is null, or came from [`peek`] and a share of it is still held.
pub(crate) unsafe fn retain<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: it points into a live `Arc` by the contract above.
        unsafe { Arc::increment_strong_count(handle) };
    }
}

/// Gives a share back; the last one drops the object. Null does nothing.
///
/// # Safety
/// `handle` is null, or the caller holds a share of it and does not use it any more.
pub(crate) unsafe fn release<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: it points into a live `Arc`, one share of which is the caller's.
        drop(unsafe { Arc::from_raw(handle) });
    }
}

/// The caller's bytes, or array. A null pointer is fine for a length of zero, and None for any other.
///
/// # Safety
/// `data` is null, or points to `len` readable values that do not change while the slice is used.
pub(crate) unsafe fn array<'a, T>(data: *const T, len: usize) -> Option<&'a [T]> {
    if len == 0 {
        return Some(&[]);
    }
    let size = len.checked_mul(size_of::<T>())?;
    if data.is_null() || isize::try_from(size).is_err() {
        return None;
    }
    // SAFETY: not null, and `len` readable values by the contract above; no object is larger than isize::MAX.
    Some(unsafe { slice::from_raw_parts(data, len) })
}

/// A text of the caller's that may be missing; `what` is the parameter's name.
///
/// # Safety
/// `text.data` is null, or points to `text.len` readable bytes that do not change while the result is used.
pub(crate) unsafe fn optional_text<'a>(text: Text, what: &str) -> Result<Option<&'a str>, Error> {
    if text.data.is_null() {
        return if text.len == 0 { Ok(None) } else { Err(Error::argument(format!("{what}: data is NULL"))) };
    }
    // SAFETY: passed on from our caller.
    let bytes = unsafe { array(text.data.cast(), text.len) };
    let bytes = bytes.ok_or_else(|| Error::argument(format!("{what}: len is larger than any object")))?;
    let text = std::str::from_utf8(bytes).map_err(|error| Error::argument(format!("{what}: {error}")))?;
    Ok(Some(text))
}

/// A text of the caller's that must be there; `what` is the parameter's name.
///
/// # Safety
/// As [`optional_text`].
pub(crate) unsafe fn text<'a>(text: Text, what: &str) -> Result<&'a str, Error> {
    // SAFETY: passed on from our caller.
    unsafe { optional_text(text, what) }?.ok_or_else(|| Error::argument(format!("{what} is NULL")))
}

/// Bytes of the caller's in the shape of a text, of any encoding; none are empty ones. `what` is the parameter's name.
///
/// # Safety
/// As [`optional_text`].
pub(crate) unsafe fn bytes<'a>(text: Text, what: &str) -> Result<&'a [u8], Error> {
    // SAFETY: passed on from our caller.
    let bytes = unsafe { array(text.data.cast(), text.len) };
    bytes.ok_or_else(|| Error::argument(format!("{what}: data is NULL, or len larger than any object")))
}

/// The text of a zero-terminated string, without its zero; [`Text::NONE`] for null.
///
/// # Safety
/// `terminated` is null or points to a zero-terminated string.
pub(crate) unsafe fn text_of(terminated: *const c_char) -> Text {
    if terminated.is_null() {
        return Text::NONE;
    }
    // SAFETY: zero-terminated, by the contract above.
    let len = unsafe { CStr::from_ptr(terminated) }.count_bytes();
    Text { data: terminated, len }
}

/// A descriptor of our own for what the caller's stands for. One that is not open is refused by the system.
pub(crate) fn duplicate(descriptor: i32) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: not -1; it is looked at for the duplicate alone, which fails where it is not open.
    unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn null_and_absurd_lengths_are_refused() {
        let byte = 7u8;
        // SAFETY: null, zero and absurd lengths are never read.
        unsafe {
            assert_eq!(array(ptr::null::<u8>(), 0), Some(&[][..]));
            assert_eq!(array(ptr::null::<u8>(), 1), None);
            assert_eq!(array(&byte, usize::MAX), None);
            assert_eq!(array(ptr::from_ref(&byte).cast::<u64>(), usize::MAX / 2), None);
            assert_eq!(array(&byte, 1), Some(&[7][..]));
            assert!(borrow(ptr::null::<u8>()).is_none());
            free(ptr::null_mut::<u8>());
            retain(ptr::null_mut::<u8>());
            release(ptr::null_mut::<u8>());
        }
    }

    #[test]
    fn a_text_is_there_or_not_and_is_utf8() {
        // SAFETY: the texts are static, and null is never read.
        unsafe {
            assert_eq!(optional_text(Text::NONE, "x").expect("none is fine"), None);
            assert_eq!(optional_text(Text::of(""), "x").expect("empty is fine"), Some(""));
            assert_eq!(text(Text::NONE, "x").expect_err("it must be there").text, "x is NULL");
            let lies = Text { data: ptr::null(), len: 1 };
            assert_eq!(optional_text(lies, "x").expect_err("no bytes are there").text, "x: data is NULL");
            let bytes = Text { data: b"\xff".as_ptr().cast(), len: 1 };
            assert!(text(bytes, "x").expect_err("no UTF-8").text.starts_with("x: invalid utf-8"));
            assert_eq!(text(text_of(c"seven".as_ptr()), "x").expect("UTF-8"), "seven");
        }
    }

    #[test]
    fn shares_are_counted() {
        let value = Arc::new(7);
        let handle = peek(&value);
        // SAFETY: each share is given back once.
        unsafe {
            retain(handle);
            retain(handle);
            assert_eq!(Arc::strong_count(&value), 3);
            release(handle);
            release(handle);
        }
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
