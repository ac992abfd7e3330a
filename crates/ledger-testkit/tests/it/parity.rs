//! The simulated disk answers as the real one does, error by error.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;

use ledger_core::TreePath;
use ledger_core::storage::{
    FileKind, OpenMode, OsStorage, RenameMode, Stat, Storage, StorageError, StorageFile,
    read_to_end,
};
use ledger_testkit::SimStorage;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::path;

#[derive(Debug, Clone)]
enum Call {
    Open(usize, TreePath, OpenMode),
    Close(usize),
    Read(usize),
    Write(usize, Vec<u8>, u64),
    SetLen(usize, u64),
    SetMode(usize, u32),
    Sync(usize),
    Lock(usize),
    StatOpen(usize),
    Stat(TreePath),
    List(TreePath),
    ReadLink(TreePath),
    MakeLink(TreePath, Vec<u8>),
    MakeDir(TreePath),
    Remove(TreePath),
    RemoveDir(TreePath),
    Rename(TreePath, TreePath, RenameMode),
    SyncDir(TreePath),
}

const SLOTS: usize = 3;

fn any_path() -> impl Strategy<Value = TreePath> {
    let name = prop_oneof![
        30 => select(vec!["a", "b", "c"]).prop_map(str::to_owned),
        1 => Just("n".repeat(256)),
    ];
    prop_oneof![
        20 => vec(name, 1..4).prop_map(|names| path(&names.join("/"))),
        1 => Just(TreePath::root()),
    ]
}

fn any_call() -> impl Strategy<Value = Call> {
    let slot = || 0..SLOTS;
    let bits = || select(vec![0o600, 0o644, 0o700, 0o755]);
    let mode = prop_oneof![
        Just(OpenMode::Read),
        Just(OpenMode::Write),
        // Bits that no umask takes away.
        Just(OpenMode::Create(0o600)),
        Just(OpenMode::CreateNew(0o700)),
    ];
    let rename = select(vec![
        RenameMode::Replace,
        RenameMode::NoReplace,
        RenameMode::Exchange,
    ]);
    prop_oneof![
        6 => (slot(), any_path(), mode).prop_map(|(slot, path, mode)| Call::Open(slot, path, mode)),
        1 => slot().prop_map(Call::Close),
        2 => slot().prop_map(Call::Read),
        3 => (slot(), vec(any::<u8>(), 0..20), 0..40u64)
            .prop_map(|(slot, bytes, offset)| Call::Write(slot, bytes, offset)),
        2 => (slot(), 0..40u64).prop_map(|(slot, len)| Call::SetLen(slot, len)),
        1 => (slot(), bits()).prop_map(|(slot, bits)| Call::SetMode(slot, bits)),
        1 => slot().prop_map(Call::Sync),
        1 => slot().prop_map(Call::Lock),
        1 => slot().prop_map(Call::StatOpen),
        1 => any_path().prop_map(Call::Stat),
        1 => any_path().prop_map(Call::List),
        1 => any_path().prop_map(Call::ReadLink),
        3 => (any_path(), select(vec![&b"a"[..], b"b/c", b"../up", b""]))
            .prop_map(|(path, target)| Call::MakeLink(path, target.to_vec())),
        6 => any_path().prop_map(Call::MakeDir),
        3 => any_path().prop_map(Call::Remove),
        2 => any_path().prop_map(Call::RemoveDir),
        8 => (any_path(), any_path(), rename)
            .prop_map(|(from, to, mode)| Call::Rename(from, to, mode)),
        1 => any_path().prop_map(Call::SyncDir),
    ]
}

/// A disk and the files held open on it.
struct Side<'a> {
    disk: &'a dyn Storage,
    open: [Option<Box<dyn StorageFile>>; SLOTS],
}

impl<'a> Side<'a> {
    fn new(disk: &'a dyn Storage) -> Self {
        let open = Default::default();
        Side { disk, open }
    }

    /// What a call answers, in words.
    fn answer(&mut self, call: &Call) -> String {
        let answer = match call {
            Call::Open(slot, path, mode) => {
                // Closed first, or the lock of the file replaced would depend on which goes first.
                self.open[*slot] = None;
                self.disk.open(path, *mode).map(|file| {
                    self.open[*slot] = Some(file);
                    String::new()
                })
            }
            Call::Close(slot) => {
                self.open[*slot] = None;
                Ok(String::new())
            }
            Call::Read(slot) => self.with(*slot, |file| {
                read_to_end(file, 0).map(|bytes| format!("{bytes:?}"))
            }),
            Call::Write(slot, bytes, offset) => {
                self.with(*slot, |file| done(file.write_at(bytes, *offset)))
            }
            Call::SetLen(slot, len) => self.with(*slot, |file| done(file.set_len(*len))),
            Call::SetMode(slot, bits) => self.with(*slot, |file| done(file.set_mode(*bits))),
            Call::Sync(slot) => self.with(*slot, |file| done(file.sync())),
            Call::Lock(slot) => self.with(*slot, |file| file.try_lock().map(|got| got.to_string())),
            Call::StatOpen(slot) => self.with(*slot, |file| file.stat().map(|stat| shown(&stat))),
            Call::Stat(path) => self.disk.stat(path).map(|stat| shown(&stat)),
            Call::List(dir) => self.disk.list(dir).map(|entries| {
                let mut lines: Vec<_> = entries
                    .iter()
                    .map(|entry| format!("{} {}", entry.name.escape_ascii(), shown(&entry.stat)))
                    .collect();
                lines.sort();
                lines.join(", ")
            }),
            Call::ReadLink(path) => self
                .disk
                .read_link(path)
                .map(|target| format!("{target:?}")),
            Call::MakeLink(path, target) => done(self.disk.create_link(path, target)),
            Call::MakeDir(path) => done(self.disk.create_dir(path, 0o700)),
            Call::Remove(path) => done(self.disk.remove_file(path)),
            Call::RemoveDir(path) => done(self.disk.remove_dir(path)),
            Call::Rename(from, to, mode) => done(self.disk.rename(from, to, *mode)),
            Call::SyncDir(path) => done(self.disk.sync_dir(path)),
        };
        answer.unwrap_or_else(|error| format!("{} {:?}", error, error_of(&error)))
    }

    fn with(
        &self,
        slot: usize,
        call: impl FnOnce(&dyn StorageFile) -> Result<String, StorageError>,
    ) -> Result<String, StorageError> {
        self.open[slot].as_deref().map_or(Ok(String::new()), call)
    }

    fn tree(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut dirs = vec![TreePath::root()];
        while let Some(dir) = dirs.pop() {
            for entry in self.disk.list(&dir).unwrap() {
                let path = dir.join(&entry.name).unwrap();
                let content = match entry.stat.kind {
                    FileKind::Symlink => self.answer(&Call::ReadLink(path.clone())),
                    FileKind::Dir => self.answer(&Call::List(path.clone())),
                    _ => {
                        self.answer(&Call::Open(0, path.clone(), OpenMode::Read));
                        self.answer(&Call::Read(0))
                    }
                };
                lines.push(format!("{path} {} {content}", shown(&entry.stat)));
                if entry.stat.kind == FileKind::Dir {
                    dirs.push(path);
                }
            }
        }
        lines.sort();
        lines
    }
}

fn done(result: Result<(), StorageError>) -> Result<String, StorageError> {
    result.map(|()| String::new())
}

/// What of a `stat` does not depend on the machine.
fn shown(stat: &Stat) -> String {
    let size = if stat.kind == FileKind::Dir {
        0
    } else {
        stat.size
    };
    format!("{:?} {size} {:o}", stat.kind, stat.mode)
}

fn error_of(error: &StorageError) -> (io::ErrorKind, Option<i32>) {
    (error.kind(), error.source.raw_os_error())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_call_answers_as_on_the_real_disk(calls in vec(any_call(), 1..60)) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let (real, simulated) = (OsStorage::open(dir.path()).unwrap(), SimStorage::new());
        let (mut real, mut simulated) = (Side::new(&real), Side::new(&simulated));
        for call in &calls {
            prop_assert_eq!(real.answer(call), simulated.answer(call), "{:?}", call);
        }
        prop_assert_eq!(real.tree(), simulated.tree());
    }
}
