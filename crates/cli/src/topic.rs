//! `thalweg topic`: topics are listed, made, described, changed and deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use thalweg::admin::{
    AdminError, ConfigDetails, ConfigResource, ConfigSource, Mode, NewPartitions, NewTopic,
    OffsetSpec, PartitionDescription, TopicDescription, TopicRef,
};
use thalweg::{FoundOffset, IsolationLevel, TopicPartition};
use thalweg_wire::{ErrorCode, Uuid};

use crate::client::{Align, CliError, ClientArgs, EXIT_CODES, Patterns, Session, Table, Tally};
use crate::config::ChangeArgs;

/// Options of `thalweg topic`.
#[derive(Args)]
#[command(after_help = "\
Names may have * and ?, quoted for the shell: thalweg topic list 'orders-*'", after_long_help = EXIT_CODES)]
pub struct TopicArgs {
    #[command(flatten)]
    client: ClientArgs,
    #[command(subcommand)]
    command: TopicCommand,
}

#[derive(Subcommand)]
enum TopicCommand {
    /// List topics.
    List(ListArgs),
    /// Make topics.
    ///
    /// Example: thalweg topic create orders -p 12 -r 3 --config retention.ms=86400000
    Create(CreateArgs),
    /// Show topics with their partitions.
    ///
    /// Example: thalweg topic describe orders --offsets
    Describe(DescribeArgs),
    /// Give a topic more partitions, or other configs.
    ///
    /// Example: thalweg topic alter orders -p 24 --set retention.ms=1000 --delete segment.bytes
    Alter(AlterArgs),
    /// Delete topics, with all records.
    Delete(DeleteArgs),
    /// Show who produces to a topic with sequence numbers, and transactions under way.
    Producers(ProducersArgs),
}

#[derive(Args)]
struct ListArgs {
    /// Topics [default: all]
    names: Vec<String>,
    /// Also those whose whole name matches this regular expression
    #[arg(long, value_name = "REGEX")]
    regex: Vec<String>,
    /// Also those that the cluster uses itself
    #[arg(long)]
    internal: bool,
    /// With ids, partitions and replicas
    #[arg(short, long)]
    long: bool,
}

#[derive(Args)]
struct CreateArgs {
    /// Topics
    #[arg(required = true)]
    names: Vec<String>,
    /// Number of partitions [default: the broker's num.partitions]
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(1..))]
    partitions: Option<i32>,
    /// Replicas of each [default: the broker's default.replication.factor]
    #[arg(short, long, value_parser = clap::value_parser!(i16).range(1..))]
    replication_factor: Option<i16>,
    /// The brokers of each partition, instead: 1:2,2:3,3:1
    #[arg(long, value_name = "ID:ID,...", conflicts_with_all = ["partitions", "replication_factor"], value_parser = parse_assignment)]
    replica_assignment: Option<Assignment>,
    /// A config; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    config: Vec<(String, String)>,
    /// Be content with a topic that is there already
    #[arg(long)]
    if_not_exists: bool,
    /// Only say whether it could be done
    #[arg(long)]
    validate_only: bool,
}

#[derive(Args)]
struct DescribeArgs {
    /// Topics [default: all]
    names: Vec<String>,
    /// Also those whose whole name matches this regular expression
    #[arg(long, value_name = "REGEX")]
    regex: Vec<String>,
    /// By id, too
    #[arg(long, value_name = "UUID", value_parser = parse_uuid)]
    id: Vec<Uuid>,
    /// Also those that the cluster uses itself, where no names are given
    #[arg(long)]
    internal: bool,
    /// Only partitions with replicas that are not in sync
    #[arg(long, group = "selection")]
    under_replicated: bool,
    /// Only partitions that nobody leads, or whose leader is not alive
    #[arg(long, group = "selection")]
    unavailable: bool,
    /// Only partitions with fewer replicas in sync than min.insync.replicas
    #[arg(long, group = "selection")]
    under_min_isr: bool,
    /// Only partitions with just as many
    #[arg(long, group = "selection")]
    at_min_isr: bool,
    /// With all configs, not only the topic's own
    #[arg(long)]
    configs: bool,
    /// With first and last offsets
    #[arg(long)]
    offsets: bool,
}

#[derive(Args)]
struct AlterArgs {
    /// Topics
    #[arg(required = true)]
    names: Vec<String>,
    /// How many partitions there are to be in the end
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(1..))]
    partitions: Option<i32>,
    /// The brokers of each new partition: 1:2,2:3
    #[arg(long, value_name = "ID:ID,...", requires = "partitions", value_parser = parse_assignment)]
    replica_assignment: Option<Assignment>,
    #[command(flatten)]
    changes: ChangeArgs,
}

#[derive(Args)]
struct DeleteArgs {
    /// Topics
    names: Vec<String>,
    /// Also those whose whole name matches this regular expression
    #[arg(long, value_name = "REGEX")]
    regex: Vec<String>,
    /// By id, too
    #[arg(long, value_name = "UUID", value_parser = parse_uuid)]
    id: Vec<Uuid>,
    /// Be content with a topic that is not there
    #[arg(long)]
    if_exists: bool,
    /// Yes, all that patterns find
    #[arg(long)]
    yes: bool,
}

#[derive(Args)]
struct ProducersArgs {
    /// Topic
    name: String,
    /// This partition only; may be repeated
    #[arg(short, long, value_name = "INDEX", value_parser = clap::value_parser!(i32).range(0..))]
    partition: Vec<i32>,
}

/// The brokers of each partition.
#[derive(Clone, Debug)]
struct Assignment(Vec<Vec<i32>>);

fn parse_assignment(text: &str) -> Result<Assignment, String> {
    let broker = |id: &str| {
        let id = id.trim().parse::<i32>().ok().filter(|id| *id >= 0);
        id.ok_or_else(|| format!("'{text}' is not a list of brokers as 1:2,2:3"))
    };
    let partition = |list: &str| list.split(':').map(broker).collect();
    text.split(',').map(partition).collect::<Result<_, _>>().map(Assignment)
}

fn parse_uuid(text: &str) -> Result<Uuid, String> {
    Uuid::parse(text).ok_or_else(|| format!("'{text}' is no id"))
}

/// `name=value`
pub fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err(format!("'{text}' is not name=value")),
    }
}

/// Runs `thalweg topic`.
pub fn run(args: TopicArgs) -> ExitCode {
    crate::client::run(async {
        let session = Session::open(&args.client).await?;
        match args.command {
            TopicCommand::List(args) => list(session, args).await,
            TopicCommand::Create(args) => create(session, args).await,
            TopicCommand::Describe(args) => describe(session, args).await,
            TopicCommand::Alter(args) => alter(session, args).await,
            TopicCommand::Delete(args) => delete(session, args).await,
            TopicCommand::Producers(args) => producers(session, args).await,
        }
    })
}

async fn list(mut session: Session, args: ListArgs) -> Result<(), CliError> {
    let patterns = Patterns::globs(&args.names, &args.regex)?;
    let mut topics = session.admin.list_topics(true).await?;
    topics.retain(|topic| match patterns.is_empty() {
        true => args.internal || !topic.is_internal,
        false => patterns.matches(&topic.name),
    });
    let missing =
        patterns.exact().find(|name| !topics.iter().any(|topic| topic.name == **name)).cloned();
    let mut described = BTreeMap::new();
    if args.long || session.json() {
        let names = topics.iter().map(|topic| TopicRef::from(&*topic.name));
        described = session.admin.describe_topics(names).await;
    }
    let mut tally = Tally::default();
    let mut table = Table::new([
        ("TOPIC", Align::Left),
        ("PARTITIONS", Align::Right),
        ("REPLICAS", Align::Right),
        ("ID", Align::Left),
    ]);
    let mut all = Vec::new();
    for topic in topics {
        if !args.long && !session.json() {
            session.out.line(&topic.name)?;
            continue;
        }
        let Some(result) = described.remove(&TopicRef::from(&*topic.name)) else { continue };
        let Some(found) = tally.take(&topic.name, result) else { continue };
        let replicas = found.partitions.iter().map(|p| p.replicas.len()).max().unwrap_or(0);
        let partitions = found.partitions.len();
        table.row([
            topic.name.clone(),
            partitions.to_string(),
            replicas.to_string(),
            topic.id.to_string(),
        ]);
        all.push(json!({
            "topic": topic.name,
            "id": topic.id.to_string(),
            "internal": topic.is_internal,
            "partitions": partitions,
            "replicas": replicas,
        }));
    }
    match session.json() {
        true => session.out.json(&Value::Array(all))?,
        false => session.out.table(&table)?,
    }
    tally.conclude(session.out)?;
    match missing {
        Some(name) => Err(CliError::NotFound(format!("there is no topic {name}"))),
        None => Ok(()),
    }
}

async fn create(mut session: Session, args: CreateArgs) -> Result<(), CliError> {
    let mut assignment = BTreeMap::new();
    if let Some(Assignment(partitions)) = args.replica_assignment {
        assignment.extend((0..).zip(partitions));
    }
    let topics = args.names.iter().map(|name| NewTopic {
        name: name.clone(),
        partitions: args.partitions,
        replication_factor: args.replication_factor,
        assignment: assignment.clone(),
        configs: args.config.iter().cloned().collect(),
    });
    let mode = if args.validate_only { Mode::ValidateOnly } else { Mode::Apply };
    let results = session.admin.create_topics(topics.collect(), mode).await;
    let mut tally = Tally::default();
    let mut all = Vec::new();
    for (name, result) in results {
        let is_there = result
            .as_ref()
            .is_err_and(|error| error.code() == Some(ErrorCode::TOPIC_ALREADY_EXISTS));
        if is_there && args.if_not_exists {
            tally.done();
            all.push(json!({"topic": name, "created": false}));
            if !session.json() {
                session.out.line(&format!("{name} is there already"))?;
            }
            continue;
        }
        let failure = result.as_ref().err().map(ToString::to_string);
        let Some(created) = tally.take(&name, result) else {
            all.push(json!({"topic": name, "created": false, "error": failure}));
            continue;
        };
        let count = |number: Option<String>| number.unwrap_or_else(|| "?".to_owned());
        if !session.json() {
            let verb = if args.validate_only { "could be created" } else { "created" };
            session.out.line(&format!(
                "{name} {verb}: partitions {}, replicas {}",
                count(created.partitions.map(|n| n.to_string())),
                count(created.replication_factor.map(|n| n.to_string())),
            ))?;
        }
        all.push(json!({
            "topic": name,
            "created": !args.validate_only,
            "id": created.id.to_string(),
            "partitions": created.partitions,
            "replicas": created.replication_factor,
        }));
    }
    if session.json() {
        session.out.json(&Value::Array(all))?;
    }
    tally.conclude(session.out)
}

/// The names that are meant, of the topics there are.
async fn select(
    session: &Session,
    names: &[String],
    regexes: &[String],
    internal: bool,
) -> Result<BTreeSet<String>, CliError> {
    let patterns = Patterns::globs(names, regexes)?;
    if !patterns.is_empty() && !patterns.has_patterns() {
        return Ok(patterns.exact().cloned().collect());
    }
    let topics = session.admin.list_topics(internal || !patterns.is_empty()).await?;
    let all: Vec<String> = topics.into_iter().map(|topic| topic.name).collect();
    if patterns.is_empty() {
        return Ok(all.into_iter().collect());
    }
    patterns.select(&all)
}

/// What is known of a topic beside its partitions.
#[derive(Default)]
struct Extras {
    configs: Vec<(String, String)>,
    configs_error: Option<String>,
    min_isr: Option<usize>,
    offsets: BTreeMap<(i32, bool), Result<FoundOffset, AdminError>>,
}

async fn describe(mut session: Session, args: DescribeArgs) -> Result<(), CliError> {
    let only_ids = args.names.is_empty() && args.regex.is_empty() && !args.id.is_empty();
    let mut wanted: BTreeSet<TopicRef> = args.id.iter().copied().map(TopicRef::Id).collect();
    if !only_ids {
        let names = select(&session, &args.names, &args.regex, args.internal).await?;
        wanted.extend(names.into_iter().map(TopicRef::Name));
    }
    let mut tally = Tally::default();
    let results = session.admin.describe_topics(wanted).await.into_iter();
    let described: Vec<TopicDescription> = results
        .filter_map(|(topic, result)| tally.take(format!("topic {topic}"), result))
        .collect();
    let mut extras = extras(&session, &described, &args).await;
    let alive: BTreeSet<i32> =
        session.admin.describe_cluster(false).await?.brokers.iter().map(|b| b.id).collect();
    let selects =
        args.under_replicated || args.unavailable || args.under_min_isr || args.at_min_isr;
    let mut all = Vec::new();
    let mut is_first = true;
    for mut topic in described {
        let extra = extras.remove(&topic.name).unwrap_or_default();
        topic.partitions.retain(|partition| {
            let isr = partition.isr.len();
            (!args.under_replicated || isr < partition.replicas.len())
                && (!args.unavailable || partition.leader.is_none_or(|id| !alive.contains(&id)))
                && (!args.under_min_isr || extra.min_isr.is_some_and(|min| isr < min))
                && (!args.at_min_isr || extra.min_isr.is_some_and(|min| isr == min))
        });
        if selects && topic.partitions.is_empty() {
            continue;
        }
        if session.json() {
            all.push(topic_json(&topic, &extra));
            continue;
        }
        if !std::mem::take(&mut is_first) {
            session.out.line("")?;
        }
        show(&mut session, &topic, &extra, args.offsets)?;
    }
    if session.json() {
        session.out.json(&Value::Array(all))?;
    }
    tally.conclude(session.out)
}

async fn extras(
    session: &Session,
    topics: &[TopicDescription],
    args: &DescribeArgs,
) -> BTreeMap<String, Extras> {
    let mut extras: BTreeMap<String, Extras> = BTreeMap::new();
    let resources = topics.iter().map(|topic| ConfigResource::topic(&topic.name));
    let configs = session.admin.describe_configs(resources, ConfigDetails::default()).await;
    for (resource, result) in configs {
        let extra = extras.entry(resource.name).or_default();
        match result {
            Ok(entries) => {
                let min = entries.iter().find(|entry| entry.name == "min.insync.replicas");
                extra.min_isr = min.and_then(|entry| entry.value.as_ref()?.parse().ok());
                let shown = entries
                    .into_iter()
                    .filter(|entry| args.configs || entry.source == ConfigSource::Topic);
                extra.configs = shown.map(|e| (e.name, e.value.unwrap_or_default())).collect();
            }
            Err(error) => extra.configs_error = Some(error.to_string()),
        }
    }
    if !args.offsets {
        return extras;
    }
    let partitions: Vec<TopicPartition> = topics
        .iter()
        .flat_map(|t| t.partitions.iter().map(|p| TopicPartition::new(&*t.name, p.index)))
        .collect();
    for (spec, is_end) in [(OffsetSpec::Earliest, false), (OffsetSpec::Latest, true)] {
        let wanted = partitions.iter().map(|partition| (partition.clone(), spec)).collect();
        let found = session.admin.list_offsets(wanted, IsolationLevel::ReadUncommitted).await;
        for (partition, result) in found {
            let extra = extras.entry(partition.topic.to_string()).or_default();
            extra.offsets.insert((partition.partition, is_end), result);
        }
    }
    extras
}

fn offset_of(extra: &Extras, index: i32, is_end: bool) -> Option<i64> {
    extra.offsets.get(&(index, is_end))?.as_ref().ok().map(|found| found.offset)
}

fn show(
    session: &mut Session,
    topic: &TopicDescription,
    extra: &Extras,
    offsets: bool,
) -> Result<(), CliError> {
    let internal = if topic.is_internal { "  internal" } else { "" };
    session.out.line(&format!("{}  id {}{internal}", topic.name, topic.id))?;
    for (name, value) in &extra.configs {
        session.out.line(&format!("  {name}={}", value.escape_debug()))?;
    }
    if let Some(error) = &extra.configs_error {
        session.out.line(&format!("  configs are not known: {error}"))?;
    }
    let has_elr = topic.partitions.iter().any(|p| {
        let some = |list: &Option<Vec<i32>>| list.as_ref().is_some_and(|list| !list.is_empty());
        some(&p.elr) || some(&p.last_known_elr)
    });
    let mut columns = vec![
        ("  PARTITION", Align::Right),
        ("LEADER", Align::Right),
        ("EPOCH", Align::Right),
        ("REPLICAS", Align::Left),
        ("ISR", Align::Left),
        ("OFFLINE", Align::Left),
    ];
    if has_elr {
        columns.extend([("ELR", Align::Left), ("LAST-KNOWN-ELR", Align::Left)]);
    }
    if offsets {
        columns.extend([("FIRST", Align::Right), ("END", Align::Right), ("RECORDS", Align::Right)]);
    }
    let mut table = Table::new(columns);
    for partition in &topic.partitions {
        let mut row = vec![
            partition.index.to_string(),
            partition.leader.map_or("none".to_owned(), |id| id.to_string()),
            partition.leader_epoch.to_string(),
            ids(&partition.replicas),
            ids(&partition.isr),
            ids(&partition.offline),
        ];
        if has_elr {
            row.push(ids(partition.elr.as_deref().unwrap_or_default()));
            row.push(ids(partition.last_known_elr.as_deref().unwrap_or_default()));
        }
        if offsets {
            let first = offset_of(extra, partition.index, false);
            let end = offset_of(extra, partition.index, true);
            let records = first.zip(end).map(|(first, end)| end.saturating_sub(first));
            let shown = |n: Option<i64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
            row.extend([first, end, records].map(shown));
        }
        table.row(row);
    }
    session.out.table(&table)
}

fn ids(ids: &[i32]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn topic_json(topic: &TopicDescription, extra: &Extras) -> Value {
    let configs: BTreeMap<&str, &str> =
        extra.configs.iter().map(|(name, value)| (&**name, &**value)).collect();
    let partition = |p: &PartitionDescription| {
        let mut value = json!({
            "partition": p.index,
            "leader": p.leader,
            "leader_epoch": p.leader_epoch,
            "replicas": p.replicas,
            "isr": p.isr,
            "offline": p.offline,
            "elr": p.elr,
            "last_known_elr": p.last_known_elr,
        });
        for (name, is_end) in [("first_offset", false), ("end_offset", true)] {
            match extra.offsets.get(&(p.index, is_end)) {
                Some(Ok(found)) => value[name] = json!(found.offset),
                Some(Err(error)) => value["offsets_error"] = json!(error.to_string()),
                None => {}
            }
        }
        value
    };
    let mut value = json!({
        "topic": topic.name,
        "id": topic.id.to_string(),
        "internal": topic.is_internal,
        "configs": configs,
        "partitions": topic.partitions.iter().map(partition).collect::<Vec<_>>(),
    });
    if let Some(error) = &extra.configs_error {
        value["configs_error"] = json!(error);
    }
    value
}

async fn alter(mut session: Session, args: AlterArgs) -> Result<(), CliError> {
    let changes = args.changes.changes()?;
    if args.partitions.is_none() && changes.is_empty() {
        let usage = "nothing to change: --partitions, --set, --delete, --append, --subtract";
        return Err(CliError::Usage(usage.into()));
    }
    let names = select(&session, &args.names, &[], false).await?;
    let mode = args.changes.mode();
    let mut tally = Tally::default();
    let mut all = Vec::new();
    if let Some(total) = args.partitions {
        let assignments = args.replica_assignment.map(|Assignment(partitions)| partitions);
        let more = names.iter().map(|name| NewPartitions {
            topic: name.clone(),
            total,
            assignments: assignments.clone(),
        });
        let results = session.admin.create_partitions(more.collect(), mode).await;
        for (name, result) in results {
            let failure = result.as_ref().err().map(ToString::to_string);
            if tally.take(format!("topic {name}"), result).is_some() && !session.json() {
                session.out.line(&format!("{name}: {total} partitions"))?;
            }
            all.push(json!({"topic": name, "partitions": total, "error": failure}));
        }
    }
    if !changes.is_empty() {
        let changes =
            names.iter().map(|name| (ConfigResource::topic(name), changes.clone())).collect();
        let results = session.admin.alter_configs(changes, mode).await;
        for (resource, result) in results {
            let failure = result.as_ref().err().map(ToString::to_string);
            if tally.take(&resource, result).is_some() && !session.json() {
                session.out.line(&format!("{}: configs changed", resource.name))?;
            }
            all.push(json!({"topic": resource.name, "configs": true, "error": failure}));
        }
    }
    if session.json() {
        session.out.json(&Value::Array(all))?;
    }
    tally.conclude(session.out)
}

async fn delete(mut session: Session, args: DeleteArgs) -> Result<(), CliError> {
    let patterns = Patterns::globs(&args.names, &args.regex)?;
    let mut wanted: BTreeSet<TopicRef> = args.id.iter().copied().map(TopicRef::Id).collect();
    if patterns.is_empty() && wanted.is_empty() {
        return Err(CliError::Usage("which topics? Names, --regex or --id".into()));
    }
    if !patterns.is_empty() {
        let names = match select(&session, &args.names, &args.regex, false).await {
            Err(CliError::NotFound(_)) if args.if_exists => BTreeSet::new(),
            names => names?,
        };
        if patterns.has_patterns() && !args.yes {
            let listed: Vec<String> = names.into_iter().collect();
            let reason = format!("this would delete {}: say --yes", listed.join(", "));
            return Err(CliError::Usage(reason));
        }
        wanted.extend(names.into_iter().map(TopicRef::Name));
    }
    let mut tally = Tally::default();
    let mut all = Vec::new();
    for (topic, result) in session.admin.delete_topics(wanted).await {
        let is_absent = result.as_ref().is_err_and(AdminError::is_not_found);
        if is_absent && args.if_exists {
            tally.done();
            all.push(json!({"topic": topic.to_string(), "deleted": false}));
            continue;
        }
        let failure = result.as_ref().err().map(ToString::to_string);
        let deleted = tally.take(format!("topic {topic}"), result).is_some();
        if deleted && !session.json() {
            session.out.line(&format!("{topic} deleted"))?;
        }
        let mut value = json!({"topic": topic.to_string(), "deleted": deleted});
        if let Some(failure) = failure {
            value["error"] = json!(failure);
        }
        all.push(value);
    }
    if session.json() {
        session.out.json(&Value::Array(all))?;
    }
    tally.conclude(session.out)
}

async fn producers(mut session: Session, args: ProducersArgs) -> Result<(), CliError> {
    let mut partitions = args.partition;
    if partitions.is_empty() {
        let topic = TopicRef::from(&*args.name);
        let mut described = session.admin.describe_topics([topic.clone()]).await;
        let described = described
            .remove(&topic)
            .ok_or_else(|| CliError::Failed(format!("nothing is said of topic {}", args.name)))?;
        partitions = described?.partitions.iter().map(|partition| partition.index).collect();
    }
    let partitions = partitions.into_iter().map(|index| TopicPartition::new(&*args.name, index));
    let mut tally = Tally::default();
    let mut table = Table::new([
        ("PARTITION", Align::Right),
        ("PRODUCER", Align::Right),
        ("EPOCH", Align::Right),
        ("LAST-SEQUENCE", Align::Right),
        ("LAST-TIME", Align::Left),
        ("TRANSACTION-START", Align::Right),
    ]);
    let mut all = Vec::new();
    for (partition, result) in session.admin.describe_producers(partitions).await {
        for producer in tally.take(&partition, result).unwrap_or_default() {
            table.row([
                partition.partition.to_string(),
                producer.id.to_string(),
                producer.epoch.to_string(),
                producer.last_sequence.to_string(),
                crate::client::time::format_datetime(producer.last_timestamp),
                producer.transaction_start.map_or_else(String::new, |at| at.to_string()),
            ]);
            all.push(json!({
                "topic": args.name,
                "partition": partition.partition,
                "producer_id": producer.id,
                "epoch": producer.epoch,
                "last_sequence": producer.last_sequence,
                "last_timestamp": producer.last_timestamp,
                "coordinator_epoch": producer.coordinator_epoch,
                "transaction_start_offset": producer.transaction_start,
            }));
        }
    }
    match session.json() {
        true => session.out.json(&Value::Array(all))?,
        false => session.out.table(&table)?,
    }
    tally.conclude(session.out)
}
