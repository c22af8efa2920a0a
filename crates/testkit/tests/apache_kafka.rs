//! Apache Kafka as a peer: several nodes, one of which goes and comes back.
//!
//! Needs Java and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. Without the
//! variable there is nothing to do, and the test says so.

use thalweg::{Cluster, Options};
use thalweg_testkit::kafka::Kafka;
use thalweg_wire::messages::DescribeClusterRequest;

#[tokio::test]
async fn nodes_know_each_other_and_come_back() {
    let Some(kafka) = Kafka::builder() else { return };
    let mut kafka = kafka.nodes(3).listener("CLIENTS", "PLAINTEXT").start();
    let cluster = Cluster::connect(&kafka.bootstrap("CLIENTS"), Options::default()).await.unwrap();
    for id in 1..=3 {
        let answer = cluster.send_to(id, &DescribeClusterRequest::default()).await.unwrap();
        let ports: Vec<i32> = answer.brokers.iter().map(|broker| broker.port).collect();
        let expected = (0..3).map(|node| i32::from(kafka.port(node, "CLIENTS")));
        assert_eq!(ports, expected.collect::<Vec<_>>());
    }
    kafka.kill(2);
    assert!(cluster.send_to(3, &DescribeClusterRequest::default()).await.is_err());
    kafka.start_again(2);
    cluster.send_to(3, &DescribeClusterRequest::default()).await.unwrap();
    assert!(kafka.data().join("node-3").is_dir());
    let data = kafka.data().to_path_buf();
    drop(kafka);
    assert!(!data.exists());
}
