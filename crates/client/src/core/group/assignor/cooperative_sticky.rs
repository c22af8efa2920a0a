//! Cooperative sticky: what sticky would do, in two steps. A partition that moves is given to
//! nobody at first; when its owner has let go of it and joins again, it goes to the new one.

use super::spec::{Assignment, AssignorSpec};
use super::sticky::{self, Ownership};

/// Nothing is given to a member while another one says that it has it, not even when that is said
/// of an older generation: the member that lags behind is told to let go first.
pub(super) fn assign(spec: &AssignorSpec) -> Assignment {
    let ownership = Ownership::new(spec);
    let mut assignment = sticky::assign(spec, &ownership);
    for (member, partitions) in &mut assignment {
        partitions.retain(|partition| !ownership.is_claimed_by_others(partition, member));
    }
    assignment
}
