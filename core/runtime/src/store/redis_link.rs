//! Connections to a Redis server: opened when they are needed, kept for the next command, given up when they break.

use super::Process;
use ferromcp_engine::tasks::StoreError;
use redis::{Client, Connection, RedisError, RedisResult};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a server may take to accept a connection, or to answer. 5 s: commands take less than a millisecond, and a client
/// that waits for its task should hear before it gives up.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long after a server came back others may need to be heard of again. 3 s: they try every second, and a loaded machine is
/// slower.
const SETTLING: Duration = Duration::from_secs(3);

/// Connections that are kept. 16: more threads at once are rare, and open their own.
const MOST_IDLE: usize = 16;

/// Whether a command that may have reached the server can be sent once more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Twice is the same as once.
    Harmless,
    /// Twice would be wrong.
    Never,
}

/// The way to one server.
pub(super) struct Link {
    process: Process,
    client: Client,
    idle: Mutex<Vec<Connection>>,
    opened: Mutex<Opened>,
}

/// What is known of connections that were opened.
#[derive(Default)]
struct Opened {
    any: bool,
    /// When one was opened that took the place of another.
    again: Option<Instant>,
}

impl Link {
    /// A way to the server that the URL names. Nothing is sent yet.
    pub(super) fn new(url: &str) -> Result<Self, StoreError> {
        Ok(Self {
            process: Process::this(),
            client: Client::open(url).map_err(failure)?,
            idle: Mutex::default(),
            opened: Mutex::default(),
        })
    }

    /// Runs commands on a connection. One that was idle may have been closed by the server in the meantime; where that does no
    /// harm the commands are then sent again on a new one.
    pub(super) fn run<T>(
        &self,
        repeat: Repeat,
        commands: impl Fn(&mut Connection) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        self.process.check()?;
        let kept = self.idle().pop();
        if let Some(connection) = kept {
            match self.on(connection, &commands) {
                Err(error) if repeat == Repeat::Harmless && error.is_connection_dropped() => {
                    // The others are no younger.
                    self.idle().clear();
                }
                done => return done.map_err(failure),
            }
        }
        let connection = self.client.get_connection_with_timeout(PATIENCE).and_then(|connection| {
            connection.set_read_timeout(Some(PATIENCE))?;
            connection.set_write_timeout(Some(PATIENCE))?;
            Ok(connection)
        });
        let connection = connection.map_err(failure)?;
        let mut opened = self.opened();
        if opened.any {
            opened.again = Some(Instant::now());
        }
        opened.any = true;
        drop(opened);
        self.on(connection, &commands).map_err(failure)
    }

    /// Whether the server was away a moment ago: then nobody could be heard of, however alive.
    pub(super) fn is_settling(&self) -> bool {
        self.opened().again.is_some_and(|again| again.elapsed() < SETTLING)
    }

    fn on<T>(
        &self,
        mut connection: Connection,
        commands: impl Fn(&mut Connection) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let done = commands(&mut connection);
        // After a time-out an answer may still come, and would be taken for the next one's.
        let sound = done.as_ref().err().is_none_or(|error| !error.is_io_error() && !error.is_unrecoverable_error());
        let mut idle = self.idle();
        if sound && idle.len() < MOST_IDLE {
            idle.push(connection);
        }
        done
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> MutexGuard<'_, Opened> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failure(error: RedisError) -> StoreError {
    StoreError::Unavailable(error.to_string())
}
