//! One stream for each partition, each worked on in a task of its own with its own demand: the slow
//! ones hold up nobody. Runs until nothing came for some seconds.
//!
//! ```sh
//! cargo run -p thalweg --example stream_partitioned -- 127.0.0.1:9092 my-group orders
//! ```

#![allow(clippy::print_stdout)]

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use thalweg::stream::{self, Committer, Subscription};
use thalweg::{Cluster, ConsumerConfig, Error, OffsetReset, Options};
use tokio::task::JoinSet;

const QUIET: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, group, topics @ ..] = args.as_slice() else {
        eprintln!("usage: stream_partitioned BOOTSTRAP GROUP TOPIC...");
        std::process::exit(2);
    };
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let config = ConsumerConfig::default()
        .with_group_id(group.clone())
        .with_auto_offset_reset(OffsetReset::Earliest);
    let topics = Subscription::topics(topics.iter().map(String::as_str));
    let mut source = stream::committable_partitioned_source(&cluster, config, topics)?;
    let control = source.control();
    let running = tokio::spawn(async move {
        let mut tasks = JoinSet::new();
        while let Some(next) = source.next().await {
            let (partition, stream) = next?;
            tasks.spawn(async move {
                // Ends when the partition goes to another member, having committed what is done.
                let done = stream.map_ok(|message| message.offset);
                let count = Committer::default().run(done).await?;
                println!("{partition}: {count} records");
                Ok::<_, Error>(())
            });
        }
        while let Some(task) = tasks.join_next().await {
            if let Ok(result) = task {
                result?;
            }
        }
        Ok::<_, Error>(())
    });
    let quiet = async {
        let mut before = 0;
        loop {
            tokio::time::sleep(QUIET).await;
            let records = control.metrics().fetched.records;
            if records == before {
                break;
            }
            before = records;
        }
    };
    // Nothing came for a while, or the work failed.
    let ended = control.run_until(quiet, running, Duration::from_secs(30)).await;
    println!("{:?}", control.metrics().fetched);
    ended
}
