//! `bench tour`: the main job, done on a copy of a project with the commands that a user would type.

mod edits;
mod git;
mod project;
mod stage;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::Done;
use crate::args::Global;
use crate::context::{CommandResult, current_dir};
use crate::error::CommandError;
use crate::output::Output;
use crate::text::count;
use edits::{Part, append, insert_comment};
use project::Project;
use stage::Stage;

/// See the whole of it on a copy of a project: record, look back, go back
///
/// The project itself is only read. A git repository's latest commits are imported; anything else is
/// copied. Every command is printed as you would type it, with its real output.
#[derive(Debug, Args)]
pub(crate) struct TourArgs {
    /// The project (default: the current directory)
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
}

impl TourArgs {
    pub fn run(self, _global: &Global, out: &mut Output) -> CommandResult {
        let path = match self.path {
            Some(path) => path,
            None => current_dir()?,
        };
        let path = path.canonicalize().map_err(|error| {
            CommandError::failed(format!(
                "there is no project at {}: {error}",
                path.display()
            ))
        })?;
        let mut stage = Stage::new(out)?;
        let project = Project::bring(&path, &mut stage)?;
        record(&project, &mut stage)?;
        look_back(&project, &mut stage)?;
        let files = go_back(&project, &mut stage)?;
        stage.bench(&["verify", "--full"])?;
        let (commands, events) = (stage.commands(), stage.tip()?.0);
        let out = stage.out();
        writeln!(
            out,
            "\ntour complete: {} over {}, and {} restored equal by hash",
            count(commands, "command"),
            count(events as usize + 1, "event"),
            count(files, "file"),
        )?;
        Ok(Done::Ok)
    }
}

/// An agent changes a file, then a person does; each change is recorded with its reason.
fn record(project: &Project, stage: &mut Stage<'_>) -> Result<(), CommandError> {
    let file = project.file();
    stage.say(&format!("An agent changes {file}, and says why"))?;
    insert_comment(&stage.path(file), Part::Middle, "checked by the agent")?;
    let why = "Mark what the agent has checked";
    stage.bench(&[
        "record",
        file,
        "-m",
        why,
        "--author",
        "tour-agent",
        "--author-kind",
        "agent",
        "--author-version",
        "1.0",
        "--run",
        "run-1",
    ])?;
    stage.bench(&["bookmark", "add", "before-experiment"])?;
    stage.say("A person goes on, in two files at once")?;
    insert_comment(&stage.path(file), Part::End, "an experiment")?;
    append(&stage.path("NOTES.tour"), "The experiment begins here.\n")?;
    stage.bench(&["record", "-m", "Try something else", "--author", "you"])?;
    stage.say("An agent framework tells of a file that it wrote, as a line of JSON")?;
    append(&stage.path("PLAN.tour"), "1. measure\n")?;
    let line = r#"{"path": "PLAN.tour", "content": "1. measure\n", "in_workspace": true, "rationale": "Plan the next step", "key": "plan-1"}"#;
    stage.bench_with_input(&["record", "--stdin", "--author", "planner"], line)
}

/// What happened, and to which file.
fn look_back(project: &Project, stage: &mut Stage<'_>) -> Result<(), CommandError> {
    let file = project.file();
    stage.say("What happened, newest first; and what happened to one file")?;
    stage.bench(&["history", "-n", "8"])?;
    stage.bench(&["history", "--file", file])?;
    stage.say("What the experiment has changed so far")?;
    stage.bench(&["diff", "before-experiment", "@", "--stat"])?;
    stage.bench(&["diff", "before-experiment", "@", "--file", file])?;
    stage.bench(&["show", "before-experiment"])
}

/// Goes back over work that nobody saved, and proves that it is kept. Returns how many files were
/// proved equal.
fn go_back(project: &Project, stage: &mut Stage<'_>) -> Result<usize, CommandError> {
    let file = project.file();
    stage.say(&format!("Somebody works on {file} without recording it..."))?;
    insert_comment(&stage.path(file), Part::Start, "not recorded yet")?;
    let unsaved = stage.digests(stage.root())?;
    stage.bench(&["status"])?;
    stage.say("... and goes back all the same. What was not recorded is recorded first")?;
    stage.bench(&["rewind", "before-experiment"])?;
    stage.bench(&["status"])?;
    let kept = stage.came_from()?.to_string();
    stage.say(&format!(
        "The unsaved work is kept: restored as of {kept}, nothing is missing"
    ))?;
    let restored = stage.scratch("restored");
    stage.bench(&["diff", "before-experiment", &kept, "--stat"])?;
    stage.bench(&["restore", &kept, "--to", "../restored"])?;
    let files = stage.compare(&unsaved, &restored)?;
    stage.say("A new branch goes on from there; the other one is still what it was")?;
    stage.bench(&["branch", "list"])?;
    Ok(files)
}
