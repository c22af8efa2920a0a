//! Records of partitions that are assigned by hand, from their beginning, many at a time; without a
//! group, and so without commits. Ends when nothing came for some seconds, and says how fast it
//! was.
//!
//! ```sh
//! cargo run -p thalweg --example stream_plain -- 127.0.0.1:9092 orders
//! ```

#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use thalweg::stream::{self, MetadataClient, Subscription};
use thalweg::{Cluster, ConsumerConfig, Error, Options, TopicPartition};

const QUIET: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic] = args.as_slice() else {
        eprintln!("usage: stream_plain BOOTSTRAP TOPIC");
        std::process::exit(2);
    };
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let client = MetadataClient::create(cluster.clone(), ConsumerConfig::default())?;
    let partitions: Vec<TopicPartition> = client
        .partitions_for(topic)
        .await?
        .into_iter()
        .map(|partition| TopicPartition::new(topic.as_str(), partition))
        .collect();
    let beginnings = client.beginning_offsets(&partitions).await?;
    let from = Subscription::assignment_with_offset(beginnings);
    let source = stream::plain_source(&cluster, ConsumerConfig::default(), from)?;
    let control = source.control();
    let began = Instant::now();
    let (mut count, mut bytes) = (0, 0);
    let mut last = began;
    let mut batches = source.batches(500);
    while let Ok(Some(records)) = tokio::time::timeout(QUIET, batches.next()).await {
        let records = records?;
        count += records.len();
        let values = records.iter().filter_map(|record| record.value());
        bytes += values.map(<[u8]>::len).sum::<usize>();
        last = Instant::now();
    }
    println!("{count} records, {bytes} bytes of values in {:?}", last - began);
    println!("{:?}", control.metrics().fetched);
    control.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
