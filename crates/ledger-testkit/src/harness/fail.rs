//! Failed at each step and each read.

use std::fmt::Debug;

use super::{Acks, placed, rehearse, step_of};
use crate::{Failure, Fault, SimStorage};

/// Fails an operation at every storage call; the settings of [`fail_everywhere`].
#[derive(Debug)]
pub struct FailTest<'a> {
    prepared: &'a SimStorage,
    only: Option<Failure>,
}

/// Fails `operation` at each of its steps - with each [`Fault`], that once or from there on - and at each of
/// its reads. Then clears the failures and hands the same disk, which has not crashed, to `check`, with what
/// was promised and what the operation answered. Returns how many failures were tried.
///
/// The operation may also succeed, where it can do without what failed. A check will want to try again on
/// the disk, and to [`crash`](SimStorage::crash) it.
///
/// # Panics
///
/// When the operation or the check does; the message names the failure, for [`FailTest::only`].
pub fn fail_everywhere<A, E: Debug>(
    prepared: &SimStorage,
    operation: impl Fn(&SimStorage, &Acks<A>) -> Result<(), E>,
    check: impl Fn(&SimStorage, &[A], Result<(), E>),
) -> u64 {
    FailTest::on(prepared).run(operation, check)
}

impl<'a> FailTest<'a> {
    /// A test that begins with `prepared`, which it leaves as it is.
    pub fn on(prepared: &'a SimStorage) -> Self {
        let only = None;
        FailTest { prepared, only }
    }

    /// Tries one failure, to run again what a panic named.
    #[must_use]
    pub fn only(mut self, failure: Failure) -> Self {
        self.only = Some(failure);
        self
    }

    /// Runs it; see [`fail_everywhere`].
    pub fn run<A, E: Debug>(
        self,
        operation: impl Fn(&SimStorage, &Acks<A>) -> Result<(), E>,
        check: impl Fn(&SimStorage, &[A], Result<(), E>),
    ) -> u64 {
        let rehearsal = rehearse(self.prepared, &operation);
        let trace = rehearsal.trace();
        let failures = match self.only {
            Some(failure) => vec![failure],
            None => failures(rehearsal.steps(), rehearsal.reads()),
        };
        for &failure in &failures {
            let place = || {
                let where_text = match failure {
                    Failure::Step(step, _) | Failure::From(step, _) => step_of(step, &trace),
                    Failure::Read(read) => format!("read {read}"),
                };
                format!("failed at {where_text}, rerun with .only(Failure::{failure:?})")
            };
            let disk = self.prepared.fork();
            disk.inject(failure);
            let acks = Acks::new();
            let answer = placed(place, || operation(&disk, &acks));
            disk.clear_failures();
            placed(place, || check(&disk, &acks.lock(), answer));
        }
        failures.len() as u64
    }
}

fn failures(steps: u64, reads: u64) -> Vec<Failure> {
    let of_step = |step| {
        let faults = [Fault::Io, Fault::NoSpace, Fault::ShortWrite];
        faults.map(|fault| [Failure::Step(step, fault), Failure::From(step, fault)])
    };
    let of_steps = (0..steps).flat_map(of_step).flatten();
    of_steps.chain((0..reads).map(Failure::Read)).collect()
}
