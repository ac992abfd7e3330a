//! Writing groups of commits, each group with one sync.

use std::collections::HashMap;
use std::sync::mpsc::Receiver;

use ledger_core::EventId;
use ledger_core::log::{Batch, On, View};
use ledger_core::objects::Staging;

use super::error::ImportError;
use super::oid::Oid;
use super::translate::Group;
use super::{Progress, tip_of};
use crate::workspace::Workspace;

/// Writes groups of commits to the branch.
pub(super) struct Writer<'a> {
    workspace: &'a Workspace,
    pub branch: &'a str,
    /// The last event of the branch that is known to be of no harm to the states that follow.
    pub tip: EventId,
    of: usize,
    pub done: usize,
    pub events: u64,
    /// The last event of each commit.
    pub ends: HashMap<Oid, EventId>,
}

impl<'a> Writer<'a> {
    pub fn new(
        workspace: &'a Workspace,
        branch: &'a str,
        view: &View,
        of: usize,
    ) -> Result<Self, ImportError> {
        Ok(Writer {
            workspace,
            branch,
            tip: tip_of(view, branch)?,
            of,
            done: 0,
            events: 0,
            ends: HashMap::new(),
        })
    }

    pub fn write_all(
        &mut self,
        groups: Receiver<Group>,
        staging: &Staging<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), ImportError> {
        let volume = self.workspace.config().snapshot.volume_bytes;
        let mut tell = |done, of| progress(Progress::Commits { done, of });
        tell(0, self.of);
        for group in groups {
            let (oids, batches): (Vec<Oid>, Vec<Batch>) = group?
                .into_iter()
                .map(|ready| {
                    let batch = Batch {
                        bodies: ready.bodies,
                        on: On::Tip,
                        key: None,
                    };
                    (ready.oid, batch)
                })
                .unzip();
            // No row may refer to an object that is not durable.
            staging.sync()?;
            let appended = self.workspace.log().append_in_order(|view| {
                self.check_tip(view)?;
                Ok::<_, ImportError>(batches)
            })?;
            for (oid, batch) in oids.into_iter().zip(appended) {
                self.done += 1;
                self.events += batch.events.len() as u64;
                if let Some(last) = batch.events.last() {
                    self.tip = *last;
                    self.ends.insert(oid, *last);
                }
            }
            tell(self.done, self.of);
            let is_due = |_, bytes| bytes > volume;
            self.workspace
                .snapshot_imported(self.branch, "volume", is_due);
        }
        Ok(())
    }

    /// Checks that nobody changed files on the branch since the last commit: the next one is told apart
    /// from that. Snapshots and bookmarks do no harm.
    fn check_tip(&self, view: &View) -> Result<(), ImportError> {
        let tip = tip_of(view, self.branch)?;
        if tip == self.tip {
            return Ok(());
        }
        for row in view.line_of(tip)? {
            let event = row?.event;
            if event.id <= self.tip {
                break;
            }
            if event.body.changes_files() {
                return Err(ImportError::BranchMoved {
                    branch: self.branch.to_owned(),
                    by: event.id,
                });
            }
        }
        Ok(())
    }
}
