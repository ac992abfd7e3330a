//! Files, links and directories by number: what the process sees of each, and what the disk holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger_core::storage::{FileKind, Stat};

/// The number of a file, link or directory; never used twice, unlike on a real disk.
pub(super) type Ino = u64;

/// The names in a directory.
pub(super) type Names = BTreeMap<Box<[u8]>, Ino>;

/// One state of a file, link or directory.
#[derive(Debug, Clone)]
pub(super) struct Face {
    pub body: Body,
    pub mode: u32,
    pub mtime_ns: i64,
    pub ctime_ns: i64,
}

/// What it holds; shared between copies of a disk until it changes.
#[derive(Debug, Clone)]
pub(super) enum Body {
    File(Arc<Vec<u8>>),
    Link(Arc<[u8]>),
    Dir(Arc<Names>),
}

/// A file, link or directory.
#[derive(Debug, Clone)]
pub(super) struct Inode {
    /// What the process sees: the page cache.
    pub live: Face,
    /// What the disk certainly holds.
    pub durable: Face,
    /// What happened to the file since, oldest first.
    log: Vec<FileOp>,
}

/// One change to a file's bytes or attributes.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Write {
        offset: u64,
        bytes: Arc<[u8]>,
    },
    SetLen(u64),
    /// At least this long; a hole of zeros that a crash leaves.
    Grow(u64),
    SetMode(u32),
}

#[derive(Debug, Clone)]
struct FileOp {
    change: Change,
    at_ns: i64,
    standing: Standing,
}

/// How sure a change is to be on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It waits for a sync.
    Pending,
    /// A sync failed on it: its pages count as clean, so that no later sync writes them.
    InDoubt,
    /// It is durable, but stands after one that is in doubt, and so cannot be folded in yet.
    Firm,
}

/// What a crash leaves of a change.
pub(super) enum Remains {
    Nothing,
    All,
    /// These instead: pieces of a write, or the length that it would have given.
    Parts(Vec<Change>),
}

impl Face {
    pub fn new(body: Body, mode: u32, at_ns: i64) -> Self {
        Face {
            body,
            mode,
            mtime_ns: at_ns,
            ctime_ns: at_ns,
        }
    }

    pub fn kind(&self) -> FileKind {
        match self.body {
            Body::File(_) => FileKind::File,
            Body::Link(_) => FileKind::Symlink,
            Body::Dir(_) => FileKind::Dir,
        }
    }

    pub fn is_dir(&self) -> bool {
        matches!(self.body, Body::Dir(_))
    }

    pub fn stat(&self, inode: Ino) -> Stat {
        let size = match &self.body {
            Body::File(bytes) => bytes.len() as u64,
            Body::Link(target) => target.len() as u64,
            Body::Dir(_) => 4096,
        };
        Stat {
            kind: self.kind(),
            size,
            mode: self.mode,
            mtime_ns: self.mtime_ns,
            ctime_ns: self.ctime_ns,
            inode,
        }
    }

    /// The bytes of a file; nothing for what is not one.
    pub fn bytes(&self) -> &[u8] {
        match &self.body {
            Body::File(bytes) => bytes,
            _ => &[],
        }
    }

    /// Gives `name` to `ino`, or takes the name away; returns whose it was.
    pub fn set_name(&mut self, name: &[u8], ino: Option<Ino>, at_ns: i64) -> Option<Ino> {
        let Body::Dir(names) = &mut self.body else {
            return None;
        };
        self.mtime_ns = at_ns;
        self.ctime_ns = at_ns;
        let names = Arc::make_mut(names);
        match ino {
            Some(ino) => names.insert(name.into(), ino),
            None => names.remove(name),
        }
    }

    fn apply(&mut self, change: &Change, at_ns: i64) {
        self.ctime_ns = at_ns;
        if let Change::SetMode(mode) = change {
            self.mode = *mode;
            return;
        }
        self.mtime_ns = at_ns;
        let Body::File(content) = &mut self.body else {
            return;
        };
        let content = Arc::make_mut(content);
        match change {
            Change::Write { offset, bytes } => {
                let start = *offset as usize;
                let end = start + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[start..end].copy_from_slice(bytes);
            }
            Change::SetLen(len) => content.resize(*len as usize, 0),
            Change::Grow(len) => content.resize(content.len().max(*len as usize), 0),
            Change::SetMode(_) => {}
        }
    }
}

impl Inode {
    /// One that was just made; a new file is empty on the disk, a link is whole.
    pub fn new(face: Face) -> Self {
        Inode {
            live: face.clone(),
            durable: face,
            log: Vec::new(),
        }
    }

    /// Changes the live image; the durable one follows when it is synced.
    pub fn change(&mut self, change: Change, at_ns: i64) {
        self.live.apply(&change, at_ns);
        self.log.push(FileOp {
            change,
            at_ns,
            standing: Standing::Pending,
        });
    }

    /// Makes what is pending durable; a change of the mode only along with one of the bytes.
    pub fn sync(&mut self) {
        let waits = |op: &&mut FileOp| op.standing == Standing::Pending;
        let of_data = |op: &FileOp| {
            op.standing == Standing::Pending && !matches!(op.change, Change::SetMode(_))
        };
        if !self.log.iter().any(of_data) {
            return;
        }
        for op in self.log.iter_mut().filter(waits) {
            op.standing = Standing::Firm;
        }
        let firm = |op: &FileOp| op.standing == Standing::Firm;
        let settled = self.log.iter().take_while(|op| firm(op)).count();
        for op in self.log.drain(..settled) {
            self.durable.apply(&op.change, op.at_ns);
        }
    }

    /// A sync that failed: what was pending may be on the disk or not, and no sync will tell.
    pub fn fail_sync(&mut self) {
        for op in &mut self.log {
            if op.standing == Standing::Pending {
                op.standing = Standing::InDoubt;
            }
        }
    }

    /// Makes the live image durable, doubts and all.
    pub fn settle(&mut self) {
        self.durable = self.live.clone();
        self.log.clear();
    }

    /// Makes the durable image, with what remains of the changes that are not sure, the only one.
    pub fn crash(&mut self, mut remains: impl FnMut(&Change) -> Remains) {
        for op in std::mem::take(&mut self.log) {
            let left = match op.standing {
                Standing::Firm => Remains::All,
                Standing::Pending | Standing::InDoubt => remains(&op.change),
            };
            match left {
                Remains::Nothing => {}
                Remains::All => self.durable.apply(&op.change, op.at_ns),
                Remains::Parts(parts) => {
                    for part in &parts {
                        self.durable.apply(part, op.at_ns);
                    }
                }
            }
        }
        self.live = self.durable.clone();
    }
}
