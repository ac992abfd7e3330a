//! Moving a change over what others recorded since it was begun.

use std::sync::Arc;

use ledger_core::diff;
use ledger_core::edit::LineEdit;
use ledger_core::log::View;
use ledger_core::{Body, Change, EventId, Mode, TreePath};
use ledger_replay::file_at;

use super::prepare::Version;
use super::{FileChange, FileTarget, RecordError};
use crate::workspace::Workspace;

/// A change, with the file before and after it.
type Changed<'a> = (&'a FileChange, Option<Version>, Option<Version>);

impl Workspace {
    /// Takes changes that were made from the state at `base` to the tip of their branch: `before` is
    /// that of the tip already, and `after` becomes what both changes make together.
    pub(super) fn rebase(
        &self,
        view: &View,
        base: EventId,
        (branch, tip): (&str, EventId),
        changes: &mut [Changed<'_>],
    ) -> Result<(), RecordError> {
        let mut since = Vec::new();
        let mut met = false;
        for row in view.line_of(tip)? {
            let event = row?.event;
            if event.id <= base {
                met = event.id == base;
                break;
            }
            since.push((event.id, event.body));
        }
        if !met {
            return Err(RecordError::NotOnBranch {
                base,
                branch: branch.to_owned(),
            });
        }
        for (change, theirs, ours) in changes {
            let touching = || since.iter().filter(|(_, body)| body.touches(&change.path));
            let Some((by, _)) = touching().next() else {
                continue;
            };
            let found = file_at(self.snapshots(), view, base, &change.path, self.recent())?;
            let base = found.map(|file| Version {
                mode: file.state.mode,
                content: file.content,
                hash: file.state.hash,
            });
            if ours.as_ref().map(Version::state) == theirs.as_ref().map(Version::state) {
                continue;
            }
            if base.as_ref().map(Version::state) == theirs.as_ref().map(Version::state) {
                // They changed it and changed it back.
                continue;
            }
            if matches!(change.to, FileTarget::Renamed(_)) {
                return Err(conflict(&change.path, *by, "it cannot be renamed as well"));
            }
            let combined = combine(
                &change.path,
                *by,
                base.as_ref(),
                theirs.as_ref(),
                ours.as_ref(),
            );
            *ours = combined.map_err(|error| match (&base, &ours) {
                (Some(base), Some(ours)) => {
                    name_first(error, base, ours, touching().map(|(id, body)| (*id, body)))
                }
                _ => error,
            })?;
        }
        Ok(())
    }
}

/// Says of a conflict by which event it came: the first over which our edit cannot be moved.
fn name_first<'a>(
    error: RecordError,
    base: &Version,
    ours: &Version,
    newest_first: impl Iterator<Item = (EventId, &'a Body)>,
) -> RecordError {
    let RecordError::Conflict { path, by, why } = error else {
        return error;
    };
    let mut edit = LineEdit::between(&base.content, &ours.content);
    let mut events: Vec<_> = newest_first.collect();
    events.reverse();
    for (id, body) in events {
        for theirs in &body.edits {
            let Change::Lines(lines) = &theirs.change else {
                continue;
            };
            match edit.transform(lines) {
                Ok((moved, _)) => edit = moved,
                Err(_) => return RecordError::Conflict { path, by: id, why },
            }
        }
    }
    RecordError::Conflict { path, by, why }
}

fn conflict(path: &TreePath, by: EventId, why: impl Into<String>) -> RecordError {
    RecordError::Conflict {
        path: path.clone(),
        by,
        why: why.into(),
    }
}

/// What two changes of one file make together.
fn combine(
    path: &TreePath,
    by: EventId,
    base: Option<&Version>,
    theirs: Option<&Version>,
    ours: Option<&Version>,
) -> Result<Option<Version>, RecordError> {
    let (Some(base), Some(theirs), Some(ours)) = (base, theirs, ours) else {
        return Err(conflict(path, by, "one made or deleted the file"));
    };
    let mode = combine_modes(base.mode, theirs.mode, ours.mode)
        .ok_or_else(|| conflict(path, by, "both changed its mode"))?;
    if ours.hash == base.hash || ours.hash == theirs.hash {
        return Ok(Some(Version {
            mode,
            ..theirs.clone()
        }));
    }
    if theirs.hash == base.hash {
        return Ok(Some(Version {
            mode,
            ..ours.clone()
        }));
    }
    if [base, theirs, ours]
        .iter()
        .any(|version| !diff::is_text(&version.content))
    {
        return Err(conflict(path, by, "it is not text"));
    }
    let our_edit = LineEdit::between(&base.content, &ours.content);
    let their_edit = LineEdit::between(&base.content, &theirs.content);
    let (moved, _) = our_edit
        .transform(&their_edit)
        .map_err(|overlap| conflict(path, by, overlap.to_string()))?;
    let content = moved
        .apply(&theirs.content)
        .map_err(|error| conflict(path, by, error.to_string()))?;
    Ok(Some(Version::new(mode, Arc::new(content))))
}

fn combine_modes(base: Mode, theirs: Mode, ours: Mode) -> Option<Mode> {
    match (theirs == base, ours == base) {
        (_, true) => Some(theirs),
        (true, false) => Some(ours),
        (false, false) => (theirs == ours).then_some(ours),
    }
}
