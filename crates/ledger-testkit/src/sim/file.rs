//! Open files.

use std::collections::BTreeMap;
use std::io;
use std::sync::MutexGuard;

use ledger_core::TreePath;
use ledger_core::storage::{Stat, StorageError, StorageFile};
use rustix::io::Errno;

use super::crash::Dying;
use super::gate::{Fault, Room, Verdict, step_text, stopped};
use super::inode::{Change, Ino};
use super::{Machine, SimStorage};

/// The longest file: what is here is held in memory.
const MAX_BYTES: u64 = 1 << 30;

/// A file that is held open, by its number: it outlives its name.
pub(super) struct SimFile {
    storage: SimStorage,
    path: TreePath,
    ino: Ino,
    writable: bool,
    handle: u64,
}

/// Who holds the exclusive lock of which file.
#[derive(Debug, Default)]
pub(super) struct Locks {
    holders: BTreeMap<Ino, u64>,
    handles: u64,
}

impl Locks {
    fn handle(&mut self) -> u64 {
        self.handles += 1;
        self.handles
    }

    /// A handle that has the lock gets it again, as with `flock`.
    fn take(&mut self, ino: Ino, handle: u64) -> bool {
        *self.holders.entry(ino).or_insert(handle) == handle
    }

    fn release(&mut self, ino: Ino, handle: u64) {
        if self.holders.get(&ino) == Some(&handle) {
            self.holders.remove(&ino);
        }
    }
}

impl SimFile {
    pub fn new(storage: &SimStorage, path: &TreePath, ino: Ino, writable: bool) -> Self {
        let handle = storage.machine().locks.handle();
        SimFile {
            storage: storage.clone(),
            path: path.clone(),
            ino,
            writable,
            handle,
        }
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.storage.machine()
    }

    fn place<T>(&self, op: &'static str, result: io::Result<T>) -> Result<T, StorageError> {
        result.map_err(|source| StorageError::new(op, &self.path, source))
    }

    fn check_writable(&self, refusal: Errno) -> io::Result<()> {
        if self.writable {
            return Ok(());
        }
        Err(refusal.into())
    }

    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut machine = self.machine();
        machine.alive()?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.check_writable(Errno::BADF)?;
        check_length(offset.saturating_add(bytes.len() as u64))?;
        let change = |part: &[u8]| Change::Write {
            offset,
            bytes: part.into(),
        };
        let what = format!("write {}, {} bytes at {offset}", self.path, bytes.len());
        match machine.gate.step(what, Room::Needed) {
            Verdict::Happens => {
                machine.disk.change(self.ino, change(bytes));
                Ok(())
            }
            Verdict::Fails(fault) => {
                let half = &bytes[..bytes.len() / 2];
                if fault == Fault::ShortWrite && !half.is_empty() {
                    machine.disk.change(self.ino, change(half));
                }
                Err(fault.error())
            }
            Verdict::Dies => {
                machine.dying = Some(Dying {
                    ino: self.ino,
                    offset,
                    bytes: bytes.to_vec(),
                });
                Err(stopped())
            }
            Verdict::Dead => Err(stopped()),
        }
    }

    fn set(&self, op: &'static str, change: Change) -> io::Result<()> {
        let mut machine = self.machine();
        machine.step(op, &self.path, Room::NotNeeded)?;
        machine.disk.change(self.ino, change);
        Ok(())
    }

    fn sync_bytes(&self) -> io::Result<()> {
        let mut machine = self.machine();
        let what = step_text("sync", &self.path);
        match machine.gate.step(what, Room::NotNeeded) {
            Verdict::Happens => {
                machine.disk.inode(self.ino).sync();
                Ok(())
            }
            Verdict::Fails(fault) => {
                machine.disk.inode(self.ino).fail_sync();
                Err(fault.error())
            }
            Verdict::Dies | Verdict::Dead => Err(stopped()),
        }
    }
}

fn check_length(bytes: u64) -> io::Result<()> {
    if bytes > MAX_BYTES {
        return Err(Errno::FBIG.into());
    }
    Ok(())
}

impl StorageFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, StorageError> {
        let mut machine = self.machine();
        self.place("read", machine.gate.read())?;
        let bytes = machine.disk.face(self.ino).bytes();
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let there = bytes.get(start..).unwrap_or_default();
        let count = there.len().min(buffer.len());
        buffer[..count].copy_from_slice(&there[..count]);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StorageError> {
        self.place("write", self.write(bytes, offset))
    }

    fn stat(&self) -> Result<Stat, StorageError> {
        let mut machine = self.machine();
        self.place("stat", machine.gate.read())?;
        Ok(machine.disk.face(self.ino).stat(self.ino))
    }

    fn set_len(&self, len: u64) -> Result<(), StorageError> {
        const OP: &str = "set the length of";
        self.place(OP, self.check_writable(Errno::INVAL))?;
        self.place(OP, check_length(len))?;
        self.place(OP, self.set(OP, Change::SetLen(len)))
    }

    fn set_mode(&self, mode: u32) -> Result<(), StorageError> {
        const OP: &str = "set the mode of";
        self.place(OP, self.set(OP, Change::SetMode(mode & 0o7777)))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.place("sync", self.sync_bytes())
    }

    fn try_lock(&self) -> Result<bool, StorageError> {
        let mut machine = self.machine();
        self.place("lock", machine.alive())?;
        Ok(machine.locks.take(self.ino, self.handle))
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.machine().locks.release(self.ino, self.handle);
    }
}
