//! What the cluster expects of a broker that this one does not do yet.

use thalweg_metadata::controller::{SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC};
use thalweg_metadata::image::MetadataImage;

/// Why this broker cannot take part, if so: it would be asked for what it cannot give.
pub(super) fn check(image: &MetadataImage, node_id: i32) -> Result<(), String> {
    if image.has_acls() {
        return Err("the metadata holds access control entries, which cannot be enforced yet: this broker would let \
                    everybody in"
            .into());
    }
    for name in [TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC] {
        let Some(topic) = image.topics.by_name(name) else { continue };
        let here: Vec<String> = topic
            .partitions
            .iter()
            .filter(|(_, partition)| partition.replicas.contains(&node_id))
            .map(|(index, _)| index.to_string())
            .collect();
        if !here.is_empty() {
            return Err(format!(
                "partitions {} of {name} have a replica on this broker, which has no coordinator for them yet: give \
                 these replicas to other brokers first (kafka-reassign-partitions, or thalweg cluster reassign)",
                here.join(", ")
            ));
        }
    }
    Ok(())
}

/// Whether features are in use that bring duties to whoever leads a partition, and that this broker does not do yet:
/// then nothing is to be placed on it by itself (KIP-1066).
pub(super) fn must_be_cordoned<'a>(mut levels: impl Iterator<Item = (&'a str, i16)>) -> bool {
    const NOT_SERVED: [&str; 3] = ["transaction.version", "share.version", "streams.version"];
    levels.any(|(name, level)| level > 0 && NOT_SERVED.contains(&name))
}

#[cfg(test)]
mod tests {
    use thalweg_metadata::Delta;
    use thalweg_metadata::image::Provenance;
    use thalweg_wire::Uuid;
    use thalweg_wire::messages::{AccessControlEntryRecord, PartitionRecord, TopicRecord};

    use super::*;

    fn image(topic: &str, replicas: &[i32]) -> Delta {
        let topic_id = Uuid::from_u128(1_000);
        let mut delta = Delta::new(MetadataImage::empty());
        delta
            .replay(&TopicRecord { name: topic.into(), topic_id, ..Default::default() }.into())
            .unwrap();
        let partition = PartitionRecord {
            partition_id: 3,
            topic_id,
            replicas: replicas.to_vec(),
            isr: replicas.to_vec(),
            leader: replicas[0],
            leader_epoch: 0,
            partition_epoch: 0,
            ..Default::default()
        };
        delta.replay(&partition.into()).unwrap();
        delta
    }

    fn checked(delta: Delta) -> Result<(), String> {
        let provenance = Provenance { offset: 9, epoch: 1, timestamp_ms: 0 };
        check(&delta.apply(provenance).0, 2)
    }

    #[test]
    fn who_would_be_asked_for_transactions_does_not_take_part() {
        assert_eq!(checked(image("orders", &[2, 1])), Ok(()));
        assert_eq!(checked(image(TRANSACTIONS_TOPIC, &[1, 3])), Ok(()));
        for name in [TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC] {
            let why = checked(image(name, &[1, 2])).unwrap_err();
            assert!(why.contains(name) && why.contains("partitions 3"), "{why}");
        }
    }

    #[test]
    fn who_lacks_a_feature_that_is_in_use_is_cordoned() {
        let must = |levels: &[(&str, i16)]| must_be_cordoned(levels.iter().copied());
        assert!(!must(&[("metadata.version", 30), ("group.version", 1), ("share.version", 0)]));
        assert!(must(&[("metadata.version", 30), ("transaction.version", 2)]));
        assert!(must(&[("streams.version", 1)]));
    }

    #[test]
    fn access_control_is_not_passed_over() {
        let mut delta = image("orders", &[2]);
        delta.replay(&AccessControlEntryRecord::default().into()).unwrap();
        assert!(checked(delta).unwrap_err().contains("access control"));
    }
}
