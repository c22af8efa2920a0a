//! `thalweg produce`.

use std::collections::VecDeque;
use std::fmt::Display;
use std::fs::File;
use std::future::Future;
use std::io::Read;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use thalweg::{
    Delivery, Header, Headers, ProduceError, ProduceErrorKind, Producer, ProducerConfig,
    ProducerRecord,
};
use thalweg_wire::ErrorCode;

use super::envelope;
use super::format::unescape;
use super::input::{self, Block, Piece, find};
use super::progress::Progress;
use super::sources::Sources;
use super::transactions::{Ended, TransactionArgs, Transactions};
use crate::client::{self, CliError, ClientArgs, StopSignals, report, warn};

/// Records in flight, whose result is still to be looked at.
const WAITING_MAX: usize = 100_000;
/// How often it is looked what became of records, when no others come.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Failures that are told one by one.
const TOLD_MAX: u64 = 10;
/// Most bytes of JSON that one byte of a record takes: `\u0000`.
const JSON_PER_BYTE: usize = 6;
/// Bytes of JSON around them: names, numbers, what was said of a record that was read.
const JSON_AROUND: usize = 4 << 10;

/// Options of `thalweg produce`.
#[derive(clap::Args)]
pub struct ProduceArgs {
    /// Topic
    topic: String,
    /// Files to read, each as one record with --file [default: standard input]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Each file is one record, whatever is in it
    #[arg(long, requires = "paths", conflicts_with_all = ["json", "delimiter", "key_delimiter"])]
    file: bool,
    /// Partition [default: by the key, or whichever is free]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,
    /// Key of every record
    #[arg(short, long, value_name = "TEXT", conflicts_with_all = ["key_delimiter", "json"])]
    key: Option<String>,
    /// What stands between key and value; a record without it has no key
    #[arg(
        short = 'K',
        long,
        value_name = "TEXT",
        conflicts_with = "json",
        allow_hyphen_values = true
    )]
    key_delimiter: Option<String>,
    /// What ends a record
    #[arg(
        short = 'D',
        long,
        value_name = "TEXT",
        default_value = "\\n",
        allow_hyphen_values = true
    )]
    delimiter: String,
    /// A header of every record. May be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    headers: Vec<String>,
    /// Timestamp of every record, in ms since 1970 [default: now]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(i64).range(0..))]
    timestamp: Option<i64>,
    /// Empty keys and values are null
    #[arg(short = 'Z', long)]
    null: bool,
    /// With --json: write each record to the partition that it names
    #[arg(long, requires = "json", conflicts_with = "partition")]
    keep_partitions: bool,
    /// none, gzip, snappy, lz4 or zstd [default: compression.type, then none]
    #[arg(short = 'z', long, value_name = "CODEC")]
    compression: Option<String>,
    /// 0, 1 or all [default: acks, then all]
    #[arg(long, value_name = "ACKS")]
    acks: Option<String>,
    /// Stop after so many records
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print partition and offset of each record
    #[arg(short, long)]
    verbose: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    transactions: TransactionArgs,
    #[command(flatten)]
    client: ClientArgs,
}

/// Runs the command.
pub fn run(args: &ProduceArgs) -> ExitCode {
    client::run(produce(args))
}

async fn produce(args: &ProduceArgs) -> Result<(), CliError> {
    let recipe = Recipe::of(args)?;
    let mut config = args.client.resolve()?;
    for (name, value) in [("compression.type", &args.compression), ("acks", &args.acks)] {
        if let Some(value) = value {
            config.properties.set(name, value);
        }
    }
    let plan = args.transactions.plan(&args.client, &mut config.properties)?;
    let delimiter = unescape(&args.delimiter).map_err(CliError::Usage)?;
    let mut settings = ProducerConfig::from_properties(&config.properties)?;
    if let Some(timeout) = args.client.timeout {
        settings.max_block = timeout;
        settings.delivery_timeout = timeout.max(settings.linger + config.options.request_timeout);
    }
    if let Some(plan) = &plan {
        plan.check(&settings)?;
    }
    settings.check(&config.options)?;
    let request_max = settings.max_request_size;
    report(&config.properties);
    let sources = Sources::of(&args.paths)?;
    let cluster = config.connect().await?;
    let (producer, transactions) = match plan {
        Some(plan) => {
            let transactions = plan.begin(cluster, settings).await?;
            (transactions.producer().clone(), Some(transactions))
        }
        None => (Producer::new(cluster, settings)?, None),
    };
    let mut stops = StopSignals::new();
    let mut run = Run {
        producer: &producer,
        sent: Sent {
            is_verbose: args.verbose,
            is_transactional: transactions.is_some(),
            ..Sent::default()
        },
        transactions,
        input_max: recipe.input_max(request_max),
        request_max,
        recipe,
        left: args.count,
        progress: Progress::new(!args.quiet && !args.verbose, sources.total),
        bytes: 0,
        records: 0,
    };
    let all = async {
        match args.file {
            true => run.files(&args.paths).await,
            false => run.stream(sources, delimiter).await,
        }
    };
    let result = tokio::select! {
        biased;
        () = stops.next() => Ok(Ended::Stopped),
        result = all => result.map(|()| Ended::Whole),
    };
    let Run { mut sent, records, progress, transactions, .. } = run;
    let is_quiet = args.quiet;
    drop(progress);
    let result = match transactions {
        Some(transactions) => {
            let how = (args.client.json, is_quiet);
            transactions.conclude(result, &mut stops, how).await
        }
        None => {
            tokio::select! {
                // Why the producer cannot go on is what its deliveries say, too.
                _ = producer.flush() => {}
                () = stops.insist() => warn("stopped before everything was acknowledged"),
            }
            result.map(drop)
        }
    };
    // What is not acknowledged by now fails by this.
    producer.close(Duration::ZERO).await;
    sent.settle();
    match (result, sent.result(records)) {
        (Err(error), Err(others)) => {
            warn(&others.to_string());
            Err(error)
        }
        (result, others) => result.and(others),
    }
}

/// What makes a record of bytes.
struct Recipe {
    topic: String,
    partition: Option<i32>,
    key: Option<Vec<u8>>,
    key_delimiter: Option<Vec<u8>>,
    headers: Vec<(String, String)>,
    timestamp: Option<i64>,
    null: bool,
    json: bool,
    keep_partitions: bool,
}

impl Recipe {
    fn of(args: &ProduceArgs) -> Result<Recipe, CliError> {
        let headers = args.headers.iter().map(|header| {
            let (name, value) = header
                .split_once('=')
                .ok_or_else(|| CliError::Usage(format!("header '{header}' is not name=value")))?;
            Ok((name.to_owned(), value.to_owned()))
        });
        let key_delimiter = args.key_delimiter.as_deref().map(unescape).transpose();
        let key_delimiter = key_delimiter.map_err(CliError::Usage)?;
        if key_delimiter.as_ref().is_some_and(Vec::is_empty) || args.delimiter.is_empty() {
            return Err(CliError::Usage("a delimiter is empty".into()));
        }
        Ok(Recipe {
            topic: args.topic.clone(),
            partition: args.partition,
            key: args.key.clone().map(String::into_bytes),
            key_delimiter,
            headers: headers.collect::<Result<_, CliError>>()?,
            timestamp: args.timestamp,
            null: args.null,
            json: args.client.json,
            keep_partitions: args.keep_partitions,
        })
    }

    /// Bytes of the input that a record may take: more than `request_max` only where what is sent
    /// can be less than what was read.
    fn input_max(&self, request_max: usize) -> usize {
        match &self.key_delimiter {
            Some(between) => request_max.saturating_add(between.len()),
            None if self.json => {
                request_max.saturating_mul(JSON_PER_BYTE).saturating_add(JSON_AROUND)
            }
            None => request_max,
        }
    }

    /// Bytes, or null where empty ones are.
    fn filled<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        (!(self.null && bytes.is_empty())).then_some(bytes)
    }
}

struct Run<'a> {
    producer: &'a Producer,
    /// Where records go into transactions.
    transactions: Option<Transactions>,
    recipe: Recipe,
    /// Most bytes of input that are taken for one record.
    input_max: usize,
    request_max: usize,
    sent: Sent,
    left: Option<u64>,
    progress: Progress,
    bytes: u64,
    records: u64,
}

impl Run<'_> {
    /// Files that are a record each.
    async fn files(&mut self, paths: &[PathBuf]) -> Result<(), CliError> {
        for path in paths.iter().take(self.left.map_or(usize::MAX, |left| left as usize)) {
            let failed = |error| CliError::file(path, &error);
            let file = File::open(path).map_err(failed)?;
            let size = file.metadata().map_err(failed)?.len();
            let mut value = Vec::new();
            let most = u64::try_from(self.input_max).unwrap_or(u64::MAX);
            // What is no file tells no size beforehand.
            file.take(most.saturating_add(1)).read_to_end(&mut value).map_err(failed)?;
            match value.len() > self.input_max {
                true => self.too_long(size.max(value.len() as u64))?,
                false => self.send(&value).await?,
            }
        }
        Ok(())
    }

    /// Records from streams.
    async fn stream(&mut self, sources: Sources, delimiter: Vec<u8>) -> Result<(), CliError> {
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        for source in sources.all {
            let source = source.open()?;
            let mut blocks = input::read(source, delimiter.clone(), self.input_max);
            loop {
                let block = tokio::select! {
                    biased;
                    block = blocks.recv() => block,
                    // Who types hears what became of it before the next line.
                    _ = look.tick() => {
                        self.sent.settle();
                        self.look_at_transaction()?;
                        continue;
                    }
                    () = is_due(&self.transactions) => {
                        self.commit().await?;
                        continue;
                    }
                };
                self.sent.settle();
                let Some(block) = block else { break };
                let failed = |error| CliError::Failed(format!("cannot read the input: {error}"));
                if !self.block(&block.map_err(failed)?).await? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Sends the records of a block; says whether more are wanted.
    async fn block(&mut self, block: &Block) -> Result<bool, CliError> {
        for record in block.records() {
            if self.left == Some(0) {
                return Ok(false);
            }
            match record {
                Piece::Record(bytes) => self.send(bytes).await?,
                Piece::TooLong(bytes) => self.too_long(bytes)?,
            }
        }
        self.bytes += block.read;
        self.progress.update(self.records, self.bytes, self.bytes);
        Ok(self.left != Some(0))
    }

    /// Counts a record of the input.
    fn count(&mut self) {
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.records += 1;
    }

    /// A record that was not even read as a whole.
    fn too_long(&mut self, bytes: u64) -> Result<(), CliError> {
        self.count();
        let most = self.request_max;
        self.wrong(format!("its {bytes} bytes are too many for max.request.size={most}"))
    }

    /// The last record counted cannot be written. The others are, unless a transaction would lack it.
    fn wrong(&mut self, why: impl Display) -> Result<(), CliError> {
        let why = format!("record {}: {why}", self.records);
        if self.transactions.is_some() {
            return Err(CliError::Failed(why));
        }
        self.sent.failed(&why);
        Ok(())
    }

    /// Commits the transaction that is open.
    async fn commit(&mut self) -> Result<(), CliError> {
        match &mut self.transactions {
            Some(transactions) => transactions.commit().await,
            None => Ok(()),
        }
    }

    /// Fails where the transaction that is open can only be aborted.
    fn look_at_transaction(&self) -> Result<(), CliError> {
        self.transactions.as_ref().and_then(Transactions::failure).map_or(Ok(()), Err)
    }

    /// Sends one record. What is wrong with it alone is no reason to stop, outside of transactions.
    async fn send(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.count();
        if let Some(transactions) = &mut self.transactions {
            transactions.open().await?;
        }
        let recipe = &self.recipe;
        let envelope;
        let mut record = ProducerRecord {
            topic: &recipe.topic,
            partition: recipe.partition,
            key: recipe.key.as_deref().and_then(|key| recipe.filled(key)),
            value: recipe.filled(bytes),
            headers: Headers::default(),
            timestamp: recipe.timestamp,
        };
        let fixed = recipe.headers.iter();
        let mut headers: Vec<Header<'_>> =
            fixed.map(|(name, value)| (name, value).into()).collect();
        if recipe.json {
            match envelope::read(bytes) {
                Ok(read) => envelope = read,
                Err(why) => return self.wrong(why),
            }
            record.key = envelope.key.as_deref();
            record.value = envelope.payload.as_deref();
            record.timestamp = recipe.timestamp.or(envelope.ts);
            if recipe.keep_partitions {
                record.partition = envelope.partition;
            }
            let named = envelope.headers.iter();
            headers
                .extend(named.map(|(name, value)| Header { key: name, value: value.as_deref() }));
        } else if let Some(between) = &recipe.key_delimiter {
            let at = find(bytes, between);
            record.key = at.and_then(|at| recipe.filled(&bytes[..at]));
            record.value = recipe.filled(&bytes[at.map_or(0, |at| at + between.len())..]);
        }
        record.headers = (&headers).into();
        match self.producer.send(record).await {
            Ok(delivery) => self.sent.push(delivery, self.producer).await,
            Err(error) if is_of_the_record(&error) => return self.wrong(error),
            Err(error) => {
                self.look_at_transaction()?;
                return Err(match &error.kind {
                    ProduceErrorKind::UnknownTopic { code: Some(code), .. }
                        if *code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION =>
                    {
                        CliError::NotFound(error.to_string())
                    }
                    _ => CliError::Client(error.into()),
                });
            }
        }
        match &mut self.transactions {
            Some(transactions) => transactions.sent().await,
            None => Ok(()),
        }
    }
}

/// Waits until the transaction that is open is to be committed.
async fn is_due(transactions: &Option<Transactions>) {
    match transactions.as_ref().and_then(Transactions::due) {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Whether another record may fare better.
fn is_of_the_record(error: &ProduceError) -> bool {
    use ProduceErrorKind::{NoSuchPartition, Timestamp, TooLarge};
    matches!(error.kind, TooLarge { .. } | NoSuchPartition { .. } | Timestamp { .. })
}

/// What was sent, in order, and what became of it.
#[derive(Default)]
struct Sent {
    waiting: VecDeque<Delivery>,
    failures: u64,
    is_verbose: bool,
    is_transactional: bool,
}

impl Sent {
    async fn push(&mut self, delivery: Delivery, producer: &Producer) {
        self.waiting.push_back(delivery);
        if self.waiting.len().is_multiple_of(1_024) {
            self.settle();
        }
        if self.waiting.len() >= WAITING_MAX {
            // What the deliveries say is counted.
            let _ = producer.flush().await;
            self.settle();
        }
    }

    /// Looks at those from the front whose result is known.
    fn settle(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        while let Some(first) = self.waiting.front_mut() {
            let Poll::Ready(delivery) = Pin::new(first).poll(&mut context) else { return };
            self.waiting.pop_front();
            match delivery {
                Ok(at) if self.is_verbose => {
                    use std::io::Write as _;
                    // Without a stderr there is nobody to tell.
                    let mut stderr = std::io::stderr();
                    let _ = writeln!(stderr, "partition {}, offset {}", at.partition, at.offset);
                }
                Ok(_) => {}
                // Why a transaction is aborted is said once, and not by its records.
                Err(_) if self.is_transactional => {}
                Err(error) => self.failed(&error.to_string()),
            }
        }
    }

    fn failed(&mut self, why: &str) {
        self.failures += 1;
        if self.failures <= TOLD_MAX {
            warn(why);
        }
    }

    fn result(&self, records: u64) -> Result<(), CliError> {
        let text = format!("{} of {records} records were not written", self.failures);
        match self.failures {
            0 => Ok(()),
            failures if failures == records => Err(CliError::Failed(text)),
            _ => Err(CliError::Partly(text)),
        }
    }
}
