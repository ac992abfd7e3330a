//! Reading single rows, backwards and forwards, through a window of the file.

use std::ops::Range;

use crate::storage::{StorageError, StorageFile, read_range};
use crate::wire::ROW_MAX;

/// First and largest size of the window; it doubles while it is moved.
const WINDOW_FIRST: usize = 8 * 1024;
const WINDOW_MAX: usize = 256 * 1024;

/// A part of the file held in memory, moved to where lines are asked for.
pub struct Cursor<'a> {
    file: &'a dyn StorageFile,
    end: u64,
    window: Vec<u8>,
    window_at: u64,
    next_size: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor over the first `end` bytes of a file.
    pub fn new(file: &'a dyn StorageFile, end: u64) -> Self {
        Cursor {
            file,
            end,
            window: Vec::new(),
            window_at: 0,
            next_size: WINDOW_FIRST,
        }
    }

    /// The line that begins at `start`, without its newline; `None` when it has no end or is longer
    /// than a row can be.
    pub fn line_at(&mut self, start: u64) -> Result<Option<&[u8]>, StorageError> {
        if start >= self.end {
            return Ok(None);
        }
        loop {
            if let Some(range) = self.find_line(start) {
                return Ok(Some(&self.window[range]));
            }
            let held = self.held_from(start);
            if held > ROW_MAX || (held > 0 && start + held as u64 == self.end) {
                return Ok(None);
            }
            // Most lines are asked for walking back over parents: keep what lies before, too.
            let size = self.next_size.max((held * 2).min(WINDOW_MAX * 2));
            let before = if held == 0 { size / 2 } else { 0 };
            self.load(start.saturating_sub(before as u64), size)?;
            if self.held_from(start) <= held {
                // The file has become shorter than it was.
                return Ok(None);
            }
        }
    }

    /// The line whose newline is the byte before `end`, and where it begins; `None` at the start of the
    /// file, or where there is no such line.
    pub fn line_before(&mut self, end: u64) -> Result<Option<(u64, &[u8])>, StorageError> {
        if end == 0 || end > self.end {
            return Ok(None);
        }
        let mut wanted = self.next_size;
        loop {
            if let Some(stop) = self.index(end - 1)
                && self.window[stop] == b'\n'
            {
                let start = memchr::memrchr(b'\n', &self.window[..stop]).map(|at| at + 1);
                let start = start.or((self.window_at == 0).then_some(0));
                if let Some(start) = start {
                    return Ok(Some((
                        self.window_at + start as u64,
                        &self.window[start..stop],
                    )));
                }
                if stop > ROW_MAX {
                    return Ok(None);
                }
                wanted = (stop * 2).max(wanted);
            } else if self.index(end - 1).is_some() {
                return Ok(None);
            }
            let from = end.saturating_sub(wanted as u64);
            self.load(from, (end - from) as usize)?;
            if self.index(end - 1).is_none() {
                return Ok(None);
            }
        }
    }

    /// Where in the window the byte at `offset` is.
    fn index(&self, offset: u64) -> Option<usize> {
        let at = usize::try_from(offset.checked_sub(self.window_at)?).ok()?;
        (at < self.window.len()).then_some(at)
    }

    fn held_from(&self, start: u64) -> usize {
        self.index(start).map_or(0, |at| self.window.len() - at)
    }

    fn find_line(&self, start: u64) -> Option<Range<usize>> {
        let at = self.index(start)?;
        let length = memchr::memchr(b'\n', &self.window[at..])?;
        Some(at..at + length)
    }

    fn load(&mut self, from: u64, size: usize) -> Result<(), StorageError> {
        let left = usize::try_from(self.end.saturating_sub(from)).unwrap_or(usize::MAX);
        self.window = read_range(self.file, from, size.min(left))?;
        self.window_at = from;
        self.next_size = (self.next_size * 2).min(WINDOW_MAX);
        Ok(())
    }
}
