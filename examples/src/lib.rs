//! What the examples share: a workspace to work in.

use std::path::PathBuf;

use ledger::core::{Author, AuthorKind, TreePath};
use ledger::{ErrorCode, FileChange, FileTarget, Options, Provenance, Record, Workspace};
use tempfile::TempDir;

/// Any error: an example has nobody to choose by kind.
pub type Failure = Box<dyn std::error::Error>;

/// A workspace, and where it is.
pub struct Place {
    /// The workspace.
    pub workspace: Workspace,
    /// Its root.
    pub root: PathBuf,
    /// Whether it was made for this run, and goes with it.
    pub scratch: Option<TempDir>,
}

/// The workspace in the directory that the first argument names; a ledger is made where there is none.
/// Without an argument, a small project in a scratch directory.
pub fn place() -> Result<Place, Failure> {
    let scratch = match std::env::args_os().nth(1) {
        Some(_) => None,
        None => Some(tempfile::tempdir()?),
    };
    let root = match (&scratch, std::env::args_os().nth(1)) {
        (Some(dir), _) => dir.path().to_path_buf(),
        (None, named) => PathBuf::from(named.unwrap_or_default()),
    };
    if scratch.is_some() {
        std::fs::write(root.join("parser.py"), PARSER)?;
        std::fs::write(root.join("rules.yaml"), RULES)?;
    }
    let workspace = match Workspace::open(&root) {
        Ok(workspace) => workspace,
        Err(error) if ErrorCode::from(&error) == ErrorCode::NotFound => {
            Workspace::init(&root, &agent("example"), Options::default())?.workspace
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Place {
        workspace,
        root,
        scratch,
    })
}

/// An agent of this name, as the author of what it does.
pub fn agent(name: &str) -> Provenance {
    Provenance::by(Author {
        name: name.to_owned(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        kind: AuthorKind::Agent,
    })
}

/// The change of one file to a new text.
pub fn text_of(path: &str, text: &str) -> Result<FileChange, Failure> {
    let (bytes, mode) = (text.as_bytes().to_vec(), None);
    let to = FileTarget::Content { bytes, mode };
    Ok(FileChange {
        path: TreePath::parse(path)?,
        to,
    })
}

/// Records a few edits of the small project, to have a history.
pub fn sample_history(workspace: &Workspace) -> Result<(), Failure> {
    let edits = [
        (
            "parser.py",
            PARSER.replace("return []", "return text.split()"),
            "split on blanks",
        ),
        (
            "rules.yaml",
            RULES.replace("warn", "error"),
            "tabs break the parser",
        ),
    ];
    for (path, text, why) in edits {
        let mut provenance = agent("writer");
        provenance.rationale = Some(why.to_owned());
        workspace.record(&Record::new(vec![text_of(path, &text)?], provenance))?;
    }
    Ok(())
}

const PARSER: &str = "class Parser:\n    def parse(self, text):\n        return []\n";
const RULES: &str = "rules:\n  - id: no-tabs\n    level: warn\n";
