//! What reading a record allocates, counted at `malloc`: on the thread of the application, which is
//! the fetching tasks' as well. The broker runs on threads of its own.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

#[path = "../../records/tests/counted/mod.rs"]
mod counted;
mod support;

use std::sync::mpsc;

use std::pin::Pin;

use futures_util::{Stream, StreamExt};
use support::{Bench, earliest, grouped, soon, tp};
use thalweg::stream::{self, Subscription};
use thalweg::{Cluster, Consumer, Error, Options};
use thalweg_records::Compression;

const BATCHES: usize = 60;
const IN_BATCH: usize = 1_000;

/// A broker on a runtime of its own, with a topic full of records; gives its address.
fn broker(codec: Compression) -> (String, mpsc::Sender<()>, std::thread::JoinHandle<()>) {
    let (address, addresses) = mpsc::channel();
    let (stop, stopped) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let bench = Bench::with(1).await;
            let values = vec!["v".repeat(100); IN_BATCH];
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            for _ in 0..BATCHES {
                bench.produce(0, &values, codec).await;
            }
            address.send(bench.broker.bootstrap()).unwrap();
            tokio::task::spawn_blocking(move || stopped.recv()).await.unwrap().ok();
        });
    });
    (addresses.recv().unwrap(), stop, thread)
}

#[test]
fn a_record_read_allocates_nothing() {
    for codec in [Compression::None, Compression::Lz4] {
        let (address, stop, thread) = broker(codec);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let cluster = Cluster::connect(&address, Options::default()).await.unwrap();
            let mut consumer = Consumer::new(cluster, earliest()).unwrap();
            consumer.assign([(tp(0), None)]).unwrap();
            let (mut read, mut polls, mut bytes) = (0, 0, 0);
            let mut begun = 0;
            while read < BATCHES * IN_BATCH {
                let records = soon(consumer.poll(5)).await.unwrap();
                for record in &records {
                    bytes += record.value().map_or(0, <[u8]>::len);
                }
                read += records.len();
                polls += 1;
                // The first batches warm everything up.
                if begun == 0 && read >= 5 * IN_BATCH {
                    (begun, polls) = (counted::here(), 0);
                }
            }
            let allocations = counted::here() - begun;
            let measured = read - 5 * IN_BATCH;
            assert_eq!(bytes, BATCHES * IN_BATCH * 100);
            eprintln!("{codec:?}: {allocations} for {measured} records in {polls} polls");
            // A few for each fetch and one for each compressed batch, none for polls or records.
            assert!(allocations < measured as u64 / 100, "{codec:?}: {allocations}");
        });
        drop(stop);
        thread.join().unwrap();
    }
}

/// What is left of a source when only its counts matter: of records, and bytes of values.
type Counts = Pin<Box<dyn Stream<Item = Result<(usize, usize), Error>>>>;

/// Every kind of source, by name.
async fn sources(cluster: &Cluster) -> Vec<(&'static str, Counts)> {
    let topic = || Subscription::assignment_with_offset([(tp(0), 0)]);
    let value = |record: &thalweg::SharedRecord| record.value().map_or(0, <[u8]>::len);
    let plain = stream::plain_source(cluster, earliest(), topic()).unwrap();
    let plain = plain.map(move |record| record.map(|record| (1, value(&record))));
    let committable = stream::committable_source(cluster, grouped(), topic()).unwrap();
    let committable =
        committable.map(move |message| message.map(|message| (1, value(&message.record))));
    let batches = stream::committable_source(cluster, grouped(), topic()).unwrap().batches(500);
    let batches = batches.map(|batch| {
        let records = batch?.records;
        let bytes = records.iter().map(|record| record.value().map_or(0, <[u8]>::len)).sum();
        Ok((records.len(), bytes))
    });
    let mut source = stream::committable_partitioned_source(cluster, grouped(), topic()).unwrap();
    let (_, partition) = soon(source.next()).await.unwrap().unwrap();
    let partition = partition.map(move |message| {
        // As long as this is there, the source is.
        let _ = &source;
        message.map(|message| (1, value(&message.record)))
    });
    vec![
        ("plain", Box::pin(plain)),
        ("committable", Box::pin(committable)),
        ("batches", Box::pin(batches)),
        ("partition", Box::pin(partition)),
    ]
}

#[test]
fn a_record_of_a_stream_allocates_nothing_either() {
    for codec in [Compression::None, Compression::Lz4] {
        let (address, stop, thread) = broker(codec);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let cluster = Cluster::connect(&address, Options::default()).await.unwrap();
            for (name, mut source) in sources(&cluster).await {
                let (mut read, mut bytes, mut begun) = (0, 0, 0);
                while read < BATCHES * IN_BATCH {
                    let (records, of_values) = soon(source.next()).await.unwrap().unwrap();
                    read += records;
                    bytes += of_values;
                    if begun == 0 && read >= 5 * IN_BATCH {
                        begun = counted::here();
                    }
                }
                let allocations = counted::here() - begun;
                let measured = read - 5 * IN_BATCH;
                assert_eq!(bytes, BATCHES * IN_BATCH * 100);
                eprintln!("{codec:?}, {name}: {allocations} for {measured} records");
                // One for each take of up to 500, and a few for each fetch.
                assert!(allocations < measured as u64 / 60, "{codec:?}, {name}: {allocations}");
            }
        });
        drop(stop);
        thread.join().unwrap();
    }
}
