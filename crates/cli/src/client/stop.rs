//! Being told to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT (Ctrl-C) and SIGTERM. From its making on neither ends the process by itself, and none is missed.
pub struct StopSignals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
}

impl StopSignals {
    /// Must be called within a runtime.
    pub fn new() -> StopSignals {
        // Without a handler the signal ends the process, as it does anyway.
        let handled = |kind| signal(kind).ok();
        StopSignals {
            interrupt: handled(SignalKind::interrupt()),
            terminate: handled(SignalKind::terminate()),
        }
    }

    /// Waits for the next of them. May be cancelled: what came meanwhile is not lost.
    pub async fn next(&mut self) {
        async fn next(signal: &mut Option<Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = next(&mut self.interrupt) => {}
            () = next(&mut self.terminate) => {}
        }
    }
}

/// Waits for SIGINT (Ctrl-C) or SIGTERM. Once this was polled, neither ends the process by itself.
pub async fn stop_signal() {
    StopSignals::new().next().await;
}
