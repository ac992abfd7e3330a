//! The whole tree at an event, and the contents of its files.

use std::collections::HashMap;
use std::sync::Arc;

use ledger_core::log::{Row, View};
use ledger_core::storage::Storage;
use ledger_core::{Change, EventId, FileEdit, SnapshotId, TreePath};
use ledger_snapshot::{ArchiveReader, FileEntry, Tree};

use crate::base::{Base, BaseError, SnapshotSource};
use crate::recipe::{LineStep, Origin, RebuildError, Recipe, lines_object, same_type};

/// Where the files of a state come from.
#[derive(Debug, Clone)]
pub struct TreeOrigin {
    /// The snapshot that it begins with.
    pub snapshot: Base,
    /// How many events after the snapshot's were applied.
    pub events: u64,
}

/// The tracked tree as of one event. Contents are made when they are asked for.
pub struct State {
    event: EventId,
    tree: Tree,
    storage: Arc<dyn Storage>,
    archive: Arc<ArchiveReader>,
    /// Files that are not as in the snapshot.
    changed: HashMap<TreePath, Recipe>,
    origin: TreeOrigin,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}

impl State {
    /// Rebuilds the tree at `event`, from the newest usable snapshot on its line and the edits after.
    ///
    /// Each edit is checked against what it should change; contents are checked when they are made.
    pub fn rebuild(
        snapshots: &SnapshotSource,
        view: &View,
        event: EventId,
    ) -> Result<State, RebuildError> {
        State::rebuild_from(snapshots, view, event, None)
    }

    /// The same, but not from the snapshot `except`, which is to be made again.
    pub fn rebuild_without(
        snapshots: &SnapshotSource,
        view: &View,
        event: EventId,
        except: SnapshotId,
    ) -> Result<State, RebuildError> {
        State::rebuild_from(snapshots, view, event, Some(except))
    }

    fn rebuild_from(
        snapshots: &SnapshotSource,
        view: &View,
        event: EventId,
        except: Option<SnapshotId>,
    ) -> Result<State, RebuildError> {
        let found = find_base(snapshots, view, event, except)?;
        let tree = found.tree.as_ref().clone();
        let mut state = State {
            event,
            tree,
            storage: Arc::clone(snapshots.storage()),
            archive: found.archive,
            changed: HashMap::new(),
            origin: TreeOrigin {
                snapshot: found.base,
                events: found.rows.len() as u64,
            },
        };
        for row in found.rows.into_iter().rev() {
            for edit in row.event.body.edits {
                state.apply(row.event.id, edit)?;
            }
        }
        Ok(state)
    }

    /// The event.
    pub fn event(&self) -> EventId {
        self.event
    }

    /// The files, by name and digest.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What it was rebuilt from.
    pub fn origin(&self) -> &TreeOrigin {
        &self.origin
    }

    /// The content of a file (of a link, its target), checked; `None` when there is no such file.
    pub fn content(&self, path: &TreePath) -> Result<Option<Vec<u8>>, RebuildError> {
        let Some(entry) = self.tree.get(path) else {
            return Ok(None);
        };
        let in_snapshot = Recipe::new(Origin::Snapshot(path.clone()));
        let recipe = self.changed.get(path).unwrap_or(&in_snapshot);
        let archive = Some(self.archive.as_ref());
        recipe
            .make(
                self.storage.as_ref(),
                archive,
                (path, self.event),
                entry.hash,
            )
            .map(Some)
    }

    /// Whether a file is as it stands in the snapshot, under the same name.
    pub fn is_in_snapshot(&self, path: &TreePath) -> bool {
        !self.changed.contains_key(path)
    }

    /// The snapshot's archive.
    pub fn archive(&self) -> &Arc<ArchiveReader> {
        &self.archive
    }

    /// Takes in the next event on the line. The state is of no use after an error.
    pub fn advance(&mut self, row: Row) -> Result<(), RebuildError> {
        for edit in row.event.body.edits {
            self.apply(row.event.id, edit)?;
        }
        self.event = row.event.id;
        Ok(())
    }

    fn apply(&mut self, event: EventId, edit: Arc<FileEdit>) -> Result<(), RebuildError> {
        let inconsistent = |why: &str| RebuildError::Inconsistent {
            path: edit.path.clone(),
            event,
            why: why.to_owned(),
        };
        let source = edit.from.as_ref().unwrap_or(&edit.path);
        let present = self.tree.get(source).copied();
        if present.map(|entry| entry.state()) != edit.before {
            return Err(inconsistent("the file was not as the event says"));
        }
        if edit.from.is_some() && self.tree.get(&edit.path).is_some() {
            return Err(inconsistent("the new name was taken"));
        }
        let recipe = self.changed.remove(source);
        if let Some(entry) = self.tree.remove(source)
            && let Some(after) = edit.after
            && !same_type(entry.mode, after.mode)
        {
            return Err(inconsistent("a file cannot become a link in one edit"));
        }
        let Some(after) = edit.after else {
            return Ok(());
        };
        let mut recipe = match present {
            Some(_) => recipe.unwrap_or_else(|| Recipe::new(Origin::Snapshot(source.clone()))),
            None => Recipe::new(Origin::Empty),
        };
        let old_size = present.map_or(0, |entry| entry.size);
        let resized = |deleted: usize, inserted: usize| {
            let left = old_size.checked_sub(deleted as u64);
            left.map(|left| left + inserted as u64)
                .ok_or_else(|| inconsistent("it deletes more than there is"))
        };
        let size = match &edit.change {
            Change::None => old_size,
            Change::Lines(lines) => resized(lines.deleted_bytes(), lines.inserted_bytes())?,
            Change::LinesObject(object) => {
                let lines = lines_object(self.storage.as_ref(), *object, &edit.path, event)?;
                resized(lines.deleted_bytes(), lines.inserted_bytes())?
            }
            Change::Content(object) => object.bytes,
        };
        match &edit.change {
            Change::None => {}
            Change::Lines(_) | Change::LinesObject(_) => {
                recipe.steps.push(LineStep {
                    event,
                    edit: Arc::clone(&edit),
                });
            }
            Change::Content(object) => recipe = Recipe::new(Origin::Object(*object, event)),
        }
        let entry = FileEntry {
            mode: after.mode,
            hash: after.hash,
            size,
        };
        self.tree.insert(edit.path.clone(), entry);
        self.changed.insert(edit.path.clone(), recipe);
        Ok(())
    }
}

/// A snapshot that can be used, and the rows after its event, newest first.
struct Found {
    base: Base,
    tree: Arc<Tree>,
    archive: Arc<ArchiveReader>,
    rows: Vec<Row>,
}

fn find_base(
    snapshots: &SnapshotSource,
    view: &View,
    event: EventId,
    except: Option<SnapshotId>,
) -> Result<Found, RebuildError> {
    let open = |base: &Base| -> Result<(Arc<Tree>, Arc<ArchiveReader>), BaseError> {
        Ok((snapshots.tree(base)?, snapshots.archive(base)?))
    };
    let mut rows = Vec::new();
    let mut usable: Option<(Base, Arc<Tree>, Arc<ArchiveReader>)> = None;
    let mut failed = None;
    for row in view.line_of(event)? {
        let row = row?;
        if usable.is_none()
            && let Some(base) = Base::made_by(&row).filter(|base| Some(base.id) != except)
        {
            match open(&base) {
                Ok((tree, archive)) => usable = Some((base, tree, archive)),
                Err(error) => {
                    tracing::warn!(%error, snapshot = %base.id, "using an older snapshot instead");
                    failed = Some(error);
                }
            }
        }
        let id = row.event.id;
        if let Some((base, tree, archive)) = usable.take_if(|(base, ..)| base.event() == id) {
            return Ok(Found {
                base,
                tree,
                archive,
                rows,
            });
        }
        rows.push(row);
    }
    // The first event comes before the row of the first snapshot, which holds its tree.
    let first = view.event(EventId::GENESIS.next()).ok();
    match first
        .as_ref()
        .and_then(Base::made_by)
        .filter(|base| base.event() == EventId::GENESIS)
    {
        Some(base) if failed.is_none() && Some(base.id) != except => {
            let (tree, archive) = open(&base)?;
            rows.retain(|row| row.event.id != EventId::GENESIS);
            Ok(Found {
                base,
                tree,
                archive,
                rows,
            })
        }
        _ => Err(RebuildError::NoBase {
            event,
            source: failed,
        }),
    }
}
