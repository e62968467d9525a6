//! Bytes that wait to be written, and the writing itself.
//!
//! An [`Outbox`] lives under its endpoint's lock, but the write happens outside: a writer takes a [`Batch`], unlocks,
//! writes, locks again, and gives the batch back. Only one batch is out at a time, so bytes keep their order; whoever
//! has something to send meanwhile appends it and leaves, and the writer finds it when it comes back. When to write,
//! and by which thread, is decided in `endpoint.rs`.

use crate::sys::{self, Interest};
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::os::fd::AsFd;

/// Bytes at which a segment takes no more small messages. What is ready beyond it is written without waiting for more.
pub(crate) const FULL: usize = 64 << 10;

/// Messages from this size on are kept as they are instead of being copied behind the one before.
const LARGE: usize = 16 << 10;

/// Bytes in one batch, unless a single message is larger. 1 MiB: large enough that a system call's own cost vanishes,
/// small enough that the backlog's size is known to the back-pressure within that much.
const BATCH: usize = 1 << 20;

/// What a pipe takes in one piece without blocking, once it is reported as having room: POSIX promises at least 512,
/// every system we know 4096. A larger write may block though `poll` said otherwise.
const ATOMIC: usize = 4096;

/// Segments in one system call; far below any system's limit (POSIX promises 16).
const PIECES: usize = 16;

/// Bytes on their way out, in order.
#[derive(Default)]
pub(crate) struct Outbox {
    segments: Vec<Vec<u8>>,
    /// Bytes in `segments`.
    ready: usize,
    /// Bytes in the batch that is out.
    leaving: usize,
    /// A batch is out.
    busy: bool,
    /// The reader is gone.
    broken: bool,
    /// When the oldest byte of `segments` came, in microseconds.
    since: u64,
    /// An empty buffer to fill next, so that the hot path allocates nothing.
    spare: Vec<u8>,
    /// Buffers that came from outside and were written, or copied: for whoever fills the next.
    used: Option<Vec<u8>>,
}

impl Outbox {
    /// Appends whole messages. After the reader has gone they are dropped.
    pub(crate) fn push(&mut self, bytes: Vec<u8>, now_us: u64) {
        if self.broken || bytes.is_empty() {
            return;
        }
        if self.segments.is_empty() {
            self.since = now_us;
        }
        self.ready += bytes.len();
        if bytes.len() >= LARGE {
            self.segments.push(bytes);
            return;
        }
        self.append(&bytes);
        self.used.get_or_insert(bytes);
    }

    fn append(&mut self, bytes: &[u8]) {
        match self.segments.last_mut() {
            Some(last) if last.len() + bytes.len() <= FULL => last.extend_from_slice(bytes),
            _ => {
                let mut segment = std::mem::take(&mut self.spare);
                segment.extend_from_slice(bytes);
                self.segments.push(segment);
            }
        }
    }

    /// Bytes that nobody is writing yet.
    pub(crate) fn ready(&self) -> usize {
        self.ready
    }

    /// All bytes that have not been handed to the system.
    pub(crate) fn backlog(&self) -> usize {
        self.ready + self.leaving
    }

    /// Microseconds at which the oldest unwritten byte came.
    pub(crate) fn since(&self) -> u64 {
        self.since
    }

    /// Something is ready and nobody is at it.
    pub(crate) fn wants_writer(&self) -> bool {
        self.ready > 0 && !self.busy
    }

    pub(crate) fn broken(&self) -> bool {
        self.broken
    }

    /// The reader is gone: drops what it will never get.
    pub(crate) fn break_off(&mut self) {
        self.broken = true;
        self.segments.clear();
        self.ready = 0;
    }

    /// Takes what is to be written next. The caller must give it back with [`Outbox::settle`].
    pub(crate) fn take(&mut self) -> Batch {
        debug_assert!(!self.busy);
        self.busy = true;
        let mut bytes = 0;
        let mut count = 0;
        for segment in &self.segments {
            if count > 0 && bytes + segment.len() > BATCH {
                break;
            }
            bytes += segment.len();
            count += 1;
        }
        let segments = if count == self.segments.len() {
            std::mem::take(&mut self.segments)
        } else {
            let rest = self.segments.split_off(count);
            std::mem::replace(&mut self.segments, rest)
        };
        self.ready -= bytes;
        self.leaving = bytes;
        Batch { segments, next: 0, offset: 0, left: bytes }
    }

    /// Takes a batch back. What it still holds goes first next time. Returns whether the reader proved to be gone.
    pub(crate) fn settle(&mut self, mut batch: Batch, outcome: &io::Result<()>) -> bool {
        self.busy = false;
        self.leaving = 0;
        if outcome.is_err() {
            self.break_off();
        }
        if self.broken {
            return true;
        }
        if batch.left > 0 {
            batch.segments.drain(..batch.next);
            if let Some(first) = batch.segments.first_mut() {
                first.drain(..batch.offset);
            }
            self.ready += batch.left;
            batch.segments.append(&mut self.segments);
            self.segments = batch.segments;
        } else if let Some(mut buffer) = batch.segments.pop() {
            if buffer.len() > FULL {
                self.used = Some(buffer);
            } else if self.spare.capacity() == 0 {
                buffer.clear();
                self.spare = buffer;
            }
        }
        false
    }

    /// A buffer that was given to [`Outbox::push`] and is not needed any more, for reuse.
    pub(crate) fn reclaim(&mut self) -> Option<Vec<u8>> {
        self.used.take()
    }
}

/// Bytes taken out of an [`Outbox`].
pub(crate) struct Batch {
    segments: Vec<Vec<u8>>,
    next: usize,
    offset: usize,
    left: usize,
}

impl Batch {
    /// Some of it was not written.
    pub(crate) fn is_left(&self) -> bool {
        self.left > 0
    }

    /// Writes all of it, for as long as the system may block.
    pub(crate) fn write(&mut self, file: &File) -> io::Result<()> {
        while self.left > 0 {
            match self.write_once(file, usize::MAX) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Someone made the descriptor non-blocking; wait as a blocking one would.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    sys::poll(&mut [Interest::room(file.as_fd())], None)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes as much as can be written without blocking, for threads that must not be held up by a slow reader.
    pub(crate) fn write_ready(&mut self, file: &File) -> io::Result<()> {
        while self.left > 0 {
            let mut room = [Interest::room(file.as_fd())];
            sys::poll(&mut room, Some(0))?;
            if !room[0].ready() {
                break;
            }
            match self.write_once(file, ATOMIC) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write_once(&mut self, mut file: &File, most: usize) -> io::Result<()> {
        let first = &self.segments[self.next][self.offset..];
        let written = if most < usize::MAX || self.next + 1 == self.segments.len() {
            file.write(&first[..first.len().min(most)])?
        } else {
            let mut slices = [IoSlice::new(first); PIECES];
            let mut count = 1;
            for (slice, segment) in slices[1..].iter_mut().zip(&self.segments[self.next + 1..]) {
                *slice = IoSlice::new(segment);
                count += 1;
            }
            file.write_vectored(&slices[..count])?
        };
        if written == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        self.left -= written;
        self.offset += written;
        while let Some(segment) = self.segments.get(self.next)
            && self.offset >= segment.len()
        {
            self.offset -= segment.len();
            self.next += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::OwnedFd;

    fn pipe() -> (std::io::PipeReader, File) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        (reader, File::from(OwnedFd::from(writer)))
    }

    #[test]
    fn order_survives_sizes_and_partial_batches() {
        let (mut reader, writer) = pipe();
        let mut outbox = Outbox::default();
        let mut expected = Vec::new();
        for (at, size) in
            [3, LARGE, 5, 9, FULL + 1, 40_000, 7, BATCH, 1, LARGE - 1, FULL - 1, 2].into_iter().enumerate()
        {
            let message = vec![b'a' + at as u8; size];
            expected.extend_from_slice(&message);
            outbox.push(message, 0);
        }
        assert_eq!(outbox.backlog(), expected.len());
        let reading = std::thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        let mut cautious = true;
        while outbox.wants_writer() {
            let mut batch = outbox.take();
            let outcome = if cautious { batch.write_ready(&writer) } else { batch.write(&writer) };
            cautious = !cautious;
            assert!(!outbox.settle(batch, &outcome));
        }
        drop(writer);
        let received = reading.join().expect("the reader lives").expect("the pipe can be read");
        assert!(received == expected, "{} bytes of {}", received.len(), expected.len());
        assert_eq!(outbox.backlog(), 0);
    }

    #[test]
    fn cautious_writing_stops_at_a_full_pipe() {
        let (reader, writer) = pipe();
        let mut outbox = Outbox::default();
        outbox.push(vec![b'x'; 4 << 20], 0);
        let mut batch = outbox.take();
        let outcome = batch.write_ready(&writer);
        assert!(outcome.is_ok() && !outbox.settle(batch, &outcome));
        assert!(outbox.wants_writer() && outbox.backlog() < 4 << 20);
        drop(reader);
    }

    #[test]
    fn a_vanished_reader_is_told() {
        let (reader, writer) = pipe();
        drop(reader);
        let mut outbox = Outbox::default();
        outbox.push(b"{}\n".to_vec(), 0);
        let mut batch = outbox.take();
        let outcome = batch.write(&writer);
        assert!(outbox.settle(batch, &outcome));
        outbox.push(b"{}\n".to_vec(), 0);
        assert_eq!(outbox.backlog(), 0);
    }
}
