//! The git program, as a process that answers questions about one repository.
//!
//! The repository may be anybody's. Only plumbing commands are called, none of which looks at the
//! working tree or the index; what a repository's own configuration could have run is turned off, and
//! nothing is fetched. The user's and the system's configuration stay in force: they say which
//! repositories are trusted (`safe.directory`).

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use ledger_core::bytes::printable;

use super::error::ImportError;

/// Variables that would have git look at another repository than the one that is named, or at another
/// picture of it.
const UNWANTED: [&str; 15] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Configuration that is in force whatever the repository's says.
const CONFIGURATION: [&str; 6] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "diff.external=",
    "diff.relative=false",
    "i18n.logOutputEncoding=UTF-8",
    "protocol.allow=never",
];

/// Bytes of what a failing command says that are kept.
const COMPLAINT_MAX: u64 = 4096;

/// Bytes of one line or field of an answer: more is not believed.
const FIELD_MAX: u64 = 64 << 20;

/// One repository.
#[derive(Debug)]
pub(super) struct Git {
    repository: PathBuf,
}

impl Git {
    /// Finds the repository that `path` is, or lies in.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let git = Git {
            repository: path.to_path_buf(),
        };
        let found = git.output("rev-parse", &["--git-dir"]);
        match found {
            Ok(_) => Ok(git),
            Err(ImportError::Git { why, .. }) => {
                let path = git.repository;
                Err(match why.contains("dubious ownership") {
                    true => ImportError::NotTrusted { path, why },
                    false => ImportError::NotARepository { path, why },
                })
            }
            Err(error) => Err(error),
        }
    }

    /// The directory that the repository is checked out to; none where it is bare.
    pub fn top_level(&self) -> Option<PathBuf> {
        let mut answer = self.output("rev-parse", &["--show-toplevel"]).ok()?;
        // One newline ends the answer; others are the name's.
        answer.pop_if(|last| *last == b'\n');
        let path = PathBuf::from(OsString::from_vec(answer));
        path.is_absolute().then_some(path)
    }

    fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        for variable in UNWANTED {
            command.env_remove(variable);
        }
        // A commit's id names its own tree, not that of a replacement; what a partial clone lacks is
        // not fetched; what git says is in English, to be recognized.
        command
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .arg("-C")
            .arg(&self.repository);
        for setting in CONFIGURATION {
            command.args(["-c", setting]);
        }
        command.arg(name).args(arguments);
        command
    }

    /// What a command answers.
    pub fn output(&self, name: &'static str, arguments: &[&str]) -> Result<Vec<u8>, ImportError> {
        let mut running = self.start(name, arguments, Stdio::null())?;
        let mut answer = Vec::new();
        let read = running.answers.read_to_end(&mut answer);
        running.finish()?;
        read.map_err(|error| ImportError::answer(name, error.to_string()))?;
        Ok(answer)
    }

    /// Starts a command that asks nothing.
    pub fn run(&self, name: &'static str, arguments: &[&str]) -> Result<Running, ImportError> {
        self.start(name, arguments, Stdio::null())
    }

    /// Starts a command that is asked on its standard input.
    pub fn converse(
        &self,
        name: &'static str,
        arguments: &[&str],
    ) -> Result<(Running, Questions), ImportError> {
        let mut running = self.start(name, arguments, Stdio::piped())?;
        let input = running.child.stdin.take();
        let mut input = input.ok_or_else(|| ImportError::answer(name, "it takes no questions"))?;
        let (sender, receiver) = channel::<Vec<u8>>();
        // On a thread of its own: a command that waits for its answers to be read reads no questions.
        std::thread::spawn(move || {
            while let Ok(mut question) = receiver.recv() {
                while let Ok(mut more) = receiver.try_recv() {
                    question.append(&mut more);
                }
                // The command has ended: its answers, or their lack, tell.
                if input.write_all(&question).is_err() {
                    return;
                }
            }
        });
        Ok((running, Questions(sender)))
    }

    fn start(
        &self,
        name: &'static str,
        arguments: &[&str],
        input: Stdio,
    ) -> Result<Running, ImportError> {
        let mut child = self
            .command(name, arguments)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(ImportError::NoGit)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let answers = stdout.ok_or_else(|| ImportError::answer(name, "it has no output"))?;
        let complaints = std::thread::spawn(move || {
            let mut kept = Vec::new();
            if let Some(mut stderr) = stderr {
                // What cannot be read is missing from a message, no more.
                let _ = (&mut stderr).take(COMPLAINT_MAX).read_to_end(&mut kept);
                let _ = std::io::copy(&mut stderr, &mut std::io::sink());
            }
            printable(String::from_utf8_lossy(&kept).trim().as_bytes())
        });
        Ok(Running {
            name,
            child,
            answers: BufReader::with_capacity(1 << 16, answers),
            complaints: Some(complaints),
        })
    }
}

/// Sends questions to a command. They never wait; when it is dropped, the command sees their end.
#[derive(Debug)]
pub(super) struct Questions(Sender<Vec<u8>>);

impl Questions {
    pub fn ask(&self, question: Vec<u8>) {
        // Nobody listens once the command has ended: its answers, or their lack, tell.
        let _ = self.0.send(question);
    }
}

/// A git command that is running. It is killed when it is dropped.
#[derive(Debug)]
pub(super) struct Running {
    name: &'static str,
    child: Child,
    pub answers: BufReader<ChildStdout>,
    complaints: Option<JoinHandle<String>>,
}

impl Running {
    /// Reads up to `end`, which is taken off; `None` where the answers end.
    pub fn field(&mut self, end: u8) -> Result<Option<Vec<u8>>, ImportError> {
        let mut field = Vec::new();
        let read = (&mut self.answers)
            .take(FIELD_MAX)
            .read_until(end, &mut field);
        match read {
            Err(error) => Err(ImportError::answer(self.name, error.to_string())),
            Ok(0) => Ok(None),
            Ok(_) if field.last() == Some(&end) => {
                field.pop();
                Ok(Some(field))
            }
            Ok(_) => Err(self.broken_off()),
        }
    }

    /// The next byte of the answers, left there; `None` where they end.
    pub fn peek(&mut self) -> Result<Option<u8>, ImportError> {
        match self.answers.fill_buf() {
            Ok(bytes) => Ok(bytes.first().copied()),
            Err(error) => Err(ImportError::answer(self.name, error.to_string())),
        }
    }

    /// The error of a command whose answers ended too early: its own, if it has one.
    pub fn broken_off(&mut self) -> ImportError {
        match self.wait() {
            Err(error) => error,
            Ok(()) => ImportError::answer(self.name, "it ends too early"),
        }
    }

    /// Waits for its end, which has to be a good one.
    pub fn finish(mut self) -> Result<(), ImportError> {
        self.wait()
    }

    /// The same, where the command is looked at again.
    pub fn wait(&mut self) -> Result<(), ImportError> {
        let status = self.child.wait();
        let complaints = self.complaints.take().and_then(|thread| thread.join().ok());
        let failed = |why: String| ImportError::Git {
            command: self.name,
            why,
        };
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => {
                let said = complaints.filter(|said| !said.is_empty());
                Err(failed(said.unwrap_or_else(|| status.to_string())))
            }
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already; otherwise nobody reads it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
