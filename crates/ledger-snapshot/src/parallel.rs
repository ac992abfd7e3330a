//! Work spread over threads, with results in order and bounded memory.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

/// As many threads as the machine runs at once.
pub(crate) fn all_cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Locks; a panic elsewhere is already on its way up, and leaves no state that is read after it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Starts a scoped thread; false where the system has none to give.
pub(crate) fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() + Send + 'scope,
) -> bool {
    Builder::new().spawn_scoped(scope, work).is_ok()
}

struct Queue<T> {
    next_start: usize,
    next_take: usize,
    in_flight: u64,
    /// Results from `next_take` on, as far as they are there.
    done: VecDeque<Option<T>>,
    stopped: bool,
}

/// Jobs whose results are taken in order, with a bound on what is held between start and taking.
pub(crate) struct Ordered<W> {
    /// How many jobs.
    pub count: usize,
    /// On how many threads, beside the calling one.
    pub threads: NonZeroUsize,
    /// Bytes that all started and not yet taken jobs may weigh; one job may always run.
    pub budget: u64,
    /// What a job weighs.
    pub weight: W,
}

impl<W: Fn(usize) -> u64 + Sync> Ordered<W> {
    /// Runs `work` for each job, and gives the results to `take` in order on this thread.
    ///
    /// Each thread has one `S`, for what is costly to make. The first error in order ends it.
    pub fn run<S: Default, T: Send, E: Send>(
        &self,
        work: impl Fn(&mut S, usize) -> Result<T, E> + Sync,
        mut take: impl FnMut(usize, T) -> Result<(), E>,
    ) -> Result<(), E> {
        let queue = Mutex::new(Queue {
            next_start: 0,
            next_take: 0,
            in_flight: 0,
            done: VecDeque::new(),
            stopped: false,
        });
        let changed = Condvar::new();
        let worker = || {
            let _stop = StopOnPanic(&queue, &changed);
            let mut scratch = S::default();
            while let Some(job) = self.start(&queue, &changed) {
                let result = work(&mut scratch, job);
                let mut queue = lock(&queue);
                let slot = job - queue.next_take;
                if queue.done.len() <= slot {
                    queue.done.resize_with(slot + 1, || None);
                }
                queue.done[slot] = Some(result);
                changed.notify_all();
            }
        };
        std::thread::scope(|scope| {
            let threads = self.threads.get().min(self.count);
            let spawned = (0..threads).filter(|_| spawn(scope, worker)).count();
            if spawned == 0 {
                let mut scratch = S::default();
                return (0..self.count).try_for_each(|job| take(job, work(&mut scratch, job)?));
            }
            // However it ends, the workers must not wait for more.
            let _stop = StopOnDrop(&queue, &changed);
            for job in 0..self.count {
                let Some(result) = self.finished(&queue, &changed) else {
                    // A worker panicked; leaving the scope passes that on.
                    break;
                };
                take(job, result?)?;
                let mut queue = lock(&queue);
                queue.in_flight -= (self.weight)(job);
                changed.notify_all();
            }
            Ok(())
        })
    }

    /// Waits for room, and names the next job.
    fn start<T>(&self, queue: &Mutex<Queue<T>>, changed: &Condvar) -> Option<usize> {
        let mut queue = lock(queue);
        loop {
            let job = queue.next_start;
            if queue.stopped || job == self.count {
                return None;
            }
            let weight = (self.weight)(job);
            let idle = queue.in_flight == 0;
            if idle || queue.in_flight.saturating_add(weight) <= self.budget {
                queue.next_start += 1;
                queue.in_flight += weight;
                return Some(job);
            }
            queue = wait(changed, queue);
        }
    }

    /// Waits for the next result in order.
    fn finished<T>(&self, queue: &Mutex<Queue<T>>, changed: &Condvar) -> Option<T> {
        let mut queue = lock(queue);
        loop {
            if let Some(Some(_)) = queue.done.front() {
                queue.next_take += 1;
                return queue.done.pop_front().flatten();
            }
            if queue.stopped {
                return None;
            }
            queue = wait(changed, queue);
        }
    }
}

struct StopOnDrop<'a, T>(&'a Mutex<Queue<T>>, &'a Condvar);

impl<T> Drop for StopOnDrop<'_, T> {
    fn drop(&mut self) {
        lock(self.0).stopped = true;
        self.1.notify_all();
    }
}

struct StopOnPanic<'a, T>(&'a Mutex<Queue<T>>, &'a Condvar);

impl<T> Drop for StopOnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(self.0).stopped = true;
            self.1.notify_all();
        }
    }
}
