//! Views and refs beside the owned form: one input, the same message.

use bytes::Bytes;
use thalweg_wire::messages::*;
use thalweg_wire::{Message, Reader, RecordsRef, Writer};

use fetch_request::{FetchPartitionRef, FetchTopicRef, ForgottenTopicRef, ReplicaStateRef};
use fetch_response::{
    AbortedTransactionRef, EpochEndOffsetRef, FetchableTopicResponseRef, PartitionDataRef,
    SnapshotIdRef,
};
use produce_request::{PartitionProduceDataRef, TopicProduceDataRef};
use produce_response::{
    BatchIndexAndErrorMessageRef, PartitionProduceResponseRef, TopicProduceResponseRef,
};

/// Whether the message has a form that is read in place.
pub fn has_view(name: &str) -> bool {
    VIEWS.contains(&name)
}

/// Whether the message has a form that is written from borrowed parts.
pub fn has_ref(name: &str) -> bool {
    REFS.contains(&name)
}

const VIEWS: &[&str] = &[
    "ProduceRequest",
    "ProduceResponse",
    "FetchRequest",
    "FetchResponse",
    "OffsetCommitRequest",
    "HeartbeatRequest",
    "MetadataRequest",
    "ListOffsetsRequest",
];
const REFS: &[&str] = &["ProduceRequest", "ProduceResponse", "FetchRequest", "FetchResponse"];

/// Checks `bytes` through the message's other forms; `Err` says what differs.
pub fn difference(name: &str, bytes: &Bytes, version: i16) -> Result<(), String> {
    macro_rules! view {
        ($view:path) => {{
            let mut r = Reader::new(bytes);
            let view = <$view>::parse(&mut r, version).map_err(|e| format!("view refused: {e}"))?;
            if r.remaining() > 0 {
                return Err(format!("view left {} bytes", r.remaining()));
            }
            let owned = view.owned();
            check_view(&owned, bytes, version)?;
            owned
        }};
    }
    match name {
        "ProduceRequest" => {
            let m = view!(produce_request::ProduceRequestView);
            check_ref(&m, version, |w| produce_request(&m, w, version))
        }
        "ProduceResponse" => {
            let m = view!(produce_response::ProduceResponseView);
            check_ref(&m, version, |w| produce_response(&m, w, version))
        }
        "FetchRequest" => {
            let m = view!(fetch_request::FetchRequestView);
            check_ref(&m, version, |w| fetch_request(&m, w, version))
        }
        "FetchResponse" => {
            let m = view!(fetch_response::FetchResponseView);
            check_ref(&m, version, |w| fetch_response(&m, w, version))
        }
        "OffsetCommitRequest" => {
            view!(offset_commit_request::OffsetCommitRequestView);
            Ok(())
        }
        "HeartbeatRequest" => {
            view!(heartbeat_request::HeartbeatRequestView);
            Ok(())
        }
        "MetadataRequest" => {
            view!(metadata_request::MetadataRequestView);
            Ok(())
        }
        "ListOffsetsRequest" => {
            view!(list_offsets_request::ListOffsetsRequestView);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// What came through a view is what the owned form reads, but for unknown tagged fields, which a
/// view passes over, and text that is not UTF-8, which a view does not repair.
fn check_view<M>(through: &M, bytes: &Bytes, version: i16) -> Result<(), String>
where
    M: Message + PartialEq + std::fmt::Debug,
{
    let owned = M::decode(&mut Reader::shared(bytes), version).map_err(|e| e.to_string())?;
    let shown = format!("{owned:?}");
    if shown.contains('\u{fffd}') || *through == owned {
        return Ok(());
    }
    if without_unknown_tags(&shown) == format!("{through:?}") {
        return Ok(());
    }
    Err(format!("view differs\n  owned: {owned:?}\n  view:  {through:?}"))
}

/// A message's debug text with every list of unknown tagged fields emptied.
fn without_unknown_tags(shown: &str) -> String {
    const OPEN: &str = "RawTags(Some([";
    let mut out = String::new();
    let mut rest = shown;
    while let Some((before, after)) = rest.split_once(OPEN) {
        out.push_str(before);
        out.push_str("RawTags(None)");
        let mut quoted = false;
        let mut escaped = false;
        let end = after.find(|c: char| {
            let special = !escaped;
            escaped = quoted && special && c == '\\';
            quoted ^= special && c == '"';
            c == ']' && !quoted
        });
        rest = end.and_then(|end| after.get(end + "]))".len()..)).unwrap_or_default();
    }
    out + rest
}

/// The borrowed form writes what the owned form does, in one piece or in segments.
fn check_ref<M: Message>(
    owned: &M,
    version: i16,
    encode: impl Fn(&mut Writer) -> thalweg_wire::error::Encoded,
) -> Result<(), String> {
    let mut plain = Writer::new();
    owned.encode(&mut plain, version).map_err(|e| format!("owned form: {e}"))?;
    let mut w = Writer::new();
    encode(&mut w).map_err(|e| format!("ref cannot be written: {e}"))?;
    if w.to_vec() != plain.to_vec() || w.len() != plain.len() {
        return Err(format!(
            "ref differs\n  owned: {:02x?}\n  ref:   {:02x?}",
            plain.to_vec(),
            w.to_vec()
        ));
    }
    Ok(())
}

fn records(v: &Option<Bytes>) -> RecordsRef<'_> {
    match v {
        None => RecordsRef::Null,
        // All three ways of holding bytes in memory.
        Some(v) if v.len() % 3 == 0 => RecordsRef::Inline(v),
        Some(v) if v.len() % 3 == 1 => RecordsRef::Shared(v.clone()),
        Some(v) => RecordsRef::Pieces(std::slice::from_ref(v)),
    }
}

fn produce_request(
    m: &ProduceRequest,
    w: &mut Writer,
    version: i16,
) -> thalweg_wire::error::Encoded {
    let partitions: Vec<Vec<_>> = m
        .topic_data
        .iter()
        .map(|t| {
            let parts = t.partition_data.iter();
            parts
                .map(|p| PartitionProduceDataRef { index: p.index, records: records(&p.records) })
                .collect()
        })
        .collect();
    let topics: Vec<_> = m
        .topic_data
        .iter()
        .zip(&partitions)
        .map(|(t, partition_data)| TopicProduceDataRef {
            name: &t.name,
            topic_id: t.topic_id,
            partition_data,
        })
        .collect();
    produce_request::ProduceRequestRef {
        transactional_id: m.transactional_id.as_deref(),
        acks: m.acks,
        timeout_ms: m.timeout_ms,
        topic_data: &topics,
    }
    .encode(w, version)
}

fn produce_response(
    m: &ProduceResponse,
    w: &mut Writer,
    version: i16,
) -> thalweg_wire::error::Encoded {
    let errors: Vec<Vec<Vec<_>>> = m
        .responses
        .iter()
        .map(|t| {
            let parts = t.partition_responses.iter();
            parts
                .map(|p| {
                    let errors = p.record_errors.iter();
                    errors
                        .map(|e| BatchIndexAndErrorMessageRef {
                            batch_index: e.batch_index,
                            batch_index_error_message: e.batch_index_error_message.as_deref(),
                        })
                        .collect()
                })
                .collect()
        })
        .collect();
    let partitions: Vec<Vec<_>> = m
        .responses
        .iter()
        .zip(&errors)
        .map(|(t, errors)| {
            let parts = t.partition_responses.iter().zip(errors);
            parts
                .map(|(p, record_errors)| PartitionProduceResponseRef {
                    index: p.index,
                    error_code: p.error_code,
                    base_offset: p.base_offset,
                    log_append_time_ms: p.log_append_time_ms,
                    log_start_offset: p.log_start_offset,
                    record_errors,
                    error_message: p.error_message.as_deref(),
                    current_leader: produce_response::LeaderIdAndEpochRef {
                        leader_id: p.current_leader.leader_id,
                        leader_epoch: p.current_leader.leader_epoch,
                        ..Default::default()
                    },
                })
                .collect()
        })
        .collect();
    let topics: Vec<_> = m
        .responses
        .iter()
        .zip(&partitions)
        .map(|(t, partition_responses)| TopicProduceResponseRef {
            name: &t.name,
            topic_id: t.topic_id,
            partition_responses,
        })
        .collect();
    let nodes: Vec<_> = m
        .node_endpoints
        .iter()
        .map(|n| produce_response::NodeEndpointRef {
            node_id: n.node_id,
            host: &n.host,
            port: n.port,
            rack: n.rack.as_deref(),
        })
        .collect();
    produce_response::ProduceResponseRef {
        responses: &topics,
        throttle_time_ms: m.throttle_time_ms,
        node_endpoints: &nodes,
    }
    .encode(w, version)
}

fn fetch_request(m: &FetchRequest, w: &mut Writer, version: i16) -> thalweg_wire::error::Encoded {
    let partitions: Vec<Vec<_>> = m
        .topics
        .iter()
        .map(|t| {
            let parts = t.partitions.iter();
            parts
                .map(|p| FetchPartitionRef {
                    partition: p.partition,
                    current_leader_epoch: p.current_leader_epoch,
                    fetch_offset: p.fetch_offset,
                    last_fetched_epoch: p.last_fetched_epoch,
                    log_start_offset: p.log_start_offset,
                    partition_max_bytes: p.partition_max_bytes,
                    replica_directory_id: p.replica_directory_id,
                    high_watermark: p.high_watermark,
                    ..Default::default()
                })
                .collect()
        })
        .collect();
    let topics: Vec<_> = m
        .topics
        .iter()
        .zip(&partitions)
        .map(|(t, partitions)| FetchTopicRef { topic: &t.topic, topic_id: t.topic_id, partitions })
        .collect();
    let forgotten: Vec<_> = m
        .forgotten_topics_data
        .iter()
        .map(|t| ForgottenTopicRef {
            topic: &t.topic,
            topic_id: t.topic_id,
            partitions: &t.partitions,
        })
        .collect();
    fetch_request::FetchRequestRef {
        cluster_id: m.cluster_id.as_deref(),
        replica_id: m.replica_id,
        replica_state: ReplicaStateRef {
            replica_id: m.replica_state.replica_id,
            replica_epoch: m.replica_state.replica_epoch,
            ..Default::default()
        },
        max_wait_ms: m.max_wait_ms,
        min_bytes: m.min_bytes,
        max_bytes: m.max_bytes,
        isolation_level: m.isolation_level,
        session_id: m.session_id,
        session_epoch: m.session_epoch,
        topics: &topics,
        forgotten_topics_data: &forgotten,
        rack_id: &m.rack_id,
    }
    .encode(w, version)
}

fn fetch_response(m: &FetchResponse, w: &mut Writer, version: i16) -> thalweg_wire::error::Encoded {
    let aborted: Vec<Vec<Option<Vec<_>>>> = m
        .responses
        .iter()
        .map(|t| {
            let parts = t.partitions.iter();
            parts
                .map(|p| {
                    p.aborted_transactions.as_ref().map(|aborted| {
                        let aborted = aborted.iter();
                        aborted
                            .map(|a| AbortedTransactionRef {
                                producer_id: a.producer_id,
                                first_offset: a.first_offset,
                                ..Default::default()
                            })
                            .collect()
                    })
                })
                .collect()
        })
        .collect();
    let partitions: Vec<Vec<_>> = m
        .responses
        .iter()
        .zip(&aborted)
        .map(|(t, aborted)| {
            let parts = t.partitions.iter().zip(aborted);
            parts
                .map(|(p, aborted)| PartitionDataRef {
                    partition_index: p.partition_index,
                    error_code: p.error_code,
                    high_watermark: p.high_watermark,
                    last_stable_offset: p.last_stable_offset,
                    log_start_offset: p.log_start_offset,
                    diverging_epoch: EpochEndOffsetRef {
                        epoch: p.diverging_epoch.epoch,
                        end_offset: p.diverging_epoch.end_offset,
                        ..Default::default()
                    },
                    current_leader: fetch_response::LeaderIdAndEpochRef {
                        leader_id: p.current_leader.leader_id,
                        leader_epoch: p.current_leader.leader_epoch,
                        ..Default::default()
                    },
                    snapshot_id: SnapshotIdRef {
                        end_offset: p.snapshot_id.end_offset,
                        epoch: p.snapshot_id.epoch,
                        ..Default::default()
                    },
                    aborted_transactions: aborted.as_deref(),
                    preferred_read_replica: p.preferred_read_replica,
                    records: records(&p.records),
                })
                .collect()
        })
        .collect();
    let topics: Vec<_> = m
        .responses
        .iter()
        .zip(&partitions)
        .map(|(t, partitions)| FetchableTopicResponseRef {
            topic: &t.topic,
            topic_id: t.topic_id,
            partitions,
        })
        .collect();
    let nodes: Vec<_> = m
        .node_endpoints
        .iter()
        .map(|n| fetch_response::NodeEndpointRef {
            node_id: n.node_id,
            host: &n.host,
            port: n.port,
            rack: n.rack.as_deref(),
        })
        .collect();
    fetch_response::FetchResponseRef {
        throttle_time_ms: m.throttle_time_ms,
        error_code: m.error_code,
        session_id: m.session_id,
        responses: &topics,
        node_endpoints: &nodes,
    }
    .encode(w, version)
}
