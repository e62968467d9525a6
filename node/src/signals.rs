//! Signals that ask the process to end, seen even while a function holds JavaScript's thread.
//!
//! Node tells JavaScript of a signal when the event loop comes round, which may be never. So the handler here writes a
//! byte into a pipe, and a thread ends the server in good order; JavaScript has some time to see that, and then the
//! process ends in any case. A program with a listener of its own keeps its signal: the facade does not ask for that one,
//! and Node replaces the handler when a listener comes later.

use crate::core::Core;
use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, Weak};

/// The pipe's end that the handler writes to; -1 before there is one.
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// The server that signals end.
static TARGET: Mutex<Option<Weak<Core>>> = Mutex::new(None);

/// Keeps the pipe open for the rest of the process.
static WRITER: OnceLock<PipeWriter> = OnceLock::new();

/// The signal that a name stands for.
fn number(name: &str) -> Option<libc::c_int> {
    match name {
        "SIGTERM" => Some(libc::SIGTERM),
        "SIGINT" => Some(libc::SIGINT),
        "SIGHUP" => Some(libc::SIGHUP),
        _ => None,
    }
}

/// From now on these signals end this server, and then the process with 128 and the signal's number.
pub(crate) fn end_on(core: Weak<Core>, names: &[String]) -> io::Result<()> {
    *TARGET.lock().unwrap_or_else(PoisonError::into_inner) = Some(core);
    if WRITER.get().is_none() {
        let (reader, writer) = io::pipe()?;
        PIPE.store(writer.as_raw_fd(), Ordering::Release);
        // Servers are started on one thread of JavaScript's at a time; a second pipe would only be closed again.
        let _ = WRITER.set(writer);
        std::thread::Builder::new().name("ferromcp-signals".into()).spawn(move || watch(reader))?;
    }
    for signal in names.iter().filter_map(|name| number(name)) {
        // SAFETY: the structure is zeroed, as its definition allows, and its handler does nothing but write to a pipe.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            if libc::sigaction(signal, &raw const action, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}

extern "C" fn on_signal(signal: libc::c_int) {
    // Signals have small numbers.
    let byte = signal as u8;
    // SAFETY: `write` may be called in a handler; the descriptor stays open for the rest of the process. errno is what
    // the interrupted code left there, unless the pipe is full, and then a signal is on its way already.
    unsafe { libc::write(PIPE.load(Ordering::Acquire), (&raw const byte).cast(), 1) };
}

fn watch(mut reader: PipeReader) {
    let mut byte = [0];
    while reader.read_exact(&mut byte).is_ok() {
        let target = TARGET.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(Weak::upgrade);
        if let Some(core) = target {
            core.end_with(128 + i32::from(byte[0]));
        }
    }
}
