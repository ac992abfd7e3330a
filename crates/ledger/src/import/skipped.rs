//! What an import leaves out, and says so.

use std::collections::BTreeMap;
use std::fmt;

use ledger_core::{InvalidPath, TreePath, bytes::printable, layout};

/// Most paths that are named; the rest is counted.
const NAMED_MAX: usize = 1000;
/// Longest name of a file or directory that a disk holds.
const NAME_MAX: usize = 255;
/// Longest path that the system takes, less its end.
const PATH_MAX: usize = 4095;

/// Why a path of the repository was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// Another repository stands there.
    Submodule,
    /// The ledger keeps the path for itself, or git does.
    Reserved,
    /// The file has so many bytes, which is more than is tracked.
    TooLarge(u64),
    /// No file can have this name.
    Name(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::Submodule => f.write_str("it is a submodule"),
            SkipReason::Reserved => f.write_str("the path is never tracked"),
            SkipReason::TooLarge(bytes) => write!(f, "it has {bytes} bytes, which is too large"),
            SkipReason::Name(why) => f.write_str(why),
        }
    }
}

/// A path of the repository that was left out, in one commit or in many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The path, safe to show.
    pub path: String,
    /// Why.
    pub why: SkipReason,
}

/// Paths that were left out so far.
#[derive(Debug, Default)]
pub(super) struct Skips {
    named: BTreeMap<Vec<u8>, SkipReason>,
    more: u64,
}

impl Skips {
    pub fn add(&mut self, path: &[u8], why: SkipReason) {
        if self.named.len() < NAMED_MAX {
            self.named.entry(path.to_vec()).or_insert(why);
        } else if !self.named.contains_key(path) {
            self.more += 1;
        }
    }

    /// The paths, and how often there was one that is not among them.
    pub fn into_parts(self) -> (Vec<Skipped>, u64) {
        let named = self.named.into_iter().map(|(path, why)| Skipped {
            path: printable(&path),
            why,
        });
        (named.collect(), self.more)
    }
}

/// The path of a file that can be tracked.
pub(super) fn trackable(path: &[u8]) -> Result<TreePath, SkipReason> {
    let parsed = TreePath::parse(path).map_err(|error: InvalidPath| name_fault(&error))?;
    if layout::is_reserved(&parsed) {
        return Err(SkipReason::Reserved);
    }
    let too_long = path.len() > PATH_MAX || parsed.components().any(|name| name.len() > NAME_MAX);
    match too_long {
        true => Err(SkipReason::Name("the name is too long".to_owned())),
        false => Ok(parsed),
    }
}

fn name_fault(error: &InvalidPath) -> SkipReason {
    let why = match error {
        InvalidPath::Nul(_) => "the name holds a NUL byte",
        _ => "it is not a plain relative path",
    };
    SkipReason::Name(why.to_owned())
}
