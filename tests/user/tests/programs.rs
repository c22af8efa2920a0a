//! The programs, each against a broker of its own: what they do is counted by its content.

#[path = "programs/guide.rs"]
mod guide;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use thalweg::admin::{Admin, AdminConfig, Mode, NewTopic};
use thalweg::{
    Cluster, Consumer, ConsumerConfig, OffsetReset, Options, Position, Producer, ProducerConfig,
    ProducerRecord, TopicPartition,
};
use thalweg_testkit::TestBroker;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

const LIMIT: Duration = Duration::from_secs(60);

async fn soon<F: Future>(waiting: F) -> F::Output {
    tokio::time::timeout(LIMIT, waiting).await.expect("it takes too long")
}

/// A broker with topics, and connections to it.
async fn broker(topics: &[(&str, i32)]) -> (TestBroker, Cluster) {
    let broker = TestBroker::start().await;
    let cluster = Cluster::connect(&broker.bootstrap(), Options::default()).await.unwrap();
    let admin = Admin::new(cluster.clone(), AdminConfig::default());
    let wanted = topics.iter().map(|(name, count)| NewTopic::new(*name).with_partitions(*count));
    for (name, result) in soon(admin.create_topics(wanted, Mode::Apply)).await {
        assert!(result.is_ok(), "{name}: {result:?}");
    }
    (broker, cluster)
}

async fn produce(cluster: &Cluster, topic: &str, records: &[(i32, String)]) {
    let producer = Producer::new(cluster.clone(), ProducerConfig::default()).unwrap();
    let mut deliveries = Vec::new();
    for (partition, value) in records {
        let record = ProducerRecord {
            partition: Some(*partition),
            ..ProducerRecord::new(topic).with_value(value.as_bytes())
        };
        deliveries.push(soon(producer.send(record)).await.unwrap());
    }
    for delivery in deliveries {
        soon(delivery).await.unwrap();
    }
}

/// All that lies in a topic of so many partitions: places and values.
async fn all_of(cluster: &Cluster, topic: &str, partitions: i32) -> Vec<((i32, i64), String)> {
    let config = ConsumerConfig::default().with_auto_offset_reset(OffsetReset::Earliest);
    let mut consumer = Consumer::new(cluster.clone(), config).unwrap();
    let wanted: Vec<_> =
        (0..partitions).map(|partition| TopicPartition::new(topic, partition)).collect();
    let ends = soon(consumer.end_offsets(&wanted)).await.unwrap();
    consumer.assign(wanted.into_iter().map(|partition| (partition, None))).unwrap();
    let ends: Vec<_> = ends.into_iter().collect();
    let mut all = Vec::new();
    let is_behind = |consumer: &Consumer| {
        let is_before = |(partition, end): &(TopicPartition, i64)| {
            consumer.position(partition).is_none_or(|position| position.offset < *end)
        };
        ends.iter().any(is_before)
    };
    soon(async {
        while is_behind(&consumer) {
            let records = consumer.poll_timeout(1_000, Duration::from_millis(20)).await.unwrap();
            for record in &records {
                let value = String::from_utf8(record.value().unwrap().to_vec()).unwrap();
                all.push(((record.partition(), record.offset()), value));
            }
        }
    })
    .await;
    all
}

/// How often each is there.
fn counted<T: Ord>(all: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    all.into_iter().for_each(|one| *counts.entry(one).or_default() += 1);
    counts
}

/// What a group committed, by partition.
async fn committed(cluster: &Cluster, group: &str) -> BTreeMap<TopicPartition, Position> {
    let admin = Admin::new(cluster.clone(), AdminConfig::default());
    let groups = soon(admin.list_group_offsets([group.to_owned()])).await;
    let offsets = groups.into_values().next().unwrap().unwrap();
    offsets.into_iter().map(|(partition, one)| (partition, one.unwrap().position)).collect()
}

/// A program at work, which is killed when this is dropped.
struct Running {
    child: Child,
    lines: UnboundedReceiver<String>,
    errors: JoinHandle<String>,
}

/// How a program ended.
#[derive(PartialEq, Eq, Debug)]
struct Ended {
    code: Option<i32>,
    /// Lines that were not looked at before.
    lines: Vec<String>,
    errors: String,
}

impl Running {
    fn start(path: &str, args: &[&str]) -> Running {
        let mut command = Command::new(path);
        command.args(args);
        Running::of(command)
    }

    fn of(mut command: Command) -> Running {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (tell, lines) = unbounded_channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines() {
                // Nobody listens once the test is over.
                let _ = tell.send(line.unwrap());
            }
        });
        let mut errors = child.stderr.take().unwrap();
        let errors = tokio::task::spawn_blocking(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).unwrap();
            text
        });
        Running { child, lines, errors }
    }

    async fn line(&mut self) -> String {
        match soon(self.lines.recv()).await {
            Some(line) => line,
            None => panic!("it ended: {}", soon(&mut self.errors).await.unwrap()),
        }
    }

    fn terminate(&self) {
        self.signal("TERM");
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// Waits until it ends by itself.
    async fn end(&mut self) -> Ended {
        let mut lines = Vec::new();
        while let Some(line) = soon(self.lines.recv()).await {
            lines.push(line);
        }
        let errors = soon(&mut self.errors).await.unwrap();
        let status = soon(async {
            loop {
                match self.child.try_wait().unwrap() {
                    Some(status) => break status,
                    None => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        });
        Ended { code: status.await.code(), lines, errors }
    }

    /// The same, and it was content.
    async fn end_well(&mut self) -> Vec<String> {
        let ended = self.end().await;
        assert_eq!((ended.code, &*ended.errors), (Some(0), ""));
        ended.lines
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may be over.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_of_four_consumers_works_on_each_order_once() {
    const ORDERS: usize = 600;
    let (broker, cluster) = broker(&[("orders", 8)]).await;
    let orders = |from: usize| (from..from + ORDERS).map(|n| ((n % 8) as i32, n.to_string()));
    let service = || {
        Running::start(env!("CARGO_BIN_EXE_service"), &[&broker.bootstrap(), "service", "orders"])
    };
    let mut first = service();
    // Each of the four has something to do from some moment on.
    let mut lines = Vec::new();
    let mut consumers = BTreeSet::new();
    let mut sent = 0;
    soon(async {
        while consumers.len() < 4 || lines.len() < sent {
            if lines.len() == sent {
                produce(&cluster, "orders", &orders(sent).collect::<Vec<_>>()).await;
                sent += ORDERS;
            }
            let line = first.line().await;
            consumers.insert(line.split_once(' ').unwrap().0.to_owned());
            lines.push(line);
        }
    })
    .await;
    first.terminate();
    lines.extend(first.end_well().await);
    let by_value = |lines: &[String]| {
        counted(lines.iter().map(|line| line.split_once(' ').unwrap().1.parse::<usize>().unwrap()))
    };
    assert_eq!(by_value(&lines), counted(0..sent));
    // What was worked on was committed by hand: the next one begins behind it.
    let expected: BTreeMap<_, _> = (0..8)
        .map(|partition| (TopicPartition::new("orders", partition), (sent / 8) as i64))
        .collect();
    let offsets = soon(committed(&cluster, "service")).await;
    let offsets: BTreeMap<_, _> = offsets.into_iter().map(|(p, at)| (p, at.offset)).collect();
    assert_eq!(offsets, expected);
    let mut second = service();
    produce(&cluster, "orders", &orders(sent).collect::<Vec<_>>()).await;
    let mut lines = Vec::new();
    while lines.len() < ORDERS {
        lines.push(second.line().await);
    }
    second.terminate();
    lines.extend(second.end_well().await);
    assert_eq!(by_value(&lines), counted(sent..sent + ORDERS));
    // What is no order is an error of its own, and ends it.
    let mut third = service();
    produce(&cluster, "orders", &[(0, "no number".to_owned())]).await;
    let Ended { code, errors, .. } = third.end().await;
    assert_eq!(code, Some(1));
    assert!(errors.contains("Order(ParseIntError"), "{errors}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_share_a_producer_each_find_their_records_in_order() {
    let (broker, cluster) = broker(&[("orders", 5)]).await;
    let args = [&broker.bootstrap(), "orders", "20", "100"];
    let told = Running::start(env!("CARGO_BIN_EXE_shared_producer"), &args).end_well().await;
    let told: BTreeMap<(i32, i64), String> = told
        .iter()
        .map(|line| {
            let [partition, offset, value] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            ((partition.parse().unwrap(), offset.parse().unwrap()), value.to_owned())
        })
        .collect();
    let found = all_of(&cluster, "orders", 5).await;
    assert_eq!(found.iter().cloned().collect::<BTreeMap<_, _>>(), told);
    let expected = (0..20).flat_map(|task| (0..100).map(move |order| format!("{task}-{order}")));
    assert_eq!(counted(found.iter().map(|(_, value)| value.clone())), counted(expected));
    // One key, one partition, one order.
    for task in 0..20 {
        let prefix = format!("{task}-");
        let of_task: Vec<_> =
            found.iter().filter(|(_, value)| value.starts_with(&prefix)).collect();
        let partitions = counted(of_task.iter().map(|((partition, _), _)| *partition));
        let orders: Vec<usize> =
            of_task.iter().map(|(_, value)| value[prefix.len()..].parse().unwrap()).collect();
        assert_eq!((partitions.len(), orders), (1, (0..100).collect()), "of task {task}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_etl_begins_again_after_a_failure_and_drains_at_a_signal() {
    let (broker, cluster) = broker(&[("lines", 1), ("words", 3)]).await;
    let etl = || {
        Running::start(env!("CARGO_BIN_EXE_etl"), &[&broker.bootstrap(), "etl", "lines", "words"])
    };
    let line = |n: usize| if n == 150 { "fail once".to_owned() } else { format!("n{n} w{n}") };
    let words_of = |n: usize| {
        let words = line(n).to_uppercase();
        words.split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    let lines = |range: std::ops::Range<usize>| range.map(|n| (0, line(n))).collect::<Vec<_>>();
    let is_committed = async |end: i64| {
        soon(async {
            let lines = TopicPartition::new("lines", 0);
            while committed(&cluster, "etl").await.get(&lines).is_none_or(|at| at.offset < end) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    };
    // Lines committed, and how often the stream was begun.
    let count = |output: &[String]| {
        let [line] = output else { panic!("{output:?}") };
        let counts =
            line.strip_prefix("committed ").and_then(|counts| counts.split_once(", begun "));
        let (lines, times) = counts.unwrap_or_else(|| panic!("{line}"));
        (lines.parse::<usize>().unwrap(), times.parse::<usize>().unwrap())
    };
    produce(&cluster, "lines", &lines(0..200)).await;
    let mut first = etl();
    is_committed(200).await;
    first.terminate();
    let (lines_done, begun) = count(&first.end_well().await);
    assert!(lines_done >= 200 && begun == 2, "{lines_done} {begun}");
    let found = counted(all_of(&cluster, "words", 3).await.into_iter().map(|(_, word)| word));
    let expected: BTreeSet<String> = (0..200).flat_map(words_of).collect();
    assert_eq!(found.keys().cloned().collect::<BTreeSet<_>>(), expected);
    // What came before the failure may have come twice, what came behind it has not.
    let twice = (151..200).flat_map(words_of).filter(|word| found[word] != 1);
    assert_eq!(twice.collect::<Vec<_>>(), [""; 0]);
    // A drain leaves nothing to be done again, however much is under way.
    let mut end = 200;
    for round in 0..3 {
        let before = end;
        end += 400;
        produce(&cluster, "lines", &lines(before..end)).await;
        let mut running = etl();
        if round < 2 {
            // In the middle, if it is that slow; the next one goes on from there.
            is_committed(before as i64 + 50).await;
        } else {
            is_committed(end as i64).await;
        }
        running.terminate();
        let (done, begun) = count(&running.end_well().await);
        assert!((50..=end).contains(&done) && begun == 1, "{done} {begun}");
    }
    let found = counted(all_of(&cluster, "words", 3).await.into_iter().map(|(_, word)| word));
    let of_these = (200..end).flat_map(words_of).map(|word| (found.get(&word).copied(), word));
    let wrong: Vec<_> = of_these.filter(|(count, _)| *count != Some(1)).collect();
    assert_eq!(wrong, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admin_tool_makes_looks_changes_and_deletes() {
    let (broker, cluster) = broker(&[]).await;
    let bootstrap = broker.bootstrap();
    let tool = async |args: &[&str]| {
        let args = [&[&bootstrap[..]], args].concat();
        let Ended { code, lines, errors } =
            Running::start(env!("CARGO_BIN_EXE_admin_tool"), &args).end().await;
        (code.unwrap(), lines.join("\n"), errors.trim().to_owned())
    };
    let done = |text: &str| (0, text.to_owned(), String::new());
    assert_eq!(tool(&["create", "orders", "3"]).await, done("orders has 3 partitions"));
    let (code, nothing, error) = tool(&["create", "orders", "3"]).await;
    assert_eq!((code, &*nothing), (1, ""));
    assert!(error.starts_with("\"orders\": ") && error.contains("already exists"), "{error}");
    assert_eq!(tool(&["retention", "orders", "86400000"]).await, done("retention.ms=86400000"));
    assert_eq!(tool(&["retention", "orders", "soon"]).await.0, 1);
    assert_eq!(tool(&["explode"]).await.0, 2);
    let records: Vec<_> = (0..30).map(|n| (n % 3, format!("{n}"))).collect();
    produce(&cluster, "orders", &records).await;
    let config = ConsumerConfig::default()
        .with_group_id("billing")
        .with_auto_offset_reset(OffsetReset::Earliest);
    // Reads so many, and gives what it read.
    let read = async |count: usize| {
        let mut consumer = Consumer::new(cluster.clone(), config.clone()).unwrap();
        consumer.subscribe(["orders"]).unwrap();
        let mut values = Vec::new();
        while values.len() < count {
            let records = soon(consumer.poll(count - values.len())).await.unwrap();
            let value = |record: thalweg::ConsumerRecord<'_>| record.value().map(<[u8]>::to_vec);
            values.extend(records.iter().filter_map(value));
        }
        soon(consumer.close(LIMIT)).await.unwrap();
        counted(values.into_iter().map(|value| String::from_utf8(value).unwrap()))
    };
    let all = counted(records.iter().map(|(_, value)| value.clone()));
    assert_eq!(read(30).await, all);
    assert_eq!(tool(&["lag", "billing"]).await, done("orders-0 0\norders-1 0\norders-2 0"));
    assert_eq!(tool(&["rewind", "billing", "orders"]).await, done("3 partitions"));
    assert_eq!(tool(&["lag", "billing"]).await, done("orders-0 10\norders-1 10\norders-2 10"));
    assert_eq!(read(30).await, all);
    assert_eq!(tool(&["delete", "orders"]).await, done("1 deleted"));
    let (code, _, error) = tool(&["delete", "orders"]).await;
    assert!(code == 1 && error.contains("UNKNOWN_TOPIC_OR_PARTITION"), "{error}");
}
