//! Several processes that serve together, each with sessions of its own.
//!
//! The id of a session begins with the name of the process that has it, its **node**. So whoever gets a request knows where it
//! has to go; how it gets there is the carrier's. Modern requests are served where they arrive.

use super::admit::{self, Admission, Target};
use super::head::{Field, Head};
use super::response::Response;
use super::{Http, old};
use crate::error::LocalError;
use crate::wire::Revision;

/// Characters of a node's name at most. 64: twice of what 128 bits take.
const LONGEST: usize = 64;

impl Http {
    /// Names this process among those that serve together; nobody should be able to guess the name. To be set before anything
    /// is served.
    ///
    /// # Errors
    /// [`LocalError::Config`]: a name has 1 to 64 characters, of letters and digits of ASCII, `-` and `_`.
    pub fn set_node(&mut self, name: &str) -> Result<(), LocalError> {
        if !is_name(name) {
            return Err(LocalError::Config("node: must have 1 to 64 characters: letters, digits, `-` and `_`".into()));
        }
        self.node = Some(name.to_owned());
        Ok(())
    }

    /// The node that has the session which a request names; None where the request is to be served here, also where it names
    /// nothing that could be anywhere.
    pub fn elsewhere<'a>(&self, head: &Head<'a>, admission: &'a Admission) -> Option<&'a str> {
        let own = self.node.as_deref()?;
        let session = match admission.target {
            Target::Endpoint if self.config.sessions => match (&admission.session, &admission.version) {
                // A modern request is in no session, whatever it names.
                (_, Field::One(version)) if Revision::parse(version).is_some_and(Revision::is_modern) => None,
                (Field::One(session), _) => Some(session.as_str()),
                _ => None,
            },
            Target::OldMessages => old::named(head),
            Target::Endpoint | Target::OldStream => None,
        };
        let (node, _) = session?.split_once('.')?;
        (node != own && is_name(node)).then_some(node)
    }

    /// [`Http::admit`] for a request that another node has admitted: who may ask was looked at there, under the names that
    /// it is known by.
    ///
    /// # Errors
    /// As [`Http::admit`].
    pub fn admit_passed_on(&self, head: &Head<'_>) -> Result<Admission, Response> {
        admit::admit(&self.config, None, head)
    }
}

fn is_name(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::HttpConfig;

    fn elsewhere(http: &Http, path: &str, query: Option<&str>, fields: &[(&str, &str)]) -> Option<String> {
        let mut headers = vec![("host", "localhost"), ("content-type", "application/json")];
        headers.extend_from_slice(fields);
        let head = Head { method: "POST", path, query, authority: None, headers: &headers, principal: None };
        let admission = http.admit(&head).expect("as it must be");
        http.elsewhere(&head, &admission).map(str::to_owned)
    }

    #[test]
    fn the_id_of_a_session_says_who_has_it() {
        let mut http = Http::new(HttpConfig { legacy_sse: true, ..HttpConfig::default() }, None).expect("fine");
        let session = |id: &'static str| [("mcp-session-id", id)];
        assert_eq!(elsewhere(&http, "/mcp", None, &session("b.x")), None, "it serves alone");
        http.set_node("a").expect("a name");
        assert_eq!(elsewhere(&http, "/mcp", None, &session("b.x.y")).as_deref(), Some("b"));
        assert_eq!(elsewhere(&http, "/messages", Some("sessionId=b.x"), &[]).as_deref(), Some("b"));
        for id in ["a.x", "x", ".x", "", "b:*.x", "b x.y", "b\t.x"] {
            assert_eq!(elsewhere(&http, "/mcp", None, &session(id)), None, "{id}");
        }
        assert_eq!(elsewhere(&http, "/mcp", None, &[]), None);
        assert_eq!(elsewhere(&http, "/messages", None, &session("b.x")), None);
        let modern = [("mcp-session-id", "b.x"), ("mcp-protocol-version", "2026-07-28")];
        assert_eq!(elsewhere(&http, "/mcp", None, &modern), None);
        let twice = [("mcp-session-id", "b.x"), ("mcp-session-id", "b.x")];
        assert_eq!(elsewhere(&http, "/mcp", None, &twice), None);
    }

    #[test]
    fn a_name_can_stand_in_an_id() {
        let mut http = Http::new(HttpConfig::default(), None).expect("fine");
        for wrong in ["", "a.b", "a b", "\u{e9}", &"x".repeat(LONGEST + 1)] {
            assert!(http.set_node(wrong).is_err(), "{wrong}");
        }
        assert!(http.set_node(&"x".repeat(LONGEST)).is_ok());
    }
}
