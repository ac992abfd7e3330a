//! `bench note` and `bench eval`.

use clap::Args;
use ledger::Boundary;
use ledger::core::Action;

use crate::Done;
use crate::args::Global;
use crate::context::{CommandResult, OperationArgs, WhoArgs};
use crate::output::Output;

/// Record a note: words that belong to the history, but change no file
#[derive(Debug, Args)]
pub(crate) struct NoteArgs {
    /// The words
    text: String,
    #[command(flatten)]
    who: WhoArgs,
    #[command(flatten)]
    operation: OperationArgs,
}

/// Record an evaluation that was completed, with its report
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// What was evaluated
    name: String,
    #[command(flatten)]
    who: WhoArgs,
    #[command(flatten)]
    operation: OperationArgs,
}

impl NoteArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| {
            let mut provenance = self.operation.complete(context, self.who.provenance())?;
            provenance.rationale = Some(match provenance.rationale {
                Some(more) => format!("{}\n\n{more}", self.text),
                None => self.text.clone(),
            });
            let recorded = context
                .workspace
                .note(Action::MetaNote, &provenance, None)?;
            super::record::print_events(context, &recorded.events, out)?;
            Ok(Done::Ok)
        })
    }
}

impl EvalArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| {
            let mut provenance = self.operation.complete(context, self.who.provenance())?;
            provenance.rationale = Some(match provenance.rationale {
                Some(more) => format!("eval {}: {more}", self.name),
                None => format!("eval {}", self.name),
            });
            provenance.boundary = provenance.boundary.or(Some(Boundary::RunCompleted));
            let recorded = context.workspace.note(Action::EvalRun, &provenance, None)?;
            super::record::print_events(context, &recorded.events, out)?;
            Ok(Done::Ok)
        })
    }
}
