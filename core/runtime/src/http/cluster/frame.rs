//! What nodes say to each other: a line of JSON, and behind it the bytes of a body.

use ferromcp_engine::ListKind;
use ferromcp_engine::http::{Head, Response};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Bytes of a body in one frame. 96 KiB: a frame that is far larger holds up those of others.
pub(super) const PIECE: usize = 96 << 10;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Frame<'a> {
    /// The node that sends it.
    pub(super) from: Cow<'a, str>,
    /// The exchange that it belongs to: a number of the node that the client has come to.
    #[serde(default)]
    pub(super) exchange: u64,
    pub(super) what: What,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    /// To the node that has the session: a request, with the beginning of its body.
    Request {
        request: Request,
        /// More of the body follows.
        more: bool,
    },
    /// The rest of its body.
    Body { more: bool },
    /// Its client has taken so many bytes.
    Taken { bytes: usize },
    /// Its client is not there any more.
    Gone,

    /// To the node that the client has come to: the request has arrived.
    Accepted,
    /// The head of its response.
    Response {
        status: u16,
        headers: Vec<(String, String)>,
        /// The body is to be handed on in one piece.
        whole: bool,
    },
    /// More of the body.
    Data,
    /// The response is complete.
    End,
    /// The response was given up.
    Broken,

    /// To all: whatever was between that node and others is lost.
    Hello,
    /// To see whether somebody receives.
    Beat,
    /// To all: something that their clients want to know.
    Told(Told),
}

/// Everything of a request but its body.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) authority: Option<String>,
    pub(super) principal: Option<String>,
    /// Each byte of a value is a character.
    pub(super) headers: Vec<(String, String)>,
}

/// What clients of every node are told.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Told {
    /// A list has changed.
    Changed(List),
    /// A resource has changed.
    Updated(String),
    /// A notification.
    Notification(String, Option<String>),
    /// A log message: level, logger, data.
    Log(String, Option<String>, String),
    /// A visit to a URL is complete.
    Completed(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
}

impl From<ListKind> for List {
    fn from(kind: ListKind) -> Self {
        match kind {
            ListKind::Tools => Self::Tools,
            ListKind::Prompts => Self::Prompts,
            ListKind::Resources => Self::Resources,
        }
    }
}

impl From<List> for ListKind {
    fn from(list: List) -> Self {
        match list {
            List::Tools => Self::Tools,
            List::Prompts => Self::Prompts,
            List::Resources => Self::Resources,
        }
    }
}

impl Frame<'_> {
    pub(super) fn encode(&self, body: &[u8]) -> Vec<u8> {
        // Strings and numbers can always be written.
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend_from_slice(body);
        bytes
    }

    /// None: no frame of this version.
    pub(super) fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let at = memchr::memchr(b'\n', bytes)?;
        Some((serde_json::from_slice(&bytes[..at]).ok()?, &bytes[at + 1..]))
    }
}

impl Request {
    pub(super) fn new(head: &Head<'_>) -> Self {
        let mut headers = Vec::new();
        head.headers.all(&mut |name, value| {
            headers.push((name.to_owned(), value.iter().map(|byte| char::from(*byte)).collect()));
        });
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self {
            method: head.method.to_owned(),
            path: head.path.to_owned(),
            query: owned(head.query),
            authority: owned(head.authority),
            principal: owned(head.principal),
            headers,
        }
    }

    pub(super) fn fields(&self) -> Vec<(String, Vec<u8>)> {
        let bytes = |value: &str| value.chars().filter_map(|letter| u8::try_from(letter).ok()).collect();
        self.headers.iter().map(|(name, value)| (name.clone(), bytes(value))).collect()
    }
}

impl What {
    pub(super) fn response(response: &Response) -> Self {
        let headers = response.headers.iter().map(|(name, value)| ((*name).to_owned(), value.to_string()));
        Self::Response { status: response.status, headers: headers.collect(), whole: response.body.is_some() }
    }
}

/// The response of another node; fields that are not known here are left out.
pub(super) fn response(status: u16, headers: Vec<(String, String)>) -> Response {
    let known = headers.into_iter().filter_map(|(name, value)| Some((Response::field_name(&name)?, value.into())));
    Response { status, headers: known.collect(), body: None }
}

/// A body cut into pieces, at least one; each says whether another follows.
pub(super) fn pieces(body: &[u8]) -> impl Iterator<Item = (&[u8], bool)> {
    let count = body.len().div_ceil(PIECE).max(1);
    (0..count).map(move |at| {
        let end = body.len().min((at + 1) * PIECE);
        (&body[at * PIECE..end], at + 1 < count)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_out_as_it_went_in() {
        let fields = vec![("X-Name".to_owned(), b"caf\xe9\n\xff".to_vec())];
        let head = Head {
            method: "POST",
            path: "/mcp",
            query: Some("a=\"b\""),
            authority: None,
            headers: &fields,
            principal: Some("al\nice"),
        };
        let what = What::Request { request: Request::new(&head), more: true };
        let bytes = Frame { from: "n".into(), exchange: u64::MAX, what }.encode(b"{}\n\0");
        let (frame, body) = Frame::decode(&bytes).expect("a frame");
        assert_eq!((frame.from.as_ref(), frame.exchange, body), ("n", u64::MAX, b"{}\n\0".as_slice()));
        let What::Request { request, more: true } = frame.what else { panic!("{frame:?}") };
        assert_eq!((request.fields(), request.principal.as_deref()), (fields, Some("al\nice")));
        for no_frame in [b"".as_slice(), b"{}", b"{}\n", b"\xff\n", br#"{"from":"n","what":"New"}"#] {
            assert!(Frame::decode(no_frame).is_none());
        }
    }

    #[test]
    fn a_body_is_cut_and_nothing_of_it_lost() {
        for length in [0, 1, PIECE, PIECE + 1, 3 * PIECE] {
            let body = vec![b'x'; length];
            let cut: Vec<_> = pieces(&body).collect();
            assert_eq!(cut.iter().map(|(piece, _)| piece.len()).sum::<usize>(), length);
            assert!(cut.iter().all(|(piece, _)| piece.len() <= PIECE));
            assert_eq!(cut.iter().filter(|(_, more)| !more).count(), 1);
            assert!(cut.last().is_some_and(|(_, more)| !more));
        }
    }
}
