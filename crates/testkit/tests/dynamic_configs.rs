//! Configs and quotas that change while the broker runs, and those that an earlier process left.

use std::path::PathBuf;

use thalweg::{Connection, Options};
use thalweg_testkit::TestBroker;
use thalweg_testkit::requests::{self, Resource};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::alter_client_quotas_request::{EntityData, EntryData, OpData};
use thalweg_wire::messages::incremental_alter_configs_response::AlterConfigsResourceResponse;
use thalweg_wire::messages::metadata_request::MetadataRequestTopic;
use thalweg_wire::messages::{
    AlterClientQuotasRequest, ApiVersionsRequest, DescribeConfigsRequest, DescribeLogDirsRequest,
    MetadataRequest, describe_configs_request,
};

use crate::support::{Client, connect};

/// Sets a config of broker `name`, of all brokers with an empty one; without a value, unsets it.
async fn set(connection: &Connection, name: &str, config: &str, value: Option<&str>) {
    let answer = try_set(connection, name, config, value).await;
    assert_eq!(answer.error_code, ErrorCode::NONE, "{answer:?}");
}

async fn try_set(
    connection: &Connection,
    name: &str,
    config: &str,
    value: Option<&str>,
) -> AlterConfigsResourceResponse {
    let request = requests::set_config(Resource::Broker(name), config, value);
    connection.send(&request).await.unwrap().responses.remove(0)
}

async fn create(connection: &Connection, name: &str) -> ErrorCode {
    let request = requests::create(requests::topic(name, 1, &[]));
    connection.send(&request).await.unwrap().topics[0].error_code
}

/// A topic's config, as the broker in force sees it.
async fn of_topic(connection: &Connection, topic: &str, config: &str) -> Option<String> {
    let request = DescribeConfigsRequest {
        resources: vec![describe_configs_request::DescribeConfigsResource {
            resource_type: 2,
            resource_name: topic.into(),
            configuration_keys: Some(vec![config.into()]),
            ..Default::default()
        }],
        ..Default::default()
    };
    let answer = connection.send(&request).await.unwrap();
    answer.results[0].configs[0].value.as_ref().map(ToString::to_string)
}

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_set_is_in_force_after_a_restart() {
    let name = format!("thalweg-dynamic-{}", std::process::id());
    let data = Scratch(std::env::temp_dir().join(name));
    let broker = TestBroker::builder().data(&data.0).start().await;
    let Client { connection } = connect(&broker).await;
    assert_eq!(create(&connection, "t").await, ErrorCode::NONE);
    set(&connection, "", "message.max.bytes", Some("12345")).await;
    assert_eq!(of_topic(&connection, "t", "max.message.bytes").await.as_deref(), Some("12345"));
    broker.shut_down().await;

    let broker = TestBroker::builder().data(&data.0).start().await;
    let Client { connection } = connect(&broker).await;
    assert_eq!(of_topic(&connection, "t", "max.message.bytes").await.as_deref(), Some("12345"));
    set(&connection, "", "message.max.bytes", None).await;
    assert_eq!(of_topic(&connection, "t", "max.message.bytes").await.as_deref(), Some("1048588"));
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_config_that_does_not_fit_any_more_leaves_the_others_in_force() {
    let name = format!("thalweg-dynamic-misfit-{}", std::process::id());
    let data = Scratch(std::env::temp_dir().join(name));
    let broker = TestBroker::builder().data(&data.0).dirs(&["a", "b"]).start().await;
    let Client { connection } = connect(&broker).await;
    set(&connection, "", "log.retention.ms", Some("-1")).await;
    set(&connection, "1", "message.max.bytes", Some("12345")).await;
    let b = data.0.join("b").display().to_string();
    set(&connection, "1", "cordoned.log.dirs", Some(&b)).await;
    broker.shut_down().await;

    // The directory is taken out of the configuration, and the file knows nothing of the rest.
    let builder = || TestBroker::builder().data(&data.0).dirs(&["a"]);
    let broker = builder().start().await;
    let Client { connection } = connect(&broker).await;
    assert_eq!(create(&connection, "t").await, ErrorCode::NONE);
    assert_eq!(of_topic(&connection, "t", "retention.ms").await.as_deref(), Some("-1"));
    assert_eq!(of_topic(&connection, "t", "max.message.bytes").await.as_deref(), Some("12345"));
    // It is not in the way of the others, until somebody removes it.
    set(&connection, "1", "message.max.bytes", Some("23456")).await;
    assert_eq!(of_topic(&connection, "t", "max.message.bytes").await.as_deref(), Some("23456"));
    broker.shut_down().await;

    let broker = builder().start().await;
    let Client { connection } = connect(&broker).await;
    assert_eq!(of_topic(&connection, "t", "max.message.bytes").await.as_deref(), Some("23456"));
    set(&connection, "1", "cordoned.log.dirs", None).await;
    assert_eq!(of_topic(&connection, "t", "retention.ms").await.as_deref(), Some("-1"));
    assert_eq!(of_topic(&connection, "t", "max.message.bytes").await.as_deref(), Some("23456"));
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cordoned_directories_get_no_partitions() {
    let broker = TestBroker::start().await;
    let Client { connection } = connect(&broker).await;
    // The controller hears of it from the broker, a moment after the config was taken.
    let mut names = (0..).map(|n| format!("t{n}"));
    let mut until = async |expected: ErrorCode| {
        for name in names.by_ref().take(200) {
            if create(&connection, &name).await == expected {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("no topic's creation answered {expected}");
    };
    until(ErrorCode::NONE).await;
    let cordoned = async || {
        let request = DescribeLogDirsRequest { topics: None, ..Default::default() };
        let answer = connection.send(&request).await.unwrap();
        answer.results.iter().map(|dir| dir.is_cordoned).collect::<Vec<_>>()
    };
    assert_eq!(cordoned().await, [false]);
    set(&connection, "1", "cordoned.log.dirs", Some("*")).await;
    until(ErrorCode::INVALID_REPLICATION_FACTOR).await;
    assert_eq!(cordoned().await, [true]);
    set(&connection, "1", "cordoned.log.dirs", None).await;
    until(ErrorCode::NONE).await;
    assert_eq!(cordoned().await, [false]);
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_connects_too_often_is_turned_away() {
    let broker = TestBroker::start().await;
    let Client { connection } = connect(&broker).await;
    let request = AlterClientQuotasRequest {
        entries: vec![EntryData {
            entity: vec![EntityData {
                entity_type: "ip".into(),
                entity_name: Some("127.0.0.1".into()),
                ..Default::default()
            }],
            ops: vec![OpData {
                key: "connection_creation_rate".into(),
                value: 1.0,
                remove: false,
                ..Default::default()
            }],
            ..Default::default()
        }],
        validate_only: false,
        ..Default::default()
    };
    let answer = connection.send(&request).await.unwrap();
    assert_eq!(answer.entries[0].error_code, ErrorCode::NONE);
    let mut served = 0;
    for _ in 0..16 {
        if let Ok(other) = Connection::open(&broker.bootstrap(), &Options::default()).await
            && other.send(&ApiVersionsRequest::default()).await.is_ok()
        {
            served += 1;
        }
    }
    // Ten seconds' worth at once, and what the seconds of this test add.
    assert!((10..16).contains(&served), "{served} of 16 connections were served");
    // The connection that was there before is not touched.
    connection.send(&ApiVersionsRequest::default()).await.unwrap();
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_takes_too_long_to_make_is_there_later() {
    // A thousand directories and files take longer than no time.
    let builder = TestBroker::builder().config("num.partitions", 1_000);
    let broker = builder.config("request.timeout.ms", 0).start().await;
    let Client { connection } = connect(&broker).await;
    let request = MetadataRequest {
        topics: Some(vec![MetadataRequestTopic { name: Some("t".into()), ..Default::default() }]),
        allow_auto_topic_creation: true,
        ..Default::default()
    };
    let mut codes = Vec::new();
    while codes.last() != Some(&ErrorCode::NONE) {
        assert!(codes.len() < 500);
        codes.push(connection.send(&request).await.unwrap().topics[0].error_code);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(codes[0], ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_has_limits_of_its_own() {
    let broker = TestBroker::start().await;
    let Client { connection } = connect(&broker).await;
    set(&connection, "", "listener.name.plaintext.max.connections", Some("1")).await;
    // The next one waits until there is room: here, until the limit is gone.
    let address = broker.bootstrap();
    let second = tokio::spawn(async move {
        let other = Connection::open(&address, &Options::default()).await.unwrap();
        other.send(&ApiVersionsRequest::default()).await.unwrap();
    });
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert!(!second.is_finished());
    set(&connection, "", "listener.name.plaintext.max.connections", None).await;
    second.await.unwrap();
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listeners_that_would_not_open_are_refused() {
    let broker = TestBroker::start().await;
    let Client { connection } = connect(&broker).await;
    let more = "PLAINTEXT://127.0.0.1:0,MORE://127.0.0.1:0";
    let map = "PLAINTEXT:PLAINTEXT,MORE:PLAINTEXT";
    for (config, value) in [("listener.security.protocol.map", map), ("listeners", more)] {
        let answer = try_set(&connection, "1", config, Some(value)).await;
        assert_eq!(answer.error_code, ErrorCode::INVALID_REQUEST, "{config}");
        let message = answer.error_message.unwrap();
        assert!(message.contains("yet while the broker runs"), "{message}");
    }
    set(&connection, "1", "listeners", Some("PLAINTEXT://127.0.0.1:0")).await;
    broker.shut_down().await;
}
