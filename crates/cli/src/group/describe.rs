//! `thalweg group describe`.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};
use thalweg::admin::{GroupDescription, GroupMember, GroupOffsets, GroupRebalances, OffsetSpec};
use thalweg::{IsolationLevel, TopicPartition};

use super::{select, wanted};
use crate::client::{Align, CliError, ClientArgs, CommandContext, Table, Tally, show_partitions};

#[derive(Args)]
pub(super) struct DescribeArgs {
    /// Groups
    names: Vec<String>,
    /// Also those whose whole name matches this regular expression
    #[arg(long, value_name = "REGEX")]
    regex: Vec<String>,
    /// All groups
    #[arg(long, conflicts_with_all = ["names", "regex"])]
    all: bool,
    /// Show members and what they have
    #[arg(long, group = "view")]
    members: bool,
    /// Show the state only
    #[arg(long, group = "view")]
    state: bool,
    /// Show offsets, lag and who reads; the default
    #[arg(long, group = "view")]
    offsets: bool,
}

/// A partition that a group reads, or once read.
struct Row<'a> {
    partition: &'a TopicPartition,
    committed: Option<i64>,
    end: Result<i64, String>,
    metadata: Option<&'a str>,
    member: Option<&'a GroupMember>,
}

impl Row<'_> {
    fn lag(&self) -> Option<i64> {
        Some(self.end.as_ref().ok()?.saturating_sub(self.committed?).max(0))
    }
}

pub(super) async fn run(client: &ClientArgs, args: DescribeArgs) -> Result<(), CliError> {
    let wanted = wanted(&args.names, &args.regex, args.all)?;
    let mut session = CommandContext::open(client).await?;
    let groups = select(&session, wanted.as_ref()).await?;
    let mut tally = Tally::default();
    let described = session.admin.describe_groups(groups).await;
    let described: Vec<GroupDescription> = described
        .into_iter()
        .filter_map(|(group, result)| tally.take(format!("group {group}"), result))
        .collect();
    // Brokers of Apache Kafka do not tell, and what they run groups by is known.
    let ids = described.iter().map(|group| group.id.clone());
    let told = session.admin.describe_rebalances(ids).await.into_iter();
    let rules: BTreeMap<String, GroupRebalances> =
        told.filter_map(|(group, told)| Some((group, told.ok()?))).collect();
    if args.state && !session.json() {
        show_states(&mut session, &described, &rules)?;
        return tally.conclude(session.out);
    }
    let needs_offsets = !args.members && !args.state;
    let mut offsets = BTreeMap::new();
    let mut ends = BTreeMap::new();
    if needs_offsets {
        let ids = described.iter().map(|group| group.id.clone());
        for (group, result) in session.admin.list_group_offsets(ids).await {
            if let Some(found) = tally.take(format!("offsets of group {group}"), result) {
                offsets.insert(group, found);
            }
        }
        ends = ends_of(&session, &described, &offsets, &mut tally).await;
    }
    let mut all = Vec::new();
    let mut is_first = true;
    for group in &described {
        let none = GroupOffsets::new();
        let offsets = offsets.get(&group.id).unwrap_or(&none);
        let rows = rows(group, offsets, &ends);
        for (partition, result) in offsets {
            if let Err(error) = result {
                tally.failed(format!("offset of group {} in {partition}", group.id), error);
            }
        }
        if session.json() {
            all.push(group_json(group, rules.get(&group.id), needs_offsets.then_some(&rows)));
            continue;
        }
        if !std::mem::take(&mut is_first) {
            session.out.line("")?;
        }
        let members = group.members.len();
        session.out.line(&format!(
            "{}  {} {}  members {members}  assignor {}  coordinator {}",
            group.id,
            group.kind.name(),
            group.state,
            if group.assignor.is_empty() { "-" } else { &group.assignor },
            group.coordinator
        ))?;
        if let Some(rules) = rules.get(&group.id) {
            session.out.line(&format!("rebalances by {}: {}", rules.mode, rules.reason))?;
        }
        if args.members {
            show_members(&mut session, group)?;
        } else {
            show_offsets(&mut session, &rows)?;
        }
    }
    session.conclude(tally, all)
}

/// Where the partitions end that groups committed to, or that members have.
async fn ends_of(
    session: &CommandContext,
    groups: &[GroupDescription],
    offsets: &BTreeMap<String, GroupOffsets>,
    tally: &mut Tally,
) -> BTreeMap<TopicPartition, Result<i64, String>> {
    let committed = offsets.values().flat_map(|offsets| offsets.keys());
    let assigned = groups.iter().flat_map(|g| g.members.iter().flat_map(|m| &m.assignment));
    let wanted = committed.chain(assigned).map(|p| (p.clone(), OffsetSpec::Latest));
    let found = session.admin.list_offsets(wanted, IsolationLevel::ReadUncommitted).await;
    let ends = found.into_iter().map(|(partition, result)| {
        let end = result.map(|found| found.offset).map_err(|error| {
            tally.failed(format!("end of {partition}"), &error);
            error.to_string()
        });
        (partition, end)
    });
    ends.collect()
}

fn rows<'a>(
    group: &'a GroupDescription,
    offsets: &'a GroupOffsets,
    ends: &BTreeMap<TopicPartition, Result<i64, String>>,
) -> Vec<Row<'a>> {
    let mut owners: BTreeMap<&TopicPartition, &GroupMember> = BTreeMap::new();
    for member in &group.members {
        owners.extend(member.assignment.iter().map(|partition| (partition, member)));
    }
    let mut partitions: Vec<&TopicPartition> =
        offsets.keys().chain(owners.keys().copied()).collect();
    partitions.sort();
    partitions.dedup();
    let row = |partition: &'a TopicPartition| {
        let committed = offsets.get(partition).and_then(|result| result.as_ref().ok());
        let unknown = Err("its end is not known".to_owned());
        Row {
            partition,
            committed: committed.map(|committed| committed.position.offset),
            end: ends.get(partition).cloned().unwrap_or(unknown),
            metadata: committed.and_then(|committed| committed.metadata.as_deref()),
            member: owners.get(partition).copied(),
        }
    };
    partitions.into_iter().map(row).collect()
}

fn shown(number: Option<i64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

fn show_states(
    session: &mut CommandContext,
    groups: &[GroupDescription],
    rules: &BTreeMap<String, GroupRebalances>,
) -> Result<(), CliError> {
    let mut table = Table::new([
        ("GROUP", Align::Left),
        ("STATE", Align::Left),
        ("TYPE", Align::Left),
        ("MEMBERS", Align::Right),
        ("ASSIGNOR", Align::Left),
        ("EPOCH", Align::Right),
        ("ASSIGNMENT-EPOCH", Align::Right),
        ("COORDINATOR", Align::Right),
        ("MODE", Align::Left),
        ("REASON", Align::Left),
    ]);
    for group in groups {
        let rules = rules.get(&group.id);
        table.row([
            group.id.clone(),
            group.state.clone(),
            group.kind.name().to_owned(),
            group.members.len().to_string(),
            group.assignor.clone(),
            shown(group.epoch.map(i64::from)),
            shown(group.assignment_epoch.map(i64::from)),
            group.coordinator.to_string(),
            rules.map_or_else(String::new, |rules| rules.mode.clone()),
            rules.map_or_else(String::new, |rules| rules.reason.clone()),
        ]);
    }
    session.out.table(&table)
}

fn show_members(session: &mut CommandContext, group: &GroupDescription) -> Result<(), CliError> {
    let mut table = Table::new([
        ("MEMBER", Align::Left),
        ("INSTANCE", Align::Left),
        ("CLIENT", Align::Left),
        ("HOST", Align::Left),
        ("EPOCH", Align::Right),
        ("PARTITIONS", Align::Right),
        ("ASSIGNMENT", Align::Left),
    ]);
    for member in &group.members {
        table.row([
            member.id.clone(),
            member.instance_id.clone().unwrap_or_default(),
            member.client_id.clone(),
            member.host.clone(),
            shown(member.epoch.map(i64::from)),
            member.assignment.len().to_string(),
            show_partitions(&member.assignment),
        ]);
    }
    session.out.table(&table)
}

fn show_offsets(session: &mut CommandContext, rows: &[Row<'_>]) -> Result<(), CliError> {
    let mut table = Table::new([
        ("TOPIC", Align::Left),
        ("PARTITION", Align::Right),
        ("COMMITTED", Align::Right),
        ("END", Align::Right),
        ("LAG", Align::Right),
        ("MEMBER", Align::Left),
        ("HOST", Align::Left),
        ("CLIENT", Align::Left),
    ]);
    for row in rows {
        let of_member = |part: fn(&GroupMember) -> &str| row.member.map(part).unwrap_or_default();
        table.row([
            row.partition.topic.to_string(),
            row.partition.partition.to_string(),
            shown(row.committed),
            row.end.as_ref().map_or_else(|_| "?".to_owned(), ToString::to_string),
            shown(row.lag()),
            of_member(|member| &member.id).to_owned(),
            of_member(|member| &member.host).to_owned(),
            of_member(|member| &member.client_id).to_owned(),
        ]);
    }
    session.out.table(&table)
}

fn group_json(
    group: &GroupDescription,
    rules: Option<&GroupRebalances>,
    rows: Option<&Vec<Row<'_>>>,
) -> Value {
    let partitions = |all: &[TopicPartition]| {
        let each = all.iter().map(|p| json!({"topic": &*p.topic, "partition": p.partition}));
        Value::Array(each.collect())
    };
    let member = |member: &GroupMember| {
        json!({
            "member": member.id,
            "instance": member.instance_id,
            "client": member.client_id,
            "host": member.host,
            "rack": member.rack,
            "epoch": member.epoch,
            "assignment": partitions(&member.assignment),
            "target_assignment": member.target_assignment.as_deref().map(partitions),
        })
    };
    let mut value = json!({
        "group": group.id,
        "type": group.kind.name(),
        "state": group.state,
        "protocol": group.protocol,
        "assignor": group.assignor,
        "coordinator": group.coordinator,
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "mode": rules.map(|rules| &rules.mode),
        "reason": rules.map(|rules| &rules.reason),
        "members": group.members.iter().map(member).collect::<Vec<_>>(),
    });
    if let Some(rows) = rows {
        let row = |row: &Row<'_>| {
            let mut value = json!({
                "topic": &*row.partition.topic,
                "partition": row.partition.partition,
                "committed": row.committed,
                "end": row.end.as_ref().ok(),
                "lag": row.lag(),
                "metadata": row.metadata,
                "member": row.member.map(|member| &member.id),
            });
            if let Err(error) = &row.end {
                value["error"] = json!(error);
            }
            value
        };
        value["offsets"] = rows.iter().map(row).collect();
        let lag = rows.iter().filter_map(Row::lag).fold(0_i64, i64::saturating_add);
        value["lag"] = json!(lag);
    }
    value
}
