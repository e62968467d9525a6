//! Who leads and who runs calls: the state that the threads of one server pass round, without any thread in it.
//!
//! The **leader** is the one thread that waits for input, reads it and feeds the engine. The **runner** is the one
//! thread that may take calls from the queue. They are the same thread as long as host code returns quickly, which is
//! what makes a call free of hand-offs. They part when the runner still waits to enter host code (Python's lock is held
//! elsewhere): a watcher then takes the lead alone, so that a waiting line of threads can't form at that lock.
//!
//! The start of everything that may block is noted, in microseconds. This file decides what is stuck and who holds
//! which turn; who looks how often is decided in `watch.rs`, and what a turn is good for in `pool.rs`.

/// Proof of a turn. It is void as soon as the turn has passed to someone else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// What the leader does at this moment.
#[derive(Debug, PartialEq, Eq)]
enum Lead {
    /// Waits for input, reads it, feeds the engine. Never stuck: taking over now could swap the order of two reads.
    Reading,
    /// Writes, or reports a notice: may block, since then.
    Blocking { since: u64 },
    /// Is the runner as well; the runner's state tells.
    Running,
}

#[derive(Debug)]
struct Runner {
    ticket: Ticket,
    since: u64,
    /// Has not asked for its first call yet.
    entering: bool,
}

/// What a watcher found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Nothing goes on that could get stuck.
    Quiet,
    /// Something has gone on for so many microseconds, and is not stuck yet.
    Active(u64),
    /// The leader is stuck; the watcher leads from now on, with this ticket.
    Lead(Ticket),
    /// A runner that does not lead was stuck in a call and has lost the queue; the leader should run it.
    Revoked,
}

#[derive(Debug)]
pub(crate) struct Turns {
    issued: u64,
    starts: u64,
    leader: Ticket,
    lead: Lead,
    runner: Option<Runner>,
}

impl Turns {
    /// The first turn: someone leads.
    pub(crate) fn new() -> (Self, Ticket) {
        let first = Ticket(1);
        (Self { issued: 1, starts: 0, leader: first, lead: Lead::Reading, runner: None }, first)
    }

    fn issue(&mut self) -> Ticket {
        self.issued += 1;
        Ticket(self.issued)
    }

    /// How many things that may block have begun so far.
    pub(crate) fn starts(&self) -> u64 {
        self.starts
    }

    pub(crate) fn leads(&self, ticket: Ticket) -> bool {
        self.leader == ticket
    }

    pub(crate) fn runs(&self, ticket: Ticket) -> bool {
        self.runner.as_ref().is_some_and(|runner| runner.ticket == ticket)
    }

    /// Nobody holds the queue.
    pub(crate) fn queue_is_free(&self) -> bool {
        self.runner.is_none()
    }

    /// The runner leads as well, so nothing is read while it goes on.
    pub(crate) fn together(&self) -> bool {
        self.lead == Lead::Running
    }

    /// The leader is back at what can't be taken over.
    pub(crate) fn read(&mut self) {
        self.lead = Lead::Reading;
    }

    /// Whoever holds the ticket begins something that may block. It matters only if that is the leader.
    pub(crate) fn block(&mut self, ticket: Ticket, now_us: u64) {
        self.starts += 1;
        if self.leads(ticket) {
            self.lead = Lead::Blocking { since: now_us };
        }
    }

    /// The leader becomes the runner, and waits to enter host code.
    pub(crate) fn run(&mut self, now_us: u64) -> Ticket {
        debug_assert!(self.runner.is_none());
        let ticket = self.issue();
        self.starts += 1;
        self.runner = Some(Runner { ticket, since: now_us, entering: true });
        self.lead = Lead::Running;
        ticket
    }

    /// The runner begins a call.
    pub(crate) fn begin_call(&mut self, ticket: Ticket, now_us: u64) {
        self.starts += 1;
        if let Some(runner) = &mut self.runner
            && runner.ticket == ticket
        {
            runner.since = now_us;
            runner.entering = false;
        }
    }

    /// The runner came back from host code.
    pub(crate) fn end_run(&mut self, ticket: Ticket) {
        if self.runs(ticket) {
            self.runner = None;
        }
    }

    /// A watcher looks. What has gone on for `patience_us` is stuck: its turn changes hands.
    pub(crate) fn look(&mut self, now_us: u64, patience_us: u64) -> Sight {
        let runner = self.runner.as_ref().map(|runner| (now_us.saturating_sub(runner.since), runner.entering));
        let (runner_age, entering) = runner.unwrap_or_default();
        let in_call = runner.is_some() && !entering;
        let age = match self.lead {
            Lead::Blocking { since } => Some(now_us.saturating_sub(since)),
            Lead::Running => Some(runner_age),
            Lead::Reading => None,
        };
        let revoked = in_call && runner_age >= patience_us;
        if revoked {
            self.runner = None;
        }
        if age.is_some_and(|age| age >= patience_us) {
            self.leader = self.issue();
            self.lead = Lead::Reading;
            return Sight::Lead(self.leader);
        }
        if revoked {
            return Sight::Revoked;
        }
        // A runner that waits to enter is not worth watching by itself: whoever holds it up is not ours.
        let watched = if in_call { age.max(Some(runner_age)) } else { age };
        watched.map_or(Sight::Quiet, Sight::Active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: u64 = 250;

    #[test]
    fn a_quick_runner_keeps_both_turns() {
        let (mut turns, leader) = Turns::new();
        let runner = turns.run(0);
        for call in 1..10 {
            turns.begin_call(runner, call * 100);
            assert_eq!(turns.look(call * 100 + 50, PATIENCE), Sight::Active(50));
        }
        turns.end_run(runner);
        turns.read();
        assert_eq!(turns.look(10_000, PATIENCE), Sight::Quiet);
        assert!(turns.leads(leader) && turns.queue_is_free());
        assert_eq!(turns.starts(), 10);
    }

    #[test]
    fn a_stuck_call_loses_lead_and_queue() {
        let (mut turns, leader) = Turns::new();
        let runner = turns.run(0);
        turns.begin_call(runner, 10);
        assert_eq!(turns.look(259, PATIENCE), Sight::Active(249));
        let Sight::Lead(next) = turns.look(260, PATIENCE) else { panic!("the lead must change hands") };
        assert!(turns.leads(next) && !turns.leads(leader));
        assert!(turns.queue_is_free() && !turns.runs(runner));
        turns.end_run(runner);
        assert_eq!(turns.look(10_000, PATIENCE), Sight::Quiet);
    }

    #[test]
    fn a_runner_that_waits_to_enter_loses_only_the_lead() {
        let (mut turns, leader) = Turns::new();
        let runner = turns.run(0);
        let Sight::Lead(next) = turns.look(300, PATIENCE) else { panic!("the lead must change hands") };
        assert!(turns.leads(next) && !turns.leads(leader));
        // The new leader waits for input; nobody else is sent to wait at the same door.
        assert!(!turns.queue_is_free());
        assert_eq!(turns.look(600, PATIENCE), Sight::Quiet);
        turns.begin_call(runner, 700);
        assert!(turns.runs(runner) && !turns.together());
        assert_eq!(turns.look(800, PATIENCE), Sight::Active(100));
        // Now it is stuck in a call: the queue is taken from it, the lead stays.
        assert_eq!(turns.look(950, PATIENCE), Sight::Revoked);
        assert!(turns.leads(next) && turns.queue_is_free());
    }

    #[test]
    fn a_stuck_write_loses_the_lead() {
        let (mut turns, leader) = Turns::new();
        turns.block(leader, 100);
        assert_eq!(turns.look(200, PATIENCE), Sight::Active(100));
        let Sight::Lead(next) = turns.look(350, PATIENCE) else { panic!("the lead must change hands") };
        // The thread that lost it changes nothing any more.
        turns.block(leader, 400);
        assert_eq!(turns.look(10_000, PATIENCE), Sight::Quiet);
        assert!(turns.leads(next));
    }

    #[test]
    fn reading_is_never_taken_over() {
        let (mut turns, leader) = Turns::new();
        turns.read();
        assert_eq!(turns.look(u64::MAX, PATIENCE), Sight::Quiet);
        assert!(turns.leads(leader));
    }
}
