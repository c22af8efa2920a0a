//! `thalweg log`: files of a log directory are looked into, records of partitions are deleted.

mod batches;
mod decode;
mod dump;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use thalweg::TopicPartition;

use crate::client::{CliError, ClientArgs, CommandContext, Tally, parse_partition};

/// Options of `thalweg log`.
#[derive(Args)]
pub struct LogArgs {
    #[command(subcommand)]
    command: LogCommand,
}

#[derive(Subcommand)]
enum LogCommand {
    /// Show what is in files of a log directory: segments, indexes, producer snapshots,
    /// checkpoints.
    Dump(dump::DumpArgs),
    /// Delete the records of partitions before an offset.
    DeleteRecords(DeleteArgs),
}

#[derive(Args)]
struct DeleteArgs {
    /// Partitions, and the first offset that is to be left; -1 for none of what is there
    #[arg(value_name = "TOPIC:PARTITION=OFFSET", value_parser = parse_offset)]
    partitions: Vec<(TopicPartition, i64)>,
    /// The same in JSON, as kafka-delete-records.sh takes it
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    client: ClientArgs,
}

fn parse_offset(text: &str) -> Result<(TopicPartition, i64), String> {
    let wrong = || format!("'{text}' is not topic:partition=offset");
    let (partition, offset) = text.split_once('=').ok_or_else(wrong)?;
    let offset = offset.parse().ok().filter(|offset: &i64| *offset >= -1).ok_or_else(wrong)?;
    Ok((parse_partition(partition)?, offset))
}

/// Runs `thalweg log`.
pub fn run(args: LogArgs) -> ExitCode {
    crate::client::run(async {
        match args.command {
            LogCommand::Dump(args) => dump::run(&args),
            LogCommand::DeleteRecords(args) => delete_records(args).await,
        }
    })
}

async fn delete_records(args: DeleteArgs) -> Result<(), CliError> {
    let mut before = BTreeMap::new();
    let from_file = match &args.file {
        Some(path) => read_offsets(path)?,
        None => Vec::new(),
    };
    for (partition, offset) in from_file.into_iter().chain(args.partitions) {
        if before.insert(partition.clone(), offset).is_some() {
            return Err(CliError::Usage(format!("{partition} is given twice")));
        }
    }
    if before.is_empty() {
        return Err(CliError::Usage("which partitions? topic:partition=offset, or --file".into()));
    }
    let mut session = CommandContext::open(&args.client).await?;
    let mut tally = Tally::default();
    let mut all = Vec::new();
    for (partition, result) in session.admin.delete_records(before).await {
        let failure = result.as_ref().err().map(ToString::to_string);
        let low = tally.take(&partition, result);
        if let (Some(low), false) = (low, session.json()) {
            let (topic, index) = (&partition.topic, partition.partition);
            session.out.line(&format!("{topic}:{index} begins at {low}"))?;
        }
        all.push(json!({
            "topic": &*partition.topic,
            "partition": partition.partition,
            "log_start_offset": low,
            "error": failure,
        }));
    }
    session.conclude(tally, all)
}

/// Reads `{"version":1,"partitions":[{"topic":"t","partition":0,"offset":7}]}`.
fn read_offsets(path: &std::path::Path) -> Result<Vec<(TopicPartition, i64)>, CliError> {
    let wrong = |why: String| CliError::Usage(format!("{}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| CliError::file(path, &error))?;
    let plan: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    let partitions = plan.get("partitions").and_then(Value::as_array);
    let partitions = partitions.ok_or_else(|| wrong("it has no partitions".into()))?;
    let entry = |entry: &Value| {
        let topic = entry.get("topic")?.as_str()?;
        let partition = i32::try_from(entry.get("partition")?.as_i64()?).ok();
        let partition = partition.filter(|partition| *partition >= 0)?;
        let offset = entry.get("offset")?.as_i64().filter(|offset| *offset >= -1)?;
        Some((TopicPartition::new(topic, partition), offset))
    };
    let each = (0..).zip(partitions).map(|(at, value): (usize, &Value)| {
        entry(value).ok_or_else(|| {
            wrong(format!(
                "partitions[{at}] has no topic, partition (from 0 on) and offset (from -1 on)"
            ))
        })
    });
    each.collect()
}
