//! What the cluster expects of a broker that this one does not do yet.

use thalweg_metadata::controller::SHARE_STATE_TOPIC;
use thalweg_metadata::image::MetadataImage;

/// Something that the cluster would ask of this broker, and that it cannot give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unmet {
    #[error(
        "the metadata holds access control entries, which cannot be enforced yet: this broker would let everybody in"
    )]
    Acls,
    #[error(
        "partitions {} of {topic} have a replica on this broker, which has no coordinator for them yet: give these \
         replicas to other brokers first (kafka-reassign-partitions, or thalweg cluster reassign)",
        partitions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    Replicas { topic: &'static str, partitions: Vec<i32> },
}

/// Why this broker cannot take part, if so.
pub(crate) fn check(image: &MetadataImage, node_id: i32) -> Result<(), String> {
    unmet(image, node_id).first().map_or(Ok(()), |unmet| Err(unmet.to_string()))
}

/// All that keeps this broker from taking part.
pub(crate) fn unmet(image: &MetadataImage, node_id: i32) -> Vec<Unmet> {
    let mut unmet = Vec::new();
    if image.has_acls() {
        unmet.push(Unmet::Acls);
    }
    if let Some(found) = image.topics.by_name(SHARE_STATE_TOPIC) {
        let here = found.partitions.iter().filter(|(_, it)| it.replicas.contains(&node_id));
        let partitions: Vec<i32> = here.map(|(index, _)| *index).collect();
        if !partitions.is_empty() {
            unmet.push(Unmet::Replicas { topic: SHARE_STATE_TOPIC, partitions });
        }
    }
    unmet
}

/// Features that bring duties which this broker does not do yet to whoever gets a replica.
pub(crate) const NOT_SERVED: [&str; 2] = ["share.version", "streams.version"];

/// Whether features are in use that this broker does not serve: then nothing is to be placed on it by itself (KIP-1066).
pub(crate) fn must_be_cordoned<'a>(mut levels: impl Iterator<Item = (&'a str, i16)>) -> bool {
    levels.any(|(name, level)| level > 0 && NOT_SERVED.contains(&name))
}

/// The features in use that this broker does not serve, with their levels: `share.version=2, streams.version=1`.
pub(crate) fn unserved<'a>(levels: impl Iterator<Item = (&'a str, i16)>) -> String {
    let used = levels.filter(|(name, level)| *level > 0 && NOT_SERVED.contains(name));
    used.map(|(name, level)| format!("{name}={level}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use thalweg_metadata::Delta;
    use thalweg_metadata::controller::TRANSACTIONS_TOPIC;
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
    fn who_would_be_asked_for_share_groups_does_not_take_part() {
        assert_eq!(checked(image("orders", &[2, 1])), Ok(()));
        assert_eq!(checked(image(TRANSACTIONS_TOPIC, &[2, 1])), Ok(()));
        assert_eq!(checked(image(SHARE_STATE_TOPIC, &[1, 3])), Ok(()));
        let why = checked(image(SHARE_STATE_TOPIC, &[1, 2])).unwrap_err();
        assert!(why.contains(SHARE_STATE_TOPIC) && why.contains("partitions 3"), "{why}");
    }

    #[test]
    fn who_lacks_a_feature_that_is_in_use_is_cordoned() {
        let must = |levels: &[(&str, i16)]| must_be_cordoned(levels.iter().copied());
        let served = [("metadata.version", 30), ("group.version", 1), ("transaction.version", 2)];
        assert!(!must(&served));
        assert!(!must(&[("share.version", 0)]));
        assert!(must(&[("metadata.version", 30), ("share.version", 1)]));
        let levels = [("metadata.version", 33), ("share.version", 2), ("streams.version", 1)];
        assert_eq!(unserved(levels.into_iter()), "share.version=2, streams.version=1");
        assert_eq!(unserved(served.into_iter()), "");
        assert!(must(&[("streams.version", 1)]));
    }

    #[test]
    fn access_control_is_not_passed_over() {
        let mut delta = image("orders", &[2]);
        delta.replay(&AccessControlEntryRecord::default().into()).unwrap();
        assert!(checked(delta).unwrap_err().contains("access control"));
    }
}
