//! The head of an HTTP request, as a carrier shows it.

/// The header fields of a request, whatever holds them.
pub trait Headers {
    /// Calls `each` with every value of the field `name` (in lower case), in order, without surrounding blanks being cut.
    fn each(&self, name: &str, each: &mut dyn FnMut(&[u8]));

    /// Calls `each` with every field and its value, for host code that wants to see them.
    fn all(&self, each: &mut dyn FnMut(&str, &[u8])) {
        let _ = each;
    }
}

/// Fields in a list, with names in any case.
impl<N: AsRef<str>, V: AsRef<[u8]>> Headers for Vec<(N, V)> {
    fn each(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        for (field, value) in self {
            if field.as_ref().eq_ignore_ascii_case(name) {
                each(value.as_ref());
            }
        }
    }

    fn all(&self, each: &mut dyn FnMut(&str, &[u8])) {
        for (field, value) in self {
            each(field.as_ref(), value.as_ref());
        }
    }
}

/// Everything of a request but its body.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    /// The method, as written.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// What follows the question mark.
    pub query: Option<&'a str>,
    /// The authority of the request's target, which HTTP/2 has instead of `Host`.
    pub authority: Option<&'a str>,
    /// The header fields.
    pub headers: &'a dyn Headers,
    /// Who is behind the request, as far as that was verified.
    pub principal: Option<&'a str>,
}

/// One value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Absent,
    /// Blanks around it are cut (RFC 9110, 5.5).
    One(String),
    /// Given more than once, or with bytes that are no visible ASCII, blank or tab.
    Bad,
}

impl Field {
    /// The value of the field `name` (in lower case), which may be given once.
    pub(crate) fn of(headers: &dyn Headers, name: &str) -> Self {
        let mut found = Self::Absent;
        headers.each(name, &mut |value| {
            found = match (&found, text(value)) {
                (Self::Absent, Some(text)) => Self::One(text.to_owned()),
                _ => Self::Bad,
            };
        });
        found
    }
}

impl Head<'_> {
    /// The value of a field that may be given once.
    pub(crate) fn field(&self, name: &str) -> Field {
        Field::of(self.headers, name)
    }

    /// All values of a field that is a list, joined by commas; bytes that are no ASCII become question marks.
    pub(crate) fn list(&self, name: &str) -> Option<String> {
        let mut all: Option<String> = None;
        self.headers.each(name, &mut |value| {
            let text: String = value.iter().map(|byte| if byte.is_ascii() { *byte as char } else { '?' }).collect();
            match &mut all {
                Some(all) => {
                    all.push(',');
                    all.push_str(&text);
                }
                None => all = Some(text),
            }
        });
        all
    }
}

/// A value without the blanks around it; None where it has bytes that a value can't have.
pub(crate) fn text(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')).then_some(text)
}
