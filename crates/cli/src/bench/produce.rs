//! `thalweg bench produce`.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use thalweg::Topic;
use thalweg::error::code_name;
use thalweg::{Cluster, Options, RawConnection, RawReceiver, RawSender};
use thalweg_records::Compression;
use thalweg_wire::messages::produce_response::ProduceResponseView;
use thalweg_wire::messages::{InitProducerIdRequest, ProduceRequest};
use thalweg_wire::{ApiKey, ErrorCode, Reader};
use tokio::sync::Notify;

use super::args::{Load, ProduceArgs, Sending, Target};
use super::data::{self, Pool};
use super::follow::{self, Leader, Led, Place, Round};
use super::frames::{Frame, FrameSpec, Producer};
use super::harness::{self, Clock, Plan, Worker};
use super::latency::Trail;
use super::pacer::Pacer;
use super::report::Report;
use super::schedule::Schedule;
use super::stats::{Shared, Stats, micros};
use super::{BenchError, Outcome, topic};

/// Partitions in one request unless said otherwise.
const PARTITIONS_PER_REQUEST: u32 = 10;
/// Length of a run when nothing limits it.
const DEFAULT_LENGTH: Duration = Duration::from_secs(10);
/// How long followers may take to have what their leaders acknowledged.
const COMMITTED_WITHIN: Duration = Duration::from_secs(5);

/// Produces on each connection.
pub struct ProduceWorker {
    pub cluster: Cluster,
    pub options: Options,
    pub topic_name: String,
    pub topic: Topic,
    pub pool: Pool,
    pub sending: Sending,
    pub connections: usize,
    pub partitions_per_request: usize,
    /// Records per second over all connections.
    pub rate: Option<f64>,
    /// Whether each partition is written by one connection only.
    pub exclusive: bool,
    /// Where intended times of sending are left for the consumers.
    pub trail: Option<Arc<Trail>>,
    /// Records acknowledged, warm-up included.
    pub acknowledged: Arc<AtomicU64>,
}

/// One producer: its partitions, and where they are led.
pub struct LoadConnection {
    index: usize,
    partitions: Vec<i32>,
    first: Link,
}

/// A connection to one broker, with its requests.
struct Link {
    broker: i32,
    sender: RawSender,
    receiver: RawReceiver,
    version: i16,
    next_correlation_id: i32,
    frames: Vec<Frame>,
    producer: Option<Producer>,
    pacer: Option<Pacer>,
}

/// A request that was sent.
struct Sent {
    correlation_id: i32,
    intended: Instant,
    records: u64,
    payload: u64,
    wire: u64,
    batches: u64,
}

/// What the two directions of a connection share.
#[derive(Default)]
struct Flight {
    sent: RefCell<VecDeque<Sent>>,
    /// Whether nothing more will be sent.
    done: Cell<bool>,
    /// Whether the receiving side gave up.
    broken: Cell<bool>,
    /// Whether a partition is led elsewhere.
    moved: Cell<bool>,
    changed: Notify,
}

impl Worker for ProduceWorker {
    type LoadConnection = LoadConnection;

    async fn open(&self, index: usize) -> Result<LoadConnection, BenchError> {
        let (leader, led) = harness::share_of(&self.cluster, &self.topic, index)?;
        let mut partitions: Vec<i32> = led.into_iter().map(|led| led.partition).collect();
        if self.exclusive {
            let leaders = harness::leaders(&self.topic).len();
            let (nth, of) = (index / leaders, self.connections.div_ceil(leaders));
            partitions = partitions.into_iter().skip(nth).step_by(of).collect();
        } else if !partitions.is_empty() {
            // Connections do not all begin with the same partitions.
            let shift = index * self.partitions_per_request % partitions.len();
            partitions.rotate_left(shift);
        }
        let first = self.link(index, leader, &partitions).await?;
        Ok(LoadConnection { index, partitions, first })
    }

    async fn run(&self, connection: LoadConnection, clock: Clock, shared: &Shared) -> Stats {
        let LoadConnection { index, partitions, first } = connection;
        let schedule = self.schedule(index, &first, clock);
        let mut stats = Stats::default();
        let (mut links, mut round) = (vec![first], Round::new(None));
        let place = Place { cluster: &self.cluster, topic: &self.topic_name };
        loop {
            let ended = follow::all(
                links.into_iter().map(|link| self.run_link(link, &round, &schedule, clock, shared)),
            );
            ended.await.iter().for_each(|of_link| stats.merge(of_link));
            if !round.is_over() {
                return stats;
            }
            let open = async |leader: Leader, led: Vec<Led>| {
                let led: Vec<i32> = led.into_iter().map(|led| led.partition).collect();
                self.link(index, leader, &led).await
            };
            let found = follow::reopen(&place, &partitions, clock, shared, &mut stats, open).await;
            let Some(found) = found else { break };
            (links, round) = found;
        }
        // What an open loop could not send until its end is no less late than what came late.
        let unsent = clock.end.filter(|_| !shared.stopped()).map_or(0, |end| schedule.unsent(end));
        if unsent > 0 {
            *stats.errors.entry("NOT_SENT".to_owned()).or_default() += unsent;
        }
        stats
    }
}

impl ProduceWorker {
    /// Connects to a broker that leads these partitions.
    async fn link(
        &self,
        index: usize,
        leader: Leader,
        partitions: &[i32],
    ) -> Result<Link, BenchError> {
        let mut connection = RawConnection::open(&leader.address, &self.options).await?;
        let version = connection.version_of::<ProduceRequest>()?;
        let producer = match self.sending.idempotent {
            true => Some(self.init_producer(&mut connection).await?),
            false => None,
        };
        let frames = self.frames(index, version, partitions)?;
        let pacer = match self.rate {
            Some(_) => Some(
                Pacer::new()
                    .map_err(|source| BenchError::Io { what: "making a timer".into(), source })?,
            ),
            None => None,
        };
        let (sender, receiver) = connection.split();
        // Numbers go on from those of the handshake; nobody checks, but traces read better.
        let next_correlation_id = 16;
        let broker = leader.id;
        Ok(Link { broker, sender, receiver, version, next_correlation_id, frames, producer, pacer })
    }

    /// When the requests of a connection are due: connections take turns within an interval.
    fn schedule(&self, index: usize, first: &Link, clock: Clock) -> Schedule {
        let records = first.frames.first().map_or(0, |frame| frame.records);
        Schedule::new(clock.start, index, self.connections, records, self.rate)
    }

    /// Runs a link until the run is over, or the round.
    async fn run_link(
        &self,
        link: Link,
        round: &Round,
        schedule: &Schedule,
        clock: Clock,
        shared: &Shared,
    ) -> Stats {
        let flight = Flight::default();
        let Link { broker, sender, receiver, version, .. } = link;
        // Until everything is answered: a connection of which one direction is closed is taken for one that is gone.
        let mut sending = Sender {
            worker: self,
            flight: &flight,
            round,
            schedule,
            clock,
            shared,
            sender,
            frames: link.frames,
            producer: link.producer,
            pacer: link.pacer,
            next_correlation_id: link.next_correlation_id,
            stats: Stats::default(),
        };
        let (mut stats, received) =
            tokio::join!(sending.run(), self.receive(&flight, receiver, version, clock, shared));
        stats.merge(&received);
        if flight.broken.get() || flight.moved.get() {
            round.end();
        }
        stats.of_broker(broker)
    }

    async fn init_producer(&self, connection: &mut RawConnection) -> Result<Producer, BenchError> {
        let request = InitProducerIdRequest {
            transactional_id: None,
            transaction_timeout_ms: i32::MAX,
            ..InitProducerIdRequest::default()
        };
        let response = connection.call(&request).await?;
        if response.error_code != ErrorCode::NONE {
            return Err(BenchError::Client(thalweg::Error::Broker {
                addr: connection.addr().clone(),
                api: ApiKey::INIT_PRODUCER_ID,
                code: response.error_code,
                message: None,
            }));
        }
        Ok(Producer {
            id: response.producer_id,
            epoch: response.producer_epoch,
            sequences: vec![0; self.topic.partitions.len()],
        })
    }

    /// The requests of a connection: one for each group of partitions, with batches of the pool
    /// that no other request of it has, as far as the pool goes.
    fn frames(
        &self,
        index: usize,
        version: i16,
        partitions: &[i32],
    ) -> Result<Vec<Frame>, BenchError> {
        let spec = FrameSpec {
            topic: &self.topic_name,
            topic_id: self.topic.id,
            version,
            acks: self.sending.acks,
            timeout_ms: self.options.request_timeout.as_millis().min(i32::MAX as u128) as i32,
            client_id: &self.options.client_id,
        };
        let mut batches = self.pool.batches.iter().cycle().skip(index * 7);
        let groups: Vec<&[i32]> = partitions.chunks(self.partitions_per_request).collect();
        // A few partitions still get distinct batches.
        let rounds = (16 / groups.len().max(1)).clamp(1, self.pool.batches.len());
        let mut frames = Vec::with_capacity(rounds * groups.len());
        for group in groups.iter().cycle().take(rounds * groups.len()) {
            let parts: Vec<_> = group.iter().copied().zip(batches.by_ref()).collect();
            frames.push(Frame::build(&spec, &parts).map_err(|source| {
                BenchError::Usage(format!("a request cannot be built: {source}"))
            })?);
        }
        Ok(frames)
    }

    /// Takes the answers.
    async fn receive(
        &self,
        flight: &Flight,
        mut receiver: RawReceiver,
        version: i16,
        clock: Clock,
        shared: &Shared,
    ) -> Stats {
        let mut stats = Stats::default();
        if self.sending.acks == 0 {
            return stats;
        }
        loop {
            while flight.sent.borrow().is_empty() {
                if flight.done.get() {
                    return stats;
                }
                flight.changed.notified().await;
            }
            let received =
                tokio::time::timeout(self.options.request_timeout, receiver.recv()).await;
            let error = match received {
                Ok(Ok(frame)) => {
                    // The frame is looked at before the request leaves the queue.
                    let oldest = flight.sent.borrow_mut().pop_front();
                    match oldest {
                        Some(sent) => self
                            .answered(&sent, frame, version, clock, shared, &mut stats)
                            .map(|has_moved| {
                                if has_moved {
                                    flight.moved.set(true);
                                }
                            }),
                        None => Err("UNASKED_RESPONSE".to_owned()),
                    }
                }
                Ok(Err(error)) => Err(connection_error(&error).to_owned()),
                Err(_) => Err("REQUEST_TIMEOUT".to_owned()),
            };
            if let Err(error) = error {
                // Nobody knows what became of the others that are in flight.
                let lost = 1 + flight.sent.borrow_mut().drain(..).count() as u64;
                shared.count(0, 0, lost);
                *stats.errors.entry(error).or_default() += lost;
                flight.broken.set(true);
                flight.changed.notify_waiters();
                return stats;
            }
            flight.changed.notify_waiters();
        }
    }

    /// Counts one answer; says whether a partition is led elsewhere. An error means that the connection is of no more
    /// use.
    fn answered(
        &self,
        sent: &Sent,
        frame: &[u8],
        version: i16,
        clock: Clock,
        shared: &Shared,
        stats: &mut Stats,
    ) -> Result<bool, String> {
        let now = Instant::now();
        let broken = |_| "BROKEN_RESPONSE".to_owned();
        let mut r = Reader::new(frame);
        if r.i32().map_err(broken)? != sent.correlation_id {
            return Err("WRONG_CORRELATION_ID".to_owned());
        }
        if ApiKey::PRODUCE.response_header_version(version) >= 1 {
            r.tags(None, |_, _| Ok(false)).map_err(broken)?;
        }
        let response = ProduceResponseView::parse(&mut r, version).map_err(broken)?;
        let (mut answered, mut refused, mut has_moved) = (0, 0, false);
        for partition in response.responses.iter().flat_map(|topic| topic.partition_responses) {
            answered += 1;
            if partition.error_code != ErrorCode::NONE {
                refused += 1;
                has_moved |= follow::is_to_be_located_anew(partition.error_code);
                stats.error(code_name(partition.error_code));
            } else if let Some(trail) = &self.trail {
                let at = (partition.index, partition.base_offset);
                let arrived = trail.acknowledged(at, sent.intended);
                if let Some(arrived) = arrived.filter(|_| sent.intended >= clock.measure_from) {
                    let latency = micros(arrived.saturating_duration_since(sent.intended));
                    stats.end_to_end.saturating_record(latency);
                }
            }
        }
        if answered != sent.batches {
            return Err("WRONG_PARTITION_COUNT".to_owned());
        }
        // All batches of a pool have as many records.
        let records = sent.records / sent.batches * (sent.batches - refused);
        let payload = sent.payload / sent.batches * (sent.batches - refused);
        self.acknowledged.fetch_add(records, Ordering::Relaxed);
        shared.count(records, payload, refused);
        if sent.intended >= clock.measure_from {
            stats.records += records;
            stats.bytes += payload;
            stats.wire_bytes += sent.wire;
            stats.requests += 1;
            stats.batches += sent.batches - refused;
            stats.last = Some(now);
            // A refusal comes soon, and acknowledges nothing.
            if refused < sent.batches {
                let latency = micros(now.saturating_duration_since(sent.intended));
                stats.latency.saturating_record(latency);
            }
        }
        Ok(has_moved)
    }
}

/// The sending direction of a connection.
struct Sender<'a> {
    worker: &'a ProduceWorker,
    flight: &'a Flight,
    round: &'a Round,
    schedule: &'a Schedule,
    clock: Clock,
    shared: &'a Shared,
    sender: RawSender,
    frames: Vec<Frame>,
    producer: Option<Producer>,
    pacer: Option<Pacer>,
    next_correlation_id: i32,
    stats: Stats,
}

impl Sender<'_> {
    async fn run(&mut self) -> Stats {
        if let Err(error) = self.send_all().await {
            self.shared.count(0, 0, 1);
            self.stats.error(error);
            // What is in flight gets no answer either, or is taken while it comes.
            self.round.end();
        }
        self.flight.done.set(true);
        self.flight.changed.notify_waiters();
        std::mem::take(&mut self.stats)
    }

    async fn send_all(&mut self) -> Result<(), String> {
        if self.frames.is_empty() {
            return Ok(());
        }
        let mut at = 0;
        if let Ok(mut wait) = Pacer::new() {
            wait.wait_until(self.clock.start).await.map_err(|error| error.to_string())?;
        }
        loop {
            let number = self.schedule.take();
            let due = self.schedule.due(number);
            if let Some(pacer) = &mut self.pacer {
                if self.clock.is_over(due) {
                    return Ok(());
                }
                pacer.wait_until(due).await.map_err(|error| error.to_string())?;
            }
            self.room().await;
            let now = Instant::now();
            // An open loop goes on to its last request however late it is.
            let over = self.pacer.is_none() && self.clock.is_over(now);
            if over || self.shared.stopped() {
                return Ok(());
            }
            if self.flight.broken.get() || self.flight.moved.get() || self.round.is_over() {
                self.schedule.give_back(number);
                return Ok(());
            }
            let intended = if self.pacer.is_some() { due } else { now };
            let next = if at + 1 == self.frames.len() { 0 } else { at + 1 };
            let frame = &mut self.frames[std::mem::replace(&mut at, next)];
            if intended >= self.clock.measure_from && !self.shared.claim(frame.records) {
                return Ok(());
            }
            if let Some(producer) = &mut self.producer {
                frame.sequence(producer);
            }
            let correlation_id = self.next_correlation_id;
            self.next_correlation_id = correlation_id.checked_add(1).unwrap_or(0);
            let sent = Sent {
                correlation_id,
                intended,
                records: frame.records,
                payload: frame.payload,
                wire: frame.wire_len(),
                batches: frame.partitions().count() as u64,
            };
            if self.worker.sending.acks == 0 {
                if let Some(trail) = &self.worker.trail {
                    frame.partitions().for_each(|partition| trail.sent(partition, sent.intended));
                }
                self.sender
                    .send(frame.numbered(correlation_id))
                    .await
                    .map_err(|error| connection_error(&error).to_owned())?;
                self.unacknowledged(&sent);
                continue;
            }
            self.flight.sent.borrow_mut().push_back(sent);
            self.flight.changed.notify_waiters();
            self.sender
                .send(frame.numbered(correlation_id))
                .await
                .map_err(|error| connection_error(&error).to_owned())?;
        }
    }

    /// Waits until another request may be in flight.
    async fn room(&self) {
        let limit = self.worker.sending.in_flight as usize;
        while self.flight.sent.borrow().len() >= limit && !self.flight.broken.get() {
            self.flight.changed.notified().await;
        }
    }

    /// Counts a request that is not answered once it is written.
    fn unacknowledged(&mut self, sent: &Sent) {
        let now = Instant::now();
        self.shared.count(sent.records, sent.payload, 0);
        if sent.intended >= self.clock.measure_from {
            self.stats.records += sent.records;
            self.stats.bytes += sent.payload;
            self.stats.wire_bytes += sent.wire;
            self.stats.requests += 1;
            self.stats.batches += sent.batches;
            self.stats.last = Some(now);
            let latency = micros(now.saturating_duration_since(sent.intended));
            self.stats.latency.saturating_record(latency);
        }
    }
}

/// A name for what ended a connection, to be counted by.
pub fn connection_error(error: &thalweg::Error) -> &'static str {
    match error {
        thalweg::Error::Closed { .. } => "CONNECTION_CLOSED",
        thalweg::Error::Connect { .. } => "CANNOT_CONNECT",
        thalweg::Error::Io { .. } => "CONNECTION_FAILED",
        thalweg::Error::Frame { .. } => "BROKEN_FRAME",
        thalweg::Error::Timeout { .. } => "REQUEST_TIMEOUT",
        _ => "CLIENT_ERROR",
    }
}

/// Milliseconds since the epoch.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Checks what options cannot say by themselves.
pub fn check(load: &Load, sending: &Sending) -> Result<(), BenchError> {
    if sending.idempotent && sending.acks != -1 {
        return Err(BenchError::Usage("--idempotent needs --acks all".into()));
    }
    if sending.idempotent && sending.in_flight > 5 {
        return Err(BenchError::Usage("--idempotent allows at most 5 requests in flight".into()));
    }
    if load.batch_of == super::args::BatchOf::Wire && load.batch_bytes < 128 {
        return Err(BenchError::Usage("--batch-bytes is below 128".into()));
    }
    Ok(())
}

/// Runs the command.
pub fn run(args: &ProduceArgs) -> Result<Outcome, BenchError> {
    check(&args.load, &args.sending)?;
    let pool = data::build_pool(&args.load, now_ms())?;
    let runtime = harness::runtime()?;
    let in_flight = args.sending.in_flight as usize;
    let target = &args.target;
    let (cluster, topic, before) = runtime.block_on(async {
        let cluster = harness::connect(&target.bootstrap, &args.limits, in_flight).await?;
        let topic = topic::prepare(&cluster, target, true).await?;
        let before = topic::offsets(&cluster, &target.topic, &topic, topic::LATEST).await?;
        Ok::<_, BenchError>((cluster, topic, before))
    })?;
    let connections = (args.connections as usize).max(harness::leaders(&topic).len());
    let partitions_per_request = args
        .partitions_per_request
        .unwrap_or(PARTITIONS_PER_REQUEST)
        .min(topic.partitions.len() as u32) as usize;
    let shared = Arc::new(Shared::new(args.limits.records));
    let acknowledged = Arc::new(AtomicU64::new(0));
    let ratio = pool.ratio;
    let worker = ProduceWorker {
        options: cluster.options().clone(),
        cluster: cluster.clone(),
        topic_name: target.topic.clone(),
        topic: topic.clone(),
        pool,
        sending: args.sending.clone(),
        connections,
        partitions_per_request,
        rate: args.rate,
        exclusive: false,
        trail: None,
        acknowledged: acknowledged.clone(),
    };
    let length = args.limits.seconds.or(args.limits.records.is_none().then_some(DEFAULT_LENGTH));
    let plan = Plan {
        connections,
        limits: &args.limits,
        length,
        output: &args.output,
        expected: args.limits.records,
    };
    let mut run = harness::run(worker, &shared, &plan)?;
    let acknowledged = acknowledged.load(Ordering::Relaxed);
    let appended = runtime.block_on(closing(&cluster, target, &topic, &before, acknowledged))?;
    if args.sending.acks != 0 && run.stats.error_count() == 0 && appended != acknowledged {
        // Somebody else may be writing too; either way the figures are not to be trusted.
        run.stats.error("LOG_END_MISMATCH");
    }
    let mut report = Report::new("produce", &target.topic, &run);
    report.set("open_loop", args.rate.is_some());
    report.set("appended", appended);
    report.set("config", config(args, topic.partitions.len(), partitions_per_request, ratio));
    report.latency("latency_ms", "latency", &run.stats.latency);
    if args.rate.is_none() {
        report.line("without --rate latencies are those of a closed loop".into());
    }
    report.print(&run, args.output.json)?;
    Ok(run.outcome())
}

/// How many records the logs have got since they ended at `before`; then the topic is deleted where that is asked for.
async fn closing(
    cluster: &Cluster,
    target: &Target,
    topic: &Topic,
    before: &[i64],
    acknowledged: u64,
) -> Result<u64, BenchError> {
    let deadline = Instant::now() + COMMITTED_WITHIN;
    let appended = loop {
        let end = topic::offsets(cluster, &target.topic, topic, topic::LATEST).await?;
        let appended: i64 = end.iter().zip(before).map(|(end, before)| end - before).sum();
        let appended = u64::try_from(appended).unwrap_or(0);
        // What a leader alone has acknowledged is in no offset that it tells before its followers have it.
        if appended >= acknowledged || Instant::now() >= deadline {
            break appended;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    if target.delete_after {
        topic::delete(cluster, target).await?;
    }
    Ok(appended)
}

fn config(
    args: &ProduceArgs,
    partitions: usize,
    partitions_per_request: usize,
    ratio: f64,
) -> serde_json::Value {
    let load = &args.load;
    serde_json::json!({
        "partitions": partitions,
        "record_size": load.record_size,
        "batch_bytes": load.batch_bytes,
        "batch_of": format!("{:?}", load.batch_of).to_lowercase(),
        "compression": load.compression.name(),
        "payload_to_wire": (ratio * 100.0).round() / 100.0,
        "compress_ratio": (load.compression != Compression::None).then_some(load.compress_ratio),
        "acks": args.sending.acks,
        "idempotent": args.sending.idempotent,
        "in_flight": args.sending.in_flight,
        "connections": args.connections,
        "partitions_per_request": partitions_per_request,
        "rate": args.rate,
    })
}
