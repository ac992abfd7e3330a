//! Times, and what is printed of them.

use std::time::{Duration, Instant};

/// Times of one thing that was done many times.
#[derive(Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Does it once more.
    pub fn take<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.0.push(start.elapsed());
        result
    }

    /// The median; of nothing, zero.
    pub fn median(&self) -> Duration {
        self.at(0.5)
    }

    /// The time that the given part of all stays within.
    pub fn at(&self, part: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        let index = (last as f64 * part) as usize;
        sorted.get(index).copied().unwrap_or_default()
    }

    /// Prints median, p95 and number.
    pub fn print(&self, what: &str) {
        let (median, late) = (self.median(), self.at(0.95));
        println!(
            "  {what:<44} {} (p95 {}, n {})",
            shown(median),
            shown(late),
            self.0.len()
        );
    }
}

/// A time in milliseconds.
pub fn shown(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1000.0)
}

/// One time over another.
pub fn ratio(what: &str, time: Duration, against: Duration, reach: &str) {
    let ratio = time.as_secs_f64() / against.as_secs_f64().max(f64::MIN_POSITIVE);
    println!("  {what:<44} {ratio:.2}x (to reach: {reach})");
}
