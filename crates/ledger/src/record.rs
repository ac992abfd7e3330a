//! Recording: from what somebody says a file became, to durable events.

mod paths;
pub(crate) mod prepare;
mod rebase;
pub(crate) mod renames;
mod tree;

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger_core::log::{
    AppendError, Batch, Key, LockError, On, ReadError, Standing, StandingError, View,
};
use ledger_core::refs::RefError;
use ledger_core::storage::StorageError;
use ledger_core::{
    Action, Body, Digest, EventId, InvalidName, InvalidPath, Mode, TreePath, layout,
};
use ledger_replay::{MoveError, RebuildError};
use ledger_snapshot::ReadFileError;

use crate::patches::PatchJob;
use crate::provenance::{Provenance, check_word};
use crate::workspace::Workspace;
use prepare::{FileEvents, Preparer, Version};

pub use tree::RecordTree;

/// A change to record: what a file became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: TreePath,
    /// What it became.
    pub to: FileTarget,
}

/// What a file became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileTarget {
    /// This content (of a link, its target); the mode stays, or is that of a plain file.
    Content {
        /// The content.
        bytes: Vec<u8>,
        /// The mode, where it is said.
        mode: Option<Mode>,
    },
    /// The same content with another mode.
    Mode(Mode),
    /// Nothing.
    Deleted,
    /// A file of another name, with the same content.
    Renamed(TreePath),
}

/// A request to record changes, as one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The changes, at most one a file.
    pub changes: Vec<FileChange>,
    /// Who, and why.
    pub provenance: Provenance,
    /// The branch; that which the workspace stands on, unless it is given.
    pub branch: Option<String>,
    /// The event whose state the changes were made from; the branch's tip, unless it is given.
    pub base: Option<EventId>,
    /// A name for the request, so that it can be sent again.
    pub key: Option<String>,
    /// Whether the files on disk are so already.
    pub in_workspace: bool,
}

impl Record {
    /// A request to record `changes` on the branch that the workspace stands on.
    pub fn new(changes: Vec<FileChange>, provenance: Provenance) -> Self {
        Record {
            changes,
            provenance,
            branch: None,
            base: None,
            key: None,
            in_workspace: false,
        }
    }
}

/// What was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recorded {
    /// The events, in order; none where nothing had changed.
    pub events: Vec<EventId>,
    /// Whether they were there already, under the same key.
    pub repeated: bool,
}

/// Nothing was recorded, but for what [`AppendError::InDoubt`] says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The ledger could not be appended to.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// What was there before could not be rebuilt.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file could not be read.
    #[error(transparent)]
    ReadFile(#[from] ReadFileError),
    /// The working tree could not be moved.
    #[error(transparent)]
    Move(#[from] MoveError),
    /// Something in the request is not as it should be.
    #[error("{what}: {why}")]
    Invalid {
        /// Which part of it.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A path is not one that can be tracked.
    #[error(transparent)]
    Path(#[from] InvalidPath),
    /// A path is the ledger's own, or git's.
    #[error("{0} is never tracked")]
    Reserved(TreePath),
    /// A name cannot be one.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// There is no such file to delete, rename or give a mode.
    #[error("{0} is not a recorded file")]
    NoFile(TreePath),
    /// Nothing stands at a path that was named, on disk or in the ledger.
    #[error("there is no file {0}, on disk or recorded")]
    NothingThere(TreePath),
    /// A file is larger than what is tracked.
    #[error("{path} has {bytes} bytes; files over {limit} bytes are not tracked")]
    TooLarge {
        /// The file.
        path: TreePath,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// Somebody else changed the same lines, or the same file in a way that cannot be combined.
    #[error("{path} was also changed by {by}: {why}")]
    Conflict {
        /// The file.
        path: TreePath,
        /// The other event.
        by: EventId,
        /// How they differ.
        why: String,
    },
    /// A file would stand where a directory is, or below a file.
    #[error("{path} cannot be recorded: {other} is a file too")]
    Nested {
        /// The file.
        path: TreePath,
        /// The other file.
        other: TreePath,
    },
    /// The event that the change was made from is not on the branch.
    #[error("{base} is not on the line of branch {branch:?}")]
    NotOnBranch {
        /// The event.
        base: EventId,
        /// The branch.
        branch: String,
    },
    /// The workspace and the branch have both changed these files.
    #[error("the branch has moved on to {tip}, and both changed {}", list(.paths))]
    Diverged {
        /// The branch's tip.
        tip: EventId,
        /// The files.
        paths: Vec<TreePath>,
    },
}

/// Names a few paths of many.
pub(crate) fn list(paths: &[TreePath]) -> String {
    const SHOWN: usize = 5;
    let mut text = paths
        .iter()
        .take(SHOWN)
        .map(TreePath::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    if paths.len() > SHOWN {
        text.push_str(&format!(" and {} more", paths.len() - SHOWN));
    }
    text
}

impl RecordError {
    pub(crate) fn invalid(what: &'static str, why: impl Into<String>) -> Self {
        RecordError::Invalid {
            what,
            why: why.into(),
        }
    }
}

impl From<ReadError> for RecordError {
    fn from(error: ReadError) -> Self {
        RecordError::Append(error.into())
    }
}

impl From<LockError> for RecordError {
    fn from(error: LockError) -> Self {
        RecordError::Append(error.into())
    }
}

impl From<StandingError> for RecordError {
    fn from(error: StandingError) -> Self {
        RecordError::Append(error.into())
    }
}

impl From<RefError> for RecordError {
    fn from(error: RefError) -> Self {
        match error {
            RefError::Read(error) => error.into(),
            other => RecordError::invalid("ref", other.to_string()),
        }
    }
}

/// How often an append is tried while others change the same files, before they are kept out.
const TRIES: usize = 3;

impl Workspace {
    /// Records what files became. The events are durable when it returns.
    ///
    /// The files of the workspace are not touched. Where the branch has changed the same files since
    /// `base`, the change is moved over theirs when no lines overlap or touch, and refused otherwise.
    pub fn record(&self, request: &Record) -> Result<Recorded, RecordError> {
        self.check(request)?;
        let key = request.key.as_ref().map(|text| Key {
            text: text.clone(),
            digest: digest(request),
        });
        let operation = self.operation_id(&request.provenance);
        let template = |branch: &str| -> Result<Body, RecordError> {
            let token = self.token();
            let (storage, action) = (self.storage(), Action::EditReplace);
            let mut body =
                request
                    .provenance
                    .body(storage, token, action, branch, operation.clone())?;
            body.in_workspace = request.in_workspace;
            body.patch = true;
            Ok(body)
        };
        let mut view = self.log().view()?;
        let branch = match &request.branch {
            Some(branch) => branch.clone(),
            None => Standing::read(self.storage(), &view)?.branch,
        };
        let template = template(&branch)?;
        for _ in 0..TRIES {
            let (tip, files) = match (self.prepare(request, &template, &view), &key) {
                (Err(error), Some(key)) => return self.answer_again(key.clone(), error),
                (prepared, _) => prepared?,
            };
            if files.is_empty() && key.is_none() {
                return Ok(Recorded::default());
            }
            let batch = batch_of(&files, On::TipUnchangedSince(tip), key.clone());
            match self.log().append(batch) {
                Err(AppendError::Moved { .. }) => view = self.log().view()?,
                result => return Ok(self.recorded(result?, files)),
            }
        }
        // Others keep changing the same files: now they wait.
        let mut prepared = Vec::new();
        let appended = self.log().append_exclusively(|view| {
            let (tip, files) = self.prepare(request, &template, view)?;
            let batch = batch_of(&files, On::TipUnchangedSince(tip), key.clone());
            prepared = files;
            Ok::<_, RecordError>(batch)
        })?;
        Ok(self.recorded(appended, prepared))
    }

    /// What was recorded under a key, for a request that by now is impossible; else its error.
    fn answer_again(&self, key: Key, error: RecordError) -> Result<Recorded, RecordError> {
        let batch = Batch {
            bodies: Vec::new(),
            on: On::Tip,
            key: Some(key),
        };
        match self.log().append(batch) {
            Ok(appended) if appended.repeated => Ok(self.recorded(appended, Vec::new())),
            Err(reused @ AppendError::KeyReused { .. }) => Err(reused.into()),
            _ => Err(error),
        }
    }

    fn check(&self, request: &Record) -> Result<(), RecordError> {
        let mut seen = BTreeMap::new();
        for change in &request.changes {
            let renamed = match &change.to {
                FileTarget::Renamed(to) => Some(to),
                _ => None,
            };
            for path in [&change.path].into_iter().chain(renamed) {
                if layout::is_reserved(path) || path.is_root() {
                    return Err(RecordError::Reserved(path.clone()));
                }
                if seen.insert(path, ()).is_some() {
                    let why = format!("{path} is named more than once");
                    return Err(RecordError::invalid("files", why));
                }
            }
            if let FileTarget::Content { bytes, .. } = &change.to {
                let (bytes, limit) = (bytes.len() as u64, self.config().record.max_file_size);
                if bytes > limit {
                    let path = change.path.clone();
                    return Err(RecordError::TooLarge { path, bytes, limit });
                }
            }
        }
        check_word("key", request.key.as_deref().unwrap_or_default())
    }

    /// The events of a request, as of a view; and the tip that they build on.
    fn prepare(
        &self,
        request: &Record,
        template: &Body,
        view: &View,
    ) -> Result<(EventId, Vec<FileEvents>), RecordError> {
        let branch = &template.branch;
        let Some(head) = view.heads().branches.get(branch) else {
            return Err(AppendError::NoBranch(branch.clone()).into());
        };
        let tip = head.tip;
        let preparer = self.preparer(template);
        let mut changes = Vec::with_capacity(request.changes.len());
        for change in &request.changes {
            let before = self.tip_version(view, (branch, tip), &change.path)?;
            let after = self.version_after(change, before.as_ref())?;
            changes.push((change, before, after));
        }
        if let Some(base) = request.base.filter(|base| *base != tip) {
            self.rebase(view, base, (branch, tip), &mut changes)?;
        }
        let mut files = Vec::new();
        for (change, before, after) in &changes {
            let (before, after) = (before.as_ref(), after.as_ref());
            if let (FileTarget::Renamed(to), Some(old)) = (&change.to, before) {
                if self.tip_version(view, (branch, tip), to)?.is_some() {
                    let why = format!("{to} exists");
                    return Err(RecordError::invalid("rename_to", why));
                }
                files.push(preparer.rename(&change.path, to, old, old.mode));
            } else {
                files.extend(preparer.change(&change.path, before, after)?);
            }
        }
        // What goes away makes room for what comes.
        files.sort_by_key(|file| {
            file.bodies
                .first()
                .map(|body| body.action != Action::FileDelete)
        });
        self.check_nesting(view, (branch, tip), &files)?;
        for file in &files {
            self.keep_after(file, &changes);
        }
        Ok((tip, files))
    }

    /// What a file is after a change.
    fn version_after(
        &self,
        change: &FileChange,
        before: Option<&Version>,
    ) -> Result<Option<Version>, RecordError> {
        let missing = || RecordError::NoFile(change.path.clone());
        Ok(match &change.to {
            FileTarget::Content { bytes, mode } => {
                let kept = before.map_or(Mode::File, |version| version.mode);
                Some(Version::new(mode.unwrap_or(kept), Arc::new(bytes.clone())))
            }
            FileTarget::Mode(mode) => {
                let before = before.ok_or_else(missing)?;
                Some(Version {
                    mode: *mode,
                    ..before.clone()
                })
            }
            FileTarget::Deleted => {
                before.ok_or_else(missing)?;
                None
            }
            FileTarget::Renamed(_) => Some(before.ok_or_else(missing)?.clone()),
        })
    }

    /// Keeps the contents that the next change of these files will be compared with.
    fn keep_after(
        &self,
        file: &FileEvents,
        changes: &[(&FileChange, Option<Version>, Option<Version>)],
    ) {
        let edits = file.bodies.iter().flat_map(|body| &body.edits);
        for edit in edits {
            let of_path = changes.iter().find(|(change, ..)| change.path == edit.path);
            if let Some((_, _, Some(after))) = of_path {
                self.recent().keep(after.hash, &after.content);
            }
        }
    }

    pub(crate) fn preparer<'a>(&'a self, template: &'a Body) -> Preparer<'a> {
        Preparer {
            storage: self.storage(),
            clock: self.log().seams().clock.as_ref(),
            token: self.token(),
            staging: None,
            semantics: self.semantics(),
            template,
        }
    }

    pub(crate) fn operation_id(&self, provenance: &Provenance) -> String {
        let fresh = || self.log().seams().ids.operation_id();
        provenance.operation_id.clone().unwrap_or_else(fresh)
    }

    /// A file as of the tip of a branch.
    pub(crate) fn tip_version(
        &self,
        view: &View,
        tip: (&str, EventId),
        path: &TreePath,
    ) -> Result<Option<Version>, RebuildError> {
        let found = self.recent().tip_file(self.snapshots(), view, tip, path)?;
        Ok(found.map(|file| Version {
            mode: file.state.mode,
            content: file.content,
            hash: file.state.hash,
        }))
    }

    /// Queues what follows an acknowledged batch: patches, and perhaps a snapshot.
    pub(crate) fn recorded(
        &self,
        appended: ledger_core::log::Appended,
        files: Vec<FileEvents>,
    ) -> Recorded {
        let ledger_core::log::Appended {
            events,
            hashes,
            repeated,
        } = appended;
        if !repeated {
            let mut rows = events.iter().copied().zip(hashes);
            let jobs = files.into_iter().map(|file| PatchJob {
                before: file.before,
                // A body has one edit.
                events: file
                    .bodies
                    .into_iter()
                    .zip(rows.by_ref())
                    .filter(|(body, _)| body.patch)
                    .flat_map(|(body, (id, hash))| {
                        body.edits.into_iter().map(move |edit| (id, hash, edit))
                    })
                    .collect(),
            });
            self.follow_up(jobs.filter(|job| !job.events.is_empty()).collect());
        }
        Recorded { events, repeated }
    }
}

pub(crate) fn batch_of(files: &[FileEvents], on: On, key: Option<Key>) -> Batch {
    let bodies = files
        .iter()
        .flat_map(|file| file.bodies.iter().cloned())
        .collect();
    Batch { bodies, on, key }
}

/// A digest of everything that was asked for.
fn digest(request: &Record) -> Digest {
    let mut hasher = blake3::Hasher::new();
    let mut field = |name: &str, value: &[u8]| {
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(&(value.len() as u64).to_le_bytes());
        hasher.update(value);
    };
    for change in &request.changes {
        field("path", change.path.as_bytes());
        match &change.to {
            FileTarget::Content { bytes, mode } => {
                field("content", bytes);
                field("mode", mode.map_or("", Mode::as_str).as_bytes());
            }
            FileTarget::Mode(mode) => field("mode", mode.as_str().as_bytes()),
            FileTarget::Deleted => field("delete", b""),
            FileTarget::Renamed(to) => field("rename_to", to.as_bytes()),
        }
    }
    let provenance = &request.provenance;
    field("author", provenance.author.name.as_bytes());
    field(
        "version",
        provenance
            .author
            .version
            .as_deref()
            .unwrap_or_default()
            .as_bytes(),
    );
    field("kind", format!("{:?}", provenance.author.kind).as_bytes());
    field(
        "rationale",
        provenance
            .rationale
            .as_deref()
            .unwrap_or_default()
            .as_bytes(),
    );
    field(
        "operation",
        provenance
            .operation_id
            .as_deref()
            .unwrap_or_default()
            .as_bytes(),
    );
    field(
        "run",
        provenance.run_id.as_deref().unwrap_or_default().as_bytes(),
    );
    for artifact in &provenance.artifacts {
        field("artifact", artifact.as_bytes());
    }
    field(
        "branch",
        request.branch.as_deref().unwrap_or_default().as_bytes(),
    );
    field(
        "base",
        request
            .base
            .map(|base| base.to_string())
            .unwrap_or_default()
            .as_bytes(),
    );
    hasher.finalize().into()
}
