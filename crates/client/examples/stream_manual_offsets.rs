//! Offsets that are kept together with the results, here in a file: a record's result and its offset
//! are written in one step, so that each record counts exactly once.
//!
//! ```sh
//! cargo run -p thalweg --example stream_manual_offsets -- 127.0.0.1:9092 my-group orders counts.txt
//! ```

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use thalweg::stream::{self, Subscription};
use thalweg::{Cluster, ConsumerConfig, Error, OffsetReset, Options, Position, TopicPartition};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// For each partition the next offset, and the bytes of values so far.
struct Store {
    path: PathBuf,
    rows: BTreeMap<i32, (i64, u64)>,
}

impl Store {
    fn open(path: &Path) -> io::Result<Store> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let row = |line: &str| {
            let mut fields = line.split(' ').map(str::parse::<i64>);
            let mut field = || fields.next().and_then(Result::ok);
            let (partition, offset, bytes) = (field()?, field()?, field()?);
            Some((i32::try_from(partition).ok()?, (offset, u64::try_from(bytes).ok()?)))
        };
        Ok(Store { path: path.to_owned(), rows: text.lines().filter_map(row).collect() })
    }

    fn add(&mut self, partition: i32, next: i64, bytes: u64) -> io::Result<()> {
        let row = self.rows.entry(partition).or_default();
        *row = (next, row.1 + bytes);
        let lines = self
            .rows
            .iter()
            .map(|(partition, (next, bytes))| format!("{partition} {next} {bytes}\n"));
        let new = self.path.with_extension("new");
        std::fs::write(&new, lines.collect::<String>())?;
        std::fs::rename(&new, &self.path)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, group, topic, file] = args.as_slice() else {
        eprintln!("usage: stream_manual_offsets BOOTSTRAP GROUP TOPIC FILE");
        std::process::exit(2);
    };
    let store = Arc::new(Mutex::new(Store::open(Path::new(file))?));
    let asked = Arc::clone(&store);
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let config = ConsumerConfig::default()
        .with_group_id(group.clone())
        .with_auto_offset_reset(OffsetReset::Earliest);
    let mut source = stream::plain_partitioned_manual_offset_source(
        &cluster,
        config,
        Subscription::topics([topic.as_str()]),
        move |partitions: Vec<TopicPartition>| {
            let store = Arc::clone(&asked);
            async move {
                let store = store.lock().await;
                let known = |p: TopicPartition| {
                    let (next, _) = *store.rows.get(&p.partition)?;
                    Some((p, Position::at(next)))
                };
                Ok::<_, io::Error>(partitions.into_iter().filter_map(known).collect())
            }
        },
        |partitions| async move { println!("given up: {partitions:?}") },
    )?;
    let control = source.control();
    let running = tokio::spawn(async move {
        let mut tasks = JoinSet::new();
        while let Some(next) = source.next().await {
            let (partition, stream) = next?;
            let store = Arc::clone(&store);
            tasks.spawn(async move {
                let mut batches = stream.batches(500);
                while let Some(records) = batches.try_next().await? {
                    let values = records.iter().filter_map(|record| record.value());
                    let bytes = values.map(|value| value.len() as u64).sum();
                    let Some(last) = records.iter().last() else { continue };
                    let mut store = store.lock().await;
                    store
                        .add(partition.partition, last.offset() + 1, bytes)
                        .map_err(|error| format!("the store: {error}"))?;
                }
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            });
        }
        while let Some(task) = tasks.join_next().await {
            task??;
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    });
    let over = async {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            () = tokio::time::sleep(Duration::from_secs(10)) => {}
        }
    };
    match control.drain_when(over, running, Duration::from_secs(30)).await {
        Some(result) => result?,
        None => Err(Error::ShutDown { addr: bootstrap.as_str().into() }.into()),
    }
}
