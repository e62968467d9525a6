//! What stands round a server's handlers: where tasks are kept, and what is allowed.

use super::Server;
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::text::Text;
use runtime::TaskStoreOption;
use runtime::middleware::policy::Policy;

/// Says where tasks are kept: "memory", which is the default, in this process alone; "sqlite:PATH", a file that survives it and
/// that processes of one machine may share; "redis://HOST:PORT/DATABASE", a server for many machines. The server must not
/// run yet. The store is opened when it starts, which fails with FMCP_STATUS_TASK_STORE where that can't be done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_set_task_store(server: *mut Server, url: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let (server, url) = unsafe { (handle::required(server, "server")?, handle::text(url, "url")?) };
        server.set(|declared| {
            declared.task_store = match url {
                "memory" => TaskStoreOption::Memory,
                url => TaskStoreOption::Url(url.to_owned()),
            };
        })
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Sets limits, timeouts and the audit log of calls, in the place of an earlier policy. The server must not run yet. What can't
/// be is refused here or when it starts, which is also when the audit log is opened.
///
/// \param policy a JSON object with any of `rateLimits`, `concurrency`, `timeouts` and `audit`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_set_policy(server: *mut Server, policy: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let (server, policy) = unsafe { (handle::required(server, "server")?, handle::text(policy, "policy")?) };
        let policy = Policy::from_json(policy)?;
        server.set(|declared| declared.policy = Some(policy))
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}
