//! The end of an archive: the path index and the seek table.
//!
//! Both are skippable zstd frames, so `zstd` and `tar` pass over them. All numbers are
//! little-endian.
//!
//! ```text
//! index:       magic 0x184D2A50  length of what follows: u32
//!              "bench-ix"  version: u32  frames: u32
//!              per frame:  digest of its compressed bytes [32]  length: u16  the path that begins it
//!              digest [32]: BLAKE3 of the index up to here (its 8-byte head too) and the seek table
//! seek table:  magic 0x184D2A5E  length of what follows: u32
//!              per frame, the index as the last:  compressed: u32  decompressed: u32
//!              frames: u32  descriptor: u8 = 0 (no checksums)  magic 0x8F92EAB1
//! ```
//!
//! A length of 0 says that no path begins in the frame. The end is written first to last but read
//! last to first: the seek table gives the length of the index.

use ledger_core::storage::{StorageFile, read_range};
use ledger_core::{Digest, TreePath};

use super::fields::Fields;
use super::frame::{FrameInfo, packed_bound};
use super::member::BLOCK;
use super::{ArchiveError, END_LEN, FORMAT_VERSION, MAX_FRAME, MAX_FRAMES, MAX_INDEX};

const INDEX_MAGIC: u32 = 0x184D_2A50;
const SEEK_MAGIC: u32 = 0x184D_2A5E;
const FOOTER_MAGIC: u32 = 0x8F92_EAB1;
const NAME: &[u8; 8] = b"bench-ix";

/// Magic and length of a skippable frame.
const HEAD: usize = 8;
const SEEK_ENTRY: usize = 8;
const FOOTER: usize = 9;
const DIGEST: usize = 32;
/// The index without its frames.
const BARE_INDEX: usize = HEAD + NAME.len() + 4 + 4 + DIGEST;

/// How much of the end is read at once: enough for all of it up to some hundred frames.
const FIRST_READ: usize = 32 * 1024;

/// What the end of an archive says.
#[derive(Debug)]
pub(super) struct Tail {
    /// All frames of the tar stream, the end frame as the last.
    pub frames: Vec<FrameInfo>,
    pub digest: Digest,
}

/// Writes the end of an archive; `None` when the frames are more than it may name.
pub(super) fn encode(frames: &[FrameInfo]) -> Option<(Vec<u8>, Digest)> {
    let paths: usize = frames.iter().map(|f| start_bytes(f).len()).sum();
    let index_len = BARE_INDEX + frames.len() * (DIGEST + 2) + paths;
    if frames.len() > MAX_FRAMES || index_len > MAX_INDEX {
        return None;
    }
    let mut index = Vec::with_capacity(index_len);
    put(&mut index, INDEX_MAGIC);
    put(&mut index, narrow(index_len - HEAD)?);
    index.extend_from_slice(NAME);
    put(&mut index, FORMAT_VERSION);
    put(&mut index, narrow(frames.len())?);
    for frame in frames {
        let path = start_bytes(frame);
        index.extend_from_slice(frame.hash.as_bytes());
        index.extend_from_slice(&u16::try_from(path.len()).ok()?.to_le_bytes());
        index.extend_from_slice(path);
    }

    let mut seek = Vec::with_capacity(seek_len(frames.len() + 1));
    put(&mut seek, SEEK_MAGIC);
    put(&mut seek, narrow(seek_len(frames.len() + 1) - HEAD)?);
    for frame in frames {
        put(&mut seek, narrow(frame.packed_len)?);
        put(&mut seek, narrow(frame.len)?);
    }
    put(&mut seek, narrow(index_len)?);
    put(&mut seek, 0);
    put(&mut seek, narrow(frames.len() + 1)?);
    seek.push(0);
    put(&mut seek, FOOTER_MAGIC);

    let digest = digest_of(&index, &seek);
    index.extend_from_slice(digest.as_bytes());
    index.extend_from_slice(&seek);
    Some((index, digest))
}

fn start_bytes(frame: &FrameInfo) -> &[u8] {
    frame.start.as_ref().map_or(b"", TreePath::as_bytes)
}

fn seek_len(entries: usize) -> usize {
    HEAD + entries * SEEK_ENTRY + FOOTER
}

fn put(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn narrow(len: usize) -> Option<u32> {
    u32::try_from(len).ok()
}

fn digest_of(index: &[u8], seek: &[u8]) -> Digest {
    blake3::Hasher::new()
        .update(index)
        .update(seek)
        .finalize()
        .into()
}

/// Reads and checks the end of an archive.
pub(super) fn read(file: &dyn StorageFile) -> Result<Tail, ArchiveError> {
    let file_len = file.stat()?.size;
    let end = read_end(file, file_len, FIRST_READ)?;
    let entries = seek_entries(&end, file_len)?;
    let seek_len = seek_len(entries);
    let end = at_least(file, file_len, end, seek_len)?;

    // The seek table's last entry is the index.
    let seek_start = file_len - seek_len as u64;
    let seek = Fields::new(&end[end.len() - seek_len..], seek_start);
    let index_len = seek.u32_at(HEAD + (entries - 1) * SEEK_ENTRY)? as usize;
    if !(BARE_INDEX..=MAX_INDEX).contains(&index_len) || index_len as u64 > seek_start {
        return Err(seek.bad("the length of the index cannot be"));
    }
    let end = at_least(file, file_len, end, seek_len + index_len)?;
    let (index, seek) = end[end.len() - seek_len - index_len..].split_at(index_len);
    let mut index = Fields::new(index, seek_start - index_len as u64);
    let mut seek = Fields::new(seek, seek_start);

    if index.u32()? != INDEX_MAGIC || index.u32()? as usize != index_len - HEAD {
        return Err(index.bad("this is not the index"));
    }
    if index.take(NAME.len())? != NAME {
        return Err(index.bad("this is not the index"));
    }
    let found = index.u32()?;
    if found != FORMAT_VERSION {
        let supported = FORMAT_VERSION;
        return Err(ArchiveError::Version { found, supported });
    }
    let (covered, digest) = index.all.split_at(index_len - DIGEST);
    if digest_of(covered, seek.all).as_bytes() != digest {
        return Err(index.bad("the index or the seek table is altered"));
    }
    let digest = digest_of(covered, seek.all);
    index.all = covered;
    let frames = read_frames(&mut index, &mut seek, entries - 1)?;
    check_layout(&frames, &index, seek_start - index_len as u64)?;
    Ok(Tail { frames, digest })
}

/// Reads the footer: how many entries the seek table has.
fn seek_entries(end: &[u8], file_len: u64) -> Result<usize, ArchiveError> {
    let footer_at = file_len.saturating_sub(FOOTER as u64);
    let bad = |why| ArchiveError::Layout {
        offset: footer_at,
        why,
    };
    let footer = end.len().checked_sub(FOOTER).and_then(|at| end.get(at..));
    let footer = Fields::new(
        footer.ok_or_else(|| bad("the file is too short"))?,
        footer_at,
    );
    if footer.u32_at(5)? != FOOTER_MAGIC {
        return Err(bad(
            "it does not end with a seek table: cut short, or no archive of ours",
        ));
    }
    let entries = footer.u32_at(0)? as usize;
    if footer.all[4] != 0 || !(2..=MAX_FRAMES + 1).contains(&entries) {
        return Err(bad("the footer of the seek table cannot be"));
    }
    if seek_len(entries) as u64 > file_len {
        return Err(bad("the seek table is longer than the file"));
    }
    Ok(entries)
}

/// Reads the entries of index and seek table side by side.
fn read_frames(
    index: &mut Fields<'_>,
    seek: &mut Fields<'_>,
    count: usize,
) -> Result<Vec<FrameInfo>, ArchiveError> {
    if seek.u32()? != SEEK_MAGIC || seek.u32()? as usize != seek_len(count + 1) - HEAD {
        return Err(seek.bad("this is not the seek table"));
    }
    if index.u32()? as usize != count {
        return Err(index.bad("index and seek table differ in their number of frames"));
    }
    let mut frames = Vec::with_capacity(count);
    let mut offset = 0;
    for _ in 0..count {
        let packed_len = seek.u32()? as usize;
        let len = seek.u32()? as usize;
        let whole_blocks = len > 0 && len.is_multiple_of(BLOCK);
        if !whole_blocks || len > MAX_FRAME || packed_len > packed_bound(len) {
            return Err(seek.bad("a frame is longer than a frame may be"));
        }
        let mut hash = [0; DIGEST];
        hash.copy_from_slice(index.take(DIGEST)?);
        let path_len = index.u16()?;
        let path = index.take(path_len as usize)?;
        let start = match path {
            b"" => None,
            path => Some(TreePath::parse(path).map_err(|_| index.bad("a path leads astray"))?),
        };
        let hash = Digest::from_bytes(hash);
        frames.push(FrameInfo {
            start,
            hash,
            offset,
            packed_len,
            len,
        });
        offset += packed_len as u64;
    }
    if index.at != index.all.len() {
        return Err(index.bad("the index goes on after its last frame"));
    }
    Ok(frames)
}

/// Checks that frames follow each other as a writer would lay them out.
fn check_layout(
    frames: &[FrameInfo],
    index: &Fields<'_>,
    index_start: u64,
) -> Result<(), ArchiveError> {
    let Some((end, data)) = frames.split_last() else {
        return Err(index.bad("there is no frame"));
    };
    if end.offset + end.packed_len as u64 != index_start {
        return Err(index.bad("the frames do not fill the file up to the index"));
    }
    if end.start.is_some() || end.len != END_LEN {
        return Err(index.bad("the last frame is not the end of the tar stream"));
    }
    let mut last_start: Option<&TreePath> = None;
    let mut may_go_on = false;
    for frame in data {
        match &frame.start {
            Some(start) if last_start.is_none_or(|last| last < start) => last_start = Some(start),
            Some(_) => return Err(index.bad("the frames are not in path order")),
            None if may_go_on => {}
            None => return Err(index.bad("a frame goes on after one that was not full")),
        }
        may_go_on = frame.len == MAX_FRAME;
    }
    Ok(())
}

/// Reads the last `len` bytes of a file, or all of it.
fn read_end(file: &dyn StorageFile, file_len: u64, len: usize) -> Result<Vec<u8>, ArchiveError> {
    let len = len.min(usize::try_from(file_len).unwrap_or(usize::MAX));
    let bytes = read_range(file, file_len - len as u64, len)?;
    match bytes.len() == len {
        true => Ok(bytes),
        false => Err(ArchiveError::Layout {
            offset: file_len,
            why: "the file became shorter while it was read",
        }),
    }
}

fn at_least(
    file: &dyn StorageFile,
    file_len: u64,
    end: Vec<u8>,
    len: usize,
) -> Result<Vec<u8>, ArchiveError> {
    match end.len() >= len {
        true => Ok(end),
        false => read_end(file, file_len, len),
    }
}
