//! The network, for the thread that leads.
//!
//! One tokio runtime that runs on whatever thread is in [`Reactor::wait`]; at most one is, the leader. While the leader runs
//! host code nothing of the network moves, unless that blocks: then another thread leads, and waits here.

use std::future::Future;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::task::Waker;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;

pub(crate) struct Reactor {
    /// Held by whoever waits. None after the end.
    runtime: Mutex<Option<Runtime>>,
    handle: Handle,
    notify: Notify,
}

impl Reactor {
    pub(crate) fn new() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let handle = runtime.handle().clone();
        Ok(Self { runtime: Mutex::new(Some(runtime)), handle, notify: Notify::new() })
    }

    /// Ends [`Reactor::wait`].
    pub(crate) fn wake(&self) {
        self.notify.notify_one();
    }

    /// Serves the network until [`Reactor::wake`], for at most `timeout` milliseconds; first those that were `woken`.
    pub(crate) fn wait(&self, woken: Vec<Waker>, timeout: Option<u64>) {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(runtime) = &*runtime else { return };
        runtime.block_on(async {
            // In here, waking a task costs no system call.
            for waker in woken {
                waker.wake();
            }
            match timeout {
                Some(0) => tokio::task::yield_now().await,
                Some(timeout) => {
                    // Over or woken, both are fine.
                    let _ = tokio::time::timeout(Duration::from_millis(timeout), self.notify.notified()).await;
                }
                None => self.notify.notified().await,
            }
        });
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(task);
    }

    pub(crate) fn enter<R>(&self, body: impl FnOnce() -> R) -> R {
        let _entered = self.handle.enter();
        body()
    }

    /// Ends every task, and so closes every connection: they hold the endpoint, which holds this. Nobody waits here any more.
    pub(crate) fn close(&self) {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime {
            // Also where somebody drops the last of us inside of another runtime.
            runtime.shutdown_background();
        }
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        self.close();
    }
}
