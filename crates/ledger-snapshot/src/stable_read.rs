//! Reading a file that somebody may be writing.

use ledger_core::storage::{FileKind, OpenMode, Stat, Storage, StorageError, StorageFile};
use ledger_core::{Mode, TreePath};

/// How often a file that changes while it is read is read again.
const TRIES: usize = 4;
/// Bytes read at once past what `stat` promised.
const CHUNK: usize = 64 * 1024;

/// What a file held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    /// Its content; of a link, its target.
    pub content: Vec<u8>,
    /// Its mode.
    pub mode: Mode,
    /// What the system said of it, before the reading and after. Where the two differed to the last, one
    /// whose ctime lies beyond every clock, so that no cache remembers it.
    pub stat: Stat,
}

/// A file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadFileError {
    /// The disk failed, or nothing is there (see [`StorageError::is_absent`]).
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// What stands there is neither a regular file nor a link.
    #[error("{path} is neither a file nor a link")]
    NotAFile {
        /// The path.
        path: TreePath,
    },
    /// The file is longer than the caller accepts.
    #[error("{path} has more than {limit} bytes")]
    TooLarge {
        /// The path.
        path: TreePath,
        /// The limit.
        limit: u64,
    },
}

/// The mode that a file or link is tracked with; none for what is not tracked.
pub fn mode_of(stat: &Stat) -> Option<Mode> {
    match stat.kind {
        // As in git, the owner's bit decides.
        FileKind::File if stat.mode & 0o100 != 0 => Some(Mode::Executable),
        FileKind::File => Some(Mode::File),
        FileKind::Symlink => Some(Mode::Symlink),
        FileKind::Dir | FileKind::Other => None,
    }
}

/// Reads a file, or the target of a link, as it was at one moment.
///
/// A file that changes meanwhile is read again a few times. When it never holds still, what was read
/// last is returned, with a stat that no cache believes.
pub fn read_stable(
    storage: &dyn Storage,
    path: &TreePath,
    limit: u64,
) -> Result<ReadFile, ReadFileError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let (content, before, after) = read_once(storage, path, limit)?;
        let mode = mode_of(&after).ok_or_else(|| not_a_file(path))?;
        let stable = before == after && content.len() as u64 == after.size;
        if stable || tries == TRIES {
            let ctime_ns = if stable { after.ctime_ns } else { i64::MAX };
            let size = content.len() as u64;
            let stat = Stat {
                size,
                ctime_ns,
                ..after
            };
            return Ok(ReadFile {
                content,
                mode,
                stat,
            });
        }
    }
}

fn not_a_file(path: &TreePath) -> ReadFileError {
    ReadFileError::NotAFile { path: path.clone() }
}

fn read_once(
    storage: &dyn Storage,
    path: &TreePath,
    limit: u64,
) -> Result<(Vec<u8>, Stat, Stat), ReadFileError> {
    let file = match storage.open(path, OpenMode::Read) {
        Ok(file) => file,
        // Links cannot be opened; only then does the name have to be looked at.
        Err(error) => {
            let before = storage.stat(path)?;
            return match before.kind {
                FileKind::Symlink => {
                    let target = storage.read_link(path)?;
                    Ok((target, before, storage.stat(path)?))
                }
                FileKind::File => Err(error.into()),
                FileKind::Dir | FileKind::Other => Err(not_a_file(path)),
            };
        }
    };
    let before = file.stat()?;
    let too_large = || ReadFileError::TooLarge {
        path: path.clone(),
        limit,
    };
    if before.size > limit {
        return Err(too_large());
    }
    let content = read_up_to(file.as_ref(), before.size, limit)?;
    if content.len() as u64 > limit {
        return Err(too_large());
    }
    Ok((content, before, file.stat()?))
}

/// Reads to the end of the file, or to the first byte past `limit`: a file may grow without end.
fn read_up_to(file: &dyn StorageFile, size_hint: u64, limit: u64) -> Result<Vec<u8>, StorageError> {
    let most = usize::try_from(limit.saturating_add(1)).unwrap_or(usize::MAX);
    let hint = usize::try_from(size_hint.saturating_add(1)).unwrap_or(usize::MAX);
    // One byte past the expected end, so that growth is seen.
    let mut content = vec![0; hint.min(most)];
    let mut filled = 0;
    loop {
        if filled == content.len() {
            if filled == most {
                return Ok(content);
            }
            content.resize(filled.saturating_add(CHUNK).min(most), 0);
        }
        let count = file.read_at(&mut content[filled..], filled as u64)?;
        if count == 0 {
            content.truncate(filled);
            return Ok(content);
        }
        filled += count;
        if filled as u64 == size_hint {
            content.truncate(filled);
            return Ok(content);
        }
    }
}
