//! Which partition of `__consumer_offsets` a group lives in.

/// Java's `String.hashCode`: over UTF-16 code units, wrapping.
pub fn java_string_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// The partition that `group_id` maps to among `partitions`, the topic's actual count.
pub fn partition_for(group_id: &str, partitions: u32) -> i32 {
    // Kafka's absolute value maps i32::MIN, which has none, to 0.
    let hash = java_string_hash(group_id).checked_abs().unwrap_or(0);
    let count = i32::try_from(partitions).unwrap_or(i32::MAX);
    hash.checked_rem(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_java() {
        assert_eq!(java_string_hash(""), 0);
        assert_eq!(java_string_hash("grpA"), 3_181_564);
        assert_eq!(java_string_hash("polygenelubricants"), i32::MIN);
        // Outside the basic plane: two code units.
        assert_eq!(java_string_hash("\u{1F600}"), 0xD83D * 31 + 0xDE00);
        assert_eq!(partition_for("grpA", 50), 14);
        assert_eq!(partition_for("grpB", 50), 15);
        assert_eq!(partition_for("polygenelubricants", 50), 0);
        assert_eq!(partition_for("anything", 0), 0);
    }
}
