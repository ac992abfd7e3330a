//! Branches: opening them.

use ledger_core::log::{AppendError, Batch, On, View};
use ledger_core::{Action, EventId, check_name};

use crate::provenance::Provenance;
use crate::record::{RecordError, Recorded};
use crate::workspace::Workspace;

/// A name that nothing has yet: `wanted`, or `wanted-2`, `wanted-3`, ...
pub(crate) fn free_name(view: &View, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    let mut count = 1;
    while view.heads().has_name(&name) {
        count += 1;
        name = format!("{wanted}-{count}");
    }
    name
}

impl Workspace {
    /// Opens a branch at an event. The workspace stays where it is.
    pub fn create_branch(
        &self,
        name: &str,
        at: EventId,
        provenance: &Provenance,
    ) -> Result<Recorded, RecordError> {
        check_name(name)?;
        let operation = self.operation_id(provenance);
        let token = self.token();
        let mut body = provenance.body(self.storage(), token, Action::Branch, name, operation)?;
        // The files stay those of the branch that the workspace stands on.
        body.in_workspace = false;
        let batch = Batch {
            bodies: vec![body],
            on: On::NewBranch(at),
            key: None,
        };
        Ok(self.recorded(self.log().append(batch)?, Vec::new()))
    }

    /// Records a note: words, artifacts or a boundary, but no change of a file.
    pub fn note(
        &self,
        action: Action,
        provenance: &Provenance,
        branch: Option<&str>,
    ) -> Result<Recorded, RecordError> {
        let branch = match branch {
            Some(branch) => branch.to_owned(),
            None => self.standing()?.branch,
        };
        if !self.view()?.heads().branches.contains_key(&branch) {
            return Err(AppendError::NoBranch(branch).into());
        }
        let operation = self.operation_id(provenance);
        let body = provenance.body(self.storage(), self.token(), action, &branch, operation)?;
        let batch = Batch {
            bodies: vec![body],
            on: On::Tip,
            key: None,
        };
        Ok(self.recorded(self.log().append(batch)?, Vec::new()))
    }
}
