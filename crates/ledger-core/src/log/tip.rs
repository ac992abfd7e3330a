//! The `tip` file: the last row that is known to be durable.
//!
//! 128 bytes: magic (8), row number (8), end offset of the row with its newline (8), hash of the row
//! (32), zeros (40), and the BLAKE3 of those 96 bytes (32); numbers are little-endian. It is raised
//! after each sync of the rows and is not synced itself, so after a power cut it may be old or torn.
//! What does not check out counts as absent.

use crate::digest::Digest;
use crate::id::EventId;
use crate::layout;
use crate::storage::{OpenMode, Storage, StorageError, StorageFile, if_present, read_range};

const LEN: usize = 128;
const CHECKED: usize = 96;
const MAGIC: [u8; 8] = *b"benchtip";

/// A row that was durable once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    /// Its id.
    pub id: EventId,
    /// Offset of the byte after its newline.
    pub end: u64,
    /// Its hash.
    pub hash: Digest,
}

impl Tip {
    fn encode(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.id.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.end.to_le_bytes());
        bytes[24..56].copy_from_slice(self.hash.as_bytes());
        let check = Digest::of(&bytes[..CHECKED]);
        bytes[CHECKED..].copy_from_slice(check.as_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LEN] = bytes.try_into().ok()?;
        let check = Digest::of(&bytes[..CHECKED]);
        if bytes[..8] != MAGIC || bytes[CHECKED..] != *check.as_bytes() {
            return None;
        }
        let number = |at: usize| {
            let mut raw = [0; 8];
            raw.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(raw)
        };
        let mut hash = [0; 32];
        hash.copy_from_slice(&bytes[24..56]);
        Some(Tip {
            id: EventId(number(8)),
            end: number(16),
            hash: Digest::from_bytes(hash),
        })
    }

    /// Reads the tip; `None` when it is absent or does not check out.
    pub fn read(storage: &dyn Storage) -> Result<Option<Self>, StorageError> {
        match if_present(storage.open(&layout::tip(), OpenMode::Read))? {
            Some(file) => Self::read_from(file.as_ref()),
            None => Ok(None),
        }
    }

    /// Reads the tip from its open file.
    pub fn read_from(file: &dyn StorageFile) -> Result<Option<Self>, StorageError> {
        Ok(Tip::decode(&read_range(file, 0, LEN + 1)?))
    }

    /// Writes the tip in place; not synced.
    pub fn write_to(self, file: &dyn StorageFile) -> Result<(), StorageError> {
        file.write_at(&self.encode(), 0)
    }
}
