//! Where the working tree stands: `workspace.json`, and the rows after it.

use serde::{Deserialize, Serialize};

use super::view::View;
use crate::id::{EventId, check_name};
use crate::layout;
use crate::storage::{Durability, Storage, StorageError, if_present, read_file, write_atomically};

/// A branch, and the event on it whose state the working tree has, apart from unrecorded changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The branch.
    pub branch: String,
    /// The event.
    pub event: EventId,
}

/// `workspace.json` cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StandingError {
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// It is missing or not what it should be.
    #[error(".user/ledger/workspace.json: {0}")]
    Invalid(String),
}

impl Standing {
    /// Reads where the workspace stands, as of a view of the ledger.
    pub fn read(storage: &dyn Storage, view: &View) -> Result<Self, StandingError> {
        let Some(bytes) = if_present(read_file(storage, &layout::workspace()))? else {
            return Err(StandingError::Invalid("it is missing".to_owned()));
        };
        let stored: Standing = serde_json::from_slice(&bytes)
            .map_err(|error| StandingError::Invalid(error.to_string()))?;
        check_name(&stored.branch).map_err(|error| StandingError::Invalid(error.to_string()))?;
        let Some(head) = view.heads().branches.get(&stored.branch) else {
            let why = format!("the ledger has no branch {:?}", stored.branch);
            return Err(StandingError::Invalid(why));
        };
        if stored.event > head.tip {
            let why = format!("{} is not on branch {:?}", stored.event, stored.branch);
            return Err(StandingError::Invalid(why));
        }
        // Rows recorded since, whose change the working tree held.
        let event = head
            .in_workspace
            .map_or(stored.event, |row| row.max(stored.event));
        Ok(Standing {
            branch: stored.branch,
            event,
        })
    }

    /// Writes where the workspace stands; durable when it returns.
    pub fn write(&self, storage: &dyn Storage, token: u64) -> Result<(), StorageError> {
        // Strings and ids always serialise.
        let mut json = serde_json::to_vec(self).unwrap_or_default();
        json.push(b'\n');
        write_atomically(
            storage,
            &layout::workspace(),
            &json,
            token,
            Durability::Durable,
        )
    }
}
