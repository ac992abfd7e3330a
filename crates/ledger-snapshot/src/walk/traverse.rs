//! The walk itself: directories handed out to threads, one at a time.

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex};

use ignore::gitignore::Gitignore;
use ledger_core::TreePath;
use ledger_core::storage::{Entry, FileKind, Storage, StorageError};

use super::rules::{self, BENCHIGNORE, GITIGNORE, Layer};
use super::{DOT_GIT, Found, Walk, has_ledger, is_own};
use crate::parallel::{lock, spawn, wait};

/// A directory that is still to be listed.
struct Pending {
    dir: TreePath,
    layer: Option<Arc<Layer>>,
}

struct Queue {
    pending: Vec<Pending>,
    /// Threads that are listing, and may find more directories.
    busy: usize,
    failed: Option<StorageError>,
    stopped: bool,
}

struct Shared<'a> {
    storage: &'a dyn Storage,
    configured: &'a Gitignore,
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// Walks everything below the root.
pub(super) fn walk(
    storage: &dyn Storage,
    configured: &Gitignore,
    threads: NonZeroUsize,
) -> Result<Walk, StorageError> {
    let root = Pending {
        dir: TreePath::root(),
        layer: None,
    };
    let shared = Shared {
        storage,
        configured,
        queue: Mutex::new(Queue {
            pending: vec![root],
            busy: 0,
            failed: None,
            stopped: false,
        }),
        changed: Condvar::new(),
    };
    let parts = Mutex::new(Vec::new());
    let work = || {
        let mut part = Walk::default();
        shared.work(&mut part);
        // Sorted here, on each thread; what is left to do then is merging runs.
        part.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        lock(&parts).push(part);
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get() {
            spawn(scope, work);
        }
        work();
    });
    if let Some(error) = lock(&shared.queue).failed.take() {
        return Err(error);
    }
    let mut walk = Walk::default();
    for part in lock(&parts).drain(..) {
        walk.files.extend(part.files);
        walk.nested.extend(part.nested);
        walk.others.extend(part.others);
        walk.unreadable.extend(part.unreadable);
        walk.warnings.extend(part.warnings);
    }
    walk.files.sort_by(|a, b| a.path.cmp(&b.path));
    walk.nested.sort();
    walk.others.sort();
    walk.unreadable.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk)
}

impl Shared<'_> {
    fn work(&self, part: &mut Walk) {
        let _stop = StopOnPanic(self);
        let mut found = Vec::new();
        while let Some(next) = self.next() {
            let result = self.visit(next, part, &mut found);
            let mut queue = lock(&self.queue);
            queue.busy -= 1;
            queue.pending.append(&mut found);
            if let Err(error) = result {
                queue.stopped = true;
                queue.failed.get_or_insert(error);
            }
            self.changed.notify_all();
        }
    }

    /// Waits for a directory; `None` when there will be no more.
    fn next(&self) -> Option<Pending> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.stopped {
                return None;
            }
            if let Some(next) = queue.pending.pop() {
                queue.busy += 1;
                return Some(next);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = wait(&self.changed, queue);
        }
    }

    fn visit(
        &self,
        Pending { dir, layer }: Pending,
        part: &mut Walk,
        found: &mut Vec<Pending>,
    ) -> Result<(), StorageError> {
        let entries = match self.storage.list(&dir) {
            Ok(entries) => entries,
            // Removed, or replaced by a link, since it was found.
            Err(error) if error.is_absent() && !dir.is_root() => return Ok(()),
            Err(error) if is_closed(&error) && !dir.is_root() => {
                part.unreadable.push(error);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let nested = |name: &[u8]| match name {
            DOT_GIT => true,
            b".user" => has_ledger(self.storage, &dir),
            _ => false,
        };
        if !dir.is_root() && entries.iter().any(|entry| nested(&entry.name)) {
            part.nested.push(dir);
            return Ok(());
        }
        let layer = self.layer(&dir, &entries, layer, part)?;
        for entry in &entries {
            let Ok(path) = dir.join(&entry.name) else {
                continue;
            };
            let is_dir = entry.stat.kind == FileKind::Dir;
            if *entry.name == *DOT_GIT
                || is_own(&path)
                || rules::is_ignored(self.configured, layer.as_deref(), &path, is_dir)
            {
                continue;
            }
            match entry.stat.kind {
                FileKind::File | FileKind::Symlink => {
                    part.files.push(Found {
                        path,
                        stat: entry.stat,
                    });
                }
                FileKind::Dir => found.push(Pending {
                    dir: path,
                    layer: layer.clone(),
                }),
                FileKind::Other => part.others.push(path),
            }
        }
        Ok(())
    }

    /// The rules in a directory. An ignore file that is a link is not followed.
    fn layer(
        &self,
        dir: &TreePath,
        entries: &[Entry],
        above: Option<Arc<Layer>>,
        part: &mut Walk,
    ) -> Result<Option<Arc<Layer>>, StorageError> {
        let mut read = |name: &[u8]| {
            let is_file = |e: &Entry| *e.name == *name && e.stat.kind == FileKind::File;
            match (entries.iter().any(is_file), dir.join(name)) {
                (true, Ok(path)) => rules::read(self.storage, &path, &mut part.warnings),
                _ => Ok(Gitignore::empty()),
            }
        };
        let (git, bench) = (read(GITIGNORE)?, read(BENCHIGNORE)?);
        Ok(Layer::over(above, dir, git, bench))
    }
}

/// Whether a directory is there and may not be read, or lies deeper than the system can name. Other
/// errors are the disk's, and end the walk: it must not seem that files are gone.
fn is_closed(error: &StorageError) -> bool {
    let too_long = rustix::io::Errno::NAMETOOLONG.raw_os_error();
    let is_link = rustix::io::Errno::LOOP.raw_os_error();
    error.kind() == io::ErrorKind::PermissionDenied
        || error
            .source
            .raw_os_error()
            .is_some_and(|code| code == too_long || code == is_link)
}

struct StopOnPanic<'a, 'b>(&'a Shared<'b>);

impl Drop for StopOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.0.queue).stopped = true;
            self.0.changed.notify_all();
        }
    }
}
