//! Single zstd frames.

use std::io;

use ledger_core::Digest;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

use super::{ArchiveError, LEVEL, MAX_FRAME};

/// A compressor, made when it is first needed and used again: making one costs as much as a frame.
#[derive(Default)]
pub(super) struct Encoder(Option<Compressor<'static>>);

impl Encoder {
    /// Compresses one frame: content size in its header, checksum at its end.
    pub fn encode(&mut self, stream: &[u8]) -> io::Result<Vec<u8>> {
        let compressor = match &mut self.0 {
            Some(compressor) => compressor,
            none => {
                let mut made = Compressor::new(LEVEL)?;
                made.set_parameter(CParameter::ChecksumFlag(true))?;
                none.insert(made)
            }
        };
        compressor.compress(stream)
    }
}

/// What the index says of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrameInfo {
    /// The first path that begins in it; none where a member goes on, and in the end frame.
    pub start: Option<ledger_core::TreePath>,
    /// Digest of its compressed bytes.
    pub hash: Digest,
    /// Where it begins in the file.
    pub offset: u64,
    /// Length of its compressed bytes.
    pub packed_len: usize,
    /// Length of the tar stream in it.
    pub len: usize,
}

/// Most bytes that a frame of `len` may take: what zstd needs for content that does not compress.
pub(super) fn packed_bound(len: usize) -> usize {
    zstd::zstd_safe::compress_bound(len.min(MAX_FRAME))
}

/// A decompressor, likewise.
#[derive(Default)]
pub(super) struct Decoder(Option<Decompressor<'static>>);

impl Decoder {
    /// Checks the compressed bytes against the index, and appends what they decode to.
    ///
    /// It never decodes past the length that the index names, whatever the frame says.
    pub fn decode(
        &mut self,
        number: usize,
        info: &FrameInfo,
        packed: &[u8],
        stream: &mut Vec<u8>,
    ) -> Result<(), ArchiveError> {
        let damaged = |why| ArchiveError::Frame {
            frame: number,
            offset: info.offset,
            why,
        };
        if packed.len() != info.packed_len {
            return Err(damaged("it is cut short"));
        }
        if Digest::of(packed) != info.hash {
            return Err(damaged("its bytes are not those that the index names"));
        }
        let decompressor = match &mut self.0 {
            Some(decompressor) => decompressor,
            none => none.insert(
                Decompressor::new().map_err(|_| damaged("there is no memory to decode it"))?,
            ),
        };
        let start = stream.len();
        stream.resize(start + info.len, 0);
        match decompressor.decompress_to_buffer(packed, &mut stream[start..]) {
            Ok(len) if len == info.len => Ok(()),
            Ok(_) => Err(damaged("it holds less than the index says")),
            Err(_) => Err(damaged("it does not decode to what the index says")),
        }
    }
}
