//! Records on top of an image, the image that follows, and what is different in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_wire::Uuid;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::{
    BrokerRegistrationChangeRecord, ClearElrRecord, PartitionChangeRecord,
};

use super::cluster::sorted;
use super::{
    BrokerRegistration, ConfigResource, ControllerRegistration, MetadataImage, Partition,
    Provenance, QuotaEntity, ResourceType, TopicImage,
};
use crate::features::{KRAFT_VERSION, METADATA_VERSION, MetadataVersion};

/// A record that does not fit what came before it. The log is damaged, or was written by a release
/// this one does not understand; going on would give a wrong image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// A topic that does not exist.
    #[error("record for topic {0}, which does not exist")]
    UnknownTopic(Uuid),
    /// A topic that does not exist, by name.
    #[error("record for topic {0:?}, which does not exist")]
    UnknownTopicName(String),
    /// A partition that does not exist.
    #[error("record for partition {partition} of topic {topic}, which does not exist")]
    UnknownPartition {
        /// The topic.
        topic: Uuid,
        /// The partition.
        partition: i32,
    },
    /// A partition record that contradicts itself.
    #[error("record for partition {partition} of topic {topic}: {reason}")]
    BadPartition {
        /// The topic.
        topic: Uuid,
        /// The partition.
        partition: i32,
        /// What is wrong with it.
        reason: String,
    },
    /// A broker that is not registered, or not in that epoch.
    #[error("record for broker {broker} in epoch {epoch}, which is not registered")]
    UnknownBroker {
        /// The broker.
        broker: i32,
        /// The epoch in the record.
        epoch: i64,
    },
    /// A field with a value that has no meaning.
    #[error("record for broker {broker} has {field}={value}")]
    BadBrokerChange {
        /// The broker.
        broker: i32,
        /// The field.
        field: &'static str,
        /// Its value.
        value: i8,
    },
    /// A level of `metadata.version` this release cannot run at.
    #[error(
        "metadata.version {0} is not supported: this release needs {min} to {max}",
        min = MetadataVersion::MINIMUM.level(),
        max = MetadataVersion::LATEST.level()
    )]
    UnsupportedMetadataVersion(i16),
    /// An access control entry that does not exist.
    #[error("record removes access control entry {0}, which does not exist")]
    UnknownAcl(Uuid),
    /// A metadata transaction begins or ends where it cannot.
    #[error("{0}")]
    Transaction(&'static str),
}

/// What is different between two images.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Topics that are new.
    pub created_topics: BTreeSet<Uuid>,
    /// Topics that are gone, as they were.
    pub deleted_topics: BTreeMap<Uuid, Arc<TopicImage>>,
    /// Partitions that are new or changed, in topics that are new or stayed.
    pub partitions: BTreeMap<Uuid, BTreeSet<i32>>,
    /// Brokers that came, changed or went.
    pub brokers: BTreeSet<i32>,
    /// Controllers that came, changed or went.
    pub controllers: BTreeSet<i32>,
    /// Resources whose configs changed.
    pub configs: BTreeSet<ConfigResource>,
    /// Features whose level changed.
    pub features: BTreeSet<String>,
    /// Entities whose quotas changed.
    pub quotas: BTreeSet<QuotaEntity>,
    /// Whether access control entries changed.
    pub acls: bool,
    /// Whether SCRAM credentials changed.
    pub scram: bool,
    /// Whether delegation tokens changed.
    pub tokens: bool,
    /// Whether producer ids were handed out.
    pub producer_ids: bool,
}

/// What changes mean for the replicas of one broker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalChanges {
    /// Replicas to delete: topic, its name, partition.
    pub deleted: Vec<(Uuid, Arc<str>, i32)>,
    /// Partitions this broker leads in a new leader epoch.
    pub elected: Vec<(Uuid, i32)>,
    /// Partitions this broker leads and that are new or changed, the elected ones included.
    pub leaders: Vec<(Uuid, i32)>,
    /// Partitions this broker follows and that are new or changed.
    pub followers: Vec<(Uuid, i32)>,
}

impl Changes {
    /// Whether configs of brokers changed.
    pub fn has_broker_configs(&self) -> bool {
        self.configs.iter().any(|config| config.resource_type == ResourceType::Broker)
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    /// What they mean for the replicas of `broker`.
    pub fn local(&self, old: &MetadataImage, new: &MetadataImage, broker: i32) -> LocalChanges {
        let mut local = LocalChanges::default();
        for topic in self.deleted_topics.values() {
            for (index, partition) in &topic.partitions {
                if partition.replicas.contains(&broker) {
                    local.deleted.push((topic.id, topic.name.clone(), *index));
                }
            }
        }
        for (id, partitions) in &self.partitions {
            let Some(topic) = new.topics.by_id(*id) else { continue };
            for index in partitions {
                let Some(partition) = topic.partitions.get(index) else { continue };
                let before = old.topics.partition(*id, *index);
                if !partition.replicas.contains(&broker) {
                    if before.is_some_and(|before| before.replicas.contains(&broker)) {
                        local.deleted.push((*id, topic.name.clone(), *index));
                    }
                } else if partition.leader == broker {
                    local.leaders.push((*id, *index));
                    if before.is_none_or(|b| b.leader_epoch != partition.leader_epoch) {
                        local.elected.push((*id, *index));
                    }
                } else {
                    local.followers.push((*id, *index));
                }
            }
        }
        local
    }
}

/// Records on top of an image.
#[derive(Debug, Clone)]
pub struct Delta {
    base: MetadataImage,
    image: MetadataImage,
    touched: Touched,
}

/// What records spoke of; whether it is different in the end is found out at the end.
#[derive(Debug, Clone, Default)]
struct Touched {
    topics: BTreeSet<Uuid>,
    partitions: BTreeMap<Uuid, BTreeSet<i32>>,
    brokers: BTreeSet<i32>,
    controllers: BTreeSet<i32>,
    configs: BTreeSet<ConfigResource>,
    features: BTreeSet<String>,
    quotas: BTreeSet<QuotaEntity>,
    any: bool,
}

impl Delta {
    /// Nothing on top of an image yet.
    pub fn new(base: MetadataImage) -> Delta {
        Delta { image: base.clone(), base, touched: Touched::default() }
    }

    /// A snapshot that replaces an image: what its records do not mention is gone.
    pub fn replacing(base: MetadataImage) -> Delta {
        let mut touched = Touched { any: true, ..Touched::default() };
        for topic in base.topics.iter() {
            touched.topics.insert(topic.id);
            touched.partitions.insert(topic.id, topic.partitions.keys().copied().collect());
        }
        touched.brokers.extend(base.cluster.brokers.keys());
        touched.controllers.extend(base.cluster.controllers.keys());
        touched.configs.extend(base.configs.iter().map(|(resource, _)| resource.clone()));
        touched.features.extend(base.features.levels.keys().cloned());
        touched.features.insert(METADATA_VERSION.to_owned());
        touched.quotas.extend(base.quotas.entities.keys().cloned());
        Delta { image: MetadataImage::empty(), base, touched }
    }

    /// The image as the records so far make it.
    pub fn image(&self) -> &MetadataImage {
        &self.image
    }

    /// Whether no record came yet.
    pub fn is_untouched(&self) -> bool {
        !self.touched.any
    }

    /// The image that follows, and what is different in it.
    pub fn apply(mut self, provenance: Provenance) -> (MetadataImage, Changes) {
        self.image.provenance = provenance;
        let changes = self.changes();
        (self.image, changes)
    }

    fn changes(&self) -> Changes {
        let (old, new, touched) = (&self.base, &self.image, &self.touched);
        let mut changes = Changes {
            acls: old.acls != new.acls,
            scram: old.scram != new.scram,
            tokens: old.tokens != new.tokens,
            producer_ids: old.next_producer_id != new.next_producer_id,
            ..Changes::default()
        };
        for id in &touched.topics {
            match (old.topics.by_id(*id), new.topics.by_id(*id)) {
                (None, Some(_)) => {
                    changes.created_topics.insert(*id);
                }
                (Some(topic), None) => {
                    changes.deleted_topics.insert(*id, topic.clone());
                }
                _ => {}
            }
        }
        for (id, partitions) in &touched.partitions {
            for index in partitions {
                let after = new.topics.partition(*id, *index);
                if after.is_some() && old.topics.partition(*id, *index) != after {
                    changes.partitions.entry(*id).or_default().insert(*index);
                }
            }
        }
        let brokers = touched.brokers.iter().copied();
        changes.brokers = brokers
            .filter(|id| old.cluster.brokers.get(id) != new.cluster.brokers.get(id))
            .collect();
        let controllers = touched.controllers.iter().copied();
        changes.controllers = controllers
            .filter(|id| old.cluster.controllers.get(id) != new.cluster.controllers.get(id))
            .collect();
        // Configs count as changed when they were written again: brokers reload files by that.
        changes.configs = touched
            .configs
            .iter()
            .filter(|resource| {
                resource.resource_type == ResourceType::Broker
                    || old.configs.get(resource) != new.configs.get(resource)
            })
            .cloned()
            .collect();
        changes.features = touched
            .features
            .iter()
            .filter(|name| old.features.level(name) != new.features.level(name))
            .cloned()
            .collect();
        changes.quotas = touched
            .quotas
            .iter()
            .filter(|entity| old.quotas.entities.get(entity) != new.quotas.entities.get(entity))
            .cloned()
            .collect();
        changes
    }

    /// Takes one record.
    ///
    /// Records of metadata transactions are for [`super::Loader`], which knows what to do with
    /// what lies between them.
    pub fn replay(&mut self, record: &MetadataRecord) -> Result<(), ReplayError> {
        self.touched.any = true;
        match record {
            MetadataRecord::RegisterBroker(record) => {
                let broker = BrokerRegistration::from_record(record);
                self.touched.brokers.insert(broker.id);
                let cluster = Arc::make_mut(&mut self.image.cluster);
                cluster.brokers.insert(broker.id, Arc::new(broker));
            }
            MetadataRecord::UnregisterBroker(record) => {
                self.touched.brokers.insert(record.broker_id);
                Arc::make_mut(&mut self.image.cluster).brokers.remove(&record.broker_id);
            }
            MetadataRecord::FenceBroker(record) => {
                self.change_broker(record.id, record.epoch, |broker| broker.fenced = true)?;
            }
            MetadataRecord::UnfenceBroker(record) => {
                self.change_broker(record.id, record.epoch, |broker| broker.fenced = false)?;
            }
            MetadataRecord::BrokerRegistrationChange(record) => self.registration_change(record)?,
            MetadataRecord::RegisterController(record) => {
                let controller = ControllerRegistration::from_record(record);
                self.touched.controllers.insert(controller.id);
                let cluster = Arc::make_mut(&mut self.image.cluster);
                cluster.controllers.insert(controller.id, Arc::new(controller));
            }
            MetadataRecord::UnregisterController(record) => {
                self.touched.controllers.insert(record.controller_id);
                Arc::make_mut(&mut self.image.cluster).controllers.remove(&record.controller_id);
            }
            MetadataRecord::Topic(record) => {
                self.touched.topics.insert(record.topic_id);
                let topic = TopicImage {
                    name: Arc::from(record.name.as_str()),
                    id: record.topic_id,
                    partitions: BTreeMap::new(),
                };
                Arc::make_mut(&mut self.image.topics).insert(topic);
            }
            MetadataRecord::Partition(record) => {
                let partition =
                    Partition::from_record(record).map_err(|reason| ReplayError::BadPartition {
                        topic: record.topic_id,
                        partition: record.partition_id,
                        reason,
                    })?;
                let topic = Arc::make_mut(&mut self.image.topics)
                    .get_mut(record.topic_id)
                    .ok_or(ReplayError::UnknownTopic(record.topic_id))?;
                topic.partitions.insert(record.partition_id, Arc::new(partition));
                self.touch_partition(record.topic_id, record.partition_id);
            }
            MetadataRecord::PartitionChange(record) => self.partition_change(record)?,
            MetadataRecord::RemoveTopic(record) => {
                let topic = Arc::make_mut(&mut self.image.topics)
                    .remove(record.topic_id)
                    .ok_or(ReplayError::UnknownTopic(record.topic_id))?;
                self.touched.topics.insert(record.topic_id);
                let resource = ConfigResource::topic(&*topic.name);
                if Arc::make_mut(&mut self.image.configs).remove(&resource) {
                    self.touched.configs.insert(resource);
                }
            }
            MetadataRecord::ClearElr(record) => self.clear_elr(record)?,
            MetadataRecord::Config(record) => {
                let kept = ResourceType::from_id(record.resource_type)
                    .filter(|resource_type| resource_type.keeps(&record.name));
                // A config of an older release, or of something this one does not know.
                let Some(resource_type) = kept else { return Ok(()) };
                let resource = ConfigResource { resource_type, name: record.resource_name.clone() };
                let configs = Arc::make_mut(&mut self.image.configs);
                configs.set(&resource, &record.name, record.value.as_deref());
                self.touched.configs.insert(resource);
            }
            MetadataRecord::FeatureLevel(record) => {
                self.feature_level(&record.name, record.feature_level)?;
            }
            MetadataRecord::ClientQuota(record) => {
                let entity = QuotaEntity::from_record(&record.entity);
                let quotas = Arc::make_mut(&mut self.image.quotas);
                let keys = quotas.entities.entry(entity.clone()).or_default();
                if record.remove {
                    keys.remove(&record.key);
                } else {
                    keys.insert(record.key.clone(), record.value);
                }
                if keys.is_empty() {
                    quotas.entities.remove(&entity);
                }
                self.touched.quotas.insert(entity);
            }
            MetadataRecord::ProducerIds(record) => {
                self.image.next_producer_id = record.next_producer_id;
            }
            MetadataRecord::AccessControlEntry(record) => {
                Arc::make_mut(&mut self.image.acls).insert(record.id, record.clone());
            }
            MetadataRecord::RemoveAccessControlEntry(record) => {
                Arc::make_mut(&mut self.image.acls)
                    .remove(&record.id)
                    .ok_or(ReplayError::UnknownAcl(record.id))?;
            }
            MetadataRecord::UserScramCredential(record) => {
                let key = (record.mechanism, record.name.clone());
                Arc::make_mut(&mut self.image.scram).insert(key, record.clone());
            }
            MetadataRecord::RemoveUserScramCredential(record) => {
                let key = (record.mechanism, record.name.clone());
                Arc::make_mut(&mut self.image.scram).remove(&key);
            }
            MetadataRecord::DelegationToken(record) => {
                let tokens = Arc::make_mut(&mut self.image.tokens);
                tokens.insert(record.token_id.clone(), record.clone());
            }
            MetadataRecord::RemoveDelegationToken(record) => {
                Arc::make_mut(&mut self.image.tokens).remove(&record.token_id);
            }
            MetadataRecord::NoOp(_) | MetadataRecord::ZkMigrationState(_) => {}
            MetadataRecord::BeginTransaction(_)
            | MetadataRecord::EndTransaction(_)
            | MetadataRecord::AbortTransaction(_) => {
                return Err(ReplayError::Transaction(
                    "a metadata transaction begins or ends within a transaction or a snapshot",
                ));
            }
        }
        Ok(())
    }

    fn touch_partition(&mut self, topic: Uuid, partition: i32) {
        self.touched.partitions.entry(topic).or_default().insert(partition);
    }

    fn feature_level(&mut self, name: &str, level: i16) -> Result<(), ReplayError> {
        let features = Arc::make_mut(&mut self.image.features);
        match name {
            METADATA_VERSION => {
                let version = MetadataVersion::from_level(level)
                    .ok_or(ReplayError::UnsupportedMetadataVersion(level))?;
                features.metadata_version = Some(version);
            }
            // Its level stands in a control record; older releases wrote this one by mistake.
            KRAFT_VERSION => return Ok(()),
            _ if level == 0 => {
                features.levels.remove(name);
            }
            _ => {
                features.levels.insert(name.to_owned(), level);
            }
        }
        self.touched.features.insert(name.to_owned());
        Ok(())
    }

    fn change_broker(
        &mut self,
        id: i32,
        epoch: i64,
        change: impl FnOnce(&mut BrokerRegistration),
    ) -> Result<(), ReplayError> {
        let cluster = Arc::make_mut(&mut self.image.cluster);
        let broker = cluster.brokers.get_mut(&id).filter(|broker| broker.epoch == epoch);
        let broker = broker.ok_or(ReplayError::UnknownBroker { broker: id, epoch })?;
        change(Arc::make_mut(broker));
        self.touched.brokers.insert(id);
        Ok(())
    }

    fn registration_change(
        &mut self,
        record: &BrokerRegistrationChangeRecord,
    ) -> Result<(), ReplayError> {
        let broker = record.broker_id;
        let bad = |field, value| ReplayError::BadBrokerChange { broker, field, value };
        let fenced = match record.fenced {
            0 => None,
            1 => Some(true),
            -1 => Some(false),
            value => return Err(bad("fenced", value)),
        };
        let shutdown = match record.in_controlled_shutdown {
            0 => None,
            1 => Some(true),
            value => return Err(bad("in_controlled_shutdown", value)),
        };
        self.change_broker(broker, record.broker_epoch, |registration| {
            if let Some(fenced) = fenced {
                registration.fenced = fenced;
            }
            if let Some(shutdown) = shutdown {
                registration.in_controlled_shutdown = shutdown;
            }
            if !record.log_dirs.is_empty() {
                registration.directories = sorted(&record.log_dirs);
            }
            if let Some(cordoned) = &record.cordoned_log_dirs {
                registration.cordoned_directories = Some(sorted(cordoned));
            }
        })
    }

    fn partition_change(&mut self, record: &PartitionChangeRecord) -> Result<(), ReplayError> {
        let (topic, partition) = (record.topic_id, record.partition_id);
        let topics = Arc::make_mut(&mut self.image.topics);
        let slot = topics
            .get_mut(topic)
            .ok_or(ReplayError::UnknownTopic(topic))?
            .partitions
            .get_mut(&partition)
            .ok_or(ReplayError::UnknownPartition { topic, partition })?;
        let changed = slot.changed(record).map_err(|reason| ReplayError::BadPartition {
            topic,
            partition,
            reason,
        })?;
        *slot = Arc::new(changed);
        self.touch_partition(topic, partition);
        Ok(())
    }

    fn clear_elr(&mut self, record: &ClearElrRecord) -> Result<(), ReplayError> {
        let ids: Vec<Uuid> = if record.topic_name.is_empty() {
            self.image.topics.ids().collect()
        } else {
            let topic = self.image.topics.by_name(&record.topic_name);
            vec![topic.ok_or_else(|| ReplayError::UnknownTopicName(record.topic_name.clone()))?.id]
        };
        for id in ids {
            let with_elr: Vec<i32> = self
                .image
                .topics
                .by_id(id)
                .into_iter()
                .flat_map(|topic| &topic.partitions)
                .filter(|(_, p)| !p.elr.is_empty() || !p.last_known_elr.is_empty())
                .map(|(index, _)| *index)
                .collect();
            for partition_id in with_elr {
                self.partition_change(&PartitionChangeRecord {
                    topic_id: id,
                    partition_id,
                    eligible_leader_replicas: Some(Vec::new()),
                    last_known_elr: Some(Vec::new()),
                    ..PartitionChangeRecord::default()
                })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use thalweg_wire::messages::{
        FeatureLevelRecord, PartitionRecord, RegisterBrokerRecord, RemoveTopicRecord, TopicRecord,
        UnfenceBrokerRecord,
    };

    use super::*;

    const TOPIC: Uuid = Uuid::from_u128(0x7777);

    fn partition(partition_id: i32, replicas: &[i32]) -> MetadataRecord {
        PartitionRecord {
            partition_id,
            topic_id: TOPIC,
            replicas: replicas.to_vec(),
            isr: replicas.to_vec(),
            directories: vec![super::super::UNASSIGNED; replicas.len()],
            leader: replicas[0],
            leader_epoch: 0,
            partition_epoch: 0,
            ..PartitionRecord::default()
        }
        .into()
    }

    fn change(partition_id: i32) -> PartitionChangeRecord {
        PartitionChangeRecord { topic_id: TOPIC, partition_id, ..PartitionChangeRecord::default() }
    }

    fn base() -> MetadataImage {
        let topic =
            TopicRecord { name: "t".into(), topic_id: TOPIC, ..TopicRecord::default() }.into();
        applied(
            &MetadataImage::empty(),
            &[topic, partition(0, &[1, 2]), partition(1, &[2, 3]), partition(2, &[3, 1])],
        )
        .0
    }

    fn applied(base: &MetadataImage, records: &[MetadataRecord]) -> (MetadataImage, Changes) {
        let mut delta = Delta::new(base.clone());
        for record in records {
            delta.replay(record).expect("a record that fits");
        }
        delta.apply(Provenance::NONE)
    }

    #[test]
    fn epochs_are_counted() {
        let base = base();
        for (change, leader_epoch, leader) in [
            (change(0), 0, 1),
            (PartitionChangeRecord { isr: Some(vec![1]), ..change(0) }, 0, 1),
            (PartitionChangeRecord { leader: 2, ..change(0) }, 1, 2),
            // The same leader, named again, is a new epoch of it.
            (PartitionChangeRecord { leader: 1, ..change(0) }, 1, 1),
            (PartitionChangeRecord { leader: -1, ..change(0) }, 1, -1),
        ] {
            let (image, changes) = applied(&base, &[change.into()]);
            let partition = image.topics.partition(TOPIC, 0).expect("the partition");
            let epochs = (partition.leader_epoch, partition.partition_epoch);
            assert_eq!((epochs, partition.leader), ((leader_epoch, 1), leader));
            assert_eq!(changes.partitions, BTreeMap::from([(TOPIC, BTreeSet::from([0]))]));
        }
        let last = base.topics.partition(TOPIC, 0).expect("the partition");
        assert_eq!((last.leader_epoch, last.partition_epoch), (0, 0), "the base changed");
    }

    #[test]
    fn what_changes_mean_for_a_broker() {
        let base = base();
        let records = [
            PartitionChangeRecord { leader: 2, ..change(0) }.into(),
            PartitionChangeRecord { isr: Some(vec![2]), ..change(1) }.into(),
            PartitionChangeRecord {
                replicas: Some(vec![3, 2]),
                isr: Some(vec![3]),
                directories: Some(vec![super::super::UNASSIGNED; 2]),
                ..change(2)
            }
            .into(),
        ];
        let (image, changes) = applied(&base, &records);
        let one = changes.local(&base, &image, 1);
        assert_eq!(one.deleted, [(TOPIC, Arc::from("t"), 2)]);
        assert_eq!((one.followers, one.leaders), (vec![(TOPIC, 0)], vec![]));
        let two = changes.local(&base, &image, 2);
        assert_eq!(two.elected, [(TOPIC, 0)]);
        assert_eq!(two.leaders, [(TOPIC, 0), (TOPIC, 1)]);
        assert_eq!(two.followers, [(TOPIC, 2)]);
        assert_eq!(changes.local(&base, &image, 4), LocalChanges::default());

        let removed = RemoveTopicRecord { topic_id: TOPIC, ..RemoveTopicRecord::default() };
        let (gone, changes) = applied(&image, &[removed.into()]);
        assert!(gone.topics.is_empty() && changes.partitions.is_empty());
        let deleted: Vec<i32> =
            changes.local(&image, &gone, 2).deleted.iter().map(|(_, _, index)| *index).collect();
        assert_eq!(deleted, [0, 1, 2]);
    }

    #[test]
    fn what_comes_and_goes_within_a_delta_is_no_change() {
        let topic_id = Uuid::from_u128(0x8888);
        let records = [
            TopicRecord { name: "u".into(), topic_id, ..TopicRecord::default() }.into(),
            RemoveTopicRecord { topic_id, ..RemoveTopicRecord::default() }.into(),
        ];
        let (image, changes) = applied(&base(), &records);
        assert!(changes.is_empty(), "{changes:?}");
        assert_eq!(image, base());
    }

    #[test]
    fn records_that_do_not_fit() {
        let broker = RegisterBrokerRecord { broker_id: 1, broker_epoch: 5, ..Default::default() };
        let (base, _) = applied(&base(), &[broker.into()]);
        let other = Uuid::from_u128(9);
        let refused: Vec<(MetadataRecord, &str)> = vec![
            (PartitionChangeRecord { topic_id: other, ..change(0) }.into(), "does not exist"),
            (change(3).into(), "partition 3 of topic"),
            (
                PartitionRecord { topic_id: other, ..PartitionRecord::default() }.into(),
                "does not exist",
            ),
            (
                PartitionChangeRecord { directories: Some(vec![other]), ..change(0) }.into(),
                "partition 0 of topic",
            ),
            (PartitionChangeRecord { leader_recovery_state: 7, ..change(0) }.into(), "7"),
            (RemoveTopicRecord { topic_id: other, ..Default::default() }.into(), "does not exist"),
            (
                UnfenceBrokerRecord { id: 1, epoch: 4, ..Default::default() }.into(),
                "broker 1 in epoch 4",
            ),
            (
                UnfenceBrokerRecord { id: 2, epoch: 5, ..Default::default() }.into(),
                "broker 2 in epoch 5",
            ),
            (
                ClearElrRecord { topic_name: "nobody".into(), ..Default::default() }.into(),
                "\"nobody\"",
            ),
            (
                FeatureLevelRecord {
                    name: METADATA_VERSION.into(),
                    feature_level: 34,
                    ..Default::default()
                }
                .into(),
                "metadata.version 34",
            ),
        ];
        for (record, expected) in refused {
            let error = Delta::new(base.clone()).replay(&record).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
