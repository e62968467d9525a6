//! The span round each handler, with the feature `tracing`.

mod common;

use common::{Client, text, tool};
use ferromcp::{Server, ToolOutput};
use serde_json::{Map, Value, json};
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps the fields of the last span.
#[derive(Clone, Default)]
struct Keeper {
    fields: Arc<Mutex<Map<String, Value>>>,
    entered: Arc<AtomicU64>,
}

struct Into<'a>(&'a mut Map<String, Value>);

impl Visit for Into<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}

impl Subscriber for Keeper {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Into(&mut self.fields.lock().expect("nobody panicked")));
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Into(&mut self.fields.lock().expect("nobody panicked")));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {
        self.entered.fetch_add(1, Ordering::SeqCst);
    }
    fn exit(&self, _: &Id) {
        self.entered.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_handler_runs_within_a_span_of_its_request() {
    let keeper = Keeper::default();
    let entered = Arc::clone(&keeper.entered);
    tracing::subscriber::set_global_default(keeper.clone()).expect("there is no other");
    let server = Server::new("test", "1")
        .tool(tool("t"), move |_| Ok(ToolOutput::text(entered.load(Ordering::SeqCst).to_string())));
    let mut client = Client::connect(server);
    let params = json!({"name": "t", "_meta": {"traceparent": "00-1-2-01", "baggage": "k=v"}});
    client.send(&[&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params}).to_string()]);
    assert_eq!(text(&client.receive()), "1", "the handler is within it");
    let fields = Value::Object(keeper.fields.lock().expect("nobody panicked").clone());
    let expected = json!({
        "method": "tools/call", "name": "t", "request": "\"a\"", "revision": "2025-11-25", "traceparent": "00-1-2-01",
        "baggage": "k=v",
    });
    assert_eq!(fields, expected);
}
