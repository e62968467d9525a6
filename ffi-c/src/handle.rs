//! Raw pointers become references here, and in no other file.
//!
//! Every handle that a caller holds is a `Box` given away by [`give`] and taken back by [`free`]. In between it is only
//! read: the objects are immutable, so any number of threads may read one at the same time.

use std::slice;

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

/// The object behind a handle, or None for null.
///
/// # Safety
/// `handle` is null, or came from [`give`] and was not freed; it is not freed while the reference is used.
pub(crate) unsafe fn borrow<'a, T>(handle: *const T) -> Option<&'a T> {
    // SAFETY: by the contract above.
    unsafe { handle.as_ref() }
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

/// The caller's bytes. A null pointer is fine for a length of zero, and None for any other.
///
/// # Safety
/// `data` is null, or points to `len` readable bytes that do not change while the slice is used.
pub(crate) unsafe fn bytes<'a>(data: *const u8, len: usize) -> Option<&'a [u8]> {
    if len == 0 {
        return Some(&[]);
    }
    if data.is_null() || isize::try_from(len).is_err() {
        return None;
    }
    // SAFETY: not null, and `len` readable bytes by the contract above; no object is larger than isize::MAX.
    Some(unsafe { slice::from_raw_parts(data, len) })
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
            assert_eq!(bytes(ptr::null(), 0), Some(&[][..]));
            assert_eq!(bytes(ptr::null(), 1), None);
            assert_eq!(bytes(&byte, usize::MAX), None);
            assert_eq!(bytes(&byte, 1), Some(&[7][..]));
            assert!(borrow(ptr::null::<u8>()).is_none());
            free(ptr::null_mut::<u8>());
        }
    }
}
