//! How the content of one file comes to be: where it begins, and the edits after that.

use std::sync::Arc;

use ledger_core::edit::{ApplyError, LineBuffer, LineEdit};
use ledger_core::log::ReadError;
use ledger_core::objects::{self, ObjectError};
use ledger_core::storage::{Storage, StorageError};
use ledger_core::{Change, Digest, EventId, FileEdit, Mode, ObjectRef, TreePath};
use ledger_snapshot::{ArchiveError, ArchiveReader};

use crate::base::BaseError;

/// A state cannot be rebuilt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError {
    /// The rows cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A snapshot cannot be used.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// No snapshot at or before the event can be used.
    #[error("no snapshot at or before {event} can be used")]
    NoBase {
        /// The event.
        event: EventId,
        /// Why the oldest one cannot, where there is one.
        #[source]
        source: Option<BaseError>,
    },
    /// An object that an event refers to cannot be read.
    #[error("{path} at {event}")]
    Object {
        /// The file.
        path: TreePath,
        /// The event that refers to it.
        event: EventId,
        /// Why not.
        #[source]
        source: ObjectError,
    },
    /// An edit does not fit the content that it should change.
    #[error("{path} at {event}: the edit does not apply")]
    Edit {
        /// The file.
        path: TreePath,
        /// The event.
        event: EventId,
        /// Why not.
        #[source]
        source: ApplyError,
    },
    /// An event does not follow from the ones before it.
    #[error("{path} at {event}: {why}")]
    Inconsistent {
        /// The file.
        path: TreePath,
        /// The event.
        event: EventId,
        /// In which way.
        why: String,
    },
    /// The rebuilt content is not what was recorded.
    #[error("{path} at {event}: rebuilt with digest {actual}, recorded with {expected}")]
    WrongContent {
        /// The file.
        path: TreePath,
        /// The event.
        event: EventId,
        /// What was recorded.
        expected: Digest,
        /// What came out.
        actual: Digest,
    },
}

/// Where a content begins.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// With nothing.
    Empty,
    /// With an object, brought by an event.
    Object(ObjectRef, EventId),
    /// With a file of the snapshot, under the name that it had there.
    Snapshot(TreePath),
    /// With a content that was at hand.
    Known(Arc<Vec<u8>>),
}

/// One edit of the content.
#[derive(Debug, Clone)]
pub(crate) struct LineStep {
    pub event: EventId,
    pub edit: Arc<FileEdit>,
}

/// Where a content begins, and the edits after that.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub origin: Origin,
    pub steps: Vec<LineStep>,
}

impl Recipe {
    pub fn new(origin: Origin) -> Self {
        Recipe {
            origin,
            steps: Vec::new(),
        }
    }

    /// Makes the content, which is that of `path` at `event` and has the digest `expected`.
    pub fn make(
        &self,
        storage: &dyn Storage,
        archive: Option<&ArchiveReader>,
        (path, event): (&TreePath, EventId),
        expected: Digest,
    ) -> Result<Vec<u8>, RebuildError> {
        let from_archive = |id: &TreePath| -> Result<Vec<u8>, RebuildError> {
            let found = archive.map(|archive| archive.read(id)).transpose();
            let found = found
                .map_err(|source| archive_error(path, event, &source))?
                .flatten();
            found.map(|(_, content)| content).ok_or_else(|| {
                let why = format!("the snapshot has no file {id}");
                RebuildError::Inconsistent {
                    path: path.clone(),
                    event,
                    why,
                }
            })
        };
        let start = match &self.origin {
            Origin::Empty => Vec::new(),
            Origin::Object(object, by) => {
                objects::get(storage, *object).map_err(|source| RebuildError::Object {
                    path: path.clone(),
                    event: *by,
                    source,
                })?
            }
            Origin::Snapshot(name) => from_archive(name)?,
            Origin::Known(content) => content.as_ref().clone(),
        };
        let content = if self.steps.is_empty() {
            start
        } else {
            let mut buffer = LineBuffer::new(start);
            for step in &self.steps {
                let edit = lines_of(storage, path, step)?;
                buffer.apply(&edit).map_err(|source| RebuildError::Edit {
                    path: path.clone(),
                    event: step.event,
                    source,
                })?;
            }
            buffer.to_bytes()
        };
        let actual = Digest::of(&content);
        if actual != expected {
            return Err(RebuildError::WrongContent {
                path: path.clone(),
                event,
                expected,
                actual,
            });
        }
        Ok(content)
    }
}

fn archive_error(path: &TreePath, event: EventId, source: &ArchiveError) -> RebuildError {
    let why = format!("the snapshot is damaged: {source}");
    RebuildError::Inconsistent {
        path: path.clone(),
        event,
        why,
    }
}

/// The line operations of a step, from its row or its object.
fn lines_of(
    storage: &dyn Storage,
    path: &TreePath,
    step: &LineStep,
) -> Result<LineEdit, RebuildError> {
    match &step.edit.change {
        Change::Lines(edit) => Ok(edit.clone()),
        Change::LinesObject(object) => lines_object(storage, *object, path, step.event),
        Change::None | Change::Content(_) => Ok(LineEdit::default()),
    }
}

/// Reads line operations that an object holds.
pub(crate) fn lines_object(
    storage: &dyn Storage,
    object: ObjectRef,
    path: &TreePath,
    event: EventId,
) -> Result<LineEdit, RebuildError> {
    let failed = |source| RebuildError::Object {
        path: path.clone(),
        event,
        source,
    };
    let json = objects::get(storage, object).map_err(failed)?;
    serde_json::from_slice(&json).map_err(|error| {
        let why = format!("it does not hold line operations: {error}");
        failed(ObjectError::Damaged {
            hash: object.hash,
            why,
        })
    })
}

/// Whether a mode and another are of one type of file: an edit never makes a file a link.
pub(crate) fn same_type(a: Mode, b: Mode) -> bool {
    a.is_symlink() == b.is_symlink()
}
