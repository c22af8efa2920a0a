//! The rooms of a broker, each built from what it needs.

use std::sync::Arc;

use thalweg_log::LogDir;
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::image::MetadataImage;
use thalweg_records::Compression;
use thalweg_records::codec::CompressionSpec;

use crate::api::front::Front;
use crate::api::services::Services;
use crate::boot::applier::Applier;
use crate::boot::open::Opened;
use crate::control::Control;
use crate::control::kraft::Controller;
use crate::control::membership::Life;
use crate::control::producer_ids::ProducerIds;
use crate::coordination::groups::Groups;
use crate::coordination::runtime::RuntimeConfig;
use crate::coordination::transaction_coordinator::TransactionCoordinator;
use crate::coordination::transactions::Markers;
use crate::coordination::{Coordination, Coordinators, group_settings};
use crate::net::allowed::Connections;
use crate::net::budget::Budget;
use crate::net::listener::Listener;
use crate::net::sockets::Sockets;
use crate::node::clock::Clock;
use crate::node::settings;
use crate::replicas::Replicas;
use crate::replicas::leadership::LeadershipListener;

/// The rooms of a broker, but for the way to its controller.
pub(super) struct Rooms {
    pub(super) applier: Applier,
    producer_ids: Arc<ProducerIds>,
    pub(super) dirs: Vec<Arc<LogDir>>,
    fetch_budget: Arc<Budget>,
}

impl Rooms {
    /// Begins with `image`, of which nothing has taken effect.
    pub(super) fn new(opened: Opened, image: MetadataImage, listeners: &[Arc<Listener>]) -> Rooms {
        let Opened { node, logs, shares, topics, news, fetch_memory, .. } = opened;
        let image = Arc::new(image);
        node.set_image(Arc::clone(&image));
        let config = node.static_config();
        let open: Vec<String> = listeners.iter().map(|listener| listener.name.clone()).collect();
        let connections = Connections::new(config, &image.quotas, open, shares.connections);
        let producer_ids = Arc::default();
        let markers: Arc<Markers> = Arc::default();
        let coordinators = Coordinators::new(
            groups(config, Arc::clone(&image), node.clock().clone()),
            TransactionCoordinator::new(
                config,
                &image,
                &producer_ids,
                Arc::clone(&markers),
                node.clock().clone(),
            ),
        );
        let dirs = logs.dirs().to_vec();
        let replicas = Replicas::new(
            Arc::clone(&node),
            logs,
            topics,
            Arc::clone(&news),
            Arc::clone(&coordinators) as Arc<dyn LeadershipListener>,
        );
        let fetch_budget = Budget::new(fetch_memory.unwrap_or_else(settings::fetch_memory));
        let coordination = Coordination::new(
            Arc::clone(&node),
            Arc::clone(&replicas),
            coordinators,
            markers,
            Arc::clone(&fetch_budget),
        );
        let sockets = Sockets::new(Arc::clone(&node), node.static_config(), connections);
        let applier = Applier { node, replicas, coordination, sockets, news };
        Rooms { applier, producer_ids, dirs, fetch_budget }
    }

    /// The broker with its controller. `life` is the broker's in the cluster of other nodes' controllers.
    pub(super) fn with_controller(
        self,
        controller: Controller,
        life: Option<Arc<Life>>,
    ) -> Arc<Services> {
        let Rooms { applier, producer_ids, dirs, fetch_budget } = self;
        let Applier { node, replicas, coordination, sockets, news } = applier;
        Arc::new(Services {
            control: Control::new(Arc::clone(&node), controller, life, producer_ids, dirs, news),
            front: Front::new(node.static_config(), sockets, fetch_budget),
            node,
            replicas,
            coordination,
        })
    }
}

fn groups(config: &BrokerConfig, image: Arc<MetadataImage>, clock: Clock) -> Groups {
    Groups::new(
        group_settings::of(config, &image),
        image,
        settings::group_memory(config),
        RuntimeConfig {
            runner: thalweg_coordinator::RunnerConfig {
                write_timeout_ms: u64::try_from(config.offsets_commit_timeout_ms()).unwrap_or(0),
            },
            compression: offsets_compression(config),
            jobs: usize::try_from(config.group_coordinator_background_threads())
                .unwrap_or(1)
                .max(1),
            serves_partial_loads: false,
        },
        clock,
    )
}

fn offsets_compression(config: &BrokerConfig) -> CompressionSpec {
    let codec = u8::try_from(config.offsets_topic_compression_codec()).ok();
    let codec = codec.and_then(Compression::from_id);
    CompressionSpec::new(codec.unwrap_or(Compression::None))
}
