//! What happens to the group: it is formed, measured at rest, and then has its events, each from a
//! stable group to a stable group, or a storm.

use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::args::Events;
use super::engine::Engine;
use super::figures::Figures;
use super::ledger::{MemberNo, Micros};
use super::process::{BrokerProcess, own_cpu};
use crate::bench::BenchError;
use crate::bench::random::Random;

/// How long the broker is looked at before there is a group.
const IDLE: Micros = 2_000_000;
/// Added to the heartbeats in which nothing may change before a group counts as stable.
const QUIET: Micros = 300_000;
/// Heartbeats in which a group that is not balanced may still move on.
const UNBALANCED_HEARTBEATS: Micros = 3;
/// The same, at least: a coordinator that assigns computes one assignment a second by default
/// (`group.consumer.assignment.interval.ms`).
const UNBALANCED_MIN: Micros = 1_000_000;
/// How long the members of a group that is over may take to leave.
const FAREWELL_MAX: Micros = 30_000_000;
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// What a stretch of the run cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub seconds: f64,
    /// CPU seconds of the broker, where it is known.
    pub broker_cpu: Option<f64>,
    /// CPU seconds of this process.
    pub own_cpu: f64,
    pub heartbeats: u64,
    pub commits: u64,
}

/// One event, or one tick of a storm.
#[derive(Debug)]
pub struct EventResult {
    pub name: String,
    pub figures: Figures,
    pub cost: Cost,
    pub rss: Option<u64>,
    pub is_stable: bool,
}

/// What a storm has beside its ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct StormTotals {
    pub killed: u64,
    /// Partitions of the members at the moment they were killed.
    pub orphaned: u64,
}

/// What the run came to.
#[derive(Debug, Default)]
pub struct Results {
    pub idle: Cost,
    pub rss_before: Option<u64>,
    pub formed: Option<Formed>,
    pub settled: Option<Cost>,
    /// Interval of the heartbeats.
    pub interval: Micros,
    pub events: Vec<EventResult>,
    pub storm: Option<StormTotals>,
    /// Double owners outside the events: while the group was formed or brought back to its size.
    pub other_doubles: u64,
    /// What the group was last waited for in vain, if it was.
    pub not_stable: Option<String>,
}

/// How the group came about.
#[derive(Debug)]
pub struct Formed {
    pub stable_after: Micros,
    pub cost: Cost,
    pub rss: Option<u64>,
    pub doubles: u64,
}

/// Runs a scenario.
pub struct Director<'a> {
    pub engine: &'a mut Engine,
    pub broker: Option<BrokerProcess>,
    pub members: usize,
    /// What instance ids of static members begin with.
    pub instances: Option<String>,
    pub settle: Duration,
    pub timeout: Duration,
    progress: Progress,
    results: Results,
    random: Random,
    named: usize,
}

impl<'a> Director<'a> {
    pub fn new(
        engine: &'a mut Engine,
        broker: Option<BrokerProcess>,
        members: u32,
        instances: Option<String>,
        (settle, timeout): (Duration, Duration),
        quiet: bool,
    ) -> Director<'a> {
        Director {
            engine,
            broker,
            members: members as usize,
            instances,
            settle,
            timeout,
            progress: Progress { shown_at: None, is_on: !quiet && std::io::stderr().is_terminal() },
            results: Results::default(),
            // The same members are stopped in every run.
            random: Random::new(1),
            named: 0,
        }
    }

    /// Forms the group, measures it at rest, and has its events.
    pub fn run(mut self, events: Events) -> Result<Results, BenchError> {
        if self.broker.is_some() {
            let meter = self.meter();
            let until = self.engine.now() + IDLE;
            self.engine.run(until, |_| false)?;
            self.results.idle = self.cost(&meter);
        }
        let first = match events {
            Events::Grow { from, .. } => from as usize,
            _ => self.members,
        };
        // A group that grows from nothing is formed by that.
        if first > 0 {
            self.form(first)?;
            if self.goes_on() {
                self.rest()?;
            }
        }
        match events {
            Events::Join { rounds } => self.rounds(rounds, "join", Director::one_more)?,
            Events::Grow { rounds, from, over } => {
                let from = from as usize;
                self.rounds(rounds, "grow", |director| director.grow(from, over))?;
                self.results.interval = self.engine.interval();
            }
            Events::Leave { rounds } => self.rounds(rounds, "leave", |director| {
                director.one_less(|engine, no| engine.leave(no, false))
            })?,
            Events::Crash { rounds } => {
                self.rounds(rounds, "crash", |director| director.one_less(Engine::crash))?;
            }
            Events::Roll { rounds, down } => {
                let step = |director: &mut Director<'_>| director.roll(down);
                self.rounds(rounds, "roll", step)?;
            }
            Events::Storm { percent, every, length } => self.storm(percent, every, length)?,
            Events::Command { rounds, run } => {
                self.engine.expect_losses(true);
                self.rounds(rounds, "command", |director| director.command(&run))?;
            }
        }
        self.progress.end();
        Ok(self.results)
    }

    fn goes_on(&self) -> bool {
        self.results.not_stable.is_none() && !self.engine.is_interrupted()
    }

    fn meter(&self) -> Meter {
        let counts = &self.engine.counts;
        Meter {
            at: self.engine.now(),
            broker: self.broker.and_then(|broker| broker.cpu()),
            own: own_cpu(),
            heartbeats: counts.heartbeats,
            commits: counts.commits,
        }
    }

    fn cost(&self, since: &Meter) -> Cost {
        let now = self.meter();
        let broker = now.broker.zip(since.broker).map(|(now, then)| now.saturating_sub(then));
        Cost {
            seconds: (now.at - since.at) as f64 / 1e6,
            broker_cpu: broker.map(|cpu| cpu.as_secs_f64()),
            own_cpu: now.own.saturating_sub(since.own).as_secs_f64(),
            heartbeats: now.heartbeats - since.heartbeats,
            commits: now.commits - since.commits,
        }
    }

    fn rss(&self) -> Option<u64> {
        self.broker.and_then(|broker| broker.rss())
    }

    fn spawn(&mut self) -> MemberNo {
        let instance = self.instances.as_ref().map(|group| format!("{group}-{}", self.named));
        self.named += 1;
        self.engine.spawn(instance)
    }

    fn form(&mut self, members: usize) -> Result<(), BenchError> {
        self.results.rss_before = self.rss();
        let meter = self.meter();
        let began = self.engine.now();
        self.engine.ledger.begin(began, false);
        for _ in 0..members {
            self.spawn();
        }
        let is_stable = self.stable("the group to form")?;
        let figures = self.engine.ledger.end(self.engine.now());
        self.results.interval = self.engine.interval();
        self.results.other_doubles += figures.doubles;
        if is_stable {
            self.results.formed = Some(Formed {
                stable_after: figures.stable_after,
                cost: self.cost(&meter),
                rss: self.rss(),
                doubles: figures.doubles,
            });
        }
        Ok(())
    }

    fn rest(&mut self) -> Result<(), BenchError> {
        let meter = self.meter();
        self.engine.ledger.begin(meter.at, false);
        // After a rebalance members send their heartbeats at nearly the same time: only whole
        // intervals have as many as they should.
        let interval = self.results.interval.max(1);
        let until = meter.at + micros(self.settle).div_ceil(interval) * interval;
        let progress = &mut self.progress;
        self.engine.run(until, |engine| {
            progress.show(engine, "at rest");
            false
        })?;
        self.results.settled = Some(self.cost(&meter));
        self.results.other_doubles += self.engine.ledger.end(self.engine.now()).doubles;
        Ok(())
    }

    /// Waits until every member has settled, every partition has an owner, and for a while nothing
    /// has changed; false, and noted, when that does not come about.
    fn stable(&mut self, what: &str) -> Result<bool, BenchError> {
        let until = self.engine.now() + micros(self.timeout);
        let progress = &mut self.progress;
        let is_stable = self.engine.run(until, |engine| {
            progress.show(engine, what);
            if !engine.ledger.is_whole() || !engine.is_connected() {
                return false;
            }
            let since = engine.now().saturating_sub(engine.ledger.changed_at());
            let interval = engine.interval();
            since >= interval + QUIET
                && (since >= (UNBALANCED_HEARTBEATS * interval).max(UNBALANCED_MIN) + QUIET
                    || engine.ledger.is_balanced())
        })?;
        if !is_stable && !self.engine.is_interrupted() {
            let (unsettled, unowned) = self.engine.ledger.unfinished();
            self.results.not_stable = Some(format!(
                "{what}: after {:.1} s {unsettled} members had not settled and {unowned} partitions \
                 had no owner",
                self.timeout.as_secs_f64()
            ));
        }
        Ok(is_stable)
    }

    /// Has the same event so many times, with what brings the group back to its size between.
    fn rounds(
        &mut self,
        rounds: u32,
        name: &str,
        mut event: impl FnMut(&mut Director<'a>) -> Result<Restore, BenchError>,
    ) -> Result<(), BenchError> {
        for round in 1..=rounds {
            if !self.goes_on() {
                return Ok(());
            }
            let meter = self.meter();
            self.engine.ledger.begin(meter.at, false);
            let restore = event(self)?;
            let name = format!("{name} {round}");
            let is_stable = self.stable(&name)?;
            self.record(name, &meter, is_stable);
            if !self.goes_on() {
                return Ok(());
            }
            self.engine.ledger.begin(self.engine.now(), false);
            match restore {
                Restore::Nothing => continue,
                Restore::Leave(members) => {
                    for &no in &members {
                        self.engine.leave(no, false);
                    }
                    if self.engine.living().is_empty() {
                        // An empty group has nothing that could become stable.
                        self.gone(&members)?;
                        self.results.other_doubles +=
                            self.engine.ledger.end(self.engine.now()).doubles;
                        continue;
                    }
                }
                Restore::Spawn => {
                    self.spawn();
                }
            }
            self.stable("the group to be of its size again")?;
            self.results.other_doubles += self.engine.ledger.end(self.engine.now()).doubles;
        }
        Ok(())
    }

    fn record(&mut self, name: String, meter: &Meter, is_stable: bool) {
        let figures = self.engine.ledger.end(self.engine.now());
        let (cost, rss) = (self.cost(meter), self.rss());
        self.results.events.push(EventResult { name, figures, cost, rss, is_stable });
    }

    fn one_more(&mut self) -> Result<Restore, BenchError> {
        Ok(Restore::Leave(vec![self.spawn()]))
    }

    /// The group of `from` members gets the others, one after the other.
    fn grow(&mut self, from: usize, over: Duration) -> Result<Restore, BenchError> {
        let newcomers = self.members.saturating_sub(from);
        let began = self.engine.now();
        let mut joined = Vec::with_capacity(newcomers);
        for nth in 0..newcomers {
            let at = began + micros(over) * nth as u64 / newcomers as u64;
            self.engine.run(at, |_| false)?;
            if self.engine.is_interrupted() {
                break;
            }
            joined.push(self.spawn());
        }
        Ok(Restore::Leave(joined))
    }

    /// Waits until members that leave have left.
    fn gone(&mut self, members: &[MemberNo]) -> Result<(), BenchError> {
        let until = self.engine.now() + micros(self.timeout);
        let is_empty =
            self.engine.run(until, |engine| members.iter().all(|&no| engine.is_gone(no)))?;
        if !is_empty && !self.engine.is_interrupted() {
            let waited = self.timeout.as_secs_f64();
            self.results.not_stable =
                Some(format!("the group to be empty: after {waited:.1} s members had not left"));
        }
        Ok(())
    }

    fn one_less(&mut self, stop: impl Fn(&mut Engine, MemberNo)) -> Result<Restore, BenchError> {
        if let Some(no) = self.victim() {
            stop(self.engine, no);
        }
        Ok(Restore::Spawn)
    }

    /// Somebody with partitions, if anybody has some: the end of another would change nothing.
    fn victim(&mut self) -> Option<MemberNo> {
        let living = self.engine.living();
        let has_some = |no: &MemberNo| self.engine.ledger.held(*no) > 0;
        let with: Vec<MemberNo> = living.iter().copied().filter(has_some).collect();
        let from = if with.is_empty() { &living } else { &with };
        from.get(self.random.below(from.len())).copied()
    }

    fn roll(&mut self, down: Duration) -> Result<Restore, BenchError> {
        let Some(no) = self.victim() else { return Ok(Restore::Nothing) };
        let instance = self.engine.instance(no);
        self.engine.leave(no, true);
        let began = self.engine.now();
        let until = began + micros(self.timeout);
        let down = micros(down);
        self.engine.run(until, |engine| engine.is_gone(no) && engine.now() >= began + down)?;
        match instance {
            Some(instance) => self.engine.revive(no, instance),
            None => {
                self.spawn();
            }
        }
        Ok(Restore::Nothing)
    }

    /// Runs a command, and the members meanwhile. Its output is this program's log: the report is alone on the
    /// standard output.
    fn command(&mut self, run: &str) -> Result<Restore, BenchError> {
        let failed = |source| BenchError::Io { what: format!("--run {run:?}"), source };
        let mut command = Command::new("sh");
        command.args(["-c", run]).stdin(Stdio::null()).stdout(std::io::stderr());
        let mut child = command.spawn().map_err(failed)?;
        let until = self.engine.now() + micros(self.timeout);
        let mut ended = None;
        let waited = self.engine.run(until, |_| {
            ended = child.try_wait().transpose();
            ended.is_some()
        });
        let ended = ended.transpose().map_err(failed)?;
        if ended.is_none() {
            // It is no use any more, whatever ended the wait.
            let _ = child.kill();
            let _ = child.wait();
        }
        waited?;
        match ended {
            Some(status) if status.success() => Ok(Restore::Nothing),
            Some(status) => Err(BenchError::Usage(format!("--run {run:?} ended with {status}"))),
            None if self.engine.is_interrupted() => Ok(Restore::Nothing),
            None => Err(BenchError::Usage(format!(
                "--run {run:?} had not ended after --timeout-seconds {}",
                self.timeout.as_secs_f64()
            ))),
        }
    }

    /// Each tick is looked at by itself, from one to the next; pauses go on over them.
    fn storm(&mut self, percent: u32, every: Duration, length: Duration) -> Result<(), BenchError> {
        let count = (self.members * percent as usize).div_ceil(100);
        let ticks = length.as_micros() / every.as_micros().max(1);
        let began = self.engine.now();
        let mut totals = StormTotals::default();
        for tick in 0..u64::try_from(ticks).unwrap_or(u64::MAX) {
            if !self.goes_on() {
                break;
            }
            let meter = self.meter();
            self.engine.ledger.begin(meter.at, tick > 0);
            let mut living = self.engine.living();
            for _ in 0..count.min(living.len()) {
                let no = living.swap_remove(self.random.below(living.len()));
                totals.killed += 1;
                totals.orphaned += self.engine.ledger.held(no) as u64;
                let instance = self.engine.instance(no);
                self.engine.crash(no);
                match instance {
                    Some(instance) => self.engine.revive(no, instance),
                    None => {
                        self.spawn();
                    }
                }
            }
            let name = format!("tick {}", tick + 1);
            let until = began + micros(every) * (tick + 1);
            let progress = &mut self.progress;
            self.engine.run(until, |engine| {
                progress.show(engine, &name);
                false
            })?;
            self.record(name, &meter, true);
        }
        self.results.storm = Some(totals);
        if self.goes_on() {
            let meter = self.meter();
            self.engine.ledger.begin(meter.at, true);
            let is_stable = self.stable("the end of the storm")?;
            self.record("after it".to_owned(), &meter, is_stable);
        }
        Ok(())
    }
}

/// Lets every member leave, so that the group can be deleted; says whether they did in time.
pub fn disband(engine: &mut Engine) -> Result<bool, BenchError> {
    let members = engine.living();
    for &no in &members {
        engine.leave(no, false);
    }
    let until = engine.now() + FAREWELL_MAX;
    engine.run_out(until, |engine| members.iter().all(|&no| engine.is_gone(no)))
}

/// What brings the group back to its size after an event.
enum Restore {
    Nothing,
    Leave(Vec<MemberNo>),
    Spawn,
}

/// The state of all counters at a moment.
struct Meter {
    at: Micros,
    broker: Option<Duration>,
    own: Duration,
    heartbeats: u64,
    commits: u64,
}

fn micros(duration: Duration) -> Micros {
    u64::try_from(duration.as_micros()).unwrap_or(Micros::MAX)
}

/// A line on a terminal.
struct Progress {
    shown_at: Option<Instant>,
    is_on: bool,
}

impl Progress {
    fn show(&mut self, engine: &Engine, what: &str) {
        if !self.is_on || self.shown_at.is_some_and(|at| at.elapsed() < PROGRESS_EVERY) {
            return;
        }
        self.shown_at = Some(Instant::now());
        let (unsettled, unowned) = engine.ledger.unfinished();
        eprint!(
            "\r\x1b[2K{what}: {} members, {unsettled} not settled, {unowned} partitions unowned",
            engine.ledger.alive()
        );
        let _ = std::io::stderr().flush();
    }

    /// The line is taken back: what stays is the report.
    fn end(&mut self) {
        if self.shown_at.take().is_some() {
            eprint!("\r\x1b[2K");
        }
    }
}
