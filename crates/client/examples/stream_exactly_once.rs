//! From topic to topic, exactly once: what is made of a record and the record's offset are in one transaction,
//! and those who read what is committed see each record's work once, whatever fails in between.
//!
//! ```sh
//! cargo run -p thalweg --example stream_exactly_once -- 127.0.0.1:9092 my-group orders words copier-1
//! ```
//!
//! The last argument names the producer: each instance of the program has a name of its own, and the same
//! one when it is started again.

#![allow(clippy::print_stdout)]

use std::time::Duration;

use futures_util::TryStreamExt;
use thalweg::stream::{
    self, Envelope, OwnedProducerRecord, RestartControl, RestartSettings, Subscription,
    TransactionSettings,
};
use thalweg::{Cluster, ConsumerConfig, Error, OffsetReset, Options, Producer, ProducerConfig};

/// A record for each word.
fn words(value: &[u8], topic: &str) -> Vec<OwnedProducerRecord> {
    let text = String::from_utf8_lossy(value);
    let record = |word: &str| {
        let record = OwnedProducerRecord::new(topic).with_key(word.to_lowercase());
        record.with_value(word.to_owned())
    };
    text.split_whitespace().map(record).collect()
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, group, from, to, id] = args.as_slice() else {
        eprintln!("usage: stream_exactly_once BOOTSTRAP GROUP FROM TO TRANSACTIONAL_ID");
        std::process::exit(2);
    };
    let consumer = &ConsumerConfig::default()
        .with_group_id(group.clone())
        .with_auto_offset_reset(OffsetReset::Earliest);
    let producer = &ProducerConfig::default().with_transactional_id(id.clone());
    // Each time a new chain: what was not committed is aborted, and read again.
    let begin = |control: RestartControl| async move {
        let cluster = Cluster::connect(bootstrap, Options::default()).await?;
        let producer = Producer::new(cluster.clone(), producer.clone())?;
        let topics = Subscription::topics([from.as_str()]);
        let source = stream::transactional_source(&cluster, consumer.clone(), topics)?;
        control.watch(source.control());
        let envelopes = source.map_ok(|message| {
            let value = message.record.value().unwrap_or_default();
            Envelope::multi(words(value, to), message.offset)
        });
        stream::transactional_flow(&producer, TransactionSettings::default(), envelopes)
    };
    // What no pause helps against is the end of it, as another producer of the same name.
    let is_worth_it = |error: Option<&Error>| error.is_none_or(Error::is_retriable);
    let running = stream::with_backoff(RestartSettings::default(), begin, is_worth_it);
    let control = running.control();
    let counted = running.try_for_each(|results| async move {
        println!("{:?}: {} words committed", results.pass_through, results.metadata.len());
        Ok(())
    });
    let over = async {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            () = tokio::time::sleep(Duration::from_secs(30)) => {}
        }
    };
    // What is under way then is produced and committed first.
    let limit = Duration::from_secs(30);
    let late = || Error::Timeout {
        addr: "the source".into(),
        what: "draining its stream".to_owned(),
        after: limit,
    };
    control.drain_when(over, counted, limit).await.unwrap_or_else(|| Err(late()))
}
