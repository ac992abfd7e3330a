//! Idempotency keys: what was recorded under one, as far back as keys are remembered.

use std::collections::HashMap;

use super::append::Key;
use super::history::Query;
use super::view::{ReadError, View};
use crate::digest::Digest;
use crate::id::EventId;

/// How many events back a key is remembered.
pub const KEYS_REMEMBERED: u64 = 100_000;

/// A batch that was recorded under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Keyed {
    pub first: EventId,
    pub count: u64,
    pub digest: Option<Digest>,
}

/// The keys of the last events. Read from the ledger when the first key is asked for.
#[derive(Default)]
pub(super) struct Keys {
    known: HashMap<String, Keyed>,
    /// Up to which event they are known.
    read_to: Option<EventId>,
}

impl Keys {
    /// Takes in the rows that were recorded since it was last asked to.
    pub fn read(&mut self, view: &View) -> Result<(), ReadError> {
        let last = view.last();
        if self.read_to != Some(last) {
            let oldest = last.0.saturating_sub(KEYS_REMEMBERED);
            let from = self.read_to.map_or(oldest, |read| oldest.max(read.0 + 1));
            let unread = Query {
                keyed: true,
                from: Some(EventId(from)),
                ..Query::default()
            };
            for row in view.history(unread) {
                let event = row?.event;
                if let (Some(key), 1) = (event.key, event.batch.i) {
                    let keyed = Keyed {
                        first: event.id,
                        count: event.batch.n,
                        digest: event.key_digest,
                    };
                    // A key that was forgotten may have been used again since.
                    let known = self.known.entry(key).or_insert(keyed);
                    *known = if keyed.first > known.first {
                        keyed
                    } else {
                        *known
                    };
                }
            }
            self.read_to = Some(last);
        }
        Ok(())
    }

    /// The batch that has this key, if one of the last events does. All rows have been read or added.
    pub fn find(&self, last: EventId, key: &str) -> Option<Keyed> {
        let oldest = last.0.saturating_sub(KEYS_REMEMBERED);
        let known = self.known.get(key).copied();
        known.filter(|keyed| keyed.first.0 >= oldest)
    }

    /// Takes in a batch that is being recorded.
    pub fn add(&mut self, key: Option<&Key>, first: Option<EventId>, count: u64) {
        let Some(first) = first else {
            return;
        };
        // Nothing was asked for yet: the first question reads the ledger.
        if self.read_to.is_none() {
            return;
        }
        if let Some(key) = key {
            let keyed = Keyed {
                first,
                count,
                digest: Some(key.digest),
            };
            self.known.insert(key.text.clone(), keyed);
        }
        self.read_to = Some(EventId(first.0 + count - 1));
    }

    /// Drops what is too old to be asked for.
    pub fn forget_before(&mut self, last: EventId) {
        if self.known.len() as u64 > 2 * KEYS_REMEMBERED {
            let oldest = last.0.saturating_sub(KEYS_REMEMBERED);
            self.known.retain(|_, keyed| keyed.first.0 >= oldest);
        }
    }
}
