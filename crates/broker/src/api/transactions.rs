//! ListTransactions and DescribeTransactions (KIP-664, KIP-994, KIP-1152): what this broker coordinates. Kafka's tools ask
//! every broker for a list.

use thalweg_groups::TopicRegex;
use thalweg_transactions::{
    Description, ListFilter, Listed, Partitions, TransactionRequest, TransactionResponse,
};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::describe_transactions_response::{TopicData, TransactionState};
use thalweg_wire::messages::list_transactions_response::TransactionState as ListedState;
use thalweg_wire::messages::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, ListTransactionsRequest,
    ListTransactionsResponse,
};

use crate::api::context::Context;
use crate::coordination::transactions::topic_partitions;

pub(super) async fn list(
    context: Context,
    request: ListTransactionsRequest,
) -> ListTransactionsResponse {
    let failed = |error_code| ListTransactionsResponse { error_code, ..Default::default() };
    let pattern = request.transactional_id_pattern.filter(|pattern| !pattern.is_empty());
    let pattern = match pattern.map(|pattern| TopicRegex::new(&pattern)).transpose() {
        Ok(pattern) => pattern,
        Err(_) => return failed(ErrorCode::INVALID_REGULAR_EXPRESSION),
    };
    let state = thalweg_transactions::TransactionState::from_name;
    let unknown = request.state_filters.iter().filter(|name| state(name).is_none()).cloned();
    let unknown: Vec<String> = unknown.collect();
    let mut states = Vec::new();
    for named in request.state_filters.iter().filter_map(|name| state(name)) {
        if !states.contains(&named) {
            states.push(named);
        }
    }
    let filter = ListFilter {
        producer_ids: request.producer_id_filters,
        states: (!request.state_filters.is_empty()).then_some(states),
        duration_ms: request.duration_filter,
    };
    let mut all: Vec<Listed> = Vec::new();
    for answer in context
        .services
        .coordination
        .transaction_coordinator()
        .ask_all(&TransactionRequest::List(filter))
    {
        match answer.wait().await {
            Some(TransactionResponse::List(Ok(mut listed))) => all.append(&mut listed),
            // It has moved away, to where it is asked for as well.
            None | Some(TransactionResponse::List(Err(ErrorCode::NOT_COORDINATOR))) => {}
            Some(TransactionResponse::List(Err(code))) => return failed(code),
            Some(_) => return failed(ErrorCode::UNKNOWN_SERVER_ERROR),
        }
    }
    if let Some(pattern) = pattern {
        let mut matcher = pattern.matcher();
        all.retain(|it| matcher.matches(&it.transactional_id));
    }
    ListTransactionsResponse {
        unknown_state_filters: unknown,
        transaction_states: all
            .into_iter()
            .map(|it| ListedState {
                transactional_id: it.transactional_id,
                producer_id: it.producer_id,
                transaction_state: it.state.name().to_owned(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

pub(super) async fn describe(
    context: Context,
    request: DescribeTransactionsRequest,
) -> DescribeTransactionsResponse {
    let mut transaction_states = Vec::with_capacity(request.transactional_ids.len());
    for transactional_id in request.transactional_ids {
        let described = describe_one(&context, &transactional_id).await;
        let state = match described {
            Err(error_code) => TransactionState { error_code, ..Default::default() },
            Ok(description) => state_of(description),
        };
        transaction_states.push(TransactionState { transactional_id, ..state });
    }
    DescribeTransactionsResponse { transaction_states, ..Default::default() }
}

async fn describe_one(context: &Context, id: &str) -> Result<Description, ErrorCode> {
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    let request = TransactionRequest::Describe { transactional_id: id.to_owned() };
    let count = topic_partitions(&context.services.node);
    match context.services.coordination.transaction_coordinator().ask(count, id, request).await {
        TransactionResponse::Describe(described) => described,
        _ => Err(ErrorCode::UNKNOWN_SERVER_ERROR),
    }
}

fn state_of(description: Description) -> TransactionState {
    TransactionState {
        transaction_state: description.state.name().to_owned(),
        transaction_timeout_ms: description.timeout_ms,
        transaction_start_time_ms: description.start_ms,
        producer_id: description.producer.id,
        producer_epoch: description.producer.epoch,
        topics: topics_of(&description.partitions),
        ..Default::default()
    }
}

fn topics_of(partitions: &Partitions) -> Vec<TopicData> {
    let topics = partitions.topics();
    topics
        .map(|(topic, indices)| TopicData {
            topic: topic.to_string(),
            partitions: indices.iter().copied().collect(),
            ..Default::default()
        })
        .collect()
}
