//! Directories: formatted like Kafka's, and taken over by Kafka.

use thalweg_metadata::bootstrap::{self, SoleVoter};
use thalweg_metadata::config::broker::Mode;
use thalweg_metadata::config::{BrokerConfig, properties};
use thalweg_metadata::controller::{Context, HeartbeatState};
use thalweg_metadata::features::MetadataVersion;
use thalweg_metadata::image::{Delta, Provenance};
use thalweg_metadata::records::{Batch, BatchContents, BatchWriter, ControlRecord};
use thalweg_random::Random;
use thalweg_records::Decompressor;
use thalweg_wire::Uuid;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::*;

use super::SETTINGS;
use crate::support::fixtures::{Fake, NOT_HEARD_OF, decide, topic, with_configs};
use crate::support::kafka::{Kafka, Log, batch_length};
use crate::support::{class_path, scratch};

#[test]
fn directories_go_from_us_to_kafka() {
    let Some(class_path) = class_path() else { return };
    let directory = scratch("format-oracle");
    let mut kafka = Kafka::configure(&class_path, &directory, "min.insync.replicas=2\n");
    let data = directory.join("data");
    let log_dir = data.join("__cluster_metadata-0");
    std::fs::create_dir_all(&log_dir).expect("a directory");
    let directory_id = Uuid::from_u128(0x1234_5678_9abc_4def_8123_4567_89ab_cdef);
    let meta = format!(
        "cluster.id={}\ndirectory.id={directory_id}\nnode.id=1\nversion=1\n",
        kafka.cluster_id
    );
    let voter = SoleVoter {
        node_id: 1,
        directory_id,
        listener: "CONTROLLER".into(),
        host: "127.0.0.1".into(),
        port: kafka.controller_port,
    };
    let write = |path: std::path::PathBuf, bytes: &[u8]| {
        std::fs::write(path, bytes).expect("a file");
    };
    // Not long ago, or Kafka would begin a new segment.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
    let now = i64::try_from(now.as_millis()).expect("a time");
    write(data.join("meta.properties"), meta.as_bytes());
    let bootstrap_file =
        bootstrap::bootstrap_checkpoint(MetadataVersion::LATEST, now).expect("batches").concat();
    write(data.join("bootstrap.checkpoint"), &bootstrap_file);
    let quorum = bootstrap::quorum_checkpoint(&voter, now).expect("batches").concat();
    write(log_dir.join(bootstrap::QUORUM_CHECKPOINT), &quorum);

    // A log of our own: the first epoch, the bootstrap records, and two topics.
    let config = BrokerConfig::new(kafka.props.clone(), Mode::Kafka).expect("a configuration");
    let writer =
        BatchWriter { epoch: 1, timestamp_ms: now, metadata_version: MetadataVersion::LATEST };
    let mut bytes = writer.control(0, &voter.first_epoch_records()).expect("a batch").to_vec();
    let mut offset = 3;
    let mut append = |records: &[MetadataRecord]| {
        bytes.extend(writer.data(offset, records).expect("a batch"));
        offset += records.len() as i64;
    };
    let records = bootstrap::activation_records(
        &config,
        &bootstrap::bootstrap_records(MetadataVersion::LATEST),
        false,
    );
    append(&records);
    let mut delta = Delta::new(thalweg_metadata::MetadataImage::empty());
    for record in records.iter().filter(|r| {
        !matches!(r, MetadataRecord::BeginTransaction(_) | MetadataRecord::EndTransaction(_))
    }) {
        delta.replay(record).expect("a record");
    }
    let mut fake = Fake::new(1, &[directory_id.as_u128()]);
    fake.rack = Some("somewhere".into());
    let mut numbers = Random::new(9);
    let (image, _) = delta.apply(Provenance::NONE);
    let context = Context { image: &image, config: &config };
    let registration = fake.registration(&kafka.cluster_id);
    let registered = decide(&context, &registration, &mut || numbers.next_u64(), |given| {
        given.cluster_id = &kafka.cluster_id;
        given.next_offset = 12;
    });
    append(&registered.records);
    let mut delta = Delta::new(image.clone());
    for record in &registered.records {
        delta.replay(record).expect("a record");
    }
    fake.epoch = registered.response.broker_epoch;
    let (image, _) = delta.apply(Provenance::NONE);
    let context = Context { image: &image, config: &config };
    let heartbeat = BrokerHeartbeatRequest {
        broker_id: 1,
        broker_epoch: fake.epoch,
        current_metadata_offset: 100,
        cordoned_log_dirs: Some(Vec::new()),
        ..Default::default()
    };
    let unfenced = decide(&context, &heartbeat, &mut || numbers.next_u64(), |given| {
        given.heartbeats = HeartbeatState { registration_offset: 12, ..NOT_HEARD_OF };
    });
    append(&unfenced.records);
    let mut delta = Delta::new(image.clone());
    for record in &unfenced.records {
        delta.replay(record).expect("a record");
    }
    let (image, _) = delta.apply(Provenance::NONE);
    let context = Context { image: &image, config: &config };
    let request = CreateTopicsRequest {
        topics: vec![
            with_configs(topic("ours", 2, 1), &[("retention.ms", Some("123456"))]),
            topic("second", 1, 1),
        ],
        ..Default::default()
    };
    let created = decide(&context, &request, &mut || numbers.next_u64(), |_| {});
    assert_eq!(created.records.len(), 6);
    append(&created.records);
    write(kafka.log_path(), &bytes);
    let quorum_state = "{\"leaderId\":1,\"leaderEpoch\":1,\"votedId\":-1,\
         \"votedDirectoryId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"data_version\":1}";
    write(log_dir.join("quorum-state"), quorum_state.as_bytes());

    kafka.start();
    let mut log = Log::new(kafka.log_path());
    log.read();
    let topics_before: Vec<String> =
        log.image().topics.iter().map(|topic| topic.name.to_string()).collect();
    assert_eq!(topics_before, ["ours", "second"]);
    let first_epoch = log.image().cluster.broker(1).expect("our broker").epoch;
    // Ready is Kafka when it has registered anew.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    loop {
        kafka.wait_ready(&mut log);
        if log.image().cluster.broker(1).is_some_and(|broker| broker.epoch != first_epoch) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "Kafka does not register");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    kafka.wait_ready(&mut log);
    let described =
        kafka.tool("org.apache.kafka.tools.TopicCommand", &["--describe", "--topic", "ours"]);
    assert!(described.contains("PartitionCount: 2"), "{described}");
    assert!(described.contains("retention.ms=123456"), "{described}");
    assert!(described.contains("Leader: 1"), "{described}");
}

/// Kafka 4.4 puts the records of `bootstrap.checkpoint` into the quorum's first checkpoint, which no release before reads.
/// Thalweg writes two files, as Kafka 4.3 does: both releases read them. The records are the same.
#[test]
fn formatted_records_are_kafkas() {
    let Some(class_path) = class_path() else { return };
    let level = |release| MetadataVersion::named(release).expect("a release");
    formatted_records(&class_path, "default", &[], MetadataVersion::LATEST);
    for release in ["4.0", "4.1", "4.2", "4.3", "4.4"] {
        formatted_records(&class_path, release, &["--release-version", release], level(release));
    }
}

fn formatted_records(class_path: &str, name: &str, options: &[&str], version: MetadataVersion) {
    let directory = scratch(&format!("files-oracle-{name}"));
    let kafka = Kafka::configure(class_path, &directory, SETTINGS);
    kafka.format_with(options);
    let data = directory.join("data");
    let read = |path: &str| std::fs::read(data.join(path)).expect("a file of Kafka's");
    let meta = properties::parse(&read("meta.properties")).expect("meta.properties");
    let voter = SoleVoter {
        node_id: 1,
        directory_id: Uuid::parse(&meta["directory.id"]).expect("an id"),
        listener: "CONTROLLER".into(),
        host: "127.0.0.1".into(),
        port: kafka.controller_port,
    };
    let path = format!("__cluster_metadata-0/{}", bootstrap::QUORUM_CHECKPOINT);
    let kafkas = batches(&read(&path));
    let levels = batches(&bootstrap::bootstrap_checkpoint(version, 0).expect("batches").concat());
    let quorum = batches(&bootstrap::quorum_checkpoint(&voter, 0).expect("batches").concat());
    let ([_, levels, _], [voters, footer]) = (&levels[..], &quorum[..]) else {
        panic!("{} and {} batches", levels.len(), quorum.len())
    };
    assert_eq!(kafkas, [voters.as_str(), levels, footer], "{name}");
    assert!(!data.join("bootstrap.checkpoint").exists());
}

/// The batches of a file as texts, without times and places.
fn batches(mut bytes: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    while !bytes.is_empty() {
        let length = batch_length(bytes).expect("a whole batch");
        let (first, rest) = bytes.split_at(length);
        let mut batch = Batch::read(first, &mut Decompressor::new()).expect("a batch");
        batch.last_offset -= batch.base_offset;
        (batch.timestamp_ms, batch.base_offset) = (0, 0);
        if let BatchContents::Control(records) = &mut batch.contents {
            for record in records {
                if let ControlRecord::SnapshotHeader(header) = record {
                    header.last_contained_log_timestamp = 0;
                }
            }
        }
        texts.push(format!("{} bytes {batch:?}", first.len()));
        bytes = rest;
    }
    texts
}
