//! `thalweg produce` and `thalweg consume` against `thalweg serve`, each in a process of its own.

use crate::limited;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use thalweg::{Admin, AdminConfig, Cluster, Options, TopicPartition};

use limited::Limited;

pub const THALWEG: &str = env!("CARGO_BIN_EXE_thalweg");

/// A broker in a process of its own, with its directory.
pub struct Broker {
    child: Child,
    address: String,
    dir: PathBuf,
}

impl Broker {
    pub fn start(name: &str) -> Broker {
        let dir =
            std::env::temp_dir().join(format!("thalweg-records-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let (child, address) = Broker::serve(&dir, "127.0.0.1:0");
        Broker { child, address, dir }
    }

    fn serve(dir: &Path, listen: &str) -> (Child, String) {
        let mut child = Command::new(THALWEG)
            .args(["serve", "--listen", listen, "--log-level", "error"])
            .args(["--set", "num.partitions=3", "--data"])
            .arg(dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let _limited = Limited::new(&child);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("PLAINTEXT://").nth(1).unwrap().split(' ').next().unwrap();
        (child, address.trim().to_owned())
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// At the same address, with the same data, after [`Broker::kill`].
    pub fn start_again(&mut self) {
        (self.child, self.address) = Broker::serve(&self.dir, &self.address);
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(THALWEG);
        command.args(words).args(["-b", &self.address]).stdin(Stdio::null());
        command
    }

    /// Runs a command with `input` on its standard input.
    fn run(&self, words: &[&str], input: &str) -> Output {
        let mut child = self
            .command(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _limited = Limited::new(&child);
        let mut stdin = child.stdin.take().unwrap();
        let bytes = input.as_bytes().to_vec();
        // It may end without reading all of it.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }

    /// Runs a command that must end well; what it printed.
    pub fn ok(&self, words: &[&str], input: &str) -> String {
        let output = self.run(words, input);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {} {stderr}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must fail; its exit code and what it said.
    fn fails(&self, words: &[&str], input: &str) -> (i32, String) {
        let output = self.run(words, input);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn lines_go_in_and_come_out() {
    let broker = Broker::start("lines");
    broker.ok(&["produce", "t", "-p", "1"], "one\ntwo\n\nfour");
    assert_eq!(broker.ok(&["consume", "t", "-o", "beginning", "-e"], ""), "one\ntwo\n\nfour\n");
    // Places, and where to stop.
    let consume = |words: &[&str]| broker.ok(&[&["consume", "t", "-p", "1"], words].concat(), "");
    assert_eq!(consume(&["-o", "-2", "-e"]), "\nfour\n");
    assert_eq!(consume(&["-o", "1", "-c", "1"]), "two\n");
    assert_eq!(consume(&["-o", "beginning", "--until", "2"]), "one\ntwo\n");
    assert_eq!(consume(&["-o", "@-1h", "-e"]), "one\ntwo\n\nfour\n");
    assert_eq!(consume(&["-o", "0", "--until", "2", "-e"]), "one\ntwo\n");
    assert_eq!(consume(&["-o", "0", "--until", "99", "-e"]), "one\ntwo\n\nfour\n");
    assert_eq!(consume(&["-o", "@2001-01-31T12:00", "-e"]), "one\ntwo\n\nfour\n");
    assert_eq!(consume(&["-o", "0", "--until", "@2001-01-31", "-e"]), "");
    assert_eq!(consume(&["-o", "end", "-e"]), "");
    assert_eq!(consume(&["-o", "beginning", "-e", "-D", "\\x00;"]), "one\0;two\0;\0;four\0;");
    let format = "%t %p %o %k %K %s %S %h%%\\n";
    let expected = "t 1 0 NULL -1 one 3 %\nt 1 1 NULL -1 two 3 %\n";
    assert_eq!(consume(&["-o", "0", "-c", "2", "-f", format]), expected);
}

#[test]
fn keys_headers_nulls_and_timestamps() {
    let broker = Broker::start("keys");
    let produce =
        ["produce", "t", "-K", ":", "-Z", "-p", "0", "-H", "a=1", "-H", "b=", "-z", "lz4"];
    broker.ok(&[&produce[..], &["--timestamp", "1234"]].concat(), "k:v\nno key\n:\nx:y:z\n");
    let format = "%k=%s,%S,%T,%h|";
    let printed = broker.ok(&["consume", "t", "-p", "0", "-o", "0", "-e", "-f", format], "");
    let expected = "k=v,1,1234,a=1,b=|NULL=no key,6,1234,a=1,b=|NULL=NULL,-1,1234,a=1,b=|\
                    x=y:z,3,1234,a=1,b=|";
    assert_eq!(printed, expected);
    assert_eq!(
        broker.ok(&["consume", "t", "-o", "0", "-e", "-K", "->", "-Z", "<null>"], ""),
        "k->v\n<null>->no key\n<null>-><null>\nx->y:z\n"
    );
    // The same keys go where Java's producer puts them.
    broker.ok(&["produce", "keyed", "-K", ":"], "a:1\nb:2\nc:3\nd:4\n");
    let placed = broker.ok(&["consume", "keyed", "-o", "0", "-e", "-f", "%k%p\\n"], "");
    assert_eq!(sorted(&placed), ["a1", "b2", "c1", "d2"]);
}

#[test]
fn json_goes_out_and_in_again_without_a_loss() {
    let broker = Broker::start("json");
    let lines = [
        r#"{"key":"k","payload":"v","headers":["h","1","n",null],"ts":77,"partition":2}"#,
        r#"{"payload":{"a":1},"partition":1}"#,
        r#"{"key":"AP8=","key_encoding":"base64","payload":null,"partition":0}"#,
    ];
    broker.ok(&["produce", "a", "--json", "--keep-partitions"], &lines.join("\n"));
    let first = broker.ok(&["consume", "a", "-o", "beginning", "-e", "--json"], "");
    broker.ok(&["produce", "b", "--json", "--keep-partitions"], &first);
    let second = broker.ok(&["consume", "b", "-o", "beginning", "-e", "--json"], "");
    assert_eq!(sorted(&first.replace("\"a\"", "\"b\"")), sorted(&second));
    let records: Vec<Value> =
        sorted(&first).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 3);
    assert_eq!(records[0]["key_encoding"], "base64");
    assert_eq!(records[1]["payload"], "{\"a\":1}");
    assert_eq!(records[2]["headers"], serde_json::json!(["h", "1", "n", null]));
    assert_eq!(records[2]["ts"], 77);
    // A line that is none does not keep the others from being written.
    let (code, said) = broker.fails(&["produce", "a", "--json"], "{\"payload\":\"x\"}\nnonsense\n");
    assert_eq!(code, 3);
    assert!(said.contains("record 2:") && said.contains("1 of 2 records"), "{said}");
}

#[test]
fn a_line_that_is_too_long_does_not_keep_the_others_from_being_written() {
    let broker = Broker::start("long");
    let long = "x".repeat(3_000_000);
    let produce = ["produce", "t", "-p", "0"];
    let (code, said) = broker.fails(&produce, &format!("one\n{long}\ntwo\n{long}"));
    assert_eq!(code, 3, "{said}");
    let why = "its 3000000 bytes are too many for max.request.size=1048576";
    for says in [&format!("record 2: {why}"), &format!("record 4: {why}"), "2 of 4 records"] {
        assert!(said.contains(says), "{said}");
    }
    let path = broker.dir.join("long");
    std::fs::write(&path, &long).unwrap();
    let file = [&produce[..], &["--file", path.to_str().unwrap()]].concat();
    let (code, said) = broker.fails(&file, "");
    assert!(code == 1 && said.contains(&format!("record 1: {why}")), "{code} {said}");
    // What is less when it is sent is not counted before.
    let bytes = vec![0xff; 1_000_000];
    std::fs::write(&path, &bytes).unwrap();
    broker.ok(&file, "");
    let json = broker.ok(&["consume", "t", "-p", "0", "-o", "beginning", "-e", "--json"], "");
    assert!(json.len() > 1_300_000);
    broker.ok(&["produce", "copy", "--json"], &json);
    let sizes = ["consume", "copy", "-o", "beginning", "-e", "-f", "%S\\n"];
    assert_eq!(sorted(&broker.ok(&sizes, "")), ["1000000", "3", "3"]);
}

#[test]
fn files_are_records() {
    let broker = Broker::start("files");
    let path = broker.dir.join("picture");
    std::fs::write(&path, "a\nb\n").unwrap();
    let path = path.to_str().unwrap();
    broker.ok(&["produce", "t", "-k", "logo", "--file", path, path, "-p", "0"], "");
    broker.ok(&["produce", "t", path, "-p", "0"], "");
    let printed = broker.ok(&["consume", "t", "-o", "0", "-e", "-f", "%k:%s;"], "");
    assert_eq!(printed, "logo:a\nb\n;logo:a\nb\n;NULL:a;NULL:b;");
}

#[test]
fn a_group_goes_on_where_it_was() {
    let broker = Broker::start("group");
    let all: String = (0..1_000).map(|n| format!("{n}\n")).collect();
    broker.ok(&["produce", "t"], &all);
    let consume = ["consume", "t", "-G", "g", "-o", "beginning"];
    let mut seen = broker.ok(&[&consume[..], &["-c", "400"]].concat(), "");
    assert_eq!(seen.lines().count(), 400);
    let rest = broker.ok(&[&consume[..], &["-e", "-X", "group.protocol=classic"]].concat(), "");
    assert_eq!(rest.lines().count(), 600);
    seen.push_str(&rest);
    assert_eq!(sorted(&seen), sorted(&all));
}

#[test]
fn a_member_without_partitions_waits_for_some() {
    let broker = Broker::start("idle");
    broker.ok(&["topic", "create", "t", "-p", "1"], "");
    broker.ok(&["produce", "t"], "one\n");
    // Who has it keeps it.
    let sticky = "partition.assignment.strategy=cooperative-sticky";
    let consume = ["consume", "t", "-G", "g", "-o", "beginning", "-X", sticky];
    let member = |more: &[&str]| {
        let mut command = broker.command(&[&consume[..], more].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut first = member(&[]);
    let first_limit = Limited::new(&first);
    let mut line = String::new();
    BufReader::new(first.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "one\n");
    let mut second = member(&["-e"]);
    let _second_limit = Limited::new(&second);
    let said = BufReader::new(second.stderr.as_mut().unwrap());
    let mut said = said.lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("no partition")), "it says nothing of that");
    assert_eq!(second.try_wait().unwrap(), None);
    // The first one commits, and leaves; now there is a partition, and its end.
    kill_process(Pid::from_child(&first), Signal::TERM).unwrap();
    assert!(first.wait().unwrap().success());
    drop(first_limit);
    let output = second.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
}

/// The commit cannot be made, and the group cannot be left: neither is waited for as long as a call may take
/// (`default.api.timeout.ms`, a minute).
#[test]
fn member_ends_in_seconds_by_sigterm_if_broker_is_gone() {
    let mut broker = Broker::start("gone");
    broker.ok(&["produce", "t", "-p", "0"], "one\n");
    let mut command = broker.command(&["consume", "t", "-G", "g", "-o", "beginning"]);
    let mut member = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _limited = Limited::new(&member);
    let mut line = String::new();
    BufReader::new(member.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "one\n");
    broker.child.kill().unwrap();
    broker.child.wait().unwrap();
    kill_process(Pid::from_child(&member), Signal::TERM).unwrap();
    let output = member.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("timed out after 5000 ms"), "{said}");
}

#[test]
fn what_was_not_printed_is_not_committed() {
    let broker = Broker::start("until");
    let lines = |from: u32| (from..from + 50).map(|n| format!("{n}\n")).collect::<String>();
    broker.ok(&["produce", "t", "-p", "0", "--timestamp", "1000"], &lines(0));
    broker.ok(&["produce", "t", "-p", "0", "--timestamp", "2000"], &lines(50));
    let consume = ["consume", "t", "-G", "g", "-o", "beginning"];
    let until = [&consume[..], &["--until", "@1500"]].concat();
    assert_eq!(broker.ok(&until, ""), lines(0));
    // Looking at it from elsewhere does not move the group.
    let look = ["consume", "t", "-o", "beginning", "-c", "3", "-X", "group.id=g"];
    assert_eq!(broker.ok(&look, ""), "0\n1\n2\n");
    assert_eq!(broker.ok(&[&consume[..], &["-e"]].concat(), ""), lines(50));
}

#[test]
fn what_is_typed_is_sent_at_once() {
    let broker = Broker::start("typed");
    let mut producer =
        broker.command(&["produce", "t", "-p", "0"]).stdin(Stdio::piped()).spawn().unwrap();
    let _limited = Limited::new(&producer);
    let mut stdin = producer.stdin.take().unwrap();
    stdin.write_all(b"first\n").unwrap();
    let mut consumer = broker.command(&["consume", "t", "-p", "0", "-o", "beginning"]);
    consumer.stdout(Stdio::piped()).stderr(Stdio::null());
    // The topic is made by the first record.
    let begun = Instant::now();
    let (mut child, mut lines, _limit) = loop {
        let mut child = consumer.spawn().unwrap();
        let limit = Limited::new(&child);
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        if line == "first\n" {
            break (child, lines, limit);
        }
        child.wait().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60), "'{line}'");
    };
    stdin.write_all(b"second\n").unwrap();
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "second\n");
    drop(stdin);
    assert!(producer.wait().unwrap().success());
    // Nobody reads any more: no reason to complain.
    drop(lines);
    broker.ok(&["produce", "t", "-p", "0"], &"x\n".repeat(100_000));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_cannot_be_done_is_said() {
    let broker = Broker::start("wrong");
    broker.ok(&["produce", "t"], "x\n");
    let cases: [(&[&str], i32, &str); 12] = [
        (&["consume", "t", "-e", "--json", "-K", ":"], 2, "cannot be used with"),
        (&["consume", "t", "--until", "stored"], 2, "where to begin"),
        (&["config", "alter", "broker", "--set", "a=b"], 2, "--all-brokers"),
        (&["consume", "nothing", "-e"], 4, "topic nothing"),
        (&["consume", "t", "-p", "7", "-e"], 4, "no partition 7"),
        (&["consume", "t", "-o", "somewhere"], 2, "no place"),
        (&["consume", "t", "-f", "%z"], 2, "%z means nothing"),
        (&["consume", "t", "-o", "stored"], 2, "--group"),
        (&["consume", "^t"], 2, "--group"),
        (&["produce", "t", "-p", "7"], 1, "3 partitions"),
        (&["produce", "t", "/nowhere"], 4, "/nowhere"),
        (&["produce", "t", "-z", "brotli"], 2, "brotli"),
    ];
    for (words, expected, text) in cases {
        let (code, said) = broker.fails(words, "x\n");
        assert_eq!(code, expected, "{words:?}: {said}");
        assert!(said.contains(text), "{words:?}: {said}");
    }
    let mut unreachable = Command::new(THALWEG);
    unreachable.args(["consume", "t", "-e", "-b", "127.0.0.1:1", "--timeout", "2"]);
    let unreachable = limited::output(&mut unreachable);
    assert_eq!(unreachable.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unreachable.stderr).contains("127.0.0.1:1"));
}

/// Deletes the records of a partition before an offset.
fn delete_before(address: &str, partition: TopicPartition, offset: i64) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let cluster = Cluster::connect(address, Options::default()).await.unwrap();
        let admin = Admin::new(cluster, AdminConfig::default());
        for (_, deleted) in admin.delete_records([(partition, offset)]).await {
            deleted.unwrap();
        }
    });
}

#[test]
fn consume_tells_of_offsets_that_the_log_does_not_have() {
    let broker = Broker::start("resets");
    let lines = "0\n1\n2\n3\n4\n5\n6\n7\n";
    broker.ok(&["produce", "t", "-p", "0"], lines);
    delete_before(&broker.address, TopicPartition::new("t", 0), 5);
    let consume = |words: &[&str]| {
        let output = broker.run(&[&["consume", "t", "-p", "0", "-e"], words].concat(), "");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let begins = "t-0: the log begins at 5; reading begins there, not at 3";
    let (code, out, told) = consume(&["-o", "3"]);
    assert_eq!((code, &*out), (0, "5\n6\n7\n"));
    assert!(told.contains(begins), "{told}");
    let (code, out, told) = consume(&["-o", "3", "--strict-offsets"]);
    assert_eq!((code, &*out), (1, ""));
    assert!(told.contains(begins), "{told}");
    let (code, out, told) = consume(&["-o", "99"]);
    assert_eq!((code, &*out), (0, ""));
    assert!(told.contains("t-0: the log ends at 8; reading begins there, not at 99"), "{told}");
    // What is set decides: the client moves, and that is told as well.
    let earliest = ["-X", "auto.offset.reset=earliest"];
    let (code, out, told) = consume(&[&["-o", "3"], &earliest[..]].concat());
    assert_eq!((code, &*out), (0, "5\n6\n7\n"));
    assert!(told.contains("t-0: position reset from 3 to 5"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    let (code, out, told) = consume(&[&["-o", "3", "--strict-offsets"], &earliest[..]].concat());
    assert_eq!((code, &*out), (1, ""));
    assert!(told.contains("t-0: position reset from 3 to 5"), "{told}");
    let (code, out, told) = consume(&["-o", "5", "--strict-offsets"]);
    assert_eq!((code, &*out, &*told), (0, "5\n6\n7\n", ""));
}
