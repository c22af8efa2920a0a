//! A broker that is its own controller: its side of the start.

use std::sync::Arc;

use parking_lot::Mutex;
use thalweg_metadata::bootstrap::activation_records;
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::features::MetadataVersion;
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::messages::metadata_record::MetadataRecord;

use crate::Hooks;
use crate::api::services::Services;
use crate::boot::applier::{Applier, Serving};
use crate::boot::error::StartError;
use crate::boot::listen::controller_listener;
use crate::boot::metadata_place;
use crate::boot::open::{self, OpenedSide};
use crate::boot::rooms::Rooms;
use crate::control::kraft::{Controller, EmbeddedController, MetadataLog, Owner};
use crate::control::registration::{self, Registration};
use crate::net::listener::Listener;
use crate::node::random::Random;

/// The embedded controller, and what the start has still to do with it.
pub(super) struct EmbeddedSide {
    applier: Applier,
    controller: EmbeddedController,
    registration: Registration,
    listener: (String, String, u16),
    /// Records with which a new log begins.
    activation: Mutex<Option<Vec<MetadataRecord>>>,
    serving: Mutex<Serving>,
}

/// The cluster of the directories, or a new one.
pub(super) fn find(config: &BrokerConfig) -> Result<String, StartError> {
    let (dirs, metadata_dir) = open::directories(config);
    metadata_place::check(&dirs, &metadata_dir).map_err(StartError::Metadata)?;
    let all = dirs.iter().chain([&metadata_dir]);
    let known: Option<String> = open::existing_cluster_id(all);
    Ok(known.unwrap_or_else(|| Random::new().uuid().to_string()))
}

/// Opens the directories, the metadata log among them. Waits for disks.
pub(super) fn open(
    cluster_id: String,
    config: &BrokerConfig,
    listeners: &[Arc<Listener>],
    hooks: Hooks,
) -> Result<OpenedSide<EmbeddedSide>, StartError> {
    let opened = open::open_logs(config, cluster_id, hooks)?;
    let owner = Owner {
        node_id: config.node_id(),
        directory_id: opened.logs.metadata_dir().id(),
        listener: controller_listener(config, listeners),
        static_voters: config.voters().iter().map(|voter| voter.id).collect(),
        release: MetadataVersion::named(config.format_release_version())
            .unwrap_or(MetadataVersion::LATEST),
    };
    let metadata = opened.open_metadata(config, |logs, dir, config, retention, now| {
        MetadataLog::open(logs, dir, &owner, config, retention, now)
    })?;
    let registration = open::registration_of(config, &opened, listeners);
    let report = Arc::clone(&opened.report);
    let image = metadata.loader.image().clone();
    let rooms = Rooms::new(opened, image, listeners);
    let applier = rooms.applier.clone();
    let controller = EmbeddedController::new(
        Arc::clone(&applier.node),
        Arc::new(applier.clone()),
        metadata.log,
        metadata.loader,
    );
    let activation = metadata
        .bootstrap
        .map(|bootstrap| activation_records(config, &bootstrap.levels, bootstrap.unfinished));
    let services = rooms.with_controller(Controller::Embedded(controller.clone()), None);
    let side = EmbeddedSide {
        applier,
        controller,
        registration,
        listener: owner.listener,
        activation: Mutex::new(activation),
        serving: Mutex::default(),
    };
    Ok(OpenedSide { services, report, side })
}

impl EmbeddedSide {
    /// Serves what the metadata says is here. Waits for disks.
    pub(super) fn serve(&self) -> Result<(), StartError> {
        let mut serving = self.serving.lock();
        *serving = Serving::Begun;
        self.applier.serve()?;
        *serving = Serving::Done;
        Ok(())
    }

    /// How far serving has come.
    pub(super) fn serving(&self) -> Serving {
        *self.serving.lock()
    }

    /// Begins a new log, registers controller and broker, and unfences the broker. Waits for disks.
    pub(super) fn after_serving(&self, services: &Services) -> Result<(), StartError> {
        let failed = |error: &dyn std::fmt::Display| StartError::Metadata(error.to_string());
        if let Some(records) = self.activation.lock().take() {
            self.controller.bootstrap(records).map_err(|error| failed(&error))?;
        }
        log_other_level(services.node.static_config(), &services.node.image());
        let listener = self.listener.clone();
        registration::register_with_own_controller(
            &services.control,
            &self.controller,
            &self.registration,
            listener,
        )
        .map_err(StartError::Metadata)?;
        // What failed, or was found elsewhere than the metadata says, before anything listened.
        services.control.news().wake();
        self.controller.flush_start(services.node.clock().wall_ms()).map_err(|error| failed(&error))
    }
}

/// The config with the release whose levels a new directory begins with.
const FORMAT_RELEASE: &str = "thalweg.format.release.version";

/// The level that a directory has instead of the one that is configured for a new one.
fn other_level(config: &BrokerConfig, found: Option<MetadataVersion>) -> Option<MetadataVersion> {
    let wanted = config.static_props().get(FORMAT_RELEASE)?;
    found.filter(|found| MetadataVersion::named(wanted) != Some(*found))
}

/// Warns if the directory has other levels than those that are configured for a new one.
fn log_other_level(config: &BrokerConfig, image: &MetadataImage) {
    if let Some(found) = other_level(config, image.features.metadata_version) {
        tracing::warn!(
            "{FORMAT_RELEASE}={} changes nothing: the directory has metadata.version {found}; remove the config, or \
             change the level with kafka-features",
            config.format_release_version()
        );
    }
}

#[cfg(test)]
mod tests {
    use thalweg_metadata::config::broker::Mode;

    use super::*;

    #[test]
    fn other_level_is_of_a_set_config_and_an_older_directory() {
        let of = |configs: &[(&str, &str)], found| {
            let props = configs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let config = BrokerConfig::new(props, Mode::Embedded).unwrap();
            other_level(&config, found)
        };
        let (older, latest) = (MetadataVersion::named("4.3"), Some(MetadataVersion::LATEST));
        let set = [(FORMAT_RELEASE, "4.3")];
        assert_eq!(of(&[], older), None);
        assert_eq!(of(&set, older), None);
        assert_eq!(of(&set, None), None);
        assert_eq!(of(&set, latest), latest);
    }
}
