//! How metadata takes effect on the rooms of a broker, in a fixed order: settings, connections, replicas, coordinators.
//!
//! In a broker that joins, images are only noted until the metadata has come as far as this process's own registration:
//! what they say is meant for an earlier process. From then on each takes effect as it comes ([`JoinedApplier`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use thalweg_log::{LogDir, OpenError};
use thalweg_metadata::config::dynamic;
use thalweg_metadata::features::{GROUP_VERSION, TRANSACTION_VERSION};
use thalweg_metadata::image::{Changes, ConfigResource, MetadataImage, Update};
use thalweg_wire::Uuid;

use crate::control::membership::{self, Life, Unmet};
use crate::coordination::{Coordination, group_settings};
use crate::net::sockets::Sockets;
use crate::node::Node;
use crate::node::directory_news::DirectoryNews;
use crate::node::logged_once::LoggedOnce;
use crate::node::metadata_listener::{MetadataListener, Opening};
use crate::node::settings::Settings;
use crate::replicas::Replicas;

/// How far a start has come with the partitions of the metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Serving {
    /// Nothing was changed.
    #[default]
    NotBegun,
    /// Some may have been changed, and not all are served.
    Begun,
    /// All are served.
    Done,
}

/// Settings of which an image has others than the one before.
#[derive(Clone, Copy)]
struct Changed {
    broker_configs: bool,
    transactions: bool,
    groups: bool,
}

impl Changed {
    /// For the first image.
    const ALL: Changed = Changed { broker_configs: true, transactions: true, groups: true };

    fn of(changes: &Changes) -> Changed {
        Changed {
            broker_configs: changes.has_broker_configs(),
            transactions: changes.features.contains(TRANSACTION_VERSION),
            groups: changes.configs.iter().any(group_settings::is_concerned)
                || changes.features.contains(GROUP_VERSION),
        }
    }
}

/// Has images take effect.
#[derive(Clone)]
pub(crate) struct Applier {
    pub(crate) node: Arc<Node>,
    pub(crate) replicas: Arc<Replicas>,
    pub(crate) coordination: Arc<Coordination>,
    pub(crate) sockets: Arc<Sockets>,
    pub(crate) news: Arc<DirectoryNews>,
}

impl Applier {
    /// Serves everything that the image says is here: once, when the broker starts.
    pub(super) fn serve(&self) -> Result<(), OpenError> {
        let publishing = self.replicas.begin_publishing();
        let image = self.node.image().0;
        self.apply_settings(&image, Changed::ALL);
        self.sockets.connections().update_and_wait(&self.node.settings(), &image.quotas);
        self.replicas.serve(&publishing)?;
        self.coordination.groups().begin(image);
        self.replicas.begin_coordinators();
        Ok(())
    }

    /// The settings that have changed, those of the broker first: the others build on them.
    fn apply_settings(&self, image: &MetadataImage, changed: Changed) {
        if changed.broker_configs {
            self.apply_broker_configs(image);
        }
        let settings = self.node.settings();
        let config = &settings.config;
        if changed.transactions {
            self.coordination.transaction_coordinator().configure(config, image);
        }
        if changed.groups {
            self.coordination.groups().configure(group_settings::of(config, image));
        }
    }

    fn apply_broker_configs(&self, image: &MetadataImage) {
        let defaults = image.configs.properties(&ConfigResource::broker_defaults());
        let own = image.configs.properties(&ConfigResource::broker(self.node.id()));
        let (config, unused) = dynamic::apply(self.node.static_config(), &defaults, &own);
        for config in unused {
            tracing::warn!(name = config.name, value = config.value, reason = %config.reason,
                default_of_all_brokers = !config.for_one_broker,
                "a stored dynamic config is not used");
        }
        self.replicas.configure(&config);
        self.node.set_settings(Settings::new(config));
    }
}

impl MetadataListener for Applier {
    fn apply(&self, update: Update) -> BTreeSet<Uuid> {
        let publishing = self.replicas.begin_publishing();
        let Update { old, new, changes } = update;
        let (image, changes) = (Arc::new(new), Arc::new(changes));
        let changed = Changed::of(&changes);
        self.apply_settings(&image, changed);
        if changed.broker_configs {
            self.news.cordon();
        }
        if changed.broker_configs || !changes.quotas.is_empty() {
            self.sockets.connections().update(&self.node.settings(), &image.quotas);
        }
        let applied = self.replicas.apply(&publishing, &old, &image, &changes);
        self.coordination.groups().metadata_changed(image, &changes);
        self.replicas.announce(&publishing, &applied);
        applied.put_off
    }

    fn wait_opened<'a>(&'a self, topics: &'a BTreeSet<Uuid>) -> Opening<'a> {
        Box::pin(self.replicas.openings().wait(topics))
    }
}

/// Has images take effect, once the broker serves.
pub(super) struct JoinedApplier {
    applier: Applier,
    life: Arc<Life>,
    dirs: Vec<Arc<LogDir>>,
    /// Held while an image takes effect.
    serving: Mutex<Serving>,
    /// What was last said of replicas that cannot be coordinated here.
    logged_unmet: Mutex<LoggedOnce>,
    /// The features in use that are not served, as they were last logged.
    logged_unserved: Mutex<LoggedOnce>,
}

impl JoinedApplier {
    pub(super) fn new(
        applier: Applier,
        life: Arc<Life>,
        dirs: Vec<Arc<LogDir>>,
    ) -> Arc<JoinedApplier> {
        Arc::new(JoinedApplier {
            applier,
            life,
            dirs,
            serving: Mutex::default(),
            logged_unmet: Mutex::default(),
            logged_unserved: Mutex::default(),
        })
    }

    /// How far serving has come. Waits while partitions are served for the first time.
    pub(super) fn serving(&self) -> Serving {
        *self.serving.lock()
    }

    /// What was said until now takes effect, and what will be said as it comes. On a thread that may wait.
    pub(super) fn serve(&self) -> Result<(), String> {
        let mut serving = self.serving.lock();
        membership::check(&self.applier.node.image(), self.applier.node.id())?;
        *serving = Serving::Begun;
        self.applier.serve().map_err(|error| error.to_string())?;
        *serving = Serving::Done;
        Ok(())
    }

    /// Logs a change of the features in use that this broker does not serve.
    fn log_unserved(&self, image: &MetadataImage) {
        let levels = image.features.levels.iter().map(|(name, level)| (name.as_str(), *level));
        let unserved = membership::unserved(levels);
        if !self.logged_unserved.lock().is_news(&unserved) {
            return;
        }
        if unserved.is_empty() {
            tracing::info!("all features in use are served, and none has the directories cordoned");
            return;
        }
        match image.metadata_version().has_cordoned_dirs() {
            true => tracing::warn!(
                features = unserved,
                "features are in use that this broker does not serve: its directories are cordoned, and get no new \
                 replicas"
            ),
            false => tracing::warn!(
                features = unserved,
                "features are in use that this broker does not serve, and metadata.version is too low to cordon its \
                 directories"
            ),
        }
    }

    /// What the cluster asks of this broker, which runs, and cannot get.
    fn act_on(&self, unmet: Vec<Unmet>) {
        for unmet in unmet {
            if let Unmet::Replicas { .. } = unmet {
                // Following these partitions works. One that is led here has no coordinator until it has moved, and
                // this broker does not start again.
                let reason = unmet.to_string();
                if self.logged_unmet.lock().is_news(&reason) {
                    tracing::error!(reason, "this broker got replicas that it cannot coordinate");
                }
                continue;
            }
            tracing::error!(reason = %unmet, "this broker stops");
            self.applier.node.fail(&unmet.to_string());
        }
    }
}

impl MetadataListener for JoinedApplier {
    fn apply(&self, update: Update) -> BTreeSet<Uuid> {
        let node = &self.applier.node;
        let put_off = {
            let serving = self.serving.lock();
            match *serving != Serving::NotBegun {
                true => {
                    let is_concerned = update.changes.acls || !update.changes.partitions.is_empty();
                    let unmet = match is_concerned {
                        true => membership::unmet(&update.new, node.id()),
                        false => Vec::new(),
                    };
                    let put_off = self.applier.apply(update);
                    self.act_on(unmet);
                    put_off
                }
                false => {
                    node.set_image(Arc::new(update.new));
                    BTreeSet::new()
                }
            }
        };
        let image = node.image();
        self.log_unserved(&image);
        let cordoned = membership::cordoned(&self.dirs, &node.settings().config, &image);
        self.life.set_cordoned(cordoned);
        if let Err(error) = self.life.metadata_changed(&image) {
            tracing::error!(%error, "this broker stops");
            node.fail(&error.to_string());
        }
        put_off
    }

    fn wait_opened<'a>(&'a self, topics: &'a BTreeSet<Uuid>) -> Opening<'a> {
        self.applier.wait_opened(topics)
    }
}
