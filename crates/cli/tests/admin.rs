//! The commands that administer a cluster, run against the broker in this process: what they print,
//! what they say on stderr, and how they end.

use crate::limited::{self, Ended, Limited, rows};

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use thalweg::{
    Cluster, Consumer, ConsumerConfig, OffsetReset, Options, Producer, ProducerConfig,
    ProducerRecord,
};
use thalweg_testkit::TestBroker;

const THALWEG: &str = env!("CARGO_BIN_EXE_thalweg");

struct Bench {
    broker: TestBroker,
}

impl Bench {
    async fn start() -> Bench {
        Bench { broker: TestBroker::start().await }
    }

    fn run(&self, args: &[&str]) -> Ended {
        let mut command = Command::new(THALWEG);
        command.args(args).env("THALWEG_BOOTSTRAP", self.broker.bootstrap());
        Ended::of(limited::output(&mut command))
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let out = self.run(&[args, &["--json"]].concat()).ok();
        serde_json::from_str(&out).unwrap()
    }

    async fn produce(&self, topic: &str, partition: i32, count: i64) {
        let cluster = Cluster::connect(&self.broker.bootstrap(), Options::default()).await.unwrap();
        let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
        for at in 1..=count {
            let key = format!("key-{at}");
            let record = ProducerRecord {
                topic,
                partition: Some(partition),
                timestamp: Some(at * 1_000),
                key: Some(key.as_bytes()),
                value: Some(b"value"),
                ..ProducerRecord::default()
            };
            producer.send(record).await.unwrap().await.unwrap();
        }
    }

    async fn consumer(&self, group: &str, topic: &str) -> Consumer {
        let cluster = Cluster::connect(&self.broker.bootstrap(), Options::default()).await.unwrap();
        let config = ConsumerConfig::default()
            .with_group_id(group)
            .with_auto_offset_reset(OffsetReset::Earliest)
            .with_auto_commit(false);
        let mut consumer = Consumer::new(cluster, config).unwrap();
        consumer.subscribe([topic]).unwrap();
        while consumer.poll_timeout(100, Duration::from_secs(10)).await.unwrap().is_empty() {}
        consumer.commit().await.unwrap();
        consumer
    }
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("admin-{}-{name}", std::process::id()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics() {
    let bench = Bench::start().await;
    let config = ["--config", "retention.ms=1000"];
    let made = bench.run(&[&["topic", "create", "a", "b.1", "-p", "2"], &config[..]].concat()).ok();
    assert_eq!(
        made,
        "a created: partitions 2, replicas 1\nb.1 created: partitions 2, replicas 1\n"
    );
    let again = bench.run(&["topic", "create", "a", "c"]);
    assert!(again.fails(3, "error: a: TOPIC_ALREADY_EXISTS").contains("c created"));
    bench.run(&["topic", "create", "a"]).fails(1, "TOPIC_ALREADY_EXISTS");
    assert_eq!(
        bench.run(&["topic", "create", "a", "--if-not-exists"]).ok(),
        "a is there already\n"
    );
    bench.run(&["topic", "create", "d", "--config", "nonsense"]).err.contains("name=value");
    bench.run(&["topic", "create", "d", "--config", "x=1"]).fails(1, "INVALID_CONFIG");
    bench.run(&["topic", "create", "d", "--validate-only"]).ok();
    let twice = ["topic", "create", "d", "--config", "x=1", "--config", "x=2"];
    bench.run(&twice).fails(2, "x is given twice");
    let tried = ["topic", "alter", "a", "-p", "9", "--validate-only"];
    assert_eq!(bench.run(&tried).ok(), "a: 9 partitions would be possible\n");

    assert_eq!(bench.run(&["topic", "list"]).ok(), "a\nb.1\nc\n");
    assert_eq!(bench.run(&["topic", "list", "b*"]).ok(), "b.1\n");
    assert_eq!(bench.run(&["topic", "list", "--regex", "[a-b](.*)"]).ok(), "a\nb.1\n");
    assert_eq!(bench.run(&["topic", "list", "a", "z"]).fails(4, "no topic z"), "a\n");
    let long = bench.run(&["topic", "list", "a", "-l"]).ok();
    assert_eq!(rows(&long)[0][..3], ["a", "2", "1"]);

    bench.produce("a", 1, 4).await;
    let described = bench.run(&["topic", "describe", "a", "--offsets"]).ok();
    assert!(described.contains("\n  retention.ms=1000\n"), "{described}");
    let last: Vec<&str> = described.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(last, ["1", "1", "0", "1", "1", "-", "0", "4", "4"]);
    let described = bench.json(&["topic", "describe", "a", "--offsets"]);
    assert_eq!(described[0]["configs"], json!({"retention.ms": "1000"}));
    assert_eq!(described[0]["partitions"][1]["end_offset"], json!(4));
    let id = described[0]["id"].as_str().unwrap();
    assert_eq!(bench.json(&["topic", "describe", "--id", id])[0]["topic"], json!("a"));
    assert_eq!(bench.json(&["topic", "describe", "--under-replicated"]), json!([]));
    assert_eq!(bench.json(&["topic", "describe", "--unavailable"]), json!([]));
    assert_eq!(bench.json(&["topic", "describe", "--under-min-isr"]), json!([]));
    let at_min = bench.json(&["topic", "describe", "a", "c", "--at-min-isr"]);
    assert_eq!(at_min.as_array().unwrap().len(), 2);
    bench.run(&["topic", "describe", "z"]).fails(4, "error: topic z: UNKNOWN_TOPIC_OR_PARTITION");
    bench.run(&["topic", "describe", "a", "z"]).fails(3, "topic z");
    bench.run(&["topic", "describe", "z*"]).fails(4, "nothing matches 'z*'");

    let changed = ["topic", "alter", "a", "-p", "3", "--set", "segment.bytes=2000000"];
    let changed = bench.run(&[&changed[..], &["--delete", "retention.ms"]].concat()).ok();
    assert_eq!(changed, "a: 3 partitions\na: configs changed\n");
    bench.run(&["topic", "alter", "a", "-p", "1"]).fails(1, "INVALID_PARTITIONS");
    bench.run(&["topic", "alter", "a"]).fails(2, "nothing to change");
    let twice = ["topic", "alter", "a", "--set", "x=1", "--delete", "x"];
    bench.run(&twice).fails(2, "config x is to be changed twice");
    let described = bench.json(&["topic", "describe", "a"]);
    assert_eq!(described[0]["configs"], json!({"segment.bytes": "2000000"}));

    let producers = bench.json(&["topic", "producers", "a"]);
    assert_eq!(producers[0]["last_sequence"], json!(3));
    bench.run(&["topic", "producers", "z"]).fails(4, "topic z: UNKNOWN_TOPIC");
    bench.produce("a", 1, 1).await;
    let ids = |of: &Value| -> Vec<i64> {
        of.as_array().unwrap().iter().map(|one| one["producer_id"].as_i64().unwrap()).collect()
    };
    let several = ids(&bench.json(&["topic", "producers", "a"]));
    assert!(several.len() == 2 && several.is_sorted(), "{several:?}");

    bench.run(&["topic", "delete", "*"]).fails(2, "this would delete a, b.1, c: say --yes");
    bench.run(&["topic", "delete"]).fails(2, "which topics?");
    bench.run(&["topic", "delete", "z"]).fails(4, "topic z");
    bench.run(&["topic", "delete", "z", "--if-exists"]).ok();
    assert_eq!(bench.run(&["topic", "delete", "--id", id]).ok(), format!("{id} deleted\n"));
    assert_eq!(bench.run(&["topic", "delete", "*", "--yes"]).ok(), "b.1 deleted\nc deleted\n");
    for list in [&["topic", "list", "-l"][..], &["topic", "list"]] {
        assert_eq!(bench.run(list).notes("there are no such topics"), "");
    }
    assert_eq!(bench.json(&["topic", "list"]), json!([]));
    bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configs() {
    let bench = Bench::start().await;
    bench.run(&["topic", "create", "a", "b"]).ok();
    let set = ["config", "alter", "topic", "a", "b", "--set", "retention.ms=7"];
    let append = ["--append", "cleanup.policy=compact"];
    let out = bench.run(&[&set[..], &append].concat()).ok();
    assert_eq!(out, "topic a: changed\ntopic b: changed\n");
    let described = bench.json(&["config", "describe", "topic", "a"]);
    let own = |name: &str| {
        let all = described[0]["configs"].as_array().unwrap();
        all.iter().find(|entry| entry["name"] == name).unwrap()["value"].clone()
    };
    assert_eq!(own("cleanup.policy"), json!("delete,compact"));
    assert_eq!(own("retention.ms"), json!("7"));
    let subtract = ["config", "alter", "topic", "a", "--subtract", "cleanup.policy=compact"];
    bench.run(&subtract).ok();
    let one = ["config", "describe", "topic", "a", "--config", "cleanup.policy", "--synonyms"];
    let one = bench.run(&one).ok();
    assert_eq!(rows(&one)[0], ["cleanup.policy", "delete", "DYNAMIC_TOPIC_CONFIG", "-"]);
    assert!(one.contains("log.cleanup.policy"), "{one}");
    let all = bench.json(&["config", "describe", "topic", "a", "--all", "--documentation"]);
    assert!(all[0]["configs"].as_array().unwrap().len() > 20);
    assert!(all[0]["configs"][0]["documentation"].is_string());

    bench
        .run(&["config", "alter", "broker", "--all-brokers", "--set", "log.cleaner.threads=2"])
        .ok();
    let all = bench.json(&["config", "describe", "broker"]);
    assert!(all.to_string().contains("log.cleaner.threads"), "{all}");
    let broker = bench.json(&["config", "describe", "broker", "1"]);
    assert!(broker.to_string().contains("DYNAMIC_DEFAULT_BROKER_CONFIG"), "{broker}");
    assert_eq!(
        rows(&bench.run(&["config", "list", "topic"]).ok()),
        [["topic", "a"], ["topic", "b"]]
    );

    bench.run(&["config", "describe", "topic"]).fails(2, "which topic?");
    bench.run(&["config", "describe", "topic", "z"]).fails(4, "topic z: UNKNOWN_TOPIC");
    bench.run(&["config", "describe", "broker", "one"]).fails(2, "'one' is no id of a broker");
    let absent = "broker 99: broker 99 is not part of the cluster";
    bench.run(&["config", "describe", "broker", "99"]).fails(4, absent);
    bench.run(&["config", "alter", "topic", "a"]).fails(2, "nothing to change");
    bench
        .run(&["config", "alter", "topic", "a", "z", "--set", "retention.ms=1"])
        .fails(3, "topic z");
    bench
        .run(&["config", "alter", "topic", "a", "--set", "retention.ms=x"])
        .fails(1, "INVALID_CONFIG");
    // Names that do not exist.
    let none = "topic a: there is no config retentoin.ms";
    bench.run(&["config", "alter", "topic", "a", "--delete", "retentoin.ms"]).fails(4, none);
    bench.run(&["topic", "alter", "a", "--delete", "retentoin.ms"]).fails(4, none);
    let two = ["--delete", "retention.ms", "--delete", "retentoin.ms"];
    bench.run(&[&["config", "alter", "topic", "a"], &two[..]].concat()).fails(4, none);
    assert_eq!(own_of(&bench, "a", "retention.ms"), json!("1"));
    bench.run(&["config", "describe", "topic", "a", "--config", "retentoin.ms"]).fails(4, none);
    let partly = ["--config", "retention.ms", "--config", "retentoin.ms"];
    let partly = [&["config", "describe", "topic", "a"], &partly[..]].concat();
    assert!(bench.run(&partly).fails(3, none).contains("retention.ms"));
    bench.run(&["config", "alter", "topic", "a", "--delete", "retention.ms"]).ok();
    for name in ["log.cleaner.threads", "listener.name.plaintext.ssl.keystore.location"] {
        bench.run(&["config", "alter", "broker", "--all-brokers", "--delete", name]).ok();
    }
    for broker in ["--all-brokers", "1"] {
        let wrong = ["config", "alter", "broker", broker, "--delete", "log.cleaner.treads"];
        bench.run(&wrong).fails(4, "there is no config log.cleaner.treads");
    }
    bench.run(&["config", "describe", "broker", "1", "--config", "x"]).fails(4, "no config x");
    bench.run(&["config", "describe", "broker", "--config", "x"]).fails(4, "no config x");
    // It is not set for all brokers, but exists.
    bench.run(&["config", "describe", "broker", "--config", "log.cleaner.threads"]).ok();
    for (kind, name) in
        [("group", "consumer.session.timeout.ms"), ("client-metrics", "interval.ms")]
    {
        bench.run(&["config", "alter", kind, "some", "--delete", name]).ok();
        let wrong = ["config", "alter", kind, "some", "--delete", "nonsense"];
        let wrong = bench.run(&wrong);
        assert!(wrong.code != 0 && wrong.err.contains("nonsense"), "{kind}: {wrong:?}");
    }
    bench.broker.shut_down().await;
}

/// What a topic has for a config.
fn own_of(bench: &Bench, topic: &str, name: &str) -> Value {
    bench.json(&["config", "describe", "topic", topic, "--config", name])[0]["configs"][0]["value"]
        .clone()
}

/// The coordinator assigns a group of classic members, and tells of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_a_group_rebalanced() {
    let bench = Bench::start().await;
    bench.run(&["topic", "create", "t", "-p", "2"]).ok();
    bench.produce("t", 0, 1).await;
    let mut consumer = bench.consumer("g", "t").await;
    let why = bench.run(&["group", "why", "g"]).ok();
    let alone = "g: barrier (the coordinator assigns it when it has two members)";
    assert!(why.starts_with(alone), "{why}");
    assert!(why.contains("1 members, 2 partitions moved, over after "), "{why}");
    assert!(why.contains(" joined\n") && why.contains("t-0: nobody -> "), "{why}");
    consumer.close(Duration::from_secs(10)).await.unwrap();
    let told = bench.json(&["group", "why", "g", "--last", "1"]);
    check_snake_case(&told);
    assert!(told[0]["rebalances"][0]["began_ms"].is_i64(), "{told}");
    assert_eq!(
        (&told[0]["mode"], &told[0]["reason"]),
        (&json!("barrier"), &json!("the group has no members"))
    );
    bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups() {
    let bench = Bench::start().await;
    let barrier = ["--set", "thalweg.group.classic.rebalance.mode=barrier"];
    bench.run(&[&["config", "alter", "group", "g"], &barrier[..]].concat()).ok();
    bench.run(&["topic", "create", "t", "-p", "2"]).ok();
    bench.produce("t", 0, 5).await;
    let mut consumer = bench.consumer("g", "t").await;
    bench.produce("t", 0, 2).await;
    let listed = bench.run(&["group", "list"]).ok();
    assert_eq!(rows(&listed)[0][..4], ["g", "Stable", "Classic", "consumer"]);
    assert_eq!(bench.json(&["group", "list", "--state", "Empty"]), json!([]));
    bench.run(&["group", "list", "g", "--state", "Empty"]).fails(4, "no group g of this kind");
    bench.run(&["group", "list", "none"]).fails(4, "no group none");
    let described = bench.run(&["group", "describe", "g"]).ok();
    assert!(described.starts_with("g  Classic Stable  members 1  assignor range"), "{described}");
    let mode = "rebalances by barrier: thalweg.group.classic.rebalance.mode is barrier\n";
    assert!(described.contains(mode), "{described}");
    assert_eq!(rows(&described)[2][..5], ["t", "0", "5", "7", "2"]);
    let described = bench.json(&["group", "describe", "g"]);
    assert_eq!((&described[0]["lag"], &described[0]["mode"]), (&json!(2), &json!("barrier")));
    assert_eq!(described[0]["members"][0]["assignment"].as_array().unwrap().len(), 2);
    let members = bench.run(&["group", "describe", "g", "--members"]).ok();
    assert!(members.trim_end().ends_with("t:0,1"), "{members}");
    let state = bench.run(&["group", "describe", "--all", "--state"]).ok();
    assert_eq!(rows(&state)[0][..4], ["g", "Stable", "Classic", "1"]);
    assert!(state.contains("barrier  thalweg.group.classic.rebalance.mode is barrier"), "{state}");
    let why = bench.run(&["group", "why", "g"]).ok();
    let barrier = "g: barrier (thalweg.group.classic.rebalance.mode is barrier)";
    assert!(why.starts_with(barrier) && why.contains("  generation 1, "), "{why}");
    assert!(why.contains(" all joined after ") && why.contains("t-0: nobody -> "), "{why}");
    bench.run(&["group", "why"]).fails(2, "which groups?");
    bench.run(&["group", "why", "none"]).fails(4, "group none: GROUP_ID_NOT_FOUND");
    bench.run(&["group", "describe"]).fails(2, "which groups?");
    bench.run(&["group", "describe", "none"]).fails(4, "group none: GROUP_ID_NOT_FOUND");
    bench.run(&["group", "delete", "g"]).fails(1, "NON_EMPTY_GROUP");
    let reset = ["group", "reset-offsets", "g", "--topic", "t", "--to-earliest", "--execute"];
    bench.run(&reset).fails(1, "has 1 members");
    bench.run(&["group", "delete-offsets", "g", "--topic", "t:0"]).fails(1, "GROUP_SUBSCRIBED");
    bench
        .run(&["group", "remove-members", "g", "--member", "x"])
        .fails(4, "member x: UNKNOWN_MEMBER");
    consumer.close(Duration::from_secs(10)).await.unwrap();

    let dry = bench.run(&reset[..6]);
    assert!(dry.code == 0 && dry.err.contains("--execute"), "{dry:?}");
    assert_eq!(rows(&dry.out)[0], ["t", "0", "5", "0"]);
    let cases: [(&[&str], i64); 9] = [
        (&["--to-earliest"], 0),
        (&["--to-latest"], 7),
        (&["--to-current"], 7),
        (&["--shift-by", "-3"], 4),
        (&["--to-offset", "6"], 6),
        (&["--to-datetime", "1970-01-01T00:00:02.500"], 2),
        (&["--to-datetime", "2001-01-01T00:00:00+01:00"], 7),
        (&["--by-duration", "PT1H"], 7),
        (&["--by-duration", "99999d"], 0),
    ];
    for (how, expected) in cases {
        let args = ["group", "reset-offsets", "g", "--topic", "t:0", "--execute"];
        let done = bench.json(&[&args, how].concat());
        assert_eq!(done[0]["new"], json!(expected), "{how:?}");
        let committed = bench.json(&["group", "describe", "g"]);
        assert_eq!(committed[0]["offsets"][0]["committed"], json!(expected), "{how:?}");
    }
    let far = ["group", "reset-offsets", "g", "--topic", "t:0", "--to-offset", "99", "--execute"];
    let far = bench.run(&far);
    assert!(far.code == 0 && far.err.contains("warning: t-0 has 0 to 7, so 7, not 99"), "{far:?}");

    let file = scratch("offsets.csv");
    let name = file.display().to_string();
    let export = ["group", "reset-offsets", "g", "--all-topics", "--to-current", "--export", &name];
    bench.run(&export);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "t,0,7\nt,1,0\n");
    std::fs::write(&file, "t,0,3\nt,1,0\n").unwrap();
    let import = ["group", "reset-offsets", "h", "--from-file", &name, "--execute"];
    assert_eq!(bench.json(&import)[0]["new"], json!(3));
    std::fs::write(&file, "t,0\n").unwrap();
    bench.run(&import).fails(2, "line 1 is not topic,partition,offset");
    std::fs::remove_file(&file).unwrap();
    bench.run(&import).fails(4, "No such file");
    bench.run(&["group", "reset-offsets", "g", "--to-latest"]).fails(2, "which offsets?");
    let absent = ["group", "reset-offsets", "g", "--topic", "z", "--to-latest"];
    bench.run(&absent).fails(4, "topic z");
    let unset = bench.run(&["group", "reset-offsets", "g", "--topic", "t"]);
    assert_eq!(unset.code, 2, "{unset:?}");

    assert_eq!(bench.run(&["group", "delete-offsets", "g", "--topic", "t:1"]).ok(), "t:1\n");
    bench.run(&["group", "delete", "--regex", "[gh]"]).fails(2, "would delete g, h");
    let deleted = bench.run(&["group", "delete", "--regex", "[gh]", "--yes"]).ok();
    assert_eq!(deleted, "g deleted\nh deleted\n");
    bench.run(&["group", "delete", "g"]).fails(4, "GROUP_ID_NOT_FOUND");
    bench.run(&["group", "delete", "g", "--if-exists"]).ok();
    bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clusters() {
    let bench = Bench::start().await;
    bench.run(&["topic", "create", "t", "-p", "2"]).ok();
    bench.produce("t", 0, 3).await;
    let described = bench.json(&["cluster", "describe"]);
    let broker = &described["brokers"][0];
    assert_eq!((&broker["fenced"], &broker["metadata_lag"]), (&json!(false), &json!(0)));
    let partitions = described["partitions"].as_i64().unwrap();
    assert!(partitions > 0 && described["metadata_version"].is_string(), "{described}");
    assert_eq!((&broker["leads"], &broker["replicas"]), (&json!(partitions), &json!(partitions)));
    let (under, out_of_sync) = (&described["under_replicated"], &broker["out_of_sync"]);
    assert_eq!((under, out_of_sync), (&json!(0), &json!(0)));
    assert_eq!(bench.json(&["cluster", "describe", "--brief"])["partitions"], json!(null));
    let brief = bench.run(&["cluster", "describe", "--brief"]).ok();
    assert!(brief.contains("METADATA-LAG") && !brief.contains("LEADS"), "{brief}");
    let described = bench.run(&["cluster", "describe", "--fenced"]).ok();
    assert!(described.starts_with("cluster ") && described.contains("alive"), "{described}");
    let features = bench.json(&["cluster", "features"]);
    let level = features["features"]["metadata.version"]["level"].as_i64().unwrap();
    let same = format!("metadata.version={level}");
    bench.run(&["cluster", "update-features", &same, "--validate-only"]).ok();
    bench.run(&["cluster", "update-features", "metadata.version=999"]).fails(1, "feature metadata");
    let quorum = bench.json(&["cluster", "quorum"]);
    assert_eq!(quorum["replicas"][0]["role"], json!("leader"));
    let brokers = bench.json(&["cluster", "brokers"]);
    assert_eq!(brokers[0]["apis"]["Metadata"]["max"], json!(13));
    bench.run(&["cluster", "brokers", "7"]).fails(4, "no broker 7");
    let dirs = bench.run(&["cluster", "log-dirs", "--topic", "t"]).ok();
    let replica = dirs.lines().last().unwrap();
    assert!(dirs.contains("online") && replica.contains(" t "), "{dirs}");
    bench.run(&["cluster", "log-dirs", "--broker", "9"]).fails(4, "broker 9");
    assert!(bench.json(&["cluster", "log-dirs"])[0]["size"].as_i64().unwrap() > 0);

    let assign = ["cluster", "reassign", "--partition", "t:0=1"];
    let way_back = |index: i32| {
        let before = json!({"topic": "t", "partition": index, "replicas": [1]});
        format!("To go back: {}\n", json!({"version": 1, "partitions": [before]}))
    };
    assert_eq!(bench.run(&assign).ok(), format!("{}t:0\n", way_back(0)));
    let wrong = ["cluster", "reassign", "--partition", "t:0=1", "--partition", "t:1=9"];
    bench.run(&wrong).fails(3, "t-1: INVALID_REPLICA_ASSIGNMENT");
    bench.run(&["cluster", "reassign", "--cancel", "t:0"]).fails(4, "NO_REASSIGNMENT");
    bench.run(&["cluster", "reassign"]).fails(2, "which partitions?");
    let plan = scratch("plan.json");
    let name = plan.display().to_string();
    let text =
        json!({"version": 1, "partitions": [{"topic": "t", "partition": 1, "replicas": [1]}]});
    std::fs::write(&plan, text.to_string()).unwrap();
    assert_eq!(
        bench.run(&["cluster", "reassign", "--file", &name]).ok(),
        format!("{}t:1\n", way_back(1))
    );
    std::fs::write(&plan, "{}").unwrap();
    bench.run(&["cluster", "reassign", "--file", &name]).fails(2, "it has no partitions");
    std::fs::remove_file(&plan).unwrap();
    assert_eq!(bench.json(&["cluster", "reassignments"]), json!([]));
    bench.run(&["cluster", "reassignments"]).notes("there are no reassignments under way");
    for (words, none) in [
        (["group", "list"], "there are no such groups"),
        (["transactions", "list"], "there are no such transactions"),
        (["quota", "list"], "there are no such limits"),
        (["config", "list"], "there are no configs of their own"),
    ] {
        let ended = bench.run(&words);
        match ended.out.is_empty() {
            true => ended.notes(none),
            false => ended.ok(),
        };
    }
    let hanging = ["transactions", "find-hanging", "--topic", "t"];
    bench.run(&hanging).notes("no transaction hangs there");
    assert_eq!(bench.json(&hanging), json!([]));
    assert_eq!(bench.run(&["cluster", "elect-leaders", "t:0"]).ok(), "t:0 not needed\n");
    assert_eq!(bench.run(&["cluster", "elect-leaders", "--all"]).ok(), "");
    bench.run(&["cluster", "move-replica", "1", "t:0", "/x"]).fails(1, "LOG_DIR_NOT_FOUND");
    bench.run(&["cluster", "move-replica", "1", "z:0", "/x"]).fails(1, "LOG_DIR_NOT_FOUND");
    let dirs = bench.json(&["cluster", "log-dirs"]);
    let here = dirs[0]["directory"].as_str().unwrap();
    let moved = bench.run(&["cluster", "move-replica", "1", "t:0", here]).ok();
    assert_eq!(moved, format!("t-0 goes to {here}\n"));
    bench.run(&["cluster", "unregister", "7"]).fails(1, "BROKER_ID_NOT_REGISTERED");
    bench.run(&["cluster", "unregister", "1"]).fails(1, "is its own controller");
    let unregister = ["cluster", "unregister-controller", "--id"];
    bench.run(&[&unregister[..], &["7"]].concat()).fails(1, "CONTROLLER_ID_NOT_REGISTERED");
    bench.run(&[&unregister[..], &["1"]].concat()).fails(1, "INVALID_REQUEST");

    let deleted = bench.run(&["log", "delete-records", "t:0=2", "t:1=-1"]).ok();
    assert_eq!(deleted, "t:0 begins at 2\nt:1 begins at 0\n");
    bench.run(&["log", "delete-records", "t:0=9"]).fails(1, "OFFSET_OUT_OF_RANGE");
    bench.run(&["log", "delete-records", "z:0=9", "t:0=3"]).fails(3, "z-0: UNKNOWN_TOPIC");
    bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files() {
    let kept = scratch("data");
    let broker = TestBroker::builder().data(&kept).start().await;
    let bench = Bench { broker };
    bench.run(&["topic", "create", "t", "u"]).ok();
    bench.produce("t", 0, 3).await;
    // Enough for an index.
    bench.produce("u", 0, 150).await;
    let mut consumer = bench.consumer("g", "t").await;
    consumer.close(Duration::from_secs(10)).await.unwrap();
    bench.broker.shut_down().await;

    let dump = |path: &Path, args: &[&str]| {
        let mut command = Command::new(THALWEG);
        command.args(["log", "dump"]).arg(path).args(args);
        Ended::of(limited::output(&mut command))
    };
    let lines = |out: &str| -> Vec<Value> {
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let segment = kept.join("t-0/00000000000000000000.log");
    let batches = lines(&dump(&segment, &["--print-data", "--json"]).ok());
    let keys: Vec<&Value> = batches
        .iter()
        .flat_map(|batch| batch["records"].as_array().unwrap())
        .map(|record| &record["key"])
        .collect();
    assert_eq!(keys, ["key-1", "key-2", "key-3"]);
    assert_eq!(batches[0]["crc_valid"], json!(true));
    let text = dump(&segment, &["--deep", "--limit", "1"]).ok();
    assert!(text.contains("base_offset=0") && text.contains("offset=0 timestamp=1000"), "{text}");

    let metadata = kept.join("__cluster_metadata-0/00000000000000000000.log");
    let metadata = dump(&metadata, &["--print-data", "--json"]).ok();
    assert!(metadata.contains("\"type\":\"TopicRecord\""), "{metadata}");
    assert!(metadata.contains("\"type\":\"LeaderChangeMessage\""), "{metadata}");
    assert!(!metadata.contains("\"error\""), "{metadata}");
    let mut commits = Vec::new();
    for entry in std::fs::read_dir(&kept).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("__consumer_offsets-") {
            let segment = path.join("00000000000000000000.log");
            let out = dump(&segment, &["--print-data", "--json"]).ok();
            assert!(!out.contains("\"error\""), "{out}");
            for batch in lines(&out) {
                commits.extend(batch["records"].as_array().unwrap().clone());
            }
        }
    }
    let commit = commits.iter().find(|record| record["key"]["type"] == "OffsetCommitKey").unwrap();
    assert_eq!(commit["key"]["data"]["group"], json!("g"));
    assert_eq!(commit["value"]["data"]["offset"], json!(3));

    // Every kind of file that the broker left.
    let mut kinds = std::collections::BTreeSet::new();
    let folders = ["", "t-0", "u-0", "__cluster_metadata-0"].map(|folder| kept.join(folder));
    for path in folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()) {
        let path = path.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_for_tools = name.ends_with("checkpoint")
            || ["log", "index", "timeindex", "snapshot", "metadata"]
                .iter()
                .any(|end| name.ends_with(&format!(".{end}")));
        if path.is_file() && is_for_tools {
            dump(&path, &["--deep"]).ok();
            kinds.insert(name.rsplit(['.', '/']).next().unwrap().to_owned());
        }
    }
    let found: Vec<&str> = kinds.iter().map(String::as_str).collect();
    for kind in ["index", "timeindex", "snapshot", "log", "leader-epoch-checkpoint", "metadata"] {
        assert!(found.contains(&kind), "{kind}: {found:?}");
    }
    let index = dump(&kept.join("u-0/00000000000000000000.index"), &["--json"]).ok();
    assert!(!index.is_empty() && lines(&index)[0]["position"].is_u64(), "{index}");
    let producers = lines(&dump(&kept.join("t-0/00000000000000000003.snapshot"), &["--json"]).ok());
    assert_eq!(producers[0]["last_sequence"], json!(2));

    let mut bytes = std::fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    dump(&segment, &[]).fails(1, "the checksum is wrong");
    std::fs::write(&segment, &bytes[..middle]).unwrap();
    dump(&segment, &[]).fails(1, "bytes");
    dump(&kept.join("meta.properties"), &[]).fails(1, "its name is not that of a segment (.log)");
    dump(&kept.join("t-0"), &[]).fails(1, "is a directory; give a segment (.log), an index");
    dump(&kept.join("none.log"), &[]).fails(4, "none.log: No such file");
    let one = dump(&kept.join("u-0/00000000000000000000.index"), &[]);
    assert_eq!(one.code, 0);
    let two = kept.join("t-0/none.log").display().to_string();
    dump(&kept.join("u-0/00000000000000000000.index"), &[&two]).fails(3, "No such file");
    let index = kept.join("u-0/00000000000000000000.index");
    let mut bytes = std::fs::read(&index).unwrap();
    bytes[3] ^= 1;
    std::fs::write(&index, &bytes).unwrap();
    dump(&index, &[]).fails(1, "ends at offset");
    std::fs::remove_dir_all(&kept).unwrap();
}

#[test]
fn options_and_files_of_properties() {
    let run = |args: &[&str]| {
        let mut command = Command::new(THALWEG);
        Ended::of(limited::output(command.args(args).env_remove("THALWEG_BOOTSTRAP")))
    };
    let nobody = ["topic", "list", "-b", "127.0.0.1:1", "--timeout", "2"];
    run(&nobody).fails(1, "cannot connect to 127.0.0.1:1");
    run(&["topic", "list", "-b", "nowhere"]).fails(2, "is not a list of host:port");
    let file = scratch("client.properties");
    let name = file.display().to_string();
    let with_file = [&nobody[..], &["--command-config", &name]].concat();
    run(&with_file).fails(4, "client.properties: No such file");
    std::fs::write(&file, "security.protocol = SASL_SSL\nsasl.mechanism=GSSAPI\n").unwrap();
    run(&with_file).fails(2, "config sasl.mechanism is 'GSSAPI', not one of");
    let protocol = [&with_file[..], &["-X", "security.protocol=PLAINTEXT"]].concat();
    run(&protocol).fails(1, "cannot connect");
    std::fs::write(&file, "send.buffer.bytes=1\nlinger.ms=2\nfoo=1\n").unwrap();
    let said = run(&with_file);
    let lines: Vec<&str> = said.err.lines().collect();
    assert_eq!(lines[0], "warning: property foo is unknown, it does nothing");
    assert_eq!(lines[1], "warning: property send.buffer.bytes does nothing here");
    assert_eq!((lines.len(), said.code), (3, 1), "{said:?}");
    std::fs::write(&file, "ssl.cipher.suites=x\n").unwrap();
    run(&with_file).fails(2, "config ssl.cipher.suites is not supported");
    std::fs::remove_file(&file).unwrap();

    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]).ok();
        assert!(script.contains("reset-offsets"), "{shell}");
    }
    assert!(run(&["topic", "--help"]).ok().contains("Exit codes: 0 done"));
}

#[test]
fn what_makes_no_sense_is_said_before_anybody_is_asked() {
    let dir = scratch("usage");
    std::fs::create_dir_all(&dir).unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let offsets = file("offsets.csv", "t,0,1\nt,0,2\n");
    let plan = file("plan.json", r#"{"partitions":[{"topic":"t","partition":0,"replicas":[-1]}]}"#);
    let records =
        file("records.json", r#"{"partitions":[{"topic":"t","partition":-1,"offset":1}]}"#);
    let consumer = "group.protocol=consumer";
    let cases: &[(&[&str], &str)] = &[
        (&["topic", "list", "--regex", "("], "no regular expression"),
        (&["topic", "describe", "--regex", "("], "no regular expression"),
        (&["topic", "delete", "--regex", "("], "no regular expression"),
        (&["topic", "delete"], "which topics?"),
        (&["topic", "create", "t", "u", "t"], "topic t is given twice"),
        (
            &["topic", "create", "t", "--config", "a=1", "--config", "a=2"],
            "config a is given twice",
        ),
        (&["topic", "alter", "t"], "nothing to change"),
        (&["topic", "alter", "t", "--set", "a=1", "--delete", "a"], "config a is to be changed"),
        (&["config", "describe", "broker", "one"], "'one' is no id of a broker"),
        (&["config", "alter", "broker", "", "--set", "a=1"], "'' is no id of a broker"),
        (&["config", "alter", "topic", "t", "", "--set", "a=1"], "'' is no name of a topic"),
        (&["group", "list", "--regex", "("], "no regular expression"),
        (&["group", "describe", "--regex", "("], "no regular expression"),
        (&["group", "describe"], "which groups?"),
        (&["group", "delete"], "which groups?"),
        (&["group", "reset-offsets", "g", "--to-earliest"], "which offsets?"),
        (&["group", "reset-offsets", "g", "--from-file", &offsets], "line 2 names"),
        (&["group", "delete-offsets", "g"], "which offsets?"),
        (&["group", "remove-members", "g"], "which members?"),
        (&["transactions", "find-hanging"], "where? --topic or --broker"),
        (&["transactions", "abort", "--topic", "t", "--partition", "0"], "which transaction?"),
        (
            &["transactions", "abort", "--topic", "t", "--partition", "0", "--producer-id", "7"],
            "--producer-epoch and --coordinator-epoch",
        ),
        (&["cluster", "reassign"], "which partitions?"),
        (&["cluster", "reassign", "--cancel", "t:0", "--partition", "t:0=1"], "is given twice"),
        (&["cluster", "reassign", "--file", &plan], "partitions[0] has no topic"),
        (&["log", "delete-records"], "which partitions?"),
        (&["log", "delete-records", "--file", &records], "partitions[0] has no topic"),
        (&["acl", "delete"], "which?"),
        (&["acl", "allow", "User:a", "-o", "write", "--group", "g"], "nothing that is done with"),
        (&["quota", "alter", "--user", "a"], "nothing to change"),
        (&["produce", "t", "-D", "\\q"], "means nothing"),
        (&["produce", "t", "-D", ""], "a delimiter is empty"),
        (&["produce", "t", "-H", "name"], "is not name=value"),
        (&["produce", "t", "-X", "buffer.memory=1"], "buffer.memory"),
        (&["consume", "^t"], "--group"),
        (&["consume", "^t", "u", "-G", "g"], "stands alone"),
        (&["consume", "^t", "-G", "g", "-e"], "of a pattern"),
        (&["consume", "^(", "-G", "g"], "the subscribed pattern is not a regular expression"),
        (&["consume", "t", "-G", "g", "-o", "7"], "a member of a group begins at"),
        (&["consume", "t", "--until", "stored"], "where to begin"),
        (&["consume", "t", "-X", "fetch.max.bytes=0"], "fetch.max.bytes"),
        (&["consume", "^(", "-G", "g", "-X", consumer, "-X", "fetch.min.bytes=-1"], "fetch.min"),
    ];
    for (words, says) in cases {
        let mut command = Command::new(THALWEG);
        // Nobody listens there: who asks first hears that, and nothing else.
        command.args(*words).args(["-b", "127.0.0.1:1", "--timeout", "2"]).stdin(Stdio::null());
        Ended::of(limited::output(&mut command)).fails(2, says);
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_missing_file_has_one_exit_code() {
    let cases: &[&[&str]] = &[
        &["produce", "t", "/nowhere"],
        &["produce", "t", "--file", "/nowhere"],
        &["group", "reset-offsets", "g", "--from-file", "/nowhere"],
        &["cluster", "reassign", "--file", "/nowhere"],
        &["log", "delete-records", "--file", "/nowhere"],
        &["topic", "list", "--command-config", "/nowhere"],
    ];
    for words in cases {
        let mut command = Command::new(THALWEG);
        command.args(*words).args(["-b", "127.0.0.1:1", "--timeout", "2"]).stdin(Stdio::null());
        Ended::of(limited::output(&mut command)).fails(4, "/nowhere: No such file");
    }
    // A password may have been given in place of a file: the path is not shown.
    let mut set = Command::new(THALWEG);
    set.args(["user", "set-password", "a", "--password-file", "/nowhere", "-b", "127.0.0.1:1"]);
    let set = limited::output(set.stdin(Stdio::null()));
    Ended::of(set).fails(4, "the file of --password-file cannot be used: No such file");
    let mut dump = Command::new(THALWEG);
    let dump = dump.args(["log", "dump", "/nowhere/00000000000000000000.log"]);
    Ended::of(limited::output(dump)).fails(4, "No such file");
}

/// Names of fields are snake_case, as in all of the command's JSON.
#[track_caller]
fn check_snake_case(value: &Value) {
    match value {
        Value::Array(all) => all.iter().for_each(check_snake_case),
        Value::Object(all) => {
            for (name, value) in all {
                assert!(!name.chars().any(char::is_uppercase), "{name}");
                check_snake_case(value);
            }
        }
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_that_nobody_reads_ends_a_command_without_a_word() {
    let bench = Bench::start().await;
    let mut command = Command::new(THALWEG);
    command.args(["cluster", "brokers"]).env("THALWEG_BOOTSTRAP", bench.broker.bootstrap());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let _limited = Limited::new(&child);
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    bench.broker.shut_down().await;
}
