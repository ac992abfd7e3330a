//! The workspace that a command works on, and who works on it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use ledger::core::refs::Point;
use ledger::core::{Author, AuthorKind, EventId, TreePath};
use ledger::{Boundary, Options, Provenance, Scan, Workspace};

use crate::Done;
use crate::args::Global;
use crate::error::{CommandError, safe, tell};
use crate::output::{Output, Paint, Style};
use crate::paths::Paths;
use crate::text::size;

pub(crate) type CommandResult = Result<Done, CommandError>;

/// An open workspace, and where in it the command was given.
pub(crate) struct Context {
    pub workspace: Workspace,
    pub paths: Paths,
}

impl Global {
    /// Options for a command that waits for what follows, at its end.
    pub fn options(&self) -> Options {
        let default = Options::default();
        Options {
            background: false,
            lock_timeout: self.lock_timeout.unwrap_or(default.lock_timeout),
            ..default
        }
    }

    /// The root that is named, or found upwards.
    pub fn find_root(&self) -> Result<PathBuf, CommandError> {
        match &self.root {
            Some(root) => Ok(root.clone()),
            None => Ok(Workspace::find_root(&current_dir()?)?),
        }
    }

    /// Opens the workspace, runs a command on it, and sees to what follows: the output first, then the
    /// patches and the snapshot that are due, then warnings.
    pub fn with_workspace(
        &self,
        out: &mut Output,
        run: impl FnOnce(&Context, &mut Output) -> CommandResult,
    ) -> CommandResult {
        self.with_options(self.options(), out, run)
    }

    /// The same with other options.
    pub fn with_options(
        &self,
        options: Options,
        out: &mut Output,
        run: impl FnOnce(&Context, &mut Output) -> CommandResult,
    ) -> CommandResult {
        let root = self.find_root()?;
        let context = Context {
            workspace: Workspace::open_with(&root, options)?,
            paths: Paths::new(&root, &current_dir()?),
        };
        let result = run(&context, out);
        let seen = out.finish();
        context.workspace.settle();
        self.warn(&context.workspace);
        match (result, seen) {
            (Ok(_), Err(error)) => Err(error.into()),
            (result, _) => result,
        }
    }

    /// Tells of what the workspace has to say.
    pub fn warn(&self, workspace: &Workspace) {
        for warning in workspace.take_warnings() {
            self.print_warning(&warning);
        }
    }

    /// Tells of files that are not tracked, though they are not ignored.
    pub fn warn_left_out(&self, scan: &Scan) {
        for (path, bytes) in &scan.too_large {
            self.print_warning(&format!("{path} has {} and is not tracked", size(*bytes)));
        }
        for dir in &scan.nested {
            self.print_warning(&format!(
                "{dir} is a repository of its own, and is left alone"
            ));
        }
        self.warn_unread(scan);
    }

    /// Tells of what could not be read, or is not understood.
    pub fn warn_unread(&self, scan: &Scan) {
        for error in &scan.unreadable {
            self.print_warning(&format!("{error}: {}", error.source));
        }
        for warning in &scan.warnings {
            self.print_warning(&warning.to_string());
        }
    }

    pub fn print_warning(&self, warning: &str) {
        let style = Style::of_stderr(self.color);
        let sign = style.paint(Paint::Id, "warning:");
        tell(&format!("{sign} {}", safe(warning)));
    }
}

pub(crate) fn current_dir() -> Result<PathBuf, CommandError> {
    std::env::current_dir()
        .map_err(|error| CommandError::environment("the current directory cannot be found", &error))
}

impl Context {
    /// What a ref names.
    pub fn point(&self, text: &str) -> Result<Point, CommandError> {
        Ok(self.workspace.resolve(text)?)
    }

    /// The event that a ref names.
    pub fn event(&self, text: &str) -> Result<EventId, CommandError> {
        Ok(self.point(text)?.event)
    }

    /// The paths of files that were named.
    pub fn tree_paths(&self, files: &[PathBuf]) -> Result<Vec<TreePath>, CommandError> {
        files.iter().map(|file| self.paths.of_arg(file)).collect()
    }

    /// Artifacts as rows name them: relative to the root, given so or relative to where one stands.
    pub fn artifacts(&self, files: &[PathBuf]) -> Result<Vec<String>, CommandError> {
        files.iter().map(|file| self.artifact(file)).collect()
    }

    fn artifact(&self, file: &Path) -> Result<String, CommandError> {
        let path = match file.starts_with("results/artifacts") {
            true => self.paths.of_root(file)?,
            false => self.paths.of_arg(file)?,
        };
        std::str::from_utf8(path.as_bytes())
            .map(str::to_owned)
            .map_err(|_| CommandError::failed(format!("the name of artifact {path} is not UTF-8")))
    }
}

/// Who does it, and why.
#[derive(Debug, Clone, Args)]
pub(crate) struct WhoArgs {
    /// Why it is done
    #[arg(
        short = 'm',
        long = "message",
        visible_alias = "rationale",
        value_name = "RATIONALE"
    )]
    pub rationale: Option<String>,
    /// Who does it (default: the name that you are logged in by)
    #[arg(long, env = "BENCH_AUTHOR", value_name = "NAME")]
    pub author: Option<String>,
    /// What they are
    #[arg(
        long,
        env = "BENCH_AUTHOR_KIND",
        value_name = "KIND",
        default_value = "human"
    )]
    pub author_kind: KindArg,
    /// Which version of them
    #[arg(long, env = "BENCH_AUTHOR_VERSION", value_name = "VERSION")]
    pub author_version: Option<String>,
}

/// What an author is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArg {
    Agent,
    Human,
}

impl WhoArgs {
    pub fn provenance(&self) -> Provenance {
        let given = self.author.clone().filter(|name| !name.is_empty());
        let version = self.author_version.clone();
        let mut provenance = Provenance::by(Author {
            name: given.unwrap_or_else(login_name),
            version: version.filter(|version| !version.is_empty()),
            kind: match self.author_kind {
                KindArg::Agent => AuthorKind::Agent,
                KindArg::Human => AuthorKind::Human,
            },
        });
        provenance.rationale.clone_from(&self.rationale);
        provenance
    }
}

/// What an operation belongs to.
#[derive(Debug, Clone, Args)]
pub(crate) struct OperationArgs {
    /// The run that it happened in
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// The operation that it is part of (default: a fresh one)
    #[arg(long, value_name = "ID")]
    pub operation: Option<String>,
    /// A file under results/artifacts/ that belongs to it; may be given again
    #[arg(long = "artifact", value_name = "FILE")]
    pub artifacts: Vec<PathBuf>,
    /// A moment worth a snapshot: approval, merge, branch, pull_request, run_completed or
    /// optimizer_accepted
    #[arg(long, value_name = "KIND", value_parser = Boundary::from_str)]
    pub boundary: Option<Boundary>,
}

impl OperationArgs {
    pub fn complete(
        &self,
        context: &Context,
        mut provenance: Provenance,
    ) -> Result<Provenance, CommandError> {
        provenance.run_id.clone_from(&self.run);
        provenance.operation_id.clone_from(&self.operation);
        provenance.artifacts = context.artifacts(&self.artifacts)?;
        provenance.boundary = self.boundary;
        Ok(provenance)
    }
}

/// The name that the user is logged in by.
fn login_name() -> String {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    variable("USER")
        .or_else(|| variable("LOGNAME"))
        .or_else(|| {
            let uid = std::fs::metadata("/proc/self").ok()?.uid();
            name_in(&std::fs::read_to_string("/etc/passwd").ok()?, uid)
        })
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The name of a user in the text of `/etc/passwd`.
fn name_in(passwd: &str, uid: u32) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let found = fields.nth(1)?.parse() == Ok(uid);
        (found && !name.is_empty()).then(|| name.to_owned())
    })
}
