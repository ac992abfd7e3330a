//! The doubles themselves, tested.
