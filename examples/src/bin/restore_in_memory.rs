//! Rebuilds the whole tree of an event in memory: no file of the workspace is touched.
//!
//! `cargo run -p ledger-examples --bin restore_in_memory [DIRECTORY [REF]]`

use std::collections::BTreeMap;

use ledger::core::{Digest, TreePath};
use ledger_examples::{Failure, place, sample_history};

fn main() -> Result<(), Failure> {
    let place = place()?;
    if place.scratch.is_some() {
        sample_history(&place.workspace)?;
    }
    // An event, a snapshot, a bookmark, a branch, or `@~1`: the event before the last one.
    let text = std::env::args().nth(2).unwrap_or_else(|| "@~1".to_owned());
    let event = place.workspace.resolve(&text)?.event;

    let state = place.workspace.state(event)?;
    let origin = state.origin();
    println!(
        "{event}: {} files, from {} and {} events after it",
        state.tree().len(),
        origin.snapshot.id,
        origin.events
    );
    let mut files: BTreeMap<TreePath, Vec<u8>> = BTreeMap::new();
    for (path, entry) in state.tree().iter() {
        // Checked against the recorded digest before it is given out.
        let content = state
            .content(path)?
            .ok_or("the tree names a file that is not there")?;
        assert_eq!(Digest::of(&content), entry.hash);
        println!(
            "{} {} {} bytes {path}",
            entry.mode,
            entry.hash,
            content.len()
        );
        files.insert(path.clone(), content);
    }
    println!(
        "{} bytes in memory",
        files.values().map(Vec::len).sum::<usize>()
    );
    Ok(())
}
