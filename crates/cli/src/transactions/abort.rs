//! `thalweg transactions abort`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;
use thalweg::TopicPartition;
use thalweg::admin::{AdminError, ProducerState, TransactionToAbort};
use thalweg_wire::ApiKey;

use crate::client::{CliError, ClientArgs, CommandContext, Tally};

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
        conflicts_with_all = ["producer_id", "producer_epoch", "coordinator_epoch"],
    )]
    start_offset: Option<i64>,
    /// The transaction's producer, where nobody can be asked
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    producer_id: Option<i64>,
    /// The producer's epoch
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i16).range(0..))]
    producer_epoch: Option<i16>,
    /// Epoch of the coordinator that ended the producer's last transaction in the partition, -1 where
    /// there is none
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(i32).range(-1..),
        allow_negative_numbers = true,
    )]
    coordinator_epoch: Option<i32>,
}

/// How the transaction is found.
enum Found {
    /// By where it begins.
    At(i64),
    /// By all that there is to say of it.
    Told(TransactionToAbort),
}

pub(super) async fn run(client: &ClientArgs, args: AbortArgs) -> Result<(), CliError> {
    let partition = TopicPartition::new(&*args.topic, args.partition);
    let producer = (args.producer_id, args.producer_epoch, args.coordinator_epoch);
    let found = match (args.start_offset, producer) {
        (Some(offset), _) => Found::At(offset),
        (None, (Some(id), Some(epoch), Some(coordinator_epoch))) => {
            // Where no coordinator ended one before, 0 is at most what any has.
            let coordinator_epoch = coordinator_epoch.max(0);
            let told = TransactionToAbort::new(partition.clone(), id, epoch, coordinator_epoch);
            Found::Told(told)
        }
        (None, _) => {
            let reason = "which transaction? --start-offset, or --producer-id, --producer-epoch and \
                          --coordinator-epoch";
            return Err(CliError::Usage(reason.into()));
        }
    };
    let mut session = CommandContext::open(client).await?;
    let transaction = match found {
        Found::Told(told) => told,
        Found::At(offset) => {
            let mut described = session.admin.describe_producers([partition.clone()]).await;
            let unanswered = Err(AdminError::Unanswered(ApiKey::DESCRIBE_PRODUCERS));
            let producers = described.remove(&partition).unwrap_or(unanswered);
            let mut tally = Tally::default();
            let Some(producers) = tally.take(&partition, producers) else {
                return tally.conclude(session.out);
            };
            beginning_at(&partition, producers, offset)?
        }
    };
    let aborted = session.admin.abort_transaction(transaction.clone()).await;
    let mut tally = Tally::default();
    if tally.take(&partition, aborted).is_none() {
        return tally.conclude(session.out);
    }
    let TransactionToAbort { producer_id, producer_epoch, coordinator_epoch, .. } = transaction;
    if session.json() {
        session.out.json(&json!({
            "topic": &*partition.topic,
            "partition": partition.partition,
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
            "coordinator_epoch": coordinator_epoch,
            "aborted": true,
        }))?;
    } else {
        session.out.line(&format!(
            "{partition}: transaction of producer {producer_id}, epoch {producer_epoch}, aborted"
        ))?;
    }
    tally.conclude(session.out)
}

/// The open transaction that begins at an offset, of what the partition's leader tells.
fn beginning_at(
    partition: &TopicPartition,
    producers: Vec<ProducerState>,
    offset: i64,
) -> Result<TransactionToAbort, CliError> {
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
    Ok(TransactionToAbort::new(partition.clone(), found.id, epoch, coordinator_epoch))
}
