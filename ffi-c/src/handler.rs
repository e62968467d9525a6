//! C functions as handlers: a function, what it is called with, and who destroys that.

use crate::call::Call;
use crate::error::Error;
use crate::handle;
use std::ffi::c_void;
use std::sync::Arc;

/// Answers a call, now or later. It may block: other requests go on meanwhile. It runs on threads of the library's, on
/// several at once. The call is the library's until the handler returns; fmcp_call_retain() makes it the handler's too.
pub type CallHandler = Option<unsafe extern "C" fn(call: *mut Call, user_data: *mut c_void)>;

/// Called once with user data that is not needed any more, on any thread.
pub type Destroy = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// A pointer of the caller's, and the function that ends its life.
#[derive(Debug)]
pub(crate) struct UserData {
    pub(crate) pointer: *mut c_void,
    destroy: Destroy,
}

// SAFETY: the header says that handlers, and so what they are called with, are used on any thread.
unsafe impl Send for UserData {}
// SAFETY: as above, and on several at once.
unsafe impl Sync for UserData {}

impl UserData {
    pub(crate) fn new(pointer: *mut c_void, destroy: Destroy) -> Self {
        Self { pointer, destroy }
    }

    /// Leaves the pointer to the caller, because the function that should have taken it over fails.
    pub(crate) fn give_back(&mut self) {
        self.destroy = None;
    }
}

impl Drop for UserData {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            // SAFETY: the caller's function with the caller's pointer; this is its only call.
            unsafe { destroy(self.pointer) };
        }
    }
}

/// What answers calls.
#[derive(Debug)]
pub(crate) struct Handler {
    function: unsafe extern "C" fn(*mut Call, *mut c_void),
    pub(crate) user_data: UserData,
}

impl Handler {
    /// Refuses a missing function, and leaves the user data to the caller then.
    pub(crate) fn new(function: CallHandler, user_data: *mut c_void, destroy: Destroy) -> Result<Self, Error> {
        let function = function.ok_or_else(|| Error::argument("handler is NULL"))?;
        Ok(Self { function, user_data: UserData::new(user_data, destroy) })
    }

    /// Runs it. The call lives at least until it returns.
    pub(crate) fn run(&self, call: &Arc<Call>) {
        // SAFETY: the caller's function with the caller's pointer, and a call that `call` holds alive.
        unsafe { (self.function)(handle::peek(call), self.user_data.pointer) };
    }
}
