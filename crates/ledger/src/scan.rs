//! Comparing the files on disk with a recorded tree.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Mutex;

use ledger_core::storage::{FileKind, Stat, Storage, StorageError, if_present};
use ledger_core::{Clock, Digest, Mode, TreePath, layout};
use ledger_snapshot::{
    FileEntry, Found, IgnoreWarning, ReadFileError, StatCache, Tree, Walker, mode_of, read_stable,
    stat_many,
};

/// Which files are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// All tracked files, and all new ones that are not ignored.
    Everything,
    /// Tracked files only.
    Tracked,
    /// What stands or stood at these paths and below them, even if it is ignored.
    Below(&'a [TreePath]),
}

/// A file that is not as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrecorded {
    /// The file.
    pub path: TreePath,
    /// What is recorded; nothing for a new file.
    pub before: Option<FileEntry>,
    /// What is on disk: mode and size, and the digest where it was needed; nothing for a deleted file.
    pub after: Option<OnDisk>,
}

/// What is on disk at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnDisk {
    /// Mode.
    pub mode: Mode,
    /// Length.
    pub size: u64,
    /// Digest of the content; not computed for new files.
    pub hash: Option<Digest>,
}

/// How the disk differs from the recorded tree.
#[derive(Debug, Default)]
pub struct Scan {
    /// Files that are not as recorded, by path.
    pub unrecorded: Vec<Unrecorded>,
    /// Files over the size limit: not tracked, or not looked at.
    pub too_large: Vec<(TreePath, u64)>,
    /// Repositories below the root, which are left alone.
    pub nested: Vec<TreePath>,
    /// Pipes, sockets and devices, which are not tracked.
    pub others: Vec<TreePath>,
    /// What could not be read; nothing is concluded from that.
    pub unreadable: Vec<StorageError>,
    /// Ignore patterns that are not in force.
    pub warnings: Vec<IgnoreWarning>,
}

/// What a scan needs.
pub(crate) struct Scanner<'a> {
    pub storage: &'a dyn Storage,
    pub clock: &'a dyn Clock,
    pub patterns: &'a [String],
    /// Larger files are not looked at.
    pub limit: u64,
}

impl Scanner<'_> {
    /// Compares the disk with `tree`, trusting and renewing the cache.
    pub fn scan(
        &self,
        tree: &Tree,
        scope: Scope<'_>,
        cache: &mut StatCache,
    ) -> Result<Scan, StorageError> {
        let mut scan = Scan::default();
        let found = self.find(tree, scope, &mut scan)?;
        let read_at = self.clock.now();
        // Of tracked files that may have changed, the content decides.
        let mut unsure = Vec::new();
        for Found { path, stat } in found {
            let Some(mode) = mode_of(&stat) else {
                continue;
            };
            let before = tree.get(&path).copied();
            if stat.size > self.limit {
                scan.too_large.push((path, stat.size));
                continue;
            }
            let after = OnDisk {
                mode,
                size: stat.size,
                hash: None,
            };
            let Some(before) = before else {
                scan.unrecorded.push(Unrecorded {
                    path,
                    before: None,
                    after: Some(after),
                });
                continue;
            };
            match cache.lookup(&path, &stat) {
                Some(hash) if hash == before.hash && mode == before.mode => {}
                Some(hash) => {
                    let after = Some(OnDisk {
                        hash: Some(hash),
                        ..after
                    });
                    scan.unrecorded.push(Unrecorded {
                        path,
                        before: Some(before),
                        after,
                    });
                }
                None => unsure.push((path, before)),
            }
        }
        for (path, before, read) in self.read_all(unsure)? {
            let Some((stat, hash)) = read else {
                let (before, after) = (Some(before), None);
                scan.unrecorded.push(Unrecorded {
                    path,
                    before,
                    after,
                });
                continue;
            };
            cache.insert(path.clone(), &stat, &hash, read_at);
            let mode = mode_of(&stat).unwrap_or(before.mode);
            if hash != before.hash || mode != before.mode {
                let after = Some(OnDisk {
                    mode,
                    size: stat.size,
                    hash: Some(hash),
                });
                scan.unrecorded.push(Unrecorded {
                    path,
                    before: Some(before),
                    after,
                });
            }
        }
        scan.unrecorded.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(scan)
    }

    /// The files in scope that are on disk. Tracked ones that are not become unrecorded deletions.
    fn find(
        &self,
        tree: &Tree,
        scope: Scope<'_>,
        scan: &mut Scan,
    ) -> Result<Vec<Found>, StorageError> {
        let mut found = match scope {
            Scope::Tracked => Vec::new(),
            Scope::Everything => self.walk(scan)?,
            Scope::Below(paths) => self.below(paths, scan)?,
        };
        let in_scope = |path: &TreePath| match scope {
            Scope::Below(paths) => paths.iter().any(|dir| path == dir || path.is_below(dir)),
            _ => true,
        };
        let known: BTreeSet<&TreePath> = found.iter().map(|file| &file.path).collect();
        // Tracked files that the walk left out: ignored since, in a nested repository, or gone.
        let rest: Vec<TreePath> = tree
            .iter()
            .map(|(path, _)| path)
            .filter(|path| in_scope(path) && !known.contains(path))
            .cloned()
            .collect();
        let stats = stat_many(self.storage, &rest, all_cores())?;
        let unknown = |path: &TreePath| {
            scan.unreadable
                .iter()
                .any(|error| path.is_below(&error.path) || *path == error.path)
        };
        let mut gone = Vec::new();
        for (path, stat) in rest.into_iter().zip(stats) {
            match stat.filter(|stat| matches!(stat.kind, FileKind::File | FileKind::Symlink)) {
                Some(stat) => found.push(Found { path, stat }),
                None if unknown(&path) => {}
                None => gone.push(path),
            }
        }
        for path in gone {
            let before = tree.get(&path).copied();
            scan.unrecorded.push(Unrecorded {
                path,
                before,
                after: None,
            });
        }
        Ok(found)
    }

    fn walk(&self, scan: &mut Scan) -> Result<Vec<Found>, StorageError> {
        let walk = Walker::new(self.storage, self.patterns).walk()?;
        scan.nested = walk.nested;
        scan.others = walk.others;
        scan.unreadable = walk.unreadable;
        scan.warnings = walk.warnings;
        Ok(walk.files)
    }

    /// What stands at paths that were named, and below them.
    fn below(&self, paths: &[TreePath], scan: &mut Scan) -> Result<Vec<Found>, StorageError> {
        let mut found: Vec<Found> = Vec::new();
        let mut walked = false;
        for path in paths {
            let stat = if path.is_root() {
                None
            } else {
                if_present(self.storage.stat(path))?
            };
            match stat {
                Some(stat) if stat.kind != FileKind::Dir => {
                    found.push(Found {
                        path: path.clone(),
                        stat,
                    });
                }
                None if !path.is_root() => {}
                _ => {
                    let excluded = match path.is_root() {
                        true => None,
                        false => Walker::new(self.storage, self.patterns).exclusion(path, true)?,
                    };
                    match excluded {
                        None if walked => {}
                        None => {
                            found.append(&mut self.walk(scan)?);
                            walked = true;
                        }
                        Some(_) => self.everything_below(path, &mut found)?,
                    }
                }
            }
        }
        found.retain(|file| {
            paths
                .iter()
                .any(|dir| file.path == *dir || file.path.is_below(dir))
        });
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found.dedup_by(|a, b| a.path == b.path);
        Ok(found)
    }

    /// Every file below a directory that is ignored but was asked for.
    fn everything_below(&self, dir: &TreePath, found: &mut Vec<Found>) -> Result<(), StorageError> {
        let mut dirs = vec![dir.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in self.storage.list(&dir)? {
                let Ok(path) = dir.join(&entry.name) else {
                    continue;
                };
                match entry.stat.kind {
                    _ if layout::is_reserved(&path) => {}
                    FileKind::Dir => dirs.push(path),
                    FileKind::File | FileKind::Symlink => {
                        found.push(Found {
                            path,
                            stat: entry.stat,
                        });
                    }
                    FileKind::Other => {}
                }
            }
        }
        Ok(())
    }

    /// Reads files on all cores for their digests; `None` for those that went away meanwhile.
    #[expect(clippy::type_complexity, reason = "used in one place")]
    fn read_all(
        &self,
        files: Vec<(TreePath, FileEntry)>,
    ) -> Result<Vec<(TreePath, FileEntry, Option<(Stat, Digest)>)>, StorageError> {
        let next = Mutex::new(files.into_iter());
        let done = Mutex::new(Vec::new());
        let failed = Mutex::new(None);
        let work = || {
            loop {
                let file = next.lock().unwrap_or_else(|e| e.into_inner()).next();
                let Some((path, before)) = file else {
                    return;
                };
                let read = match read_stable(self.storage, &path, self.limit) {
                    Ok(file) => Some((file.stat, Digest::of(&file.content))),
                    Err(ReadFileError::Storage(error)) if !error.is_absent() => {
                        *failed.lock().unwrap_or_else(|e| e.into_inner()) = Some(error);
                        return;
                    }
                    Err(_) => None,
                };
                done.lock()
                    .unwrap_or_else(|e| e.into_inner())
                    .push((path, before, read));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..all_cores().get() {
                scope.spawn(work);
            }
            work();
        });
        match failed.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some(error) => Err(error),
            None => Ok(done.into_inner().unwrap_or_else(|e| e.into_inner())),
        }
    }
}

pub(crate) fn all_cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
