//! That no file comes to stand below another.

use ledger_core::log::View;
use ledger_core::{EventId, TreePath};
use ledger_replay::{State, may_have_below};

use super::RecordError;
use super::prepare::FileEvents;
use crate::workspace::Workspace;

impl Workspace {
    /// Checks that the files which a batch makes fit into the tree that it leaves.
    ///
    /// The tree is only looked at when what is near a new file leaves room for doubt.
    pub(super) fn check_nesting(
        &self,
        view: &View,
        (branch, tip): (&str, EventId),
        files: &[FileEvents],
    ) -> Result<(), RecordError> {
        let edits = || {
            files
                .iter()
                .flat_map(|file| &file.bodies)
                .flat_map(|body| &body.edits)
        };
        let mut doubtful = false;
        for edit in edits().filter(|edit| edit.before.is_none() || edit.from.is_some()) {
            for dir in edit.path.ancestors() {
                let made = edits().any(|other| other.path == dir && other.after.is_some());
                let there = self
                    .recent()
                    .tip_file(self.snapshots(), view, (branch, tip), &dir)?;
                doubtful |= made || there.is_some();
            }
            doubtful |= may_have_below(self.snapshots(), view, tip, &edit.path)?;
        }
        if !doubtful {
            return Ok(());
        }
        let mut paths: std::collections::BTreeSet<TreePath> = {
            let state = State::rebuild(self.snapshots(), view, tip)?;
            state.tree().iter().map(|(path, _)| path.clone()).collect()
        };
        for edit in edits() {
            for path in edit.paths() {
                paths.remove(path);
            }
            if edit.after.is_some() {
                paths.insert(edit.path.clone());
            }
        }
        let above = paths.iter().find_map(|path| {
            let other = path.ancestors().find(|dir| paths.contains(dir))?;
            Some((path.clone(), other))
        });
        match above {
            Some((path, other)) => Err(RecordError::Nested { path, other }),
            None => Ok(()),
        }
    }
}
