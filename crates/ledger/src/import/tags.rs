//! Tags of imported commits, as bookmarks.

use std::collections::{BTreeMap, HashMap, HashSet};

use ledger_core::log::{Batch, View};
use ledger_core::refs::GIT_PREFIX;
use ledger_core::{Action, Body, BookmarkOp, BookmarkVerb, EventId, bytes::printable, check_name};

use super::error::ImportError;
use super::oid::Oid;
use crate::bookmarks::checkpoint;
use crate::workspace::Workspace;

/// A tag that did not become a bookmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTag {
    /// Its name, safe to show.
    pub name: String,
    /// Why not.
    pub why: String,
}

/// What became of the tags.
#[derive(Debug, Default)]
pub(super) struct Bookmarked {
    /// Bookmarks that were made.
    pub made: Vec<String>,
    pub skipped: Vec<SkippedTag>,
}

impl Workspace {
    /// Makes a bookmark of every tag that stands for a commit on the branch. One that is there already
    /// is left alone; a name that means something else is skipped.
    pub(super) fn bookmark_tags(
        &self,
        branch: &str,
        tags: BTreeMap<String, Oid>,
        mut events: HashMap<Oid, EventId>,
        mainline: &HashSet<Oid>,
    ) -> Result<Bookmarked, ImportError> {
        let view = self.view()?;
        let mut tags = tags;
        tags.retain(|_, commit| mainline.contains(commit));
        // A bookmark of an import that was stopped later, or of an earlier one.
        let is_open = |name: &str| !view.heads().bookmarks.contains_key(name);
        let unknown: HashSet<Oid> = tags
            .iter()
            .filter(|(name, commit)| is_open(name) && !events.contains_key(commit))
            .map(|(_, commit)| *commit)
            .collect();
        find_commits(&view, branch, unknown, &mut events)?;
        let mut bookmarked = Bookmarked::default();
        let operation = self.log().seams().ids.operation_id();
        let mut made = Vec::new();
        self.log().append_in_order(|view| {
            let mut batches = Vec::new();
            for (name, commit) in &tags {
                let Some(event) = events.get(commit) else {
                    continue;
                };
                match refusal(view, name, *event) {
                    Some(why) => bookmarked.skipped.push(SkippedTag {
                        name: printable(name.as_bytes()),
                        why,
                    }),
                    None if view.heads().bookmarks.contains_key(name) => {}
                    None => {
                        made.push(name.clone());
                        batches.push(bookmark(branch, &operation, name, *commit, *event));
                    }
                }
            }
            Ok::<_, ImportError>(batches)
        })?;
        if !made.is_empty() {
            self.write_bookmarks();
        }
        bookmarked.made = made;
        Ok(bookmarked)
    }
}

/// Why a tag cannot be a bookmark of an event; none where it can, or is.
fn refusal(view: &View, name: &str, event: EventId) -> Option<String> {
    if let Err(error) = check_name(name) {
        return Some(error.to_string());
    }
    let heads = view.heads();
    match heads.bookmarks.get(name) {
        Some(bookmark) if bookmark.target == event.to_string() => None,
        Some(bookmark) => Some(format!("it is a bookmark of {}", bookmark.target)),
        None if heads.branches.contains_key(name) => Some("a branch has that name".to_owned()),
        None => None,
    }
}

fn bookmark(branch: &str, operation: &str, name: &str, commit: Oid, event: EventId) -> Batch {
    let mut body = Body::new(crate::system_author(), Action::Checkpoint, branch);
    body.rationale = Some(format!("tag of commit {commit}"));
    body.operation_id = Some(operation.to_owned());
    body.in_workspace = false;
    checkpoint(
        body,
        BookmarkOp {
            op: BookmarkVerb::Add,
            name: name.to_owned(),
            target: Some(event.to_string()),
            was: None,
            locked: false,
        },
    )
}

/// Finds the last events of commits that were imported before.
fn find_commits(
    view: &View,
    branch: &str,
    mut unknown: HashSet<Oid>,
    events: &mut HashMap<Oid, EventId>,
) -> Result<(), ImportError> {
    let Some(head) = view.heads().branches.get(branch) else {
        return Ok(());
    };
    if unknown.is_empty() {
        return Ok(());
    }
    for row in view.line_of(head.tip)? {
        let event = row?.event;
        if let Some(commit) = commit_of(&event.body)
            && unknown.remove(&commit)
        {
            events.insert(commit, event.id);
            if unknown.is_empty() {
                break;
            }
        }
    }
    Ok(())
}

/// The commit that an event was imported from.
pub(super) fn commit_of(body: &Body) -> Option<Oid> {
    let sha = body.operation_id.as_deref()?.strip_prefix(GIT_PREFIX)?;
    Oid::parse(sha.as_bytes())
}
