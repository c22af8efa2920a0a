//! Reading through a stream whose stage is slower than the network: what back-pressure costs.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_core::Stream;
use serde_json::{Map, Value};
use thalweg::stream::{self, Control, Subscription};
use thalweg::{Cluster, Error, OffsetReset, SharedRecord, TopicPartition};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::super::BenchError;
use super::args::{Mode, StreamArgs};
use super::consume::{self, TIMEOUT, Tally, Window};

/// What a stage that was late may make up for: the clock's coarseness, and no more.
const LATE_MAX: Duration = Duration::from_millis(20);
/// Time for the group to be left.
const LEAVE: Duration = Duration::from_secs(5);

/// Runs the command.
pub async fn run(cluster: Cluster, args: &StreamArgs) -> Result<Map<String, Value>, BenchError> {
    let topic = args.common.topic.as_str();
    let partitions = consume::partitions(&cluster, topic).await?;
    let mut config = consume::config(&args.fetching, OffsetReset::Earliest, args.mode);
    config.auto_commit = false;
    let subscription = match args.mode {
        Mode::Assign => Subscription::assignment(
            (0..partitions).map(|partition| TopicPartition::new(topic, partition)),
        ),
        Mode::Classic | Mode::Consumer => Subscription::topics([topic]),
    };
    let rate = args.rate as f64;
    let (control, streams) = if args.partitioned {
        let source = stream::plain_partitioned_source(&cluster, config, subscription)?;
        let share = rate / f64::from(partitions.max(1));
        let slow = args.slow_rate.map_or(share, |rate| rate as f64);
        (source.control(), Streams::Each { source, share, slow, burst: args.burst })
    } else {
        let source = stream::plain_source(&cluster, config, subscription)?;
        (source.control(), Streams::One { source, stage: Stage::new(rate, args.burst) })
    };
    let run = Run::new(args, control);
    let wrong = |what: String| BenchError::Topic { topic: topic.to_owned(), what };
    tokio::select! {
        ended = streams.read(&run) => ended?,
        () = run.ended.notified() => {}
        () = run.silence() => {
            let records = run.lock().tally.records;
            let why = run.control.why();
            return Err(wrong(format!("nothing comes after {records} records: {why:?}")));
        }
    }
    run.control.shutdown(LEAVE).await;
    let (report, failed) = {
        let mut counted = run.lock();
        (counted.report.take(), counted.failed.take())
    };
    if let Some(error) = failed {
        return Err(error.into());
    }
    report.ok_or_else(|| wrong("the stream ended before its records did".to_owned()))
}

/// What is read, and how fast.
enum Streams {
    One { source: stream::Source<stream::Plain>, stage: Stage },
    Each { source: stream::PartitionedSource<stream::Plain>, share: f64, slow: f64, burst: u64 },
}

impl Streams {
    /// Until the run has what it wants.
    async fn read(self, run: &Arc<Run>) -> Result<(), BenchError> {
        match self {
            Streams::One { source, stage } => Ok(through(source, stage, run).await?),
            Streams::Each { mut source, share, slow, burst } => {
                let mut tasks = JoinSet::new();
                while let Some(next) = next(&mut source).await {
                    let (partition, source) = next?;
                    let rate = if partition.partition == 0 { slow } else { share };
                    let (run, stage) = (Arc::clone(run), Stage::new(rate, burst));
                    tasks.spawn(async move {
                        if let Err(error) = through(source, stage, &run).await {
                            run.lock().failed.get_or_insert(error);
                            run.ended.notify_one();
                        }
                    });
                }
                Ok(())
            }
        }
    }
}

/// Reads a stream through a stage.
async fn through(
    mut source: impl Stream<Item = Result<SharedRecord, Error>> + Unpin,
    mut stage: Stage,
    run: &Run,
) -> Result<(), Error> {
    while let Some(record) = next(&mut source).await {
        if run.took(&record?) {
            return Ok(());
        }
        if let Some(until) = stage.took(Instant::now()) {
            tokio::time::sleep_until(until.into()).await;
        }
    }
    Ok(())
}

async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    std::future::poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
}

/// Takes some records at once, and is busy then for as long as they are worth.
struct Stage {
    burst: u64,
    busy: Duration,
    left: u64,
    due: Option<Instant>,
}

impl Stage {
    /// `rate` in records per second.
    fn new(rate: f64, burst: u64) -> Stage {
        let busy = Duration::from_secs_f64(burst as f64 / rate.max(1e-3));
        Stage { burst, busy, left: burst, due: None }
    }

    /// After each record; until when it is busy, if it is.
    fn took(&mut self, now: Instant) -> Option<Instant> {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return None;
        }
        self.left = self.burst;
        let earliest = now.checked_sub(LATE_MAX).unwrap_or(now);
        let due = self.due.map_or(now, |due| due.max(earliest)) + self.busy;
        self.due = Some(due);
        Some(due)
    }
}

/// What all streams of a run add to.
struct Run {
    control: Control,
    mode: Mode,
    warmup: Duration,
    wanted: u64,
    ended: Notify,
    counted: Mutex<Counted>,
}

#[derive(Default)]
struct Counted {
    tally: Tally,
    warm_at: Option<Instant>,
    window: Option<(Window, Tally)>,
    report: Option<Map<String, Value>>,
    failed: Option<Error>,
}

impl Run {
    fn new(args: &StreamArgs, control: Control) -> Arc<Run> {
        Arc::new(Run {
            control,
            mode: args.mode,
            warmup: args.warmup_seconds,
            wanted: args.records,
            ended: Notify::new(),
            counted: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a record; whether it was the last.
    fn took(&self, record: &SharedRecord) -> bool {
        let mut counted = self.lock();
        if counted.report.is_some() {
            return true;
        }
        counted.tally.look_at(&record.view());
        if counted.window.is_none() {
            let now = Instant::now();
            if *counted.warm_at.get_or_insert(now + self.warmup) <= now {
                let window = Window::open(self.control.metrics().fetched);
                counted.window = Some((window, counted.tally));
            }
        }
        if counted.tally.records < self.wanted {
            return false;
        }
        let Counted { tally, window, .. } = &*counted;
        if let Some((window, before)) = window {
            let metrics = self.control.metrics();
            let peak = metrics.budget_used.1;
            let in_window = tally.since(before);
            let mut report = window.close(metrics.fetched, peak, &in_window, self.mode);
            report.insert("polls".into(), Value::Null);
            report.insert("fetches_all".into(), metrics.fetched.requests.into());
            report.insert("records_all".into(), tally.records.into());
            counted.report = Some(report);
        }
        self.ended.notify_one();
        true
    }

    /// Returns when nothing came for a while.
    async fn silence(&self) {
        let mut before = None;
        loop {
            tokio::time::sleep(TIMEOUT).await;
            let records = Some(self.lock().tally.records);
            if records == before {
                return;
            }
            before = records;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_keeps_its_rate_and_makes_up_for_the_clock_only() {
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let mut stage = Stage::new(1000.0, 3);
        assert_eq!((stage.took(begun), stage.took(begun)), (None, None));
        assert_eq!(stage.took(begun), Some(at(3)));
        // Woken a millisecond late: the next burst is not.
        assert_eq!((stage.took(at(4)), stage.took(at(4))), (None, None));
        assert_eq!(stage.took(at(4)), Some(at(6)));
        // Nothing came for a second: the time is lost.
        assert_eq!((stage.took(at(1006)), stage.took(at(1006))), (None, None));
        assert_eq!(stage.took(at(1006)), Some(at(989)));
    }
}
