//! Names of files in patches.

use crate::path::TreePath;

/// Which of the two trees a name belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    Old,
    New,
}

/// Appends a name, with `a/` or `b/` before it where it has a side.
///
/// It is C-quoted as git does it (`quote.c`, with `core.quotePath`), and also where it holds a
/// space.
pub(super) fn write_name(side: Option<Side>, path: &TreePath, out: &mut Vec<u8>) {
    let prefix: &[u8] = match side {
        None => b"",
        Some(Side::Old) => b"a/",
        Some(Side::New) => b"b/",
    };
    let bytes = path.as_bytes();
    if bytes.iter().all(|&byte| is_plain(byte)) {
        out.extend_from_slice(prefix);
        out.extend_from_slice(bytes);
        return;
    }
    out.push(b'"');
    out.extend_from_slice(prefix);
    for &byte in bytes {
        write_quoted(byte, out);
    }
    out.push(b'"');
}

/// What ends a name in a `---` or `+++` line: GNU patch takes what follows a space for a date,
/// unless a TAB comes first.
pub(super) fn tab_after(path: &TreePath) -> &'static [u8] {
    match path.as_bytes().contains(&b' ') {
        true => b"\t",
        false => b"",
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\')
}

fn write_quoted(byte: u8, out: &mut Vec<u8>) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        0x07 => b'a',
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0b => b'v',
        0x0c => b'f',
        b'\r' => b'r',
        b' ' => return out.push(b' '),
        _ if byte.is_ascii_graphic() => return out.push(byte),
        _ => return out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
    };
    out.extend_from_slice(&[b'\\', letter]);
}
