//! The cleaner of a node, as its manager offers it.

use crate::cleaner::{CleanedLog, CleanerConfig, CleanerMetrics, Clock};
use crate::store::manager::LogManager;

impl LogManager {
    /// Settings of the cleaner, from now on. Does not wait.
    pub fn configure_cleaner(&self, config: CleanerConfig) {
        self.cleaner.configure(config);
    }

    /// Starts the threads of the cleaner, with the settings of [`Self::configure_cleaner`].
    pub fn start_cleaner(&self, clock: Clock) {
        self.cleaner.start(clock);
    }

    /// Stops the threads of the cleaner; waits until they have left the logs alone.
    pub fn stop_cleaner(&self) {
        self.cleaner.stop();
    }

    /// Goes through the log that needs it most, on this thread; none if there is none that does.
    pub fn clean_once(&self, now_ms: i64) -> Option<CleanedLog> {
        self.cleaner.clean_once(now_ms)
    }

    /// What the cleaner says of itself.
    pub fn cleaner_metrics(&self) -> CleanerMetrics {
        self.cleaner.metrics()
    }
}
