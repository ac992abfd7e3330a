//! That snapshots are what their rows say, and making them again where they are not.

use std::collections::BTreeMap;

use ledger_core::storage::{OpenMode, PRIVATE_FILE, RenameMode, if_present, read_file};
use ledger_core::{Digest, EventId, SnapshotId, SnapshotNote, TreePath, layout};
use ledger_replay::{Base, RebuildError, State};
use ledger_snapshot::{ArchiveError, ArchiveWriter, Manifest, Member, Tree};

use super::{Check, Report, Severity, VerifyError, chain};
use crate::retention::kind_of;
use crate::snapshots::manifest_of;

impl Check<'_> {
    pub(super) fn snapshots(&self, report: &mut Report<'_>) -> Result<(), VerifyError> {
        let storage = self.workspace.storage();
        let mut on_disk: BTreeMap<SnapshotId, (bool, bool)> = BTreeMap::new();
        for entry in if_present(storage.list(&layout::snapshots_dir()))?.unwrap_or_default() {
            match kind_of(&entry.name) {
                Some((id, true)) => on_disk.entry(id).or_default().0 = true,
                Some((id, false)) => on_disk.entry(id).or_default().1 = true,
                None => {}
            }
        }
        // The first is not derived from anything; others may have been removed by a collection.
        on_disk.entry(SnapshotId(1)).or_default();
        for (id, (archive, manifest)) in on_disk {
            report.totals.snapshots += 1;
            let Some((note, _)) = self.rows.snapshots.get(&id) else {
                // Nobody was told of it, and the next snapshot has its number.
                if self.options.repair {
                    let _lock = self.workspace.inner.lock_snapshots()?;
                    if_present(storage.remove_file(&layout::archive(id)))?;
                    if_present(storage.remove_file(&layout::manifest(id)))?;
                }
                let what = "no row says that this snapshot was taken";
                let place = layout::archive(id);
                report.add(Severity::Warning, place, what, self.options.repair);
                continue;
            };
            let mut faults = Vec::new();
            match archive {
                true => faults.extend(self.archive_fault(id, note)),
                false => faults.push((layout::archive(id), "it is missing".to_owned())),
            }
            match manifest {
                true => faults.extend(self.manifest_fault(id, note)?),
                false => faults.push((layout::manifest(id), "it is missing".to_owned())),
            }
            if faults.is_empty() {
                continue;
            }
            let mut repaired = false;
            if self.options.repair {
                match self.rebuild_snapshot(id, note, &faults) {
                    Ok(()) => repaired = true,
                    Err(error) => faults.push((layout::archive(id), chain(&error))),
                }
            }
            for (path, what) in faults {
                report.add(Severity::Damage, path, what, repaired);
            }
        }
        Ok(())
    }

    /// What is wrong with an archive, as far as its row and its own checksums tell.
    fn archive_fault(&self, id: SnapshotId, note: &SnapshotNote) -> Option<(TreePath, String)> {
        let base = Base {
            id,
            note: note.clone(),
        };
        let path = layout::archive(id);
        let archive = match self.workspace.snapshots().archive(&base) {
            Ok(archive) => archive,
            Err(error) => return Some((path, chain(&error))),
        };
        // Every frame is decoded: each has its digest in the index, which the row vouches for.
        let whole = archive.visit_parallel(|_| Ok::<(), ArchiveError>(()));
        if let Err(error) = whole {
            return Some((path, chain(&error)));
        }
        // What is between the frames is not in the index, but in the manifest's digest of the file.
        let manifest = self.workspace.snapshots().manifest(&base).ok()?;
        let actual = crate::provenance::digest_file(self.workspace.storage(), &path).ok()?;
        let expected = manifest.archive.hash;
        let differs = actual != expected;
        differs.then(|| (path, format!("expected {expected}, actual {actual}")))
    }

    fn manifest_fault(
        &self,
        id: SnapshotId,
        note: &SnapshotNote,
    ) -> Result<Option<(TreePath, String)>, VerifyError> {
        let path = layout::manifest(id);
        let bytes = read_file(self.workspace.storage(), &path)?;
        let actual = Digest::of(&bytes);
        if actual != note.manifest {
            let what = format!("expected {}, actual {actual}", note.manifest);
            return Ok(Some((path, what)));
        }
        let read = Manifest::from_json(&bytes);
        Ok(read.err().map(|error| (path, chain(&error))))
    }

    /// Makes a snapshot again from its state: the same bytes, or it is left as it is.
    fn rebuild_snapshot(
        &self,
        id: SnapshotId,
        note: &SnapshotNote,
        faults: &[(TreePath, String)],
    ) -> Result<(), VerifyError> {
        let archive = layout::archive(id);
        let archive_is_whole = faults.iter().all(|(path, _)| *path != archive);
        let state = match archive_is_whole {
            true => None,
            false => Some(self.state_without(id, note.base_event_id)?),
        };
        let storage = self.workspace.storage();
        let token = self.workspace.token();
        let staged = layout::snapshots_dir()
            .join(format!("new-{token:016x}.tar.zst"))
            .unwrap_or_else(|_| layout::snapshots_dir());
        let _lock = self.workspace.inner.lock_snapshots()?;
        let file = storage.open(&staged, OpenMode::CreateNew(PRIVATE_FILE))?;
        let base = Base {
            id,
            note: note.clone(),
        };
        let made = || -> Result<(), VerifyError> {
            let members: Vec<Member> = match &state {
                Some(state) => members(state.tree()),
                None => members(
                    &*self
                        .workspace
                        .snapshots()
                        .tree(&base)
                        .map_err(RebuildError::from)?,
                ),
            };
            let content = |member: &Member| -> Result<Vec<u8>, RebuildError> {
                let found = match &state {
                    Some(state) => state.content(&member.path)?,
                    None => {
                        let archive = self.workspace.snapshots().archive(&base)?;
                        let read = archive
                            .read(&member.path)
                            .map_err(|source| ledger_replay::BaseError::Archive { id, source })?;
                        read.map(|(_, content)| content)
                    }
                };
                found.ok_or_else(|| RebuildError::Inconsistent {
                    path: member.path.clone(),
                    event: note.base_event_id,
                    why: "the tree has no such file".to_owned(),
                })
            };
            let written = ArchiveWriter::new(&members)
                .write(file.as_ref(), content)
                .map_err(crate::snapshots::SnapshotError::from)?;
            file.sync()?;
            let offset = self.rows.offset_of(note.base_event_id);
            let json = manifest_of(id, note, offset, written).to_json();
            let actual = Digest::of(&json);
            if actual != note.manifest {
                return Err(RebuildError::WrongContent {
                    path: layout::manifest(id),
                    event: note.base_event_id,
                    expected: note.manifest,
                    actual,
                }
                .into());
            }
            storage.rename(&staged, &archive, RenameMode::Replace)?;
            let path = layout::manifest(id);
            let durable = ledger_core::storage::Durability::Durable;
            ledger_core::storage::write_atomically(storage, &path, &json, token, durable)?;
            self.workspace.snapshots().forget(id);
            Ok(())
        };
        let result = made();
        if result.is_err() {
            // Already renamed, or of no use.
            let _ = storage.remove_file(&staged);
        }
        result
    }

    /// The state at an event, rebuilt without relying on the snapshot in question.
    fn state_without(&self, id: SnapshotId, event: EventId) -> Result<State, VerifyError> {
        let view = self.workspace.view()?;
        Ok(State::rebuild_without(
            self.workspace.snapshots(),
            &view,
            event,
            id,
        )?)
    }
}

fn members(tree: &Tree) -> Vec<Member> {
    tree.iter()
        .map(|(path, entry)| Member::known(path, entry))
        .collect()
}
