//! A framework that records what its agents do: many threads, one workspace, each edit with its
//! reason and its run.
//!
//! `cargo run -p ledger-examples --bin record_from_threads [DIRECTORY]`

use ledger::core::TreePath;
use ledger::{ErrorCode, Provenance, Record, Recorded, Workspace};
use ledger_examples::{Failure, agent, place, text_of};

const AGENTS: usize = 8;
const EDITS: usize = 4;
const JOURNAL: &str = "journal.md";

fn main() -> Result<(), Failure> {
    let place = place()?;
    let workspace = &place.workspace;
    let before = workspace.view()?.last();
    std::thread::scope(|scope| {
        let start = |n| scope.spawn(move || work(workspace, n).map_err(|error| error.to_string()));
        for agent in (0..AGENTS).map(start).collect::<Vec<_>>() {
            agent.join().map_err(|_| "an agent panicked")??;
        }
        Ok::<_, Failure>(())
    })?;
    // Everything above is durable. Patch files and a due snapshot follow on a thread; wait for them.
    workspace.settle();
    let last = workspace.view()?.last();
    println!(
        "{} events after {before}, the last is {last}",
        last.0 - before.0
    );
    let lines = journal(workspace, last)?.lines().count();
    println!("{JOURNAL} has {lines} lines");
    Ok(())
}

/// What one agent does: edits of a file of its own, and a line in the common journal for each.
fn work(workspace: &Workspace, n: usize) -> Result<(), Failure> {
    let name = format!("agent-{n}");
    let mut text = String::new();
    for edit in 0..EDITS {
        text.push_str(&format!("finding {edit}\n"));
        let mut provenance = agent(&name);
        provenance.rationale = Some(format!("finding {edit} of {name}"));
        provenance.run_id = Some("run-42".to_owned());
        provenance.operation_id = Some(format!("{name}-step-{edit}"));
        let own = text_of(&format!("findings/{name}.md"), &text)?;
        workspace.record(&Record::new(vec![own], provenance.clone()))?;
        let added = add_line(workspace, &format!("{name}: finding {edit}"), &provenance)?;
        println!(
            "{name}: step {edit} is in the journal as {:?}",
            added.events
        );
    }
    Ok(())
}

/// Adds a line to the journal. Whoever was faster wins; the others look again, and try again.
fn add_line(workspace: &Workspace, line: &str, by: &Provenance) -> Result<Recorded, Failure> {
    loop {
        let base = workspace.view()?.last();
        let text = journal(workspace, base)? + line + "\n";
        let mut request = Record::new(vec![text_of(JOURNAL, &text)?], by.clone());
        request.base = Some(base);
        match workspace.record(&request) {
            Err(error) if ErrorCode::from(&error) == ErrorCode::Conflict => continue,
            result => return Ok(result?),
        }
    }
}

/// The journal as of an event; empty where there is none yet.
fn journal(workspace: &Workspace, event: ledger::core::EventId) -> Result<String, Failure> {
    let file = workspace.file(event, &TreePath::parse(JOURNAL)?)?;
    Ok(file.map_or(String::new(), |file| {
        String::from_utf8_lossy(&file.content).into_owned()
    }))
}
