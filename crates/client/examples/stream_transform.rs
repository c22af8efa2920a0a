//! From topic to topics, at least once: each record is produced to other topics and then committed,
//! in order, with bounded work under way; begun again after a pause when it fails.
//!
//! ```sh
//! cargo run -p thalweg --example stream_transform -- 127.0.0.1:9092 my-group orders words
//! ```

#![allow(clippy::print_stdout)]

use std::time::Duration;

use futures_util::TryStreamExt;
use thalweg::stream::{
    self, Committer, Envelope, OwnedProducerRecord, ProducerSettings, RestartControl,
    RestartSettings, Subscription,
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
    let [bootstrap, group, from, to] = args.as_slice() else {
        eprintln!("usage: stream_transform BOOTSTRAP GROUP FROM TO");
        std::process::exit(2);
    };
    let config = ConsumerConfig::default()
        .with_group_id(group.clone())
        .with_auto_offset_reset(OffsetReset::Earliest);
    // Each time a new chain, whose source the control that lasts watches.
    let config = &config;
    let begin = |control: RestartControl| async move {
        let cluster = Cluster::connect(bootstrap, Options::default()).await?;
        let producer = Producer::new(cluster.clone(), ProducerConfig::default())?;
        let topics = Subscription::topics([from.as_str()]);
        let source = stream::committable_source(&cluster, config.clone(), topics)?;
        control.watch(source.control());
        let envelopes = source.map_ok(|message| {
            let value = message.record.value().unwrap_or_default();
            Envelope::multi(words(value, to), message.offset)
        });
        let produced = stream::flexi_flow(&producer, ProducerSettings::default(), envelopes);
        let offsets = produced.map_ok(|results| results.pass_through);
        Ok::<_, Error>(Committer::default().flow(offsets))
    };
    // What no pause helps against is the end of it.
    let is_worth_it = |error: Option<&Error>| error.is_none_or(Error::is_retriable);
    let running = stream::with_backoff(RestartSettings::default(), begin, is_worth_it);
    let control = running.control();
    let counted = running.try_for_each(|committed| async move {
        println!("{} records produced and committed", committed.offsets);
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
