//! What members of a classic group tell each other through the coordinator, which does not look
//! into it: subscriptions and assignments, each behind the version it is written in.
//!
//! Later versions only add fields at the end. Whoever knows fewer of them reads what it knows, so
//! the newest version is always written, and a version from the future is read as the newest known.
//! What does not parse is an error and never a panic; nothing is allocated beyond what the bytes
//! can hold.

use std::sync::Arc;

use bytes::Bytes;
use thalweg_wire::messages::consumer_protocol_assignment::TopicPartition as AssignedTopic;
use thalweg_wire::messages::consumer_protocol_subscription::TopicPartition as OwnedTopic;
use thalweg_wire::messages::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
use thalweg_wire::{DecodeError, EncodeError, Message, Reader, Writer, prefixed};

use crate::core::partition::{TopicPartition, by_topic};

/// `protocol_type` of consumers.
pub const PROTOCOL_TYPE: &str = "consumer";

/// Why what a member wrote cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProtocolError {
    /// The version is negative.
    #[error("version {0} of the consumer protocol does not exist")]
    Version(i16),
    /// The bytes do not parse.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// It cannot be written.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A partition's index is negative.
    #[error("partition {0} does not exist")]
    Partition(i32),
}

/// What a member tells the leader about itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemberSubscription {
    /// Topics it subscribed to.
    pub topics: Vec<Arc<str>>,
    /// What its assignor has to say to the leader's.
    pub user_data: Option<Bytes>,
    /// What it has and, if it is cooperative, does not give up by joining.
    pub owned: Vec<TopicPartition>,
    /// The generation it was last in, -1 for none.
    pub generation: i32,
    /// Its rack.
    pub rack: Option<String>,
}

impl MemberSubscription {
    /// As bytes, in the newest version.
    pub fn encode(&self) -> Result<Bytes, ProtocolError> {
        let mut topics: Vec<String> = self.topics.iter().map(|topic| topic.to_string()).collect();
        topics.sort_unstable();
        let message = ConsumerProtocolSubscription {
            topics,
            user_data: self.user_data.clone(),
            owned_partitions: sorted_by_topic(&self.owned, |topic, partitions| OwnedTopic {
                topic,
                partitions,
            }),
            generation_id: self.generation,
            rack_id: self.rack.clone(),
        };
        encode(&message)
    }

    /// From bytes.
    pub fn decode(bytes: &Bytes) -> Result<MemberSubscription, ProtocolError> {
        let message: ConsumerProtocolSubscription = decode(bytes)?;
        let topics = message.owned_partitions.into_iter().map(|t| (t.topic, t.partitions));
        Ok(MemberSubscription {
            topics: message.topics.into_iter().map(Arc::from).collect(),
            user_data: message.user_data,
            owned: flatten(topics)?,
            generation: message.generation_id,
            rack: message.rack_id.filter(|rack| !rack.is_empty()),
        })
    }
}

/// An assignment as bytes, in the newest version.
pub fn encode_assignment(partitions: &[TopicPartition]) -> Result<Bytes, ProtocolError> {
    encode(&ConsumerProtocolAssignment {
        assigned_partitions: sorted_by_topic(partitions, |topic, partitions| AssignedTopic {
            topic,
            partitions,
        }),
        user_data: None,
    })
}

/// An assignment from bytes.
pub fn decode_assignment(bytes: &Bytes) -> Result<Vec<TopicPartition>, ProtocolError> {
    let message: ConsumerProtocolAssignment = decode(bytes)?;
    flatten(message.assigned_partitions.into_iter().map(|t| (t.topic, t.partitions)))
}

/// What a member using the sticky assignor had before it gave everything up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StickyUserData {
    pub partitions: Vec<TopicPartition>,
    pub generation: i32,
}

impl Default for StickyUserData {
    fn default() -> StickyUserData {
        StickyUserData { partitions: Vec::new(), generation: -1 }
    }
}

impl StickyUserData {
    pub(super) fn encode(&self) -> Bytes {
        let mut w = Writer::new();
        let write = |w: &mut Writer| {
            let topics = sorted_by_topic(&self.partitions, |topic, partitions| (topic, partitions));
            w.array(false, Some(&topics[..]), |w, (topic, partitions)| {
                w.string(false, topic)?;
                w.array(false, Some(&partitions[..]), |w, partition| {
                    w.i32(*partition);
                    Ok(())
                })
            })
        };
        if write(&mut w).is_err() {
            // Only names beyond 32 KiB fail, and those no broker has. Without, it is not sticky.
            return StickyUserData { partitions: Vec::new(), ..*self }.encode();
        }
        w.i32(self.generation);
        w.to_vec().into()
    }

    /// What does not parse is as good as nothing, as in Kafka: the member is new. Before KIP-341
    /// there was no generation.
    pub(super) fn decode(bytes: &Bytes) -> StickyUserData {
        let mut r = Reader::shared(bytes);
        let topics = r.vec(false, |r| Ok((r.string(false)?, r.vec(false, |r| r.i32())?)));
        let Some(partitions) = topics.ok().and_then(|topics| flatten(topics.into_iter()).ok())
        else {
            return StickyUserData::default();
        };
        StickyUserData { partitions, generation: r.i32().unwrap_or(-1) }
    }
}

/// The generation that cooperative-sticky wrote before subscriptions had a field for it.
pub(super) fn cooperative_user_data(bytes: &Bytes) -> Option<i32> {
    Reader::shared(bytes).i32().ok()
}

fn encode<M: Message>(message: &M) -> Result<Bytes, ProtocolError> {
    Ok(prefixed::encode_version(message, M::MAX_VERSION)?)
}

fn decode<M: Message>(bytes: &Bytes) -> Result<M, ProtocolError> {
    prefixed::decode_any_version(&mut Reader::shared(bytes)).map_err(|error| match error {
        DecodeError::UnsupportedVersion { version, .. } => ProtocolError::Version(version),
        error => error.into(),
    })
}

/// Partitions by topic, sorted.
fn sorted_by_topic<T>(
    partitions: &[TopicPartition],
    topic: impl FnMut(String, Vec<i32>) -> T,
) -> Vec<T> {
    let mut sorted: Vec<&TopicPartition> = partitions.iter().collect();
    sorted.sort_unstable();
    by_topic(sorted, topic)
}

fn flatten(
    topics: impl Iterator<Item = (String, Vec<i32>)>,
) -> Result<Vec<TopicPartition>, ProtocolError> {
    let mut all = Vec::new();
    for (topic, partitions) in topics {
        let topic: Arc<str> = topic.into();
        for partition in partitions {
            if partition < 0 {
                return Err(ProtocolError::Partition(partition));
            }
            all.push(TopicPartition { topic: Arc::clone(&topic), partition });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partitions(names: &[(&str, i32)]) -> Vec<TopicPartition> {
        names.iter().map(|&(topic, partition)| TopicPartition::new(topic, partition)).collect()
    }

    fn subscription() -> MemberSubscription {
        MemberSubscription {
            topics: vec!["a".into(), "b".into()],
            user_data: Some(Bytes::from_static(b"xy")),
            owned: partitions(&[("a", 0), ("a", 2), ("b", 1)]),
            generation: 7,
            rack: Some("r1".into()),
        }
    }

    #[test]
    fn subscriptions_round_trip_in_the_newest_version() {
        let bytes = subscription().encode().unwrap();
        assert_eq!(bytes[..2], [0, 3]);
        assert_eq!(MemberSubscription::decode(&bytes).unwrap(), subscription());
    }

    #[test]
    fn older_and_newer_versions_are_read() {
        let mut later = subscription().encode().unwrap().to_vec();
        later[1] = 9;
        later.extend(b"fields of a later version");
        assert_eq!(MemberSubscription::decode(&later.into()).unwrap(), subscription());
        // Version 0: topics and user data. A member that knows only that reads the newest so.
        let oldest = b"\0\0\0\0\0\x01\0\x01a\xff\xff\xff\xff";
        let read = MemberSubscription::decode(&Bytes::from_static(oldest)).unwrap();
        assert_eq!(read.topics, ["a".into()]);
        assert_eq!((read.generation, read.rack, read.owned.len()), (-1, None, 0));
        let newest = subscription().encode().unwrap();
        let mut r = Reader::new(&newest[2..]);
        let as_oldest = ConsumerProtocolSubscription::decode(&mut r, 0).unwrap();
        assert_eq!(as_oldest.topics, ["a", "b"]);
    }

    #[test]
    fn assignments_round_trip() {
        let assigned = partitions(&[("a", 0), ("b", 3)]);
        let bytes = encode_assignment(&assigned).unwrap();
        assert_eq!(decode_assignment(&bytes).unwrap(), assigned);
        assert_eq!(decode_assignment(&encode_assignment(&[]).unwrap()).unwrap(), []);
    }

    #[test]
    fn malformed_bytes_are_errors() {
        let subscription = subscription().encode().unwrap();
        let assignment = encode_assignment(&partitions(&[("a", 0), ("b", 3)])).unwrap();
        for cut in 0..subscription.len() {
            assert!(MemberSubscription::decode(&subscription.slice(..cut)).is_err(), "{cut}");
        }
        for cut in 0..assignment.len() {
            assert!(decode_assignment(&assignment.slice(..cut)).is_err(), "{cut}");
        }
        let negative = Bytes::from_static(b"\xff\xff\0\0\0\0\xff\xff\xff\xff");
        assert_eq!(decode_assignment(&negative), Err(ProtocolError::Version(-1)));
        let huge = Bytes::from_static(b"\0\x03\x7f\xff\xff\xff\0\0\0\0\0\0\0\0");
        assert!(decode_assignment(&huge).is_err());
        let minus_one = encode_assignment(&partitions(&[("a", -1)])).unwrap();
        assert_eq!(decode_assignment(&minus_one), Err(ProtocolError::Partition(-1)));
    }

    #[test]
    fn stickys_user_data_is_kafkas() {
        let data = StickyUserData { partitions: partitions(&[("t", 1), ("t", 2)]), generation: 5 };
        let bytes = data.encode();
        let expected = b"\0\0\0\x01\0\x01t\0\0\0\x02\0\0\0\x01\0\0\0\x02\0\0\0\x05";
        assert_eq!(&bytes[..], expected);
        assert_eq!(StickyUserData::decode(&bytes), data);
        // Schema 0 ends before the generation.
        let before = StickyUserData::decode(&bytes.slice(..bytes.len() - 4));
        assert_eq!(before, StickyUserData { generation: -1, ..data });
        assert_eq!(StickyUserData::decode(&bytes.slice(..9)), StickyUserData::default());
    }
}
