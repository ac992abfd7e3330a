//! Line diffs whose time does not run away.
//!
//! imara-diff's histogram looks at the whole rest for each common run that it finds, and its Myers
//! scans back over all lines that are frequent: both take time quadratic in the lines (200,000
//! lines of which every second changed: 40 s). So both only ever see parts of limited size.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, IndentHeuristic, IndentLevel, InternedInput, Token};

use super::Hunk;

/// Lines, of both sides together, up to which the histogram alone does it.
const HISTOGRAM_LINES: usize = 4096;
/// Lines of each side that are compared at once where nothing cuts a long, repetitive part.
const WINDOW_LINES: usize = 1024;
/// How often a part that is cut may be cut again.
const CUTS_MAX: u32 = 4;
/// How far into a line its indent is looked for.
const INDENT_BYTES: usize = 256;
const TAB_WIDTH: u8 = 8;

/// The hunks between two texts, slid to where they read best.
pub(super) fn compare(old: &[u8], new: &[u8]) -> Vec<Hunk> {
    let input = InternedInput::new(old, new);
    let tokens = input.interner.num_tokens();
    let mut diff = Diff::default();
    if input.before.len() + input.after.len() <= HISTOGRAM_LINES {
        diff.compute_with(Algorithm::Histogram, &input.before, &input.after, tokens);
    } else {
        let matched = Matcher::new(&input.before, &input.after, tokens).run();
        compute_as_matched(&mut diff, &input, &matched);
    }
    let indent = |token| {
        let line: &[u8] = input.interner[token];
        IndentLevel::for_ascii_line(line.iter().take(INDENT_BYTES).copied(), TAB_WIDTH)
    };
    diff.postprocess_with_heuristic(&input, IndentHeuristic::new(indent));
    diff.hunks()
        .map(|hunk| Hunk {
            old: hunk.before,
            new: hunk.after,
        })
        .collect()
}

/// Makes `diff` hold exactly the given matches.
///
/// A [`Diff`] can only be computed, so it gets tokens that leave no choice: each match has one
/// of its own, and all other lines have none in common. Myers prunes the latter at once and finds
/// the rest equal, in linear time.
fn compute_as_matched(diff: &mut Diff, input: &InternedInput<&[u8]>, matched: &[(u32, u32)]) {
    let matches = matched.len() as u32;
    let only_old = Token(matches);
    let only_new = Token(matches + 1);
    let mut before = vec![only_old; input.before.len()];
    let mut after = vec![only_new; input.after.len()];
    for (token, &(old, new)) in matched.iter().enumerate() {
        before[old as usize] = Token(token as u32);
        after[new as usize] = Token(token as u32);
    }
    diff.compute_with(Algorithm::Myers, &before, &after, matches + 2);
}

/// A part of both sides, as ranges of lines, that is still to be compared.
struct Part {
    old: Range<u32>,
    new: Range<u32>,
    cuts: u32,
}

/// Finds pairs of equal lines, in ascending order on both sides.
struct Matcher<'t> {
    old: &'t [Token],
    new: &'t [Token],
    /// Per token, what is known of it in the part at hand; all zero between uses.
    seen: Vec<Seen>,
    matched: Vec<(u32, u32)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    in_old: u32,
    in_new: u32,
    old_line: u32,
    /// One more than the number that stands for it within the part.
    number: u32,
}

impl<'t> Matcher<'t> {
    fn new(old: &'t [Token], new: &'t [Token], tokens: u32) -> Self {
        Matcher {
            old,
            new,
            seen: vec![Seen::default(); tokens as usize],
            matched: Vec::new(),
        }
    }

    fn run(mut self) -> Vec<(u32, u32)> {
        let mut parts = vec![Part {
            old: 0..self.old.len() as u32,
            new: 0..self.new.len() as u32,
            cuts: 0,
        }];
        // A stack, the upper part on top, so that matches come out in order.
        while let Some(part) = parts.pop() {
            let part = self.match_top(part);
            if part.old.len() + part.new.len() <= HISTOGRAM_LINES {
                self.match_within(Algorithm::Histogram, part.old, part.new);
                continue;
            }
            let anchors = match part.cuts {
                CUTS_MAX.. => Vec::new(),
                _ => self.anchors(&part),
            };
            if anchors.is_empty() {
                self.match_by_windows(part);
            } else {
                parts.extend(cut(part, &anchors).into_iter().rev());
            }
        }
        self.matched
    }

    /// Matches the equal lines that a part begins with, and returns the rest of it.
    fn match_top(&mut self, mut part: Part) -> Part {
        let same = self.old[as_usize(&part.old)]
            .iter()
            .zip(&self.new[as_usize(&part.new)])
            .take_while(|(old, new)| old == new)
            .count() as u32;
        self.matched
            .extend((0..same).map(|i| (part.old.start + i, part.new.start + i)));
        part.old.start += same;
        part.new.start += same;
        part
    }

    /// Lines that occur exactly once on either side, as many as stand in the same order on both
    /// (Cohen's patience diff: the longest increasing subsequence, by piles).
    fn anchors(&mut self, part: &Part) -> Vec<(u32, u32)> {
        for line in part.old.clone() {
            let seen = &mut self.seen[self.old[line as usize].0 as usize];
            seen.in_old += 1;
            seen.old_line = line;
        }
        for line in part.new.clone() {
            self.seen[self.new[line as usize].0 as usize].in_new += 1;
        }
        let mut unique = Vec::new();
        for line in part.new.clone() {
            let seen = self.seen[self.new[line as usize].0 as usize];
            if (seen.in_old, seen.in_new) == (1, 1) {
                unique.push((seen.old_line, line));
            }
        }
        self.forget(&part.old, &part.new);
        longest_ascending(&unique)
    }

    fn forget(&mut self, old: &Range<u32>, new: &Range<u32>) {
        let old = self.old[as_usize(old)].iter();
        for token in old.chain(&self.new[as_usize(new)]) {
            self.seen[token.0 as usize] = Seen::default();
        }
    }

    /// Lets imara-diff compare a part of limited size.
    fn match_within(&mut self, algorithm: Algorithm, old: Range<u32>, new: Range<u32>) {
        if old.is_empty() || new.is_empty() {
            return;
        }
        // imara-diff makes tables as long as there are tokens: number those of the part afresh.
        let mut numbers = 0;
        let mut number = |token: &Token| {
            let seen = &mut self.seen[token.0 as usize];
            if seen.number == 0 {
                numbers += 1;
                seen.number = numbers;
            }
            Token(seen.number - 1)
        };
        let before: Vec<Token> = self.old[as_usize(&old)].iter().map(&mut number).collect();
        let after: Vec<Token> = self.new[as_usize(&new)].iter().map(&mut number).collect();
        self.forget(&old, &new);
        let mut diff = Diff::default();
        diff.compute_with(algorithm, &before, &after, numbers);
        let kept_old = (0..old.len() as u32).filter(|&i| !diff.is_removed(i));
        let kept_new = (0..new.len() as u32).filter(|&i| !diff.is_added(i));
        self.matched.extend(
            kept_old
                .zip(kept_new)
                .map(|(i, j)| (old.start + i, new.start + j)),
        );
    }

    /// Goes through a part in windows. Each next one begins behind the last match, or else behind
    /// the whole window, so that the sides stay aligned where they shift by less than a window.
    fn match_by_windows(&mut self, mut part: Part) {
        while !part.old.is_empty() && !part.new.is_empty() {
            let window = |lines: &Range<u32>| {
                lines.start
                    ..lines
                        .end
                        .min(lines.start.saturating_add(WINDOW_LINES as u32))
            };
            let (old, new) = (window(&part.old), window(&part.new));
            let before = self.matched.len();
            self.match_within(Algorithm::Myers, old.clone(), new.clone());
            let halfway = (WINDOW_LINES / 2) as u32;
            let last = self.matched[before..].last().copied();
            let resume = last
                .map(|(i, j)| (i + 1, j + 1))
                .filter(|&(i, j)| i - old.start >= halfway || j - new.start >= halfway);
            (part.old.start, part.new.start) = resume.unwrap_or((old.end, new.end));
        }
    }
}

fn as_usize(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// The parts that begin at the top of `part` and at each anchor.
fn cut(part: Part, anchors: &[(u32, u32)]) -> Vec<Part> {
    let starts = std::iter::once((part.old.start, part.new.start)).chain(anchors.iter().copied());
    let ends = anchors
        .iter()
        .copied()
        .chain([(part.old.end, part.new.end)]);
    starts
        .zip(ends)
        .map(|((old, new), (old_end, new_end))| Part {
            old: old..old_end,
            new: new..new_end,
            cuts: part.cuts + 1,
        })
        .filter(|part| !part.old.is_empty() && !part.new.is_empty())
        .collect()
}

/// The longest subsequence of `pairs` (which ascend in the second member) that ascends in the
/// first one too.
fn longest_ascending(pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut pile_tops: Vec<usize> = Vec::new();
    let mut below: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (i, &(old, _)) in pairs.iter().enumerate() {
        let pile = pile_tops.partition_point(|&top| pairs[top].0 < old);
        below.push(pile.checked_sub(1).map(|left| pile_tops[left]));
        match pile_tops.get_mut(pile) {
            Some(top) => *top = i,
            None => pile_tops.push(i),
        }
    }
    let mut next = pile_tops.last().copied();
    let mut longest = Vec::with_capacity(pile_tops.len());
    while let Some(i) = next {
        longest.push(pairs[i]);
        next = below[i];
    }
    longest.reverse();
    longest
}
