//! Where the metadata log is: `metadata.log.dir` outside of `log.dirs`, and a directory that is not
//! what it was at the last start.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use thalweg::{Connection, Options};
use thalweg_metadata::bootstrap::QUORUM_CHECKPOINT;
use thalweg_metadata::features::MetadataVersion;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::Compressor;
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::messages::{ApiVersionsRequest, MetadataRequest};

const LOG: &str = "__cluster_metadata-0";
/// A directory's id that nobody has.
const OTHER: &str = "bB3yT9pPSGyZ8yQnq5b1Aw";

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let name = format!("thalweg-metadata-dir-{name}-{}", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }

    fn dir(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn property(dir: &Path, name: &str) -> String {
    let text = std::fs::read_to_string(dir.join("meta.properties")).unwrap();
    let line = text.lines().find(|line| line.starts_with(&format!("{name}="))).unwrap();
    line.to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_lives_where_it_is_told() {
    let scratch = Scratch::new("own");
    let (data, metadata) = (scratch.dir("data"), scratch.dir("metadata"));
    let builder = || {
        TestBroker::builder().data(&data).config("metadata.log.dir", metadata.display().to_string())
    };
    for start in 0..2 {
        let broker = builder().start().await;
        let connection = Connection::open(&broker.bootstrap(), &Options::default()).await.unwrap();
        support::create(&connection, requests::topic(&format!("t{start}"), 1, &[])).await;
        let request = MetadataRequest { topics: None, ..Default::default() };
        let answer = connection.send(&request).await.unwrap();
        assert_eq!(answer.topics.len(), start + 1, "topics of earlier starts are there");

        assert!(metadata.join(LOG).is_dir() && !data.join(LOG).exists());
        assert!(data.join("t0-0").is_dir() && !metadata.join("t0-0").exists());
        assert_eq!(property(&data, "cluster.id"), property(&metadata, "cluster.id"));
        assert_ne!(property(&data, "directory.id"), property(&metadata, "directory.id"));

        // The directory is locked, whatever the log directories of the other are.
        let other = TestBroker::builder()
            .data(scratch.dir("other"))
            .config("metadata.log.dir", metadata.display().to_string());
        let refused = other.try_start().await.err().map(|error| error.to_string());
        assert!(refused.as_ref().is_some_and(|e| e.contains("metadata")), "{refused:?}");
        broker.shut_down().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_metadata_log_elsewhere_is_not_forgotten() {
    let scratch = Scratch::new("moved");
    let data = scratch.dir("data");
    TestBroker::builder().data(&data).start().await.shut_down().await;
    let moved = TestBroker::builder()
        .data(&data)
        .config("metadata.log.dir", scratch.dir("metadata").display().to_string());
    let refused = moved.try_start().await.err().map(|error| error.to_string());
    assert!(refused.as_ref().is_some_and(|e| e.contains("holds a metadata log")), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unmounted_disk_is_not_taken_for_a_new_one() {
    let scratch = Scratch::new("unmounted");
    let (a, b, away) = (scratch.dir("a"), scratch.dir("b"), scratch.dir("away"));
    let builder = || TestBroker::builder().data(scratch.dir("")).dirs(&["a", "b"]);
    let refused = async |expected: &str| {
        for _ in 0..2 {
            let error = match builder().try_start().await {
                Ok(_) => panic!("a new cluster was made"),
                Err(error) => error.to_string(),
            };
            assert!(error.contains(expected) && error.contains("mount it"), "{error}");
            for dir in [&a, &b] {
                assert!(error.contains(&dir.display().to_string()), "{error}");
            }
            // Nothing was written to what may be a mount point, and the stop is still a clean one.
            assert_eq!(std::fs::read_dir(&a).unwrap().count(), 0);
            assert!(b.join(".kafka_cleanshutdown").exists());
        }
    };
    let unmounted = |is: bool| {
        if is {
            std::fs::rename(&a, &away).unwrap();
            std::fs::create_dir(&a).unwrap();
        } else {
            std::fs::remove_dir(&a).unwrap();
            std::fs::rename(&away, &a).unwrap();
        }
    };
    builder().start().await.shut_down().await;
    unmounted(true);
    refused("was never used").await;
    unmounted(false);

    let broker = builder().start().await;
    let client = support::connect(&broker).await;
    let topic = client.create("t", 4, &[]).await;
    for partition in 0..4 {
        assert_eq!(client.produce(topic, partition, "value").await, Ok(0));
    }
    broker.shut_down().await;
    unmounted(true);
    refused("holds no metadata log").await;
    unmounted(false);

    let broker = builder().start().await;
    let client = support::connect(&broker).await;
    for partition in 0..4 {
        assert_eq!(client.fetch(topic, partition).await.unwrap(), ["value"]);
    }
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn formatted_directories_that_nobody_used_are_begun() {
    let scratch = Scratch::new("formatted");
    let builder = || TestBroker::builder().data(scratch.dir("")).dirs(&["a", "b"]);
    let broker = builder().start().await;
    let cluster = property(&scratch.dir("a"), "cluster.id");
    broker.shut_down().await;
    // As StorageTool leaves them where the quorum's voters are configured.
    std::fs::remove_dir_all(scratch.dir("a").join(LOG)).unwrap();
    builder().start().await.shut_down().await;
    assert_eq!(property(&scratch.dir("a"), "cluster.id"), cluster);
}

/// Every file below a directory, with what is in it.
fn files(dir: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if !path.ends_with(".lock") {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_is_refused_leaves_everything_as_it_was() {
    let scratch = Scratch::new("refused");
    let builder = || TestBroker::builder().data(scratch.dir("")).dirs(&["a", "b"]);
    let broker = builder().start().await;
    let client = support::connect(&broker).await;
    let topic = client.create("t", 2, &[]).await;
    for partition in 0..2 {
        assert_eq!(client.produce(topic, partition, "value").await, Ok(0));
    }
    broker.shut_down().await;
    // The quorum's voter is another directory.
    let properties = scratch.dir("a").join("meta.properties");
    let own = std::fs::read_to_string(&properties).unwrap();
    let other =
        own.replace(&property(&scratch.dir("a"), "directory.id"), &format!("directory.id={OTHER}"));
    std::fs::write(&properties, other).unwrap();
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    files(&scratch.dir(""), &mut before);
    for _ in 0..2 {
        let refused = builder().try_start().await.err().map(|error| error.to_string());
        assert!(refused.as_ref().is_some_and(|e| e.contains("voter directory")), "{refused:?}");
        after.clear();
        files(&scratch.dir(""), &mut after);
        // The markers of the clean stop among them.
        assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
        for (path, content) in &before {
            assert!(after[path] == *content, "{} was changed", path.display());
        }
    }
    std::fs::write(&properties, own).unwrap();
    builder().start().await.shut_down().await;
}

/// A batch with one record: `metadata.version` has this level.
fn level_of_metadata(level: i16) -> Vec<u8> {
    // Frame version, number and version of the record, its fields, no tagged ones.
    let mut record = vec![1, 12, 0, 17];
    record.extend_from_slice(b"metadata.version");
    record.extend_from_slice(&level.to_be_bytes());
    record.push(0);
    let mut builder = BatchBuilder::new(BatchOptions::default());
    builder.append(1_000, None, Some(&record), &[]);
    builder.finish(&mut Compressor::new()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_levels_a_directory_was_formatted_with_are_kept() {
    // 3.7-IV4
    const LEVEL: i16 = 19;
    let scratch = Scratch::new("levels");
    let data = scratch.dir("data");
    let builder = || TestBroker::builder().data(&data);
    builder().start().await.shut_down().await;
    let bootstrap = data.join("bootstrap.checkpoint");

    std::fs::remove_dir_all(data.join(LOG)).unwrap();
    std::fs::write(&bootstrap, "damaged").unwrap();
    assert!(builder().try_start().await.is_err());
    assert!(!data.join(LOG).exists(), "nothing is begun on a guess");

    std::fs::write(&bootstrap, level_of_metadata(MetadataVersion::LATEST.level() + 1)).unwrap();
    let refused = builder().try_start().await.err().map(|error| error.to_string());
    assert!(refused.as_ref().is_some_and(|e| e.contains("metadata.version")), "{refused:?}");
    assert!(!data.join(LOG).exists(), "nothing is begun at a level of a later release");

    let formatted = level_of_metadata(LEVEL);
    std::fs::write(&bootstrap, &formatted).unwrap();
    for _ in 0..2 {
        let broker = builder().start().await;
        assert_eq!(metadata_version(&broker).await, Some(LEVEL));
        broker.shut_down().await;
        assert_eq!(std::fs::read(&bootstrap).unwrap(), formatted);
    }
}

/// The finalized level of `metadata.version`.
async fn metadata_version(broker: &TestBroker) -> Option<i16> {
    let connection = Connection::open(&broker.bootstrap(), &Options::default()).await.unwrap();
    let request = ApiVersionsRequest {
        client_software_name: "test".into(),
        client_software_version: "1".into(),
        ..Default::default()
    };
    let answer = connection.send(&request).await.unwrap();
    let mut levels = answer.finalized_features.iter();
    levels
        .find(|feature| feature.name == "metadata.version")
        .map(|feature| feature.max_version_level)
}

/// As `kafka-storage format` of Kafka 4.4 leaves it (KIP-1170): the levels stand in the metadata log's first checkpoint.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_levels_of_the_first_checkpoint_are_kept() {
    // 3.7-IV4, where another file says 3.8-IV0.
    const LEVEL: i16 = 19;
    const OTHER_LEVEL: i16 = 20;
    let scratch = Scratch::new("first-checkpoint");
    let data = scratch.dir("data");
    let builder = || TestBroker::builder().data(&data);
    builder().start().await.shut_down().await;

    let checkpoint = data.join(LOG).join(QUORUM_CHECKPOINT);
    let formatted = std::fs::read(&checkpoint).unwrap();
    std::fs::remove_dir_all(data.join(LOG)).unwrap();
    std::fs::create_dir(data.join(LOG)).unwrap();
    // The voters; the levels; the end.
    let voters_end = 12 + i32::from_be_bytes(formatted[8..12].try_into().unwrap()) as usize;
    let (voters, end) = formatted.split_at(voters_end);
    let format = |level, of_the_file| {
        std::fs::write(&checkpoint, [voters, &level_of_metadata(level), end].concat()).unwrap();
        std::fs::write(data.join("bootstrap.checkpoint"), level_of_metadata(of_the_file)).unwrap();
    };
    let files = || {
        let listed = std::fs::read_dir(data.join(LOG)).unwrap();
        listed.map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>()
    };
    // A level of a later release is refused, and nothing is begun.
    format(MetadataVersion::LATEST.level() + 1, LEVEL);
    let before = files();
    for _ in 0..2 {
        let refused = builder().try_start().await.err().map(|error| error.to_string());
        assert!(refused.as_ref().is_some_and(|e| e.contains("metadata.version")), "{refused:?}");
    }
    assert_eq!(files(), before);
    format(LEVEL, OTHER_LEVEL);
    for _ in 0..2 {
        let broker = builder().start().await;
        assert_eq!(metadata_version(&broker).await, Some(LEVEL));
        broker.shut_down().await;
        // What the log says counts from now on.
        let _ = std::fs::remove_file(&checkpoint);
    }
}
