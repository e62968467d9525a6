//! Runs every file of tests/vectors against the engine, with its input whole and cut into pieces.
//!
//! The format is described in tests/vectors/README.md. `FERROMCP_VECTOR` chooses the files whose path holds its text.
#![allow(missing_docs, unreachable_pub, reason = "a test is no library")]
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "vectors are files, and failures are printed")]

#[path = "vectors/asking.rs"]
mod asking;
#[path = "vectors/host.rs"]
mod host;
#[path = "vectors/json.rs"]
mod json;
#[path = "vectors/pattern.rs"]
mod pattern;
#[path = "vectors/script.rs"]
mod script;

use json::Json;
use pattern::Names;
use script::{Cut, Script};
use std::path::{Path, PathBuf};

/// Whole lines; single bytes; and seven, which falls into every part of a message sooner or later.
const CUTS: [Cut; 3] = [Cut(usize::MAX), Cut(1), Cut(7)];

const MODERN: &str = r#"{
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "vector", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {}
}"#;

const CAPABLE: &str = r#"{
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "vector", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}, "context": {}},
        "roots": {}
    }
}"#;

const TASKS: &str = r#"{
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "vector", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}, "context": {}},
        "roots": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}}
    }
}"#;

/// What this runner can do beyond the plain format.
const ABLE: [&str; 3] = ["ask", "tasks", "principals"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors")
}

fn read(path: &Path) -> Json {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Json::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All vectors: the files one folder down.
fn vectors() -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let read = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        read.map(|entry| entry.expect("a readable folder").path()).collect::<Vec<_>>()
    };
    let folders = entries(&folder()).into_iter().filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| entries(&folder));
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    files.sort();
    files
}

/// The shared server with the vector's own members in the place of its.
fn server(shared: &Json, vector: &Json) -> Json {
    let own = vector.get("server").map(Json::members).unwrap_or_default();
    let kept = shared.members().iter().filter(|(key, _)| !own.iter().any(|(name, _)| name == key));
    Json::Object(kept.chain(own).cloned().collect())
}

fn run(shared: &Json, vector: &Json, corrupt: bool) -> Vec<String> {
    const KEYS: [&str; 8] = ["name", "about", "requirements", "needs", "server", "http", "each", "steps"];
    let stranger = vector.members().iter().find(|(key, _)| !KEYS.contains(&key.as_str()));
    if let Some((key, _)) = stranger {
        return vec![format!("unknown member {key}")];
    }
    let needs = vector.get("needs").map(Json::elements).unwrap_or_default();
    if let Some(need) = needs.iter().find(|need| !need.as_text().is_some_and(|need| ABLE.contains(&need))) {
        return vec![format!("needs {}, which this runner can't do", need.write())];
    }
    let once = [Json::Object(Vec::new())];
    let rounds = vector.get("each").map(Json::elements).unwrap_or(&once);
    let steps = vector.get("steps").map(Json::elements).unwrap_or_default();
    if steps.is_empty() || rounds.is_empty() {
        return vec!["there is nothing to run".to_owned()];
    }
    let mut failures = Vec::new();
    for round in rounds {
        let mut names = Names::default();
        names.bind("modern", Json::parse(MODERN).expect("written above"));
        names.bind("capable", Json::parse(CAPABLE).expect("written above"));
        names.bind("tasks", Json::parse(TASKS).expect("written above"));
        for (name, value) in round.members() {
            names.bind(name, value.clone());
        }
        let http = vector.get("http");
        // A body comes whole.
        for cut in if http.is_some() { &CUTS[..1] } else { &CUTS[..] } {
            let outcome = Script::new(&server(shared, vector), http, names.clone(), *cut).and_then(|mut script| {
                script.corrupt = corrupt;
                script.run(steps)
            });
            if let Err(why) = outcome {
                failures.push(format!("with {} in pieces of {}: {why}", pattern::shorten(&round.write()), cut.0));
                break;
            }
        }
    }
    failures
}

// The engine knows bytes and no streams of the system: what holds here holds over any byte stream.
// requirement: transport-custom-byte-stream
#[test]
fn every_vector_holds() {
    let shared = read(&folder().join("server.json"));
    let chosen = std::env::var("FERROMCP_VECTOR").unwrap_or_default();
    let all: Vec<_> = vectors().into_iter().filter(|path| path.to_string_lossy().contains(&chosen)).collect();
    assert!(!all.is_empty(), "no vector was found");
    let mut failed = 0;
    for path in &all {
        let failures = run(&shared, &read(path), false);
        if !failures.is_empty() {
            failed += 1;
            let name = path.strip_prefix(folder()).unwrap_or(path);
            println!("{}", name.display());
            for failure in failures {
                println!("    {failure}");
            }
        }
    }
    assert!(failed == 0, "{failed} of {} vectors failed", all.len());
}

/// A vector that expects a message fails when messages are not what they should be.
#[test]
fn corrupted_messages_are_noticed() {
    let shared = read(&folder().join("server.json"));
    let verbs = ["transmit", "transmitAll", "error", "refused"];
    let expects = |step: &Json| verbs.iter().any(|verb| step.get(verb).is_some());
    let mut seen = 0;
    for path in vectors() {
        let vector = read(&path);
        let steps = vector.get("steps").map(Json::elements).unwrap_or_default();
        // An array answers a batch; a member can't be added to it.
        let batch = path.parent().is_some_and(|folder| folder.ends_with("batches"));
        if !batch && steps.iter().any(expects) {
            seen += 1;
            assert!(!run(&shared, &vector, true).is_empty(), "{} notices nothing", path.display());
        }
    }
    assert!(seen > 100, "most vectors expect messages");
}
