//! One file per API. A handler sees one normalised form of its request, whatever the version.

use std::ops::RangeInclusive;

use thalweg_wire::{ApiKey, DecodeError, Message, Reader, Request, Writer};

use crate::net::budget::Charge;
use crate::net::buffers;
use crate::net::connection::{Handled, Parked, Reply};

pub(crate) mod add_to_txn;
mod alter_replica_log_dirs;
mod api_versions;
mod configs;
pub(crate) mod connection_members;
mod delete_records;
mod describe_cluster;
mod describe_log_dirs;
mod describe_producers;
mod describe_quorum;
mod end_txn;
pub(crate) mod exposition;
pub(crate) mod fetch;
pub(crate) mod fetch_session;
mod find_coordinator;
mod forward;
pub(crate) mod front;
mod groups;
pub(crate) mod heartbeat;
mod init_producer_id;
mod list_offsets;
mod metadata;
mod offset_for_leader_epoch;
pub(crate) mod produce;
pub(crate) mod request;
pub(crate) mod services;
mod transactions;
mod txn_offset_commit;
mod unregister_broker;
pub(crate) mod write_txn_markers;

use request::{Context, Scratch};

/// What one API's entry in the table says.
struct Served {
    key: ApiKey,
    /// Versions that are served; all that Kafka 4.4 has released unless a part is missing here.
    versions: RangeInclusive<i16>,
}

/// Versions Kafka 4.4 serves of an API.
fn released<R: Request>() -> Served {
    let max = R::API_KEY.info().map_or(R::MAX_VERSION, |info| info.max_stable_version);
    Served { key: R::API_KEY, versions: R::MIN_VERSION..=max }
}

macro_rules! apis {
    (
        consumed_by_the_handler: $($request:ident => $handler:path,)*;
        forwarded: $($forwarded:ident => $forwarding_handler:path,)*;
        consumed_first: $($parking:ident => $parking_handler:path,)*;
        held: $($held:ident,)*;
    ) => {
        /// Everything this broker serves, in the order of Kafka's numbers.
        fn served() -> Vec<Served> {
            use thalweg_wire::messages::*;
            let mut all = vec![
                released::<ProduceRequest>(),
                released::<FetchRequest>(),
                released::<ApiVersionsRequest>(),
                $(released::<$request>(),)*
                $(released::<$forwarded>(),)*
                $(released::<$parking>(),)*
                $(released::<$held>(),)*
            ];
            all.sort_by_key(|s| s.key);
            all
        }

        /// Handles a request of an API whose answer is built in one piece.
        async fn owned(
            context: &Context,
            scratch: &mut Scratch,
            body: &[u8],
            charge: &mut Charge,
        ) -> Handled {
            use thalweg_wire::messages::*;
            $(
                if context.api_key == <$held as Request>::API_KEY {
                    return match decode::<$held>(context, body, charge).await {
                        Ok((request, held)) => {
                            heartbeat::handle(context, scratch, request, held)
                        }
                        Err(reason) => Handled::Close(reason),
                    };
                }
            )*
            $(
                if context.api_key == <$request as Request>::API_KEY {
                    return match decode::<$request>(context, body, charge).await {
                        Ok((request, held)) => {
                            let answer = $handler(context.clone(), request);
                            let context = context.clone();
                            Handled::Parked(Box::pin(async move {
                                let answer = answer.await;
                                drop(held);
                                encode(&context, &answer)
                            }))
                        }
                        Err(reason) => Handled::Close(reason),
                    };
                }
            )*
            $(
                if context.api_key == <$forwarded as Request>::API_KEY {
                    return match decode::<$forwarded>(context, body, charge).await {
                        Ok((request, held)) => {
                            let answer = $forwarding_handler(context.clone(), request);
                            let context = context.clone();
                            Handled::Parked(Box::pin(async move {
                                let answer = answer.await;
                                drop(held);
                                match answer {
                                    Ok(answer) => encode(&context, &answer),
                                    Err(reason) => Parked::close(reason),
                                }
                            }))
                        }
                        Err(reason) => Handled::Close(reason),
                    };
                }
            )*
            $(
                if context.api_key == <$parking as Request>::API_KEY {
                    return match decode::<$parking>(context, body, charge).await {
                        Ok((request, held)) => {
                            let answer = $parking_handler(context.clone(), request, held);
                            let context = context.clone();
                            Handled::Parked(Box::pin(async move {
                                encode(&context, &answer.await)
                            }))
                        }
                        Err(reason) => Handled::Close(reason),
                    };
                }
            )*
            Handled::Close(format!("{} is not served", context.api_key))
        }
    };
}

apis! {
    consumed_by_the_handler:
    ListOffsetsRequest => list_offsets::handle,
    MetadataRequest => metadata::handle,
    OffsetFetchRequest => groups::offset_fetch,
    FindCoordinatorRequest => find_coordinator::handle,
    DescribeGroupsRequest => groups::describe,
    ListGroupsRequest => groups::list,
    DeleteRecordsRequest => delete_records::handle,
    InitProducerIdRequest => init_producer_id::handle,
    OffsetForLeaderEpochRequest => offset_for_leader_epoch::handle,
    AddPartitionsToTxnRequest => add_to_txn::partitions,
    AddOffsetsToTxnRequest => add_to_txn::offsets,
    EndTxnRequest => end_txn::handle,
    WriteTxnMarkersRequest => write_txn_markers::handle,
    DescribeConfigsRequest => configs::describe,
    AlterReplicaLogDirsRequest => alter_replica_log_dirs::handle,
    DescribeLogDirsRequest => describe_log_dirs::handle,
    DeleteGroupsRequest => groups::delete,
    OffsetDeleteRequest => groups::offset_delete,
    DescribeClientQuotasRequest => configs::describe_quotas,
    DescribeClusterRequest => describe_cluster::handle,
    DescribeProducersRequest => describe_producers::handle,
    DescribeTransactionsRequest => transactions::describe,
    ListTransactionsRequest => transactions::list,
    ListConfigResourcesRequest => configs::list_resources,
    DescribeTopicPartitionsRequest => metadata::describe_topic_partitions,
    ConsumerGroupDescribeRequest => groups::consumer_describe,
    ;
    // What the controller answers. A request that it cannot read ends the connection.
    forwarded:
    CreateTopicsRequest => forward::handle,
    DeleteTopicsRequest => forward::handle,
    AlterConfigsRequest => configs::alter,
    CreatePartitionsRequest => forward::handle,
    ElectLeadersRequest => forward::handle,
    IncrementalAlterConfigsRequest => configs::incremental_alter,
    AlterPartitionReassignmentsRequest => forward::handle,
    ListPartitionReassignmentsRequest => forward::handle,
    AlterClientQuotasRequest => forward::handle,
    DescribeQuorumRequest => describe_quorum::handle,
    UpdateFeaturesRequest => forward::handle,
    UnregisterBrokerRequest => unregister_broker::handle,
    UnregisterControllerRequest => forward::handle,
    ;
    // These give the charge back when a coordinator has taken the request over.
    consumed_first:
    OffsetCommitRequest => groups::offset_commit,
    TxnOffsetCommitRequest => txn_offset_commit::handle,
    JoinGroupRequest => groups::join,
    LeaveGroupRequest => groups::leave,
    ;
    // What their connection has seen matters to these.
    held:
    HeartbeatRequest,
    SyncGroupRequest,
    ConsumerGroupHeartbeatRequest,
    ;
}

/// Decoded memory that a request is given at first, per byte of its frame, in bytes.
const GRANT_PER_BYTE: usize = 2;
/// The least that it is given.
const GRANT_MIN: usize = 4 << 10;

/// Decodes a request into memory of its own. That is charged before it is taken: decoding is given
/// an allowance that the charge covers, and begins anew with more where it was not enough. The
/// charge that comes back belongs to the request, and lasts longer than that of its frame.
async fn decode<R: Request>(
    context: &Context,
    body: &[u8],
    charge: &mut Charge,
) -> Result<(R, Charge), String> {
    let frame = charge.bytes();
    let most = Reader::new(body).allowance();
    let mut grant = body.len().saturating_mul(GRANT_PER_BYTE).max(GRANT_MIN).min(most);
    loop {
        charge.raise_to(frame.saturating_add(grant)).await;
        let mut reader = Reader::new(body);
        reader.limit_allowance(grant);
        match R::decode(&mut reader, context.version) {
            Ok(request) => {
                let mut held = charge.split(grant);
                held.lower_to(grant - reader.allowance());
                return Ok((request, held));
            }
            Err(DecodeError::OverBudget(_)) if grant < most => {
                grant = grant.saturating_mul(4).min(most);
            }
            Err(error) => return Err(format!("malformed {} request: {error}", R::NAME)),
        }
    }
}

/// Writes the answer to `frame`; what keeps that from being done closes the connection.
fn write<M: Message>(context: &Context, frame: &mut Writer, response: &M) -> Result<(), String> {
    context.begin(frame);
    response.encode(frame, context.version).and_then(|()| frame.end_frame()).map_err(|error| {
        let reason = format!("{} cannot be answered: {error}", context.api_key);
        tracing::error!(reason, version = context.version, "an answer could not be encoded");
        reason
    })
}

/// The answer as a frame of its own.
pub(crate) fn encode<M: Message>(context: &Context, response: &M) -> Parked {
    let mut frame = buffers::take_frame();
    let close = write(context, &mut frame, response).err();
    Parked { reply: Reply { frame, ..Reply::default() }, close }
}

/// The answer in the connection's frame.
fn reply<M: Message>(context: &Context, scratch: &mut Scratch, response: &M) -> Handled {
    match write(context, &mut scratch.reply.frame, response) {
        Ok(()) => Handled::Reply,
        Err(reason) => Handled::Close(reason),
    }
}

/// Handles one request. Its bytes may be changed in place.
pub(crate) async fn handle(
    context: &Context,
    scratch: &mut Scratch,
    body: &mut [u8],
    charge: &mut Charge,
) -> Handled {
    context.services.node.metrics().request(context.api_key);
    match context.api_key {
        ApiKey::PRODUCE => {
            scratch.heartbeats.observe(ApiKey::PRODUCE);
            produce::handle(context, scratch, body).await
        }
        ApiKey::FETCH => {
            scratch.heartbeats.observe(ApiKey::FETCH);
            fetch::handle(context, scratch, body, charge).await
        }
        ApiKey::API_VERSIONS => api_versions::handle(context, scratch, body),
        key => {
            let known = context.services.front.apis().versions(key);
            match known {
                Some(versions) if versions.contains(&context.version) => {
                    scratch.heartbeats.observe(key);
                    owned(context, scratch, body, charge).await
                }
                Some(_) => {
                    Handled::Close(format!("{key} version {} is not supported", context.version))
                }
                None => Handled::Close(format!("{key} is not served")),
            }
        }
    }
}

/// The table of served APIs, ready to be asked.
pub(crate) struct ApiTable {
    served: Vec<Served>,
}

impl ApiTable {
    pub(crate) fn new() -> ApiTable {
        ApiTable { served: served() }
    }

    fn versions(&self, key: ApiKey) -> Option<&RangeInclusive<i16>> {
        let at = self.served.binary_search_by_key(&key, |s| s.key).ok()?;
        Some(&self.served[at].versions)
    }

    /// Number, first and last version of each API, as ApiVersions tells them.
    fn advertised(&self) -> impl Iterator<Item = (ApiKey, i16, i16)> + '_ {
        self.served.iter().map(|s| {
            // librdkafka decides what a broker can do by its Produce versions from 0 on; versions
            // below 3 are refused when they come (KAFKA-18659).
            let min = if s.key == ApiKey::PRODUCE { 0 } else { *s.versions.start() };
            (s.key, min, *s.versions.end())
        })
    }
}

/// Everything the cluster may be asked to do by someone who may do all: bits of the operations of
/// Kafka's authorizer.
pub(crate) const CLUSTER_OPERATIONS: i32 = bits(&[5, 7, 8, 9, 10, 11, 12]);
/// The same for a topic.
pub(crate) const TOPIC_OPERATIONS: i32 = bits(&[3, 4, 5, 6, 7, 8, 10, 11]);
/// The same for a group.
pub(crate) const GROUP_OPERATIONS: i32 = bits(&[3, 6, 8, 10, 11]);

const fn bits(operations: &[u32]) -> i32 {
    let mut set = 0;
    let mut at = 0;
    while at < operations.len() {
        set |= 1 << operations[at];
        at += 1;
    }
    set
}
