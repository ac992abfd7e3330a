//! What follows an acknowledged change: patch files, and the snapshot that is due.
//!
//! Making a file before each sync of the rows would slow that sync several times, so patches wait until
//! recording pauses. Everything here can be made again, so nothing is waited for and no error is one.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::patches::{self, PatchJob};
use crate::workspace::Inner;

/// How long recording has to pause before the thread writes patches.
const PAUSE: Duration = Duration::from_millis(25);
/// Patches that are not kept waiting any longer.
const WAITING_MAX: usize = 512;

/// The queue of what is to follow, and the thread that works on it, if there is one.
pub(crate) struct FollowUps {
    inner: Arc<Inner>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    background: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Held by whoever works on what was taken from the queue.
    working: Mutex<()>,
}

#[derive(Default)]
struct Queue {
    jobs: Vec<PatchJob>,
    /// Whether something was recorded since snapshots were last thought of.
    recorded: bool,
    closed: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FollowUps {
    pub fn new(inner: Arc<Inner>, background: bool) -> Self {
        FollowUps {
            inner,
            shared: Arc::default(),
            thread: Mutex::new(None),
            background,
        }
    }

    /// Adds what was recorded.
    pub fn add(&self, mut jobs: Vec<PatchJob>) {
        let mut queue = locked(&self.shared.queue);
        queue.jobs.append(&mut jobs);
        queue.recorded = true;
        drop(queue);
        if self.background {
            self.start();
            self.shared.changed.notify_one();
        }
    }

    fn start(&self) {
        let mut thread = locked(&self.thread);
        if thread.is_none() {
            let (inner, shared) = (Arc::clone(&self.inner), Arc::clone(&self.shared));
            let spawned = std::thread::Builder::new()
                .name("ledger-follow-up".to_owned())
                .spawn(move || work_until_closed(&inner, &shared));
            // Without a thread, `settle` and drop do the work.
            *thread = spawned.ok();
        }
    }

    /// Does all that is waiting, on this thread.
    pub fn settle(&self) {
        work(&self.inner, &self.shared);
    }
}

impl Drop for FollowUps {
    fn drop(&mut self) {
        locked(&self.shared.queue).closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = locked(&self.thread).take() {
            // A panic of the thread is its own; what it left is done here.
            let _ = thread.join();
        }
        work(&self.inner, &self.shared);
    }
}

fn work_until_closed(inner: &Inner, shared: &Shared) {
    loop {
        let mut queue = locked(&shared.queue);
        while !queue.closed && !queue.recorded {
            queue = shared
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        // Wait for a pause, but not for ever.
        while !queue.closed && queue.jobs.len() < WAITING_MAX {
            let before = queue.jobs.len();
            let waited = shared.changed.wait_timeout(queue, PAUSE);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            if queue.jobs.len() == before {
                break;
            }
        }
        let closed = queue.closed;
        drop(queue);
        work(inner, shared);
        if closed {
            return;
        }
    }
}

fn work(inner: &Inner, shared: &Shared) {
    let _working = locked(&shared.working);
    let (jobs, recorded) = {
        let mut queue = locked(&shared.queue);
        (
            std::mem::take(&mut queue.jobs),
            std::mem::take(&mut queue.recorded),
        )
    };
    if let Err(error) = patches::write(inner.storage.as_ref(), &jobs, inner.token()) {
        inner.warn(format!(
            "patches could not be written: {error}: {}",
            error.source
        ));
    }
    if recorded && let Err(error) = inner.snapshot_if_due() {
        inner.warn(format!(
            "the snapshot that is due could not be taken: {error}"
        ));
    }
}
