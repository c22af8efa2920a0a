//! The order of Java's strings, where Kafka sorts by it.

use std::cmp::Ordering;

/// Java's `String.compareTo`: by UTF-16 code units.
///
/// UTF-8 has the same order, but for characters outside the basic plane: as surrogates they come
/// before U+E000 to U+FFFF.
pub(crate) fn java_string_cmp(a: &str, b: &str) -> Ordering {
    let differing = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    match differing {
        None => a.len().cmp(&b.len()),
        // The first byte of four, and the first of three from U+E000 on.
        Some((0xf0.., 0xee | 0xef)) => Ordering::Less,
        Some((0xee | 0xef, 0xf0..)) => Ordering::Greater,
        Some((a, b)) => a.cmp(&b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_ordered_by_their_utf16() {
        let texts =
            ["", "a", "ab", "b", "\u{7f}", "\u{80}", "\u{7ff}", "\u{800}", "\u{d7ff}", "\u{e000}"];
        let more = ["\u{efff}", "\u{f000}", "\u{fffd}", "\u{ffff}", "\u{10000}", "\u{10ffff}"];
        let all: Vec<String> = texts
            .iter()
            .chain(&more)
            .flat_map(|t| {
                [t.to_string(), format!("x{t}"), format!("{t}x"), format!("\u{10000}{t}")]
            })
            .collect();
        for a in &all {
            for b in &all {
                let units = a.encode_utf16().cmp(b.encode_utf16());
                assert_eq!(java_string_cmp(a, b), units, "{a:?} {b:?}");
            }
        }
    }
}
