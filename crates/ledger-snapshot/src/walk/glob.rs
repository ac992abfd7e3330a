//! Git's patterns, put so that the `ignore` crate reads them as git does.
//!
//! The two agree on what people write. They differ in braces (literal in git), in what a class may
//! hold, in runs of stars, and in white space at the end; the rules here are those of git's `dir.c`
//! and `wildmatch.c`.

/// Why a line is no pattern. Git has such lines match nothing, without a word.
pub(super) type Why = &'static str;

/// Translates one line; `None` for a comment or an empty one.
pub(super) fn translate(line: &[u8]) -> Result<Option<String>, Why> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Git's lines are C strings.
    let line = line.split(|&b| b == 0).next().unwrap_or(line);
    if line.starts_with(b"#") {
        return Ok(None);
    }
    let line = trim_spaces(line);
    let line = std::str::from_utf8(line).map_err(|_| "it is not UTF-8")?;
    let (negated, rest) = match line.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (only_dir, rest) = match rest.strip_suffix('/') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let anchored = rest.contains('/');
    let body = body(rest.strip_prefix('/').unwrap_or(rest), anchored)?;
    if body.is_empty() {
        return Ok(None);
    }
    if body.ends_with('/') {
        return Err("it ends with more than one slash");
    }
    let mut pattern = String::with_capacity(body.len() + 6);
    pattern.push_str(if negated { "!" } else { "" });
    // Said outright, as the other reader would look for a slash in classes too.
    pattern.push_str(if anchored { "/" } else { "/**/" });
    pattern.push_str(&body);
    pattern.push_str(if only_dir { "/" } else { "" });
    Ok(Some(pattern))
}

/// Cuts spaces at the end that are not escaped. Other white space is part of the pattern.
fn trim_spaces(line: &[u8]) -> &[u8] {
    // Where the pattern ends, as far as it has been looked at.
    let (mut at, mut end) = (0, 0);
    while at < line.len() {
        let is_space = line[at] == b' ';
        at += if line[at] == b'\\' { 2 } else { 1 };
        if !is_space {
            end = at.min(line.len());
        }
    }
    &line[..end]
}

/// Translates what is between the marks at both ends of a line.
fn body(pattern: &str, anchored: bool) -> Result<String, Why> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut out = String::with_capacity(pattern.len());
    let is_wild = |c: &char| matches!(c, '*' | '?' | '[' | '\\');
    let literal = chars.iter().position(is_wild).unwrap_or(chars.len());
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        match c {
            '\\' => {
                let escaped = *chars.get(at + 1).ok_or("it ends with a backslash")?;
                push_literal(&mut out, escaped);
                at += 2;
            }
            '[' => {
                let (class, next) = Class::parse(&chars, at + 1)?;
                class.write(&mut out)?;
                at = next;
            }
            '*' => {
                let next = at + stars(&chars[at..]);
                let across = anchored && next - at > 1 && ends_component(&chars[next..]);
                let starts = at == 0 || chars[at - 1] == '/';
                if across && !starts && at == literal {
                    return after_literal(&out, &chars[next..]);
                }
                out.push_str(match (across && starts, chars.get(next)) {
                    // Only `**/`, as it stands, may be nothing at all.
                    (true, Some('\\')) => "*/**",
                    (true, _) => "**",
                    (false, _) => "*",
                });
                at = next;
            }
            '?' => {
                out.push('?');
                at += 1;
            }
            c => {
                push_literal(&mut out, c);
                at += 1;
            }
        }
    }
    Ok(out)
}

/// How many stars there are at the start.
fn stars(chars: &[char]) -> usize {
    chars.iter().take_while(|&&c| c == '*').count()
}

/// Whether a component of the path ends where `rest` begins.
fn ends_component(rest: &[char]) -> bool {
    matches!(rest, [] | ['/', ..] | ['\\', '/', ..])
}

/// Translates `LITERAL**REST`. Git compares the literal by itself and matches what is left against
/// `**REST`, which now begins with its stars: so they go across directories, though its manual says
/// that such stars do not.
fn after_literal(literal: &str, rest: &[char]) -> Result<String, Why> {
    let tail = match rest {
        ['/', tail @ ..] => tail,
        ['\\', '/', tail @ ..] => {
            let tail = body(&tail.iter().collect::<String>(), true)?;
            return Ok(format!("{literal}*/**/{tail}"));
        }
        _ => return Ok(format!("{{{literal}*,{literal}*/**/*}}")),
    };
    if tail.is_empty() {
        return Ok(literal.to_owned());
    }
    // `**/` may also be nothing at all.
    let more = stars(tail);
    let nothing = if more > 1 && ends_component(&tail[more..]) {
        after_literal(literal, &tail[more..])?
    } else {
        literal.to_owned() + &body(&tail.iter().collect::<String>(), true)?
    };
    let tail = body(&tail.iter().collect::<String>(), true)?;
    // What ends with a slash matches nothing, as no path does.
    match tail.ends_with('/') {
        true => Ok(nothing),
        false => Ok(format!("{{{literal}*/**/{tail},{nothing}}}")),
    }
}

/// Writes a character that stands for itself.
fn push_literal(out: &mut String, c: char) {
    match c {
        // White space at the end would be cut; nothing is cut out of a group.
        c if c.is_whitespace() => {
            out.push('{');
            out.push(c);
            out.push('}');
        }
        '\\' | '*' | '?' | '[' | ']' | '{' | '}' | '!' | '#' | ',' => {
            out.push('\\');
            out.push(c);
        }
        c => out.push(c),
    }
}

/// The characters of a bracket expression; all of them ASCII.
struct Class {
    members: [bool; 128],
    negated: bool,
}

impl Class {
    /// Reads from behind the opening bracket; returns where the pattern goes on.
    fn parse(chars: &[char], mut at: usize) -> Result<(Self, usize), Why> {
        const UNCLOSED: Why = "a bracket in it is not closed";
        let get = |at: usize| chars.get(at).copied().ok_or(UNCLOSED);
        let mut class = Class {
            members: [false; 128],
            negated: false,
        };
        if matches!(get(at)?, '!' | '^') {
            class.negated = true;
            at += 1;
        }
        // The character before, where it can begin a range.
        let mut before: Option<char> = None;
        loop {
            let c = get(at)?;
            let ranges = chars.get(at + 1).is_some_and(|&c| c != ']');
            match (c, before) {
                ('\\', _) => {
                    at += 1;
                    let c = get(at)?;
                    class.add(c, c)?;
                    before = Some(c);
                }
                ('-', Some(first)) if ranges => {
                    at += 1;
                    if get(at)? == '\\' {
                        at += 1;
                    }
                    class.add(first, get(at)?)?;
                    before = None;
                }
                ('[', _) if chars.get(at + 1) == Some(&':') => {
                    let close = (at + 2..chars.len())
                        .find(|&n| chars[n] == ']')
                        .ok_or(UNCLOSED)?;
                    if close > at + 2 && chars[close - 1] == ':' {
                        let name: String = chars[at + 2..close - 1].iter().collect();
                        class.add_named(&name)?;
                        at = close;
                        before = None;
                    } else {
                        class.add('[', '[')?;
                        before = Some('[');
                    }
                }
                (c, _) => {
                    class.add(c, c)?;
                    before = Some(c);
                }
            }
            at += 1;
            if get(at)? == ']' {
                return Ok((class, at + 1));
            }
        }
    }

    fn add(&mut self, first: char, last: char) -> Result<(), Why> {
        if !first.is_ascii() || !last.is_ascii() {
            // Git would take the bytes of such a character one by one.
            return Err("a bracket in it holds a character that is not ASCII");
        }
        for c in first..=last {
            self.members[c as usize] = true;
        }
        Ok(())
    }

    fn add_named(&mut self, name: &str) -> Result<(), Why> {
        let holds: fn(&u8) -> bool = match name {
            "alnum" => u8::is_ascii_alphanumeric,
            "alpha" => u8::is_ascii_alphabetic,
            "blank" => |b| matches!(b, b' ' | b'\t'),
            "cntrl" => u8::is_ascii_control,
            "digit" => u8::is_ascii_digit,
            "graph" => u8::is_ascii_graphic,
            "lower" => u8::is_ascii_lowercase,
            "print" => |b| matches!(b, b' '..=b'~'),
            "punct" => u8::is_ascii_punctuation,
            "space" => |b| matches!(b, b' ' | b'\t'..=b'\r'),
            "upper" => u8::is_ascii_uppercase,
            "xdigit" => u8::is_ascii_hexdigit,
            _ => return Err("it names a class of characters that there is not"),
        };
        for b in (0..128).filter(holds) {
            self.members[b as usize] = true;
        }
        Ok(())
    }

    /// Writes it for a reader that knows no escapes inside brackets: what has a meaning there goes
    /// where it has none. No class matches a slash.
    fn write(mut self, out: &mut String) -> Result<(), Why> {
        self.members[b'/' as usize] = self.negated;
        let has = |c: u8| self.members[c as usize];
        let special = |c: &u8| matches!(c, b']' | b'-' | b'!' | b'^');
        let plain: Vec<u8> = (0..128).filter(|c| !special(c) && has(*c)).collect();
        let marks: Vec<u8> = [b'!', b'^'].into_iter().filter(|&c| has(c)).collect();
        let leads = !plain.is_empty() || has(b']') || has(b'-') || self.negated;
        if !leads {
            // Only marks are left, which cannot come first.
            return match marks[..] {
                [] => Err("a bracket in it matches nothing"),
                [one] => {
                    push_literal(out, char::from(one));
                    Ok(())
                }
                _ => {
                    out.push_str("{!,^}");
                    Ok(())
                }
            };
        }
        out.push_str(if self.negated { "[!" } else { "[" });
        if has(b']') {
            out.push(']');
        }
        let first_dash = has(b'-') && !has(b']');
        if first_dash {
            out.push('-');
        }
        out.extend(plain.into_iter().chain(marks).map(char::from));
        if has(b'-') && !first_dash {
            out.push('-');
        }
        out.push(']');
        Ok(())
    }
}
