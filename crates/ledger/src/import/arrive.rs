//! Bringing the working tree to the tip, without taking anything from anybody.

use std::collections::BTreeSet;
use std::fmt;
use std::os::unix::fs::MetadataExt;

use ledger_core::log::{Lock, Standing, View};
use ledger_core::refs::GIT_PREFIX;
use ledger_core::storage::if_present;
use ledger_core::{EventId, FileState, TreePath, layout};
use ledger_replay::{Journal, Mover, Purpose, State, Step, obstacles};
use ledger_snapshot::{StatCache, Tree};

use super::error::ImportError;
use super::git::Git;
use crate::moves::MoveHost;
use crate::provenance::Provenance;
use crate::scan::{Scope, Unrecorded};
use crate::workspace::Workspace;

/// Longest target that a link can have.
const LINK_MAX: u64 = 4095;

/// Why a file on disk is not as the tip has it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftReason {
    /// It has changes that were never recorded.
    Modified,
    /// A file that was never recorded stands there.
    Untracked,
    /// Something that was never recorded stands in the way.
    Blocked(TreePath),
    /// No disk can hold it: a link to nothing, or to a name that is too long.
    Impossible,
    /// The working tree is the repository's own, which is for git to bring to another commit.
    OwnCheckout,
}

impl fmt::Display for LeftReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftReason::Modified => f.write_str("it has unrecorded changes"),
            LeftReason::Untracked => f.write_str("another file stands there, never recorded"),
            LeftReason::Blocked(other) => write!(f, "{other} is in the way, never recorded"),
            LeftReason::Impossible => f.write_str("no disk can hold such a link"),
            LeftReason::OwnCheckout => f.write_str("it is as git left it, or was changed since"),
        }
    }
}

/// A file of the tip that is not so on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftFile {
    /// The file.
    pub path: TreePath,
    /// Why.
    pub why: LeftReason,
}

impl Workspace {
    /// Brings the working tree to the tip of the branch that it stands on. Files that differ from it,
    /// and from what the workspace stood on, are left as they are; so are those that the tip does not
    /// have, unless an earlier import brought them. Where the working tree is the repository's `own` one, nothing is touched: what is in it and
    /// in no commit would be out of sight, though it is in the ledger. Returns the files that are not as
    /// at the tip.
    pub(super) fn arrive(
        &self,
        from: &Standing,
        own: bool,
        _lock: &Lock,
    ) -> Result<Vec<LeftFile>, ImportError> {
        let view = self.view()?;
        let Some(head) = view.heads().branches.get(&from.branch) else {
            return Ok(Vec::new());
        };
        let to = Standing {
            branch: from.branch.clone(),
            event: head.tip,
        };
        if to == *from {
            return Ok(Vec::new());
        }
        let here = State::rebuild(self.snapshots(), &view, from.event)?;
        let there = State::rebuild(self.snapshots(), &view, to.event)?;
        let mut cache = StatCache::load(self.storage(), &layout::stat_cache())?;
        let limit = ledger_core::objects::OBJECT_MAX;
        let scan = self
            .scanner(limit)
            .scan(there.tree(), Scope::Tracked, &mut cache)?;
        let mut left: Vec<LeftFile> = Vec::new();
        for (path, _) in scan.too_large {
            let why = LeftReason::Modified;
            left.push(LeftFile { path, why });
        }
        let mut steps = Vec::new();
        for file in scan.unrecorded {
            if own {
                let (path, why) = (file.path, LeftReason::OwnCheckout);
                left.push(LeftFile { path, why });
                continue;
            }
            match step(&here, &there, file) {
                Ok(step) => steps.extend(step),
                Err(file) => left.push(file),
            }
        }
        if !own && is_import(&view, from.event)? {
            self.take_away(&here, &there, &mut steps, &mut left)?;
        }
        self.leave_blocked(&mut steps, &mut left)?;
        left.sort_by(|a, b| a.path.cmp(&b.path));
        self.save_stat_cache(cache, there.tree());
        if steps.is_empty() {
            to.write(self.storage(), self.token())?;
            return Ok(left);
        }
        let purpose = Purpose::CatchUp {
            branch: from.branch.clone(),
        };
        let journal = Journal::new(purpose, from.clone(), to.event, steps);
        let provenance = Provenance::by(crate::system_author());
        let mut host = MoveHost::new(self, &provenance);
        Mover::new(self.storage(), self.token()).run(journal, &there, &mut host)?;
        Ok(left)
    }

    /// Adds the deletion of files that an earlier import brought and the history has deleted since.
    fn take_away(
        &self,
        here: &State,
        there: &State,
        steps: &mut Vec<Step>,
        left: &mut Vec<LeftFile>,
    ) -> Result<(), ImportError> {
        let gone = here.tree().diff(there.tree());
        let gone: Tree = gone
            .filter(|(_, _, after)| after.is_none())
            .filter_map(|(path, before, _)| Some((path.clone(), *before?)))
            .collect();
        let limit = ledger_core::objects::OBJECT_MAX;
        let mut cache = StatCache::new();
        let scan = self
            .scanner(limit)
            .scan(&gone, Scope::Tracked, &mut cache)?;
        let changed: BTreeSet<TreePath> =
            scan.unrecorded.into_iter().map(|file| file.path).collect();
        let mut deletions: Vec<Step> = Vec::new();
        for (path, entry) in gone.iter() {
            let path = path.clone();
            if changed.contains(&path) {
                let there = if_present(self.storage().stat(&path))?.is_some();
                let why = LeftReason::Modified;
                left.extend(there.then_some(LeftFile { path, why }));
                continue;
            }
            deletions.push(Step {
                path,
                before: Some(entry.state()),
                after: None,
            });
        }
        steps.splice(0..0, deletions);
        Ok(())
    }

    /// Whether the workspace is a checkout of this repository: both have one and the same `.git`.
    pub(super) fn is_own_checkout(&self, git: &Git) -> Result<bool, ImportError> {
        let Ok(dot_git) = TreePath::parse(b".git") else {
            return Ok(false);
        };
        let Some(ours) = if_present(self.storage().stat(&dot_git))? else {
            return Ok(false);
        };
        let theirs = git.top_level().map(|top| top.join(".git"));
        let theirs = theirs.and_then(|path| std::fs::symlink_metadata(path).ok());
        Ok(theirs.is_some_and(|theirs| {
            let changed_ns = theirs
                .ctime()
                .saturating_mul(1_000_000_000)
                .saturating_add(theirs.ctime_nsec());
            (theirs.ino(), changed_ns) == (ours.inode, ours.ctime_ns)
        }))
    }

    /// Takes out the steps that something stands in the way of.
    fn leave_blocked(
        &self,
        steps: &mut Vec<Step>,
        left: &mut Vec<LeftFile>,
    ) -> Result<(), ImportError> {
        loop {
            // One directory in the way is told of once, whatever should stand below it.
            let found = obstacles(self.storage(), steps)?;
            if found.is_empty() {
                return Ok(());
            }
            let wanted: BTreeSet<&TreePath> = found.iter().map(|found| &found.wanted).collect();
            let blocking: BTreeSet<&TreePath> = found.iter().map(|found| &found.path).collect();
            steps.retain(|step| {
                let above = step.path.ancestors().find(|dir| blocking.contains(dir));
                if above.is_none() && !wanted.contains(&step.path) {
                    return true;
                }
                let own = found.iter().find(|found| found.wanted == step.path);
                let other = above.or_else(|| own.map(|found| found.path.clone()));
                left.push(LeftFile {
                    path: step.path.clone(),
                    why: other.map_or(LeftReason::Untracked, LeftReason::Blocked),
                });
                false
            });
        }
    }
}

/// Whether the state at an event is that of an imported commit: then nobody's own files are in it.
fn is_import(view: &View, event: EventId) -> Result<bool, ImportError> {
    for row in view.line_of(event)? {
        let body = row?.event.body;
        if body.changes_files() {
            let operation = body.operation_id.unwrap_or_default();
            return Ok(operation.starts_with(GIT_PREFIX));
        }
    }
    Ok(false)
}

/// The step that makes a file what it is at the tip, if that takes nothing from anybody.
fn step(here: &State, there: &State, file: Unrecorded) -> Result<Option<Step>, LeftFile> {
    let Unrecorded { path, after, .. } = file;
    let left = |path: TreePath, why| Err(LeftFile { path, why });
    let Some(wanted) = there.tree().get(&path) else {
        return Ok(None);
    };
    if wanted.mode.is_symlink() && !can_be_link(there, &path, wanted.size) {
        return left(path, LeftReason::Impossible);
    }
    let recorded = here.tree().get(&path).map(|entry| entry.state());
    let on_disk = match after {
        None => None,
        Some(disk) => match disk.hash {
            Some(hash) => Some(FileState {
                mode: disk.mode,
                hash,
            }),
            None => return left(path, LeftReason::Modified),
        },
    };
    match (on_disk, recorded) {
        (Some(disk), recorded) if recorded != Some(disk) => {
            let why = match recorded {
                Some(_) => LeftReason::Modified,
                None => LeftReason::Untracked,
            };
            left(path, why)
        }
        (before, _) => Ok(Some(Step {
            path,
            before,
            after: Some(wanted.state()),
        })),
    }
}

fn can_be_link(there: &State, path: &TreePath, size: u64) -> bool {
    // What cannot be read now fails where it is needed, with its place.
    (1..=LINK_MAX).contains(&size)
        && !matches!(there.content(path), Ok(Some(target)) if target.contains(&0))
}
