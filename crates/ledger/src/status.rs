//! Where the workspace stands, and what is not recorded.

use ledger_core::log::{AppendError, Standing, View};
use ledger_core::storage::{FileKind, Storage, StorageError, if_present};
use ledger_core::{EventId, TreePath, layout};
use ledger_replay::State;
use ledger_snapshot::StatCache;

use crate::record::RecordError;
use crate::scan::{Scan, Scope};
use crate::workspace::Workspace;

/// Where the workspace stands, and what is not recorded.
#[derive(Debug)]
pub struct Status {
    /// The branch, and the event whose state the files have apart from what is unrecorded.
    pub standing: Standing,
    /// The last event of the branch.
    pub tip: EventId,
    /// Events on the branch that change files and are not in the workspace yet.
    pub behind: u64,
    /// How the files differ from what is recorded.
    pub scan: Scan,
    /// Events that changed files since the last snapshot of the branch.
    pub events_since_last_snapshot: u64,
    /// Bytes of everything under `.user/ledger` and `results/diffs`.
    pub bytes: u64,
    /// Whether a move of the workspace was interrupted.
    pub move_pending: bool,
}

impl Workspace {
    /// Compares the files on disk with the workspace's own event. Changes nothing outside `cache/`.
    pub fn status(&self) -> Result<Status, RecordError> {
        let view = self.view()?;
        let standing = Standing::read(self.storage(), &view)?;
        let Some(head) = view.heads().branches.get(&standing.branch) else {
            return Err(AppendError::NoBranch(standing.branch).into());
        };
        let state = State::rebuild(self.snapshots(), &view, standing.event)?;
        let mut cache = StatCache::load(self.storage(), &layout::stat_cache())?;
        let limit = self.config().record.max_file_size;
        let scan = self
            .scanner(limit)
            .scan(state.tree(), Scope::Everything, &mut cache)?;
        self.save_stat_cache(cache, state.tree());
        let storage = self.storage();
        let bytes = bytes_below(storage, &layout::ledger_dir())?
            + bytes_below(storage, &layout::diffs_dir())?;
        Ok(Status {
            behind: events_between(&view, head.tip, standing.event)?,
            tip: head.tip,
            events_since_last_snapshot: head.changes,
            standing,
            scan,
            bytes,
            move_pending: self.pending_move().is_ok_and(|journal| journal.is_some()),
        })
    }
}

/// Events that change files, from `tip` back to `known`.
fn events_between(view: &View, tip: EventId, known: EventId) -> Result<u64, RecordError> {
    let mut count = 0;
    if tip == known {
        return Ok(0);
    }
    for row in view.line_of(tip)? {
        let event = row?.event;
        if event.id <= known {
            break;
        }
        count += u64::from(event.body.changes_files());
    }
    Ok(count)
}

fn bytes_below(storage: &dyn Storage, dir: &TreePath) -> Result<u64, StorageError> {
    let mut total = 0;
    let mut dirs = vec![dir.clone()];
    while let Some(dir) = dirs.pop() {
        for entry in if_present(storage.list(&dir))?.unwrap_or_default() {
            match entry.stat.kind {
                FileKind::Dir => dirs.extend(dir.join(&entry.name).ok()),
                _ => total += entry.stat.size,
            }
        }
    }
    Ok(total)
}
