//! `thalweg bench fetch`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use thalweg::Topic;
use thalweg::error::code_name;
use thalweg::raw;
use thalweg::{Cluster, Options, RawConnection, RawReceiver, RawSender};
use thalweg_records::BatchView;
use thalweg_wire::messages::FetchRequest;
use thalweg_wire::messages::fetch_request::{FetchPartitionRef, FetchRequestRef, FetchTopicRef};
use thalweg_wire::messages::fetch_response::FetchResponseView;
use thalweg_wire::{ApiKey, ErrorCode, Reader, Writer};

use super::args::{FetchArgs, Fetching, From};
use super::follow::{self, Leader, Led, Place, Round};
use super::harness::{self, Clock, Plan, Worker};
use super::latency::Trail;
use super::produce::connection_error;
use super::report::Report;
use super::stats::{Shared, Stats, micros};
use super::verify::Verifier;
use super::{BenchError, Outcome, topic};

/// Length of a run that would not end by itself.
const DEFAULT_LENGTH: Duration = Duration::from_secs(10);
/// Pause after an answer with errors, so that they do not come by the ten thousand.
const ERROR_PAUSE: Duration = Duration::from_millis(100);
/// First epoch of a fetch session, which asks for a new one.
const NEW_SESSION: i32 = 0;

/// Fetches on each connection.
pub struct FetchWorker {
    pub cluster: Cluster,
    pub options: Options,
    pub topic_name: String,
    pub topic: Topic,
    pub fetching: Fetching,
    pub record_size: Option<usize>,
    pub connections: usize,
    /// Offset of each partition to begin at.
    pub begin: Vec<i64>,
    /// Offset of each partition to end at; without it the run ends by time or count.
    pub end: Option<Vec<i64>>,
    /// Records after which the run ends.
    pub records: Option<u64>,
    /// Where the intended times of sending are.
    pub trail: Option<Arc<Trail>>,
}

/// One partition of a connection.
struct Part {
    index: i32,
    offset: i64,
    /// Of its leader, so that no follower takes the fetch, and one that is not the leader any more says so (KIP-320).
    epoch: i32,
    end: Option<i64>,
    /// Whether the session has another offset than this.
    changed: bool,
}

/// One consumer.
pub struct LoadConnection {
    partitions: Vec<i32>,
    first: Link,
}

/// A connection to one broker, with the partitions that it leads.
struct Link {
    broker: i32,
    sender: RawSender,
    receiver: RawReceiver,
    version: i16,
    parts: Vec<Part>,
    /// Slot in `parts` by partition index.
    slots: Vec<Option<usize>>,
    verifier: Verifier,
    session_id: i32,
    session_epoch: i32,
    correlation_id: i32,
    request: Writer,
}

impl Worker for FetchWorker {
    type LoadConnection = LoadConnection;

    async fn open(&self, index: usize) -> Result<LoadConnection, BenchError> {
        let (leader, led) = harness::share_of(&self.cluster, &self.topic, index)?;
        let leaders = harness::leaders(&self.topic).len();
        let (nth, of) = (index / leaders, self.connections.div_ceil(leaders));
        let led: Vec<Led> = led.into_iter().skip(nth).step_by(of).collect();
        let part = |led: &Led| Part {
            index: led.partition,
            offset: self.begin.get(led.partition as usize).copied().unwrap_or(0),
            epoch: led.epoch,
            end: self.end.as_ref().and_then(|end| end.get(led.partition as usize).copied()),
            changed: true,
        };
        let mut parts = led.iter().map(|led| (led.partition, part(led))).collect();
        let first = self.link(leader, &led, &mut parts).await?;
        let partitions = led.into_iter().map(|led| led.partition).collect();
        Ok(LoadConnection { partitions, first })
    }

    async fn run(&self, connection: LoadConnection, clock: Clock, shared: &Shared) -> Stats {
        let LoadConnection { partitions, first } = connection;
        let mut stats = Stats::default();
        tokio::time::sleep_until(clock.start.into()).await;
        let (mut links, mut round) = (vec![first], Round::new(None));
        let place = Place { cluster: &self.cluster, topic: &self.topic_name };
        // What no link has.
        let parts = RefCell::new(BTreeMap::new());
        loop {
            let running = links.iter_mut().map(|link| self.run_link(link, &round, clock, shared));
            follow::all(running).await.iter().for_each(|of_link| stats.merge(of_link));
            if !round.is_over() {
                return stats;
            }
            let left = links.drain(..).flat_map(|link| link.parts);
            parts.borrow_mut().extend(left.map(|part| (part.index, part)));
            let open = async |leader: Leader, led: Vec<Led>| {
                let mut taken = std::mem::take(&mut *parts.borrow_mut());
                let link = self.link(leader, &led, &mut taken).await;
                parts.borrow_mut().append(&mut taken);
                link
            };
            let found = follow::reopen(&place, &partitions, clock, shared, &mut stats, open).await;
            let Some(found) = found else { return stats };
            (links, round) = found;
        }
    }
}

impl FetchWorker {
    /// Connects to a broker that leads these partitions, and takes them.
    async fn link(
        &self,
        leader: Leader,
        led: &[Led],
        parts: &mut BTreeMap<i32, Part>,
    ) -> Result<Link, BenchError> {
        let connection = RawConnection::open(&leader.address, &self.options).await?;
        let version = connection.version_of::<FetchRequest>()?;
        let (sender, receiver) = connection.split();
        let taken = led.iter().filter_map(|led| {
            let part = parts.remove(&led.partition)?;
            Some(Part { epoch: led.epoch, changed: true, ..part })
        });
        let parts: Vec<Part> = taken.collect();
        let mut slots = vec![None; self.topic.partitions.len()];
        for (slot, part) in parts.iter().enumerate() {
            if let Some(of_index) = slots.get_mut(part.index as usize) {
                *of_index = Some(slot);
            }
        }
        Ok(Link {
            broker: leader.id,
            sender,
            receiver,
            version,
            parts,
            slots,
            verifier: Verifier::new(self.fetching.verify, self.record_size),
            session_id: 0,
            session_epoch: NEW_SESSION,
            correlation_id: 16,
            request: Writer::new(),
        })
    }

    /// Runs a link until the run is over, or the round.
    async fn run_link(
        &self,
        link: &mut Link,
        round: &Round,
        clock: Clock,
        shared: &Shared,
    ) -> Stats {
        let mut stats = Stats::default();
        while !link.at_end() && !shared.stopped() && !clock.is_over(Instant::now()) {
            if self.records.is_some_and(|limit| shared.records.load(Ordering::Relaxed) >= limit) {
                shared.stop();
                break;
            }
            if round.is_over() {
                break;
            }
            match self.fetch_once(link, clock, shared, &mut stats).await {
                Ok(false) => {}
                Ok(true) => round.end(),
                Err(error) => {
                    shared.count(0, 0, 1);
                    stats.error(error);
                    round.end();
                }
            }
        }
        stats.of_broker(link.broker)
    }
}

impl Link {
    fn at_end(&self) -> bool {
        self.parts.iter().all(|part| part.end.is_some_and(|end| part.offset >= end))
    }

    /// Writes the next request of the session: all partitions when it is new, then those whose
    /// offset moved.
    fn write_request(&mut self, worker: &FetchWorker) -> Result<(), String> {
        let new = self.session_epoch == NEW_SESSION;
        let partitions: Vec<FetchPartitionRef<'_>> = self
            .parts
            .iter()
            .filter(|part| new || part.changed)
            .map(|part| FetchPartitionRef {
                partition: part.index,
                current_leader_epoch: part.epoch,
                fetch_offset: part.offset,
                last_fetched_epoch: -1,
                log_start_offset: -1,
                partition_max_bytes: worker.fetching.partition_max_bytes,
                ..FetchPartitionRef::default()
            })
            .collect();
        let topics = [FetchTopicRef {
            topic: &worker.topic_name,
            topic_id: worker.topic.id,
            partitions: &partitions,
        }];
        let request = FetchRequestRef {
            max_wait_ms: worker.fetching.max_wait_ms,
            min_bytes: worker.fetching.min_bytes,
            max_bytes: worker.fetching.max_bytes,
            session_id: self.session_id,
            session_epoch: self.session_epoch,
            topics: if partitions.is_empty() { &[] } else { &topics },
            ..FetchRequestRef::default()
        };
        let w = &mut self.request;
        let client_id = &worker.options.client_id;
        raw::begin_request(w, ApiKey::FETCH, self.version, client_id)
            .and_then(|()| request.encode(w, self.version))
            .and_then(|()| w.end_frame())
            .map_err(|error| error.to_string())?;
        self.correlation_id = self.correlation_id.checked_add(1).unwrap_or(0);
        raw::set_correlation_id(w.inline_mut(), self.correlation_id);
        self.parts.iter_mut().for_each(|part| part.changed = false);
        Ok(())
    }

    /// Starts the session over.
    fn reset_session(&mut self) {
        (self.session_id, self.session_epoch) = (0, NEW_SESSION);
    }
}

impl FetchWorker {
    /// Asks once; says whether a partition is led elsewhere. After an error the connection is of no more use.
    async fn fetch_once(
        &self,
        link: &mut Link,
        clock: Clock,
        shared: &Shared,
        stats: &mut Stats,
    ) -> Result<bool, String> {
        link.write_request(self)?;
        let failed = |error: thalweg::Error| connection_error(&error).to_owned();
        let asked = Instant::now();
        link.sender.send(link.request.inline()).await.map_err(failed)?;
        let limit = self.options.request_timeout
            + Duration::from_millis(self.fetching.max_wait_ms.unsigned_abs().into());
        let limit = match clock.end {
            // What is on its way at the end does not count.
            Some(end) => limit.min(end.saturating_duration_since(asked)),
            None => limit,
        };
        let frame = match tokio::time::timeout(limit, link.receiver.recv()).await {
            Ok(frame) => frame.map_err(failed)?,
            Err(_) if clock.is_over(Instant::now()) => return Ok(false),
            Err(_) => return Err("REQUEST_TIMEOUT".to_owned()),
        };
        let arrived = Instant::now();
        let broken = |_| "BROKEN_RESPONSE".to_owned();
        let mut r = Reader::new(frame);
        if r.i32().map_err(broken)? != link.correlation_id {
            return Err("WRONG_CORRELATION_ID".to_owned());
        }
        if ApiKey::FETCH.response_header_version(link.version) >= 1 {
            r.tags(None, |_, _| Ok(false)).map_err(broken)?;
        }
        let response = FetchResponseView::parse(&mut r, link.version).map_err(broken)?;
        let mut arrival = Arrival {
            worker: self,
            clock,
            arrived,
            part: Stats::default(),
            refused: 0,
            moved: false,
        };
        let mut session = (response.session_id, link.session_epoch);
        match response.error_code {
            ErrorCode::NONE => {
                for topic in response.responses {
                    for partition in topic.partitions {
                        let slot = usize::try_from(partition.partition_index)
                            .ok()
                            .and_then(|index| link.slots.get(index).copied().flatten());
                        match slot.and_then(|slot| link.parts.get_mut(slot)) {
                            Some(part) => arrival.partition(
                                part,
                                partition.error_code,
                                partition.records.unwrap_or_default(),
                                &mut link.verifier,
                            ),
                            None => arrival.part.error("UNKNOWN_PARTITION"),
                        }
                    }
                }
                // Without a session the broker wants all partitions each time.
                session.1 = if session.0 == 0 {
                    NEW_SESSION
                } else {
                    session.1.checked_add(1).unwrap_or(1)
                };
            }
            ErrorCode::FETCH_SESSION_ID_NOT_FOUND | ErrorCode::INVALID_FETCH_SESSION_EPOCH => {
                session = (0, NEW_SESSION);
            }
            code => {
                arrival.part.error(code_name(code));
                arrival.refused += 1;
            }
        }
        let wire = frame.len() as u64;
        (link.session_id, link.session_epoch) = session;
        let Arrival { part, refused, moved, .. } = arrival;
        shared.count(part.records, part.bytes, part.error_count());
        if arrived >= clock.measure_from {
            if part.records > 0 {
                stats.last = Some(arrived);
            }
            stats.wire_bytes += wire;
            stats.requests += 1;
            // A refusal comes soon.
            if refused == 0 || part.records > 0 {
                stats.latency.saturating_record(micros(arrived - asked));
            }
            stats.merge(&part);
        } else {
            // Errors count at all times.
            for (name, count) in &part.errors {
                *stats.errors.entry(name.clone()).or_default() += count;
            }
        }
        if refused > 0 && !moved {
            link.reset_session();
            tokio::time::sleep(ERROR_PAUSE).await;
        }
        Ok(moved)
    }
}

/// One response on its way through the checks.
struct Arrival<'a> {
    worker: &'a FetchWorker,
    clock: Clock,
    arrived: Instant,
    part: Stats,
    refused: u64,
    /// Whether a partition is led elsewhere.
    moved: bool,
}

impl Arrival<'_> {
    fn partition(
        &mut self,
        part: &mut Part,
        code: ErrorCode,
        records: &[u8],
        verifier: &mut Verifier,
    ) {
        if code != ErrorCode::NONE {
            self.part.error(code_name(code));
            self.refused += 1;
            self.moved |= follow::is_to_be_located_anew(code);
            return;
        }
        let before = part.offset;
        let (trail, arrived, measure_from) =
            (self.worker.trail.as_deref(), self.arrived, self.clock.measure_from);
        let mut end_to_end = Vec::new();
        let on_batch = |batch: &BatchView<'_>| {
            if let Some(trail) = trail {
                end_to_end.extend(trail.arrived((part.index, batch.base_offset()), arrived));
            }
        };
        verifier.batches(records, &mut part.offset, &mut self.part, on_batch);
        for sent in end_to_end.into_iter().filter(|sent| *sent >= measure_from) {
            let latency = micros(arrived.saturating_duration_since(sent));
            self.part.end_to_end.saturating_record(latency);
        }
        part.changed |= part.offset != before;
    }
}

/// Runs the command.
pub fn run(args: &FetchArgs) -> Result<Outcome, BenchError> {
    let runtime = harness::runtime()?;
    let target = &args.target;
    if target.recreate {
        return Err(BenchError::Usage("--recreate would leave nothing to fetch".into()));
    }
    let (cluster, topic, begin, end) = runtime.block_on(async {
        let cluster = harness::connect(&target.bootstrap, &args.limits, 1).await?;
        // A tail may wait for a topic that nobody has produced to.
        let topic = topic::prepare(&cluster, target, args.from == From::Latest).await?;
        let end = topic::offsets(&cluster, &target.topic, &topic, topic::LATEST).await?;
        let begin = match args.from {
            From::Earliest => {
                topic::offsets(&cluster, &target.topic, &topic, topic::EARLIEST).await?
            }
            From::Latest => end.clone(),
        };
        Ok::<_, BenchError>((cluster, topic, begin, end))
    })?;
    let connections = (args.connections as usize).max(harness::leaders(&topic).len());
    let limits = &args.limits;
    let unlimited = limits.seconds.is_none() && limits.records.is_none();
    let to_end = unlimited && args.from == From::Earliest;
    let there: i64 = end.iter().zip(&begin).map(|(end, begin)| end - begin).sum();
    let shared = Arc::new(Shared::new(None));
    let worker = FetchWorker {
        options: cluster.options().clone(),
        cluster: cluster.clone(),
        topic_name: target.topic.clone(),
        topic: topic.clone(),
        fetching: args.fetching.clone(),
        record_size: args.record_size,
        connections,
        begin,
        end: to_end.then_some(end),
        records: limits.records,
        trail: None,
    };
    let length = limits.seconds.or((unlimited && !to_end).then_some(DEFAULT_LENGTH));
    let plan = Plan {
        connections,
        limits,
        length,
        output: &args.output,
        expected: limits.records.or(to_end.then_some(there.unsigned_abs())),
    };
    let mut run = harness::run(worker, &shared, &plan)?;
    let fetched = shared.records.load(Ordering::Relaxed);
    if to_end && !run.interrupted && run.stats.error_count() == 0 && fetched != there as u64 {
        run.stats.error("RECORD_COUNT_MISMATCH");
    }
    if target.delete_after {
        runtime.block_on(topic::delete(&cluster, target))?;
    }
    let mut report = Report::new("fetch", &target.topic, &run);
    report.set("partial_batches", run.stats.partial_batches);
    report.set(
        "config",
        serde_json::json!({
            "partitions": topic.partitions.len(),
            "connections": connections,
            "from": format!("{:?}", args.from).to_lowercase(),
            "verify": format!("{:?}", args.fetching.verify).to_lowercase(),
            "max_wait_ms": args.fetching.max_wait_ms,
            "min_bytes": args.fetching.min_bytes,
            "max_bytes": args.fetching.max_bytes,
            "partition_max_bytes": args.fetching.partition_max_bytes,
        }),
    );
    report.latency("latency_ms", "request to response", &run.stats.latency);
    report.print(&run, args.output.json)?;
    Ok(run.outcome())
}
