//! Test doubles: a disk that crashes and fails on demand, a clock that stands still, counted ids.
//!
//! [`SimStorage`] is an in-memory [`Storage`](ledger_core::storage::Storage) that answers as the real
//! one does and knows what a power cut would leave of it. [`crash_everywhere`] stops an operation at
//! every storage step and hands each disk that could be left to a check; [`fail_everywhere`] does the
//! same with errors. Nothing here sleeps, reads a clock or draws a random number.
//!
//! ```
//! use ledger_core::TreePath;
//! use ledger_core::storage::{Durability, StorageError, write_atomically};
//! use ledger_testkit::{SimStorage, crash_everywhere};
//!
//! let prepared = SimStorage::new();
//! prepared.write_file("config", b"old");
//! let path = TreePath::parse("config").unwrap();
//!
//! crash_everywhere(
//!     &prepared,
//!     |disk, acks| -> Result<(), StorageError> {
//!         write_atomically(disk, &path, b"new", 1, Durability::Durable)?;
//!         acks.push("new");
//!         Ok(())
//!     },
//!     |survivor, acked| {
//!         let bytes = survivor.read("config").expect("one of the two is there");
//!         assert!(bytes == b"new" || (acked.is_empty() && bytes == b"old"));
//!     },
//! );
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: a broken expectation ends the test"
)]

mod clock;
mod harness;
mod ids;
mod rng;
mod sim;

pub use clock::FixedClock;
pub use harness::{Acks, CrashTest, FailTest, crash_everywhere, fail_everywhere};
pub use ids::CountedIds;
pub use sim::{Crash, Failure, Fault, Node, SimStorage, is_stopped};
