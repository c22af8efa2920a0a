//! Copies topics into another one, at least once: values, keys, headers and times as they are,
//! without a copy in memory, and each offset is committed once its record is acknowledged.
//!
//! ```sh
//! cargo run -p thalweg --example stream_copy -- 127.0.0.1:9092 my-group archive orders payments
//! ```

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use thalweg::stream::{
    self, CommitterSettings, Envelope, OwnedProducerRecord, ProducerSettings, Subscription,
};
use thalweg::{
    Cluster, ConsumerConfig, Error, OffsetReset, Options, Producer, ProducerConfig, SharedRecord,
};

fn copy_of(record: &SharedRecord, to: &Arc<str>) -> OwnedProducerRecord {
    let bytes = |bytes: &[u8]| bytes.to_vec().into();
    let headers = record.headers();
    OwnedProducerRecord {
        topic: Arc::clone(to),
        partition: None,
        key: record.key_bytes(),
        value: record.value_bytes(),
        headers: headers.map(|header| (bytes(header.key), header.value.map(bytes))).collect(),
        timestamp: Some(record.timestamp()).filter(|timestamp| *timestamp >= 0),
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, group, to, from @ ..] = args.as_slice() else {
        eprintln!("usage: stream_copy BOOTSTRAP GROUP TO FROM...");
        std::process::exit(2);
    };
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let producer = Producer::new(cluster.clone(), ProducerConfig::default())?;
    let config = ConsumerConfig::default()
        .with_group_id(group.clone())
        .with_auto_offset_reset(OffsetReset::Earliest);
    let from = Subscription::topics(from.iter().map(String::as_str));
    let source = stream::committable_source(&cluster, config, from)?;
    let control = source.control();
    let to: Arc<str> = to.as_str().into();
    let envelopes = source
        .map_ok(move |message| Envelope::single(copy_of(&message.record, &to), message.offset));
    let sink = stream::committable_sink(
        &producer,
        ProducerSettings::default(),
        CommitterSettings::default(),
    );
    let running = tokio::spawn(envelopes.forward(sink));
    // Ctrl-C, or the copy that failed.
    let interrupted = tokio::signal::ctrl_c();
    // What was under way in a task that panicked or took too long is copied again next time.
    let drained = control.run_until(interrupted, running, Duration::from_secs(30)).await;
    println!("{} records copied", producer.counts().records);
    drained
}
