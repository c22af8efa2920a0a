//! `thalweg group why`.

use clap::Args;
use serde_json::{Value, json};
use thalweg::admin::{
    GroupRebalance, GroupRebalances, PartitionMove, RebalanceStep, RebalanceTrigger, RebalanceWait,
};

use super::{select, wanted};
use crate::client::{CliError, ClientArgs, CommandContext, Tally};

/// Moves of a rebalance that are shown.
const MOVES_SHOWN: usize = 5;

#[derive(Args)]
pub(super) struct WhyArgs {
    /// Groups
    names: Vec<String>,
    /// Also those whose whole name matches this regular expression
    #[arg(long, value_name = "REGEX")]
    regex: Vec<String>,
    /// Rebalances to show of each group, the newest first
    #[arg(long, value_name = "N", default_value_t = 3)]
    last: usize,
}

pub(super) async fn run(client: &ClientArgs, args: WhyArgs) -> Result<(), CliError> {
    let wanted = wanted(&args.names, &args.regex, false)?;
    let mut session = CommandContext::open(client).await?;
    let groups = select(&session, wanted.as_ref()).await?;
    let mut tally = Tally::default();
    let mut all = Vec::new();
    for (group, result) in session.admin.describe_rebalances(groups).await {
        let Some(told) = tally.take(format!("group {group}"), result) else { continue };
        if session.json() {
            all.push(as_json(&group, &told, args.last));
        } else {
            for line in lines(&group, &told, args.last) {
                session.out.line(&line)?;
            }
        }
    }
    session.conclude(tally, all)
}

fn trigger_text(trigger: &RebalanceTrigger) -> String {
    let named = |member: &str, client_id: &str| {
        // Most member ids begin with the client's.
        if member.starts_with(client_id) {
            member.to_owned()
        } else {
            format!("{member} ({client_id})")
        }
    };
    match trigger {
        RebalanceTrigger::Joined { member, client_id } => {
            format!("{} joined", named(member, client_id))
        }
        RebalanceTrigger::Left { member, client_id, reason } if reason.is_empty() => {
            format!("{} is gone", named(member, client_id))
        }
        RebalanceTrigger::Left { member, client_id, reason } => {
            format!("{} is gone: {reason}", named(member, client_id))
        }
        RebalanceTrigger::Subscription { member, client_id } => {
            format!("{} subscribes to something else", named(member, client_id))
        }
        RebalanceTrigger::Regex(regex) => format!("{regex} matches other topics"),
        RebalanceTrigger::Topics => "topics of the group changed".to_owned(),
        RebalanceTrigger::Rejoined { member, client_id, reason } => {
            let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            format!("{} joined again{reason}", named(member, client_id))
        }
        RebalanceTrigger::Coordinator(reason) => reason.clone(),
        _ => "of something that this version of thalweg does not know".to_owned(),
    }
}

fn move_text(moved: &PartitionMove, began_ms: i64) -> String {
    let name = |member: &Option<String>| member.clone().unwrap_or_else(|| "nobody".to_owned());
    let mut text = format!(
        "{}-{}: {} -> {}",
        moved.topic,
        moved.partition,
        name(&moved.from),
        name(&moved.to)
    );
    let since = |ms: i64| ms.saturating_sub(began_ms);
    for (what, ms) in
        [("told", moved.told_ms), ("given up", moved.freed_ms), ("taken", moved.taken_ms)]
    {
        // What nobody had is free from the beginning.
        if let Some(ms) = ms.filter(|_| what == "taken" || moved.from.is_some()) {
            text.push_str(&format!(", {what} after {} ms", since(ms)));
        }
    }
    match (&moved.from, &moved.to) {
        (Some(from), _) if moved.freed_ms.is_none() => {
            text.push_str(&format!(", waits for {from}"));
        }
        (_, Some(to)) if moved.taken_ms.is_none() => text.push_str(&format!(", waits for {to}")),
        _ => {}
    }
    text
}

/// What a step of a rebalance at the barrier waited for, or waits for.
fn wait_text(wait: &RebalanceWait, began_ms: i64) -> String {
    let member = &wait.member;
    match (wait.step, wait.ended_ms.map(|ended_ms| ended_ms.saturating_sub(began_ms))) {
        (RebalanceStep::Join, Some(ms)) => format!("all joined after {ms} ms, {member} last"),
        (RebalanceStep::Join, None) => format!("waits for {member} to join again"),
        (RebalanceStep::Assignment, Some(ms)) => format!("assigned by {member} after {ms} ms"),
        (RebalanceStep::Assignment, None) => format!("waits for {member} to assign"),
        (RebalanceStep::Sync, Some(ms)) => {
            format!("all have asked for their assignment after {ms} ms, {member} last")
        }
        (RebalanceStep::Sync, None) => format!("waits for {member} to ask for its assignment"),
        (_, _) => format!("{member}: a step that this version of thalweg does not know"),
    }
}

fn lines(group: &str, told: &GroupRebalances, last: usize) -> Vec<String> {
    let mut out = vec![format!("{group}: {} ({})", told.mode, told.reason)];
    if told.rebalances.is_empty() {
        out.push("  no rebalance since this broker coordinates it".to_owned());
    }
    for (at, rebalance) in told.rebalances.iter().take(last).enumerate() {
        let took = match rebalance.over_ms {
            Some(over_ms) => {
                format!("over after {} ms", over_ms.saturating_sub(rebalance.began_ms))
            }
            None => "not over".to_owned(),
        };
        let next = match rebalance.superseded_by {
            Some(epoch) => format!(", went on as {epoch}"),
            None => String::new(),
        };
        // A group without members is forgotten, and the next one of its name counts from the start.
        let older = told.rebalances.get(at + 1);
        let again = match older.is_some_and(|older| older.epoch >= rebalance.epoch) {
            true => ", counted from the start because the group had been empty",
            false => "",
        };
        let number = if rebalance.waits.is_empty() { "epoch" } else { "generation" };
        out.push(format!(
            "  {number} {}, {}, {} members, {} partitions moved, {took}{next}{again}",
            rebalance.epoch,
            crate::client::time::format_datetime(rebalance.began_ms),
            rebalance.members,
            rebalance.move_count
        ));
        for trigger in &rebalance.triggers {
            out.push(format!("    because {}", trigger_text(trigger)));
        }
        let more = rebalance.trigger_count.saturating_sub(rebalance.triggers.len());
        if more > 0 {
            out.push(format!("    because of {more} more"));
        }
        for wait in &rebalance.waits {
            out.push(format!("    {}", wait_text(wait, rebalance.began_ms)));
        }
        for moved in rebalance.moves.iter().take(MOVES_SHOWN) {
            out.push(format!("    {}", move_text(moved, rebalance.began_ms)));
        }
        let more = rebalance.move_count.saturating_sub(rebalance.moves.len().min(MOVES_SHOWN));
        if more > 0 {
            out.push(format!("    and {more} more"));
        }
    }
    out
}

fn as_json(group: &str, told: &GroupRebalances, last: usize) -> Value {
    let rebalances: Vec<Value> = told.rebalances.iter().take(last).map(rebalance_json).collect();
    json!({"group": group, "mode": told.mode, "reason": told.reason, "rebalances": rebalances})
}

fn rebalance_json(rebalance: &GroupRebalance) -> Value {
    let moves: Vec<Value> = rebalance
        .moves
        .iter()
        .map(|moved| {
            json!({
                "topic": moved.topic,
                "partition": moved.partition,
                "from": moved.from,
                "to": moved.to,
                "told_ms": moved.told_ms,
                "freed_ms": moved.freed_ms,
                "taken_ms": moved.taken_ms,
                "unowned_ms": moved.unowned_ms(),
            })
        })
        .collect();
    let waits: Vec<Value> = rebalance
        .waits
        .iter()
        .map(|wait| {
            let step = match wait.step {
                RebalanceStep::Join => "join",
                RebalanceStep::Assignment => "assignment",
                RebalanceStep::Sync => "sync",
                _ => "unknown",
            };
            json!({"step": step, "member": wait.member, "ended_ms": wait.ended_ms})
        })
        .collect();
    let triggers: Vec<String> = rebalance.triggers.iter().map(trigger_text).collect();
    json!({
        "epoch": rebalance.epoch,
        "began_ms": rebalance.began_ms,
        "assigned_ms": rebalance.assigned_ms,
        "over_ms": rebalance.over_ms,
        "superseded_by": rebalance.superseded_by,
        "members": rebalance.members,
        "triggers": triggers,
        "trigger_count": rebalance.trigger_count,
        "waits": waits,
        "moves": moves,
        "move_count": rebalance.move_count,
    })
}
