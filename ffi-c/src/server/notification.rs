//! Notifications of extensions, and what is told of them.

use super::Server;
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::handler::{Destroy, UserData};
use crate::text::Text;
use std::ffi::c_void;
use std::sync::Arc;

/// Is told of a notification. `params` is the JSON text of an object, or none, and lives until the function returns. It runs on
/// the thread that reads, so it must return soon.
pub type NotificationHandler = Option<unsafe extern "C" fn(params: Text, user_data: *mut c_void)>;

/// What is told of the notifications of one method.
#[derive(Debug)]
pub(super) struct Listener {
    function: unsafe extern "C" fn(Text, *mut c_void),
    user_data: UserData,
}

impl Listener {
    /// Refuses a missing function, and leaves the user data to the caller then.
    fn new(function: NotificationHandler, user_data: *mut c_void, destroy: Destroy) -> Result<Self, Error> {
        let function = function.ok_or_else(|| Error::argument("handler is NULL"))?;
        Ok(Self { function, user_data: UserData::new(user_data, destroy) })
    }

    pub(super) fn tell(&self, params: Option<&str>) {
        // SAFETY: the caller's function with the caller's pointer, and a text that outlives the call.
        unsafe { (self.function)(Text::of_option(params), self.user_data.pointer) };
    }
}

/// Sets what is told of each notification of a method that is none of MCP, as extensions bring them. In the place of an earlier
/// one of this method, which is destroyed. At any time.
///
/// \param method    the notification's method
/// \param handler   what is told; required
/// \param user_data passed to the handler; taken over on FMCP_STATUS_OK only
/// \param destroy   called with user_data when the server is freed and the handler does not run any more; or NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_on_notification(
    server: *mut Server,
    method: Text,
    handler: NotificationHandler,
    user_data: *mut c_void,
    destroy: Destroy,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let (server, method) = unsafe { (handle::required(server, "server")?, handle::text(method, "method")?) };
        let listener = Arc::new(Listener::new(handler, user_data, destroy)?);
        let before = server.registry.write().listeners.insert(method.to_owned(), listener);
        // Its end may run code of the caller's, which may use the server.
        drop(before);
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}
