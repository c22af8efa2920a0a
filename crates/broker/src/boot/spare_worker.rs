//! A worker that sleeps until a disk stalls.
//!
//! Appends are written on the worker that has them, so a stalled disk takes as many workers as bring
//! appends to it. One worker more than there are processors leaves somebody to serve the rest; but
//! with all of them at work they only take the processors from each other (measured: a tenth to a
//! sixth more CPU per byte produced on two processors). So that one sleeps, and goes to work when a
//! stall is seen.

use std::sync::Arc;
use std::time::Duration;

use thalweg_log::Stalls;

/// A worker that falls asleep first does so for this long a few times over, so that what waits in its
/// own queue runs in between, and nothing is left there.
const NAP: Duration = Duration::from_millis(2);
const NAPS: u32 = 20;
/// How often it looks, when a disk stalls, whether that is over.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Ends the sleep when dropped.
#[derive(Debug)]
pub(crate) struct SpareWorker(Arc<Stalls>);

impl SpareWorker {
    /// Puts one worker of this runtime to sleep.
    pub(crate) fn keep(stalls: Arc<Stalls>) -> SpareWorker {
        tokio::spawn(sleep(Arc::clone(&stalls)));
        SpareWorker(stalls)
    }
}

impl Drop for SpareWorker {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Blocks the worker that polls it: on purpose.
async fn sleep(stalls: Arc<Stalls>) {
    while !stalls.is_closed() {
        let mut naps = 0;
        while naps < NAPS && !stalls.sleep_until_any(Some(NAP)) {
            tokio::task::yield_now().await;
            naps += 1;
        }
        if naps == NAPS {
            stalls.sleep_until_any(None);
        }
        while stalls.any() && !stalls.is_closed() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}
