//! Format strings, as kcat has them.

use std::io::Write as _;

use thalweg::ConsumerRecord;

/// For the help of a command.
pub const TOKENS: &str = "\
Format: %s value, %S its length (-1 for null), %k key, %K its length, %T timestamp (ms), %h headers \
(a=b,c=d), %t topic, %p partition, %o offset, %e leader epoch, %R length of the value and %Q length \
of the key as 4 bytes, \
%% a percent sign; \\n, \\r, \\t, \\0, \\\\, \\xHH.";

/// A piece of a format.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(Vec<u8>),
    Value,
    ValueLen,
    ValueLenBinary,
    Key,
    KeyLen,
    KeyLenBinary,
    Timestamp,
    Headers,
    Topic,
    Partition,
    Offset,
    Epoch,
}

/// How a record is printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Format {
    pieces: Vec<Piece>,
    /// What stands for null.
    null: Vec<u8>,
}

impl Format {
    /// From a format string; null keys and values are printed as `null`.
    pub fn parse(text: &str, null: &str) -> Result<Format, String> {
        let mut pieces = Vec::new();
        let mut literal = Vec::new();
        let bytes = unescape(text)?;
        let mut rest = bytes.iter();
        while let Some(&byte) = rest.next() {
            if byte != b'%' {
                literal.push(byte);
                continue;
            }
            let piece = match rest.next() {
                Some(b'%') => {
                    literal.push(b'%');
                    continue;
                }
                Some(b's') => Piece::Value,
                Some(b'S') => Piece::ValueLen,
                Some(b'R') => Piece::ValueLenBinary,
                Some(b'k') => Piece::Key,
                Some(b'K') => Piece::KeyLen,
                Some(b'Q') => Piece::KeyLenBinary,
                Some(b'T') => Piece::Timestamp,
                Some(b'h') => Piece::Headers,
                Some(b't') => Piece::Topic,
                Some(b'p') => Piece::Partition,
                Some(b'o') => Piece::Offset,
                Some(b'e') => Piece::Epoch,
                Some(&other) => {
                    let other = char::from(other);
                    return Err(format!("format '{text}': %{other} means nothing"));
                }
                None => return Err(format!("format '{text}' ends with %, which is written %%")),
            };
            if !literal.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
            }
            pieces.push(piece);
        }
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Ok(Format { pieces, null: null.as_bytes().to_vec() })
    }

    /// The value alone or behind its key, each record ended by `delimiter`.
    pub fn plain(
        key_delimiter: Option<&str>,
        delimiter: &str,
        null: &str,
    ) -> Result<Format, String> {
        let mut pieces = Vec::new();
        if let Some(between) = key_delimiter {
            pieces.extend([Piece::Key, Piece::Text(unescape(between)?)]);
        }
        pieces.extend([Piece::Value, Piece::Text(unescape(delimiter)?)]);
        Ok(Format { pieces, null: null.as_bytes().to_vec() })
    }

    /// Writes a record.
    pub fn write(&self, record: &ConsumerRecord<'_>, to: &mut Vec<u8>) {
        let len = |bytes: Option<&[u8]>| bytes.map_or(-1, |bytes| bytes.len() as i64);
        // Lengths of a record's parts fit: the protocol has 32 bits for them.
        let binary = |bytes: Option<&[u8]>| (len(bytes) as i32).to_be_bytes();
        for piece in &self.pieces {
            // Writing to memory does not fail.
            let _ = match piece {
                Piece::Text(text) => to.write_all(text),
                Piece::Value => to.write_all(record.value().unwrap_or(&self.null)),
                Piece::Key => to.write_all(record.key().unwrap_or(&self.null)),
                Piece::ValueLen => write!(to, "{}", len(record.value())),
                Piece::KeyLen => write!(to, "{}", len(record.key())),
                Piece::ValueLenBinary => to.write_all(&binary(record.value())),
                Piece::KeyLenBinary => to.write_all(&binary(record.key())),
                Piece::Timestamp => write!(to, "{}", record.timestamp()),
                Piece::Topic => to.write_all(record.topic().as_bytes()),
                Piece::Partition => write!(to, "{}", record.partition()),
                Piece::Offset => write!(to, "{}", record.offset()),
                Piece::Epoch => write!(to, "{}", record.leader_epoch()),
                Piece::Headers => {
                    for (at, header) in record.headers().enumerate() {
                        if at > 0 {
                            to.push(b',');
                        }
                        to.extend_from_slice(header.key);
                        to.push(b'=');
                        to.extend_from_slice(header.value.unwrap_or(&self.null));
                    }
                    Ok(())
                }
            };
        }
    }
}

/// Text with its escapes replaced.
pub fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'0') => 0,
            Some(b'\\') => b'\\',
            Some(b'x') => {
                let digits = [rest.next(), rest.next()].map(|digit| digit.map(char::from));
                let [Some(high), Some(low)] = digits.map(|d| d.and_then(|d| d.to_digit(16))) else {
                    return Err(format!("'{text}': two hexadecimal digits follow \\x"));
                };
                (high * 16 + low) as u8
            }
            other => {
                let other = other.map_or(String::new(), |byte| char::from(byte).to_string());
                return Err(format!("'{text}': \\{other} means nothing"));
            }
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_taken_apart() {
        let format = Format::parse("%t:%p\\t100%%\\x41%s\\n", "NULL").unwrap();
        let text = |text: &str| Piece::Text(text.as_bytes().to_vec());
        let expected =
            [Piece::Topic, text(":"), Piece::Partition, text("\t100%A"), Piece::Value, text("\n")];
        assert_eq!(format.pieces, expected);
        for bad in ["%", "%z", "\\", "\\q", "\\x4", "\\xzz"] {
            assert!(Format::parse(bad, "").is_err(), "{bad}");
        }
    }
}
