//! `metadata.log.dir` outside of `log.dirs`.

use std::path::{Path, PathBuf};

use thalweg::{Connection, Options};
use thalweg_testkit::TestBroker;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::create_topics_request::CreatableTopic;
use thalweg_wire::messages::{CreateTopicsRequest, MetadataRequest};

const LOG: &str = "__cluster_metadata-0";

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
        let request = CreateTopicsRequest {
            topics: vec![CreatableTopic {
                name: format!("t{start}"),
                num_partitions: 1,
                replication_factor: 1,
                ..Default::default()
            }],
            timeout_ms: 10_000,
            ..Default::default()
        };
        let answer = connection.send(&request).await.unwrap();
        assert_eq!(answer.topics[0].error_code, ErrorCode::NONE);
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
