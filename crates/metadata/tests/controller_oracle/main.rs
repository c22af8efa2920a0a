//! The controller's decisions against Kafka's: the same requests to both, the same answers and the
//! same records expected; and directories that go from one to the other.
//!
//! A Kafka node is started, its metadata log read along into an image; each request is decided on
//! that image and sent to the node, then the node's answer and the records it appended are compared
//! with the decision. More brokers exist only as registrations that the test sends.
//!
//! Needs Java 17 and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. What Kafka
//! says is kept in `recorded.txt`, so that the same comparison is made where there is no Java. After
//! a change of the requests run with `THALWEG_RECORD=1` as well: it writes the file anew.

mod brokers;
mod directories;
mod isr;
mod oracle;
mod topics;

use crate::support::{class_path, scratch};
use oracle::Oracle;
use thalweg_metadata::MetadataImage;
use thalweg_metadata::image::{Delta, snapshot_records};

const SETTINGS: &str = "metadata.max.idle.interval.ms=0\nbroker.session.timeout.ms=6000000\n\
     broker.heartbeat.interval.ms=200\nauto.leader.rebalance.enable=false\n\
     replica.lag.time.max.ms=6000000\nlog.retention.hours=5\nnum.partitions=2\n\
     log.roll.hours=7\nmin.insync.replicas=2\n";

const HEADER: &str = "\
# What Apache Kafka 4.4.0 answered to the requests of this test, and what it appended to its
# metadata log: at the start its ports and the log, then a line for each request with the answer in
# the request's newest version, without messages, and the batches.
";

fn run(oracle: &mut Oracle) {
    topics::topics(oracle);
    topics::configs(oracle);
    topics::quotas(oracle);
    brokers::brokers(oracle);
    isr::isr(oracle);
    brokers::features(oracle);
    state(oracle);
    eprintln!("{} requests compared", oracle.compared);
    assert!(oracle.compared > 100, "{}", oracle.compared);
}

#[test]
fn decisions_are_kafkas() {
    let Some(class_path) = class_path() else { return };
    let directory = scratch("controller-oracle");
    let mut oracle = Oracle::start(&class_path, &directory, SETTINGS);
    run(&mut oracle);
    let tape = oracle.finish();
    if std::env::var_os("THALWEG_RECORD").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/controller_oracle/recorded.txt");
        std::fs::write(path, HEADER.to_owned() + &tape.join("\n") + "\n").expect("a file");
    }
}

#[test]
fn decisions_are_what_kafka_once_said() {
    let mut oracle = Oracle::recorded(include_str!("recorded.txt"), SETTINGS);
    run(&mut oracle);
    oracle.finish();
}

/// The image itself: a snapshot of it gives it back.
fn state(oracle: &Oracle) {
    let image = oracle.image();
    let brokers: Vec<_> = image.cluster.brokers.keys().copied().collect();
    assert!(image.topics.len() >= 8, "only {} topics are left", image.topics.len());
    assert_eq!(brokers, [1, 3, 4, 5, 6]);
    let mut delta = Delta::new(MetadataImage::empty());
    for record in snapshot_records(image) {
        delta.replay(&record).expect("a snapshot's record");
    }
    let (back, _) = delta.apply(image.provenance);
    assert_eq!(&back, image);
}
