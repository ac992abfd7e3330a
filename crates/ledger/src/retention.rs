//! What goes when: snapshots by number, by what names them, and by a budget. Events always stay.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use ledger_core::log::{Standing, View};
use ledger_core::storage::{Storage, StorageError, if_present};
use ledger_core::{EventId, SnapshotId, layout};

use crate::config::Retention;
use crate::snapshots::SnapshotError;
use crate::workspace::{Inner, Workspace};

/// What a collection did with something, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// Whether it is removed.
    pub removed: bool,
    /// What it is: a snapshot's id, or a file's path.
    pub what: String,
    /// Its size.
    pub bytes: u64,
    /// Why it goes or stays.
    pub reason: String,
}

/// A snapshot on disk: bytes of its archive and manifest, as far as they are there.
#[derive(Debug, Clone, Copy, Default)]
struct OnDisk {
    archive: Option<u64>,
    manifest: Option<u64>,
}

impl OnDisk {
    fn bytes(&self) -> u64 {
        self.archive.unwrap_or(0) + self.manifest.unwrap_or(0)
    }
}

impl Inner {
    /// Applies retention. Removes nothing when `dry_run` is set.
    pub fn collect(
        &self,
        retention: &Retention,
        dry_run: bool,
    ) -> Result<Vec<Collected>, SnapshotError> {
        let storage = self.storage.as_ref();
        let _lock = match dry_run {
            true => None,
            false => Some(self.lock_snapshots()?),
        };
        let view = self.log.view()?;
        let mut snapshots: BTreeMap<SnapshotId, OnDisk> = BTreeMap::new();
        let mut leftovers = Vec::new();
        for entry in if_present(storage.list(&layout::snapshots_dir()))?.unwrap_or_default() {
            match kind_of(&entry.name) {
                Some((id, true)) => {
                    snapshots.entry(id).or_default().archive = Some(entry.stat.size);
                }
                Some((id, false)) => {
                    snapshots.entry(id).or_default().manifest = Some(entry.stat.size);
                }
                None if is_temporary(&entry.name) => leftovers.push((entry.name, entry.stat.size)),
                None => {}
            }
        }
        let pinned = self.pinned(&view)?;
        let mut collected = decide(&snapshots, &pinned, retention, view.heads().last_snapshot);
        for (name, bytes) in leftovers {
            let Ok(path) = layout::snapshots_dir().join(&name) else {
                continue;
            };
            let (what, reason) = (
                path.to_string(),
                "left by a snapshot that was stopped".to_owned(),
            );
            if !dry_run {
                if_present(storage.remove_file(&path))?;
            }
            collected.push((
                None,
                Collected {
                    removed: true,
                    what,
                    bytes,
                    reason,
                },
            ));
        }
        if !dry_run {
            for (id, _) in collected.iter().filter(|(_, what)| what.removed) {
                if let Some(id) = id {
                    remove(storage, *id)?;
                }
            }
        }
        Ok(collected.into_iter().map(|(_, what)| what).collect())
    }

    /// Snapshots that stay whatever their number, and why.
    fn pinned(&self, view: &View) -> Result<BTreeMap<SnapshotId, String>, SnapshotError> {
        let mut pinned = BTreeMap::new();
        let mut pin = |id: Option<SnapshotId>, why: String| {
            if let Some(id) = id {
                pinned.entry(id).or_insert(why);
            }
        };
        pin(Some(SnapshotId(1)), "the first".to_owned());
        for (name, bookmark) in &view.heads().bookmarks {
            let why = || format!("bookmark {name}");
            if let Ok(id) = SnapshotId::from_str(&bookmark.target) {
                pin(Some(id), why());
            } else if let Ok(event) = EventId::from_str(&bookmark.target) {
                pin(base_of(view, event)?, why());
            }
        }
        for (name, head) in &view.heads().branches {
            pin(head.base_snapshot, format!("tip of branch {name}"));
        }
        let storage = self.storage.as_ref();
        let standing =
            Standing::read(storage, view).map_err(ledger_core::log::AppendError::from)?;
        pin(
            base_of(view, standing.event)?,
            "the workspace stands on it".to_owned(),
        );
        Ok(pinned)
    }
}

/// The snapshot that the state at an event is rebuilt from.
fn base_of(view: &View, event: EventId) -> Result<Option<SnapshotId>, SnapshotError> {
    let event = view.event(event)?.event;
    let made = event.body.snapshot.as_ref().and(event.body.snapshot_ref);
    Ok(made.or(event.base_snapshot))
}

/// Which snapshots go, and why each goes or stays.
fn decide(
    snapshots: &BTreeMap<SnapshotId, OnDisk>,
    pinned: &BTreeMap<SnapshotId, String>,
    retention: &Retention,
    last: Option<SnapshotId>,
) -> Vec<(Option<SnapshotId>, Collected)> {
    let whole: Vec<SnapshotId> = snapshots
        .iter()
        .filter(|(_, on_disk)| on_disk.archive.is_some())
        .map(|(id, _)| *id)
        .collect();
    let newest: BTreeSet<SnapshotId> = whole
        .iter()
        .rev()
        .take(retention.keep_last as usize)
        .copied()
        .collect();
    let keep_every = retention.keep_every.max(1);
    let stays = |id: SnapshotId, every: u32| {
        newest.contains(&id) || pinned.contains_key(&id) || id.0.is_multiple_of(every)
    };
    // A budget thins out the older ones: their spacing doubles until what stays fits.
    let mut every = keep_every;
    let total = |every: u32| -> u64 {
        whole
            .iter()
            .filter(|id| stays(**id, every))
            .map(|id| snapshots[id].bytes())
            .sum()
    };
    let largest = whole.last().map_or(0, |id| id.0);
    while total(every) > retention.snapshot_budget && every <= largest {
        every = every.saturating_mul(2);
    }
    let mut collected = Vec::new();
    for (&id, on_disk) in snapshots {
        let (what, bytes) = (id.to_string(), on_disk.bytes());
        let kept = |reason: String| Collected {
            removed: false,
            what: what.clone(),
            bytes,
            reason,
        };
        let gone = |reason: String| Collected {
            removed: true,
            what: what.clone(),
            bytes,
            reason,
        };
        let verdict = if Some(id) > last {
            // Files whose row was never written: the next snapshot has their number.
            kept("not recorded".to_owned())
        } else if on_disk.archive.is_none() {
            gone("its archive is gone".to_owned())
        } else if let Some(why) = pinned.get(&id) {
            kept(why.clone())
        } else if newest.contains(&id) {
            kept(format!("one of the last {}", retention.keep_last))
        } else if id.0.is_multiple_of(every) {
            kept(format!("every {every}th"))
        } else if id.0.is_multiple_of(keep_every) {
            gone(format!(
                "over the budget of {} bytes",
                retention.snapshot_budget
            ))
        } else {
            gone(format!("older than the last {}", retention.keep_last))
        };
        collected.push((Some(id), verdict));
    }
    collected
}

/// Removes a snapshot: the archive first, since without it the manifest is known to be of no use.
fn remove(storage: &dyn Storage, id: SnapshotId) -> Result<(), StorageError> {
    if_present(storage.remove_file(&layout::archive(id)))?;
    if_present(storage.remove_file(&layout::manifest(id)))?;
    Ok(())
}

/// Whether a name in the snapshots' directory is that of an archive (true) or a manifest (false).
pub(crate) fn kind_of(name: &[u8]) -> Option<(SnapshotId, bool)> {
    let name = std::str::from_utf8(name).ok()?;
    let (id, archive) = match name.strip_suffix(".tar.zst") {
        Some(id) => (id, true),
        None => (name.strip_suffix(".json")?, false),
    };
    id.parse().ok().map(|id| (id, archive))
}

fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(b"new-") || name.windows(5).any(|part| part == b".tmp-")
}

impl Workspace {
    /// Applies retention: removes snapshots that are not needed, and says of each why it goes or stays.
    ///
    /// Every event can still be rebuilt afterwards. Nothing is removed with `dry_run`.
    pub fn gc(
        &self,
        retention: &Retention,
        dry_run: bool,
    ) -> Result<Vec<Collected>, SnapshotError> {
        self.inner.collect(retention, dry_run)
    }
}
