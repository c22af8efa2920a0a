//! The shell with a state machine that adds up numbers, and has bugs where the tests want them.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use thalweg_coordinator::{
    CoordinatorRecord, Job, KeyValue, Now, Outcome, Position, Reply, RunnerState, Token,
};
use thalweg_log::{AppendWaiter, Disk, DiskOp, FaultHook, Injected, LogConfig};
use thalweg_metadata::testing::led_by_1;
use thalweg_records::batch::Compression;
use thalweg_wire::ErrorCode;

use super::*;
use crate::replicas::partition::testing::PartitionOnDisk;
use crate::replicas::partition::{OwnAppend, Partition, SubmittedOwn};
use crate::testing::until;

/// What stands for a bug in the state machine.
const PANICS_WHEN_HANDLED: i64 = -1;
const PANICS_WHEN_REPLAYED: i64 = -2;
const PANICS_WHEN_ENCODED: i64 = -3;
const PANICS_WHEN_COMPUTED: i64 = -5;
const PANICS_TWICE_WHEN_COMPUTED: i64 = -6;
/// Not as many as a broker has by default.
const JOBS: usize = 3;
/// A type of record that is not known.
const UNKNOWN: i64 = -4;

/// Adds up numbers.
#[derive(Default)]
struct Adder {
    sum: i64,
    undo: Vec<(i64, i64)>,
    parked: Vec<Token>,
    closed_badly: bool,
    /// Who waits for a number to be squared.
    squares: VecDeque<Token>,
    /// The last it heard of the world.
    heard: i64,
}

#[derive(Clone)]
enum Ask {
    /// Answered when the sum is asked for.
    Park,
    Sum,
    Add(Vec<i64>),
    /// Each number is right by itself.
    AddEach(Vec<i64>),
    /// The next close panics, and this.
    PanicTwice,
    /// Squared elsewhere.
    Square(Square),
    /// What it heard last.
    Heard,
}

/// Squares a number, when the gate is open.
#[derive(Clone)]
struct Square {
    number: i64,
    gate: Arc<Gate>,
}

impl Square {
    fn new(number: i64) -> Square {
        Square { number, gate: Gate::opened() }
    }
}

impl Job for Square {
    type Done = Option<i64>;

    fn run(&self) -> Option<i64> {
        self.gate.pass();
        assert!(self.number >= 0, "a bug in a job");
        Some(self.number * self.number)
    }

    fn failed(&self) -> Option<i64> {
        assert_ne!(self.number, PANICS_TWICE_WHEN_COMPUTED, "a bug in what follows");
        None
    }
}

/// Threads wait here until it is open, but not for ever.
#[derive(Default)]
struct Gate {
    /// How many have come, and whether it is open.
    state: Mutex<(u32, bool)>,
    changed: parking_lot::Condvar,
}

impl Gate {
    fn opened() -> Arc<Gate> {
        let gate = Arc::<Gate>::default();
        gate.open();
        gate
    }

    fn pass(&self) {
        let mut state = self.state.lock();
        state.0 += 1;
        self.changed.wait_while_for(&mut state, |(_, open)| !*open, Duration::from_secs(60));
    }

    fn open(&self) {
        self.state.lock().1 = true;
        self.changed.notify_all();
    }

    fn came(&self) -> u32 {
        self.state.lock().0
    }
}

struct Number(i64);

impl CoordinatorRecord for Number {
    type Error = &'static str;

    fn size(&self) -> usize {
        8
    }

    fn encode(&self) -> Result<KeyValue, Self::Error> {
        assert_ne!(self.0, PANICS_WHEN_ENCODED, "a bug in encode");
        let record_type = if self.0 == UNKNOWN { 77i16 } else { 1 };
        let key = Bytes::copy_from_slice(&record_type.to_be_bytes());
        Ok(KeyValue { key, value: Some(Bytes::copy_from_slice(&self.0.to_be_bytes())) })
    }

    fn decode(key: &[u8], value: Option<&[u8]>) -> Result<Option<Self>, Self::Error> {
        let number = value.and_then(|value| value.try_into().ok()).map(i64::from_be_bytes);
        let number = number.ok_or("eight bytes are expected")?;
        Ok((key == [0, 1]).then_some(Number(number)))
    }
}

type Answer = Result<i64, ErrorCode>;

impl Shard for Adder {
    type Request = Ask;
    type Response = Answer;
    type Record = Number;
    type TimerKey = ();
    type Then = ();
    type Event = i64;
    type Job = Square;
    type Effect = std::convert::Infallible;

    fn handle(&mut self, token: Token, ask: Ask, _: Now, out: &mut Outcome<Self>) -> Reply<Answer> {
        match ask {
            Ask::Sum => {
                let sum = self.sum;
                self.parked.drain(..).for_each(|token| out.complete(token, Ok(sum)));
                Reply::Now(Ok(sum))
            }
            Ask::Park => {
                self.parked.push(token);
                Reply::Deferred
            }
            Ask::Add(numbers) | Ask::AddEach(numbers) if numbers == [PANICS_WHEN_HANDLED] => {
                self.sum = 1_000_000;
                panic!("a bug in handle");
            }
            Ask::Add(numbers) => {
                out.records = numbers.into_iter().map(Number).collect();
                Reply::AfterCommit(Ok(0))
            }
            Ask::AddEach(numbers) => {
                out.records = numbers.into_iter().map(Number).collect();
                out.split();
                Reply::AfterCommit(Ok(0))
            }
            Ask::PanicTwice => {
                self.closed_badly = true;
                panic!("a bug in handle, and in what follows");
            }
            Ask::Square(square) => {
                self.squares.push_back(token);
                out.start(square);
                Reply::Deferred
            }
            Ask::Heard => Reply::Now(Ok(self.heard)),
        }
    }

    fn event(&mut self, event: i64, _: Now, _: &mut Outcome<Self>) {
        self.heard = event;
    }

    fn job_done(&mut self, done: Option<i64>, _: Now, out: &mut Outcome<Self>) {
        if let Some(token) = self.squares.pop_front() {
            // What a job found may be written.
            out.records.extend(done.map(Number));
            out.complete(token, done.ok_or(ErrorCode::UNKNOWN_SERVER_ERROR));
        }
    }

    fn timer_fired(&mut self, (): (), _: Now, _: &mut Outcome<Self>) {}

    fn replay(&mut self, at: Position, _: Now, record: &Number) {
        assert_ne!(record.0, PANICS_WHEN_REPLAYED, "a bug in replay");
        self.undo.push((at.offset, self.sum));
        self.sum += record.0;
    }

    fn replay_marker(&mut self, _: i64, _: i64, _: bool) {}

    fn resume(&mut self, (): (), _: Result<(), ErrorCode>, _: Now, _: &mut Outcome<Self>) {}

    fn loaded(&mut self, _: Now, _: &mut Outcome<Self>) {}

    fn unloaded(&mut self, error: ErrorCode, out: &mut Outcome<Self>) {
        assert!(!self.closed_badly, "a bug in unloaded");
        let waiting = self.parked.drain(..).chain(self.squares.drain(..));
        waiting.for_each(|token| out.complete(token, Err(error)));
    }

    fn commit(&mut self, _: i64, _: Now, _: &mut Outcome<Self>) {}

    fn revert(&mut self, offset: i64, _: ErrorCode, _: Now, _: &mut Outcome<Self>) {
        while let Some((_, before)) = self.undo.pop_if(|(at, _)| *at >= offset) {
            self.sum = before;
        }
    }

    fn refuse(_: &Ask, error: ErrorCode) -> Answer {
        Err(error)
    }

    fn fail(_: Answer, error: ErrorCode) -> Answer {
        Err(error)
    }
}

/// Called before every write to the partition's log, and every read of it.
type OnDisk = Box<dyn Fn(DiskOp) + Send + Sync>;

#[derive(Clone, Default)]
struct Hook(Arc<RwLock<Option<OnDisk>>>);

impl Hook {
    fn set(&self, act: impl Fn(DiskOp) + Send + Sync + 'static) {
        *self.0.write() = Some(Box::new(act));
    }

    fn clear(&self) {
        *self.0.write() = None;
    }
}

impl FaultHook for Hook {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        if path.to_string_lossy().ends_with(".log")
            && let Some(act) = &*self.0.read()
        {
            act(op);
        }
        Injected::Nothing
    }
}

/// A coordinator of one partition.
struct AdderCoordinator {
    hook: Hook,
    on_disk: PartitionOnDisk,
    coordinator: Arc<PartitionRunners<Adder>>,
    /// What is so in the world.
    world: Arc<AtomicU64>,
}

impl AdderCoordinator {
    fn new() -> AdderCoordinator {
        AdderCoordinator::with_partial_loads(false)
    }

    fn with_partial_loads(serves_partial_loads: bool) -> AdderCoordinator {
        let hook = Hook::default();
        // Batches of a few records.
        let log = LogConfig { max_message_bytes: 400, ..LogConfig::default() };
        let disk = Disk::with_hook(Arc::new(hook.clone()));
        let on_disk = PartitionOnDisk::with("c", 1, log, disk);
        on_disk.partition.lead_alone(0);
        let config = RuntimeConfig {
            runner: RunnerConfig::default(),
            compression: CompressionSpec::new(Compression::None),
            jobs: JOBS,
            serves_partial_loads,
        };
        let world = Arc::<AtomicU64>::default();
        let known = Arc::clone(&world);
        let initial = move || vec![known.load(Ordering::SeqCst) as i64];
        let coordinator = PartitionRunners::new(
            config,
            Clock::new(None),
            Adder::default,
            initial,
            |_, effect| match effect {},
        );
        AdderCoordinator { hook, on_disk, coordinator, world }
    }

    /// Something changed.
    fn change(&self, to: u64) {
        self.world.store(to, Ordering::SeqCst);
        self.coordinator.event(|| to as i64);
    }

    /// Has loads come to the disk and stay there until the gate is opened.
    fn stall_reads(&self) -> Arc<Gate> {
        let gate = Arc::<Gate>::default();
        let disk = Arc::clone(&gate);
        self.hook.set(move |op| {
            if op == DiskOp::Read {
                disk.pass();
            }
        });
        gate
    }

    fn elected(&self, epoch: i32) {
        self.on_disk.partition.lead_alone(epoch);
        self.coordinator.elected(Arc::clone(&self.on_disk.partition), epoch);
    }

    async fn ask(&self, ask: Ask) -> Answer {
        let answer = self.coordinator.submit(0, ask, None).wait();
        let answer = tokio::time::timeout(Duration::from_secs(30), answer).await;
        // The end of the channel is what a client is told as NOT_COORDINATOR.
        answer.expect("an answer").unwrap_or(Err(ErrorCode::NOT_COORDINATOR))
    }

    /// The sum, once the partition is loaded.
    async fn sum(&self) -> i64 {
        for _ in 0..3_000 {
            match self.ask(Ask::Sum).await {
                Ok(sum) => return sum,
                Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS | ErrorCode::NOT_COORDINATOR) => {
                    tokio::time::sleep(Duration::from_millis(10)).await
                }
                Err(error) => panic!("{error}"),
            }
        }
        panic!("the partition was not loaded");
    }
}

/// Takes down and loads again, whoever waits is answered, and nothing half changed stays.
async fn a_panic(asks: &[Ask], sum_after: i64) {
    let world = AdderCoordinator::new();
    world.elected(0);
    assert_eq!(world.ask(Ask::Add(vec![1, 2])).await, Ok(0));
    let parked = world.coordinator.submit(0, Ask::Park, None);
    for (n, ask) in asks.iter().enumerate() {
        assert_eq!(world.ask(ask.clone()).await, Err(ErrorCode::NOT_COORDINATOR));
        assert_eq!(world.coordinator.panics(), n as u64 + 1);
        assert_eq!(world.sum().await, sum_after);
    }
    let parked = tokio::time::timeout(Duration::from_secs(30), parked.wait()).await.unwrap();
    assert_eq!(parked.unwrap_or(Err(ErrorCode::NOT_COORDINATOR)), Err(ErrorCode::NOT_COORDINATOR));
    assert_eq!(world.ask(Ask::Add(vec![4])).await, Ok(0));
    assert_eq!(world.sum().await, sum_after + 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_a_handler_takes_the_partition_down_and_it_comes_back() {
    a_panic(&[Ask::Add(vec![PANICS_WHEN_HANDLED]), Ask::Add(vec![PANICS_WHEN_HANDLED])], 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_replay_leaves_nothing_of_its_operation() {
    a_panic(&[Ask::Add(vec![10, PANICS_WHEN_REPLAYED])], 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_between_the_runner_and_the_log_leaves_no_append_behind() {
    a_panic(&[Ask::Add(vec![10, PANICS_WHEN_ENCODED])], 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_while_a_panic_is_cleared_up_strands_nobody() {
    a_panic(&[Ask::PanicTwice], 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinator_that_disagrees_with_its_log_is_loaded_again() {
    let world = AdderCoordinator::new();
    world.elected(0);
    assert_eq!(world.ask(Ask::Add(vec![1])).await, Ok(0));
    // Somebody else writes to the log, which nobody may.
    let mut batch = BatchOfOne::new(20);
    let waiter: Arc<dyn AppendWaiter> =
        Arc::<crate::replicas::partition::AppendResultSlot>::default();
    let appended =
        world.on_disk.partition.submit_own(&mut batch.0, OwnAppend::Records, 0, 0, &waiter, 0);
    assert!(matches!(appended, SubmittedOwn::Done(Ok(1))));
    assert_eq!(world.ask(Ask::Add(vec![300])).await, Err(ErrorCode::NOT_COORDINATOR));
    // What was written is there, from whomever it came.
    assert_eq!(world.sum().await, 321);
    assert_eq!(world.ask(Ask::Add(vec![4_000])).await, Ok(0));
    assert_eq!(world.sum().await, 4_321);
    assert_eq!(world.coordinator.panics(), 0);
}

/// What is written is answered when other replicas have it, whoever sees to that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_waits_until_its_records_are_committed() {
    let world = AdderCoordinator::new();
    world.on_disk.partition.assign(&led_by_1(0, 1, &[1, 2], &[1, 2]));
    world.coordinator.elected(Arc::clone(&world.on_disk.partition), 0);
    until("the load", || {
        !matches!(
            world.coordinator.submit(0, Ask::Sum, None),
            Submitted::Now(Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS))
        )
    })
    .await;
    let first = world.coordinator.submit(0, Ask::Add(vec![1]), None);
    let second = world.coordinator.submit(0, Ask::Add(vec![2]), None);
    until("the records", || world.on_disk.partition.log.log_end_offset() == 2).await;
    assert_eq!(world.on_disk.partition.log.high_watermark(), 0);
    let Submitted::Later(mut first) = first else { panic!("it was answered at once") };
    assert!(first.try_recv().is_err());

    world.on_disk.partition.assign(&led_by_1(0, 2, &[1, 2], &[1]));
    let first = tokio::time::timeout(Duration::from_secs(30), first).await.unwrap();
    assert_eq!(first.unwrap(), Ok(0));
    let second = tokio::time::timeout(Duration::from_secs(30), second.wait()).await.unwrap();
    assert_eq!(second, Some(Ok(0)));
    assert_eq!(world.ask(Ask::Sum).await, Ok(3));
}

/// What is to be written together must fit one batch; if it does not as it is, it may when it is compressed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_is_too_long_is_compressed() {
    let world = AdderCoordinator::new();
    world.elected(0);
    assert_eq!(world.ask(Ask::Add(vec![7; 60])).await, Ok(0));
    assert_eq!(world.sum().await, 420);
    // Very many different ones are too many for any codec, and nothing of them stays.
    let too_many = (0..20_000).map(|n| n * 7_919).collect();
    assert_eq!(world.ask(Ask::Add(too_many)).await, Err(ErrorCode::MESSAGE_TOO_LARGE));
    assert_eq!(world.sum().await, 420);
    // What was compressed is read again.
    world.coordinator.resigned(0, None);
    world.elected(1);
    assert_eq!(world.sum().await, 420);
}

/// A batch with one number.
struct BatchOfOne(Vec<u8>);

impl BatchOfOne {
    fn new(number: i64) -> BatchOfOne {
        let record = Number(number).encode().unwrap();
        BatchOfOne::of(&record.key, record.value.as_deref())
    }

    /// Of a record whose value nobody can read.
    fn unreadable() -> BatchOfOne {
        BatchOfOne::of(&[0, 1], Some(b"no number"))
    }

    fn of(key: &[u8], value: Option<&[u8]>) -> BatchOfOne {
        use thalweg_records::builder::{BatchBuilder, BatchOptions};
        let mut builder = BatchBuilder::new(BatchOptions::default());
        builder.append(1, Some(key), value, &[]);
        let mut compressor = thalweg_records::codec::Compressor::new();
        BatchOfOne(builder.finish(&mut compressor).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_moves_away_while_it_loads_is_not_waited_for() {
    let world = AdderCoordinator::new();
    world.elected(0);
    for _ in 0..4 {
        assert_eq!(world.ask(Ask::Add(vec![1; 4])).await, Ok(0));
    }
    world.coordinator.resigned(0, None);
    let gate = world.stall_reads();
    world.elected(1);
    until("a read", || gate.came() > 0).await;
    assert_eq!(world.ask(Ask::Sum).await, Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
    let loading = world.coordinator.shards.read().get(&0).cloned().unwrap();
    // No lock is held that this needs.
    world.coordinator.resigned(0, Some(2));
    assert_eq!(world.ask(Ask::Sum).await, Err(ErrorCode::NOT_COORDINATOR));
    gate.open();
    // The load lets go of what it was for, and did not bring it back.
    until("the end of the load", || Arc::strong_count(&loading) == 1).await;
    assert_eq!(loading.state.lock().runner.state(), RunnerState::Closed);
    assert_eq!(loading.state.lock().runner.shard().sum, 0);
    assert_eq!(world.ask(Ask::Sum).await, Err(ErrorCode::NOT_COORDINATOR));
    assert_eq!(world.coordinator.panics(), 0);
    world.hook.clear();
    world.elected(3);
    assert_eq!(world.sum().await, 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_load_ends_with_the_batch_at_hand_when_it_is_not_wanted_any_more() {
    let mut chunk = Vec::new();
    for number in 1..=5 {
        let mut batch = BatchOfOne::new(number).0;
        batch[..8].copy_from_slice(&(number - 1).to_be_bytes());
        chunk.extend(batch);
    }
    let mut runner = Runner::with_proofs(Adder::default(), RunnerConfig::default());
    let (mut scratch, mut plain) = (crate::node::workspace::validation(), Vec::new());
    let mut found = load::Found::default();
    let looks = AtomicU64::new(0);
    let gone = || looks.fetch_add(1, Ordering::Relaxed) == 2;
    let now = Clock::new(None).now();
    let next =
        load::replay_chunk(&mut runner, &chunk, 0, &mut scratch, &mut plain, now, &mut found, gone);
    assert_eq!(next, Ok(None));
    assert_eq!((runner.shard().sum, found.records), (3, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_loaded_has_no_coordinator() {
    let world = AdderCoordinator::new();
    world.elected(0);
    let mut batch = BatchOfOne::new(PANICS_WHEN_REPLAYED);
    let waiter: Arc<dyn AppendWaiter> =
        Arc::<crate::replicas::partition::AppendResultSlot>::default();
    let appended =
        world.on_disk.partition.submit_own(&mut batch.0, OwnAppend::Records, 0, 0, &waiter, 0);
    assert!(matches!(appended, SubmittedOwn::Done(Ok(0))));
    world.elected(1);
    world.coordinator.resigned(0, None);
    world.elected(2);
    until("the end of the load", || world.coordinator.panics() == 1).await;
    for _ in 0..3_000 {
        if world.ask(Ask::Sum).await != Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(world.ask(Ask::Sum).await, Err(ErrorCode::NOT_COORDINATOR));
}

/// As Kafka's two coordinators differ in it: that of groups refuses, that of transactions serves what it has read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_before_a_record_that_cannot_be_read_is_served_if_it_may_be() {
    for serves_partial_loads in [false, true] {
        let world = AdderCoordinator::with_partial_loads(serves_partial_loads);
        world.elected(0);
        assert_eq!(world.ask(Ask::Add(vec![1, 2])).await, Ok(0));
        let waiter: Arc<dyn AppendWaiter> =
            Arc::<crate::replicas::partition::AppendResultSlot>::default();
        for mut batch in [BatchOfOne::unreadable(), BatchOfOne::new(100)] {
            let own = OwnAppend::Records;
            let appended = world.on_disk.partition.submit_own(&mut batch.0, own, 0, 0, &waiter, 0);
            assert!(matches!(appended, SubmittedOwn::Done(Ok(_))));
        }
        world.coordinator.resigned(0, None);
        world.elected(1);
        let unloaded = Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        let answer = loop {
            let answer = world.ask(Ask::Sum).await;
            if answer != unloaded {
                break answer;
            }
            tokio::task::yield_now().await;
        };
        if !serves_partial_loads {
            assert_eq!(answer, Err(ErrorCode::NOT_COORDINATOR));
            continue;
        }
        assert_eq!(answer, Ok(3));
        // It goes on behind all that is in the log.
        assert_eq!(world.ask(Ask::Add(vec![10])).await, Ok(0));
        assert_eq!(world.sum().await, 13);
        assert_eq!(world.on_disk.partition.log.log_end_offset(), 5);
        assert_eq!(world.coordinator.panics(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_an_append_in_parts_the_written_ones_stand() {
    let world = AdderCoordinator::new();
    world.elected(0);
    assert_eq!(world.ask(Ask::Add(vec![1_000])).await, Ok(0));
    // After the first batch this broker leads no more, as when its directory fails.
    let led: Arc<OnceLock<Arc<Partition>>> = Arc::default();
    led.set(Arc::clone(&world.on_disk.partition)).ok();
    world.hook.set(move |op| {
        if op == DiskOp::Write
            && let Some(partition) = led.get()
        {
            partition.go_offline();
        }
    });
    let failed = world.ask(Ask::AddEach(vec![1; 20])).await;
    assert_eq!(failed, Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));
    world.hook.clear();
    let written = world.on_disk.partition.log.log_end_offset() - 1;
    assert!((1..20).contains(&written), "{written} records in the first batch");
    assert_eq!(world.sum().await, 1_000 + written);
    // It goes on from there, without being loaded again.
    world.on_disk.partition.go_online();
    assert_eq!(world.ask(Ask::Add(vec![5_000])).await, Ok(0));
    assert_eq!(world.sum().await, 6_000 + written);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_types_are_counted_and_left_alone() {
    let world = AdderCoordinator::new();
    let mut chunk = Vec::new();
    for number in [UNKNOWN, 5, UNKNOWN] {
        chunk.extend(BatchOfOne::new(number).0);
    }
    let mut runner = Runner::with_proofs(Adder::default(), RunnerConfig::default());
    let (mut scratch, mut plain) = (crate::node::workspace::validation(), Vec::new());
    let mut found = load::Found::default();
    let now = Clock::new(None).now();
    let next = load::replay_chunk(
        &mut runner,
        &chunk,
        0,
        &mut scratch,
        &mut plain,
        now,
        &mut found,
        || false,
    );
    assert_eq!(next, Ok(Some(1)));
    assert_eq!((found.records, found.unknown), (1, [(77, 2)].into()));
    drop(world);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_job_found_reaches_its_shard_and_holds_nobody_up() {
    let world = AdderCoordinator::new();
    world.elected(0);
    assert_eq!(world.ask(Ask::Square(Square::new(3))).await, Ok(9));
    // It was written.
    assert_eq!(world.sum().await, 9);

    // More than there are threads for them, or workers.
    let gate = Arc::<Gate>::default();
    let waiting: Vec<_> = (0..5)
        .map(|number| {
            let square = Square { number, gate: Arc::clone(&gate) };
            world.coordinator.submit(0, Ask::Square(square), None)
        })
        .collect();
    until("the jobs", || gate.came() == JOBS as u32).await;
    // Neither the lock nor a worker is taken meanwhile.
    assert_eq!(world.ask(Ask::Add(vec![100])).await, Ok(0));
    assert_eq!(world.sum().await, 109);
    assert_eq!(gate.came(), JOBS as u32);
    gate.open();
    let mut squares = Vec::new();
    for one in waiting {
        let answer = tokio::time::timeout(Duration::from_secs(30), one.wait()).await.unwrap();
        squares.push(answer.unwrap().unwrap());
    }
    squares.sort_unstable();
    assert_eq!(squares, [0, 1, 4, 9, 16]);
    assert_eq!(world.sum().await, 139);
    assert_eq!(world.coordinator.panics(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_of_a_partition_that_moved_away_is_dropped() {
    let world = AdderCoordinator::new();
    world.elected(0);
    let gate = Arc::<Gate>::default();
    let square = Square { number: 7, gate: Arc::clone(&gate) };
    let waiting: Vec<_> = (0..=JOBS)
        .map(|_| world.coordinator.submit(0, Ask::Square(square.clone()), None))
        .collect();
    until("the jobs", || gate.came() == JOBS as u32).await;
    let old = world.coordinator.shards.read().get(&0).cloned().unwrap();
    world.coordinator.resigned(0, None);
    for one in waiting {
        let answer = tokio::time::timeout(Duration::from_secs(30), one.wait()).await.unwrap();
        assert_eq!(answer, Some(Err(ErrorCode::NOT_COORDINATOR)));
    }
    // Another runner of the same partition, which asked for nothing.
    world.elected(1);
    assert_eq!(world.sum().await, 0);
    gate.open();
    until("the end of the jobs", || Arc::strong_count(&old) == 1).await;
    assert_eq!(world.ask(Ask::Square(Square::new(2))).await, Ok(4));
    assert_eq!(world.sum().await, 4);
    // One had not begun, and never did.
    assert_eq!(gate.came(), JOBS as u32);
    assert_eq!(old.state.lock().runner.shard().sum, 0);
    assert_eq!(world.coordinator.panics(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_panics_is_reported_as_failed() {
    let world = AdderCoordinator::new();
    world.elected(0);
    let failed = world.ask(Ask::Square(Square::new(PANICS_WHEN_COMPUTED))).await;
    assert_eq!(failed, Err(ErrorCode::UNKNOWN_SERVER_ERROR));
    assert_eq!(world.coordinator.panics(), 1);
    // The partition has lived on.
    assert_eq!(world.ask(Ask::Sum).await, Ok(0));

    // One that cannot even be reported takes the partition down, so that nobody waits for it.
    let failed = world.ask(Ask::Square(Square::new(PANICS_TWICE_WHEN_COMPUTED))).await;
    assert_eq!(failed, Err(ErrorCode::NOT_COORDINATOR));
    assert_eq!(world.coordinator.panics(), 3);
    assert_eq!(world.sum().await, 0);
    assert_eq!(world.ask(Ask::Square(Square::new(2))).await, Ok(4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_reaches_a_partition_that_is_loading() {
    let world = AdderCoordinator::new();
    world.elected(0);
    assert_eq!(world.ask(Ask::Heard).await, Ok(0));
    world.change(1);
    assert_eq!(world.ask(Ask::Heard).await, Ok(1));
    assert_eq!(world.ask(Ask::Add(vec![1; 4])).await, Ok(0));
    world.coordinator.resigned(0, None);
    // Nobody is there to hear this one.
    world.change(2);
    let gate = world.stall_reads();
    world.elected(1);
    until("a read", || gate.came() > 0).await;
    world.change(3);
    assert_eq!(world.ask(Ask::Heard).await, Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
    gate.open();
    assert_eq!(world.sum().await, 4);
    assert_eq!(world.ask(Ask::Heard).await, Ok(3));
    world.hook.clear();
    world.change(4);
    assert_eq!(world.ask(Ask::Heard).await, Ok(4));
}
