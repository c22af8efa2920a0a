//! The transactions that `thalweg produce` writes in, one after the other.
//!
//! The input is written in its order and nothing goes on behind a transaction that was not committed, so
//! what is committed is the beginning of the input, up to a record whose number is told.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZero;
use std::pin::Pin;
use std::time::Duration;

use serde_json::json;
use thalweg::{
    AbortReason, Acks, Cluster, ProduceErrorKind, Producer, ProducerConfig, Properties,
    Transaction, TransactionError,
};
use thalweg_wire::ErrorCode;
use tokio::time::Instant;

use crate::client::{CliError, ClientArgs, Out, StopSignals, parse_duration, warn};

const ID: &str = "transactional.id";
const TIMEOUT: &str = "transaction.timeout.ms";
/// What `transaction.max.timeout.ms` of brokers is by default: whoever types takes longer than the minute
/// that producers have by default.
const LONG_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// What is said to a producer whose transaction somebody else has ended: leaders of partitions say only that its
/// epoch is over, and the coordinator that there is nothing to commit.
const FENCED: [ErrorCode; 3] =
    [ErrorCode::PRODUCER_FENCED, ErrorCode::INVALID_PRODUCER_EPOCH, ErrorCode::INVALID_TXN_STATE];

/// Which transactions to write in.
#[derive(clap::Args)]
#[command(next_help_heading = "Transactions")]
pub struct TransactionArgs {
    /// Write all of the input in one transaction.
    ///
    /// It is committed at the end of the input, and aborted if anything fails before, or at Ctrl-C. What
    /// takes longer than transaction.timeout.ms (15 minutes unless -X says otherwise, where the brokers
    /// allow that) is aborted by its coordinator.
    #[arg(long, conflicts_with_all = ["transaction_records", "transaction_interval"])]
    transaction: bool,
    /// Write in transactions of so many records. The first failure ends it all: what is committed is the
    /// beginning of the input
    #[arg(long, value_name = "N")]
    transaction_records: Option<NonZero<u64>>,
    /// Write in transactions that are committed so long after their first record: 500ms, 2 (seconds)
    #[arg(long, value_name = "TIME", value_parser = parse_interval)]
    transaction_interval: Option<Duration>,
    /// Name of these transactions, as -X transactional.id: whoever had it before is fenced. Alone it means
    /// --transaction [default: one that nobody else has]
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    transactional_id: Option<String>,
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("must be above 0".into()),
        interval => Ok(interval),
    }
}

/// How transactions are to be written.
pub struct Plan {
    id: String,
    /// Nobody else has the id.
    is_own_id: bool,
    /// Nobody has said `transaction.timeout.ms`.
    has_default_timeout: bool,
    records: Option<NonZero<u64>>,
    interval: Option<Duration>,
}

impl TransactionArgs {
    /// What the options and the properties say together, `None` for no transactions; the properties have the id
    /// then.
    pub fn plan(
        &self,
        client: &ClientArgs,
        properties: &mut Properties,
    ) -> Result<Option<Plan>, CliError> {
        let by_property = client.property(ID).filter(|id| !id.is_empty());
        if let (Some(one), Some(other)) = (&self.transactional_id, by_property)
            && one != other
        {
            let why = format!("--transactional-id {one} is not -X transactional.id={other}");
            return Err(CliError::Usage(why));
        }
        let has_limits = self.transaction_records.is_some() || self.transaction_interval.is_some();
        let id = self.transactional_id.as_deref().or(by_property);
        if !(self.transaction || has_limits || id.is_some()) {
            return match properties.filled(ID) {
                // To take it would end whoever works with it; not to take it would write what everybody reads at
                // once.
                Some(id) => Err(CliError::Usage(format!(
                    "the property file has transactional.id={id}: --transaction writes in a transaction of \
                     that name, -X transactional.id= in none"
                ))),
                None => Ok(None),
            };
        }
        let id = id.or(properties.filled(ID)).map(str::to_owned);
        let is_own_id = id.is_none();
        let random = || RandomState::new().hash_one(std::process::id());
        let id = id.unwrap_or_else(|| format!("thalweg-produce-{:016x}", random()));
        properties.set(ID, id.as_str());
        Ok(Some(Plan {
            id,
            is_own_id,
            has_default_timeout: properties.filled(TIMEOUT).is_none(),
            records: self.transaction_records,
            interval: self.transaction_interval,
        }))
    }
}

impl Plan {
    /// Whether the settings are those of transactions.
    pub fn check(&self, settings: &ProducerConfig) -> Result<(), CliError> {
        match settings.acks {
            Acks::All => Ok(()),
            _ => Err(CliError::Usage("records of a transaction need acks=all".into())),
        }
    }

    /// Makes a producer, which has its id from the coordinator when this returns.
    pub async fn begin(
        self,
        cluster: Cluster,
        mut settings: ProducerConfig,
    ) -> Result<Transactions, CliError> {
        let usual = settings.transaction_timeout;
        if self.has_default_timeout {
            settings.transaction_timeout = LONG_TIMEOUT;
        }
        let mut producer = Producer::new(cluster.clone(), settings.clone())?;
        let mut begun = producer.init_transactions().await;
        if let Err(TransactionError::Fatal(kind)) = &begun
            && self.has_default_timeout
            && code(kind) == Some(ErrorCode::INVALID_TRANSACTION_TIMEOUT)
        {
            settings.transaction_timeout = usual;
            producer = Producer::new(cluster, settings.clone())?;
            begun = producer.init_transactions().await;
        }
        let transactions = Transactions {
            plan: self,
            timeout: settings.transaction_timeout,
            producer,
            open: None,
            committing: None,
            tally: Tally::default(),
        };
        match begun {
            Ok(()) => Ok(transactions),
            Err(error) => Err(transactions.explain(&error)),
        }
    }
}

/// The code that has ended a transaction, or its producer.
fn refused_with(error: &TransactionError) -> Option<ErrorCode> {
    match error {
        TransactionError::Refused { code, .. } => Some(*code),
        TransactionError::Fatal(kind) => code(kind),
        TransactionError::Aborted(AbortReason::Record(error)) => code(&error.kind),
        _ => None,
    }
}

fn code(kind: &ProduceErrorKind) -> Option<ErrorCode> {
    match kind {
        ProduceErrorKind::Fatal { code, .. } | ProduceErrorKind::Broker { code, .. } => Some(*code),
        _ => None,
    }
}

/// How the input ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// All that was wanted of it was read.
    Whole,
    /// Ctrl-C.
    Stopped,
}

/// The transactions of one run.
pub struct Transactions {
    plan: Plan,
    /// `transaction.timeout.ms`
    timeout: Duration,
    producer: Producer,
    open: Option<Open>,
    committing: Option<Committing>,
    tally: Tally,
}

struct Open {
    transaction: Transaction,
    records: u64,
    /// When it is to be committed.
    due: Option<Instant>,
}

/// A commit that goes on, whoever stops waiting for it.
struct Committing {
    records: u64,
    outcome: Pin<Box<dyn Future<Output = Result<(), TransactionError>>>>,
}

/// Records and transactions, by what became of them.
#[derive(Clone, Copy, Default)]
struct Tally {
    transactions: u64,
    committed: u64,
    aborted: u64,
    in_doubt: u64,
}

impl Transactions {
    /// The producer that records are sent with, once there is a transaction.
    pub fn producer(&self) -> &Producer {
        &self.producer
    }

    /// Begins a transaction where none is open.
    pub async fn open(&mut self) -> Result<(), CliError> {
        if self.open.is_some() {
            return Ok(());
        }
        let transaction = self.producer.begin().await.map_err(|error| self.explain(&error))?;
        let due = self.plan.interval.map(|interval| Instant::now() + interval);
        self.open = Some(Open { transaction, records: 0, due });
        Ok(())
    }

    /// Counts a record that was sent; commits where it is the last of its transaction.
    pub async fn sent(&mut self) -> Result<(), CliError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        open.records += 1;
        let is_full = self.plan.records.is_some_and(|most| open.records >= most.get());
        if is_full || open.due.is_some_and(|due| due <= Instant::now()) {
            self.commit().await?;
        }
        Ok(())
    }

    /// When the open transaction is to be committed, whatever comes.
    pub fn due(&self) -> Option<Instant> {
        self.open.as_ref()?.due
    }

    /// Why the open transaction cannot be committed.
    pub fn failure(&self) -> Option<CliError> {
        let failure = self.open.as_ref()?.transaction.failure()?;
        Some(self.explain(&failure))
    }

    /// Commits the open transaction, if there is one.
    pub async fn commit(&mut self) -> Result<(), CliError> {
        if let Some(open) = self.open.take() {
            let outcome = Box::pin(open.transaction.commit());
            self.committing = Some(Committing { records: open.records, outcome });
        }
        self.wait_for_commit().await
    }

    /// Waits for the commit that was begun. May be cancelled and called again.
    async fn wait_for_commit(&mut self) -> Result<(), CliError> {
        let Some(committing) = &mut self.committing else { return Ok(()) };
        let outcome = committing.outcome.as_mut().await;
        let records = committing.records;
        self.committing = None;
        let Err(error) = outcome else {
            self.tally.committed += records;
            self.tally.transactions += 1;
            return Ok(());
        };
        // What nobody else has the id of only its coordinator can have ended, and that aborts; and one that was
        // committed when the answer was lost is not in the wrong state for that.
        let is_ended_elsewhere = refused_with(&error).is_some_and(|code| match code {
            ErrorCode::INVALID_TXN_STATE => true,
            code => FENCED.contains(&code) && self.plan.is_own_id,
        });
        if error.is_aborted() || is_ended_elsewhere {
            self.tally.aborted += records;
        } else {
            self.tally.in_doubt += records;
        }
        Err(self.explain(&error))
    }

    /// Commits what is open, or aborts it where the input did not end well, and says what is committed. Another
    /// Ctrl-C ends the waiting.
    pub async fn conclude(
        mut self,
        input: Result<Ended, CliError>,
        stops: &mut StopSignals,
        (json, quiet): (bool, bool),
    ) -> Result<(), CliError> {
        if matches!(input, Ok(Ended::Stopped)) && self.committing.is_some() {
            warn("the commit that was begun is waited for; another Ctrl-C ends that");
        }
        let is_over = async {
            match &input {
                Ok(Ended::Whole) => self.commit().await,
                _ => self.give_up().await,
            }
        };
        let concluded = tokio::select! {
            biased;
            concluded = is_over => concluded,
            () = stops.insist() => self.abandon(),
        };
        let tally = self.tally;
        let mut out = Out::new();
        if json {
            out.json(&json!({
                "transactional_id": self.plan.id,
                "transactions_committed": tally.transactions,
                "records_committed": tally.committed,
                "records_aborted": tally.aborted,
                "records_in_doubt": tally.in_doubt,
            }))?;
        }
        let is_whole = self.plan.records.is_none() && self.plan.interval.is_none();
        let why = match (input, concluded) {
            (Err(error), Err(other)) => {
                warn(&other.to_string());
                error
            }
            (Err(error), Ok(())) | (Ok(_), Err(error)) => error,
            (Ok(Ended::Stopped), Ok(())) if is_whole || tally.aborted > 0 => {
                CliError::Failed("stopped before the input ended".into())
            }
            (Ok(_), Ok(())) => {
                if !json && !quiet {
                    out.line(&tally.committed())?;
                }
                return out.finish();
            }
        };
        out.finish()?;
        Err(tally.failed(why))
    }

    /// Aborts what is open, after a commit that was begun is over.
    async fn give_up(&mut self) -> Result<(), CliError> {
        let committed = self.wait_for_commit().await;
        let Some(open) = self.open.take() else { return committed };
        self.tally.aborted += open.records;
        match open.transaction.abort().await {
            // What has ended the producer was said already, and whether the abort was heard is of no consequence.
            Ok(()) | Err(TransactionError::Fatal(_)) => committed,
            Err(error) => Err(self.explain(&error)),
        }
    }

    /// Nobody waits any more.
    fn abandon(&mut self) -> Result<(), CliError> {
        if let Some(committing) = self.committing.take() {
            self.tally.in_doubt += committing.records;
            let id = &self.plan.id;
            let why = format!("stopped while the commit of transactional id {id} was under way");
            return Err(CliError::Failed(why));
        }
        let left = self.timeout.as_secs_f64();
        warn(&format!(
            "stopped before the coordinator has said that the transaction is aborted: it does so after {left} s"
        ));
        Ok(())
    }

    /// What an error says to who does not know of producers and coordinators.
    fn explain(&self, error: &TransactionError) -> CliError {
        let Plan { id, is_own_id, .. } = &self.plan;
        let timeout_ms = self.timeout.as_millis();
        if let TransactionError::Timeout { operation, after, last } = error {
            // It would go on, if this did.
            let last =
                last.as_ref().map_or_else(String::new, |last| format!("; the last answer: {last}"));
            let ms = after.as_millis();
            let why =
                format!("transactional id {id}: {operation} was not over after {ms} ms{last}");
            return CliError::Failed(why);
        }
        CliError::Failed(match refused_with(error) {
            Some(code) if FENCED.contains(&code) && *is_own_id => format!(
                "the transaction took longer than {TIMEOUT}={timeout_ms}, and its coordinator has aborted it"
            ),
            Some(code) if FENCED.contains(&code) => format!(
                "fenced: another producer has taken over transactional id {id}, or the transaction took \
                 longer than {TIMEOUT}={timeout_ms}"
            ),
            Some(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED) => {
                format!("not authorised to write with transactional id {id}: {error}")
            }
            Some(ErrorCode::INVALID_TRANSACTION_TIMEOUT) => format!(
                "{TIMEOUT}={timeout_ms} is more than the brokers allow (transaction.max.timeout.ms)"
            ),
            _ => format!("transactional id {id}: {error}"),
        })
    }
}

impl Tally {
    /// What is committed.
    fn committed(&self) -> String {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let Tally { committed, transactions, .. } = *self;
        let (records, ended) = (plural(committed), plural(transactions));
        format!("{committed} record{records} committed in {transactions} transaction{ended}")
    }

    /// An error, with what is committed nevertheless.
    fn failed(&self, why: CliError) -> CliError {
        if self.in_doubt > 0 {
            let (known, doubt) = (self.committed(), self.in_doubt);
            return CliError::Failed(format!("{why}; {known}; of {doubt} more it is not known"));
        }
        if self.committed > 0 {
            let what = "the first of the input; nothing behind them is";
            return CliError::Partly(format!("{why}; {}: {what}", self.committed()));
        }
        let nothing = "nothing is committed";
        match why {
            CliError::NotFound(why) => CliError::NotFound(format!("{why}; {nothing}")),
            CliError::Closed => CliError::Closed,
            why => CliError::Failed(format!("{why}; {nothing}")),
        }
    }
}
