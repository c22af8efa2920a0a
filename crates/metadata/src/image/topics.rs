//! Topics and their partitions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use thalweg_wire::Uuid;
use thalweg_wire::messages::{PartitionChangeRecord, PartitionRecord};

/// Leader of a partition that has none.
pub const NO_LEADER: i32 = -1;
/// In a [`PartitionChangeRecord`]: the leader stays, and so does its epoch.
pub const NO_LEADER_CHANGE: i32 = -2;
/// Directory of a replica whose directory is not known.
pub const MIGRATING: Uuid = Uuid::ZERO;
/// Directory of a replica for which the broker shall choose one.
pub const UNASSIGNED: Uuid = Uuid::ONE;
/// Directory of a replica whose directory was lost.
pub const LOST: Uuid = Uuid::TWO;

/// A partition: where its replicas are, who leads, who is in sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Brokers that have a replica, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Directory of each replica, in the order of `replicas`.
    pub directories: Vec<Uuid>,
    /// In-sync replicas.
    pub isr: Vec<i32>,
    /// Replicas a reassignment takes away.
    pub removing_replicas: Vec<i32>,
    /// Replicas a reassignment adds.
    pub adding_replicas: Vec<i32>,
    /// Eligible leader replicas: not in sync, but complete up to the high watermark.
    pub elr: Vec<i32>,
    /// The last known eligible leader replicas.
    pub last_known_elr: Vec<i32>,
    /// Leader, or [`NO_LEADER`].
    pub leader: i32,
    /// Whether the leader was elected uncleanly and has not recovered.
    pub is_recovering: bool,
    /// Grows with each new leader, also when it is the same.
    pub leader_epoch: i32,
    /// Grows with each change.
    pub partition_epoch: i32,
}

impl Partition {
    /// The partition a record describes, or what is wrong with the record.
    pub fn from_record(record: &PartitionRecord) -> Result<Partition, String> {
        Ok(Partition {
            directories: directories(&record.directories, record.replicas.len())?,
            replicas: record.replicas.clone(),
            isr: record.isr.clone(),
            removing_replicas: record.removing_replicas.clone(),
            adding_replicas: record.adding_replicas.clone(),
            elr: record.eligible_leader_replicas.clone().unwrap_or_default(),
            last_known_elr: record.last_known_elr.clone().unwrap_or_default(),
            leader: record.leader,
            is_recovering: recovering(record.leader_recovery_state)?,
            leader_epoch: record.leader_epoch,
            partition_epoch: record.partition_epoch,
        })
    }

    /// The partition after a change. Epochs are not in the record, they are counted.
    pub fn changed(&self, change: &PartitionChangeRecord) -> Result<Partition, String> {
        let replicas = change.replicas.clone().unwrap_or_else(|| self.replicas.clone());
        let chosen = change.directories.as_deref().unwrap_or(&self.directories);
        let directories = directories(chosen, replicas.len())?;
        let or = |new: &Option<Vec<i32>>, old: &Vec<i32>| new.clone().unwrap_or(old.clone());
        let has_leader_change = change.leader != NO_LEADER_CHANGE;
        Ok(Partition {
            directories,
            isr: or(&change.isr, &self.isr),
            removing_replicas: or(&change.removing_replicas, &self.removing_replicas),
            adding_replicas: or(&change.adding_replicas, &self.adding_replicas),
            elr: or(&change.eligible_leader_replicas, &self.elr),
            last_known_elr: or(&change.last_known_elr, &self.last_known_elr),
            leader: if has_leader_change { change.leader } else { self.leader },
            is_recovering: match change.leader_recovery_state {
                -1 => self.is_recovering,
                state => recovering(state)?,
            },
            // Java's counters wrap; so do these, because a log may say anything.
            leader_epoch: self.leader_epoch.wrapping_add(i32::from(has_leader_change)),
            partition_epoch: self.partition_epoch.wrapping_add(1),
            replicas,
        })
    }

    /// The record that says all of this partition.
    pub fn to_record(
        &self,
        topic_id: Uuid,
        partition_id: i32,
        metadata_version: crate::features::MetadataVersion,
    ) -> PartitionRecord {
        let with_elr = metadata_version.has_elr();
        let elr =
            |replicas: &Vec<i32>| (with_elr && !replicas.is_empty()).then(|| replicas.clone());
        PartitionRecord {
            partition_id,
            topic_id,
            replicas: self.replicas.clone(),
            isr: self.isr.clone(),
            removing_replicas: self.removing_replicas.clone(),
            adding_replicas: self.adding_replicas.clone(),
            leader: self.leader,
            leader_recovery_state: i8::from(self.is_recovering),
            leader_epoch: self.leader_epoch,
            partition_epoch: self.partition_epoch,
            directories: match metadata_version.has_directory_assignment() {
                true => self.directories.clone(),
                false => Vec::new(),
            },
            eligible_leader_replicas: elr(&self.elr),
            last_known_elr: elr(&self.last_known_elr),
            ..PartitionRecord::default()
        }
    }

    /// The replica that should lead; [`NO_LEADER`] if there are no replicas.
    pub fn preferred_replica(&self) -> i32 {
        self.replicas.first().copied().unwrap_or(NO_LEADER)
    }

    /// Directory of a broker's replica.
    pub fn directory(&self, broker: i32) -> Option<Uuid> {
        let at = self.replicas.iter().position(|replica| *replica == broker)?;
        self.directories.get(at).copied()
    }

    /// Whether replicas are being added or taken away.
    pub fn is_reassigning(&self) -> bool {
        !self.adding_replicas.is_empty() || !self.removing_replicas.is_empty()
    }
}

/// Directories in the order of the replicas; nothing, or nothing but MIGRATING, fits any number.
fn directories(directories: &[Uuid], replicas: usize) -> Result<Vec<Uuid>, String> {
    if directories.iter().all(|directory| *directory == MIGRATING) {
        return Ok(vec![MIGRATING; replicas]);
    }
    if directories.len() != replicas {
        return Err(format!("{} directories for {replicas} replicas", directories.len()));
    }
    Ok(directories.to_vec())
}

fn recovering(state: i8) -> Result<bool, String> {
    match state {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(format!("leader recovery state {state} does not exist")),
    }
}

/// A topic and its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicImage {
    /// Name.
    pub name: Arc<str>,
    /// Id, which no other topic ever has.
    pub id: Uuid,
    /// Partitions by index.
    pub partitions: BTreeMap<i32, Arc<Partition>>,
}

/// All topics.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TopicsImage {
    by_id: HashMap<Uuid, Arc<TopicImage>>,
    by_name: BTreeMap<Arc<str>, Uuid>,
}

impl TopicsImage {
    /// Number of topics.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are no topics.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The topic of that id.
    pub fn by_id(&self, id: Uuid) -> Option<&Arc<TopicImage>> {
        self.by_id.get(&id)
    }

    /// The topic of that name.
    pub fn by_name(&self, name: &str) -> Option<&Arc<TopicImage>> {
        self.by_id.get(self.by_name.get(name)?)
    }

    /// A partition.
    pub fn partition(&self, id: Uuid, partition: i32) -> Option<&Arc<Partition>> {
        self.by_id.get(&id)?.partitions.get(&partition)
    }

    /// All topics, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<TopicImage>> {
        self.by_name.values().filter_map(|id| self.by_id.get(id))
    }

    /// Topics whose names begin behind `name`, by name.
    pub fn after(&self, name: &str) -> impl Iterator<Item = &Arc<TopicImage>> {
        let from = (std::ops::Bound::Excluded(name), std::ops::Bound::Unbounded);
        self.by_name.range::<str, _>(from).filter_map(|(_, id)| self.by_id.get(id))
    }

    pub(super) fn insert(&mut self, topic: TopicImage) {
        self.by_name.insert(topic.name.clone(), topic.id);
        self.by_id.insert(topic.id, Arc::new(topic));
    }

    pub(super) fn get_mut(&mut self, id: Uuid) -> Option<&mut TopicImage> {
        self.by_id.get_mut(&id).map(Arc::make_mut)
    }

    pub(super) fn remove(&mut self, id: Uuid) -> Option<Arc<TopicImage>> {
        let topic = self.by_id.remove(&id)?;
        // A topic of the same name may have come before this one went.
        if self.by_name.get(&topic.name) == Some(&id) {
            self.by_name.remove(&topic.name);
        }
        Some(topic)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = Uuid> {
        self.by_id.keys().copied()
    }
}
