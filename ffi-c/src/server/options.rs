//! The options of the ready-made loop, as JSON text. Those of HTTP stand beside them.

use crate::error::Error;
use runtime::ServeOptions;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;

/// The members that a caller may give; what is missing keeps the runtime's default.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Form {
    max_threads: Option<usize>,
    takeover_us: Option<u64>,
    high_water_bytes: Option<usize>,
    linger_ms: Option<u64>,
    stack_bytes: Option<usize>,
    debug: Option<bool>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Reads them; no text stands for the defaults.
pub(super) fn read(json: Option<&str>) -> Result<ServeOptions, Error> {
    let (options, rest) = read_form(json)?;
    match rest.keys().next() {
        Some(name) => Err(Error::argument(format!("options: there is no `{name}`"))),
        None => Ok(options),
    }
}

/// Reads them out of an object that has others too, which come back as JSON text.
pub(super) fn read_beside(json: Option<&str>) -> Result<(ServeOptions, String), Error> {
    let (options, rest) = read_form(json)?;
    Ok((options, Value::Object(rest).to_string()))
}

fn read_form(json: Option<&str>) -> Result<(ServeOptions, Map<String, Value>), Error> {
    let mut options = ServeOptions::default();
    let Some(json) = json else { return Ok((options, Map::new())) };
    let form: Form = serde_json::from_str(json).map_err(|error| Error::argument(format!("options: {error}")))?;
    options.max_threads = form.max_threads.unwrap_or(options.max_threads);
    options.takeover_after = form.takeover_us.map_or(options.takeover_after, Duration::from_micros);
    options.high_water = form.high_water_bytes.unwrap_or(options.high_water);
    options.linger = form.linger_ms.map_or(options.linger, Duration::from_millis);
    options.stack_bytes = form.stack_bytes.unwrap_or(options.stack_bytes);
    options.debug = form.debug.or(options.debug);
    Ok((options, form.rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_stays_as_it_is() {
        let options = read(Some(r#"{"maxThreads":3,"takeoverUs":7,"lingerMs":8}"#)).expect("they are right");
        assert_eq!(options.max_threads, 3);
        assert_eq!(options.takeover_after, Duration::from_micros(7));
        assert_eq!(options.linger, Duration::from_millis(8));
        assert_eq!(options.high_water, ServeOptions::default().high_water);
        assert!(read(Some(r#"{"threads":3}"#)).is_err());
        assert!(read(Some(r#"{"maxThreads":"3"}"#)).is_err());
        assert_eq!(read(None).expect("none is fine").max_threads, ServeOptions::default().max_threads);
    }

    #[test]
    fn what_is_not_ours_is_handed_on() {
        let (options, rest) = read_beside(Some(r#"{"maxThreads":3,"path":null,"port":0}"#)).expect("it is an object");
        assert_eq!((options.max_threads, rest.as_str()), (3, r#"{"path":null,"port":0}"#));
        assert_eq!(read_beside(None).expect("none is fine").1, "{}");
        assert!(read_beside(Some("[]")).is_err());
    }
}
