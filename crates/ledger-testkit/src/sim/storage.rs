//! The calls on names.

use std::io;

use ledger_core::TreePath;
use ledger_core::storage::{Entry, OpenMode, RenameMode, Stat, Storage, StorageError, StorageFile};
use rustix::io::Errno;

use super::disk::Disk;
use super::file::SimFile;
use super::gate::Room;
use super::inode::{Body, Ino};
use super::plan::Plan;
use super::{Machine, SimStorage};

const UMASK: u32 = 0o022;

impl SimStorage {
    /// A step that changes names.
    fn commit(
        &self,
        op: &'static str,
        path: &TreePath,
        room: Room,
        plan: impl FnOnce(&Disk) -> Result<Option<Plan>, Errno>,
    ) -> Result<(), StorageError> {
        let mut machine = self.machine();
        let done = machine.alive().and_then(|()| {
            if let Some(plan) = plan(&machine.disk)? {
                machine.step(op, path, room)?;
                machine.disk.commit(plan);
            }
            Ok(())
        });
        done.map_err(|source| StorageError::new(op, path, source))
    }

    /// A read of the names.
    fn look<T>(
        &self,
        op: &'static str,
        path: &TreePath,
        look: impl FnOnce(&Disk) -> Result<T, Errno>,
    ) -> Result<T, StorageError> {
        let mut machine = self.machine();
        let seen = machine.gate.read();
        let seen = seen.and_then(|()| Ok(look(&machine.disk)?));
        seen.map_err(|source| StorageError::new(op, path, source))
    }
}

impl Machine {
    fn open(&mut self, path: &TreePath, mode: OpenMode) -> io::Result<Ino> {
        self.alive()?;
        let found = self.disk.lookup_to_open(path)?;
        let (bits, new) = match mode {
            OpenMode::Read | OpenMode::Write => (None, false),
            OpenMode::Create(bits) => (Some(bits), false),
            OpenMode::CreateNew(bits) => (Some(bits), true),
        };
        match (found, bits) {
            (Some(_), _) if new => Err(Errno::EXIST.into()),
            (None, Some(bits)) => {
                let plan = self.disk.plan_file(path, bits & 0o7777 & !UMASK)?;
                self.step("create", path, Room::Needed)?;
                self.disk.commit(plan).ok_or(Errno::IO.into())
            }
            (found, _) => {
                self.gate.read()?;
                let ino = found.ok_or(Errno::NOENT)?;
                match self.disk.face(ino).body {
                    Body::File(_) => Ok(ino),
                    Body::Link(_) => Err(Errno::LOOP.into()),
                    Body::Dir(_) if mode == OpenMode::Read => Err(io::Error::new(
                        io::ErrorKind::InvalidInput,
                        "not a regular file",
                    )),
                    Body::Dir(_) => Err(Errno::ISDIR.into()),
                }
            }
        }
    }
}

impl Storage for SimStorage {
    fn open(&self, path: &TreePath, mode: OpenMode) -> Result<Box<dyn StorageFile>, StorageError> {
        let opened = self.machine().open(path, mode);
        let ino = opened.map_err(|source| StorageError::new("open", path, source))?;
        let writable = mode != OpenMode::Read;
        Ok(Box::new(SimFile::new(self, path, ino, writable)))
    }

    fn stat(&self, path: &TreePath) -> Result<Stat, StorageError> {
        self.look("stat", path, |disk| {
            let ino = disk.lookup(path)?;
            Ok(disk.face(ino).stat(ino))
        })
    }

    fn list(&self, dir: &TreePath) -> Result<Vec<Entry>, StorageError> {
        self.look("list", dir, |disk| {
            let names = disk.names(disk.dir(dir)?)?;
            let entries = names.iter().map(|(name, &ino)| Entry {
                name: name.clone(),
                stat: disk.face(ino).stat(ino),
            });
            Ok(entries.collect())
        })
    }

    fn read_link(&self, path: &TreePath) -> Result<Vec<u8>, StorageError> {
        self.look("read link", path, |disk| {
            let face = disk.face(disk.lookup(path)?);
            match &face.body {
                Body::Link(target) => Ok(target.to_vec()),
                // The kernel reads the root by an empty name, which only a link may have.
                _ if path.is_root() => Err(Errno::NOENT),
                _ => Err(Errno::INVAL),
            }
        })
    }

    fn create_link(&self, path: &TreePath, target: &[u8]) -> Result<(), StorageError> {
        self.commit("make link", path, Room::Needed, |disk| {
            disk.plan_link(path, target).map(Some)
        })
    }

    fn create_dir(&self, dir: &TreePath, mode: u32) -> Result<(), StorageError> {
        self.commit("make directory", dir, Room::Needed, |disk| {
            disk.plan_dir(dir, mode & 0o1777 & !UMASK).map(Some)
        })
    }

    fn remove_file(&self, path: &TreePath) -> Result<(), StorageError> {
        self.commit("remove", path, Room::NotNeeded, |disk| {
            disk.plan_remove_file(path).map(Some)
        })
    }

    fn remove_dir(&self, dir: &TreePath) -> Result<(), StorageError> {
        self.commit("remove directory", dir, Room::NotNeeded, |disk| {
            disk.plan_remove_dir(dir).map(Some)
        })
    }

    fn rename(&self, from: &TreePath, to: &TreePath, mode: RenameMode) -> Result<(), StorageError> {
        self.commit("rename", to, Room::NotNeeded, |disk| {
            disk.plan_rename(from, to, mode)
        })
    }

    fn sync_dir(&self, dir: &TreePath) -> Result<(), StorageError> {
        let mut machine = self.machine();
        let synced = machine.alive().and_then(|()| {
            let ino = machine.disk.dir(dir)?;
            machine.step("sync directory", dir, Room::NotNeeded)?;
            machine.disk.sync_dir(ino);
            Ok(())
        });
        synced.map_err(|source| StorageError::new("sync directory", dir, source))
    }
}
