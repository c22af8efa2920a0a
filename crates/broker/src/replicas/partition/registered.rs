//! A fetch that waits in the wake lists of its partitions.

use std::sync::Arc;

use super::Partition;
use crate::replicas::wait::{Waiter, WakeList};

/// A waiter in the lists of its partitions. It leaves them when this is dropped, be it that the
/// request is answered or that its connection is gone.
#[derive(Debug)]
pub(crate) struct Registered {
    waiter: Arc<Waiter>,
    partitions: Vec<Arc<Partition>>,
    /// The list of each partition that it is in.
    list: fn(&Partition) -> &WakeList,
}

impl Registered {
    /// Registers a consumer's waiter with all of `partitions`: it waits for what is committed. What became readable
    /// before this must be looked for again afterwards.
    pub(crate) fn consumer(waiter: Arc<Waiter>, partitions: Vec<Arc<Partition>>) -> Registered {
        Registered::new(waiter, partitions, |partition| &partition.delayed_fetches)
    }

    /// The same for a replica, which waits for what is appended.
    pub(crate) fn replica(waiter: Arc<Waiter>, partitions: Vec<Arc<Partition>>) -> Registered {
        Registered::new(waiter, partitions, Partition::delayed_replica_fetches)
    }

    fn new(
        waiter: Arc<Waiter>,
        partitions: Vec<Arc<Partition>>,
        list: fn(&Partition) -> &WakeList,
    ) -> Registered {
        for partition in &partitions {
            list(partition).register(&waiter);
        }
        Registered { waiter, partitions, list }
    }
}

impl std::ops::Deref for Registered {
    type Target = Waiter;
    fn deref(&self) -> &Waiter {
        &self.waiter
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.waiter.set_done();
        for partition in &self.partitions {
            (self.list)(partition).leave(&self.waiter);
        }
    }
}
