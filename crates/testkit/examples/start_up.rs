//! How long the broker takes to start inside a test process, from nothing to the first answer.
//!
//! `cargo run --release -p thalweg-testkit --example start_up [DIRECTORY]`: medians of 50 starts on
//! an empty directory and of 50 on one that was used and closed. Without an argument the data is
//! where the testkit puts it, in memory if the system has such a place; what a disk adds is seen
//! with a directory on it.

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thalweg_testkit::TestBroker;
use thalweg_wire::messages::MetadataRequest;

const STARTS: usize = 50;

/// Starts a broker, asks it something, stops it; the times of the start and of start and answer.
async fn once(data: Option<&Path>) -> (Duration, Duration) {
    let begin = Instant::now();
    let mut builder = TestBroker::builder();
    if let Some(data) = data {
        builder = builder.data(data);
    }
    let broker = builder.start().await;
    let started = begin.elapsed();
    let options = thalweg::Options::default();
    let connection = thalweg::Connection::open(&broker.bootstrap(), &options).await;
    let connection = connection.expect("a connection");
    connection.send(&MetadataRequest::default()).await.expect("an answer");
    let answered = begin.elapsed();
    broker.shut_down().await;
    (started, answered)
}

fn report(what: &str, mut times: Vec<(Duration, Duration)>) {
    let middle = times.len() / 2;
    let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
    times.sort_unstable_by_key(|(started, _)| *started);
    let (started, slowest) = (times[middle].0, times[times.len() - 1].0);
    times.sort_unstable_by_key(|(_, answered)| *answered);
    println!(
        "{what}: ready {:.2} ms (slowest {:.2}), first answer {:.2} ms",
        ms(started),
        ms(slowest),
        ms(times[middle].1)
    );
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let parent = std::env::args_os().nth(1).map(PathBuf::from);
    let fresh = |at: usize| parent.as_ref().map(|parent| parent.join(format!("start-up-{at}")));
    let mut empty = Vec::new();
    for at in 0..STARTS {
        let data = fresh(at);
        empty.push(once(data.as_deref()).await);
        if let Some(data) = data {
            std::fs::remove_dir_all(data).expect("the directory goes");
        }
    }
    report("empty directory", empty);
    let used = fresh(STARTS).unwrap_or_else(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        parent.join(format!("thalweg-start-up-{}", std::process::id()))
    });
    once(Some(&used)).await;
    let mut again = Vec::new();
    for _ in 0..STARTS {
        again.push(once(Some(&used)).await);
    }
    std::fs::remove_dir_all(&used).expect("the directory goes");
    report("used directory", again);
}
