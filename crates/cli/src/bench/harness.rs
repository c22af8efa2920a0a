//! Runs connections on threads from a common start, with progress on a terminal.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use thalweg::Topic;
use thalweg::{Cluster, Options};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Barrier;
use tokio::task::LocalSet;

use super::args::{Limits, Output};
use super::follow::{Leader, Led};
use super::stats::{Shared, Stats};
use super::{BenchError, Outcome};

/// From all connections being open to the first request.
const LEAD: Duration = Duration::from_millis(20);
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What one kind of run does on each connection.
pub trait Worker: Send + Sync + 'static {
    /// A connection that is ready to begin.
    type LoadConnection: 'static;

    /// Opens connection number `index`.
    async fn open(&self, index: usize) -> Result<Self::LoadConnection, BenchError>;

    /// Runs it to its end. Errors are counted, not returned: the others go on.
    async fn run(&self, link: Self::LoadConnection, clock: Clock, shared: &Shared) -> Stats;
}

/// When the run begins, counts, and ends.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// First request.
    pub start: Instant,
    /// What is sent from here on counts.
    pub measure_from: Instant,
    /// Last request, where time is what ends the run.
    pub end: Option<Instant>,
}

impl Clock {
    /// Whether nothing more is to be sent at `now`.
    pub fn is_over(&self, now: Instant) -> bool {
        self.end.is_some_and(|end| now >= end)
    }
}

/// What a run came to.
pub struct Run {
    /// Sums over all connections.
    pub stats: Stats,
    /// Records over the whole run, warm-up included.
    pub all_records: u64,
    /// Their bytes.
    pub all_bytes: u64,
    /// Length of the measured part.
    pub seconds: f64,
    /// Threads that made the load.
    pub threads: usize,
    /// Share of its time for which the busiest thread ran on a CPU.
    pub busiest_thread: f64,
    /// Whether the user ended it.
    pub interrupted: bool,
}

impl Run {
    /// How the run ended.
    pub fn outcome(&self) -> Outcome {
        if self.interrupted {
            Outcome::Interrupted
        } else if self.stats.error_count() > 0 {
            Outcome::Errors
        } else {
            Outcome::Clean
        }
    }
}

/// Which connections run, how long, and how that is shown.
pub struct Plan<'a> {
    pub connections: usize,
    pub limits: &'a Limits,
    /// Length of the measured part.
    pub length: Option<Duration>,
    pub output: &'a Output,
    /// Records after which the run is expected to end, for the progress shown.
    pub expected: Option<u64>,
}

/// A runtime for what goes before and after a run.
pub fn runtime() -> Result<Runtime, BenchError> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| BenchError::Io { what: "starting a runtime".into(), source })
}

/// Connects to the cluster that a run is about.
pub async fn connect(
    bootstrap: &str,
    limits: &Limits,
    in_flight: usize,
) -> Result<Cluster, BenchError> {
    let options = Options::default()
        .with_client_id("thalweg-bench")
        .with_request_timeout(limits.request_timeout_seconds)
        .with_max_in_flight(in_flight)
        .with_max_response_bytes(1 << 30);
    Ok(Cluster::connect(bootstrap, options).await?)
}

/// The brokers that lead partitions of a topic.
pub fn leaders(topic: &Topic) -> BTreeSet<i32> {
    topic.partitions.values().filter_map(|p| p.leader).map(|leader| leader.id).collect()
}

/// The broker that connection `index` begins with, and the partitions it leads.
pub fn share_of(
    cluster: &Cluster,
    topic: &Topic,
    index: usize,
) -> Result<(Leader, Vec<Led>), BenchError> {
    let leaders: Vec<i32> = leaders(topic).into_iter().collect();
    let id = leaders.get(index % leaders.len().max(1)).copied().unwrap_or(-1);
    let metadata = cluster.metadata();
    let broker = metadata.brokers.get(&id).ok_or(thalweg::Error::UnknownBroker(id))?;
    let led = topic.partitions.iter().filter_map(|(&partition, known)| {
        let leader = known.leader.filter(|leader| leader.id == id)?;
        Some(Led { partition, epoch: leader.epoch })
    });
    let leader = Leader { id, address: broker.address() };
    Ok((leader, led.collect()))
}

/// Opens all connections, starts them together, waits for the end.
pub fn run<W: Worker>(worker: W, shared: &Arc<Shared>, plan: &Plan<'_>) -> Result<Run, BenchError> {
    let threads = (plan.limits.threads as usize).min(plan.connections).max(1);
    let start = Start {
        worker: Arc::new(worker),
        shared: shared.clone(),
        barrier: Arc::new(Barrier::new(threads)),
        clock: Arc::new(OnceLock::new()),
        warmup: plan.limits.warmup_seconds,
        length: plan.length,
        connections: plan.connections,
        threads,
    };
    let mut handles = Vec::new();
    for thread in 0..threads {
        let start = start.clone();
        let handle = std::thread::Builder::new()
            .name(format!("load-{thread}"))
            .spawn(move || start.thread(thread))
            .map_err(|source| BenchError::Io { what: "starting a thread".into(), source })?;
        handles.push(handle);
    }
    watch(&handles, &start, plan)?;
    let mut stats = Stats::default();
    let mut busiest_thread = 0f64;
    let mut failed = None;
    for handle in handles {
        match handle.join() {
            Ok(Ok((of_thread, wall))) => {
                busiest_thread =
                    busiest_thread.max(of_thread.cpu.as_secs_f64() / wall.as_secs_f64().max(1e-9));
                stats.merge(&of_thread);
            }
            Ok(Err(error)) => failed = Some(error),
            Err(_) => stats.error("PANIC"),
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let seconds = match (start.clock.get(), stats.last) {
        (Some(clock), Some(last)) => last.saturating_duration_since(clock.measure_from),
        _ => Duration::ZERO,
    };
    Ok(Run {
        stats,
        all_records: shared.records.load(Ordering::Relaxed),
        all_bytes: shared.bytes.load(Ordering::Relaxed),
        seconds: seconds.as_secs_f64(),
        threads,
        busiest_thread,
        interrupted: shared.interrupted(),
    })
}

/// What the threads begin with.
struct Start<W> {
    worker: Arc<W>,
    shared: Arc<Shared>,
    barrier: Arc<Barrier>,
    clock: Arc<OnceLock<Clock>>,
    warmup: Duration,
    length: Option<Duration>,
    connections: usize,
    threads: usize,
}

impl<W> Clone for Start<W> {
    fn clone(&self) -> Self {
        Start {
            worker: self.worker.clone(),
            shared: self.shared.clone(),
            barrier: self.barrier.clone(),
            clock: self.clock.clone(),
            ..*self
        }
    }
}

impl<W: Worker> Start<W> {
    /// All connections of one thread.
    fn thread(self, thread: usize) -> Result<(Stats, Duration), BenchError> {
        let runtime = runtime()?;
        LocalSet::new().block_on(&runtime, async {
            let mut links = Vec::new();
            let mut failed = None;
            for index in (thread..self.connections).step_by(self.threads) {
                match self.worker.open(index).await {
                    Ok(link) => links.push(link),
                    Err(error) => {
                        // The others wait at the barrier and then find the run over.
                        self.shared.stop();
                        failed = Some(error);
                        break;
                    }
                }
            }
            self.barrier.wait().await;
            if let Some(error) = failed {
                return Err(error);
            }
            let clock = *self.clock.get_or_init(|| {
                let start = Instant::now() + LEAD;
                let measure_from = start + self.warmup;
                Clock { start, measure_from, end: self.length.map(|length| measure_from + length) }
            });
            let (cpu, begun) = (thread_cpu(), Instant::now());
            let tasks: Vec<_> = links
                .into_iter()
                .map(|link| {
                    let (worker, shared) = (self.worker.clone(), self.shared.clone());
                    tokio::task::spawn_local(async move { worker.run(link, clock, &shared).await })
                })
                .collect();
            let mut stats = Stats::default();
            for task in tasks {
                match task.await {
                    Ok(of_task) => stats.merge(&of_task),
                    Err(_) => stats.error("PANIC"),
                }
            }
            stats.cpu = thread_cpu().saturating_sub(cpu);
            Ok((stats, begun.elapsed()))
        })
    }
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

type Joined = JoinHandle<Result<(Stats, Duration), BenchError>>;

/// Shows progress and heeds Ctrl-C until the threads are done.
fn watch<W>(handles: &[Joined], start: &Start<W>, plan: &Plan<'_>) -> Result<(), BenchError> {
    let show = !plan.output.quiet && std::io::stderr().is_terminal();
    runtime()?.block_on(async {
        let mut shown = Shown::default();
        let mut ctrl_c = std::pin::pin!(tokio::signal::ctrl_c());
        while !handles.iter().all(JoinHandle::is_finished) {
            tokio::select! {
                _ = tokio::time::sleep(LOOK_EVERY) => {}
                _ = &mut ctrl_c => {
                    if start.shared.interrupted() {
                        std::process::exit(1);
                    }
                    start.shared.interrupt();
                    ctrl_c.set(tokio::signal::ctrl_c());
                }
            }
            if let Some(clock) = start.clock.get()
                && show
            {
                shown.update(&start.shared, clock, plan);
            }
        }
        if shown.at.is_some() {
            // The line is taken back: what stays is the report.
            eprint!("\r\x1b[2K");
        }
    });
    Ok(())
}

/// The progress line, as it stands.
#[derive(Default)]
struct Shown {
    at: Option<Instant>,
    records: u64,
    bytes: u64,
}

impl Shown {
    fn update(&mut self, shared: &Shared, clock: &Clock, plan: &Plan<'_>) {
        let now = Instant::now();
        let since = self.at.map_or(PROGRESS_EVERY, |at| now - at);
        if since < PROGRESS_EVERY || now < clock.start {
            return;
        }
        let records = shared.records.load(Ordering::Relaxed);
        let bytes = shared.bytes.load(Ordering::Relaxed);
        let errors = shared.errors.load(Ordering::Relaxed);
        let rate = (records - self.records) as f64 / since.as_secs_f64();
        let flow = (bytes - self.bytes) as f64 / since.as_secs_f64() / 1e6;
        let done = match (plan.expected, clock.end) {
            (Some(expected), _) => records as f64 / expected.max(1) as f64,
            (None, Some(end)) => {
                (now - clock.start).as_secs_f64() / (end - clock.start).as_secs_f64().max(1e-9)
            }
            (None, None) => 0.0,
        };
        let filled = (done.clamp(0.0, 1.0) * 30.0) as usize;
        let phase = if now < clock.measure_from { " warming up" } else { "" };
        let errors = if errors > 0 { format!(", {errors} errors") } else { String::new() };
        eprint!(
            "\r\x1b[2K[{:-<30}] {records} records, {rate:.0}/s, {flow:.1} MB/s{errors}{phase}",
            "#".repeat(filled)
        );
        let _ = std::io::stderr().flush();
        (self.at, self.records, self.bytes) = (Some(now), records, bytes);
    }
}
