//! Reads the history of a workspace: who changed which block, and why. Newest first.
//!
//! `cargo run -p ledger-examples --bin read_history [DIRECTORY [FILE]]`

use ledger::core::log::Query;
use ledger::core::{Event, TreePath};
use ledger_examples::{Failure, place, sample_history};

const SHOWN: usize = 20;

fn main() -> Result<(), Failure> {
    let place = place()?;
    if place.scratch.is_some() {
        sample_history(&place.workspace)?;
    }
    let file = std::env::args().nth(2).map(TreePath::parse).transpose()?;

    // A view does not change, however much is recorded meanwhile.
    let view = place.workspace.view()?;
    println!("{} events in {}", view.last().0 + 1, place.root.display());
    for (name, head) in &view.heads().branches {
        println!("branch {name} ends with {}", head.tip);
    }
    let query = Query {
        file,
        ..Query::default()
    };
    for row in view.history(query).take(SHOWN) {
        let row = row?;
        show(&row.event);
        // What the event did to its files, from the states before and after it.
        for diff in place.workspace.event_diff(&row.event)? {
            if let Some(stat) = diff.stat() {
                println!("    {} +{} -{}", diff.path, stat.added, stat.deleted);
            }
        }
    }
    Ok(())
}

fn show(event: &Event) {
    let body = &event.body;
    let block = match &body.semantic_block {
        Some(block) => format!(" in {}:{}", block.kind, block.id),
        None => String::new(),
    };
    println!(
        "{} {} by {}{block}",
        event.id, body.action, body.author.name
    );
    if let Some(rationale) = &body.rationale {
        println!("    why: {rationale}");
    }
}
