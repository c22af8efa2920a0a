//! Commands that end, one way or another.

use std::process::{Child, Command, Output, Stdio};
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

/// Runs a command without input to its end.
pub fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let _limited = Limited::new(&child);
    child.wait_with_output().unwrap()
}
