//! One file at an event, without looking at the rest of the tree.

use std::sync::Arc;

use ledger_core::log::View;
use ledger_core::{Change, Digest, EventId, FileState, TreePath};

use crate::base::{Base, SnapshotSource};
use crate::recipe::{LineStep, Origin, RebuildError, Recipe};

/// Contents that are at hand already, by digest.
pub trait Contents {
    /// The content that has this digest, if it is there.
    fn get(&self, hash: &Digest) -> Option<Arc<Vec<u8>>>;
}

/// No contents.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoContents;

impl Contents for NoContents {
    fn get(&self, _: &Digest) -> Option<Arc<Vec<u8>>> {
        None
    }
}

/// A file as of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAt {
    /// Its mode and digest.
    pub state: FileState,
    /// Its content; of a link, its target.
    pub content: Arc<Vec<u8>>,
}

/// Rebuilds one file; `None` when there is no such file at `event`.
///
/// Reads rows back to the one that made the file, or to the newest usable snapshot, and of that one
/// frame. What it gives is checked against the digest that was recorded.
pub fn file_at(
    snapshots: &SnapshotSource,
    view: &View,
    event: EventId,
    path: &TreePath,
    contents: &dyn Contents,
) -> Result<Option<FileAt>, RebuildError> {
    let mut name = path.clone();
    // What the newest edit says of the file; the others only make its content.
    let mut state: Option<FileState> = None;
    let mut steps: Vec<LineStep> = Vec::new();
    let mut usable: Option<Base> = None;
    let mut failed = None;
    let finish = |state: FileState, mut steps: Vec<LineStep>, origin: Origin| {
        steps.reverse();
        let recipe = Recipe { origin, steps };
        let storage = snapshots.storage().as_ref();
        let content = recipe.make(storage, None, (path, event), state.hash)?;
        Ok(Some(FileAt {
            state,
            content: Arc::new(content),
        }))
    };
    let at_base =
        |base: &Base, name: &TreePath, state: Option<FileState>, mut steps: Vec<LineStep>| {
            let archive = snapshots.archive(base)?;
            let found = archive
                .read(name)
                .map_err(|source| crate::base::BaseError::Archive {
                    id: base.id,
                    source,
                })?;
            let Some((mode, content)) = found else {
                return match state {
                    None => Ok(None),
                    Some(_) => {
                        let why = format!("snapshot {} has no file {name}", base.id);
                        Err(RebuildError::Inconsistent {
                            path: path.clone(),
                            event,
                            why,
                        })
                    }
                };
            };
            // The index, and so the frame, is vouched for by the snapshot's row.
            let state = state.unwrap_or_else(|| FileState {
                mode,
                hash: Digest::of(&content),
            });
            steps.reverse();
            let recipe = Recipe {
                origin: Origin::Known(Arc::new(content)),
                steps,
            };
            let storage = snapshots.storage().as_ref();
            let content = recipe.make(storage, None, (path, event), state.hash)?;
            Ok(Some(FileAt {
                state,
                content: Arc::new(content),
            }))
        };
    for row in view.line_of(event)? {
        let row = row?;
        let id = row.event.id;
        if usable.is_none()
            && let Some(base) = Base::made_by(&row)
        {
            match snapshots.archive(&base) {
                Ok(_) => usable = Some(base),
                Err(error) => {
                    tracing::warn!(%error, snapshot = %base.id, "using an older snapshot instead");
                    failed = Some(error);
                }
            }
        }
        if let Some(base) = usable.as_ref().filter(|base| base.event() == id) {
            return at_base(base, &name, state, steps);
        }
        for edit in row.event.body.edits.into_iter().rev() {
            if edit.from.as_ref() == Some(&name) {
                // It went away under this name.
                return Ok(None);
            }
            if edit.path != name {
                continue;
            }
            let Some(after) = edit.after else {
                return Ok(None);
            };
            let newest = *state.get_or_insert(after);
            if let Some(content) = contents.get(&after.hash) {
                return finish(newest, steps, Origin::Known(content));
            }
            let renamed_from = edit.from.clone();
            let is_new = edit.before.is_none();
            match &edit.change {
                Change::Content(object) => {
                    return finish(newest, steps, Origin::Object(*object, id));
                }
                Change::Lines(_) | Change::LinesObject(_) => {
                    steps.push(LineStep { event: id, edit });
                }
                Change::None => {}
            }
            if is_new {
                return finish(newest, steps, Origin::Empty);
            }
            if let Some(old) = renamed_from {
                name = old;
            }
        }
    }
    // The first event comes before the row of the first snapshot, which holds its tree.
    let first = view.event(EventId::GENESIS.next()).ok();
    match first
        .as_ref()
        .and_then(Base::made_by)
        .filter(|base| base.event() == EventId::GENESIS)
    {
        Some(base) if failed.is_none() => at_base(&base, &name, state, steps),
        _ => Err(RebuildError::NoBase {
            event,
            source: failed,
        }),
    }
}

/// Whether there may be files below `dir` at `event`: false only when there are none for sure.
///
/// Looks at the rows since the newest usable snapshot, and at one frame of that.
pub fn may_have_below(
    snapshots: &SnapshotSource,
    view: &View,
    event: EventId,
    dir: &TreePath,
) -> Result<bool, RebuildError> {
    let mut usable: Option<Base> = None;
    for row in view.line_of(event)? {
        let row = row?;
        if usable.is_none() {
            usable = Base::made_by(&row).filter(|base| snapshots.archive(base).is_ok());
        }
        if let Some(base) = usable.as_ref().filter(|base| base.event() == row.event.id) {
            let archive = snapshots.archive(base)?;
            return archive.has_below(dir).map_err(|source| {
                crate::base::BaseError::Archive {
                    id: base.id,
                    source,
                }
                .into()
            });
        }
        let edits = row.event.body.edits.iter();
        if edits
            .flat_map(|edit| edit.paths())
            .any(|path| path.is_below(dir))
        {
            return Ok(true);
        }
    }
    Ok(true)
}
