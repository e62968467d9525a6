//! The Model Context Protocol without I/O.
//!
//! Everything that the specification rules is decided here: framing, JSON-RPC, which revision applies, what each method
//! needs, what each peer may be sent. Nothing here reads a clock, opens a socket or starts a thread.
//!
//! # The contract
//!
//! 1. [`Server::open`] a stream for each peer.
//! 2. Give the server what happens: [`Server::receive`] bytes, [`Server::end_of_input`], [`Server::closed`].
//! 3. **After every input and every command take all outputs: [`Server::poll_output`] until it gives `None`.** Send what
//!    is [`Output::Transmit`], do what is [`Output::Event`].
//! 4. Answer each [`Event::Call`] once, at any later time, with [`Server::respond`] or [`Server::fail`].
//! 5. Call [`Server::handle_timeout`] when [`Server::poll_timeout`] is reached.
//!
//! Time is in milliseconds on a monotonic clock whose origin the caller chooses. Breaking the contract gives a
//! [`LocalError`] and changes nothing; what a peer does wrong is answered to the peer.
//!
//! ```
//! use ferromcp_engine::{Event, Output, Reply, Server, ServerConfig};
//!
//! let mut server = Server::new(ServerConfig::new("demo", "1.0"))?;
//! server.add_tool(r#"{"name":"hello","inputSchema":{"type":"object"}}"#, 7, 0)?;
//! let peer = server.open(0);
//! let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","_meta":{
//!     "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
//! server.receive(peer, request.replace('\n', " ").as_bytes(), 0)?;
//! server.receive(peer, b"\n", 0)?;
//!
//! let mut sent = Vec::new();
//! while let Some(output) = server.poll_output() {
//!     match output {
//!         Output::Transmit { bytes, .. } => sent.extend(bytes),
//!         Output::Event(Event::Call(call)) => {
//!             let content = r#"[{"type":"text","text":"hello"}]"#;
//!             let reply = Reply::Tool { content, structured: None, is_error: false, meta: None };
//!             server.respond(call.key, reply, 0)?;
//!         }
//!         Output::Event(_) | Output::Unanswered { .. } => {}
//!     }
//! }
//! assert!(String::from_utf8_lossy(&sent).contains(r#""text":"hello""#));
//! # Ok::<(), ferromcp_engine::LocalError>(())
//! ```

#![forbid(unsafe_code)]

mod entropy;
pub mod error;
pub mod framing;
pub mod http;
pub mod jsonrpc;
mod lifecycle;
mod limits;
pub mod model;
pub mod schema;
mod server;
pub mod tasks;
pub mod testing;
mod wire;

pub use entropy::Entropy;
pub use error::{LocalError, PeerError};
pub use limits::Limits;
pub use model::{Capability, LogLevel};
pub use server::{
    AnswerFacts, AnswerKind, AskKey, Asked, CacheHints, CacheScope, Call, CallLimits, CancelReason, CapabilityConfig,
    CatalogueKind, Diagnostic, DiagnosticKind, Event, InputRequest, ListKind, Millis, OutgoingError, OutgoingKey,
    Output, OutputValidation, Reentry, Reply, RequestKey, Sent, Server, ServerConfig, StateKey, StoreKey, StreamId,
    Target, TasksConfig, Watch,
};
pub use wire::{Era, Revision};
