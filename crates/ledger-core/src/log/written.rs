//! Rows that this process wrote lately, and those of the group that it is about to write: what the next
//! batch needs to know of them, without reading them again.

use std::collections::{BTreeMap, HashMap};

use super::append::AppendError;
use super::view::View;
use crate::event::{Action, Body, Event};
use crate::id::{EventId, SnapshotId};
use crate::path::TreePath;

/// Rows that are remembered once they are in the file.
const REMEMBERED: usize = 4096;

/// What is remembered of a row.
struct WrittenRow {
    parent: Option<EventId>,
    offset: u64,
    /// The newest snapshot on the line of whatever comes after it.
    base_after: Option<SnapshotId>,
    paths: Vec<TreePath>,
}

/// Rows by id. Those that are not in the file yet are all here.
#[derive(Default)]
pub(super) struct WrittenRows(BTreeMap<EventId, WrittenRow>);

impl WrittenRows {
    /// Takes in a row that is written, or about to be.
    pub fn add(&mut self, event: &Event, offset: u64) {
        let row = WrittenRow {
            parent: event.parent,
            offset,
            base_after: base_after(event),
            paths: event
                .body
                .edits
                .iter()
                .flat_map(|edit| edit.paths())
                .cloned()
                .collect(),
        };
        self.0.insert(event.id, row);
    }

    /// Drops the oldest. All rows have to be in the file.
    pub fn trim(&mut self) {
        while self.0.len() > REMEMBERED {
            self.0.pop_first();
        }
    }

    /// Forgets rows that could not be written.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Where the row of an event begins, and the newest snapshot on the line of what comes after it.
    pub fn place_after(
        &self,
        view: &View,
        id: EventId,
    ) -> Result<(u64, Option<SnapshotId>), AppendError> {
        if let Some(row) = self.0.get(&id) {
            return Ok((row.offset, row.base_after));
        }
        let row = view.event(id)?;
        Ok((row.offset, base_after(&row.event)))
    }

    /// Checks that no event after `known`, on the line up to `tip`, concerns a file of the bodies.
    pub fn check_unchanged(
        &self,
        view: &View,
        tip: EventId,
        known: EventId,
        bodies: &[Body],
    ) -> Result<(), AppendError> {
        if tip == known {
            return Ok(());
        }
        let edits = bodies.iter().flat_map(|body| &body.edits);
        let ours: HashMap<&[u8], &TreePath> = edits
            .flat_map(|edit| edit.paths())
            .map(|path| (path.as_bytes(), path))
            .collect();
        let mut next = Some(tip);
        while let Some(by) = next.filter(|id| *id > known) {
            let Some(row) = self.0.get(&by) else {
                break;
            };
            if let Some(path) = row.paths.iter().find_map(|theirs| concerned(&ours, theirs)) {
                return Err(AppendError::Moved { path, by });
            }
            next = row.parent;
        }
        let Some(older) = next.filter(|id| *id > known) else {
            return Ok(());
        };
        for row in view.line_of(older)? {
            let event = row?.event;
            if event.id <= known {
                break;
            }
            let mut theirs = event.body.edits.iter().flat_map(|edit| edit.paths());
            if let Some(path) = theirs.find_map(|theirs| concerned(&ours, theirs)) {
                return Err(AppendError::Moved { path, by: event.id });
            }
        }
        Ok(())
    }
}

/// The newest snapshot on the line of what comes after an event.
fn base_after(event: &Event) -> Option<SnapshotId> {
    let made = (event.body.action == Action::SnapshotCreate).then_some(event.body.snapshot_ref);
    made.flatten().or(event.base_snapshot)
}

/// The file of ours that a change of `theirs` concerns: itself, or one that cannot be where it is.
fn concerned(ours: &HashMap<&[u8], &TreePath>, theirs: &TreePath) -> Option<TreePath> {
    let same = ours.get(theirs.as_bytes()).map(|path| (*path).clone());
    let above = || {
        theirs
            .ancestors()
            .find(|dir| ours.contains_key(dir.as_bytes()))
    };
    let below = || {
        let path = ours.values().find(|path| path.is_below(theirs))?;
        Some((*path).clone())
    };
    same.or_else(above).or_else(below)
}
