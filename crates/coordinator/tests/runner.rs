//! The runner, with a shard that adds numbers: what is answered when, what is taken back.

#[path = "runner/transactions.rs"]
mod transactions;

use bytes::Bytes;
use thalweg_coordinator::{
    CoordinatorRecord, Job, KeyValue, MemoryRunner, Now, OutOfSync, Outcome, Position, Reply,
    Runner, RunnerConfig, RunnerState, Shard, Token, UndoLog, append_error,
};
use thalweg_wire::ErrorCode;

/// Adds up numbers; parks requests until the sum is high enough.
#[derive(Default)]
struct Adder {
    sum: i64,
    undo: UndoLog<(), i64>,
    parked: Vec<(i64, Token)>,
    resumed: Vec<Result<(), ErrorCode>>,
}

#[derive(Clone, Debug)]
enum Ask {
    Add(Vec<i64>),
    AddThen(i64),
    Sum,
    StableSum,
    /// Answered when the sum has reached this.
    Reach(i64),
    RemindIn(u64),
    RemindAtLatestIn(u64),
    AddSquare(i64),
    /// Has it told outside.
    AddAndTell(i64),
    /// Each by itself.
    AddAndTellEach(Vec<i64>),
}

#[derive(Debug, PartialEq, Clone)]
struct Number(i64);

impl CoordinatorRecord for Number {
    type Error = std::num::ParseIntError;

    fn size(&self) -> usize {
        // As if it held what it stands for.
        usize::try_from(self.0).unwrap_or(0)
    }

    fn encode(&self) -> Result<KeyValue, Self::Error> {
        Ok(KeyValue { key: Bytes::new(), value: Some(self.0.to_string().into()) })
    }

    fn decode(_: &[u8], value: Option<&[u8]>) -> Result<Option<Self>, Self::Error> {
        let text = String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
        text.parse().map(|number| Some(Number(number)))
    }
}

impl Adder {
    fn let_go(&mut self, out: &mut Outcome<Self>) {
        let sum = self.sum;
        self.parked.retain(|(at, token)| {
            let reached = sum >= *at;
            if reached {
                out.complete(*token, Ok(sum));
            }
            !reached
        });
    }
}

impl Shard for Adder {
    type Request = Ask;
    type Response = Result<i64, ErrorCode>;
    type Record = Number;
    type TimerKey = &'static str;
    type Then = i64;
    type Event = i64;
    type Job = Square;
    type Effect = i64;

    fn handle(
        &mut self,
        token: Token,
        request: Ask,
        _: Now,
        out: &mut Outcome<Self>,
    ) -> Reply<Self::Response> {
        match request {
            Ask::Add(numbers) => {
                let sum = self.sum + numbers.iter().sum::<i64>();
                out.records = numbers.into_iter().map(Number).collect();
                Reply::AfterCommit(Ok(sum))
            }
            Ask::AddThen(number) => {
                out.record(Number(number));
                out.then = Some(number);
                Reply::AfterCommit(Ok(number))
            }
            Ask::Sum => Reply::Now(Ok(self.undo.committed(&()).copied().unwrap_or(self.sum))),
            Ask::StableSum => Reply::AfterCommit(Ok(self.sum)),
            Ask::Reach(sum) => {
                self.parked.push((sum, token));
                self.let_go(out);
                Reply::Deferred
            }
            Ask::RemindIn(ms) => {
                out.schedule("remind", ms);
                Reply::Now(Ok(0))
            }
            Ask::RemindAtLatestIn(ms) => {
                out.schedule_if_absent("remind", ms);
                Reply::Now(Ok(0))
            }
            Ask::AddAndTell(number) => {
                out.record(Number(number));
                out.effect(number);
                Reply::AfterCommit(Ok(number))
            }
            Ask::AddAndTellEach(numbers) => {
                out.split();
                for number in numbers {
                    out.record(Number(number));
                    out.effect(number);
                }
                Reply::AfterCommit(Ok(0))
            }
            Ask::AddSquare(number) => {
                out.record(Number(number));
                out.start(Square(number));
                Reply::AfterCommit(Ok(number))
            }
        }
    }

    fn event(&mut self, number: i64, _: Now, out: &mut Outcome<Self>) {
        out.record(Number(number));
    }

    fn job_done(&mut self, square: i64, _: Now, out: &mut Outcome<Self>) {
        out.record(Number(square));
    }

    fn timer_fired(&mut self, _: &'static str, _: Now, out: &mut Outcome<Self>) {
        out.record(Number(1000));
    }

    fn replay(&mut self, at: Position, _: Now, record: &Number) {
        self.undo.push(at.offset, (), self.sum);
        self.sum += record.0;
    }

    fn replay_marker(&mut self, _: i64, _: i64, _: bool) {}

    fn resume(&mut self, _: i64, result: Result<(), ErrorCode>, _: Now, out: &mut Outcome<Self>) {
        self.resumed.push(result);
        self.let_go(out);
    }

    fn loaded(&mut self, _: Now, _: &mut Outcome<Self>) {
        self.undo.start();
    }

    fn unloaded(&mut self, error: ErrorCode, out: &mut Outcome<Self>) {
        for (_, token) in self.parked.drain(..) {
            out.complete(token, Err(error));
        }
    }

    fn commit(&mut self, offset: i64, _: Now, _: &mut Outcome<Self>) {
        self.undo.forget_below(offset);
    }

    fn revert(&mut self, offset: i64, _: ErrorCode, _: Now, _: &mut Outcome<Self>) {
        while let Some(((), sum)) = self.undo.pop_from(offset) {
            self.sum = sum;
        }
    }

    fn refuse(_: &Ask, error: ErrorCode) -> Self::Response {
        Err(error)
    }

    fn fail(_: Self::Response, error: ErrorCode) -> Self::Response {
        Err(append_error(error))
    }
}

/// A computation that takes long.
#[derive(Debug)]
struct Square(i64);

impl Job for Square {
    type Done = i64;

    fn run(&self) -> i64 {
        self.0 * self.0
    }

    fn failed(&self) -> i64 {
        -1
    }
}

fn memory() -> MemoryRunner<Adder> {
    MemoryRunner::new(Adder::default(), Now { wall_ms: 5_000, monotonic_ms: 0 })
}

#[test]
fn answers_wait_for_the_commit_and_reads_do_not() {
    let mut memory = memory();
    memory.auto_commit = false;
    let add = memory.submit(Ask::Add(vec![1, 2]));
    let read = memory.submit(Ask::Sum);
    let stable = memory.submit(Ask::StableSum);
    let more = memory.submit(Ask::Add(vec![4]));
    // Nothing is committed: a plain read sees nothing of it, and the others wait.
    assert_eq!(memory.take_answers(), [(read, Ok(0))]);
    memory.commit(1);
    assert_eq!(memory.take_answers(), []);
    memory.commit(2);
    assert_eq!(memory.take_answers(), [(add, Ok(3)), (stable, Ok(3))]);
    // More than is written cannot be committed.
    memory.commit(100);
    assert_eq!(memory.take_answers(), [(more, Ok(7))]);
    assert_eq!(memory.log.len(), 3);
}

#[test]
fn a_failed_append_takes_back_what_was_built_on_it() {
    let mut memory = memory();
    memory.submit(Ask::Add(vec![1]));
    memory.take_answers();
    memory.auto_append = false;
    let doomed = memory.submit(Ask::AddThen(10));
    let upon_it = memory.submit(Ask::Add(vec![100]));
    let read = memory.submit(Ask::StableSum);
    assert_eq!(memory.runner.shard().sum, 111);
    memory.failures.push(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert!(memory.append_one());
    memory.settle();
    assert_eq!(memory.runner.shard().sum, 1);
    let refused = Err(ErrorCode::NOT_COORDINATOR);
    assert_eq!(memory.take_answers(), [(doomed, refused), (upon_it, refused), (read, refused)]);
    assert_eq!(memory.runner.shard().resumed, [Err(ErrorCode::NOT_LEADER_OR_FOLLOWER)]);
    assert!(!memory.append_one(), "what was built on it is not written either");
    // And on it goes, at the offset where it failed.
    memory.auto_append = true;
    let next = memory.submit(Ask::AddThen(5));
    assert_eq!(memory.take_answer(next), Some(Ok(5)));
    assert_eq!(memory.runner.shard().resumed.last(), Some(&Ok(())));
    assert_eq!((memory.runner.next_offset(), memory.log.len()), (2, 2));
}

#[test]
fn parked_requests_are_answered_when_what_frees_them_is_committed() {
    let mut memory = memory();
    memory.auto_commit = false;
    let reach = memory.submit(Ask::Reach(7));
    assert_eq!(memory.runner.parked(), 1);
    let add = memory.submit(Ask::AddThen(7));
    assert_eq!(memory.take_answers(), []);
    memory.commit(1);
    assert_eq!(memory.take_answers(), [(add, Ok(7)), (reach, Ok(7))]);
    assert_eq!(memory.runner.parked(), 0);
}

#[test]
fn answers_that_wait_too_long_are_given_up_and_the_write_stands() {
    let mut memory = memory();
    memory.auto_commit = false;
    let add = memory.submit(Ask::AddThen(7));
    memory.advance(4_999);
    assert_eq!(memory.take_answers(), []);
    memory.advance(1);
    assert_eq!(memory.take_answers(), [(add, Err(ErrorCode::COORDINATOR_NOT_AVAILABLE))]);
    assert_eq!(memory.runner.shard().resumed, [Err(ErrorCode::REQUEST_TIMED_OUT)]);
    assert_eq!(memory.runner.wake_at_ms(), None);
    memory.commit(1);
    assert_eq!(memory.take_answers(), []);
    let read = memory.submit(Ask::Sum);
    assert_eq!(memory.take_answer(read), Some(Ok(7)));
}

#[test]
fn what_is_to_be_done_outside_waits_for_its_records_for_as_long_as_it_takes() {
    let mut memory = memory();
    memory.auto_commit = false;
    memory.submit(Ask::AddAndTell(7));
    memory.submit(Ask::AddAndTell(8));
    memory.advance(5_000);
    assert_eq!(memory.take_answers().len(), 2, "they are given up");
    assert!(memory.effects.is_empty());
    memory.commit(1);
    assert_eq!(memory.effects, [7]);
    memory.commit(2);
    assert_eq!(memory.effects, [7, 8]);
    // What is asked after that still waits for its own.
    let add = memory.submit(Ask::AddThen(9));
    memory.commit(3);
    assert_eq!(memory.take_answers(), [(add, Ok(9))]);
}

#[test]
fn nothing_is_done_outside_for_records_that_failed_or_whose_log_moved_away() {
    let mut memory = memory();
    memory.failures.push(ErrorCode::NOT_ENOUGH_REPLICAS);
    memory.submit(Ask::AddAndTell(7));
    assert!(memory.effects.is_empty());
    memory.submit(Ask::AddAndTell(8));
    assert_eq!(memory.effects, [8]);
    memory.auto_commit = false;
    memory.submit(Ask::AddAndTell(9));
    memory.runner.close(ErrorCode::NOT_COORDINATOR);
    memory.commit(3);
    assert_eq!(memory.effects, [8]);
}

#[test]
fn a_log_that_has_stalled_collects_a_bounded_number_of_requests() {
    let mut memory = memory();
    memory.auto_commit = false;
    let mut asked = 0;
    loop {
        asked += 1;
        assert!(asked < 100_000, "nothing is refused");
        let token = memory.submit(Ask::Add(vec![1]));
        if memory.take_answer(token) == Some(Err(ErrorCode::COORDINATOR_NOT_AVAILABLE)) {
            break;
        }
    }
    // What was taken is given up in time, and stays bounded when clients come back.
    memory.advance(5_000);
    assert_eq!(memory.take_answers().len(), asked - 1);
    assert_eq!(memory.runner.wake_at_ms(), None);
    let token = memory.submit(Ask::Add(vec![1]));
    assert_eq!(memory.take_answer(token), Some(Err(ErrorCode::COORDINATOR_NOT_AVAILABLE)));
    // The log goes on: everything that was taken is there, once.
    memory.auto_commit = true;
    memory.settle();
    let token = memory.submit(Ask::Add(vec![1]));
    assert_eq!(memory.take_answer(token), Some(Ok(asked as i64)));
}

#[test]
fn nothing_is_handled_before_the_log_is_loaded_or_after_it_moved_away() {
    let now = Now::default();
    let mut runner = Runner::new(Adder::default(), RunnerConfig::default());
    let early = runner.submit(Ask::Sum, now);
    assert_eq!(runner.poll_answer(), Some((early, Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS))));
    runner.load_record(Position { offset: 0, producer_id: None }, now, &Number(3));
    runner.load_finished(1, 1, now);
    assert_eq!(runner.state(), RunnerState::Active);
    let parked = runner.submit(Ask::Reach(100), now);
    let waiting = runner.submit(Ask::Add(vec![1]), now);
    runner.submit(Ask::RemindIn(10), now);
    runner.poll_answer();
    runner.close(ErrorCode::NOT_COORDINATOR);
    let refused = Err(ErrorCode::NOT_COORDINATOR);
    assert_eq!(runner.poll_answer(), Some((waiting, refused)));
    assert_eq!(runner.poll_answer(), Some((parked, refused)));
    assert_eq!(runner.poll_append(), None);
    let late = runner.submit(Ask::Sum, now);
    assert_eq!(runner.poll_answer(), Some((late, refused)));
    assert_eq!(runner.wake_at_ms(), None);
    runner.advance(now.plus_ms(100));
    runner.high_watermark(10, now);
    runner.load_finished(5, 5, now);
    assert_eq!(runner.state(), RunnerState::Closed);
    assert_eq!(runner.poll_answer(), None);
}

#[test]
fn another_offset_than_expected_closes_it() {
    let now = Now::default();
    let mut runner = Runner::new(Adder::default(), RunnerConfig::default());
    runner.load_finished(10, 10, now);
    let add = runner.submit(Ask::Add(vec![1]), now);
    let append = runner.poll_append().expect("an append");
    assert_eq!((append.base_offset, append.is_atomic(), append.timestamp_ms), (10, true, 0));
    assert_eq!(runner.poll_append(), None);
    let out_of_sync = runner.appended(append.id, 11).expect_err("not where it should be");
    assert_eq!(out_of_sync, OutOfSync { expected: 10, actual: 11 });
    assert_eq!(runner.poll_answer(), Some((add, Err(ErrorCode::NOT_COORDINATOR))));
    assert_eq!(runner.state(), RunnerState::Closed);
    // Reports about appends from before are of no interest.
    assert_eq!(runner.appended(append.id, 10), Ok(()));
    runner.append_failed(append.id, ErrorCode::KAFKA_STORAGE_ERROR, now);
}

#[test]
fn while_one_append_is_out_others_queue_up_in_order() {
    let now = Now::default();
    let mut runner = Runner::new(Adder::default(), RunnerConfig::default());
    runner.load_finished(0, 0, now);
    let first = runner.submit(Ask::Add(vec![1, 2]), now);
    let out = runner.poll_append().expect("an append");
    let second = runner.submit(Ask::Add(vec![3]), now);
    assert_eq!(runner.poll_append(), None);
    // The high watermark cannot pass what is not known to be written.
    runner.high_watermark(5, now);
    assert_eq!(runner.poll_answer(), None);
    runner.appended(out.id, 0).expect("as expected");
    runner.high_watermark(2, now);
    assert_eq!(runner.poll_answer(), Some((first, Ok(3))));
    let out = runner.poll_append().expect("the other one");
    assert_eq!(out.base_offset, 2);
    // The log has it and then loses it: what was committed before stays.
    runner.append_failed(out.id, ErrorCode::NOT_ENOUGH_REPLICAS, now);
    let refused = Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
    assert_eq!(runner.poll_answer(), Some((second, refused)));
    assert_eq!(runner.shard().sum, 3);
}

#[test]
fn of_an_append_that_is_cut_the_written_part_stands() {
    let now = Now::default();
    let mut runner = Runner::new(Adder::default(), RunnerConfig::default());
    runner.load_finished(0, 0, now);
    let add = runner.submit(Ask::Add(vec![1, 2, 4]), now);
    let append = runner.poll_append().expect("an append");
    let upon_it = runner.submit(Ask::Add(vec![8]), now);
    let error = ErrorCode::KAFKA_STORAGE_ERROR;
    runner.appended_in_part(append.id, 0, 2, error, now).expect("as expected");
    let refused = Err(ErrorCode::NOT_COORDINATOR);
    assert_eq!(runner.poll_answer(), Some((add, refused)));
    assert_eq!(runner.poll_answer(), Some((upon_it, refused)));
    assert_eq!((runner.shard().sum, runner.next_offset()), (3, 2));
    assert_eq!(runner.poll_append(), None);
    runner.high_watermark(2, now);
    let read = runner.submit(Ask::Sum, now);
    assert_eq!(runner.poll_answer(), Some((read, Ok(3))));
}

#[test]
fn of_an_append_that_is_cut_only_the_written_part_is_done_outside() {
    let now = Now::default();
    let mut runner = Runner::new(Adder::default(), RunnerConfig::default());
    runner.load_finished(0, 0, now);
    runner.submit(Ask::AddAndTellEach(vec![1, 2, 4]), now);
    let append = runner.poll_append().expect("an append");
    let error = ErrorCode::KAFKA_STORAGE_ERROR;
    runner.appended_in_part(append.id, 0, 2, error, now).expect("as expected");
    assert_eq!(runner.poll_effect(), None);
    runner.high_watermark(1, now);
    assert_eq!((runner.poll_effect(), runner.poll_effect()), (Some(1), None));
    runner.high_watermark(2, now);
    assert_eq!((runner.poll_effect(), runner.poll_effect()), (Some(2), None));
}

#[test]
fn timers_fire_once_and_write() {
    let mut memory = memory();
    memory.submit(Ask::RemindIn(10));
    memory.advance(9);
    assert_eq!(memory.log.len(), 0);
    memory.submit(Ask::RemindIn(10));
    memory.advance(9);
    assert_eq!(memory.log.len(), 0, "set again, so later");
    memory.advance(1);
    assert_eq!((memory.log.len(), memory.runner.shard().sum), (1, 1000));
    memory.advance(1_000_000);
    assert_eq!(memory.log.len(), 1);
    memory.reload(Adder::default());
    assert_eq!(memory.runner.shard().sum, 1000);
}

#[test]
fn append_errors_become_what_clients_understand() {
    use ErrorCode as E;
    for (log, client) in [
        (E::NETWORK_EXCEPTION, E::COORDINATOR_LOAD_IN_PROGRESS),
        (E::UNKNOWN_TOPIC_OR_PARTITION, E::COORDINATOR_NOT_AVAILABLE),
        (E::NOT_ENOUGH_REPLICAS, E::COORDINATOR_NOT_AVAILABLE),
        (E::REQUEST_TIMED_OUT, E::COORDINATOR_NOT_AVAILABLE),
        (E::NOT_LEADER_OR_FOLLOWER, E::NOT_COORDINATOR),
        (E::KAFKA_STORAGE_ERROR, E::NOT_COORDINATOR),
        (E::MESSAGE_TOO_LARGE, E::UNKNOWN_SERVER_ERROR),
        (E::RECORD_LIST_TOO_LARGE, E::UNKNOWN_SERVER_ERROR),
        (E::INVALID_FETCH_SIZE, E::UNKNOWN_SERVER_ERROR),
        (E::COORDINATOR_LOAD_IN_PROGRESS, E::COORDINATOR_LOAD_IN_PROGRESS),
    ] {
        assert_eq!(append_error(log), client, "{log:?}");
    }
}

#[test]
fn requests_are_refused_while_too_much_memory_waits_to_be_written() {
    let mut memory = MemoryRunner::new(Adder::default(), Now { wall_ms: 0, monotonic_ms: 0 });
    memory.auto_append = false;
    for _ in 0..4 {
        memory.submit(Ask::Add(vec![1 << 20]));
    }
    assert_eq!(memory.runner.queued_bytes(), 4 << 20);
    assert!(memory.take_answers().is_empty());
    let refused = memory.submit(Ask::Add(vec![1]));
    assert_eq!(memory.take_answer(refused), Some(Err(ErrorCode::COORDINATOR_NOT_AVAILABLE)));
    assert_eq!(memory.runner.queued_appends(), 4);
    assert!(memory.append_one());
    assert_eq!(memory.runner.queued_bytes(), 3 << 20);
    memory.submit(Ask::Add(vec![1 << 20]));
    memory.failures.push(ErrorCode::NOT_ENOUGH_REPLICAS);
    assert!(memory.append_one());
    assert_eq!(memory.runner.queued_bytes(), 0, "what is taken back is not queued");
}

#[test]
fn a_job_comes_back_whatever_became_of_the_records_it_was_started_with() {
    let mut memory = memory();
    memory.auto_jobs = false;
    let kept = memory.submit(Ask::AddSquare(3));
    memory.failures.push(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    let lost = memory.submit(Ask::AddSquare(5));
    let refused = Err(ErrorCode::NOT_COORDINATOR);
    assert_eq!(memory.take_answers(), [(kept, Ok(3)), (lost, refused)]);
    assert_eq!(memory.jobs.len(), 2);
    // Meanwhile requests are answered from what there is.
    let read = memory.submit(Ask::Sum);
    assert_eq!(memory.take_answer(read), Some(Ok(3)));
    assert!(memory.run_job() && memory.run_job() && !memory.run_job());
    assert_eq!(memory.runner.shard().sum, 3 + 9 + 25);
    assert_eq!(memory.log.len(), 3, "results are written like anything else");
}

#[test]
fn results_and_events_are_for_active_shards_only() {
    let mut runner = Runner::new(Adder::default(), RunnerConfig::default());
    let now = Now { wall_ms: 5_000, monotonic_ms: 0 };
    runner.event(7, now);
    runner.job_done(7, now);
    assert_eq!((runner.queued_appends(), runner.shard().sum), (0, 0), "it is loading");
    runner.load_finished(0, 0, now);
    runner.event(7, now);
    runner.submit(Ask::AddSquare(2), now);
    assert_eq!((runner.queued_appends(), runner.shard().sum), (2, 9));
    runner.close(ErrorCode::NOT_COORDINATOR);
    assert!(runner.poll_job().is_none(), "nobody waits for it any more");
    runner.event(7, now);
    runner.job_done(7, now);
    assert_eq!((runner.queued_appends(), runner.shard().sum), (0, 9), "it is closed");
}

#[test]
fn a_timer_that_is_set_stays_where_it_is_if_that_was_asked_for() {
    let mut memory = memory();
    memory.submit(Ask::RemindAtLatestIn(50));
    memory.advance(20);
    memory.submit(Ask::RemindAtLatestIn(50));
    memory.advance(29);
    assert_eq!(memory.runner.shard().sum, 0);
    memory.advance(1);
    assert_eq!(memory.runner.shard().sum, 1000);
    // It has fired and can be set again.
    memory.submit(Ask::RemindAtLatestIn(10));
    memory.advance(10);
    assert_eq!(memory.runner.shard().sum, 2000);
}

#[test]
fn what_was_computed_after_an_append_that_is_too_large_may_be_asked_again() {
    let mut memory = memory();
    memory.auto_append = false;
    let too_large = memory.submit(Ask::Add(vec![10]));
    let upon_it = memory.submit(Ask::Add(vec![100]));
    memory.failures.push(ErrorCode::MESSAGE_TOO_LARGE);
    assert!(memory.append_one());
    memory.settle();
    let own = Err(ErrorCode::UNKNOWN_SERVER_ERROR);
    let retriable = Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
    assert_eq!(memory.take_answers(), [(too_large, own), (upon_it, retriable)]);
    assert_eq!(memory.runner.shard().sum, 0);
}
