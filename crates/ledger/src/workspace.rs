//! A workspace: its ledger, its snapshots, its policy.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ledger_core::log::{
    LOCK_TIMEOUT, Lock, LockError, Log, Notice, ReadError, Seams, Standing, StandingError, View,
};
use ledger_core::refs::{Point, RefError, resolve};
use ledger_core::storage::{OsStorage, Storage};
use ledger_core::{System, layout};
use ledger_replay::{RebuildError, SnapshotSource, State};

use crate::config::{Config, ConfigError};
use crate::follow::FollowUps;
use crate::recent::Recent;

/// A workspace cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The root is not a directory that can be opened.
    #[error("cannot open {path}")]
    Root {
        /// The root.
        path: std::path::PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// There is no ledger at or above a directory.
    #[error("there is no ledger in {0} or above it")]
    NotFound(std::path::PathBuf),
    /// The ledger cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// How a workspace is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether semantic blocks are looked for.
    pub semantics: bool,
    /// Whether patches and snapshots are made on a thread of their own. Otherwise they wait for
    /// [`Workspace::settle`], or for the workspace to be dropped.
    pub background: bool,
    /// How long a lock is waited for.
    pub lock_timeout: std::time::Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            semantics: true,
            background: true,
            lock_timeout: LOCK_TIMEOUT,
        }
    }
}

/// A directory whose files are remembered. It may be used from many threads at once.
pub struct Workspace {
    pub(crate) inner: Arc<Inner>,
    follow: FollowUps,
}

/// What the workspace and its background thread share.
pub(crate) struct Inner {
    pub log: Log,
    pub storage: Arc<dyn Storage>,
    pub snapshots: SnapshotSource,
    pub config: Config,
    pub options: Options,
    pub recent: Recent,
    warnings: Mutex<Vec<String>>,
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workspace {
    /// Opens the workspace whose root is `root`, as most callers want it: with its configuration, the
    /// environment's variables, and the machine's disk and clock.
    pub fn open(root: impl AsRef<Path>) -> Result<Self, OpenError> {
        Workspace::open_with(root, Options::default())
    }

    /// The same with options.
    pub fn open_with(root: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        let seams = machine(root.as_ref(), &options)?;
        let config = Config::load(seams.storage.as_ref())?
            .with_variables(|name| std::env::var(name).ok())?;
        Workspace::open_on(seams, config, options)
    }

    /// Opens a workspace on seams of the caller's.
    pub fn open_on(seams: Seams, config: Config, options: Options) -> Result<Self, OpenError> {
        let storage = Arc::clone(&seams.storage);
        let log = Log::open(seams)?;
        Ok(Workspace::assemble(log, storage, config, options))
    }

    pub(crate) fn assemble(
        log: Log,
        storage: Arc<dyn Storage>,
        config: Config,
        options: Options,
    ) -> Self {
        let background = options.background;
        let inner = Arc::new(Inner {
            log,
            snapshots: SnapshotSource::new(Arc::clone(&storage)),
            storage,
            config,
            options,
            recent: Recent::default(),
            warnings: Mutex::default(),
        });
        let follow = FollowUps::new(Arc::clone(&inner), background);
        Workspace { inner, follow }
    }

    /// Finds the root of the workspace that `dir` lies in: the nearest directory, upwards, with a ledger.
    pub fn find_root(dir: &Path) -> Result<std::path::PathBuf, OpenError> {
        let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
        let ledger = layout::events().to_string();
        // One that may not be looked at is there, too: opening it says why it cannot be.
        let found =
            absolute
                .ancestors()
                .find(|above| match above.join(&ledger).symlink_metadata() {
                    Ok(_) => true,
                    Err(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
                });
        found
            .map(Path::to_path_buf)
            .ok_or(OpenError::NotFound(absolute))
    }

    pub(crate) fn log(&self) -> &Log {
        &self.inner.log
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        self.inner.storage.as_ref()
    }

    pub(crate) fn snapshots(&self) -> &SnapshotSource {
        &self.inner.snapshots
    }

    pub(crate) fn recent(&self) -> &Recent {
        &self.inner.recent
    }

    pub(crate) fn semantics(&self) -> bool {
        self.inner.options.semantics
    }

    pub(crate) fn token(&self) -> u64 {
        self.inner.token()
    }

    pub(crate) fn follow_up(&self, jobs: Vec<crate::patches::PatchJob>) {
        self.follow.add(jobs);
    }

    /// The policy in force.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// The ledger as it is now.
    pub fn view(&self) -> Result<View, ReadError> {
        self.log().view()
    }

    /// Where the workspace stands.
    pub fn standing(&self) -> Result<Standing, StandingError> {
        let view = self.log().view().map_err(|error| match error {
            ReadError::Storage(error) => StandingError::Storage(error),
            other => StandingError::Invalid(other.to_string()),
        })?;
        Standing::read(self.storage(), &view)
    }

    /// Finds what a ref names.
    pub fn resolve(&self, text: &str) -> Result<Point, RefError> {
        let view = self.view()?;
        let current = self
            .standing()
            .map(|standing| standing.branch)
            .unwrap_or_default();
        resolve(&view, &current, text)
    }

    /// The tree as of an event; its contents are made when they are asked for.
    pub fn state(&self, event: ledger_core::EventId) -> Result<State, RebuildError> {
        State::rebuild(self.snapshots(), &self.view()?, event)
    }

    /// Makes the patches, and takes the snapshot, that are due after what was recorded. What fails is
    /// a warning: both can be made again.
    pub fn settle(&self) {
        self.follow.settle();
    }

    /// What should be told to the user since it was last asked.
    pub fn take_warnings(&self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut *locked(&self.inner.warnings));
        warnings.extend(self.log().take_notices().iter().map(Notice::to_string));
        warnings
    }

    pub(crate) fn warn(&self, warning: impl Into<String>) {
        self.inner.warn(warning);
    }

    pub(crate) fn scanner(&self, limit: u64) -> crate::scan::Scanner<'_> {
        crate::scan::Scanner {
            storage: self.storage(),
            clock: self.log().seams().clock.as_ref(),
            patterns: &self.config().ignore.patterns,
            limit,
        }
    }

    /// Tells of files that a scan left out.
    pub(crate) fn warn_of(&self, scan: &crate::scan::Scan) {
        for (path, bytes) in &scan.too_large {
            self.warn(format!("{path} has {bytes} bytes and is not tracked"));
        }
        for error in &scan.unreadable {
            self.warn(format!("{error}: {}", error.source));
        }
        for warning in &scan.warnings {
            self.warn(warning.to_string());
        }
    }

    /// Takes the lock of the working tree.
    pub(crate) fn lock_worktree(&self) -> Result<Lock, LockError> {
        let seams = self.log().seams();
        Lock::take(
            self.storage(),
            &layout::worktree_lock(),
            seams.clock.as_ref(),
            seams.ids.as_ref(),
            seams.lock_timeout,
        )
    }
}

impl Inner {
    pub fn token(&self) -> u64 {
        self.log.seams().ids.random()
    }

    pub fn warn(&self, warning: impl Into<String>) {
        locked(&self.warnings).push(warning.into());
    }
}

/// The machine's own disk, clock and ids, for a root.
pub(crate) fn machine(root: &Path, options: &Options) -> Result<Seams, OpenError> {
    let storage = OsStorage::open(root).map_err(|source| OpenError::Root {
        path: root.to_path_buf(),
        source,
    })?;
    Ok(Seams {
        storage: Arc::new(storage),
        clock: Arc::new(System),
        ids: Arc::new(System),
        lock_timeout: options.lock_timeout,
    })
}
