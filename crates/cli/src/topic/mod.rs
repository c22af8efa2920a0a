//! `thalweg topic`: topics are listed, made, described, changed and deleted.

mod describe;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use thalweg::TopicPartition;
use thalweg::admin::{AdminError, ConfigResource, Mode, NewPartitions, NewTopic, TopicRef};
use thalweg_wire::{ErrorCode, Uuid};

use crate::client::{Align, CliError, ClientArgs, CommandContext, Patterns, Table, Tally, note};
use crate::config::{self, ChangeArgs};

/// Options of `thalweg topic`.
#[derive(Args)]
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
    Create(CreateArgs),
    /// Show topics with their partitions.
    Describe(describe::DescribeArgs),
    /// Give a topic more partitions, or other configs.
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
    /// Number of partitions [default: the controller's num.partitions]
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(1..))]
    partitions: Option<i32>,
    /// Replicas of each [default: the controller's default.replication.factor]
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
        // It is not shown: it may be a password.
        _ => Err("not of the form NAME=VALUE".to_owned()),
    }
}

/// Runs `thalweg topic`.
pub fn run(args: TopicArgs) -> ExitCode {
    crate::client::run(async {
        // They connect by themselves, once they know that what they are told makes sense.
        let client = &args.client;
        match args.command {
            TopicCommand::List(args) => list(client, args).await,
            TopicCommand::Create(args) => create(client, args).await,
            TopicCommand::Describe(args) => describe::run(client, args).await,
            TopicCommand::Alter(args) => alter(client, args).await,
            TopicCommand::Delete(args) => delete(client, args).await,
            TopicCommand::Producers(args) => {
                producers(CommandContext::open(client).await?, args).await
            }
        }
    })
}

async fn list(client: &ClientArgs, args: ListArgs) -> Result<(), CliError> {
    let patterns = Patterns::globs(&args.names, &args.regex)?;
    let mut session = CommandContext::open(client).await?;
    let mut topics = session.admin.list_topics(true).await?;
    topics.retain(|topic| {
        let is_shown = args.internal || !topic.is_internal;
        (patterns.is_empty() && is_shown)
            || patterns.is_exact(&topic.name)
            || (is_shown && patterns.matches(&topic.name))
    });
    let missing =
        patterns.exact().find(|name| !topics.iter().any(|topic| topic.name == **name)).cloned();
    let is_none = topics.is_empty() && missing.is_none();
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
        false if is_none => note("there are no such topics"),
        false => session.out.table(&table)?,
    }
    tally.conclude(session.out)?;
    match missing {
        Some(name) => Err(CliError::NotFound(format!("there is no topic {name}"))),
        None => Ok(()),
    }
}

async fn create(client: &ClientArgs, args: CreateArgs) -> Result<(), CliError> {
    let mut names = BTreeSet::new();
    if let Some(name) = args.names.iter().find(|name| !names.insert(*name)) {
        return Err(CliError::Usage(format!("topic {name} is given twice")));
    }
    let mut configs = BTreeMap::new();
    for (name, value) in args.config {
        if configs.insert(name.clone(), value).is_some() {
            return Err(CliError::Usage(format!("config {name} is given twice")));
        }
    }
    let mut assignment = BTreeMap::new();
    if let Some(Assignment(partitions)) = args.replica_assignment {
        assignment.extend((0..).zip(partitions));
    }
    let topics = args.names.iter().map(|name| {
        let mut topic = NewTopic::new(name);
        topic.partitions = args.partitions;
        topic.replication_factor = args.replication_factor;
        topic.assignment.clone_from(&assignment);
        topic.configs.clone_from(&configs);
        topic
    });
    let mode = if args.validate_only { Mode::ValidateOnly } else { Mode::Apply };
    let mut session = CommandContext::open(client).await?;
    let results = session.admin.create_topics(topics, mode).await;
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
    session.conclude(tally, all)
}

/// The names that are meant, of the topics there are. What the cluster uses itself is meant where
/// it is named, or where it is asked for.
async fn select(
    session: &CommandContext,
    patterns: &Patterns,
    internal: bool,
) -> Result<BTreeSet<String>, CliError> {
    if !patterns.is_empty() && !patterns.has_patterns() {
        return Ok(patterns.exact().cloned().collect());
    }
    let topics = session.admin.list_topics(internal).await?;
    let all: Vec<String> = topics.into_iter().map(|topic| topic.name).collect();
    if patterns.is_empty() {
        return Ok(all.into_iter().collect());
    }
    patterns.select(&all)
}

async fn alter(client: &ClientArgs, args: AlterArgs) -> Result<(), CliError> {
    let patterns = Patterns::globs(&args.names, &[])?;
    let changes = args.changes.changes()?;
    if args.partitions.is_none() && changes.is_empty() {
        let usage = "nothing to change: --partitions, --set, --delete, --append, --subtract";
        return Err(CliError::Usage(usage.into()));
    }
    let mut session = CommandContext::open(client).await?;
    let names = select(&session, &patterns, false).await?;
    let mode = args.changes.mode();
    let is_real = mode == Mode::Apply;
    let mut tally = Tally::default();
    let mut all = Vec::new();
    if let Some(total) = args.partitions {
        let assignments = args.replica_assignment.map(|Assignment(partitions)| partitions);
        let more = names.iter().map(|name| {
            let mut more = NewPartitions::new(name, total);
            more.assignments.clone_from(&assignments);
            more
        });
        let results = session.admin.create_partitions(more, mode).await;
        for (name, result) in results {
            let failure = result.as_ref().err().map(ToString::to_string);
            let altered = tally.take(format!("topic {name}"), result).is_some();
            if altered && !session.json() {
                let would = if is_real { "" } else { " would be possible" };
                session.out.line(&format!("{name}: {total} partitions{would}"))?;
            }
            all.push(json!({
                "topic": name,
                "partitions": total,
                "altered": altered && is_real,
                "error": failure,
            }));
        }
    }
    if !changes.is_empty() {
        let resources = names.iter().map(ConfigResource::topic).collect();
        let deleted = args.changes.deleted();
        let resources = config::known(&session, resources, deleted, &mut tally).await;
        let changes = resources.into_iter().map(|it| (it, changes.clone())).collect();
        let results = session.admin.alter_configs(changes, mode).await;
        for (resource, result) in results {
            let failure = result.as_ref().err().map(ToString::to_string);
            let altered = tally.take(&resource, result).is_some();
            if altered && !session.json() {
                let what = if is_real { "changed" } else { "could be changed" };
                session.out.line(&format!("{}: configs {what}", resource.name))?;
            }
            all.push(json!({
                "topic": resource.name,
                "configs": true,
                "altered": altered && is_real,
                "error": failure,
            }));
        }
    }
    session.conclude(tally, all)
}

async fn delete(client: &ClientArgs, args: DeleteArgs) -> Result<(), CliError> {
    let patterns = Patterns::globs(&args.names, &args.regex)?;
    let mut wanted: BTreeSet<TopicRef> = args.id.iter().copied().map(TopicRef::Id).collect();
    if patterns.is_empty() && wanted.is_empty() {
        return Err(CliError::Usage("which topics? Names, --regex or --id".into()));
    }
    let mut session = CommandContext::open(client).await?;
    if !patterns.is_empty() {
        let names = match args.if_exists && patterns.has_patterns() {
            true => {
                let topics = session.admin.list_topics(false).await?;
                let all: Vec<String> = topics.into_iter().map(|topic| topic.name).collect();
                patterns.select_any(&all)?
            }
            false => select(&session, &patterns, false).await?,
        };
        if patterns.has_patterns() && !args.yes && !names.is_empty() {
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
    session.conclude(tally, all)
}

async fn producers(mut session: CommandContext, args: ProducersArgs) -> Result<(), CliError> {
    let mut partitions = args.partition;
    if partitions.is_empty() {
        let topic = TopicRef::from(&*args.name);
        let mut described = session.admin.describe_topics([topic.clone()]).await;
        let described = described
            .remove(&topic)
            .ok_or_else(|| CliError::Failed(format!("nothing is said of topic {}", args.name)))?;
        let mut tally = Tally::default();
        let Some(described) = tally.take(format!("topic {}", args.name), described) else {
            return tally.conclude(session.out);
        };
        partitions = described.partitions.iter().map(|partition| partition.index).collect();
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
        let mut producers = tally.take(&partition, result).unwrap_or_default();
        // A broker gives them in no order.
        producers.sort_by_key(|producer| producer.id);
        for producer in producers {
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
        false if tally.is_whole() => {
            session.out.table_of("producers with sequence numbers", &table)?
        }
        false => session.out.table(&table)?,
    }
    tally.conclude(session.out)
}
