//! The arguments of a call, one by one, for programs that bring no JSON library.
//!
//! Reads the text that the client sent and changes nothing of it; whether the arguments fit the tool's schema the engine
//! has checked before.

use super::Call;
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::text::Text;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::ffi::c_char;
use std::fmt;

/// The arguments of a tool or prompt as JSON text, as the client wrote them; `{}` where it sent none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_arguments(call: *const Call) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live call or null, by the header's contract.
        unsafe { handle::borrow(call) }.map_or(Text::NONE, |call| Text::of(call.request.arguments_json()))
    })
}

/// One argument as JSON text, as the client wrote it; none where it is not there.
///
/// \param name the argument's name, with a terminating zero
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_argument(call: *const Call, name: *const c_char) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live call or null, and a zero-terminated name or null, by the header's contract.
        let value = unsafe { handle::required(call, "call").and_then(|call| argument(call, name)) };
        Text::of_option(value.ok())
    })
}

/// A string argument, decoded. Lives as long as the call.
///
/// \param name  the argument's name, with a terminating zero
/// \param value where to write it; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_string(
    call: *const Call,
    name: *const c_char,
    value: *mut Text,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: live or null, zero-terminated or null, null or writable, by the header's contract.
        unsafe {
            let call = handle::required(call, "call")?;
            handle::wanted(value, "value")?;
            let text = decoded(call, argument(call, name)?)?;
            handle::put(value, text);
        }
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// An integer argument. FMCP_STATUS_INVALID_ARGUMENT when it has a fraction or does not fit into 64 bits.
///
/// \param name  the argument's name, with a terminating zero
/// \param value where to write it; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_integer(
    call: *const Call,
    name: *const c_char,
    value: *mut i64,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { scalar(call, name, value, err, "is no integer of 64 bits", integer) }
}

/// A number argument.
///
/// \param name  the argument's name, with a terminating zero
/// \param value where to write it; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_number(
    call: *const Call,
    name: *const c_char,
    value: *mut f64,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { scalar(call, name, value, err, "is no number", |text| serde_json::from_str(text).ok()) }
}

/// A boolean argument.
///
/// \param name  the argument's name, with a terminating zero
/// \param value where to write it; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_boolean(
    call: *const Call,
    name: *const c_char,
    value: *mut bool,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { scalar(call, name, value, err, "is no boolean", |text| serde_json::from_str(text).ok()) }
}

/// The URI of a resource that is read, decoded; none for other calls. Lives as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_uri(call: *const Call) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live call or null, by the header's contract.
        let call = unsafe { handle::borrow(call) };
        let uri = call.and_then(|call| Some((call, member(call.request.params_json()?, "uri")?)));
        uri.and_then(|(call, uri)| decoded(call, uri).ok()).unwrap_or(Text::NONE)
    })
}

/// What is called: the name of the tool or prompt, or the URI of the resource, decoded; none for other methods that name
/// nothing. Lives as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_name(call: *const Call) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live call or null, by the header's contract.
        let call = unsafe { handle::borrow(call) };
        let named = call.and_then(|call| {
            let params = call.request.params_json()?;
            Some((call, member(params, "name").or_else(|| member(params, "uri"))?))
        });
        named.and_then(|(call, name)| decoded(call, name).ok()).unwrap_or(Text::NONE)
    })
}

/// The URI as our own code needs it.
pub(super) fn uri(call: &Call) -> String {
    let uri = call.request.params_json().and_then(|params| member(params, "uri"));
    uri.and_then(|uri| serde_json::from_str(uri).ok()).unwrap_or_default()
}

/// The body of the exports that read a value of C's own.
///
/// # Safety
/// `call` is live or null, `name` zero-terminated or null, `value` and `err` null or writable.
unsafe fn scalar<T: Copy>(
    call: *const Call,
    name: *const c_char,
    value: *mut T,
    err: *mut *mut Error,
    otherwise: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Status {
    let body = || {
        // SAFETY: passed on from our caller.
        unsafe {
            let call = handle::required(call, "call")?;
            handle::wanted(value, "value")?;
            let text = argument(call, name)?;
            let read = read(text).ok_or_else(|| Error::argument(format!("the argument {otherwise}: {text:.60}")))?;
            handle::put(value, read);
        }
        Ok(())
    };
    // SAFETY: passed on from our caller.
    unsafe { guard::status(err, body) }
}

/// One argument's JSON text.
///
/// # Safety
/// `name` is null or zero-terminated.
unsafe fn argument(call: &Call, name: *const c_char) -> Result<&str, Error> {
    // SAFETY: passed on from our caller.
    let name = unsafe { handle::text(handle::text_of(name), "name") }?;
    member(call.request.arguments_json(), name)
        .ok_or_else(|| Error::argument(format!("the argument {name:?} is not there")))
}

/// What a JSON string stands for. Text without escapes is a view of the call's own.
fn decoded(call: &Call, json: &str) -> Result<Text, Error> {
    let inside = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
    match inside.filter(|text| !text.contains('\\')) {
        Some(text) => Ok(Text::of(text)),
        None => match serde_json::from_str(json) {
            Ok(text) => Ok(call.keep(text)),
            Err(_) => Err(Error::argument(format!("the argument is no string of Unicode text: {json:.60}"))),
        },
    }
}

/// An integer, also one that is written with a fraction of nothing (`1.0`), as JSON Schema counts it.
fn integer(text: &str) -> Option<i64> {
    let whole = text.split_once('.').filter(|(_, rest)| rest.bytes().all(|byte| byte == b'0'));
    whole.map_or(text, |(whole, _)| whole).parse().ok()
}

/// The JSON text of an object's member.
pub(crate) fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let mut deserializer = serde_json::Deserializer::from_str(object);
    Member(name).deserialize(&mut deserializer).ok().flatten()
}

struct Member<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Option<&'de str>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is) = map.next_key_seed(Is(self.0))? {
            if is {
                found = Some(map.next_value::<&RawValue>()?.get());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Whether a key is this one.
struct Is<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        // As bytes, so that a key with an unpaired surrogate is only another key.
        deserializer.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }

    fn visit_bytes<E: serde::de::Error>(self, key: &[u8]) -> Result<bool, E> {
        Ok(key == self.0.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_whatever_stands_around_them() {
        let object = r#"{"a":1.50,"\u0062":{"a":[2]},"\ud800":0,"c":"x\n"}"#;
        assert_eq!(member(object, "a"), Some("1.50"));
        assert_eq!(member(object, "b"), Some(r#"{"a":[2]}"#));
        assert_eq!(member(object, "c"), Some(r#""x\n""#));
        assert_eq!(member(object, "d"), None);
        assert_eq!(member("{}", "a"), None);
    }

    #[test]
    fn integers_are_those_of_json_schema() {
        assert_eq!(integer("-7"), Some(-7));
        assert_eq!(integer("7.00"), Some(7));
        assert_eq!(integer("9223372036854775807"), Some(i64::MAX));
        assert_eq!(integer("9223372036854775808"), None);
        assert_eq!(integer("7.5"), None);
        assert_eq!(integer("\"7\""), None);
    }
}
