//! A broker with few descriptors, and more connections than it can have.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use thalweg::{Connection, Options};
use thalweg_records::BatchView;
use thalweg_testkit::requests;
use thalweg_wire::messages::fetch_request::FetchPartition;
use thalweg_wire::{ErrorCode, Uuid};

use super::{Broker, Data, create, produce};
use crate::limited::Limited;

const LIMIT: u64 = 256;
const CONNECTIONS: usize = 1_000;
const PARTITIONS: i32 = 100;
const DEADLINE: Duration = Duration::from_secs(60);

/// Partitions that have a record at offset 0.
async fn fetch(client: &Connection, topic: Uuid, partitions: &[i32]) -> Vec<i32> {
    let wanted = |index: &i32| FetchPartition {
        partition_max_bytes: 64 << 10,
        ..requests::partition(*index, 0)
    };
    let request = requests::fetch(topic, partitions.iter().map(wanted));
    let response = client.send(&request).await.unwrap();
    let mut found = Vec::new();
    for part in &response.responses[0].partitions {
        assert_eq!(part.error_code, ErrorCode::NONE, "{part:?}");
        let records = part.records.as_ref().filter(|records| !records.is_empty());
        if records.is_some_and(|records| BatchView::parse(records).unwrap().base_offset() == 0) {
            found.push(part.partition_index);
        }
    }
    found
}

/// Whether the broker has closed the connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut byte = [0];
    match stream.read(&mut byte) {
        Ok(n) => n == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

#[tokio::test]
async fn connections_never_take_the_descriptors_that_logs_need() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let data = Data::new("descriptors");
    let mut broker = Broker::start(&data.0, LIMIT, &["--log-level", "warn"]);
    let limited = Limited::new(&broker.child);
    let client = Connection::open(&broker.address, &Options::default()).await.unwrap();
    let small = ("segment.bytes", "1048576");
    let before = create(&client, "before", 4, small).await;
    assert_eq!(produce(&client, before, 4, 100).await, [0; 4]);

    let mut crowd: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| {
            let stream = TcpStream::connect(&broker.address).unwrap();
            stream.set_nonblocking(true).unwrap();
            stream
        })
        .collect();
    let began = Instant::now();
    let refused = loop {
        let refused = broker.metric("thalweg_connections_refused_descriptors_total");
        // The others are there, and idle.
        if refused + broker.metric("kafka_server_socketservermetrics_connection_count")
            == CONNECTIONS as u64 + 1
        {
            break refused;
        }
        assert!(began.elapsed() < DEADLINE, "{refused} connections were refused");
    };
    assert!(refused > CONNECTIONS as u64 - LIMIT, "{refused}");
    let mut closed = crowd.iter_mut().filter_map(|s| is_closed(s).then_some(())).count() as u64;
    while closed < refused {
        assert!(began.elapsed() < DEADLINE, "{closed} of {refused} connections are closed");
        closed = crowd.iter_mut().filter_map(|s| is_closed(s).then_some(())).count() as u64;
    }
    assert_eq!(closed, refused);

    // What takes descriptors goes on: new logs, more of them than may be open, and rolls.
    let during = create(&client, "during", PARTITIONS, small).await;
    for round in 0..3 {
        let offsets = produce(&client, during, PARTITIONS, 100).await;
        assert_eq!(offsets, vec![round; PARTITIONS as usize]);
    }
    for offset in 1..6 {
        assert_eq!(produce(&client, before, 4, 600 << 10).await, [offset; 4]);
    }
    let mut left: Vec<i32> = (0..PARTITIONS).collect();
    while !left.is_empty() {
        let found = fetch(&client, during, &left).await;
        assert!(!found.is_empty(), "{left:?}");
        left.retain(|partition| !found.contains(partition));
    }
    assert_eq!(fetch(&client, before, &[0, 1, 2, 3]).await, [0, 1, 2, 3]);
    assert_eq!(broker.metric("thalweg_log_opens_exhausted_total"), 0);
    let segments = std::fs::read_dir(data.0.join("before-0")).unwrap();
    let logs = segments.filter(|entry| {
        entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "log")
    });
    assert!(logs.count() >= 3);

    drop(crowd);
    let began = Instant::now();
    let other = loop {
        match Connection::open(&broker.address, &Options::default()).await {
            Ok(other) => break other,
            Err(error) => assert!(began.elapsed() < DEADLINE, "{error}"),
        }
    };
    assert_eq!(produce(&other, during, 1, 100).await, [3]);

    kill_process(Pid::from_child(&broker.child), Signal::TERM).unwrap();
    let mut stderr = String::new();
    broker.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(broker.child.wait().unwrap().success(), "{stderr}");
    drop(limited);
    assert_eq!(stderr.matches("connections are refused").count(), 1, "{stderr}");
    assert!(!stderr.contains("offline") && !stderr.contains("ERROR"), "{stderr}");
}
