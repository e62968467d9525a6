//! One part of a response, kept for C to look at.

use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine::http::Response;
use std::borrow::Cow;

/// A part of a response. Owned by whoever received it; freed with fmcp_http_part_free().
#[derive(Debug)]
pub struct HttpPart {
    status: u16,
    headers: Vec<(&'static str, Cow<'static, str>)>,
    body: Vec<u8>,
    pub(super) is_last: bool,
    is_aborted: bool,
}

impl HttpPart {
    pub(super) fn first(response: Response) -> Self {
        let is_last = response.body.is_some();
        Self {
            status: response.status,
            headers: response.headers,
            body: response.body.unwrap_or_default(),
            is_last,
            is_aborted: false,
        }
    }

    pub(super) fn more(body: Vec<u8>) -> Self {
        Self { status: 0, headers: Vec::new(), body, is_last: false, is_aborted: false }
    }

    pub(super) fn end() -> Self {
        Self { is_last: true, ..Self::more(Vec::new()) }
    }

    pub(super) fn aborted() -> Self {
        Self { is_last: true, is_aborted: true, ..Self::more(Vec::new()) }
    }

    fn header(&self, at: usize) -> Option<(&str, &str)> {
        self.headers.get(at).map(|(name, value)| (*name, &**value))
    }
}

/// The status code, in the first part; 0 in every other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_part_status(part: *const HttpPart) -> i32 {
    guard::value(0, || {
        // SAFETY: a live handle or null, by the header's contract.
        unsafe { handle::borrow(part) }.map_or(0, |part| part.status.into())
    })
}

/// How many header fields there are, in the first part; 0 in every other. What HTTP/1.1 says of the message itself is not among
/// them: a first part that is the last too has its whole body, so `Content-Length` is the body's length (a response with status
/// 204 has none); else the body comes in pieces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_part_header_count(part: *const HttpPart) -> usize {
    guard::value(0, || {
        // SAFETY: a live handle or null, by the header's contract.
        unsafe { handle::borrow(part) }.map_or(0, |part| part.headers.len())
    })
}

/// The name of a header field, in lower case; none where there is no such field. Lives as long as the part.
///
/// \param at the field's number, from 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_part_header_name(part: *const HttpPart, at: usize) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live handle or null, by the header's contract.
        let header = unsafe { handle::borrow(part) }.and_then(|part| part.header(at));
        Text::of_option(header.map(|(name, _)| name))
    })
}

/// The value of a header field; none where there is no such field. Lives as long as the part.
///
/// \param at the field's number, from 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_part_header_value(part: *const HttpPart, at: usize) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live handle or null, by the header's contract.
        let header = unsafe { handle::borrow(part) }.and_then(|part| part.header(at));
        Text::of_option(header.map(|(_, value)| value))
    })
}

/// Bytes of the body, which are to be sent at once; none where this part has none. Lives as long as the part.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_part_body(part: *const HttpPart) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live handle or null, by the header's contract.
        let part = unsafe { handle::borrow(part) }.filter(|part| !part.body.is_empty());
        part.map_or(Text::NONE, |part| Text { data: part.body.as_ptr().cast(), len: part.body.len() })
    })
}

/// Whether nothing follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_part_is_last(part: *const HttpPart) -> bool {
    guard::value(false, || {
        // SAFETY: a live handle or null, by the header's contract.
        unsafe { handle::borrow(part) }.is_some_and(|part| part.is_last)
    })
}

/// Whether the response was given up: it is not complete, and its connection is to be broken off, so that the client sees it.
/// Such a part is the last, and may be the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_part_is_aborted(part: *const HttpPart) -> bool {
    guard::value(false, || {
        // SAFETY: a live handle or null, by the header's contract.
        unsafe { handle::borrow(part) }.is_some_and(|part| part.is_aborted)
    })
}

/// Frees a part. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_part_free(part: *mut HttpPart) {
    // SAFETY: the caller gives up its handle, by the header's contract.
    guard::value((), || unsafe { handle::free(part) });
}
