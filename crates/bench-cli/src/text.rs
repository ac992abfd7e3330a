//! Events and numbers in words.

use ledger::core::bytes::printable;
use ledger::core::{Action, Event};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::{Paint, Style};

/// `1.2 MB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

/// Ranges of lines that are named before the rest is left out.
const RANGES_SHOWN: usize = 3;

/// Lines that an event affects: `10-12`, `3,10-12`.
fn lines(event: &Event) -> String {
    let body = &event.body;
    if let Some([first, last]) = body.affected_range {
        return format!("{first}-{last}");
    }
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &line in &body.affected_lines {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(line) => *last = line,
            _ => ranges.push((line, line)),
        }
    }
    let shown = ranges.iter().take(RANGES_SHOWN).map(|&(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    let mut text = shown.collect::<Vec<_>>().join(",");
    if ranges.len() > RANGES_SHOWN {
        text.push_str(",...");
    }
    text
}

/// What an event is about: a file and its lines, a bookmark, a snapshot, another event.
pub(crate) fn place(event: &Event) -> String {
    let body = &event.body;
    if let Some(edit) = body.edits.first() {
        let mut text = match &edit.from {
            Some(from) => format!("{from} -> {}", edit.path),
            None => edit.path.to_string(),
        };
        let lines = lines(event);
        let whole = matches!(body.action, Action::FileCreate | Action::FileDelete);
        if !lines.is_empty() && !whole {
            text.push(':');
            text.push_str(&lines);
        }
        return text;
    }
    if let Some(op) = &body.bookmark_op {
        let name = printable(op.name.as_bytes());
        let was = op.was.as_deref().unwrap_or_default();
        return match (op.op.as_str(), &op.target) {
            ("rename", _) => format!("{} -> {name}", printable(was.as_bytes())),
            ("add" | "move", Some(target)) => format!("{name} -> {}", printable(target.as_bytes())),
            (verb, _) => format!("{} {name}", printable(verb.as_bytes())),
        };
    }
    if let (Some(id), Some(note)) = (body.snapshot_ref, &body.snapshot) {
        return format!("{id} of {}", note.base_event_id);
    }
    if let Some(rewind) = &body.rewind {
        let to = event.parent.map(|to| to.to_string()).unwrap_or_default();
        return format!("{} -> {to}", rewind.from);
    }
    match body.action {
        Action::Branch => printable(body.branch.as_bytes()),
        _ => String::new(),
    }
}

/// The semantic block of an event: `function:validate`.
pub(crate) fn block(event: &Event) -> String {
    let block = event.body.semantic_block.as_ref();
    block
        .filter(|block| !matches!(block.kind.as_str(), "lines" | "file"))
        .map(|block| printable(format!("{}:{}", block.kind, block.id).as_bytes()))
        .unwrap_or_default()
}

/// The first line of a text, safe to show.
pub(crate) fn first_line(text: Option<&str>) -> String {
    let line = text.unwrap_or_default().lines().next().unwrap_or_default();
    printable(line.trim().as_bytes())
}

/// What an event did, for whoever did it: `evt-000124 edit_replace a.py:10-12 function:validate`.
pub(crate) fn done(event: &Event, style: Style) -> String {
    let place = place(event);
    // What is about nothing else is about its words.
    let words = match place.is_empty() {
        true => first_line(event.body.rationale.as_deref()),
        false => block(event),
    };
    let parts = [
        style.paint(Paint::Id, &event.id.to_string()),
        printable(event.body.action.as_str().as_bytes()),
        place,
        words,
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// Lays out parts of a line, two spaces apart, and cuts what does not fit.
pub(crate) fn fit(parts: &[(Paint, String)], columns: Option<usize>, style: Style) -> String {
    const GAP: &str = "  ";
    let mut left = columns.unwrap_or(usize::MAX);
    let mut line = String::new();
    for (paint, text) in parts.iter().filter(|(_, text)| !text.is_empty()) {
        if !line.is_empty() {
            if left <= GAP.len() {
                break;
            }
            line.push_str(GAP);
            left -= GAP.len();
        }
        let shown = cut(text, left);
        left -= shown.width().min(left);
        line.push_str(&style.paint(*paint, &shown));
        if left == 0 {
            break;
        }
    }
    line
}

/// A text cut to so many columns, with an ellipsis where something is missing.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let mut used = 0;
    let fits = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > room
    });
    let end = fits.map_or(text.len(), |(at, _)| at);
    match columns {
        0 => String::new(),
        _ => format!("{}…", &text[..end]),
    }
}
