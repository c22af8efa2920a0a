//! The controller's side of a start: the steps that differ between an embedded controller and a cluster that is joined.

use std::sync::Arc;

use thalweg_metadata::config::BrokerConfig;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::Hooks;
use crate::api::services::Services;
use crate::boot::applier::Serving;
use crate::boot::embedded::{self, EmbeddedSide};
use crate::boot::error::StartError;
use crate::boot::joined::{self, FoundCluster, JoinedSide};
use crate::boot::open::OpenedSide;
use crate::net::listener::Listener;

/// The cluster that a broker is for, before anything is opened.
pub(super) enum Found {
    /// A cluster of this node alone, by its id.
    Own(String),
    /// The cluster of other nodes' controllers.
    Joined(FoundCluster),
}

impl Found {
    /// Finds the cluster. One that does not suit is refused before anything is written.
    pub(super) async fn find(config: &BrokerConfig) -> Result<Found, StartError> {
        Ok(match config.roles().controller {
            true => {
                let config = config.clone();
                Found::Own(blocking(move || embedded::find(&config)).await?)
            }
            false => Found::Joined(joined::find(config).await?),
        })
    }

    /// Opens, recovers and formats directories. Waits for disks.
    pub(super) fn open(
        self,
        config: &BrokerConfig,
        listeners: &[Arc<Listener>],
        hooks: Hooks,
    ) -> Result<OpenedSide<Side>, StartError> {
        Ok(match self {
            Found::Own(id) => embedded::open(id, config, listeners, hooks)?
                .map(|side| Side::Embedded(Box::new(side))),
            Found::Joined(found) => joined::open(found, config, listeners, hooks)?
                .map(|side| Side::Joined(Box::new(side))),
        })
    }
}

/// Does work that waits for disks, on a thread that may wait.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StartError> + Send + 'static,
) -> Result<T, StartError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| StartError::Other(format!("start failed: {error}")))?
}

/// The controller's side, once the directories are open.
pub(super) enum Side {
    Embedded(Box<EmbeddedSide>),
    Joined(Box<JoinedSide>),
}

impl Side {
    /// The start is given up then, if it has not come to its end.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Side::Embedded(_) => None,
            Side::Joined(side) => Some(side.deadline()),
        }
    }

    /// How far serving has come. Waits while partitions are served for the first time.
    pub(super) fn serving(&self) -> Serving {
        match self {
            Side::Embedded(side) => side.serving(),
            Side::Joined(side) => side.serving(),
        }
    }

    /// Registers the broker, where other nodes' controllers do that.
    pub(super) async fn before_serving(
        &self,
        services: &Arc<Services>,
        tasks: &mut Vec<JoinHandle<()>>,
    ) -> Result<(), StartError> {
        match self {
            Side::Embedded(_) => Ok(()),
            Side::Joined(side) => side.before_serving(services, tasks).await,
        }
    }

    /// Serves what the metadata says is here. Waits for disks.
    pub(super) fn serve(&self) -> Result<(), StartError> {
        match self {
            Side::Embedded(side) => side.serve(),
            Side::Joined(side) => side.serve(),
        }
    }

    /// Reports what the start has found; gives a task that goes on with that. An embedded controller registers and unfences
    /// the broker. Waits for disks.
    pub(super) fn after_serving(
        &self,
        services: &Arc<Services>,
    ) -> Result<Option<JoinHandle<()>>, StartError> {
        match self {
            Side::Embedded(side) => side.after_serving(services).map(|()| None),
            Side::Joined(side) => Ok(Some(side.after_serving(services))),
        }
    }

    /// Waits until other nodes' controllers have unfenced the broker.
    pub(super) async fn after_listening(&self, services: &Arc<Services>) -> Result<(), StartError> {
        match self {
            Side::Embedded(_) => Ok(()),
            Side::Joined(side) => side.after_listening(services).await,
        }
    }

    /// Hands the broker's leaderships over, where there are other nodes.
    pub(super) async fn before_stop(&self, services: &Arc<Services>) {
        match self {
            Side::Embedded(_) => {}
            Side::Joined(side) => side.leave(services).await,
        }
    }
}
