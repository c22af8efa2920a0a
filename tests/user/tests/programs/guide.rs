//! Every code block of README and guide is run against a broker: with work in the loop, and a signal while it
//! works.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use thalweg::admin::{Admin, AdminConfig, MemberToRemove};
use thalweg::{
    Cluster, Consumer, ConsumerConfig, Header, IsolationLevel, OffsetReset, OwnedRecord, Position,
    Producer, ProducerConfig, ProducerRecord, TopicPartition,
};
use thalweg_testkit::TestBroker;

use super::{Ended, Running, all_of, broker, committed, produce, soon};

const GUIDE: &str = env!("CARGO_BIN_EXE_guide");

fn start(broker: &TestBroker, block: &str) -> Running {
    let mut command = Command::new(GUIDE);
    command.arg(block).env("GUIDE_BROKER", broker.bootstrap());
    Running::of(command)
}

/// Runs a block that ends by itself; what it printed, and what it said on stderr.
async fn run(broker: &TestBroker, block: &str) -> (Vec<String>, String) {
    let Ended { code, lines, errors } = start(broker, block).end().await;
    assert_eq!(code, Some(0), "{block}: {errors}");
    (lines, errors)
}

/// Orders `1`, `2`, ... in one partition.
async fn orders(cluster: &Cluster, range: std::ops::Range<usize>) {
    let all: Vec<_> = range.map(|n| (0, format!("order {n}"))).collect();
    produce(cluster, "orders", &all).await;
}

/// What a group has committed of orders-0; it has no members.
async fn left(cluster: &Cluster, group: &str) -> Option<i64> {
    let admin = Admin::new(cluster.clone(), AdminConfig::default());
    let described = soon(admin.describe_groups([group])).await.remove(group).unwrap().unwrap();
    assert_eq!(described.members.len(), 0, "{described:?}");
    offset(cluster, group, "orders").await
}

async fn offset(cluster: &Cluster, group: &str, topic: &str) -> Option<i64> {
    let all = committed(cluster, group).await;
    all.get(&TopicPartition::new(topic, 0)).map(|position| position.offset)
}

async fn until_committed(cluster: &Cluster, group: &str, topic: &str, wanted: i64) {
    soon(async {
        while offset(cluster, group, topic).await != Some(wanted) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// The first records of a partition, as readers of committed records see them.
async fn records(cluster: &Cluster, topic: &str, count: usize) -> Vec<OwnedRecord> {
    let config = ConsumerConfig::default().with_isolation_level(IsolationLevel::ReadCommitted);
    let mut consumer = Consumer::new(cluster.clone(), config).unwrap();
    consumer.assign([(TopicPartition::new(topic, 0), Some(Position::at(0)))]).unwrap();
    let mut found = Vec::new();
    while found.len() < count {
        found.extend(soon(consumer.poll(count)).await.unwrap().iter().map(|one| one.to_owned()));
    }
    let more = consumer.poll_timeout(1, Duration::from_millis(100)).await.unwrap();
    assert!(more.is_empty() && found.len() == count, "{} records", found.len());
    found
}

/// A block that ends by a signal in the middle of its work: what is printed is committed, and nothing else.
async fn signal_in_the_middle(block: &str, group: &str, signal: &str) {
    const ORDERS: usize = 4_000;
    let (broker, cluster) = broker(&[("orders", 1)]).await;
    orders(&cluster, 0..ORDERS).await;
    let mut running = start(&broker, block);
    let mut done = Vec::new();
    // In the middle of a poll's records.
    while done.len() < 750 {
        done.push(running.line().await);
    }
    running.signal(signal);
    done.extend(running.end_well().await);
    assert!(done.len() < ORDERS, "it ended by itself");
    assert_eq!(left(&cluster, group).await, Some(done.len() as i64), "{block} {signal}");
    broker.shut_down().await;
}

/// One test for each block, under its name.
macro_rules! blocks {
    ($($name:ident $body:block)*) => {
        const TESTED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() $body
        )*
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_block_of_readme_and_guide_is_tested() {
    let (broker, _) = broker(&[]).await;
    let (mut blocks, _) = run(&broker, "list").await;
    let mut tested = TESTED.to_vec();
    blocks.sort_unstable();
    tested.sort_unstable();
    assert_eq!(tested, blocks);
}

blocks! {
    guide_first_producer_1 {
        let (broker, cluster) = broker(&[("orders", 1)]).await;
        assert_eq!(run(&broker, "guide_first_producer_1").await.0.len(), 10);
        let found = records(&cluster, "orders", 10).await;
        assert!(found.iter().all(|record| record.key.as_deref() == Some(b"4711")));
    }

    guide_first_producer_2 {
        let (broker, cluster) = broker(&[("orders", 1), ("orders.dead", 1)]).await;
        // A record without the header.
        let producer = Producer::new(cluster.clone(), ProducerConfig::default()).unwrap();
        let headers = [Header::from(("unit", "pieces"))];
        let record = ProducerRecord::new("orders").with_key("k").with_headers(&headers);
        soon(producer.send(record).await.unwrap()).await.unwrap();
        run(&broker, "guide_first_producer_2").await;
        let [dead] = &records(&cluster, "orders.dead", 1).await[..] else { panic!() };
        assert_eq!((dead.key.as_deref(), dead.headers.len()), (Some(&b"k"[..]), 1));
    }

    guide_first_producer_3 {
        run(&broker(&[]).await.0, "guide_first_producer_3").await;
    }

    guide_transactions_1 {
        let (broker, cluster) = broker(&[("bills", 1), ("journal", 1)]).await;
        run(&broker, "guide_transactions_1").await;
        for topic in ["bills", "journal"] {
            records(&cluster, topic, 1).await;
        }
    }

    guide_first_consumer_1 {
        for signal in ["TERM", "INT"] {
            signal_in_the_middle("guide_first_consumer_1", "billing", signal).await;
        }
    }

    guide_first_consumer_2 {
        run(&broker(&[]).await.0, "guide_first_consumer_2").await;
    }

    guide_first_consumer_3 {
        let (broker, cluster) = broker(&[("orders", 2)]).await;
        orders(&cluster, 0..50).await;
        let (lines, _) = run(&broker, "guide_first_consumer_3").await;
        assert_eq!(lines, ["orders-0: 8 records"]);
    }

    guide_read_work_write_1 {
        const ORDERS: usize = 3_000;
        let (broker, cluster) = broker(&[("orders", 1), ("shouted", 1)]).await;
        orders(&cluster, 0..ORDERS / 2).await;
        // Work that is aborted is done again.
        run(&broker, "guide_read_work_write_1 abort").await;
        let mut running = start(&broker, "guide_read_work_write_1");
        until_committed(&cluster, "shouter", "orders", ORDERS as i64 / 2).await;
        // A member that is thrown out aborts what it has, and reads it again.
        let admin = Admin::new(cluster.clone(), AdminConfig::default());
        let described = soon(admin.describe_groups(["shouter"])).await.remove("shouter").unwrap();
        let members = described.unwrap().members.into_iter().map(|one| MemberToRemove::Member(one.id));
        let removed = soon(admin.remove_members("shouter", members, "a test")).await;
        assert!(removed.len() == 1 && removed.values().all(Result::is_ok), "{removed:?}");
        orders(&cluster, ORDERS / 2..ORDERS).await;
        until_committed(&cluster, "shouter", "orders", ORDERS as i64).await;
        running.signal("TERM");
        let Ended { code, errors, .. } = running.end().await;
        assert_eq!(code, Some(0), "{errors}");
        left(&cluster, "shouter").await;
        // A kill in the middle; the next one aborts what it left.
        orders(&cluster, ORDERS..2 * ORDERS).await;
        let mut killed = start(&broker, "guide_read_work_write_1");
        killed.line().await;
        drop(killed);
        let mut running = start(&broker, "guide_read_work_write_1");
        until_committed(&cluster, "shouter", "orders", 2 * ORDERS as i64).await;
        running.signal("TERM");
        running.end_well().await;
        let found = records(&cluster, "shouted", 2 * ORDERS).await;
        let expected = (0..2 * ORDERS).map(|n| format!("ORDER {n}"));
        let values = found.iter().map(|one| String::from_utf8(one.value.clone().unwrap().to_vec()).unwrap());
        assert!(values.eq(expected));
    }

    guide_commits_1 {
        let (broker, cluster) = broker(&[("orders", 1)]).await;
        let _running = start(&broker, "guide_commits_1");
        // It begins at the end, so these come once it has its partition.
        soon(async {
            for n in 0.. {
                orders(&cluster, n..n + 1).await;
                if offset(&cluster, "billing", "orders").await == Some(n as i64 + 1) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
    }

    guide_from_other_tasks_1 {
        let (broker, cluster) = broker(&[("orders", 1)]).await;
        orders(&cluster, 0..1_000).await;
        let mut running = start(&broker, "guide_from_other_tasks_1");
        assert_eq!(running.line().await, "ready");
        running.line().await;
        running.signal("INT");
        running.end_well().await;
        assert!(left(&cluster, "other tasks").await.unwrap() >= 500);
    }

    guide_pausing_1 {
        let (broker, cluster) = broker(&[("orders", 4)]).await;
        orders(&cluster, 0..10).await;
        run(&broker, "guide_pausing_1").await;
    }

    guide_seeking_and_times_1 {
        let (broker, cluster) = broker(&[("orders", 1)]).await;
        orders(&cluster, 0..10).await;
        assert_eq!(run(&broker, "guide_seeking_and_times_1").await.0, ["0"]);
    }

    guide_rebalances_1 {
        let (broker, cluster) = broker(&[("orders", 1)]).await;
        orders(&cluster, 0..10).await;
        let (lines, errors) = run(&broker, "guide_rebalances_1").await;
        assert!(lines[0].starts_with("reading [") && errors.is_empty(), "{lines:?} {errors}");
        assert_eq!(left(&cluster, "listener").await, Some(10));
    }

    guide_why_does_nothing_come_1 {
        let (broker, cluster) = broker(&[("orders", 1)]).await;
        orders(&cluster, 0..10).await;
        let (_, errors) = run(&broker, "guide_why_does_nothing_come_1").await;
        assert!(errors.contains("group: ") && errors.contains("orders-0: "), "{errors}");
    }

    guide_the_log_1 {
        let (broker, _) = broker(&[]).await;
        let mut running = start(&broker, "guide_the_log_1");
        // The subscriber writes to standard output.
        let line = running.line().await;
        assert!(line.contains("WARN") && line.contains("ordres"), "{line}");
    }

    guide_errors_1 {
        let (_, errors) = run(&broker(&[]).await.0, "guide_errors_1").await;
        assert!(!errors.is_empty());
    }

    guide_tls_and_sasl_1 {
        run(&broker(&[]).await.0, "guide_tls_and_sasl_1").await;
    }

    guide_tls_and_sasl_2 {
        let (lines, errors) = run(&broker(&[]).await.0, "guide_tls_and_sasl_2").await;
        assert_eq!(lines, ["me Some(\"billing\")"]);
        assert!(errors.contains("nonsense does nothing"), "{errors}");
    }

    guide_streams_1 {
        let (broker, cluster) = broker(&[("orders", 1)]).await;
        let mut running = start(&broker, "guide_streams_1");
        // It begins at the end.
        let mut sent = 0;
        soon(async {
            loop {
                orders(&cluster, sent..sent + 200).await;
                sent += 200;
                let line = tokio::time::timeout(Duration::from_millis(200), running.line());
                if line.await.is_ok() {
                    break;
                }
            }
        })
        .await;
        running.signal("INT");
        running.end_well().await;
        let left = left(&cluster, "billing").await.unwrap();
        assert!(left > 0 && left <= sent as i64, "{left} of {sent}");
    }

    guide_streams_2 {
        let (broker, cluster) = broker(&[("orders", 1)]).await;
        let _running = start(&broker, "guide_streams_2");
        let mut sent = 0;
        soon(async {
            while offset(&cluster, "billing", "orders").await.is_none_or(|offset| offset == 0) {
                orders(&cluster, sent..sent + 10).await;
                sent += 10;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
        .await;
    }

    guide_streams_3 {
        copies("guide_streams_3", false).await;
    }

    guide_streams_4 {
        copies("guide_streams_4", false).await;
    }

    guide_streams_5 {
        copies("guide_streams_5", true).await;
    }

    guide_administration_1 {
        let (broker, _) = broker(&[]).await;
        // One broker is too few for three replicas, and it says so.
        let (_, errors) = run(&broker, "guide_administration_1").await;
        assert!(errors.contains("orders: ") && errors.contains("INVALID_REPLICATION_FACTOR"), "{errors}");
    }

    guide_in_your_tests_1 {
        run(&broker(&[]).await.0, "guide_in_your_tests_1").await;
    }

    readme_in_a_test_of_your_own_1 {
        run(&broker(&[]).await.0, "readme_in_a_test_of_your_own_1").await;
    }

    readme_in_a_test_of_your_own_2 {
        run(&broker(&[]).await.0, "readme_in_a_test_of_your_own_2").await;
    }

    readme_read_and_write_with_the_client_crate_1 {
        let (broker, cluster) = broker(&[("orders", 1)]).await;
        let mut running = start(&broker, "readme_read_and_write_with_the_client_crate_1");
        let mut sent = 0;
        let mut lines = Vec::new();
        soon(async {
            while lines.is_empty() {
                orders(&cluster, sent..sent + 500).await;
                sent += 500;
                let line = tokio::time::timeout(Duration::from_millis(200), running.line());
                lines.extend(line.await);
            }
        })
        .await;
        running.signal("TERM");
        lines.extend(running.end_well().await);
        let last = lines.last().unwrap().rsplit_once('@').unwrap().1;
        let next = left(&cluster, "billing").await.unwrap();
        assert_eq!(next, last.parse::<i64>().unwrap() + 1);
    }

    readme_read_and_write_with_the_client_crate_2 {
        let (broker, cluster) = broker(&[("orders", 1)]).await;
        let (lines, _) = run(&broker, "readme_read_and_write_with_the_client_crate_2").await;
        assert_eq!(lines, ["partition 0, offset 0"]);
        records(&cluster, "orders", 1).await;
    }
}

/// Copies are whole: key, headers, time, and no value where there was none. One that ends by a signal has
/// committed what it copied.
async fn copies(block: &str, has_signal: bool) {
    let (broker, cluster) = broker(&[("from", 1), ("to", 1)]).await;
    let producer = Producer::new(cluster.clone(), ProducerConfig::default()).unwrap();
    let headers = [Header::from(("trace", "7")), Header { key: b"none", value: None }];
    let send = async |key: &str, value: Option<&[u8]>| {
        let record =
            ProducerRecord { value, timestamp: Some(1_234), ..ProducerRecord::new("from") };
        let record = record.with_key(key).with_headers(&headers);
        soon(producer.send(record).await.unwrap()).await.unwrap().offset
    };
    let mut running = start(&broker, block);
    // Some begin at the end: the first one that is copied comes once they have the partition.
    let mut sent = 0;
    let first = soon(async {
        loop {
            sent = send("a", Some(b"value")).await + 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
            let copied = all_of(&cluster, "to", 1).await;
            if !copied.is_empty() {
                break sent;
            }
        }
    })
    .await;
    sent = send("tombstone", None).await + 1;
    until_committed(&cluster, "copy", "from", sent).await;
    if has_signal {
        running.signal("TERM");
        let Ended { code, errors, .. } = running.end().await;
        assert_eq!((code, &*errors), (Some(0), ""), "{block}");
    }
    let found: BTreeMap<_, _> = {
        let config = ConsumerConfig::default().with_auto_offset_reset(OffsetReset::Earliest);
        let mut consumer = Consumer::new(cluster.clone(), config).unwrap();
        consumer.assign([(TopicPartition::new("to", 0), Some(Position::at(0)))]).unwrap();
        let mut found = BTreeMap::new();
        while !found.contains_key(&b"tombstone"[..]) {
            for record in &soon(consumer.poll(100)).await.unwrap() {
                found.insert(record.key().unwrap().to_vec(), record.to_owned());
            }
        }
        found
    };
    assert!(first > 0 && found.len() == 2, "{found:?}");
    assert_eq!(found[&b"a"[..]].value.as_deref(), Some(&b"value"[..]), "{block}");
    assert_eq!(found[&b"tombstone"[..]].value, None, "{block}");
    for record in found.values() {
        assert_eq!((record.timestamp, record.headers.len()), (1_234, 2), "{block}");
        assert_eq!(record.headers[1].1, None, "{block}");
    }
}
