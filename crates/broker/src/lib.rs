//! Listeners, connections, one file per API, and the wiring between them: a Kafka broker.
//!
//! A request runs on its connection's task from frame to append: no queue between network and
//! disk, no actor per partition. Metadata reaches the data path one way only: records in the
//! metadata log become an image, and the image takes effect.

mod allowed;
mod api;
mod auto_topics;
mod broker;
mod clock;
mod coordinators;
mod directories;
mod exposition;
mod fetch_session;
mod housekeeping;
mod kraft;
mod metadata_place;
mod metrics;
mod net;
mod partition;
mod pool;
mod producer_ids;
mod random;
mod record_scan;
mod registration;
mod reserve;
mod settings;
mod start;
mod topic_names;
mod topic_settings;
mod topics;
mod view;
mod wait;
mod workspace;

pub use start::{RunningBroker, STOP_TIMEOUT, StartError};
pub use thalweg_metadata::config;

/// Access to files, for tests that make disks fail.
#[doc(hidden)]
pub mod disk {
    pub use thalweg_log::testing::{TempDir, crash};
    pub use thalweg_log::{Disk, DiskOp, FaultHook, Injected};
}

/// What a test puts between a broker and the machine it runs on.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Hooks {
    /// Sees every operation on the files of the logs.
    pub disk: disk::Disk,
}

use thalweg_metadata::config::BrokerConfig;

impl RunningBroker {
    /// Starts a broker; when this returns it accepts connections. Needs a tokio runtime.
    pub async fn start(config: BrokerConfig) -> Result<RunningBroker, StartError> {
        start::start(config, Hooks::default()).await
    }

    /// The same, with a test's hands in it.
    #[doc(hidden)]
    pub async fn start_with(
        config: BrokerConfig,
        hooks: Hooks,
    ) -> Result<RunningBroker, StartError> {
        start::start(config, hooks).await
    }
}
