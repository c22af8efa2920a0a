//! Asking a transaction's coordinators, one request at a time: what is to be asked `core::produce`
//! knows, and takes the answers.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use thalweg_wire::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use thalweg_wire::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use thalweg_wire::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest,
    TxnOffsetCommitRequest,
};
use thalweg_wire::{ErrorCode, Request, Uuid, grouped};

use crate::cluster::coordinator;
use crate::core::Metadata;
use crate::core::partition::{TopicPartition, by_topic};
use crate::core::produce::transaction::{
    AskNext, Protocol, TransactionAnswer, TransactionOffsets, TransactionRequest,
};
use crate::error::Error;
use crate::net::connection::Connection;
use crate::options::backoff::AUTHENTICATION_BACKOFF;
use crate::producer::config::ms;
use crate::producer::shared::Shared;

/// The pause before somebody is asked again who says that the transaction before is being completed, as
/// that of Kafka's producer.
const SOON: Duration = Duration::from_millis(20);
/// The feature that says how brokers take part in transactions (KIP-890).
const TRANSACTION_VERSION: &str = "transaction.version";
/// First version of InitProducerId that names the epoch before (KIP-360).
const FIRST_WITH_EPOCH: i16 = 3;
/// The last versions in which brokers add nothing to a transaction by themselves, and those of
/// clients: later ones of AddPartitionsToTxn are for brokers.
const END_TXN_V1: i16 = 4;
const TXN_OFFSET_COMMIT_V1: i16 = 4;
/// First version of TxnOffsetCommit in which topics go by their ids (KIP-1319).
const TXN_OFFSET_COMMIT_BY_ID: i16 = 6;
const ADD_PARTITIONS_OF_CLIENTS: i16 = 3;

/// Asks what is to be asked, until it is aborted.
pub(in crate::producer) async fn run(shared: Arc<Shared>, id: Arc<str>) {
    let known = HashMap::new();
    let mut coordinators =
        Coordinators { shared, id, known, features_epoch: -1, has_stale_ids: false };
    let mut failures = 0u32;
    loop {
        let shared = Arc::clone(&coordinators.shared);
        let Some(request) = shared.with(|state| state.sender.next_transaction_request()) else {
            shared.wants_coordinator.notified().await;
            continue;
        };
        let (answer, is_refused) = match coordinators.ask(&request).await {
            Ok(answer) => (answer, false),
            // Nobody who asks in the same way will be answered.
            Err(Unanswered { error: Error::Version { .. }, .. }) => {
                (TransactionAnswer::Code(ErrorCode::UNSUPPORTED_VERSION), false)
            }
            // What does not fit a request is the application's: names and texts that are too long.
            Err(Unanswered { error: Error::Encode { .. }, .. }) => {
                (TransactionAnswer::Code(ErrorCode::INVALID_REQUEST), false)
            }
            Err(Unanswered { error, was_sent }) => {
                tracing::debug!(api = %request.api(), %error, "a coordinator could not be asked");
                let cause = error.to_string().into();
                let answer = match was_sent {
                    true => TransactionAnswer::Lost(cause),
                    false => TransactionAnswer::Unasked(cause),
                };
                (answer, error.is_authentication())
            }
        };
        let now_ms = shared.now_ms();
        let next = shared.with(|state| state.sender.transaction_answered(&request, answer, now_ms));
        failures = if next == AskNext::Now { 0 } else { failures + 1 };
        let pause = match next {
            AskNext::Now => continue,
            AskNext::Soon => SOON,
            AskNext::Later => shared.config.backoff(failures),
            AskNext::OfAnother => {
                coordinators.forget(&request);
                match is_refused {
                    true => AUTHENTICATION_BACKOFF,
                    false => shared.config.backoff(failures),
                }
            }
        };
        // What is to be asked may have become something else meanwhile: that is no reason to hurry.
        tokio::time::sleep(pause).await;
    }
}

/// The coordinators of a producer's transactions.
struct Coordinators {
    shared: Arc<Shared>,
    /// The `transactional.id`.
    id: Arc<str>,
    /// Connections of this producer's own, by the group, or `None` for the transactions' own: what
    /// else its cluster's connections carry may be held back by a broker.
    known: HashMap<Option<Arc<str>>, Connection>,
    /// Where the features are from that are known.
    features_epoch: i64,
    /// A coordinator did not know the id of a topic: metadata are asked for before the next commit of offsets.
    has_stale_ids: bool,
}

/// Ids of topics by their names.
type TopicIds = BTreeMap<Arc<str>, Uuid>;

/// Why there is no answer.
struct Unanswered {
    error: Error,
    /// The request may be with the coordinator.
    was_sent: bool,
}

/// A request to be sent, in this version at most.
struct Capped<'r, R>(&'r R, i16);

impl Coordinators {
    /// Another coordinator is to be looked for.
    fn forget(&mut self, request: &TransactionRequest) {
        self.known.remove(&request.group().cloned());
    }

    async fn ask(&mut self, request: &TransactionRequest) -> Result<TransactionAnswer, Unanswered> {
        let connection = match self.connection(request).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(code)) => return Ok(TransactionAnswer::Code(code)),
            Err(error) => return Err(Unanswered { error, was_sent: false }),
        };
        self.learn_features(&connection);
        self.ask_over(&connection, request).await.map_err(|error| {
            self.forget(request);
            Unanswered { error, was_sent: true }
        })
    }

    /// The connection to whom a request is for, or why nobody is known.
    async fn connection(
        &mut self,
        request: &TransactionRequest,
    ) -> Result<Result<Connection, ErrorCode>, Error> {
        let group = request.group().cloned();
        if let Some(known) = self.known.get(&group).filter(|known| known.over().is_none()) {
            return Ok(Ok(known.clone()));
        }
        let cluster = &self.shared.cluster;
        let (kind, key) = match &group {
            Some(group) => (coordinator::GROUP, group),
            None => (coordinator::TRANSACTION, &self.id),
        };
        let any = cluster.any().await?;
        let found = coordinator::look_up(cluster, &any, kind, vec![key.to_string()]).await?;
        let node = match found.into_iter().next() {
            Some(found) if found.error_code.is_ok() => found.node_id,
            Some(found) => return Ok(Err(found.error_code)),
            None => return Ok(Err(ErrorCode::COORDINATOR_NOT_AVAILABLE)),
        };
        let connection = cluster.open(node).await?;
        self.known.retain(|_, known| known.over().is_none());
        self.known.insert(group, connection.clone());
        Ok(Ok(connection))
    }

    /// Takes over what the cluster has finalized, where this broker knows of something newer.
    fn learn_features(&mut self, connection: &Connection) {
        let versions = connection.versions();
        if versions.features_epoch() <= self.features_epoch && self.features_epoch >= 0 {
            return;
        }
        self.features_epoch = versions.features_epoch();
        let level = versions.feature_level(TRANSACTION_VERSION).unwrap_or(0);
        let protocol = if level >= 2 { Protocol::V2 } else { Protocol::V1 };
        self.shared.with(|state| state.sender.set_transaction_protocol(protocol));
    }

    /// The ids of the topics that offsets are of; `None` where one is not known, and all of them go by name.
    /// Metadata are asked for once.
    async fn topic_ids(&mut self, offsets: &TransactionOffsets) -> Option<TopicIds> {
        let cluster = &self.shared.cluster;
        let topics: BTreeSet<Arc<str>> =
            offsets.offsets.iter().map(|(of, ..)| Arc::clone(&of.topic)).collect();
        let known = |metadata: &Metadata| {
            let id_of = |name: &Arc<str>| {
                let topic = metadata.topics.get(&**name).filter(|topic| !topic.id.is_zero())?;
                Some((Arc::clone(name), topic.id))
            };
            topics.iter().map(id_of).collect::<Option<TopicIds>>()
        };
        if !std::mem::take(&mut self.has_stale_ids)
            && let Some(ids) = known(&cluster.metadata())
        {
            return Some(ids);
        }
        let names: Vec<&str> = topics.iter().map(|name| &**name).collect();
        let create = self.shared.config.auto_create_topics;
        match cluster.refresh_or_create(&names, create).await {
            Ok((metadata, _)) => known(&metadata),
            Err(error) => {
                tracing::debug!(%error, "metadata for offsets of a transaction are not there");
                None
            }
        }
    }

    async fn commit_offsets(
        &mut self,
        connection: &Connection,
        producer: (i64, i16),
        offsets: &TransactionOffsets,
        protocol: Protocol,
    ) -> Result<TransactionAnswer, Error> {
        let mut request = offset_commit(self.id.to_string(), producer, offsets);
        let mut version = connection.version_of::<TxnOffsetCommitRequest>()?;
        if protocol == Protocol::V1 {
            version = version.min(TXN_OFFSET_COMMIT_V1);
        }
        let mut names: HashMap<Uuid, Arc<str>> = HashMap::new();
        if version >= TXN_OFFSET_COMMIT_BY_ID {
            match self.topic_ids(offsets).await {
                Some(ids) => {
                    for topic in &mut request.topics {
                        topic.topic_id = ids.get(&*topic.name).copied().unwrap_or_default();
                    }
                    names = ids.into_iter().map(|(name, id)| (id, name)).collect();
                }
                None => version = TXN_OFFSET_COMMIT_BY_ID - 1,
            }
        }
        let answer = connection.send_as(&request, version).await?;
        let mut codes = Vec::new();
        for topic in answer.topics {
            let name = match version >= TXN_OFFSET_COMMIT_BY_ID {
                true => names.get(&topic.topic_id).cloned(),
                false => Some(topic.name.into()),
            };
            let Some(name) = name else { continue };
            for partition in topic.partitions {
                let code = partition.error_code;
                self.has_stale_ids |= code == ErrorCode::UNKNOWN_TOPIC_ID;
                codes.push((
                    TopicPartition::new(Arc::clone(&name), partition.partition_index),
                    code,
                ));
            }
        }
        let partitions = offsets.offsets.iter().map(|(partition, ..)| partition);
        Ok(for_each(partitions, codes))
    }

    async fn ask_over(
        &mut self,
        connection: &Connection,
        request: &TransactionRequest,
    ) -> Result<TransactionAnswer, Error> {
        let transactional_id = self.id.to_string();
        match request {
            TransactionRequest::Initialize { producer_id, epoch } => {
                let is_named = *producer_id >= 0;
                let version = connection.version_of::<InitProducerIdRequest>()?;
                if is_named && version < FIRST_WITH_EPOCH {
                    // Without its epoch this producer would take the id back from who has it now.
                    return Ok(TransactionAnswer::Code(ErrorCode::UNSUPPORTED_VERSION));
                }
                let timeout_ms = ms(self.shared.config.transaction_timeout);
                let request = InitProducerIdRequest {
                    transactional_id: Some(transactional_id),
                    transaction_timeout_ms: i32::try_from(timeout_ms).unwrap_or(i32::MAX),
                    producer_id: *producer_id,
                    producer_epoch: *epoch,
                    ..InitProducerIdRequest::default()
                };
                let answer = connection.send(&request).await?;
                Ok(match answer.error_code {
                    ErrorCode::NONE => {
                        TransactionAnswer::Producer(answer.producer_id, answer.producer_epoch)
                    }
                    code => TransactionAnswer::Code(code),
                })
            }
            TransactionRequest::AddPartitions { producer, partitions } => {
                let of = partitions.iter().map(|of| &**of);
                let topics = by_topic(of, |name, partitions| AddPartitionsToTxnTopic {
                    name,
                    partitions,
                    ..Default::default()
                });
                let request = AddPartitionsToTxnRequest {
                    v3_and_below_transactional_id: transactional_id,
                    v3_and_below_producer_id: producer.0,
                    v3_and_below_producer_epoch: producer.1,
                    v3_and_below_topics: topics,
                    ..AddPartitionsToTxnRequest::default()
                };
                let answer = Capped(&request, ADD_PARTITIONS_OF_CLIENTS).send(connection).await?;
                let mut codes = Vec::new();
                for topic in answer.results_by_topic_v3_and_below {
                    let name: Arc<str> = topic.name.into();
                    for partition in topic.results_by_partition {
                        let index = partition.partition_index;
                        let of = TopicPartition::new(Arc::clone(&name), index);
                        codes.push((of, ErrorCode(partition.partition_error_code)));
                    }
                }
                Ok(for_each(partitions.iter().map(|of| &**of), codes))
            }
            TransactionRequest::AddOffsets { producer, group } => {
                let request = AddOffsetsToTxnRequest {
                    transactional_id,
                    producer_id: producer.0,
                    producer_epoch: producer.1,
                    group_id: group.to_string(),
                    ..AddOffsetsToTxnRequest::default()
                };
                Ok(TransactionAnswer::Code(connection.send(&request).await?.error_code))
            }
            TransactionRequest::CommitOffsets { producer, offsets, protocol } => {
                self.commit_offsets(connection, *producer, offsets, *protocol).await
            }
            TransactionRequest::End { producer, is_commit, protocol } => {
                let request = EndTxnRequest {
                    transactional_id,
                    producer_id: producer.0,
                    producer_epoch: producer.1,
                    committed: *is_commit,
                    ..EndTxnRequest::default()
                };
                let version = match protocol {
                    Protocol::V1 => END_TXN_V1,
                    Protocol::V2 => i16::MAX,
                };
                let answer = Capped(&request, version).send(connection).await?;
                Ok(match answer.error_code {
                    ErrorCode::NONE if answer.producer_id >= 0 => {
                        TransactionAnswer::Producer(answer.producer_id, answer.producer_epoch)
                    }
                    code => TransactionAnswer::Code(code),
                })
            }
        }
    }
}

impl<R: Request> Capped<'_, R> {
    async fn send(self, connection: &Connection) -> Result<R::Response, Error> {
        let version = connection.version_of::<R>()?.min(self.1);
        connection.send_as(self.0, version).await
    }
}

/// An answer for each partition: what is not answered has not come about.
fn for_each<'p>(
    asked: impl Iterator<Item = &'p TopicPartition>,
    mut codes: Vec<(TopicPartition, ErrorCode)>,
) -> TransactionAnswer {
    let answered: HashSet<TopicPartition> = codes.iter().map(|(of, _)| of.clone()).collect();
    let missing = asked.filter(|of| !answered.contains(of));
    codes.extend(missing.map(|of| (of.clone(), ErrorCode::UNKNOWN_SERVER_ERROR)));
    TransactionAnswer::Partitions(codes)
}

fn offset_commit(
    transactional_id: String,
    producer: (i64, i16),
    offsets: &TransactionOffsets,
) -> TxnOffsetCommitRequest {
    let committed = offsets.offsets.iter().map(|(partition, position, metadata)| {
        let committed = TxnOffsetCommitRequestPartition {
            partition_index: partition.partition,
            committed_offset: position.offset,
            committed_leader_epoch: position.leader_epoch,
            committed_metadata: Some(metadata.clone().unwrap_or_default()),
            ..TxnOffsetCommitRequestPartition::default()
        };
        (&*partition.topic, committed)
    });
    let topics = grouped::by_topic(committed, |name, partitions| TxnOffsetCommitRequestTopic {
        name: name.to_owned(),
        partitions,
        ..TxnOffsetCommitRequestTopic::default()
    });
    TxnOffsetCommitRequest {
        transactional_id,
        group_id: offsets.group.to_string(),
        producer_id: producer.0,
        producer_epoch: producer.1,
        generation_id_or_member_epoch: offsets.generation,
        member_id: offsets.member.clone(),
        group_instance_id: offsets.instance.clone(),
        topics,
        ..TxnOffsetCommitRequest::default()
    }
}
