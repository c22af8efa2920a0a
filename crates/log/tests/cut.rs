//! What is cut off of a follower's log: at what cost, and what is known of the producers then.

use crate::common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::*;
use thalweg_log::testing::crash::with_seeds;
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    ActiveProducer, AppendContext, Disk, DiskOp, FaultHook, Injected, Log, LogConfig, LogManager,
};
use thalweg_random::Random;

/// What a cut asks of the disk.
#[derive(Default)]
struct Cost {
    syncs: AtomicUsize,
    renames: AtomicUsize,
    bytes_read: AtomicUsize,
}

impl FaultHook for Cost {
    fn before(&self, op: DiskOp, _: &Path, len: usize) -> Injected {
        let (count, by) = match op {
            DiskOp::Sync | DiskOp::SyncDir => (&self.syncs, 1),
            DiskOp::Rename => (&self.renames, 1),
            DiskOp::Read => (&self.bytes_read, len),
            _ => return Injected::Nothing,
        };
        count.fetch_add(by, Ordering::Relaxed);
        Injected::Nothing
    }
}

impl Cost {
    /// Syncs, renames and bytes read since the last call.
    fn take(&self) -> (usize, usize, usize) {
        let take = |count: &AtomicUsize| count.swap(0, Ordering::Relaxed);
        (take(&self.syncs), take(&self.renames), take(&self.bytes_read))
    }
}

fn counted(dir: &TempDir) -> (Arc<Cost>, LogManager, Arc<Log>) {
    let cost = Arc::new(Cost::default());
    let mut config = config(&[dir.path()], LogConfig::default());
    config.disk = Disk::with_hook(Arc::clone(&cost) as Arc<dyn FaultHook>);
    let (logs, _) = LogManager::open(config).unwrap();
    let log = create(&logs, "t");
    (cost, logs, log)
}

/// As a follower does, without being told that it is committed.
fn replicate(log: &Log, spec: &BatchSpec, leader_epoch: i32) {
    let bytes = spec.clone().leader_epoch(leader_epoch).build();
    let context = AppendContext::replication(leader_epoch, log.log_end_offset(), 1_000);
    log.append_with_offsets(&bytes, &context).unwrap();
}

#[test]
fn what_was_not_replicated_goes_without_waiting_for_the_disk() {
    let dir = TempDir::new();
    let (cost, logs, log) = counted(&dir);
    log.make_follower(4);
    // Eight megabytes that producers have written, the last five batches of each in flight.
    let mut sequences = [0; 3];
    let mut next = |producer: usize, offset: i64| {
        let sequence = sequences[producer];
        sequences[producer] += 1;
        BatchSpec::new(offset, 1).producer(producer as i64, 0, sequence).value_len(4 << 10)
    };
    for offset in 0..2_000 {
        replicate(&log, &next(offset as usize % 3, offset), 4);
    }
    log.flush(1_000).unwrap();
    log.advance_high_watermark(1_990);
    log.make_follower(5);
    for offset in 2_000..2_016 {
        replicate(&log, &next(offset as usize % 3, offset), 5);
    }
    let known = |log: &Log| {
        let mut last: Vec<_> = log.active_producers().iter().map(|it| it.last_sequence).collect();
        last.sort();
        last
    };
    assert_eq!(known(&log), [671, 671, 671]);
    log.make_follower(6);
    cost.take();
    logs.truncate_follower(&log, 2_010, 6, 1_000).unwrap();
    let (syncs, renames, read) = cost.take();
    assert_eq!((syncs, renames), (0, 0), "some batches are left of each producer");
    assert!(read < 128 << 10, "{read} bytes");
    assert_eq!((log.log_end_offset(), known(&log)), (2_010, vec![669, 669, 669]));
    // All that are remembered.
    logs.truncate_follower(&log, 2_000, 6, 1_000).unwrap();
    let (syncs, renames, read) = cost.take();
    assert_eq!((syncs, renames), (0, 0), "the epoch that has no records here any more");
    assert!(read < 2 << 20, "{read} bytes");
    assert_eq!((log.log_end_offset(), known(&log)), (2_000, vec![665, 666, 666]));
    assert_eq!(log.leader_epochs(), [(4, 0)]);
    // Nothing to cut: the leader only says so.
    logs.truncate_follower(&log, 2_005, 6, 1_000).unwrap();
    assert_eq!(cost.take(), (0, 0, 0));
    // What is flushed must not be called so any more when something else is there, nor committed.
    logs.truncate_follower(&log, 1_995, 6, 1_000).unwrap();
    assert!(cost.take().0 >= 1);
    drop((log, logs));
    let (logs, _) = open(&dir, LogConfig::default());
    let log = logs.get("t", 0).unwrap();
    assert_eq!((log.recovery_point(), log.log_end_offset()), (1_995, 1_995));
    assert_eq!((log.leader_epochs(), known(&log)), (vec![(4, 0)], vec![664, 664, 664]));
}

/// Producers of a random log.
#[derive(Default)]
struct Producers {
    /// Of each id: epoch, next sequence, coordinator's epoch, whether a transaction is open.
    known: [(i16, i32, i32, bool); 4],
}

impl Producers {
    fn next(&mut self, offset: i64, random: &mut Random) -> BatchSpec {
        let timestamp = 1_000 + offset;
        if random.one_in(6) {
            return BatchSpec::new(offset, 1 + random.below(3)).timestamp(timestamp);
        }
        let id = random.below(4) as usize;
        let (epoch, sequence, coordinator, is_open) = &mut self.known[id];
        // Two are transactional.
        if id < 2 && *is_open && random.one_in(5) {
            (*is_open, *coordinator) = (false, *coordinator + i32::from(random.one_in(3)));
            if random.one_in(2) {
                (*epoch, *sequence) = (*epoch + 1, 0);
            }
            return BatchSpec::marker(offset, id as i64, *epoch, *coordinator, random.one_in(2))
                .timestamp(timestamp);
        }
        if !*is_open && random.one_in(12) {
            (*epoch, *sequence) = (*epoch + 1, 0);
        }
        let count = 1 + random.below(4);
        let spec = BatchSpec::new(offset, count).producer(id as i64, *epoch, *sequence);
        *sequence += count;
        *is_open = id < 2;
        let spec = if id < 2 { spec.transactional() } else { spec };
        spec.timestamp(timestamp)
    }
}

/// What is known of the producers. The time of a marker is not remembered where a log is cut off behind it.
fn known(log: &Log) -> Vec<ActiveProducer> {
    let mut known = log.active_producers();
    for producer in known.iter_mut().filter(|it| it.coordinator_epoch >= 0) {
        producer.last_timestamp = 0;
    }
    known.sort_by_key(|it| it.producer_id);
    known
}

#[test]
fn a_log_that_was_cut_off_knows_what_one_knows_that_never_had_the_rest() {
    with_seeds(150, |seed| {
        let mut random = Random::new(seed);
        let (dir, other_dir) = (TempDir::in_memory(), TempDir::in_memory());
        let settings = LogConfig {
            segment_bytes: if random.one_in(3) { 2_000 } else { 1 << 20 },
            index_interval_bytes: random.below(600) as u32,
            ..LogConfig::default()
        };
        let (logs, _) = open(&dir, settings.clone());
        let log = create(&logs, "t");
        log.make_follower(0);
        let (mut producers, mut specs) = (Producers::default(), Vec::new());
        // The ends of the batches.
        let mut ends = vec![0];
        for epoch in 0..20 {
            log.make_follower(epoch);
            for _ in 0..random.below(25) {
                let spec = producers.next(log.log_end_offset(), &mut random);
                replicate(&log, &spec, epoch);
                specs.push((spec, epoch));
                ends.push(log.log_end_offset());
            }
            let committed = ends.len() - 1 - random.below(ends.len().min(20) as u64) as usize;
            log.advance_high_watermark(ends[committed]);
            if random.one_in(3) {
                log.flush(1_000).unwrap();
            }
            let keep = ends.len() - 1 - random.below(ends.len().min(15) as u64) as usize;
            // Also within the batch behind it, of which nothing is left then.
            let inside = match specs.get(keep) {
                Some((spec, _)) => random.below(u64::from(records_of(spec))) as i64,
                None => 0,
            };
            logs.truncate_follower(&log, ends[keep] + inside, epoch, 1_000).unwrap();
            specs.truncate(keep);
            ends.truncate(keep + 1);
            if inside > 0 {
                // What is appended next begins there.
                ends[keep] += inside;
            }
            // What it would be if the rest had never been there.
            let (others, _) = open(&other_dir, settings.clone());
            let other = others
                .create(&thalweg_log::CreateRequest::new(&format!("t{epoch}"), 0, TOPIC_ID), 1_000);
            let other = other.unwrap();
            for (spec, epoch) in &specs {
                other.make_follower(*epoch);
                replicate(&other, spec, *epoch);
            }
            other.advance_high_watermark(log.high_watermark());
            assert_eq!(known(&log), known(&other), "epoch {epoch}");
            // A marker that is not committed ends its transaction for who loads a snapshot, as in Kafka, and for nobody else.
            let last_marker = specs.iter().rposition(|(spec, _)| spec.is_marker());
            if last_marker.is_none_or(|at| ends[at] < log.high_watermark()) {
                let stable = log.last_stable_offset().min(other.log_end_offset());
                assert_eq!(stable, other.last_stable_offset(), "epoch {epoch}");
            }
            // One whose only batch was cut in two is still known, as in Kafka.
            let mut epochs = log.leader_epochs();
            epochs.retain(|(epoch, _)| specs.iter().any(|(_, of)| of == epoch));
            assert_eq!(epochs, other.leader_epochs(), "epoch {epoch}");
            // The producers go on from there, and what they sent last is not taken twice.
            producers = Producers::default();
            for it in known(&log) {
                let state = &mut producers.known[it.producer_id as usize];
                let next = it.last_sequence + 1;
                *state = (
                    it.producer_epoch,
                    next,
                    it.coordinator_epoch.max(0),
                    it.txn_start_offset >= 0,
                );
            }
            if let Some((spec, _)) = specs.iter().rfind(|(spec, _)| is_repeatable(spec, &log)) {
                log.make_leader(epoch + 1);
                let context = AppendContext::client(epoch + 1, 1_000);
                let again = log.append_as_leader(&mut spec.build(), &context).unwrap();
                assert!(again.duplicate, "epoch {epoch}: {spec:?}");
            }
        }
    });
}

fn records_of(spec: &BatchSpec) -> u32 {
    let bytes = spec.build();
    thalweg_records::BatchView::parse(&bytes).unwrap().record_count().try_into().unwrap()
}

/// Whether a batch is the last one of a producer that has no transactions, in the producer's epoch of now.
fn is_repeatable(spec: &BatchSpec, log: &Log) -> bool {
    let bytes = spec.build();
    let batch = thalweg_records::BatchView::parse(&bytes).unwrap();
    batch.producer_id() >= 2
        && log.active_producers().iter().any(|it| {
            it.producer_id == batch.producer_id() && it.producer_epoch == batch.producer_epoch()
        })
}
