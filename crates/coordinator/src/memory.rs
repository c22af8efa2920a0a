//! A log and a clock in memory, to run a shard in tests.

use std::collections::VecDeque;

use thalweg_wire::ErrorCode;

use crate::shard::{CoordinatorRecord, Job, KeyValue, Position, Shard, Token};
use crate::{AppendKind, Now, Producer, Runner, RunnerConfig, TransactionEnd};

/// What stands at one offset of a [`MemoryRunner`]'s log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEntry {
    /// A record of the coordinator's own, or of a producer's transaction.
    Record(Option<Producer>, KeyValue),
    /// The end of a transaction.
    Marker(TransactionEnd),
}

impl From<KeyValue> for LogEntry {
    fn from(record: KeyValue) -> LogEntry {
        LogEntry::Record(None, record)
    }
}

impl LogEntry {
    /// Replays the entry at `offset`. Panics where a load would fail.
    fn load<S: Shard>(&self, offset: i64, runner: &mut Runner<S>, now: Now) {
        match self {
            LogEntry::Marker(end) => runner.load_marker(offset, end.producer.id, end.commit),
            LogEntry::Record(producer, KeyValue { key, value }) => {
                let producer_id = producer.map(|producer| producer.id);
                match S::Record::decode(key, value.as_deref()) {
                    Ok(Some(record)) => {
                        runner.load_record(Position { offset, producer_id }, now, &record);
                    }
                    Ok(None) => {}
                    Err(error) => panic!("record at offset {offset}: {error}"),
                }
            }
        }
    }
}

/// A runner with a log, a high watermark and a clock that only moves when told to.
///
/// Records go through their encoded form on the way into the log and out of it, so that what a test
/// sees after [`reload`](MemoryRunner::reload) is what a restart would see.
pub struct MemoryRunner<S: Shard> {
    /// The runner.
    pub runner: Runner<S>,
    /// The log, from offset 0.
    pub log: Vec<LogEntry>,
    /// The clock.
    pub now: Now,
    /// Whether what is written is committed at once.
    pub auto_commit: bool,
    /// Whether queued appends are written at once.
    pub auto_append: bool,
    /// Whether computations run as soon as they are asked for.
    pub auto_jobs: bool,
    /// Errors for the next appends, in order.
    pub failures: Vec<ErrorCode>,
    /// Computations that have not run.
    pub jobs: VecDeque<S::Job>,
    /// What is to be done outside, and is not done by anybody but the test.
    pub effects: VecDeque<S::Effect>,
    answers: Vec<(Token, S::Response)>,
}

impl<S: Shard> MemoryRunner<S> {
    /// A shard on an empty log.
    pub fn new(shard: S, now: Now) -> Self {
        Self::with_log(shard, now, Vec::new())
    }

    /// A shard on an existing log, loaded.
    pub fn with_log(shard: S, now: Now, log: Vec<LogEntry>) -> Self {
        let end = i64::try_from(log.len()).unwrap_or(i64::MAX);
        let mut memory = Self::loaded(shard, now, log, end);
        memory.settle();
        memory
    }

    /// A shard on a log that is known to be committed up to an offset.
    fn loaded(shard: S, now: Now, log: Vec<LogEntry>, committed: i64) -> Self {
        let mut runner = Runner::new(shard, RunnerConfig::default());
        for (offset, entry) in (0i64..).zip(&log) {
            entry.load(offset, &mut runner, now);
        }
        let end = i64::try_from(log.len()).unwrap_or(i64::MAX);
        runner.load_finished(end, committed, now);
        MemoryRunner {
            runner,
            log,
            now,
            auto_commit: true,
            auto_append: true,
            auto_jobs: true,
            failures: Vec::new(),
            jobs: VecDeque::new(),
            effects: VecDeque::new(),
            answers: Vec::new(),
        }
    }

    /// The same log under a new shard, as after a restart. Switches and failures to come stay.
    pub fn reload(&mut self, shard: S) {
        let log = std::mem::take(&mut self.log);
        self.replace(Self::with_log(shard, self.now, log));
    }

    /// The same, where the log is known to be committed up to an offset, and the rest is not yet.
    pub fn reload_at(&mut self, shard: S, committed: i64) {
        let log = std::mem::take(&mut self.log);
        self.auto_commit = false;
        self.replace(Self::loaded(shard, self.now, log, committed));
        self.settle();
    }

    fn replace(&mut self, fresh: Self) {
        *self = MemoryRunner {
            auto_commit: self.auto_commit,
            auto_append: self.auto_append,
            auto_jobs: self.auto_jobs,
            failures: std::mem::take(&mut self.failures),
            ..fresh
        };
    }

    /// Submits a request.
    pub fn submit(&mut self, request: S::Request) -> Token {
        let token = self.runner.submit(request, self.now);
        self.settle();
        token
    }

    /// Tells the shard of something outside its log.
    pub fn event(&mut self, event: S::Event) {
        self.runner.event(event, self.now);
        self.settle();
    }

    /// Runs the oldest computation. False if there is none.
    pub fn run_job(&mut self) -> bool {
        let Some(job) = self.jobs.pop_front() else { return false };
        self.runner.job_done(job.run(), self.now);
        self.settle();
        true
    }

    /// Moves the clock by `ms`, firing each timer at its own moment.
    pub fn advance(&mut self, ms: u64) {
        let end = self.now.plus_ms(ms);
        while let Some(at) = self.runner.wake_at_ms() {
            // Timers wait for appends that are queued, and those wait for the test.
            let stuck = !self.auto_append && self.runner.queued_appends() > 0;
            if at > end.monotonic_ms || stuck {
                break;
            }
            let step = at.saturating_sub(self.now.monotonic_ms);
            self.now = self.now.plus_ms(step);
            self.runner.advance(self.now);
            self.settle();
        }
        self.now = end;
    }

    /// Writes one queued append, or fails it if a failure was asked for. False if none was queued.
    pub fn append_one(&mut self) -> bool {
        let Some(append) = self.runner.poll_append() else { return false };
        if !self.failures.is_empty() {
            let error = self.failures.remove(0);
            self.runner.append_failed(append.id, error, self.now);
            return true;
        }
        let base = i64::try_from(self.log.len()).unwrap_or(i64::MAX);
        let producer = match append.kind {
            AppendKind::Own { .. } => None,
            AppendKind::Transactional(producer) => Some(producer),
            AppendKind::Marker(end) => {
                self.log.push(LogEntry::Marker(end));
                None
            }
        };
        for record in &append.records {
            match record.encode() {
                Ok(bytes) => self.log.push(LogEntry::Record(producer, bytes)),
                Err(error) => panic!("record of append {}: {error}", append.id),
            }
        }
        if let Err(error) = self.runner.appended(append.id, base) {
            panic!("{error}");
        }
        true
    }

    /// Raises the high watermark to `offset`.
    pub fn commit(&mut self, offset: i64) {
        self.runner.high_watermark(offset, self.now);
        self.settle();
    }

    /// Writes and commits what is queued, as far as the switches say, and collects answers.
    pub fn settle(&mut self) {
        loop {
            let appended = self.auto_append && self.append_one();
            if self.auto_commit {
                let end = i64::try_from(self.log.len()).unwrap_or(i64::MAX);
                self.runner.high_watermark(end, self.now);
            }
            let more = self.auto_append && self.runner.queued_appends() > 0;
            if !appended && !more {
                break;
            }
        }
        while let Some(answer) = self.runner.poll_answer() {
            self.answers.push(answer);
        }
        while let Some(job) = self.runner.poll_job() {
            self.jobs.push_back(job);
        }
        while let Some(effect) = self.runner.poll_effect() {
            self.effects.push_back(effect);
        }
        if self.auto_jobs && !self.jobs.is_empty() {
            self.run_job();
        }
    }

    /// Takes the answers given since the last call.
    pub fn take_answers(&mut self) -> Vec<(Token, S::Response)> {
        std::mem::take(&mut self.answers)
    }

    /// Takes the answer to `token`, if it has been given.
    pub fn take_answer(&mut self, token: Token) -> Option<S::Response> {
        let at = self.answers.iter().position(|(answered, _)| *answered == token)?;
        Some(self.answers.remove(at).1)
    }

    /// Unloads the shard.
    pub fn close(&mut self, error: ErrorCode) {
        self.runner.close(error);
        self.settle();
    }
}
