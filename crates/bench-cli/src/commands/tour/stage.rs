//! The scratch directory that a tour plays in, and the commands that are run there.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ledger::Workspace;
use ledger::core::storage::OsStorage;
use ledger::core::{Digest, EventId, Mode, TreePath};
use ledger::snapshot::{Walker, read_stable};

use crate::error::CommandError;
use crate::output::{Output, Paint};
use crate::text::count;

/// Longest file that is hashed.
const FILE_MAX: u64 = 1 << 30;

/// A scratch directory with a project in it, gone when dropped.
pub(super) struct Stage<'a> {
    scratch: tempfile::TempDir,
    root: PathBuf,
    program: PathBuf,
    out: &'a mut Output,
    color: &'static str,
    commands: usize,
}

/// The files of a tree: their modes and the digests of their contents.
pub(super) type Digests = BTreeMap<TreePath, (Mode, Digest)>;

/// The disk failed, in the scratch directory or the project.
pub(super) fn failed(what: &str, error: &(dyn std::error::Error + 'static)) -> CommandError {
    CommandError::environment(format!("the tour cannot go on: {what}"), error)
}

impl<'a> Stage<'a> {
    pub fn new(out: &'a mut Output) -> Result<Self, CommandError> {
        let scratch = tempfile::Builder::new().prefix("bench-tour-").tempdir();
        let scratch = scratch.map_err(|error| failed("no scratch directory", &error))?;
        let root = scratch.path().join("project");
        std::fs::create_dir(&root).map_err(|error| failed("no scratch directory", &error))?;
        let program = std::env::current_exe();
        let color = match out.style.paint(Paint::Id, "x") == "x" {
            true => "never",
            false => "always",
        };
        Ok(Stage {
            scratch,
            root,
            program: program.map_err(|error| failed("bench does not find itself", &error))?,
            out,
            color,
            commands: 0,
        })
    }

    /// The project's root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file of the project.
    pub fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// A name beside the project.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub fn out(&mut self) -> &mut Output {
        self.out
    }

    /// How many commands were run.
    pub fn commands(&self) -> usize {
        self.commands
    }

    /// Says what comes next.
    pub fn say(&mut self, what: &str) -> Result<(), CommandError> {
        let line = self.out.style.paint(Paint::Strong, &format!("# {what}"));
        Ok(writeln!(self.out, "\n{line}")?)
    }

    /// Runs a command in the project, and shows it.
    pub fn bench(&mut self, args: &[&str]) -> Result<(), CommandError> {
        self.run(args, None)
    }

    /// Runs a command with a line on its standard input.
    pub fn bench_with_input(&mut self, args: &[&str], line: &str) -> Result<(), CommandError> {
        self.run(args, Some(line))
    }

    fn run(&mut self, args: &[&str], line: Option<&str>) -> Result<(), CommandError> {
        let quoted: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
        let mut typed = format!("$ bench {}", quoted.join(" "));
        if let Some(line) = line {
            typed = format!("$ echo {} | bench {}", quoted_text(line), quoted.join(" "));
        }
        writeln!(self.out, "{}", self.out.style.paint(Paint::Hunk, &typed))?;
        // The command writes for itself: what it knows of a terminal holds here too.
        self.out.flush()?;
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .args(["--no-pager", "--color", self.color]);
        command.current_dir(&self.root);
        for name in ["BENCH_AUTHOR", "BENCH_AUTHOR_KIND", "BENCH_AUTHOR_VERSION"] {
            command.env_remove(name);
        }
        command.stdin(if line.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        let mut run = || -> std::io::Result<std::process::ExitStatus> {
            let mut child = command.spawn()?;
            if let (Some(line), Some(mut stdin)) = (line, child.stdin.take()) {
                writeln!(stdin, "{line}")?;
            }
            child.wait()
        };
        let status = run().map_err(|error| failed("a command cannot be run", &error))?;
        self.commands += 1;
        match status.success() {
            true => Ok(()),
            false => Err(CommandError::failed(format!(
                "the tour stopped: `bench {}` ended with {status}",
                quoted.join(" ")
            ))),
        }
    }

    /// The last event of the scratch ledger.
    pub fn tip(&self) -> Result<EventId, CommandError> {
        Ok(Workspace::open(&self.root)?.view()?.last())
    }

    /// Where the workspace stood before the last event, which is a rewind.
    pub fn came_from(&self) -> Result<EventId, CommandError> {
        let view = Workspace::open(&self.root)?.view()?;
        let rewind = view.event(view.last())?.event.body.rewind;
        let rewind = rewind.ok_or_else(|| CommandError::failed("the tour lost its way"))?;
        Ok(rewind.from)
    }

    /// Hashes every file of a tree.
    pub fn digests(&self, root: &Path) -> Result<Digests, CommandError> {
        let storage = OsStorage::open(root).map_err(|error| failed("no tree", &error))?;
        let walk = Walker::new(&storage, &[]).walk();
        let walk = walk.map_err(|error| failed("the tree cannot be listed", &error))?;
        let digest = |path: TreePath| {
            let file = read_stable(&storage, &path, FILE_MAX);
            let file = file.map_err(|error| failed("a file cannot be read", &error))?;
            Ok((path, (file.mode, Digest::of(&file.content))))
        };
        walk.files
            .into_iter()
            .map(|file| digest(file.path))
            .collect()
    }

    /// Proves that a restored tree is the one that was hashed, and says so.
    pub fn compare(&mut self, expected: &Digests, restored: &Path) -> Result<usize, CommandError> {
        let actual = self.digests(restored)?;
        let differing = expected
            .iter()
            .find(|(path, file)| actual.get(*path) != Some(file));
        if let Some((path, _)) = differing {
            let what = format!("{path} was not restored as it was");
            return Err(CommandError::failed(what));
        }
        let digest = tree_digest(expected);
        let files = count(expected.len(), "file");
        writeln!(self.out, "unsaved work   {files}  {digest}")?;
        let same: Digests = actual
            .into_iter()
            .filter(|(path, _)| expected.contains_key(path))
            .collect();
        let (digest, files) = (tree_digest(&same), count(same.len(), "file"));
        writeln!(self.out, "restored       {files}  {digest}")?;
        Ok(expected.len())
    }
}

/// One digest of names, modes and contents.
fn tree_digest(files: &Digests) -> Digest {
    let mut lines = Vec::new();
    for (path, (mode, hash)) in files {
        lines.extend_from_slice(format!("{mode} {hash} ").as_bytes());
        lines.extend_from_slice(path.as_bytes());
        lines.push(0);
    }
    Digest::of(&lines)
}

/// An argument as it is typed in a shell.
fn quoted(arg: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@:=,+~".contains(c);
    match !arg.is_empty() && arg.chars().all(plain) {
        true => arg.to_owned(),
        false => quoted_text(arg),
    }
}

fn quoted_text(text: &str) -> String {
    let text = ledger::core::bytes::printable(text.as_bytes());
    format!("'{}'", text.replace('\'', r"'\''"))
}
