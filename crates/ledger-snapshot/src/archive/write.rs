//! Writing an archive: frames made on all cores, or copied from an older archive.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;

use ledger_core::storage::StorageFile;
use ledger_core::{Digest, TreePath};

use super::frame::Encoder;
use super::plan::{Group, check, plan};
use super::stream::{PackedFrame, Sink, Stream};
use super::{ArchiveDigest, ArchiveReader, ArchiveWriteError, MIB, Member, Stored, member};
use crate::parallel::{Ordered, all_cores};
use crate::tree::{FileEntry, Tree};

/// Any error, as the function that gives the contents may have its own.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Bytes of tar stream that may be on their way at once; one member may be more by itself.
const IN_FLIGHT: u64 = 48 * MIB as u64;

/// Writes members as an archive.
#[derive(Debug)]
pub struct ArchiveWriter<'a> {
    members: &'a [Member],
    threads: NonZeroUsize,
    previous: Option<(&'a ArchiveReader, &'a Tree)>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file as a whole.
    pub archive: ArchiveDigest,
    /// Each member, with the digest of its content.
    pub files: BTreeMap<TreePath, Stored>,
    /// How many frames were copied from the previous archive.
    pub frames_copied: usize,
    /// How many frames there are, beside the one that ends the tar stream.
    pub frames: usize,
}

impl Written {
    /// The files as a tree.
    pub fn tree(&self) -> Tree {
        let entry = |(path, stored): (&TreePath, &Stored)| (path.clone(), stored.entry);
        self.files.iter().map(entry).collect()
    }
}

/// What one job gives: the frames of a group.
struct Packed {
    frames: Vec<PackedFrame>,
    hashes: Vec<Digest>,
    copied: bool,
}

impl<'a> ArchiveWriter<'a> {
    /// A writer of `members`, which are in ascending order of path.
    pub fn new(members: &'a [Member]) -> Self {
        ArchiveWriter {
            members,
            threads: all_cores(),
            previous: None,
        }
    }

    /// Works on so many threads. The archive is the same.
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Copies frames whose members did not change from an older archive, which holds `tree`. Only
    /// members whose digest is known beforehand can be seen not to have changed.
    pub fn copy_from(mut self, archive: &'a ArchiveReader, tree: &'a Tree) -> Self {
        self.previous = Some((archive, tree));
        self
    }

    /// Writes the archive into an empty file, from its start. It is not synced.
    ///
    /// `contents` gives the content of a member (of a link, its target); it is called from several
    /// threads, once for each member that is not copied.
    pub fn write<F, E>(
        &self,
        out: &dyn StorageFile,
        contents: F,
    ) -> Result<Written, ArchiveWriteError>
    where
        F: Fn(&Member) -> Result<Vec<u8>, E> + Sync,
        E: Into<BoxError>,
    {
        check(self.members)?;
        let groups = plan(self.members);
        let reusable = self.reusable(&groups);
        let jobs = Ordered {
            count: groups.len(),
            threads: self.threads,
            budget: IN_FLIGHT,
            weight: |job: usize| groups[job].len,
        };
        let mut sink = Sink::new(out);
        let mut files = Vec::with_capacity(self.members.len());
        let mut frames_copied = 0;
        jobs.run(
            |encoder, job| {
                let group = &groups[job];
                if let Some(packed) = reusable.get(&job).and_then(|&at| self.copy(group, at)) {
                    return Ok(packed);
                }
                self.encode(group, encoder, &contents)
            },
            |job, packed: Packed| {
                let frame = sink.frames() as u32;
                let members = &self.members[groups[job].members.clone()];
                files.extend(members.iter().zip(packed.hashes).map(|(member, hash)| {
                    let Member {
                        path, mode, size, ..
                    } = member.clone();
                    let entry = FileEntry { mode, hash, size };
                    (path, Stored { entry, frame })
                }));
                if packed.copied {
                    frames_copied += packed.frames.len();
                }
                packed
                    .frames
                    .into_iter()
                    .try_for_each(|(info, bytes)| sink.push(info, &bytes))
            },
        )?;
        let frames = sink.frames();
        Ok(Written {
            archive: sink.finish()?,
            files: files.into_iter().collect(),
            frames_copied,
            frames,
        })
    }

    /// The groups that the previous archive holds alike, with the number of their first frame there.
    fn reusable(&self, groups: &[Group]) -> HashMap<usize, usize> {
        let Some((archive, tree)) = self.previous else {
            return HashMap::new();
        };
        let old: Vec<Member> = tree
            .iter()
            .map(|(path, entry)| Member::known(path, entry))
            .collect();
        let mut at = 0;
        let mut old_groups = HashMap::new();
        for group in plan(&old) {
            let members = &old[group.members.clone()];
            let same_place = archive.begins_group(at, &members[0].path, group.len);
            if same_place {
                old_groups.insert(&members[0].path, (members, at));
            }
            at += group.frames();
        }
        let reusable = groups.iter().enumerate().filter_map(|(job, group)| {
            let members = &self.members[group.members.clone()];
            let (old, at) = old_groups.get(&members[0].path)?;
            (*old == members).then_some((job, *at))
        });
        reusable.collect()
    }

    /// Copies a group; `None` when the old frames are damaged, and so have to be made anew.
    fn copy(&self, group: &Group, first: usize) -> Option<Packed> {
        let (archive, _) = self.previous?;
        let members = &self.members[group.members.clone()];
        let hashes = members.iter().map(|m| m.hash).collect::<Option<Vec<_>>>()?;
        let frames = (first..first + group.frames()).map(|number| archive.packed(number));
        match frames.collect() {
            Ok(frames) => Some(Packed {
                frames,
                hashes,
                copied: true,
            }),
            Err(error) => {
                tracing::warn!(%error, "frame of the previous archive is not used");
                None
            }
        }
    }

    /// Makes the frames of a group.
    fn encode<F, E>(
        &self,
        group: &Group,
        encoder: &mut Encoder,
        contents: &F,
    ) -> Result<Packed, ArchiveWriteError>
    where
        F: Fn(&Member) -> Result<Vec<u8>, E>,
        E: Into<BoxError>,
    {
        let members = &self.members[group.members.clone()];
        let start = members.first().map(|member| member.path.clone());
        let mut stream = Stream::new(encoder, start, group.len);
        let mut hashes = Vec::with_capacity(members.len());
        let mut head = Vec::new();
        for member in members {
            let content = contents(member).map_err(|error| ArchiveWriteError::Content {
                path: member.path.clone(),
                source: error.into(),
            })?;
            hashes.push(check_content(member, &content)?);
            head.clear();
            let path = member.path.as_bytes();
            if member.mode.is_symlink() {
                member::write_header(&mut head, path, member.mode, 0, &content);
                stream.push(&head)?;
            } else {
                member::write_header(&mut head, path, member.mode, member.size, b"");
                stream.push(&head)?;
                stream.push(&content)?;
                stream.push(&[0; member::BLOCK][..member::padding(member.size)])?;
            }
        }
        Ok(Packed {
            frames: stream.finish()?,
            hashes,
            copied: false,
        })
    }
}

/// Checks a content against what was planned; returns its digest.
fn check_content(member: &Member, content: &[u8]) -> Result<Digest, ArchiveWriteError> {
    let path = || member.path.clone();
    let found = content.len() as u64;
    if found != member.size {
        let (path, expected) = (path(), member.size);
        return Err(ArchiveWriteError::SizeChanged {
            path,
            expected,
            found,
        });
    }
    if member.mode.is_symlink() && content.contains(&0) {
        return Err(ArchiveWriteError::InvalidTarget { path: path() });
    }
    let found = Digest::of(content);
    match member.hash {
        Some(expected) if expected != found => {
            let path = path();
            Err(ArchiveWriteError::HashMismatch {
                path,
                expected,
                found,
            })
        }
        _ => Ok(found),
    }
}
