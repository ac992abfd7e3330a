//! Everything that an event says.

use std::io::{self, Write};

use ledger::core::bytes::printable;
use ledger::core::{AuthorKind, Event};
use ledger::{ArtifactCondition, ArtifactInfo};

use super::text as lines_of;
use crate::output::{Output, Paint};
use crate::text::{block, place, size};
use crate::times::Times;

/// Shows an event, without its diff.
pub(crate) fn event(event: &Event, artifacts: &[ArtifactInfo], out: &mut Output) -> io::Result<()> {
    let (body, style, times) = (&event.body, out.style, Times::local());
    let safe = |text: &str| printable(text.as_bytes());
    let optional = |text: &Option<String>| text.as_deref().map(safe).unwrap_or_default();
    let id = |id: Option<ledger::core::EventId>| id.map(|id| id.to_string()).unwrap_or_default();
    let kind = match body.author.kind {
        AuthorKind::Agent => "agent",
        AuthorKind::Human => "human",
        _ => "system",
    };
    let version = body.author.version.as_deref().map(safe);
    let version = version
        .map(|version| format!(" {version}"))
        .unwrap_or_default();
    let recorded = match body.authored_at {
        Some(_) => times.long(event.ts),
        None => String::new(),
    };
    let warning = optional(&body.semantic_warning);
    let fields = [
        ("event", style.paint(Paint::Id, &event.id.to_string())),
        ("action", safe(body.action.as_str())),
        ("about", place(event)),
        ("block", block(event)),
        (
            "author",
            format!("{}{version} ({kind})", safe(&body.author.name)),
        ),
        ("date", times.long(event.made_at())),
        ("recorded", recorded),
        ("branch", safe(&body.branch)),
        ("parent", id(event.parent)),
        ("operation", optional(&body.operation_id)),
        ("run", optional(&body.run_id)),
        ("boundary", optional(&body.boundary)),
        ("key", optional(&event.key)),
        ("warning", warning),
    ];
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        writeln!(out, "{name:<10} {value}")?;
    }
    for artifact in artifacts {
        let bytes = artifact.bytes.map(size).unwrap_or_default();
        let condition = match artifact.condition {
            ArtifactCondition::Intact | ArtifactCondition::Unknown => String::new(),
            ArtifactCondition::Altered => style.paint(Paint::Error, " altered since"),
            ArtifactCondition::Missing => style.paint(Paint::Error, "missing"),
        };
        let path = safe(&artifact.path);
        writeln!(out, "{:<10} {path}  {bytes}{condition}", "artifact")?;
    }
    if let Some(rationale) = &body.rationale {
        writeln!(out)?;
        for line in rationale.lines() {
            write!(out, "    ")?;
            lines_of(line.as_bytes(), out)?;
            writeln!(out)?;
        }
    }
    Ok(())
}
