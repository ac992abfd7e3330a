//! Tests of the public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test that fails panics

mod diff;
mod edit;
mod log;
mod patch;
