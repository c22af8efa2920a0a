//! Which names topics may have, and which topics are the brokers' own.

/// Longest name: it becomes a directory's, with the partition behind it.
const LEN_MAX: usize = 249;

/// Whether a topic may have this name.
pub(crate) fn is_valid(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= LEN_MAX
        && name != "."
        && name != ".."
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// Whether only brokers write to the topic.
pub(crate) fn is_internal(name: &str) -> bool {
    matches!(name, "__consumer_offsets" | "__transaction_state" | "__share_group_state")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "A-b_c.9", "__consumer_offsets", "..."] {
            assert!(is_valid(good), "{good}");
        }
        let long = "x".repeat(250);
        for bad in ["", ".", "..", "a/b", "a b", "ä", &long] {
            assert!(!is_valid(bad), "{bad}");
        }
    }
}
