//! Brokers with logs in memory, which keep sessions as Kafka's do.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::{CompressionSpec, Compressor};
use thalweg_records::{BatchView, Compression};
use thalweg_wire::messages::fetch_request::ForgottenTopic;
use thalweg_wire::messages::fetch_response::{
    FetchableTopicResponse, LeaderIdAndEpoch, PartitionData,
};
use thalweg_wire::messages::{FetchRequest, FetchResponse, MetadataResponse};
use thalweg_wire::{ErrorCode, Message, Reader, Uuid, Writer};

use super::super::*;
use crate::core::metadata::Metadata;
use crate::core::partition::TopicPartition;

pub(super) const VERSION: i16 = 17;
pub(super) const TOPIC_ID: Uuid = Uuid::from_u128(4711);

/// Brokers with logs in memory.
#[derive(Default)]
pub(super) struct Cluster {
    pub(super) topic_id: Uuid,
    pub(super) logs: BTreeMap<i32, Log>,
    pub(super) sessions: HashMap<(i32, i32), (i32, BTreeMap<i32, SessionPartition>)>,
    pub(super) next_session: i32,
    /// Bytes of batches sent.
    pub(super) sent: u64,
    pub(super) forgotten: u64,
    pub(super) full_requests: u64,
    /// Partitions in requests.
    pub(super) named: u64,
}

#[derive(Clone, Copy)]
pub(super) struct SessionPartition {
    offset: i64,
    max_bytes: i32,
    leader_epoch: i32,
    last_epoch: i32,
}

#[derive(Default)]
pub(super) struct Log {
    pub(super) batches: Vec<Bytes>,
    pub(super) end: i64,
    pub(super) leader: i32,
    pub(super) epoch: i32,
    pub(super) aborted: Vec<(i64, i64)>,
}

impl Log {
    pub(super) fn append(
        &mut self,
        values: &[&str],
        options: BatchOptions,
        compression: Compression,
    ) {
        let options = BatchOptions {
            base_offset: self.end,
            partition_leader_epoch: self.epoch,
            compression: CompressionSpec::new(compression),
            ..options
        };
        let mut builder = BatchBuilder::new(options);
        for value in values {
            builder.append(1_000, Some(b"k"), Some(value.as_bytes()), &[]);
        }
        let batch = Bytes::from(builder.finish(&mut Compressor::new()).unwrap());
        self.end = BatchView::parse(&batch).unwrap().next_offset();
        self.batches.push(batch);
    }

    /// Batches from `offset` on, as many as fit `max`, but one at least.
    /// Whole batches within `max` bytes; the first one of an answer comes however large it is.
    pub(super) fn read(&self, offset: i64, max: usize, is_first: bool) -> Vec<u8> {
        let mut out = Vec::new();
        for batch in &self.batches {
            let view = BatchView::parse(batch).unwrap();
            if view.last_offset() < offset {
                continue;
            }
            let is_first = is_first && out.is_empty();
            if !is_first && out.len() + batch.len() > max {
                break;
            }
            out.extend_from_slice(batch);
        }
        out
    }
}

impl Cluster {
    pub(super) fn with(partitions: i32, brokers: i32) -> Cluster {
        let logs = (0..partitions)
            .map(|index| (index, Log { leader: index % brokers + 1, ..Log::default() }))
            .collect();
        Cluster { topic_id: TOPIC_ID, logs, next_session: 1, ..Cluster::default() }
    }

    /// The topic is deleted, and created again.
    pub(super) fn recreate(&mut self) {
        self.topic_id = Uuid::from_u128(self.topic_id.as_u128() + 1);
        for log in self.logs.values_mut() {
            *log = Log { leader: log.leader, ..Log::default() };
        }
        // What sessions have of the old one is nothing of the new one.
        self.sessions.values_mut().for_each(|(_, asked)| asked.clear());
    }

    pub(super) fn metadata(&self) -> Metadata {
        let mut metadata = Metadata::default();
        metadata.apply(&self.metadata_response(), 0);
        metadata
    }

    pub(super) fn metadata_response(&self) -> MetadataResponse {
        use thalweg_wire::messages::metadata_response::*;
        let partitions = self
            .logs
            .iter()
            .map(|(&index, log)| MetadataResponsePartition {
                partition_index: index,
                leader_id: log.leader,
                leader_epoch: log.epoch,
                ..MetadataResponsePartition::default()
            })
            .collect();
        MetadataResponse {
            topics: vec![MetadataResponseTopic {
                name: Some("t".into()),
                topic_id: self.topic_id,
                partitions,
                ..MetadataResponseTopic::default()
            }],
            ..MetadataResponse::default()
        }
    }

    /// What `broker` answers to a request frame.
    pub(super) fn answer(&mut self, broker: i32, frame: &[u8]) -> Bytes {
        let request = read_request(frame);
        let is_loose = request.session_epoch == -1;
        let id = if is_loose {
            0
        } else if request.session_epoch == 0 {
            self.full_requests += 1;
            self.next_session += 1;
            self.next_session
        } else {
            request.session_id
        };
        if request.session_epoch > 0 && !self.sessions.contains_key(&(broker, id)) {
            return encode(&FetchResponse {
                error_code: ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
                ..FetchResponse::default()
            });
        }
        let mut loose = (-1, BTreeMap::new());
        let (epoch, asked) = match is_loose {
            true => &mut loose,
            false => self.sessions.entry((broker, id)).or_default(),
        };
        assert_eq!(*epoch, request.session_epoch, "epochs follow each other");
        *epoch += 1;
        for topic in &request.topics {
            assert_eq!(topic.topic_id, self.topic_id);
            self.named += topic.partitions.len() as u64;
            for p in &topic.partitions {
                let before = asked.insert(
                    p.partition,
                    SessionPartition {
                        offset: p.fetch_offset,
                        max_bytes: p.partition_max_bytes,
                        leader_epoch: p.current_leader_epoch,
                        last_epoch: p.last_fetched_epoch,
                    },
                );
                let same = before.is_some_and(|b| b.offset == p.fetch_offset);
                assert!(
                    !same
                        || before.is_some_and(|b| b.max_bytes != p.partition_max_bytes
                            || b.leader_epoch != p.current_leader_epoch
                            || b.last_epoch != p.last_fetched_epoch),
                    "partition {} is named for nothing",
                    p.partition
                );
            }
        }
        let is_here = |topic: &&ForgottenTopic| topic.topic_id == self.topic_id;
        for topic in request.forgotten_topics_data.iter().filter(is_here) {
            for index in &topic.partitions {
                self.forgotten += 1;
                asked.remove(index);
            }
        }
        let mut left = usize::try_from(request.max_bytes).unwrap();
        let mut parts = Vec::new();
        for (&index, asked) in asked.iter() {
            let log = &self.logs[&index];
            let mut part = PartitionData {
                partition_index: index,
                high_watermark: log.end,
                last_stable_offset: log.end,
                ..PartitionData::default()
            };
            if log.leader != broker || asked.leader_epoch < log.epoch {
                part.error_code = if log.leader == broker {
                    ErrorCode::FENCED_LEADER_EPOCH
                } else {
                    ErrorCode::NOT_LEADER_OR_FOLLOWER
                };
                part.current_leader = LeaderIdAndEpoch {
                    leader_id: log.leader,
                    leader_epoch: log.epoch,
                    ..LeaderIdAndEpoch::default()
                };
                parts.push(part);
                continue;
            }
            if asked.leader_epoch > log.epoch {
                part.error_code = ErrorCode::UNKNOWN_LEADER_EPOCH;
                parts.push(part);
                continue;
            }
            if asked.offset > log.end || asked.offset < 0 {
                part.error_code = ErrorCode::OFFSET_OUT_OF_RANGE;
                parts.push(part);
                continue;
            }
            if left == 0 {
                continue;
            }
            let max = usize::try_from(asked.max_bytes).unwrap().min(left);
            let has_records = |part: &PartitionData| part.records.is_some();
            let is_first = !parts.iter().any(has_records);
            let records = log.read(asked.offset, max, is_first);
            if records.is_empty() {
                continue;
            }
            left = left.saturating_sub(records.len());
            self.sent += records.len() as u64;
            part.aborted_transactions = Some(
                log.aborted
                    .iter()
                    .map(|&(producer_id, first_offset)| {
                        thalweg_wire::messages::fetch_response::AbortedTransaction {
                            producer_id,
                            first_offset,
                            ..Default::default()
                        }
                    })
                    .collect(),
            );
            part.records = Some(records.into());
            parts.push(part);
        }
        encode(&FetchResponse {
            session_id: id,
            responses: if parts.is_empty() {
                vec![]
            } else {
                vec![FetchableTopicResponse {
                    topic_id: self.topic_id,
                    partitions: parts,
                    ..FetchableTopicResponse::default()
                }]
            },
            ..FetchResponse::default()
        })
    }
}

/// A request's frame.
pub(super) fn read_request(frame: &[u8]) -> FetchRequest {
    let mut r = Reader::new(&frame[12..]);
    // The rest of the header: client id and tags.
    r.nullable_str(false).unwrap();
    r.tags(None, |_, _| Ok(false)).unwrap();
    let request = FetchRequest::decode(&mut r, VERSION).unwrap();
    assert_eq!(r.remaining(), 0);
    request
}

pub(super) fn encode(response: &FetchResponse) -> Bytes {
    let mut w = Writer::new();
    response.encode(&mut w, VERSION).unwrap();
    w.to_vec().into()
}

pub(super) fn tp(index: i32) -> TopicPartition {
    TopicPartition::new("t", index)
}

pub(super) fn fetcher(settings: FetchSettings, budget: usize) -> Fetcher {
    Fetcher::new(settings, Budget::new(budget, || {}))
}

/// Sends what is to be sent to all brokers and takes the answers in; says how many requests.
pub(super) fn pump(fetcher: &mut Fetcher, cluster: &mut Cluster, now: u64) -> usize {
    let mut sent = 0;
    fetcher.settle(now);
    fetcher.wake_all();
    for broker in fetcher.take_brokers_to_wake() {
        let mut frame = Writer::new();
        let planned = fetcher.plan(broker, now, VERSION, "test", &mut frame).unwrap();
        let Some(mut planned) = planned else { continue };
        sent += 1;
        let body = cluster.answer(broker, &frame.to_vec());
        let body = fetcher.budget().share_reserved(body.to_vec(), &mut planned.reservation);
        fetcher.accept(broker, &body, VERSION, now).unwrap();
        drop(planned);
    }
    sent
}

pub(super) fn values(records: &Records) -> Vec<(i32, i64, String)> {
    let text = |value: Option<&[u8]>| String::from_utf8(value.unwrap().to_vec()).unwrap();
    records.iter().map(|r| (r.partition(), r.offset(), text(r.value()))).collect()
}

pub(super) fn take(fetcher: &mut Fetcher, max: usize) -> Vec<(i32, i64, String)> {
    let mut records = Records::default();
    fetcher.take(max, &mut records).unwrap();
    values(&records)
}

pub(super) fn owned(rows: &[(i32, i64, &str)]) -> Vec<(i32, i64, String)> {
    rows.iter().map(|&(p, o, v)| (p, o, v.to_owned())).collect()
}
