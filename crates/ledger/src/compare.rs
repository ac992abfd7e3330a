//! The differences of two points, or of a point and the files on disk.

use std::sync::Arc;

use ledger_core::diff::{Stat, TextDiff, is_text};
use ledger_core::log::{Standing, View};
use ledger_core::patch::PatchFile;
use ledger_core::{Digest, EventId, Mode, TreePath, layout};
use ledger_replay::State;
use ledger_snapshot::{FileEntry, ReadFileError, StatCache, read_stable};

use crate::record::RecordError;
use crate::scan::Scope;
use crate::workspace::Workspace;

/// One side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The state at an event.
    Event(EventId),
    /// The files on disk: tracked ones, and new ones that are not ignored.
    Workspace,
}

/// A mode and a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// Mode.
    pub mode: Mode,
    /// Content; of a link, its target.
    pub content: Arc<Vec<u8>>,
}

/// A file that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The file; after a rename, its new name.
    pub path: TreePath,
    /// Its old name, where it was renamed.
    pub from: Option<TreePath>,
    /// On the first side.
    pub before: Option<FileContent>,
    /// On the second side.
    pub after: Option<FileContent>,
}

impl FileDiff {
    /// The contents, empty where there is no file.
    pub fn contents(&self) -> (&[u8], &[u8]) {
        let old = self
            .before
            .as_ref()
            .map_or(&[][..], |file| file.content.as_slice());
        let new = self
            .after
            .as_ref()
            .map_or(&[][..], |file| file.content.as_slice());
        (old, new)
    }

    /// Whether lines can be shown.
    pub fn is_text(&self) -> bool {
        let (old, new) = self.contents();
        is_text(old) && is_text(new)
    }

    /// Lines added and deleted; none for what is not text.
    pub fn stat(&self) -> Option<Stat> {
        let (old, new) = self.contents();
        self.is_text().then(|| TextDiff::between(old, new).stat())
    }

    /// Appends a patch that `git apply` takes.
    pub fn write_patch(&self, out: &mut Vec<u8>) {
        let side = |file: &Option<FileContent>| file.as_ref().map(|file| file.mode);
        let (old, new) = self.contents();
        let patch = PatchFile {
            path: &self.path,
            from: self.from.as_ref(),
            before: side(&self.before).map(|mode| (mode, old)),
            after: side(&self.after).map(|mode| (mode, new)),
            edit: None,
        };
        patch.write(out);
    }
}

impl Workspace {
    /// Gives each file that differs to `visit`, in path order; `paths` limits them to these files and
    /// what is below them. Contents are held one file at a time.
    pub fn compare<E: From<RecordError>>(
        &self,
        (from, to): (Side, Side),
        paths: &[TreePath],
        visit: &mut dyn FnMut(FileDiff) -> Result<(), E>,
    ) -> Result<(), E> {
        let view = self.view().map_err(RecordError::from)?;
        let from = self.side(&view, from)?;
        let to = self.side(&view, to)?;
        let wanted = |path: &TreePath| {
            paths.is_empty()
                || paths
                    .iter()
                    .any(|dir| dir.is_root() || path == dir || path.is_below(dir))
        };
        for (path, before, after) in from.tree.diff(&to.tree) {
            if !wanted(path) {
                continue;
            }
            let before = from.content(self, path, before)?;
            let after = to.content(self, path, after)?;
            // A file on disk may have changed back, or gone, since it was looked at.
            if before != after {
                visit(FileDiff {
                    path: path.clone(),
                    from: None,
                    before,
                    after,
                })?;
            }
        }
        Ok(())
    }

    fn side(&self, view: &View, side: Side) -> Result<Loaded, RecordError> {
        let event = match side {
            Side::Event(event) => event,
            Side::Workspace => Standing::read(self.storage(), view)?.event,
        };
        let state = State::rebuild(self.snapshots(), view, event)?;
        let mut tree = state.tree().clone();
        let on_disk = side == Side::Workspace;
        if on_disk {
            let mut cache = StatCache::load(self.storage(), &layout::stat_cache())?;
            let limit = self.config().record.max_file_size;
            let scan = self
                .scanner(limit)
                .scan(&tree, Scope::Everything, &mut cache)?;
            self.save_stat_cache(cache, state.tree());
            for file in scan.unrecorded {
                match file.after {
                    None => {
                        tree.remove(&file.path);
                    }
                    Some(after) => {
                        // The digest of a new file is not known, and differs from any.
                        let hash = after.hash.unwrap_or(Digest::from_bytes([0; 32]));
                        let (mode, size) = (after.mode, after.size);
                        tree.insert(file.path, FileEntry { mode, hash, size });
                    }
                }
            }
        }
        Ok(Loaded {
            state,
            tree,
            on_disk,
        })
    }
}

/// One side, ready to give contents.
struct Loaded {
    state: State,
    tree: ledger_snapshot::Tree,
    on_disk: bool,
}

impl Loaded {
    fn content(
        &self,
        workspace: &Workspace,
        path: &TreePath,
        entry: Option<&FileEntry>,
    ) -> Result<Option<FileContent>, RecordError> {
        let Some(entry) = entry else {
            return Ok(None);
        };
        if self.on_disk && self.state.tree().get(path) != Some(entry) {
            let limit = workspace.config().record.max_file_size;
            return match read_stable(workspace.storage(), path, limit) {
                Ok(file) => {
                    let content = Arc::new(file.content);
                    Ok(Some(FileContent {
                        mode: file.mode,
                        content,
                    }))
                }
                Err(ReadFileError::Storage(error)) if error.is_absent() => Ok(None),
                Err(error) => Err(error.into()),
            };
        }
        let content = self.state.content(path)?;
        Ok(content.map(|content| FileContent {
            mode: entry.mode,
            content: Arc::new(content),
        }))
    }
}
