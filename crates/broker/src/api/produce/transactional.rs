//! Records of transactions: their coordinator is asked before a partition takes the first of them (KIP-890).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use thalweg_records::BatchView;
use thalweg_wire::ErrorCode;

use super::{PartResult, ProduceScratch, has_room_to_wait, wait_for_leadership};
use crate::api::context::Context;
use crate::coordination::transactions::{Operation, Question, Verdict};
use crate::replicas::partition::{Partition, Transactional};

/// Id and epoch.
type Producer = (i64, i16);

/// A batch of the request's transaction.
struct Batch {
    /// Its places among the topics and the parts.
    topic: usize,
    part: usize,
    sequence: i32,
}

/// The producer of a batch of a transaction, and the batch's first sequence number.
fn producer_of(body: &[u8], records: Option<&Range<usize>>) -> Option<(i64, i16, i32)> {
    let batch = BatchView::parse_header(body.get(records?.clone())?).ok()?;
    let is_meant = batch.is_transactional() && batch.has_producer_id();
    is_meant.then(|| (batch.producer_id(), batch.producer_epoch(), batch.base_sequence()))
}

/// Whether any records are of a transaction.
pub(super) fn has_records(work: &ProduceScratch, body: &[u8]) -> bool {
    work.parts.iter().any(|part| {
        let records = part.records.clone().and_then(|range| body.get(range));
        let batch = records.and_then(|records| BatchView::parse_header(records).ok());
        batch.is_some_and(|batch| batch.is_transactional())
    })
}

/// Has the coordinator say which partitions may take their records. Those that may not get their error here.
pub(super) async fn verify(
    context: &Context,
    work: &mut ProduceScratch,
    body: &[u8],
    transactional_id: Option<Range<usize>>,
    timeout: Duration,
) {
    let services = &context.services;
    let operation = Operation::of_produce(context.version);
    let is_enabled = services.node.settings().transaction_partition_verification_enable();
    work.is_verification_waived = !is_enabled;
    let id = transactional_id.and_then(|range| std::str::from_utf8(body.get(range)?).ok());
    let Some(id) = id else {
        return fail_all(work, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    };
    let Some(producer) = find_batches(work, body) else {
        return fail_all(work, ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    };
    let Some(((producer_id, producer_epoch), batches)) = producer else { return };
    if !is_enabled && operation != Operation::Add {
        return;
    }
    wait_until_led(context, work, &batches).await;

    let asked = Transactional {
        producer_id,
        producer_epoch,
        sequence: -1,
        bumps_epoch: operation.bumps_epoch(),
    };
    let settings = services.node.settings().clone();
    let milliseconds = |value: i32| Duration::from_millis(u64::try_from(value).unwrap_or(0));
    let retry_max = milliseconds(
        settings.add_partitions_to_txn_retry_backoff_max_ms().min(settings.request_timeout_ms()),
    );
    let retry_backoff = milliseconds(settings.add_partitions_to_txn_retry_backoff_ms());
    let began = tokio::time::Instant::now();
    let verdict = loop {
        let topics = begin(context, work, &batches, &asked, timeout).await;
        if topics.is_empty() {
            return;
        }
        let question = Question {
            transactional_id: id.to_owned(),
            producer_id,
            producer_epoch,
            operation,
            topics,
        };
        // The records stay in memory meanwhile. Where requests have half of what they may have, others come first: those
        // that the coordinator itself, and the replicas, live by.
        let verdict = match has_room_to_wait(context) {
            true => {
                services
                    .coordination
                    .transaction_writes()
                    .verify(&services.coordination, question)
                    .await
            }
            false => Verdict::All(ErrorCode::COORDINATOR_NOT_AVAILABLE),
        };
        // The transaction before is being ended. Sending all of it again would take a producer longer.
        let retries = operation == Operation::Add
            && verdict.has(ErrorCode::CONCURRENT_TRANSACTIONS)
            && began.elapsed() < retry_max
            && !services.node.is_stopping();
        if !retries {
            break verdict;
        }
        tokio::time::sleep(retry_backoff).await;
    };
    refuse(work, &batches, &verdict, operation);
}

/// The producer of the request's transaction, and its batches; `None` if they are of more than one producer.
fn find_batches(work: &ProduceScratch, body: &[u8]) -> Option<Option<(Producer, Vec<Batch>)>> {
    let mut found: Option<(Producer, Vec<Batch>)> = None;
    for (topic, named) in work.topics.iter().enumerate() {
        for part in named.parts.clone() {
            let asked = &work.parts[part];
            if asked.result.error.is_err() {
                continue;
            }
            let Some((id, epoch, sequence)) = producer_of(body, asked.records.as_ref()) else {
                continue;
            };
            let (producer, batches) = found.get_or_insert(((id, epoch), Vec::new()));
            if *producer != (id, epoch) {
                return None;
            }
            batches.push(Batch { topic, part, sequence });
        }
    }
    Some(found)
}

/// A log says which producers may send to it only where it leads.
async fn wait_until_led(context: &Context, work: &mut ProduceScratch, batches: &[Batch]) {
    let early: Vec<(usize, usize)> = batches
        .iter()
        .filter(|batch| partition_of(work, batch).is_ok_and(|partition| partition.may_be_elected()))
        .map(|batch| (batch.topic, batch.part))
        .collect();
    if !early.is_empty() && has_room_to_wait(context) {
        wait_for_leadership(context, work, &early).await;
    }
}

fn partition_of(work: &ProduceScratch, batch: &Batch) -> Result<Arc<Partition>, ErrorCode> {
    let topic = work.topics[batch.topic].topic.as_ref();
    let topic = topic.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    topic.hosted(work.parts[batch.part].index).cloned()
}

/// Notes the guards of partitions that do not know the transaction; gives these partitions by topic. Those that will
/// not take the records whatever the coordinator says get their error.
async fn begin(
    context: &Context,
    work: &mut ProduceScratch,
    batches: &[Batch],
    asked: &Transactional,
    timeout: Duration,
) -> BTreeMap<String, Vec<i32>> {
    work.guards.clear();
    let mut topics: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    for batch in batches {
        if work.parts[batch.part].result.error.is_err() {
            continue;
        }
        let begun = match partition_of(work, batch) {
            Ok(partition) => {
                let asked = Transactional { sequence: batch.sequence, ..*asked };
                let services = &context.services;
                let begun = services
                    .coordination
                    .transaction_writes()
                    .begin(&services.node, &partition, asked, timeout)
                    .await;
                begun.map_err(PartResult::failed)
            }
            Err(code) => Err(match &work.topics[batch.topic].topic {
                Some(topic) => {
                    PartResult::not_hosted(context, topic, work.parts[batch.part].index, code)
                }
                None => PartResult::error(code),
            }),
        };
        match begun {
            Ok(None) => {}
            Ok(Some(guard)) => {
                let name = work.topics[batch.topic].topic.as_ref().map(|topic| &*topic.name);
                let index = work.parts[batch.part].index;
                topics.entry(name.unwrap_or_default().to_owned()).or_default().push(index);
                // Parts come in order.
                work.guards.push((batch.part, guard));
            }
            Err(result) => work.parts[batch.part].result = result,
        }
    }
    topics
}

/// Gives the partitions that failed their error.
fn refuse(work: &mut ProduceScratch, batches: &[Batch], verdict: &Verdict, operation: Operation) {
    for batch in batches {
        // The coordinator was not asked about the others.
        if work.guards.binary_search_by_key(&batch.part, |(part, _)| *part).is_err() {
            continue;
        }
        let Ok(partition) = partition_of(work, batch) else { continue };
        let code = verdict.of(&partition.topic, partition.index);
        if code.is_ok() {
            continue;
        }
        work.parts[batch.part].result = refusal(code, operation);
    }
}

/// The result for a batch that the coordinator of its transaction refused, or could not be asked about. With an error that
/// names a coordinator the producer would look for its own one; so it gets an error that makes it send again.
fn refusal(code: ErrorCode, operation: Operation) -> PartResult {
    let is_retried = match code {
        ErrorCode::NETWORK_EXCEPTION
        | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        | ErrorCode::COORDINATOR_NOT_AVAILABLE
        | ErrorCode::NOT_COORDINATOR => true,
        ErrorCode::CONCURRENT_TRANSACTIONS => operation != Operation::Add,
        _ => false,
    };
    match code {
        code if is_retried => PartResult::with_message(
            ErrorCode::NOT_ENOUGH_REPLICAS,
            format!(
                "it could not be verified that the partition is part of the transaction: {code}"
            ),
        ),
        ErrorCode::INVALID_TXN_STATE => PartResult::with_message(
            code,
            "the partition is not part of the transaction".to_owned(),
        ),
        code => PartResult::error(code),
    }
}

fn fail_all(work: &mut ProduceScratch, code: ErrorCode) {
    for part in &mut work.parts {
        part.result = PartResult::error(code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn producers_send_again_what_could_not_be_verified() {
        use ErrorCode as E;
        let operations = [Operation::Verify, Operation::VerifyAbortable, Operation::Add];
        for operation in operations {
            for code in [
                E::NETWORK_EXCEPTION,
                E::COORDINATOR_LOAD_IN_PROGRESS,
                E::COORDINATOR_NOT_AVAILABLE,
                E::NOT_COORDINATOR,
            ] {
                assert_eq!(refusal(code, operation).error, E::NOT_ENOUGH_REPLICAS);
            }
            for code in [E::INVALID_TXN_STATE, E::INVALID_PRODUCER_EPOCH, E::TRANSACTION_ABORTABLE]
            {
                assert_eq!(refusal(code, operation).error, code);
            }
            let expected = match operation {
                // Its client knows that its transaction before is being ended.
                Operation::Add => E::CONCURRENT_TRANSACTIONS,
                _ => E::NOT_ENOUGH_REPLICAS,
            };
            assert_eq!(refusal(E::CONCURRENT_TRANSACTIONS, operation).error, expected);
        }
    }
}
