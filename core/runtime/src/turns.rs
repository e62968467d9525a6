//! Who leads and who runs calls: the state that the threads of one server pass round, without any thread in it.
//!
//! The **leader** is the one thread that waits for input, reads it and feeds the engine. The **runner** is the one thread that
//! may take calls from the queue. They are the same thread as long as host code returns quickly, which is what makes a call
//! free of hand-offs. They part when the runner still waits to enter host code (Python's lock is held elsewhere): a watcher
//! then takes the lead alone, so that a waiting line of threads can't form at that lock.
//!
//! Each start of something that may block gets the next **beat**. A watcher that finds the same beat still going at its next
//! look knows that it is stuck. This file decides what is stuck and who holds which turn; who looks how often is decided in
//! `watch.rs`, and what a turn is good for in `pool.rs`.

/// Proof of a turn. It is void as soon as the turn has passed to someone else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// What the leader does at this moment.
#[derive(Debug, PartialEq, Eq)]
enum Lead {
    /// Waits for input, reads it, feeds the engine. Never stuck: taking over now could swap the order of two reads.
    Reading,
    /// Writes, or reports a notice: may block, since the given beat.
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
    /// Something goes on, and is not stuck yet.
    Active,
    /// The leader is stuck; the watcher leads from now on, with this ticket.
    Lead(Ticket),
    /// A runner that does not lead was stuck in a call and has lost the queue; the leader should run it.
    Revoked,
}

#[derive(Debug)]
pub(crate) struct Turns {
    beat: u64,
    issued: u64,
    leader: Ticket,
    lead: Lead,
    runner: Option<Runner>,
}

impl Turns {
    /// The first turn: someone leads.
    pub(crate) fn new() -> (Self, Ticket) {
        let first = Ticket(1);
        (Self { beat: 0, issued: 1, leader: first, lead: Lead::Reading, runner: None }, first)
    }

    fn issue(&mut self) -> Ticket {
        self.issued += 1;
        Ticket(self.issued)
    }

    fn next_beat(&mut self) -> u64 {
        self.beat += 1;
        self.beat
    }

    /// The newest beat: what has a beat up to this one had begun when the caller looked.
    pub(crate) fn beat(&self) -> u64 {
        self.beat
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

    /// The leader begins something that may block.
    pub(crate) fn block(&mut self) {
        self.lead = Lead::Blocking { since: self.next_beat() };
    }

    /// Whoever holds the ticket begins something that may block. It matters only if that is the leader.
    pub(crate) fn block_if_leader(&mut self, ticket: Ticket) {
        if self.leads(ticket) {
            self.block();
        }
    }

    /// The leader becomes the runner, and waits to enter host code.
    pub(crate) fn run(&mut self) -> Ticket {
        debug_assert!(self.runner.is_none());
        let ticket = self.issue();
        let since = self.next_beat();
        self.runner = Some(Runner { ticket, since, entering: true });
        self.lead = Lead::Running;
        ticket
    }

    /// The runner begins a call. False: its turn is over.
    pub(crate) fn begin_call(&mut self, ticket: Ticket) -> bool {
        let beat = self.beat + 1;
        match &mut self.runner {
            Some(runner) if runner.ticket == ticket => {
                runner.since = beat;
                runner.entering = false;
                self.beat = beat;
                true
            }
            _ => false,
        }
    }

    /// The runner came back from host code.
    pub(crate) fn end_run(&mut self, ticket: Ticket) {
        if self.runs(ticket) {
            self.runner = None;
        }
    }

    /// A watcher looks; `seen` is the beat that it knew at its last look. Turns that are stuck change hands here.
    pub(crate) fn look(&mut self, seen: u64) -> Sight {
        let stuck_runner = self.runner.as_ref().is_some_and(|runner| runner.since <= seen);
        let in_call = self.runner.as_ref().is_some_and(|runner| !runner.entering);
        let leader_stuck = match self.lead {
            Lead::Reading => false,
            Lead::Blocking { since } => since <= seen,
            Lead::Running => stuck_runner,
        };
        if stuck_runner && in_call {
            self.runner = None;
        }
        if leader_stuck {
            self.leader = self.issue();
            self.lead = Lead::Reading;
            return Sight::Lead(self.leader);
        }
        if stuck_runner && in_call {
            return Sight::Revoked;
        }
        // A runner that waits to enter is not worth watching by itself: whoever holds it up is not ours.
        let watched = match self.lead {
            Lead::Reading => self.runner.is_some() && in_call,
            Lead::Blocking { .. } | Lead::Running => true,
        };
        if watched { Sight::Active } else { Sight::Quiet }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_runner_keeps_both_turns() {
        let (mut turns, leader) = Turns::new();
        let runner = turns.run();
        let mut seen = turns.beat();
        for _ in 0..10 {
            assert!(turns.begin_call(runner));
            assert_eq!(turns.look(seen), Sight::Active);
            seen = turns.beat();
        }
        turns.end_run(runner);
        turns.read();
        assert_eq!(turns.look(seen), Sight::Quiet);
        assert!(turns.leads(leader) && turns.queue_is_free());
    }

    #[test]
    fn a_stuck_call_loses_lead_and_queue() {
        let (mut turns, leader) = Turns::new();
        let runner = turns.run();
        assert!(turns.begin_call(runner));
        let seen = turns.beat();
        let Sight::Lead(next) = turns.look(seen) else { panic!("the lead must change hands") };
        assert!(turns.leads(next) && !turns.leads(leader));
        assert!(turns.queue_is_free());
        assert!(!turns.begin_call(runner));
        turns.end_run(runner);
        assert_eq!(turns.look(turns.beat()), Sight::Quiet);
    }

    #[test]
    fn a_runner_that_waits_to_enter_loses_only_the_lead() {
        let (mut turns, leader) = Turns::new();
        let runner = turns.run();
        let seen = turns.beat();
        let Sight::Lead(next) = turns.look(seen) else { panic!("the lead must change hands") };
        assert!(turns.leads(next) && !turns.leads(leader));
        // The new leader waits for input; nobody else is sent to wait at the same door.
        turns.read();
        assert!(!turns.queue_is_free());
        assert_eq!(turns.look(turns.beat()), Sight::Quiet);
        assert!(turns.begin_call(runner));
        assert!(!turns.together());
        // Now it is in a call, and stuck there: the queue is taken from it, the lead stays.
        let seen = turns.beat();
        assert_eq!(turns.look(seen), Sight::Revoked);
        assert!(turns.leads(next) && turns.queue_is_free());
    }

    #[test]
    fn a_stuck_write_loses_the_lead() {
        let (mut turns, leader) = Turns::new();
        turns.block();
        assert_eq!(turns.look(turns.beat() - 1), Sight::Active);
        assert!(matches!(turns.look(turns.beat()), Sight::Lead(_)));
        assert!(!turns.leads(leader));
    }

    #[test]
    fn reading_is_never_taken_over() {
        let (mut turns, leader) = Turns::new();
        turns.read();
        assert_eq!(turns.look(turns.beat()), Sight::Quiet);
        assert!(turns.leads(leader));
    }
}
