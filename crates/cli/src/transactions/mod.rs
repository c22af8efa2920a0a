//! `thalweg transactions`: transactions, those that hang, and their producers.

mod abort;
mod hanging;

use std::process::ExitCode;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use thalweg::admin::{TransactionDescription, TransactionFilter};

use crate::client::time::{format_datetime, now_ms};
use crate::client::{
    Align, CliError, ClientArgs, CommandContext, Table, Tally, parse_duration, show_partitions,
};

/// Options of `thalweg transactions`.
#[derive(Args)]
pub struct TransactionsArgs {
    #[command(flatten)]
    client: ClientArgs,
    #[command(subcommand)]
    command: TransactionsCommand,
}

#[derive(Subcommand)]
enum TransactionsCommand {
    /// List transactional ids with the state of their last transaction.
    List(ListArgs),
    /// Show what is in the transactions of transactional ids, and since when they are open.
    Describe(IdArgs),
    /// Have a partition's leader abort a transaction that hangs there, without its coordinator. Of a
    /// transaction that does not hang, this takes away what is in this partition: first see what
    /// find-hanging says.
    Abort(abort::AbortArgs),
    /// Find transactions that no coordinator will end: readers of committed records wait for them, and
    /// compaction stops there. Tells how to abort each.
    ///
    /// One hangs if it is open in a partition, its producer's last record there is older than
    /// --longer-than, and no coordinator knows the producer, or its transaction does not have the
    /// partition. Topics that the cluster uses itself are looked at, too. Whether any is found makes no
    /// difference to the exit code; with --json a list is printed, which is empty if there is none.
    FindHanging(hanging::FindHangingArgs),
    /// Shut out whoever produces with transactional ids, and abort their open transactions: the ids get
    /// a new producer epoch. An id that nobody has used gets a producer id, as with a new producer.
    Fence(IdArgs),
}

#[derive(Args)]
struct ListArgs {
    /// Only in this state: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort,
    /// ...; may be repeated
    #[arg(long)]
    state: Vec<String>,
    /// Only of the producer with this id; may be repeated
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    producer_id: Vec<i64>,
    /// Only those that have been open for longer: 30 (seconds), 5m, 1h; needs brokers from 3.8 on
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    longer_than: Option<Duration>,
    /// Only those whose whole id matches this regular expression (RE2/J); needs brokers from 4.1 on
    #[arg(long, value_name = "REGEX", value_parser = NonEmptyStringValueParser::new())]
    id_pattern: Option<String>,
}

#[derive(Args)]
struct IdArgs {
    /// Transactional ids
    #[arg(required = true, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    ids: Vec<String>,
}

/// Runs `thalweg transactions`.
pub fn run(args: TransactionsArgs) -> ExitCode {
    crate::client::run(async {
        // They connect by themselves, once they know that what they are told makes sense.
        let client = &args.client;
        match args.command {
            TransactionsCommand::List(args) => list(client, args).await,
            TransactionsCommand::Describe(args) => describe(client, args.ids).await,
            TransactionsCommand::Abort(args) => abort::run(client, args).await,
            TransactionsCommand::FindHanging(args) => hanging::run(client, args).await,
            TransactionsCommand::Fence(args) => fence(client, args.ids).await,
        }
    })
}

async fn list(client: &ClientArgs, args: ListArgs) -> Result<(), CliError> {
    let mut session = CommandContext::open(client).await?;
    let filter = TransactionFilter::default()
        .with_states(args.state)
        .with_producer_ids(args.producer_id)
        .with_longer_than(args.longer_than)
        .with_id_pattern(args.id_pattern);
    let listed = session.admin.list_transactions(&filter).await?;
    if !listed.unknown_states.is_empty() {
        let unknown: Vec<String> = listed.unknown_states.into_iter().collect();
        let known = "Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort";
        let reason = format!(
            "the brokers know no state {}; states of transactions are {known}",
            unknown.join(", ")
        );
        return Err(CliError::Usage(reason));
    }
    let mut tally = Tally::default();
    for (broker, error) in &listed.failed {
        tally.failed(format!("broker {broker}"), error);
    }
    let mut table = Table::new([
        ("TRANSACTIONAL-ID", Align::Left),
        ("STATE", Align::Left),
        ("PRODUCER", Align::Right),
        ("COORDINATOR", Align::Right),
    ]);
    let mut all = Vec::new();
    for transaction in listed.transactions {
        tally.done();
        all.push(json!({
            "transactional_id": transaction.id,
            "state": transaction.state,
            "producer_id": transaction.producer_id,
            "coordinator": transaction.coordinator,
        }));
        table.row([
            transaction.id,
            transaction.state,
            transaction.producer_id.to_string(),
            transaction.coordinator.to_string(),
        ]);
    }
    match session.json() {
        true => session.out.json(&Value::Array(all))?,
        false if tally.is_whole() => session.out.table_of("such transactions", &table)?,
        false => session.out.table(&table)?,
    }
    tally.conclude(session.out)
}

async fn describe(client: &ClientArgs, ids: Vec<String>) -> Result<(), CliError> {
    let mut session = CommandContext::open(client).await?;
    let mut tally = Tally::default();
    let mut table = Table::new([
        ("TRANSACTIONAL-ID", Align::Left),
        ("STATE", Align::Left),
        ("PRODUCER", Align::Right),
        ("EPOCH", Align::Right),
        ("COORDINATOR", Align::Right),
        ("TIMEOUT-MS", Align::Right),
        ("START-TIME", Align::Left),
        ("OPEN-MS", Align::Right),
        ("PARTITIONS", Align::Left),
    ]);
    let mut all = Vec::new();
    let described = session.admin.describe_transactions(ids).await;
    let now_ms = now_ms();
    for (id, result) in described {
        let Some(described) = tally.take(format!("transactional id {id}"), result) else {
            continue;
        };
        // The coordinator's clock may be ahead of this one.
        let open_ms = described.start_time_ms.map(|start| now_ms.saturating_sub(start).max(0));
        all.push(description_json(&described, open_ms));
        table.row([
            described.id,
            described.state,
            described.producer_id.to_string(),
            described.producer_epoch.to_string(),
            described.coordinator.to_string(),
            described.timeout.as_millis().to_string(),
            described.start_time_ms.map_or_else(String::new, format_datetime),
            open_ms.map_or_else(String::new, |ms| ms.to_string()),
            show_partitions(&described.partitions),
        ]);
    }
    match session.json() {
        true => session.out.json(&Value::Array(all))?,
        false => session.out.table(&table)?,
    }
    tally.conclude(session.out)
}

fn description_json(described: &TransactionDescription, open_ms: Option<i64>) -> Value {
    let partitions = described.partitions.iter();
    let partitions = partitions.map(|p| json!({"topic": &*p.topic, "partition": p.partition}));
    json!({
        "transactional_id": described.id,
        "state": described.state,
        "producer_id": described.producer_id,
        "producer_epoch": described.producer_epoch,
        "coordinator": described.coordinator,
        "timeout_ms": u64::try_from(described.timeout.as_millis()).unwrap_or(u64::MAX),
        "start_time_ms": described.start_time_ms,
        "open_ms": open_ms,
        "partitions": partitions.collect::<Vec<_>>(),
    })
}

async fn fence(client: &ClientArgs, ids: Vec<String>) -> Result<(), CliError> {
    let mut session = CommandContext::open(client).await?;
    let mut tally = Tally::default();
    let mut all = Vec::new();
    for (id, result) in session.admin.fence_producers(ids).await {
        let failure = result.as_ref().err().map(ToString::to_string);
        let fenced = tally.take(format!("transactional id {id}"), result);
        if let Some(fenced) = fenced.filter(|_| !session.json()) {
            let (producer, epoch) = (fenced.id, fenced.epoch);
            session.out.line(&format!("{id} fenced: producer {producer}, epoch {epoch}"))?;
        }
        let mut value = json!({
            "transactional_id": id,
            "fenced": fenced.is_some(),
            "producer_id": fenced.map(|fenced| fenced.id),
            "producer_epoch": fenced.map(|fenced| fenced.epoch),
        });
        if let Some(failure) = failure {
            value["error"] = json!(failure);
        }
        all.push(value);
    }
    session.conclude(tally, all)
}
