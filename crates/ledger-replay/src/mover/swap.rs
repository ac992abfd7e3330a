//! Exchanging files, there and back; each step can be done again after a crash.

use std::collections::BTreeSet;
use std::io;

use ledger_core::storage::{
    Durability, FileKind, RenameMode, Storage, StorageError, create_dirs, if_present, read_file,
};
use ledger_core::{Digest, FileState, Mode, TreePath};

use super::journal::{self, Journal, Step};
use super::plan::Obstacle;
use super::{Host, MoveError, Mover};

/// The permission bits of a file that is staged.
pub(super) struct Permissions {
    /// Given at creation, less the umask.
    pub at_creation: u32,
    /// Set afterwards, where the file that is replaced has bits to keep.
    pub exact: Option<u32>,
}

/// Bits of a new file, or those of the one that it replaces, with the exec bits that the mode says.
pub(super) fn permissions(
    storage: &dyn Storage,
    step: &Step,
    mode: Mode,
) -> Result<Permissions, StorageError> {
    let executable = mode == Mode::Executable;
    let at_creation = if executable { 0o777 } else { 0o666 };
    let standing = if_present(storage.stat(&step.path))?;
    let exact = standing
        .filter(|stat| stat.kind == FileKind::File)
        .map(|stat| {
            let readers = (stat.mode & 0o444) >> 2;
            if executable {
                stat.mode | readers | 0o100
            } else {
                stat.mode & !0o111
            }
        });
    Ok(Permissions { at_creation, exact })
}

/// What stands at a path: its mode and content, when it is a file or a link.
fn found_at(
    storage: &dyn Storage,
    path: &TreePath,
) -> Result<Option<(FileState, Vec<u8>)>, StorageError> {
    let Some(stat) = if_present(storage.stat(path))? else {
        return Ok(None);
    };
    let (mode, content) = match stat.kind {
        FileKind::Symlink => (Mode::Symlink, storage.read_link(path)?),
        FileKind::File if stat.mode & 0o100 != 0 => (Mode::Executable, read_file(storage, path)?),
        FileKind::File => (Mode::File, read_file(storage, path)?),
        FileKind::Dir | FileKind::Other => return Ok(None),
    };
    Ok(Some((
        FileState {
            mode,
            hash: Digest::of(&content),
        },
        content,
    )))
}

impl Mover<'_> {
    /// Brings every path to what the plan wants.
    pub(super) fn swap(&self, journal: &Journal, host: &mut dyn Host) -> Result<(), MoveError> {
        let mut dirs = BTreeSet::new();
        for (n, step) in journal.steps.iter().enumerate() {
            match step.after {
                None => self.take_away(journal, n, step, host)?,
                Some(after) => self.put_in_place(journal, n, step, after, host)?,
            }
            dirs.insert(step.path.parent());
        }
        self.sync_dirs(dirs)
    }

    fn take_away(
        &self,
        journal: &Journal,
        n: usize,
        step: &Step,
        host: &mut dyn Host,
    ) -> Result<(), MoveError> {
        let aside = journal::aside(n);
        let taken = if_present(self.storage.stat(&aside))?.is_some();
        if !taken {
            let standing = if_present(self.storage.stat(&step.path))?;
            // A directory, pipe or device that came here since is nothing that a ledger could keep.
            if standing.is_some_and(|stat| matches!(stat.kind, FileKind::File | FileKind::Symlink))
            {
                self.rename_present(&step.path, &aside, RenameMode::NoReplace)?;
            }
        }
        self.look_at(journal, step, &aside, host)?;
        self.remove_empty_parents(&step.path)
    }

    fn put_in_place(
        &self,
        journal: &Journal,
        n: usize,
        step: &Step,
        after: FileState,
        host: &mut dyn Host,
    ) -> Result<(), MoveError> {
        let staged = journal::staged(n);
        let is_wanted = |found: &Option<(FileState, Vec<u8>)>| {
            found.as_ref().is_some_and(|(state, _)| *state == after)
        };
        let held = found_at(self.storage, &staged)?;
        if is_wanted(&held) && !is_wanted(&found_at(self.storage, &step.path)?) {
            create_dirs(
                self.storage,
                &step.path.parent(),
                0o777,
                Durability::Derived,
            )?;
            self.exchange(&staged, step)?;
        }
        self.look_at(journal, step, &staged, host)
    }

    /// Gives `staged` and whatever stands at the path each other's place.
    fn exchange(&self, staged: &TreePath, step: &Step) -> Result<(), MoveError> {
        let renamed = self
            .storage
            .rename(staged, &step.path, RenameMode::NoReplace);
        match renamed {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        // A directory has nothing that could be looked at and recorded; an empty one may go.
        let blocked = Obstacle {
            path: step.path.clone(),
            wanted: step.path.clone(),
        };
        let kind = self.storage.stat(&step.path)?.kind;
        if kind == FileKind::Other {
            return Err(blocked.into());
        }
        if kind == FileKind::Dir {
            self.remove_empty_dirs_below(&step.path)?;
            return match self
                .storage
                .rename(staged, &step.path, RenameMode::NoReplace)
            {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(blocked.into()),
                other => Ok(other?),
            };
        }
        Ok(self
            .storage
            .rename(staged, &step.path, RenameMode::Exchange)?)
    }

    /// Looks at what a step put out of place, and has it recorded when it is not what was expected.
    fn look_at(
        &self,
        journal: &Journal,
        step: &Step,
        displaced: &TreePath,
        host: &mut dyn Host,
    ) -> Result<(), MoveError> {
        let Some((state, content)) = found_at(self.storage, displaced)? else {
            return Ok(());
        };
        if Some(state) == step.before || Some(state) == step.after {
            return Ok(());
        }
        host.record_found(journal, &step.path, state.mode, &content)
            .map_err(|source| MoveError::Host {
                what: "what was saved meanwhile could not be recorded",
                source,
            })
    }

    /// Brings every path back to what it was.
    pub(super) fn swap_back(
        &self,
        journal: &Journal,
        host: &mut dyn Host,
    ) -> Result<(), MoveError> {
        let mut dirs = BTreeSet::new();
        for (n, step) in journal.steps.iter().enumerate().rev() {
            let Some(after) = step.after else {
                let aside = journal::aside(n);
                self.look_at(journal, step, &aside, host)?;
                if if_present(self.storage.stat(&aside))?.is_some() {
                    create_dirs(
                        self.storage,
                        &step.path.parent(),
                        0o777,
                        Durability::Derived,
                    )?;
                    match self
                        .storage
                        .rename(&aside, &step.path, RenameMode::NoReplace)
                    {
                        // Somebody made it anew: theirs stays, and the old one is recorded.
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                        other => other?,
                    }
                }
                dirs.insert(step.path.parent());
                continue;
            };
            self.put_back(journal, n, step, after, host)?;
            dirs.insert(step.path.parent());
        }
        self.sync_dirs(dirs)
    }

    fn put_back(
        &self,
        journal: &Journal,
        n: usize,
        step: &Step,
        after: FileState,
        host: &mut dyn Host,
    ) -> Result<(), MoveError> {
        let staged = journal::staged(n);
        let held = found_at(self.storage, &staged)?.map(|(state, _)| state);
        if held == Some(after) {
            // Not exchanged, or back already; what stands there is nobody's but its owner's.
            return Ok(());
        }
        if held.is_some() {
            self.look_at(journal, step, &staged, host)?;
            self.storage
                .rename(&staged, &step.path, RenameMode::Exchange)?;
            return self.look_at(journal, step, &staged, host);
        }
        // Made where nothing was: away with it, unless somebody has written there since.
        let standing = found_at(self.storage, &step.path)?.map(|(state, _)| state);
        if standing == Some(after) {
            self.rename_present(&step.path, &staged, RenameMode::NoReplace)?;
            self.look_at(journal, step, &staged, host)?;
            self.remove_empty_parents(&step.path)?;
        }
        Ok(())
    }

    /// Removes the directories above a path that have become empty, nearest first.
    fn remove_empty_parents(&self, path: &TreePath) -> Result<(), MoveError> {
        for dir in path.ancestors() {
            match self.storage.remove_dir(&dir) {
                Ok(()) => {}
                Err(error) if error.is_absent() => {}
                // Not empty, or not ours to remove: it stays.
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Removes a directory when there is nothing in it but empty directories.
    fn remove_empty_dirs_below(&self, dir: &TreePath) -> Result<(), MoveError> {
        let mut found = vec![dir.clone()];
        let mut next = 0;
        while let Some(dir) = found.get(next).cloned() {
            for entry in self.storage.list(&dir)? {
                if entry.stat.kind != FileKind::Dir {
                    return Ok(());
                }
                if let Ok(path) = dir.join(&entry.name) {
                    found.push(path);
                }
            }
            next += 1;
        }
        for dir in found.iter().rev() {
            if_present(self.storage.remove_dir(dir))?;
        }
        Ok(())
    }

    /// Makes the names in directories durable, and in all those above them: some may be new.
    fn sync_dirs(&self, dirs: BTreeSet<TreePath>) -> Result<(), MoveError> {
        let mut all: BTreeSet<TreePath> = dirs.iter().flat_map(TreePath::ancestors).collect();
        all.extend(dirs);
        all.insert(TreePath::root());
        for dir in all {
            // One that was removed has a parent that tells so.
            if_present(self.storage.sync_dir(&dir))?;
        }
        Ok(())
    }
}
