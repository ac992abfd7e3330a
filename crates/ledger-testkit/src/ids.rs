//! Names and numbers that are the same in every run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ledger_core::Ids;

use crate::rng::Rng;

/// Counts: `op-000001`, `op-000002`, ..., and numbers drawn from a seed. Clones share one count.
#[derive(Debug, Clone, Default)]
pub struct CountedIds {
    operations: Arc<AtomicU64>,
    numbers: Arc<AtomicU64>,
    seed: u64,
}

impl CountedIds {
    /// Ids from the first on.
    pub fn new() -> Self {
        CountedIds::default()
    }

    /// The same operation ids, with other numbers: a second process, say.
    pub fn with_seed(seed: u64) -> Self {
        CountedIds {
            seed,
            ..CountedIds::default()
        }
    }
}

impl Ids for CountedIds {
    fn operation_id(&self) -> String {
        let number = self.operations.fetch_add(1, Ordering::Relaxed) + 1;
        format!("op-{number:06}")
    }

    fn random(&self) -> u64 {
        let turn = self.numbers.fetch_add(1, Ordering::Relaxed);
        Rng::for_part(self.seed, turn).next()
    }
}
