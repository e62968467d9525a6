//! What carries frames from node to node, and what a node has received.

use super::Job;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes of frames that wait for a node's thread. 64 MiB: what a node gets is bounded for each exchange, so that only one that
/// hangs gets there.
const MOST_WAITING: usize = 64 << 20;

/// What carries frames from node to node. Between two nodes frames arrive in the order in which they were sent; what does not
/// arrive is told ([`Inbox::down`]). Whoever can send or read here is trusted.
pub trait Bus: Send + Sync {
    /// Begins to receive what is for `node`, and what is for all.
    ///
    /// # Errors
    /// In words. A place that can't be reached now is none: it is tried again, and told by [`Inbox::down`].
    fn join(&self, node: &str, inbox: Inbox) -> Result<Box<dyn Seat>, String>;
}

/// A node's place on a bus. Dropping it leaves.
pub trait Seat: Send {
    /// Sends to one node. False: none of this name receives.
    ///
    /// # Errors
    /// In words, where nobody knows whether the frame has arrived.
    fn send(&mut self, node: &str, frame: &[u8]) -> Result<bool, String>;

    /// Sends to every node, also to this one.
    ///
    /// # Errors
    /// As [`Seat::send`].
    fn send_all(&mut self, frame: &[u8]) -> Result<(), String>;
}

/// Where a bus puts what has arrived.
#[derive(Clone)]
pub struct Inbox(pub(super) Arc<Queue>);

impl Inbox {
    /// A frame. False: this node takes nothing any more, or not as much.
    pub fn put(&self, frame: Vec<u8>) -> bool {
        let mut waiting = self.0.lock();
        if waiting.closed {
            return false;
        }
        if waiting.bytes + frame.len() > MOST_WAITING {
            waiting.jobs.retain(|job| !matches!(job, Job::Frame(_)));
            waiting.bytes = 0;
            waiting.jobs.push_back(Job::Down("more arrives than can be served".into()));
            waiting.jobs.push_back(Job::Up);
            self.0.work.notify_one();
            return false;
        }
        waiting.bytes += frame.len();
        waiting.jobs.push_back(Job::Frame(frame));
        self.0.work.notify_one();
        true
    }

    /// From now on frames arrive.
    pub fn up(&self) {
        self.0.push(Job::Up);
    }

    /// Frames may have been lost, and none arrive until [`Inbox::up`].
    pub fn down(&self, reason: &str) {
        self.0.push(Job::Down(reason.to_owned()));
    }
}

/// What a node's thread has to do.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    work: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// Bytes of frames among them.
    bytes: usize,
    closed: bool,
}

impl Queue {
    /// False: nothing is done any more.
    pub(super) fn push(&self, job: Job) -> bool {
        let mut waiting = self.lock();
        if !waiting.closed {
            waiting.jobs.push_back(job);
            self.work.notify_one();
        }
        !waiting.closed
    }

    /// The next job; None when none has come within `patience`.
    pub(super) fn next(&self, patience: Duration) -> Option<Job> {
        let waiting = self.lock();
        let waited = self.work.wait_timeout_while(waiting, patience, |waiting| waiting.jobs.is_empty());
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let job = waiting.jobs.pop_front()?;
        if let Job::Frame(frame) = &job {
            waiting.bytes -= frame.len();
        }
        Some(job)
    }

    /// Takes nothing any more, and gives what is left.
    pub(super) fn close(&self) -> VecDeque<Job> {
        let mut waiting = self.lock();
        waiting.closed = true;
        std::mem::take(&mut waiting.jobs)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing in here panics half way.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
