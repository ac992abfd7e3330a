//! Tests of the crate through its public names.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper that fails ends its test"
)]

mod archive;
mod frames;
mod hostile_archive;
mod interop;
mod manifest;
mod stable_read;
mod stat_cache;
mod support;
mod tree;
mod walk;
mod walk_like_git;
mod writer;
