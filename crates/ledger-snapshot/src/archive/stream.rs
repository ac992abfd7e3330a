//! What is written: the tar stream of a group, cut into frames, and the file that they go into.

use ledger_core::storage::StorageFile;
use ledger_core::{Digest, TreePath};

use super::frame::{Encoder, FrameInfo};
use super::{ArchiveDigest, ArchiveWriteError, END_LEN, MAX_FRAME, index};

/// A frame, and its compressed bytes.
pub(super) type PackedFrame = (FrameInfo, Vec<u8>);

/// The tar stream of a group, cut into frames where it is too long for one.
pub(super) struct Stream<'a> {
    encoder: &'a mut Encoder,
    filled: Vec<u8>,
    /// The path that begins the next frame.
    start: Option<TreePath>,
    frames: Vec<PackedFrame>,
}

impl<'a> Stream<'a> {
    /// The stream of a group that begins with `start` and is `len` bytes long.
    pub fn new(encoder: &'a mut Encoder, start: Option<TreePath>, len: u64) -> Self {
        let capacity = usize::try_from(len).unwrap_or(usize::MAX).min(MAX_FRAME);
        Stream {
            encoder,
            filled: Vec::with_capacity(capacity),
            start,
            frames: Vec::new(),
        }
    }

    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), ArchiveWriteError> {
        while self.filled.len() + bytes.len() > MAX_FRAME {
            let (now, later) = bytes.split_at(MAX_FRAME - self.filled.len());
            self.filled.extend_from_slice(now);
            self.cut()?;
            bytes = later;
        }
        self.filled.extend_from_slice(bytes);
        Ok(())
    }

    /// The frames, when all is pushed.
    pub fn finish(mut self) -> Result<Vec<PackedFrame>, ArchiveWriteError> {
        self.cut()?;
        Ok(self.frames)
    }

    fn cut(&mut self) -> Result<(), ArchiveWriteError> {
        if self.filled.is_empty() {
            return Ok(());
        }
        let start = self.start.take();
        self.frames.push(pack(self.encoder, start, &self.filled)?);
        self.filled.clear();
        Ok(())
    }
}

fn pack(
    encoder: &mut Encoder,
    start: Option<TreePath>,
    stream: &[u8],
) -> Result<PackedFrame, ArchiveWriteError> {
    let packed = encoder
        .encode(stream)
        .map_err(|source| ArchiveWriteError::Compress {
            start: start.clone(),
            source,
        })?;
    let info = FrameInfo {
        start,
        hash: Digest::of(&packed),
        offset: 0,
        packed_len: packed.len(),
        len: stream.len(),
    };
    Ok((info, packed))
}

/// The file that is written, from its start to its end.
pub(super) struct Sink<'a> {
    out: &'a dyn StorageFile,
    hasher: blake3::Hasher,
    offset: u64,
    frames: Vec<FrameInfo>,
}

impl<'a> Sink<'a> {
    pub fn new(out: &'a dyn StorageFile) -> Self {
        let hasher = blake3::Hasher::new();
        let (offset, frames) = (0, Vec::new());
        Sink {
            out,
            hasher,
            offset,
            frames,
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), ArchiveWriteError> {
        self.out.write_at(bytes, self.offset)?;
        self.hasher.update(bytes);
        self.offset += bytes.len() as u64;
        Ok(())
    }

    pub fn push(&mut self, mut info: FrameInfo, packed: &[u8]) -> Result<(), ArchiveWriteError> {
        info.offset = self.offset;
        self.frames.push(info);
        self.append(packed)
    }

    /// How many frames were pushed.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Ends the tar stream and the file.
    pub fn finish(mut self) -> Result<ArchiveDigest, ArchiveWriteError> {
        let (info, packed) = pack(&mut Encoder::default(), None, &[0; END_LEN])?;
        self.push(info, &packed)?;
        let frames = self.frames.len();
        let (tail, index) =
            index::encode(&self.frames).ok_or(ArchiveWriteError::TooManyFrames { frames })?;
        self.append(&tail)?;
        Ok(ArchiveDigest {
            hash: self.hasher.finalize().into(),
            bytes: self.offset,
            index,
        })
    }
}
