//! The measured window: when it begins and ends, what was done in it and what it cost.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::json;

use crate::{Failure, Mode, Pause, Poll, Write, failure, sockets};

/// Silence after which a run that waits for records gives up.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Polls between two looks at the clock while records come.
const CLOCK_EVERY: u32 = 64;
/// Records of a warm-up between two looks at the clock.
const WARMUP_STEP: u64 = 1000;

/// What the process has used so far.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// When this was read.
    pub at: Instant,
    user: f64,
    system: f64,
    voluntary: i64,
}

impl Usage {
    /// Of all threads.
    pub fn now() -> Result<Usage, Failure> {
        let usage = getrusage(UsageWho::RUSAGE_SELF)?;
        let seconds =
            |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        Ok(Usage {
            at: Instant::now(),
            user: seconds(usage.user_time()),
            system: seconds(usage.system_time()),
            voluntary: usage.voluntary_context_switches(),
        })
    }
}

/// Counters of the client itself, since it was made; `None` where it has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counters {
    /// Fetch or Produce requests sent.
    pub requests: Option<u64>,
    /// Bytes read from sockets, for where the kernel does not tell.
    pub received: Option<u64>,
}

impl Counters {
    fn since(self, before: Counters) -> Counters {
        let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Counters {
            requests: less(self.requests, before.requests),
            received: less(self.received, before.received),
        }
    }
}

/// What was done with records.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// Records.
    pub records: u64,
    /// Bytes of their values.
    pub bytes: u64,
    /// Same for the same records, in whatever order they came.
    pub checksum: u64,
}

impl Tally {
    /// Touches a record.
    #[inline]
    pub fn record(&mut self, value: Option<&[u8]>, offset: i64, timestamp: i64) {
        let value = value.unwrap_or_default();
        let first = u64::from(value.first().copied().unwrap_or(0));
        self.records += 1;
        self.bytes += value.len() as u64;
        self.checksum = self.checksum.wrapping_add(
            first.wrapping_mul(0x9e37_79b9_7f4a_7c15)
                ^ offset as u64
                ^ (timestamp as u64).rotate_left(24),
        );
    }
}

/// Where a run is.
enum Phase {
    /// Until the first record.
    Waiting,
    /// Until this instant.
    Warmup(Instant),
    /// In the window.
    Measured,
}

/// Follows a consumer from poll to poll.
pub struct Meter {
    /// Partitions that were paused for good, where that was asked for.
    pub held: usize,
    experiment: &'static str,
    mode: Mode,
    warmup: Duration,
    length: Option<Duration>,
    wanted: Option<u64>,
    phase: Phase,
    begun: Usage,
    ended: Option<Usage>,
    counters: Counters,
    counters_after: Counters,
    kernel: Option<u64>,
    kernel_after: Option<u64>,
    tally: Tally,
    tally_before: Tally,
    polls: u64,
    polls_before: u64,
    until_clock: u32,
    last_record: Instant,
    last_records: u64,
}

impl Meter {
    /// For `poll`; to be made right before the first poll.
    pub fn poll(options: &Poll) -> Result<Meter, Failure> {
        let mut meter = Meter::new("poll", options.mode, options.warmup)?;
        meter.length = options.length;
        meter.wanted = options.records;
        if options.records.is_some() {
            meter.phase = Phase::Measured;
        } else if options.idle {
            meter.experiment = "idle";
            meter.phase = Phase::Warmup(meter.begun.at + options.warmup);
        }
        Ok(meter)
    }

    /// For `pause`.
    pub fn pause(options: &Pause) -> Result<Meter, Failure> {
        let mut meter = Meter::new("pause", Mode::Assign, options.warmup)?;
        meter.length = Some(options.length);
        Ok(meter)
    }

    fn new(experiment: &'static str, mode: Mode, warmup: Duration) -> Result<Meter, Failure> {
        let begun = Usage::now()?;
        Ok(Meter {
            held: 0,
            experiment,
            mode,
            warmup,
            length: None,
            wanted: None,
            phase: Phase::Waiting,
            begun,
            ended: None,
            // A window from the first poll counts from nothing.
            counters: Counters { requests: Some(0), received: Some(0) },
            counters_after: Counters::default(),
            // Nothing is connected to a partition yet.
            kernel: Some(0),
            kernel_after: None,
            tally: Tally::default(),
            tally_before: Tally::default(),
            polls: 0,
            polls_before: 0,
            until_clock: 0,
            last_record: begun.at,
            last_records: 0,
        })
    }

    /// Takes a record that a poll gave.
    #[inline]
    pub fn record(&mut self, value: Option<&[u8]>, offset: i64, timestamp: i64) {
        self.tally.record(value, offset, timestamp);
    }

    /// Whether the window has begun.
    pub fn is_measured(&self) -> bool {
        matches!(self.phase, Phase::Measured)
    }

    /// Records so far, those of the warm-up included.
    pub fn records(&self) -> u64 {
        self.tally.records
    }

    /// To be called after each poll, with what the client counts by itself; says whether the
    /// window has ended.
    #[inline]
    pub fn polled(&mut self, counters: impl Fn() -> Counters) -> Result<bool, Failure> {
        self.polls += 1;
        if let Some(wanted) = self.wanted
            && self.tally.records >= wanted
        {
            self.end(counters)?;
            return Ok(true);
        }
        let silent = self.tally.records == self.last_records;
        if self.until_clock > 0 && !silent {
            self.until_clock -= 1;
            self.last_records = self.tally.records;
            return Ok(false);
        }
        self.look(silent, counters)
    }

    #[inline(never)]
    fn look(&mut self, silent: bool, counters: impl Fn() -> Counters) -> Result<bool, Failure> {
        self.until_clock = CLOCK_EVERY;
        let now = Instant::now();
        if !silent {
            self.last_record = now;
            self.last_records = self.tally.records;
        } else if self.experiment != "idle" && now - self.last_record > SILENCE_MAX {
            let text =
                format!("no record for {} s, after {}", SILENCE_MAX.as_secs(), self.tally.records);
            return Err(failure(text));
        }
        match self.phase {
            Phase::Waiting if !silent => self.phase = Phase::Warmup(now + self.warmup),
            Phase::Warmup(until) if now >= until => {
                self.phase = Phase::Measured;
                self.tally_before = self.tally;
                self.polls_before = self.polls;
                self.kernel = sockets::received();
                self.counters = counters();
                self.begun = Usage::now()?;
            }
            Phase::Measured if self.length.is_some_and(|length| now - self.begun.at >= length) => {
                self.end(counters)?;
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }

    fn end(&mut self, counters: impl Fn() -> Counters) -> Result<(), Failure> {
        self.ended = Some(Usage::now()?);
        self.counters_after = counters();
        self.kernel_after = sockets::received();
        Ok(())
    }

    /// First and last instant of the window, for clients that count at intervals.
    pub fn window(&self) -> Option<(Instant, Instant)> {
        Some((self.begun.at, self.ended?.at))
    }

    /// Sets what was counted in the window, where `polled` could not tell.
    pub fn set_counted(&mut self, counted: Counters) {
        self.counters = Counters { requests: Some(0), received: Some(0) };
        self.counters_after = counted;
    }

    /// The report, one line.
    pub fn report(&self, client: &str, version: &str) -> Result<String, Failure> {
        let ended = self.ended.ok_or_else(|| failure("the window did not end"))?;
        let counted = self.counters_after.since(self.counters);
        let kernel = match (self.kernel, self.kernel_after) {
            (Some(before), Some(after)) => Some(after.saturating_sub(before)),
            _ => counted.received,
        };
        let mut report = cost(client, version, self.experiment, self.begun, ended)?;
        let checksum = self.tally.checksum.wrapping_sub(self.tally_before.checksum);
        report.extend([
            ("mode", json!(self.mode.name())),
            ("records", json!(self.tally.records - self.tally_before.records)),
            ("bytes", json!(self.tally.bytes - self.tally_before.bytes)),
            ("polls", json!(self.polls - self.polls_before)),
            ("fetches", json!(counted.requests)),
            ("bytes_received", json!(kernel)),
            ("errors", json!(0)),
            ("held", json!(self.held)),
            ("checksum", json!(format!("{checksum:016x}"))),
        ]);
        line(report)
    }
}

/// The records of a warm-up: steps until its time or its records are over.
pub struct Warmup {
    until: Instant,
    most: u64,
    /// Records so far.
    pub records: u64,
}

impl Warmup {
    /// Begins now.
    pub fn new(options: &Write) -> Warmup {
        Warmup { until: Instant::now() + options.warmup, most: options.warmup_records, records: 0 }
    }

    /// How many records to write next.
    pub fn step(&mut self) -> Option<u64> {
        let step = WARMUP_STEP.min(self.most - self.records);
        if step == 0 || Instant::now() >= self.until {
            return None;
        }
        self.records += step;
        Some(step)
    }
}

/// The report of `write`: `begun` is after the warm-up, `ended` after the last acknowledgement.
pub fn report_write(
    client: &str,
    version: &str,
    (options, warmup): (&Write, u64),
    (begun, ended): (Usage, Usage),
    (before, after): (Counters, Counters),
    errors: u64,
) -> Result<String, Failure> {
    let counted = after.since(before);
    let mut report = cost(client, version, "write", begun, ended)?;
    report.extend([
        ("mode", json!(options.compression)),
        ("records", json!(options.records)),
        ("warmup_records", json!(warmup)),
        ("bytes", json!(options.records.saturating_mul(options.record_size as u64))),
        ("polls", json!(null)),
        ("fetches", json!(counted.requests)),
        ("bytes_received", json!(counted.received)),
        ("errors", json!(errors)),
        ("checksum", json!(null)),
    ]);
    line(report)
}

type Report = Vec<(&'static str, serde_json::Value)>;

fn cost(
    client: &str,
    version: &str,
    experiment: &str,
    begun: Usage,
    ended: Usage,
) -> Result<Report, Failure> {
    let (user, system) = (ended.user - begun.user, ended.system - begun.system);
    Ok(vec![
        ("client", json!(client)),
        ("version", json!(version)),
        ("experiment", json!(experiment)),
        ("seconds", json!((ended.at - begun.at).as_secs_f64())),
        ("cpu_seconds", json!(user + system)),
        ("cpu_user", json!(user)),
        ("cpu_sys", json!(system)),
        ("voluntary_switches", json!(ended.voluntary - begun.voluntary)),
        ("rss_peak_kib", json!(rss_peak_kib()?)),
    ])
}

fn line(report: Report) -> Result<String, Failure> {
    let map: serde_json::Map<String, serde_json::Value> =
        report.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    Ok(serde_json::to_string(&map)?)
}

/// What getrusage calls the maximum begins with that of the process that started this one.
fn rss_peak_kib() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| failure("no VmHWM in /proc/self/status"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_does_not_depend_on_the_order() {
        let records: [(&[u8], i64, i64); 3] = [(b"abc", 1, 10), (b"", 2, 20), (b"xy", 3, -1)];
        let (mut one, mut other) = (Tally::default(), Tally::default());
        for (value, offset, timestamp) in records {
            one.record(Some(value), offset, timestamp);
        }
        for (value, offset, timestamp) in records.into_iter().rev() {
            other.record(Some(value), offset, timestamp);
        }
        assert_eq!((one.records, one.bytes), (3, 5));
        assert_eq!(one.checksum, other.checksum);
        other.record(None, 4, 4);
        assert_ne!(one.checksum, other.checksum);
    }

    #[test]
    fn a_window_of_records_ends_with_the_last() {
        let options = crate::parse(
            "peer poll --bootstrap h:1 --topic t --records 3".split_whitespace().map(Into::into),
        )
        .unwrap();
        let crate::Command::Poll(poll) = options.command else { panic!("poll") };
        let mut meter = Meter::poll(&poll).unwrap();
        assert!(!meter.polled(Counters::default).unwrap());
        meter.record(Some(b"one"), 0, 0);
        meter.record(Some(b"two"), 1, 0);
        assert!(!meter.polled(Counters::default).unwrap());
        assert!(meter.report("c", "v").is_err());
        meter.record(Some(b"three"), 2, 0);
        assert!(meter.polled(Counters::default).unwrap());
        let report: serde_json::Value =
            serde_json::from_str(&meter.report("c", "v").unwrap()).unwrap();
        assert_eq!((&report["records"], &report["bytes"]), (&json!(3), &json!(11)));
        assert_eq!((&report["polls"], &report["fetches"]), (&json!(3), &json!(null)));
    }

    #[test]
    fn a_warm_up_ends_with_its_records_or_its_time() {
        let line = |more: &str| {
            let line = format!(
                "peer write --bootstrap h:1 --topic t --records 1 --payload p --warmup-seconds {more}"
            );
            let options = crate::parse(line.split_whitespace().map(Into::into)).unwrap();
            let crate::Command::Write(write) = options.command else { panic!("write") };
            write
        };
        let mut warmup = Warmup::new(&line("1000 --warmup-records 1500"));
        assert_eq!((warmup.step(), warmup.step(), warmup.step()), (Some(1000), Some(500), None));
        assert_eq!(warmup.records, 1500);
        assert_eq!(Warmup::new(&line("0")).step(), None);
    }

    #[test]
    fn a_window_of_time_begins_after_the_warm_up() {
        let options = crate::parse(
            "peer poll --bootstrap h:1 --topic t --warmup-seconds 0.05 --seconds 0.05"
                .split_whitespace()
                .map(Into::into),
        )
        .unwrap();
        let crate::Command::Poll(poll) = options.command else { panic!("poll") };
        let mut meter = Meter::poll(&poll).unwrap();
        let begun = Instant::now();
        loop {
            meter.record(Some(b"x"), 0, 0);
            std::thread::sleep(Duration::from_micros(50));
            if meter.polled(Counters::default).unwrap() {
                break;
            }
        }
        assert!(begun.elapsed() >= Duration::from_millis(100));
        let report: serde_json::Value =
            serde_json::from_str(&meter.report("c", "v").unwrap()).unwrap();
        assert!(report["seconds"].as_f64().unwrap() >= 0.05);
        assert!(report["records"].as_u64().unwrap() < meter.records());
        assert_eq!(report["records"], report["polls"]);
    }
}
