//! The methods a client may call, and in which revisions each exists.

use super::Revision;

/// A request method that the specification defines for servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Method {
    Initialize,
    Ping,
    Discover,
    ToolsList,
    ToolsCall,
    ResourcesList,
    ResourcesRead,
    TemplatesList,
    ResourcesSubscribe,
    ResourcesUnsubscribe,
    PromptsList,
    PromptsGet,
    Complete,
    SetLevel,
    Listen,
    TasksGet,
    TasksUpdate,
    TasksCancel,
    TasksResult,
    TasksList,
}

/// The server capability that a method stands under: without it the method does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    Tools,
    Resources,
    Subscribe,
    Prompts,
    Completions,
    Logging,
    Tasks,
}

struct Row {
    method: Method,
    name: &'static str,
    since: Revision,
    until: Revision,
    needs: Needs,
    /// True where the result carries `ttlMs` and `cacheScope` (2026-07-28 `server/utilities/caching`).
    cacheable: bool,
    /// True where the result may ask for input (2026-07-28 `basic/patterns/mrtr`, "Supported Requests").
    asks: bool,
}

const fn row(method: Method, name: &'static str, needs: Needs) -> Row {
    Row {
        method,
        name,
        since: Revision::V2024_11_05,
        until: Revision::V2026_07_28,
        needs,
        cacheable: false,
        asks: false,
    }
}

impl Row {
    /// Removed by 2026-07-28 (its changelog, major 1 to 5).
    const fn legacy(mut self) -> Self {
        self.until = Revision::V2025_11_25;
        self
    }

    /// Added by 2026-07-28.
    const fn modern(mut self) -> Self {
        self.since = Revision::V2026_07_28;
        self
    }

    /// Added by 2025-11-25 (its changelog, major 9), and taken on by the extension.
    const fn with_tasks(mut self) -> Self {
        self.since = Revision::V2025_11_25;
        self
    }

    const fn asks(mut self) -> Self {
        self.asks = true;
        self
    }

    const fn cacheable(mut self) -> Self {
        self.cacheable = true;
        self
    }
}

const TABLE: [Row; 20] = [
    row(Method::ToolsCall, "tools/call", Needs::Tools).asks(),
    row(Method::ToolsList, "tools/list", Needs::Tools).cacheable(),
    row(Method::ResourcesRead, "resources/read", Needs::Resources).cacheable().asks(),
    row(Method::ResourcesList, "resources/list", Needs::Resources).cacheable(),
    row(Method::TemplatesList, "resources/templates/list", Needs::Resources).cacheable(),
    row(Method::PromptsList, "prompts/list", Needs::Prompts).cacheable(),
    row(Method::PromptsGet, "prompts/get", Needs::Prompts).asks(),
    row(Method::Complete, "completion/complete", Needs::Completions),
    row(Method::Discover, "server/discover", Needs::Nothing).modern().cacheable(),
    row(Method::Listen, "subscriptions/listen", Needs::Nothing).modern(),
    row(Method::Initialize, "initialize", Needs::Nothing).legacy(),
    row(Method::Ping, "ping", Needs::Nothing).legacy(),
    row(Method::SetLevel, "logging/setLevel", Needs::Logging).legacy(),
    row(Method::ResourcesSubscribe, "resources/subscribe", Needs::Subscribe).legacy(),
    row(Method::ResourcesUnsubscribe, "resources/unsubscribe", Needs::Subscribe).legacy(),
    row(Method::TasksGet, "tasks/get", Needs::Tasks).with_tasks(),
    row(Method::TasksCancel, "tasks/cancel", Needs::Tasks).with_tasks(),
    row(Method::TasksUpdate, "tasks/update", Needs::Tasks).modern(),
    row(Method::TasksResult, "tasks/result", Needs::Tasks).with_tasks().legacy(),
    row(Method::TasksList, "tasks/list", Needs::Tasks).with_tasks().legacy(),
];

impl Method {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.method)
    }

    fn row(self) -> &'static Row {
        // Every variant has its row; the test below goes through them.
        TABLE.iter().find(|row| row.method == self).unwrap_or(&TABLE[0])
    }

    pub(crate) fn name(self) -> &'static str {
        self.row().name
    }

    pub(crate) fn exists_in(self, revision: Revision) -> bool {
        let row = self.row();
        (row.since..=row.until).contains(&revision)
    }

    /// Whether it is about tasks.
    pub(crate) fn is_task(self) -> bool {
        self.row().needs == Needs::Tasks
    }

    pub(crate) fn needs(self) -> Needs {
        self.row().needs
    }

    /// Whether host code that serves it may ask the client before it answers.
    pub(crate) fn asks(self) -> bool {
        self.row().asks
    }

    /// Whether a result of this method may have `resultType` `input_required` in `revision`.
    pub(crate) fn may_ask(self, revision: Revision) -> bool {
        self.row().asks && revision.is_modern()
    }

    pub(crate) fn is_cacheable(self) -> bool {
        self.row().cacheable
    }
}

/// Whether a notification tells of a change: a modern peer gets it only through a subscription that asked for it
/// (2026-07-28 `basic/patterns/subscriptions`).
pub(crate) fn tells_of_change(notification: &str) -> bool {
    matches!(
        notification,
        "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_under_its_own_name() {
        for row in &TABLE {
            assert_eq!(Method::parse(row.name), Some(row.method));
            assert_eq!(row.method.name(), row.name);
        }
        assert_eq!(Method::parse("tools/Call"), None);
    }

    #[test]
    fn removed_and_added_methods() {
        for method in [Method::Initialize, Method::Ping, Method::SetLevel, Method::ResourcesSubscribe] {
            assert!(method.exists_in(Revision::V2025_11_25) && !method.exists_in(Revision::V2026_07_28));
        }
        for method in [Method::TasksResult, Method::TasksList] {
            assert!(method.exists_in(Revision::V2025_11_25) && !method.exists_in(Revision::V2026_07_28));
            assert!(!method.exists_in(Revision::V2025_06_18));
        }
        for method in [Method::Discover, Method::Listen, Method::TasksUpdate] {
            assert!(!method.exists_in(Revision::V2025_11_25) && method.exists_in(Revision::V2026_07_28));
        }
    }
}
