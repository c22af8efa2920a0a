//! `thalweg bench` against its own floor: counts add up, broken data is found, exit codes say so.

use crate::limited::{self, Limited};

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use thalweg_testkit::TestBroker;
use thalweg_testkit::kafka::{Kafka, Shared};

const THALWEG: &str = env!("CARGO_BIN_EXE_thalweg");

/// A floor in a process of its own, with its directory.
struct Floor {
    child: Child,
    address: String,
    dir: PathBuf,
}

impl Floor {
    fn start(name: &str) -> Floor {
        let dir = std::env::temp_dir().join(format!("thalweg-bench-{name}-{}", std::process::id()));
        let mut child = Command::new(THALWEG)
            .args(["bench", "floor", "--listen", "127.0.0.1:0", "--data"])
            .arg(&dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let _limited = Limited::new(&child);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("ready ").unwrap().to_owned();
        Floor { child, address, dir }
    }

    fn bench(&self, command: &str, options: &[&str]) -> Output {
        let mut bench = Command::new(THALWEG);
        bench.args(["bench", command, "--bootstrap", &self.address, "--json", "--topic", "t"]);
        limited::output(bench.args(options))
    }

    /// Runs a command that must end well; returns its report.
    fn report(&self, command: &str, options: &[&str]) -> Value {
        let output = self.bench(command, options);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Of all brokers.
fn sum(report: &Value, name: &str) -> u64 {
    let brokers = report["by_broker"].as_object().unwrap().values();
    brokers.map(|broker| broker[name].as_u64().unwrap()).sum()
}

#[test]
fn what_was_produced_is_fetched() {
    let floor = Floor::start("fetched");
    for (compression, threads) in [("none", "1"), ("lz4", "3")] {
        let options = [
            "--recreate",
            "--partitions",
            "7",
            "--partitions-per-request",
            "3",
            "--records",
            "5000",
            "--record-size",
            "500",
            "--batch-bytes",
            "4k",
            "--pool",
            "8",
            "--compression",
            compression,
            "--threads",
            threads,
            "--connections",
            "5",
        ];
        let produced = floor.report("produce", &options);
        let records = produced["records"].as_u64().unwrap();
        assert!((5000..5500).contains(&records), "{produced}");
        assert_eq!(produced["bytes"], records * 500);
        assert_eq!(produced["appended"], records);
        assert_eq!(produced["errors"], 0);
        assert_eq!(produced["latency_ms"]["count"], produced["requests"]);
        let brokers = produced["by_broker"].as_object().unwrap();
        assert_eq!(brokers.len(), 1, "{produced}");
        for name in ["records", "bytes", "requests", "errors"] {
            assert_eq!(sum(&produced, name), produced[name].as_u64().unwrap(), "{produced}");
        }
        let wire = produced["wire_bytes"].as_u64().unwrap();
        assert_eq!(wire < records * 500 / 2, compression == "lz4", "{produced}");
        for connections in ["1", "3", "9"] {
            let fetched = floor.report(
                "fetch",
                &["--connections", connections, "--partition-max-bytes", "10k", "--threads", "2"],
            );
            assert_eq!(fetched["records"], records, "{fetched}");
            assert_eq!(fetched["bytes"], records * 500, "{fetched}");
            assert_eq!(sum(&fetched, "records"), records, "{fetched}");
        }
    }
}

#[test]
fn rates_are_kept_and_time_ends_runs() {
    let floor = Floor::start("rates");
    let produced = floor.report(
        "produce",
        &[
            "--rate",
            "2000",
            "--seconds",
            "1.5",
            "--warmup-seconds",
            "0.5",
            "--record-size",
            "100",
            "--batch-bytes",
            "1k",
            "--acks",
            "1",
            "--connections",
            "3",
        ],
    );
    assert_eq!(produced["open_loop"], true);
    let records = produced["records"].as_f64().unwrap();
    assert!((2700.0..3300.0).contains(&records), "{produced}");
    let seconds = produced["seconds"].as_f64().unwrap();
    assert!((1.3..2.5).contains(&seconds), "{produced}");
}

#[test]
fn latency_sees_every_batch_at_both_ends() {
    let floor = Floor::start("latency");
    let report = floor.report(
        "latency",
        &["--partitions", "4", "--connections", "2", "--rate", "500", "--seconds", "1"],
    );
    let acknowledged = report["latency_ms"]["count"].as_u64().unwrap();
    assert!((450..=510).contains(&acknowledged), "{report}");
    assert_eq!(report["end_to_end_ms"]["count"], acknowledged, "{report}");
}

#[test]
fn data_that_changed_on_disk_is_found() {
    let floor = Floor::start("broken");
    floor.report("produce", &["--records", "100", "--record-size", "100", "--batch-bytes", "1k"]);
    let file = std::fs::read_dir(&floor.dir).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    // In place: the floor has the file open.
    use std::os::unix::fs::FileExt;
    std::fs::File::options().write(true).open(&file).unwrap().write_all_at(&bytes, 0).unwrap();
    let output = floor.bench("fetch", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["errors_by_name"]["CRC_MISMATCH"], 1, "{report}");
    // Who does not look does not see.
    assert!(floor.bench("fetch", &["--verify", "offsets"]).status.success());
}

#[test]
fn what_cannot_be_is_said_with_an_exit_code() {
    let floor = Floor::start("codes");
    let missing = floor.bench("fetch", &[]);
    assert_eq!(missing.status.code(), Some(4), "{missing:?}");
    assert!(String::from_utf8_lossy(&missing.stderr).contains("topic t"), "{missing:?}");
    floor.report("produce", &["--records", "10", "--partitions", "2"]);
    let other = floor.bench("produce", &["--records", "10", "--partitions", "3"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&other.stderr).contains("has 2 partitions"), "{other:?}");
    for usage in [
        &["--acks", "2"][..],
        &["--idempotent", "--acks", "1"],
        &["--compression", "rar"],
        &["--rate", "0"],
        &["--batch-bytes", "1x"],
    ] {
        let output = floor.bench("produce", usage);
        assert_eq!(output.status.code(), Some(2), "{usage:?}: {output:?}");
    }
    let small = floor.bench("produce", &["--record-size", "7"]);
    assert_eq!(small.status.code(), Some(2), "{small:?}");
    // Of several addresses one is enough.
    let several = format!("127.0.0.1:1,{}", floor.address);
    let mut bench = Command::new(THALWEG);
    bench.args(["bench", "fetch", "--bootstrap", &several, "--topic", "t"]);
    let several = limited::output(&mut bench);
    let text = String::from_utf8_lossy(&several.stdout).into_owned();
    assert!(several.status.success() && text.contains("\nbroker 1: "), "{several:?}");
    let mut nobody = Command::new(THALWEG);
    nobody.args(["bench", "produce", "--bootstrap", "127.0.0.1:1", "--records", "1"]);
    let nobody = limited::output(&mut nobody);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("127.0.0.1:1"), "{nobody:?}");
    let run = |words: &[&str], bootstrap: &str| {
        let mut bench = Command::new(THALWEG);
        bench.arg("bench").args(words).env("THALWEG_BOOTSTRAP", bootstrap);
        limited::output(&mut bench)
    };
    let found = run(&["fetch", "--topic", "t"], &floor.address);
    assert!(found.status.success(), "{found:?}");
    for words in [&["fetch"][..], &["group"], &["client", "poll", "--records", "1"]] {
        let output = run(words, "127.0.0.1:1");
        assert_eq!(output.status.code(), Some(1), "{words:?}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("127.0.0.1:1"), "{output:?}");
        assert_eq!(run(words, "nowhere").status.code(), Some(2), "{words:?}");
    }
    let no_payload = ["client", "write", "--records", "1", "--payload", "/nowhere"];
    assert_eq!(run(&no_payload, &floor.address).status.code(), Some(4));
}

/// A disk without room, as `/dev/full` is one.
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let floor = Floor::start("full");
    floor.report("produce", &["--records", "10"]);
    let fetch = ["bench", "fetch", "--topic", "t", "--bootstrap", &floor.address];
    for words in [&["completions", "bash"][..], &fetch] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(THALWEG);
        command.args(words).stdout(full).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let _limited = Limited::new(&child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("cannot write the output"), "{said}");
    }
}

/// A bench in the background, and how it ended.
struct Running(Child, Limited);

impl Running {
    /// Begins, and waits until there are records of every partition, and most of them acknowledged.
    fn start(bootstrap: &str, command: &str, topic: &str, options: &[&str]) -> Running {
        let mut bench = Command::new(THALWEG);
        bench.args(["bench", command, "-b", bootstrap, "--json", "--topic", topic]);
        bench.args(options).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = bench.spawn().unwrap();
        let limited = Limited::new(&child);
        ok(bootstrap, &["consume", topic, "-o", "beginning", "-c", "100"]);
        Running(child, limited)
    }

    fn report(self) -> Value {
        let output = self.0.wait_with_output().unwrap();
        drop(self.1);
        let report = serde_json::from_slice(&output.stdout);
        report.unwrap_or_else(|_| panic!("{output:?}"))
    }
}

/// A command on a cluster that must end well.
fn ok(bootstrap: &str, args: &[&str]) {
    let output = limited::output(Command::new(THALWEG).args(args).args(["-b", bootstrap]));
    assert!(output.status.success(), "{args:?}: {output:?}");
}

#[test]
fn a_run_goes_on_where_leaders_move_and_brokers_end() {
    let Some(builder) = Kafka::builder() else { return };
    let mut kafka = builder
        .nodes(1)
        .brokers(2)
        .config("broker.session.timeout.ms", 3_000)
        .config("broker.heartbeat.interval.ms", 500)
        .config("auto.leader.rebalance.enable", false)
        .start();
    let all = kafka.bootstrap(Kafka::INTERNAL);
    ok(&all, &["topic", "create", "moved", "--replica-assignment", "2:3,3:2"]);
    ok(&all, &["topic", "create", "lost", "--replica-assignment", "3:2,2:3,3:2,2:3"]);
    let broker = |report: &Value, id: &str, name: &str| {
        report["by_broker"][id][name].as_u64().unwrap_or_else(|| panic!("{name} of {id}: {report}"))
    };

    // Both partitions are led by 2, then by 3: whoever wrote and read there goes on at the other.
    ok(&all, &["cluster", "reassign", "--partition", "moved:1=2,3"]);
    ok(&all, &["cluster", "elect-leaders", "moved:0", "moved:1"]);
    let options = ["--rate", "200", "--seconds", "6", "--connections", "2", "--record-size", "100"];
    let running = Running::start(&all, "latency", "moved", &options);
    ok(&all, &["cluster", "reassign", "--partition", "moved:0=3,2", "--partition", "moved:1=3,2"]);
    ok(&all, &["cluster", "elect-leaders", "moved:0", "moved:1"]);
    let report = running.report();
    for id in ["2", "3"] {
        assert!(broker(&report, id, "records") > 0, "{report}");
        assert!(report["by_broker"][id]["end_to_end_ms"]["count"].as_u64() > Some(0), "{report}");
    }
    assert!(report["by_broker"]["1"].is_null(), "{report}");
    assert_eq!(sum(&report, "records"), report["records"].as_u64().unwrap());
    assert_eq!(report["end_to_end_ms"]["count"], report["latency_ms"]["count"], "{report}");
    // Each of the records was sent at its time or late, or refused by who did not lead any more.
    let refused = report["errors"].as_u64().unwrap();
    assert_eq!(report["records"].as_u64().unwrap() + sent_and_refused(&report), 1_200, "{report}");
    let names = report["errors_by_name"].as_object().unwrap();
    let is_move = |name: &String| name.contains("LEADER");
    assert!(refused > 0 && names.keys().all(is_move), "{report}");

    // A broker ends without a word.
    let options = ["--rate", "400", "--seconds", "8", "--connections", "4", "--batch-bytes", "1k"];
    let running = Running::start(&all, "produce", "lost", &options);
    kafka.kill(2);
    let report = running.report();
    let names = report["errors_by_name"].as_object().unwrap();
    assert!(names.keys().any(|name| name.starts_with("CONNECTION_")), "{report}");
    assert!(!names.contains_key("NOT_SENT"), "{report}");
    let (other, lost) = (broker(&report, "2", "records"), broker(&report, "3", "records"));
    assert!(lost > 0 && other > 2 * lost, "{report}");
    assert!(broker(&report, "3", "errors") > 0, "{report}");

    // All of it can be read from who is left.
    let mut fetch = Command::new(THALWEG);
    fetch.args(["bench", "fetch", "-b", &all, "--topic", "lost", "--json"]);
    let fetched = limited::output(&mut fetch);
    let read: Value = serde_json::from_slice(&fetched.stdout).unwrap();
    assert!(fetched.status.success(), "{read}");
    assert!(read["records"].as_u64() >= report["records"].as_u64(), "{read} {report}");
}

/// Records of a latency run that were refused, a batch each.
fn sent_and_refused(report: &Value) -> u64 {
    let requests = report["requests"].as_u64().unwrap();
    requests - report["batches"].as_u64().unwrap()
}

/// What `bench client transact` says that it committed is what readers of committed records find.
fn transactions_are_counted(bootstrap: &str) {
    ok(bootstrap, &["topic", "create", "transact", "-p", "4"]);
    let transact = |options: &[&str]| {
        let mut command = Command::new(THALWEG);
        command.args(["bench", "client", "transact", "-b", bootstrap, "--topic", "transact"]);
        limited::output(command.args(["--warmup-seconds", "0.2", "--seconds", "0.5"]).args(options))
    };
    let mut records = 0;
    let shape = ["--records-per-transaction", "12", "--partitions", "4", "--producers", "2"];
    for (rate, plain) in [(false, false), (true, false), (false, true)] {
        let mut options = shape.to_vec();
        options.extend(if rate { ["--rate", "40"].as_slice() } else { &[] });
        options.extend(if plain { ["--plain"].as_slice() } else { &[] });
        let output = transact(&options);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(output.status.success() && report["errors"] == 0, "{output:?}");
        let count =
            |name: &str| report[name].as_u64().unwrap_or_else(|| panic!("{name}: {report}"));
        let all = count("transactions_all");
        assert!(all > 0 && count("transactions") <= all && count("aborted") == 0, "{report}");
        if rate {
            // One of each 50 ms of 0.7 s for each of the two, begun late or not.
            assert!(all <= 28, "{report}");
        }
        let asked = report["coordinator_requests_per_transaction"].as_f64();
        assert_eq!(
            asked.is_some_and(|asked| asked > 0.0),
            !plain && count("transactions") > 0,
            "{report}"
        );
        records += 12 * all;
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let mut consume = Command::new(THALWEG);
        consume.args(["consume", "transact", "-o", "beginning", "-e", "-f", ".", "-b", bootstrap]);
        let read = limited::output(consume.args(["--isolation", "read_committed"])).stdout.len();
        if read as u64 == records {
            break;
        }
        // The last markers may be missing.
        assert!((read as u64) < records && Instant::now() < deadline, "{read} of {records}");
    }
    let polled = limited::output(Command::new(THALWEG).args([
        "bench",
        "client",
        "poll",
        "-b",
        bootstrap,
        "--topic",
        "transact",
        "--isolation",
        "read_committed",
        "--records",
        &records.to_string(),
    ]));
    assert!(polled.status.success(), "{polled:?}");
    for (options, code) in
        [(["--partitions", "5"], 1), (["--records-per-transaction", "0"], 2), (["--rate", "0"], 2)]
    {
        let refused = transact(&options);
        assert_eq!(refused.status.code(), Some(code), "{refused:?}");
    }
    assert_eq!(
        transact(&["--partitions", "4", "--records-per-transaction", "3"]).status.code(),
        Some(2)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_of_this_broker_are_counted() {
    let broker = TestBroker::start().await;
    let bootstrap = broker.bootstrap();
    tokio::task::spawn_blocking(move || transactions_are_counted(&bootstrap)).await.unwrap();
    broker.shut_down().await;
}

#[test]
fn transactions_of_kafka_are_counted() {
    let Some(kafka) = Shared::get() else { return };
    transactions_are_counted(kafka.bootstrap());
}
