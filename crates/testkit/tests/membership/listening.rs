//! A start that finds at its end that it cannot listen: somebody else has its address.

use thalweg_testkit::faults::{DiskOp, Faults};
use tokio::net::TcpSocket;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_cannot_listen_ends_and_is_no_part_of_the_cluster() {
    let Some(builder) = Kafka::builder() else { return };
    let kafka = builder.start();
    let java = admin(&kafka.bootstrap(Kafka::INTERNAL)).await;
    let data = Data::new();
    // Bound as the broker's own will be: neither keeps the other from that, but only one can listen.
    let other = TcpSocket::new_v4().unwrap();
    other.set_reuseaddr(true).unwrap();
    other.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = other.local_addr().unwrap();
    let start = || {
        let listener = format!("{}://{address}", Kafka::INTERNAL);
        joining(&kafka).data(&data.0).config("listeners", listener)
    };

    // The broker's socket is bound before it opens its directories, and listens when all is ready.
    let faults = Faults::new();
    let held = faults.hold(&[DiskOp::CreateDir, DiskOp::Open, DiskOp::Write], "");
    let starting = tokio::spawn(start().faults(&faults).try_start());
    eventually("the start at its directories", async || held.get() > 0).await;
    let listening = other.listen(1).unwrap();
    faults.clear();
    let started = tokio::time::timeout(WAIT, starting).await.expect("it ends").unwrap();
    let refused = started.err().expect("it cannot listen").to_string();
    assert!(refused.contains(&format!("cannot listen on {address}")), "{refused}");
    // It had registered, and stays fenced.
    let all = java.describe_cluster(true).await.unwrap().brokers;
    assert!(all.iter().any(|it| it.id == OWN && it.is_fenced), "{all:?}");

    // Nothing of it goes on that would be in the next one's way.
    drop(listening);
    let broker = tokio::time::timeout(WAIT, start().start()).await.expect("it starts");
    eventually("this broker in the cluster", async || brokers(&java).await.contains(&OWN)).await;
    broker.shut_down().await;
}
