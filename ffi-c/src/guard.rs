//! The boundary that no panic crosses.
//!
//! Unwinding into C is undefined, so the body of every export is a closure that runs in here. What a caught panic turns
//! into depends on the export: an error with [`Status::Panic`] where it can report one, else the value that means
//! "nothing".

use crate::error::{Error, Status};
use crate::handle;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of an export that can fail. On failure the error goes to `err` when the caller gave a place for it.
///
/// # Safety
/// `err` is null or points to a writable `fmcp_error *`.
pub(crate) unsafe fn status(err: *mut *mut Error, body: impl FnOnce() -> Result<(), Error>) -> Status {
    // The closure's captures are not looked at again after a panic, so a broken invariant in them has no witness.
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let error = match outcome {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(error)) => error,
        Err(panic) => Error::panic(text_of(&*panic)),
    };
    let status = error.status;
    // SAFETY: passed on from our caller.
    unsafe { handle::give_if_wanted(err, error) };
    status
}

/// Runs the body of an export that can't report an error; a panic gives `fallback`.
pub(crate) fn value<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(fallback)
}

/// What a panic said, as far as it is text.
fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn a_panic_becomes_an_error_with_its_text() {
        let mut err = ptr::null_mut();
        // SAFETY: `err` is a local pointer.
        let status = unsafe { status(&mut err, || panic!("on purpose {}", 7)) };
        assert_eq!(status, Status::Panic);
        // SAFETY: the guard has just written it.
        let error = unsafe { handle::borrow(err) }.expect("an error was given");
        assert_eq!((error.status, error.text.as_str()), (Status::Panic, "on purpose 7"));
        // SAFETY: it is ours and was not freed.
        unsafe { handle::free(err) };
    }

    #[test]
    fn nobody_has_to_take_the_error() {
        // SAFETY: null is allowed.
        let status = unsafe { status(ptr::null_mut(), || Err(Error::argument("x"))) };
        assert_eq!(status, Status::InvalidArgument);
    }

    #[test]
    fn a_panic_gives_the_fallback() {
        assert_eq!(value(-1, || panic!("on purpose")), -1);
        assert_eq!(value(-1, || 2), 2);
    }
}
