//! A request that another node serves, in the hand of whoever carries it here.

use super::frame;
use super::{Cluster, Job};
use ferromcp_engine::http::{Part, Response};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// What has come of a response. The node's thread puts in, the carrier takes out.
#[derive(Default)]
pub(super) struct Arrived {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    parts: VecDeque<Part>,
    /// A response that is handed on once its body is complete.
    whole: Option<Response>,
    waker: Option<Waker>,
    begun: bool,
    /// Nothing more comes.
    over: bool,
}

impl Arrived {
    pub(super) fn head(&self, status: u16, headers: Vec<(String, String)>, whole: bool) {
        let response = frame::response(status, headers);
        let mut state = self.lock();
        if whole {
            state.whole = Some(Response { body: Some(Vec::new()), ..response });
        } else {
            state.begun = true;
            state.parts.push_back(Part::Response(response));
            self.wake(state);
        }
    }

    /// More of the body. True: it is not for the carrier to say when it is taken.
    pub(super) fn data(&self, bytes: &[u8]) -> bool {
        let mut state = self.lock();
        if let Some(Response { body: Some(body), .. }) = &mut state.whole {
            body.extend_from_slice(bytes);
            return true;
        }
        match state.parts.back_mut() {
            Some(Part::Data(waiting)) => waiting.extend_from_slice(bytes),
            _ => state.parts.push_back(Part::Data(bytes.to_vec())),
        }
        self.wake(state);
        false
    }

    pub(super) fn end(&self) {
        let mut state = self.lock();
        let last = state.whole.take().map_or(Part::End, Part::Response);
        state.parts.push_back(last);
        state.over = true;
        self.wake(state);
    }

    /// Nothing more comes; where nothing has come, this is the response.
    pub(super) fn give_up(&self, instead: Response) {
        let mut state = self.lock();
        if !state.begun {
            state.parts.push_back(Part::Response(instead));
        }
        state.over = true;
        self.wake(state);
    }

    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The response as its carrier gets it.
pub(in crate::http) struct Remote {
    pub(super) cluster: Arc<Cluster>,
    pub(super) arrived: Arc<Arrived>,
    pub(super) exchange: u64,
    /// A response that the end of the server waits for.
    pub(super) awaited: bool,
    pub(super) over: bool,
}

impl Remote {
    /// As [`Exchange::poll_part`](crate::http::Exchange::poll_part).
    pub(in crate::http) fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Option<Part>> {
        if self.over {
            return Poll::Ready(None);
        }
        let mut state = self.arrived.lock();
        match state.parts.pop_front() {
            Some(part) => {
                self.over = state.over && state.parts.is_empty();
                drop(state);
                if let Part::Data(bytes) = &part {
                    self.cluster.queue.push(Job::Taken(self.exchange, bytes.len()));
                }
                Poll::Ready(Some(part))
            }
            None if state.over => {
                self.over = true;
                Poll::Ready(None)
            }
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Whether nothing more comes of it.
    pub(in crate::http) fn is_over(&self) -> bool {
        self.over
    }

    /// Says so to whoever waits for the end. True: somebody may.
    pub(in crate::http) fn settle(&mut self) -> bool {
        let awaited = std::mem::take(&mut self.awaited);
        if awaited {
            self.cluster.settled();
        }
        awaited
    }

    /// Its client is gone.
    pub(in crate::http) fn leave(&mut self) {
        if !std::mem::replace(&mut self.over, true) {
            self.cluster.queue.push(Job::Gone(self.exchange));
        }
    }
}
