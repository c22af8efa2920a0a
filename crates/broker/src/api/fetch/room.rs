//! Memory and throttle times of fetches that cannot be answered at once.

use std::time::Duration;

use super::plan::{Asks, Plan};
use super::read::{Attempt, Part};
use crate::api::context::Context;
use crate::api::fetch_session::Wanted;
use crate::net::budget::Charge;

/// How long a fetcher that there was no room to wait for is told not to ask again, and is not read from. Otherwise it
/// would ask again at once, as often as a client can.
pub(super) const NO_ROOM_THROTTLE: Duration = Duration::from_millis(100);

/// Partitions that a fetch may be of without more memory being charged than its frame: every connection
/// may have so many.
pub(super) const PARTITIONS_FREE: usize = 32;

/// The throttle time of an answer that leaves data out for want of room: there is one if the answer says nothing else.
pub(super) fn throttle_if_nothing(attempt: &Attempt) -> Duration {
    let is_nothing = attempt.bytes == 0 && !attempt.urgent;
    if is_nothing { NO_ROOM_THROTTLE } else { Duration::ZERO }
}

/// Memory for what a fetch holds while it waits, beside its frame's: an eighth at most of what answers to fetches may
/// have, so that nothing is taken that other requests need. `None` without room: then it does not wait. A fetch that
/// finds room is counted as parked.
pub(super) fn room_to_wait(context: &Context, plan: &Plan, attempt: &Attempt) -> Option<Charge> {
    let budget = context.services.front.fetch_budget();
    let mut held = Charge::new(budget);
    let wanted = match &plan.asks {
        Asks::All { wanted, .. } => wanted.len(),
        // The session has them already.
        Asks::Changed(_) => 0,
    };
    let parts = attempt.parts.len();
    if wanted.max(parts) > PARTITIONS_FREE {
        let bytes = wanted * size_of::<Wanted>() + parts * size_of::<Part>();
        if bytes > budget.limit() / 8 || !held.try_raise_to(bytes) {
            return None;
        }
    }
    context.services.node.metrics().fetches_parked.add(1);
    Some(held)
}

/// Memory for a fetch that waits for a disk, without which it cannot be answered. One at a time may go past the limit.
/// `None` where it is answered with what is in memory.
pub(super) fn room_to_read(context: &Context, plan: &Plan) -> Option<Charge> {
    let mut held = Charge::new(context.services.front.fetch_budget());
    let partitions = plan.partitions();
    let bytes = partitions * (size_of::<Wanted>() + size_of::<Part>());
    (partitions <= PARTITIONS_FREE || held.try_raise_past(bytes)).then_some(held)
}
