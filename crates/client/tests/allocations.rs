//! What reading a record allocates, counted at `malloc`: on the thread of the application, which is
//! the fetching tasks' as well. The broker runs on threads of its own.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

#[path = "../../records/tests/counted/mod.rs"]
mod counted;
mod support;

use std::sync::mpsc;

use support::{Bench, earliest, soon, tp};
use thalweg::{Cluster, Consumer, Options};
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
