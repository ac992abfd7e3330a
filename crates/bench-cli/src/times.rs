//! Moments as people write and read them.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};
use ledger::core::Timestamp;

/// The user's own time zone.
pub(crate) struct Times(TimeZone);

impl Times {
    pub fn local() -> Self {
        // Where no variable names a zone, the system's own file says all: looking its name up would
        // first list every zone that there is.
        let own = match std::env::var_os("TZ") {
            Some(_) => None,
            None => std::fs::read("/etc/localtime").ok(),
        };
        let own = own.and_then(|bytes| TimeZone::tzif("local", &bytes).ok());
        Times(own.unwrap_or_else(TimeZone::system))
    }

    /// `2025-09-27 14:05`, in the user's time zone.
    pub fn short(&self, moment: Timestamp) -> String {
        self.format(moment, "%Y-%m-%d %H:%M")
    }

    /// `2025-09-27 14:05:10 +02:00`.
    pub fn long(&self, moment: Timestamp) -> String {
        self.format(moment, "%Y-%m-%d %H:%M:%S %:z")
    }

    fn format(&self, moment: Timestamp, format: &str) -> String {
        match jiff::Timestamp::from_millisecond(moment.as_millis()) {
            Ok(instant) => instant
                .to_zoned(self.0.clone())
                .strftime(format)
                .to_string(),
            Err(_) => moment.to_string(),
        }
    }
}

/// Reads the first moment of what is meant: `2025-09-27T14:05:10Z`, `2025-09-27 14:05`, `2025-09-27`,
/// `2h`, `3 days ago`.
pub(crate) fn parse_since(text: &str) -> Result<Timestamp, String> {
    parse(text, &Zoned::now(), false)
}

/// Reads the last moment of what is meant: that of the day, where it is a date.
pub(crate) fn parse_until(text: &str) -> Result<Timestamp, String> {
    parse(text, &Zoned::now(), true)
}

fn parse(text: &str, now: &Zoned, to_end: bool) -> Result<Timestamp, String> {
    let text = text.trim();
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    let zone = now.time_zone();
    let local = |time: DateTime| time.to_zoned(zone.clone()).ok();
    let found = if let Ok(date) = text.parse::<Date>()
        && !text.contains([':', 'T'])
    {
        let start = local(date.at(0, 0, 0, 0));
        match to_end {
            false => start,
            true => start.and_then(|start| start.end_of_day().ok()),
        }
    } else if let Ok(time) = text.parse::<DateTime>() {
        local(time)
    } else if let Ok(span) = text.parse::<Span>() {
        now.checked_sub(span.abs()).ok()
    } else {
        None
    };
    found
        .map(|moment| Timestamp::from_millis(moment.timestamp().as_millisecond()))
        .ok_or_else(|| {
            "expected 2025-09-27T14:05:10Z, 2025-09-27 14:05, 2025-09-27, 2h or 3 days ago"
                .to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, to_end: bool, expect: &str) {
        let now: Zoned = "2025-09-27T12:00:00+00:00[UTC]".parse().unwrap();
        let found = parse(text, &now, to_end).map_or_else(|why| why, |moment| moment.to_string());
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn moments_are_read_as_people_write_them() {
        check(
            "2025-09-27T14:05:10+02:00",
            false,
            "2025-09-27T12:05:10.000Z",
        );
        check("2025-09-01", false, "2025-09-01T00:00:00.000Z");
        check("2025-09-01", true, "2025-09-01T23:59:59.999Z");
        check("2025-09-01 10:30", false, "2025-09-01T10:30:00.000Z");
        check("2h", false, "2025-09-27T10:00:00.000Z");
        check("3 days ago", false, "2025-09-24T12:00:00.000Z");
        assert!(parse("soon", &Zoned::now(), false).is_err());
    }
}
