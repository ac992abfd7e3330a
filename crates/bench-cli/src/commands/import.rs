//! `bench import`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use ledger::core::EventId;
use ledger::{ImportGit, Imported, Progress};
use serde::Serialize;

use crate::Done;
use crate::args::Global;
use crate::context::{CommandResult, current_dir};
use crate::output::{Output, Paint};
use crate::progress;
use crate::text::count;

/// Take in histories from elsewhere
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    Git(GitArgs),
}

/// Take in the history of a git repository
///
/// Each commit of the line of first parents becomes one operation of the current branch, `git:SHA`, and
/// each tag a bookmark. The repository is only read. A second import goes on where the first one ended.
#[derive(Debug, Args)]
pub(crate) struct GitArgs {
    /// The repository, or a directory in one
    path: PathBuf,
    /// The commit to begin after
    #[arg(long, value_name = "REV")]
    from: Option<String>,
    /// The commit to end with (default: HEAD)
    #[arg(long, value_name = "REV")]
    to: Option<String>,
    /// Do not look for semantic blocks
    #[arg(long)]
    no_semantics: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    branch: &'a str,
    tip: EventId,
    commits: usize,
    already: usize,
    events: u64,
    files: usize,
    bookmarks: &'a [String],
    skipped: Vec<JsonSkipped>,
    skipped_more: u64,
    tags_skipped: Vec<JsonSkipped>,
    left: Vec<JsonSkipped>,
}

/// Something that was left out, and why.
#[derive(Serialize)]
struct JsonSkipped {
    what: String,
    why: String,
}

impl JsonSkipped {
    fn new(what: impl ToString, why: impl ToString) -> Self {
        let (what, why) = (what.to_string(), why.to_string());
        JsonSkipped { what, why }
    }
}

impl ImportCommand {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        match self {
            ImportCommand::Git(args) => args.run(global, out),
        }
    }
}

impl GitArgs {
    fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        let request = ImportGit {
            repository: current_dir()?.join(&self.path),
            from: self.from,
            to: self.to,
            semantics: !self.no_semantics,
        };
        global.with_workspace(out, |context, out| {
            let bar = progress::Progress::counting("importing commits");
            let imported = context
                .workspace
                .import_git(&request, &mut |step| match step {
                    Progress::Commits { done, of } => bar.set(done, of),
                    _ => bar.say("bringing the workspace to the tip"),
                })?;
            drop(bar);
            match out.json {
                true => json(&imported, out)?,
                false => human(&imported, out)?,
            }
            out.flush()?;
            for left_out in left_out(&imported) {
                global.print_warning(&left_out);
            }
            Ok(Done::Ok)
        })
    }
}

fn human(imported: &Imported, out: &mut Output) -> std::io::Result<()> {
    let style = out.style;
    let (commits, events) = (
        count(imported.commits, "commit"),
        count(
            usize::try_from(imported.events).unwrap_or(usize::MAX),
            "event",
        ),
    );
    let branch = style.paint(Paint::Strong, &imported.branch);
    let tip = style.paint(Paint::Id, &imported.tip.to_string());
    write!(
        out,
        "imported {commits} as {events} on branch {branch}, now at {tip}"
    )?;
    match imported.already {
        0 => writeln!(out)?,
        already => writeln!(out, " ({} there already)", count(already, "commit"))?,
    }
    match imported.bookmarks.len() {
        0 => Ok(()),
        tags => writeln!(out, "{} became bookmarks", count(tags, "tag")),
    }
}

/// What is not as in the repository, each in a sentence.
fn left_out(imported: &Imported) -> Vec<String> {
    let skipped = imported.skipped.iter();
    let mut lines: Vec<String> = skipped
        .map(|skipped| format!("{} is left out: {}", skipped.path, skipped.why))
        .collect();
    if imported.skipped_more > 0 {
        lines.push(format!("{} more paths are left out", imported.skipped_more));
    }
    let tags = imported.tags_skipped.iter();
    lines.extend(tags.map(|tag| format!("tag {} is no bookmark: {}", tag.name, tag.why)));
    let left = imported.left.iter();
    lines.extend(left.map(|file| format!("{} is left as it is: {}", file.path, file.why)));
    lines
}

fn json(imported: &Imported, out: &mut Output) -> std::io::Result<()> {
    let skipped = imported.skipped.iter();
    let tags = imported.tags_skipped.iter();
    let left = imported.left.iter();
    out.json_value(&Json {
        branch: &imported.branch,
        tip: imported.tip,
        commits: imported.commits,
        already: imported.already,
        events: imported.events,
        files: imported.files,
        bookmarks: &imported.bookmarks,
        skipped: skipped
            .map(|file| JsonSkipped::new(&file.path, &file.why))
            .collect(),
        skipped_more: imported.skipped_more,
        tags_skipped: tags
            .map(|tag| JsonSkipped::new(&tag.name, &tag.why))
            .collect(),
        left: left
            .map(|file| JsonSkipped::new(&file.path, &file.why))
            .collect(),
    })
}
