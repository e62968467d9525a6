//! What host code asks of its client in the middle of a call: questions on their way to the engine, a batch for all that one
//! turn of JavaScript's loop has asked, and the answers on their way back. `ts/rounds.cts` writes the one and reads the other.

use crate::bridge::quoted;
use crate::commands::number;
use crate::error::NativeFailure;
use ferromcp::engine::{Asked, Era, InputRequest, LocalError, OutgoingError, Reentry, RequestKey, StateKey};
use serde::Deserialize;
use serde_json::value::RawValue;

/// `[number, held, parts]`: what one call asks.
#[derive(Deserialize)]
pub(crate) struct Asking<'a>(u64, bool, #[serde(borrow)] Vec<Part<'a>>);

/// `[timeoutMs, questions]`: what somebody waits for together.
#[derive(Deserialize)]
struct Part<'a>(Option<f64>, #[serde(borrow)] Vec<Question<'a>>);

/// `[key, method, params]`.
#[derive(Deserialize)]
pub(crate) struct Question<'a>(String, String, #[serde(borrow)] &'a RawValue);

impl Question<'_> {
    pub(crate) fn borrowed(&self) -> InputRequest<'_> {
        InputRequest { key: &self.0, method: &self.1, params: self.2.get() }
    }
}

/// Some parts of what a call asks that go to the client together, and what has come of them.
pub(crate) struct Round {
    pub(crate) call: Option<RequestKey>,
    parts: usize,
    outcome: Result<Asked, LocalError>,
}

impl Asking<'_> {
    /// Asks by `ask`, which is given the requests of one round at a time. `call`: the engine's key and the client's era,
    /// while the call is open.
    pub(crate) fn ask(
        &self,
        call: Option<(RequestKey, Era)>,
        mut ask: impl FnMut(RequestKey, &[InputRequest<'_>], Reentry, Option<u64>) -> Result<Asked, LocalError>,
    ) -> Vec<Round> {
        let Self(_, held, parts) = self;
        let Some((key, era)) = call else {
            return vec![Round { call: None, parts: parts.len(), outcome: Err(LocalError::NoBackChannel) }];
        };
        // A legacy client is asked by a request for each question, so what is waited for apart is answered apart.
        let size = if era == Era::Legacy { 1 } else { parts.len().max(1) };
        let reentry = if *held { Reentry::Held } else { Reentry::Replay };
        let round = |parts: &[Part<'_>]| {
            let requests: Vec<_> =
                parts.iter().flat_map(|Part(_, questions)| questions).map(Question::borrowed).collect();
            let timeout = parts.first().and_then(|Part(timeout, _)| timeout.map(number));
            Round { call: Some(key), parts: parts.len(), outcome: ask(key, &requests, reentry, timeout) }
        };
        parts.chunks(size).map(round).collect()
    }

    /// The number that JavaScript knows the call under.
    pub(crate) fn number(&self) -> u64 {
        self.0
    }
}

impl Round {
    /// `[parts, 0, results]`, `[parts, 1, ask]` for answers that come later, `[parts, 2]` where the run of the call is over
    /// and its client asked, `[parts, 3]` where it is over otherwise, `[parts, 4, kind, message, capability]` for a failure.
    /// `is_over`: nobody waits for the call's answer any more.
    pub(crate) fn write(&self, out: &mut String, is_over: impl FnOnce(RequestKey) -> bool) {
        out.push_str(&format!("[{},", self.parts));
        match &self.outcome {
            Ok(asked) => out.push_str(&shown(asked)),
            Err(LocalError::NoBackChannel) if self.call.is_some_and(is_over) => out.push('3'),
            Err(error) => {
                let NativeFailure { kind, message, capability } = error.clone().into();
                let capability = capability.map_or("null".to_owned(), quoted);
                out.push_str(&format!("4,{},{},{capability}", quoted(kind), quoted(&message)));
            }
        }
        out.push(']');
    }
}

/// `0, results`, `1, ask` or `2`.
pub(crate) fn shown(asked: &Asked) -> String {
    match asked {
        Asked::Answered(results) => format!("0,[{}]", results.join(",")),
        Asked::Waiting(ask) => format!("1,{}", ask.0),
        Asked::Suspended => "2".to_owned(),
    }
}

/// `[answer, ...]`, each `[result]` or as [`no_result`] says.
pub(crate) fn answers(answers: &[Result<String, OutgoingError>]) -> String {
    let written: Vec<_> = answers
        .iter()
        .map(|answer| match answer {
            Ok(result) => format!("[{result}]"),
            Err(error) => format!("[{}]", no_result(error)),
        })
        .collect();
    format!("[{}]", written.join(","))
}

/// Why a request of ours has no result: `code, message, data`, or a word in place of the code.
pub(crate) fn no_result(error: &OutgoingError) -> String {
    match error {
        OutgoingError::Peer(error) => {
            format!("{},{},{}", error.code, quoted(&error.message), error.data.as_deref().unwrap_or("null"))
        }
        OutgoingError::Invalid(reason) => format!(r#""invalid",{},null"#, quoted(reason)),
        OutgoingError::TimedOut => r#""timedOut","",null"#.to_owned(),
        OutgoingError::Closed => r#""closed","",null"#.to_owned(),
    }
}

/// Keys for `requestState`, each 32 bytes in base64.
pub(crate) fn state_keys(texts: &[String]) -> Result<Vec<StateKey>, LocalError> {
    texts.iter().map(|text| StateKey::from_base64(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferromcp::engine::AskKey;

    const BATCH: &str = r#"[[7,false,[[null,[["","roots/list",{}]]],[5,[["a","x",{"n": 1.0}],["b","y",{}]]]]]]"#;

    fn asked(era: Era) -> (Vec<Vec<String>>, String) {
        let batch: Vec<Asking<'_>> = serde_json::from_str(BATCH).expect("a batch");
        let mut seen = Vec::new();
        let rounds = batch[0].ask(Some((RequestKey(1), era)), |_, requests, reentry, timeout| {
            assert_eq!(reentry, Reentry::Replay);
            seen.push(requests.iter().map(|request| format!("{} {}", request.key, request.params)).collect());
            if timeout.is_some() { Err(LocalError::Limit("maxRounds")) } else { Ok(Asked::Waiting(AskKey(3))) }
        });
        let mut out = String::new();
        for round in &rounds {
            round.write(&mut out, |_| false);
        }
        (seen, out)
    }

    #[test]
    fn a_modern_client_is_asked_once_for_all_and_a_legacy_one_for_each_part() {
        let questions = [" {}", r#"a {"n": 1.0}"#, "b {}"].map(str::to_owned);
        assert_eq!(asked(Era::Modern), (vec![questions.to_vec()], "[2,1,3]".to_owned()));
        let (seen, outcomes) = asked(Era::Legacy);
        assert_eq!(seen, [questions[..1].to_vec(), questions[1..].to_vec()]);
        assert!(outcomes.starts_with(r#"[1,1,3][1,4,"configuration","#), "{outcomes}");
    }

    #[test]
    fn outcomes_say_whose_end_it_is() {
        let written = |outcome, call, is_over| {
            let mut out = String::new();
            Round { call, parts: 1, outcome }.write(&mut out, |_| is_over);
            out
        };
        let call = Some(RequestKey(1));
        assert_eq!(written(Ok(Asked::Answered(vec!["{}".into(), "1".into()])), call, false), "[1,0,[{},1]]");
        assert_eq!(written(Ok(Asked::Suspended), call, true), "[1,2]");
        assert_eq!(written(Err(LocalError::NoBackChannel), call, true), "[1,3]");
        let failure = written(Err(LocalError::CapabilityNotDeclared("elicitation.url")), call, true);
        assert!(failure.ends_with(r#","elicitation.url"]"#), "{failure}");
        assert!(written(Err(LocalError::NoBackChannel), None, true).starts_with(r#"[1,4,"noBackChannel","#));
    }

    #[test]
    fn answers_are_results_or_reasons() {
        let all = [Ok("{}".to_owned()), Err(OutgoingError::Invalid("no \"a\"".into())), Err(OutgoingError::Closed)];
        assert_eq!(answers(&all), r#"[[{}],["invalid","no \"a\"",null],["closed","",null]]"#);
    }
}
