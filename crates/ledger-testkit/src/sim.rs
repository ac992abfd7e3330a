//! The simulated disk.

mod crash;
mod disk;
mod file;
mod gate;
mod inode;
mod journal;
mod plan;
mod storage;
mod tree;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ledger_core::TreePath;

use crash::Dying;
use disk::Disk;
use file::Locks;
use gate::{Gate, Room, Verdict, step_text};

pub use crash::Crash;
pub use gate::{Failure, Fault, is_stopped};
pub use tree::Node;

/// A disk in memory that answers as the real one does, and crashes and fails on demand.
///
/// Clones are handles of one disk, as several processes have; [`fork`](SimStorage::fork) makes a disk of its
/// own. The umask is `0o022`, the user is root, and a file holds at most 1 GiB.
///
/// # What a crash leaves
///
/// The disk has two images: the live one, which every call sees, and the durable one. A *step* is a call that
/// changes something or makes it durable, and that the kernel would not refuse.
///
/// - **Bytes.** Each write and each change of length is pending until the file's `sync`. At a power cut each
///   is, on its own, kept, lost, cut short at any byte, left as a hole of zeros, or left in scattered
///   sectors. A change of the mode is pending too, and a sync takes it along only when there are bytes
///   or a length to sync: `fdatasync` promises no more.
/// - **Names.** Each creation, removal and rename is pending until the `sync_dir` of its directory; a rename
///   between two directories until that of either one. At a power cut each directory keeps a prefix of its
///   changes, whatever its files and the other directories keep. A rename is never half done: a file or
///   directory with a durable name has one name afterwards, the old or the new. So what a
///   rename stands on (another directory that it leads into, what was moved out of one that is removed) is
///   durable with it. A *new* file or directory is lost with its parent, if that was not synced, and
///   renamed within it too.
/// - **Both.** A file's bytes and its names are independent: a name may survive for a file that is
///   empty, and bytes for a file that has no name.
/// - **A failed sync of a file** is the last one that meant anything for what was pending: the live image
///   still has it, the durable one may, and later syncs succeed without writing it, since the
///   kernel has marked the pages clean. Writing the bytes again makes them pending again.
///   A failed `sync_dir` leaves the names pending.
/// - **Handles and locks** are gone; calls on the stopped machine fail with an error that
///   [`is_stopped`] knows.
///
/// Times tick on with each change, by a millisecond unless [`set_time`](SimStorage::set_time) says otherwise.
#[derive(Clone)]
pub struct SimStorage(Arc<Mutex<Machine>>);

/// A disk, and the computer that it is in.
struct Machine {
    disk: Disk,
    gate: Gate,
    locks: Locks,
    dying: Option<Dying>,
}

impl Default for SimStorage {
    fn default() -> Self {
        SimStorage::new()
    }
}

impl std::fmt::Debug for SimStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.dump())
    }
}

impl SimStorage {
    /// An empty disk.
    pub fn new() -> Self {
        SimStorage::with_disk(Disk::new())
    }

    fn with_disk(disk: Disk) -> Self {
        SimStorage(Arc::new(Mutex::new(Machine {
            disk,
            gate: Gate::default(),
            locks: Locks::default(),
            dying: None,
        })))
    }

    /// A disk of its own with the same images, pending changes too; without handles, locks or faults.
    #[must_use]
    pub fn fork(&self) -> Self {
        SimStorage::with_disk(self.machine().disk.clone())
    }

    /// Stops the machine, and starts another with the disk as the crash leaves it.
    ///
    /// It may be called again, to see what else could have been left.
    #[must_use]
    pub fn crash(&self, crash: Crash) -> Self {
        let mut machine = self.machine();
        machine.gate.stop();
        let disk = machine.disk.clone();
        SimStorage::with_disk(crash::survivor(disk, machine.dying.as_ref(), crash))
    }

    /// Stops the machine at a step, counted from 0, the next one: it does not happen, and it and every
    /// later call fail. A write may have happened in part, as the [`Crash`] decides.
    pub fn crash_at(&self, step: u64) {
        self.machine().gate.crash_at(step);
    }

    /// Lets one step fail, counted from 0, the next one.
    pub fn fail_at(&self, step: u64, fault: Fault) {
        self.inject(Failure::Step(step, fault));
    }

    /// Lets calls fail; several failures may be armed at once.
    pub fn inject(&self, failure: Failure) {
        self.machine().gate.inject(failure);
    }

    /// Disarms all failures: the disk has room again.
    pub fn clear_failures(&self) {
        self.machine().gate.clear_failures();
    }

    /// How many steps were taken, those that failed included.
    pub fn steps(&self) -> u64 {
        self.machine().gate.steps()
    }

    /// How many reads were made: opening what is there, reading, listing, `stat`, a link's target.
    pub fn reads(&self) -> u64 {
        self.machine().gate.reads()
    }

    /// The steps so far, in words: `write events.jsonl`.
    pub fn trace(&self) -> Vec<String> {
        self.machine().gate.trace.clone()
    }

    /// Sets the time of the disk, and how far each change moves it; 0 gives all changes from now on one time.
    pub fn set_time(&self, now_ns: i64, tick_ns: i64) {
        let disk = &mut self.machine().disk;
        disk.now_ns = now_ns;
        disk.tick_ns = tick_ns;
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        // A panic in one test thread must not hide behind a poisoned lock in another.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Machine {
    fn alive(&self) -> io::Result<()> {
        self.gate.alive()
    }

    /// Counts a step that happens whole or not at all.
    fn step(&mut self, op: &str, path: &TreePath, room: Room) -> io::Result<()> {
        match self.gate.step(step_text(op, path), room) {
            Verdict::Happens => Ok(()),
            Verdict::Fails(fault) => Err(fault.error()),
            Verdict::Dies | Verdict::Dead => Err(gate::stopped()),
        }
    }
}
