//! What must hold.

use std::collections::BTreeMap;

use thalweg_replication::{AlterPartition, Altered, Fetched, IsrChange, IsrMember, Outcome};

use super::Cluster;

/// What a leader was told of a follower in its epoch, as far as it shows that the follower was caught up.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// When the follower had all that the leader had.
    caught_up_ms: Option<u64>,
    /// Where it was last, when that was, and what the leader had then.
    offset: i64,
    fetched_ms: u64,
    leader_end: i64,
}

/// The same of all followers.
#[derive(Clone, Debug, Default)]
pub struct Followers(BTreeMap<i32, Seen>);

impl Followers {
    /// Those that are in sync when an epoch begins have their time from then on.
    pub fn begin_epoch(&mut self, isr: &[i32], ms: u64) {
        let seen = Seen { caught_up_ms: Some(ms), offset: -1, fetched_ms: ms, leader_end: -1 };
        self.0 = isr.iter().map(|id| (*id, seen)).collect();
    }

    pub fn fetched(&mut self, fetched: &Fetched, ms: u64) {
        let before = self.0.get(&fetched.replica).copied();
        let is_caught_up = fetched.offset >= fetched.leader_end;
        let was = before.filter(|before| fetched.offset >= before.leader_end);
        let caught_up_ms = is_caught_up.then_some(ms).max(was.map(|before| before.fetched_ms));
        let seen = Seen {
            caught_up_ms: caught_up_ms.max(before.and_then(|before| before.caught_up_ms)),
            offset: fetched.offset,
            fetched_ms: ms,
            // Fetches may be noted in another order than they were read for.
            leader_end: before.map_or(-1, |before| before.leader_end).max(fetched.leader_end),
        };
        self.0.insert(fetched.replica, seen);
    }
}

impl Cluster {
    /// What is below a broker's high watermark is what is below everybody's.
    pub(super) fn look(&mut self, at: usize) {
        let broker = &mut self.brokers[at];
        let log = &broker.log;
        assert!(log.start <= self.deleted, "broker {} lacks what nobody has deleted", broker.id);
        assert!(
            log.high_watermark <= log.end(),
            "committed beyond the end of broker {}",
            broker.id
        );
        let (epoch, led) = (broker.replica.leader_epoch(), broker.led);
        if broker.replica.is_leader() {
            let is_same = epoch == led.0;
            assert!(!is_same || log.high_watermark >= led.1, "the high watermark went back");
            broker.led = (epoch, log.high_watermark);
        }
        if self.has_lost {
            return;
        }
        // A leader has forgotten the epochs of what it has deleted: a follower that diverges there keeps its own until
        // it has deleted them, too.
        let (all, from) = (self.committed.len() as i64, log.start.max(self.deleted));
        let known = log.between(from, log.high_watermark.min(all));
        let expected = &self.committed[from as usize..from as usize + known.len()];
        assert!(
            known == expected,
            "broker {} has other records below its high watermark: {known:?}, not {expected:?}",
            broker.id,
        );
        if log.high_watermark > all {
            assert!(broker.replica.is_leader(), "a follower is ahead of all leaders");
            self.committed.extend_from_slice(log.between(all, log.high_watermark));
            self.look_at_complete();
        }
    }

    /// Whoever may be elected has all that is committed.
    pub(super) fn look_at_complete(&self) {
        if self.has_lost {
            return;
        }
        for id in self.newest().complete() {
            let log = &self.brokers[self.at(id)].log;
            let (from, end) = (log.start.max(self.deleted), self.committed.len() as i64);
            assert!(
                log.between(from, end) == &self.committed[from as usize..],
                "broker {id} may be elected without {:?}: it has {:?} from {} on; {:?}",
                self.committed,
                log.records,
                log.start,
                self.newest().partition
            );
        }
    }

    /// What a leader asks for is what the controller would grant, if it knew no more than the leader does; it asks
    /// for one thing at a time, and for nobody to leave before the time.
    pub(super) fn look_at_question(&mut self, at: usize, alter: &AlterPartition) {
        let broker = &mut self.brokers[at];
        let known = &self.history[broker.applied - 1].state;
        assert!(
            broker.asked.as_ref().is_none_or(|asked| asked == alter),
            "broker {} asks for {alter:?} while {:?} is not answered",
            broker.id,
            broker.asked
        );
        let is_retry = broker.asked.is_some();
        broker.asked = Some(alter.clone());
        // Metadata may have come since it was asked first.
        if is_retry {
            return;
        }
        match &alter.change {
            IsrChange::Expand(id) => {
                let is_joining = |member: &&IsrMember| member.broker == *id;
                let joining = alter.isr.iter().find(is_joining).expect("it is in the ISR");
                assert_ne!(joining.epoch, -1, "it has said which process it is");
                assert!(known.is_eligible(joining), "{id} may not join as far as the leader knows");
            }
            IsrChange::Shrink(leave) => {
                for id in leave {
                    let seen = broker.followers.0.get(id).copied().unwrap_or_default();
                    let lag_max_ms = self.settings.lag_time_max_ms;
                    let lags = seen.caught_up_ms.is_none_or(|at| self.ms - at > lag_max_ms);
                    assert!(
                        lags && seen.offset != broker.log.end(),
                        "broker {id} leaves before its time: {seen:?} at {}",
                        self.ms
                    );
                }
            }
        }
    }

    /// A leader notes of a follower what the process that lives has, as far as the leader knows, and in this epoch.
    /// What is committed by that is so at once.
    pub(super) fn look_at_fetch(&mut self, at: usize, before: Option<i64>, fetched: &Fetched) {
        let mut late = None;
        self.with_replica(at, |replica, now| {
            late = replica.advance(now);
            Outcome::default()
        });
        assert!(late.is_none() || before == Some(fetched.offset), "not all is committed: {late:?}");
        let broker = &mut self.brokers[at];
        assert_eq!(fetched.leader_epoch, broker.replica.leader_epoch(), "noted in another epoch");
        let status = &self.history[broker.applied - 1].state.brokers[&fetched.replica];
        let is_earlier = !status.is_fenced && fetched.broker_epoch < status.epoch;
        assert!(!is_earlier, "noted of an earlier process: {fetched:?}");
        broker.followers.fetched(fetched, self.ms);
    }

    /// What the controller has granted is so at once.
    pub(super) fn look_at_isr(&self, at: usize, granted: Option<Altered>) {
        let replica = &self.brokers[at].replica;
        if let Some(granted) = granted
            && granted.leader_epoch == replica.leader_epoch()
        {
            let known = (replica.partition_epoch(), replica.isr());
            assert_eq!(known, (granted.partition_epoch, &granted.isr[..]), "it was granted");
        }
    }

    /// What all replicas are said to have deleted is deleted by those that are alive.
    pub(super) fn look_at_low_watermark(&mut self, at: usize) {
        // A replica that came back, or was cut off by a leader that lacks something, begins before that.
        if self.has_lost || self.has_moved {
            return;
        }
        let mut low = None;
        self.with_replica(at, |replica, now| {
            low = replica.low_watermark(now);
            Outcome::default()
        });
        let Some(low) = low else { return };
        let known = &self.history[self.brokers[at].applied - 1].state;
        for id in &known.partition.replicas {
            let start = self.brokers[self.at(*id)].log.start;
            assert!(
                known.brokers[id].is_fenced || low <= start,
                "all before {low} is said to be deleted, but broker {id} begins at {start}"
            );
        }
    }
}
