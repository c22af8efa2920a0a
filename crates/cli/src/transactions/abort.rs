//! `thalweg transactions abort`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;
use thalweg::TopicPartition;
use thalweg::admin::{Admin, TransactionToAbort};

use crate::client::{CliError, CommandContext};

#[derive(Args)]
pub(super) struct AbortArgs {
    /// Topic
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    topic: String,
    /// Partition
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    partition: i32,
    /// Where the transaction begins in the partition; the rest is asked for
    #[arg(
        long,
        value_name = "OFFSET",
        value_parser = clap::value_parser!(i64).range(0..),
        required_unless_present = "producer_id",
        conflicts_with_all = ["producer_id", "producer_epoch", "coordinator_epoch"],
    )]
    start_offset: Option<i64>,
    /// The transaction's producer, where nobody can be asked
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(i64).range(0..),
        requires_all = ["producer_epoch", "coordinator_epoch"],
    )]
    producer_id: Option<i64>,
    /// The producer's epoch
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(i16).range(0..),
        requires = "producer_id",
    )]
    producer_epoch: Option<i16>,
    /// Epoch of the coordinator that ended the producer's last transaction in the partition, -1 where
    /// there is none
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(i32).range(-1..),
        allow_negative_numbers = true,
        requires = "producer_id",
    )]
    coordinator_epoch: Option<i32>,
}

pub(super) async fn run(mut session: CommandContext, args: AbortArgs) -> Result<(), CliError> {
    let partition = TopicPartition::new(&*args.topic, args.partition);
    let told = (args.producer_id, args.producer_epoch, args.coordinator_epoch);
    let transaction = match (args.start_offset, told) {
        (Some(offset), _) => beginning_at(&session.admin, partition, offset).await?,
        (None, (Some(producer), Some(epoch), Some(coordinator_epoch))) => {
            // Where no coordinator ended one before, 0 is at most what any has.
            TransactionToAbort::new(partition, producer, epoch, coordinator_epoch.max(0))
        }
        (None, _) => {
            let reason = "which transaction? --start-offset, or --producer-id, --producer-epoch and \
                          --coordinator-epoch";
            return Err(CliError::Usage(reason.into()));
        }
    };
    session.admin.abort_transaction(transaction.clone()).await?;
    let TransactionToAbort { partition, producer_id, producer_epoch, .. } = &transaction;
    if session.json() {
        session.out.json(&json!({
            "topic": &*partition.topic,
            "partition": partition.partition,
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
            "coordinator_epoch": transaction.coordinator_epoch,
            "aborted": true,
        }))?;
    } else {
        session.out.line(&format!(
            "{partition}: transaction of producer {producer_id}, epoch {producer_epoch}, aborted"
        ))?;
    }
    session.out.finish()
}

/// The open transaction that begins at an offset, as the partition's leader tells of it.
async fn beginning_at(
    admin: &Admin,
    partition: TopicPartition,
    offset: i64,
) -> Result<TransactionToAbort, CliError> {
    let mut described = admin.describe_producers([partition.clone()]).await;
    let unanswered = || CliError::Failed(format!("nothing is said of {partition}"));
    let producers = described.remove(&partition).ok_or_else(unanswered)??;
    let found = producers.into_iter().find(|it| it.transaction_start == Some(offset));
    let found = found.ok_or_else(|| {
        let reason = format!("no open transaction in {partition} begins at offset {offset}");
        CliError::NotFound(reason)
    })?;
    let epoch = i16::try_from(found.epoch).map_err(|_| {
        let (id, epoch) = (found.id, found.epoch);
        CliError::Failed(format!("producer {id} in {partition} has the impossible epoch {epoch}"))
    })?;
    let coordinator_epoch = found.coordinator_epoch.unwrap_or(0);
    Ok(TransactionToAbort::new(partition, found.id, epoch, coordinator_epoch))
}
