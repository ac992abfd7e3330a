//! Where faults strike: every call passes here before it takes effect.

use std::fmt;
use std::io;

use ledger_core::TreePath;
use ledger_core::storage::StorageError;
use rustix::io::Errno;

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An I/O error (`EIO`); the call does nothing. A sync that fails leaves the file's bytes in doubt.
    Io,
    /// No space (`ENOSPC`); the call does nothing.
    NoSpace,
    /// No space after the first half of a write; other calls fail as with [`Fault::NoSpace`].
    ShortWrite,
}

/// Which calls fail, and how. Steps and reads are counted from 0, the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// This step alone.
    Step(u64, Fault),
    /// This step and all after it, until the failures are cleared. A full disk fails only what needs
    /// room: writes, and new files, links and directories.
    From(u64, Fault),
    /// This read alone, with `EIO`: opening what is there, reading, listing, `stat`, a link's target.
    Read(u64),
}

/// Whether a step needs room on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    Needed,
    NotNeeded,
}

/// What becomes of a step.
pub(super) enum Verdict {
    Happens,
    Fails(Fault),
    /// The machine stops at this step.
    Dies,
    /// It has stopped before.
    Dead,
}

/// The counters of one simulated machine, and what is armed on them.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// One line a step, for reports.
    pub trace: Vec<String>,
    reads: u64,
    failures: Vec<Failure>,
    crash_at: Option<u64>,
    stopped: bool,
}

impl Gate {
    pub fn steps(&self) -> u64 {
        self.trace.len() as u64
    }

    pub fn reads(&self) -> u64 {
        self.reads
    }

    pub fn stop(&mut self) {
        self.stopped = true;
    }

    pub fn crash_at(&mut self, step: u64) {
        self.crash_at = Some(self.steps() + step);
    }

    /// Arms a failure, counted from now.
    pub fn inject(&mut self, failure: Failure) {
        self.failures.push(match failure {
            Failure::Step(step, fault) => Failure::Step(self.steps() + step, fault),
            Failure::From(step, fault) => Failure::From(self.steps() + step, fault),
            Failure::Read(read) => Failure::Read(self.reads + read),
        });
    }

    pub fn clear_failures(&mut self) {
        self.failures.clear();
    }

    /// Counts a step, and says what becomes of it.
    pub fn step(&mut self, what: String, room: Room) -> Verdict {
        if self.stopped {
            return Verdict::Dead;
        }
        let now = self.steps();
        self.trace.push(what);
        if self.crash_at == Some(now) {
            self.stopped = true;
            return Verdict::Dies;
        }
        let strikes = |failure: &Failure| match *failure {
            Failure::Step(at, fault) if at == now => Some(fault),
            Failure::From(at, fault) if at <= now => {
                (fault == Fault::Io || room == Room::Needed).then_some(fault)
            }
            _ => None,
        };
        match self.failures.iter().find_map(strikes) {
            Some(fault) => Verdict::Fails(fault),
            None => Verdict::Happens,
        }
    }

    /// Counts a read.
    pub fn read(&mut self) -> io::Result<()> {
        self.alive()?;
        let now = self.reads;
        self.reads += 1;
        if self.failures.contains(&Failure::Read(now)) {
            return Err(Errno::IO.into());
        }
        Ok(())
    }

    pub fn alive(&self) -> io::Result<()> {
        if self.stopped {
            return Err(stopped());
        }
        Ok(())
    }
}

impl Fault {
    pub(super) fn error(self) -> io::Error {
        match self {
            Fault::Io => Errno::IO.into(),
            Fault::NoSpace | Fault::ShortWrite => Errno::NOSPC.into(),
        }
    }
}

#[derive(Debug)]
struct MachineStopped;

impl fmt::Display for MachineStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the machine stopped")
    }
}

impl std::error::Error for MachineStopped {}

pub(super) fn stopped() -> io::Error {
    io::Error::other(MachineStopped)
}

/// Whether the error is that of a machine which [`SimStorage::crash_at`](crate::SimStorage::crash_at)
/// or [`SimStorage::crash`](crate::SimStorage::crash) stopped.
pub fn is_stopped(error: &StorageError) -> bool {
    let inner = error.source.get_ref();
    inner.is_some_and(|inner| inner.is::<MachineStopped>())
}

/// The words of a step in a report.
pub(super) fn step_text(op: &str, path: &TreePath) -> String {
    format!("{op} {path}")
}
