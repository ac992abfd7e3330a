//! Moving the workspace: rewind, switch, and catching up with its branch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ledger_core::log::{
    AppendError, Batch, Lock, LockError, On, Query, ReadError, Standing, StandingError,
};
use ledger_core::{
    Action, Body, EventId, FileState, Mode, RewindNote, TreePath, check_name, layout,
};
use ledger_core::{InvalidName, storage::StorageError};
use ledger_replay::{
    BoxError, Host, Journal, MoveError, Mover, Obstacle, Purpose, RebuildError, State, Step,
    obstacles, plan,
};
use ledger_snapshot::StatCache;

use crate::branches::free_name;
use crate::provenance::Provenance;
use crate::record::prepare::Version;
use crate::record::{RecordError, batch_of};
use crate::scan::Scope;
use crate::workspace::Workspace;

/// The workspace was not moved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RewindError {
    /// The ledger could not be read or appended to.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The lock of the working tree was not to be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// `workspace.json` cannot be used.
    #[error(transparent)]
    Standing(#[from] StandingError),
    /// What is unrecorded could not be recorded first.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A state could not be rebuilt.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    /// The files could not be moved.
    #[error(transparent)]
    Move(#[from] MoveError),
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The name of the new branch cannot be one.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The name of the new branch is taken.
    #[error("the name {0:?} is taken")]
    NameTaken(String),
    /// There is no such branch.
    #[error("there is no branch {0:?}")]
    NoBranch(String),
    /// Files that were never recorded stand in the way.
    #[error("{}", .0.iter().map(Obstacle::to_string).collect::<Vec<_>>().join("; "))]
    Blocked(Vec<Obstacle>),
    /// There is no move to be continued or taken back.
    #[error("no rewind was interrupted")]
    NothingPending,
}

impl From<ReadError> for RewindError {
    fn from(error: ReadError) -> Self {
        RewindError::Append(error.into())
    }
}

/// What a move did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Where the workspace stood.
    pub from: Standing,
    /// Where it stands now (or would).
    pub to: Standing,
    /// The event whose state it has.
    pub target: EventId,
    /// What was done to which path.
    pub steps: Vec<Step>,
    /// Events that hold what was unrecorded before.
    pub kept: Vec<EventId>,
    /// Files with unrecorded changes, which a dry run would record first.
    pub unrecorded: Vec<TreePath>,
}

impl Workspace {
    /// Brings the workspace back to the state at `target`, and on from there on a new branch.
    ///
    /// Unrecorded changes of tracked files are recorded first. Other files are not touched; where one
    /// stands in the way, nothing is. With `dry_run` nothing is changed, and the plan is returned.
    pub fn rewind(
        &self,
        target: EventId,
        branch: Option<&str>,
        provenance: &Provenance,
        dry_run: bool,
    ) -> Result<Moved, RewindError> {
        if let Some(name) = branch {
            check_name(name)?;
        }
        let lock = self.lock_unless(dry_run)?;
        let view = self.view()?;
        let name = match branch {
            Some(name) if view.heads().has_name(name) => {
                return Err(RewindError::NameTaken(name.to_owned()));
            }
            Some(name) => name.to_owned(),
            None => free_name(&view, &format!("rewind-{target}")),
        };
        let operation_id = self.operation_id(provenance);
        let purpose = Purpose::Rewind {
            branch: name.clone(),
            operation_id,
        };
        self.go(lock.as_ref(), purpose, target, name, provenance)
    }

    /// Brings the workspace to the tip of another branch. Unrecorded changes are recorded first, on the
    /// branch that it leaves.
    pub fn switch(
        &self,
        branch: &str,
        provenance: &Provenance,
        dry_run: bool,
    ) -> Result<Moved, RewindError> {
        let lock = self.lock_unless(dry_run)?;
        let view = self.view()?;
        let Some(head) = view.heads().branches.get(branch) else {
            return Err(RewindError::NoBranch(branch.to_owned()));
        };
        let purpose = Purpose::Switch {
            branch: branch.to_owned(),
        };
        self.go(
            lock.as_ref(),
            purpose,
            head.tip,
            branch.to_owned(),
            provenance,
        )
    }

    fn lock_unless(&self, dry_run: bool) -> Result<Option<Lock>, RewindError> {
        if dry_run {
            return Ok(None);
        }
        let lock = self.lock_worktree()?;
        self.finish_pending_move(&lock)?;
        Ok(Some(lock))
    }

    /// Plans a move, and unless there is no lock, makes it.
    fn go(
        &self,
        lock: Option<&Lock>,
        purpose: Purpose,
        target: EventId,
        branch: String,
        provenance: &Provenance,
    ) -> Result<Moved, RewindError> {
        let mut kept = Vec::new();
        let mut unrecorded = Vec::new();
        let before = Standing::read(self.storage(), &self.view()?)?;
        let there = State::rebuild(self.snapshots(), &self.view()?, target)?;
        let here = self.present_tree(&before, &mut unrecorded)?;
        let steps = plan(&here, there.tree());
        let found = obstacles(self.storage(), &steps)?;
        if !found.is_empty() {
            return Err(RewindError::Blocked(found));
        }
        let to = Standing {
            branch,
            event: target,
        };
        let mut moved = Moved {
            from: before.clone(),
            to,
            target,
            steps,
            kept: Vec::new(),
            unrecorded,
        };
        let Some(lock) = lock else {
            return Ok(moved);
        };
        if !moved.unrecorded.is_empty() {
            kept.extend(self.record_before_move(lock)?);
        }
        // A switch to the branch that the changes were recorded on goes to its new tip.
        let from = Standing::read(self.storage(), &self.view()?)?;
        if let Purpose::Switch { branch } = &purpose
            && *branch == from.branch
        {
            moved.to = from.clone();
            moved.kept = kept;
            moved.steps.clear();
            from.write(self.storage(), self.token())?;
            return Ok(moved);
        }
        let journal = Journal::new(purpose, from, target, moved.steps.clone());
        let mut host = MoveHost {
            workspace: self,
            provenance,
            recorded: Vec::new(),
        };
        let mover = Mover::new(self.storage(), self.token());
        moved.to = mover.run(journal, &there, &mut host)?;
        kept.append(&mut host.recorded);
        moved.kept = kept;
        Ok(moved)
    }

    /// The tree as it will be recorded before a move: the workspace's own, with its unrecorded changes.
    fn present_tree(
        &self,
        standing: &Standing,
        unrecorded: &mut Vec<TreePath>,
    ) -> Result<ledger_snapshot::Tree, RewindError> {
        let state = State::rebuild(self.snapshots(), &self.view()?, standing.event)?;
        let mut cache = StatCache::load(self.storage(), &layout::stat_cache())?;
        let limit = ledger_core::objects::OBJECT_MAX;
        let scan = self
            .scanner(limit)
            .scan(state.tree(), Scope::Tracked, &mut cache)?;
        let mut tree = state.tree().clone();
        for file in scan.unrecorded {
            match (file.after, file.after.and_then(|after| after.hash)) {
                (Some(after), Some(hash)) => {
                    let (mode, size) = (after.mode, after.size);
                    tree.insert(
                        file.path.clone(),
                        ledger_snapshot::FileEntry { mode, hash, size },
                    );
                }
                _ => {
                    tree.remove(&file.path);
                }
            }
            unrecorded.push(file.path);
        }
        self.save_stat_cache(cache, state.tree());
        Ok(tree)
    }

    /// Where a move was interrupted, what it was about to do.
    pub fn pending_move(&self) -> Result<Option<Journal>, RewindError> {
        Ok(Mover::pending(self.storage())?)
    }

    /// Finishes a move that was interrupted.
    pub fn continue_move(&self) -> Result<Standing, RewindError> {
        let lock = self.lock_worktree()?;
        self.finish_pending_move(&lock)?
            .ok_or(RewindError::NothingPending)
    }

    /// Takes back a move that was interrupted: the files are again what they were.
    pub fn abort_move(&self) -> Result<Standing, RewindError> {
        let _lock = self.lock_worktree()?;
        let Some(journal) = self.pending_move()? else {
            return Err(RewindError::NothingPending);
        };
        let from = journal.from.clone();
        let provenance = Provenance::by(crate::system_author());
        let mut host = MoveHost {
            workspace: self,
            provenance: &provenance,
            recorded: Vec::new(),
        };
        Mover::new(self.storage(), self.token()).abort(journal, &mut host)?;
        Ok(from)
    }

    /// Finishes a move that was interrupted, if one was. The caller holds the lock.
    pub(crate) fn finish_pending_move(&self, _lock: &Lock) -> Result<Option<Standing>, MoveError> {
        let Some(journal) = Mover::pending(self.storage())? else {
            return Ok(None);
        };
        let view = self.view().map_err(RebuildError::from)?;
        let target = State::rebuild(self.snapshots(), &view, journal.target)?;
        let provenance = Provenance::by(crate::system_author());
        let mut host = MoveHost {
            workspace: self,
            provenance: &provenance,
            recorded: Vec::new(),
        };
        let mover = Mover::new(self.storage(), self.token());
        let standing = mover.resume(journal, &target, &mut host)?;
        self.warn("a move of the workspace that was interrupted has been finished");
        Ok(Some(standing))
    }

    /// Brings in what others recorded on the workspace's branch. The caller holds the lock.
    ///
    /// Files that the workspace has not changed become as on the branch; those that equal it already
    /// just count. Where both changed a file, nothing is done.
    pub(crate) fn catch_up(&self, _lock: &Lock) -> Result<(), RecordError> {
        let view = self.view()?;
        let standing = Standing::read(self.storage(), &view)?;
        let Some(head) = view.heads().branches.get(&standing.branch) else {
            return Err(AppendError::NoBranch(standing.branch).into());
        };
        if head.tip == standing.event {
            return Ok(());
        }
        let to = Standing {
            branch: standing.branch.clone(),
            event: head.tip,
        };
        let theirs = self.files_changed_since(&view, head.tip, standing.event)?;
        if theirs.is_empty() {
            to.write(self.storage(), self.token())?;
            return Ok(());
        }
        let here = State::rebuild(self.snapshots(), &view, standing.event)?;
        let there = State::rebuild(self.snapshots(), &view, head.tip)?;
        let mut cache = StatCache::load(self.storage(), &layout::stat_cache())?;
        let limit = ledger_core::objects::OBJECT_MAX;
        let paths: Vec<TreePath> = theirs.into_iter().collect();
        let scan = self
            .scanner(limit)
            .scan(here.tree(), Scope::Below(&paths), &mut cache)?;
        let mut steps = plan(here.tree(), there.tree());
        let mut ours: BTreeMap<TreePath, Option<FileState>> = BTreeMap::new();
        for file in scan.unrecorded {
            let state = match file.after {
                None => None,
                Some(after) => Some(FileState {
                    mode: after.mode,
                    hash: match after.hash {
                        Some(hash) => hash,
                        None => self.hash_of(&file.path, limit)?,
                    },
                }),
            };
            ours.insert(file.path, state);
        }
        let mut both = Vec::new();
        steps.retain(|step| match ours.get(&step.path) {
            None => true,
            Some(state) if *state == step.after => false,
            Some(_) => {
                both.push(step.path.clone());
                false
            }
        });
        both.extend(
            obstacles(self.storage(), &steps)?
                .into_iter()
                .map(|found| found.path),
        );
        if !both.is_empty() {
            return Err(RecordError::Diverged {
                tip: head.tip,
                paths: both,
            });
        }
        let purpose = Purpose::CatchUp {
            branch: standing.branch.clone(),
        };
        let brought: Vec<TreePath> = steps.iter().map(|step| step.path.clone()).collect();
        let journal = Journal::new(purpose, standing, head.tip, steps);
        let provenance = Provenance::by(crate::system_author());
        let mut host = MoveHost {
            workspace: self,
            provenance: &provenance,
            recorded: Vec::new(),
        };
        Mover::new(self.storage(), self.token()).run(journal, &there, &mut host)?;
        if !brought.is_empty() {
            let files = crate::record::list(&brought);
            self.warn(format!(
                "brought in what others recorded up to {}: {files}",
                head.tip
            ));
        }
        Ok(())
    }

    fn hash_of(&self, path: &TreePath, limit: u64) -> Result<ledger_core::Digest, RecordError> {
        let file = ledger_snapshot::read_stable(self.storage(), path, limit)?;
        Ok(ledger_core::Digest::of(&file.content))
    }

    /// Files that events after `since`, up to `tip`, concern.
    pub(crate) fn files_changed_since(
        &self,
        view: &ledger_core::log::View,
        tip: EventId,
        since: EventId,
    ) -> Result<BTreeSet<TreePath>, ReadError> {
        let mut files = BTreeSet::new();
        for row in view.line_of(tip)? {
            let event = row?.event;
            if event.id <= since {
                break;
            }
            files.extend(
                event
                    .body
                    .edits
                    .iter()
                    .flat_map(|edit| edit.paths())
                    .cloned(),
            );
        }
        Ok(files)
    }
}

/// The ledger's part in a move.
pub(crate) struct MoveHost<'a> {
    workspace: &'a Workspace,
    provenance: &'a Provenance,
    recorded: Vec<EventId>,
}

impl<'a> MoveHost<'a> {
    pub fn new(workspace: &'a Workspace, provenance: &'a Provenance) -> Self {
        MoveHost {
            workspace,
            provenance,
            recorded: Vec::new(),
        }
    }

    /// The `rewind` event of a journal, if it is there.
    fn rewind_event(&self, journal: &Journal) -> Result<Option<EventId>, ReadError> {
        let Purpose::Rewind {
            branch,
            operation_id,
        } = &journal.purpose
        else {
            return Ok(None);
        };
        let query = Query {
            operation: Some(operation_id.clone()),
            branch: Some(branch.clone()),
            action: Some(Action::Rewind.to_string()),
            from: Some(journal.from.event),
            ..Query::default()
        };
        let view = self.workspace.view()?;
        let found = view.history(query).next().transpose()?;
        Ok(found.map(|row| row.event.id))
    }
}

impl Host for MoveHost<'_> {
    fn record_found(
        &mut self,
        journal: &Journal,
        path: &TreePath,
        mode: Mode,
        content: &[u8],
    ) -> Result<(), BoxError> {
        let workspace = self.workspace;
        let found = Version::new(mode, Arc::new(content.to_vec()));
        let mut provenance = Provenance::by(crate::system_author());
        provenance.rationale = Some("saved while the workspace was being moved".to_owned());
        let operation = workspace.operation_id(&provenance);
        let branch = &journal.from.branch;
        let mut template = workspace.tree_template(&provenance, &operation, branch)?;
        template.in_workspace = false;
        let mut prepared = Vec::new();
        let appended = workspace.log().append_exclusively(|view| {
            let head = view.heads().branches.get(branch);
            let tip = head
                .map(|head| head.tip)
                .ok_or_else(|| RecordError::from(AppendError::NoBranch(branch.clone())))?;
            let before = workspace.tip_version(view, (branch, tip), path)?;
            let preparer = workspace.preparer(&template);
            prepared = preparer.change(path, before.as_ref(), Some(&found))?;
            Ok::<_, RecordError>(batch_of(&prepared, On::Tip, None))
        })?;
        let recorded = workspace.recorded(appended, prepared);
        if !recorded.events.is_empty() {
            workspace.warn(format!(
                "{path} was saved while the workspace was being moved; {} holds that",
                recorded
                    .events
                    .iter()
                    .map(EventId::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            ));
        }
        self.recorded.extend(recorded.events);
        Ok(())
    }

    fn conclude(&mut self, journal: &Journal) -> Result<Standing, BoxError> {
        let workspace = self.workspace;
        match &journal.purpose {
            Purpose::Switch { branch } | Purpose::CatchUp { branch } => Ok(Standing {
                branch: branch.clone(),
                event: journal.target,
            }),
            Purpose::Rewind {
                branch,
                operation_id,
            } => {
                if let Some(event) = self.rewind_event(journal)? {
                    return Ok(Standing {
                        branch: branch.clone(),
                        event,
                    });
                }
                let (storage, token) = (workspace.storage(), workspace.token());
                let operation = operation_id.clone();
                let mut body: Body =
                    self.provenance
                        .body(storage, token, Action::Rewind, branch, operation)?;
                body.rewind = Some(RewindNote {
                    from: journal.from.event,
                });
                let batch = Batch {
                    bodies: vec![body],
                    on: On::NewBranch(journal.target),
                    key: None,
                };
                let appended = workspace.log().append(batch)?;
                let event = appended
                    .events
                    .first()
                    .copied()
                    .ok_or("no event was recorded")?;
                Ok(Standing {
                    branch: branch.clone(),
                    event,
                })
            }
        }
    }

    fn is_concluded(&mut self, journal: &Journal) -> Result<bool, BoxError> {
        Ok(self.rewind_event(journal)?.is_some())
    }
}
