//! Metadata for tests of the crates that use it.

use crate::image::Partition;

/// A partition that broker 1 leads.
pub fn led_by_1(
    leader_epoch: i32,
    partition_epoch: i32,
    replicas: &[i32],
    isr: &[i32],
) -> Partition {
    Partition {
        replicas: replicas.to_vec(),
        directories: Vec::new(),
        isr: isr.to_vec(),
        removing_replicas: Vec::new(),
        adding_replicas: Vec::new(),
        elr: Vec::new(),
        last_known_elr: Vec::new(),
        leader: 1,
        is_recovering: false,
        leader_epoch,
        partition_epoch,
    }
}
