//! The snapshot that a rebuild begins with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ledger_core::log::Row;
use ledger_core::storage::{OpenMode, Storage, StorageError, read_file};
use ledger_core::{Digest, EventId, SnapshotId, SnapshotNote, TreePath, layout};
use ledger_snapshot::{ArchiveError, ArchiveReader, Manifest, ManifestError, Tree};

/// A snapshot cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaseError {
    /// A file of it is not there, or the disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Its archive is damaged.
    #[error("snapshot {id} is damaged")]
    Archive {
        /// The snapshot.
        id: SnapshotId,
        /// How.
        #[source]
        source: ArchiveError,
    },
    /// Its manifest is damaged.
    #[error("the manifest of {id} is damaged")]
    Manifest {
        /// The snapshot.
        id: SnapshotId,
        /// How.
        #[source]
        source: ManifestError,
    },
    /// It holds a path that is never tracked.
    #[error("snapshot {id} is damaged: it holds {path}, which is never tracked")]
    Reserved {
        /// The snapshot.
        id: SnapshotId,
        /// The path.
        path: TreePath,
    },
    /// Its manifest is not the one that was recorded.
    #[error("the manifest of {id} is altered: expected {expected}, actual {actual}")]
    Altered {
        /// The snapshot.
        id: SnapshotId,
        /// Digest on the snapshot's row.
        expected: Digest,
        /// Digest of the file.
        actual: Digest,
    },
}

/// A snapshot as its row names it: what is read from its files is checked against that.
#[derive(Debug, Clone)]
pub struct Base {
    /// The snapshot.
    pub id: SnapshotId,
    /// What its row says.
    pub note: SnapshotNote,
}

impl Base {
    /// The snapshot that a row made, if it made one.
    pub fn made_by(row: &Row) -> Option<Self> {
        let body = &row.event.body;
        Some(Base {
            id: body.snapshot_ref?,
            note: body.snapshot.clone()?,
        })
    }

    /// The event whose tree it holds.
    pub fn event(&self) -> EventId {
        self.note.base_event_id
    }
}

/// Opens snapshots, and keeps the last ones open.
pub struct SnapshotSource {
    storage: Arc<dyn Storage>,
    open: Mutex<HashMap<SnapshotId, Arc<ArchiveReader>>>,
    tree: Mutex<Option<(SnapshotId, Arc<Tree>)>>,
}

/// Archives that are kept open at once.
const OPEN_MAX: usize = 4;

impl std::fmt::Debug for SnapshotSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SnapshotSource")
    }
}

impl SnapshotSource {
    /// A source of the snapshots of the ledger on `storage`.
    pub fn new(storage: Arc<dyn Storage>) -> Self {
        SnapshotSource {
            storage,
            open: Mutex::default(),
            tree: Mutex::default(),
        }
    }

    /// The disk that they are on.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Opens a snapshot's archive; its index is the one that was recorded.
    pub fn archive(&self, base: &Base) -> Result<Arc<ArchiveReader>, BaseError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(archive) = open
            .get(&base.id)
            .filter(|a| a.index_digest() == base.note.index)
        {
            return Ok(Arc::clone(archive));
        }
        let file = self
            .storage
            .open(&layout::archive(base.id), OpenMode::Read)?;
        let archive = ArchiveReader::open(file, Some(&base.note.index)).map_err(|source| {
            BaseError::Archive {
                id: base.id,
                source,
            }
        })?;
        let archive = Arc::new(archive);
        if open.len() >= OPEN_MAX {
            open.clear();
        }
        open.insert(base.id, Arc::clone(&archive));
        Ok(archive)
    }

    /// Closes a snapshot whose files were replaced.
    pub fn forget(&self, id: SnapshotId) {
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id);
        *self.tree.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Reads a snapshot's manifest, which is the one that was recorded.
    pub fn manifest(&self, base: &Base) -> Result<Manifest, BaseError> {
        let bytes = read_file(self.storage.as_ref(), &layout::manifest(base.id))?;
        let (expected, actual) = (base.note.manifest, Digest::of(&bytes));
        if expected != actual {
            return Err(BaseError::Altered {
                id: base.id,
                expected,
                actual,
            });
        }
        Manifest::from_json(&bytes).map_err(|source| BaseError::Manifest {
            id: base.id,
            source,
        })
    }

    /// The tree of a snapshot, from its manifest; where that is gone or altered, from its archive.
    pub fn tree(&self, base: &Base) -> Result<Arc<Tree>, BaseError> {
        let mut kept = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, tree)) = kept.as_ref()
            && *id == base.id
        {
            return Ok(Arc::clone(tree));
        }
        // Its archive has to be there, too: a tree without contents is of no use.
        let archive = self.archive(base)?;
        let tree = match self.manifest(base) {
            Ok(manifest) => manifest.tree(),
            Err(error) => {
                tracing::warn!(%error, "reading the tree from the archive instead");
                tree_of_archive(&archive).map_err(|source| BaseError::Archive {
                    id: base.id,
                    source,
                })?
            }
        };
        let mut paths = tree.iter().map(|(path, _)| path);
        if let Some(path) = paths.find(|path| layout::is_reserved(path)) {
            let path = path.clone();
            return Err(BaseError::Reserved { id: base.id, path });
        }
        let tree = Arc::new(tree);
        *kept = Some((base.id, Arc::clone(&tree)));
        Ok(tree)
    }
}

/// Reads a whole archive for its names, modes and digests.
pub(crate) fn tree_of_archive(archive: &ArchiveReader) -> Result<Tree, ArchiveError> {
    let mut tree = Tree::new();
    archive.visit(|file| {
        let entry = ledger_snapshot::FileEntry {
            mode: file.mode,
            hash: Digest::of(file.content),
            size: file.content.len() as u64,
        };
        tree.insert(file.path.clone(), entry);
        Ok::<(), ArchiveError>(())
    })?;
    Ok(tree)
}
