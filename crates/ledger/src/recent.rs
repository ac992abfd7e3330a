//! What was read or recorded lately, so that it need not be rebuilt.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ledger_core::log::View;
use ledger_core::{Digest, EventId, FileState, TreePath};
use ledger_replay::{Contents, FileAt, RebuildError, SnapshotSource, file_at};

/// Bytes of contents that are kept.
const CONTENT_BYTES: usize = 32 << 20;
/// Files of a branch whose states are kept.
const FILES_MAX: usize = 20_000;

/// Contents by digest, and the states of files at branch tips.
#[derive(Default)]
pub(crate) struct Recent {
    contents: Mutex<Kept>,
    tips: Mutex<HashMap<String, TipFiles>>,
}

#[derive(Default)]
struct Kept {
    by_hash: HashMap<Digest, Arc<Vec<u8>>>,
    order: VecDeque<Digest>,
    bytes: usize,
}

/// Files of a branch as of its tip, as far as they were asked for.
struct TipFiles {
    tip: EventId,
    files: HashMap<TreePath, Option<FileState>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Contents for Recent {
    fn get(&self, hash: &Digest) -> Option<Arc<Vec<u8>>> {
        locked(&self.contents).by_hash.get(hash).cloned()
    }
}

impl Recent {
    /// Keeps a content.
    pub fn keep(&self, hash: Digest, content: &Arc<Vec<u8>>) {
        if content.len() > CONTENT_BYTES / 4 {
            return;
        }
        let mut kept = locked(&self.contents);
        if kept.by_hash.insert(hash, Arc::clone(content)).is_none() {
            kept.bytes += content.len();
            kept.order.push_back(hash);
        }
        while kept.bytes > CONTENT_BYTES {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            let length = kept
                .by_hash
                .remove(&oldest)
                .map_or(0, |content| content.len());
            kept.bytes -= length;
        }
    }

    /// A file as of the tip of a branch.
    pub fn tip_file(
        &self,
        snapshots: &SnapshotSource,
        view: &View,
        (branch, tip): (&str, EventId),
        path: &TreePath,
    ) -> Result<Option<FileAt>, RebuildError> {
        let known = {
            let mut tips = locked(&self.tips);
            self.bring_up(&mut tips, view, branch, tip)?;
            tips.get(branch)
                .and_then(|tip| tip.files.get(path))
                .copied()
        };
        if let Some(state) = known {
            let Some(state) = state else {
                return Ok(None);
            };
            if let Some(content) = self.get(&state.hash) {
                return Ok(Some(FileAt { state, content }));
            }
        }
        let found = file_at(snapshots, view, tip, path, self)?;
        if let Some(file) = &found {
            self.keep(file.state.hash, &file.content);
        }
        let mut tips = locked(&self.tips);
        if let Some(files) = tips.get_mut(branch).filter(|files| files.tip == tip) {
            files
                .files
                .insert(path.clone(), found.as_ref().map(|file| file.state));
        }
        Ok(found)
    }

    /// Takes in the events between the tip that was known and the present one.
    fn bring_up(
        &self,
        tips: &mut HashMap<String, TipFiles>,
        view: &View,
        branch: &str,
        tip: EventId,
    ) -> Result<(), RebuildError> {
        let fresh = || TipFiles {
            tip,
            files: HashMap::new(),
        };
        let known = tips.entry(branch.to_owned()).or_insert_with(fresh);
        if known.tip == tip {
            return Ok(());
        }
        let mut newer: HashMap<TreePath, Option<FileState>> = HashMap::new();
        let mut met = false;
        for row in view.line_of(tip)?.take(FILES_MAX) {
            let event = row?.event;
            if event.id <= known.tip {
                met = event.id == known.tip;
                break;
            }
            for edit in event.body.edits.into_iter().rev() {
                newer.entry(edit.path.clone()).or_insert(edit.after);
                if let Some(old) = &edit.from {
                    newer.entry(old.clone()).or_insert(None);
                }
            }
        }
        if !met || known.files.len() + newer.len() > FILES_MAX {
            known.files.clear();
        }
        known.files.extend(newer);
        known.tip = tip;
        Ok(())
    }
}
