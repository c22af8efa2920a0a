//! `thalweg transactions`, against the broker in this process and Apache Kafka's, beside what Kafka's own
//! tool says of the same cluster.

use crate::limited::{self, Ended, rows};
use crate::raw::{Client, connect_to, producer_batch, send};

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thalweg_testkit::kafka::Kafka;
use thalweg_testkit::oracle::{self, Program};
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::ProduceRequest;

const THALWEG: &str = env!("CARGO_BIN_EXE_thalweg");
const WAIT: Duration = Duration::from_secs(60);
/// So that producers may write what no coordinator knows of.
const UNVERIFIED: &str = "transaction.partition.verification.enable";
/// A producer that no coordinator knows.
const STRANGER: i64 = 4_711;
const STRANGER_EPOCH: i16 = 3;
/// Partitions of the topic, by what is in them.
const COMMITTED: i32 = 0;
const OPEN: i32 = 1;
const OF_NO_TRANSACTION: i32 = 2;
const OF_STRANGER: i32 = 3;

/// The id and the epoch of a producer.
type Producer = (i64, i16);

struct Bench {
    bootstrap: String,
    client: Client,
}

impl Bench {
    async fn of(bootstrap: String) -> Bench {
        Bench { client: connect_to(&bootstrap).await, bootstrap }
    }

    fn run(&self, args: &[&str]) -> Ended {
        let mut command = Command::new(THALWEG);
        command.args(args).env("THALWEG_BOOTSTRAP", &self.bootstrap);
        Ended::of(limited::output(&mut command))
    }

    fn transactions(&self, args: &[&str]) -> Ended {
        self.run(&[&["transactions"], args].concat())
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let out = self.transactions(&[args, &["--json"]].concat()).ok();
        serde_json::from_str(&out).unwrap()
    }

    /// What Kafka's tool prints: the cells of each row without the header, sorted; nothing without its
    /// jars.
    fn tool(&self, args: &[&str]) -> Option<Vec<Vec<String>>> {
        oracle::jars()?;
        let tool = Program::class("org.apache.kafka.tools.TransactionsCommand");
        let printed = tool.args(["--bootstrap-server", &self.bootstrap]).args(args).succeed();
        // Each cell ends with a tab.
        let cells = |line: &str| {
            let line = line.strip_suffix('\t').unwrap_or(line);
            line.split('\t').map(|cell| cell.trim().to_owned()).collect()
        };
        let mut rows: Vec<Vec<String>> = printed.lines().skip(1).map(cells).collect();
        rows.sort();
        Some(rows)
    }

    /// Asks again, for as long as the answer is that it is not the moment.
    async fn when_it_is_time(&self, what: &str, mut ask: impl AsyncFnMut() -> ErrorCode) {
        let deadline = Instant::now() + WAIT;
        loop {
            match ask().await {
                ErrorCode::NONE => return,
                ErrorCode::COORDINATOR_NOT_AVAILABLE
                | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
                | ErrorCode::NOT_COORDINATOR
                | ErrorCode::NOT_LEADER_OR_FOLLOWER
                | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                | ErrorCode::CONCURRENT_TRANSACTIONS => {
                    assert!(Instant::now() < deadline, "{what} takes too long");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                code => panic!("{what}: {code:?}"),
            }
        }
    }

    async fn init(&self, id: &str) -> Producer {
        let connection = &self.client.connection;
        let mut producer = (-1, -1);
        self.when_it_is_time("a producer's id", async || {
            let find = requests::find_transaction_coordinator(id);
            let found = connection.send(&find).await.unwrap().coordinators.remove(0);
            if found.error_code.is_err() {
                return found.error_code;
            }
            let request = requests::init_producer(id, 600_000);
            let answer = connection.send(&request).await.unwrap();
            producer = (answer.producer_id, answer.producer_epoch);
            answer.error_code
        })
        .await;
        producer
    }

    async fn add(&self, id: &str, producer: Producer, partition: i32) {
        let request = requests::add_partition(id, producer, "t", partition);
        self.when_it_is_time("a partition in a transaction", async || {
            let answer = send(&self.client.connection, &request, 3).await;
            let topic = &answer.results_by_topic_v3_and_below[0];
            ErrorCode(topic.results_by_partition[0].partition_error_code)
        })
        .await;
    }

    /// A record of long ago. In this version nothing is added to a transaction by the way.
    async fn produce(&self, id: &str, producer: Producer, partition: i32) {
        let records = producer_batch(producer.0, producer.1, 0, true);
        let request = ProduceRequest {
            transactional_id: Some(id.into()),
            ..requests::produce_by_name("t", [(partition, records)])
        };
        self.when_it_is_time("a record", async || {
            let answer = send(&self.client.connection, &request, 11).await;
            answer.responses[0].partition_responses[0].error_code
        })
        .await;
    }

    async fn end(&self, id: &str, producer: Producer) -> ErrorCode {
        let request = requests::commit_transaction(id, producer);
        send(&self.client.connection, &request, 4).await.error_code
    }

    async fn until_state(&self, id: &str, state: &str) {
        let deadline = Instant::now() + WAIT;
        loop {
            let described = self.json(&["describe", id]);
            if described[0]["state"] == state {
                return;
            }
            assert!(Instant::now() < deadline, "{described} instead of {state}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn ids(listed: &Value) -> Vec<&str> {
    listed.as_array().unwrap().iter().map(|it| it["transactional_id"].as_str().unwrap()).collect()
}

fn partitions(found: &Value) -> Vec<i64> {
    found.as_array().unwrap().iter().map(|it| it["partition"].as_i64().unwrap()).collect()
}

/// All of it, on a cluster of one broker.
async fn everything(bench: &Bench) {
    let cluster = bench.run(&["cluster", "describe", "--json"]).ok();
    let cluster: Value = serde_json::from_str(&cluster).unwrap();
    let broker = cluster["brokers"][0]["broker"].to_string();
    assert_eq!(bench.transactions(&["list"]).notes("there are no such transactions"), "");
    bench.run(&["topic", "create", "t", "-p", "4"]).ok();
    let committed = bench.init("committed").await;
    bench.add("committed", committed, COMMITTED).await;
    bench.produce("committed", committed, COMMITTED).await;
    bench.when_it_is_time("a commit", async || bench.end("committed", committed).await).await;
    let open = bench.init("open").await;
    bench.add("open", open, COMMITTED).await;
    bench.add("open", open, OPEN).await;
    bench.produce("open", open, OPEN).await;
    let idle = bench.init("idle").await;
    bench.produce("idle", idle, OF_NO_TRANSACTION).await;
    bench.produce("stranger", (STRANGER, STRANGER_EPOCH), OF_STRANGER).await;
    bench.until_state("committed", "CompleteCommit").await;

    listed(bench, open, &broker);
    described(bench, open);
    hanging(bench, idle, &broker);
    aborted(bench, idle);
    fenced(bench, open).await;
}

fn listed(bench: &Bench, open: Producer, broker: &str) {
    let out = bench.transactions(&["list"]).ok();
    let mut cells: Vec<Vec<String>> =
        rows(&out).iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
    let states: Vec<[&str; 2]> = cells.iter().map(|row| [&*row[0], &*row[1]]).collect();
    let expected = [["committed", "CompleteCommit"], ["idle", "Empty"], ["open", "Ongoing"]];
    assert_eq!(states, expected);
    if let Some(tool) = bench.tool(&["list"]) {
        // It has the state last.
        cells.iter_mut().for_each(|row| row.swap(1, 3));
        assert_eq!(cells, tool);
    }
    let one = json!([{
        "transactional_id": "open",
        "state": "Ongoing",
        "producer_id": open.0,
        "coordinator": broker.parse::<i32>().unwrap(),
    }]);
    assert_eq!(bench.json(&["list", "--state", "Ongoing"]), one);
    assert_eq!(bench.json(&["list", "--producer-id", &open.0.to_string()]), one);
    assert_eq!(bench.json(&["list", "--id-pattern", "o.*"]), one);
    assert_eq!(ids(&bench.json(&["list", "--id-pattern", "o"])), [""; 0], "whole ids match");
    let both = bench.json(&["list", "--state", "Empty", "--state", "Ongoing"]);
    assert_eq!(ids(&both), ["idle", "open"]);
    assert_eq!(ids(&bench.json(&["list", "--state", "Empty", "--id-pattern", "o.*"])), [""; 0]);
    for (ours, theirs) in [("0", "0"), ("1h", "3600000")] {
        let listed = bench.json(&["list", "--longer-than", ours]);
        assert_eq!(ids(&listed).contains(&"open"), ours == "0", "{listed}");
        if let Some(tool) = bench.tool(&["list", "--duration-filter", theirs]) {
            let tool: Vec<&str> = tool.iter().map(|row| &*row[0]).collect();
            assert_eq!(ids(&listed), tool, "{ours}");
        }
    }
    let nonsense = ["list", "--state", "Open", "--state", "Ongoing"];
    assert_eq!(bench.transactions(&nonsense).fails(2, "the brokers know no state Open;"), "");
    bench.transactions(&["list", "--id-pattern", "("]).fails(1, "INVALID_REGULAR_EXPRESSION");
    for wrong in [&["list", "--producer-id", "x"], &["list", "--longer-than", "soon"]] {
        assert_eq!(bench.transactions(wrong).code, 2, "{wrong:?}");
    }
}

fn described(bench: &Bench, open: Producer) {
    let all = bench.json(&["describe", "open", "idle"]);
    assert_eq!(ids(&all), ["idle", "open"]);
    assert_eq!((&all[0]["start_time_ms"], &all[0]["open_ms"]), (&Value::Null, &Value::Null));
    assert_eq!(all[0]["partitions"], json!([]));
    let described = &all[1];
    assert_eq!(described["partitions"][0], json!({"topic": "t", "partition": COMMITTED}));
    assert_eq!(partitions(&described["partitions"]), [i64::from(COMMITTED), i64::from(OPEN)]);
    assert_eq!(
        (&described["state"], &described["timeout_ms"]),
        (&"Ongoing".into(), &600_000.into())
    );
    assert_eq!(described["producer_id"], json!(open.0));
    assert_eq!(described["producer_epoch"], json!(open.1));
    assert!(described["start_time_ms"].is_i64() && described["open_ms"].is_i64(), "{described}");
    let out = bench.transactions(&["describe", "open"]).ok();
    let cells = rows(&out).remove(0);
    assert_eq!((cells[0], cells[8]), ("open", "t:0,1"), "{out}");
    if let Some(mut tool) = bench.tool(&["describe", "--transactional-id", "open"]) {
        let mut tool = tool.remove(0);
        let mut theirs: Vec<&str> = tool[8].split(',').collect();
        theirs.sort_unstable();
        assert_eq!(theirs, ["t-0", "t-1"]);
        tool.truncate(7);
        let keys = [
            "coordinator",
            "transactional_id",
            "producer_id",
            "producer_epoch",
            "state",
            "timeout_ms",
            "start_time_ms",
        ];
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        assert_eq!(keys.map(|key| text(&described[key])).to_vec(), tool);
    }
    bench.transactions(&["describe", "z"]).fails(4, "id z: TRANSACTIONAL_ID_NOT_FOUND");
    assert!(bench.transactions(&["describe", "z", "idle"]).fails(3, "id z").contains("idle"));
    for wrong in [&["describe"][..], &["describe", ""], &["fence"], &["fence", ""]] {
        assert_eq!(bench.transactions(wrong).code, 2, "{wrong:?}");
    }
}

fn hanging(bench: &Bench, idle: Producer, broker: &str) {
    let found = bench.json(&["find-hanging", "--topic", "t"]);
    let expected = |partition: i32, producer: Producer, id: Option<&str>| {
        json!({
            "topic": "t",
            "partition": partition,
            "producer_id": producer.0,
            "producer_epoch": producer.1,
            "coordinator_epoch": null,
            "start_offset": 0,
            "last_timestamp": 1_000,
            "transactional_id": id,
            "abort": format!(
                "thalweg transactions abort --topic t --partition {partition} --start-offset 0"
            ),
        })
    };
    let of_idle = expected(OF_NO_TRANSACTION, idle, Some("idle"));
    let of_stranger = expected(OF_STRANGER, (STRANGER, STRANGER_EPOCH), None);
    assert_eq!(found, json!([of_idle, of_stranger]));
    assert_eq!(bench.json(&["find-hanging", "--broker", broker]), found);
    assert_eq!(bench.json(&["find-hanging", "--broker", broker, "--topic", "t"]), found);
    let one = ["find-hanging", "--topic", "t", "--partition", "3", "--partition", "1"];
    assert_eq!(bench.json(&one), json!([of_stranger]));
    // Some 80 years: the records are from 1970.
    assert_eq!(bench.json(&["find-hanging", "--topic", "t", "--longer-than", "30000d"]), json!([]));
    let out = bench.transactions(&["find-hanging", "--topic", "t"]).ok();
    let (table, commands) = out.split_once("\n\n").unwrap();
    let table = rows(table);
    assert_eq!(
        table[0][..7],
        ["t", "2", &idle.0.to_string(), &idle.1.to_string(), "-", "0", "1970-01-01T00:00:01.000Z"]
    );
    assert_eq!([table[0][8], table[1][8]], ["idle", "-"]);
    let last = "\n  thalweg transactions abort --topic t --partition 3 --start-offset 0\n";
    assert!(commands.starts_with("To abort them") && commands.ends_with(last), "{out}");
    if let Some(tool) = bench.tool(&["find-hanging", "--topic", "t"]) {
        let keys = ["topic", "partition", "producer_id", "producer_epoch"];
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let ours = found.as_array().unwrap().iter().map(|it| keys.map(|key| text(&it[key])));
        let theirs = tool.iter().map(|row| std::array::from_fn(|at| row[at].clone()));
        assert_eq!(ours.collect::<Vec<[String; 4]>>(), theirs.collect::<Vec<[String; 4]>>());
        assert!(tool.iter().all(|row| row[4..7] == ["-1", "0", "1000"]), "{tool:?}");
    }
    bench.transactions(&["find-hanging", "--topic", "z"]).fails(4, "topic z: UNKNOWN_TOPIC");
    let missing = ["find-hanging", "--topic", "t", "--partition", "9"];
    bench.transactions(&missing).fails(4, "topic t has no partition 9");
    bench.transactions(&["find-hanging", "--broker", "77"]).fails(4, "no broker 77");
    assert_eq!(bench.transactions(&["find-hanging", "--partition", "0", "--broker", "1"]).code, 2);
}

fn aborted(bench: &Bench, idle: Producer) {
    let abort = |partition: i32, args: &[&str]| {
        let partition = partition.to_string();
        let of_partition = ["abort", "--topic", "t", "--partition", &partition];
        bench.transactions(&[&of_partition[..], args].concat())
    };
    let of_stranger = STRANGER.to_string();
    let by_producer = |epoch| {
        ["--producer-id", &of_stranger, "--producer-epoch", epoch, "--coordinator-epoch", "-1"]
    };
    abort(OF_STRANGER, &by_producer("2")).fails(1, "t-3: INVALID_PRODUCER_EPOCH");
    assert_eq!(
        abort(OF_STRANGER, &by_producer("3")).ok(),
        "t-3: transaction of producer 4711, epoch 3, aborted\n"
    );
    let found = bench.json(&["find-hanging", "--topic", "t"]);
    assert_eq!(partitions(&found), [i64::from(OF_NO_TRANSACTION)]);
    // As it was told.
    let told = found[0]["abort"].as_str().unwrap();
    let told: Vec<&str> = told.split(' ').skip(1).collect();
    let out = bench.run(&[&told[..], &["--json"]].concat()).ok();
    let done = json!({
        "topic": "t",
        "partition": OF_NO_TRANSACTION,
        "producer_id": idle.0,
        "producer_epoch": idle.1,
        "coordinator_epoch": 0,
        "aborted": true,
    });
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), done);
    bench.run(&told).fails(4, "no open transaction in t-2 begins at offset 0");
    let none = bench.transactions(&["find-hanging", "--topic", "t"]);
    assert_eq!(none.notes("no transaction hangs there"), "");
    abort(9, &["--start-offset", "0"]).fails(4, "t-9: UNKNOWN_TOPIC_OR_PARTITION");
    let both = abort(OPEN, &["--start-offset", "0", "--producer-id", "7"]);
    assert_eq!((both.code, both.err.contains("cannot be used with")), (2, true), "{both:?}");
    let negative = abort(OPEN, &["--start-offset=-1"]);
    assert_eq!(negative.code, 2, "{negative:?}");
}

async fn fenced(bench: &Bench, open: Producer) {
    let all = bench.json(&["fence", "open", "unused"]);
    assert_eq!(ids(&all), ["open", "unused"]);
    assert_eq!((&all[0]["fenced"], &all[1]["fenced"]), (&true.into(), &true.into()));
    assert_eq!(all[0]["producer_id"], json!(open.0));
    assert!(all[0]["producer_epoch"].as_i64() > Some(i64::from(open.1)), "{all}");
    assert_eq!(all[1]["producer_epoch"], json!(0));
    assert_eq!(bench.end("open", open).await, ErrorCode::PRODUCER_FENCED);
    let described = bench.json(&["describe", "open"]);
    assert_eq!(
        (&described[0]["state"], &described[0]["partitions"]),
        (&"Empty".into(), &json!([]))
    );
    let again = bench.transactions(&["fence", "unused"]).ok();
    let (producer, epoch) = (&all[1]["producer_id"], 1);
    assert_eq!(again, format!("unused fenced: producer {producer}, epoch {epoch}\n"));
    // Nothing of what was open is left.
    let producers = bench.run(&["topic", "producers", "t", "--json"]).ok();
    let producers: Value = serde_json::from_str(&producers).unwrap();
    let open = |it: &&Value| it["transaction_start_offset"] != Value::Null;
    assert_eq!(producers.as_array().unwrap().iter().filter(open).count(), 0, "{producers}");
    // One of longer than `transaction.max.timeout.ms` is no transaction's timeout.
    let long = ["fence", "unused", "-X", "request.timeout.ms=3600000"];
    bench.transactions(&long).fails(1, "id unused: INVALID_TRANSACTION_TIMEOUT");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_of_this_broker() {
    let broker = TestBroker::builder().config(UNVERIFIED, false).start().await;
    everything(&Bench::of(broker.bootstrap()).await).await;
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_of_kafka() {
    let Some(builder) = Kafka::builder() else { return };
    let kafka =
        builder.config(UNVERIFIED, false).config("transaction.state.log.num.partitions", 4).start();
    everything(&Bench::of(kafka.bootstrap(Kafka::INTERNAL)).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_id_has_its_coordinator() {
    let Some(builder) = Kafka::builder() else { return };
    let kafka = builder.nodes(2).config("transaction.state.log.num.partitions", 4).start();
    let bench = Bench::of(kafka.address(0, Kafka::INTERNAL)).await;
    // One in each partition of the coordinators' topic.
    let all = ["a", "b", "c", "d"];
    let fenced = bench.json(&[&["fence"], &all[..]].concat());
    assert_eq!(ids(&fenced), all);
    let coordinators = |found: &Value| -> Vec<i64> {
        found.as_array().unwrap().iter().map(|it| it["coordinator"].as_i64().unwrap()).collect()
    };
    let listed = bench.json(&["list"]);
    assert_eq!(ids(&listed), all);
    let mut brokers = coordinators(&listed);
    let described = bench.json(&[&["describe"], &all[..]].concat());
    assert_eq!((ids(&described), coordinators(&described)), (all.to_vec(), brokers.clone()));
    let tool = bench.tool(&["list"]).unwrap();
    let theirs = tool.iter().map(|row| (&*row[0], row[1].parse().unwrap()));
    let ours = all.into_iter().zip(brokers.iter().copied());
    assert_eq!(ours.collect::<Vec<(&str, i64)>>(), theirs.collect::<Vec<_>>());
    brokers.sort_unstable();
    brokers.dedup();
    assert_eq!(brokers.len(), 2, "both coordinate some");
}
