//! The languages that have blocks, and how a file is known to be in one.

use ledger_core::TreePath;

/// A language whose texts have semantic blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// Python 3: `.py`, `.pyi`, `.pyw`.
    Python,
    /// YAML 1.2: `.yaml`, `.yml`.
    Yaml,
    /// JSON, with comments allowed: `.json`.
    Json,
}

impl Language {
    /// The language of a file by its extension, in any case; nothing for other files.
    pub fn of(path: &TreePath) -> Option<Language> {
        let name = path.name();
        let dot = name.iter().rposition(|&b| b == b'.')?;
        match name[dot + 1..].to_ascii_lowercase().as_slice() {
            b"py" | b"pyi" | b"pyw" => Some(Language::Python),
            b"yaml" | b"yml" => Some(Language::Yaml),
            b"json" => Some(Language::Json),
            _ => None,
        }
    }

    pub(crate) fn grammar(self) -> tree_sitter::Language {
        match self {
            Language::Python => tree_sitter_python::LANGUAGE.into(),
            Language::Yaml => tree_sitter_yaml::LANGUAGE.into(),
            Language::Json => tree_sitter_json::LANGUAGE.into(),
        }
    }
}
