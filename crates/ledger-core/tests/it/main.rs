//! Tests of the public interface.

mod diff;
mod edit;
mod log;
mod patch;
