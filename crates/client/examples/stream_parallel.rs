//! Works on many records at once, and on those of one key one after the other; commits in order.
//!
//! ```sh
//! cargo run -p thalweg --example stream_parallel -- 127.0.0.1:9092 my-group orders
//! ```

#![allow(clippy::print_stdout)]

use std::time::Duration;

use thalweg::stream::{self, CommittableOffset, Committer, Subscription};
use thalweg::{Cluster, ConsumerConfig, Error, OffsetReset, Options, SharedRecord};

/// Something that takes its time.
async fn work(record: &SharedRecord) -> Result<(), Error> {
    tokio::time::sleep(Duration::from_millis(5)).await;
    println!("{record:?}, key {:?}", record.key().map(String::from_utf8_lossy));
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, group, topics @ ..] = args.as_slice() else {
        eprintln!("usage: stream_parallel BOOTSTRAP GROUP TOPIC...");
        std::process::exit(2);
    };
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let config = ConsumerConfig::default()
        .with_group_id(group.clone())
        .with_auto_offset_reset(OffsetReset::Earliest);
    let topics = Subscription::topics(topics.iter().map(String::as_str));
    let source = stream::source_with_offset_context(&cluster, config, topics)?;
    let control = source.control();
    let key = |(record, _): &(SharedRecord, CommittableOffset)| record.key_bytes();
    let done = stream::map_ordered_by(source, 100, key, |(record, offset)| async move {
        work(&record).await?;
        Ok::<_, Error>(offset)
    });
    let running = tokio::spawn(async move { Committer::default().run(done).await });
    // Ctrl-C, or the work that failed.
    let interrupted = tokio::signal::ctrl_c();
    // Work that panicked or took too long is an error.
    let count = control.run_until(interrupted, running, Duration::from_secs(30)).await?;
    println!("{count} records committed");
    Ok(())
}
