//! Reads topics as a member of a group, until interrupted or until nothing came for a while:
//!
//! ```sh
//! cargo run -p thalweg --example consume -- 127.0.0.1:9092 my-group classic orders payments
//! ```
//!
//! The third argument is the group's protocol: `classic`, or `consumer` (KIP-848).

#![allow(clippy::print_stdout)]

use std::time::Duration;

use thalweg::{Cluster, Consumer, ConsumerConfig, Error, GroupProtocol, OffsetReset, Options};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, group, protocol, topics @ ..] = args.as_slice() else {
        eprintln!("usage: consume BOOTSTRAP GROUP classic|consumer TOPIC...");
        std::process::exit(2);
    };
    let config = ConsumerConfig::default()
        .with_group_id(group.clone())
        .with_group_protocol(match protocol.as_str() {
            "consumer" => GroupProtocol::Consumer { server_assignor: None },
            _ => GroupProtocol::default(),
        })
        .with_auto_offset_reset(OffsetReset::Earliest);
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let mut consumer = Consumer::new(cluster, config)?;
    consumer.subscribe(topics.iter().map(String::as_str))?;
    let mut count = 0u64;
    // Made once, before the loop: a signal that comes during the work is not lost.
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    loop {
        let records = tokio::select! {
            records = consumer.poll_timeout(500, Duration::from_secs(10)) => records?,
            _ = &mut interrupted => break,
        };
        if records.is_empty() {
            break;
        }
        for record in &records {
            count += 1;
            if count <= 10 {
                println!("{record:?} {} bytes", record.value().map_or(0, <[u8]>::len));
            }
        }
    }
    println!("{count} records; {:?}; {:?}", consumer.group_status(), consumer.counts());
    // Commits what was read, and tells the group.
    consumer.close(Duration::from_secs(10)).await
}
