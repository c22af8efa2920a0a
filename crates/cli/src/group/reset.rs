//! `thalweg group reset-offsets`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use thalweg::admin::{AdminError, GroupOffsets, OffsetSpec};
use thalweg::{CommittedOffset, IsolationLevel, Position, TopicPartition};

use super::offsets::{Scope, committed};
use crate::client::time::{now_ms, parse_datetime, parse_period};
use crate::client::{Align, CliError, ClientArgs, CommandContext, Table, Tally, warn};

#[derive(Args)]
pub(super) struct ResetArgs {
    /// Group
    group: String,
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    target: Target,
    /// Do it
    #[arg(long, conflicts_with = "dry_run")]
    execute: bool,
    /// Only show it; the default
    #[arg(long)]
    dry_run: bool,
    /// Write the new offsets to a file that --from-file takes: topic,partition,offset; - for
    /// standard output
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
}

/// Where to.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// To the first record
    #[arg(long)]
    to_earliest: bool,
    /// Behind the last record
    #[arg(long)]
    to_latest: bool,
    /// To the first record that is as late: 2026-01-31T12:00:00.000, in UTC without a zone
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    to_datetime: Option<i64>,
    /// To the first record that is at most so old: PT1H30M, P7D, 90m
    #[arg(long, value_name = "PERIOD", value_parser = parse_period)]
    by_duration: Option<Duration>,
    /// By so many records, backwards if negative
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    shift_by: Option<i64>,
    /// To an offset
    #[arg(long, value_name = "OFFSET", value_parser = clap::value_parser!(i64).range(0..))]
    to_offset: Option<i64>,
    /// To what a file says: topic,partition,offset
    #[arg(long, value_name = "FILE")]
    from_file: Option<PathBuf>,
    /// To what is committed, or behind the last record where nothing is
    #[arg(long)]
    to_current: bool,
}

/// A time that records can have.
fn parse_time(text: &str) -> Result<i64, String> {
    parse_datetime(text).and_then(|ms| match ms {
        0.. => Ok(ms),
        _ => Err(format!("'{text}' is before 1970")),
    })
}

/// An offset, and what is said of it.
type Planned = BTreeMap<TopicPartition, Result<i64, AdminError>>;

pub(super) async fn run(client: &ClientArgs, args: ResetArgs) -> Result<(), CliError> {
    let from_file = args.target.from_file.as_deref().map(read).transpose()?;
    if from_file.is_none() {
        args.scope.check()?;
    }
    let mut session = CommandContext::open(client).await?;
    if args.execute {
        refuse_active(&session, &args.group).await?;
    }
    let before = committed(&session, &args.group).await?;
    let planned = plan(&session, &args, from_file, &before).await?;
    if planned.is_empty() {
        let why = format!("group {} has committed nothing that could be reset", args.group);
        return Err(CliError::NotFound(why));
    }
    let mut tally = Tally::default();
    let planned = planned.into_iter().filter_map(|(partition, result)| {
        let offset = match result {
            Ok(offset) => offset,
            Err(error) => {
                tally.failed(&partition, &error);
                return None;
            }
        };
        Some((partition, offset))
    });
    let planned: BTreeMap<TopicPartition, i64> = planned.collect();
    if let Some(file) = &args.export {
        export(&mut session, file, &planned)?;
    }
    let mut applied = planned.clone();
    if args.execute {
        let offsets = planned.iter().map(|(partition, offset)| {
            let offset = CommittedOffset { position: Position::at(*offset), metadata: None };
            (partition.clone(), offset)
        });
        let results = session.admin.alter_group_offsets(&args.group, offsets).await;
        for (partition, result) in results {
            if tally.take(&partition, result).is_none() {
                applied.remove(&partition);
            }
        }
    } else {
        planned.iter().for_each(|_| tally.done());
    }
    let is_shown = args.export.as_deref() != Some(Path::new("-"));
    if is_shown {
        show(&mut session, &before, &applied, args.execute)?;
    }
    if is_shown && !args.execute && !session.json() {
        session.out.flush()?;
        warn("nothing was changed: --execute does it");
    }
    tally.conclude(session.out)
}

/// A group that reads would go on from where it is, and commit that.
async fn refuse_active(session: &CommandContext, group: &str) -> Result<(), CliError> {
    let mut described = session.admin.describe_groups([group.to_owned()]).await;
    match described.remove(group) {
        Some(Ok(found)) if !found.members.is_empty() => Err(CliError::Failed(format!(
            "group {group} has {} members and is {}: its offsets can be reset when they are gone",
            found.members.len(),
            found.state
        ))),
        // One that is not there yet comes into being with its offsets.
        Some(Err(error)) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

async fn plan(
    session: &CommandContext,
    args: &ResetArgs,
    from_file: Option<BTreeMap<TopicPartition, i64>>,
    before: &GroupOffsets,
) -> Result<Planned, CliError> {
    let target = &args.target;
    if let Some(mut wanted) = from_file {
        if !args.scope.is_empty() {
            let scope = args.scope.partitions(session, before).await?;
            wanted.retain(|partition, _| scope.contains(partition));
        }
        return Ok(within(session, wanted).await);
    }
    let partitions = args.scope.partitions(session, before).await?;
    let known = |partition: &TopicPartition| {
        let committed = before.get(partition)?.as_ref().ok()?;
        Some(committed.position.offset)
    };
    if let Some(offset) = target.to_offset {
        return Ok(within(session, partitions.into_iter().map(|p| (p, offset)).collect()).await);
    }
    if let Some(by) = target.shift_by {
        let mut planned = Planned::new();
        let mut shifted = BTreeMap::new();
        for partition in partitions {
            match known(&partition) {
                Some(offset) => {
                    shifted.insert(partition, offset.saturating_add(by));
                }
                None => {
                    let reason = "nothing is committed that could be shifted".to_owned();
                    let error = match before.get(&partition) {
                        Some(Err(error)) => error.clone(),
                        _ => AdminError::Invalid(reason),
                    };
                    planned.insert(partition, Err(error));
                }
            }
        }
        planned.extend(within(session, shifted).await);
        return Ok(planned);
    }
    let mut planned = Planned::new();
    let mut wanted = BTreeMap::new();
    for partition in partitions {
        // Not known is not the same as nothing committed.
        if target.to_current
            && let Some(Err(error)) = before.get(&partition)
        {
            planned.insert(partition, Err(error.clone()));
            continue;
        }
        let spec = match (target.to_current, known(&partition)) {
            (true, Some(offset)) => {
                planned.insert(partition, Ok(offset));
                continue;
            }
            _ if target.to_earliest => OffsetSpec::Earliest,
            _ => match (target.to_datetime, target.by_duration) {
                (Some(at), _) => OffsetSpec::Timestamp(at),
                (None, Some(period)) => {
                    let back = i64::try_from(period.as_millis()).unwrap_or(i64::MAX);
                    OffsetSpec::Timestamp(now_ms().saturating_sub(back).max(0))
                }
                (None, None) => OffsetSpec::Latest,
            },
        };
        wanted.insert(partition, spec);
    }
    let mut found = look_up(session, wanted).await;
    // No record is as late: the next one will be.
    let none = found.iter().filter(|(_, result)| matches!(result, Ok(-1)));
    let none: BTreeMap<_, _> =
        none.map(|(partition, _)| (partition.clone(), OffsetSpec::Latest)).collect();
    found.extend(look_up(session, none).await);
    planned.extend(found);
    Ok(planned)
}

async fn look_up(
    session: &CommandContext,
    wanted: BTreeMap<TopicPartition, OffsetSpec>,
) -> Planned {
    let found = session.admin.list_offsets(wanted, IsolationLevel::ReadUncommitted).await;
    found.into_iter().map(|(partition, result)| (partition, result.map(|f| f.offset))).collect()
}

/// Offsets as near to those wanted as the partitions have them.
async fn within(session: &CommandContext, wanted: BTreeMap<TopicPartition, i64>) -> Planned {
    let all = |spec| wanted.keys().map(|partition| (partition.clone(), spec)).collect();
    let mut earliest = look_up(session, all(OffsetSpec::Earliest)).await;
    let mut latest = look_up(session, all(OffsetSpec::Latest)).await;
    let mut planned = Planned::new();
    for (partition, offset) in wanted {
        let (Some(first), Some(end)) = (earliest.remove(&partition), latest.remove(&partition))
        else {
            continue;
        };
        let nearest = first.and_then(|first| {
            let end = end?;
            let nearest = offset.min(end).max(first);
            if nearest != offset {
                warn(&format!("{partition} has {first} to {end}, so {nearest}, not {offset}"));
            }
            Ok(nearest)
        });
        planned.insert(partition, nearest);
    }
    planned
}

fn read(path: &Path) -> Result<BTreeMap<TopicPartition, i64>, CliError> {
    let wrong = |why: String| CliError::Usage(format!("{}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| CliError::file(path, &error))?;
    let text = String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
    let mut wanted = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let parsed = parse_line(line)
            .ok_or_else(|| wrong(format!("line {number} is not topic,partition,offset")))?;
        if wanted.insert(parsed.0.clone(), parsed.1).is_some() {
            return Err(wrong(format!("line {number} names {} again", parsed.0)));
        }
    }
    Ok(wanted)
}

/// `topic,partition,offset`, each perhaps in quotes.
fn parse_line(line: &str) -> Option<(TopicPartition, i64)> {
    let mut fields = line.split(',').map(|field| field.trim().trim_matches('"'));
    let (topic, partition, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let partition = partition.parse().ok().filter(|partition: &i32| *partition >= 0)?;
    let offset = offset.parse().ok().filter(|offset: &i64| *offset >= 0)?;
    let is_whole = fields.next().is_none() && !topic.is_empty();
    is_whole.then(|| (TopicPartition::new(topic, partition), offset))
}

fn export(
    session: &mut CommandContext,
    file: &Path,
    planned: &BTreeMap<TopicPartition, i64>,
) -> Result<(), CliError> {
    let mut text = String::new();
    for (partition, offset) in planned {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{},{},{offset}", partition.topic, partition.partition);
    }
    if file == Path::new("-") {
        return text.lines().try_for_each(|line| session.out.line(line));
    }
    std::fs::write(file, text)
        .map_err(|error| CliError::Failed(format!("{}: {error}", file.display())))
}

fn show(
    session: &mut CommandContext,
    before: &GroupOffsets,
    planned: &BTreeMap<TopicPartition, i64>,
    executed: bool,
) -> Result<(), CliError> {
    let mut table = Table::new([
        ("TOPIC", Align::Left),
        ("PARTITION", Align::Right),
        ("COMMITTED", Align::Right),
        ("NEW", Align::Right),
    ]);
    let mut all = Vec::new();
    for (partition, offset) in planned {
        let committed = before.get(partition).and_then(|result| result.as_ref().ok());
        let committed = committed.map(|committed| committed.position.offset);
        table.row([
            partition.topic.to_string(),
            partition.partition.to_string(),
            committed.map_or_else(String::new, |offset| offset.to_string()),
            offset.to_string(),
        ]);
        all.push(json!({
            "topic": &*partition.topic,
            "partition": partition.partition,
            "committed": committed,
            "new": offset,
            "done": executed,
        }));
    }
    match session.json() {
        true => session.out.json(&Value::Array(all)),
        false => session.out.table(&table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_record_is_older_than_1970() {
        assert_eq!(parse_time("1970-01-01"), Ok(0));
        for bad in ["1969-12-31T23:59:59.999", "-1", "yesterday"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lines_of_a_file() {
        let t = |partition, offset| Some((TopicPartition::new("a.b", partition), offset));
        assert_eq!(parse_line("a.b,0,7"), t(0, 7));
        assert_eq!(parse_line(" \"a.b\", 1 ,\"8\""), t(1, 8));
        for bad in ["", "a,0", "a,0,-1", "a,-1,0", ",0,1", "a,0,1,2", "a,x,1"] {
            assert_eq!(parse_line(bad), None, "{bad}");
        }
    }
}
