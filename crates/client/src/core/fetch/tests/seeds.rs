//! Everything that can happen, in orders that nobody thought of.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use thalweg_records::Compression;
use thalweg_records::builder::BatchOptions;
use thalweg_wire::Writer;

use super::super::*;
use super::cluster::*;
use crate::core::partition::Position;
use thalweg_random::Random;

/// Requests that are answered already, with answers that are still on their way.
#[derive(Default)]
pub(super) struct Flights(pub(super) Vec<Flight>, BTreeSet<i32>);

pub(super) struct Flight {
    broker: i32,
    is_sessionless: bool,
    body: Bytes,
    _room: Planned,
}

impl Flights {
    /// Asks every broker that owes no answer.
    pub(super) fn send(&mut self, fetcher: &mut Fetcher, cluster: &mut Cluster, now: u64) {
        fetcher.settle(now);
        fetcher.wake_all();
        for broker in fetcher.take_brokers_to_wake() {
            if self.0.iter().any(|flight| flight.broker == broker && !flight.is_sessionless) {
                continue;
            }
            let mut frame = Writer::new();
            let planned = fetcher.plan(broker, now, VERSION, "test", &mut frame).unwrap();
            let Some(planned) = planned else { continue };
            let body = cluster.answer(broker, &frame.to_vec());
            self.0.push(Flight { broker, is_sessionless: false, body, _room: planned });
        }
    }

    /// Asks brokers that owe an answer, where that is said to be of use; elsewhere it is not.
    pub(super) fn send_sessionless(
        &mut self,
        fetcher: &mut Fetcher,
        cluster: &mut Cluster,
        now: u64,
    ) {
        fetcher.settle(now);
        self.1.extend(fetcher.take_late());
        for broker in [1, 2] {
            let is_late = self.1.remove(&broker);
            let mut frame = Writer::new();
            let planned =
                fetcher.plan_sessionless(broker, now, VERSION, "test", &mut frame).unwrap();
            let Some(planned) = planned else { continue };
            assert!(is_late, "nobody was told that broker {broker} is to be asked");
            let body = cluster.answer(broker, &frame.to_vec());
            self.0.push(Flight { broker, is_sessionless: true, body, _room: planned });
        }
    }

    /// One of the answers arrives, or its connection breaks.
    pub(super) fn land(&mut self, fetcher: &mut Fetcher, now: u64, which: usize, lost: bool) {
        if self.0.is_empty() {
            return;
        }
        let flight = match which {
            which if which < self.0.len() => self.0.swap_remove(which),
            _ => return,
        };
        let body = fetcher.budget().share(flight.body.to_vec());
        if !flight.is_sessionless {
            // Whoever was told has no request any more that is held back, and forgets it.
            self.1.extend(fetcher.take_late());
            self.1.remove(&flight.broker);
        }
        match (flight.is_sessionless, lost) {
            (false, true) => fetcher.disconnected(flight.broker, now),
            (true, true) => fetcher.sessionless_failed(flight.broker),
            (false, false) => {
                fetcher.accept(flight.broker, &body, VERSION, now).unwrap();
            }
            (true, false) => {
                fetcher.accept_sessionless(flight.broker, &body, VERSION, now).unwrap();
            }
        }
    }
}

/// As a consumer polls: from what was lent, or else with a look at the rest.
pub(super) fn poll(fetcher: &mut Fetcher, loan: &mut Loan, max: usize) -> Records {
    if let Some(records) = loan.take(max) {
        return records;
    }
    fetcher.recall();
    let mut records = Records::default();
    fetcher.take(max, &mut records).unwrap();
    fetcher.lend(loan, max);
    records
}

/// Pauses, resumes, seeks in the buffer, takes, appends and moves of leaders in every order.
fn run_seed(seed: u64) -> FetchCounts {
    let mut rng = Random::new(seed);
    let partitions = 1 + rng.below(6);
    let mut cluster = Cluster::with(partitions, 2);
    let budget_bytes = 8 << 10;
    let settings = FetchSettings { partition_max_bytes: 600, ..FetchSettings::default() };
    let mut fetcher = fetcher(settings, budget_bytes);
    for index in 0..partitions {
        fetcher.add(tp(index), Some(Position::at(0)));
    }
    fetcher.update_leaders(&cluster.metadata());
    let mut next = vec![0i64; partitions as usize];
    let mut seen: Vec<i64> = next.clone();
    let mut paused = vec![false; partitions as usize];
    let mut pinned: Vec<Records> = Vec::new();
    let mut batch_max = 0;
    let mut now = 0;
    let mut flights = Flights::default();
    let mut loan = fetcher.loan();
    for _ in 0..120 {
        let index = rng.below(partitions as u64) as i32;
        let at = index as usize;
        let event = rng.below(13);
        if event < 11 {
            fetcher.recall();
            let position = fetcher.position(&tp(index)).unwrap();
            assert_eq!(position.offset, next[at], "seed {seed}: partition {at}");
        }
        match event {
            0 | 1 => {
                let log = cluster.logs.get_mut(&index).unwrap();
                let count = 1 + rng.below(5);
                let value = "v".repeat(rng.below(120) as usize);
                let codec = if rng.below(2) == 0 { Compression::None } else { Compression::Lz4 };
                log.append(&vec![&*value; count as usize], BatchOptions::default(), codec);
                batch_max = batch_max.max(count as usize * (value.len() + 20) + 80);
            }
            2 => {
                fetcher.pause(&tp(index));
                paused[at] = true;
            }
            3 | 4 => {
                fetcher.resume(&tp(index));
                paused[at] = false;
            }
            5 => {
                // Forward within what was appended and fetched: nothing is fetched twice for it.
                let to = next[at] + rng.below(3) as i64;
                let fetched = fetcher.cursor(&tp(index)).unwrap().fetch_at.offset;
                // What is on its way for the end of the buffer is of no use beyond it.
                if to <= if flights.0.is_empty() { cluster.logs[&index].end } else { fetched } {
                    fetcher.seek(&tp(index), Position::at(to));
                    next[at] = to;
                }
            }
            6 if rng.below(4) == 0 => {
                let log = cluster.logs.get_mut(&index).unwrap();
                log.leader = 3 - log.leader;
                log.epoch += 1;
            }
            7 => {
                pinned.clear();
            }
            8 => flights.send(&mut fetcher, &mut cluster, now),
            10 => flights.send_sessionless(&mut fetcher, &mut cluster, now),
            9 => {
                let lost = rng.below(10) == 0;
                flights.land(&mut fetcher, now, rng.below(2) as usize, lost);
            }
            _ => {
                let most = if rng.below(2) == 0 { 1 } else { 7 };
                let max = 1 + rng.below(most) as usize;
                let records = poll(&mut fetcher, &mut loan, max);
                assert!(records.len() <= max);
                for record in &records {
                    let at = record.partition() as usize;
                    assert!(!paused[at], "seed {seed}: a record of a paused partition");
                    assert_eq!(record.offset(), next[at], "seed {seed}: partition {at}");
                    next[at] = record.offset() + 1;
                    seen[at] = seen[at].max(next[at]);
                }
                if rng.below(4) == 0 && pinned.len() < 4 {
                    pinned.push(records);
                }
            }
        }
        now += rng.below(120);
    }
    fetcher.recall();
    while !flights.0.is_empty() {
        flights.land(&mut fetcher, now, 0, false);
    }
    // In the end everything that is left comes, with everything resumed.
    for index in 0..partitions {
        fetcher.resume(&tp(index));
    }
    pinned.clear();
    for _ in 0..400 {
        if cluster.logs.iter().all(|(index, log)| next[*index as usize] == log.end) {
            break;
        }
        now += 200;
        pump(&mut fetcher, &mut cluster, now);
        for record in take(&mut fetcher, 50) {
            assert_eq!(record.1, next[record.0 as usize], "seed {seed}");
            next[record.0 as usize] += 1;
        }
    }
    for (index, log) in &cluster.logs {
        assert_eq!(next[*index as usize], log.end, "seed {seed}: partition {index}");
    }
    // Nothing was fetched twice.
    let counts = fetcher.counts();
    let there: u64 = cluster.logs.values().flat_map(|l| &l.batches).map(|b| b.len() as u64).sum();
    assert!(
        counts.batch_bytes + counts.discarded_bytes <= there,
        "seed {seed}: {there} bytes of batches, fetched {counts:?}"
    );
    let peak = fetcher.budget().peak();
    let bound = budget_bytes + 2 * batch_max.max(700) + 1024;
    assert!(peak <= bound, "seed {seed}: peak {peak} of {bound}");
    counts
}

#[test]
fn any_order_of_events_keeps_the_promises() {
    let mut sessionless = 0;
    let ran =
        crate::core::seeds::run("fetch", 300, 40, |seed| sessionless += run_seed(seed).sessionless);
    assert!(
        ran.is_none_or(|ran| sessionless > ran / 3),
        "{sessionless} requests without a session"
    );
}

/// Notes that it was woken.
#[derive(Default)]
struct Woken(std::sync::atomic::AtomicBool);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }
}

/// Takes of single partitions, in every order; the first of them is hardly ever read, and a few
/// of its records are held all the time.
fn run_seed_apart(seed: u64) {
    let mut rng = Random::new(seed);
    let partitions = 2 + rng.below(8) as usize;
    let mut cluster = Cluster::with(partitions as i32, 2);
    let settings = FetchSettings { partition_max_bytes: 700, ..FetchSettings::default() };
    let mut fetcher = fetcher(settings, 8 << 10);
    fetcher.set_reading(ReadMode::Partitions);
    for index in 0..partitions {
        fetcher.add(tp(index as i32), Some(Position::at(0)));
    }
    fetcher.update_leaders(&cluster.metadata());
    let woken: Vec<Arc<Woken>> = (0..partitions).map(|_| Arc::default()).collect();
    let wakers: Vec<Waker> = woken.iter().map(|woken| Waker::from(Arc::clone(woken))).collect();
    let mut waits = vec![false; partitions];
    let mut paused = vec![false; partitions];
    let mut next = vec![0i64; partitions];
    let mut held = VecDeque::new();
    let mut take_from = |fetcher: &mut Fetcher, at: usize, next: &mut [i64], max: usize| {
        let taken = fetcher.take_from(&tp(at as i32), max, &wakers[at]).unwrap();
        let Some(mut chunk) = taken else { return 0 };
        let count = chunk.count;
        assert!(count <= max, "seed {seed}");
        while let Some((record, behind)) = chunk.next() {
            assert_eq!(record.offset(), next[at], "seed {seed}: partition {at}");
            assert_eq!(record.partition(), at as i32);
            next[at] = behind.offset;
            if at == 0 {
                held.push_back(record);
                held.truncate(3);
            }
        }
        count
    };
    let mut flights = Flights::default();
    let mut now = 0;
    for _ in 0..150 {
        let at = rng.below(partitions as u64) as usize;
        match rng.below(10) {
            0 | 1 => {
                let log = cluster.logs.get_mut(&(at as i32)).unwrap();
                let value = "v".repeat(rng.below(100) as usize);
                let values = vec![&*value; 1 + rng.below(4) as usize];
                let codec = if rng.below(2) == 0 { Compression::None } else { Compression::Lz4 };
                log.append(&values, BatchOptions::default(), codec);
            }
            2 => paused[at] = fetcher.pause(&tp(at as i32)),
            3 => paused[at] = !fetcher.resume(&tp(at as i32)),
            4 | 5 => flights.send(&mut fetcher, &mut cluster, now),
            6 => flights.land(&mut fetcher, now, rng.below(2) as usize, rng.below(20) == 0),
            _ if at == 0 && rng.below(6) > 0 => {}
            _ => {
                let taken = take_from(&mut fetcher, at, &mut next, 1 + rng.below(4) as usize);
                assert!(taken == 0 || !paused[at], "seed {seed}: a record of a paused partition");
                waits[at] = taken == 0;
                if taken == 0 {
                    woken[at].0.store(false, std::sync::atomic::Ordering::SeqCst);
                }
            }
        }
        now += rng.below(100);
        fetcher.take_wakers().into_iter().for_each(Waker::wake);
        for at in (0..partitions).filter(|at| waits[*at]) {
            let cursor = fetcher.cursor(&tp(at as i32)).unwrap();
            let has_some = cursor.is_deliverable() && !cursor.buffer.is_empty();
            let is_woken = woken[at].0.load(std::sync::atomic::Ordering::SeqCst);
            assert!(!has_some || is_woken, "seed {seed}: nobody reads partition {at}");
        }
    }
    while !flights.0.is_empty() {
        flights.land(&mut fetcher, now, 0, false);
    }
    for index in 0..partitions {
        fetcher.resume(&tp(index as i32));
    }
    // All others come to their ends while nobody reads the first, then the first does.
    for range in [1..partitions, 0..partitions] {
        for _ in 0..100 {
            now += 200;
            pump(&mut fetcher, &mut cluster, now);
            for at in range.clone() {
                while take_from(&mut fetcher, at, &mut next, 3) > 0 {}
            }
        }
        for at in range {
            let end = cluster.logs[&(at as i32)].end;
            assert_eq!(next[at], end, "seed {seed}: partition {at}");
        }
    }
    let counts = fetcher.counts();
    let there: u64 = cluster.logs.values().flat_map(|l| &l.batches).map(|b| b.len() as u64).sum();
    assert!(counts.batch_bytes <= there, "seed {seed}: {there} bytes, fetched {counts:?}");
    assert_eq!(fetcher.ready.len() + fetcher.failed.len(), 0, "seed {seed}: queues nobody reads");
}

#[test]
fn partitions_are_read_apart_in_any_order_of_events() {
    for seed in 0..300 {
        run_seed_apart(seed);
    }
}
