//! Where a command's output goes: the standard output, or a pager between it and a person.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use clap::ValueEnum;

use crate::args::Global;

/// Columns that are assumed where nobody says how many there are.
const COLUMNS: usize = 80;

/// When output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorWhen {
    fn on(self, terminal: bool) -> bool {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match self {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => terminal && !set("NO_COLOR") && !dumb(),
        }
    }
}

/// What a piece of text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Id,
    Author,
    Added,
    Deleted,
    Hunk,
    Strong,
    Error,
    Hint,
}

/// Whether and how text is coloured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    on: bool,
}

impl Style {
    /// How messages on the standard error are coloured.
    pub fn of_stderr(when: ColorWhen) -> Self {
        Style {
            on: when.on(io::stderr().is_terminal()),
        }
    }

    /// The text, in its colour where there is one. It must be safe to show already.
    pub fn paint(self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::Plain => "",
            Paint::Id => "33",
            Paint::Author => "34",
            Paint::Added => "32",
            Paint::Deleted => "31",
            Paint::Hunk => "36",
            Paint::Strong => "1",
            Paint::Error => "1;31",
            Paint::Hint => "1;36",
        };
        match self.on && !code.is_empty() && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

enum Sink {
    Stdout(BufWriter<io::Stdout>),
    Pager(Child, BufWriter<std::process::ChildStdin>),
}

/// The output of a command.
pub(crate) struct Output {
    sink: Sink,
    /// Whether data is printed as JSON.
    pub json: bool,
    /// Colours.
    pub style: Style,
    /// Whether a person reads it: nothing raw may get there.
    pub terminal: bool,
    may_page: bool,
}

impl Output {
    pub fn new(global: &Global) -> Self {
        let terminal = io::stdout().is_terminal();
        Output {
            sink: Sink::Stdout(BufWriter::with_capacity(64 * 1024, io::stdout())),
            json: global.json,
            style: Style {
                on: global.color.on(terminal),
            },
            terminal,
            may_page: terminal && !global.json && !global.no_pager,
        }
    }

    /// Columns of the terminal; none where there is no terminal to fit.
    pub fn columns(&self) -> Option<usize> {
        let size = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        self.terminal.then(size).flatten()
    }

    /// Columns to lay out for, also where there is no terminal.
    pub fn layout_columns(&self) -> usize {
        let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
        self.columns().or_else(variable).unwrap_or(COLUMNS).max(20)
    }

    /// Lets a person read what follows at their own pace: through `$PAGER`, as git does.
    pub fn page(&mut self) {
        if !self.may_page {
            return;
        }
        let pager = std::env::var_os("PAGER").unwrap_or_else(|| "less".into());
        if pager.is_empty() || pager == "cat" {
            return;
        }
        let mut command = Command::new("sh");
        command.arg("-c").arg(&pager).stdin(Stdio::piped());
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        // Without a pager, everything is printed at once.
        if let Ok(mut child) = command.spawn()
            && let Some(stdin) = child.stdin.take()
        {
            self.sink = Sink::Pager(child, BufWriter::new(stdin));
        }
    }

    /// Prints a row, or another line of JSON, as it stands.
    pub fn json_line(&mut self, line: &[u8]) -> io::Result<()> {
        self.write_all(line)?;
        self.write_all(b"\n")
    }

    /// Prints a value as one line of JSON, safe to show.
    pub fn json_value(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        let line = ledger::core::safe_json(value).map_err(io::Error::other)?;
        self.json_line(&line)
    }

    /// Sees everything out, and waits for the pager's end.
    pub fn finish(&mut self) -> io::Result<()> {
        let flushed = self.flush();
        let stdout = Sink::Stdout(BufWriter::new(io::stdout()));
        match std::mem::replace(&mut self.sink, stdout) {
            Sink::Stdout(_) => flushed,
            Sink::Pager(mut child, stdin) => {
                drop(stdin);
                child.wait()?;
                // Whoever leaves the pager early has read enough.
                match flushed {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                    result => result,
                }
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.write(bytes),
            Sink::Pager(_, stdin) => stdin.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::Pager(_, stdin) => stdin.flush(),
        }
    }
}
