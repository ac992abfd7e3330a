//! The doubles themselves, tested: the disk against the real one, and against its own word.

#![allow(clippy::unwrap_used, reason = "a helper that fails ends its test")]

mod bytes;
mod doubles;
mod faults;
mod harness;
mod names;
#[cfg(target_os = "linux")]
mod parity;

use ledger_core::TreePath;
use ledger_core::storage::{OpenMode, Storage, StorageFile};
use ledger_testkit::{Crash, SimStorage};

fn path(text: &str) -> TreePath {
    TreePath::parse(text).unwrap()
}

fn open(disk: &SimStorage, name: &str) -> Box<dyn StorageFile> {
    disk.open(&path(name), OpenMode::Create(0o600)).unwrap()
}

/// What a crash would leave.
fn after(disk: &SimStorage, crash: Crash) -> String {
    disk.fork().crash(crash).dump()
}

/// Every different disk that a thousand power cuts leave.
fn outcomes(disk: &SimStorage) -> std::collections::BTreeSet<String> {
    (0..1000)
        .map(|seed| after(disk, Crash::Seeded(seed)))
        .collect()
}
