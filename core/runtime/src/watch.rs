//! Which threads there are: one leads, one watches, the others are inside host code or idle.
//!
//! The watcher sleeps as long as the leader only waits for input. The first thing that may block sets the watcher's
//! timer, which costs one short system call and wakes nobody; as long as the watcher has not gone back to sleep nothing
//! more is paid, so a stream of quick calls pays nothing each. A call that begins in silence is found stuck when the
//! takeover time is over; one in a stream of others within twice that time, since looking costs more than a quick call
//! does. A thread comes into being only when the one before it is about to do something that may block, and goes when
//! it was not needed for some time.

use crate::endpoint::Guard;
use crate::options::Error;
use crate::pool::Pool;
use crate::turns::{Sight, Ticket};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How long a thread that came back from a blocked call stays for the next one. 10 s: longer than bursts are apart.
const IDLE: Duration = Duration::from_secs(10);

/// Calls and writes between two looks that make a stream. 8: a watcher that goes on looking then costs less than
/// setting its timer for each of them.
const STREAM: u64 = 8;

/// How long to wait when the state is held. 100 us: about what the engine takes for one read.
const HELD: Duration = Duration::from_micros(100);

/// The threads, by what they do.
#[derive(Debug, Default)]
pub(crate) struct Crew {
    /// All threads, wherever they are.
    alive: usize,
    /// Those with nothing to do.
    idle: usize,
    /// One watches, or was sent to.
    watched: bool,
    /// The one that was sent has not arrived: the next idle thread takes the place.
    vacant: bool,
    /// The watcher looks by itself; nobody has to set its timer.
    armed: bool,
}

impl Crew {
    /// Someone takes over if the leader gets stuck.
    pub(crate) fn watched(&self) -> bool {
        self.watched
    }

    /// Notes that the watcher is needed. True: its timer must be set for that.
    pub(crate) fn arm(&mut self) -> bool {
        !std::mem::replace(&mut self.armed, true)
    }
}

/// What a thread is there for.
enum Role {
    Lead(Ticket),
    Watch,
}

impl Pool {
    /// Starts the first thread, which leads.
    pub(crate) fn start(self: &Arc<Self>, leader: Ticket) -> io::Result<()> {
        self.endpoint.lock().crew.alive = 1;
        self.spawn(Role::Lead(leader))
    }

    /// Sees to it that a watcher is there. False: the bound on threads is reached, and every other thread is held up.
    pub(crate) fn recruit<'a>(self: &'a Arc<Self>, mut state: Guard<'a>) -> (Guard<'a>, bool) {
        if state.crew.watched {
            return (state, true);
        }
        if state.crew.idle > 0 {
            state.crew.watched = true;
            state.crew.vacant = true;
            self.endpoint.recruits.notify_one();
            return (state, true);
        }
        if state.crew.alive >= self.max_threads {
            return (state, false);
        }
        state.crew.alive += 1;
        state.crew.watched = true;
        drop(state);
        let spawned = self.spawn(Role::Watch);
        state = self.endpoint.lock();
        if spawned.is_err() {
            // The system has no more threads for us: the same as our own bound.
            state.crew.alive -= 1;
            state.crew.watched = false;
        }
        (state, spawned.is_ok())
    }

    fn spawn(self: &Arc<Self>, role: Role) -> io::Result<()> {
        let pool = Arc::clone(self);
        let body = move || {
            let host = Arc::clone(&pool.host);
            let mut role = Some(role);
            let mut work = || {
                if let Some(role) = role.take() {
                    pool.work(role);
                }
            };
            let entered = catch_unwind(AssertUnwindSafe(|| host.enter_thread(&mut work)));
            if entered.is_err() || role.is_some() {
                let mut state = pool.endpoint.lock();
                pool.endpoint.fail_with(&mut state, Error::Panicked);
                pool.endpoint.wake_leader(&mut state);
            }
        };
        std::thread::Builder::new().name(self.thread_name.clone()).stack_size(self.stack_bytes).spawn(body).map(drop)
    }

    /// A thread's life.
    fn work(self: &Arc<Self>, mut role: Role) {
        let mut buffer = Vec::new();
        loop {
            let next = match role {
                Role::Lead(ticket) => {
                    self.lead(ticket, &mut buffer);
                    self.stand_by()
                }
                Role::Watch => self.watch().map(Role::Lead),
            };
            match next {
                Some(next) => role = next,
                None => break,
            }
        }
        self.endpoint.lock().crew.alive -= 1;
    }

    /// A thread without a turn: watches if nobody does, else waits to be needed. None: it may go.
    fn stand_by(&self) -> Option<Role> {
        let mut state = self.endpoint.lock();
        if state.outcome.is_some() {
            return None;
        }
        if !state.crew.watched {
            state.crew.watched = true;
            // A leader without a watcher has left calls alone.
            self.endpoint.wake_leader(&mut state);
            return Some(Role::Watch);
        }
        state.crew.idle += 1;
        loop {
            let (next, waited) =
                self.endpoint.recruits.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = next;
            let over = state.outcome.is_some();
            if over || state.crew.vacant || waited.timed_out() {
                state.crew.idle -= 1;
                return (!over && std::mem::take(&mut state.crew.vacant)).then_some(Role::Watch);
            }
        }
    }

    /// Watches until something is stuck. None: the server has ended.
    fn watch(self: &Arc<Self>) -> Option<Ticket> {
        let endpoint = &*self.endpoint;
        let patience_us = u64::try_from(endpoint.takeover_after.as_micros()).unwrap_or(u64::MAX);
        let mut state = endpoint.lock();
        let mut starts = state.turns.starts();
        let mut pause_us = patience_us;
        loop {
            if state.outcome.is_some() {
                return None;
            }
            let armed = state.crew.armed;
            drop(state);
            if armed {
                std::thread::sleep(Duration::from_micros(pause_us));
            } else {
                endpoint.timer.sleep();
            }
            state = self.next_look();
            let sight = state.turns.look(endpoint.now_us(), patience_us);
            let begun = state.turns.starts() - std::mem::replace(&mut starts, state.turns.starts());
            pause_us = patience_us.saturating_mul(2);
            match sight {
                Sight::Lead(ticket) => {
                    state.crew.watched = false;
                    if !state.turns.queue_is_free() {
                        // The runner only waited to enter host code, and keeps the queue. In there it may get stuck as
                        // well, and nobody else would find it.
                        drop(self.recruit(state));
                    }
                    return Some(ticket);
                }
                // It runs the rest of the queue, and writes what the runner has answered before.
                Sight::Revoked => endpoint.wake(&mut state),
                // What is not quick any more is looked at when its time is over.
                Sight::Active(age) if age >= patience_us / 4 => pause_us = patience_us - age,
                Sight::Active(_) => {}
                // Between two calls of a stream.
                Sight::Quiet if begun >= STREAM => {}
                Sight::Quiet => state.crew.armed = false,
            }
        }
    }

    /// The state, when nobody has it: a lock that is held means work and no stuck call, and waiting for it would cost
    /// its holder a system call.
    fn next_look(&self) -> Guard<'_> {
        loop {
            if let Some(state) = self.endpoint.try_lock() {
                return state;
            }
            std::thread::sleep(HELD);
        }
    }
}
