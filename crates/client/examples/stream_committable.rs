//! At least once: works on the records of topics and commits each when it is done with, until
//! interrupted; then finishes what is under way, commits it and leaves.
//!
//! ```sh
//! cargo run -p thalweg --example stream_committable -- 127.0.0.1:9092 my-group orders
//! ```

#![allow(clippy::print_stdout)]

use std::time::Duration;

use futures_util::TryStreamExt;
use thalweg::stream::{self, Committer, CommitterSettings, Subscription};
use thalweg::{Cluster, ConsumerConfig, Error, OffsetReset, Options};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, group, topics @ ..] = args.as_slice() else {
        eprintln!("usage: stream_committable BOOTSTRAP GROUP TOPIC...");
        std::process::exit(2);
    };
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let config = ConsumerConfig::default()
        .with_group_id(group.clone())
        .with_auto_offset_reset(OffsetReset::Earliest);
    let topics = Subscription::topics(topics.iter().map(String::as_str));
    let source = stream::committable_source(&cluster, config, topics)?;
    let control = source.control();
    let running = tokio::spawn(async move {
        let done = source.and_then(|message| async move {
            let value = message.record.value().unwrap_or_default();
            println!("{:?}: {}", message.record, String::from_utf8_lossy(value));
            Ok(message.offset)
        });
        let settings = CommitterSettings::default().with_max_interval(Duration::from_secs(1));
        Committer::new(settings).run(done).await
    });
    // Ctrl-C, or the stream that failed.
    let interrupted = tokio::signal::ctrl_c();
    // Work that panicked or took too long is an error.
    let count = control.run_until(interrupted, running, Duration::from_secs(30)).await?;
    println!("{count} records committed");
    Ok(())
}
