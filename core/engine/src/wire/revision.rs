//! The revisions, their order, and the yes-or-no questions that other modules ask about one.

use crate::error::code;
use std::fmt;

/// A published revision of the Model Context Protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05: the first.
    V2024_11_05,
    /// 2025-03-26: batches, audio, tool annotations, the completions capability.
    V2025_03_26,
    /// 2025-06-18: structured results, titles, resource links, elicitation; no batches.
    V2025_06_18,
    /// 2025-11-25: icons, experimental tasks; the last with a handshake.
    V2025_11_25,
    /// 2026-07-28: stateless; every request carries version and capabilities.
    V2026_07_28,
}

/// How a revision establishes what both sides speak (2026-07-28 `basic/versioning`, "Terminology").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// By an `initialize` handshake, for the whole connection.
    Legacy,
    /// By `_meta` fields of each request.
    Modern,
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The one whose form definitions and results are given and kept in.
    pub(crate) const NEWEST: Self = Self::V2026_07_28;

    /// The text that stands for it on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision that a text names.
    pub fn parse(text: &str) -> Option<Self> {
        // The newest first: its requests name it each time.
        Self::ALL.into_iter().rev().find(|revision| revision.as_str() == text)
    }

    /// Legacy up to 2025-11-25, modern from 2026-07-28.
    pub fn era(self) -> Era {
        if self < Self::V2026_07_28 { Era::Legacy } else { Era::Modern }
    }

    /// True where requests carry their own version and capabilities.
    pub(crate) fn is_modern(self) -> bool {
        self.era() == Era::Modern
    }

    /// What `initialize` is answered with: the version asked for where it is served, else the latest legacy one that
    /// is (2025-11-25 `basic/lifecycle`, "Version Negotiation"). None when no legacy revision is served.
    pub(crate) fn negotiate(requested: &str, served: &[Self]) -> Option<Self> {
        let legacy = || served.iter().copied().filter(|revision| !revision.is_modern());
        legacy().find(|revision| revision.as_str() == requested).or_else(|| legacy().max())
    }

    /// The revision of a legacy request that stands for itself: the one it names, else the one before versions were named
    /// (2025-11-25 `basic/transports`, "Protocol Version Header": SHOULD).
    pub(crate) fn assumed(named: Option<Self>, served: &[Self]) -> Option<Self> {
        let revision = named.unwrap_or(Self::V2025_03_26);
        (!revision.is_modern() && served.contains(&revision)).then_some(revision)
    }

    /// JSON-RPC batches exist in 2025-03-26 only (2025-06-18 changelog, 1).
    pub(crate) fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether a stream of events may begin with an empty one (2025-11-25 changelog, minor: SEP-1699). Earlier clients took every
    /// event for a message.
    pub(crate) fn has_empty_events(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// How an error names the id that could not be read. The schemas up to 2025-06-18 require an id and JSON-RPC 2.0
    /// section 5 makes it null; from 2025-11-25 the schema lets it be absent and allows no null.
    pub(crate) fn unreadable_id(negotiated: Option<Self>) -> Option<&'static str> {
        negotiated.is_some_and(|revision| revision <= Self::V2025_06_18).then_some("null")
    }

    /// `message` in progress notifications (2025-03-26, "Other schema changes").
    pub(crate) fn has_progress_message(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// `structuredContent` and `outputSchema` (2025-06-18 changelog, 2).
    pub(crate) fn has_structured_content(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// `structuredContent` may be any JSON value, not just an object (2026-07-28 changelog, minor 10).
    pub(crate) fn structured_content_is_free(self) -> bool {
        self.is_modern()
    }

    /// Choices in forms have titles of their own, and there are choices of several (2025-11-25 changelog, major 5).
    pub(crate) fn has_titled_choices(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Elicitation by URL, and so the field that tells it from a form (2025-11-25 changelog, major 6).
    pub(crate) fn has_url_elicitation(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Several content blocks in one sampled message, among them uses of tools (2025-11-25 changelog, major 7).
    pub(crate) fn has_content_arrays(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Clients ask for tasks themselves, by a parameter (2025-11-25 `basic/utilities/tasks`).
    pub(crate) fn has_task_parameter(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Clients declare whether they take the context of servers into sampling (2025-11-25 `client/sampling`).
    pub(crate) fn has_sampling_context(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// True where nothing that today's content blocks may hold has to be changed or left out.
    pub(crate) fn knows_all_content(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// The code under which a peer is told of an error of host code. Modern peers must not see codes that their revision
    /// retired, nor codes of MCP's own range that it does not define (2026-07-28 `basic/index`, "Error Codes").
    pub(crate) fn error_code(self, wanted: i64) -> i64 {
        match wanted {
            code::HEADER_MISMATCH | code::MISSING_REQUIRED_CLIENT_CAPABILITY | code::UNSUPPORTED_PROTOCOL_VERSION => {
                wanted
            }
            code::RESOURCE_NOT_FOUND if self.is_modern() => code::INVALID_PARAMS,
            wanted if self.is_modern() && code::SERVER_ERRORS.contains(&wanted) => code::INTERNAL_ERROR,
            _ => wanted,
        }
    }

    /// Code -32002 for an unknown resource up to 2025-11-25, -32602 from then on (`server/resources`, "Error Handling").
    pub(crate) fn unknown_resource_code(self) -> i64 {
        if self.is_modern() { code::INVALID_PARAMS } else { code::RESOURCE_NOT_FOUND }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initialize_gets_what_it_asks_for_or_the_latest_legacy() {
        let all = &Revision::ALL;
        assert_eq!(Revision::negotiate("2024-11-05", all), Some(Revision::V2024_11_05));
        assert_eq!(Revision::negotiate("2099-01-01", all), Some(Revision::V2025_11_25));
        assert_eq!(Revision::negotiate("2026-07-28", all), Some(Revision::V2025_11_25));
        assert_eq!(Revision::negotiate("2025-11-25", &[Revision::V2026_07_28]), None);
    }

    #[test]
    fn modern_peers_see_no_retired_codes() {
        for (wanted, sent) in
            [(-32002, -32602), (-32042, -32603), (-32000, -32603), (-32050, -32603), (-32021, -32021), (7, 7)]
        {
            assert_eq!(Revision::V2026_07_28.error_code(wanted), sent);
            assert_eq!(Revision::V2025_11_25.error_code(wanted), wanted);
        }
    }

    #[test]
    fn names_read_back() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        }
        assert_eq!(Revision::parse("2026-07-29"), None);
    }
}
