//! Tar members: regular files and links, in GNU format.
//!
//! There is one way to write a member, and the reader accepts only that: it takes the name, mode
//! and size out of a header, writes the header again, and compares. So no field can mean one thing
//! to this reader and another to `tar`.

use std::ops::Range;

use ledger_core::{Mode, TreePath};
use tar::{EntryType, Header};

use super::{ArchiveError, MAX_NAME};

/// Tar's unit.
pub(super) const BLOCK: usize = 512;
/// Names from this length on stand in a member of their own before the header.
const NAME_FIELD: usize = 100;
/// The name of such a member.
const LONG_NAME: &[u8] = b"././@LongLink";

/// Bytes from `len` up to the next block.
pub(super) fn padding(len: u64) -> usize {
    (len.wrapping_neg() % BLOCK as u64) as usize
}

/// Bytes that a file takes in the tar stream; `size` is the length of its content or target.
pub(super) fn span(path: &TreePath, mode: Mode, size: u64) -> u64 {
    let padded = |len: u64| len.saturating_add(padding(len) as u64);
    let long = |len: u64| match len >= NAME_FIELD as u64 {
        true => (BLOCK as u64).saturating_add(padded(len.saturating_add(1))),
        false => 0,
    };
    let rest = match mode.is_symlink() {
        true => long(size),
        false => padded(size),
    };
    let header = BLOCK as u64 + long(path.as_bytes().len() as u64);
    header.saturating_add(rest)
}

/// Appends a header, after the long names that it needs. `target` is empty but for a link, `size` 0
/// for one.
pub(super) fn write_header(out: &mut Vec<u8>, path: &[u8], mode: Mode, size: u64, target: &[u8]) {
    if target.len() >= NAME_FIELD {
        write_long_name(out, EntryType::GNULongLink, target);
    }
    if path.len() >= NAME_FIELD {
        write_long_name(out, EntryType::GNULongName, path);
    }
    let (kind, bits) = match mode {
        Mode::File => (EntryType::Regular, 0o644),
        Mode::Executable => (EntryType::Regular, 0o755),
        Mode::Symlink => (EntryType::Symlink, 0o777),
    };
    write_block(out, kind, path, bits, size, target);
}

fn write_long_name(out: &mut Vec<u8>, kind: EntryType, name: &[u8]) {
    let len = name.len() + 1;
    write_block(out, kind, LONG_NAME, 0o644, len as u64, b"");
    out.extend_from_slice(name);
    out.resize(out.len() + 1 + padding(len as u64), 0);
}

/// Appends one header block, every field of it set. Names are bytes: the setters of `tar` would
/// normalise them.
fn write_block(
    out: &mut Vec<u8>,
    kind: EntryType,
    name: &[u8],
    bits: u32,
    size: u64,
    target: &[u8],
) {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(bits);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    let fields = header.as_old_mut();
    copy_name(&mut fields.name, name);
    copy_name(&mut fields.linkname, target);
    header.set_cksum();
    out.extend_from_slice(header.as_bytes());
}

/// Fills a name field, which keeps a NUL at its end.
fn copy_name(field: &mut [u8; NAME_FIELD], name: &[u8]) {
    let len = name.len().min(NAME_FIELD - 1);
    field[..len].copy_from_slice(&name[..len]);
}

/// Where a member stands in a decoded stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Located {
    pub path: TreePath,
    pub mode: Mode,
    /// Its content; of a link, its target.
    pub content: Range<usize>,
    /// Where the next member begins; beyond the stream when the content goes on in later frames.
    pub end: u64,
}

/// Reads the member that begins at `at`. Its header must be whole, its content need not be.
pub(super) fn locate(stream: &[u8], at: usize, frame: usize) -> Result<Located, ArchiveError> {
    let refuse = |why| ArchiveError::Member { frame, at, why };
    let mut cursor = at;
    let mut long_path = None;
    let mut long_target = None;
    let header = loop {
        let header = block(stream, cursor).ok_or_else(|| refuse("its header is cut short"))?;
        let slot = match header.entry_type() {
            EntryType::GNULongName => &mut long_path,
            EntryType::GNULongLink => &mut long_target,
            _ => break header,
        };
        let len = header
            .entry_size()
            .ok()
            .and_then(|len| usize::try_from(len).ok());
        let len = match len {
            Some(len @ 1..) if len <= MAX_NAME + 1 => len,
            _ => return Err(refuse("a name in it is too long")),
        };
        let name = cursor + BLOCK..cursor + BLOCK + len - 1;
        if slot.is_some() || stream.len() < name.end {
            return Err(refuse("its long name is cut short, or there twice"));
        }
        cursor = name.end + 1 + padding(len as u64);
        *slot = Some(name);
    };
    let fields = header.as_old();
    let bits = header
        .mode()
        .map_err(|_| refuse("its mode is not a number"))?;
    let mode = match (header.entry_type(), bits) {
        (EntryType::Regular, 0o644) => Mode::File,
        (EntryType::Regular, 0o755) => Mode::Executable,
        (EntryType::Symlink, 0o777) => Mode::Symlink,
        (EntryType::Regular | EntryType::Symlink, _) => return Err(refuse("its mode is not ours")),
        _ => return Err(refuse("it is neither a file nor a link")),
    };
    let size = header
        .entry_size()
        .map_err(|_| refuse("its size is not a number"))?;

    // Field names are offsets into the stream too, so that a link's target can be given as a range.
    let name_range = |long: Option<Range<usize>>, field: &[u8], offset: usize| {
        let start = cursor + offset;
        let len = field.iter().position(|&b| b == 0).unwrap_or(field.len());
        long.unwrap_or(start..start + len)
    };
    let path = name_range(long_path, &fields.name, 0);
    let target = name_range(long_target, &fields.linkname, LINK_OFFSET);
    let start = cursor + BLOCK;

    let mut expected = Vec::with_capacity(start - at);
    write_header(
        &mut expected,
        &stream[path.clone()],
        mode,
        size,
        &stream[target.clone()],
    );
    // Only a link has a target; without this, one would pass on any file.
    let stray = !mode.is_symlink() && !target.is_empty();
    if stray || expected != stream[at..start] {
        return Err(refuse("its header is not written our way"));
    }
    if mode.is_symlink() && (size != 0 || target.is_empty()) {
        return Err(refuse("it is a link with a content, or without a target"));
    }
    let path = TreePath::parse(&stream[path]).map_err(|source| ArchiveError::Path {
        frame,
        at,
        source,
    })?;
    let end = (start as u64)
        .saturating_add(size)
        .saturating_add(padding(size) as u64);
    let content = match mode.is_symlink() {
        true => target,
        false => start..start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX)),
    };
    Ok(Located {
        path,
        mode,
        content,
        end,
    })
}

/// Where the link's target stands in a header.
const LINK_OFFSET: usize = 157;

fn block(stream: &[u8], at: usize) -> Option<&Header> {
    let bytes = stream.get(at..at.checked_add(BLOCK)?)?;
    Some(Header::from_byte_slice(bytes))
}

/// Checks that what pads a content to whole blocks is zeros; all of it must be in the stream.
pub(super) fn padding_is_zero(stream: &[u8], member: &Located) -> bool {
    let end = usize::try_from(member.end).unwrap_or(usize::MAX);
    member.mode.is_symlink()
        || stream
            .get(member.content.end..end)
            .is_some_and(|padding| padding.iter().all(|&b| b == 0))
}
