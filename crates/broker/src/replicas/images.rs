//! How an image of the metadata takes effect on the partitions of this node: logs are opened, made and deleted, leaders
//! set, configs applied.

use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::MutexGuard;
use thalweg_log::{CreateError, CreateRequest, Log, OpenError};
use thalweg_metadata::config::{BrokerConfig, Properties, TopicConfig};
use thalweg_metadata::controller::is_internal_topic;
use thalweg_metadata::image::{Changes, ConfigResource, MetadataImage, ResourceType, TopicImage};
use thalweg_wire::{ErrorCode, Uuid};

use crate::node::internal_topics::InternalTopic;
use crate::node::settings;
use crate::replicas::Replicas;
use crate::replicas::partition::{Partition, RoleChange};
use crate::replicas::topic_settings::{self, TopicSettings};
use crate::replicas::topics::{Topic, TopicTable};

/// The turn to replace the topics. Under it the controller is not asked for anything, because an embedded one needs the
/// turn to publish its decision.
pub(crate) struct Publishing<'a> {
    _turn: MutexGuard<'a, ()>,
}

/// How an image took effect.
pub(crate) struct Applied {
    /// Topics with partitions whose logs are opened later.
    pub(crate) put_off: BTreeSet<Uuid>,
    /// Partitions that others lead.
    followers: Vec<(Uuid, i32)>,
    /// Partitions that this node leads since then.
    elected: Vec<(Uuid, i32)>,
}

impl Replicas {
    /// Takes the turn to replace topics.
    pub(crate) fn begin_publishing(&self) -> Publishing<'_> {
        Publishing { _turn: self.publishing.lock() }
    }

    /// The broker's dynamic configs may have changed.
    pub(crate) fn configure(&self, config: &BrokerConfig) {
        self.logs.set_producer_expiration_ms(i64::from(config.producer_id_expiration_ms()));
        self.logs.set_cordoned(settings::cordoned_dirs(self.logs.dirs(), config));
        self.openings.look_again();
        self.shared.throttles.configure(config);
        self.fetchers.resize(usize::try_from(config.num_replica_fetchers()).unwrap_or(1));
        self.logs.configure_cleaner(settings::cleaner(config));
        if let Ok(topic) = TopicConfig::new(config, &Properties::new()) {
            self.logs.set_defaults(Arc::new(topic_settings::of(&topic).log));
        }
    }

    /// Has an image take effect on the partitions of this node, and puts it in force. [`Self::announce`] comes after it.
    pub(crate) fn apply(
        self: &Arc<Self>,
        _publishing: &Publishing<'_>,
        old: &MetadataImage,
        image: &Arc<MetadataImage>,
        changes: &Changes,
    ) -> Applied {
        let local = changes.local(old, image, self.node.id());
        let mut table = TopicTable::clone(&self.topics());

        // Deletions first: a topic of the same name may come in the same update.
        for topic in changes.deleted_topics.values() {
            if let Some(topic) = table.remove(topic.id) {
                for partition in topic.partitions() {
                    self.drop_partition(partition, None);
                }
            }
        }
        if !local.deleted.is_empty() {
            self.openings.remove(local.deleted.iter().map(|(id, _, index)| (*id, *index)));
            self.forget_unopened(&local.deleted);
            // Those of topics that are still there have moved to other brokers.
            for (id, _, index) in &local.deleted {
                self.fetchers.remove(*id, *index);
                let topic = table.by_id(*id);
                if let Some(partition) = topic.and_then(|topic| topic.partition(*index)) {
                    let now = image.topics.partition(*id, *index);
                    self.drop_partition(partition, now.map(|now| (now.leader, now.leader_epoch)));
                }
            }
            self.delete(local.deleted.iter().map(|(_, name, index)| (&**name, *index)));
        }
        let mut put_off = BTreeSet::new();
        for id in changes.partitions.keys() {
            let Some(topic) = image.topics.by_id(*id) else { continue };
            let open = |request: &CreateRequest<'_>| {
                let index = request.partition;
                if !self.openings.is_waiting(*id, index) {
                    self.openings.note(*id, index, old.topics.partition(*id, index).is_none());
                    put_off.insert(*id);
                }
                None
            };
            table.insert(Arc::new(self.build_topic(&table, open, image, topic)));
        }
        let topic_configs: Vec<Arc<Topic>> = if changes.has_broker_configs() {
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
            self.apply_topic_config(image, &topic);
        }

        self.topics.store(Arc::new(table));
        self.node.set_image(Arc::clone(image));
        let is_led_elsewhere = |(id, index): &&(Uuid, i32)| {
            old.topics.partition(*id, *index).is_some_and(|it| it.leader != self.node.id())
        };
        let moved = local.elected.iter().filter(is_led_elsewhere);
        self.tell_fetches(image, &local.elected, moved.map(|(id, _)| *id).collect());
        self.follow(changes.partitions.keys().copied());
        Applied { put_off, followers: local.followers, elected: local.elected }
    }

    /// Deletes partitions: they are out of service at once, and threads of their directories remove their files.
    fn delete<'a>(self: &Arc<Self>, partitions: impl Iterator<Item = (&'a str, i32)>) {
        for deletion in self.logs.begin_delete(partitions) {
            let dir = deletion.dir().map_or(Uuid::ZERO, |dir| dir.id());
            // One that may wait for another directory takes no thread from what is done in its own.
            let pool = match deletion.has_to_wait() {
                true => self.disk_moves.of_id(dir),
                false => self.disk_metadata.of_id(dir),
            };
            let replicas = Arc::clone(self);
            let delete = move || {
                let now_ms = replicas.node.clock().wall_ms();
                if let Err(error) = replicas.logs.finish_delete(deletion, now_ms) {
                    tracing::error!(%error, "partitions could not be deleted");
                }
            };
            tokio::spawn(self.change_in(pool, "a deletion of partitions", delete));
        }
    }

    /// Names the partitions of internal topics that this node leads since an image, and those that it does not lead any
    /// more.
    pub(crate) fn announce(&self, _publishing: &Publishing<'_>, applied: &Applied) {
        let image = self.node.load_image();
        for (id, index) in &applied.followers {
            if let Some(topic) = image.topics.by_id(*id)
                && let Some(internal) = InternalTopic::named(&topic.name)
                && let Some(partition) = topic.partitions.get(index)
            {
                self.leadership.resigned(internal, *index, Some(partition.leader_epoch));
            }
        }
        for (id, index) in &applied.elected {
            let table = self.topics();
            let Some(topic) = table.by_id(*id) else { continue };
            if let Some(internal) = InternalTopic::named(&topic.name)
                && let Some(partition) = topic.partition(*index)
                // One whose role waits is announced when that is done.
                && !partition.role_waits()
            {
                self.leadership.elected(internal, partition);
            }
        }
    }

    /// Serves everything that the image in force says is here: once, when the broker starts.
    pub(crate) fn serve(self: &Arc<Self>, _publishing: &Publishing<'_>) -> Result<(), OpenError> {
        let image = self.node.image().0;
        self.set_strays_aside(&image)?;
        let mut table = TopicTable::default();
        for topic in image.topics.iter() {
            let open = |request: &CreateRequest<'_>| {
                Some(self.open_log(&CreateRequest { is_new: false, ..request.clone() }))
            };
            table.insert(Arc::new(self.build_topic(&table, open, &image, topic)));
        }
        self.topics.store(Arc::new(table));
        self.follow(image.topics.iter().map(|topic| topic.id));
        Ok(())
    }

    /// Answers everything that waits, because the broker stops.
    pub(crate) fn answer_waiting(&self) {
        for topic in self.topics().iter() {
            // Producers go on with the next leader.
            let code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
            topic.partitions().for_each(|partition| partition.answer_waiting(code));
        }
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
        self.shared.short_polls.begin(followers, now_ms);
        let table = self.topics();
        let topics = || moved.iter().filter_map(|id| table.by_id(*id));
        self.shared.short_polls.elected(topics().map(|topic| Arc::clone(&topic.name)), now_ms);
        for partition in topics().flat_map(|topic| topic.partitions()) {
            partition.wake_consumers();
        }
    }

    /// Fetches what this broker has of topics from who leads it.
    fn follow(self: &Arc<Self>, topics: impl IntoIterator<Item = Uuid>) {
        let table = self.topics();
        for topic in topics {
            for partition in table.by_id(topic).iter().flat_map(|topic| topic.partitions()) {
                self.fetchers.update(topic, partition);
                self.moves.found(self, topic, partition);
            }
        }
        self.fetchers.begin(self);
    }

    /// Tells the coordinators of all partitions that are theirs; they know which of them are news.
    pub(crate) fn begin_coordinators(&self) {
        let table = self.topics();
        for internal in InternalTopic::ALL {
            for partition in table.by_name(internal.name()).iter().flat_map(|t| t.partitions()) {
                if partition.leader().is_local && !partition.role_waits() {
                    self.leadership.elected(internal, partition);
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
        for path in self.logs.set_strays_aside(is_known, self.node.clock().wall_ms())? {
            tracing::warn!(path = %path.display(),
                "the metadata does not know this partition: set aside, not deleted");
        }
        Ok(())
    }

    /// The partition is deleted, or led elsewhere, by whom and in which epoch.
    fn drop_partition(&self, partition: &Partition, led_elsewhere: Option<(i32, i32)>) {
        if let Some(internal) = InternalTopic::named(&partition.topic) {
            self.leadership.resigned(internal, partition.index, None);
        }
        if let Some(topic) = partition.log.topic_id() {
            self.moves.forget(topic, partition.index);
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
                                Arc::clone(&self.shared),
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
                if opened.apply(partition, image) == RoleChange::BeginsToWait {
                    self.roles.add(topic.id, opened);
                }
            }
            *slot = opened;
        }
        if elsewhere > 0 {
            tracing::warn!(topic = %name, partitions = elsewhere,
                "partitions are not in the log directories that the metadata says; what was not \
                 found in another one begins anew, empty");
        }
        if !moved.is_empty() && image.metadata_version().has_directory_assignment() {
            self.news.assign(topic.id, moved);
        }
        Topic::new(name, topic.id, is_internal_topic(&topic.name), slots, offline, settings)
    }

    fn topic_settings(&self, image: &MetadataImage, name: &str) -> TopicSettings {
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
}
