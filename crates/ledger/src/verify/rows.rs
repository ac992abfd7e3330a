//! That rows say what can be: parents that exist, branches that go on, snapshots that were taken.

use std::collections::{BTreeMap, HashMap};

use ledger_core::log::{ReadError, Row};
use ledger_core::{Action, Change, Digest, EventId, ObjectRef, SnapshotId, SnapshotNote, layout};

use super::Report;

/// What is remembered of all rows.
#[derive(Default)]
pub(super) struct RowCheck {
    /// Where each row begins, by its number.
    offsets: Vec<u64>,
    /// The newest snapshot on the line of each row, itself included; 0 for none.
    bases: Vec<u32>,
    tips: HashMap<String, EventId>,
    /// Objects that rows refer to, each with the first event that does.
    pub objects: HashMap<ObjectRef, EventId>,
    /// Artifacts and their digests, each with the first event that has it.
    pub artifacts: BTreeMap<(String, Digest), EventId>,
    /// Snapshots that were taken.
    pub snapshots: BTreeMap<SnapshotId, (SnapshotNote, EventId)>,
    /// Events that have a patch file.
    pub patched: Vec<(EventId, Digest)>,
    /// Events that change files and have none.
    pub unpatched: Vec<(EventId, Digest)>,
}

impl RowCheck {
    /// Looks at the next row.
    pub fn check(&mut self, offset: u64, row: Result<Row, ReadError>, report: &mut Report<'_>) {
        let number = self.offsets.len();
        self.offsets.push(offset);
        self.bases.push(0);
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                report.damage(
                    format!("{}, byte {offset}", layout::events()),
                    super::chain(&error),
                );
                return;
            }
        };
        for what in self.faults(number, &row) {
            let place = format!("{}, byte {offset} ({})", layout::events(), row.event.id);
            report.damage(place, what);
        }
        self.collect(&row);
    }

    /// What a row says that cannot be.
    fn faults(&mut self, number: usize, row: &Row) -> Vec<String> {
        let event = &row.event;
        let mut faults = Vec::new();
        let branch = event.body.branch.clone();
        let opens = match event.body.action {
            Action::Branch | Action::Rewind => true,
            _ => number == 0,
        };
        let mut base = 0;
        match event.parent {
            None if number == 0 => {}
            None => faults.push("it has no parent".to_owned()),
            Some(parent) => {
                let at = usize::try_from(parent.0).ok().filter(|at| *at < number);
                match at {
                    None => faults.push(format!("its parent {parent} is not an older event")),
                    Some(at) => {
                        base = self.bases[at];
                        if event.parent_at != Some(self.offsets[at]) {
                            faults.push(format!("its parent_at is not where {parent} is"));
                        }
                    }
                }
            }
        }
        if event.base_snapshot.map_or(0, |id| id.0) != base {
            faults.push("its base_snapshot is not the newest on its line".to_owned());
        }
        match (self.tips.get(&branch), opens) {
            (Some(_), true) => faults.push(format!("branch {branch:?} was opened before")),
            (None, false) => faults.push(format!("branch {branch:?} was never opened")),
            (Some(tip), false) if event.parent != Some(*tip) => {
                faults.push(format!("its parent is not the tip of its branch, {tip}"));
            }
            _ => {}
        }
        self.tips.insert(branch, event.id);
        let made = event.body.snapshot.as_ref().and(event.body.snapshot_ref);
        self.bases[number] = made.map_or(base, |id| id.0);
        faults
    }

    fn collect(&mut self, row: &Row) {
        let event = &row.event;
        for edit in &event.body.edits {
            if let Change::LinesObject(object) | Change::Content(object) = &edit.change {
                self.objects.entry(*object).or_insert(event.id);
            }
        }
        for (path, digest) in &event.body.artifact_digests {
            self.artifacts
                .entry((path.clone(), *digest))
                .or_insert(event.id);
        }
        if let (Some(id), Some(note)) = (event.body.snapshot_ref, &event.body.snapshot) {
            self.snapshots.insert(id, (note.clone(), event.id));
        }
        if event.body.changes_files() {
            match event.body.patch {
                true => self.patched.push((event.id, event.hash)),
                false => self.unpatched.push((event.id, event.hash)),
            }
        }
    }

    /// Where the row of an event begins.
    pub fn offset_of(&self, id: EventId) -> u64 {
        usize::try_from(id.0)
            .ok()
            .and_then(|at| self.offsets.get(at))
            .copied()
            .unwrap_or(0)
    }
}
