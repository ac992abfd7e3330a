//! `bench record --stdin`: one JSON object a line in, one line out for each, printed when it is durable.

use std::io::{self, BufRead, Read, Write};

use ledger::{Answer, ErrorCode, LINE_MAX, Provenance, Workspace};

use crate::Done;
use crate::context::CommandResult;
use crate::error::{CommandError, status_of};
use crate::output::Output;

/// Answers lines until there are no more, or nothing more can be recorded.
pub(super) fn serve(
    workspace: &Workspace,
    defaults: &Provenance,
    out: &mut Output,
) -> CommandResult {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    let mut status = 0;
    while let Some(whole) = read_line(&mut input, &mut line).map_err(unreadable)? {
        if whole && line.trim_ascii().is_empty() {
            continue;
        }
        let answer = match whole {
            true => workspace.record_line(defaults, &line),
            false => Answer::too_long(),
        };
        out.json_line(&answer.to_json())?;
        out.flush()?;
        if let Answer::Refused { code, .. } = answer {
            status = status.max(status_of(code));
            if matches!(code, ErrorCode::Storage | ErrorCode::Damaged) {
                // What cannot be written or trusted now must not be acknowledged later.
                return Ok(Done::Status(status_of(code)));
            }
        }
    }
    Ok(match status {
        0 => Done::Ok,
        status => Done::Status(status),
    })
}

/// Reads the next line, without its end. `None` at the end of the input; false when it is longer than
/// a line may be, and was skipped.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    let limit = LINE_MAX as u64 + 1;
    if input.by_ref().take(limit).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > LINE_MAX {
        *line = Vec::new();
        input.skip_until(b'\n')?;
        return Ok(Some(false));
    }
    Ok(Some(true))
}

fn unreadable(error: io::Error) -> CommandError {
    CommandError::environment("the standard input cannot be read", &error)
}
