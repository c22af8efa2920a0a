//! The streams against Apache Kafka: what the example `stream_integration` does with any broker,
//! with groups of both kinds.

#[path = "../examples/stream_integration.rs"]
#[allow(dead_code)]
mod trial;

use std::time::Duration;

use thalweg::GroupProtocol;
use thalweg_testkit::kafka::Shared;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn against_apache_kafka() {
    let Some(kafka) = tokio::task::block_in_place(Shared::get) else { return };
    let protocols = [GroupProtocol::default(), GroupProtocol::Consumer { server_assignor: None }];
    for protocol in protocols {
        let kind = format!("{protocol:?}");
        let run = trial::run(kafka.bootstrap(), protocol, 120_000);
        let ran = tokio::time::timeout(Duration::from_secs(120), run).await;
        ran.expect("too slow").unwrap_or_else(|error| panic!("{kind}: {error}"));
    }
}
