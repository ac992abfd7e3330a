//! Patch files: one for each event that changes files, made after the event was acknowledged.

use std::sync::Arc;

use ledger_core::edit::LineEdit;
use ledger_core::objects;
use ledger_core::patch::{PatchFile, write_patch};
use ledger_core::storage::{Durability, Storage, StorageError, create_dirs, write_atomically};
use ledger_core::{Change, Digest, EventId, FileEdit, Mode, layout};

use crate::record::prepare::Version;

/// The events of one file whose patches are to be written.
#[derive(Debug)]
pub(crate) struct PatchJob {
    pub before: Option<Version>,
    pub events: Vec<(EventId, Digest, Arc<FileEdit>)>,
}

/// What a patch begins with: the row that it was made from.
pub(crate) fn comment(id: EventId, hash: &Digest) -> String {
    format!("{id} {hash}")
}

/// A mode and a content that can be shared.
type Side = Option<(Mode, Arc<Vec<u8>>)>;

/// Makes the patch of one event, and the version that it leaves. `None` when the edit does not fit.
pub(crate) fn render(
    storage: &dyn Storage,
    (id, hash): (EventId, &Digest),
    edit: &FileEdit,
    before: &Side,
) -> Option<(Vec<u8>, Side)> {
    let old = before.as_ref().map_or(&[][..], |(_, content)| content);
    let mut recorded: Option<LineEdit> = None;
    let after = match edit.after {
        None => None,
        Some(after) => {
            let content = match &edit.change {
                Change::None => Arc::new(old.to_vec()),
                Change::Lines(lines) => {
                    recorded = Some(lines.clone());
                    Arc::new(lines.apply(old).ok()?)
                }
                Change::LinesObject(object) => {
                    let json = objects::get(storage, *object).ok()?;
                    let lines: LineEdit = serde_json::from_slice(&json).ok()?;
                    let applied = lines.apply(old).ok()?;
                    recorded = Some(lines);
                    Arc::new(applied)
                }
                Change::Content(object) => Arc::new(objects::get(storage, *object).ok()?),
            };
            Some((after.mode, content))
        }
    };
    let file = PatchFile {
        path: &edit.path,
        from: edit.from.as_ref(),
        before: before
            .as_ref()
            .map(|(mode, content)| (*mode, content.as_slice())),
        after: after
            .as_ref()
            .map(|(mode, content)| (*mode, content.as_slice())),
        edit: recorded.as_ref(),
    };
    let bytes = write_patch(&comment(id, hash), &[file]);
    Some((bytes, after))
}

/// Writes the patches of some events. They can be made again, so they are not synced.
pub(crate) fn write(
    storage: &dyn Storage,
    jobs: &[PatchJob],
    token: u64,
) -> Result<(), StorageError> {
    if jobs.is_empty() {
        return Ok(());
    }
    create_dirs(storage, &layout::diffs_dir(), 0o777, Durability::Derived)?;
    for job in jobs {
        let mut side: Side = job
            .before
            .as_ref()
            .map(|version| (version.mode, Arc::clone(&version.content)));
        for (id, hash, edit) in &job.events {
            let Some((bytes, after)) = render(storage, (*id, hash), edit, &side) else {
                // The row is right, and the patch can be made from it: `verify` says that it is missing.
                tracing::warn!(event = %id, "the patch could not be made");
                break;
            };
            write_atomically(
                storage,
                &layout::diff(*id),
                &bytes,
                token,
                Durability::Derived,
            )?;
            side = after;
        }
    }
    Ok(())
}
