//! A framework that records what its agents do: many threads, one workspace, each edit with its
//! reason and its run.
//!
//! `cargo run -p ledger-examples --bin record_from_threads [DIRECTORY]`

use ledger::core::{EventId, TreePath};
use ledger::{ErrorCode, Record, Recorded, Workspace};
use ledger_examples::{Failure, agent, place, text_of};

const AGENTS: usize = 8;
const EDITS: usize = 4;
const JOURNAL: &str = "journal.md";

fn main() -> Result<(), Failure> {
    let place = place()?;
    let workspace = &place.workspace;
    let before = workspace.view()?.last();
    std::thread::scope(|scope| {
        let agents: Vec<_> = (0..AGENTS)
            .map(|n| scope.spawn(move || work(workspace, n).map_err(|error| error.to_string())))
            .collect();
        for agent in agents {
            agent.join().map_err(|_| "an agent panicked")??;
        }
        Ok::<_, Failure>(())
    })?;
    // Everything above is durable. Patch files and a due snapshot follow on a thread; wait for them.
    workspace.settle();
    let last = workspace.view()?.last();
    println!("{} events after {before}, the last is {last}", last.0 - before.0);
    let journal = workspace.file(last, &TreePath::parse(JOURNAL)?)?;
    let lines = journal.map_or(0, |file| file.content.split(|b| *b == b'\n').count() - 1);
    println!("{JOURNAL} has {lines} lines");
    for warning in workspace.take_warnings() {
        println!("warning: {warning}");
    }
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
        let line = format!("{name}: finding {edit}");
        let added = add_line(workspace, &line, |change| Record::new(change, provenance.clone()))?;
        println!("{name}: step {edit} is in the journal as {}", ids(&added.events));
    }
    Ok(())
}

/// Adds a line to the journal. Whoever was faster wins; the others look again, and try again.
fn add_line(
    workspace: &Workspace,
    line: &str,
    request: impl Fn(Vec<ledger::FileChange>) -> Record,
) -> Result<Recorded, Failure> {
    loop {
        let base = workspace.view()?.last();
        let old = workspace.file(base, &TreePath::parse(JOURNAL)?)?;
        let old = old.map_or(String::new(), |f| String::from_utf8_lossy(&f.content).into_owned());
        let mut request = request(vec![text_of(JOURNAL, &format!("{old}{line}\n"))?]);
        request.base = Some(base);
        match workspace.record(&request) {
            Err(error) if ErrorCode::from(&error) == ErrorCode::Conflict => continue,
            result => return Ok(result?),
        }
    }
}

fn ids(events: &[EventId]) -> String {
    events.iter().map(EventId::to_string).collect::<Vec<_>>().join(", ")
}
