//! What a follower does with its leader's answer. Batches are appended here and now where the log takes them without
//! waiting; what may wait for a disk is left to another thread (`waiting`).

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use thalweg_log::{AppendContext, AppendError, AppendInfo};
use thalweg_records::BatchView;
use thalweg_replication::{EpochEnd, FetchAnswer, LeaderOffset, NextFetch, Step, high_watermark};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::FetchResponse;
use thalweg_wire::messages::fetch_response::PartitionData;

use super::fetcher::{Fetcher, Followed, Key, LogEpochs, Session, Wanted};
use super::waiting::{self, Change, What};
use crate::replicas::Replicas;
use crate::replicas::partition::Partition;

/// A leader whose metadata is behind this broker's is asked again soon, so often.
const METADATA_BEHIND_RETRIES: u32 = 25;
const METADATA_BEHIND_PAUSE_MS: u64 = 20;

/// So many bytes are appended before others on this worker have their turn.
const BYTES_AT_A_TIME: usize = 1 << 20;

/// An answer of ListOffsets.
pub(super) struct Found {
    pub(super) key: Key,
    pub(super) leader_epoch: i32,
    pub(super) found: Result<LeaderOffset, ErrorCode>,
}

/// What is to be asked of the leader's log, in which epoch.
pub(super) type ToFind = (Key, i32, Wanted);

pub(super) fn retry_at(replicas: &Replicas) -> u64 {
    let pause =
        u64::try_from(replicas.node.settings().config.replica_fetch_backoff_ms()).unwrap_or(1_000);
    replicas.node.clock().monotonic_ms().saturating_add(pause)
}

/// There was no answer.
pub(super) fn failed(replicas: &Replicas, fetcher: &Fetcher, session: &Session) {
    for (key, fetch) in session.all_asked() {
        retry(replicas, fetcher, *key, fetch.leader_epoch);
    }
}

/// A partition is fetched again after a pause, from where its log ends then. What the leader said is not known here:
/// also a high watermark that it would not say again in this session.
pub(super) fn give_up(replicas: &Replicas, fetcher: &Fetcher, key: Key, leader_epoch: i32) {
    fetcher.forget_session();
    retry(replicas, fetcher, key, leader_epoch);
}

fn retry(replicas: &Replicas, fetcher: &Fetcher, key: Key, leader_epoch: i32) {
    let retry_at = retry_at(replicas);
    fetcher.with(key, leader_epoch, |it| {
        it.moved();
        it.follower.failed(retry_at);
    });
}

/// What a partition's leader sent met a bug: that stops neither the broker nor what else is fetched.
pub(super) fn panicked(replicas: &Replicas, fetcher: &Fetcher, key: Key, leader_epoch: i32) {
    replicas.node.metrics().panics.add(1);
    tracing::error!(topic_id = %key.0, partition = key.1,
        "what was fetched panicked; the partition is fetched again");
    give_up(replicas, fetcher, key, leader_epoch);
}

/// Where the leader's log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeaderOffsets {
    high_watermark: i64,
    log_start: i64,
}

/// Whole batches whose checksums are right, fetched from an offset.
#[derive(Debug)]
pub(super) struct Batches {
    bytes: Bytes,
    /// Base offset of the first one, and the offset behind it.
    first: Option<(i64, i64)>,
    /// What was asked for.
    offset: i64,
}

impl Batches {
    /// As far as they are whole.
    fn of(records: Bytes, offset: i64) -> Result<Batches, String> {
        let (mut len, mut first) = (0, None);
        while let Ok(batch) = BatchView::parse(&records[len..]) {
            if !batch.crc_is_valid() {
                let base = batch.base_offset();
                return Err(format!("the checksum of the batch at {base} is wrong"));
            }
            first.get_or_insert((batch.base_offset(), batch.next_offset()));
            len += batch.total_len();
        }
        if first.is_none() && !records.is_empty() {
            let len = records.len();
            return Err(format!("the {len} bytes that came for offset {offset} are no batch"));
        }
        Ok(Batches { bytes: records.slice(..len), first, offset })
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Without the rest of the answer that they came in.
    fn detached(self) -> Batches {
        Batches { bytes: Bytes::copy_from_slice(&self.bytes), ..self }
    }
}

/// Carries out an answer; gives what is to be found out about the leader's logs. Breaks off if another loop fetches
/// by then, which fetches the rest again.
pub(super) async fn take(
    replicas: &Arc<Replicas>,
    fetcher: &Arc<Fetcher>,
    generation: u64,
    session: &Session,
    response: FetchResponse,
    to_find: &mut Vec<ToFind>,
) -> ControlFlow<()> {
    let mut bytes = 0;
    for topic in response.responses {
        for partition in topic.partitions {
            let key = (topic.topic_id, partition.partition_index);
            let Some(fetch) = session.asked(&key) else { continue };
            bytes += partition.records.as_ref().map_or(0, Bytes::len);
            let taken =
                AssertUnwindSafe(|| take_one(replicas, fetcher, generation, key, fetch, partition));
            match catch_unwind(taken) {
                Ok(wanted) => to_find.extend(wanted),
                Err(_) => panicked(replicas, fetcher, key, fetch.leader_epoch),
            }
            if !fetcher.is_current(generation) {
                fetcher.fetch_again();
                return ControlFlow::Break(());
            }
            if bytes >= BYTES_AT_A_TIME {
                bytes = 0;
                tokio::task::yield_now().await;
            }
        }
    }
    ControlFlow::Continue(())
}

fn take_one(
    replicas: &Arc<Replicas>,
    fetcher: &Arc<Fetcher>,
    generation: u64,
    key: Key,
    fetch: &NextFetch,
    answer: PartitionData,
) -> Option<ToFind> {
    let diverging = &answer.diverging_epoch;
    let told = FetchAnswer {
        error: answer.error_code,
        diverging: (diverging.epoch >= 0)
            .then_some(EpochEnd { epoch: diverging.epoch, end_offset: diverging.end_offset }),
    };
    let is_behind = matches!(
        told.error,
        ErrorCode::UNKNOWN_LEADER_EPOCH
            | ErrorCode::NOT_LEADER_OR_FOLLOWER
            | ErrorCode::UNKNOWN_TOPIC_ID
            | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    );
    let mut retry_at = retry_at(replicas);
    let is_error = told.error.is_err();
    let followed = fetcher.with(key, fetch.leader_epoch, |it| {
        it.metadata_behind = if is_behind { it.metadata_behind.saturating_add(1) } else { 0 };
        let is_retried_soon = is_behind && it.metadata_behind <= METADATA_BEHIND_RETRIES;
        if is_retried_soon {
            retry_at =
                replicas.node.clock().monotonic_ms().saturating_add(METADATA_BEHIND_PAUSE_MS);
        }
        let log = LogEpochs(&it.partition);
        (it.partition.clone(), it.follower.answered(fetch, &told, &log, retry_at), is_retried_soon)
    });
    let Some((partition, step, is_retried_soon)) = followed else {
        if !is_error {
            fetcher.forget_session();
        }
        return None;
    };
    if is_error && !is_retried_soon {
        let named = format!("{}-{}: {}", partition.topic, partition.index, told.error);
        fetcher.say(&named);
    }
    let leader_epoch = fetch.leader_epoch;
    if step != Step::Append {
        if !is_error {
            fetcher.forget_session();
        }
        return take_step(replicas, fetcher, key, leader_epoch, partition, step);
    }
    let offsets =
        LeaderOffsets { high_watermark: answer.high_watermark, log_start: answer.log_start_offset };
    let records = answer.records.unwrap_or_default();
    let batches = match Batches::of(records, fetch.offset) {
        Ok(batches) => batches,
        Err(reason) => {
            not_appended(replicas, fetcher, key, leader_epoch, &partition, &reason);
            return None;
        }
    };
    let appended = fetcher.append(generation, key, leader_epoch, &partition, || {
        append_now(replicas, leader_epoch, &partition, &batches)
    });
    match appended {
        Ok(Some(Ok(()))) => {
            follow_high_watermark(fetcher, key, leader_epoch, &partition, offsets);
            if let Some(start) = log_start_to_follow(&partition, offsets) {
                let what = What::DeleteBelow(start);
                waiting::leave(replicas, fetcher, Change { key, leader_epoch, partition, what });
            }
        }
        Ok(Some(Err(reason))) => {
            not_appended(replicas, fetcher, key, leader_epoch, &partition, &reason);
        }
        Err(_) => panicked(replicas, fetcher, key, leader_epoch),
        Ok(None) => {
            let what = What::Append(batches.detached(), offsets);
            waiting::leave(replicas, fetcher, Change { key, leader_epoch, partition, what });
        }
    }
    None
}

/// Takes what the leader says of where its log begins or ends; gives what else is to be known.
pub(super) fn found(
    replicas: &Arc<Replicas>,
    fetcher: &Arc<Fetcher>,
    found: Found,
) -> Option<ToFind> {
    let Found { key, leader_epoch, found } = found;
    let taken = AssertUnwindSafe(|| {
        let retry_at = retry_at(replicas);
        let (partition, step) = fetcher.with(key, leader_epoch, |it| {
            let log = LogEpochs(&it.partition);
            (it.partition.clone(), it.follower.found(leader_epoch, found, &log, retry_at))
        })?;
        take_step(replicas, fetcher, key, leader_epoch, partition, step)
    });
    catch_unwind(taken).unwrap_or_else(|_| {
        panicked(replicas, fetcher, key, leader_epoch);
        None
    })
}

/// Takes a step that is no append, or leaves it to a thread that may wait.
fn take_step(
    replicas: &Arc<Replicas>,
    fetcher: &Arc<Fetcher>,
    key: Key,
    leader_epoch: i32,
    partition: Arc<Partition>,
    step: Step,
) -> Option<ToFind> {
    let what = match step {
        Step::Nothing | Step::Append => return None,
        Step::FindLatest => return Some((key, leader_epoch, Wanted::Latest)),
        Step::FindEarliest => return Some((key, leader_epoch, Wanted::Earliest)),
        Step::Truncate(to) => What::Truncate(to),
        Step::StartAt(offset) => What::StartAt(offset),
    };
    waiting::leave(replicas, fetcher, Change { key, leader_epoch, partition, what });
    None
}

/// Carries out what may wait for a disk.
pub(super) fn carry_out(replicas: &Arc<Replicas>, fetcher: &Arc<Fetcher>, change: Change) {
    let Change { key, leader_epoch, partition, what } = change;
    let now_ms = replicas.node.clock().wall_ms();
    let log = &partition.log;
    let done = match what {
        What::Append(batches, offsets) => {
            match append(replicas, leader_epoch, &partition, &batches) {
                Ok(()) => {
                    follow_high_watermark(fetcher, key, leader_epoch, &partition, offsets);
                    if let Some(start) = log_start_to_follow(&partition, offsets) {
                        delete_below(&partition, start);
                    }
                }
                Err(reason) => {
                    not_appended(replicas, fetcher, key, leader_epoch, &partition, &reason)
                }
            }
            return;
        }
        What::DeleteBelow(start) => {
            delete_below(&partition, start);
            Ok(())
        }
        What::Truncate(to) => {
            if to < log.high_watermark() {
                tracing::error!(topic = %partition.topic, partition = partition.index, to,
                    high_watermark = log.high_watermark(),
                    "committed records are cut off: the leader does not have them, as after an unclean election");
            } else {
                tracing::info!(topic = %partition.topic, partition = partition.index, to,
                    log_end_offset = log.log_end_offset(), "cut off where the leader has something else");
            }
            replicas.logs().truncate_follower(log, to, leader_epoch, now_ms)
        }
        What::StartAt(offset) => {
            tracing::info!(topic = %partition.topic, partition = partition.index, offset,
                "log truncated to the leader's log start");
            replicas.logs().begin_follower_at(log, offset, leader_epoch, now_ms)
        }
    };
    match done {
        Ok(()) => {
            fetcher.with(key, leader_epoch, Followed::moved);
        }
        Err(error) => {
            tracing::error!(topic = %partition.topic, partition = partition.index, %error,
                "a follower's log could not be changed");
            give_up(replicas, fetcher, key, leader_epoch);
        }
    }
}

/// Appends the leader's batches as they are, without waiting; `None` where that is not possible, and nothing is done.
fn append_now(
    replicas: &Replicas,
    leader_epoch: i32,
    partition: &Partition,
    batches: &Batches,
) -> Option<Result<(), String>> {
    let Some((base_offset, _)) = batches.first else { return Some(Ok(())) };
    if base_offset < batches.offset {
        return None;
    }
    let now_ms = replicas.node.clock().wall_ms();
    let context = AppendContext::replication(leader_epoch, batches.offset, now_ms);
    let appended = partition.log.try_append_with_offsets(&batches.bytes, &context)?;
    Some(counted(replicas, partition, batches, appended))
}

/// The same where a disk may be waited for.
fn append(
    replicas: &Replicas,
    leader_epoch: i32,
    partition: &Partition,
    batches: &Batches,
) -> Result<(), String> {
    let Some((base_offset, next_offset)) = batches.first else { return Ok(()) };
    let now_ms = replicas.node.clock().wall_ms();
    let log = &partition.log;
    let mut expected_end = batches.offset;
    if base_offset < batches.offset {
        // Where records were deleted, the leader's log begins in the middle of a batch, of which there is only the
        // whole: an empty log begins with it.
        let is_empty = log.log_start_offset() == log.log_end_offset();
        if !is_empty || next_offset <= batches.offset {
            return Err(format!("a batch begins at {base_offset}, before {}", batches.offset));
        }
        let begun = replicas.logs().begin_follower_at(log, base_offset, leader_epoch, now_ms);
        begun.map_err(|error| error.to_string())?;
        expected_end = base_offset;
    }
    let context = AppendContext::replication(leader_epoch, expected_end, now_ms);
    counted(replicas, partition, batches, log.append_with_offsets(&batches.bytes, &context))
}

fn counted(
    replicas: &Replicas,
    partition: &Partition,
    batches: &Batches,
    appended: Result<AppendInfo, AppendError>,
) -> Result<(), String> {
    appended.map_err(|error| error.to_string())?;
    replicas.node.metrics().replication_bytes_in.add(batches.len() as u64);
    if partition.is_follower_throttled() {
        let now_ms = replicas.node.clock().monotonic_ms();
        replicas.shared().throttles.follower.record(batches.len() as u64, now_ms);
    }
    Ok(())
}

/// What was fetched is in the log: the high watermark follows the leader's.
fn follow_high_watermark(
    fetcher: &Fetcher,
    key: Key,
    leader_epoch: i32,
    partition: &Partition,
    offsets: LeaderOffsets,
) {
    let end = partition.log.log_end_offset();
    partition.follow_high_watermark(high_watermark(end, offsets.high_watermark));
    fetcher.with(key, leader_epoch, |it| {
        it.is_in_sync = end >= offsets.high_watermark;
        it.moved();
    });
}

/// Where the log's start is to be, if not where it is.
fn log_start_to_follow(partition: &Partition, offsets: LeaderOffsets) -> Option<i64> {
    let start = offsets.log_start.min(partition.log.high_watermark());
    (start > partition.log.log_start_offset()).then_some(start)
}

fn delete_below(partition: &Partition, start: i64) {
    if let Err(error) = partition.log.delete_records(start) {
        tracing::warn!(topic = %partition.topic, partition = partition.index, %error,
            "the log's start does not follow the leader's");
    }
}

/// What was fetched is not in the log, or a part of it.
fn not_appended(
    replicas: &Replicas,
    fetcher: &Fetcher,
    key: Key,
    leader_epoch: i32,
    partition: &Partition,
    reason: &str,
) {
    tracing::warn!(topic = %partition.topic, partition = partition.index, reason,
        "what was fetched is not appended; it is fetched again");
    give_up(replicas, fetcher, key, leader_epoch);
}
