//! Reading: polls of any size, and polls between which partitions are paused and resumed.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use thalweg::FetchCounts;
use thalweg::{
    Cluster, Consumer, ConsumerConfig, ConsumerRecord, GroupProtocol, OffsetReset, Position,
    Records, TopicPartition,
};

use super::super::BenchError;
use super::super::args::From;
use super::args::{Fetching, Mode, PauseArgs, PollArgs};
use super::usage::Usage;

/// Nothing comes any more.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// Polls with records between two looks at the clock, as in the peers' programs.
const CLOCK_EVERY: u64 = 64;
/// Longest wait of one poll.
const POLL: Duration = Duration::from_secs(1);
/// The same where partitions are paused.
const POLL_PAUSED: Duration = Duration::from_millis(100);

/// What was read, each record looked at.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    pub records: u64,
    pub bytes: u64,
    polls: u64,
    checksum: u64,
}

impl Tally {
    #[inline]
    pub fn look_at(&mut self, record: &ConsumerRecord<'_>) {
        let value = record.value().unwrap_or_default();
        self.records += 1;
        self.bytes += value.len() as u64;
        let first = u64::from(value.first().copied().unwrap_or_default());
        let place = record.offset() as u64 ^ (record.timestamp() as u64).rotate_left(24);
        // The same for the same records, in whatever order their partitions come.
        let mixed = first.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place;
        self.checksum = self.checksum.wrapping_add(mixed);
    }

    /// What was added after `before`.
    pub fn since(&self, before: &Tally) -> Tally {
        Tally {
            records: self.records - before.records,
            bytes: self.bytes - before.bytes,
            polls: self.polls - before.polls,
            checksum: self.checksum.wrapping_sub(before.checksum),
        }
    }

    #[inline]
    fn take(&mut self, records: &Records) {
        for record in records {
            self.look_at(&record);
        }
    }
}

/// A measurement that goes on.
pub(super) struct Window {
    usage: Usage,
    before: FetchCounts,
}

impl Window {
    pub fn open(counts: FetchCounts) -> Window {
        Window { before: counts, usage: Usage::now() }
    }

    /// The report; `peak` is what counted against the budget at most.
    pub fn close(
        &self,
        counts: FetchCounts,
        peak: usize,
        tally: &Tally,
        mode: Mode,
    ) -> Map<String, Value> {
        let mut report = Map::new();
        self.usage.report(&mut report);
        let mut set = |name: &str, value: Value| report.insert(name.to_owned(), value);
        set("mode", mode.name().into());
        set("records", tally.records.into());
        set("bytes", tally.bytes.into());
        set("polls", tally.polls.into());
        set("checksum", format!("{:016x}", tally.checksum).into());
        set("fetches", (counts.requests - self.before.requests).into());
        set("bytes_received", (counts.bytes - self.before.bytes).into());
        set("batch_bytes", (counts.batch_bytes - self.before.batch_bytes).into());
        set("discarded_bytes", (counts.discarded_bytes - self.before.discarded_bytes).into());
        set("partial_bytes", (counts.partial_bytes - self.before.partial_bytes).into());
        set("budget_peak", peak.into());
        set("errors", 0.into());
        report
    }

    fn close_with(&self, consumer: &Consumer, tally: &Tally, mode: Mode) -> Map<String, Value> {
        self.close(consumer.counts(), consumer.budget_used().1, tally, mode)
    }
}

/// Settings of a consumer; as a member of a group, it is one that nobody else is in.
pub(super) fn config(fetching: &Fetching, reset: OffsetReset, mode: Mode) -> ConsumerConfig {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut config = ConsumerConfig::default()
        .with_group_protocol(match mode {
            Mode::Consumer => GroupProtocol::Consumer { server_assignor: None },
            Mode::Assign | Mode::Classic => GroupProtocol::default(),
        })
        .with_fetch_min_bytes(fetching.fetch_min_bytes)
        .with_fetch_max_wait(Duration::from_millis(fetching.fetch_max_wait_ms.into()))
        .with_max_partition_fetch_bytes(fetching.max_partition_fetch_bytes)
        .with_fetch_budget(fetching.fetch_budget)
        .with_auto_offset_reset(reset);
    config.group_id = (mode != Mode::Assign)
        .then(|| format!("bench-{}-{}", std::process::id(), since.as_nanos()));
    config
}

/// Polls a topic, all of whose partitions this reads.
pub async fn poll(cluster: Cluster, args: &PollArgs) -> Result<Map<String, Value>, BenchError> {
    let reset = match args.from {
        From::Earliest => OffsetReset::Earliest,
        From::Latest => OffsetReset::Latest,
    };
    let config = config(&args.fetching, reset, args.mode).with_isolation_level(args.isolation);
    let topic = args.common.topic.as_str();
    let partitions = partitions(&cluster, topic).await?;
    let mut consumer = Consumer::new(cluster, config)?;
    match args.mode {
        Mode::Assign => {
            let all = (0..partitions).map(|index| (TopicPartition::new(topic, index), None));
            consumer.assign(all)?;
        }
        Mode::Classic | Mode::Consumer => consumer.subscribe([topic])?,
    }
    let max = args.max_records as usize;
    let mut tally = Tally::default();
    let mut window = Window::open(consumer.counts());
    let (mut end, mut held) = (None, 0);
    if args.records.is_none() {
        // From the first record on the warm-up counts, then the measurement.
        if !args.idle {
            tally.take(&consumer.poll(max).await?);
        }
        let warm = Instant::now() + args.warmup_seconds;
        while Instant::now() < warm {
            if args.paused_all && held < partitions as usize {
                let assigned = consumer.assignment();
                consumer.pause(&assigned)?;
                held = assigned.len();
            }
            consumer.poll_timeout(max, POLL).await?;
        }
        tally = Tally::default();
        window = Window::open(consumer.counts());
        end = args.seconds.map(|seconds| Instant::now() + seconds);
    }
    let mut last = Instant::now();
    loop {
        let records = consumer.poll_timeout(max, POLL).await?;
        tally.polls += 1;
        tally.take(&records);
        if args.records.is_some_and(|wanted| tally.records >= wanted) {
            break;
        }
        if !records.is_empty() && !tally.polls.is_multiple_of(CLOCK_EVERY) {
            continue;
        }
        let now = Instant::now();
        if !records.is_empty() {
            last = now;
        }
        if end.is_some_and(|end| now >= end) {
            break;
        }
        if end.is_none() && now - last > TIMEOUT {
            let what =
                format!("nothing comes after {} records: {:?}", tally.records, consumer.why());
            return Err(BenchError::Topic { topic: topic.to_owned(), what });
        }
    }
    let mut report = window.close_with(&consumer, &tally, args.mode);
    report.insert("held".into(), json!(held));
    Ok(report)
}

/// Pauses all partitions but some, others before each poll. What runs dry begins anew.
pub async fn pause(cluster: Cluster, args: &PauseArgs) -> Result<Map<String, Value>, BenchError> {
    let topic = args.common.topic.as_str();
    let there = partitions(&cluster, topic).await?;
    let wrong = |what: String| BenchError::Topic { topic: topic.to_owned(), what };
    if i32::try_from(args.partitions).is_ok_and(|wanted| wanted > there) {
        return Err(wrong(format!("has {there} partitions")));
    }
    if args.paused >= args.partitions {
        return Err(BenchError::Usage("--paused must be less than --partitions".into()));
    }
    let mut consumer =
        Consumer::new(cluster, config(&args.fetching, OffsetReset::Earliest, Mode::Assign))?;
    let all: Vec<TopicPartition> =
        (0..args.partitions as i32).map(|index| TopicPartition::new(topic, index)).collect();
    let mut ends: Vec<i64> = vec![0; all.len()];
    for (partition, end) in consumer.end_offsets(&all).await? {
        ends[partition.partition as usize] = end;
    }
    if ends.contains(&0) {
        return Err(wrong("has empty partitions".into()));
    }
    consumer.assign(all.iter().map(|partition| (partition.clone(), Some(Position::at(0)))))?;
    let active = all.len() - args.paused as usize;
    let mut chosen: Vec<usize> = (0..all.len()).collect();
    let mut paused = vec![false; all.len()];
    let mut random = 0x2545_f491_4f6c_dd1du64;
    let mut tally = Tally::default();
    let mut window = None;
    let begun = Instant::now();
    let mut end = begun + args.warmup_seconds;
    let mut next = vec![0i64; all.len()];
    loop {
        // A few of all, each as likely as any other.
        for at in 0..active {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let other = at + (random % (chosen.len() - at) as u64) as usize;
            chosen.swap(at, other);
        }
        for &index in &chosen[active..] {
            if !paused[index] {
                consumer.pause([&all[index]])?;
                paused[index] = true;
            }
        }
        for &index in &chosen[..active] {
            if paused[index] {
                consumer.resume([&all[index]])?;
                paused[index] = false;
            }
        }
        let records = consumer.poll_timeout(args.max_records as usize, POLL_PAUSED).await?;
        tally.polls += 1;
        for record in &records {
            tally.look_at(&record);
            let index = record.partition() as usize;
            if paused[index] || record.offset() != next[index] {
                return Err(wrong(format!("record {} of a paused partition", record.offset())));
            }
            next[index] = record.offset() + 1;
        }
        for &index in &chosen[..active] {
            if next[index] >= ends[index] {
                consumer.seek(&all[index], Position::at(0))?;
                next[index] = 0;
            }
        }
        let is_looked_at = records.is_empty() || tally.polls.is_multiple_of(CLOCK_EVERY);
        if is_looked_at && Instant::now() >= end {
            match &window {
                None => {
                    tally = Tally::default();
                    window = Some(Window::open(consumer.counts()));
                    end = Instant::now() + args.seconds;
                }
                Some(window) => {
                    let mut report = window.close_with(&consumer, &tally, Mode::Assign);
                    report.insert("paused".into(), json!(args.paused));
                    return Ok(report);
                }
            }
        }
    }
}

/// How many partitions a topic has.
pub(super) async fn partitions(cluster: &Cluster, topic: &str) -> Result<i32, BenchError> {
    let (metadata, _) = cluster.refresh(&[topic]).await?;
    let known = metadata.topics.get(topic).ok_or_else(|| BenchError::NoTopic(topic.to_owned()))?;
    Ok(i32::try_from(known.partitions.len()).unwrap_or(i32::MAX))
}
