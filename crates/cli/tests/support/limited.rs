//! Commands that end, one way or another.

use std::io::BufReader;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Longer than any of them takes on a machine that is busy with other things.
const LIMIT: Duration = Duration::from_secs(60);

/// Kills a command that runs for too long, so that who waits for it hears of its end. To be dropped
/// before the command is waited for elsewhere for good.
pub struct Limited(#[expect(dead_code, reason = "its end is what counts")] Sender<()>);

impl Limited {
    pub fn new(child: &Child) -> Limited {
        let id = Pid::from_child(child);
        let (alive, ended) = channel();
        std::thread::spawn(move || {
            if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                // It may have ended just now.
                let _ = kill_process(id, Signal::KILL);
            }
        });
        Limited(alive)
    }
}

/// A command whose output is read while it runs.
pub struct RunningCommand {
    pub child: Child,
    pub stdout: BufReader<ChildStdout>,
    pub _limited: Limited,
}

impl RunningCommand {
    pub fn start(command: &mut Command) -> RunningCommand {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        RunningCommand { _limited: Limited::new(&child), stdout, child }
    }
}

/// Runs a command without input to its end.
pub fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let _limited = Limited::new(&child);
    child.wait_with_output().unwrap()
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    pub fn of(output: Output) -> Ended {
        Ended {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub fn ok(self) -> String {
        assert!(self.code == 0 && self.err.is_empty(), "{self:?}");
        self.out
    }

    /// That it ends well, and says one thing about its output.
    #[track_caller]
    pub fn notes(self, says: &str) -> String {
        assert!(self.code == 0 && self.err == format!("note: {says}\n"), "{says}: {self:?}");
        self.out
    }

    /// That it ends with a code and one line on stderr that says something.
    #[track_caller]
    pub fn fails(self, code: i32, says: &str) -> String {
        assert!(self.code == code && self.err.contains(says), "{code} {says}: {self:?}");
        assert_eq!(self.err.lines().count(), 1, "{self:?}");
        self.out
    }
}

/// The cells of a table's rows, without the header.
pub fn rows(table: &str) -> Vec<Vec<&str>> {
    table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect()
}
