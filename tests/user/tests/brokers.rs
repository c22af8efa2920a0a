//! Tests as a user has them: each starts a broker of its own, with the same names of topics and groups,
//! and several of them run at the same time.

use std::collections::BTreeMap;
use std::time::Duration;

use thalweg::{
    Cluster, Consumer, ConsumerConfig, OffsetReset, Options, Producer, ProducerConfig,
    ProducerRecord,
};
use thalweg_testkit::TestBroker;

const LIMIT: Duration = Duration::from_secs(120);

/// Writes orders of one customer, and reads as many with a group: nobody else's are there.
async fn only_these(customer: &str, orders: usize) {
    let broker = TestBroker::builder().config("num.partitions", 3).start().await;
    let cluster = Cluster::connect(&broker.bootstrap(), Options::default()).await.unwrap();
    let producer = Producer::new(cluster.clone(), ProducerConfig::default()).unwrap();
    let mut expected = BTreeMap::new();
    for order in 0..orders {
        let value = format!("{customer} {order}");
        let record = ProducerRecord::new("orders").with_value(value.as_bytes());
        // Whoever writes to a topic that is not there makes it, with the broker's defaults.
        drop(producer.send(record).await.unwrap());
        expected.insert(value, 1);
    }
    producer.flush().await.unwrap();
    let config = ConsumerConfig::default()
        .with_group_id("billing")
        .with_auto_offset_reset(OffsetReset::Earliest);
    let mut consumer = Consumer::new(cluster, config).unwrap();
    consumer.subscribe(["orders"]).unwrap();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    while found.len() < orders {
        for record in &consumer.poll(100).await.unwrap() {
            let value = String::from_utf8(record.value().unwrap().to_vec()).unwrap();
            *found.entry(value).or_default() += 1;
        }
    }
    // More would come soon.
    let more = consumer.poll_timeout(1, Duration::from_millis(200)).await.unwrap();
    assert_eq!((more.len(), found), (0, expected));
    assert_eq!(consumer.assignment().len(), 3);
    consumer.close(LIMIT).await.unwrap();
    broker.shut_down().await;
}

macro_rules! customers {
    ($($name:ident $orders:literal,)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let tested = tokio::time::timeout(LIMIT, only_these(stringify!($name), $orders)).await;
            tested.expect("it takes too long");
        }
    )*};
}

customers! {
    anna_has_100_orders 100,
    berta_has_200_orders 200,
    carla_has_300_orders 300,
    dora_has_400_orders 400,
    emma_has_500_orders 500,
    frieda_has_600_orders 600,
}

/// Several in one test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn brokers_of_one_test_know_nothing_of_each_other() {
    let all = futures_util::future::join_all((0..8).map(|number| async move {
        only_these(&format!("customer {number}"), 50 + number).await;
        number
    }));
    let done = tokio::time::timeout(LIMIT, all).await.expect("it takes too long");
    assert_eq!(done, (0..8).collect::<Vec<_>>());
}
