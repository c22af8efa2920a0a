//! `thalweg transactions find-hanging`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::{Value, json};
use thalweg::TopicPartition;
use thalweg::admin::{Admin, AdminError, TopicRef, TransactionFilter};

use crate::client::time::{format_datetime, now_ms};
use crate::client::{
    Align, CliError, ClientArgs, CommandContext, Table, Tally, note, parse_duration,
};

/// Topics and partitions that are asked for at once, as with Kafka's tool: a broker may have very many.
const BATCH: usize = 500;
const MS_PER_MINUTE: i64 = 60_000;

#[derive(Args)]
pub(super) struct FindHangingArgs {
    /// In this topic
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    topic: Option<String>,
    /// In this partition of the topic; may be repeated
    #[arg(
        long,
        value_name = "N",
        requires = "topic",
        value_parser = clap::value_parser!(i32).range(0..),
    )]
    partition: Vec<i32>,
    /// In partitions that have a replica on this broker; their leaders are asked
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(i32).range(0..))]
    broker: Option<i32>,
    /// The longest that a transaction may be open, the brokers' transaction.max.timeout.ms: 30
    /// (seconds), 15m, 1h
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "15m")]
    longer_than: Duration,
}

/// A transaction that is open in a partition.
#[derive(Clone, PartialEq, Eq, Debug)]
struct OpenTransaction {
    partition: TopicPartition,
    producer_id: i64,
    producer_epoch: i32,
    coordinator_epoch: Option<i32>,
    start_offset: i64,
    last_timestamp: i64,
}

impl OpenTransaction {
    /// Whether its producer has been silent for longer than a transaction may be open.
    fn is_overdue(&self, now_ms: i64, longer_than: Duration) -> bool {
        let limit_ms = i64::try_from(longer_than.as_millis()).unwrap_or(i64::MAX);
        now_ms.saturating_sub(self.last_timestamp) > limit_ms
    }

    /// What aborts it.
    fn abort_command(&self) -> String {
        let TopicPartition { topic, partition, .. } = &self.partition;
        let at = self.start_offset;
        format!(
            "thalweg transactions abort --topic {topic} --partition {partition} --start-offset {at}"
        )
    }
}

/// What coordinators know of producers with open transactions.
#[derive(Debug, Default)]
struct Coordinated {
    /// Transactional ids.
    ids: BTreeMap<i64, String>,
    /// Where a coordinator will write a marker, by producer; none if its transaction is not open.
    partitions: BTreeMap<i64, BTreeSet<TopicPartition>>,
    /// Of these it could not be found out.
    unknown: BTreeSet<i64>,
}

impl Coordinated {
    /// Whether no coordinator will end a transaction. A description has the partitions of an open
    /// transaction, and those without a marker of one that is being ended.
    fn is_hanging(&self, open: &OpenTransaction) -> bool {
        let producer = open.producer_id;
        let ended = self.partitions.get(&producer).is_some_and(|it| it.contains(&open.partition));
        !ended && !self.unknown.contains(&producer)
    }
}

pub(super) async fn run(client: &ClientArgs, args: FindHangingArgs) -> Result<(), CliError> {
    if args.topic.is_none() && args.broker.is_none() {
        return Err(CliError::Usage("where? --topic or --broker".into()));
    }
    let mut session = CommandContext::open(client).await?;
    let mut tally = Tally::default();
    let partitions = search_in(&session.admin, &args, &mut tally).await?;
    let mut open = Vec::new();
    for batch in partitions.chunks(BATCH) {
        let described = session.admin.describe_producers(batch.iter().cloned()).await;
        let now_ms = now_ms();
        for (partition, result) in described {
            let Some(producers) = tally.take(&partition, result) else { continue };
            let of_partition = producers.into_iter().filter_map(|producer| {
                Some(OpenTransaction {
                    partition: partition.clone(),
                    producer_id: producer.id,
                    producer_epoch: producer.epoch,
                    coordinator_epoch: producer.coordinator_epoch,
                    start_offset: producer.transaction_start?,
                    last_timestamp: producer.last_timestamp,
                })
            });
            open.extend(of_partition.filter(|it| it.is_overdue(now_ms, args.longer_than)));
        }
    }
    let coordinated = match open.is_empty() {
        true => Coordinated::default(),
        false => ask_coordinators(&session.admin, &open, &mut tally).await?,
    };
    open.retain(|it| coordinated.is_hanging(it));
    if session.json() {
        let each = open.iter().map(|it| hanging_json(it, &coordinated));
        session.out.json(&Value::Array(each.collect()))?;
    } else if open.is_empty() {
        if tally.is_whole() {
            note("no transaction hangs there");
        }
    } else {
        session.out.table(&hanging_table(&open, &coordinated))?;
        session.out.line("\nTo abort them, with the same connection options:")?;
        for transaction in &open {
            session.out.line(&format!("  {}", transaction.abort_command()))?;
        }
    }
    tally.conclude(session.out)
}

/// The partitions to look at.
async fn search_in(
    admin: &Admin,
    args: &FindHangingArgs,
    tally: &mut Tally,
) -> Result<Vec<TopicPartition>, CliError> {
    let topics: Vec<TopicRef> = match &args.topic {
        Some(topic) => vec![TopicRef::from(&**topic)],
        None => {
            let listed = admin.list_topics(true).await?;
            listed.into_iter().map(|topic| TopicRef::from(&*topic.name)).collect()
        }
    };
    let mut partitions = Vec::new();
    let mut is_replica_somewhere = false;
    for batch in topics.chunks(BATCH) {
        for (topic, result) in admin.describe_topics(batch.iter().cloned()).await {
            let described = match result {
                Ok(described) => described,
                // It was deleted since it was listed.
                Err(error) if args.topic.is_none() && error.is_not_found() => continue,
                Err(error) => {
                    tally.failed(format!("topic {topic}"), &error);
                    continue;
                }
            };
            let exists = |wanted: &&i32| described.partitions.iter().any(|p| p.index == **wanted);
            if let Some(missing) = args.partition.iter().find(|wanted| !exists(wanted)) {
                let reason = format!("topic {topic} has no partition {missing}");
                return Err(CliError::NotFound(reason));
            }
            for partition in described.partitions {
                let is_wanted =
                    args.partition.is_empty() || args.partition.contains(&partition.index);
                let is_there = args.broker.is_none_or(|id| partition.replicas.contains(&id));
                is_replica_somewhere |= is_there;
                if is_wanted && is_there {
                    partitions.push(TopicPartition::new(&*described.name, partition.index));
                }
            }
        }
    }
    match args.broker {
        Some(id) if !is_replica_somewhere => {
            let known = admin.cluster().metadata().brokers.contains_key(&id);
            if known { Ok(partitions) } else { Err(CliError::NotFound(format!("no broker {id}"))) }
        }
        _ => Ok(partitions),
    }
}

/// Finds out what coordinators know of the producers of open transactions.
async fn ask_coordinators(
    admin: &Admin,
    open: &[OpenTransaction],
    tally: &mut Tally,
) -> Result<Coordinated, CliError> {
    let mut coordinated = Coordinated::default();
    let producers: BTreeSet<i64> = open.iter().map(|it| it.producer_id).collect();
    let wanted = producers.iter().copied().collect();
    let filter = TransactionFilter::default().with_producer_ids(wanted);
    let listed = admin.list_transactions(&filter).await?;
    for transaction in listed.transactions {
        if producers.contains(&transaction.producer_id) {
            coordinated.ids.insert(transaction.producer_id, transaction.id);
        }
    }
    for (broker, error) in &listed.failed {
        tally.failed(format!("transactional ids at broker {broker}"), error);
    }
    if !listed.failed.is_empty() {
        // Who is listed by nobody that answered may be known to who did not.
        let not_listed = producers.iter().filter(|id| !coordinated.ids.contains_key(id));
        coordinated.unknown.extend(not_listed);
    }
    let mut described = admin.describe_transactions(coordinated.ids.values().cloned()).await;
    for (producer, id) in &coordinated.ids {
        let result = described.remove(id).unwrap_or_else(|| {
            Err(AdminError::Invalid(format!("nothing is said of the transactional id {id}")))
        });
        match result {
            Ok(found) => {
                coordinated.partitions.insert(*producer, found.partitions.into_iter().collect());
            }
            // It expired since it was listed.
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                tally.failed(format!("transactional id {id}"), &error);
                coordinated.unknown.insert(*producer);
            }
        }
    }
    Ok(coordinated)
}

fn hanging_table(hanging: &[OpenTransaction], coordinated: &Coordinated) -> Table {
    let mut table = Table::new([
        ("TOPIC", Align::Left),
        ("PARTITION", Align::Right),
        ("PRODUCER", Align::Right),
        ("EPOCH", Align::Right),
        ("COORDINATOR-EPOCH", Align::Right),
        ("START-OFFSET", Align::Right),
        ("LAST-TIME", Align::Left),
        ("MINUTES", Align::Right),
        ("TRANSACTIONAL-ID", Align::Left),
    ]);
    let now_ms = now_ms();
    for open in hanging {
        table.row([
            open.partition.topic.to_string(),
            open.partition.partition.to_string(),
            open.producer_id.to_string(),
            open.producer_epoch.to_string(),
            open.coordinator_epoch.map_or_else(String::new, |epoch| epoch.to_string()),
            open.start_offset.to_string(),
            format_datetime(open.last_timestamp),
            (now_ms.saturating_sub(open.last_timestamp) / MS_PER_MINUTE).to_string(),
            coordinated.ids.get(&open.producer_id).cloned().unwrap_or_default(),
        ]);
    }
    table
}

fn hanging_json(open: &OpenTransaction, coordinated: &Coordinated) -> Value {
    json!({
        "topic": &*open.partition.topic,
        "partition": open.partition.partition,
        "producer_id": open.producer_id,
        "producer_epoch": open.producer_epoch,
        "coordinator_epoch": open.coordinator_epoch,
        "start_offset": open.start_offset,
        "last_timestamp": open.last_timestamp,
        "transactional_id": coordinated.ids.get(&open.producer_id),
        "abort": open.abort_command(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 10_000_000;

    fn open(partition: i32, producer_id: i64, last_timestamp: i64) -> OpenTransaction {
        OpenTransaction {
            partition: TopicPartition::new("t", partition),
            producer_id,
            producer_epoch: 3,
            coordinator_epoch: None,
            start_offset: 5,
            last_timestamp,
        }
    }

    #[test]
    fn a_transaction_is_overdue_when_its_producer_is_silent_for_longer_than_the_limit() {
        let is_overdue = |age_ms: i64, limit_ms: u64| {
            open(0, 1, NOW_MS - age_ms).is_overdue(NOW_MS, Duration::from_millis(limit_ms))
        };
        assert!(is_overdue(1_001, 1_000));
        assert!(!is_overdue(1_000, 1_000));
        assert!(!is_overdue(-5, 0), "a producer's clock may be ahead");
        assert!(is_overdue(1, 0));
        assert!(!open(0, 1, i64::MIN).is_overdue(NOW_MS, Duration::MAX));
        assert!(open(0, 1, i64::MIN).is_overdue(NOW_MS, Duration::from_secs(900)));
    }

    #[test]
    fn a_transaction_hangs_if_no_coordinator_will_end_it_in_its_partition() {
        let partitions = |all: &[i32]| all.iter().map(|p| TopicPartition::new("t", *p)).collect();
        let coordinated = Coordinated {
            ids: [(1, "a".to_owned()), (2, "b".to_owned()), (4, "d".to_owned())].into(),
            // 2 has none open; what 4 had was not to be described any more.
            partitions: [(1, partitions(&[0, 2])), (2, partitions(&[]))].into(),
            unknown: [5].into(),
        };
        let hangs = |partition, producer| coordinated.is_hanging(&open(partition, producer, 0));
        assert!(!hangs(0, 1), "the coordinator will end it");
        assert!(hangs(1, 1), "the coordinator does not know that the partition is in it");
        assert!(!hangs(2, 1));
        assert!(hangs(0, 2), "its id has no open transaction");
        assert!(hangs(0, 3), "no coordinator knows the producer");
        assert!(hangs(0, 4), "its id expired");
        assert!(!hangs(0, 5), "nobody could be asked");
        let elsewhere = TopicPartition::new("u", 0);
        assert!(coordinated.is_hanging(&OpenTransaction { partition: elsewhere, ..open(0, 1, 0) }));
    }

    #[test]
    fn what_aborts_it_is_told() {
        assert_eq!(
            open(2, 1, 0).abort_command(),
            "thalweg transactions abort --topic t --partition 2 --start-offset 5"
        );
    }
}
