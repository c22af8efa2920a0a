//! The table of APIs: what is served, in which versions, and how. Dispatch, ApiVersions, the choice of what is forwarded
//! to controllers and `docs/apis.md` come from it.
//!
//! To add an API: a handler in a file of this folder, the file's `mod` line in `mod.rs`, a row here, and its line in
//! `docs/apis.md`, which a test of this file writes. The messages of all of Kafka's APIs are in `thalweg_wire` already.

use std::ops::RangeInclusive;

use thalweg_wire::messages::*;
use thalweg_wire::{ApiKey, Request};

use crate::api::codec::{decode, encode};
use crate::api::context::{Context, Scratch};
use crate::net::budget::Charge;
use crate::net::connection::{Handled, LateReply};

/// How requests of an API are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The request is read where it lies in its frame, and the handler checks its version.
    InPlace,
    /// The handler gets a decoded request, whose memory is charged until the answer is there.
    Decoded,
    /// The same; the handler gets the charge, too, and frees it when a coordinator has taken the request over.
    FreesFrame,
    /// The same as decoded; the controller answers. A request that the controller cannot read ends the connection.
    Forwarded,
    /// The answer may be held back. What the connection has seen matters to it.
    Held,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Api {
    pub(super) key: ApiKey,
    min_version: i16,
    /// The last version that Kafka 4.4 has released.
    pub(super) max_version: i16,
    way: Way,
}

impl Api {
    const fn new<R: Request>(way: Way) -> Api {
        Api { key: R::API_KEY, min_version: R::MIN_VERSION, max_version: max_version::<R>(), way }
    }

    /// Whether the controller answers.
    pub(super) fn is_forwarded(&self) -> bool {
        self.way == Way::Forwarded
    }

    /// The first version in ApiVersions. librdkafka decides what a broker can do by its Produce versions from 0 on;
    /// versions below 3 are refused when they come (KAFKA-18659).
    pub(super) fn min_advertised(&self) -> i16 {
        if self.key == ApiKey::PRODUCE { 0 } else { self.min_version }
    }
}

/// The last version that Kafka 4.4 has released.
const fn max_version<R: Request>() -> i16 {
    let mut at = 0;
    while at < thalweg_wire::api::APIS.len() {
        let info = &thalweg_wire::api::APIS[at];
        if info.key.0 == R::API_KEY.0 {
            return info.max_stable_version;
        }
        at += 1;
    }
    R::MAX_VERSION
}

/// Makes the table and the dispatch of its rows: `Request, Way, handler`, in the order of Kafka's numbers. The handler's path
/// begins in `crate::api`.
macro_rules! apis {
    ($($request:ident, $way:ident, $($handler:ident)::+;)*) => {
        /// The APIs that are served, in the order of Kafka's numbers.
        pub(super) const APIS: &[Api] = &[$(Api::new::<$request>(Way::$way)),*];

        /// Has a request handled in the way of its API.
        async fn dispatch(
            context: &Context,
            scratch: &mut Scratch,
            body: &mut [u8],
            charge: &mut Charge,
        ) -> Handled {
            match context.api_key {
                $(
                    <$request as Request>::API_KEY => {
                        scratch.heartbeats.observe(<$request as Request>::API_KEY);
                        handle_by!(
                            $way, $request, crate::api::$($handler)::+, context, scratch, body, charge
                        )
                    }
                )*
                key => Handled::Close(format!("{key} is not served")),
            }
        }
    };
}

macro_rules! handle_by {
    (InPlace, $request:ident, $handler:path, $context:ident, $scratch:ident, $body:ident, $charge:ident) => {
        $handler($context, $scratch, $body, $charge).await
    };
    (Decoded, $request:ident, $handler:path, $context:ident, $scratch:ident, $body:ident, $charge:ident) => {
        decoded::<$request, _>($context, $body, $charge, $handler).await
    };
    (FreesFrame, $request:ident, $handler:path, $context:ident, $scratch:ident, $body:ident, $charge:ident) => {
        frees_frame::<$request, _>($context, $body, $charge, $handler).await
    };
    (Forwarded, $request:ident, $handler:path, $context:ident, $scratch:ident, $body:ident, $charge:ident) => {
        forwarded::<$request, _>($context, $body, $charge, $handler).await
    };
    (Held, $request:ident, $handler:path, $context:ident, $scratch:ident, $body:ident, $charge:ident) => {
        match checked::<$request>($context, $body, $charge).await {
            Ok((request, held)) => $handler($context, $scratch, request, held),
            Err(reason) => Handled::Close(reason),
        }
    };
}

apis! {
    ProduceRequest, InPlace, produce::handle;
    FetchRequest, InPlace, fetch::handle;
    ListOffsetsRequest, Decoded, list_offsets::handle;
    MetadataRequest, Decoded, metadata::handle;
    OffsetCommitRequest, FreesFrame, groups::offset_commit;
    OffsetFetchRequest, Decoded, groups::offset_fetch;
    FindCoordinatorRequest, Decoded, find_coordinator::handle;
    JoinGroupRequest, FreesFrame, groups::join;
    HeartbeatRequest, Held, heartbeat::handle;
    LeaveGroupRequest, FreesFrame, groups::leave;
    SyncGroupRequest, Held, heartbeat::handle;
    DescribeGroupsRequest, Decoded, groups::describe;
    ListGroupsRequest, Decoded, groups::list;
    ApiVersionsRequest, InPlace, api_versions::handle;
    CreateTopicsRequest, Forwarded, forward::handle;
    DeleteTopicsRequest, Forwarded, forward::handle;
    DeleteRecordsRequest, Decoded, delete_records::handle;
    InitProducerIdRequest, Decoded, init_producer_id::handle;
    OffsetForLeaderEpochRequest, Decoded, offset_for_leader_epoch::handle;
    AddPartitionsToTxnRequest, Decoded, add_to_txn::partitions;
    AddOffsetsToTxnRequest, Decoded, add_to_txn::offsets;
    EndTxnRequest, Decoded, end_txn::handle;
    WriteTxnMarkersRequest, Decoded, write_txn_markers::handle;
    TxnOffsetCommitRequest, FreesFrame, txn_offset_commit::handle;
    DescribeConfigsRequest, Decoded, configs::describe;
    AlterConfigsRequest, Forwarded, configs::alter;
    AlterReplicaLogDirsRequest, Decoded, alter_replica_log_dirs::handle;
    DescribeLogDirsRequest, Decoded, describe_log_dirs::handle;
    CreatePartitionsRequest, Forwarded, forward::handle;
    DeleteGroupsRequest, Decoded, groups::delete;
    ElectLeadersRequest, Forwarded, forward::handle;
    IncrementalAlterConfigsRequest, Forwarded, configs::incremental_alter;
    AlterPartitionReassignmentsRequest, Forwarded, forward::handle;
    ListPartitionReassignmentsRequest, Forwarded, forward::handle;
    OffsetDeleteRequest, Decoded, groups::offset_delete;
    DescribeClientQuotasRequest, Decoded, configs::describe_quotas;
    AlterClientQuotasRequest, Forwarded, forward::handle;
    DescribeQuorumRequest, Forwarded, describe_quorum::handle;
    UpdateFeaturesRequest, Forwarded, forward::handle;
    DescribeClusterRequest, Decoded, describe_cluster::handle;
    DescribeProducersRequest, Decoded, describe_producers::handle;
    UnregisterBrokerRequest, Forwarded, unregister_broker::handle;
    DescribeTransactionsRequest, Decoded, transactions::describe;
    ListTransactionsRequest, Decoded, transactions::list;
    ConsumerGroupHeartbeatRequest, Held, heartbeat::handle;
    ConsumerGroupDescribeRequest, Decoded, groups::consumer_describe;
    ListConfigResourcesRequest, Decoded, configs::list_resources;
    DescribeTopicPartitionsRequest, Decoded, metadata::describe_topic_partitions;
    UnregisterControllerRequest, Forwarded, forward::handle;
}

/// Handles one request. Its bytes may be changed in place.
pub(super) async fn handle(
    context: &Context,
    scratch: &mut Scratch,
    body: &mut [u8],
    charge: &mut Charge,
) -> Handled {
    context.services.node.metrics().request(context.api_key);
    dispatch(context, scratch, body, charge).await
}

/// Decodes a request of a version that is served.
async fn checked<R: Request>(
    context: &Context,
    body: &[u8],
    charge: &mut Charge,
) -> Result<(R, Charge), String> {
    let served: RangeInclusive<i16> = R::MIN_VERSION..=max_version::<R>();
    if !served.contains(&context.version) {
        return Err(format!("{} version {} is not supported", R::API_KEY, context.version));
    }
    decode::<R>(context, body, charge).await
}

async fn decoded<R: Request, F: Future<Output = R::Response> + Send + 'static>(
    context: &Context,
    body: &[u8],
    charge: &mut Charge,
    handler: fn(Context, R) -> F,
) -> Handled {
    match checked::<R>(context, body, charge).await {
        Ok((request, held)) => {
            let answer = handler(context.clone(), request);
            let context = context.clone();
            Handled::Parked(Box::pin(async move {
                let answer = answer.await;
                drop(held);
                encode(&context, &answer)
            }))
        }
        Err(reason) => Handled::Close(reason),
    }
}

async fn frees_frame<R: Request, F: Future<Output = R::Response> + Send + 'static>(
    context: &Context,
    body: &[u8],
    charge: &mut Charge,
    handler: fn(Context, R, Charge) -> F,
) -> Handled {
    match checked::<R>(context, body, charge).await {
        Ok((request, held)) => {
            let answer = handler(context.clone(), request, held);
            let context = context.clone();
            Handled::Parked(Box::pin(async move { encode(&context, &answer.await) }))
        }
        Err(reason) => Handled::Close(reason),
    }
}

async fn forwarded<R, F>(
    context: &Context,
    body: &[u8],
    charge: &mut Charge,
    handler: fn(Context, R) -> F,
) -> Handled
where
    R: Request,
    F: Future<Output = Result<R::Response, String>> + Send + 'static,
{
    match checked::<R>(context, body, charge).await {
        Ok((request, held)) => {
            let answer = handler(context.clone(), request);
            let context = context.clone();
            Handled::Parked(Box::pin(async move {
                let answer = answer.await;
                drop(held);
                match answer {
                    Ok(answer) => encode(&context, &answer),
                    Err(reason) => LateReply::close(reason),
                }
            }))
        }
        Err(reason) => Handled::Close(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apis_stand_in_the_order_of_their_numbers() {
        assert!(APIS.is_sorted_by(|one, next| one.key < next.key));
    }

    #[test]
    fn forwarded_apis_are_served_by_controllers() {
        for api in APIS.iter().filter(|api| api.is_forwarded()) {
            assert!(api.key.info().is_some_and(|info| info.controller), "{}", api.key);
        }
    }

    /// `docs/apis.md` lists the table. With `UPDATE_EXPECT=1` this test writes the page.
    #[test]
    fn docs_list_the_apis_that_are_served() {
        let mut page = String::from(
            "# APIs\n\nWritten by a test from `crates/broker/src/api/table.rs` (`UPDATE_EXPECT=1 cargo test -p \
             thalweg-broker docs_list`).\nEvery version that Kafka 4.4 has released is served. *Controller* means that \
             the controller answers: in a\ncluster the request goes to the active one, and ApiVersions names no version \
             that it does not speak.\nProduce is named there from version 0 on, as in Kafka (KAFKA-18659); versions below 3 \
             are refused.\n\n| Key | API | Versions | Answered by |\n|--:|---|---|---|\n",
        );
        for api in APIS {
            let name = api.key.name().unwrap_or_default();
            let by = if api.is_forwarded() { "controller" } else { "broker" };
            let (key, min, max) = (api.key.0, api.min_version, api.max_version);
            page.push_str(&format!("| {key} | {name} | {min} to {max} | {by} |\n"));
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/apis.md");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(written == page, "docs/apis.md is not the table: UPDATE_EXPECT=1 writes it");
    }
}
