//! What a person types for a point in the history.

use std::str::FromStr;

use crate::id::{EventId, SnapshotId};
use crate::log::{Query, ReadError, View};

/// A ref does not name one event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RefError {
    /// Nothing has that name.
    #[error("there is no event, snapshot, bookmark or branch {0:?}")]
    Unknown(String),
    /// The event has fewer ancestors than asked for.
    #[error("{text:?} goes back further than {base} has ancestors ({ancestors})")]
    TooFarBack {
        /// The ref.
        text: String,
        /// The event that was counted from.
        base: EventId,
        /// How many there are.
        ancestors: u64,
    },
    /// The number after `~` is none.
    #[error("{0:?} does not end with ~ and a number")]
    NotANumber(String),
    /// More than one imported commit begins so.
    #[error("{text:?} may be {first} or {second}")]
    Ambiguous {
        /// The ref.
        text: String,
        /// One commit.
        first: String,
        /// Another.
        second: String,
    },
    /// The ledger cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// What a ref names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The event whose state is meant.
    pub event: EventId,
    /// The snapshot, where the ref names one.
    pub snapshot: Option<SnapshotId>,
}

/// Prefix of the operation id of an imported commit, and of the ref that names it.
pub const GIT_PREFIX: &str = "git:";

/// Finds what `text` names: an id, a bookmark, a branch, `@` (the tip of `current`), `git:<sha>`, each
/// perhaps followed by `~N`.
pub fn resolve(view: &View, current: &str, text: &str) -> Result<Point, RefError> {
    let Some((base, back)) = text.rsplit_once('~') else {
        return resolve_base(view, current, text);
    };
    let back: u64 = match back {
        "" => 1,
        digits => digits
            .parse()
            .map_err(|_| RefError::NotANumber(text.to_owned()))?,
    };
    let base = resolve(view, current, base)?;
    let mut event = base.event;
    for walked in 0..=back {
        if walked == back {
            break;
        }
        event = match view.event(event)?.event.parent {
            Some(parent) => parent,
            None => {
                let text = text.to_owned();
                return Err(RefError::TooFarBack {
                    text,
                    base: base.event,
                    ancestors: walked,
                });
            }
        };
    }
    Ok(Point {
        event,
        snapshot: None,
    })
}

fn resolve_base(view: &View, current: &str, text: &str) -> Result<Point, RefError> {
    let unknown = || RefError::Unknown(text.to_owned());
    let event = |event| Point {
        event,
        snapshot: None,
    };
    let name = if text == "@" { current } else { text };
    if let Some(head) = view.heads().branches.get(name) {
        return Ok(event(head.tip));
    }
    let target = view
        .heads()
        .bookmarks
        .get(name)
        .map_or(name, |bookmark| bookmark.target.as_str());
    if let Ok(id) = EventId::from_str(target) {
        return if id <= view.last() {
            Ok(event(id))
        } else {
            Err(unknown())
        };
    }
    if let Ok(id) = SnapshotId::from_str(target) {
        let row = view.snapshot_event(id)?.ok_or_else(unknown)?;
        let note = row.event.body.snapshot.ok_or_else(unknown)?;
        return Ok(Point {
            event: note.base_event_id,
            snapshot: Some(id),
        });
    }
    match target.strip_prefix(GIT_PREFIX) {
        Some(sha) => Ok(event(commit(view, text, sha)?)),
        None => Err(unknown()),
    }
}

/// The last event of an imported commit.
fn commit(view: &View, text: &str, sha: &str) -> Result<EventId, RefError> {
    const SHORTEST: usize = 4;
    const WHOLE: usize = 40;
    let unknown = || RefError::Unknown(text.to_owned());
    if sha.len() < SHORTEST || !sha.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(unknown());
    }
    let prefix = format!("{GIT_PREFIX}{}", sha.to_ascii_lowercase());
    let mut found: Option<(EventId, String)> = None;
    for row in view.history(Query {
        operation_prefix: Some(prefix),
        ..Query::default()
    }) {
        let event = row?.event;
        let operation = event.body.operation_id.unwrap_or_default();
        match &found {
            None => {
                found = Some((event.id, operation));
                if sha.len() >= WHOLE {
                    break;
                }
            }
            Some((_, first)) if *first != operation => {
                let (text, first) = (text.to_owned(), first.clone());
                return Err(RefError::Ambiguous {
                    text,
                    first,
                    second: operation,
                });
            }
            Some(_) => {}
        }
    }
    found.map(|(id, _)| id).ok_or_else(unknown)
}
