//! How an inspection of what a start would find is shown: to people, one line for each finding; to programs, as JSON.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};
use thalweg::TopicPartition;
use thalweg_broker::config::Properties;
use thalweg_broker::inspect::{self, ClusterState, DirState, Inspection, Options, Severity};

use crate::client::{Align, CliError, Out, Table, parse_duration};

/// Options of an inspection.
#[derive(clap::Args, Debug)]
pub struct InspectionArgs {
    /// Do not ask the controllers: go by the directories alone
    #[arg(long)]
    pub offline: bool,
    /// Also fail for what is not honoured
    #[arg(long)]
    pub strict: bool,
    /// How long the controllers may take to answer: 30 (seconds), 500ms, 2m [default: 15]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// How long the controllers may take to answer.
const TIMEOUT: Duration = Duration::from_secs(15);

impl InspectionArgs {
    /// The first option that was given, if one was.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--offline", self.offline),
            ("--strict", self.strict),
            ("--timeout", self.timeout.is_some()),
            ("--json", self.json),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }
}

/// Looks at what a start with this configuration would find, and shows it.
pub fn run(props: Properties, args: &InspectionArgs, is_takeover: bool) -> ExitCode {
    let options =
        Options { is_takeover, offline: args.offline, timeout: args.timeout.unwrap_or(TIMEOUT) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let inspection = match runtime {
        Ok(runtime) => runtime.block_on(inspect::inspect(props, &options)),
        Err(error) => {
            eprintln!("error: cannot start a runtime: {error}");
            return ExitCode::from(3);
        }
    };
    match show(&inspection, args.json, is_takeover) {
        Ok(()) | Err(CliError::Closed) => ExitCode::from(code(&inspection, args.strict)),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(3)
        }
    }
}

/// How the process ends.
fn code(inspection: &Inspection, is_strict: bool) -> u8 {
    let fails = |severity| inspection.has(severity);
    match () {
        () if fails(Severity::Refused) => 1,
        () if fails(Severity::NotChecked) => 3,
        () if is_strict && fails(Severity::NotHonoured) => 1,
        () => 0,
    }
}

fn show(inspection: &Inspection, is_json: bool, is_takeover: bool) -> Result<(), CliError> {
    let mut out = Out::new();
    if is_json {
        out.json(&value(inspection))?;
        return out.finish();
    }
    for line in summary(inspection) {
        out.line(&line)?;
    }
    if !is_takeover && inspection.node_id.is_some() {
        for line in details(inspection) {
            out.line(&line)?;
        }
    }
    if !inspection.findings.is_empty() && inspection.node_id.is_some() {
        out.line("")?;
    }
    let mut table =
        Table::new([("SEVERITY", Align::Left), ("AREA", Align::Left), ("FINDING", Align::Left)]);
    for finding in &inspection.findings {
        table.row([
            finding.severity.name().to_owned(),
            finding.area.name().to_owned(),
            format!("{} -- to do: {}", finding.what, finding.action),
        ]);
    }
    out.table(&table)?;
    if let Some(plan) = plan(inspection) {
        out.line("")?;
        out.line(&format!("Reassignment: {plan}"))?;
    }
    out.line("")?;
    out.line(&verdict_line(inspection))?;
    out.finish()
}

/// In a word, what a start would come to.
fn verdict(inspection: &Inspection) -> &'static str {
    match code(inspection, false) {
        0 => "ready",
        1 => "refused",
        _ => "not checked",
    }
}

fn verdict_line(inspection: &Inspection) -> String {
    let count = |severity: Severity| {
        inspection.findings.iter().filter(|finding| finding.severity == severity).count()
    };
    let counts = [
        format!("{} refused", count(Severity::Refused)),
        format!("{} not checked", count(Severity::NotChecked)),
        format!("{} not honoured", count(Severity::NotHonoured)),
        format!("{} to note", count(Severity::Note)),
    ];
    let verdict = match verdict(inspection) {
        "ready" => "Nothing is in the way of a start",
        "refused" => "A start would be refused",
        _ => "Not everything could be checked",
    };
    format!("{verdict}: {}.", counts.join(", "))
}

/// What the node would be.
fn role(inspection: &Inspection) -> Option<String> {
    let node = inspection.node_id?;
    let cluster = inspection.cluster.as_ref();
    Some(match (inspection.has_controller, inspection.is_new_cluster, cluster) {
        (true, true, _) => format!("Node {node} would found a cluster, as broker and controller"),
        (true, false, Some(cluster)) => {
            format!("Node {node} would go on with cluster {}, as broker and controller", cluster.id)
        }
        (true, false, None) => format!("Node {node} would be broker and controller"),
        (false, _, Some(cluster)) => {
            let cordoned = if cluster.is_cordoned { ", cordoned" } else { "" };
            format!("Node {node} would join cluster {}, as a broker{cordoned}", cluster.id)
        }
        (false, _, None) => format!("Node {node} would join a cluster, as a broker"),
    })
}

fn summary(inspection: &Inspection) -> Vec<String> {
    let Some(role) = role(inspection) else { return Vec::new() };
    let partitions: usize = inspection.directories.iter().map(|dir| dir.partitions).sum();
    let replicas = inspection.cluster.as_ref().and_then(|cluster| cluster.replicas);
    let placed = replicas.map(|count| format!(", {count} replicas by the metadata"));
    let directories = match inspection.directories.len() {
        1 => "1 log directory".to_owned(),
        several => format!("{several} log directories"),
    };
    let placed = placed.unwrap_or_default();
    vec![format!("{role}."), format!("{directories}; {partitions} partitions on the disk{placed}.")]
}

fn details(inspection: &Inspection) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut put = |name: &str, value: String| lines.push(format!("{name:<22}  {value}"));
    if let Some(rack) = &inspection.rack {
        put("broker.rack", rack.clone());
    }
    for listener in &inspection.listeners {
        let address = format!("{}, advertised as {}", listener.listens, listener.advertised);
        put("listener", format!("{} ({}): {address}", listener.name, listener.protocol));
    }
    for dir in &inspection.directories {
        put("directory", dir_line(dir));
    }
    let epoch =
        inspection.previous_broker_epoch.map_or("-1 (none is known)".into(), |it| it.to_string());
    put("previous broker epoch", epoch);
    let Some(cluster) = &inspection.cluster else { return lines };
    if !cluster.controllers.is_empty() {
        let each = cluster.controllers.iter().map(|(id, address)| {
            let active = if cluster.active_controller == Some(*id) { " (active)" } else { "" };
            format!("{id}@{address}{active}")
        });
        put("controllers", each.collect::<Vec<_>>().join(", "));
    }
    if !cluster.features.is_empty() {
        let each = cluster.features.iter().map(|(name, level)| format!("{name}={level}"));
        put("features", each.collect::<Vec<_>>().join(", "));
    }
    if let Some(registration) = &cluster.registration {
        let state = if registration.is_fenced { "fenced" } else { "running" };
        let endpoints = registration.endpoints.join(", ");
        put("registered now", format!("epoch {}, {state}, at {endpoints}", registration.epoch));
    }
    lines
}

fn dir_line(dir: &DirState) -> String {
    if !dir.exists {
        return format!("{}: not there yet", dir.path.display());
    }
    let id = dir.id.map_or("none yet".into(), |id| id.to_string());
    let mut line = format!("{}: id {id}, {} partitions", dir.path.display(), dir.partitions);
    if dir.has_metadata_log {
        line.push_str(", the metadata log");
    }
    match dir.used_by {
        Some(0) => line.push_str(", in use"),
        Some(process) => line.push_str(&format!(", in use by process {process}")),
        None if dir.is_clean => line.push_str(", closed cleanly"),
        None => {}
    }
    line
}

/// The plan of what has to move, as `thalweg cluster reassign` and kafka-reassign-partitions.sh take it.
fn plan(inspection: &Inspection) -> Option<Value> {
    let moves: Vec<(TopicPartition, &Vec<i32>)> = inspection
        .reassignments
        .iter()
        .map(|it| (TopicPartition::new(&*it.topic, it.partition), &it.replicas))
        .collect();
    let moves: Vec<_> = moves.iter().map(|(partition, replicas)| (partition, *replicas)).collect();
    (!moves.is_empty()).then(|| crate::cluster::plan(&moves))
}

fn value(inspection: &Inspection) -> Value {
    let findings = inspection.findings.iter().map(|finding| {
        json!({
            "severity": finding.severity.name(),
            "area": finding.area.name(),
            "what": finding.what,
            "action": finding.action,
        })
    });
    let listeners = inspection.listeners.iter().map(|listener| {
        json!({
            "name": listener.name,
            "protocol": listener.protocol,
            "listens": listener.listens,
            "advertised": listener.advertised,
        })
    });
    let directories = inspection.directories.iter().map(|dir| {
        json!({
            "path": dir.path.display().to_string(),
            "exists": dir.exists,
            "directory_id": dir.id.map(|id| id.to_string()),
            "cluster_id": dir.cluster_id,
            "partitions": dir.partitions,
            "has_metadata_log": dir.has_metadata_log,
            "used_by": dir.used_by,
            "is_clean": dir.is_clean,
        })
    });
    json!({
        "verdict": verdict(inspection),
        "node_id": inspection.node_id,
        "roles": match inspection.has_controller {
            true => vec!["broker", "controller"],
            false => vec!["broker"],
        },
        "is_new_cluster": inspection.is_new_cluster,
        "rack": inspection.rack,
        "listeners": listeners.collect::<Vec<_>>(),
        "directories": directories.collect::<Vec<_>>(),
        "previous_broker_epoch": inspection.previous_broker_epoch,
        "cluster": inspection.cluster.as_ref().map(cluster_value),
        "findings": findings.collect::<Vec<_>>(),
        "reassignment": plan(inspection),
    })
}

fn cluster_value(cluster: &ClusterState) -> Value {
    let controllers = cluster.controllers.iter().map(|(id, address)| {
        let is_active = cluster.active_controller == Some(*id);
        json!({"id": id, "address": address, "is_active": is_active})
    });
    let features: Map<String, Value> =
        cluster.features.iter().map(|(name, level)| (name.clone(), json!(level))).collect();
    json!({
        "id": cluster.id,
        "controllers": controllers.collect::<Vec<_>>(),
        "features": features,
        "is_cordoned": cluster.is_cordoned,
        "replicas": cluster.replicas,
        "registration": cluster.registration.as_ref().map(|it| json!({
            "broker_epoch": it.epoch,
            "is_fenced": it.is_fenced,
            "endpoints": it.endpoints,
        })),
    })
}

#[cfg(test)]
mod tests {
    use thalweg_broker::inspect::{Area, Finding};

    use super::*;

    fn with(severities: &[Severity]) -> Inspection {
        let finding = |severity: &Severity| Finding {
            severity: *severity,
            area: Area::Config,
            what: "x".into(),
            action: "y".into(),
        };
        Inspection { findings: severities.iter().map(finding).collect(), ..Inspection::default() }
    }

    #[test]
    fn what_is_refused_goes_before_what_is_not_known() {
        use Severity::{NotChecked, NotHonoured, Note, Refused};
        for (found, lenient, strict) in [
            (&[][..], 0, 0),
            (&[Note], 0, 0),
            (&[NotHonoured, Note], 0, 1),
            (&[NotChecked, NotHonoured], 3, 3),
            (&[Refused, NotChecked, NotHonoured], 1, 1),
        ] {
            let inspection = with(found);
            assert_eq!((code(&inspection, false), code(&inspection, true)), (lenient, strict));
        }
        assert!(verdict_line(&with(&[Refused, Note])).contains("1 refused"));
    }
}
