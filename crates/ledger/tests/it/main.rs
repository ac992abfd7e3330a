//! Tests of the facade.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test that fails panics

mod crash;
mod docs;
mod import;
mod spine;
mod structure;
