//! Who has which partition, and who leads it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use thalweg::TopicPartition;
use thalweg::admin::{Election, TopicRef};
use thalweg_wire::ErrorCode;

use crate::client::{Align, CliError, ClientArgs, CommandContext, Table, Tally, parse_partition};

#[derive(Args)]
pub(super) struct ReassignArgs {
    /// A partition's brokers, the preferred leader first: orders:0=2,3,1; may be repeated
    #[arg(long, value_name = "TOPIC:PARTITION=ID,...", value_parser = parse_target)]
    partition: Vec<(TopicPartition, Vec<i32>)>,
    /// A plan in JSON, as kafka-reassign-partitions.sh takes it
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Stop what is under way of this partition; may be repeated
    #[arg(long, value_name = "TOPIC:PARTITION", value_parser = parse_partition)]
    cancel: Vec<TopicPartition>,
}

fn parse_target(text: &str) -> Result<(TopicPartition, Vec<i32>), String> {
    let wrong = || format!("'{text}' is not topic:partition=id,id");
    let (partition, brokers) = text.split_once('=').ok_or_else(wrong)?;
    let broker = |id: &str| id.trim().parse::<i32>().ok().filter(|id| *id >= 0);
    let brokers: Option<Vec<i32>> = brokers.split(',').map(broker).collect();
    Ok((parse_partition(partition)?, brokers.ok_or_else(wrong)?))
}

pub(super) async fn reassign(client: &ClientArgs, args: ReassignArgs) -> Result<(), CliError> {
    let mut targets: BTreeMap<TopicPartition, Option<Vec<i32>>> = BTreeMap::new();
    let from_file = match &args.file {
        Some(path) => read_plan(path)?,
        None => Vec::new(),
    };
    let given = from_file.into_iter().chain(args.partition);
    let given = given.map(|(partition, brokers)| (partition, Some(brokers)));
    for (partition, brokers) in given.chain(args.cancel.into_iter().map(|p| (p, None))) {
        if targets.insert(partition.clone(), brokers).is_some() {
            return Err(CliError::Usage(format!("{partition} is given twice")));
        }
    }
    if targets.is_empty() {
        return Err(CliError::Usage("which partitions? --partition, --file, --cancel".into()));
    }
    let mut session = CommandContext::open(client).await?;
    let before = current(&session, &targets).await;
    let is_moved = |partition: &TopicPartition| matches!(targets.get(partition), Some(Some(_)));
    let moved: Vec<_> = before.iter().filter(|(partition, _)| is_moved(partition)).collect();
    let mut tally = Tally::default();
    let mut all = Vec::new();
    if !session.json() && !moved.is_empty() {
        session.out.line(&format!("To go back: {}", plan(&moved)))?;
    }
    for (partition, result) in session.admin.alter_partition_reassignments(targets).await {
        let failure = result.as_ref().err().map(ToString::to_string);
        let accepted = tally.take(&partition, result).is_some();
        if accepted && !session.json() {
            session.out.line(&format!("{}:{}", partition.topic, partition.partition))?;
        }
        all.push(json!({
            "topic": &*partition.topic,
            "partition": partition.partition,
            "accepted": accepted,
            "replicas_before": before.get(&partition),
            "error": failure,
        }));
    }
    session.conclude(tally, all)
}

/// Who has the partitions now, as far as that can be found out: what is wrong with the others is
/// said when they are to be moved.
async fn current(
    session: &CommandContext,
    targets: &BTreeMap<TopicPartition, Option<Vec<i32>>>,
) -> BTreeMap<TopicPartition, Vec<i32>> {
    let topics = targets.keys().map(|partition| TopicRef::from(&*partition.topic));
    let described = session.admin.describe_topics(topics).await;
    // While a move is under way, those that are being added are named, too.
    let partitions = targets.keys().cloned().collect();
    let moving = session.admin.list_partition_reassignments(Some(partitions)).await;
    let moving = moving.unwrap_or_default();
    let found = described.into_values().flatten().flat_map(|topic| {
        let name: std::sync::Arc<str> = topic.name.as_str().into();
        topic.partitions.into_iter().map(move |partition| {
            let replicas = partition.replicas;
            (TopicPartition::new(std::sync::Arc::clone(&name), partition.index), replicas)
        })
    });
    let found = found.filter(|(partition, _)| targets.contains_key(partition));
    let without_new = found.map(|(partition, mut replicas)| {
        if let Some(moving) = moving.get(&partition) {
            replicas.retain(|id| !moving.adding.contains(id));
        }
        (partition, replicas)
    });
    without_new.collect()
}

/// A plan as [`read_plan`] reads it.
pub(crate) fn plan(partitions: &[(&TopicPartition, &Vec<i32>)]) -> Value {
    let entry = |(partition, replicas): &(&TopicPartition, &Vec<i32>)| {
        json!({
            "topic": &*partition.topic,
            "partition": partition.partition,
            "replicas": replicas,
        })
    };
    json!({"version": 1, "partitions": partitions.iter().map(entry).collect::<Vec<_>>()})
}

/// Reads `{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}`.
fn read_plan(path: &Path) -> Result<Vec<(TopicPartition, Vec<i32>)>, CliError> {
    let wrong = |why: String| CliError::Usage(format!("{}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| CliError::file(path, &error))?;
    let plan: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    let version = plan.get("version").and_then(Value::as_i64);
    if version.is_some_and(|version| version != 1) {
        return Err(wrong("its version is not 1".into()));
    }
    let partitions = plan.get("partitions").and_then(Value::as_array);
    let partitions = partitions.ok_or_else(|| wrong("it has no partitions".into()))?;
    let each = (0..).zip(partitions).map(|(at, entry): (usize, &Value)| {
        let moves_dirs = entry
            .get("log_dirs")
            .and_then(Value::as_array)
            .is_some_and(|dirs| dirs.iter().any(|dir| dir.as_str() != Some("any")));
        if moves_dirs {
            let why = "has log_dirs: thalweg cluster move-replica moves those";
            return Err(wrong(format!("partitions[{at}] {why}")));
        }
        plan_entry(entry).ok_or_else(|| {
            wrong(format!(
                "partitions[{at}] has no topic, partition and replicas, of numbers from 0 on"
            ))
        })
    });
    each.collect()
}

fn plan_entry(entry: &Value) -> Option<(TopicPartition, Vec<i32>)> {
    let topic = entry.get("topic")?.as_str()?;
    let number = |value: &Value| i32::try_from(value.as_i64()?).ok().filter(|number| *number >= 0);
    let partition = number(entry.get("partition")?)?;
    let replicas = entry.get("replicas")?.as_array()?.iter().map(number);
    Some((TopicPartition::new(topic, partition), replicas.collect::<Option<_>>()?))
}

#[derive(Args)]
pub(super) struct ReassignmentsArgs {
    /// Partitions [default: all]
    #[arg(value_name = "TOPIC:PARTITION", value_parser = parse_partition)]
    partitions: Vec<TopicPartition>,
}

pub(super) async fn list(
    mut session: CommandContext,
    args: ReassignmentsArgs,
) -> Result<(), CliError> {
    let wanted = Some(args.partitions).filter(|partitions| !partitions.is_empty());
    let found = session.admin.list_partition_reassignments(wanted).await?;
    let mut table = Table::new([
        ("TOPIC", Align::Left),
        ("PARTITION", Align::Right),
        ("REPLICAS", Align::Left),
        ("ADDING", Align::Left),
        ("REMOVING", Align::Left),
    ]);
    let ids = |ids: &[i32]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let mut all = Vec::new();
    for (partition, reassignment) in found {
        table.row([
            partition.topic.to_string(),
            partition.partition.to_string(),
            ids(&reassignment.replicas),
            ids(&reassignment.adding),
            ids(&reassignment.removing),
        ]);
        all.push(json!({
            "topic": &*partition.topic,
            "partition": partition.partition,
            "replicas": reassignment.replicas,
            "adding": reassignment.adding,
            "removing": reassignment.removing,
        }));
    }
    match session.json() {
        true => session.out.json(&Value::Array(all))?,
        false => session.out.table_of("reassignments under way", &table)?,
    }
    session.out.finish()
}

#[derive(Args)]
pub(super) struct ElectArgs {
    /// Partitions
    #[arg(value_name = "TOPIC:PARTITION", value_parser = parse_partition, required_unless_present = "all")]
    partitions: Vec<TopicPartition>,
    /// All for which it makes a difference
    #[arg(long, conflicts_with = "partitions")]
    all: bool,
    /// Anyone who is alive, even if records are lost by it
    #[arg(long)]
    unclean: bool,
}

pub(super) async fn elect(mut session: CommandContext, args: ElectArgs) -> Result<(), CliError> {
    let election = if args.unclean { Election::Unclean } else { Election::Preferred };
    let wanted = (!args.all).then_some(args.partitions);
    let mut tally = Tally::default();
    let mut all = Vec::new();
    for (partition, result) in session.admin.elect_leaders(election, wanted).await? {
        let code = result.as_ref().err().and_then(|error| error.code());
        let name = format!("{}:{}", partition.topic, partition.partition);
        let failure = result.as_ref().err().map(ToString::to_string);
        let outcome = if code == Some(ErrorCode::ELECTION_NOT_NEEDED) {
            tally.done();
            "not needed"
        } else if tally.take(&name, result).is_some() {
            "elected"
        } else {
            "failed"
        };
        if outcome != "failed" && !session.json() {
            session.out.line(&format!("{name} {outcome}"))?;
        }
        all.push(json!({
            "topic": &*partition.topic,
            "partition": partition.partition,
            "outcome": outcome,
            "error": failure.filter(|_| outcome == "failed"),
        }));
    }
    session.conclude(tally, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_and_plans() {
        let t = TopicPartition::new("t", 1);
        assert_eq!(parse_target("t:1=3,2"), Ok((t.clone(), vec![3, 2])));
        for bad in ["t:1", "t=1", "t:1=", "t:1=-1", "t:x=1"] {
            assert!(parse_target(bad).is_err(), "{bad}");
        }
        let good = json!({"topic": "t", "partition": 1, "replicas": [3, 2], "log_dirs": ["any"]});
        assert_eq!(plan_entry(&good), Some((t, vec![3, 2])));
        for bad in [
            json!({"topic": "t", "partition": 1}),
            json!({"topic": "t", "partition": 1, "replicas": ["a"]}),
            json!({"topic": "t", "partition": 1, "replicas": [-1]}),
            json!({"topic": "t", "partition": -1, "replicas": [1]}),
            json!({"partition": 1, "replicas": [1]}),
            json!(7),
        ] {
            assert_eq!(plan_entry(&bad), None, "{bad}");
        }
    }
}
