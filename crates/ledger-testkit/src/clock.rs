//! A clock that tells the time it was told.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ledger_core::{Clock, Timestamp};

/// A clock that moves only when it is set, read with a step, or slept on. Clones share one time.
#[derive(Debug, Clone)]
pub struct FixedClock(Arc<Mutex<Hands>>);

#[derive(Debug)]
struct Hands {
    now_ms: i64,
    step_ms: i64,
    slept: Duration,
}

impl FixedClock {
    /// A clock that stands at `now`.
    pub fn new(now: Timestamp) -> Self {
        FixedClock(Arc::new(Mutex::new(Hands {
            now_ms: now.as_millis(),
            step_ms: 0,
            slept: Duration::ZERO,
        })))
    }

    /// Lets the clock advance by `step` after each reading; whole milliseconds count.
    #[must_use]
    pub fn stepping(self, step: Duration) -> Self {
        self.hands().step_ms = millis(step);
        self
    }

    /// Sets the time, backwards too.
    pub fn set(&self, now: Timestamp) {
        self.hands().now_ms = now.as_millis();
    }

    /// Moves the time forward.
    pub fn advance(&self, time: Duration) {
        self.hands().advance(millis(time));
    }

    /// How long it was slept on, in all.
    pub fn slept(&self) -> Duration {
        self.hands().slept
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hands {
    fn advance(&mut self, ms: i64) {
        self.now_ms = self.now_ms.saturating_add(ms);
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Midnight of 2025-01-01, UTC.
impl Default for FixedClock {
    fn default() -> Self {
        FixedClock::new(Timestamp::from_millis(1_735_689_600_000))
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        let mut hands = self.hands();
        let now = Timestamp::from_millis(hands.now_ms);
        let step_ms = hands.step_ms;
        hands.advance(step_ms);
        now
    }

    /// Returns at once, later: sleeps shorter than a millisecond add up.
    fn sleep(&self, time: Duration) {
        let mut hands = self.hands();
        let before_ms = millis(hands.slept);
        hands.slept = hands.slept.saturating_add(time);
        let passed_ms = millis(hands.slept) - before_ms;
        hands.advance(passed_ms);
    }
}
