//! Being told to stop.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGINT (Ctrl-C) or SIGTERM. Once this was polled, neither ends the process by itself.
pub async fn stop_signal() {
    let wait = async |kind| match signal(kind) {
        Ok(mut signal) => drop(signal.recv().await),
        // Without a handler the signal ends the process, as it does anyway.
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::terminate()) => {}
    }
}
