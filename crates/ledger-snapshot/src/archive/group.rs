//! A decoded group: the members of one frame, or one member over several.

use std::ops::Range;

use ledger_core::TreePath;

use super::ArchiveError;
use super::member::{Located, locate, padding_is_zero};

/// What the index says of a group, and the caller of files.
pub(super) struct Told<'a> {
    pub frames: Range<usize>,
    /// Length of its tar stream.
    pub len: u64,
    /// The path that begins it.
    pub start: Option<&'a TreePath>,
    /// The path that begins the next one.
    pub next: Option<&'a TreePath>,
    /// Longest file that is accepted.
    pub limit: u64,
}

/// A group, checked.
#[derive(Debug)]
pub(super) struct Decoded {
    pub stream: Vec<u8>,
    pub members: Vec<Located>,
}

impl Told<'_> {
    fn refuse(&self, at: usize, why: &'static str) -> ArchiveError {
        let frame = self.frames.start;
        ArchiveError::Member { frame, at, why }
    }

    /// Finds the members in the first frame, and checks that they are in order and fill the group.
    pub fn members(&self, stream: &[u8]) -> Result<Vec<Located>, ArchiveError> {
        let mut members: Vec<Located> = Vec::new();
        let mut at = 0;
        while at < stream.len() {
            let member = locate(stream, at, self.frames.start)?;
            let in_order = match members.last() {
                Some(last) => last.path < member.path,
                None => self.start == Some(&member.path),
            };
            if !in_order || self.next.is_some_and(|next| *next <= member.path) {
                let why = "it is out of order, there twice, or not where the index says";
                return Err(self.refuse(at, why));
            }
            let size = member.content.len() as u64;
            if size > self.limit {
                let (path, limit) = (member.path, self.limit);
                return Err(ArchiveError::TooLarge { path, size, limit });
            }
            let fits = match self.frames.len() {
                1 => member.end <= stream.len() as u64,
                _ => at == 0 && member.end == self.len,
            };
            if !fits {
                return Err(self.refuse(at, "it does not end where its frames end"));
            }
            at = usize::try_from(member.end).unwrap_or(usize::MAX);
            members.push(member);
        }
        Ok(members)
    }

    /// Checks what follows the contents, when all frames are decoded.
    pub fn finish(self, stream: Vec<u8>, members: Vec<Located>) -> Result<Decoded, ArchiveError> {
        match members
            .iter()
            .all(|member| padding_is_zero(&stream, member))
        {
            true => Ok(Decoded { stream, members }),
            false => Err(self.refuse(0, "a content is not followed by zeros")),
        }
    }
}
