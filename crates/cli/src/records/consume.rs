//! `thalweg consume`.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::num::NonZero;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use thalweg::{
    Cluster, Consumer, ConsumerConfig, ConsumerRecord, GroupStatus, OffsetReset, Position,
    PositionReset, Records, TopicPartition,
};
use thalweg_wire::ErrorCode;

use super::bounds::{self, PLACES, Place};
use super::envelope;
use super::format::{Format, TOKENS};
use super::output::Output;
use super::progress::Progress;
use crate::client::{self, CliError, ClientArgs, ClientConfig, StopSignals, report, warn};

/// Records of one poll, where max.poll.records does not say otherwise.
const AT_ONCE: usize = 500;
const ISOLATION: &str = "isolation.level";
const RESET: &str = "auto.offset.reset";
/// How often it is looked whether the end is reached, when no records come.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long a member has nothing to read before it says so.
const IDLE: Duration = Duration::from_secs(5);
/// Output is handed over once it is so long, or when nothing more is there.
const WRITE_AT: usize = 64 << 10;
/// How long a command that was stopped waits for the reader of its output.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);

fn after_help() -> String {
    format!("{TOKENS}\n\n{PLACES}")
}

/// Options of `thalweg consume`.
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub struct ConsumeArgs {
    /// Topics; with --group also a pattern that begins with ^ and matches whole names
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// Only these partitions
    #[arg(short, long, value_delimiter = ',', value_name = "N,...", conflicts_with = "group")]
    #[arg(value_parser = clap::value_parser!(i32).range(0..))]
    partition: Vec<i32>,
    /// Where to begin [default: end, or stored in a group]
    #[arg(short, long, value_name = "PLACE", allow_hyphen_values = true)]
    offset: Option<Place>,
    /// Where to stop: a place before which records are printed. With --exit it stops at the end where
    /// that is before
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    until: Option<Place>,
    /// Stop where the topic ends now: with read_committed at its last stable offset, behind which a transaction
    /// is open.
    ///
    /// A member of a --group stops at the end of the partitions that it was given. While others
    /// have them all it waits, as with kcat: it may get some yet, and often does a moment later.
    #[arg(short, long)]
    exit: bool,
    /// What of transactions is read: read_uncommitted is everything, read_committed only what is
    /// committed, and nothing behind a transaction that is open [default: isolation.level, then
    /// read_uncommitted]
    #[arg(long, alias = "isolation-level", value_name = "LEVEL")]
    #[arg(value_parser = ["read_uncommitted", "read_committed"], hide_possible_values = true)]
    isolation: Option<String>,
    /// Stop after so many records
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Be a member of this group, and commit. Without this, group.id only says whose offsets are
    /// `stored`
    #[arg(short = 'G', long, value_name = "ID")]
    group: Option<String>,
    /// How a record is printed; see below
    #[arg(short, long, value_name = "FORMAT", conflicts_with_all = ["key_delimiter", "delimiter", "json"])]
    format: Option<String>,
    /// Print the key, and this behind it
    #[arg(short = 'K', long, value_name = "TEXT", allow_hyphen_values = true)]
    #[arg(conflicts_with = "json")]
    key_delimiter: Option<String>,
    /// What ends a record
    #[arg(
        short = 'D',
        long,
        value_name = "TEXT",
        default_value = "\\n",
        conflicts_with = "json",
        allow_hyphen_values = true
    )]
    delimiter: String,
    /// What stands for a null key or value [default: nothing with -K or alone, NULL in a format]
    #[arg(short = 'Z', long, value_name = "TEXT", allow_hyphen_values = true)]
    #[arg(conflicts_with = "json")]
    null: Option<String>,
    /// End with exit code 1 where a log does not have the offset to begin at, or loses the one to read
    /// next. Without this a warning says where reading goes on
    #[arg(long)]
    strict_offsets: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// Runs the command.
pub fn run(args: &ConsumeArgs) -> ExitCode {
    client::run(consume(args))
}

/// How records are printed.
enum Print {
    Format(Format),
    Json,
}

impl Print {
    fn of(args: &ConsumeArgs) -> Result<Print, CliError> {
        if args.client.json {
            return Ok(Print::Json);
        }
        let null = |default: &'static str| args.null.as_deref().unwrap_or(default).to_owned();
        let format = match &args.format {
            Some(format) => Format::parse(format, &null("NULL")),
            None => Format::plain(args.key_delimiter.as_deref(), &args.delimiter, &null("")),
        };
        format.map(Print::Format).map_err(CliError::Usage)
    }

    fn write(&self, record: &ConsumerRecord<'_>, to: &mut Vec<u8>) {
        match self {
            Print::Format(format) => format.write(record, to),
            Print::Json => envelope::write(record, to),
        }
    }
}

/// Time for committing and leaving the group at the end, also where the coordinator is gone. Docker kills a container
/// 10 s after SIGTERM.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// What is left to be done.
struct Task {
    print: Print,
    output: Output,
    /// Records at and behind these are not printed.
    ends: HashMap<TopicPartition, i64>,
    has_ends: bool,
    left: Option<u64>,
    at_once: usize,
    records: u64,
    bytes: u64,
    /// Records between begin and end, where both are known.
    total: Option<u64>,
    /// Positions that have changed so far, and the last change of each partition that was told.
    resets: u64,
    told: HashMap<TopicPartition, PositionReset>,
}

/// Says that reading does not go on where it was to; with --strict-offsets that is the end.
/// Has a partition committed at `offset`, and read no further. One that is not assigned any more is left alone.
fn set_back(consumer: &Consumer, partition: &TopicPartition, offset: i64) {
    drop(consumer.pause([partition]));
    drop(consumer.seek(partition, Position::at(offset)));
}

fn tell(reset: &str, args: &ConsumeArgs) -> Result<(), CliError> {
    if args.strict_offsets {
        return Err(CliError::Failed(format!("{reset} (--strict-offsets)")));
    }
    warn(reset);
    Ok(())
}

async fn consume(args: &ConsumeArgs) -> Result<(), CliError> {
    let print = Print::of(args)?;
    let mut config = args.client.resolve()?;
    if let Some(level) = &args.isolation {
        match args.client.property(ISOLATION) {
            Some(other) if !other.is_empty() && !other.eq_ignore_ascii_case(level) => {
                let why = format!("--isolation {level} is not -X {ISOLATION}={other}");
                return Err(CliError::Usage(why));
            }
            _ => config.properties.set(ISOLATION, level),
        }
    }
    let mut settings = ConsumerConfig::from_properties(&config.properties)?;
    if let Some(group) = &args.group {
        settings.group_id = Some(group.clone());
    }
    // A group that only a file of properties names is not joined, and its offsets are left alone:
    // looking at a topic is not to move where an application reads on.
    let is_member = args.group.is_some();
    settings.auto_commit &= is_member;
    if let Some(timeout) = args.client.timeout {
        settings.default_api_timeout = timeout;
    }
    settings.auto_offset_reset = match args.offset {
        Some(Place::Beginning) => OffsetReset::Earliest,
        Some(Place::End) => OffsetReset::Latest,
        Some(Place::Stored) | None => settings.auto_offset_reset,
        Some(_) if is_member => {
            let why = "a member of a group begins at stored, beginning or end (where nothing is \
                       stored); `thalweg group reset-offsets` changes what is stored";
            return Err(CliError::Usage(why.to_owned()));
        }
        Some(_) => settings.auto_offset_reset,
    };
    if args.offset == Some(Place::Stored) && settings.group_id.is_none() {
        return Err(CliError::Usage("what is stored is a group's: --group or group.id".into()));
    }
    let is_bounded = args.exit || args.until.is_some();
    if args.until == Some(Place::Stored) {
        let why = "what a group committed is where to begin, not where to stop".to_owned();
        return Err(CliError::Usage(why));
    }
    let (topics, pattern) = topics(args, is_member)?;
    if let Some(pattern) = &pattern {
        if is_bounded {
            let why = "where the topics of a pattern end is not known before they are assigned";
            return Err(CliError::Usage(why.to_owned()));
        }
        settings.check_pattern(pattern)?;
    }
    settings.check()?;
    let at_once = config.properties.number::<NonZero<usize>>("max.poll.records")?;
    report(&config.properties);
    let cluster = config.connect().await?;
    let partitions = partitions(&cluster, &topics, &args.partition, &config).await?;
    let mut consumer = Consumer::new(cluster, settings)?;
    let mut task = Task {
        print,
        output: Output::stdout(),
        ends: HashMap::new(),
        has_ends: is_bounded,
        left: args.count,
        at_once: at_once.map_or(AT_ONCE, NonZero::get),
        records: 0,
        bytes: 0,
        total: None,
        resets: 0,
        told: HashMap::new(),
    };
    for place in args.until.into_iter().chain(args.exit.then_some(Place::End)) {
        for (partition, end) in bounds::offsets(&consumer, &partitions, place).await? {
            let known = task.ends.entry(partition).or_insert(end);
            *known = end.min(*known);
        }
    }
    // Before the group is joined: a signal that ends the process would leave a member behind.
    let mut stops = StopSignals::new();
    match (&pattern, is_member) {
        (Some(pattern), _) => consumer.subscribe_pattern(pattern)?,
        (None, true) => consumer.subscribe(topics.iter().map(String::as_str))?,
        (None, false) => {
            let place = args.offset.unwrap_or(Place::End);
            let mut begins = bounds::offsets(&consumer, &partitions, place).await?;
            // What is set decides, else the nearest offset that the log has.
            if matches!(place, Place::Offset(_)) && config.properties.filled(RESET).is_none() {
                let isolation = args.isolation.as_deref().or(args.client.property(ISOLATION));
                let is_committed =
                    isolation.is_some_and(|level| level.eq_ignore_ascii_case("read_committed"));
                for moved in bounds::clamp(&consumer, &mut begins, is_committed).await? {
                    tell(&moved, args)?;
                }
            }
            let span = |(partition, end): (&TopicPartition, &i64)| {
                Some(u64::try_from(end - begins.get(partition)?).unwrap_or(0))
            };
            if task.has_ends && place != Place::Stored {
                task.total = Some(task.ends.iter().filter_map(span).sum());
            }
            let all = partitions.iter().map(|p| (p.clone(), bounds::begin(&begins, p)));
            consumer.assign(all)?;
        }
    }
    let ran = task.run(&mut consumer, args, &mut stops).await;
    // What came before an error is printed all the same.
    let written = task.finish(&mut consumer, matches!(ran, Ok(Ended::Stopped)), &mut stops).await;
    let closed = tokio::select! {
        closed = consumer.close(config.timeout.min(CLOSE_TIMEOUT)) => closed.map_err(CliError::from),
        () = stops.insist() => Err(CliError::Failed("stopped before the group was left".into())),
    };
    match (ran.map(drop).and(written), closed) {
        (Ok(()) | Err(CliError::Closed), Err(error)) => Err(error),
        (Err(error), Err(other)) => {
            warn(&other.to_string());
            Err(error)
        }
        (result, Ok(())) => result,
    }
}

/// How reading ended.
enum Ended {
    /// All that was asked for is there.
    Whole,
    /// A signal.
    Stopped,
}

impl Task {
    async fn run(
        &mut self,
        consumer: &mut Consumer,
        args: &ConsumeArgs,
        stops: &mut StopSignals,
    ) -> Result<Ended, CliError> {
        let is_wanted = !args.quiet && !std::io::stdout().is_terminal();
        let mut progress = Progress::new(is_wanted, self.left.or(self.total));
        let mut idle = Idle::default();
        let mut stopped = std::pin::pin!(stops.next());
        while self.left != Some(0) && !self.is_done(consumer) {
            let max = self.left.map_or(self.at_once, |left| left.min(self.at_once as u64) as usize);
            // What a poll gave is acknowledged by the next one, and may be committed from then on.
            if args.group.is_some() || self.output.bytes.len() >= WRITE_AT {
                tokio::select! {
                    biased;
                    () = &mut stopped => return Ok(Ended::Stopped),
                    flushed = self.output.flush() => flushed?,
                }
            }
            tokio::select! {
                biased;
                () = &mut stopped => return Ok(Ended::Stopped),
                // Whoever has records all the time lets the others have their turn.
                () = tokio::task::consume_budget() => {}
            }
            let mut records = consumer.try_poll(max)?;
            if records.is_empty() {
                tokio::select! {
                    biased;
                    () = &mut stopped => return Ok(Ended::Stopped),
                    flushed = self.output.flush() => flushed?,
                }
                self.output.check()?;
                idle.look(consumer);
                records = tokio::select! {
                    polled = consumer.poll_timeout(max, LOOK_EVERY) => polled?,
                    () = &mut stopped => return Ok(Ended::Stopped),
                };
            }
            if let Err(error) = self.look_at_resets(consumer, args) {
                // The group reads these records again, and a reset partition is where it was.
                for (partition, mut records) in records.by_partition() {
                    if let Some(first) = records.next() {
                        set_back(consumer, partition, first.offset());
                    }
                }
                for reset in consumer.why().position_resets {
                    set_back(consumer, &reset.partition, reset.from);
                }
                return Err(error);
            }
            self.take(&records, consumer);
            progress.update(self.records, self.bytes, self.records);
        }
        Ok(Ended::Whole)
    }

    /// Says which positions have changed that nothing here has moved, before records from there are
    /// printed.
    fn look_at_resets(&mut self, consumer: &Consumer, args: &ConsumeArgs) -> Result<(), CliError> {
        let count = consumer.counts().position_resets;
        if std::mem::replace(&mut self.resets, count) == count {
            return Ok(());
        }
        for reset in consumer.why().position_resets {
            let known = self.told.insert(reset.partition.clone(), reset.clone());
            if known.as_ref() != Some(&reset) {
                tell(&reset.to_string(), args)?;
            }
        }
        Ok(())
    }

    /// Writes what is left, and sets the consumer back to the first record that is not written, so
    /// that the group reads it again.
    async fn finish(
        &mut self,
        consumer: &mut Consumer,
        is_stopped: bool,
        stops: &mut StopSignals,
    ) -> Result<(), CliError> {
        let waited = async {
            match is_stopped {
                true => tokio::time::sleep(OUTPUT_TIMEOUT).await,
                false => stops.next().await,
            }
        };
        let written = tokio::select! {
            written = self.output.flush() => written,
            () = waited => {
                warn("stopped before all output was read");
                Ok(())
            }
        };
        for (partition, offset) in self.output.unwritten() {
            set_back(consumer, partition, offset);
        }
        written
    }

    fn take(&mut self, records: &Records, consumer: &mut Consumer) {
        for (partition, records) in records.by_partition() {
            let end = self.ends.get(partition).copied().unwrap_or(i64::MAX);
            for (at, record) in records.into_iter().enumerate() {
                if at == 0 {
                    self.output.begin(partition, record.offset().min(end));
                }
                if record.offset() >= end {
                    // What comes behind the end is nobody's business here: it is not printed, and so
                    // it is not to be committed either.
                    // A member may have lost it since.
                    drop(consumer.pause([partition]));
                    drop(consumer.seek(partition, Position::at(end)));
                    break;
                }
                self.print.write(&record, &mut self.output.bytes);
                self.records += 1;
                self.bytes += record.value().map_or(0, <[u8]>::len) as u64;
                self.left = self.left.map(|left| left.saturating_sub(1));
            }
        }
    }

    /// Whether everything that was asked for is there: every partition stands at its end, or
    /// behind it.
    fn is_done(&self, consumer: &Consumer) -> bool {
        if !self.has_ends {
            return false;
        }
        let assigned = consumer.assignment();
        let stands_at_end = |partition: &TopicPartition| {
            let end = self.ends.get(partition).copied().unwrap_or(i64::MAX);
            consumer.position(partition).is_some_and(|position| position.offset >= end)
        };
        !assigned.is_empty() && assigned.iter().all(stands_at_end)
    }
}

/// A member of a group that was given no partition says so, once: it waits, maybe for ever.
#[derive(Default)]
struct Idle {
    since: Option<Instant>,
    is_told: bool,
}

impl Idle {
    fn look(&mut self, consumer: &Consumer) {
        if consumer.group_status() != Some(GroupStatus::Stable { partitions: 0 }) {
            self.since = None;
            return;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if !self.is_told && since.elapsed() >= IDLE {
            self.is_told = true;
            warn("the group gave this member no partition; it waits until there is one for it");
        }
    }
}

/// The topics, or the pattern.
fn topics(args: &ConsumeArgs, is_member: bool) -> Result<(Vec<String>, Option<String>), CliError> {
    let (patterns, names): (Vec<&String>, Vec<&String>) =
        args.topics.iter().partition(|topic| topic.starts_with('^'));
    match patterns.as_slice() {
        [] => Ok((names.into_iter().cloned().collect(), None)),
        _ if !is_member => Err(CliError::Usage("a pattern is for members of a --group".into())),
        [pattern] if names.is_empty() => {
            let whole = pattern.trim_start_matches('^').trim_end_matches('$');
            Ok((Vec::new(), Some(whole.to_owned())))
        }
        _ => Err(CliError::Usage("a pattern stands alone: a|b matches either".into())),
    }
}

/// All partitions of the topics, or those of them that were asked for.
async fn partitions(
    cluster: &Cluster,
    topics: &[String],
    wanted: &[i32],
    config: &ClientConfig,
) -> Result<Vec<TopicPartition>, CliError> {
    let names: Vec<&str> = topics.iter().map(String::as_str).collect();
    let asked = tokio::time::timeout(config.timeout, cluster.refresh(&names)).await;
    let late = |_| CliError::Failed("metadata did not come in time".into());
    let (metadata, failed) = asked.map_err(late)??;
    let mut all = Vec::new();
    for topic in topics {
        let Some(known) = metadata.topics.get(topic) else {
            let code = failed.iter().find(|(name, _)| name == topic).map(|(_, code)| *code);
            let why = code.map_or_else(|| "nobody knows it".into(), thalweg::error::code_name);
            let text = format!("topic {topic}: {why}");
            return Err(match code {
                Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) | None => CliError::NotFound(text),
                Some(_) => CliError::Failed(text),
            });
        };
        let missing = wanted.iter().find(|index| !known.partitions.contains_key(index));
        if let Some(index) = missing {
            let count = known.partitions.len();
            let text = format!("topic {topic} has no partition {index}, but {count} partitions");
            return Err(CliError::NotFound(text));
        }
        let indexes = known.partitions.keys().filter(|at| wanted.is_empty() || wanted.contains(at));
        all.extend(indexes.map(|&index| TopicPartition::new(topic.as_str(), index)));
    }
    Ok(all)
}
