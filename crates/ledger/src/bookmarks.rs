//! Bookmarks: unique names for events and snapshots.

use ledger_core::log::{AppendError, Appended, Batch, On, View};
use ledger_core::storage::{Durability, write_atomically};
use ledger_core::{
    Action, Body, BookmarkOp, BookmarkVerb, EventId, InvalidName, SnapshotId, check_name, layout,
};

use crate::provenance::Provenance;
use crate::record::RecordError;
use crate::workspace::Workspace;

/// What a bookmark stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookmarkTarget {
    /// An event.
    Event(EventId),
    /// A snapshot.
    Snapshot(SnapshotId),
}

impl std::fmt::Display for BookmarkTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BookmarkTarget::Event(id) => id.fmt(f),
            BookmarkTarget::Snapshot(id) => id.fmt(f),
        }
    }
}

/// A bookmark was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BookmarkError {
    /// The ledger could not be appended to.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The event could not be made.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The name cannot be one.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// A bookmark or a branch has the name.
    #[error("the name {0:?} is taken")]
    Taken(String),
    /// There is no such bookmark.
    #[error("there is no bookmark {0:?}")]
    Unknown(String),
    /// The bookmark is locked.
    #[error("bookmark {0:?} is locked")]
    Locked(String),
    /// What it should stand for is not there.
    #[error("there is no {0}")]
    NoTarget(String),
}

/// A change to a bookmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BookmarkChange {
    /// A new name.
    Add(BookmarkTarget),
    /// The name goes; what it stood for stays.
    Remove,
    /// It stands for something else.
    Move(BookmarkTarget),
    /// It has another name.
    Rename(String),
    /// It can no longer be moved, renamed or removed.
    Lock,
    /// It can again.
    Unlock,
}

impl Workspace {
    /// Changes a bookmark; durable when it returns.
    pub fn change_bookmark(
        &self,
        name: &str,
        change: &BookmarkChange,
        provenance: &Provenance,
    ) -> Result<EventId, BookmarkError> {
        let branch = self.standing().map_err(RecordError::from)?.branch;
        let operation = self.operation_id(provenance);
        let (storage, token) = (self.storage(), self.token());
        let body = provenance.body(storage, token, Action::Checkpoint, &branch, operation)?;
        let appended = self.log().append_exclusively(|view| {
            let op = operation_of(view, name, change)?;
            Ok::<_, BookmarkError>(checkpoint(body, op))
        })?;
        self.write_bookmarks();
        self.recorded(appended.clone(), Vec::new());
        first(&appended)
    }

    /// Renews `bookmarks.json`, which is derived from the rows.
    pub(crate) fn write_bookmarks(&self) {
        let written = self
            .view()
            .map_err(|error| error.to_string())
            .and_then(|view| {
                let json = view.heads().bookmarks_json();
                let path = layout::bookmarks();
                write_atomically(
                    self.storage(),
                    &path,
                    &json,
                    self.token(),
                    Durability::Derived,
                )
                .map_err(|error| format!("{error}: {}", error.source))
            });
        if let Err(error) = written {
            self.warn(format!("bookmarks.json could not be renewed: {error}"));
        }
    }
}

fn first(appended: &Appended) -> Result<EventId, BookmarkError> {
    appended
        .events
        .first()
        .copied()
        .ok_or(BookmarkError::Append(AppendError::Poisoned))
}

/// The row of a change to a bookmark.
pub(crate) fn checkpoint(mut body: Body, op: BookmarkOp) -> Batch {
    body.bookmark = Some(op.name.clone());
    body.snapshot_ref = op.target.as_deref().and_then(|target| target.parse().ok());
    body.bookmark_op = Some(op);
    Batch {
        bodies: vec![body],
        on: On::Tip,
        key: None,
    }
}

/// Checks a change against the bookmarks there are.
fn operation_of(
    view: &View,
    name: &str,
    change: &BookmarkChange,
) -> Result<BookmarkOp, BookmarkError> {
    let heads = view.heads();
    let known = || {
        heads
            .bookmarks
            .get(name)
            .ok_or_else(|| BookmarkError::Unknown(name.to_owned()))
    };
    let unlocked = || {
        let known = known()?;
        match known.locked {
            true => Err(BookmarkError::Locked(name.to_owned())),
            false => Ok(known),
        }
    };
    let free = |name: &str| {
        check_name(name)?;
        match heads.has_name(name) {
            true => Err(BookmarkError::Taken(name.to_owned())),
            false => Ok(()),
        }
    };
    let op = |op, name: &str, target: Option<String>, was: Option<&str>, locked| BookmarkOp {
        op,
        name: name.to_owned(),
        target,
        was: was.map(str::to_owned),
        locked,
    };
    Ok(match change {
        BookmarkChange::Add(target) => {
            free(name)?;
            let target = check_target(view, *target)?;
            op(BookmarkVerb::Add, name, Some(target), None, false)
        }
        BookmarkChange::Remove => {
            let was = unlocked()?;
            op(BookmarkVerb::Remove, name, None, Some(&was.target), false)
        }
        BookmarkChange::Move(target) => {
            let was = unlocked()?;
            let target = check_target(view, *target)?;
            op(
                BookmarkVerb::Move,
                name,
                Some(target),
                Some(&was.target),
                false,
            )
        }
        BookmarkChange::Rename(to) => {
            let was = unlocked()?;
            free(to)?;
            op(
                BookmarkVerb::Rename,
                to,
                Some(was.target.clone()),
                Some(name),
                false,
            )
        }
        BookmarkChange::Lock => {
            let was = known()?;
            op(
                BookmarkVerb::Lock,
                name,
                Some(was.target.clone()),
                Some(&was.target),
                true,
            )
        }
        BookmarkChange::Unlock => {
            let was = known()?;
            op(
                BookmarkVerb::Unlock,
                name,
                Some(was.target.clone()),
                Some(&was.target),
                false,
            )
        }
    })
}

fn check_target(view: &View, target: BookmarkTarget) -> Result<String, BookmarkError> {
    let missing = || BookmarkError::NoTarget(target.to_string());
    let found = match target {
        BookmarkTarget::Event(id) => id <= view.last(),
        BookmarkTarget::Snapshot(id) => view
            .snapshot_event(id)
            .map_err(AppendError::from)?
            .is_some(),
    };
    if found {
        Ok(target.to_string())
    } else {
        Err(missing())
    }
}
