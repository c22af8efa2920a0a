//! What members of a classic group tell each other through the coordinator: subscriptions and
//! assignments, each behind its version, and the user data of `sticky`.

use bytes::Bytes;
use thalweg_wire::messages::consumer_protocol_assignment::TopicPartition as Assigned;
use thalweg_wire::messages::consumer_protocol_subscription::TopicPartition as Owned;
use thalweg_wire::messages::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
use thalweg_wire::{DecodeError, EncodeError, Message as _, Reader, Writer, prefixed};

use super::assignor::{Assignor, Candidate};

/// `protocol_type` of consumers.
pub const PROTOCOL_TYPE: &str = "consumer";

/// What a member says of itself. `owned` is what it keeps while it joins, and for `sticky`, which
/// gives up everything before, what it had in `generation`.
pub fn subscription(
    assignor: Assignor,
    topic: &str,
    owned: &[i32],
    generation: i32,
) -> Result<Bytes, EncodeError> {
    let (kept, user_data) = match assignor {
        Assignor::Range | Assignor::RoundRobin => (&[][..], None),
        Assignor::Sticky if generation < 0 => (&[][..], None),
        Assignor::Sticky => (&[][..], Some(sticky_user_data(topic, owned, generation)?)),
        Assignor::CooperativeSticky => {
            (owned, Some(Bytes::copy_from_slice(&generation.to_be_bytes())))
        }
    };
    let message = ConsumerProtocolSubscription {
        topics: vec![topic.to_owned()],
        user_data,
        owned_partitions: match kept {
            [] => Vec::new(),
            _ => vec![Owned { topic: topic.to_owned(), partitions: kept.to_vec() }],
        },
        generation_id: generation,
        rack_id: None,
    };
    prefixed::encode_version(&message, ConsumerProtocolSubscription::MAX_VERSION)
}

/// The user data of Kafka's sticky assignor, version 1.
fn sticky_user_data(topic: &str, owned: &[i32], generation: i32) -> Result<Bytes, EncodeError> {
    let mut w = Writer::new();
    w.i32(i32::from(!owned.is_empty()));
    if !owned.is_empty() {
        w.string(false, topic)?;
        w.i32(i32::try_from(owned.len()).unwrap_or(i32::MAX));
        owned.iter().for_each(|&partition| w.i32(partition));
    }
    w.i32(generation);
    Ok(w.to_vec().into())
}

/// What the leader has to know of a member.
pub fn candidate(
    assignor: Assignor,
    id: String,
    instance: Option<String>,
    metadata: &Bytes,
) -> Result<Candidate, DecodeError> {
    let message: ConsumerProtocolSubscription =
        prefixed::decode_any_version(&mut Reader::shared(metadata))?;
    let (owned, generation) = match (assignor, &message.user_data) {
        (Assignor::Sticky, Some(user_data)) => read_sticky(user_data)?,
        (Assignor::Sticky, None) => (Vec::new(), -1),
        _ => {
            let owned = message.owned_partitions.into_iter().flat_map(|t| t.partitions);
            (owned.collect(), message.generation_id)
        }
    };
    Ok(Candidate { id, instance, owned, generation })
}

fn read_sticky(user_data: &Bytes) -> Result<(Vec<i32>, i32), DecodeError> {
    let mut r = Reader::shared(user_data);
    let mut owned = Vec::new();
    for _ in 0..r.i32()?.max(0) {
        r.str(false)?;
        for _ in 0..r.i32()?.max(0) {
            owned.push(r.i32()?);
        }
    }
    Ok((owned, r.i32()?))
}

/// An assignment as bytes.
pub fn assignment(topic: &str, partitions: &[i32]) -> Result<Bytes, EncodeError> {
    let assigned_partitions = match partitions {
        [] => Vec::new(),
        _ => vec![Assigned { topic: topic.to_owned(), partitions: partitions.to_vec() }],
    };
    let message = ConsumerProtocolAssignment { assigned_partitions, user_data: None };
    prefixed::encode_version(&message, ConsumerProtocolAssignment::MAX_VERSION)
}

/// The partitions of an assignment, sorted; those that the topic does not have are left out. A
/// coordinator gives no bytes at all to a member that the leader forgot.
pub fn assigned(bytes: &Bytes, partitions: i32) -> Result<Vec<i32>, DecodeError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let message: ConsumerProtocolAssignment =
        prefixed::decode_any_version(&mut Reader::shared(bytes))?;
    let assigned = message.assigned_partitions.into_iter().flat_map(|topic| topic.partitions);
    let mut assigned: Vec<i32> = assigned.filter(|p| (0..partitions).contains(p)).collect();
    assigned.sort_unstable();
    assigned.dedup();
    Ok(assigned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_reads_what_members_write() {
        for (assignor, owned, generation) in [
            (Assignor::Range, &[][..], -1),
            (Assignor::Sticky, &[][..], -1),
            (Assignor::Sticky, &[][..], 4),
            (Assignor::Sticky, &[1, 5][..], 4),
            (Assignor::CooperativeSticky, &[2, 3][..], 9),
        ] {
            let bytes = subscription(assignor, "t", owned, generation).unwrap();
            let read = candidate(assignor, "m".into(), None, &bytes).unwrap();
            assert_eq!((read.owned.as_slice(), read.generation), (owned, generation));
        }
        // Range says nothing of what it had: it has given it up.
        let bytes = subscription(Assignor::Range, "t", &[1], 2).unwrap();
        assert_eq!(candidate(Assignor::Range, "m".into(), None, &bytes).unwrap().owned, [0; 0]);
    }

    #[test]
    fn sticky_user_data_is_as_kafka_writes_it() {
        let bytes = sticky_user_data("t", &[1, 5], 4).unwrap();
        let by_hand = [0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 4];
        assert_eq!(bytes[..], by_hand);
    }

    #[test]
    fn assignments_come_back_without_what_is_not_there() {
        let bytes = assignment("t", &[7, 1, 3]).unwrap();
        assert_eq!(assigned(&bytes, 7).unwrap(), [1, 3]);
        assert_eq!(assigned(&assignment("t", &[]).unwrap(), 7).unwrap(), [0; 0]);
        assert_eq!(assigned(&Bytes::new(), 7).unwrap(), [0; 0]);
        assert!(assigned(&Bytes::from_static(&[0, 3, 0]), 7).is_err(), "cut short");
    }
}
