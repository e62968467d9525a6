//! A quota of calls in time (`server/tools`, "Security Considerations": servers MUST rate limit tool invocations).

use super::Clock;
use super::config::{RateLimit, Scope};
use crate::middleware::{CallFacts, Middleware, Refusal};
use governor::clock::{self, Clock as _};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Calls after which counts that are full again are forgotten. 1,024: an honest server keeps a handful, and one with many
/// principals looks through as many as it has served since.
const SWEEP: u32 = 1_024;

/// One named quota.
pub(super) struct Rate {
    name: String,
    calls: u32,
    period: Duration,
    scope: Scope,
    limiter: RateLimiter<String, HashMapStateStore<String>, Time, NoOpMiddleware<Duration>>,
    time: Time,
    seen: AtomicU32,
}

#[derive(Clone)]
struct Time(Clock);

impl clock::Clock for Time {
    type Instant = Duration;
    fn now(&self) -> Duration {
        (self.0)()
    }
}

impl Rate {
    pub(super) fn new(name: String, limit: RateLimit, clock: Clock) -> Self {
        let period = Duration::from_millis(limit.period_ms);
        // The configuration was checked: none of them is zero.
        let burst = NonZeroU32::new(limit.burst.unwrap_or(limit.calls)).unwrap_or(NonZeroU32::MIN);
        let each = (period / limit.calls.max(1)).max(Duration::from_nanos(1));
        let quota = Quota::with_period(each).unwrap_or(Quota::per_second(burst)).allow_burst(burst);
        let time = Time(clock);
        Self {
            name,
            calls: limit.calls,
            period,
            scope: Scope { by: limit.by, tools: limit.tools, methods: limit.methods },
            limiter: RateLimiter::new(quota, HashMapStateStore::default(), time.clone()),
            time,
            seen: AtomicU32::new(0),
        }
    }
}

impl Middleware for Rate {
    fn before(&self, call: &CallFacts) -> Result<(), Refusal> {
        let Some(key) = self.scope.key(call) else { return Ok(()) };
        if self.seen.fetch_add(1, Ordering::Relaxed) % SWEEP == SWEEP - 1 {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
        self.limiter.check_key(&key).map_err(|not_until| {
            let wait = not_until.wait_time_from(self.time.now());
            let (name, calls, seconds) = (&self.name, self.calls, self.period.as_secs_f64());
            Refusal::new(format!("Too many calls: the limit {name:?} allows {calls} in {seconds} s.")).retry_after(wait)
        })
    }
}
