//! Replication between brokers, around the state machines of `thalweg_replication`: what leaders ask the controller
//! for (`isr_changes`, and `isr_requests`, which asks), what followers fetch (`fetchers`: which broker from whom, `fetcher`: one of them, `answer`: what is
//! done with what comes, `waiting`: what of that may wait for a disk), whose fetches a new leader answers soon
//! (`short_polls`), and how fast replicas that are not in sync may catch up (`throttle`).

mod answer;
mod fetcher;
mod fetchers;
mod isr_changes;
mod isr_requests;
mod short_polls;
#[cfg(test)]
mod tests;
mod throttle;
mod waiting;

pub(crate) use fetchers::{Fetchers, take_over_stuck};
pub(crate) use isr_changes::IsrChanges;
pub(crate) use isr_requests::run as ask_for_isrs;
pub(crate) use short_polls::ShortPolls;
pub(crate) use throttle::{ThrottledReplicas, Throttles, throttled_replicas};
