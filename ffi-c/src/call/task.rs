//! Calls that are tasks: their answers are fetched later.

use super::Call;
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::text::Text;

/// The id of the task that this call is; none where it is none, or over. A call is one from its beginning where its tool's
/// definition says so (`execution.taskSupport`) and its client takes tasks, or becomes one by fmcp_call_begin_task(). Lives as
/// long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_task_id(call: *const Call) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live call or null, by the header's contract.
        Text::of_option(unsafe { handle::borrow(call) }.and_then(Call::task_id))
    })
}

/// Turns the call of a tool into a task: its client gets the task for an answer, and fetches the result when the handler has
/// answered. What has to be asked of the client first is best asked before. In the ready-made loop this waits until the task is
/// kept. In a loop of your own it returns at once, and FMCP_EVENT_TASK_BEGUN tells what has come of it. The server has to offer
/// tasks: one of its tools may be one by its definition, or the configuration's `capabilities` say
/// `"extensions":{"io.modelcontextprotocol/tasks":{}}`.
///
/// \param begun where to write whether the call is a task now (in a loop of your own: whether the event will come); required.
///              False: its client takes no tasks, or is of revision 2025-11-25, where clients alone ask for them; the server
///              offers none; or the call is a task already, or over. Then it goes on as it is
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_begin_task(call: *mut Call, begun: *mut bool, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live call or null, by the header's contract.
        let call = unsafe { handle::required(call, "call") }?;
        handle::wanted(begun, "begun")?;
        let is_begun = call.line.begin_task(call.request.key)?;
        // SAFETY: checked for null above, and writable by the header's contract.
        unsafe { handle::put(begun, is_begun) };
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

impl Call {
    fn task_id(&self) -> Option<&str> {
        if self.task_id.get().is_none()
            && let Some(id) = self.line.task_id(self.request.key)
        {
            // Another thread may have been quicker, with the same.
            let _ = self.task_id.set(id);
        }
        self.task_id.get().map(String::as_str)
    }
}
