//! A teller of a bank: each transfer that comes is two postings, in one transaction with its offset. Ends by a signal,
//! after what it is at; when it is killed, somebody else does what was not committed.
//!
//! `teller BOOTSTRAP GROUP TRANSFERS POSTINGS TRANSACTIONAL_ID`

use std::time::Duration;

use futures_util::TryStreamExt;
use thalweg::stream::{
    self, ConsumerSettings, Envelope, OwnedProducerRecord, RestartControl, RestartSettings,
    Subscription, TransactionSettings, TransactionalMessage, TransactionalOffset,
};
use thalweg::{Cluster, ConsumerConfig, Options, Producer, ProducerConfig};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Debug, thiserror::Error)]
enum TellerError {
    #[error(transparent)]
    Kafka(#[from] thalweg::Error),
    #[error("this is no transfer: {0:?}")]
    NoTransfer(String),
}

impl TellerError {
    fn is_retriable(&self) -> bool {
        match self {
            // A fenced producer is another one next time.
            TellerError::Kafka(thalweg::Error::Transaction(_)) => true,
            TellerError::Kafka(error) => error.is_retriable(),
            TellerError::NoTransfer(_) => false,
        }
    }
}

/// `ID FROM TO AMOUNT` as what it takes from one account and gives to the other.
fn postings(
    message: TransactionalMessage,
    topic: &str,
) -> Result<Envelope<TransactionalOffset>, TellerError> {
    let text = String::from_utf8_lossy(message.record.value().unwrap_or_default()).into_owned();
    let fields: Vec<&str> = text.split(' ').collect();
    let [id, from, to, amount] = fields[..] else { return Err(TellerError::NoTransfer(text)) };
    let posting = |account: &str, sign: &str| {
        let value = format!("{id} {account} {sign}{amount}");
        OwnedProducerRecord::new(topic).with_key(account.to_owned()).with_value(value)
    };
    Ok(Envelope::multi([posting(from, "-"), posting(to, "")], message.offset))
}

#[tokio::main]
async fn main() -> Result<(), TellerError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, group, transfers, topic, id] = args.as_slice() else {
        eprintln!("usage: teller BOOTSTRAP GROUP TRANSFERS POSTINGS TRANSACTIONAL_ID");
        std::process::exit(2);
    };
    let begin = |control: RestartControl| async move {
        let options = Options::default().with_request_timeout(Duration::from_secs(10));
        let cluster = Cluster::connect(bootstrap, options).await?;
        let producer = ProducerConfig::default()
            .with_transactional_id(id.clone())
            .with_transaction_timeout(Duration::from_secs(30))
            .with_delivery_timeout(Duration::from_secs(25));
        let producer = Producer::new(cluster.clone(), producer)?;
        let consumer = ConsumerConfig::default()
            .with_group_id(group.clone())
            // The group has offsets from the beginning on: whoever finds none has lost them.
            .with_auto_offset_reset(thalweg::OffsetReset::None)
            .with_session_timeout(Duration::from_secs(6))
            .with_heartbeat_interval(Duration::from_millis(500));
        let settings = ConsumerSettings::from(consumer);
        let subscription = Subscription::topics([transfers.as_str()]);
        let source = stream::transactional_source(&cluster, settings, subscription)?;
        control.watch(source.control());
        let envelopes = source
            .map_err(TellerError::from)
            .and_then(move |message| std::future::ready(postings(message, topic)));
        let settings = TransactionSettings::default().with_max_records(500);
        let flow = stream::transactional_flow(&producer, settings, envelopes)?;
        Ok::<_, TellerError>(flow)
    };
    let restarts = RestartSettings::default()
        .with_min_backoff(Duration::from_millis(200))
        .with_max_backoff(Duration::from_secs(2));
    let is_worth_it = |error: Option<&TellerError>| {
        if let Some(error) = error {
            eprintln!("begun again: {error}");
        }
        error.is_none_or(TellerError::is_retriable)
    };
    let running = stream::with_backoff(restarts, begin, is_worth_it);
    let control = running.control();
    let counted = running.try_fold(0u64, |count, _| async move { Ok(count + 1) });
    let mut told = signal(SignalKind::terminate()).expect("signals are there");
    let drained = control.drain_when(told.recv(), counted, Duration::from_secs(60)).await;
    let count = drained.unwrap_or(Ok(0))?;
    println!("{count} transfers");
    Ok(())
}
