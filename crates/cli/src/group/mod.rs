//! `thalweg group`: groups, their members, and the offsets they committed.

mod describe;
mod offsets;
mod reset;
mod why;

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use thalweg::admin::{AdminError, GroupFilter, MemberToRemove};

use crate::client::{Align, CliError, ClientArgs, CommandContext, Patterns, Table, Tally};

/// Options of `thalweg group`.
#[derive(Args)]
pub struct GroupArgs {
    #[command(flatten)]
    client: ClientArgs,
    #[command(subcommand)]
    command: GroupCommand,
}

#[derive(Subcommand)]
enum GroupCommand {
    /// List groups.
    List(ListArgs),
    /// Show groups: offsets and lag, members, or state.
    Describe(describe::DescribeArgs),
    /// Tell why groups rebalanced: what began it, which partitions moved, who was waited for. Only Thalweg's
    /// brokers know.
    Why(why::WhyArgs),
    /// Delete groups that have no members, with their offsets.
    Delete(DeleteArgs),
    /// Give a group without members other offsets; shows what it would do, unless --execute is
    /// given.
    ResetOffsets(reset::ResetArgs),
    /// Forget offsets that a group committed for topics it is not subscribed to.
    DeleteOffsets(offsets::DeleteOffsetsArgs),
    /// Take members out of a classic group, as if they had left.
    RemoveMembers(RemoveArgs),
}

#[derive(Args)]
struct ListArgs {
    /// Groups [default: all]
    names: Vec<String>,
    /// Also those whose whole name matches this regular expression
    #[arg(long, value_name = "REGEX")]
    regex: Vec<String>,
    /// Only in this state: Stable, Empty, ...; may be repeated
    #[arg(long)]
    state: Vec<String>,
    /// Only of this type: Classic, Consumer, ...; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    kind: Vec<String>,
    /// Only with this protocol: consumer, connect, ...; may be repeated
    #[arg(long)]
    protocol: Vec<String>,
}

#[derive(Args)]
struct DeleteArgs {
    /// Groups
    names: Vec<String>,
    /// Also those whose whole name matches this regular expression
    #[arg(long, value_name = "REGEX")]
    regex: Vec<String>,
    /// Be content with a group that is not there
    #[arg(long)]
    if_exists: bool,
    /// Yes, all that the regular expressions find
    #[arg(long)]
    yes: bool,
}

#[derive(Args)]
struct RemoveArgs {
    /// Group
    group: String,
    /// A member by its id; may be repeated
    #[arg(long, value_name = "ID")]
    member: Vec<String>,
    /// A static member by its group.instance.id; may be repeated
    #[arg(long, value_name = "ID")]
    instance: Vec<String>,
    /// All of them
    #[arg(long, conflicts_with_all = ["member", "instance"])]
    all: bool,
    /// Why, for the broker's log
    #[arg(long, default_value = "removed with thalweg group")]
    reason: String,
}

/// Runs `thalweg group`.
pub fn run(args: GroupArgs) -> ExitCode {
    crate::client::run(async {
        // They connect by themselves, once they know that what they are told makes sense.
        let client = &args.client;
        match args.command {
            GroupCommand::List(args) => list(client, args).await,
            GroupCommand::Describe(args) => describe::run(client, args).await,
            GroupCommand::Why(args) => why::run(client, args).await,
            GroupCommand::Delete(args) => delete(client, args).await,
            GroupCommand::ResetOffsets(args) => reset::run(client, args).await,
            GroupCommand::DeleteOffsets(args) => offsets::delete(client, args).await,
            GroupCommand::RemoveMembers(args) => remove(client, args).await,
        }
    })
}

async fn list(client: &ClientArgs, args: ListArgs) -> Result<(), CliError> {
    let patterns = Patterns::names(&args.names, &args.regex)?;
    let mut session = CommandContext::open(client).await?;
    let is_filtered = !(args.state.is_empty() && args.kind.is_empty() && args.protocol.is_empty());
    let filter = GroupFilter::default()
        .with_states(args.state)
        .with_kinds(args.kind)
        .with_protocols(args.protocol);
    let (mut groups, failed) = session.admin.list_groups(&filter).await?;
    groups.retain(|group| patterns.is_empty() || patterns.matches(&group.id));
    let missing =
        patterns.exact().find(|name| !groups.iter().any(|group| group.id == **name)).cloned();
    let mut tally = Tally::default();
    for (broker, result) in failed {
        tally.take(format!("broker {broker}"), result);
    }
    let mut table = Table::new([
        ("GROUP", Align::Left),
        ("STATE", Align::Left),
        ("TYPE", Align::Left),
        ("PROTOCOL", Align::Left),
        ("COORDINATOR", Align::Right),
    ]);
    let mut all = Vec::new();
    for group in groups {
        tally.done();
        all.push(json!({
            "group": group.id,
            "state": group.state,
            "type": group.kind,
            "protocol": group.protocol,
            "coordinator": group.coordinator,
        }));
        table.row([
            group.id,
            group.state.unwrap_or_default(),
            group.kind.unwrap_or_default(),
            group.protocol,
            group.coordinator.to_string(),
        ]);
    }
    match session.json() {
        true => session.out.json(&Value::Array(all))?,
        false if tally.is_whole() && missing.is_none() => {
            session.out.table_of("such groups", &table)?;
        }
        false => session.out.table(&table)?,
    }
    tally.conclude(session.out)?;
    match missing {
        Some(name) => {
            let such = if is_filtered { " of this kind" } else { "" };
            Err(CliError::NotFound(format!("there is no group {name}{such}")))
        }
        None => Ok(()),
    }
}

/// What is to be looked for; nothing for all groups.
fn wanted(names: &[String], regexes: &[String], all: bool) -> Result<Option<Patterns>, CliError> {
    let patterns = Patterns::names(names, regexes)?;
    match (all, patterns.is_empty()) {
        (true, _) => Ok(None),
        (false, true) => Err(CliError::Usage("which groups?".into())),
        (false, false) => Ok(Some(patterns)),
    }
}

/// The names that are meant, of the groups there are.
async fn select(
    session: &CommandContext,
    wanted: Option<&Patterns>,
) -> Result<BTreeSet<String>, CliError> {
    if let Some(patterns) = wanted
        && !patterns.has_patterns()
    {
        return Ok(patterns.exact().cloned().collect());
    }
    let (groups, failed) = session.admin.list_groups(&GroupFilter::default()).await?;
    if let Some((_, Err(error))) = failed.into_iter().next() {
        return Err(error.into());
    }
    // Share and streams groups have no offsets that are looked at here.
    let has_offsets = |kind: &Option<String>| {
        let kind = kind.as_deref().unwrap_or("classic");
        ["classic", "consumer"].iter().any(|known| known.eq_ignore_ascii_case(kind))
    };
    let groups = groups.into_iter().filter(|group| wanted.is_some() || has_offsets(&group.kind));
    let listed: Vec<String> = groups.map(|group| group.id).collect();
    match wanted {
        Some(patterns) => patterns.select(&listed),
        None => Ok(listed.into_iter().collect()),
    }
}

async fn delete(client: &ClientArgs, args: DeleteArgs) -> Result<(), CliError> {
    let wanted = wanted(&args.names, &args.regex, false)?;
    let mut session = CommandContext::open(client).await?;
    let groups = select(&session, wanted.as_ref()).await?;
    if !args.regex.is_empty() && !args.yes {
        let listed: Vec<String> = groups.into_iter().collect();
        let reason = format!("this would delete {}: say --yes", listed.join(", "));
        return Err(CliError::Usage(reason));
    }
    let mut tally = Tally::default();
    let mut all = Vec::new();
    for (group, result) in session.admin.delete_groups(groups).await {
        if args.if_exists && result.as_ref().is_err_and(AdminError::is_not_found) {
            tally.done();
            all.push(json!({"group": group, "deleted": false}));
            continue;
        }
        let failure = result.as_ref().err().map(ToString::to_string);
        let deleted = tally.take(format!("group {group}"), result).is_some();
        if deleted && !session.json() {
            session.out.line(&format!("{group} deleted"))?;
        }
        let mut value = json!({"group": group, "deleted": deleted});
        if let Some(failure) = failure {
            value["error"] = json!(failure);
        }
        all.push(value);
    }
    session.conclude(tally, all)
}

async fn remove(client: &ClientArgs, args: RemoveArgs) -> Result<(), CliError> {
    let mut members: Vec<MemberToRemove> = args
        .member
        .into_iter()
        .map(MemberToRemove::Member)
        .chain(args.instance.into_iter().map(MemberToRemove::Instance))
        .collect();
    if members.is_empty() && !args.all {
        return Err(CliError::Usage("which members? --member, --instance or --all".into()));
    }
    let mut session = CommandContext::open(client).await?;
    if args.all {
        let mut described = session.admin.describe_groups([args.group.clone()]).await;
        let described = described
            .remove(&args.group)
            .ok_or_else(|| CliError::Failed(format!("nothing is said of group {}", args.group)))?;
        members.extend(described?.members.into_iter().map(|member| match member.instance_id {
            Some(id) => MemberToRemove::Instance(id),
            None => MemberToRemove::Member(member.id),
        }));
    }
    let mut tally = Tally::default();
    let mut all = Vec::new();
    let results = session.admin.remove_members(&args.group, members, &args.reason).await;
    for (member, result) in results {
        let id = match &member {
            MemberToRemove::Instance(id) | MemberToRemove::Member(id) => id.clone(),
        };
        let failure = result.as_ref().err().map(ToString::to_string);
        let removed = tally.take(format!("member {id}"), result).is_some();
        if removed && !session.json() {
            session.out.line(&format!("{id} removed"))?;
        }
        all.push(json!({"member": id, "removed": removed, "error": failure}));
    }
    session.conclude(tally, all)
}
