//! A broker: what it does with its replica.

use std::sync::Arc;

use thalweg_metadata::image::{Delta, MetadataImage, Partition, Provenance, snapshot_records};
use thalweg_replication::{
    Acknowledged, AlterPartition, Applied, Brokers, Context, Follower, Offsets, Outcome, Replica,
    Settings,
};

use super::Cluster;
use super::checks::Followers;
use super::controller::{State, TOPIC};
use super::log::{Log, Record};
use super::network::Message;

/// What is so for a broker's replica.
fn context<'a>(
    log: &Log,
    broker_epoch: i64,
    brokers: &'a dyn Brokers,
    settings: Settings,
    ms: u64,
) -> Context<'a> {
    let log =
        Offsets { log_start: log.start, high_watermark: log.high_watermark, log_end: log.end() };
    Context { ms, log, settings, broker_epoch, brokers }
}

/// A broker's process, and its disk.
pub struct Broker {
    pub id: i32,
    pub log: Log,
    pub epoch: i64,
    pub replica: Replica,
    pub follower: Option<Follower>,
    /// How much of the metadata it has applied.
    pub applied: usize,
    /// A fetch is under way; a follower has one at a time.
    pub is_asking: bool,
    /// Counts its processes: what is meant for an earlier one is lost.
    pub process: u32,
    /// Appends that wait for acks=all: the offset behind each, and its value.
    pub waiting: Vec<(i64, u64)>,
    /// The leader epoch and high watermark that it last led with.
    pub led: (i32, i64),
    /// What the metadata says, as far as it is applied.
    pub metadata: MetadataImage,
    /// What it has asked the controller for, until it is granted or refused, or metadata says what is so.
    pub asked: Option<AlterPartition>,
    /// The newest epoch that a leader has refused because there is a newer one.
    pub fenced: i32,
    /// What it was told of its followers, as a leader.
    pub followers: Followers,
}

impl Broker {
    fn partition(&self) -> &Arc<Partition> {
        self.metadata.topics.partition(TOPIC, 0).expect("it is created")
    }
}

impl Cluster {
    /// Lets `act` be done to a broker's replica, and carries out what comes of it.
    pub(super) fn with_replica(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut Replica, &Context<'_>) -> Outcome,
    ) {
        let broker = &mut self.brokers[at];
        let context = context(&broker.log, broker.epoch, &broker.metadata, self.settings, self.ms);
        let Outcome { high_watermark, alter } = act(&mut broker.replica, &context);
        if let Some(alter) = alter {
            self.look_at_question(at, &alter);
            let broker = &self.brokers[at];
            let (from, process, broker_epoch) = (broker.id, broker.process, broker.epoch);
            self.messages.push(Message::Alter { from, process, broker_epoch, alter });
        }
        if let Some(high_watermark) = high_watermark {
            self.raise(at, high_watermark);
        }
    }

    /// A leader's high watermark rises.
    pub(super) fn raise(&mut self, at: usize, to: i64) {
        let broker = &mut self.brokers[at];
        assert!(to > broker.log.high_watermark && to <= broker.log.end());
        broker.log.high_watermark = to;
        self.log.push(format!(
            "broker {} commits up to {to} in partition epoch {}",
            broker.id,
            broker.replica.partition_epoch()
        ));
        self.look(at);
        let broker = &mut self.brokers[at];
        let context = context(&broker.log, broker.epoch, &broker.metadata, self.settings, self.ms);
        let (replica, mut done) = (&broker.replica, 0);
        broker.waiting.retain(|(required, value)| {
            match replica.acknowledged(*required, &context) {
                Acknowledged::NotYet => true,
                Acknowledged::Committed => {
                    let committed = self.committed.get((*required - 1) as usize);
                    let is_committed = committed.is_some_and(|record| record.value == *value);
                    let is_owed = !self.has_lost && *required > self.deleted;
                    assert!(is_committed || !is_owed, "what was acknowledged is committed");
                    done += 1;
                    false
                }
                Acknowledged::TooFew | Acknowledged::NotLeader => false,
            }
        });
        self.acknowledged += done;
    }

    pub(super) fn produce(&mut self, at: usize) {
        let broker = &mut self.brokers[at];
        if !broker.replica.is_leader() {
            return;
        }
        // acks=1 now and then, which appends also where too few are in sync.
        let is_all = !self.random.chance(25);
        if is_all {
            let is_allowed = broker.replica.check_append(self.settings).is_ok();
            // As the metadata says that this process has applied, or a newer answer.
            let everybody = broker.partition().replicas.len();
            let min_isr = self.settings.min_insync_replicas.min(everybody);
            assert_eq!(is_allowed, broker.replica.isr().len() >= min_isr, "acks=all and min ISR");
            if !is_allowed {
                return;
            }
        }
        let epoch = broker.replica.leader_epoch();
        self.next_value += 1;
        broker.log.append(Record { epoch, value: self.next_value });
        if is_all {
            broker.waiting.push((broker.log.end(), self.next_value));
        }
        self.advance(at);
    }

    pub(super) fn advance(&mut self, at: usize) {
        self.with_replica(at, |replica, now| Outcome {
            high_watermark: replica.advance(now),
            alter: None,
        });
    }

    pub(super) fn apply_next(&mut self, at: usize) {
        let applied = self.brokers[at].applied;
        // Several changes may come as one.
        let left = self.history.len() - applied;
        let count = if self.random.chance(25) { left } else { left.min(1) };
        if count == 0 {
            return;
        }
        let before = applied.max(1) - 1;
        let id = self.brokers[at].id;
        let was_replaced =
            self.history[before..applied + count].iter().any(|it| it.state.partition.leader != id);
        self.replay(at, count);
        let partition = self.brokers[at].partition().clone();
        if !partition.replicas.contains(&self.brokers[at].id) {
            return self.leave(at);
        }
        let mut outcome = Applied::Stale;
        self.with_replica(at, |replica, now| {
            outcome = replica.apply(&partition, now);
            Outcome::default()
        });
        let broker = &mut self.brokers[at];
        let epoch = partition.leader_epoch;
        if outcome != Applied::Stale {
            broker.asked = None;
        }
        match outcome {
            Applied::Stale => {}
            Applied::Leads { is_new_epoch, is_new_leader, high_watermark } => {
                broker.follower = None;
                if is_new_leader {
                    broker.waiting.clear();
                }
                if is_new_epoch {
                    let (id, end) = (broker.id, broker.log.end());
                    self.log.push(format!("broker {id} leads in {epoch} from {end} on"));
                    broker.log.assign(epoch, end);
                    broker.led = (epoch, broker.log.high_watermark);
                    broker.followers.begin_epoch(&partition.isr, self.ms);
                    // They may have cut off what they had.
                    let mut followers = partition.replicas.iter().filter(|other| **other != id);
                    let knows =
                        |other| broker.replica.progress(other).is_some_and(|it| it.log_end >= 0);
                    assert!(
                        !was_replaced || !followers.any(|other| knows(*other)),
                        "broker {id} knows where its followers are though another one has led"
                    );
                }
                if let Some(high_watermark) = high_watermark {
                    self.raise(at, high_watermark);
                }
            }
            Applied::Follows { is_new_epoch } => {
                broker.waiting.clear();
                if is_new_epoch || broker.follower.is_none() {
                    broker.follower = Some(Follower::new(epoch, &broker.log));
                }
            }
        }
    }

    /// An image takes what the controller has written.
    fn replay(&mut self, at: usize, count: usize) {
        let broker = &mut self.brokers[at];
        let mut delta = Delta::new(broker.metadata.clone());
        for decision in &self.history[broker.applied..broker.applied + count] {
            for record in &decision.records {
                delta.replay(record).expect("what the controller writes can be applied");
            }
        }
        broker.applied += count;
        broker.metadata = delta.apply(Provenance::NONE).0;
        assert_is(&broker.metadata, &self.history[broker.applied - 1].state);
    }

    /// A process begins with all that was written before it, or with a snapshot of that.
    pub(super) fn catch_up(&mut self, at: usize) {
        self.replay(at, self.history.len() - self.brokers[at].applied);
        if self.random.chance(50) {
            let broker = &mut self.brokers[at];
            let mut delta = Delta::new(MetadataImage::empty());
            for record in snapshot_records(&broker.metadata) {
                delta.replay(&record).expect("what is in a snapshot can be applied");
            }
            broker.metadata = delta.apply(Provenance::NONE).0;
            assert_is(&broker.metadata, &self.history[broker.applied - 1].state);
        }
    }

    /// A replica is taken away: its log is deleted.
    fn leave(&mut self, at: usize) {
        let broker = &mut self.brokers[at];
        (broker.log, broker.replica) = (Log::default(), Replica::new(broker.id));
        (broker.follower, broker.asked, broker.led) = (None, None, (-1, 0));
        broker.waiting.clear();
    }

    /// Records are deleted, as by retention.
    pub(super) fn delete(&mut self, at: usize) {
        let broker = &mut self.brokers[at];
        let (start, high_watermark) = (broker.log.start, broker.log.high_watermark);
        if broker.replica.is_leader() && start < high_watermark {
            let to = start + 1 + self.random.below((high_watermark - start) as usize) as i64;
            broker.log.delete(to);
            self.deleted = self.deleted.max(to);
        }
    }

    /// A broker is told to stop; later it does.
    pub(super) fn stop(&mut self, at: usize) {
        match self.newest().brokers[&self.brokers[at].id].is_in_controlled_shutdown {
            false => self.shut_down(at),
            true => self.restart(at),
        }
    }
}

/// An image says what the controller holds to be so.
fn assert_is(image: &MetadataImage, state: &State) {
    let partition = image.topics.partition(TOPIC, 0).expect("it is created");
    // Of directories nothing is said here.
    let partition = Partition { directories: Vec::new(), ..Partition::clone(partition) };
    assert_eq!(partition, state.partition, "an image is not what was decided");
    for (id, status) in &state.brokers {
        assert_eq!(image.broker(*id), Some(*status), "broker {id} is not what was decided");
    }
}
