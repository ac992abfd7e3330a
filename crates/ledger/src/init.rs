//! Making a ledger: the present tree becomes the first snapshot.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ledger_core::log::{AppendError, Batch, Log, On, Seams, Standing};
use ledger_core::storage::{
    Durability, PRIVATE_DIR, Storage, StorageError, create_dirs, if_present, write_atomically,
};
use ledger_core::{Action, Body, Digest, EventId, SnapshotId, Timestamp, TreePath, layout};
use ledger_snapshot::{
    ArchiveWriteError, ArchiveWriter, Member, StatCache, Tree, Written, mode_of, read_stable,
};

use crate::config::Config;
use crate::provenance::Provenance;
use crate::scan::{Scan, Scope};
use crate::snapshots::{SnapshotError, create_snapshot_dirs, snapshot_body, stage};
use crate::workspace::{OpenError, Options, Workspace, machine};

/// A ledger was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InitError {
    /// There is a ledger already.
    #[error("there is a ledger here already")]
    Exists,
    /// The root or its configuration cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The first snapshot could not be taken.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl From<AppendError> for InitError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Exists => InitError::Exists,
            other => InitError::Snapshot(other.into()),
        }
    }
}

/// What was made.
#[derive(Debug)]
pub struct Initialized {
    /// The workspace.
    pub workspace: Workspace,
    /// How many files were recorded.
    pub files: usize,
    /// Bytes of the first snapshot.
    pub bytes: u64,
    /// What was left out.
    pub scan: Scan,
}

/// How often the tree is read again when files change while it is.
const TRIES: usize = 8;

/// The first branch.
const FIRST_BRANCH: &str = "main";

impl Workspace {
    /// Makes a ledger in `root`, and records the present tree as its first snapshot. All of it is
    /// durable when it returns; until then there is no ledger.
    pub fn init(
        root: impl AsRef<Path>,
        provenance: &Provenance,
        options: Options,
    ) -> Result<Initialized, InitError> {
        let seams = machine(root.as_ref(), &options)?;
        let config = Config::load(seams.storage.as_ref())
            .and_then(|config| config.with_variables(|name| std::env::var(name).ok()))
            .map_err(OpenError::from)?;
        Workspace::init_on(seams, config, provenance, options)
    }

    /// The same on seams of the caller's.
    pub fn init_on(
        seams: Seams,
        config: Config,
        provenance: &Provenance,
        options: Options,
    ) -> Result<Initialized, InitError> {
        let storage = Arc::clone(&seams.storage);
        let (ids, clock) = (Arc::clone(&seams.ids), Arc::clone(&seams.clock));
        let mut found = None;
        let mut cache = StatCache::new();
        let log = Log::create(seams, |_| {
            let storage = storage.as_ref();
            create_snapshot_dirs(storage).map_err(SnapshotError::from)?;
            create_dirs(
                storage,
                &layout::cache_dir(),
                PRIVATE_DIR,
                Durability::Durable,
            )
            .map_err(SnapshotError::from)?;
            hide_from_git(storage, ids.random()).map_err(SnapshotError::from)?;
            let id = SnapshotId(1);
            let base = EventId::GENESIS;
            let named = (id, clock.now(), "init");
            let mut scan = Scan::default();
            let staged = stage(storage, ids.random(), named, (base, 0), |file| {
                let scanner = crate::scan::Scanner {
                    storage,
                    clock: clock.as_ref(),
                    patterns: &config.ignore.patterns,
                    limit: config.record.max_file_size,
                };
                let (written, seen) = archive_present(&scanner, file, &mut cache)?;
                scan = seen;
                Ok(written)
            })?;
            staged.publish(storage).map_err(SnapshotError::from)?;
            let standing = Standing {
                branch: FIRST_BRANCH.to_owned(),
                event: base.next(),
            };
            standing
                .write(storage, ids.random())
                .map_err(SnapshotError::from)?;
            let mut genesis = Body::new(provenance.author.clone(), Action::MetaNote, FIRST_BRANCH);
            genesis.rationale = Some("ledger initialized".to_owned());
            found = Some((scan, staged.files, staged.note.bytes));
            let bodies = vec![genesis, snapshot_body(&staged, FIRST_BRANCH)];
            Ok::<_, InitError>(Batch {
                bodies,
                on: On::Tip,
                key: None,
            })
        })?;
        let workspace = Workspace::assemble(log, storage, config, options);
        workspace.write_bookmarks();
        let (scan, files, bytes) = found.unwrap_or_default();
        if let Err(error) = cache.save(
            workspace.storage(),
            &layout::stat_cache(),
            workspace.token(),
        ) {
            workspace.warn(format!("the stat cache could not be saved: {error}"));
        }
        Ok(Initialized {
            workspace,
            files,
            bytes,
            scan,
        })
    }
}

/// Keeps git from adding the ledger to a commit, and `git clean` from removing it.
fn hide_from_git(storage: &dyn Storage, token: u64) -> Result<(), StorageError> {
    let Ok(path) = TreePath::parse(".user/.gitignore") else {
        return Ok(());
    };
    match if_present(storage.stat(&path))? {
        Some(_) => Ok(()),
        None => write_atomically(storage, &path, b"*\n", token, Durability::Derived),
    }
}

/// A file whose length was another when it was read.
struct Resized(ledger_core::TreePath);

/// Archives the files that stand on disk now. What changes while it is read is read again.
fn archive_present(
    scanner: &crate::scan::Scanner<'_>,
    file: &dyn ledger_core::storage::StorageFile,
    cache: &mut StatCache,
) -> Result<(Written, Scan), SnapshotError> {
    let mut changing = None;
    for _ in 0..TRIES {
        let scan = scanner.scan(&Tree::new(), Scope::Everything, &mut StatCache::new())?;
        let members: Vec<Member> = scan
            .unrecorded
            .iter()
            .filter_map(|new| {
                let on_disk = new.after?;
                let (path, mode, size) = (new.path.clone(), on_disk.mode, on_disk.size);
                Some(Member {
                    path,
                    mode,
                    size,
                    hash: None,
                })
            })
            .collect();
        let read_at: Timestamp = scanner.clock.now();
        let resized: Mutex<Option<Resized>> = Mutex::new(None);
        let stats = Mutex::new(Vec::with_capacity(members.len()));
        file.set_len(0)?;
        let written = ArchiveWriter::new(&members).write(file, |member: &Member| {
            let read = read_stable(scanner.storage, &member.path, scanner.limit)?;
            let same = read.content.len() as u64 == member.size
                && mode_of(&read.stat) == Some(member.mode);
            if !same {
                *resized.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(Resized(member.path.clone()));
            }
            let known = (member.path.clone(), read.stat, Digest::of(&read.content));
            stats
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(known);
            Ok::<_, ledger_snapshot::ReadFileError>(read.content)
        });
        let resized = resized.into_inner().unwrap_or_else(PoisonError::into_inner);
        match (written, resized) {
            (Ok(written), None) => {
                for (path, stat, hash) in stats.into_inner().unwrap_or_else(PoisonError::into_inner)
                {
                    cache.insert(path, &stat, &hash, read_at);
                }
                return Ok((written, scan));
            }
            (_, Some(Resized(path))) => changing = Some(path),
            (Err(error), None) => match went_away(&error) {
                Some(path) => changing = Some(path),
                None => return Err(error.into()),
            },
        }
    }
    let path = changing.unwrap_or_else(ledger_core::TreePath::root);
    Err(SnapshotError::KeepsChanging { path })
}

/// The file that was gone, or no file any more, when it should have been read.
fn went_away(error: &ArchiveWriteError) -> Option<ledger_core::TreePath> {
    let ArchiveWriteError::Content { path, source } = error else {
        return None;
    };
    let gone = source
        .downcast_ref::<ledger_snapshot::ReadFileError>()
        .is_some_and(|error| match error {
            ledger_snapshot::ReadFileError::Storage(error) => error.is_absent(),
            _ => true,
        });
    gone.then(|| path.clone())
}
