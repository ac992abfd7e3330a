//! What a crash leaves.

use std::collections::BTreeMap;

use super::disk::Disk;
use super::inode::{Change, Ino, Remains};
use super::journal::EntryOp;
use crate::rng::Rng;

/// How a machine stops, and so what is left of what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The process is killed (`kill -9`): the page cache lives, so all that was done is seen. What was
    /// not synced still is not: a second crash may take it.
    KeepAll,
    /// The same in the middle of a write: of the write that the machine stopped at, a part stands whose
    /// length the number decides.
    KeepTorn(u64),
    /// A power cut that takes everything that was not synced.
    DropAll,
    /// A power cut after the names were written, and before any bytes or lengths.
    KeepNames,
    /// A power cut after the bytes were written, and before any names.
    KeepBytes,
    /// A power cut with a fate for each change, drawn from the seed: names as a prefix for each directory;
    /// bytes whole, lost, cut short, as a hole of zeros or in scattered sectors, for each file on its own.
    Seeded(u64),
}

/// The unit that the parts of one write reach the disk in, in any order.
const SECTOR_BYTES: u64 = 512;

/// The write that the machine stopped at.
#[derive(Debug, Clone)]
pub(super) struct Dying {
    pub ino: Ino,
    pub offset: u64,
    pub bytes: Vec<u8>,
}

/// The disk that a crash leaves.
pub(super) fn survivor(mut disk: Disk, dying: Option<&Dying>, crash: Crash) -> Disk {
    match crash {
        Crash::KeepAll => {}
        Crash::KeepTorn(seed) => {
            if let Some(dying) = dying {
                let length = Rng::new(seed).below(dying.bytes.len() as u64) as usize;
                disk.change(dying.ino, dying.part(length.max(1)));
            }
        }
        Crash::DropAll => power_cut(&mut disk, |_| false, |_, _| Remains::Nothing),
        Crash::KeepNames => power_cut(&mut disk, |_| true, |_, _| Remains::Nothing),
        Crash::KeepBytes => power_cut(&mut disk, |_| false, |_, _| Remains::All),
        Crash::Seeded(seed) => {
            if let Some(dying) = dying {
                disk.change(dying.ino, dying.part(dying.bytes.len()));
            }
            let mut names = Fates::new(seed);
            let mut bytes = Fates::new(!seed);
            power_cut(
                &mut disk,
                |op| op.dirs().all(|dir| names.of(dir).keeps()),
                |ino, change| bytes.of(ino).leaves(change),
            );
        }
    }
    disk
}

impl Dying {
    fn part(&self, length: usize) -> Change {
        Change::Write {
            offset: self.offset,
            bytes: self.bytes[..length].into(),
        }
    }
}

fn power_cut(
    disk: &mut Disk,
    keep: impl FnMut(&EntryOp) -> bool,
    mut leave: impl FnMut(Ino, &Change) -> Remains,
) {
    let names = disk.journal.take_surviving(keep);
    disk.make_durable(&names);
    for (&ino, inode) in &mut disk.inodes {
        inode.crash(|change| leave(ino, change));
    }
}

/// The fates of the files, or of the directories, each with draws of its own.
struct Fates {
    seed: u64,
    parts: BTreeMap<Ino, Fate>,
}

struct Fate {
    temper: Temper,
    rng: Rng,
}

/// One file may be wholly written while its neighbour is not at all: likely enough to be worth a draw.
#[derive(Clone, Copy)]
enum Temper {
    KeepsAll,
    DropsAll,
    Mixed,
}

impl Fates {
    fn new(seed: u64) -> Self {
        let parts = BTreeMap::new();
        Fates { seed, parts }
    }

    fn of(&mut self, ino: Ino) -> &mut Fate {
        let seed = self.seed;
        self.parts.entry(ino).or_insert_with(|| {
            let mut rng = Rng::for_part(seed, ino);
            let temper = match rng.below(4) {
                0 => Temper::KeepsAll,
                1 => Temper::DropsAll,
                _ => Temper::Mixed,
            };
            Fate { temper, rng }
        })
    }
}

impl Fate {
    fn keeps(&mut self) -> bool {
        match self.temper {
            Temper::KeepsAll => true,
            Temper::DropsAll => false,
            Temper::Mixed => self.rng.below(4) > 0,
        }
    }

    fn leaves(&mut self, change: &Change) -> Remains {
        match (self.temper, change) {
            (Temper::KeepsAll, _) => Remains::All,
            (Temper::DropsAll, _) => Remains::Nothing,
            (Temper::Mixed, Change::Write { offset, bytes }) => self.leaves_of(*offset, bytes),
            (Temper::Mixed, _) if self.keeps() => Remains::All,
            (Temper::Mixed, _) => Remains::Nothing,
        }
    }

    fn leaves_of(&mut self, offset: u64, bytes: &[u8]) -> Remains {
        let end = offset + bytes.len() as u64;
        let prefix = |length: u64| Change::Write {
            offset,
            bytes: bytes[..length as usize].into(),
        };
        match self.rng.below(8) {
            0..=2 => Remains::All,
            3 | 4 => Remains::Nothing,
            5 => Remains::Parts(vec![prefix(self.rng.below(bytes.len() as u64))]),
            6 => {
                let written = prefix(self.rng.below(bytes.len() as u64));
                Remains::Parts(vec![written, Change::Grow(end)])
            }
            _ => {
                let mut parts = sectors(offset, bytes);
                parts.retain(|_| self.rng.below(2) == 0);
                Remains::Parts(parts)
            }
        }
    }
}

/// A write, cut where sectors of the file begin.
fn sectors(offset: u64, bytes: &[u8]) -> Vec<Change> {
    let (mut parts, mut offset, mut rest) = (Vec::new(), offset, bytes);
    while !rest.is_empty() {
        let room = (SECTOR_BYTES - offset % SECTOR_BYTES) as usize;
        let (part, after) = rest.split_at(room.min(rest.len()));
        let bytes = part.into();
        parts.push(Change::Write { offset, bytes });
        offset += part.len() as u64;
        rest = after;
    }
    parts
}
