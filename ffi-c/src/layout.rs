//! What a compiled program has taken from the header as numbers, as a C file of assertions.
//!
//! A program that was compiled against one header and runs with another library goes on only if sizes, offsets and enum
//! values are the same in both. `make header` runs this with FERROMCP_WRITE=1, which writes the file instead of comparing
//! it.

use crate::answers::Action;
use crate::call::ask::{InputRequest, Reentry};
use crate::call::read::CallTarget;
use crate::call::tell::LogLevel;
use crate::engine::output::{Diagnostic, Event};
use crate::error::Status;
use crate::http::HttpHeader;
use crate::message::Kind;
use crate::server::middleware::{CallOutcome, End};
use crate::server::waiting::Outcome;
use crate::text::Text;
use std::fmt::Write as _;
use std::mem::{align_of, offset_of, size_of};
use std::path::Path;
use std::{env, fs};

#[test]
fn the_layout_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/layout.h");
    let wanted = assertions();
    if env::var_os("FERROMCP_WRITE").is_some() {
        fs::write(&path, wanted).expect("the tests' folder is writable");
        return;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "tests/c/layout.h differs; run `make header`");
}

/// The text of the file. Sizes are said in pointers, so that it holds on every machine.
fn assertions() -> String {
    const POINTER: usize = size_of::<*const u8>();
    let mut out = String::from("/* Written by `make header` from ffi-c/src. What the library was compiled with. */\n");
    let mut say = |what: &str, value: String| writeln!(out, "FMCP_LAYOUT({what}, {value})").expect("a string takes it");
    let pointers = |bytes: usize| format!("{} * sizeof(void *)", bytes / POINTER);
    assert!(size_of::<Text>().is_multiple_of(POINTER), "a text is made of words");
    say("sizeof(fmcp_text)", pointers(size_of::<Text>()));
    say("offsetof(fmcp_text, data)", pointers(offset_of!(Text, data)));
    say("offsetof(fmcp_text, len)", pointers(offset_of!(Text, len)));
    assert_eq!(align_of::<Text>(), POINTER);
    say("sizeof(fmcp_input_request)", pointers(size_of::<InputRequest>()));
    say("offsetof(fmcp_input_request, key)", pointers(offset_of!(InputRequest, key)));
    say("offsetof(fmcp_input_request, method)", pointers(offset_of!(InputRequest, method)));
    say("offsetof(fmcp_input_request, params)", pointers(offset_of!(InputRequest, params)));
    say("sizeof(fmcp_http_header)", pointers(size_of::<HttpHeader>()));
    say("offsetof(fmcp_http_header, name)", pointers(offset_of!(HttpHeader, name)));
    say("offsetof(fmcp_http_header, value)", pointers(offset_of!(HttpHeader, value)));
    // Its numbers have one size everywhere; what is made of words comes last.
    let words = size_of::<CallOutcome>() - offset_of!(CallOutcome, text);
    say("sizeof(fmcp_call_outcome)", format!("{} + {}", offset_of!(CallOutcome, text), pointers(words)));
    say("offsetof(fmcp_call_outcome, end)", offset_of!(CallOutcome, end).to_string());
    say("offsetof(fmcp_call_outcome, refused)", offset_of!(CallOutcome, refused).to_string());
    say("offsetof(fmcp_call_outcome, error_code)", offset_of!(CallOutcome, error_code).to_string());
    say("offsetof(fmcp_call_outcome, duration_us)", offset_of!(CallOutcome, duration_us).to_string());
    say("offsetof(fmcp_call_outcome, bytes)", offset_of!(CallOutcome, bytes).to_string());
    say("offsetof(fmcp_call_outcome, text)", offset_of!(CallOutcome, text).to_string());
    macro_rules! enums {
        ($($name:literal $prefix:literal $kind:ident { $($variant:ident)* })*) => {$(
            say(concat!("sizeof(", $name, ")"), size_of::<$kind>().to_string());
            $(say(&format!("{}{}", $prefix, screaming(stringify!($variant))), ($kind::$variant as i32).to_string());)*
        )*};
    }
    enums! {
        "fmcp_status" "FMCP_STATUS_" Status {
            Ok InvalidArgument Protocol Panic Io State Suspended Cancelled CapabilityNotDeclared NoAnswer TaskStore
        }
        "fmcp_kind" "FMCP_KIND_" Kind { None Request Notification Response }
        "fmcp_target" "FMCP_TARGET_" CallTarget {
            None Tool Resource ResourceTemplate Prompt PromptCompletion TemplateCompletion Delegated
        }
        "fmcp_log_level" "FMCP_LOG_LEVEL_" LogLevel { Debug Info Notice Warning Error Critical Alert Emergency }
        "fmcp_outcome" "FMCP_OUTCOME_" Outcome { None Result Error TimedOut Closed Invalid }
        "fmcp_action" "FMCP_ACTION_" Action { None Accept Decline Cancel }
        "fmcp_reentry" "FMCP_REENTRY_" Reentry { Replay Held }
        "fmcp_end" "FMCP_END_" End { Result ToolError Error InputRequired Cancelled }
        "fmcp_event" "FMCP_EVENT_" Event {
            None Transmit Call Cancelled Notification Initialized Subscribed Unsubscribed Diagnostic Drained
            Answers TaskBegun
        }
        "fmcp_diagnostic" "FMCP_DIAGNOSTIC_" Diagnostic {
            None Noise BadMessage StrayResponse BadResult Definition Other Store
        }
    }
    out
}

/// `TwoWords` as `TWO_WORDS`.
fn screaming(name: &str) -> String {
    let mut out = String::new();
    for (at, letter) in name.char_indices() {
        if at > 0 && letter.is_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_uppercase());
    }
    out
}
