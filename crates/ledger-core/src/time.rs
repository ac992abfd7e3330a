//! Time and fresh names, behind seams: nothing else in the libraries reads a clock or randomness.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment in UTC, in whole milliseconds since 1970; written `2025-09-27T14:05:10.123Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// The text was not a timestamp, or lies outside the years -9999 to 9999.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a timestamp: expected RFC 3339, such as 2025-09-27T14:05:10Z")]
pub struct InvalidTimestamp;

impl Timestamp {
    /// A moment from milliseconds since 1970; far values are brought to the nearest writable one.
    pub fn from_millis(ms: i64) -> Self {
        let lowest = jiff::Timestamp::MIN.as_millisecond();
        let highest = jiff::Timestamp::MAX.as_millisecond();
        Timestamp(ms.clamp(lowest, highest))
    }

    /// Milliseconds since 1970.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// The time from `earlier` to this moment; zero when it is not later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => write!(f, "{moment:.3}"),
            Err(_) => Err(fmt::Error),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| InvalidTimestamp)?;
        Ok(Timestamp(moment.as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The clock of a ledger.
pub trait Clock: Send + Sync {
    /// The present moment, as the machine believes it to be.
    fn now(&self) -> Timestamp;

    /// Waits; used between tries to get a lock.
    fn sleep(&self, time: Duration);
}

/// Makes names that were not used before.
pub trait Ids: Send + Sync {
    /// A fresh operation id, such as `op-01JB3N5T9H6K6T4GZD4K0SQX8E`.
    fn operation_id(&self) -> String;

    /// A number to spread waiting processes and to name temporary files; it need not be secure.
    fn random(&self) -> u64;
}

/// The machine's own clock and randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Clock for System {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

impl Ids for System {
    fn operation_id(&self) -> String {
        format!("op-{}", ulid::Ulid::generate())
    }

    fn random(&self) -> u64 {
        ulid::Ulid::generate().0 as u64
    }
}
