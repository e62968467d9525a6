//! Signals that Python can't look at, because a function holds its lock.
//!
//! Python's handler for a signal runs on the main thread, some time after the signal. Where that thread has to wait for
//! a function in C that does not end, SIGTERM would do nothing at all. So the server's two signals are seen here first,
//! and a thread ends the process when Python has not answered in time. What they do otherwise is decided in
//! `ferromcp/_signals.py`.

use crate::leave::end_now;
use libc::c_int;
use pyo3::prelude::*;
use std::io::{self, PipeReader, Read as _};
use std::mem;
use std::os::fd::IntoRawFd as _;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Signals with a number below this can be watched; SIGTERM is 15.
const MOST: usize = 32;

/// The handlers in C that Python has installed, by signal.
static PYTHONS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];

/// The process that watches. A forked child shares the pipe and has none of the threads.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Where the handler tells the thread.
static WRITER: AtomicI32 = AtomicI32::new(-1);

/// Signals that have come.
static CAME: AtomicU32 = AtomicU32::new(0);

/// How many of them had come when Python last answered: it may answer several at once.
static ANSWERED: AtomicU32 = AtomicU32::new(0);

/// Signals that a forked child was sent before Python was ready for it, as bits. Python forgets those.
static EARLY: AtomicU32 = AtomicU32::new(0);

/// From now on, until its handler is changed, Python must answer each of these signals by [`signal_answered`] within
/// `seconds`. Called after Python's own handlers were installed.
#[pyfunction]
#[pyo3(signature = (numbers, seconds, /))]
pub(crate) fn answer_within(numbers: Vec<c_int>, seconds: f64) -> PyResult<()> {
    start(Duration::try_from_secs_f64(seconds).unwrap_or_default())?;
    for number in numbers {
        put_before_python(number)?;
    }
    Ok(())
}

/// Python has seen all signals that have come.
#[pyfunction]
pub(crate) fn signal_answered() {
    ANSWERED.store(CAME.load(Ordering::Acquire), Ordering::Release);
}

/// In a forked child: the signals that it was sent before Python was ready for it.
#[pyfunction]
pub(crate) fn early_signals() -> Vec<c_int> {
    let early = EARLY.swap(0, Ordering::AcqRel);
    (0..MOST as c_int).filter(|number| early & (1 << number) != 0).collect()
}

/// Starts the thread, once for each process. It stays: a signal may come while a server ends.
fn start(bound: Duration) -> io::Result<()> {
    static STARTED: Mutex<()> = Mutex::new(());
    let _one_at_a_time = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id() as c_int;
    if PROCESS.load(Ordering::Acquire) == process {
        return Ok(());
    }
    let (reader, writer) = io::pipe()?;
    std::thread::Builder::new().name("ferromcp-signals".into()).spawn(move || watch(reader, bound))?;
    WRITER.store(writer.into_raw_fd(), Ordering::Release);
    PROCESS.store(process, Ordering::Release);
    Ok(())
}

/// The thread's life.
fn watch(mut reader: PipeReader, bound: Duration) {
    let mut number = [0];
    while reader.read_exact(&mut number).is_ok() {
        let came = CAME.load(Ordering::Acquire);
        std::thread::sleep(bound);
        if ANSWERED.load(Ordering::Acquire) < came {
            end_now(128 + c_int::from(number[0]));
        }
    }
}

/// Makes [`noticed`] the handler of a signal that has one of Python's.
fn put_before_python(number: c_int) -> io::Result<()> {
    let place =
        usize::try_from(number).ok().and_then(|number| PYTHONS.get(number)).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: a zeroed sigaction is a valid one; both calls are given valid pointers. The handler that is installed
    // does only what a signal handler may do.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        if libc::sigaction(number, ptr::null(), &raw mut action) != 0 {
            return Err(io::Error::last_os_error());
        }
        let ours = noticed as *const () as usize;
        if [libc::SIG_DFL, libc::SIG_IGN, ours].contains(&action.sa_sigaction)
            || action.sa_flags & libc::SA_SIGINFO != 0
        {
            return Ok(());
        }
        place.store(action.sa_sigaction, Ordering::Release);
        action.sa_sigaction = ours;
        if libc::sigaction(number, &raw const action, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The handler of a watched signal: Python's, and then a word to the thread.
extern "C" fn noticed(number: c_int) {
    let place = usize::try_from(number).ok().and_then(|number| PYTHONS.get(number));
    let pythons = place.map_or(0, |place| place.load(Ordering::Acquire));
    if pythons != 0 {
        // SAFETY: `put_before_python` took it from the kernel, where it was the handler of this signal, without
        // SA_SIGINFO.
        let pythons: extern "C" fn(c_int) = unsafe { mem::transmute(pythons) };
        pythons(number);
    }
    // SAFETY: getpid and write may be called in a signal handler; the byte is ours, and the pipe is never closed.
    unsafe {
        if libc::getpid() == PROCESS.load(Ordering::Acquire) {
            CAME.fetch_add(1, Ordering::AcqRel);
            let byte = number as u8;
            libc::write(WRITER.load(Ordering::Acquire), (&raw const byte).cast(), 1);
        } else {
            EARLY.fetch_or(1 << number, Ordering::AcqRel);
        }
    }
}
