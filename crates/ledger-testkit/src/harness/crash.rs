//! Stopped at each step.

use std::fmt::Debug;

use super::{Acks, placed, rehearse, step_of};
use crate::{Crash, SimStorage};

/// Stops an operation at every storage step; the settings of [`crash_everywhere`].
#[derive(Debug)]
pub struct CrashTest<'a> {
    prepared: &'a SimStorage,
    seeds: u64,
    only: Option<(u64, Crash)>,
}

/// Stops `operation` before each of its steps and after the last, and hands every disk that could be left,
/// with what had been promised by then, to `check`. Returns how many disks those were.
///
/// The operation runs once undisturbed, where it must succeed, then once a step, each time on a fork of
/// `prepared`. It should take the same steps each time; threads may make it take others.
///
/// # Panics
///
/// When the operation or the check does; the message names the step and the crash, for
/// [`CrashTest::only`].
pub fn crash_everywhere<A, E: Debug>(
    prepared: &SimStorage,
    operation: impl Fn(&SimStorage, &Acks<A>) -> Result<(), E>,
    check: impl Fn(&SimStorage, &[A]),
) -> u64 {
    CrashTest::on(prepared).run(operation, check)
}

impl<'a> CrashTest<'a> {
    /// A test that begins with `prepared`, which it leaves as it is.
    pub fn on(prepared: &'a SimStorage) -> Self {
        CrashTest {
            prepared,
            seeds: 12,
            only: None,
        }
    }

    /// How many [`Crash::Seeded`] are tried at each step, besides one of every other kind; 12 by itself.
    #[must_use]
    pub fn seeds(mut self, seeds: u64) -> Self {
        self.seeds = seeds;
        self
    }

    /// Tries one crash at one step, to run again what a panic named.
    #[must_use]
    pub fn only(mut self, step: u64, crash: Crash) -> Self {
        self.only = Some((step, crash));
        self
    }

    /// Runs it; see [`crash_everywhere`].
    pub fn run<A, E: Debug>(
        self,
        operation: impl Fn(&SimStorage, &Acks<A>) -> Result<(), E>,
        check: impl Fn(&SimStorage, &[A]),
    ) -> u64 {
        let trace = rehearse(self.prepared, &operation).trace();
        let last = trace.len() as u64;
        let mut checked = 0;
        for step in 0..=last {
            let crashes = self.crashes(step);
            if crashes.is_empty() {
                continue;
            }
            let disk = self.prepared.fork();
            disk.crash_at(step);
            let acks = Acks::new();
            let place = || format!("stopped at {}", step_of(step, &trace));
            // What it answers is of no use: nobody was there to hear it.
            let _ = placed(place, || operation(&disk, &acks));
            for crash in crashes {
                let survivor = disk.crash(crash);
                let place = || {
                    let step_text = step_of(step, &trace);
                    format!(
                        "after a crash at {step_text}, rerun with .only({step}, Crash::{crash:?})"
                    )
                };
                placed(place, || check(&survivor, &acks.lock()));
                checked += 1;
            }
        }
        checked
    }

    fn crashes(&self, step: u64) -> Vec<Crash> {
        if let Some((only, crash)) = self.only {
            return if only == step { vec![crash] } else { vec![] };
        }
        let plain = [
            Crash::KeepAll,
            Crash::KeepTorn(step),
            Crash::DropAll,
            Crash::KeepNames,
            Crash::KeepBytes,
        ];
        // Each step gets seeds of its own: together they cover more.
        let seeds = step * self.seeds..(step + 1) * self.seeds;
        plain.into_iter().chain(seeds.map(Crash::Seeded)).collect()
    }
}
