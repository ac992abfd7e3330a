//! Durable edits through the library, against raw appends and against parsing alone.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use ledger::core::{Author, AuthorKind, System, TreePath};
use ledger::{FileChange, FileTarget, Options, Provenance, Record, Workspace};
use ledger_semantic::Outline;

use crate::Failure;
use crate::measure::{Times, ratio};

const EDITS: usize = 400;
const THREADS: usize = 32;
const EDITS_A_THREAD: usize = 40;
const PYTHON_LINES: usize = 1000;

/// A scratch workspace, and beside it a file for raw appends.
pub struct Project {
    root: PathBuf,
    raw: File,
}

impl Project {
    /// Makes one in a directory that is not there yet.
    pub fn make(dir: PathBuf) -> Result<Self, Failure> {
        let root = dir.join("work");
        std::fs::create_dir_all(&root)?;
        let raw = File::create(dir.join("raw"))?;
        raw.sync_all()?;
        Workspace::init(&root, &author(), options(false))?;
        Ok(Project { root, raw })
    }

    fn open(&self, semantics: bool) -> Result<Workspace, Failure> {
        Ok(Workspace::open_with(&self.root, options(semantics))?)
    }

    /// What no durable append can do without: one write and one `fdatasync`.
    fn append_raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        (&self.raw).write_all(bytes)?;
        Ok(self.raw.sync_data()?)
    }
}

/// Patches and snapshots wait until they are asked for, so that they are not measured by chance.
fn options(semantics: bool) -> Options {
    let background = false;
    Options {
        semantics,
        background,
        ..Options::default()
    }
}

fn author() -> Provenance {
    Provenance::by(Author {
        name: "bench".to_owned(),
        version: None,
        kind: AuthorKind::Agent,
    })
}

/// The change of a file to a text, with a short reason.
fn edit(path: &str, text: &str) -> Result<Record, Failure> {
    let (bytes, mode) = (text.as_bytes().to_vec(), None);
    let to = FileTarget::Content { bytes, mode };
    let change = FileChange {
        path: TreePath::parse(path)?,
        to,
    };
    let mut provenance = author();
    provenance.rationale = Some("one of many".to_owned());
    Ok(Record::new(vec![change], provenance))
}

/// The row of the last event, with its newline.
fn last_row(workspace: &Workspace) -> Result<Vec<u8>, Failure> {
    let view = workspace.view()?;
    let mut row = view.event(view.last())?.line.into_vec();
    row.push(b'\n');
    Ok(row)
}

/// One edit, durable, against one raw append of the same bytes.
pub fn one_edit_against_raw(project: &Project) -> Result<(), Failure> {
    println!("one durable edit, semantics off");
    let workspace = project.open(false)?;
    let (mut library, mut raw, mut after) = (Times::default(), Times::default(), Times::default());
    let mut row = Vec::new();
    for n in 0..EDITS {
        let request = edit("a.txt", &format!("first\nline {n}\nlast\n"))?;
        library.take(|| workspace.record(&request))?;
        row = last_row(&workspace)?;
        raw.take(|| project.append_raw(&row))?;
    }
    after.take(|| workspace.settle());
    library.print("through the library");
    raw.print(&format!(
        "raw append + fdatasync of its {} bytes",
        row.len()
    ));
    ratio("ratio", library.median(), raw.median(), "1.3x or less");
    after.print("afterwards: all patches, and a snapshot");
    Ok(())
}

/// Many threads, against one that appends raw.
pub fn threads_against_raw(project: &Project) -> Result<(), Failure> {
    println!("{THREADS} threads, each edit durable, semantics off");
    let workspace = project.open(false)?;
    workspace.record(&edit("first.txt", "first\n")?)?;
    let row = last_row(&workspace)?;
    let mut raw = Times::default();
    for _ in 0..EDITS {
        raw.take(|| project.append_raw(&row))?;
    }
    let start = Instant::now();
    let longest = std::thread::scope(|scope| {
        let write = |n: usize| -> Result<Times, Failure> {
            let mut times = Times::default();
            for k in 0..EDITS_A_THREAD {
                let request = edit(&format!("{n}.txt"), &format!("first\nline {k}\nlast\n"))?;
                times.take(|| workspace.record(&request))?;
            }
            Ok(times)
        };
        let threads: Vec<_> = (0..THREADS)
            .map(|n| scope.spawn(move || write(n)))
            .collect();
        let mut longest = Vec::new();
        for thread in threads {
            let times = thread.join().map_err(|_| "a thread panicked")??;
            longest.push(times.at(1.0));
        }
        Ok::<_, Failure>(longest.into_iter().max().unwrap_or_default())
    })?;
    let took = start.elapsed();
    let each = took / (THREADS * EDITS_A_THREAD) as u32;
    raw.print("one writer, raw");
    println!(
        "  {:<44} {}",
        "an edit, on the average of all",
        crate::measure::shown(each)
    );
    println!(
        "  {:<44} {}",
        "the longest wait",
        crate::measure::shown(longest)
    );
    ratio(
        "rate against one raw writer",
        raw.median(),
        each,
        "8x or more",
    );
    Ok(())
}

/// An edit of a Python file with semantics, against the same without and parsing alone.
pub fn semantics_against_parse(project: &Project, other: &Project) -> Result<(), Failure> {
    println!("one durable edit of a Python file of {PYTHON_LINES} lines");
    let with = project.open(true)?;
    let without = other.open(false)?;
    let (mut on, mut off, mut parse) = (Times::default(), Times::default(), Times::default());
    let path = TreePath::parse("module.py")?;
    with.record(&edit("module.py", &python(0))?)?;
    without.record(&edit("module.py", &python(0))?)?;
    for n in 1..=EDITS / 2 {
        let text = python(n);
        let request = edit("module.py", &text)?;
        on.take(|| with.record(&request))?;
        off.take(|| without.record(&request))?;
        parse.take(|| black_box(Outline::parse(&path, text.as_bytes(), &System)));
    }
    on.print("semantics on");
    off.print("semantics off");
    parse.print("parsing alone");
    ratio(
        "on, against off and parsing",
        on.median(),
        off.median() + parse.median(),
        "1.2x or less",
    );
    Ok(())
}

/// A module of many methods, of which one line is new each time.
fn python(n: usize) -> String {
    let mut text = String::new();
    for block in 0..PYTHON_LINES / 5 {
        let value = if block == 100 { n } else { 0 };
        text.push_str(&format!(
            "class Class{block}:\n    def method(self, argument):\n        if argument > {block}:\n            return argument + {value}\n        return {block}\n"
        ));
    }
    text
}
