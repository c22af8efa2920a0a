//! What a follower does with its leader's answer, on a thread that may wait for disks.

use bytes::Bytes;
use thalweg_log::AppendContext;
use thalweg_records::BatchView;
use thalweg_replication::{EpochEnd, FetchAnswer, LeaderOffset, NextFetch, Step, high_watermark};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::fetch_response::PartitionData;

use super::fetcher::{Fetcher, Key, LogEpochs, Session, Wanted};
use crate::broker::Broker;
use crate::partition::Partition;

/// A leader whose metadata is behind this broker's is asked again soon, so often.
const METADATA_BEHIND_RETRIES: u32 = 25;
const METADATA_BEHIND_PAUSE_MS: u64 = 20;

/// An answer of ListOffsets.
pub(super) struct Found {
    pub(super) key: Key,
    pub(super) leader_epoch: i32,
    pub(super) found: Result<LeaderOffset, ErrorCode>,
}

/// What is to be asked of the leader's log, in which epoch.
pub(super) type ToFind = (Key, i32, Wanted);

fn retry_at(broker: &Broker) -> u64 {
    let pause = u64::try_from(broker.settings().config.replica_fetch_backoff_ms()).unwrap_or(1_000);
    broker.clock.monotonic_ms().saturating_add(pause)
}

/// Nobody answered.
pub(super) fn failed(broker: &Broker, fetcher: &Fetcher, session: &Session) {
    for (key, fetch) in session.all_asked() {
        give_up(broker, fetcher, *key, fetch.leader_epoch);
    }
}

/// A partition is fetched again after a pause, from where its log ends then.
pub(super) fn give_up(broker: &Broker, fetcher: &Fetcher, key: Key, leader_epoch: i32) {
    let retry_at = retry_at(broker);
    fetcher.with(key, leader_epoch, |it| {
        it.follower.moved(&LogEpochs(&it.partition));
        it.follower.failed(retry_at);
    });
}

/// What became of an answer.
pub(super) struct Taken {
    /// What is to be found out about the leader's logs.
    pub(super) to_find: Vec<ToFind>,
    /// Whether all was taken over. If not, the leader believes that this follower knows what it does not: a high
    /// watermark that it would not be told again.
    pub(super) is_whole: bool,
}

/// What came for a partition, and what had been asked for.
pub(super) type Answered = (Key, NextFetch, PartitionData);

/// Carries out an answer, or a share of it.
pub(super) fn take(broker: &Broker, fetcher: &Fetcher, answered: Vec<Answered>) -> Taken {
    let mut taken = Taken { to_find: Vec::new(), is_whole: true };
    for (key, fetch, partition) in answered {
        take_one(broker, fetcher, key, &fetch, partition, &mut taken);
    }
    taken
}

fn take_one(
    broker: &Broker,
    fetcher: &Fetcher,
    key: Key,
    fetch: &NextFetch,
    answer: PartitionData,
    taken: &mut Taken,
) {
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
    let mut retry_at = retry_at(broker);
    let is_error = told.error.is_err();
    let followed = fetcher.with(key, fetch.leader_epoch, |it| {
        it.metadata_behind = if is_behind { it.metadata_behind.saturating_add(1) } else { 0 };
        let is_retried_soon = is_behind && it.metadata_behind <= METADATA_BEHIND_RETRIES;
        if is_retried_soon {
            retry_at = broker.clock.monotonic_ms().saturating_add(METADATA_BEHIND_PAUSE_MS);
        }
        let log = LogEpochs(&it.partition);
        (it.partition.clone(), it.follower.answered(fetch, &told, &log, retry_at), is_retried_soon)
    });
    let Some((partition, step, is_retried_soon)) = followed else {
        taken.is_whole &= is_error;
        return;
    };
    if told.error.is_err() && !is_retried_soon {
        let named = format!("{}-{}: {}", partition.topic, partition.index, told.error);
        fetcher.say(&named);
    }
    match step {
        Step::Append => {
            let records = answer.records.unwrap_or_default();
            match append(broker, &partition, &records, fetch) {
                Ok(()) => {
                    follow_offsets(&partition, answer.high_watermark, answer.log_start_offset);
                    fetcher.with(key, fetch.leader_epoch, |it| {
                        it.is_in_sync = partition.log.log_end_offset() >= answer.high_watermark;
                        it.follower.moved(&LogEpochs(&partition));
                    });
                }
                Err(reason) => {
                    taken.is_whole = false;
                    tracing::warn!(topic = %partition.topic, partition = partition.index, reason,
                        "what was fetched is not appended; it is fetched again");
                    fetcher.with(key, fetch.leader_epoch, |it| {
                        // Part of it may have been done.
                        it.follower.moved(&LogEpochs(&partition));
                        it.follower.failed(retry_at);
                    });
                }
            }
        }
        step => {
            taken.is_whole &= is_error;
            let epoch = fetch.leader_epoch;
            taken.to_find.extend(carry_out(broker, fetcher, key, epoch, &partition, step));
        }
    }
}

/// Takes what the leader says of where its log begins or ends; gives what else is to be known.
pub(super) fn found(broker: &Broker, fetcher: &Fetcher, found: Found) -> Option<ToFind> {
    let Found { key, leader_epoch, found } = found;
    let retry_at = retry_at(broker);
    let (partition, step) = fetcher.with(key, leader_epoch, |it| {
        let log = LogEpochs(&it.partition);
        (it.partition.clone(), it.follower.found(leader_epoch, found, &log, retry_at))
    })?;
    carry_out(broker, fetcher, key, leader_epoch, &partition, step)
}

fn carry_out(
    broker: &Broker,
    fetcher: &Fetcher,
    key: Key,
    leader_epoch: i32,
    partition: &Partition,
    step: Step,
) -> Option<ToFind> {
    let now_ms = broker.clock.wall_ms();
    let log = &partition.log;
    let done = match step {
        Step::Nothing | Step::Append => return None,
        Step::FindLatest => return Some((key, leader_epoch, Wanted::Latest)),
        Step::FindEarliest => return Some((key, leader_epoch, Wanted::Earliest)),
        Step::Truncate(to) => {
            if to < log.high_watermark() {
                tracing::error!(topic = %partition.topic, partition = partition.index, to,
                    high_watermark = log.high_watermark(),
                    "committed records are cut off: the leader does not have them, as after an unclean election");
            } else {
                tracing::info!(topic = %partition.topic, partition = partition.index, to,
                    log_end_offset = log.log_end_offset(), "cut off where the leader has something else");
            }
            broker.logs.truncate_follower(log, to, leader_epoch, now_ms)
        }
        Step::StartAt(offset) => {
            tracing::info!(topic = %partition.topic, partition = partition.index, offset,
                "begun anew where the leader's log begins");
            broker.logs.begin_follower_at(log, offset, leader_epoch, now_ms)
        }
    };
    let retry_at = retry_at(broker);
    fetcher.with(key, leader_epoch, |it| {
        it.follower.moved(&LogEpochs(partition));
        if done.is_err() {
            it.follower.failed(retry_at);
        }
    });
    if let Err(error) = done {
        tracing::error!(topic = %partition.topic, partition = partition.index, %error,
            "a follower's log could not be changed");
    }
    None
}

/// Appends the leader's batches as they are, as far as they are whole.
fn append(
    broker: &Broker,
    partition: &Partition,
    records: &Bytes,
    fetch: &NextFetch,
) -> Result<(), String> {
    let (mut len, mut first) = (0, None);
    while let Ok(batch) = BatchView::parse(&records[len..]) {
        if !batch.crc_is_valid() {
            return Err(format!("the checksum of the batch at {} is wrong", batch.base_offset()));
        }
        first.get_or_insert((batch.base_offset(), batch.next_offset()));
        len += batch.total_len();
    }
    let Some((base_offset, next_offset)) = first else {
        return match records.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "the {} bytes that came for offset {} are no batch",
                records.len(),
                fetch.offset
            )),
        };
    };
    let now_ms = broker.clock.wall_ms();
    let log = &partition.log;
    let mut expected_end = fetch.offset;
    if base_offset < fetch.offset {
        // Where records were deleted, the leader's log begins in the middle of a batch, of which there is only the
        // whole: an empty log begins with it.
        let is_empty = log.log_start_offset() == log.log_end_offset();
        if !is_empty || next_offset <= fetch.offset {
            return Err(format!("a batch begins at {base_offset}, before {}", fetch.offset));
        }
        let begun = broker.logs.begin_follower_at(log, base_offset, fetch.leader_epoch, now_ms);
        begun.map_err(|error| error.to_string())?;
        expected_end = base_offset;
    }
    let context = AppendContext::replication(fetch.leader_epoch, expected_end, now_ms);
    log.append_with_offsets(&records[..len], &context).map_err(|error| error.to_string())?;
    broker.metrics.replication_bytes_in.add(len as u64);
    if partition.is_follower_throttled() {
        let now_ms = broker.clock.monotonic_ms();
        broker.shared.throttles.follower.record(len as u64, now_ms);
    }
    Ok(())
}

/// High watermark and log start follow the leader's.
fn follow_offsets(partition: &Partition, leaders_high_watermark: i64, leaders_log_start: i64) {
    let log = &partition.log;
    partition.follow_high_watermark(high_watermark(log.log_end_offset(), leaders_high_watermark));
    let start = leaders_log_start.min(log.high_watermark());
    if start > log.log_start_offset()
        && let Err(error) = log.delete_records(start)
    {
        tracing::warn!(topic = %partition.topic, partition = partition.index, %error,
            "the log's start does not follow the leader's");
    }
}
