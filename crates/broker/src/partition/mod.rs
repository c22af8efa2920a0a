//! A partition this broker has: its log, its leadership, and who waits for it. `append` is what is
//! written to it, `read` what is read of it, `piece` the bytes that are found.

mod append;
mod piece;
mod read;

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use parking_lot::Mutex;
use thalweg_log::Log;
use thalweg_wire::ErrorCode;

pub(crate) use append::{AppendFailure, AppendResults, Appending, SubmittedOwn, Wakes};
pub(crate) use piece::Piece;
pub(crate) use read::{ReadFailure, ReadRequest};

use crate::wait::WakeList;

/// A partition with a replica on this broker.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) topic: Arc<str>,
    pub(crate) index: i32,
    pub(crate) log: Arc<Log>,
    /// Fetches that wait for data.
    pub(crate) fetchers: WakeList,
    leader: Mutex<Leader>,
    /// Epoch while this broker leads, -1 while it does not: read on every request.
    led_epoch: AtomicI32,
}

/// Who leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leader {
    pub(crate) id: i32,
    pub(crate) epoch: i32,
    pub(crate) is_local: bool,
}

impl Partition {
    pub(crate) fn new(topic: Arc<str>, index: i32, log: Arc<Log>) -> Partition {
        Partition {
            topic,
            index,
            log,
            fetchers: WakeList::default(),
            leader: Mutex::new(Leader { id: -1, epoch: -1, is_local: false }),
            led_epoch: AtomicI32::new(-1),
        }
    }

    /// Who leads, as the metadata says.
    pub(crate) fn leader(&self) -> Leader {
        *self.leader.lock()
    }

    /// Sets who leads. Becoming leader in a new epoch notes where that epoch begins.
    pub(crate) fn set_leader(&self, leader: Leader) {
        let before = {
            let mut current = self.leader.lock();
            std::mem::replace(&mut *current, leader)
        };
        if !leader.is_local {
            self.log.make_follower(leader.epoch);
        } else if leader.epoch != before.epoch || !before.is_local {
            self.log.make_leader(leader.epoch);
            // The only replica in sync is this one: all it has is committed.
            self.log.advance_high_watermark(self.log.log_end_offset());
        }
        self.led_epoch.store(if leader.is_local { leader.epoch } else { -1 }, Ordering::Release);
        // Pairs with `go_offline`: the directory failed before this looked, or after the store.
        if self.log.dir().check().is_err() {
            self.go_offline();
        }
        if before != leader {
            self.fetchers.wake_all();
        }
    }

    /// The partition's directory failed: this broker leads it no more, whatever the metadata still
    /// says. Takes no lock.
    pub(crate) fn go_offline(&self) {
        self.led_epoch.store(-1, Ordering::Release);
    }

    /// The code for a request that needs the leader, where this broker is not. A directory that is
    /// offline comes first, as in Kafka.
    pub(crate) fn not_led_code(&self) -> ErrorCode {
        match self.log.dir().check() {
            Ok(()) => ErrorCode::NOT_LEADER_OR_FOLLOWER,
            Err(_) => ErrorCode::KAFKA_STORAGE_ERROR,
        }
    }

    /// The epoch in which this broker leads.
    #[inline]
    pub(crate) fn led_epoch(&self) -> Result<i32, (i32, i32)> {
        match self.led_epoch.load(Ordering::Acquire) {
            -1 => {
                let leader = self.leader();
                Err((leader.id, leader.epoch))
            }
            epoch => Ok(epoch),
        }
    }

    /// Largest batch that may be appended.
    pub(crate) fn max_message_bytes(&self) -> usize {
        self.log.config().max_message_bytes as usize
    }
}
