//! Git's names of objects.

use std::fmt;

/// The name of a git object: a SHA-1 or a SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Oid {
    bytes: [u8; Oid::LONGEST],
    length: u8,
}

impl Oid {
    const LONGEST: usize = 32;
    const SHA1: usize = 20;
    /// What the content of no bytes is called.
    const EMPTY: [&'static [u8]; 2] = [
        b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    ];

    /// Reads hexadecimal digits, all of them.
    pub fn parse(hex: &[u8]) -> Option<Self> {
        let length = hex.len() / 2;
        if !hex.len().is_multiple_of(2) || ![Oid::SHA1, Oid::LONGEST].contains(&length) {
            return None;
        }
        let mut bytes = [0; Oid::LONGEST];
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
        }
        let length = length as u8;
        Some(Oid { bytes, length })
    }

    /// Whether it names the content of no bytes.
    pub fn is_empty_content(&self) -> bool {
        Oid::EMPTY
            .iter()
            .any(|hex| Oid::parse(hex).is_some_and(|empty| empty == *self))
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.bytes.iter().take(self.length.into()) {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::Oid;

    #[test]
    fn names_of_both_lengths_are_read_and_written() {
        for hex in [
            "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
        ] {
            let oid = Oid::parse(hex.as_bytes()).unwrap();
            assert_eq!(oid.to_string(), hex);
            assert!(oid.is_empty_content());
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "e69d", "z69de29bb2d1d6434b8b29ae775ad8c2e48c5391"] {
            assert_eq!(Oid::parse(text.as_bytes()), None, "{text:?}");
        }
    }
}
