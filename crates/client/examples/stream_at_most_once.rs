//! At most once: a record is handed out when its offset is committed. What was being worked on when
//! something went wrong is not seen again.
//!
//! ```sh
//! cargo run -p thalweg --example stream_at_most_once -- 127.0.0.1:9092 my-group orders
//! ```

#![allow(clippy::print_stdout)]

use std::time::Duration;

use futures_util::StreamExt;
use thalweg::stream::{self, Subscription};
use thalweg::{Cluster, ConsumerConfig, Error, OffsetReset, Options};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, group, topics @ ..] = args.as_slice() else {
        eprintln!("usage: stream_at_most_once BOOTSTRAP GROUP TOPIC...");
        std::process::exit(2);
    };
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let config = ConsumerConfig::default()
        .with_group_id(group.clone())
        .with_auto_offset_reset(OffsetReset::Earliest);
    let topics = Subscription::topics(topics.iter().map(String::as_str));
    let mut source = stream::at_most_once_source(&cluster, config, topics)?;
    // Made once, before the loop: a signal that comes during the work is not lost.
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    loop {
        tokio::select! {
            next = source.next() => match next {
                Some(record) => println!("{:?}", record?),
                None => break,
            },
            _ = &mut interrupted => break,
        }
    }
    source.control().shutdown(Duration::from_secs(10)).await;
    Ok(())
}
