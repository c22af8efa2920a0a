//! Log directories.

use clap::Args;
use serde_json::{Value, json};
use thalweg::TopicPartition;
use thalweg::admin::{LogDir, ReplicaMove};

use crate::client::{Align, CliError, CommandContext, Patterns, Table, Tally, parse_partition};

#[derive(Args)]
pub(super) struct LogDirsArgs {
    /// This broker's only; may be repeated
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(i32).range(0..))]
    broker: Vec<i32>,
    /// With replicas of this topic, which may have * and ?; may be repeated
    #[arg(long)]
    topic: Vec<String>,
    /// With all replicas
    #[arg(long)]
    replicas: bool,
}

pub(super) async fn show(mut session: CommandContext, args: LogDirsArgs) -> Result<(), CliError> {
    let topics = Patterns::globs(&args.topic, &[])?;
    let brokers = Some(args.broker.clone()).filter(|brokers| !brokers.is_empty());
    let mut tally = Tally::default();
    let mut all = Vec::new();
    let mut dirs = Table::new([
        ("BROKER", Align::Right),
        ("DIRECTORY", Align::Left),
        ("STATE", Align::Left),
        ("REPLICAS", Align::Right),
        ("BYTES", Align::Right),
        ("FREE", Align::Right),
        ("TOTAL", Align::Right),
    ]);
    let mut replicas = Table::new([
        ("BROKER", Align::Right),
        ("DIRECTORY", Align::Left),
        ("TOPIC", Align::Left),
        ("PARTITION", Align::Right),
        ("BYTES", Align::Right),
        ("LAG", Align::Right),
        ("FUTURE", Align::Left),
    ]);
    for (broker, result) in session.admin.describe_log_dirs(brokers).await? {
        let Some(of_broker) = tally.take(format!("broker {broker}"), result) else { continue };
        for mut dir in of_broker {
            if let Some(error) = &dir.error {
                tally.failed(format!("broker {broker}, {}", dir.path), error);
            }
            if !topics.is_empty() {
                dir.replicas.retain(|partition, _| topics.matches(&partition.topic));
            }
            let bytes = |bytes: Option<i64>| bytes.map_or_else(String::new, |b| b.to_string());
            dirs.row([
                broker.to_string(),
                dir.path.clone(),
                state(&dir),
                dir.replicas.len().to_string(),
                size(&dir).to_string(),
                bytes(dir.usable_bytes),
                bytes(dir.total_bytes),
            ]);
            for (partition, replica) in &dir.replicas {
                replicas.row([
                    broker.to_string(),
                    dir.path.clone(),
                    partition.topic.to_string(),
                    partition.partition.to_string(),
                    replica.size.to_string(),
                    replica.offset_lag.to_string(),
                    if replica.is_future { "yes" } else { "" }.to_owned(),
                ]);
            }
            all.push(dir_json(broker, &dir));
        }
    }
    if session.json() {
        session.out.json(&Value::Array(all))?;
    } else {
        session.out.table(&dirs)?;
        if args.replicas || !topics.is_empty() {
            session.out.line("")?;
            session.out.table(&replicas)?;
        }
    }
    tally.conclude(session.out)
}

fn size(dir: &LogDir) -> i64 {
    dir.replicas.values().fold(0, |sum, replica| sum.saturating_add(replica.size))
}

fn state(dir: &LogDir) -> String {
    match (&dir.error, dir.is_cordoned) {
        (Some(error), _) => error.to_string(),
        (None, true) => "cordoned".to_owned(),
        (None, false) => "online".to_owned(),
    }
}

fn dir_json(broker: i32, dir: &LogDir) -> Value {
    let replicas = dir.replicas.iter().map(|(partition, replica)| {
        json!({
            "topic": &*partition.topic,
            "partition": partition.partition,
            "size": replica.size,
            "offset_lag": replica.offset_lag,
            "future": replica.is_future,
        })
    });
    json!({
        "broker": broker,
        "directory": dir.path,
        "error": dir.error.as_ref().map(ToString::to_string),
        "cordoned": dir.is_cordoned,
        "total_bytes": dir.total_bytes,
        "usable_bytes": dir.usable_bytes,
        "size": size(dir),
        "replicas": replicas.collect::<Vec<_>>(),
    })
}

#[derive(Args)]
pub(super) struct MoveArgs {
    /// The broker's id
    #[arg(value_parser = clap::value_parser!(i32).range(0..))]
    broker: i32,
    /// The partition
    #[arg(value_name = "TOPIC:PARTITION", value_parser = parse_partition)]
    partition: TopicPartition,
    /// The directory there
    directory: String,
}

pub(super) async fn move_replica(
    mut session: CommandContext,
    args: MoveArgs,
) -> Result<(), CliError> {
    let one = ReplicaMove::new(args.broker, args.partition, args.directory);
    let mut tally = Tally::default();
    for (one, result) in session.admin.alter_replica_log_dirs([one]).await {
        let failure = result.as_ref().err().map(ToString::to_string);
        let is_done = tally.take(&one.partition, result).is_some();
        if session.json() {
            session.out.json(&json!({"accepted": is_done, "error": failure}))?;
        } else if is_done {
            session.out.line(&format!("{} goes to {}", one.partition, one.path))?;
        }
    }
    tally.conclude(session.out)
}
