//! The client's warnings reach stderr: in a pipe and on a terminal, from consumers with and without a
//! group.

use crate::limited::RunningCommand;
use crate::password::Terminal;
use crate::records::Broker;

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

const ASSIGNED: [&str; 4] = ["consume", "t", "-o", "beginning"];
const MEMBER: [&str; 6] = ["consume", "t", "-o", "beginning", "-G", "g"];

/// A command that reads, and stops on SIGTERM with 0.
struct StoppedReader(RunningCommand);

impl StoppedReader {
    fn of(command: &mut Command) -> StoppedReader {
        StoppedReader(RunningCommand::start(command))
    }

    #[track_caller]
    fn prints(&mut self, expected: &str) {
        let mut line = String::new();
        self.0.stdout.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), expected);
    }

    #[track_caller]
    fn stops(mut self) {
        kill_process(Pid::from_child(&self.0.child), Signal::TERM).unwrap();
        assert_eq!(self.0.child.wait().unwrap().code(), Some(0));
    }
}

/// Reads lines up to the first one that has a text.
#[track_caller]
fn find(lines: &mut impl BufRead, text: &str) -> String {
    let mut seen = Vec::new();
    for line in lines.lines().map_while(Result::ok) {
        if line.contains(text) {
            return line;
        }
        seen.push(line);
    }
    panic!("no {text} in {seen:?}");
}

#[test]
fn a_cluster_that_is_away_is_said_on_stderr() {
    for (name, words) in [("away", &ASSIGNED[..]), ("away-group", &MEMBER)] {
        let mut broker = Broker::start(name);
        broker.ok(&["produce", "t"], "one\n");
        let mut reader = StoppedReader::of(broker.command(words).stderr(Stdio::piped()));
        reader.prints("one");
        let mut stderr = BufReader::new(reader.0.child.stderr.take().unwrap());
        broker.kill();
        let said = find(&mut stderr, "warning: ");
        assert!(said.contains(broker.address()), "{said}");
        broker.start_again();
        broker.ok(&["produce", "t"], "two\n");
        reader.prints("two");
        reader.stops();
    }
}

#[test]
fn a_topic_that_is_deleted_is_said_on_stderr() {
    for (name, words) in [("gone", &ASSIGNED[..]), ("gone-group", &MEMBER)] {
        let broker = Broker::start(name);
        broker.ok(&["produce", "t"], "one\n");
        let mut reader = StoppedReader::of(broker.command(words).stderr(Stdio::piped()));
        reader.prints("one");
        broker.ok(&["topic", "delete", "t"], "");
        let mut stderr = BufReader::new(reader.0.child.stderr.take().unwrap());
        let said = find(&mut stderr, "is not there");
        assert!(said.starts_with("warning: ") && said.contains("topic t, "), "{said}");
        // A commit fails now, so this is no matter of how it stops.
        reader.0.child.kill().unwrap();
        reader.0.child.wait().unwrap();
    }
}

/// A warning takes the place of the line of progress.
#[test]
fn a_warning_on_a_terminal_replaces_the_progress() {
    let broker = Broker::start("terminal");
    broker.ok(&["produce", "t"], "one\n");
    let Terminal { mut user, terminal } = Terminal::new();
    // It has no other copy: reading ends when the command does.
    let mut reader = StoppedReader::of(broker.command(&ASSIGNED).stderr(terminal));
    reader.prints("one");
    // Progress is shown from the first record on that comes after a while.
    std::thread::sleep(std::time::Duration::from_millis(300));
    broker.ok(&["produce", "t"], "two\n");
    reader.prints("two");
    let mut shown = String::new();
    let mut show = |text: &str| {
        while !shown.contains(text) {
            let mut bytes = [0; 256];
            let read = user.read(&mut bytes);
            let n = read.unwrap_or_else(|error| panic!("{error}: no {text} in {shown:?}"));
            shown.push_str(&String::from_utf8_lossy(&bytes[..n]));
        }
    };
    show("2 records");
    broker.ok(&["topic", "delete", "t"], "");
    show("\x1b[2Kwarning: a topic that is to be read is not there");
    reader.stops();
}
