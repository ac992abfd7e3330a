//! What recording costs, against what it cannot cost less than. Both sides of each ratio are measured in
//! one run, one after the other, and medians are compared.
//!
//! `cargo run --release -p ledger-benches [DIRECTORY]`: on the disk of DIRECTORY, else of the
//! system's temporary directory. On a disk that does not sync, such as tmpfs, the ratios say nothing.

mod edits;
mod measure;

use std::path::Path;

use edits::{Project, one_edit_against_raw, semantics_against_parse, threads_against_raw};

/// Any error: there is nobody to choose by kind.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let scratch = match std::env::args_os().nth(1) {
        Some(dir) => tempfile::tempdir_in(Path::new(&dir))?,
        None => tempfile::tempdir()?,
    };
    let project = |name: &str| Project::make(scratch.path().join(name));
    one_edit_against_raw(&project("one")?)?;
    threads_against_raw(&project("threads")?)?;
    semantics_against_parse(&project("on")?, &project("off")?)?;
    Ok(())
}
