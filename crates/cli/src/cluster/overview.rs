//! The cluster at a glance: its brokers, how far they have the metadata, and how their replicas are.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use thalweg::admin::{Features, QuorumDescription, QuorumReplica, TopicDescription, TopicRef};

use super::describe::{METADATA_VERSION, level_name};
use crate::client::{Align, CliError, CommandContext, Table};

/// How long what need not be said is waited for.
const QUORUM_WAIT: Duration = Duration::from_secs(5);

#[derive(Args)]
pub(super) struct DescribeArgs {
    /// Also brokers that the controller takes for gone
    #[arg(long)]
    fenced: bool,
    /// Only the brokers: nothing of replicas, which asks for the description of every topic
    #[arg(long)]
    brief: bool,
}

/// How many records of the metadata log a node lacks; `None` where that is not told.
pub(super) fn metadata_lag(quorum: &QuorumDescription, replica: &QuorumReplica) -> Option<i64> {
    let leader = quorum.voters.iter().find(|voter| voter.id == quorum.leader)?;
    (replica.log_end_offset >= 0)
        .then(|| leader.log_end_offset.saturating_sub(replica.log_end_offset).max(0))
}

/// What a broker has of the topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Replicas {
    /// Partitions that it leads.
    leads: usize,
    /// Partitions that it has a replica of.
    all: usize,
    /// Replicas that are not in sync.
    out_of_sync: usize,
}

/// What the partitions of the cluster lack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Health {
    partitions: usize,
    without_leader: usize,
    under_replicated: usize,
    /// Led by another replica than the first.
    not_preferred: usize,
    by_broker: BTreeMap<i32, Replicas>,
}

impl Health {
    fn of<'a>(topics: impl IntoIterator<Item = &'a TopicDescription>) -> Health {
        let mut health = Health::default();
        for partition in topics.into_iter().flat_map(|topic| &topic.partitions) {
            health.partitions += 1;
            health.under_replicated += usize::from(partition.isr.len() < partition.replicas.len());
            match partition.leader {
                Some(leader) => {
                    health.by_broker.entry(leader).or_default().leads += 1;
                    let is_preferred = partition.replicas.first() == Some(&leader);
                    health.not_preferred += usize::from(!is_preferred);
                }
                None => health.without_leader += 1,
            }
            for id in &partition.replicas {
                let broker = health.by_broker.entry(*id).or_default();
                broker.all += 1;
                broker.out_of_sync += usize::from(!partition.isr.contains(id));
            }
        }
        health
    }
}

/// What all topics say; one that is deleted meanwhile says nothing.
async fn health(session: &CommandContext) -> Result<Health, CliError> {
    let names = session.admin.list_topics(true).await?;
    let topics = names.into_iter().map(|topic| TopicRef::from(&topic.name[..]));
    let mut described = Vec::new();
    for (_, result) in session.admin.describe_topics(topics).await {
        match result {
            Ok(topic) => described.push(topic),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Health::of(&described))
}

pub(super) async fn cluster(
    mut session: CommandContext,
    args: DescribeArgs,
) -> Result<(), CliError> {
    let cluster = session.admin.describe_cluster(args.fenced).await?;
    let health = async { if args.brief { None } else { Some(health(&session).await) } };
    // Not everybody may ask for these, not every cluster has them, and a quorum without a leader does not answer.
    let (quorum, features, health) = tokio::join!(
        tokio::time::timeout(QUORUM_WAIT, session.admin.describe_quorum()),
        tokio::time::timeout(QUORUM_WAIT, session.admin.describe_features()),
        health
    );
    let quorum = quorum.ok().and_then(Result::ok);
    let version = features.ok().and_then(Result::ok).and_then(version);
    // What brokers there are is said all the same.
    let (health, failure) = match health {
        Some(Ok(health)) => (Some(health), None),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    };
    let lag = |broker: i32| {
        let quorum = quorum.as_ref()?;
        let mut nodes = quorum.voters.iter().chain(&quorum.observers);
        metadata_lag(quorum, nodes.find(|node| node.id == broker)?)
    };
    let of_broker = |broker: i32| {
        health.as_ref().map(|it| it.by_broker.get(&broker).copied().unwrap_or_default())
    };
    if session.json() {
        let brokers = cluster.brokers.iter().map(|broker| {
            let replicas = of_broker(broker.id);
            json!({
                "broker": broker.id,
                "host": broker.host,
                "port": broker.port,
                "rack": broker.rack,
                "fenced": broker.is_fenced,
                "metadata_lag": lag(broker.id),
                "leads": replicas.map(|it| it.leads),
                "replicas": replicas.map(|it| it.all),
                "out_of_sync": replicas.map(|it| it.out_of_sync),
            })
        });
        let brokers: Vec<Value> = brokers.collect();
        session.out.json(&json!({
            "cluster": cluster.id,
            "controller": cluster.controller,
            "metadata_version": version,
            "brokers": brokers,
            "partitions": health.as_ref().map(|it| it.partitions),
            "under_replicated": health.as_ref().map(|it| it.under_replicated),
            "without_leader": health.as_ref().map(|it| it.without_leader),
            "not_led_by_preferred": health.as_ref().map(|it| it.not_preferred),
        }))?;
        session.out.finish()?;
        return failure.map_or(Ok(()), Err);
    }
    let controller = cluster.controller.map_or_else(|| "none".to_owned(), |id| id.to_string());
    let version = version.map_or_else(String::new, |it| format!("  {METADATA_VERSION} {it}"));
    session.out.line(&format!("cluster {}  controller {controller}{version}", cluster.id))?;
    let mut columns = vec![
        ("BROKER", Align::Right),
        ("HOST", Align::Left),
        ("PORT", Align::Right),
        ("RACK", Align::Left),
        ("STATE", Align::Left),
        ("METADATA-LAG", Align::Right),
    ];
    if health.is_some() {
        let more = [("LEADS", Align::Right), ("REPLICAS", Align::Right)];
        columns.extend(more.into_iter().chain([("OUT-OF-SYNC", Align::Right)]));
    }
    let mut table = Table::new(columns);
    for broker in cluster.brokers {
        let state = if broker.is_fenced { "fenced" } else { "alive" };
        let mut row = vec![
            broker.id.to_string(),
            broker.host,
            broker.port.to_string(),
            broker.rack.unwrap_or_default(),
            state.to_owned(),
            lag(broker.id).map_or_else(|| "?".to_owned(), |lag| lag.to_string()),
        ];
        if let Some(it) = of_broker(broker.id) {
            row.extend([it.leads, it.all, it.out_of_sync].map(|count| count.to_string()));
        }
        table.row(row);
    }
    session.out.table(&table)?;
    if let Some(it) = health {
        session.out.line(&format!(
            "partitions {}  under-replicated {}  without leader {}  not led by the preferred {}",
            it.partitions, it.under_replicated, it.without_leader, it.not_preferred
        ))?;
    }
    session.out.finish()?;
    failure.map_or(Ok(()), Err)
}

/// The metadata version in use, by its name.
fn version(features: Features) -> Option<String> {
    let level = features.features.get(METADATA_VERSION)?.level?;
    let name = level_name(METADATA_VERSION, level);
    Some(name.map_or_else(|| level.to_string(), str::to_owned))
}
