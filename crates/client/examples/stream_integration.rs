//! Puts the streams through their paces against a broker: writes records, reads them with members
//! that come and go, and checks that every one was worked on, once, and committed; that a partition
//! nobody reads costs its share and no more; and that a copy from topic to topic is whole.
//!
//! ```sh
//! cargo run -p thalweg --example stream_integration -- 127.0.0.1:9092 [classic|consumer] [RECORDS]
//! ```
//!
//! It makes topics of its own and leaves them behind.

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::{SinkExt, StreamExt, TryStreamExt};
use thalweg::stream::{
    self, Committer, CommitterSettings, Control, Envelope, MetadataClient, OwnedProducerRecord,
    ProducerSettings, Subscription,
};
use thalweg::{
    Cluster, ConsumerConfig, GroupProtocol, OffsetReset, Options, Producer, ProducerConfig,
    TopicPartition,
};
use thalweg_wire::messages::CreateTopicsRequest;
use thalweg_wire::messages::create_topics_request::CreatableTopic;
use tokio::task::JoinHandle;

const PARTITIONS: i32 = 6;
const LIMIT: Duration = Duration::from_secs(60);

/// What went wrong.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
type Seen = Arc<Mutex<BTreeMap<(i32, i64), u32>>>;

struct Trial {
    cluster: Cluster,
    config: ConsumerConfig,
    producer: Producer,
    from: String,
    to: String,
    records: usize,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(bootstrap) = args.first() else {
        eprintln!("usage: stream_integration BOOTSTRAP [classic|consumer] [RECORDS]");
        std::process::exit(2);
    };
    let group_protocol = match args.get(1).map(String::as_str) {
        Some("consumer") => GroupProtocol::Consumer { server_assignor: None },
        _ => GroupProtocol::default(),
    };
    let records = args.get(2).map_or(Ok(60_000), |records| records.parse())?;
    run(bootstrap, group_protocol, records).await
}

/// All of it, against one broker.
pub async fn run(
    bootstrap: &str,
    group_protocol: GroupProtocol,
    records: usize,
) -> Result<(), Failure> {
    let stamp = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let mut config = ConsumerConfig::default()
        .with_group_id(format!("streams-{stamp}"))
        .with_auto_offset_reset(OffsetReset::Earliest);
    if matches!(group_protocol, GroupProtocol::Classic { .. }) {
        // In a group of KIP-848 it is the brokers' to say.
        config = config.with_heartbeat_interval(Duration::from_millis(200));
    }
    let trial = Trial {
        producer: Producer::new(cluster.clone(), ProducerConfig::default())?,
        config: config.with_group_protocol(group_protocol),
        from: format!("streams-{stamp}-from"),
        to: format!("streams-{stamp}-to"),
        cluster,
        records,
    };
    trial.create().await?;
    trial.write().await?;
    trial.share().await?;
    trial.hold_back().await?;
    trial.copy().await?;
    println!("all is well");
    Ok(())
}

impl Trial {
    fn topic(&self) -> Subscription {
        Subscription::topics([self.from.as_str()])
    }

    fn config(&self, group: &str) -> ConsumerConfig {
        let id = self.config.group_id.as_deref().unwrap_or_default();
        self.config.clone().with_group_id(format!("{id}-{group}"))
    }

    async fn create(&self) -> Result<(), Failure> {
        let topic = |name: &String| CreatableTopic {
            name: name.clone(),
            num_partitions: PARTITIONS,
            replication_factor: 1,
            ..Default::default()
        };
        let request = CreateTopicsRequest {
            topics: vec![topic(&self.from), topic(&self.to)],
            timeout_ms: 10_000,
            ..Default::default()
        };
        // Only the controller's word counts; an embedded one is on every broker.
        let answer = self.cluster.send_any(&request).await?;
        for topic in &answer.topics {
            println!("{}: {}", topic.name, thalweg::error::code_name(topic.error_code));
        }
        Ok(())
    }

    async fn write(&self) -> Result<(), Failure> {
        let began = Instant::now();
        let mut sink = stream::plain_sink(&self.producer, ProducerSettings::default());
        let records = (0..self.records).map(|number| {
            let value = format!("record {number} {}", "x".repeat(80));
            let record = OwnedProducerRecord::new(self.from.as_str()).with_value(value);
            Ok(record.with_partition(number as i32 % PARTITIONS))
        });
        sink.send_all(&mut futures_util::stream::iter(records)).await?;
        println!("wrote {} records in {:?}", self.records, began.elapsed());
        Ok(())
    }

    /// A member that notes what it sees.
    fn member(&self, config: &ConsumerConfig, seen: &Seen) -> Result<Member, Failure> {
        let mut source =
            stream::committable_partitioned_source(&self.cluster, config.clone(), self.topic())?;
        let control = source.control();
        let seen = Arc::clone(seen);
        let running = tokio::spawn(async move {
            let settings = CommitterSettings::default()
                .with_max_batch(500)
                .with_max_interval(Duration::from_millis(200));
            let committer = Committer::new(settings);
            let mut tasks = Vec::new();
            while let Some(next) = source.next().await {
                let (_, stream) = next?;
                let seen = Arc::clone(&seen);
                tasks.push(tokio::spawn(async move {
                    let offsets = stream.and_then(move |message| {
                        let at = (message.record.partition(), message.record.offset());
                        if let Ok(mut seen) = seen.lock() {
                            *seen.entry(at).or_default() += 1;
                        }
                        async move {
                            if at.1 % 50 == 0 {
                                tokio::time::sleep(Duration::from_millis(1)).await;
                            }
                            Ok(message.offset)
                        }
                    });
                    committer.run(offsets).await
                }));
            }
            for task in tasks {
                task.await??;
            }
            Ok(())
        });
        Ok(Member { control, running })
    }

    /// Members come and go while records are worked on.
    async fn share(&self) -> Result<(), Failure> {
        let began = Instant::now();
        let seen = Seen::default();
        let config = self.config("share");
        let mut members = Vec::new();
        for _ in 0..3 {
            members.push(self.member(&config, &seen)?);
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        members.remove(0).leave().await?;
        let count = || seen.lock().map_or(0, |seen| seen.len());
        while count() < self.records {
            if began.elapsed() > 2 * LIMIT {
                return Err(format!("only {} of {} came", count(), self.records).into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for member in members {
            member.leave().await?;
        }
        let client = MetadataClient::create(self.cluster.clone(), config)?;
        let partitions: Vec<_> = (0..PARTITIONS)
            .map(|partition| TopicPartition::new(self.from.as_str(), partition))
            .collect();
        let ends = client.end_offsets(&partitions).await?;
        let committed = client.committed(&partitions).await?;
        for ((partition, end), (_, committed)) in ends.iter().zip(&committed) {
            let committed = committed.as_ref().map(|found| found.position.offset);
            if committed != Some(*end) {
                return Err(format!("{partition}: {committed:?} of {end} is committed").into());
            }
        }
        let twice = seen.lock().map_or(0, |seen| seen.values().filter(|times| **times > 1).count());
        println!(
            "shared {} records in {:?}; {twice} were worked on more than once",
            count(),
            began.elapsed()
        );
        if twice > 0 { Err("a revocation was not in time".into()) } else { Ok(()) }
    }

    /// One partition is read, the others are not.
    async fn hold_back(&self) -> Result<(), Failure> {
        let config = self.config("hold-back").with_fetch_budget(2 << 20);
        let mut source = stream::plain_partitioned_source(&self.cluster, config, self.topic())?;
        let control = source.control();
        let mut streams = Vec::new();
        for _ in 0..PARTITIONS {
            streams.push(source.next().await.ok_or("it ended")??.1);
        }
        let quick = streams.first_mut().ok_or("no partition")?;
        let expected = self.records.div_ceil(PARTITIONS as usize) - 1;
        let mut count = 0;
        while count < expected {
            tokio::time::timeout(LIMIT, quick.next()).await?.ok_or("it ended")??;
            count += 1;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = control.metrics();
        tokio::time::sleep(Duration::from_secs(2)).await;
        let after = control.metrics();
        let bytes = after.fetched.batch_bytes - before.fetched.batch_bytes;
        println!("held back: {after:?}");
        control.shutdown(LIMIT).await;
        if bytes > 0 || after.fetched.discarded_bytes > 0 {
            return Err(format!("{bytes} bytes came that nobody asked for").into());
        }
        Ok(())
    }

    /// From topic to topic.
    async fn copy(&self) -> Result<(), Failure> {
        let began = Instant::now();
        let source = stream::committable_source(&self.cluster, self.config("copy"), self.topic())?;
        let control = source.control();
        let to: Arc<str> = self.to.as_str().into();
        let envelopes = source.map_ok(move |message| {
            let record = OwnedProducerRecord {
                topic: Arc::clone(&to),
                value: message.record.value_bytes(),
                ..OwnedProducerRecord::default()
            };
            Envelope::single(record, message.offset)
        });
        let sink = stream::committable_sink(
            &self.producer,
            ProducerSettings::default(),
            CommitterSettings::default(),
        );
        let running = tokio::spawn(envelopes.forward(sink));
        let written = self.records as u64;
        while self.producer.counts().records < 2 * written {
            if began.elapsed() > LIMIT || running.is_finished() {
                return Err("the copy is not whole".into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        control.drain_and_shutdown(running, LIMIT).await.ok_or("too slow")???;
        let client = MetadataClient::create(self.cluster.clone(), self.config("copy"))?;
        let partitions: Vec<_> = (0..PARTITIONS)
            .map(|partition| TopicPartition::new(self.to.as_str(), partition))
            .collect();
        let ends = client.end_offsets(&partitions).await?;
        let sum: i64 = ends.iter().map(|(_, end)| end).sum();
        println!("copied {sum} records in {:?}", began.elapsed());
        if sum == self.records as i64 { Ok(()) } else { Err("the copy differs".into()) }
    }
}

struct Member {
    control: Control,
    running: JoinHandle<Result<(), Failure>>,
}

impl Member {
    async fn leave(self) -> Result<(), Failure> {
        self.control.drain_and_shutdown(self.running, LIMIT).await.ok_or("it took too long")??
    }
}
