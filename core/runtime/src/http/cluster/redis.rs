//! Nodes that meet on a Redis or Valkey server, by its channels. Nothing is kept there.
//!
//! A node has a channel of its own and one for all. It listens on one connection, with a thread, and publishes on another,
//! so that what it sends keeps its order. A connection that breaks is opened again, later each time.

use super::BEAT;
use super::bus::{Bus, Inbox, Seat};
use redis::{Client, Connection, RedisResult, cmd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long the server may take to accept a connection, or to answer. 5 s: it takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(5);

/// Silence after which a connection is taken for broken. Every node hears itself in each [`BEAT`].
const SILENCE: Duration = Duration::from_secs(5 * BEAT.as_secs());

/// How long to wait before a connection is opened again: twice as long each time, from the first to the second. 100 ms, 5 s.
const AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// A bus on a Redis or Valkey server.
pub struct RedisBus {
    client: Client,
    prefix: String,
}

impl RedisBus {
    /// Those with the same `name` meet. `url` is `redis://[user:password@]host[:port][/database]` or `unix:///path`; channels
    /// are the same in all databases of a server. Nothing is sent yet.
    ///
    /// # Errors
    /// In words, where the URL is wrong.
    pub fn new(url: &str, name: &str) -> Result<Self, String> {
        let client = Client::open(url).map_err(|error| error.to_string())?;
        // The number is that of the frames: nodes that speak otherwise don't hear each other.
        Ok(Self { client, prefix: format!("{{{name}}}:cluster1:") })
    }
}

impl Bus for RedisBus {
    fn join(&self, node: &str, inbox: Inbox) -> Result<Box<dyn Seat>, String> {
        let own = format!("{}node:{node}", self.prefix);
        let all = format!("{}all", self.prefix);
        let leaving = Arc::new(Leaving::default());
        let ears = Ears {
            client: self.client.clone(),
            channels: [own.clone(), all.clone()],
            inbox,
            leaving: Arc::clone(&leaving),
        };
        let thread = std::thread::Builder::new().name("ferromcp-cluster-in".into());
        thread.spawn(move || ears.listen()).map_err(|error| error.to_string())?;
        let client = self.client.clone();
        Ok(Box::new(Mouth { client, connection: None, prefix: self.prefix.clone(), own, all, leaving }))
    }
}

#[derive(Default)]
struct Leaving {
    left: Mutex<bool>,
    signal: Condvar,
}

impl Leaving {
    fn leave(&self) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.signal.notify_all();
    }

    /// Waits; true: the node has left.
    fn wait(&self, time: Duration) -> bool {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *self.signal.wait_timeout_while(left, time, |left| !*left).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The thread that listens.
struct Ears {
    client: Client,
    channels: [String; 2],
    inbox: Inbox,
    leaving: Arc<Leaving>,
}

impl Ears {
    fn listen(&self) {
        let mut again = AGAIN.0;
        loop {
            let heard = self.hear(&mut again);
            if self.leaving.wait(Duration::ZERO) {
                return;
            }
            if let Err(error) = heard {
                self.inbox.down(&error.to_string());
            }
            if self.leaving.wait(again) {
                return;
            }
            again = (again * 2).min(AGAIN.1);
        }
    }

    /// Listens until the node leaves, or the connection breaks.
    fn hear(&self, again: &mut Duration) -> RedisResult<()> {
        let mut connection = connect(&self.client, SILENCE)?;
        let mut listening = connection.as_pubsub();
        for channel in &self.channels {
            listening.subscribe(channel)?;
        }
        self.inbox.up();
        *again = AGAIN.0;
        while !self.leaving.wait(Duration::ZERO) {
            self.inbox.put(listening.get_message()?.get_payload()?);
        }
        Ok(())
    }
}

/// The connection that publishes.
struct Mouth {
    client: Client,
    connection: Option<Connection>,
    prefix: String,
    own: String,
    all: String,
    leaving: Arc<Leaving>,
}

impl Mouth {
    fn publish(&mut self, channel: &str, frame: &[u8]) -> Result<bool, String> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(&self.client, PATIENCE).map_err(|error| error.to_string())?,
        };
        let received: RedisResult<u64> = cmd("PUBLISH").arg(channel).arg(frame).query(&mut connection);
        let received = received.map_err(|error| error.to_string())?;
        self.connection = Some(connection);
        Ok(received > 0)
    }
}

impl Seat for Mouth {
    fn send(&mut self, node: &str, frame: &[u8]) -> Result<bool, String> {
        let channel = format!("{}node:{node}", self.prefix);
        self.publish(&channel, frame)
    }

    fn send_all(&mut self, frame: &[u8]) -> Result<(), String> {
        let all = self.all.clone();
        self.publish(&all, frame).map(drop)
    }
}

impl Drop for Mouth {
    fn drop(&mut self) {
        self.leaving.leave();
        // So that the thread that listens wakes up. If it does not hear this, it sees in some seconds that nothing comes.
        let own = self.own.clone();
        let _ = self.publish(&own, b"");
    }
}

fn connect(client: &Client, read_timeout: Duration) -> RedisResult<Connection> {
    let connection = client.get_connection_with_timeout(PATIENCE)?;
    connection.set_read_timeout(Some(read_timeout))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    Ok(connection)
}
