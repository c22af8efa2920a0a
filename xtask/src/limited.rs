//! Children that end, one way or another.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Kills a child that runs for too long, so that who waits for it hears of its end. To be dropped when
/// the child has ended, or may run on.
pub struct Limited(#[expect(dead_code, reason = "its end is what counts")] Sender<()>);

impl Limited {
    /// Of a child that may run for so long from now on.
    pub fn new(child: &Child, limit: Duration) -> Limited {
        let id = child.id().to_string();
        let (alive, ended) = channel();
        std::thread::spawn(move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                // It may have ended just now.
                let _ = Command::new("kill").args(["-KILL", &id]).stderr(Stdio::null()).status();
            }
        });
        Limited(alive)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn who_runs_for_too_long_is_killed_and_nobody_else() {
        let mut slow = Command::new("sleep").arg("600").spawn().unwrap();
        let _limited = Limited::new(&slow, Duration::from_millis(10));
        assert_eq!(slow.wait().unwrap().signal(), Some(9));
        let mut free = Command::new("sleep").arg("600").spawn().unwrap();
        drop(Limited::new(&free, Duration::from_secs(600)));
        assert_eq!(free.try_wait().unwrap(), None);
        free.kill().unwrap();
        free.wait().unwrap();
    }
}
