//! A service: four consumers of one group, each in a task of its own. What a poll gives is worked on
//! in another task, which commits it by hand. Writes `CONSUMER VALUE` for each record; ends at SIGTERM.

use std::num::ParseIntError;
use std::time::Duration;

use thalweg::{
    Cluster, Consumer, ConsumerConfig, ConsumerHandle, Error, OffsetReset, Options, Position,
    Records,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

const CONSUMERS: usize = 4;

/// What can go wrong here.
#[derive(Debug, thiserror::Error)]
enum ServiceError {
    #[error("usage: service BOOTSTRAP GROUP TOPIC")]
    Usage,
    #[error(transparent)]
    Kafka(#[from] Error),
    #[error("an order is no number: {0}")]
    Order(#[from] ParseIntError),
    #[error("signals cannot be heard: {0}")]
    Signal(#[from] std::io::Error),
    #[error("a task did not end well: {0}")]
    Task(#[from] JoinError),
}

#[tokio::main]
async fn main() -> Result<(), ServiceError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, group, topic] = args.as_slice() else { return Err(ServiceError::Usage) };
    let mut terminated = signal(SignalKind::terminate())?;
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let config = ConsumerConfig::default()
        .with_group_id(group.clone())
        .with_auto_commit(false)
        .with_auto_offset_reset(OffsetReset::Earliest);
    let (stop, stopped) = watch::channel(false);
    let mut consumers = JoinSet::new();
    for number in 0..CONSUMERS {
        let consumer = Consumer::new(cluster.clone(), config.clone())?;
        consumers.spawn(serve(number, consumer, topic.clone(), stopped.clone()));
    }
    tokio::spawn(async move {
        terminated.recv().await;
        stop.send_replace(true);
    });
    while let Some(ended) = consumers.join_next().await {
        ended??;
    }
    Ok(())
}

async fn serve(
    number: usize,
    mut consumer: Consumer,
    topic: String,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), ServiceError> {
    consumer.subscribe([topic])?;
    loop {
        let records = tokio::select! {
            records = consumer.poll(50) => records?,
            _ = stopped.wait_for(|is_stopped| *is_stopped) => break,
        };
        let handle = consumer.handle();
        // Until the next poll the partitions are this member's, however long this takes.
        tokio::spawn(work(number, records, handle)).await??;
    }
    Ok(consumer.close(Duration::from_secs(10)).await?)
}

async fn work(number: usize, records: Records, handle: ConsumerHandle) -> Result<(), ServiceError> {
    for record in &records {
        let order: u64 = String::from_utf8_lossy(record.value().unwrap_or_default()).parse()?;
        println!("{number} {order}");
    }
    let done = records.by_partition().filter_map(|(partition, records)| {
        let last = records.last()?;
        Some((partition.clone(), Position::at(last.offset() + 1)))
    });
    let done: Vec<_> = done.collect();
    loop {
        match handle.commit_offsets(done.clone()).await {
            Err(error) if error.is_retriable() => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            committed => return Ok(committed?),
        }
    }
}
