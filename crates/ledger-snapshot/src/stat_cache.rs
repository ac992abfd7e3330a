//! What was read of each file before: its digest, with the stat that it had then.
//!
//! A file whose size, mtime, ctime, inode and mode are as they were holds what it held - unless it
//! was written within the same tick of the file system's clock as it was read: then the second
//! write left no trace. So an entry is kept only when its times lie before the reading by more than
//! a tick (git's "racily clean", `Documentation/technical/racy-git.txt`).
//!
//! **Invariant:** deleting the cache, or any damage to it, costs time and changes no answer.

use std::collections::HashMap;

use ledger_core::storage::{
    Durability, FileKind, Stat, Storage, StorageError, if_present, read_file, write_atomically,
};
use ledger_core::{Digest, Timestamp, TreePath};
use serde::{Deserialize, Serialize};

/// First bytes of the file; they change with its layout. The digest of the rest follows, the number of
/// rows (eight bytes, little-endian), and the rows by postcard.
const MAGIC: &[u8; 8] = b"stat-v1\n";
const DIGEST: usize = 32;

/// A tick of the file system's clock, with room to spare: kernels count in 1 to 10 ms.
const TICK_NS: i64 = 20_000_000;
/// The same where times are whole seconds, or as on FAT even ones.
const COARSE_TICK_NS: i64 = 2_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// Digests of files by what `stat` says of them.
#[derive(Debug, Default)]
pub struct StatCache {
    entries: HashMap<TreePath, Known>,
    changed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    size: u64,
    mode: u32,
    is_link: bool,
    mtime_ns: i64,
    ctime_ns: i64,
    inode: u64,
    /// Stands in the row by itself: an array would be read byte by byte.
    #[serde(skip)]
    hash: [u8; DIGEST],
}

impl Known {
    fn new(stat: &Stat, digest: &Digest) -> Self {
        Known {
            size: stat.size,
            mode: stat.mode,
            is_link: stat.kind == FileKind::Symlink,
            mtime_ns: stat.mtime_ns,
            ctime_ns: stat.ctime_ns,
            inode: stat.inode,
            hash: *digest.as_bytes(),
        }
    }
}

/// An entry as it is stored.
#[derive(Serialize, Deserialize)]
struct Row<'a> {
    path: &'a [u8],
    hash: &'a [u8],
    known: Known,
}

impl StatCache {
    /// A cache that knows nothing.
    pub fn new() -> Self {
        StatCache::default()
    }

    /// Reads a cache. One that is absent, damaged or of another version knows nothing.
    pub fn load(storage: &dyn Storage, path: &TreePath) -> Result<Self, StorageError> {
        let bytes = if_present(read_file(storage, path))?;
        let entries = bytes.and_then(|bytes| decode(&bytes)).unwrap_or_default();
        Ok(StatCache {
            entries,
            changed: false,
        })
    }

    /// Writes the cache if it changed since it was read; its directory must be there. `token` names
    /// the temporary file.
    pub fn save(
        &mut self,
        storage: &dyn Storage,
        path: &TreePath,
        token: u64,
    ) -> Result<(), StorageError> {
        if self.changed {
            write_atomically(storage, path, &self.encode(), token, Durability::Derived)?;
            self.changed = false;
        }
        Ok(())
    }

    /// The digest of a file that is still what it was when it was read.
    pub fn lookup(&self, path: &TreePath, stat: &Stat) -> Option<Digest> {
        let known = self.entries.get(path)?;
        let digest = Digest::from_bytes(known.hash);
        (Known::new(stat, &digest) == *known).then_some(digest)
    }

    /// Remembers the digest of a file that had this stat when it was read. `read_at` is a moment
    /// before the reading began; when the file was written too shortly before, it is forgotten instead.
    pub fn insert(&mut self, path: TreePath, stat: &Stat, digest: &Digest, read_at: Timestamp) {
        if !is_settled(stat, read_at) {
            self.changed |= self.entries.remove(&path).is_some();
            return;
        }
        let known = Known::new(stat, digest);
        self.changed |= self.entries.insert(path, known) != Some(known);
    }

    /// Forgets the files of which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&TreePath) -> bool) {
        let before = self.entries.len();
        self.entries.retain(|path, _| keep(path));
        self.changed |= self.entries.len() != before;
    }

    /// How many files it knows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64 + 160 * self.entries.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[0; DIGEST]);
        bytes.extend_from_slice(&(self.entries.len() as u64).to_le_bytes());
        let mut paths: Vec<_> = self.entries.iter().collect();
        paths.sort_unstable_by_key(|(path, _)| *path);
        for (path, known) in paths {
            let row = Row {
                path: path.as_bytes(),
                hash: &known.hash,
                known: *known,
            };
            // Writing into memory does not fail; if it did, the checksum would cover what is there.
            bytes = postcard::to_extend(&row, bytes).unwrap_or_default();
        }
        let body = MAGIC.len() + DIGEST;
        if let Some(rows) = bytes.get(body..) {
            let digest = blake3::hash(rows);
            bytes[MAGIC.len()..body].copy_from_slice(digest.as_bytes());
        }
        bytes
    }
}

/// Whether a file was last written so long before it was read that a later write shows.
fn is_settled(stat: &Stat, read_at: Timestamp) -> bool {
    let coarse = stat.mtime_ns % SECOND_NS == 0 && stat.ctime_ns % SECOND_NS == 0;
    let tick = if coarse { COARSE_TICK_NS } else { TICK_NS };
    let read_ns = read_at.as_millis().saturating_mul(1_000_000);
    stat.mtime_ns.max(stat.ctime_ns) < read_ns.saturating_sub(tick)
}

fn decode(bytes: &[u8]) -> Option<HashMap<TreePath, Known>> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (digest, mut rows) = rest.split_at_checked(DIGEST)?;
    if blake3::hash(rows).as_bytes() != digest {
        return None;
    }
    let (count, rest) = rows.split_first_chunk()?;
    rows = rest;
    let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
    let mut entries = HashMap::with_capacity(count.min(rows.len() / DIGEST));
    while !rows.is_empty() {
        let (row, rest) = postcard::take_from_bytes::<Row<'_>>(rows).ok()?;
        let hash = row.hash.try_into().ok()?;
        entries.insert(TreePath::parse(row.path).ok()?, Known { hash, ..row.known });
        rows = rest;
    }
    Some(entries)
}
