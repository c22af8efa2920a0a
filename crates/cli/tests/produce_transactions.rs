//! `thalweg produce` in transactions, and `thalweg consume --isolation`, against the broker in this process and
//! Apache Kafka's.

use crate::limited::{Ended, Limited};

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use thalweg_testkit::TestBroker;
use thalweg_testkit::kafka::Kafka;

const THALWEG: &str = env!("CARGO_BIN_EXE_thalweg");
const WAIT: Duration = Duration::from_secs(60);
/// How often a coordinator looks for transactions that take too long.
const CLEANUP: &str = "transaction.abort.timed.out.transaction.cleanup.interval.ms";

struct Bench {
    bootstrap: String,
}

/// A command that is under way, with its input.
struct Running {
    child: Child,
    stdin: ChildStdin,
    _limited: Limited,
}

impl Running {
    fn write(&mut self, text: &str) {
        self.stdin.write_all(text.as_bytes()).unwrap();
    }

    /// Presses Ctrl-C.
    fn interrupt(self) -> Ended {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        // Its input stays open until it has ended.
        let output = self.child.wait_with_output().unwrap();
        drop(self.stdin);
        Ended::of(output)
    }

    /// Ends the input.
    fn end(self) -> Ended {
        drop(self.stdin);
        Ended::of(self.child.wait_with_output().unwrap())
    }
}

impl Bench {
    fn begin(&self, words: &[&str]) -> Running {
        let mut child = Command::new(THALWEG)
            .args(words)
            .env("THALWEG_BOOTSTRAP", &self.bootstrap)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _limited = Limited::new(&child);
        let stdin = child.stdin.take().unwrap();
        Running { child, stdin, _limited }
    }

    fn run(&self, words: &[&str], input: &str) -> Ended {
        let mut running = self.begin(words);
        // It may end without reading all of it.
        let _ = running.stdin.write_all(input.as_bytes());
        running.end()
    }

    fn produce(&self, words: &[&str], input: &str) -> Ended {
        self.run(&[&["produce", "t"], words].concat(), input)
    }

    /// Waits until all there is, on one line, is this: a commit is decided before its markers are written.
    #[track_caller]
    fn reads(&self, isolation: &str, expected: &str) {
        self.comes_to(&["-o", "beginning", "--isolation", isolation], expected);
    }

    #[track_caller]
    fn comes_to(&self, words: &[&str], expected: &str) {
        let deadline = Instant::now() + WAIT;
        loop {
            let consume = ["consume", "t", "-e", "-D", " "];
            let read = self.run(&[&consume[..], words].concat(), "").ok();
            if read.trim_end() == expected {
                return;
            }
            assert!(Instant::now() < deadline, "'{read}' instead of '{expected}'");
        }
    }

    /// Waits until a reader of everything has read something.
    fn until_sent(&self, last: &str) {
        let consume = ["consume", "t", "-o", "beginning", "--isolation", "read_uncommitted"];
        let mut reader = self.begin(&consume);
        let lines = BufReader::new(reader.child.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == last), "{last} was not sent");
        assert_eq!(reader.interrupt().code, 0);
    }

    fn until_state(&self, id: &str, state: &str) {
        let deadline = Instant::now() + WAIT;
        loop {
            let described = self.run(&["transactions", "describe", id, "--json"], "").ok();
            let described: Value = serde_json::from_str(&described).unwrap();
            if described[0]["state"] == state {
                return;
            }
            assert!(Instant::now() < deadline, "{described} instead of {state}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// All of it, on a cluster of one broker.
fn everything(bootstrap: String) {
    let bench = Bench { bootstrap };
    bench.run(&["topic", "create", "t", "-p", "1"], "").ok();
    whole(&bench);
    open_and_aborted(&bench);
    parts(&bench);
    ended_by_others(&bench);
    wrong_usage(&bench);
}

fn whole(bench: &Bench) {
    let committed = bench.produce(&["--transaction"], "a\nb").ok();
    assert_eq!(committed, "2 records committed in 1 transaction\n");
    assert_eq!(
        bench.produce(&["--transaction"], "").ok(),
        "0 records committed in 0 transactions\n"
    );
    assert_eq!(bench.produce(&["--transaction", "-q", "-c", "1"], "c\nd\n").ok(), "");
    // One record that cannot be written: none is.
    let long = format!("{}\nx\n", "x".repeat(2_000_000));
    let says = "record 1: its 2000000 bytes are too many for max.request.size=1048576; nothing is committed";
    assert_eq!(bench.produce(&["--transaction"], &long).fails(1, says), "");
    let says = "record 1: t-9: the topic has 1 partitions; nothing is committed";
    bench.produce(&["--transaction", "-p", "9"], "x").fails(1, says);
    bench.reads("read_committed", "a b c");
}

/// What readers see of them, and where the end is.
fn open_and_aborted(bench: &Bench) {
    let mut open = bench.begin(&["produce", "t", "--transaction"]);
    open.write("gone\n");
    bench.until_sent("gone");
    // There is more, but the last stable offset is where the transaction begins.
    bench.produce(&[], "behind").ok();
    bench.reads("read_committed", "a b c");
    bench.reads("read_uncommitted", "a b c gone behind");
    open.interrupt().fails(1, "error: stopped before the input ended; nothing is committed");
    bench.reads("read_committed", "a b c behind");
    // Places are offsets, those of aborted records and of markers too.
    let by_property = |level: &str, expected: &str| {
        bench.comes_to(&["-o", "-3", "-X", &format!("isolation.level={level}")], expected);
    };
    by_property("read_uncommitted", "gone behind");
    by_property("read_committed", "behind");
    // The last that is there was aborted: readers find the end all the same.
    let mut open = bench.begin(&["produce", "t", "--transaction"]);
    open.write("gone too\n");
    bench.until_sent("gone too");
    open.interrupt().fails(1, "nothing is committed");
    bench.reads("read_committed", "a b c behind");
    let group = ["-G", "g", "-o", "beginning", "--isolation", "read_committed"];
    bench.comes_to(&group, "a b c behind");
}

/// Several transactions of one input.
fn parts(bench: &Bench) {
    let json = ["--transaction-records", "2", "--transactional-id", "parts", "--json"];
    let tally = |out: &str| serde_json::from_str::<Value>(out).unwrap();
    let of = |transactions: u64, committed: u64, aborted: u64| {
        json!({
            "transactional_id": "parts",
            "transactions_committed": transactions,
            "records_committed": committed,
            "records_aborted": aborted,
            "records_in_doubt": 0,
        })
    };
    let line = |payload: u32| format!("{{\"payload\":\"{payload}\"}}\n");
    let five: String = (1..=5).map(line).collect();
    assert_eq!(tally(&bench.produce(&json, &five).ok()), of(3, 5, 0));
    // Nothing goes on behind what is aborted.
    let says = "error: record 4: expected ident at line 1 column 2; 2 records committed in 1 transaction: \
                the first of the input; nothing behind them is";
    let broken = format!("{}{}{}nonsense\n{five}", line(6), line(7), line(8));
    assert_eq!(tally(&bench.produce(&json, &broken).fails(3, says)), of(1, 2, 1));
    bench.reads("read_committed", "a b c behind 1 2 3 4 5 6 7");
    // By time, whatever comes; a Ctrl-C with nothing open is an end like any other.
    let mut timed = bench.begin(&["produce", "t", "--transaction-interval", "50ms"]);
    timed.write("tick\n");
    bench.reads("read_committed", "a b c behind 1 2 3 4 5 6 7 tick");
    assert_eq!(timed.interrupt().ok(), "1 record committed in 1 transaction\n");
    // The id by its property.
    let named = bench.produce(&["-X", "transactional.id=named"], "last").ok();
    assert_eq!(named, "1 record committed in 1 transaction\n");
    bench.until_state("named", "CompleteCommit");
}

/// By another producer, and by the coordinator.
fn ended_by_others(bench: &Bench) {
    let mut first = bench.begin(&["produce", "t", "--transactional-id", "same"]);
    first.write("fenced\n");
    bench.until_sent("fenced");
    bench.produce(&["--transactional-id", "same"], "second").ok();
    first.end().fails(1, "error: fenced: another producer has taken over transactional id same");
    let late = ["produce", "t", "--transaction", "-X", "transaction.timeout.ms=1000"];
    let mut late = bench.begin(&[&late[..], &["-X", "transactional.id=late"]].concat());
    late.write("late\n");
    bench.until_sent("late");
    bench.until_state("late", "CompleteAbort");
    late.end().fails(1, "longer than transaction.timeout.ms=1000");
    bench.reads("read_committed", "a b c behind 1 2 3 4 5 6 7 tick last second");
    let long = ["--transaction", "-X", "transaction.timeout.ms=90000000"];
    bench
        .produce(&long, "x")
        .fails(1, "transaction.timeout.ms=90000000 is more than the brokers allow");
}

fn wrong_usage(bench: &Bench) {
    let file = std::env::temp_dir().join(format!("thalweg-transactional-{}", std::process::id()));
    std::fs::write(&file, "transactional.id=filed\nisolation.level=read_committed\n").unwrap();
    let path = file.to_str().unwrap();
    let cases: [(&[&str], &str); 8] = [
        (&["--transaction", "--transaction-records", "2"], "cannot be used with"),
        (&["--transaction-records", "0"], "invalid value '0'"),
        (&["--transaction-interval", "0ms"], "must be above 0"),
        (&["--transactional-id", ""], "value is required"),
        (&["--transactional-id", "a", "-X", "transactional.id=b"], "is not -X transactional.id=b"),
        (&["--transaction", "--acks", "1"], "need acks=all"),
        (&["--transaction", "-X", "enable.idempotence=false"], "enable.idempotence"),
        (&["--command-config", path], "the property file has transactional.id=filed"),
    ];
    for (words, says) in cases {
        let ended = bench.produce(words, "x");
        assert!(ended.code == 2 && ended.err.contains(says), "{words:?}: {ended:?}");
    }
    bench.produce(&["--command-config", path, "--transaction", "-q"], "filed").ok();
    bench.until_state("filed", "CompleteCommit");
    let consume = ["consume", "t", "-e", "--isolation"];
    let consume = |words: &[&str]| bench.run(&[&consume[..], words].concat(), "");
    let other = ["read_committed", "-X", "isolation.level=read_uncommitted"];
    consume(&other)
        .fails(2, "--isolation read_committed is not -X isolation.level=read_uncommitted");
    consume(&["read_uncommitted", "--command-config", path]).ok();
    let ended = consume(&["serializable"]);
    assert!(ended.code == 2 && ended.err.contains("invalid value 'serializable'"), "{ended:?}");
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn written_and_read_with_this_broker() {
    let broker = TestBroker::builder().config(CLEANUP, 200).start().await;
    let bootstrap = broker.bootstrap();
    tokio::task::spawn_blocking(move || everything(bootstrap)).await.unwrap();
    broker.shut_down().await;
}

#[test]
fn written_and_read_with_kafka() {
    let Some(builder) = Kafka::builder() else { return };
    let mut kafka = builder
        .config(CLEANUP, 200)
        .config("transaction.state.log.num.partitions", 4)
        .config("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")
        .config("allow.everyone.if.no.acl.found", true)
        .start();
    let bootstrap = kafka.bootstrap(Kafka::INTERNAL);
    everything(bootstrap.clone());
    let bench = Bench { bootstrap };
    let deny = ["acl", "deny", "User:ANONYMOUS", "-o", "write", "--transactional-id", "theirs"];
    bench.run(&deny, "").ok();
    let theirs = ["--transactional-id", "theirs"];
    bench.produce(&theirs, "x").fails(1, "not authorised to write with transactional id theirs");
    bench.run(&["topic", "create", "closed", "-p", "1"], "").ok();
    bench.run(&["acl", "deny", "User:ANONYMOUS", "-o", "write", "--topic", "closed"], "").ok();
    let says = "TOPIC_AUTHORIZATION_FAILED; nothing is committed";
    bench.run(&["produce", "closed", "--transaction"], "x").fails(1, says);
    // Nobody answers any more.
    let mut open = bench.begin(&["produce", "t", "--transaction", "--timeout", "3"]);
    open.write("open\n");
    bench.until_sent("open");
    kafka.kill(0);
    let ended = open.end();
    assert!(ended.err.contains("the commit was not over after 3"), "{ended:?}");
    let says = "0 records committed in 0 transactions; of 1 more it is not known";
    ended.fails(1, says);
}
