//! One producer in an `Arc`, used by many tasks at once. Each sends its orders with its own key and
//! waits for what becomes of them. Writes `PARTITION OFFSET VALUE` for each record.

use std::sync::Arc;
use std::time::Duration;

use thalweg::{
    Cluster, Error, Options, ProduceError, Producer, ProducerConfig, ProducerRecord, RecordMetadata,
};
use tokio::task::{JoinError, JoinSet};

#[derive(Debug, thiserror::Error)]
enum OrderError {
    #[error("usage: shared_producer BOOTSTRAP TOPIC TASKS ORDERS")]
    Usage,
    #[error(transparent)]
    Kafka(#[from] Error),
    #[error("an order was not taken: {0}")]
    Refused(#[from] ProduceError),
    #[error(transparent)]
    Task(#[from] JoinError),
    #[error("not everything was sent in time")]
    TooSlow,
}

#[tokio::main]
async fn main() -> Result<(), OrderError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic, tasks, orders] = args.as_slice() else { return Err(OrderError::Usage) };
    let tasks: usize = tasks.parse().map_err(|_| OrderError::Usage)?;
    let orders: usize = orders.parse().map_err(|_| OrderError::Usage)?;
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let config = ProducerConfig::default().with_linger(Duration::from_millis(2));
    let producer = Arc::new(Producer::new(cluster, config)?);
    let mut running = JoinSet::new();
    for task in 0..tasks {
        running.spawn(send(Arc::clone(&producer), topic.clone(), task, orders));
    }
    while let Some(sent) = running.join_next().await {
        for (at, value) in sent?? {
            println!("{} {} {value}", at.partition, at.offset);
        }
    }
    if producer.close(Duration::from_secs(10)).await { Ok(()) } else { Err(OrderError::TooSlow) }
}

async fn send(
    producer: Arc<Producer>,
    topic: String,
    task: usize,
    orders: usize,
) -> Result<Vec<(RecordMetadata, String)>, OrderError> {
    let key = format!("customer {task}");
    let mut deliveries = Vec::new();
    for order in 0..orders {
        let value = format!("{task}-{order}");
        let record =
            ProducerRecord::new(&topic).with_key(key.as_bytes()).with_value(value.as_bytes());
        deliveries.push((producer.send(record).await?, value));
    }
    let mut sent = Vec::new();
    for (delivery, value) in deliveries {
        sent.push((delivery.await?, value));
    }
    Ok(sent)
}
