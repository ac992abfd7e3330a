//! `bench history`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ledger::core::bytes::printable;
use ledger::core::log::{Query, Row, View};
use ledger::core::{Event, EventId, Timestamp};

use crate::Done;
use crate::args::Global;
use crate::context::{CommandResult, Context};
use crate::error::CommandError;
use crate::output::{Output, Paint};
use crate::text;
use crate::times::{Times, parse_since, parse_until};

/// List events, newest first
///
/// Those of every branch, unless --branch names one. All conditions that are given have to hold.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Only events that concern this file
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Only events of this author
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Only events on this branch
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Only events in this block: validate, or function:validate
    #[arg(long, value_name = "BLOCK")]
    symbol: Option<String>,
    /// Only events of this run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Only events of this operation
    #[arg(long, value_name = "ID")]
    operation: Option<String>,
    /// Only events of this action type
    #[arg(long, value_name = "TYPE")]
    action: Option<String>,
    /// Only events made at this time or later: 2025-09-27, 2025-09-27T14:05:10Z, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<Timestamp>,
    /// Only events made at this time or earlier
    #[arg(long, value_name = "TIME", value_parser = parse_until)]
    until: Option<Timestamp>,
    /// At most so many events
    #[arg(short = 'n', long = "max-count", value_name = "N")]
    limit: Option<usize>,
    /// Put events together under headings
    #[arg(long, value_name = "WHAT")]
    group_by: Option<Group>,
}

/// What events are put together by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Group {
    Operation,
    Snapshot,
    Author,
}

impl HistoryArgs {
    pub fn run(self, global: &Global, out: &mut Output) -> CommandResult {
        global.with_workspace(out, |context, out| {
            let query = self.query(context)?;
            let view = context.workspace.view()?;
            if let Some(branch) = &query.branch
                && !view.heads().branches.contains_key(branch)
            {
                let what = format!("there is no branch {branch:?}");
                return Err(CommandError::failed(what)
                    .with_hint("`bench branch list` shows the branches there are"));
            }
            out.page();
            let limit = self.limit.unwrap_or(usize::MAX);
            let mut list = List::new(out);
            match self.group_by {
                None => list.all(&view, query, limit, |_| None)?,
                Some(Group::Operation) => list.all(&view, query, limit, |event| {
                    Some(format!("operation {}", event.body.operation_id.as_deref()?))
                })?,
                Some(Group::Snapshot) => list.all(&view, query, limit, |event| {
                    Some(match event.base_snapshot {
                        Some(id) => format!("after {id}"),
                        None => "before the first snapshot".to_owned(),
                    })
                })?,
                Some(Group::Author) => by_author(&mut list, &view, query, limit)?,
            }
            Ok(Done::Ok)
        })
    }

    fn query(&self, context: &Context) -> Result<Query, CommandError> {
        let file = self.file.as_deref();
        Ok(Query {
            file: file.map(|file| context.paths.of_arg(file)).transpose()?,
            author: self.author.clone(),
            branch: self.branch.clone(),
            symbol: self.symbol.clone(),
            run: self.run.clone(),
            operation: self.operation.clone(),
            action: self.action.clone(),
            since: self.since,
            until: self.until,
            ..Query::default()
        })
    }
}

/// Lists each author's events together. The ledger is read once for the names, and once for each of
/// them, so that no more than the names is held.
fn by_author(
    list: &mut List<'_>,
    view: &View,
    query: Query,
    limit: usize,
) -> Result<(), CommandError> {
    // The newest event of each author gives the order; the oldest of all, where to stop.
    let mut authors: BTreeMap<String, EventId> = BTreeMap::new();
    let mut oldest = None;
    for row in view.history(query.clone()).take(limit) {
        let event = row?.event;
        oldest = Some(event.id);
        authors.entry(event.body.author.name).or_insert(event.id);
    }
    let mut authors: Vec<(String, EventId)> = authors.into_iter().collect();
    authors.sort_by_key(|(_, newest)| std::cmp::Reverse(*newest));
    for (author, _) in authors {
        let query = Query {
            author: Some(author),
            from: oldest,
            ..query.clone()
        };
        list.all(view, query, usize::MAX, |event| {
            Some(format!("author {}", event.body.author.name))
        })?;
    }
    Ok(())
}

/// Prints events as they come.
struct List<'a> {
    out: &'a mut Output,
    times: Times,
    columns: Option<usize>,
    heading: Option<String>,
}

impl<'a> List<'a> {
    fn new(out: &'a mut Output) -> Self {
        List {
            columns: out.columns(),
            out,
            times: Times::local(),
            heading: None,
        }
    }

    fn all(
        &mut self,
        view: &View,
        query: Query,
        limit: usize,
        heading: impl Fn(&Event) -> Option<String>,
    ) -> Result<(), CommandError> {
        for row in view.history(query).take(limit) {
            let row = row?;
            match self.out.json {
                true => self.out.json_line(&row.line)?,
                false => self.event(&row, heading(&row.event))?,
            }
        }
        Ok(())
    }

    fn event(&mut self, row: &Row, heading: Option<String>) -> std::io::Result<()> {
        let style = self.out.style;
        if let Some(heading) = &heading
            && self.heading.as_ref() != Some(heading)
        {
            if self.heading.is_some() {
                writeln!(self.out)?;
            }
            let shown = printable(heading.as_bytes());
            writeln!(self.out, "{}", style.paint(Paint::Strong, &shown))?;
        }
        let grouped = heading.is_some();
        self.heading = heading;
        let event = &row.event;
        let indent = if grouped { "  " } else { "" };
        let parts = [
            (Paint::Id, event.id.to_string()),
            (Paint::Plain, self.times.short(event.made_at())),
            (
                Paint::Author,
                text::first_line(Some(&event.body.author.name)),
            ),
            (
                Paint::Hunk,
                text::first_line(Some(event.body.action.as_str())),
            ),
            (Paint::Plain, text::place(event)),
            (Paint::Plain, text::block(event)),
            (
                Paint::Plain,
                text::first_line(event.body.rationale.as_deref()),
            ),
        ];
        let columns = self
            .columns
            .map(|columns| columns.saturating_sub(indent.len()));
        writeln!(self.out, "{indent}{}", text::fit(&parts, columns, style))
    }
}
