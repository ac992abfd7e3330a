//! Reading an archive: one file by one frame, or all files on all cores.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use ledger_core::storage::{StorageFile, read_range};
use ledger_core::{Digest, Mode, TreePath};

use super::frame::{Decoder, FrameInfo};
use super::group::{Decoded, Told};
use super::{ArchiveError, END_LEN, MAX_FRAME, MIB, index};
use crate::parallel::{Ordered, all_cores, lock};

/// How many decoded frames are kept for the next reads.
const CACHED: usize = 4;
/// Longest file that is accepted unless the caller says otherwise.
const DEFAULT_LIMIT: u64 = 1024 * MIB as u64;
/// Bytes of tar stream that may be on their way at once; one member may be more by itself.
const IN_FLIGHT: u64 = 48 * MIB as u64;

/// An open archive. It may be shared between threads.
#[derive(Debug)]
pub struct ArchiveReader {
    file: Box<dyn StorageFile>,
    frames: Vec<FrameInfo>,
    /// Frames that begin with a member, each with those in which that member goes on.
    groups: Vec<Range<usize>>,
    digest: Digest,
    limit: u64,
    threads: NonZeroUsize,
    cache: Mutex<Vec<(usize, Arc<Decoded>)>>,
}

/// A file of an archive, as it is visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchivedFile<'a> {
    /// Where it stands.
    pub path: &'a TreePath,
    /// Mode.
    pub mode: Mode,
    /// Its content; of a link, its target.
    pub content: &'a [u8],
    /// The frame that it begins in.
    pub frame: u32,
}

impl ArchiveReader {
    /// Opens an archive, and checks its end: with `expected`, against the digest of the index that
    /// the ledger holds.
    pub fn open(
        file: Box<dyn StorageFile>,
        expected: Option<&Digest>,
    ) -> Result<Self, ArchiveError> {
        let index::Tail { frames, digest } = index::read(file.as_ref())?;
        if let Some(&expected) = expected.filter(|&expected| *expected != digest) {
            let found = digest;
            return Err(ArchiveError::WrongIndex { expected, found });
        }
        let starts = (0..frames.len()).filter(|&n| frames[n].start.is_some());
        let mut groups: Vec<_> = starts.map(|n| n..n + 1).collect();
        let end_frame = frames.len() - 1;
        for at in 0..groups.len() {
            groups[at].end = groups.get(at + 1).map_or(end_frame, |next| next.start);
        }
        Ok(ArchiveReader {
            file,
            frames,
            groups,
            digest,
            limit: DEFAULT_LIMIT,
            threads: all_cores(),
            cache: Mutex::new(Vec::new()),
        })
    }

    /// Refuses files longer than this, before they take memory. Unless it is called, 1 GiB.
    pub fn max_file_size(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Works on so many threads.
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Digest of the index.
    pub fn index_digest(&self) -> Digest {
        self.digest
    }

    /// Reads one file; `None` when the archive has none at `path`.
    pub fn read(&self, path: &TreePath) -> Result<Option<(Mode, Vec<u8>)>, ArchiveError> {
        let after = self
            .groups
            .partition_point(|group| self.start(group) <= Some(path));
        let Some(at) = after.checked_sub(1) else {
            return Ok(None);
        };
        let group = self.group(at)?;
        let found = group
            .members
            .binary_search_by(|member| member.path.cmp(path));
        Ok(found.ok().map(|n| {
            let member = &group.members[n];
            (member.mode, group.stream[member.content.clone()].to_vec())
        }))
    }

    /// Whether any file lies below the directory `dir`.
    pub fn has_below(&self, dir: &TreePath) -> Result<bool, ArchiveError> {
        // In the order of paths, what lies below comes right after `dir/`.
        let first = [dir.as_bytes(), b"/"].concat();
        let before = |path: &TreePath| path.as_bytes() < first.as_slice();
        let after = self
            .groups
            .partition_point(|group| self.start(group).is_none_or(before));
        let starts_below = |at: usize| {
            let start = self.groups.get(at).and_then(|group| self.start(group));
            start.is_some_and(|path| path.is_below(dir))
        };
        if starts_below(after) {
            return Ok(true);
        }
        let Some(at) = after.checked_sub(1) else {
            return Ok(false);
        };
        Ok(self
            .group(at)?
            .members
            .iter()
            .any(|member| member.path.is_below(dir)))
    }

    /// Gives each file to `visit`, in path order, on this thread; frames are decoded on others.
    pub fn visit<E>(
        &self,
        mut visit: impl FnMut(ArchivedFile<'_>) -> Result<(), E>,
    ) -> Result<(), E>
    where
        E: From<ArchiveError> + Send,
    {
        self.check_end(&mut Decoder::default())?;
        self.jobs().run(
            |decoder, at| Ok(self.decode(decoder, at)?),
            |at, group| self.files(at, &group).try_for_each(&mut visit),
        )
    }

    /// Gives each file to `visit`, from several threads at once: in path order within a frame only.
    pub fn visit_parallel<E>(
        &self,
        visit: impl Fn(ArchivedFile<'_>) -> Result<(), E> + Sync,
    ) -> Result<(), E>
    where
        E: From<ArchiveError> + Send,
    {
        self.check_end(&mut Decoder::default())?;
        self.jobs().run(
            |decoder, at| {
                let group = self.decode(decoder, at)?;
                self.files(at, &group).try_for_each(&visit)
            },
            |_, ()| Ok(()),
        )
    }

    /// Whether the frame `number` begins a group with this path and this length of tar stream.
    pub(super) fn begins_group(&self, number: usize, path: &TreePath, len: u64) -> bool {
        let at = self
            .groups
            .binary_search_by_key(&number, |group| group.start);
        at.is_ok_and(|at| {
            let group = &self.groups[at];
            self.start(group) == Some(path) && self.stream_len(group) == len
        })
    }

    /// The compressed bytes of a frame, checked.
    pub(super) fn packed(&self, number: usize) -> Result<(FrameInfo, Vec<u8>), ArchiveError> {
        let info = &self.frames[number];
        let bytes = read_range(self.file.as_ref(), info.offset, info.packed_len)?;
        if Digest::of(&bytes) != info.hash {
            return Err(ArchiveError::Frame {
                frame: number,
                offset: info.offset,
                why: "its bytes are not those that the index names",
            });
        }
        Ok((info.clone(), bytes))
    }

    fn jobs(&self) -> Ordered<impl Fn(usize) -> u64 + Sync> {
        Ordered {
            count: self.groups.len(),
            threads: self.threads,
            budget: IN_FLIGHT,
            weight: |at: usize| self.stream_len(&self.groups[at]),
        }
    }

    fn start(&self, group: &Range<usize>) -> Option<&TreePath> {
        self.frames[group.start].start.as_ref()
    }

    fn stream_len(&self, group: &Range<usize>) -> u64 {
        self.frames[group.clone()]
            .iter()
            .map(|f| f.len as u64)
            .sum()
    }

    fn files<'a>(
        &self,
        at: usize,
        group: &'a Decoded,
    ) -> impl Iterator<Item = ArchivedFile<'a>> + use<'a> {
        let frame = self.groups[at].start as u32;
        group.members.iter().map(move |member| ArchivedFile {
            path: &member.path,
            mode: member.mode,
            content: &group.stream[member.content.clone()],
            frame,
        })
    }

    /// A decoded group, from the cache or into it.
    fn group(&self, at: usize) -> Result<Arc<Decoded>, ArchiveError> {
        let cached = lock(&self.cache)
            .iter()
            .find(|(n, _)| *n == at)
            .map(|(_, g)| g.clone());
        if let Some(group) = cached {
            return Ok(group);
        }
        let group = Arc::new(self.decode(&mut Decoder::default(), at)?);
        // What is longer than a frame would keep too much memory.
        if group.stream.len() <= MAX_FRAME {
            let mut cache = lock(&self.cache);
            cache.truncate(CACHED - 1);
            cache.insert(0, (at, group.clone()));
        }
        Ok(group)
    }

    /// Checks the end frame, so that a visit to all files has seen every byte.
    fn check_end(&self, decoder: &mut Decoder) -> Result<(), ArchiveError> {
        let number = self.frames.len() - 1;
        let mut stream = Vec::with_capacity(END_LEN);
        self.decode_frame(decoder, number, &mut stream)?;
        match stream.iter().all(|&b| b == 0) {
            true => Ok(()),
            false => Err(ArchiveError::Frame {
                frame: number,
                offset: self.frames[number].offset,
                why: "it is not the end of a tar stream",
            }),
        }
    }

    fn decode_frame(
        &self,
        decoder: &mut Decoder,
        number: usize,
        stream: &mut Vec<u8>,
    ) -> Result<(), ArchiveError> {
        let info = &self.frames[number];
        let packed = read_range(self.file.as_ref(), info.offset, info.packed_len)?;
        decoder.decode(number, info, &packed, stream)
    }

    fn decode(&self, decoder: &mut Decoder, at: usize) -> Result<Decoded, ArchiveError> {
        let group = &self.groups[at];
        let told = Told {
            frames: group.clone(),
            len: self.stream_len(group),
            start: self.start(group),
            next: self.groups.get(at + 1).and_then(|next| self.start(next)),
            limit: self.limit,
        };
        let mut stream = Vec::with_capacity(self.frames[group.start].len);
        self.decode_frame(decoder, group.start, &mut stream)?;
        // Before the other frames are decoded, so that a file over the limit takes no memory.
        let members = told.members(&stream)?;
        for number in group.start + 1..group.end {
            self.decode_frame(decoder, number, &mut stream)?;
        }
        told.finish(stream, members)
    }
}
