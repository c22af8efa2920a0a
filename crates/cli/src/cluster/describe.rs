//! What the cluster says of itself.

use clap::Args;
use serde_json::{Map, Value, json};
use thalweg::admin::{AdminError, FeatureUpdate, Mode, QuorumReplica, UpgradeType};
use thalweg_metadata::MetadataVersion;
use thalweg_wire::ApiKey;

use super::overview;
use crate::client::time::format_datetime;
use crate::client::{Align, CliError, CommandContext, Table, Tally};

/// The feature whose levels have names.
pub(super) const METADATA_VERSION: &str = thalweg_metadata::features::METADATA_VERSION;

pub(super) async fn features(mut session: CommandContext) -> Result<(), CliError> {
    let features = session.admin.describe_features().await?;
    if session.json() {
        let mut all = Map::new();
        for (name, range) in features.features {
            let level_name = range.level.and_then(|level| level_name(&name, level));
            let value = json!({
                "level": range.level,
                "level_name": level_name,
                "min_supported": range.min_supported,
                "max_supported": range.max_supported,
            });
            all.insert(name, value);
        }
        session.out.json(&json!({"epoch": features.epoch, "features": all}))?;
        return session.out.finish();
    }
    let mut table =
        Table::new([("FEATURE", Align::Left), ("LEVEL", Align::Right), ("SUPPORTED", Align::Left)]);
    for (name, range) in features.features {
        let supported = match (range.min_supported, range.max_supported) {
            (Some(min), Some(max)) => format!("{min} to {max}"),
            _ => String::new(),
        };
        let level = shown_level(&name, range.level);
        table.row([name, level, supported]);
    }
    session.out.table(&table)?;
    session.out.finish()
}

#[derive(Args)]
pub(super) struct UnregisterArgs {
    /// The broker's id
    #[arg(value_parser = clap::value_parser!(i32).range(0..))]
    broker: i32,
}

pub(super) async fn unregister(
    session: CommandContext,
    args: UnregisterArgs,
) -> Result<(), CliError> {
    let result = session.admin.unregister_broker(args.broker).await;
    report_unregistered(session, &format!("broker {}", args.broker), result)
}

#[derive(Args)]
pub(super) struct UnregisterControllerArgs {
    /// The controller's id
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(i32).range(0..))]
    id: i32,
}

pub(super) async fn unregister_controller(
    session: CommandContext,
    args: UnregisterControllerArgs,
) -> Result<(), CliError> {
    let result = session.admin.unregister_controller(args.id).await;
    report_unregistered(session, &format!("controller {}", args.id), result)
}

/// Reports that a node is unregistered, or why not.
fn report_unregistered(
    mut session: CommandContext,
    node: &str,
    result: Result<(), AdminError>,
) -> Result<(), CliError> {
    let failure = result.as_ref().err().map(ToString::to_string);
    let mut tally = Tally::default();
    let is_done = tally.take(node.to_owned(), result).is_some();
    if session.json() {
        session.out.json(&json!({"unregistered": is_done, "error": failure}))?;
    } else if is_done {
        session.out.line(&format!("{node} is unregistered"))?;
    }
    tally.conclude(session.out)
}

#[derive(Args)]
pub(super) struct UpdateArgs {
    /// Features and their new levels; 0 puts one out of use. That of metadata.version may be a
    /// release: 4.4, 4.4-IV2
    #[arg(required = true, value_name = "FEATURE=LEVEL", value_parser = parse_level)]
    features: Vec<(String, i16)>,
    /// Go down, as long as nothing is lost by it
    #[arg(long, conflicts_with = "is_unsafe")]
    downgrade: bool,
    /// Go down, whatever is lost by it
    #[arg(long = "unsafe")]
    is_unsafe: bool,
    /// Only say whether it could be done
    #[arg(long)]
    validate_only: bool,
}

fn parse_level(text: &str) -> Result<(String, i16), String> {
    let wrong = || format!("'{text}' is not feature=level");
    let (name, level) = text.split_once('=').ok_or_else(wrong)?;
    let number = level.parse().ok().filter(|level: &i16| *level >= 0);
    let by_name = || {
        (name == METADATA_VERSION)
            .then(|| MetadataVersion::named(level))
            .flatten()
            .map(MetadataVersion::level)
    };
    Ok((name.to_owned(), number.or_else(by_name).ok_or_else(wrong)?))
}

/// A level, and its name if it has one.
fn shown_level(feature: &str, level: Option<i16>) -> String {
    let Some(level) = level else { return String::new() };
    match level_name(feature, level) {
        Some(name) => format!("{level} ({name})"),
        None => level.to_string(),
    }
}

pub(super) fn level_name(feature: &str, level: i16) -> Option<&'static str> {
    let known = Some(level).filter(|_| feature == METADATA_VERSION);
    known.and_then(MetadataVersion::from_level).map(MetadataVersion::name)
}

pub(super) async fn update(mut session: CommandContext, args: UpdateArgs) -> Result<(), CliError> {
    let upgrade = match (args.downgrade, args.is_unsafe) {
        (_, true) => UpgradeType::UnsafeDowngrade,
        (true, false) => UpgradeType::SafeDowngrade,
        (false, false) => UpgradeType::Upgrade,
    };
    let update =
        |(name, level): &(String, i16)| FeatureUpdate::new(name, *level).with_upgrade(upgrade);
    let updates = args.features.iter().map(update);
    let mode = if args.validate_only { Mode::ValidateOnly } else { Mode::Apply };
    let mut tally = Tally::default();
    let mut all = Vec::new();
    for (name, result) in session.admin.update_features(updates, mode).await {
        let failure = result.as_ref().err().map(ToString::to_string);
        let is_done = tally.take(format!("feature {name}"), result).is_some();
        if is_done && !session.json() {
            let verb = if args.validate_only { "could be changed" } else { "changed" };
            session.out.line(&format!("{name} {verb}"))?;
        }
        all.push(json!({"feature": name, "ok": is_done, "error": failure}));
    }
    session.conclude(tally, all)
}

pub(super) async fn quorum(mut session: CommandContext) -> Result<(), CliError> {
    let quorum = session.admin.describe_quorum().await?;
    let lag = |replica: &QuorumReplica| overview::metadata_lag(&quorum, replica);
    let both = || {
        let voters = quorum.voters.iter().map(|replica| (replica, "voter"));
        voters.chain(quorum.observers.iter().map(|replica| (replica, "observer")))
    };
    if session.json() {
        let replicas = both().map(|(replica, role)| {
            json!({
                "id": replica.id,
                "role": if replica.id == quorum.leader { "leader" } else { role },
                "directory": replica.directory.to_string(),
                "log_end_offset": replica.log_end_offset,
                "lag": lag(replica),
                "last_fetch": replica.last_fetch,
                "last_caught_up": replica.last_caught_up,
            })
        });
        let replicas: Vec<Value> = replicas.collect();
        let nodes = quorum.nodes.iter().map(|node| {
            let listeners = node
                .listeners
                .iter()
                .map(|(name, host, port)| json!({"name": name, "host": host, "port": port}));
            json!({"id": node.id, "listeners": listeners.collect::<Vec<_>>()})
        });
        session.out.json(&json!({
            "leader": quorum.leader,
            "epoch": quorum.leader_epoch,
            "high_watermark": quorum.high_watermark,
            "replicas": replicas,
            "nodes": nodes.collect::<Vec<_>>(),
        }))?;
        return session.out.finish();
    }
    session.out.line(&format!(
        "leader {}  epoch {}  high watermark {}",
        quorum.leader, quorum.leader_epoch, quorum.high_watermark
    ))?;
    let mut table = Table::new([
        ("NODE", Align::Right),
        ("ROLE", Align::Left),
        ("LOG-END", Align::Right),
        ("LAG", Align::Right),
        ("LAST-FETCH", Align::Left),
        ("LAST-CAUGHT-UP", Align::Left),
        ("DIRECTORY", Align::Left),
    ]);
    for (replica, role) in both() {
        let time = |ms: Option<i64>| ms.map_or_else(String::new, format_datetime);
        table.row([
            replica.id.to_string(),
            if replica.id == quorum.leader { "leader" } else { role }.to_owned(),
            replica.log_end_offset.to_string(),
            lag(replica).map_or_else(|| "?".to_owned(), |lag| lag.to_string()),
            time(replica.last_fetch),
            time(replica.last_caught_up),
            replica.directory.to_string(),
        ]);
    }
    session.out.table(&table)?;
    session.out.finish()
}

#[derive(Args)]
pub(super) struct BrokersArgs {
    /// Brokers' ids [default: all that are alive]
    #[arg(value_parser = clap::value_parser!(i32).range(0..))]
    brokers: Vec<i32>,
}

pub(super) async fn brokers(
    mut session: CommandContext,
    args: BrokersArgs,
) -> Result<(), CliError> {
    let mut tally = Tally::default();
    let mut all = Vec::new();
    let mut missing = args.brokers.clone();
    for (broker, result) in session.admin.broker_versions().await? {
        missing.retain(|id| *id != broker);
        if !args.brokers.is_empty() && !args.brokers.contains(&broker) {
            continue;
        }
        let Some(versions) = tally.take(format!("broker {broker}"), result) else { continue };
        let name = |api: &ApiKey| api.to_string();
        if session.json() {
            let mut apis = Map::new();
            for (api, range) in &versions.apis {
                let value = json!({"api": api.0, "min": range.start(), "max": range.end()});
                apis.insert(name(api), value);
            }
            all.push(json!({"broker": broker, "address": versions.address, "apis": apis}));
            continue;
        }
        session.out.line(&format!("broker {broker} at {}", versions.address))?;
        let mut table = Table::new([
            ("API", Align::Right),
            ("NAME", Align::Left),
            ("VERSIONS", Align::Left),
            ("SPOKEN HERE", Align::Left),
        ]);
        for (api, range) in &versions.apis {
            let ours = api.info().map(|info| info.max_stable_version);
            table.row([
                api.0.to_string(),
                name(api),
                format!("{} to {}", range.start(), range.end()),
                ours.map_or_else(|| "no".to_owned(), |ours| format!("up to {ours}")),
            ]);
        }
        session.out.table(&table)?;
    }
    if session.json() {
        session.out.json(&Value::Array(all))?;
    }
    tally.conclude(session.out)?;
    match missing.first() {
        Some(id) => Err(CliError::NotFound(format!("there is no broker {id} alive"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_names() {
        let level = |text: &str| parse_level(text).map(|(_, level)| level);
        assert_eq!(level("metadata.version=4.3"), Ok(30));
        assert_eq!(level("metadata.version=4.4"), Ok(33));
        assert_eq!(level("metadata.version=4.4-IV1"), Ok(32));
        assert_eq!(level("metadata.version=4.0-IV1"), level("metadata.version=23"));
        assert_eq!(level("group.version=1"), Ok(1));
        for bad in ["group.version=4.3", "metadata.version=4.9", "x", "x=-1", "x=99999"] {
            assert!(level(bad).is_err(), "{bad}");
        }
        assert_eq!(shown_level("metadata.version", Some(30)), "30 (4.3-IV0)");
        assert_eq!(shown_level("metadata.version", Some(33)), "33 (4.4-IV2)");
        assert_eq!(shown_level("group.version", Some(1)), "1");
    }
}
