//! The syntax of `server.properties`: that of `java.util.Properties`, read as ISO-8859-1, which is
//! how Kafka loads its file.
//!
//! Keys end at the first `=`, `:` or white space that is not escaped; a line that ends in an odd
//! number of backslashes goes on in the next; `#` and `!` begin a comment; `\t`, `\n`, `\r`, `\f`
//! and `\uXXXX` are escapes, and before any other character a backslash is dropped. Of a key that
//! stands twice the last value counts. Unlike Java, half a surrogate pair is refused: no text can
//! hold it.

use std::collections::BTreeMap;

use super::error::ConfigError;

/// Names and values of a properties file.
pub type Properties = BTreeMap<String, String>;

/// Reads a properties file.
pub fn parse(bytes: &[u8]) -> Result<Properties, ConfigError> {
    let mut properties = Properties::new();
    let mut lines = Lines { bytes, at: 0, number: 0 };
    while let Some((number, line)) = lines.next_logical() {
        let (key, value) = split(&line);
        let key = unescape(key, number)?;
        let value = unescape(value, number)?;
        properties.insert(key, value);
    }
    Ok(properties)
}

/// Lines joined at their continuations, comments and empty lines left out, escapes as they stand.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    number: usize,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0c)
}

fn trim_start(mut line: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = line {
        if !is_space(*first) {
            break;
        }
        line = rest;
    }
    line
}

impl<'a> Lines<'a> {
    fn next_natural(&mut self) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        self.number += 1;
        let end = rest.iter().position(|b| matches!(b, b'\n' | b'\r'));
        let (line, consumed) = match end {
            Some(end) => {
                let two = rest.get(end..end + 2) == Some(b"\r\n");
                (rest.get(..end)?, end + if two { 2 } else { 1 })
            }
            None => (rest, rest.len()),
        };
        self.at += consumed;
        Some(line)
    }

    fn next_logical(&mut self) -> Option<(usize, Vec<u8>)> {
        loop {
            let line = trim_start(self.next_natural()?);
            if matches!(line.first(), None | Some(b'#' | b'!')) {
                continue;
            }
            let number = self.number;
            let mut logical = Vec::new();
            let mut piece = line;
            loop {
                let backslashes = piece.iter().rev().take_while(|b| **b == b'\\').count();
                if backslashes % 2 == 0 {
                    logical.extend_from_slice(piece);
                    break;
                }
                logical.extend_from_slice(piece.get(..piece.len() - 1).unwrap_or(&[]));
                match self.next_natural() {
                    Some(next) => piece = trim_start(next),
                    // Java takes a line that was to go on for one even if it is empty, but not
                    // behind a carriage return and a newline.
                    None if logical.is_empty() && self.bytes.ends_with(b"\r\n") => return None,
                    None => return Some((number, logical)),
                }
                // As long as nothing was read, the line counts as new: it may be a comment.
                if logical.is_empty() && matches!(piece.first(), Some(b'#' | b'!')) {
                    break;
                }
            }
            if !logical.is_empty() {
                return Some((number, logical));
            }
        }
    }
}

/// Splits a logical line into key and value.
fn split(line: &[u8]) -> (&[u8], &[u8]) {
    let mut escaped = false;
    let mut end = line.len();
    for (at, byte) in line.iter().enumerate() {
        if !escaped && (matches!(byte, b'=' | b':') || is_space(*byte)) {
            end = at;
            break;
        }
        escaped = *byte == b'\\' && !escaped;
    }
    let (key, rest) = line.split_at(end);
    let rest = trim_start(rest);
    let value = match rest {
        [b'=' | b':', after @ ..] => trim_start(after),
        _ => rest,
    };
    (key, value)
}

fn unescape(raw: &[u8], line: usize) -> Result<String, ConfigError> {
    let mut units: Vec<u16> = Vec::with_capacity(raw.len());
    let mut bytes = raw.iter();
    while let Some(byte) = bytes.next() {
        if *byte != b'\\' {
            units.push(u16::from(*byte));
            continue;
        }
        match bytes.next() {
            None => break,
            Some(b't') => units.push(0x09),
            Some(b'n') => units.push(0x0a),
            Some(b'r') => units.push(0x0d),
            Some(b'f') => units.push(0x0c),
            Some(b'u') => {
                let mut unit = 0u16;
                for _ in 0..4 {
                    let digit = bytes.next().and_then(|b| char::from(*b).to_digit(16));
                    let digit = digit.and_then(|digit| u16::try_from(digit).ok());
                    let digit = digit.ok_or_else(|| ConfigError::Syntax {
                        line,
                        reason: "\\u must be followed by four hexadecimal digits".into(),
                    })?;
                    unit = unit << 4 | digit;
                }
                units.push(unit);
            }
            Some(other) => units.push(u16::from(*other)),
        }
    }
    String::from_utf16(&units).map_err(|_| ConfigError::Syntax {
        line,
        reason: "half of a surrogate pair stands alone".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let parsed = parse(text.as_bytes()).expect("properties");
        let parsed: Vec<(&str, &str)> =
            parsed.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(parsed, expected);
    }

    #[test]
    fn separators() {
        check(
            "a=1\nb:2\nc 3\n  d  =  4 \ne\nf==5\ng = = 6\nh\t:7",
            &[
                ("a", "1"),
                ("b", "2"),
                ("c", "3"),
                ("d", "4 "),
                ("e", ""),
                ("f", "=5"),
                ("g", "= 6"),
                ("h", "7"),
            ],
        );
        check("=x", &[("", "x")]);
        check("a\\ b\\=c\\:d = v", &[("a b=c:d", "v")]);
    }

    #[test]
    fn comments_and_line_ends() {
        check("# a=1\r\n ! b=2\r\rc=3\r\nd=4", &[("c", "3"), ("d", "4")]);
        check("a=1 # not a comment\n#c \\\nb=2", &[("a", "1 # not a comment"), ("b", "2")]);
    }

    #[test]
    fn continuations() {
        check("a=1,\\\n   2,\\\r\n\t3", &[("a", "1,2,3")]);
        check("a=1\\\\\nb=2", &[("a", "1\\"), ("b", "2")]);
        check("a=1\\\n\nb=2", &[("a", "1"), ("b", "2")]);
        check("a=1\\\n#2", &[("a", "1#2")]);
        check("a=1\\", &[("a", "1")]);
        check("\\\n a=1", &[("a", "1")]);
        check("a=1\n\\", &[("", ""), ("a", "1")]);
    }

    #[test]
    fn escapes() {
        check("a=\\t\\n\\r\\f\\\\\\q\\u00e9\\uD83D\\uDE00", &[("a", "\t\n\r\u{c}\\qé😀")]);
        check("a=1\na=2", &[("a", "2")]);
        for bad in ["a=\\u12", "a=\\u12x4", "\\uD800=1"] {
            assert!(matches!(parse(bad.as_bytes()), Err(ConfigError::Syntax { line: 1, .. })));
        }
        assert_eq!(parse(b"a=\xe9").expect("latin-1")["a"], "\u{e9}");
    }
}
