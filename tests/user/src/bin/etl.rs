//! From topic to topic: each line becomes a record for each of its words. A stream that fails is begun
//! again; at SIGTERM what is under way is finished and committed. The line `fail once` fails when it
//! comes for the first time. Writes `committed LINES, begun TIMES` at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt;
use thalweg::stream::{
    self, Committer, CommitterSettings, Envelope, OwnedProducerRecord, ProducerSettings,
    RestartControl, RestartSettings, Subscription,
};
use thalweg::{Cluster, ConsumerConfig, Error, OffsetReset, Options, Producer, ProducerConfig};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Debug, thiserror::Error)]
enum EtlError {
    #[error("usage: etl BOOTSTRAP GROUP FROM TO")]
    Usage,
    #[error(transparent)]
    Kafka(#[from] Error),
    #[error("the dictionary is not there")]
    Dictionary,
    #[error("signals cannot be heard: {0}")]
    Signal(#[from] std::io::Error),
    #[error("what was under way took too long")]
    TooSlow,
}

impl EtlError {
    /// Whether the same may work later.
    fn may_pass(&self) -> bool {
        match self {
            EtlError::Dictionary => true,
            EtlError::Kafka(error) => error.is_retriable(),
            _ => false,
        }
    }
}

/// The records that a line becomes.
fn words(line: &str, to: &str) -> Vec<OwnedProducerRecord> {
    let word = |word: &str| {
        OwnedProducerRecord::new(to).with_key(word.to_owned()).with_value(word.to_uppercase())
    };
    line.split_whitespace().map(word).collect()
}

#[tokio::main]
async fn main() -> Result<(), EtlError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, group, from, to] = args.as_slice() else { return Err(EtlError::Usage) };
    let mut terminated = signal(SignalKind::terminate())?;
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let producer = Producer::new(cluster.clone(), ProducerConfig::default())?;
    let config = ConsumerConfig::default()
        .with_group_id(group.clone())
        .with_auto_offset_reset(OffsetReset::Earliest);
    let has_failed = Arc::new(AtomicBool::new(false));
    let begun = AtomicUsize::new(0);
    let begin = |control: RestartControl| {
        begun.fetch_add(1, Ordering::SeqCst);
        let topics = Subscription::topics([from.as_str()]);
        let source = stream::committable_source(&cluster, config.clone(), topics);
        let (producer, to, has_failed) = (producer.clone(), to.clone(), Arc::clone(&has_failed));
        async move {
            let source = source?;
            control.watch(source.control());
            let envelopes = source.map_err(EtlError::from).and_then(move |message| {
                let line = message.record.value().map(String::from_utf8_lossy).unwrap_or_default();
                let result = match &*line {
                    "fail once" if !has_failed.swap(true, Ordering::SeqCst) => {
                        Err(EtlError::Dictionary)
                    }
                    line => Ok(Envelope::multi(words(line, &to), message.offset)),
                };
                std::future::ready(result)
            });
            let produced = stream::flexi_flow(&producer, ProducerSettings::default(), envelopes);
            let settings = CommitterSettings::default()
                .with_max_batch(20)
                .with_max_interval(Duration::from_millis(100));
            Ok(Committer::new(settings).flow(produced.map_ok(|results| results.pass_through)))
        }
    };
    let settings = RestartSettings::default()
        .with_min_backoff(Duration::from_millis(50))
        .with_max_restarts(Some(5));
    let running = stream::with_backoff(settings, begin, |error: Option<&EtlError>| {
        error.is_some_and(EtlError::may_pass)
    });
    let control = running.control();
    let mut committed = 0;
    let running = running.try_for_each(|batch| {
        committed += batch.offsets;
        std::future::ready(Ok(()))
    });
    let limit = Duration::from_secs(20);
    control.drain_when(terminated.recv(), running, limit).await.ok_or(EtlError::TooSlow)??;
    println!("committed {committed}, begun {}", begun.load(Ordering::SeqCst));
    Ok(())
}
