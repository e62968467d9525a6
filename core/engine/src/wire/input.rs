//! What a server may ask of a client in the middle of a call, and what the client may answer
//! (2026-07-28 `basic/patterns/mrtr`, "InputRequests"; `client/elicitation`, `client/sampling`, `client/roots`).

use super::{Revision, form, sampling};
use crate::error::LocalError;
use crate::jsonrpc::{scan, write};
use crate::model::Capability;
use crate::schema::{Schema, SchemaLimits};

/// A request to a client, checked against the specification and what the client has declared, in its revision's form.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) kind: Kind,
    /// The parameters; None where there are none.
    pub(crate) params: Option<String>,
}

/// What is asked.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A form, with the schema of its answers.
    Form(Box<Schema>),
    Url,
    Sampling,
    Roots,
}

impl Kind {
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Form(_) | Self::Url => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// Says what of a client's result is not as it must be, if anything.
    pub(crate) fn check_answer(&self, result: &str) -> Result<(), String> {
        if !scan::is_object(result) {
            return Err(format!("the answer to {} must be an object", self.method()));
        }
        match self {
            Self::Form(schema) => check_elicited(result, Some(schema)),
            Self::Url => check_elicited(result, None),
            Self::Sampling => match scan::pick(result, ["role", "content", "model"]) {
                Ok([Some(role), Some(content), Some(model)])
                    if role.starts_with('"') && model.starts_with('"') && content.starts_with(['{', '[']) =>
                {
                    Ok(())
                }
                _ => Err("a sampled message needs role, content and model".into()),
            },
            Self::Roots => match scan::pick(result, ["roots"]) {
                Ok([Some(roots)]) if scan::is_array(roots) && scan::elements(roots).all(is_root) => Ok(()),
                _ => Err("the answer to roots/list needs an array \"roots\" of objects with a \"uri\"".into()),
            },
        }
    }
}

fn is_root(root: &str) -> bool {
    matches!(scan::pick(root, ["uri"]), Ok([Some(uri)]) if uri.starts_with('"'))
}

fn check_elicited(result: &str, schema: Option<&Schema>) -> Result<(), String> {
    let [action, content] = scan::pick(result, ["action", "content"]).unwrap_or_default();
    match (action, schema) {
        (Some(r#""decline""# | r#""cancel""#), _) | (Some(r#""accept""#), None) => Ok(()),
        (Some(r#""accept""#), Some(schema)) => {
            schema.validate(content.unwrap_or("{}")).map_err(|violations| format!("the form's content: {violations}"))
        }
        _ => Err("\"action\" must be \"accept\", \"decline\" or \"cancel\"".into()),
    }
}

impl Question {
    /// Checks a request and brings it into the form of `revision`. `params` is the text of a JSON object. `fresh_id` names
    /// a visit to a URL where the revision wants a name for it.
    pub(crate) fn new(
        method: &str,
        params: &str,
        capabilities: &str,
        revision: Revision,
        fresh_id: impl FnOnce() -> String,
    ) -> Result<Self, LocalError> {
        let bad = |reason: String| LocalError::InputRequest { method: method.to_owned(), reason };
        let question = match method {
            "elicitation/create" => {
                let [mode] = scan::pick(params, ["mode"]).unwrap_or_default();
                match mode {
                    None | Some(r#""form""#) => form_question(params, revision),
                    Some(r#""url""#) => url_question(params, revision, fresh_id),
                    Some(_) => Err("\"mode\" must be \"form\" or \"url\"".into()),
                }
            }
            "sampling/createMessage" => sampling_question(params, capabilities, revision),
            "roots/list" => {
                let empty = scan::members(params).next().is_none();
                Ok(Self { kind: Kind::Roots, params: (!empty).then(|| one_line(params)) })
            }
            _ => Err("only elicitation/create, sampling/createMessage and roots/list can be asked".into()),
        };
        let question = question.map_err(bad)?;
        match question.missing(params, capabilities) {
            Some(capability) => Err(LocalError::CapabilityNotDeclared(capability.path())),
            None => Ok(question),
        }
    }

    /// What the client would have to declare and has not.
    fn missing(&self, params: &str, capabilities: &str) -> Option<Capability> {
        let with_tools = matches!(scan::pick(params, ["tools", "toolChoice"]), Ok([a, b]) if a.or(b).is_some());
        let needs: &[_] = match self.kind {
            Kind::Form(_) => &[Capability::ElicitationForm],
            Kind::Url => &[Capability::ElicitationUrl],
            Kind::Sampling if with_tools => &[Capability::Sampling, Capability::SamplingTools],
            Kind::Sampling => &[Capability::Sampling],
            Kind::Roots => &[Capability::Roots],
        };
        needs.iter().copied().find(|capability| !capability.is_declared_in(capabilities))
    }
}

fn one_line(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    write::raw(&mut out, json);
    out
}

/// An object's members but for those that `change` writes itself, or leaves out. It says whether it has.
fn rewritten(
    params: &str,
    mut change: impl FnMut(&mut String, &str, &str) -> Result<bool, String>,
) -> Result<String, String> {
    let mut out = String::from("{");
    for (key, value) in scan::members(params) {
        let before = out.len();
        if before > 1 {
            out.push(',');
        }
        let start = out.len();
        if change(&mut out, key, value)? {
            if out.len() == start {
                out.truncate(before);
            }
            continue;
        }
        write::raw(&mut out, key);
        out.push(':');
        write::raw(&mut out, value);
    }
    out.push('}');
    Ok(out)
}

fn text<'a>(value: Option<&'a str>, name: &str) -> Result<&'a str, String> {
    value.filter(|value| value.starts_with('"')).ok_or_else(|| format!("{name:?} must be a string"))
}

fn form_question(params: &str, revision: Revision) -> Result<Question, String> {
    let [message, schema] = scan::pick(params, ["message", "requestedSchema"]).unwrap_or_default();
    text(message, "message")?;
    let schema = schema.filter(|schema| scan::is_object(schema)).ok_or("\"requestedSchema\" must be an object")?;
    form::check(schema)?;
    let compiled = Schema::compile(schema, &SchemaLimits::default()).map_err(|error| error.to_string())?;
    let params = rewritten(params, |out, key, value| match key {
        r#""requestedSchema""# => {
            out.push_str(r#""requestedSchema":"#);
            form::adapted(out, value, revision).map(|()| true)
        }
        r#""mode""# => Ok(!revision.has_url_elicitation()),
        _ => Ok(false),
    })?;
    Ok(Question { kind: Kind::Form(Box::new(compiled)), params: Some(params) })
}

fn url_question(params: &str, revision: Revision, fresh_id: impl FnOnce() -> String) -> Result<Question, String> {
    let [message, url, id] = scan::pick(params, ["message", "url", "elicitationId"]).unwrap_or_default();
    text(message, "message")?;
    let url = scan::plain_string(text(url, "url")?).ok_or("\"url\" must be a string")?;
    if !is_url(&url) {
        return Err("\"url\" must be an absolute URL".into());
    }
    if !revision.has_url_elicitation() {
        return Err("the client's revision has no elicitation by URL".into());
    }
    let mut params = rewritten(params, |_, key, _| Ok(key == r#""elicitationId""# && revision.is_modern()))?;
    if id.is_none() && !revision.is_modern() {
        params.pop();
        params.push_str(r#","elicitationId":"#);
        write::string(&mut params, &fresh_id());
        params.push('}');
    }
    Ok(Question { kind: Kind::Url, params: Some(params) })
}

/// A scheme, and something behind it without blanks (RFC 3986, section 3).
fn is_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once(':') else { return false };
    let scheme_is_good = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    scheme_is_good
        && !rest.trim_start_matches('/').is_empty()
        && !url.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn sampling_question(params: &str, capabilities: &str, revision: Revision) -> Result<Question, String> {
    let [messages, most, tools] = scan::pick(params, ["messages", "maxTokens", "tools"]).unwrap_or_default();
    sampling::check(messages.unwrap_or_default())?;
    if !most.is_some_and(scan::is_integer) {
        return Err("\"maxTokens\" must be an integer".into());
    }
    if tools.is_some_and(|tools| !scan::is_array(tools)) {
        return Err("\"tools\" must be an array".into());
    }
    if let (Some(messages), Some(tools)) = (messages, tools) {
        sampling::check_results(messages, tools)?;
    }
    // Context of servers only where the client says that it can (`client/sampling`, "Capabilities": SHOULD NOT).
    let [sampling] = scan::pick(capabilities, ["sampling"]).unwrap_or_default();
    let declared = matches!(sampling.map(|value| scan::pick(value, ["context"])), Some(Ok([Some(_)])));
    let with_context = declared || !revision.has_sampling_context();
    let params = rewritten(params, |out, key, value| match key {
        r#""messages""# => {
            out.push_str(r#""messages":"#);
            sampling::adapted(out, value, revision).map(|()| true)
        }
        r#""includeContext""# => Ok(!with_context),
        _ => Ok(false),
    })?;
    Ok(Question { kind: Kind::Sampling, params: Some(params) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}"#;

    fn asked(method: &str, params: &str, capabilities: &str, revision: Revision) -> Result<Option<String>, LocalError> {
        Question::new(method, params, capabilities, revision, || "id-1".into()).map(|question| question.params)
    }

    #[test]
    fn forms_in_each_revision() {
        let form =
            r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}"#;
        let modern = asked("elicitation/create", form, ALL, Revision::V2026_07_28).expect("a good form");
        assert_eq!(modern.as_deref(), Some(form));
        let old =
            asked("elicitation/create", form, r#"{"elicitation":{}}"#, Revision::V2025_06_18).expect("a good form");
        assert_eq!(old, Some(form.replace(r#""mode":"form","#, "")));
        for (params, reason) in
            [("{}", "message"), (r#"{"message":"m"}"#, "requestedSchema"), (r#"{"mode":"x"}"#, "mode")]
        {
            let refused = asked("elicitation/create", params, ALL, Revision::V2026_07_28).expect_err("not a good form");
            assert!(refused.to_string().contains(reason), "{refused}");
        }
    }

    #[test]
    fn visits_have_a_name_in_2025_11_25_alone() {
        let visit = r#"{"mode":"url","message":"m","url":"https://example.com/a"}"#;
        let modern = asked("elicitation/create", visit, ALL, Revision::V2026_07_28).expect("a good visit");
        assert_eq!(modern.as_deref(), Some(visit));
        let named = visit.replace('}', r#","elicitationId":"id-1"}"#);
        assert_eq!(asked("elicitation/create", visit, ALL, Revision::V2025_11_25), Ok(Some(named.clone())));
        assert_eq!(asked("elicitation/create", &named, ALL, Revision::V2026_07_28), Ok(Some(visit.to_owned())));
        assert!(asked("elicitation/create", visit, ALL, Revision::V2025_06_18).is_err());
        for url in ["", "example.com", "https://", "https://a b", "1:x"] {
            let visit = format!(r#"{{"mode":"url","message":"m","url":"{url}"}}"#);
            assert!(asked("elicitation/create", &visit, ALL, Revision::V2026_07_28).is_err(), "{url}");
        }
    }

    #[test]
    fn what_is_not_declared_is_named() {
        let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
        let visit = r#"{"mode":"url","message":"m","url":"https://example.com"}"#;
        let sample = r#"{"messages":[],"maxTokens":1}"#;
        let tools = r#"{"messages":[],"maxTokens":1,"tools":[]}"#;
        for (method, params, capabilities, path) in [
            ("elicitation/create", form, "{}", "elicitation.form"),
            ("elicitation/create", form, r#"{"elicitation":{"url":{}}}"#, "elicitation.form"),
            ("elicitation/create", visit, r#"{"elicitation":{}}"#, "elicitation.url"),
            ("sampling/createMessage", sample, "{}", "sampling"),
            ("sampling/createMessage", tools, r#"{"sampling":{}}"#, "sampling.tools"),
            ("roots/list", "{}", "{}", "roots"),
        ] {
            let refused = asked(method, params, capabilities, Revision::V2026_07_28);
            assert_eq!(refused, Err(LocalError::CapabilityNotDeclared(path)));
            assert!(asked(method, params, ALL, Revision::V2026_07_28).is_ok(), "{path}");
        }
        assert!(matches!(asked("ping", "{}", ALL, Revision::V2026_07_28), Err(LocalError::InputRequest { .. })));
    }

    #[test]
    fn context_goes_only_to_clients_that_declare_it() {
        let sample = r#"{"messages":[],"includeContext":"thisServer","maxTokens":1}"#;
        let without = r#"{"messages":[],"maxTokens":1}"#.to_owned();
        let asked = |capabilities, revision| asked("sampling/createMessage", sample, capabilities, revision);
        assert_eq!(asked(ALL, Revision::V2026_07_28), Ok(Some(without.clone())));
        let declared = r#"{"sampling":{"context":{}}}"#;
        assert_eq!(asked(declared, Revision::V2026_07_28), Ok(Some(sample.to_owned())));
        // Before 2025-11-25 there was nothing to declare.
        assert_eq!(asked(ALL, Revision::V2025_06_18), Ok(Some(sample.to_owned())));
    }

    #[test]
    fn answers_are_checked() {
        let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}"#;
        let question = |method, params| {
            Question::new(method, params, ALL, Revision::V2026_07_28, String::new).expect("a good question").kind
        };
        let form = question("elicitation/create", form);
        for good in [r#"{"action":"accept","content":{"n":1}}"#, r#"{"action":"decline"}"#, r#"{"action":"cancel"}"#] {
            assert_eq!(form.check_answer(good), Ok(()));
        }
        for bad in [r#"{"action":"accept","content":{"n":"1"}}"#, r#"{"action":"accept"}"#, "{}", "12345", "null"] {
            assert!(form.check_answer(bad).is_err(), "{bad}");
        }
        let sampling = question("sampling/createMessage", r#"{"messages":[],"maxTokens":1}"#);
        let message = r#"{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}"#;
        assert_eq!(sampling.check_answer(message), Ok(()));
        assert!(sampling.check_answer(r#"{"role":"assistant"}"#).is_err());
        let roots = question("roots/list", "{}");
        assert_eq!(roots.check_answer(r#"{"roots":[{"uri":"file:///a"}]}"#), Ok(()));
        assert!(roots.check_answer(r#"{"roots":[{}]}"#).is_err() && roots.check_answer("{}").is_err());
    }
}
