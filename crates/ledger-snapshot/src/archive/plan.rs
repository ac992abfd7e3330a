//! Where frames begin: content-defined chunking over paths and sizes.
//!
//! A frame ends after a member whose hash falls below a threshold in proportion to its length, so
//! that cuts come about evenly by bytes. The rule looks at one member at a time; only the least and
//! the greatest length look back, and only to the last cut. So after a file is added or removed the
//! cuts soon fall where they fell before, and frames beyond are the same to the byte.

use std::ops::Range;

use ledger_core::TreePath;

use super::{ArchiveWriteError, MAX_FRAME, MAX_NAME, MIB, Member, member};
use crate::tree::find_nested;

/// No frame ends before this, except the last and one before a member that does not fit.
const MIN_FRAME: u64 = (MIB / 4) as u64;
/// A member that would make a frame longer than this begins a new one.
const FULL_FRAME: u64 = (4 * MIB) as u64;
/// Mean length from `MIN_FRAME` on until a member's hash ends the frame.
const MEAN_STEP: u64 = (MIB * 3 / 4) as u64;

/// Members that are encoded together: one frame, or one member over as many as it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub members: Range<usize>,
    /// Length of its tar stream.
    pub len: u64,
}

impl Group {
    /// How many frames it takes.
    pub fn frames(&self) -> usize {
        usize::try_from(self.len.div_ceil(MAX_FRAME as u64)).unwrap_or(usize::MAX)
    }
}

/// Divides members, which must be in path order, into groups.
pub(super) fn plan(members: &[Member]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut start = 0;
    let mut len = 0_u64;
    let mut close = |start: &mut usize, end: usize, len: &mut u64| {
        if *start < end {
            groups.push(Group {
                members: *start..end,
                len: *len,
            });
            (*start, *len) = (end, 0);
        }
    };
    for (at, member) in members.iter().enumerate() {
        let span = member::span(&member.path, member.mode, member.size);
        if len.saturating_add(span) > FULL_FRAME {
            close(&mut start, at, &mut len);
        }
        len = len.saturating_add(span);
        if len >= MIN_FRAME && ends_frame(member, span) {
            close(&mut start, at + 1, &mut len);
        }
    }
    close(&mut start, members.len(), &mut len);
    groups
}

/// Whether a frame that is long enough ends after this member.
fn ends_frame(member: &Member, span: u64) -> bool {
    let mut hasher = blake3::Hasher::new();
    hasher.update(member.path.as_bytes());
    // Paths hold no NUL, so it parts the two.
    hasher.update(&[0]);
    hasher.update(&member.size.to_le_bytes());
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    let hash = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    hash / span.max(1) < u64::MAX / MEAN_STEP
}

/// Checks that the members can stand in one archive, and in one tree on a disk.
pub(super) fn check(members: &[Member]) -> Result<(), ArchiveWriteError> {
    for pair in members.windows(2) {
        if pair[0].path >= pair[1].path {
            let path = pair[1].path.clone();
            return Err(ArchiveWriteError::Unsorted { path });
        }
    }
    for Member {
        path, mode, size, ..
    } in members
    {
        if path.as_bytes().len() > MAX_NAME || (mode.is_symlink() && *size > MAX_NAME as u64) {
            let (path, limit) = (path.clone(), MAX_NAME);
            return Err(ArchiveWriteError::NameTooLong { path, limit });
        }
        if path.is_root() {
            return Err(ArchiveWriteError::Unnamed);
        }
        if mode.is_symlink() && *size == 0 {
            let path = path.clone();
            return Err(ArchiveWriteError::InvalidTarget { path });
        }
    }
    let holds = |path: &TreePath| members.binary_search_by(|m| m.path.cmp(path)).is_ok();
    match find_nested(members.iter().map(|m| &m.path), holds) {
        Some((path, above)) => Err(ArchiveWriteError::Nested { path, above }),
        None => Ok(()),
    }
}
