//! Binary content as git writes it (`diff.c`, `base85.c`).

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Appends a `GIT binary patch`: the whole new content, and the whole old one to go back.
pub(super) fn write(old: &[u8], new: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"GIT binary patch\n");
    write_literal(new, out);
    write_literal(old, out);
}

/// Bytes in a line: it begins with a letter for their number, `A` for 1 to `z` for 52.
const LINE_BYTES: usize = 52;

fn write_literal(content: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("literal {}\n", content.len()).as_bytes());
    for line in deflate(content).chunks(LINE_BYTES) {
        let len = line.len() as u8;
        out.push(match len {
            0..=26 => b'A' + len - 1,
            _ => b'a' + len - 27,
        });
        for word in line.chunks(4) {
            write_base85(word, out);
        }
        out.push(b'\n');
    }
    out.push(b'\n');
}

fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}

const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// Appends up to four bytes, filled up with zeros, as five digits, the highest first.
fn write_base85(word: &[u8], out: &mut Vec<u8>) {
    let mut bytes = [0; 4];
    bytes[..word.len()].copy_from_slice(word);
    let mut number = u32::from_be_bytes(bytes);
    let mut digits = [0; 5];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(number % 85) as usize];
        number /= 85;
    }
    out.extend_from_slice(&digits);
}
