//! Whatever fails, nothing is lost, doubled or out of order. A seed says everything.

use thalweg_records::{BatchView, Compression, CompressionSpec};

use super::super::*;
use super::cluster::*;
use thalweg_random::Random;
use thalweg_wire::ErrorCode;

/// What may go wrong.
#[derive(Clone, Copy)]
pub struct Faults {
    /// One batch in so many is refused, or appended and not acknowledged.
    pub errors: u64,
    /// One step in so many breaks a connection.
    pub breaks: u64,
    pub moves: u64,
    /// Batches above this are too large; records are not.
    pub max_message_bytes: usize,
    pub delivery_timeout_ms: u64,
    /// One batch in so many is refused for good.
    pub fatal: u64,
}

pub const NO_FAULTS: Faults = Faults {
    errors: u64::MAX,
    breaks: u64::MAX,
    moves: u64::MAX,
    max_message_bytes: 1 << 20,
    delivery_timeout_ms: u64::MAX / 4,
    fatal: u64::MAX,
};

pub fn fate(rng: &mut Random, faults: &Faults, batch: &BatchView<'_>) -> Fate {
    const REFUSED: [ErrorCode; 4] = [
        ErrorCode::NOT_ENOUGH_REPLICAS,
        ErrorCode::KAFKA_STORAGE_ERROR,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode::LEADER_NOT_AVAILABLE,
    ];
    const APPENDED: [ErrorCode; 2] =
        [ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode::REQUEST_TIMED_OUT];
    // A broker that refuses a record refuses it always.
    if u64::from(murmur2::murmur2(batch.payload()) as u32).is_multiple_of(faults.fatal) {
        return Fate::Refused(ErrorCode::INVALID_RECORD);
    }
    if !rng.one_in(faults.errors) {
        return Fate::Fine;
    }
    match rng.below(6) {
        at @ 0..4 => Fate::Refused(REFUSED[at as usize]),
        at => Fate::Appended(APPENDED[at as usize - 4]),
    }
}

fn run(seed: u64, faults: Faults) -> ProduceCounts {
    let mut rng = Random::new(seed);
    // In turn, not drawn: what is compressed is hardly ever too large, and a few lives in a row may draw nothing else.
    let codec = [Compression::None, Compression::Lz4, Compression::Zstd][(seed % 3) as usize];
    let settings = ProduceSettings {
        batch_size: 400,
        linger_ms: rng.below(8),
        max_request_size: 1_500,
        compression: CompressionSpec::new(codec),
        delivery_timeout_ms: faults.delivery_timeout_ms,
        max_in_flight: 1 + rng.below(5) as usize,
        retry_backoff_ms: 3,
        retry_backoff_max_ms: 15,
        ..ProduceSettings::default()
    };
    let limit = 6_000;
    let (partitions, brokers) = (1 + rng.below(5), 1 + rng.below(3));
    let mut sim = Sim::new(settings, limit, partitions, brokers);
    sim.max_message_bytes = faults.max_message_bytes;
    sim.version = 12 + rng.below(2) as i16;
    sim.knows_hints = rng.one_in(2);
    let mut sent = Vec::new();
    let mut full = 0;
    for step in 0..2_000u32 {
        for _ in 0..rng.below(4) {
            let partition = rng.below(partitions as u64 + 1) as i32;
            let partition = (partition < partitions).then_some(partition);
            // The number says in which order they were handed over.
            let number = sent.len() as u32;
            let mut value = number.to_be_bytes().to_vec();
            value.resize(4 + rng.below(100) as usize, b'v');
            match sim.send(partition, &value) {
                Ok(ticket) => sent.push((partition, ticket)),
                Err(refused) => {
                    assert_eq!(refused, Refused::Full);
                    full += 1;
                }
            }
        }
        let broker = 1 + rng.below(brokers as u64) as i32;
        match rng.below(4) {
            0 => {
                sim.turn(broker);
            }
            1 => sim.process(broker, &mut |batch| fate(&mut rng, &faults, batch)),
            2 => {
                sim.deliver(broker);
            }
            _ => sim.now += rng.below(6),
        }
        if rng.one_in(faults.breaks) {
            sim.disconnect(broker);
        }
        if !sim.zombies.is_empty() && rng.one_in(20) {
            let at = rng.below(sim.zombies.len() as u64) as usize;
            // Within a connection order is kept.
            let of = sim.zombies[at].0;
            let first = sim.zombies.iter().position(|(broker, _)| *broker == of).unwrap();
            let (broker, request) = sim.zombies.remove(first);
            sim.answer(broker, &request, &mut |batch| fate(&mut rng, &faults, batch));
        }
        if rng.one_in(faults.moves) {
            let log = sim.logs.get_mut(&(rng.below(partitions as u64) as i32)).unwrap();
            log.leader = 1 + rng.below(brokers as u64) as i32;
            log.epoch += 1;
        }
        if rng.one_in(30) && sim.sender.take_wants_metadata() {
            sim.tell_metadata();
        }
        if step % 16 == 0 {
            sim.sender.expire(sim.now);
        }
    }
    assert!(sent.len() > 100, "seed {seed}: {} sent, {full} refused", sent.len());
    sim.settle(100_000);
    check(seed, &mut sim, sent, faults);
    let forced = if sim.sender.counts().splits > 0 { 1_500 } else { 0 };
    let peak = sim.sender.memory().peak();
    assert!(peak <= limit + forced, "seed {seed}: a peak of {peak} bytes");
    assert_eq!(sim.sender.memory().used(), 0, "seed {seed}");
    sim.sender.counts()
}

fn check(seed: u64, sim: &mut Sim, sent: Vec<(Option<i32>, Ticket)>, faults: Faults) {
    assert_eq!(sim.sender.outstanding(), 0, "seed {seed}: something is stuck");
    let loses = faults.fatal < u64::MAX || faults.delivery_timeout_ms < 1 << 40;
    let mut places = vec![None; sent.len()];
    for (&index, log) in &sim.logs {
        let mut last = None;
        for (offset, value) in log.values.iter().enumerate() {
            let number = u32::from_be_bytes(value[..4].try_into().unwrap());
            assert!(last < Some(number), "seed {seed}: {number} after {last:?} in {index}");
            last = Some(number);
            let place = places[number as usize].replace((index, offset as i64));
            assert_eq!(place, None, "seed {seed}: {number} is in the log twice");
        }
    }
    for (number, (partition, mut ticket)) in sent.into_iter().enumerate() {
        match outcome(&mut ticket).unwrap_or_else(|| panic!("seed {seed}: {number} hangs")) {
            Ok(metadata) => {
                let (index, offset) = places[number]
                    .unwrap_or_else(|| panic!("seed {seed}: {number} was acknowledged and lost"));
                assert_eq!(metadata.partition, index, "seed {seed}");
                assert!(partition.is_none_or(|partition| partition == index));
                assert_eq!(metadata.offset, offset, "seed {seed}: {number}");
                assert_eq!(metadata.timestamp, 1_000);
            }
            Err(error) => assert!(loses, "seed {seed}: {number}: {error}"),
        }
    }
}

/// The counts of all seeds, and how many there were; nothing for one alone.
fn runs(family: &str, usual: u64, share: u64, faults: Faults) -> Option<(ProduceCounts, u64)> {
    let mut all = ProduceCounts::default();
    let ran = crate::core::seeds::run(family, usual, share, |seed| {
        let counts = run(seed, faults);
        all.retries += counts.retries;
        all.splits += counts.splits;
        all.epoch_bumps += counts.epoch_bumps;
    });
    Some((all, ran?))
}

#[test]
fn in_calm_weather_nothing_is_repeated() {
    let Some((counts, _)) = runs("produce: calm", 8, 2, NO_FAULTS) else { return };
    assert_eq!((counts.retries, counts.splits, counts.epoch_bumps), (0, 0, 0));
}

#[test]
fn errors_and_lost_answers() {
    let Some((counts, ran)) =
        runs("produce: errors", 20, 7, Faults { errors: 6, breaks: 60, ..NO_FAULTS })
    else {
        return;
    };
    assert!(counts.retries > 15 * ran, "{counts:?}");
    assert_eq!(counts.epoch_bumps, 0, "nothing was given up");
}

#[test]
fn leaders_move() {
    let Some((counts, ran)) = runs(
        "produce: leaders move",
        20,
        7,
        Faults { errors: 20, breaks: 150, moves: 40, ..NO_FAULTS },
    ) else {
        return;
    };
    assert!(counts.retries > 15 * ran, "{counts:?}");
}

#[test]
fn batches_that_are_too_large_become_two() {
    let faults = Faults { errors: 30, breaks: 200, max_message_bytes: 260, ..NO_FAULTS };
    let Some((counts, ran)) = runs("produce: splits", 15, 7, faults) else { return };
    // Of 200 starts the poorest had 19 in a run.
    assert!(counts.splits > 10 * ran, "{counts:?}");
}

#[test]
fn what_is_given_up_leaves_no_gap_and_no_double() {
    let faults = Faults {
        errors: 8,
        breaks: 80,
        moves: 80,
        delivery_timeout_ms: 600,
        fatal: 15,
        max_message_bytes: 300,
    };
    let Some((counts, ran)) = runs("produce: given up", 20, 7, faults) else { return };
    // Of 60 starts the poorest had 9 in a run.
    assert!(counts.epoch_bumps > 2 * ran, "{counts:?}");
}
