//! Signals that end a command.
//!
//! Invariant: a signal that the command waits for does not end the process by itself, and none is
//! missed from [`StopSignals::new`] on. A command that is a member of a group, or has a transaction
//! open, makes its [`StopSignals`] before it joins or begins.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT (Ctrl-C), SIGTERM and SIGHUP.
pub struct StopSignals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    /// A terminal that is closed sends it. `None` also where the process that began this one ignores
    /// it, as `nohup` does.
    hang_up: Option<Signal>,
}

impl StopSignals {
    /// Must be called within a runtime.
    pub fn new() -> StopSignals {
        // Without a handler the signal ends the process, as it does anyway.
        let handled = |kind| signal(kind).ok();
        let hang_up = SignalKind::hangup();
        StopSignals {
            interrupt: handled(SignalKind::interrupt()),
            terminate: handled(SignalKind::terminate()),
            hang_up: if is_ignored(hang_up) { None } else { handled(hang_up) },
        }
    }

    /// Waits for the next of them. May be cancelled: a signal that came in between is not lost.
    pub async fn next(&mut self) {
        tokio::select! {
            () = received(&mut self.interrupt) => {}
            () = received(&mut self.terminate) => {}
            () = received(&mut self.hang_up) => {}
        }
    }

    /// Waits for SIGINT or SIGTERM, which end a command at once that is about to end. SIGHUP does not:
    /// a shell sends one to its jobs, and the kernel another one, when a terminal is closed.
    pub async fn insist(&mut self) {
        tokio::select! {
            () = received(&mut self.interrupt) => {}
            () = received(&mut self.terminate) => {}
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether this process ignores a signal. Systems without `/proc` do not say, and it counts as not ignored.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_signals(&status) >> (kind.as_raw_value() - 1) & 1 == 1
}

/// The mask of ignored signals, from what `/proc/self/status` says.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        let status = "Name:\tthalweg\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored_signals(status), 0x1001);
        for none in ["", "SigIgn:\n", "SigIgn:\tx\n"] {
            assert_eq!(ignored_signals(none), 0, "{none}");
        }
    }
}
