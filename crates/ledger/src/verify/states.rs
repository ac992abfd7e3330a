//! That every edit fits what it changes and leaves what it says, and that patches say the same.

use std::collections::{BTreeMap, HashMap};

use ledger_core::log::{Query, Row, View};
use ledger_core::storage::{Durability, create_dirs, if_present, read_file, write_atomically};
use ledger_core::{Digest, EventId, FileEdit, SnapshotId, layout};
use ledger_replay::{Base, Contents, State, file_at};
use ledger_snapshot::{FileEntry, Tree};

use super::{Check, Report, Severity, VerifyError, chain};
use crate::patches::{self, comment};

/// Trees of branches that are held at once; others are rebuilt when they go on.
const TREES_MAX: usize = 8;

impl Check<'_> {
    pub(super) fn states_and_patches(
        &self,
        report: &mut Report<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), VerifyError> {
        let view = self.workspace.view()?;
        if self.options.full {
            self.states(&view, report, progress)?;
        }
        let mut wanted = self.rows.patched.clone();
        if self.options.patches {
            wanted.extend(&self.rows.unpatched);
        }
        wanted.sort_unstable_by_key(|(id, _)| *id);
        for (id, hash) in wanted {
            self.patch(&view, (id, hash), report)?;
        }
        Ok(())
    }

    /// Checks one patch file: by its first line, or when everything is checked, by all its bytes.
    fn patch(
        &self,
        view: &View,
        (id, hash): (EventId, Digest),
        report: &mut Report<'_>,
    ) -> Result<(), VerifyError> {
        report.totals.patches += 1;
        let stored = if_present(read_file(self.workspace.storage(), &layout::diff(id)))?;
        let first_line = format!("# {}\n", comment(id, &hash));
        let stale = match &stored {
            None => Some("it is missing"),
            Some(bytes) if !bytes.starts_with(first_line.as_bytes()) => {
                Some("it was not made from its event's row")
            }
            Some(_) => None,
        };
        if stale.is_none() && !self.options.full {
            return Ok(());
        }
        let made = match self.options.full || self.options.repair {
            true => self.make_patch(view, id)?,
            false => None,
        };
        let stale = stale.or_else(|| {
            let differs = made.is_some() && stored != made;
            differs.then_some("it does not say what its event's row says")
        });
        let Some(what) = stale else {
            return Ok(());
        };
        let mut repaired = false;
        if let (true, Some(bytes)) = (self.options.repair, &made) {
            let storage = self.workspace.storage();
            create_dirs(storage, &layout::diffs_dir(), 0o777, Durability::Derived)?;
            let token = self.workspace.token();
            write_atomically(
                storage,
                &layout::diff(id),
                bytes,
                token,
                Durability::Derived,
            )?;
            repaired = true;
        }
        report.add(Severity::Warning, Check::event_name(id), what, repaired);
        Ok(())
    }

    /// The patch of an event; none when what it changes cannot be rebuilt, which is found elsewhere.
    fn make_patch(&self, view: &View, id: EventId) -> Result<Option<Vec<u8>>, VerifyError> {
        let Row { event, .. } = view.event(id)?;
        let (Some(edit), Some(parent)) = (event.body.edits.first(), event.parent) else {
            return Ok(None);
        };
        let source = edit.from.as_ref().unwrap_or(&edit.path);
        let recent = self.workspace.recent();
        // What did not exist before needs no looking for: that would go back over the whole line.
        let before = match edit.before {
            None => None,
            Some(before) => match recent.get(&before.hash) {
                Some(content) => Some((before.mode, content)),
                None => match file_at(self.workspace.snapshots(), view, parent, source, recent) {
                    Ok(found) => found.map(|file| (file.state.mode, file.content)),
                    Err(_) => return Ok(None),
                },
            },
        };
        let storage = self.workspace.storage();
        let made = patches::render(storage, (id, &event.hash), edit, &before);
        Ok(made.map(|(bytes, after)| {
            if let (Some(state), Some((_, content))) = (edit.after, &after) {
                recent.keep(state.hash, content);
            }
            bytes
        }))
    }

    /// Goes over all events in order, and rebuilds each content that they make.
    fn states(
        &self,
        view: &View,
        report: &mut Report<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), VerifyError> {
        let mut trees: HashMap<String, Tree> = HashMap::new();
        let mut compared = self.snapshot_trees(report);
        let mut id = EventId::GENESIS;
        while id <= view.last() {
            // Read in order: `history` reads blocks, but newest first.
            let query = Query {
                from: Some(id),
                up_to: Some(EventId(id.0 + 4095)),
                ..Query::default()
            };
            let mut rows = view.history(query).collect::<Result<Vec<_>, _>>()?;
            rows.reverse();
            for row in rows {
                progress(row.offset);
                report.totals.states += 1;
                if let Err(what) = self.state(view, &row, &mut trees) {
                    let place = format!(
                        "{}, byte {} ({})",
                        layout::events(),
                        row.offset,
                        row.event.id
                    );
                    report.damage(place, what);
                    trees.remove(&row.event.body.branch);
                }
                for (snapshot, tree) in compared.remove(&row.event.id).unwrap_or_default() {
                    let rebuilt = trees.get(&row.event.body.branch);
                    if rebuilt.is_some_and(|rebuilt| *rebuilt != tree) {
                        let what = format!("it does not hold the tree of {}", row.event.id);
                        report.damage(layout::archive(snapshot), what);
                    }
                }
            }
            id = EventId(id.0 + 4096);
        }
        Ok(())
    }

    /// The trees of the snapshots on disk, by the event that each is of.
    fn snapshot_trees(
        &self,
        report: &mut Report<'_>,
    ) -> BTreeMap<EventId, Vec<(SnapshotId, Tree)>> {
        let mut trees: BTreeMap<EventId, Vec<(SnapshotId, Tree)>> = BTreeMap::new();
        for (id, (note, _)) in &self.rows.snapshots {
            let base = Base {
                id: *id,
                note: note.clone(),
            };
            match self.workspace.snapshots().tree(&base) {
                Ok(tree) => {
                    let entry = (*id, tree.as_ref().clone());
                    trees.entry(note.base_event_id).or_default().push(entry);
                }
                // Removed by a collection, or found damaged already.
                Err(error) => {
                    if *id == SnapshotId(1) && report.totals.damage == 0 {
                        report.damage(layout::archive(*id), chain(&error));
                    }
                }
            }
        }
        trees
    }

    /// Takes a branch's tree over one event.
    fn state(
        &self,
        view: &View,
        row: &Row,
        trees: &mut HashMap<String, Tree>,
    ) -> Result<(), String> {
        let event = &row.event;
        let branch = &event.body.branch;
        if !trees.contains_key(branch) {
            if trees.len() >= TREES_MAX {
                trees.clear();
            }
            // The first event has the tree of the first snapshot.
            let before = event.parent.unwrap_or(event.id);
            let state = State::rebuild(self.workspace.snapshots(), view, before);
            let state = state.map_err(|error| chain(&error))?;
            trees.insert(branch.clone(), state.tree().clone());
        }
        let Some(tree) = trees.get_mut(branch) else {
            return Ok(());
        };
        for edit in &event.body.edits {
            self.edit(view, row, edit, tree)?;
        }
        Ok(())
    }

    fn edit(&self, view: &View, row: &Row, edit: &FileEdit, tree: &mut Tree) -> Result<(), String> {
        let source = edit.from.as_ref().unwrap_or(&edit.path);
        let standing = tree.get(source).map(|entry| entry.state());
        if standing != edit.before {
            return Err(format!("{source} was not as the event says"));
        }
        let recent = self.workspace.recent();
        let before = match (edit.before, row.event.parent) {
            (Some(before), Some(parent)) => {
                let content = match recent.get(&before.hash) {
                    Some(content) => content,
                    None => file_at(self.workspace.snapshots(), view, parent, source, recent)
                        .map_err(|error| chain(&error))?
                        .map(|file| file.content)
                        .ok_or_else(|| format!("{source} cannot be rebuilt"))?,
                };
                Some((before.mode, content))
            }
            _ => None,
        };
        let storage = self.workspace.storage();
        let id = (row.event.id, &row.event.hash);
        let (_, after) = patches::render(storage, id, edit, &before)
            .ok_or_else(|| format!("the edit of {} does not apply", edit.path))?;
        tree.remove(source);
        if let (Some(state), Some((_, content))) = (edit.after, after) {
            let actual = Digest::of(&content);
            if actual != state.hash {
                let path = &edit.path;
                return Err(format!("{path}: expected {}, actual {actual}", state.hash));
            }
            let size = content.len() as u64;
            recent.keep(state.hash, &content);
            let entry = FileEntry {
                mode: state.mode,
                hash: state.hash,
                size,
            };
            if tree.insert(edit.path.clone(), entry).is_some() {
                return Err(format!("{} was there already", edit.path));
            }
        }
        Ok(())
    }
}
