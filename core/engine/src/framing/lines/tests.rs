use proptest::collection::vec;
use proptest::prelude::*;

use super::{Frame, LineFramer, MOST_RETAINED_BYTES, RETAINED_BYTES, UNUSED_LINES};

/// A frame that owns its bytes, to be compared after the callback.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Owned {
    Line(Vec<u8>),
    TooLong { limit: usize, head: Vec<u8> },
}

fn line(text: &str) -> Owned {
    Owned::Line(text.as_bytes().to_vec())
}

fn too_long(limit: usize, head: &str) -> Owned {
    Owned::TooLong { limit, head: head.as_bytes().to_vec() }
}

fn own(frame: Frame<'_>) -> Owned {
    match frame {
        Frame::Line(line) => Owned::Line(line.to_vec()),
        Frame::TooLong { limit, head } => Owned::TooLong { limit, head: head.to_vec() },
    }
}

fn frames_of<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Owned> {
    let mut framer = LineFramer::new(limit);
    let mut frames = Vec::new();
    for chunk in chunks {
        framer.feed(chunk, |frame| frames.push(own(frame)));
        assert!(framer.buffer.capacity() <= limit + 4, "{} bytes held", framer.buffer.capacity());
    }
    framer.finish(|frame| frames.push(own(frame)));
    assert!(framer.buffer.is_empty() && !framer.discarding);
    frames
}

/// `bytes` cut at the positions in `cuts`.
fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.push(bytes.len());
    cuts.sort_unstable();
    let mut start = 0;
    cuts.into_iter()
        .map(|end| {
            let chunk = &bytes[start..end];
            start = end;
            chunk
        })
        .collect()
}

const AWKWARD: &str = "\u{feff}{\"dash\":\"\u{2014}\"}\r\n\n \t\r\n\r\n{\"drink\":\"\u{1f378}\"}\n\
                       \u{feff}\n\u{feff}{\"mark\":1}\n  {\"indented\":true} \nlast\r";

fn awkward_frames() -> Vec<Owned> {
    vec![
        line("{\"dash\":\"\u{2014}\"}"),
        line("{\"drink\":\"\u{1f378}\"}"),
        line("{\"mark\":1}"),
        line("  {\"indented\":true} "),
        line("last"),
    ]
}

#[test]
fn every_cut_in_two_and_three_gives_the_same_frames() {
    let bytes = AWKWARD.as_bytes();
    for first in 0..=bytes.len() {
        for second in first..=bytes.len() {
            let chunks = [&bytes[..first], &bytes[first..second], &bytes[second..]];
            assert_eq!(frames_of(1024, chunks), awkward_frames(), "cut at {first} and {second}");
        }
    }
}

#[test]
fn byte_by_byte_gives_the_same_frames() {
    assert_eq!(frames_of(1024, AWKWARD.as_bytes().chunks(1)), awkward_frames());
}

#[test]
fn a_line_inside_a_chunk_is_not_copied() {
    let chunk = b"one\ntwo\n";
    let range = chunk.as_ptr_range();
    let mut lines = 0;
    LineFramer::new(64).feed(chunk, |frame| {
        let Frame::Line(line) = frame else { panic!("{frame:?}") };
        assert!(range.contains(&line.as_ptr()));
        lines += 1;
    });
    assert_eq!(lines, 2);
}

#[test]
fn a_line_past_the_limit_is_reported_once_and_the_next_one_is_served() {
    let text = format!("{}\nnext\n", "x".repeat(5000));
    let expected = vec![too_long(100, &"x".repeat(64)), line("next")];
    for size in [1, 7, 64, 99, 100, 101, 4096, text.len()] {
        assert_eq!(frames_of(100, text.as_bytes().chunks(size)), expected, "chunks of {size}");
    }
}

#[test]
fn a_line_past_the_limit_is_reported_before_its_end_arrives() {
    let mut framer = LineFramer::new(10);
    let mut frames = Vec::new();
    framer.feed(b"0123456789", |frame| frames.push(own(frame)));
    assert_eq!(frames, []);
    framer.feed(b"a", |frame| frames.push(own(frame)));
    assert_eq!(frames, [too_long(10, "0123456789")]);
    framer.feed(b"b", |frame| frames.push(own(frame)));
    framer.feed(b"c\nok\n", |frame| frames.push(own(frame)));
    assert_eq!(frames, [too_long(10, "0123456789"), line("ok")]);
}

#[test]
fn the_limit_counts_neither_the_line_end_nor_the_mark() {
    for end in ["\n", "\r\n", ""] {
        for mark in ["", "\u{feff}"] {
            let fits = format!("{mark}0123456789{end}");
            let over = format!("{mark}0123456789a{end}");
            for size in 1..=over.len() {
                assert_eq!(frames_of(10, fits.as_bytes().chunks(size)), [line("0123456789")]);
                assert_eq!(frames_of(10, over.as_bytes().chunks(size)), [too_long(10, "0123456789")]);
            }
        }
    }
}

#[test]
fn an_unfinished_long_line_gives_no_second_frame_at_the_end() {
    assert_eq!(frames_of(4, [b"01234567".as_slice()]), [too_long(4, "0123")]);
}

#[test]
fn nothing_but_line_ends_gives_no_frame() {
    assert_eq!(frames_of(16, [b"\r\n\n \n\t\n\r".as_slice()]), []);
    assert_eq!(frames_of(16, [b"".as_slice()]), []);
}

fn feed_a_line_in_two(framer: &mut LineFramer, length: usize) {
    framer.feed(&vec![b'x'; length - 1], |_| panic!("no frame yet"));
    framer.feed(b"y\n", |frame| assert!(matches!(frame, Frame::Line(line) if line.len() == length)));
}

#[test]
fn a_big_buffer_serves_the_next_big_lines_and_is_given_back_after_small_ones() {
    let mut framer = LineFramer::new(1 << 20);
    feed_a_line_in_two(&mut framer, 1 << 19);
    let at = framer.buffer.as_ptr();
    for _ in 0..UNUSED_LINES {
        framer.feed(b"small\n", |_| {});
    }
    feed_a_line_in_two(&mut framer, 1 << 19);
    assert_eq!(framer.buffer.as_ptr(), at, "it is still the same buffer");
    for _ in 0..=UNUSED_LINES {
        framer.feed(b"small\n", |_| {});
    }
    assert!(framer.buffer.capacity() <= RETAINED_BYTES);
}

#[test]
fn a_huge_buffer_is_given_back_at_once() {
    let mut framer = LineFramer::new(MOST_RETAINED_BYTES * 2);
    feed_a_line_in_two(&mut framer, MOST_RETAINED_BYTES + 1);
    assert_eq!(framer.buffer.capacity(), 0);
}

/// A quadratic framer would search the start of the line again with each chunk.
#[test]
fn every_byte_is_searched_once() {
    let mut text = vec![b'x'; 300_000];
    text.push(b'\n');
    text.extend_from_slice(AWKWARD.as_bytes());
    for (limit, size) in [(1 << 20, 1), (1 << 20, 7), (1 << 20, 4096), (1000, 1), (1000, 4096)] {
        let mut framer = LineFramer::new(limit);
        for chunk in text.chunks(size) {
            framer.feed(chunk, |_| ());
        }
        assert_eq!(framer.searched, text.len(), "limit {limit}, chunks of {size}");
    }
}

/// Bytes that matter to a framer, mixed with ordinary text.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-z\u{e9}\u{2014}\u{1f378}]{0,12}".prop_map(String::into_bytes),
        2 => Just(b"\n".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        1 => Just(b" \t".to_vec()),
        1 => Just("\u{feff}".as_bytes().to_vec()),
        1 => Just(b"\xef\xbb".to_vec()),
        1 => vec(any::<u8>(), 0..4),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn frames_do_not_depend_on_the_cuts(
        stream in stream(),
        cuts in vec(any::<usize>(), 0..12),
        limit in 0_usize..40,
    ) {
        let whole = frames_of(limit, [stream.as_slice()]);
        prop_assert_eq!(&frames_of(limit, cut(&stream, &cuts)), &whole);
        prop_assert_eq!(&frames_of(limit, stream.chunks(1)), &whole);
    }

    #[test]
    fn lines_come_out_as_they_went_in(
        lines in vec("[!-~][ -~\u{2014}\u{1f378}]{0,30}", 0..20),
        cuts in vec(any::<usize>(), 0..12),
        crlf in any::<bool>(),
    ) {
        let text = lines.join(if crlf { "\r\n" } else { "\n" });
        let expected: Vec<Owned> = lines.iter().map(|text| line(text)).collect();
        prop_assert_eq!(frames_of(1024, cut(text.as_bytes(), &cuts)), expected);
    }
}
