//! A Kafka broker: listeners, connections, the handlers of requests, and the rooms that they use.
//!
//! A request runs on its connection's task from frame to append: no queue between network and
//! disk, no actor per partition. Metadata reaches the data path one way only: records in the
//! metadata log become an image, and the image takes effect.

mod api;
mod boot;
mod control;
mod coordination;
mod net;
mod node;
mod replicas;
#[cfg(test)]
mod testing;

pub use boot::error::StartError;
pub use boot::inspect;
pub use boot::running::RunningBroker;
pub use boot::stop::STOP_TIMEOUT;
pub use net::hosts::listen;
pub use node::clock::TestClock;
pub use node::loggers::{LOGGERS, LogLevel, LogLevels, ROOT_LOGGER, logged_modules};
pub use thalweg_metadata::config;

/// Access to files, for tests that make disks fail.
#[doc(hidden)]
pub mod disk {
    pub use thalweg_log::testing::{TempDir, crash};
    pub use thalweg_log::{Disk, DiskOp, FaultHook, Injected};
}

/// What a broker is given of the process that it runs in.
#[derive(Debug, Default)]
pub struct Hooks {
    /// Sees every operation on the files of the logs: for tests that make disks fail.
    #[doc(hidden)]
    pub disk: disk::Disk,
    /// Bytes that fetches may hold in memory, where it is not what follows from the machine's: for tests
    /// that use them up.
    #[doc(hidden)]
    pub fetch_memory: Option<usize>,
    /// The clock that a test moves, instead of the machine's.
    pub clock: Option<TestClock>,
    /// The levels of the process's log, for clients that ask for them or change them
    /// (`kafka-configs --entity-type broker-loggers`). Without it there are no loggers.
    pub log_levels: Option<std::sync::Arc<dyn LogLevels>>,
}

use std::pin::Pin;

use thalweg_metadata::config::BrokerConfig;

/// A start that is under way: boxed in this crate, so that a broker's tasks are compiled here once and
/// not again in every program that starts one.
type Starting = Pin<Box<dyn Future<Output = Result<RunningBroker, StartError>> + Send>>;

impl RunningBroker {
    /// Starts a broker; when this returns it accepts connections. Needs a tokio runtime.
    pub fn start(config: BrokerConfig) -> Starting {
        Box::pin(boot::start::start(config, Hooks::default()))
    }

    /// The same, with what the process gives it.
    pub fn start_with(config: BrokerConfig, hooks: Hooks) -> Starting {
        Box::pin(boot::start::start(config, hooks))
    }
}
