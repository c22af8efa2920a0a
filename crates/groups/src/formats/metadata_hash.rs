//! The hash of the topics that a group subscribes to (`MetadataHash` of KIP-848's records).
//!
//! A coordinator starts a new epoch of a group when the hash of its topics is another one than in
//! the group's record. So the hash must be Kafka's to the bit: the record is read by whichever
//! broker becomes the coordinator next.

use std::hash::Hasher as _;

use thalweg_wire::Uuid;
use twox_hash::XxHash3_64;

use super::java_string::java_string_cmp;

/// Kafka's `TOPIC_HASH_MAGIC_BYTE`: which version of the layout was hashed.
const VERSION: u8 = 0;

/// Hash of one topic: its id, its name, and the racks of each of its partitions.
///
/// `partitions` has an item for each partition from 0 on: the racks of its replicas in any order,
/// a rack as often as it has replicas there. Replicas whose broker has no rack, or is not known,
/// are left out.
pub fn topic_hash<'a, R>(
    topic_id: Uuid,
    name: &str,
    partitions: impl ExactSizeIterator<Item = R>,
) -> i64
where
    R: IntoIterator<Item = &'a str>,
{
    let id = topic_id.as_u128();
    let mut hasher = XxHash3_64::new();
    hasher.write(&[VERSION]);
    hasher.write(&((id >> 64) as u64).to_le_bytes());
    hasher.write(&(id as u64).to_le_bytes());
    let mut text = Vec::new();
    let units = write_utf16(&mut text, name);
    hasher.write(&text);
    // The hashing library of Kafka puts a string's length behind it.
    hasher.write(&units.to_le_bytes());
    hasher.write(&(partitions.len() as i32).to_le_bytes());
    let mut racks: Vec<&str> = Vec::new();
    for (index, partition) in partitions.enumerate() {
        racks.clear();
        racks.extend(partition);
        racks.sort_by(|a, b| java_string_cmp(a, b));
        text.clear();
        text.extend_from_slice(&(index as i32).to_le_bytes());
        for rack in &racks {
            let at = text.len();
            text.extend_from_slice(&[0; 4]);
            let units = write_utf16(&mut text, rack);
            text[at..at + 4].copy_from_slice(&units.to_le_bytes());
            text.extend_from_slice(&units.to_le_bytes());
        }
        hasher.write(&text);
    }
    hasher.finish() as i64
}

/// Hash of a group, from the names and hashes of the topics that it subscribes to, in any order.
/// Topics that do not exist are left out; without any the hash is 0.
pub fn group_hash<'a>(topics: impl IntoIterator<Item = (&'a str, i64)>) -> i64 {
    let mut topics: Vec<(&str, i64)> = topics.into_iter().collect();
    if topics.is_empty() {
        return 0;
    }
    topics.sort_by(|a, b| java_string_cmp(a.0, b.0));
    let mut hasher = XxHash3_64::new();
    for (_, hash) in topics {
        hasher.write(&hash.to_le_bytes());
    }
    hasher.finish() as i64
}

/// Appends `text` in UTF-16LE and returns the number of code units.
fn write_utf16(buffer: &mut Vec<u8>, text: &str) -> i32 {
    let before = buffer.len();
    for unit in text.encode_utf16() {
        buffer.extend_from_slice(&unit.to_le_bytes());
    }
    ((buffer.len() - before) / 2) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_without_topics_has_hash_zero() {
        assert_eq!(group_hash([]), 0);
    }

    #[test]
    fn the_order_of_topics_and_of_racks_does_not_matter() {
        let id = Uuid::from_u128(7);
        let hash = |racks: [&'static str; 3]| topic_hash(id, "t", [racks].into_iter());
        assert_eq!(hash(["a", "b", "b"]), hash(["b", "a", "b"]));
        assert_ne!(hash(["a", "b", "b"]), hash(["a", "a", "b"]));
        assert_eq!(group_hash([("a", 1), ("b", 2)]), group_hash([("b", 2), ("a", 1)]));
        assert_ne!(group_hash([("a", 1), ("b", 2)]), group_hash([("a", 2), ("b", 1)]));
    }
}
