//! A password that is typed on a terminal, or comes from elsewhere. Nobody listens where the
//! command would send it: that it tries shows that it has one.

use crate::limited;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use limited::Limited;

const NOBODY: &str = "127.0.0.1:1";

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(["user", "set-password", "alice", "-b", NOBODY, "--timeout", "1"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// A terminal, and who sits before it.
pub struct Terminal {
    pub user: File,
    pub terminal: File,
}

impl Terminal {
    pub fn new() -> Terminal {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let user = openpt(flags).unwrap();
        grantpt(&user).unwrap();
        unlockpt(&user).unwrap();
        let name = ptsname(&user, Vec::new()).unwrap();
        let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes())).to_owned();
        // It does not become the test's own: that is for processes that lead a session.
        let terminal = OpenOptions::new().read(true).write(true).open(path).unwrap();
        Terminal { user: user.into(), terminal }
    }

    fn shows_what_is_typed(&self) -> bool {
        tcgetattr(&self.terminal).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    /// A command that asks for the password.
    fn asks(&self) -> Child {
        self.runs(command())
    }

    fn runs(&self, mut command: Command) -> Child {
        assert!(self.shows_what_is_typed());
        let child = command.stdin(self.terminal.try_clone().unwrap()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.shows_what_is_typed() {
            assert!(Instant::now() < deadline, "what is typed is shown");
            std::thread::sleep(Duration::from_millis(5));
        }
        child
    }
}

fn ended(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_is_typed_is_not_shown() {
    let mut terminal = Terminal::new();
    let child = terminal.asks();
    let _limit = Limited::new(&child);
    terminal.user.write_all(b"secret\n").unwrap();
    let (code, said) = ended(&child.wait_with_output().unwrap());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("Password of alice: \n") && said.contains(NOBODY), "{said}");
    assert!(terminal.shows_what_is_typed());
    // The beginning of what the terminal showed in all; this comes after it.
    terminal.terminal.write_all(b"end").unwrap();
    let mut shown = [0; 64];
    let n = terminal.user.read(&mut shown).unwrap();
    assert_eq!(&shown[..n], b"end");
}

#[test]
fn who_gives_up_has_the_terminal_back() {
    let terminal = Terminal::new();
    for signal in [Signal::INT, Signal::TERM, Signal::QUIT, Signal::HUP] {
        let child = terminal.asks();
        let _limit = Limited::new(&child);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let (code, said) = ended(&child.wait_with_output().unwrap());
        assert_eq!(code, Some(1), "{signal:?}: {said}");
        assert!(said.contains("given up") && !said.contains(NOBODY), "{signal:?}: {said}");
        assert!(terminal.shows_what_is_typed(), "{signal:?}");
    }
}

#[test]
fn who_gives_up_later_does_not_wait_for_a_broker() {
    // It takes connections, and never says a word.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let mut terminal = Terminal::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(["user", "set-password", "alice", "-b", &address, "--timeout", "600"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let child = terminal.runs(command);
    let _limit = Limited::new(&child);
    terminal.user.write_all(b"secret\n").unwrap();
    let _asked = silent.accept().unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let (code, said) = ended(&child.wait_with_output().unwrap());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("not known"), "{said}");
}

#[test]
fn a_line_from_elsewhere_is_taken_as_it_is() {
    for (input, code, says) in [("secret\nmore\n", 1, NOBODY), ("\n", 2, "empty"), ("", 2, "empty")]
    {
        let mut child = command().stdin(Stdio::piped()).spawn().unwrap();
        let _limit = Limited::new(&child);
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let (ended, said) = ended(&child.wait_with_output().unwrap());
        assert_eq!(ended, Some(code), "{said}");
        assert!(said.contains(says) && !said.contains("Password of"), "{said}");
    }
}
