//! One consumer for several sources: each reads partitions of its own, and all of them share
//! connections and memory.
//!
//! ```sh
//! cargo run -p thalweg --example stream_shared -- 127.0.0.1:9092 orders
//! ```

#![allow(clippy::print_stdout)]

use std::time::Duration;

use futures_util::StreamExt;
use thalweg::stream::SharedConsumer;
use thalweg::{Cluster, ConsumerConfig, Error, Options, TopicPartition};
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic] = args.as_slice() else {
        eprintln!("usage: stream_shared BOOTSTRAP TOPIC");
        std::process::exit(2);
    };
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let shared = SharedConsumer::new(&cluster, ConsumerConfig::default())?;
    let control = shared.control();
    let mut tasks = JoinSet::new();
    for partition in control.metadata_client().partitions_for(topic).await? {
        let partition = TopicPartition::new(topic.as_str(), partition);
        let mut source = shared.plain_source([(partition.clone(), Some(0))])?;
        tasks.spawn(async move {
            let mut count = 0;
            while let Some(record) = source.next().await {
                record?;
                count += 1;
            }
            println!("{partition}: {count} records");
            Ok::<_, Error>(())
        });
    }
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = tokio::time::sleep(Duration::from_secs(10)) => {}
    }
    println!("{:?}", control.metrics().fetched);
    control.shutdown(Duration::from_secs(5)).await;
    while let Some(task) = tasks.join_next().await {
        if let Ok(result) = task {
            result?;
        }
    }
    Ok(())
}
