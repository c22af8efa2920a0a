//! How metadata takes effect: from an image, partitions are opened, made and deleted, leaders set,
//! configs applied and coordinators told.

use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use thalweg_log::{CreateError, CreateRequest, Log, OpenError};
use thalweg_metadata::config::{Properties, TopicConfig, dynamic};
use thalweg_metadata::controller::is_internal_topic;
use thalweg_metadata::features::{GROUP_VERSION, TRANSACTION_VERSION};
use thalweg_metadata::image::{ConfigResource, MetadataImage, ResourceType, TopicImage, Update};

use thalweg_wire::Uuid;

use crate::broker::Broker;
use crate::control::registration;
use crate::coordination::group_settings;
use crate::node::internal_topics::InternalTopic;
use crate::node::settings::Settings;
use crate::replicas::openings::AT_ONCE_MAX;
use crate::replicas::partition::Partition;
use crate::replicas::topic_settings;
use crate::replicas::topics::{Topic, TopicTable};

impl Broker {
    /// A new image: what it says is so from now on. On a thread that may wait. Gives the topics with partitions whose
    /// logs are opened later.
    pub(crate) fn publish(self: &Arc<Self>, update: Update) -> BTreeSet<Uuid> {
        let _publishing = self.replicas.publishing.lock();
        let Update { old, new, changes } = update;
        let (image, changes) = (Arc::new(new), Arc::new(changes));
        let broker_configs =
            changes.configs.iter().any(|r| r.resource_type == ResourceType::Broker);
        if broker_configs {
            self.apply_broker_configs(&image);
            registration::report_cordoned(self);
        }
        if changes.features.contains(TRANSACTION_VERSION) {
            self.coordination.coordinated().configure(&self.node.settings().config, &image);
        }
        if changes.configs.iter().any(group_settings::is_concerned)
            || changes.features.contains(GROUP_VERSION)
        {
            self.configure_groups(&image);
        }
        if broker_configs || !changes.quotas.is_empty() {
            self.front.connections().update(&self.node.settings(), &image.quotas);
        }
        let local = changes.local(&old, &image, self.node.id());
        let mut table = TopicTable::clone(&self.replicas.topics());

        // Deletions first: a topic of the same name may come in the same update.
        for topic in changes.deleted_topics.values() {
            if let Some(topic) = table.remove(topic.id) {
                for partition in topic.partitions() {
                    self.drop_partition(partition, None);
                }
            }
        }
        if !local.deleted.is_empty() {
            self.replicas
                .openings()
                .cancel(local.deleted.iter().map(|(id, _, index)| (*id, *index)));
            // Those of topics that are still there have moved to other brokers.
            for (id, _, index) in &local.deleted {
                self.replicas.fetchers().remove(*id, *index);
                let topic = table.by_id(*id);
                if let Some(partition) = topic.and_then(|topic| topic.partition(*index)) {
                    let now = image.topics.partition(*id, *index);
                    self.drop_partition(partition, now.map(|now| (now.leader, now.leader_epoch)));
                }
            }
            let doomed: Vec<(&str, i32)> =
                local.deleted.iter().map(|(_, name, index)| (&**name, *index)).collect();
            if let Err(error) = self.replicas.logs().delete(doomed, self.node.clock().wall_ms()) {
                tracing::error!(%error, "partitions could not be deleted");
            }
        }
        let (mut opened, mut put_off) = (0, BTreeSet::new());
        for id in changes.partitions.keys() {
            let Some(topic) = image.topics.by_id(*id) else { continue };
            let open = |request: &CreateRequest<'_>| {
                let index = request.partition;
                if self.replicas.openings().is_waiting(*id, index) {
                    return None;
                }
                let is_new = old.topics.partition(*id, index).is_none();
                if opened == AT_ONCE_MAX {
                    self.replicas.openings().note(*id, index, is_new);
                    put_off.insert(*id);
                    return None;
                }
                opened += 1;
                Some(self.replicas.open_log(&CreateRequest { is_new, ..request.clone() }))
            };
            table.insert(Arc::new(self.build_topic(&table, open, &image, topic)));
        }
        let topic_configs: Vec<Arc<Topic>> = if broker_configs {
            table.iter().cloned().collect()
        } else {
            changes
                .configs
                .iter()
                .filter(|r| r.resource_type == ResourceType::Topic)
                .filter_map(|r| table.by_name(&r.name).cloned())
                .collect()
        };
        for topic in topic_configs {
            self.apply_topic_config(&image, &topic);
        }

        self.replicas.topics.store(Arc::new(table));
        self.node.set_image(Arc::clone(&image));
        let is_led_elsewhere = |(id, index): &&(Uuid, i32)| {
            old.topics.partition(*id, *index).is_some_and(|it| it.leader != self.node.id())
        };
        let moved = local.elected.iter().filter(is_led_elsewhere);
        self.tell_fetches(&image, &local.elected, moved.map(|(id, _)| *id).collect());
        self.follow(changes.partitions.keys().copied());
        self.coordination.groups().metadata_changed(Arc::clone(&image), &changes);
        for (id, index) in local.followers {
            if let Some(topic) = image.topics.by_id(id)
                && let Some(internal) = InternalTopic::named(&topic.name)
                && let Some(partition) = topic.partitions.get(&index)
            {
                internal.resigned(self, index, Some(partition.leader_epoch));
            }
        }
        for (id, index) in local.elected {
            let table = self.replicas.topics();
            let Some(topic) = table.by_id(id) else { continue };
            if let Some(internal) = InternalTopic::named(&topic.name)
                && let Some(partition) = topic.partition(index)
            {
                internal.elected(self, partition);
            }
        }
        put_off
    }

    /// Tells fetches that wait that an image is in force, followers that this broker leads `elected`, and consumers of
    /// the topics `moved` that it leads some of their partitions that others led before.
    pub(crate) fn tell_fetches(
        &self,
        image: &MetadataImage,
        elected: &[(Uuid, i32)],
        moved: BTreeSet<Uuid>,
    ) {
        self.node.notify_published();
        let elected = elected.iter();
        let led = elected.filter_map(|(id, index)| image.topics.by_id(*id)?.partitions.get(index));
        let followers = led.flat_map(|it| &it.replicas).copied().filter(|id| *id != self.node.id());
        let now_ms = self.node.clock().monotonic_ms();
        self.replicas.shared().short_polls.begin(followers, now_ms);
        let table = self.replicas.topics();
        let topics = || moved.iter().filter_map(|id| table.by_id(*id));
        self.replicas
            .shared()
            .short_polls
            .elected(topics().map(|topic| Arc::clone(&topic.name)), now_ms);
        for partition in topics().flat_map(|topic| topic.partitions()) {
            partition.wake_consumers();
        }
    }

    /// Serves everything the image says is here: once, when the broker starts.
    pub(crate) fn serve_image(self: &Arc<Self>) -> Result<(), OpenError> {
        let _publishing = self.replicas.publishing.lock();
        let image = self.node.image().0;
        // First, because topics build on them.
        self.apply_broker_configs(&image);
        self.configure_groups(&image);
        self.coordination.coordinated().configure(&self.node.settings().config, &image);
        self.front.connections().update_and_wait(&self.node.settings(), &image.quotas);
        self.set_strays_aside(&image)?;
        let mut table = TopicTable::default();
        for topic in image.topics.iter() {
            let open = |request: &CreateRequest<'_>| {
                Some(self.replicas.open_log(&CreateRequest { is_new: false, ..request.clone() }))
            };
            table.insert(Arc::new(self.build_topic(&table, open, &image, topic)));
        }
        self.replicas.topics.store(Arc::new(table));
        self.follow(image.topics.iter().map(|topic| topic.id));
        self.coordination.groups().begin(Arc::clone(&image));
        self.begin_coordinators();
        Ok(())
    }

    /// Fetches what this broker has of topics from who leads it.
    fn follow(self: &Arc<Self>, topics: impl IntoIterator<Item = Uuid>) {
        let table = self.replicas.topics();
        for topic in topics {
            for partition in table.by_id(topic).iter().flat_map(|topic| topic.partitions()) {
                self.replicas.fetchers().update(topic, partition);
                self.replicas.moves().found(self, topic, partition);
            }
        }
        self.replicas.fetchers().begin(self);
    }

    /// Tells the coordinators of all partitions that are theirs; they know which of them are news.
    pub(crate) fn begin_coordinators(&self) {
        let table = self.replicas.topics();
        for internal in InternalTopic::ALL {
            for partition in table.by_name(internal.name()).iter().flat_map(|t| t.partitions()) {
                if partition.leader().is_local {
                    internal.elected(self, partition);
                }
            }
        }
    }

    /// Partitions on the disk that the metadata does not know, as after a death between a topic's
    /// removal and that of its files, or a removal while their directory was offline: out of the way
    /// of a new topic of the same name.
    fn set_strays_aside(&self, image: &MetadataImage) -> Result<(), OpenError> {
        let is_known = |log: &Log| {
            let topic = match log.topic_id() {
                Some(id) => image.topics.by_id(id).filter(|topic| topic.name == *log.topic()),
                None => image.topics.by_name(log.topic()),
            };
            let partition = topic.and_then(|topic| topic.partitions.get(&log.partition()));
            partition.is_some_and(|partition| {
                // Left by an attempt to make the partition here; it was made elsewhere, and that
                // directory may be offline now.
                let is_leftover = log.topic_id().is_none()
                    && log.log_end_offset() == 0
                    && partition
                        .directory(self.node.id())
                        .is_some_and(|id| !id.is_reserved() && id != log.dir().id());
                partition.replicas.contains(&self.node.id()) && !is_leftover
            })
        };
        for path in self.replicas.logs().set_strays_aside(is_known, self.node.clock().wall_ms())? {
            tracing::warn!(path = %path.display(),
                "the metadata does not know this partition: set aside, not deleted");
        }
        Ok(())
    }

    /// The partition is deleted, or led elsewhere, by whom and in which epoch.
    fn drop_partition(&self, partition: &Partition, led_elsewhere: Option<(i32, i32)>) {
        if let Some(internal) = InternalTopic::named(&partition.topic) {
            internal.resigned(self, partition.index, None);
        }
        if let Some(topic) = partition.log.topic_id() {
            self.replicas.moves().forget(topic, partition.index);
        }
        // Whoever waits for it has to look again.
        partition.resign(led_elsewhere);
    }

    /// A topic as the image says it is, with the logs it already has, and with those that `open` gives where it has
    /// none.
    pub(crate) fn build_topic(
        &self,
        table: &TopicTable,
        mut open: impl FnMut(&CreateRequest<'_>) -> Option<Result<Arc<Log>, CreateError>>,
        image: &MetadataImage,
        topic: &TopicImage,
    ) -> Topic {
        let before = table.by_id(topic.id);
        let settings = match before {
            Some(before) => Arc::clone(before.settings_cell()),
            None => Arc::new(ArcSwap::from_pointee(self.topic_settings(image, &topic.name))),
        };
        let name =
            before.map_or_else(|| Arc::clone(&topic.name), |before| Arc::clone(&before.name));
        let last = topic.partitions.keys().next_back().copied();
        let count = last.and_then(|last| usize::try_from(last).ok()).map_or(0, |last| last + 1);
        let mut slots: Vec<Option<Arc<Partition>>> = vec![None; count];
        let mut offline = Vec::new();
        let mut moved = Vec::new();
        let mut elsewhere = 0;
        for (&index, partition) in &topic.partitions {
            let Some(slot) = usize::try_from(index).ok().and_then(|at| slots.get_mut(at)) else {
                continue;
            };
            if !partition.replicas.contains(&self.node.id()) {
                continue;
            }
            let existing = before.and_then(|before| before.partition(index)).cloned();
            let opened = match existing {
                Some(partition) => Some(partition),
                None => {
                    let request = CreateRequest {
                        dir: partition.directory(self.node.id()).filter(|id| !id.is_reserved()),
                        ..CreateRequest::new(&name, index, topic.id)
                    };
                    match open(&request) {
                        Some(Ok(log)) => {
                            let wanted = request.dir;
                            elsewhere += usize::from(wanted.is_some_and(|d| d != log.dir().id()));
                            log.configure(
                                Arc::new(settings.load().log.clone()),
                                self.node.clock().wall_ms(),
                            );
                            let partition = Arc::new(Partition::new(
                                Arc::clone(&name),
                                index,
                                log,
                                Arc::clone(self.replicas.shared()),
                                Arc::clone(&settings),
                            ));
                            partition.listen_to_log();
                            Some(partition)
                        }
                        Some(Err(error)) => {
                            tracing::error!(topic = %name, partition = index, %error,
                                "a partition cannot be served");
                            offline
                                .extend(matches!(error, CreateError::Storage(_)).then_some(index));
                            None
                        }
                        // It is opened later.
                        None => {
                            let was_offline = before.is_some_and(|before| before.is_offline(index));
                            offline.extend(was_offline.then_some(index));
                            None
                        }
                    }
                }
            };
            if let Some(opened) = &opened {
                let actual = opened.log.dir().id();
                let stated = partition.directory(self.node.id());
                if stated != Some(actual) && !self.is_moving_to(&name, index, stated) {
                    moved.push((index, actual));
                }
                opened.apply(partition, image);
            }
            *slot = opened;
        }
        if elsewhere > 0 {
            tracing::warn!(topic = %name, partitions = elsewhere,
                "partitions are not in the log directories that the metadata says; what was not \
                 found in another one begins anew, empty");
        }
        if !moved.is_empty() && image.metadata_version().has_directory_assignment() {
            self.control.directories().assign(topic.id, moved);
        }
        Topic::new(name, topic.id, is_internal_topic(&topic.name), slots, offline, settings)
    }

    fn topic_settings(
        &self,
        image: &MetadataImage,
        name: &str,
    ) -> crate::replicas::topics::TopicSettings {
        let overrides = image.configs.properties(&ConfigResource::topic(name));
        let settings = self.node.settings();
        match TopicConfig::new(&settings.config, &overrides) {
            Ok(config) => topic_settings::of(&config),
            Err(error) => {
                // A value that an older release accepted, or another one's record.
                tracing::error!(topic = name, %error, "the topic runs with the broker's defaults");
                TopicConfig::new(&settings.config, &Properties::new()).map_or_else(
                    |_| topic_settings::defaults(),
                    |config| topic_settings::of(&config),
                )
            }
        }
    }

    fn apply_topic_config(&self, image: &MetadataImage, topic: &Topic) {
        let settings = self.topic_settings(image, &topic.name);
        let log = Arc::new(settings.log.clone());
        topic.settings_cell().store(Arc::new(settings));
        for partition in topic.partitions() {
            partition.log.update_config(Arc::clone(&log));
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
        self.replicas
            .logs()
            .set_producer_expiration_ms(i64::from(config.producer_id_expiration_ms()));
        self.replicas.logs().set_cordoned(registration::cordoned(self.replicas.logs(), &config));
        self.replicas.shared().throttles.configure(&config);
        self.replicas
            .fetchers()
            .resize(usize::try_from(config.num_replica_fetchers()).unwrap_or(1));
        self.replicas.logs().configure_cleaner(crate::node::settings::cleaner(&config));
        if let Ok(topic) = TopicConfig::new(&config, &Properties::new()) {
            self.replicas.logs().set_defaults(Arc::new(topic_settings::of(&topic).log));
        }
        self.node.set_settings(Settings::new(config));
    }

    /// The settings of groups come from the broker's configs and from their own.
    fn configure_groups(&self, image: &MetadataImage) {
        self.coordination
            .groups()
            .configure(group_settings::of(&self.node.settings().config, image));
    }
}
