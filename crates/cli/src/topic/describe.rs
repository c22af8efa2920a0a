//! `thalweg topic describe`.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use serde_json::{Value, json};
use thalweg::admin::{
    AdminError, ConfigDetails, ConfigResource, ConfigSource, OffsetSpec, PartitionDescription,
    TopicDescription, TopicRef,
};
use thalweg::{FoundOffset, IsolationLevel, TopicPartition};
use thalweg_wire::Uuid;

use super::select;
use crate::client::{Align, CliError, ClientArgs, CommandContext, Patterns, Table, Tally};

#[derive(Args)]
pub(super) struct DescribeArgs {
    /// Topics [default: all]
    names: Vec<String>,
    /// Also those whose whole name matches this regular expression
    #[arg(long, value_name = "REGEX")]
    regex: Vec<String>,
    /// By id, too
    #[arg(long, value_name = "UUID", value_parser = super::parse_uuid)]
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

/// What is known of a topic beside its partitions.
#[derive(Default)]
struct Extras {
    configs: Vec<(String, String)>,
    configs_error: Option<AdminError>,
    min_isr: Option<usize>,
    offsets: BTreeMap<(i32, bool), Result<FoundOffset, AdminError>>,
}

pub(super) async fn run(client: &ClientArgs, args: DescribeArgs) -> Result<(), CliError> {
    let patterns = Patterns::globs(&args.names, &args.regex)?;
    let only_ids = patterns.is_empty() && !args.id.is_empty();
    let mut session = CommandContext::open(client).await?;
    let mut wanted: BTreeSet<TopicRef> = args.id.iter().copied().map(TopicRef::Id).collect();
    if !only_ids {
        let names = select(&session, &patterns, args.internal).await?;
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
        // Without it nobody knows whether all is well.
        if (args.under_min_isr || args.at_min_isr)
            && let Some(error) = &extra.configs_error
        {
            tally.failed(format!("configs of topic {}", topic.name), error);
        }
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
    session.conclude(tally, all)
}

async fn extras(
    session: &CommandContext,
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
            Err(error) => extra.configs_error = Some(error),
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
        let wanted = partitions.iter().map(|partition| (partition.clone(), spec));
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
    session: &mut CommandContext,
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
        value["configs_error"] = json!(error.to_string());
    }
    value
}
