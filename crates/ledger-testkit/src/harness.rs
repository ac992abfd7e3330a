//! An operation stopped, or failed, at each of its storage steps.

mod crash;
mod fail;

use std::any::Any;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::{Arc, Mutex, PoisonError};

use crate::SimStorage;

pub use crash::{CrashTest, crash_everywhere};
pub use fail::{FailTest, fail_everywhere};

/// What an operation has promised so far; it outlives the machine that the operation ran on.
#[derive(Debug)]
pub struct Acks<A>(Arc<Mutex<Vec<A>>>);

impl<A> Acks<A> {
    fn new() -> Self {
        Acks(Arc::new(Mutex::new(Vec::new())))
    }

    /// Notes a promise: whatever is durable now must be so after any crash.
    pub fn push(&self, ack: A) {
        self.lock().push(ack);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Handles of the same list, for threads.
impl<A> Clone for Acks<A> {
    fn clone(&self) -> Self {
        Acks(Arc::clone(&self.0))
    }
}

/// Runs the operation undisturbed; it must succeed, or its failures would prove nothing.
fn rehearse<A, E: Debug>(
    prepared: &SimStorage,
    operation: &impl Fn(&SimStorage, &Acks<A>) -> Result<(), E>,
) -> SimStorage {
    let disk = prepared.fork();
    if let Err(error) = operation(&disk, &Acks::new()) {
        panic!("the operation fails by itself: {error:?}");
    }
    disk
}

/// Runs `part`; a panic in it goes on with the place in front, so that it can be run again.
fn placed<T>(place: impl Fn() -> String, part: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(part)) {
        Ok(value) => value,
        Err(cause) => panic_any(format!("{}: {}", place(), text_of(cause.as_ref()))),
    }
}

fn text_of(cause: &(dyn Any + Send)) -> &str {
    let owned = cause.downcast_ref::<String>().map(String::as_str);
    let text = owned.or_else(|| cause.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without text")
}

/// The words for a step: its number, of how many, and what it was to do.
fn step_of(step: u64, trace: &[String]) -> String {
    let what = trace.get(step as usize).map_or("the end", String::as_str);
    format!("step {step} of {} ({what})", trace.len())
}
