//! MCP servers in Rust: the FerroMCP engine with its input, output and threads.
//!
//! [`Server`] is the door for Rust programs: give it closures, call [`Server::run_stdio`]. Doors of other languages sit
//! one floor below: they implement [`Host`] and start an engine of their own with [`start_stdio`].
//!
//! # How a call is served
//!
//! 1. One thread, the leader, waits for input, reads it, and feeds the engine ([`engine`]), which decides everything
//!    that the protocol rules.
//! 2. What the engine answers by itself (`ping`, lists, errors, ...) is written at once, before any host code is
//!    entered.
//! 3. **Calls are then run on the same thread, one after another**; their answers are gathered and written with one
//!    system call when the queue is empty, more than 64 KiB are ready, or 200 us have passed.
//! 4. When a call has not returned within 250 us, another thread takes over: it writes the answers that are there,
//!    reads on, and runs the calls behind. The blocked call goes on, and answers when it is done.
//! 5. When the client closes its side, calls in flight get some seconds; then [`Serving::wait`] returns.
//!
//! No thread exists before a server is started, and a second one comes only when something might block. After a fork
//! the child gets [`Error::Forked`] from every command; the server goes on in the parent. The child holds nothing of the
//! wire: its descriptors lead to `/dev/null` there.
//!
//! # Platforms
//!
//! Unix. A port to Windows writes `sys.rs` (waiting, timer) and `stdio.rs` (taking over the standard handles) anew, and
//! passes handles where descriptors are passed now; who leads, who runs and when output is written stays as it is.

#![deny(unsafe_code)]

pub mod apps;
mod asking;
mod call;
mod completion;
mod context;
mod debug;
mod endpoint;
mod entropy;
mod extension;
mod handlers;
pub mod http;
pub mod middleware;
mod options;
mod outbox;
mod pool;
mod questions;
mod redact;
mod server;
mod serving;
mod state;
mod stdio;
pub mod store;
mod sys;
mod task;
mod turns;
mod watch;

pub use ferromcp_engine as engine;
pub use ferromcp_engine::{InputRequest, LogLevel, PeerError};

pub use asking::{Answered, Answers};
pub use call::{PromptCall, PromptOutput, ResourceCall, ResourceOutput, ToolCall, ToolError, ToolOutput};
pub use completion::{CompletionCall, CompletionOutput};
pub use context::Context;
pub use endpoint::{Deferred, Endpoint};
pub use entropy::system as system_entropy;
pub use extension::MethodCall;
pub use http::HttpOptions;
pub use middleware::{Middleware, TraceContext};
pub use options::{DiagnosticHook, Error, ServeOptions};
pub use pool::{CallQueue, Host};
pub use questions::{AskError, Asking, Elicited, Root};
pub use server::Server;
pub use serving::Serving;
pub use state::{EndReason, Ended};
pub use stdio::{start_fds, start_stdio};
pub use store::TaskStoreOption;
