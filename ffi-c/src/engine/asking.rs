//! What an engine without a loop has to be told before it can ask modern clients and keep tasks as it should: what time it is outside, who
//! its clients are, and which keys it shares with others.

use super::Engine;
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine::{StateKey, StreamId};

/// Says what UNIX time, in milliseconds, the zero of your clock is; say it again when the system's clock was set. What goes
/// through clients while they are asked carries the time until which it is good, and tasks tell when they were made. Engines that
/// share `stateKeys`, or take them up again after a restart, and those with tasks need it; for others their own clock will do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_set_epoch(engine: *mut Engine, unix_ms: u64, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live engine or null, by the header's contract.
        let engine = unsafe { handle::required(engine, "engine") }?;
        engine.0.set_epoch(unix_ms);
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Takes new keys in the place of the configuration's `stateKeys`, as fmcp_server_set_state_keys() does.
///
/// \param keys  texts, each 32 bytes in base64; may be NULL when `count` is 0: then the engine seals with a key of its own
/// \param count how many there are
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_set_state_keys(
    engine: *mut Engine,
    keys: *const Text,
    count: usize,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live engine or null, and `count` readable texts or null, by the header's contract.
        let (engine, keys) = unsafe { (handle::required(engine, "engine")?, keys_of(keys, count)?) };
        engine.0.command(|server, _| {
            server.set_state_keys(&keys);
            Ok(())
        })
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Says who is behind a stream, as far as you have verified it: what one principal was asked, another can't answer.
///
/// \param principal any name that is the same whenever it is the same principal; none where nobody is known
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_set_principal(
    engine: *mut Engine,
    stream: u32,
    principal: Text,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live engine or null, and readable bytes, by the header's contract.
        let (engine, principal) =
            unsafe { (handle::required(engine, "engine")?, handle::optional_text(principal, "principal")?) };
        engine.0.command(|server, _| server.set_principal(StreamId(stream), principal))
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// The keys that C passes as texts.
///
/// # Safety
/// `keys` is null or points to `count` readable texts.
pub(crate) unsafe fn keys_of(keys: *const Text, count: usize) -> Result<Vec<StateKey>, Error> {
    // SAFETY: passed on from our caller.
    let keys = unsafe { handle::array(keys, count) };
    let keys = keys.ok_or_else(|| Error::argument("keys is NULL, or count is larger than any array"))?;
    // SAFETY: passed on from our caller.
    let key = |text: &Text| Ok(StateKey::from_base64(unsafe { handle::text(*text, "a key") }?)?);
    keys.iter().map(key).collect()
}
