//! Calls into the operating system that the standard library does not offer: the only file of this crate with unsafe
//! code.
//!
//! It wraps each call in a safe function and decides nothing. What is particular to Unix stands here and in `stdio.rs`.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

/// What [`poll`] waits for on one descriptor, and what it found there.
#[repr(transparent)]
pub(crate) struct Interest(libc::pollfd);

impl Interest {
    /// Input, or the end of it.
    pub(crate) fn input(fd: BorrowedFd<'_>) -> Self {
        Self::on(fd.as_raw_fd(), libc::POLLIN)
    }

    /// Room for at least `PIPE_BUF` bytes, or an error.
    pub(crate) fn room(fd: BorrowedFd<'_>) -> Self {
        Self::on(fd.as_raw_fd(), libc::POLLOUT)
    }

    /// Only what is reported without being asked for: errors and hang-ups.
    pub(crate) fn errors(fd: BorrowedFd<'_>) -> Self {
        Self::on(fd.as_raw_fd(), 0)
    }

    /// Nothing: the kernel passes over negative descriptors.
    pub(crate) fn nothing() -> Self {
        Self::on(-1, 0)
    }

    fn on(fd: RawFd, events: libc::c_short) -> Self {
        Self(libc::pollfd { fd, events, revents: 0 })
    }

    /// Something was reported, be it an error.
    pub(crate) fn ready(&self) -> bool {
        self.0.revents != 0
    }

    /// The descriptor is of no more use: the other side is gone.
    pub(crate) fn broken(&self) -> bool {
        self.0.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0
    }
}

/// Waits until one of `interests` is ready, or for at most `timeout_ms` (None: without end). A signal ends the wait
/// early, with nothing ready.
pub(crate) fn poll(interests: &mut [Interest], timeout_ms: Option<u64>) -> io::Result<()> {
    let timeout = match timeout_ms {
        None => -1,
        Some(ms) => libc::c_int::try_from(ms).unwrap_or(libc::c_int::MAX),
    };
    let count = libc::nfds_t::try_from(interests.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: `Interest` is a transparent pollfd, and the slice is valid for `count` of them for the whole call.
    let found = unsafe { libc::poll(interests.as_mut_ptr().cast::<libc::pollfd>(), count, timeout) };
    if found >= 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.kind() != io::ErrorKind::Interrupted {
        return Err(error);
    }
    for interest in interests {
        interest.0.revents = 0;
    }
    Ok(())
}

/// Makes the descriptor number `onto` (0 or 1) a copy of `source`, open across exec as standard streams are.
pub(crate) fn replace(onto: RawFd, source: BorrowedFd<'_>) -> io::Result<()> {
    debug_assert!(onto == libc::STDIN_FILENO || onto == libc::STDOUT_FILENO);
    loop {
        // SAFETY: both are plain numbers to the kernel. No Rust value owns descriptors 0 and 1, so none is invalidated.
        if unsafe { libc::dup2(source.as_raw_fd(), onto) } >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Where a write to a pipe without a reader would kill the process (a C program that has not touched the signal), makes
/// it an error code instead. Rust programs, Python and Node start with the signal ignored; a handler of the program's
/// own stays.
pub(crate) fn ignore_default_sigpipe() {
    // SAFETY: reads and sets the disposition of one signal with values the C library defines; no Rust memory is
    // involved.
    unsafe {
        let before = libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        if before != libc::SIG_DFL && before != libc::SIG_IGN && before != libc::SIG_ERR {
            libc::signal(libc::SIGPIPE, before);
        }
    }
}

static FORKS: AtomicU32 = AtomicU32::new(0);

/// How many forks lie between this process and the one that first asked. A change means: this is a forked child, where
/// none of our threads exist and a lock may be held for ever. One load; asking for the process id would be a system
/// call.
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Starts counting for [`forks`]. Called before the first server starts.
pub(crate) fn count_forks() {
    extern "C" fn in_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
        take_from_child();
    }
    static ONCE: Once = Once::new();
    // SAFETY: the handler touches atomics and makes system calls that are allowed between fork and exec. If registering
    // fails for want of memory, forked children are not noticed and keep copies of the wire; nothing else depends on it.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    });
}

/// While this lives, a forked child gets `/dev/null` in the place of the descriptor. Without it a child that goes on
/// after the server would keep the client waiting for the end of the output.
///
/// The number stays taken in the child, where a Rust value believes that it owns it.
pub(crate) struct NotForChildren(&'static Slot);

/// A descriptor, or -1 where the place is free. Places are reused and never freed: a child must find them without a
/// lock, since a thread that does not exist there may hold it.
struct Slot {
    descriptor: AtomicI32,
    next: *const Slot,
}

// SAFETY: `next` is set before the slot is shared and never changes; it points to a slot that is never freed.
unsafe impl Sync for Slot {}
// SAFETY: as above.
unsafe impl Send for Slot {}

static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

/// Every slot there is.
fn slots() -> impl Iterator<Item = &'static Slot> {
    let mut next: *const Slot = SLOTS.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: null or a slot, which is never freed.
        let slot = unsafe { next.as_ref() }?;
        next = slot.next;
        Some(slot)
    })
}

impl NotForChildren {
    pub(crate) fn new(descriptor: BorrowedFd<'_>) -> Self {
        count_forks();
        let descriptor = descriptor.as_raw_fd();
        let free = slots()
            .find(|slot| slot.descriptor.compare_exchange(-1, descriptor, Ordering::AcqRel, Ordering::Relaxed).is_ok());
        Self(free.unwrap_or_else(|| Slot::add(descriptor)))
    }
}

impl Drop for NotForChildren {
    fn drop(&mut self) {
        self.0.descriptor.store(-1, Ordering::Release);
    }
}

impl Slot {
    fn add(descriptor: RawFd) -> &'static Self {
        let slot = Box::leak(Box::new(Self { descriptor: AtomicI32::new(descriptor), next: ptr::null() }));
        let mut head = SLOTS.load(Ordering::Acquire);
        loop {
            slot.next = head;
            match SLOTS.compare_exchange_weak(head, slot, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return slot,
                Err(changed) => head = changed,
            }
        }
    }
}

/// What [`NotForChildren`] promises. Runs in the child, where only what is allowed between fork and exec may be done.
fn take_from_child() {
    // SAFETY: plain numbers and a constant string; all three calls are on POSIX's list for this place. The descriptors
    // are those of living values, whose numbers stay open.
    unsafe {
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if nothing < 0 {
            return;
        }
        for descriptor in slots().map(|slot| slot.descriptor.load(Ordering::Acquire)).filter(|number| *number >= 0) {
            if libc::dup2(nothing, descriptor) >= 0 {
                libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
        libc::close(nothing);
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) mod timer {
    //! A one-shot timer that one thread sets and another sleeps on. Setting it wakes nobody, which makes it cheaper for
    //! the thread that sets it than a condition variable.

    use std::fs::File;
    use std::io::{self, Read};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::time::Duration;

    pub(crate) struct Timer(File);

    impl Timer {
        pub(crate) fn new() -> io::Result<Self> {
            // SAFETY: plain flags.
            let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the descriptor is fresh and nobody else's.
            Ok(Self(File::from(unsafe { OwnedFd::from_raw_fd(fd) })))
        }

        /// Lets the sleeper go on after `delay`. Setting it again moves the moment.
        pub(crate) fn set(&self, delay: Duration) {
            // A zero would stop the timer.
            let nanos = delay.as_nanos().max(1);
            let spec = libc::itimerspec {
                it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: libc::timespec {
                    tv_sec: libc::time_t::try_from(nanos / 1_000_000_000).unwrap_or(libc::time_t::MAX),
                    tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
                },
            };
            // SAFETY: `spec` is a valid itimerspec for the call and a null for the old value is allowed. It can't fail
            // with a descriptor of our own and values in range.
            unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const spec, std::ptr::null_mut()) };
        }

        /// Sleeps until the set moment has passed; until it is set, if it never was.
        pub(crate) fn sleep(&self) {
            let mut count = [0; 8];
            // An error can only be an interruption; the caller looks at the world again in any case.
            let _ = (&self.0).read(&mut count);
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) mod timer {
    //! The same over a condition variable, where the kernel has no timer descriptors.

    use std::io;
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::time::{Duration, Instant};

    pub(crate) struct Timer {
        due: Mutex<Option<Instant>>,
        changed: Condvar,
    }

    impl Timer {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self { due: Mutex::new(None), changed: Condvar::new() })
        }

        /// Lets the sleeper go on after `delay`. Setting it again moves the moment.
        pub(crate) fn set(&self, delay: Duration) {
            *self.due.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + delay);
            self.changed.notify_one();
        }

        /// Sleeps until the set moment has passed; until it is set, if it never was.
        pub(crate) fn sleep(&self) {
            let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                let Some(at) = *due else {
                    due = self.changed.wait(due).unwrap_or_else(PoisonError::into_inner);
                    continue;
                };
                let left = at.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    *due = None;
                    return;
                }
                due = self.changed.wait_timeout(due, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}
