//! What a run prints: lines and a table to read, or one JSON object.

use clap::ValueEnum as _;
use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

use super::args::{Events, GroupArgs, Plan};
use super::engine::Engine;
use super::figures::{Figures, Samples};
use super::ledger::Micros;
use super::member::Protocol;
use super::process::BrokerProcess;
use super::scenario::{Cost, EventResult, Results};
use crate::bench::{BenchError, Outcome};

/// See the module.
pub struct Report {
    object: Map<String, Value>,
    lines: Vec<String>,
    outcome: Outcome,
}

impl Report {
    pub fn new(
        args: &GroupArgs,
        plan: &Plan,
        engine: &Engine,
        results: Results,
        broker: Option<BrokerProcess>,
    ) -> Report {
        let doubles: u64 = results.events.iter().map(|event| event.figures.doubles).sum();
        let doubles = doubles + results.other_doubles;
        let has_errors =
            doubles > 0 || results.not_stable.is_some() || !engine.counts.errors.is_empty();
        let outcome = match (engine.is_interrupted(), has_errors) {
            (true, _) => Outcome::Interrupted,
            (false, true) => Outcome::Errors,
            (false, false) => Outcome::Clean,
        };
        let mut report = Report { object: Map::new(), lines: Vec::new(), outcome };
        report.begin(args, plan, engine, &results, broker);
        report.group(args, &results);
        report.events(args, plan, &results);
        report.set("double_ownership", doubles);
        report.line(match doubles {
            0 => "no partition had two owners at a time".to_owned(),
            _ => format!(
                "DOUBLE OWNERSHIP: {doubles} times a partition got an owner it had not lost"
            ),
        });
        report.end(engine, &results);
        report
    }

    /// How the run ended.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Prints it.
    pub fn print(&self, as_json: bool) -> Result<(), BenchError> {
        let text = match as_json {
            true => json!(self.object).to_string(),
            false => self.lines.join("\n"),
        };
        crate::bench::print(&text)
    }

    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.object.insert(name.to_owned(), value.into());
    }

    fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    fn begin(
        &mut self,
        args: &GroupArgs,
        plan: &Plan,
        engine: &Engine,
        results: &Results,
        broker: Option<BrokerProcess>,
    ) {
        let (protocol, assignor) = match &plan.protocol {
            Protocol::Classic(assignor) => ("classic", Some(assignor.name().to_owned())),
            Protocol::Consumer(assignor) => ("consumer", assignor.clone()),
        };
        let is_classic = protocol == "classic";
        let commits = args.auto_commit_ms;
        self.set("command", "group");
        self.set("group", engine.spec.group.as_str());
        self.set("topic", args.topic.as_str());
        self.set("protocol", protocol);
        let clients = plan.clients.to_possible_value().filter(|_| !is_classic);
        self.set("clients", clients.as_ref().map(|clients| clients.get_name()));
        self.set("assignor", assignor.clone());
        self.set("scenario", args.scenario.name());
        self.set("members", args.members);
        self.set("partitions", args.partitions);
        self.set("static", args.is_static);
        self.set("auto_commit_ms", commits);
        self.set("heartbeat_ms", ms(results.interval));
        self.set("heartbeat_set_by", if is_classic { "member" } else { "coordinator" });
        self.set("session_ms", is_classic.then_some(plan.session_ms));
        self.set("broker_pid", broker.map(|broker| broker.pid));
        self.line(format!(
            "group of {} {} members, {protocol} protocol{}, {}, {} partitions: {}",
            args.members,
            if args.is_static { "static" } else { "dynamic" },
            clients.map_or_else(String::new, |clients| format!(
                ", clients like {}",
                clients.get_name()
            )),
            assignor.unwrap_or_else(|| "the broker's first assignor".to_owned()),
            args.partitions,
            args.scenario.name(),
        ));
        let session = match is_classic {
            true => format!(", session timeout {} ms", plan.session_ms),
            false => String::new(),
        };
        self.line(format!(
            "heartbeat every {:.0} ms ({}){session}; {}",
            results.interval as f64 / 1e3,
            if is_classic { "--heartbeat-ms" } else { "set by the coordinator" },
            match commits {
                0 => "no commits".to_owned(),
                every => format!("commit every {every} ms"),
            },
        ));
        if broker.is_none() {
            self.line(
                "the broker's process is not known: no CPU time and no memory (--broker-pid)"
                    .to_owned(),
            );
        }
    }

    fn group(&mut self, args: &GroupArgs, results: &Results) {
        let idle = per_second(results.idle.broker_cpu, results.idle.seconds);
        self.set("idle_cpu_per_second", idle.map(|cpu| round(cpu, 5)));
        if let Some(formed) = &results.formed {
            let per_member = formed.rss.zip(results.rss_before).map(|(after, before)| {
                (after as f64 - before as f64) / f64::from(args.members.max(1))
            });
            self.set(
                "formed",
                json!({
                    "stable_after_ms": ms(formed.stable_after),
                    "rss_before": results.rss_before,
                    "rss_after": formed.rss,
                    "rss_bytes_per_member": per_member.map(f64::round),
                    "double_ownership": formed.doubles,
                    "cost": cost(&formed.cost),
                }),
            );
            let memory = match (results.rss_before, formed.rss, per_member) {
                (Some(before), Some(after), Some(each)) => format!(
                    ", broker RSS {:.1} -> {:.1} MiB: {:.1} KiB a member",
                    mib(before),
                    mib(after),
                    each / 1024.0
                ),
                _ => String::new(),
            };
            let after = seconds(formed.stable_after);
            self.line(format!("formed in {after:.2} s{}{memory}", cpu_text(&formed.cost)));
        }
        if let Some(settled) = &results.settled {
            let heartbeats = settled.heartbeats as f64;
            let per_heartbeat =
                |cpu: f64| (heartbeats > 0.0).then(|| cpu.max(0.0) * 1e6 / heartbeats);
            let gross = settled.broker_cpu.and_then(per_heartbeat);
            let net = settled
                .broker_cpu
                .zip(idle)
                .and_then(|(cpu, idle)| per_heartbeat(cpu - idle * settled.seconds));
            self.set(
                "settled",
                json!({
                    "cost": cost(settled),
                    "heartbeats_per_second": round(heartbeats / settled.seconds.max(1e-9), 2),
                    "cpu_us_per_heartbeat": gross.map(|us| round(us, 2)),
                    "cpu_us_per_heartbeat_without_idle": net.map(|us| round(us, 2)),
                }),
            );
            let broker = match (gross, net, settled.broker_cpu) {
                (Some(gross), Some(net), Some(cpu)) => format!(
                    ", broker {:.2} % of a core: {gross:.1} us CPU for each, {net:.1} us less what \
                     it used before there was a group",
                    100.0 * cpu / settled.seconds.max(1e-9)
                ),
                _ => String::new(),
            };
            self.line(format!(
                "at rest for {:.1} s: {:.1} heartbeats/s{broker}",
                settled.seconds,
                heartbeats / settled.seconds.max(1e-9),
            ));
        }
    }

    fn events(&mut self, args: &GroupArgs, plan: &Plan, results: &Results) {
        let partitions = usize::try_from(args.partitions).unwrap_or(0);
        let is_storm = matches!(plan.events, Events::Storm { .. });
        let events = results.events.iter();
        let of_all: Vec<Value> =
            events.map(|event| event_json(event, partitions, is_storm)).collect();
        self.set("events", of_all);
        if results.events.is_empty() {
            return;
        }
        self.lines.extend(table(&results.events, is_storm));
        let mut all = Figures::default();
        let mut pauses = Vec::new();
        let mut kept = Vec::new();
        for event in &results.events {
            all.merge(&event.figures);
            pauses.push(event.figures.slowest_pause);
            kept.push(event.figures.kept_slowest_pause);
        }
        let mean = |of: &[Micros]| of.iter().sum::<u64>() as f64 / of.len() as f64 / 1e3;
        let (orphaned, revoked) = all.unavailable(partitions);
        self.set(
            "summary",
            json!({
                "slowest_pause_mean_ms": round(mean(&pauses), 3),
                "slowest_pause_max_ms": ms(all.slowest_pause),
                "kept_slowest_pause_mean_ms": round(mean(&kept), 3),
                "kept_slowest_pause_max_ms": ms(all.kept_slowest_pause),
                "pauses_ms": samples(&all.pauses),
                "settling_ms": samples(&all.settling),
                "unowned_ms": samples(&all.unowned),
                "rejoins": all.rejoins,
                "newcomers_rejoins": all.newcomers_rejoins,
                "kept_rejoins": all.kept_rejoins,
                "moves": all.moves,
                "least_moves": (!is_storm).then_some(all.least_moves),
                "unavailable_after_stop": round(orphaned, 6),
                "unavailable_after_revocation": round(revoked, 6),
                "killed": results.storm.map(|storm| storm.killed),
                "partitions_of_killed": results.storm.map(|storm| storm.orphaned),
            }),
        );
        self.line(format!(
            "slowest member's pause: mean {:.2} ms, max {:.2} ms; of those that kept all: mean {:.2} \
             ms, max {:.2} ms, {} rejoins",
            mean(&pauses),
            millis(all.slowest_pause),
            mean(&kept),
            millis(all.kept_slowest_pause),
            all.kept_rejoins,
        ));
        if let Some([p50, p99, max]) = all.unowned.percentiles([50.0, 99.0, 100.0]) {
            self.line(format!(
                "a moved partition was unowned for: p50 {:.1}, p99 {:.1}, max {:.1} ms ({} moves)",
                millis(p50),
                millis(p99),
                millis(max),
                all.moves
            ));
        }
        self.line(format!(
            "partitions were without owner for {:.4} % of the time after their owner stopped, and \
             {:.4} % after a live one gave them up",
            orphaned * 100.0,
            revoked * 100.0
        ));
        if let Events::Grow { .. } = plan.events {
            let members = results.events.iter().map(|event| event.figures.members).sum::<usize>();
            let of_each = |count: u64| count as f64 / members.max(1) as f64;
            let rejoins = of_each(all.rejoins + all.newcomers_rejoins);
            self.set("rejoins_per_member", round(rejoins, 3));
            self.line(format!(
                "{rejoins:.2} rejoins of each member, {:.2} of them of newcomers; {} moves, {} at least",
                of_each(all.newcomers_rejoins),
                all.moves,
                all.least_moves,
            ));
        }
        if let Some(storm) = results.storm {
            self.line(format!(
                "{} members were killed, with {} partitions at the time; survivors joined again {} \
                 times",
                storm.killed, storm.orphaned, all.rejoins
            ));
        }
    }

    fn end(&mut self, engine: &Engine, results: &Results) {
        let counts = &engine.counts;
        let own_cpu: f64 = results
            .events
            .iter()
            .map(|event| event.cost.own_cpu)
            .chain(results.settled.map(|cost| cost.own_cpu))
            .chain(results.formed.as_ref().map(|formed| formed.cost.own_cpu))
            .sum();
        let busiest = results
            .events
            .iter()
            .map(|event| event.cost.own_cpu / event.cost.seconds.max(1e-9))
            .fold(0.0, f64::max);
        self.set(
            "load",
            json!({
                "cpu_seconds": round(own_cpu, 3),
                "busiest_event": round(busiest, 4),
                "timers_late_ms": lateness(&counts.late),
                "answers_waited_ms": lateness(&counts.waited),
            }),
        );
        let us = |of: &Histogram<u64>| of.value_at_quantile(0.99) as f64 / 1e3;
        self.line(format!(
            "members simulated with {own_cpu:.2} CPU s, {:.0} % of a core in the busiest event; timers \
             late p99 {:.2} ms, answers waited p99 {:.2} ms (max {:.2} ms)",
            busiest * 100.0,
            us(&counts.late),
            us(&counts.waited),
            counts.waited.max() as f64 / 1e3,
        ));
        let disconnected = &counts.disconnected;
        if !disconnected.is_empty() {
            self.set("disconnected", disconnected.len());
            self.set("disconnected_ms", lateness(disconnected));
            self.line(format!(
                "{} connections were lost and made again: members had none for p50 {:.0}, max {:.0} ms",
                disconnected.len(),
                disconnected.value_at_quantile(0.5) as f64 / 1e3,
                disconnected.max() as f64 / 1e3,
            ));
        }
        self.set("refused", json!(counts.refused));
        self.set("errors", counts.errors.values().sum::<u64>());
        self.set("errors_by_name", json!(counts.errors));
        self.set("not_stable", results.not_stable.clone());
        self.set("interrupted", engine.is_interrupted());
        for (what, of) in [("refused", &counts.refused), ("errors", &counts.errors)] {
            if !of.is_empty() {
                let of: Vec<String> = of.iter().map(|(name, n)| format!("{n} x {name}")).collect();
                self.line(format!("{what}: {}", of.join(", ")));
            }
        }
        if let Some(what) = &results.not_stable {
            self.line(format!("NOT STABLE: {what}"));
        }
    }
}

/// One line for each event.
fn table(events: &[EventResult], is_storm: bool) -> Vec<String> {
    let mut lines = vec![format!(
        "{:<10} {:>10} {:>10} {:>7} {:>10} {:>8} {:>10} {:>8} {:>8} {:>11} {:>24} {:>8}",
        "event",
        "stable ms",
        "pause ms",
        "paused",
        "settle ms",
        "kept all",
        "pause ms",
        "rejoins",
        "by those",
        if is_storm { "moves" } else { "moves/least" },
        "unowned p50/p99/max ms",
        "CPU s",
    )];
    for EventResult { name, figures, cost, is_stable, .. } in events {
        let unowned = figures
            .unowned
            .percentiles([50.0, 99.0, 100.0])
            .map_or("-".into(), |of| of.map(|us| format!("{:.1}", millis(us))).join("/"));
        lines.push(format!(
            "{name:<10} {:>10} {:>10.2} {:>7} {:>10} {:>8} {:>10.2} {:>8} {:>8} {:>11} {unowned:>24} {:>8}",
            if *is_stable { format!("{:.1}", millis(figures.stable_after)) } else { "never".into() },
            millis(figures.slowest_pause),
            figures.paused,
            // From being told to having settled, of the slowest.
            figures.settling.percentiles([100.0]).map_or("-".into(), |[max]| {
                format!("{:.2}", millis(max))
            }),
            figures.kept,
            millis(figures.kept_slowest_pause),
            figures.rejoins,
            figures.kept_rejoins,
            match is_storm {
                true => figures.moves.to_string(),
                false => format!("{}/{}", figures.moves, figures.least_moves),
            },
            cost.broker_cpu.map_or("-".into(), |cpu| format!("{cpu:.2}")),
        ));
    }
    lines
}

fn event_json(event: &EventResult, partitions: usize, is_storm: bool) -> Value {
    let figures = &event.figures;
    let (orphaned, revoked) = figures.unavailable(partitions);
    json!({
        "name": event.name,
        "is_stable": event.is_stable,
        "members": figures.members,
        "stable_after_ms": ms(figures.stable_after),
        "slowest_pause_ms": ms(figures.slowest_pause),
        "paused": figures.paused,
        "pauses_ms": samples(&figures.pauses),
        "told": figures.told,
        "settling_ms": samples(&figures.settling),
        "rejoins": figures.rejoins,
        "newcomers_rejoins": figures.newcomers_rejoins,
        "kept": figures.kept,
        "kept_paused": figures.kept_paused,
        "kept_slowest_pause_ms": ms(figures.kept_slowest_pause),
        "kept_rejoins": figures.kept_rejoins,
        "moves": figures.moves,
        // Between the ticks of a storm the group is not at rest, and a least is not to be had.
        "least_moves": (!is_storm).then_some(figures.least_moves),
        "unowned_ms": samples(&figures.unowned),
        "unavailable_after_stop": round(orphaned, 6),
        "unavailable_after_revocation": round(revoked, 6),
        "double_ownership": figures.doubles,
        "double_ownership_longest_ms": ms(figures.double_longest),
        "rss": event.rss,
        "cost": cost(&event.cost),
    })
}

fn cost(cost: &Cost) -> Value {
    json!({
        "seconds": round(cost.seconds, 3),
        "broker_cpu_seconds": cost.broker_cpu.map(|cpu| round(cpu, 3)),
        "own_cpu_seconds": round(cost.own_cpu, 3),
        "heartbeats": cost.heartbeats,
        "commits": cost.commits,
    })
}

fn samples(samples: &Samples) -> Value {
    match samples.percentiles([50.0, 99.0, 100.0]) {
        Some([p50, p99, max]) => {
            json!({ "count": samples.count(), "p50": ms(p50), "p99": ms(p99), "max": ms(max) })
        }
        None => json!({ "count": 0 }),
    }
}

fn lateness(of: &Histogram<u64>) -> Value {
    let at = |quantile| ms(of.value_at_quantile(quantile));
    json!({ "count": of.len(), "p50": at(0.5), "p99": at(0.99), "max": ms(of.max()) })
}

fn per_second(cpu: Option<f64>, seconds: f64) -> Option<f64> {
    cpu.filter(|_| seconds > 0.0).map(|cpu| cpu / seconds)
}

fn cpu_text(cost: &Cost) -> String {
    cost.broker_cpu.map_or(String::new(), |cpu| format!(", {cpu:.2} CPU s of the broker"))
}

fn millis(us: Micros) -> f64 {
    us as f64 / 1e3
}

fn seconds(us: Micros) -> f64 {
    us as f64 / 1e6
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Milliseconds for JSON.
fn ms(us: Micros) -> f64 {
    round(millis(us), 3)
}

fn round(value: f64, digits: i32) -> f64 {
    let factor = 10f64.powi(digits);
    (value * factor).round() / factor
}
