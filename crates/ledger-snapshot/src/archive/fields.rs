//! Numbers and bytes, read one after the other.

use super::ArchiveError;

/// Bytes that are read field by field, and where in the file they stand.
pub(super) struct Fields<'a> {
    pub all: &'a [u8],
    /// How far it has been read.
    pub at: usize,
    /// Where in the file it begins.
    offset: u64,
}

impl<'a> Fields<'a> {
    pub fn new(all: &'a [u8], offset: u64) -> Self {
        Fields { all, at: 0, offset }
    }

    pub fn bad(&self, why: &'static str) -> ArchiveError {
        let offset = self.offset + self.at as u64;
        ArchiveError::Layout { offset, why }
    }

    pub fn take(&mut self, len: usize) -> Result<&'a [u8], ArchiveError> {
        let bytes = self.all.get(self.at..self.at.saturating_add(len));
        let bytes = bytes.ok_or_else(|| self.bad("it ends too early"))?;
        self.at += len;
        Ok(bytes)
    }

    pub fn u16(&mut self) -> Result<u16, ArchiveError> {
        let bytes = self.take(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    pub fn u32(&mut self) -> Result<u32, ArchiveError> {
        let value = self.u32_at(self.at)?;
        self.at += 4;
        Ok(value)
    }

    pub fn u32_at(&self, at: usize) -> Result<u32, ArchiveError> {
        match self.all.get(at..at + 4) {
            Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
            _ => Err(self.bad("it ends too early")),
        }
    }
}
