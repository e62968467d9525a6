//! Newline-delimited messages, as the stdio transport writes them (revision 2026-07-28, "stdio": messages are delimited
//! by newlines and hold none themselves).
//!
//! This file decides where a line ends, what surrounds a message without being part of it (a carriage return, a byte
//! order mark, blank lines), and when a line is too long to be kept. The frames that come out do not depend on how the
//! bytes were cut into chunks. Every byte is searched for a newline once, whatever the cut, so the time is linear in
//! the bytes; memory holds at most one line of the permitted length.

use memchr::memchr;

/// A byte order mark. Windows editors and shells put it at the start of a stream, and of what they append to one.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How much of a line that is too long is shown: enough to recognize the message, too little to fill a log.
const HEAD_BYTES: usize = 64;

/// A buffer that grew past this is given back after [`UNUSED_LINES`] lines that were smaller. Nearly all messages are.
const RETAINED_BYTES: usize = 64 * 1024;

/// A buffer that grew past this is given back once its line is done. 4 MiB: large messages come one after another, and fresh
/// memory for each costs as much as all else that is done with it; beyond this size one is rare.
const MOST_RETAINED_BYTES: usize = 4 << 20;

/// Smaller lines after which a large buffer has served its time: a single large message does not pin its size for ever.
const UNUSED_LINES: u32 = 64;

/// What a stream of lines is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A line that is not blank, without its line end and without a byte order mark. Not yet known to be UTF-8 or JSON.
    Line(&'a [u8]),
    /// A line went past the limit. Reported once, as soon as that is known; the rest of the line is thrown away.
    TooLong {
        /// The limit that was passed, in bytes.
        limit: usize,
        /// The first bytes of the line, at most 64.
        head: &'a [u8],
    },
}

/// Cuts a stream of bytes into lines.
#[derive(Debug)]
pub struct LineFramer {
    /// The longest line that is kept, in bytes, line end and byte order mark not counted.
    max_bytes: usize,
    /// The start of a line whose end has not arrived. Empty while discarding.
    buffer: Vec<u8>,
    /// Lines that have ended since one needed more than [`RETAINED_BYTES`].
    unused: u32,
    /// A line was too long and its newline has not arrived.
    discarding: bool,
    /// Bytes searched for a newline so far, so that a test can tell linear from quadratic without a clock.
    #[cfg(test)]
    searched: usize,
}

impl LineFramer {
    /// A framer that keeps lines of up to `max_bytes` bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            buffer: Vec::new(),
            unused: 0,
            discarding: false,
            #[cfg(test)]
            searched: 0,
        }
    }

    /// Takes in the next bytes of the stream and gives out every frame that they complete, in order.
    ///
    /// A line that lies wholly in `chunk` is handed out where it lies, without a copy.
    pub fn feed(&mut self, chunk: &[u8], mut on_frame: impl FnMut(Frame<'_>)) {
        let mut rest = chunk;
        while let Some(end) = self.find_newline(rest) {
            self.end_line(&rest[..end], &mut on_frame);
            rest = &rest[end + 1..];
        }
        if !rest.is_empty() && !self.discarding {
            self.keep(rest, &mut on_frame);
        }
    }

    /// The stream has ended: what came after its last newline counts as a line. The framer is as new afterwards.
    pub fn finish(&mut self, mut on_frame: impl FnMut(Frame<'_>)) {
        self.end_line(b"", &mut on_frame);
    }

    fn find_newline(&mut self, bytes: &[u8]) -> Option<usize> {
        let found = memchr(b'\n', bytes);
        #[cfg(test)]
        {
            self.searched += found.map_or(bytes.len(), |end| end + 1);
        }
        found
    }

    /// The current line ends with `piece`.
    fn end_line(&mut self, piece: &[u8], on_frame: &mut impl FnMut(Frame<'_>)) {
        self.age_buffer();
        if self.discarding {
            self.discarding = false;
        } else if self.buffer.is_empty() {
            if is_too_long(b"", piece, self.max_bytes) {
                self.report_too_long(piece, on_frame);
            } else {
                give_line(piece, on_frame);
            }
        } else if is_too_long(&self.buffer, piece, self.max_bytes) {
            self.report_too_long(piece, on_frame);
            self.clear();
        } else {
            self.append(piece);
            give_line(&self.buffer, on_frame);
            self.clear();
        }
    }

    /// The current line goes on after `piece`.
    fn keep(&mut self, piece: &[u8], on_frame: &mut impl FnMut(Frame<'_>)) {
        if is_too_long(&self.buffer, piece, self.max_bytes) {
            self.report_too_long(piece, on_frame);
            self.clear();
            self.discarding = true;
        } else {
            self.append(piece);
        }
    }

    fn report_too_long(&self, piece: &[u8], on_frame: &mut impl FnMut(Frame<'_>)) {
        // Never more than the limit: a shorter head would tell where the chunk was cut.
        let wanted = HEAD_BYTES.min(self.max_bytes);
        let mut head = Vec::with_capacity(wanted + BYTE_ORDER_MARK.len());
        for part in [self.buffer.as_slice(), piece] {
            let room = head.capacity() - head.len();
            head.extend_from_slice(&part[..part.len().min(room)]);
        }
        let head = without_mark(&head);
        on_frame(Frame::TooLong { limit: self.max_bytes, head: &head[..head.len().min(wanted)] });
    }

    /// Grows like `Vec` does, but never past what one permitted line needs.
    fn append(&mut self, piece: &[u8]) {
        let needed = self.buffer.len() + piece.len();
        if needed > self.buffer.capacity() {
            let longest = self.max_bytes.saturating_add(BYTE_ORDER_MARK.len() + 1);
            let wanted = self.buffer.capacity().saturating_mul(2).min(longest).max(needed);
            self.buffer.reserve_exact(wanted - self.buffer.len());
        }
        self.buffer.extend_from_slice(piece);
    }

    /// The line in the buffer is done.
    fn clear(&mut self) {
        if self.buffer.len() > RETAINED_BYTES {
            self.unused = 0;
        }
        self.buffer.clear();
        if self.buffer.capacity() > MOST_RETAINED_BYTES {
            self.buffer = Vec::new();
        }
    }

    /// A line ends: one more that did not need the large buffer, unless [`LineFramer::clear`] says otherwise.
    fn age_buffer(&mut self) {
        if self.buffer.capacity() > RETAINED_BYTES {
            self.unused += 1;
            if self.unused > UNUSED_LINES && self.buffer.is_empty() {
                self.buffer = Vec::new();
            }
        }
    }
}

/// Whether a line that begins with `kept` and goes on with `piece` is past `limit`, whatever follows.
///
/// A final carriage return may belong to the line end, so it counts only once more than a newline follows it: otherwise
/// the same line would pass or fail by how it was cut.
fn is_too_long(kept: &[u8], piece: &[u8], limit: usize) -> bool {
    let length = kept.len() + piece.len();
    if length <= limit {
        return false;
    }
    let mut start = kept.iter().chain(piece);
    let mark = if BYTE_ORDER_MARK.iter().all(|byte| start.next() == Some(byte)) {
        BYTE_ORDER_MARK.len()
    } else if length < BYTE_ORDER_MARK.len() {
        // It may still become a mark; with a limit this small nothing else can be told.
        return false;
    } else {
        0
    };
    let carriage_return = usize::from(piece.last().or(kept.last()) == Some(&b'\r'));
    length - mark > limit.saturating_add(carriage_return)
}

fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
}

fn give_line(line: &[u8], on_frame: &mut impl FnMut(Frame<'_>)) {
    let line = without_mark(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // The whitespace of JSON. Messages begin with a brace, so this looks at one byte of nearly every line.
    if line.iter().any(|byte| !matches!(byte, b' ' | b'\t' | b'\r')) {
        on_frame(Frame::Line(line));
    }
}

#[cfg(test)]
mod tests;
