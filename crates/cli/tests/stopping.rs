//! How `thalweg consume` and `thalweg produce` end: by signals, and with readers of their output that
//! are gone or slow. A member that ends leaves its group, and commits what it wrote.

use crate::limited::RunningCommand;
use crate::records::Broker;

use std::io::{BufRead, Read};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const TOPIC: [&str; 3] = ["topic", "create", "t"];
const MEMBER: [&str; 6] = ["consume", "t", "-G", "g", "-o", "beginning"];

fn broker(name: &str, input: &str) -> Broker {
    let broker = Broker::start(name);
    broker.ok(&[&TOPIC[..], &["-p", "1"]].concat(), "");
    broker.ok(&["produce", "t"], input);
    broker
}

/// A command of which all output is read.
struct Reader(RunningCommand);

impl Reader {
    fn of(command: &mut Command) -> Reader {
        Reader(RunningCommand::start(command.stderr(Stdio::piped())))
    }

    fn lines(&mut self, count: usize) -> Vec<String> {
        (0..count)
            .map(|_| {
                let mut line = String::new();
                self.0.stdout.read_line(&mut line).unwrap();
                line.trim_end().to_owned()
            })
            .collect()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0.child), signal).unwrap();
    }

    /// Waits for the end, with the output open; the exit code, and what was said.
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.0.child.wait().unwrap().code();
        let mut said = String::new();
        self.0.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (code, said)
    }

    /// Reads no more, and waits for the end.
    fn close(self) -> (Option<i32>, String) {
        let RunningCommand { mut child, stdout, _limited } = self.0;
        drop(stdout);
        let code = child.wait().unwrap().code();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (code, said)
    }
}

/// What the group has committed; it has no members.
#[track_caller]
fn committed(broker: &Broker) -> i64 {
    let described = broker.ok(&["group", "describe", "g", "--json"], "");
    let described: Value = serde_json::from_str(&described).unwrap();
    assert_eq!(described[0]["members"], json!([]), "{described}");
    described[0]["offsets"][0]["committed"].as_i64().unwrap()
}

#[test]
fn a_closed_pipe_ends_a_member_that_has_nothing_to_write() {
    let broker = broker("closed", "one\ntwo\n");
    let mut member = Reader::of(&mut broker.command(&MEMBER));
    assert_eq!(member.lines(2), ["one", "two"]);
    assert_eq!(member.close(), (Some(0), String::new()));
    assert_eq!(committed(&broker), 2);
}

#[test]
fn a_closed_pipe_ends_a_member_that_writes() {
    const RECORDS: usize = 200_000;
    const PIPE: usize = 64 << 10;
    let line = |n: usize| format!("record number {n:6}");
    let all: Vec<String> = (0..RECORDS).map(line).collect();
    let broker = broker("writing", &(all.join("\n") + "\n"));
    let mut member = Reader::of(&mut broker.command(&MEMBER));
    assert_eq!(member.lines(1), [line(0)]);
    let taken = member.0.stdout.buffer().len();
    assert_eq!(member.close(), (Some(0), String::new()));
    // Records that did not fit the pipe are the group's next ones.
    let most = (taken + PIPE) / line(0).len() + 1;
    let next = usize::try_from(committed(&broker)).unwrap();
    assert!((1..=most).contains(&next), "{next} of {most}");
    let rest = broker.ok(&[&MEMBER[..], &["-e"]].concat(), "");
    assert!(rest.lines().eq(all[next..].iter()), "from {:?}", rest.lines().next());
}

#[test]
fn sighup_ends_a_member_as_sigterm_does() {
    for (name, signal) in [("hup", Signal::HUP), ("term", Signal::TERM), ("int", Signal::INT)] {
        let broker = broker(name, "one\ntwo\n");
        let mut member = Reader::of(&mut broker.command(&MEMBER));
        assert_eq!(member.lines(2), ["one", "two"]);
        member.signal(signal);
        assert_eq!(member.end(), (Some(0), String::new()), "{name}");
        assert_eq!(committed(&broker), 2, "{name}");
    }
}

/// `nohup` does this.
#[test]
fn sighup_that_the_parent_ignores_ends_nothing() {
    let broker = broker("nohup", "one\n");
    let member = broker.command(&MEMBER);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(member.get_program());
    let mut member = Reader::of(shell.args(member.get_args()).stdin(Stdio::null()));
    assert_eq!(member.lines(1), ["one"]);
    member.signal(Signal::HUP);
    broker.ok(&["produce", "t"], "two\n");
    assert_eq!(member.lines(1), ["two"]);
    member.signal(Signal::TERM);
    assert_eq!(member.end(), (Some(0), String::new()));
    assert_eq!(committed(&broker), 2);
}

#[test]
fn a_signal_ends_a_member_whose_output_is_not_read() {
    let line = "x".repeat(1_000);
    let broker = broker("blocked", &format!("{line}\n").repeat(1_000));
    let mut member = Reader::of(&mut broker.command(&MEMBER));
    assert_eq!(member.lines(1), [line]);
    member.signal(Signal::TERM);
    let (code, said) = member.end();
    assert_eq!((code, said.as_str()), (Some(0), "warning: stopped before all output was read\n"));
    // The pipe takes 64 KiB.
    let next = committed(&broker);
    assert!((0..=80).contains(&next), "{next}");
}

#[test]
fn sighup_aborts_what_produce_has_open() {
    let broker = broker("aborts", "one\n");
    let mut command = broker.command(&["produce", "t", "--transaction"]);
    let mut producer = Reader::of(command.stdin(Stdio::piped()));
    let mut stdin = producer.0.child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"two\n").unwrap();
    let list = ["transactions", "list", "--state", "Ongoing", "--json"];
    while broker.ok(&list, "").trim() == "[]" {}
    producer.signal(Signal::HUP);
    let (code, said) = producer.end();
    assert!(code == Some(1) && said.contains("nothing is committed"), "{code:?} {said}");
    assert_eq!(broker.ok(&list, "").trim(), "[]");
    drop(stdin);
}
