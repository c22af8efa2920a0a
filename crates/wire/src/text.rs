//! Text from the wire that is not UTF-8, repaired as Java repairs it.

use std::borrow::Cow;

/// `bytes` as text; what is not UTF-8 becomes U+FFFD, as many as a JVM makes of it.
///
/// That is one for each longest prefix of a valid sequence, as `String::from_utf8_lossy` does, but
/// an encoded surrogate, whole or cut short, counts as one.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(repair(bytes)),
    }
}

#[cold]
fn repair(mut bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    loop {
        let error = match std::str::from_utf8(bytes) {
            Ok(text) => {
                out.push_str(text);
                return out;
            }
            Err(error) => error,
        };
        let (valid, bad) = bytes.split_at(error.valid_up_to());
        out.push_str(std::str::from_utf8(valid).unwrap_or_default());
        out.push('\u{fffd}');
        let skip = match bad {
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..] => 3,
            [0xed, 0xa0..=0xbf, ..] => 2,
            _ => error.error_len().unwrap_or(bad.len()),
        };
        bytes = bad.get(skip..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::lossy;

    #[test]
    fn replacements_are_javas() {
        let cases: &[(&[u8], &str)] = &[
            (b"plain", "plain"),
            ("höher".as_bytes(), "höher"),
            (b"a\xffb", "a\u{fffd}b"),
            (b"\xed\xa0\x80x", "\u{fffd}x"),
            (b"\xed\xa0x", "\u{fffd}x"),
            (b"\xed\xa0", "\u{fffd}"),
            (b"\xed", "\u{fffd}"),
            (b"\xe2\x82", "\u{fffd}"),
            (b"\xe2\x82A", "\u{fffd}A"),
            (b"\xf0\x90\x80A", "\u{fffd}A"),
            (b"\xf5\x80\x80", "\u{fffd}\u{fffd}\u{fffd}"),
        ];
        for (bytes, text) in cases {
            assert_eq!(lossy(bytes), *text, "{bytes:02x?}");
        }
    }
}
