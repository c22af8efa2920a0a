//! Groups of classic consumers that the coordinator assigns, so that a rebalance stops nobody.
//!
//! In the classic protocol one join stops every member: all join again, a barrier waits for the
//! slowest of them, one of them computes the assignment, all sync. But what the built-in assignors
//! compute the coordinator can compute, too. So a group whose members vote for one of those is held as
//! a consumer group whose members all speak the classic protocol (`thalweg.group.classic.rebalance.mode`
//! is `server`):
//! - The first round of a group is Kafka's: its initial delay, its leader, the assignment that the leader brings. The
//!   coordinator takes the group over when it is stable and has two members (`GroupShard::host`). No partition moves
//!   by that, and the generation stays. What the leader left out is given out with the next target.
//! - A join, a leave, a failure, another subscription or topic leads to a new target assignment.
//! - Only members whose partitions change are told, by REBALANCE_IN_PROGRESS in their next heartbeat. A
//!   JoinGroup is answered at once, and so is the SyncGroup after it. Only a newcomer's JoinGroup waits, for the
//!   partitions of its target (`newcomer`).
//! - Members that keep their partitions stay in the generation that they are in, however far the group
//!   goes on. Their heartbeats and commits are those of a member that is up to date.
//! - A partition goes to its new owner when the old one has given it up: its JoinGroup said so, or it
//!   is gone.
//!
//! A generation is a member's epoch. From outside the group is a stable classic one. Its records are
//! Kafka's for consumer groups, so that Kafka's coordinator can go on with it: by its rules for classic
//! members, which make those join again that are in an older epoch. The name of a server assignor in
//! the record of every member, which Kafka's classic members do not have, says that the group was one
//! of these when the setting is `barrier`.
//!
//! Kafka's own rules hold as soon as a member of the consumer protocol is in the group
//! (`step::classic_members`). Where the votes leave an assignor that is not built in, or a member's metadata is no
//! subscription, the group goes back to the barrier.

mod describe;
mod join;
mod member;
mod newcomer;

pub(crate) use describe::{describe, list};
pub(crate) use join::{Admitted, NeedsBarrier, join};
pub(crate) use member::{heartbeat, sync};
pub(crate) use newcomer::{Admission, Newcomer, admit};
