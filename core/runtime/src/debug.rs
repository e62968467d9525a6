//! What people see of the traffic: a trace on stderr, a ring of the last messages, and diagnostics.
//!
//! All three are for eyes only: text is cut to a bound, credentials are hidden (`redact.rs`), control characters are
//! made visible, and nothing here can hold up the traffic: what can't be shown in time is counted and dropped.

use crate::redact::redact;
use ferromcp_engine::{Diagnostic, DiagnosticKind, StreamId};
use memchr::memchr;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Write as _;

/// Bytes of one message that the trace shows. 2 KiB: a screenful, with the whole of nearly every message.
const TRACED: usize = 2 << 10;

/// Bytes of one message that the ring keeps. 512: the envelope and the first arguments; 64 of them stay within one page
/// table entry's worth of memory.
const KEPT: usize = 512;

/// Bytes of trace that may wait for stderr. 256 KiB: beyond it nobody reads, and lines are dropped.
const TRACE_BACKLOG: usize = 256 << 10;

/// Kinds and streams of which a diagnostic is remembered as shown. 256: with more streams than that, silence is better.
const REMEMBERED: usize = 256;

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the client.
    Received,
    /// To the client.
    Sent,
}

/// One message of the ring.
struct Record {
    direction: Direction,
    at_us: u64,
    size: usize,
    text: Vec<u8>,
}

/// The trace and the ring. Exists only when one of them is wanted.
pub(crate) struct Tap {
    traced: bool,
    pending: Vec<u8>,
    dropped: usize,
    /// A thread is writing the trace.
    pub(crate) writing: bool,
    ring: VecDeque<Record>,
    ring_size: usize,
    /// The beginning of a received line whose end has not come yet.
    partial: Vec<u8>,
    partial_size: usize,
}

impl Tap {
    /// None when neither is wanted.
    pub(crate) fn new(traced: bool, ring_size: usize) -> Option<Self> {
        (traced || ring_size > 0).then(|| Self {
            traced,
            pending: Vec::new(),
            dropped: 0,
            writing: false,
            ring: VecDeque::with_capacity(ring_size),
            ring_size,
            partial: Vec::new(),
            partial_size: 0,
        })
    }

    /// Bytes as they were read: any cut of lines.
    pub(crate) fn received(&mut self, mut bytes: &[u8], now_us: u64) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.partial_size == 0 {
                self.message(Direction::Received, line, line.len(), now_us);
            } else {
                self.keep_partial(line);
                let text = std::mem::take(&mut self.partial);
                self.message(Direction::Received, &text, self.partial_size, now_us);
                self.partial_size = 0;
            }
            bytes = rest;
        }
        self.keep_partial(bytes);
    }

    fn keep_partial(&mut self, bytes: &[u8]) {
        self.partial_size += bytes.len();
        let room = TRACED.saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Bytes on their way out: whole lines.
    pub(crate) fn sent(&mut self, mut bytes: &[u8], now_us: u64) {
        while let Some(end) = memchr(b'\n', bytes) {
            self.message(Direction::Sent, &bytes[..end], end, now_us);
            bytes = &bytes[end + 1..];
        }
    }

    fn message(&mut self, direction: Direction, text: &[u8], size: usize, at_us: u64) {
        if size == 0 || text == b"\r" {
            return;
        }
        if self.traced {
            if self.pending.len() < TRACE_BACKLOG {
                let line = show(direction, at_us, size, &text[..text.len().min(TRACED)]);
                self.pending.extend_from_slice(line.as_bytes());
                self.pending.push(b'\n');
            } else {
                self.dropped += 1;
            }
        }
        if self.ring_size > 0 {
            // The oldest record's buffer serves again.
            let mut record = if self.ring.len() == self.ring_size { self.ring.pop_front() } else { None }
                .unwrap_or_else(|| Record { direction, at_us, size, text: Vec::with_capacity(KEPT) });
            record.text.clear();
            record.text.extend_from_slice(&text[..text.len().min(KEPT)]);
            (record.direction, record.at_us, record.size) = (direction, at_us, size);
            self.ring.push_back(record);
        }
    }

    /// The ring, oldest first.
    pub(crate) fn recent(&self) -> Vec<String> {
        self.ring.iter().map(|record| show(record.direction, record.at_us, record.size, &record.text)).collect()
    }

    /// A line of the trace waits.
    pub(crate) fn wants_writer(&self) -> bool {
        !self.pending.is_empty() && !self.writing
    }

    /// The lines that wait, for [`write_stderr`].
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.writing = true;
        let mut lines = std::mem::take(&mut self.pending);
        if self.dropped > 0 {
            lines.extend_from_slice(
                format!("ferromcp: {} messages not shown: stderr is not read\n", self.dropped).as_bytes(),
            );
            self.dropped = 0;
        }
        lines
    }
}

/// One line: milliseconds since the start, direction, size, text.
fn show(direction: Direction, at_us: u64, size: usize, text: &[u8]) -> String {
    let arrow = match direction {
        Direction::Received => "<-",
        Direction::Sent => "->",
    };
    let plain = String::from_utf8_lossy(text);
    let clean = redact(plain.trim_end_matches('\r'));
    let mut line = String::with_capacity(clean.len() + 48);
    // Writing into a String can't fail.
    let _ = write!(line, "ferromcp {:>9}.{:03} {arrow} {size:>6} ", at_us / 1_000, at_us % 1_000);
    line.push_str(&visible(&clean));
    if text.len() < size {
        let _ = write!(line, " [{} bytes more]", size - text.len());
    }
    line
}

/// The text without control characters, which could drive a terminal or forge a line.
fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c.is_control() {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Writes to stderr and lets it fail: there is nowhere else to say it. May block, like any write.
pub(crate) fn write_stderr(bytes: &[u8]) {
    let _ = std::io::stderr().lock().write_all(bytes);
}

/// Shows each kind of diagnostic once for each stream.
#[derive(Default)]
pub(crate) struct Shown(Vec<(Option<StreamId>, DiagnosticKind)>);

impl Shown {
    /// The line for stderr, the first time.
    pub(crate) fn first(&mut self, diagnostic: &Diagnostic) -> Option<String> {
        let seen = (diagnostic.stream, diagnostic.kind);
        if self.0.len() >= REMEMBERED || self.0.contains(&seen) {
            return None;
        }
        self.0.push(seen);
        let detail = redact(&diagnostic.detail);
        Some(format!("ferromcp: {} (further ones of this kind are not shown)\n", visible(&detail)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_together_from_any_cut() {
        let text = b"{\"a\":1}\r\n\n{\"token\":\"x1\"}\n";
        for cut in 0..text.len() {
            let mut tap = Tap::new(false, 8).expect("a ring is wanted");
            tap.received(&text[..cut], 1_234);
            tap.received(&text[cut..], 1_234);
            let lines = tap.recent();
            assert_eq!(lines.len(), 2, "{lines:?}");
            assert!(lines[0].starts_with("ferromcp         1.234 <-      8 {\"a\":1}"), "{}", lines[0]);
            assert!(lines[1].ends_with("{\"token\":\"[redacted]\"}"), "{}", lines[1]);
        }
    }

    #[test]
    fn the_ring_keeps_the_last_and_cuts_the_long() {
        let mut tap = Tap::new(false, 2).expect("a ring is wanted");
        tap.sent(b"one\ntwo\n", 0);
        let mut long = vec![b'x'; 10_000];
        long.push(b'\n');
        tap.sent(&long, 0);
        let lines = tap.recent();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].ends_with("two"));
        assert!(lines[1].len() < 700 && lines[1].ends_with("[9488 bytes more]"));
    }

    #[test]
    fn control_characters_can_not_forge_lines() {
        let mut tap = Tap::new(true, 0).expect("a trace is wanted");
        tap.received(b"a\x1b[2J\rb\n", 0);
        let trace = String::from_utf8(tap.take()).expect("text");
        assert!(trace.ends_with("a\\u001b[2J\\u000db\n"), "{trace}");
    }

    #[test]
    fn a_trace_that_nobody_reads_is_bounded() {
        let mut tap = Tap::new(true, 0).expect("a trace is wanted");
        for _ in 0..10_000 {
            tap.sent(b"0123456789012345678901234567890123456789\n", 0);
        }
        let trace = String::from_utf8(tap.take()).expect("text");
        assert!(trace.len() < TRACE_BACKLOG + 200);
        assert!(trace.ends_with("messages not shown: stderr is not read\n"));
    }

    #[test]
    fn a_diagnostic_is_shown_once_for_each_kind_and_stream() {
        let mut shown = Shown::default();
        let noise = |stream| Diagnostic {
            stream: Some(StreamId(stream)),
            kind: DiagnosticKind::Noise,
            detail: "not JSON".into(),
        };
        assert!(shown.first(&noise(0)).is_some_and(|line| line.contains("not JSON")));
        assert!(shown.first(&noise(0)).is_none());
        assert!(shown.first(&noise(1)).is_some());
    }
}
