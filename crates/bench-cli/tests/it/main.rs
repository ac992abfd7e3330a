//! Transcripts of the command line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test that fails panics

mod errors;
mod lines;
mod sandbox;
mod spine;
mod terminal;
mod tour;
