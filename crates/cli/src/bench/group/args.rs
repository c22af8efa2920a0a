//! Options of `thalweg bench group`, and what they come to.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::assignor::Assignor;
use super::member::{Clients, Protocol};
use crate::bench::BenchError;
use crate::bench::args::{Output, Target, parse_seconds};
use crate::client::bootstrap;

const HEARTBEAT_MS: u32 = 3000;
const SESSION_MS: u32 = 45_000;
const ROUNDS: u32 = 8;
const DOWN_MS: u32 = 1000;
const OVER_MS: u32 = 2000;
const STORM_PERCENT: u32 = 10;
const STORM_EVERY_MS: u32 = 5000;
const STORM_LENGTH: Duration = Duration::from_secs(60);

/// Options of `thalweg bench group`.
#[derive(Args, Clone)]
pub struct GroupArgs {
    /// Brokers to begin with: host:port,host:port [default: $THALWEG_BOOTSTRAP, then 127.0.0.1:9092]
    #[arg(short, long = "bootstrap-server", alias = "bootstrap", default_value_t = bootstrap(), hide_default_value = true)]
    pub bootstrap: String,
    /// Topic that the members subscribe to; created if it is missing, and then deleted after the
    /// run.
    #[arg(long, default_value = "bench-group")]
    pub topic: String,
    /// Partitions of the topic.
    #[arg(long, default_value = "100", value_parser = clap::value_parser!(i32).range(1..=1_000_000))]
    pub partitions: i32,
    /// Replication factor for a topic that is created [default: the broker's].
    #[arg(long, value_parser = clap::value_parser!(i16).range(1..))]
    pub replication_factor: Option<i16>,
    /// Config of a topic that is created, as name=value; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub topic_config: Vec<String>,
    /// Delete the topic first if it is there.
    #[arg(long)]
    pub recreate: bool,
    /// Leave topic and group where they are after the run.
    #[arg(long)]
    pub keep: bool,
    /// `group.id` [default: a new one].
    #[arg(long)]
    pub group: Option<String>,
    /// `group.protocol`: the classic one, or KIP-848's.
    #[arg(long, value_enum, default_value = "classic")]
    pub protocol: ProtocolName,
    /// What members of the consumer protocol are like where clients differ [default: java]: Java's client acknowledges
    /// an empty first assignment at once, librdkafka sends nothing before its next heartbeat is due.
    #[arg(long, value_enum)]
    pub clients: Option<Clients>,
    /// Classic: range, roundrobin, sticky or cooperative-sticky [default: range]. Consumer: uniform,
    /// range or another that the broker has [default: the broker's first].
    #[arg(long)]
    pub assignor: Option<String>,
    /// Members of the group, each with a connection of its own.
    #[arg(long, default_value = "100", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub members: u32,
    /// Members are static (`group.instance.id`).
    #[arg(long = "static")]
    pub is_static: bool,
    /// What happens to the group.
    #[arg(long, value_enum, default_value = "join")]
    pub scenario: Scenario,
    /// How often it happens (all but storm); as often between two of them the group is brought back
    /// to its size, which is not measured [default: 8; of a command once].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// What `--scenario command` runs in each round, by `sh -c`: "systemctl restart kafka", say. The round
    /// is over when it has ended and the group is stable.
    #[arg(long, value_name = "COMMAND")]
    pub run: Option<String>,
    /// How long a member that is rolled stays away [default: 1000].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32))]
    pub down_ms: Option<u32>,
    /// Members that the group has before it grows [default: 0].
    #[arg(long, value_name = "MEMBERS", value_parser = clap::value_parser!(u32))]
    pub grow_from: Option<u32>,
    /// Time in which the others of --members join, one after the other [default: 2000].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(..=3_600_000))]
    pub over_ms: Option<u32>,
    /// Length of a storm, in seconds [default: 60].
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub duration: Option<Duration>,
    /// Share of the members that are killed and replaced at each tick of a storm [default: 10].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub storm_percent: Option<u32>,
    /// From one tick of a storm to the next [default: 5000].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(1..))]
    pub storm_every_ms: Option<u32>,
    /// `heartbeat.interval.ms` of classic members [default: 3000]; with KIP-848 it is the broker's.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=3_600_000))]
    pub heartbeat_ms: Option<u32>,
    /// `session.timeout.ms` of classic members [default: 45000]; with KIP-848 it is the broker's.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=86_400_000))]
    pub session_ms: Option<u32>,
    /// `max.poll.interval.ms`: how long the group waits for a member in a rebalance.
    #[arg(long, default_value = "300000", value_parser = clap::value_parser!(u32).range(1..=86_400_000))]
    pub rebalance_ms: u32,
    /// `auto.commit.interval.ms`; 0: members commit nothing.
    #[arg(long, default_value = "0", value_parser = clap::value_parser!(u32).range(..=86_400_000))]
    pub auto_commit_ms: u32,
    /// How long the settled group is measured before anything happens to it, rounded up to whole
    /// heartbeat intervals.
    #[arg(long, default_value = "5", value_parser = parse_seconds)]
    pub settle_seconds: Duration,
    /// Longest wait for the group to become stable.
    #[arg(long, default_value = "300", value_parser = parse_seconds)]
    pub timeout_seconds: Duration,
    /// Process of the coordinator, whose CPU time and memory are measured [default: the one that
    /// listens on its port, if that is on this machine].
    #[arg(long)]
    pub broker_pid: Option<u32>,
    #[command(flatten)]
    pub(in crate::bench) output: Output,
}

/// Names of the protocols.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ProtocolName {
    Classic,
    Consumer,
}

/// What happens to the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Scenario {
    /// One member more.
    Join,
    /// Many members join, one after the other.
    Grow,
    /// A member leaves.
    Leave,
    /// A member is killed; the coordinator notices when its session times out.
    Crash,
    /// A member is stopped and comes back, as in a rolling restart.
    Roll,
    /// Again and again a share of the members is killed and replaced.
    Storm,
    /// A command is run (--run); members that lose their connections meanwhile connect again.
    Command,
}

impl Scenario {
    pub fn name(self) -> &'static str {
        match self {
            Scenario::Join => "join",
            Scenario::Grow => "grow",
            Scenario::Leave => "leave",
            Scenario::Crash => "crash",
            Scenario::Roll => "roll",
            Scenario::Storm => "storm",
            Scenario::Command => "command",
        }
    }
}

/// The options after the defaults were put in and contradictions refused.
#[derive(Clone, Debug)]
pub struct Plan {
    pub protocol: Protocol,
    pub clients: Clients,
    pub heartbeat_ms: u32,
    pub session_ms: u32,
    pub events: Events,
}

/// What happens, and how often.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Events {
    Join { rounds: u32 },
    Grow { rounds: u32, from: u32, over: Duration },
    Leave { rounds: u32 },
    Crash { rounds: u32 },
    Roll { rounds: u32, down: Duration },
    Storm { percent: u32, every: Duration, length: Duration },
    Command { rounds: u32, run: String },
}

impl GroupArgs {
    /// Checks what the parser cannot.
    pub fn plan(&self) -> Result<Plan, BenchError> {
        let usage = |what: String| Err(BenchError::Usage(what));
        let protocol = match self.protocol {
            ProtocolName::Classic => Protocol::Classic(self.classic_assignor()?),
            ProtocolName::Consumer => {
                for (option, config, is_given) in [
                    ("--heartbeat-ms", "heartbeat.interval.ms", self.heartbeat_ms.is_some()),
                    ("--session-ms", "session.timeout.ms", self.session_ms.is_some()),
                ] {
                    if is_given {
                        return usage(format!(
                            "{option} is for --protocol classic; with consumer it is the broker's: \
                             set group.consumer.{config} there, or consumer.{config} of the group"
                        ));
                    }
                }
                Protocol::Consumer(self.assignor.clone())
            }
        };
        let (heartbeat_ms, session_ms) =
            (self.heartbeat_ms.unwrap_or(HEARTBEAT_MS), self.session_ms.unwrap_or(SESSION_MS));
        if heartbeat_ms >= session_ms {
            return usage(format!(
                "--heartbeat-ms {heartbeat_ms} must be below --session-ms {session_ms}"
            ));
        }
        let is_storm = self.scenario == Scenario::Storm;
        let is_growing = self.scenario == Scenario::Grow;
        for (option, is_given, is_used) in [
            ("--clients", self.clients.is_some(), self.protocol == ProtocolName::Consumer),
            ("--rounds", self.rounds.is_some(), !is_storm),
            ("--run", self.run.is_some(), self.scenario == Scenario::Command),
            ("--down-ms", self.down_ms.is_some(), self.scenario == Scenario::Roll),
            ("--grow-from", self.grow_from.is_some(), is_growing),
            ("--over-ms", self.over_ms.is_some(), is_growing),
            ("--duration", self.duration.is_some(), is_storm),
            ("--storm-percent", self.storm_percent.is_some(), is_storm),
            ("--storm-every-ms", self.storm_every_ms.is_some(), is_storm),
        ] {
            if is_given && !is_used {
                let with = match option {
                    "--clients" => "--protocol classic".to_owned(),
                    _ => format!("--scenario {}", self.scenario.name()),
                };
                return usage(format!("{option} means nothing with {with}"));
            }
        }
        if self.members < 2 && matches!(self.scenario, Scenario::Leave | Scenario::Crash) {
            let scenario = self.scenario.name();
            return usage(format!("--scenario {scenario} needs --members 2 at least: one is left"));
        }
        let from = self.grow_from.unwrap_or(0);
        if is_growing && from >= self.members {
            let members = self.members;
            return usage(format!("--grow-from {from} must be below --members {members}"));
        }
        if self.topic.is_empty() || self.group.as_deref() == Some("") {
            return usage("--topic and --group must not be empty".to_owned());
        }
        let rounds = self.rounds.unwrap_or(ROUNDS);
        let ms =
            |ms: Option<u32>, default: u32| Duration::from_millis(ms.unwrap_or(default).into());
        let events = match self.scenario {
            Scenario::Join => Events::Join { rounds },
            Scenario::Grow => Events::Grow { rounds, from, over: ms(self.over_ms, OVER_MS) },
            Scenario::Leave => Events::Leave { rounds },
            Scenario::Crash => Events::Crash { rounds },
            Scenario::Roll => Events::Roll { rounds, down: ms(self.down_ms, DOWN_MS) },
            Scenario::Storm => Events::Storm {
                percent: self.storm_percent.unwrap_or(STORM_PERCENT),
                every: ms(self.storm_every_ms, STORM_EVERY_MS),
                length: self.duration.unwrap_or(STORM_LENGTH),
            },
            Scenario::Command => match &self.run {
                Some(run) => Events::Command { rounds: self.rounds.unwrap_or(1), run: run.clone() },
                None => return usage("--scenario command needs --run COMMAND".to_owned()),
            },
        };
        if let Events::Storm { every, length, .. } = events
            && length < every
        {
            return usage("--duration is shorter than --storm-every-ms: no tick fits".to_owned());
        }
        let clients = self.clients.unwrap_or(Clients::Java);
        Ok(Plan { protocol, clients, heartbeat_ms, session_ms, events })
    }

    fn classic_assignor(&self) -> Result<Assignor, BenchError> {
        let Some(name) = &self.assignor else { return Ok(Assignor::Range) };
        let known = Assignor::value_variants().iter().find(|assignor| assignor.name() == name);
        known.copied().ok_or_else(|| {
            BenchError::Usage(format!(
                "--assignor {name}: classic members have range, roundrobin, sticky and \
                 cooperative-sticky"
            ))
        })
    }

    /// The topic, for what all bench commands share.
    pub(in crate::bench) fn target(&self) -> Target {
        Target {
            bootstrap: self.bootstrap.clone(),
            topic: self.topic.clone(),
            partitions: Some(self.partitions),
            replication_factor: self.replication_factor,
            topic_config: self.topic_config.clone(),
            recreate: self.recreate,
            delete_after: !self.keep,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        group: GroupArgs,
    }

    fn plan(line: &str) -> Result<Plan, String> {
        let words = std::iter::once("group").chain(line.split_whitespace());
        let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
        command.group.plan().map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_those_of_the_java_client() {
        let plan = plan("").unwrap();
        assert_eq!(plan.protocol, Protocol::Classic(Assignor::Range));
        assert_eq!((plan.heartbeat_ms, plan.session_ms), (3000, 45_000));
        assert_eq!(plan.events, Events::Join { rounds: 8 });
    }

    #[test]
    fn every_option_is_used_or_refused() {
        for (line, says) in [
            ("--protocol consumer --heartbeat-ms 100", "group.consumer.heartbeat.interval.ms"),
            ("--protocol consumer --session-ms 1000", "group.consumer.session.timeout.ms"),
            ("--assignor uniform", "cooperative-sticky"),
            ("--assignor Range", "cooperative-sticky"),
            ("--heartbeat-ms 5000 --session-ms 5000", "below --session-ms"),
            ("--scenario storm --rounds 3", "--rounds means nothing"),
            ("--clients both", "--clients means nothing with --protocol classic"),
            ("--scenario join --duration 3", "--duration means nothing"),
            ("--scenario join --down-ms 3", "--down-ms means nothing"),
            ("--scenario join --grow-from 3", "--grow-from means nothing"),
            ("--scenario roll --over-ms 3", "--over-ms means nothing"),
            ("--scenario grow --members 3 --grow-from 3", "below --members 3"),
            ("--scenario grow --over-ms 3600001", "--over-ms"),
            ("--scenario crash --storm-percent 3", "--storm-percent means nothing"),
            ("--scenario roll --storm-every-ms 3", "--storm-every-ms means nothing"),
            ("--scenario storm --duration 1", "no tick fits"),
            ("--scenario leave --members 1", "--members 2"),
            ("--group= --members 3", "must not be empty"),
            ("--topic=", "must not be empty"),
            ("--members 0", "--members"),
            ("--partitions 0", "--partitions"),
            ("--rounds 0", "--rounds"),
            ("--scenario storm --storm-percent 0", "--storm-percent"),
            ("--scenario storm --storm-percent 101", "--storm-percent"),
            ("--scenario storm --storm-every-ms 0", "--storm-every-ms"),
            ("--scenario quake", "--scenario"),
            ("--scenario command", "--run COMMAND"),
            ("--scenario join --run true", "--run means nothing"),
            ("--protocol share", "--protocol"),
            ("--heartbeat-ms 0", "--heartbeat-ms"),
            ("--session-ms x", "--session-ms"),
            ("--auto-commit-ms=-1", "--auto-commit-ms"),
            ("--settle-seconds=-1", "--settle-seconds"),
            ("--timeout-seconds never", "--timeout-seconds"),
            ("--broker-pid me", "--broker-pid"),
            ("--replication-factor 0", "--replication-factor"),
        ] {
            let error = plan(line).expect_err(line);
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn scenarios_take_their_own_options() {
        assert_eq!(
            plan("--scenario roll --rounds 3 --down-ms 20").unwrap().events,
            Events::Roll { rounds: 3, down: Duration::from_millis(20) }
        );
        assert_eq!(
            plan("--scenario storm --storm-percent 20 --storm-every-ms 500 --duration 2")
                .unwrap()
                .events,
            Events::Storm {
                percent: 20,
                every: Duration::from_millis(500),
                length: Duration::from_secs(2)
            }
        );
        assert_eq!(
            plan("--scenario grow --rounds 2 --over-ms 50 --grow-from 10").unwrap().events,
            Events::Grow { rounds: 2, from: 10, over: Duration::from_millis(50) }
        );
        assert_eq!(
            plan("--scenario command --run true").unwrap().events,
            Events::Command { rounds: 1, run: "true".into() }
        );
        assert_eq!(
            plan("--protocol consumer --assignor uniform").unwrap().protocol,
            Protocol::Consumer(Some("uniform".into()))
        );
    }
}
