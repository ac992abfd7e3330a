//! The clock and the ids.

use std::time::Duration;

use ledger_core::{Clock, Ids, Timestamp};
use ledger_testkit::{CountedIds, FixedClock};

#[test]
fn a_clock_stands_until_it_is_moved() {
    let clock = FixedClock::default();
    assert_eq!(clock.now().to_string(), "2025-01-01T00:00:00.000Z");
    assert_eq!(clock.now(), clock.now());
    let other_hand = clock.clone();
    other_hand.advance(Duration::from_secs(1));
    assert_eq!(clock.now().to_string(), "2025-01-01T00:00:01.000Z");
    clock.set(Timestamp::from_millis(0));
    assert_eq!(clock.now().as_millis(), 0);
}

#[test]
fn a_stepping_clock_moves_at_each_reading() {
    let clock = FixedClock::new(Timestamp::from_millis(0)).stepping(Duration::from_millis(5));
    let readings = [(); 3].map(|()| clock.now().as_millis());
    assert_eq!(readings, [0, 5, 10]);
}

#[test]
fn sleep_takes_no_time_and_passes_it() {
    let clock = FixedClock::new(Timestamp::from_millis(0));
    for _ in 0..10 {
        clock.sleep(Duration::from_micros(250));
    }
    assert_eq!(clock.now().as_millis(), 2);
    assert_eq!(clock.slept(), Duration::from_micros(2500));
}

#[test]
fn ids_are_counted_and_numbers_repeat_by_seed() {
    let ids = CountedIds::new();
    assert_eq!(ids.operation_id(), "op-000001");
    assert_eq!(ids.clone().operation_id(), "op-000002");
    let draw = |ids: CountedIds| [ids.random(), ids.random()];
    assert_eq!(draw(CountedIds::new()), draw(CountedIds::new()));
    assert_ne!(draw(CountedIds::new()), draw(CountedIds::with_seed(1)));
    assert_ne!(ids.random(), ids.random());
}
