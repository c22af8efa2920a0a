//! What this broker is to one partition.

use thalweg_metadata::image::Partition;
use thalweg_wire::ErrorCode;

use crate::brokers::Brokers;
use crate::isr::{AlterPartition, Ids, Isr, IsrChange, IsrMember};
use crate::progress::Progress;

/// Offsets of this broker's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// First offset.
    pub log_start: i64,
    /// Offset up to which records are committed.
    pub high_watermark: i64,
    /// Offset of the next record.
    pub log_end: i64,
}

/// Settings that replication goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `replica.lag.time.max.ms`
    pub lag_time_max_ms: u64,
    /// `min.insync.replicas` of the topic. No more than there are replicas count.
    pub min_insync_replicas: usize,
}

/// What is so when something happens.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Time on a monotonic clock.
    pub ms: u64,
    /// The log.
    pub log: Offsets,
    /// Settings.
    pub settings: Settings,
    /// Epoch of this broker's registration.
    pub broker_epoch: i64,
    /// The cluster's brokers.
    pub brokers: &'a dyn Brokers,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Outcome {
    /// The high watermark rises to this.
    pub high_watermark: Option<i64>,
    /// The controller is to be asked for this; its answer goes to [`Replica::altered`].
    pub alter: Option<AlterPartition>,
}

/// What became of metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It says nothing new: an answer of the controller came first.
    Stale,
    /// This broker leads.
    Leads {
        /// In a new epoch, which begins at the log's end.
        is_new_epoch: bool,
        /// It did not lead before, or not without a break: what it appended before is not known to be there.
        is_new_leader: bool,
        /// The high watermark rises to this.
        high_watermark: Option<i64>,
    },
    /// This broker does not lead.
    Follows {
        /// In a new epoch: fetching begins anew.
        is_new_epoch: bool,
    },
}

/// A follower's fetch that was read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The follower.
    pub replica: i32,
    /// The epoch in which this broker led when it let the follower fetch ([`Replica::check_fetch`]).
    pub leader_epoch: i32,
    /// Epoch of its broker; -1 if the request has none.
    pub broker_epoch: i64,
    /// The offset it fetched from: where its log ends.
    pub offset: i64,
    /// Where its log starts.
    pub log_start: i64,
    /// The leader's log end before its log was read: what is appended later does not keep a follower from being
    /// caught up.
    pub leader_end: i64,
}

/// The controller's answer to an [`AlterPartition`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Altered {
    /// Epoch of the leader.
    pub leader_epoch: i32,
    /// The new partition epoch; the old one if nothing had to be changed.
    pub partition_epoch: i32,
    /// The ISR.
    pub isr: Vec<i32>,
}

/// How an append that all in-sync replicas are to have stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// Not all have it.
    NotYet,
    /// It is committed.
    Committed,
    /// All that are in sync have it, and they are fewer than `min.insync.replicas`
    /// (NOT_ENOUGH_REPLICAS_AFTER_APPEND).
    TooFew,
    /// This broker does not lead any more (NOT_LEADER_OR_FOLLOWER).
    NotLeader,
}

/// What this broker is to a partition.
#[derive(Clone, Debug)]
pub struct Replica {
    id: i32,
    leader: i32,
    leader_epoch: i32,
    partition_epoch: i32,
    /// In a box, because a broker has many partitions that it does not lead.
    leadership: Option<Box<Leadership>>,
}

/// What a leader knows.
#[derive(Clone, Debug)]
struct Leadership {
    /// Where its epoch begins.
    epoch_start: i64,
    /// The other replicas, in the order of the assignment.
    followers: Box<[(i32, Progress)]>,
    isr: Isr,
}

impl Replica {
    /// A replica on broker `id` of which no metadata is known.
    pub fn new(id: i32) -> Replica {
        Replica { id, leader: -1, leader_epoch: -1, partition_epoch: 0, leadership: None }
    }

    /// Who leads; -1 if nobody does or nothing is known.
    pub fn leader(&self) -> i32 {
        self.leader
    }

    /// The leader's epoch; -1 before the first metadata.
    pub fn leader_epoch(&self) -> i32 {
        self.leader_epoch
    }

    /// The newest partition epoch, be it of metadata or of the controller's answer; 0 before the first metadata.
    pub fn partition_epoch(&self) -> i32 {
        self.partition_epoch
    }

    /// Whether this broker leads.
    pub fn is_leader(&self) -> bool {
        self.leadership.is_some()
    }

    /// Whether this broker leads, and there is no other replica: the high watermark is the log's end.
    pub fn is_alone(&self) -> bool {
        self.leadership.as_ref().is_some_and(|leadership| leadership.followers.is_empty())
    }

    /// Where this leader's epoch begins: what an earlier leader committed ends there at the latest. `None` if this
    /// broker does not lead.
    pub fn epoch_start(&self) -> Option<i64> {
        self.leadership.as_ref().map(|leadership| leadership.epoch_start)
    }

    /// The in-sync replicas, in no order; empty if this broker does not lead.
    pub fn isr(&self) -> &[i32] {
        self.leadership.as_ref().map_or(&[], |leadership| &leadership.isr.committed)
    }

    /// The followers in the ISR, and how far they are; none if this broker does not lead.
    pub fn in_sync_followers(&self) -> impl Iterator<Item = (i32, &Progress)> {
        self.leadership.iter().flat_map(|leadership| {
            let is_in_sync = |id: &i32| leadership.isr.committed.contains(id);
            let followers = leadership.followers.iter();
            followers.filter(move |(id, _)| is_in_sync(id)).map(|(id, progress)| (*id, progress))
        })
    }

    /// The change of the ISR that is in flight.
    pub fn pending(&self) -> Option<&AlterPartition> {
        self.leadership.as_ref()?.isr.pending.as_deref()
    }

    /// How far a follower is; `None` if this broker does not lead, or the other is no replica.
    pub fn progress(&self, follower: i32) -> Option<&Progress> {
        self.leadership.as_ref()?.follower(follower)
    }

    /// Whether a replica is not in sync; `false` if this broker does not lead.
    pub fn is_under_replicated(&self) -> bool {
        self.leadership
            .as_ref()
            .is_some_and(|leadership| leadership.isr.committed.len() <= leadership.followers.len())
    }

    /// Whether fewer replicas are in sync than must be: nothing more is committed.
    pub fn is_under_min_isr(&self, settings: Settings) -> bool {
        self.leadership.as_ref().is_some_and(|leadership| leadership.is_under_min_isr(settings))
    }

    /// Whether the metadata says nothing new of the partition.
    pub fn is_stale(&self, partition: &Partition) -> bool {
        let is_known = partition.partition_epoch == self.partition_epoch
            && partition.leader_epoch == self.leader_epoch
            && self.is_leader();
        partition.partition_epoch < self.partition_epoch || is_known
    }

    /// The metadata says this of the partition. `log` in `now` is the log as it is found.
    pub fn apply(&mut self, partition: &Partition, now: &Context<'_>) -> Applied {
        // An answer of the controller may have said the same before. Kafka takes the same epoch once more, and with
        // it back what it has asked for since: who is joining then does not hold the high watermark any more, and
        // may be elected without what was committed.
        if self.is_stale(partition) {
            return Applied::Stale;
        }
        let is_new_epoch = partition.leader_epoch > self.leader_epoch;
        let has_gap = partition.leader_epoch > self.leader_epoch.saturating_add(1);
        let before = self.leadership.take();
        if is_new_epoch {
            self.leader_epoch = partition.leader_epoch;
        }
        self.leader = partition.leader;
        self.partition_epoch = partition.partition_epoch;
        if partition.leader != self.id {
            self.leader_epoch = partition.leader_epoch;
            return Applied::Follows { is_new_epoch };
        }

        // Every change of leaders is one epoch: between epochs that do not follow each other another broker may have
        // led, and followers have cut off what they had. Kafka takes what it knows of them for what is.
        let is_new_leader = before.is_none() || has_gap;
        let known = before.as_ref();
        let mut followers: Box<[(i32, Progress)]> = partition
            .replicas
            .iter()
            .filter(|&&id| id != self.id)
            .map(|&id| {
                let progress = known.and_then(|leadership| leadership.follower(id)).copied();
                (id, progress.unwrap_or(Progress::UNKNOWN))
            })
            .collect();
        let epoch_start = match before {
            Some(leadership) if !is_new_epoch => leadership.epoch_start,
            _ => now.log.log_end,
        };
        if is_new_epoch {
            for (id, progress) in &mut followers {
                let is_in_sync = partition.isr.contains(id);
                progress.begin_epoch(now.ms, now.log.log_end, is_new_leader, is_in_sync);
            }
        }
        let isr = Isr::committed(partition.isr.iter().copied());
        let leadership = Leadership { epoch_start, followers, isr };
        let high_watermark = leadership.high_watermark(now);
        self.leadership = Some(Box::new(leadership));
        Applied::Leads { is_new_epoch, is_new_leader, high_watermark }
    }

    /// This replica is no more: the partition is deleted, and nobody leads what is gone, or it is on other brokers now, of
    /// which one leads in an epoch.
    pub fn resign(&mut self, led_elsewhere: Option<(i32, i32)>) {
        let (leader, epoch) = led_elsewhere.unwrap_or((-1, self.leader_epoch));
        self.leader = leader;
        self.leader_epoch = self.leader_epoch.max(epoch);
        self.leadership = None;
    }

    /// Whether acks=all may append now: NOT_ENOUGH_REPLICAS if too few are in sync.
    pub fn check_append(&self, settings: Settings) -> Result<(), ErrorCode> {
        match &self.leadership {
            None => Err(ErrorCode::NOT_LEADER_OR_FOLLOWER),
            Some(leadership) if leadership.is_under_min_isr(settings) => {
                Err(ErrorCode::NOT_ENOUGH_REPLICAS)
            }
            Some(_) => Ok(()),
        }
    }

    /// To what the high watermark rises now. To be asked after an append, and beside [`Replica::check_lag`]: a
    /// replica outside of the ISR that was caught up a moment ago holds it back, and when that moment is over
    /// nothing else need happen. (Kafka does not look then: an append that waits for all replicas times out if
    /// nothing follows it.)
    pub fn advance(&self, now: &Context<'_>) -> Option<i64> {
        self.leadership.as_ref()?.high_watermark(now)
    }

    /// How an append stands that ends before `required`.
    pub fn acknowledged(&self, required: i64, now: &Context<'_>) -> Acknowledged {
        let Some(leadership) = &self.leadership else { return Acknowledged::NotLeader };
        if now.log.high_watermark < required {
            Acknowledged::NotYet
        } else if leadership.isr.maximal_len() < leadership.min_isr(now.settings) {
            Acknowledged::TooFew
        } else {
            Acknowledged::Committed
        }
    }

    /// Whether a follower may fetch. `epoch` is the leader epoch that it knows; `None` if it does not say.
    pub fn check_fetch(&self, replica: i32, epoch: Option<i32>) -> Result<(), ErrorCode> {
        match epoch {
            Some(epoch) if epoch < self.leader_epoch => Err(ErrorCode::FENCED_LEADER_EPOCH),
            Some(epoch) if epoch > self.leader_epoch => Err(ErrorCode::UNKNOWN_LEADER_EPOCH),
            _ => match &self.leadership {
                None => Err(ErrorCode::NOT_LEADER_OR_FOLLOWER),
                Some(leadership) if leadership.follower(replica).is_some() => Ok(()),
                // A reassignment has begun that has not come here: the follower asks again.
                Some(_) if epoch.is_some() => Err(ErrorCode::UNKNOWN_LEADER_EPOCH),
                Some(_) => Err(ErrorCode::NOT_LEADER_OR_FOLLOWER),
            },
        }
    }

    /// A follower fetched, and its log does not diverge from this one.
    ///
    /// # Errors
    /// NOT_LEADER_OR_FOLLOWER if the fetch is from an earlier incarnation of its broker, or this broker leads no
    /// more in that epoch, or the other is no replica any more: nothing is noted. A follower may have cut off in a
    /// later epoch what it had in this one.
    pub fn fetched(&mut self, fetch: &Fetched, now: &Context<'_>) -> Result<Outcome, ErrorCode> {
        let stale = ErrorCode::NOT_LEADER_OR_FOLLOWER;
        let (leader_epoch, partition_epoch) = (self.leader_epoch, self.partition_epoch);
        if fetch.leader_epoch != leader_epoch {
            return Err(stale);
        }
        let leadership = self.leadership.as_mut().ok_or(stale)?;
        let newest = now.brokers.broker(fetch.replica).filter(|broker| !broker.is_fenced);
        if fetch.broker_epoch != -1 && newest.is_some_and(|it| it.epoch > fetch.broker_epoch) {
            return Err(stale);
        }
        let progress = leadership.follower_mut(fetch.replica).ok_or(stale)?;
        let before = progress.log_end;
        progress.fetched(
            fetch.offset,
            fetch.log_start,
            fetch.broker_epoch,
            fetch.leader_end,
            now.ms,
        );
        let mut outcome = Outcome::default();
        if leadership.may_expand(fetch.replica, now) {
            let isr = leadership.isr.committed.iter().copied().chain([fetch.replica]).collect();
            let change = IsrChange::Expand(fetch.replica);
            outcome.alter =
                Some(leadership.propose(self.id, leader_epoch, partition_epoch, isr, change, now));
        }
        if before != fetch.offset {
            outcome.high_watermark = leadership.high_watermark(now);
        }
        Ok(outcome)
    }

    /// Takes followers out of the ISR that have not caught up for too long; to be called every half of
    /// `replica.lag.time.max.ms`.
    pub fn check_lag(&mut self, now: &Context<'_>) -> Outcome {
        let (leader_epoch, partition_epoch) = (self.leader_epoch, self.partition_epoch);
        let Some(leadership) = self.leadership.as_mut() else { return Outcome::default() };
        if leadership.isr.pending.is_some() {
            return Outcome::default();
        }
        let members = leadership.isr.committed.iter().copied();
        let (stay, leave): (Ids, Ids) = members.partition(|&id| {
            let is_caught_up = |progress: &Progress| {
                progress.is_caught_up(now.log.log_end, now.ms, now.settings.lag_time_max_ms)
            };
            id == self.id || leadership.follower(id).is_some_and(is_caught_up)
        });
        if leave.is_empty() {
            return Outcome::default();
        }
        let change = IsrChange::Shrink(leave.into_vec());
        let alter = leadership.propose(self.id, leader_epoch, partition_epoch, stay, change, now);
        Outcome { high_watermark: None, alter: Some(alter) }
    }

    /// The controller answered `sent`, or refused it. What is to be asked again is asked after a pause.
    pub fn altered(
        &mut self,
        sent: &AlterPartition,
        answer: Result<Altered, ErrorCode>,
        now: &Context<'_>,
    ) -> Outcome {
        let Some(leadership) = self.leadership.as_mut() else { return Outcome::default() };
        // Metadata came meanwhile, which says what is so.
        if leadership.isr.pending.as_deref() != Some(sent) {
            return Outcome::default();
        }
        match answer {
            Ok(altered) => {
                if altered.leader_epoch != self.leader_epoch
                    || altered.partition_epoch < self.partition_epoch
                {
                    return Outcome::default();
                }
                self.partition_epoch = altered.partition_epoch;
                leadership.isr = Isr::committed(altered.isr);
                Outcome { high_watermark: leadership.high_watermark(now), alter: None }
            }
            // Not carried out, and nothing else has changed.
            Err(ErrorCode::OPERATION_NOT_ATTEMPTED | ErrorCode::INELIGIBLE_REPLICA) => {
                leadership.isr.pending = None;
                Outcome::default()
            }
            // What is so comes with the metadata; until then nothing can be asked for.
            Err(
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                | ErrorCode::UNKNOWN_TOPIC_ID
                | ErrorCode::FENCED_LEADER_EPOCH
                | ErrorCode::INVALID_UPDATE_VERSION
                | ErrorCode::INVALID_REQUEST
                | ErrorCode::NEW_LEADER_ELECTED,
            ) => Outcome::default(),
            Err(_) => Outcome { high_watermark: None, alter: Some(sent.clone()) },
        }
    }

    /// The lowest log start of this broker and all followers that are alive: records before it are deleted
    /// everywhere. -1 while one of them has not fetched; `None` if this broker does not lead.
    pub fn low_watermark(&self, now: &Context<'_>) -> Option<i64> {
        let leadership = self.leadership.as_ref()?;
        let is_alive = |id| now.brokers.broker(id).is_some_and(|broker| !broker.is_fenced);
        let starts = leadership.followers.iter().filter(|(id, _)| is_alive(*id));
        Some(starts.map(|(_, progress)| progress.log_start).fold(now.log.log_start, i64::min))
    }
}

impl Leadership {
    fn follower(&self, id: i32) -> Option<&Progress> {
        self.followers.iter().find(|(follower, _)| *follower == id).map(|(_, progress)| progress)
    }

    fn follower_mut(&mut self, id: i32) -> Option<&mut Progress> {
        let mut followers = self.followers.iter_mut();
        followers.find(|(follower, _)| *follower == id).map(|(_, progress)| progress)
    }

    /// How many replicas must be in sync: there cannot be more than there are.
    fn min_isr(&self, settings: Settings) -> usize {
        settings.min_insync_replicas.min(self.followers.len() + 1)
    }

    fn is_under_min_isr(&self, settings: Settings) -> bool {
        self.isr.committed.len() < self.min_isr(settings)
    }

    /// Whether the controller would let a replica join the ISR: its broker is alive, and the one that fetched.
    fn is_eligible(&self, id: i32, brokers: &dyn Brokers) -> bool {
        let fetched = self.follower(id).and_then(|progress| progress.broker_epoch);
        let (Some(fetched), Some(broker)) = (fetched, brokers.broker(id)) else { return false };
        !broker.is_fenced
            && !broker.is_in_controlled_shutdown
            && (fetched == -1 || fetched == broker.epoch)
    }

    fn may_expand(&self, id: i32, now: &Context<'_>) -> bool {
        // Records that an earlier leader committed may lie between the high watermark that is known here and
        // the epoch's beginning: who leads after this one must have them, too.
        let has_all = |progress: &Progress| {
            progress.log_end >= now.log.high_watermark && progress.log_end >= self.epoch_start
        };
        self.isr.pending.is_none()
            && !self.isr.committed.contains(&id)
            && self.is_eligible(id, now.brokers)
            && self.follower(id).is_some_and(has_all)
    }

    fn propose(
        &mut self,
        own_id: i32,
        leader_epoch: i32,
        partition_epoch: i32,
        isr: Ids,
        change: IsrChange,
        now: &Context<'_>,
    ) -> AlterPartition {
        let mut isr: Vec<IsrMember> = isr
            .into_iter()
            .map(|broker| {
                let fetched = self.follower(broker).and_then(|progress| progress.broker_epoch);
                let epoch = if broker == own_id { now.broker_epoch } else { fetched.unwrap_or(-1) };
                IsrMember { broker, epoch }
            })
            .collect();
        isr.sort_unstable();
        let alter = AlterPartition { leader_epoch, partition_epoch, isr, change };
        self.isr.pending = Some(Box::new(alter.clone()));
        alter
    }

    /// To what the high watermark rises: the lowest log end of those that count. Besides the ISR these are
    /// replicas that have caught up and may join, or the high watermark would run away from them for ever.
    fn high_watermark(&self, now: &Context<'_>) -> Option<i64> {
        if self.is_under_min_isr(now.settings) {
            return None;
        }
        let end = now.log.log_end;
        let lag_max_ms = now.settings.lag_time_max_ms;
        let mut lowest = end;
        for (id, progress) in &self.followers {
            if progress.log_end < lowest
                && (self.isr.holds_back(*id)
                    || progress.is_caught_up(end, now.ms, lag_max_ms)
                        && self.is_eligible(*id, now.brokers))
            {
                lowest = progress.log_end;
            }
        }
        (lowest > now.log.high_watermark).then_some(lowest)
    }
}
