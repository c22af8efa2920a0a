//! ListTransactions and DescribeTransactions (KIP-664): this broker coordinates none. Kafka's tools ask every broker.
//! Where it leads partitions of the coordinators' topic it says that it cannot list them.

use thalweg_groups::TopicRegex;
use thalweg_metadata::controller::TRANSACTIONS_TOPIC;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::describe_transactions_response::TransactionState;
use thalweg_wire::messages::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, ListTransactionsRequest,
    ListTransactionsResponse,
};

use crate::api::request::Context;

/// States of a transaction that a filter may name.
const STATES: [&str; 8] = [
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
];

pub(super) async fn list(
    context: Context,
    request: ListTransactionsRequest,
) -> ListTransactionsResponse {
    // Those of Apache Kafka's that are in its log are kept and not read: there are some, which nobody can list.
    let node_id = context.broker.node_id;
    let image = context.broker.image();
    let is_asked_for_more = image.topics.by_name(TRANSACTIONS_TOPIC).is_some_and(|topic| {
        topic.partitions.iter().any(|(_, partition)| partition.leader == node_id)
    });
    if is_asked_for_more {
        let error_code = ErrorCode::UNSUPPORTED_VERSION;
        return ListTransactionsResponse { error_code, ..Default::default() };
    }
    let is_unknown = |state: &String| !STATES.contains(&state.as_str());
    let pattern = request.transactional_id_pattern.filter(|pattern| !pattern.is_empty());
    if pattern.is_some_and(|pattern| TopicRegex::new(&pattern).is_err()) {
        let error_code = ErrorCode::INVALID_REGULAR_EXPRESSION;
        return ListTransactionsResponse { error_code, ..Default::default() };
    }
    ListTransactionsResponse {
        unknown_state_filters: request.state_filters.into_iter().filter(is_unknown).collect(),
        ..Default::default()
    }
}

pub(super) async fn describe(
    _context: Context,
    request: DescribeTransactionsRequest,
) -> DescribeTransactionsResponse {
    let not_here = |transactional_id: String| TransactionState {
        error_code: match transactional_id.is_empty() {
            true => ErrorCode::INVALID_REQUEST,
            false => ErrorCode::NOT_COORDINATOR,
        },
        transactional_id,
        ..Default::default()
    };
    DescribeTransactionsResponse {
        transaction_states: request.transactional_ids.into_iter().map(not_here).collect(),
        ..Default::default()
    }
}
