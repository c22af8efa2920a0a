//! The controller: a model of Kafka's, as far as one partition goes.

use thalweg_replication::{AlterPartition, Altered, BrokerStatus, Replica};
use thalweg_wire::ErrorCode;

use super::{Cluster, Image};

impl Cluster {
    pub(super) fn alter(
        &mut self,
        from: i32,
        broker_epoch: i64,
        alter: &AlterPartition,
    ) -> Result<Altered, ErrorCode> {
        let mut image = self.newest();
        if image.brokers[&from].epoch != broker_epoch {
            return Err(ErrorCode::STALE_BROKER_EPOCH);
        }
        let partition = &image.partition;
        if partition.leader_epoch != alter.leader_epoch || partition.leader != from {
            return Err(ErrorCode::FENCED_LEADER_EPOCH);
        }
        if partition.partition_epoch != alter.partition_epoch {
            return Err(ErrorCode::INVALID_UPDATE_VERSION);
        }
        let is_eligible = |id: i32, epoch: i64| {
            let broker = image.brokers[&id];
            !broker.is_fenced && (epoch == -1 || epoch == broker.epoch)
        };
        if !alter.isr.iter().all(|member| is_eligible(member.broker, member.epoch)) {
            return Err(ErrorCode::INELIGIBLE_REPLICA);
        }
        let isr: Vec<i32> = alter.isr.iter().map(|member| member.broker).collect();
        self.set_isr(&mut image, isr.clone(), None);
        image.partition.partition_epoch += 1;
        let altered = Altered {
            leader_epoch: image.partition.leader_epoch,
            partition_epoch: image.partition.partition_epoch,
            isr,
        };
        self.history.push(image);
        Ok(altered)
    }

    /// The in-sync replicas are these now. Without them a partition has no leader; below `min.insync.replicas`
    /// those that leave are still complete, unless `lost` has lost something.
    pub(super) fn set_isr(&self, image: &mut Image, isr: Vec<i32>, lost: Option<i32>) {
        let partition = &mut image.partition;
        let complete: Vec<i32> = partition.isr.iter().chain(&partition.elr).copied().collect();
        partition.isr = isr;
        partition.elr.clear();
        let everybody = partition.replicas.len();
        if self.has_elr && partition.isr.len() < self.settings.min_insync_replicas.min(everybody) {
            let stays = |id: &i32| !partition.isr.contains(id) && Some(*id) != lost;
            partition.elr = complete.into_iter().filter(stays).collect();
        }
    }

    /// A broker leaves the ISR, unless it is the last one and nobody may take its place, and leads no more.
    pub(super) fn expel(&self, image: &mut Image, id: i32, lost: Option<i32>) {
        let isr: Vec<i32> =
            image.partition.isr.iter().copied().filter(|member| *member != id).collect();
        if self.has_elr || !isr.is_empty() {
            self.set_isr(image, isr, lost);
        }
        if image.partition.leader == id {
            image.partition.leader = -1;
            image.partition.leader_epoch += 1;
        }
        image.partition.partition_epoch += 1;
        self.find_leader(image);
    }

    /// Elects one who has everything, if nobody leads.
    pub(super) fn find_leader(&self, image: &mut Image) {
        if image.partition.leader != -1 {
            return;
        }
        let lives = |id: &&i32| !image.brokers[*id].is_fenced;
        let of_isr = image.partition.isr.iter().find(lives).copied();
        let Some(leader) = of_isr.or_else(|| image.partition.elr.iter().find(lives).copied())
        else {
            return;
        };
        if of_isr.is_none() {
            self.set_isr(image, vec![leader], None);
        }
        image.partition.leader = leader;
        image.partition.leader_epoch += 1;
        image.partition.partition_epoch += 1;
    }

    /// The controller has not heard of a broker for too long; it may be well.
    pub(super) fn fence(&mut self, at: usize) {
        let mut image = self.newest();
        let id = self.brokers[at].id;
        let broker = image.brokers.get_mut(&id).unwrap();
        if !std::mem::replace(&mut broker.is_fenced, true) {
            self.expel(&mut image, id, None);
            self.note(|_| format!("broker {id} is fenced: {:?}", image.partition));
            self.history.push(image);
        }
    }

    pub(super) fn unfence(&mut self, at: usize) {
        let mut image = self.newest();
        let id = self.brokers[at].id;
        let broker = image.brokers.get_mut(&id).unwrap();
        if std::mem::replace(&mut broker.is_fenced, false) {
            self.find_leader(&mut image);
            self.note(|_| format!("broker {id} is unfenced: {:?}", image.partition));
            self.history.push(image);
        }
    }

    /// An operator elects somebody else, or the same one again.
    pub(super) fn elect(&mut self) {
        let mut image = self.newest();
        let isr = image.partition.isr.clone();
        if isr.is_empty() {
            return;
        }
        let chosen = *self.random.pick(&isr);
        if !image.brokers[&chosen].is_fenced {
            image.partition.leader = chosen;
            image.partition.leader_epoch += 1;
            image.partition.partition_epoch += 1;
            self.note(|_| format!("broker {chosen} is elected: {:?}", image.partition));
            self.history.push(image);
        }
    }

    /// A broker's process dies and comes back: what it wrote is there, and an older high watermark. Where its
    /// machine dies, and others have all that is committed, the end of its log is lost.
    pub(super) fn restart(&mut self, at: usize) {
        self.next_broker_epoch += 1;
        let epoch = self.next_broker_epoch;
        let mut image = self.newest();
        let id = self.brokers[at].id;
        let complete = image.partition.isr.iter().chain(&image.partition.elr);
        let is_lossy = complete.clone().any(|other| *other != id) && self.random.chance(50);
        let newest = self.history.len();
        let broker = &mut self.brokers[at];
        if is_lossy {
            let end = broker.log.end();
            broker.log.truncate(end - self.random.below(end as usize + 1).min(4) as i64);
        }
        broker.process += 1;
        broker.epoch = epoch;
        (broker.is_asking, broker.follower) = (false, None);
        broker.replica = Replica::new(id);
        broker.log.high_watermark = broker.log.checkpoint;
        broker.waiting.clear();
        broker.led = (-1, 0);
        // What the metadata said before it registered was for its earlier process: it would lead again, with less.
        broker.applied = newest;
        let status = BrokerStatus { epoch, is_fenced: true, is_in_controlled_shutdown: false };
        image.brokers.insert(id, status);
        self.expel(&mut image, id, is_lossy.then_some(id));
        self.note(|_| format!("broker {id} restarts: {:?}", image.partition));
        self.history.push(image);
    }
}
