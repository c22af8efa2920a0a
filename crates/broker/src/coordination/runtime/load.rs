//! Loading a partition: its log is replayed into a runner of the load's own, which takes the place
//! of the one that refuses requests when it is done. Nothing is locked meanwhile, so requests are
//! refused at once, and a load whose partition moves away ends with its next batch.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use thalweg_coordinator::{CoordinatorRecord, Now, Position, Shard};
use thalweg_records::batch::{BatchView, Compression};
use thalweg_records::record::{self, RecordContext};
use thalweg_records::validate::Scratch;

use super::leader_shard::LeaderShard;
use super::{Driven, Runner};
use crate::node::workspace;

/// Bytes of the log that are read at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// Largest batch of a coordinator's own, decompressed.
const MAX_DECOMPRESSED: u64 = i32::MAX as u64;

/// What a load has found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) records: u64,
    /// Types of records that this release does not know, and how many there were of each.
    pub(super) unknown: BTreeMap<i16, u64>,
}

/// Replays the partition's log into `runner` and lets it take requests.
pub(super) fn load<S: Driven>(shard: &Arc<LeaderShard<S>>, mut runner: Runner<S>) {
    let started = std::time::Instant::now();
    let (topic, partition) = (&shard.partition.topic, shard.partition.index);
    let mut found = Found::default();
    let reason = match catch_unwind(AssertUnwindSafe(|| replay(shard, &mut runner, &mut found))) {
        Ok(Ok(true)) => None,
        // It moved away, and has been told so.
        Ok(Ok(false)) => return,
        Ok(Err(reason)) => Some(reason),
        Err(_) => {
            shard.env.panics.fetch_add(1, Ordering::Relaxed);
            Some("its records made the coordinator panic".into())
        }
    };
    for (record_type, records) in &found.unknown {
        tracing::warn!(%topic, partition, record_type, records,
            "records of a type that this release does not know are left as they are");
    }
    match reason {
        None => {
            shard.install(runner);
            let ms = started.elapsed().as_millis() as u64;
            shard.env.load_times.add(ms, shard.env.clock.monotonic_ms());
            if found.records > 0 {
                tracing::info!(%topic, partition, records = found.records, ms,
                    "coordinator state loaded");
            }
        }
        Some(reason) => {
            tracing::error!(%topic, partition, reason,
                "coordinator state could not be loaded: what is in this partition has no coordinator");
            shard.close();
        }
    }
    shard.wake_changed.notify_one();
}

/// Replays the log, all of it or what can be read; false if the partition moved away meanwhile.
fn replay<S: Shard>(
    shard: &LeaderShard<S>,
    runner: &mut Runner<S>,
    found: &mut Found,
) -> Result<bool, String> {
    let log = &shard.partition.log;
    let end = match replay_all(shard, runner, found) {
        Ok(Some(end)) => end,
        Ok(None) => return Ok(false),
        Err(reason) if shard.env.config.serves_partial_loads => {
            let end = log.log_end_offset();
            tracing::error!(
                topic = %shard.partition.topic, partition = shard.partition.index, reason,
                log_end_offset = end, records = found.records,
                "the coordinator's log cannot be read any further: what stands before that is served, and what stands \
                 behind it is as if it were not there"
            );
            end
        }
        Err(reason) => return Err(reason),
    };
    runner.load_finished(end, log.high_watermark(), shard.env.clock.now());
    Ok(true)
}

/// Replays the whole log; gives its end, or none if the partition moved away meanwhile.
fn replay_all<S: Shard>(
    shard: &LeaderShard<S>,
    runner: &mut Runner<S>,
    found: &mut Found,
) -> Result<Option<i64>, String> {
    let log = &shard.partition.log;
    let mut at = log.log_start_offset();
    let mut scratch = workspace::validation();
    let mut plain = Vec::new();
    let is_gone = || shard.is_gone();
    loop {
        let end = log.log_end_offset();
        if at >= end {
            return Ok(Some(end));
        }
        if is_gone() {
            return Ok(None);
        }
        // It waits before it gives up, so that this is no busy loop; and it ends when it is resigned.
        let Some(chunk) = shard.partition.read_whole(at, CHUNK_BYTES)? else { continue };
        if chunk.is_empty() {
            return Ok(Some(end));
        }
        let now = shard.env.clock.now();
        let next = replay_chunk(runner, &chunk, at, &mut scratch, &mut plain, now, found, is_gone)?;
        match next {
            Some(next) => at = next,
            None => return Ok(None),
        }
    }
}

/// Replays whole batches; gives the offset after the last one, or none if the load is not wanted
/// any more.
#[allow(clippy::too_many_arguments)]
pub(super) fn replay_chunk<S: Shard>(
    runner: &mut Runner<S>,
    chunk: &[u8],
    from: i64,
    scratch: &mut Scratch,
    plain: &mut Vec<u8>,
    now: Now,
    found: &mut Found,
    is_gone: impl Fn() -> bool,
) -> Result<Option<i64>, String> {
    let mut rest = chunk;
    let mut next = from;
    while !rest.is_empty() {
        if is_gone() {
            return Ok(None);
        }
        let batch = BatchView::parse(rest).map_err(|e| format!("at offset {next}: {e}"))?;
        rest = &rest[batch.total_len()..];
        let producer_id = batch.is_transactional().then(|| batch.producer_id());
        let records = if batch.compression() == Some(Compression::None) {
            batch.payload()
        } else {
            plain.clear();
            record::decompress(&batch, &mut scratch.decompressor, MAX_DECOMPRESSED, plain)
                .map_err(|e| format!("at offset {}: {e}", batch.base_offset()))?;
            &plain[..]
        };
        for record in RecordContext::of(&batch).iter(records) {
            let record = record.map_err(|e| format!("at offset {}: {e}", batch.base_offset()))?;
            let key = record.key.unwrap_or_default();
            if batch.is_control() {
                // Key: version i16, type i16; 0 is ABORT, 1 is COMMIT.
                match key.get(2..4) {
                    Some([0, 0]) => runner.load_marker(record.offset, batch.producer_id(), false),
                    Some([0, 1]) => runner.load_marker(record.offset, batch.producer_id(), true),
                    _ => {}
                }
                continue;
            }
            let at = Position { offset: record.offset, producer_id };
            match S::Record::decode(key, record.value) {
                Ok(Some(decoded)) => {
                    runner.load_record(at, now, &decoded);
                    found.records += 1;
                }
                Ok(None) => {
                    // A record's type is what its key begins with.
                    let record_type = key.first_chunk().map_or(-1, |two| i16::from_be_bytes(*two));
                    *found.unknown.entry(record_type).or_default() += 1;
                }
                Err(error) => return Err(format!("at offset {}: {error}", at.offset)),
            }
        }
        next = batch.next_offset();
    }
    Ok(Some(next))
}
