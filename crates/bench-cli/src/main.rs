//! The bench command.
fn main() {}
