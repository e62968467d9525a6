//! Options of a server's input, output and threads, each with the reason for its default.

use crate::http::cluster::Bus;
use crate::middleware::Middleware;
use crate::store::TaskStoreOption;
use ferromcp_engine::{Diagnostic, LocalError};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Where diagnostics go instead of stderr.
pub type DiagnosticHook = Arc<dyn Fn(&Diagnostic) + Send + Sync>;

/// How a server reads, writes, and runs calls.
#[derive(Clone)]
pub struct ServeOptions {
    /// Threads at most, at least 2. 64: each blocked call holds one, and a client that has 62 blocked calls waiting is
    /// waiting for its own tools. One thread of these never runs calls when all others do, so that protocol requests
    /// and cancellation are always served; further calls wait their turn.
    pub max_threads: usize,
    /// How long a call may run before another thread takes over reading and the calls behind it; in a stream of quick
    /// calls it may get twice as long. 250 us: several times a quick call, so that those stay on one thread, and not
    /// noticeable as a delay of the others.
    pub takeover_after: Duration,
    /// Bytes of unsent answers from which on nothing more is read, until the client has taken half of them. 16 MiB: a
    /// few large results, so that an honest client never meets it.
    pub high_water: usize,
    /// How long the last answers may take to be written, after the last call is answered or given up. 5 s: as long as
    /// calls get to finish ([`ferromcp_engine::Limits::drain_ms`]). A client that has gone away does not make us wait
    /// at all.
    pub linger: Duration,
    /// Stack of each thread. 8 MiB: what a main thread has, for host code that was written with that in mind. Only what
    /// is touched costs memory.
    pub stack_bytes: usize,
    /// Whether every message is written to stderr, with credentials hidden. None: when the environment variable
    /// `MCP_DEBUG` is set to anything but `0`.
    pub debug: Option<bool>,
    /// How many messages [`crate::Endpoint::recent`] keeps. 0: copying each message is a measurable part of a quick
    /// call; 64 is a good number where dumps are wanted.
    pub recent: usize,
    /// Takes every diagnostic. None: stderr gets the first of each kind.
    pub diagnostics: Option<DiagnosticHook>,
    /// Where tasks are kept. In memory: a server that is to find them after a restart has to say where.
    pub task_store: TaskStoreOption,
    /// The bus on which this server meets others that serve the same clients over HTTP, where it is none that
    /// [`HttpConfig::cluster`](ferromcp_engine::http::HttpConfig::cluster) can name.
    pub cluster: Option<Arc<dyn Bus>>,
    /// What stands round every call of host code, the outermost first. None: that costs nothing. What
    /// [`crate::middleware::policy::Policy::build`] gives belongs here.
    pub middleware: Vec<Arc<dyn Middleware>>,
    /// Name of the threads, as debuggers show it.
    pub thread_name: String,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            max_threads: 64,
            takeover_after: Duration::from_micros(250),
            high_water: 16 << 20,
            linger: Duration::from_secs(5),
            stack_bytes: 8 << 20,
            debug: None,
            recent: 0,
            diagnostics: None,
            task_store: TaskStoreOption::Memory,
            cluster: None,
            middleware: Vec::new(),
            thread_name: "ferromcp".into(),
        }
    }
}

impl ServeOptions {
    /// Whether messages are to be traced.
    pub(crate) fn traced(&self) -> bool {
        self.debug
            .unwrap_or_else(|| std::env::var_os("MCP_DEBUG").is_some_and(|value| !value.is_empty() && value != "0"))
    }
}

impl fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServeOptions")
            .field("max_threads", &self.max_threads)
            .field("takeover_after", &self.takeover_after)
            .field("high_water", &self.high_water)
            .field("linger", &self.linger)
            .field("stack_bytes", &self.stack_bytes)
            .field("debug", &self.debug)
            .field("recent", &self.recent)
            .field("diagnostics", &self.diagnostics.is_some())
            .field("task_store", &self.task_store)
            .field("cluster", &self.cluster.is_some())
            .field("middleware", &self.middleware.len())
            .field("thread_name", &self.thread_name)
            .finish()
    }
}

/// Why a server can't start, go on, or take a command.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something.
    Io(io::Error),
    /// A command broke the engine's contract.
    Engine(LocalError),
    /// This process was forked from the one that serves. Neither the descriptors nor the threads are the child's.
    Forked,
    /// Descriptors 0 and 1 serve another server of this process already.
    StdioTaken,
    /// The store of tasks can't be opened; the text says why.
    TaskStore(String),
    /// Code of the host panicked on one of our threads, outside of what it guards itself, or refused to let one in.
    Panicked,
}

impl Error {
    /// The same error for another caller.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Io(error) => {
                Self::Io(error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error))
            }
            Self::Engine(error) => Self::Engine(error.clone()),
            Self::TaskStore(reason) => Self::TaskStore(reason.clone()),
            Self::Forked => Self::Forked,
            Self::StdioTaken => Self::StdioTaken,
            Self::Panicked => Self::Panicked,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "input or output: {error}"),
            Self::Engine(error) => error.fmt(f),
            Self::Forked => write!(f, "the server belongs to the process that started it, not to this forked child"),
            Self::TaskStore(reason) => write!(f, "store of tasks: {reason}"),
            Self::StdioTaken => write!(f, "standard input and output already serve another server of this process"),
            Self::Panicked => write!(f, "host code panicked on a thread of the server"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Engine(error) => Some(error),
            Self::TaskStore(_) | Self::Forked | Self::StdioTaken | Self::Panicked => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<LocalError> for Error {
    fn from(error: LocalError) -> Self {
        Self::Engine(error)
    }
}
