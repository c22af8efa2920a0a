//! Heartbeats that are held back until there is something to say (`thalweg.group.heartbeat.push`).
//!
//! In every group protocol of Kafka's a member hears of a change in the answer to its next heartbeat: a
//! partition that moves stands still for up to one heartbeat interval. So a heartbeat that there is
//! nothing to answer to may wait at the broker. It is *handled* as it comes, like any other; only its
//! answer is kept back. When something happens that concerns the member the heartbeat is *released*:
//! whoever holds the connection has it handled once more, and the answer is what the group has to say
//! now. So nothing that decides about groups knows of held heartbeats, and one that is released for
//! nothing is held again.
//!
//! So may the SyncGroup of a member that the coordinator assigns and that owns nothing yet, while others have what it
//! is to get: its first heartbeat is due a whole interval later. What is said of heartbeats here holds for it, too;
//! one that is released is answered with REBALANCE_IN_PROGRESS, and the member joins again and gets its partitions.
//!
//! An epoch that is all that is new to a member of the consumer protocol does not end a hold, nor keep a heartbeat
//! from being held: it goes out when the hold ends. Members whose partitions stay would else be asked, one after
//! the other, in every rebalance, and not be held again before their next heartbeat is due.
//!
//! So is the first heartbeat of a member of the consumer protocol, as long as others have what it is to get: its answer
//! would be an empty assignment, and a partition that becomes free a moment later would stand still until the member's
//! next heartbeat. The answer is the one that the coordinator would give when the partitions are free. A client that sends
//! nothing after an empty assignment (librdkafka) is answered with the whole of its target, if that is free in time.
//! One that acknowledges it at once may be answered with a part: the acknowledgement is held.
//!
//! A member's session begins anew when its heartbeat comes, and when that is handled once more, so one that
//! dies with its connection open counts as alive for longer, by the time its heartbeat was held at most.
//!
//! A held heartbeat is released when
//! - the target assignment of its member is another one, as soon as that is the group's;
//! - the partitions that its member waits for are free; soon after the first one is, if there are more: with
//!   what is free by then its answer is given, and the rest would have to wait for the next heartbeat (a first
//!   heartbeat whose client may wait for all of them is held on);
//! - its member sends another heartbeat while its first one is held: that one is handled no more;
//! - its member is taken out of the group, or another one takes its instance id;
//! - a classic group begins a rebalance, a group changes its type or the rules it is run by, records of it
//!   are taken back, or the coordinator goes away;
//! - the group needs somebody's heartbeat, any one, to look at its topics, to resolve its regular expressions
//!   or to compute a target assignment.

mod lessons;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use indexmap::IndexMap;
use thalweg_wire::Uuid;

use lessons::Lessons;

/// For how long a heartbeat may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldLimits {
    /// The heartbeat interval that the member was told, in milliseconds; `None` for a classic member, whose
    /// own configuration has it. `i32::MAX` for a SyncGroup, which has none.
    pub interval_ms: Option<i32>,
    /// The member's session timeout, in milliseconds.
    pub session_timeout_ms: i32,
    /// The time that connections of the member have been seen to stand, in milliseconds: one closed while a request
    /// of it was held for longer. `None` if none did.
    pub longest_ms: Option<u32>,
}

impl HoldLimits {
    /// Those of a classic member's heartbeat.
    pub fn of_classic(session_timeout_ms: i32) -> HoldLimits {
        HoldLimits { interval_ms: None, session_timeout_ms, longest_ms: None }
    }
}

/// When a held heartbeat is to be handled once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// At once.
    Now,
    /// In a moment, unless it is due at once before.
    Soon,
}

/// One heartbeat that may be held: what the shard and whoever has the connection share.
#[derive(Default)]
pub struct HeldHeartbeat {
    holds_acknowledgements: bool,
    /// It is its member's first one: it joins.
    joins: bool,
    /// A part of what its member waits for does not end the hold.
    waits_for_all: bool,
    /// The ids of the group and of the member, of one that has been held.
    names: OnceLock<(Arc<str>, Arc<str>)>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    limits: Option<HoldLimits>,
    /// The member's epoch when it was held, and that of the group's target assignment now.
    epochs: Option<(i32, Arc<AtomicI32>)>,
    /// Others have what its member is to get.
    awaits: bool,
    is_released: bool,
    /// It is to be released soon.
    is_due: bool,
    /// Its member has sent another request since.
    is_superseded: bool,
    /// It has been answered: nobody waits for it any more.
    is_over: bool,
    /// Its connection closed when it had been held for so long, in milliseconds.
    abandoned_ms: Option<u32>,
    waker: Option<Waker>,
}

impl fmt::Debug for HeldHeartbeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("HeldHeartbeat")
            .field("limits", &state.limits)
            .field("is_released", &state.is_released)
            .field("is_due", &state.is_due)
            .field("is_over", &state.is_over)
            .finish()
    }
}

impl HeldHeartbeat {
    /// A heartbeat that may be held, too, if it says what its member owns (`TopicPartitions`): its client takes
    /// what it has acknowledged as acknowledged, and does not wait to be told that it was heard.
    pub fn with_acknowledgements() -> HeldHeartbeat {
        HeldHeartbeat { holds_acknowledgements: true, ..HeldHeartbeat::default() }
    }

    /// The first heartbeat of a member: it may be held although it is answered with an assignment, as long as that is
    /// not the whole of what the member is to get, or has nothing in it: a client may go on with a part, if what it
    /// sends then can be held (`waits_for_all`).
    #[must_use]
    pub fn of_newcomer(self, waits_for_all: bool) -> HeldHeartbeat {
        HeldHeartbeat { joins: true, waits_for_all, ..self }
    }

    pub(crate) fn holds_acknowledgements(&self) -> bool {
        self.holds_acknowledgements
    }

    pub(crate) fn joins(&self) -> bool {
        self.joins
    }

    pub(crate) fn waits_for_all(&self) -> bool {
        self.waits_for_all
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ids of the group and of the member, of a heartbeat that is held, or was; as the coordinator has them, so
    /// that nobody else has to keep them.
    pub fn names(&self) -> Option<&(Arc<str>, Arc<str>)> {
        self.names.get()
    }

    /// Says that the heartbeat, which is about to be handled, is not held yet.
    pub fn reset(&self) {
        let mut state = self.state();
        state.limits = None;
        state.epochs = None;
        state.awaits = false;
        state.is_released = false;
        state.is_due = false;
    }

    /// Whether the group's target assignment has another epoch than the member. The member is to be told, but not
    /// before the hold ends: whoever ends it has the heartbeat handled once more then, as one that is not held.
    pub fn has_new_epoch(&self) -> bool {
        let state = self.state();
        state.epochs.as_ref().is_some_and(|(told, now)| *told != now.load(Ordering::Relaxed))
    }

    /// Whether there is something to say to the member that others may add to in a moment.
    pub fn is_due(&self) -> bool {
        self.state().is_due
    }

    /// Whether it is the first heartbeat of a member that has sent another heartbeat since, because it has given this
    /// one up. It is not handled once more: what its member owns is not known from here any more.
    pub fn is_superseded(&self) -> bool {
        self.state().is_superseded
    }

    fn supersede(&self) {
        self.state().is_superseded = true;
        self.release();
    }

    /// Whether its member waits for partitions that others have. It is to send the next one soon then.
    pub fn awaits(&self) -> bool {
        self.state().awaits
    }

    /// For how long the heartbeat may be held; `None` if it is to be answered now.
    pub fn limits(&self) -> Option<HoldLimits> {
        self.state().limits
    }

    /// Whether the heartbeat is to be handled once more; else `cx` is woken when it is.
    pub fn poll_released(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll(cx, |state| state.is_released.then_some(()))
    }

    /// The same, or whether that is to be so soon: somebody else will have something to say to the member in a
    /// moment, too.
    pub fn poll_due(&self, cx: &mut Context<'_>) -> Poll<Due> {
        self.poll(cx, |state| match (state.is_released, state.is_due) {
            (true, _) => Some(Due::Now),
            (false, true) => Some(Due::Soon),
            (false, false) => None,
        })
    }

    fn poll<T>(&self, cx: &mut Context<'_>, ready: impl Fn(&State) -> Option<T>) -> Poll<T> {
        let mut state = self.state();
        if let Some(ready) = ready(&state) {
            return Poll::Ready(ready);
        }
        if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            state.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// The heartbeat is answered.
    pub fn end(&self) {
        let mut state = self.state();
        state.is_over = true;
        state.waker = None;
    }

    /// The heartbeat's connection has closed when it had been held for `held_ms`.
    pub fn abandon(&self, held_ms: u32) {
        self.end();
        self.state().abandoned_ms = Some(held_ms);
    }

    fn abandoned_ms(&self) -> Option<u32> {
        self.state().abandoned_ms
    }

    fn hold(
        &self,
        (group, member): (&Arc<str>, &Arc<str>),
        limits: HoldLimits,
        awaits: bool,
        epochs: Option<(i32, Arc<AtomicI32>)>,
    ) {
        self.names.get_or_init(|| (group.clone(), member.clone()));
        let mut state = self.state();
        state.limits = Some(limits);
        state.awaits = awaits;
        state.epochs = epochs;
    }

    /// Says whether it was neither answered nor released before.
    fn release(&self) -> bool {
        self.change(|state| !std::mem::replace(&mut state.is_released, true))
    }

    /// Has it released soon, if nothing else does that before.
    fn release_soon(&self) {
        if !self.waits_for_all {
            self.change(|state| !std::mem::replace(&mut state.is_due, true));
        }
    }

    /// The member is not in the log yet, so it is not known what it waits for. When it is, the heartbeat is to be handled
    /// once more.
    pub(crate) fn hold_until_written(&self, names: (&Arc<str>, &Arc<str>), limits: HoldLimits) {
        self.hold(names, limits, false, None);
        self.release();
    }

    /// Wakes whoever waits if `change` says so; says so, too.
    fn change(&self, change: impl FnOnce(&mut State) -> bool) -> bool {
        let waker = {
            let mut state = self.state();
            if state.is_over || !change(&mut state) {
                return false;
            }
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }
}

/// A partition that somebody waits for.
type Awaited = (Uuid, i32);

/// A member whose heartbeat is held.
#[derive(Debug)]
pub(crate) struct HeldMember {
    pub(crate) heartbeat: Arc<HeldHeartbeat>,
    /// Partitions that are to be the member's and are another one's yet.
    pub(crate) awaits: Vec<Awaited>,
    /// It is a classic member, and the coordinator assigns its group.
    pub(crate) is_hosted: bool,
    /// It waits for nothing but the end of a member whose connection is gone.
    pub(crate) is_spare: bool,
    /// The epochs of the member and of its group's target assignment, of a member of the consumer protocol.
    pub(crate) epochs: Option<(i32, i32)>,
}

#[derive(Debug, Default)]
struct HeldGroup {
    members: IndexMap<Arc<str>, HeldMember>,
    awaited: BTreeMap<Awaited, Arc<str>>,
    /// How many of the members are hosted.
    hosted: usize,
    /// The epoch of the group's target assignment.
    epoch: Arc<AtomicI32>,
    /// Held members whose target assignment is written, and is not the group's before its epoch is, too.
    retargeted: BTreeSet<Arc<str>>,
    /// Members whose connections closed while a request of theirs was held for so many milliseconds. The next hold in
    /// the group takes note of them.
    abandoned: Vec<(Arc<str>, u32)>,
}

impl HeldGroup {
    fn take(&mut self, member: &str) -> Option<HeldMember> {
        let (id, held) = self.members.swap_remove_entry(member)?;
        self.hosted -= usize::from(held.is_hosted);
        if let Some(held_ms) = held.heartbeat.abandoned_ms() {
            self.abandoned.push((id, held_ms));
        }
        self.retargeted.remove(member);
        for partition in &held.awaits {
            if self.awaited.get(partition).is_some_and(|waiting| **waiting == *member) {
                self.awaited.remove(partition);
            }
        }
        Some(held)
    }

    fn release(&mut self, member: &str) {
        if let Some(held) = self.take(member) {
            held.heartbeat.release();
        }
    }
}

/// The held heartbeats of a shard: at most one of each member.
#[derive(Debug, Default)]
pub(crate) struct HeldHeartbeats {
    groups: BTreeMap<Arc<str>, HeldGroup>,
    lessons: Lessons,
}

impl HeldHeartbeats {
    /// Whether heartbeats of a group are held, or were.
    pub(crate) fn has_group(&self, group: &str) -> bool {
        !self.groups.is_empty() && self.groups.contains_key(group)
    }

    /// Holds a heartbeat in the place of an earlier one of the same member, which nobody waits for any more
    /// or which will be answered in its own time: released it would come back and take this one's place.
    pub(crate) fn hold(
        &mut self,
        group: &Arc<str>,
        member: &Arc<str>,
        held: HeldMember,
        mut limits: HoldLimits,
    ) {
        let here = self.groups.entry(group.clone()).or_default();
        here.take(member);
        for (member, held_ms) in std::mem::take(&mut here.abandoned) {
            self.lessons.learn(group, &member, held_ms);
        }
        limits.longest_ms = self.lessons.longest_ms(group, member);
        if limits.longest_ms == Some(0) {
            return;
        }
        for partition in &held.awaits {
            here.awaited.insert(*partition, member.clone());
        }
        here.hosted += usize::from(held.is_hosted);
        let epochs = held.epochs.map(|(member, target)| {
            here.epoch.store(target, Ordering::Relaxed);
            (member, here.epoch.clone())
        });
        held.heartbeat.hold((group, member), limits, !held.awaits.is_empty(), epochs);
        here.members.insert(member.clone(), held);
    }

    /// Something concerns one member.
    pub(crate) fn release(&mut self, group: &str, member: &str) {
        if let Some(here) = self.groups.get_mut(group) {
            here.release(member);
        }
    }

    /// Something concerns all members of a group.
    pub(crate) fn release_all(&mut self, group: &str) {
        let Some((id, here)) = self.groups.remove_entry(group) else { return };
        for (member, held_ms) in here.abandoned {
            self.lessons.learn(&id, &member, held_ms);
        }
        for (member, held) in here.members {
            if let Some(held_ms) = held.heartbeat.abandoned_ms() {
                self.lessons.learn(&id, &member, held_ms);
            }
            held.heartbeat.release();
        }
    }

    /// The coordinator assigns a group's classic members no longer. The others, and members that came when it
    /// did not, are not concerned.
    pub(crate) fn release_hosted(&mut self, group: &str) {
        if self.groups.get(group).is_some_and(|here| here.hosted > 0) {
            self.release_each(group, |held| held.is_hosted);
        }
    }

    /// A member has sent a heartbeat, and its first one may still be held.
    pub(crate) fn supersede_newcomer(&mut self, group: &str, member: &str) {
        let Some(here) = self.groups.get_mut(group) else { return };
        if here.members.get(member).is_some_and(|held| held.heartbeat.joins())
            && let Some(held) = here.take(member)
        {
            held.heartbeat.supersede();
        }
    }

    /// Something concerns the members of a group whose first heartbeats are held.
    pub(crate) fn release_newcomers(&mut self, group: &str) {
        self.release_each(group, |held| held.heartbeat.joins());
    }

    /// No member of a group is about to be removed because its connection is gone.
    pub(crate) fn release_spares(&mut self, group: &str) {
        self.release_each(group, |held| held.is_spare);
    }

    fn release_each(&mut self, group: &str, concerns: impl Fn(&HeldMember) -> bool) {
        let Some(here) = self.groups.get_mut(group) else { return };
        let members = here.members.iter().filter(|(_, held)| concerns(held));
        let members: Vec<Arc<str>> = members.map(|(member, _)| member.clone()).collect();
        for member in members {
            here.release(&member);
        }
    }

    /// Something concerns all members of all groups.
    pub(crate) fn release_all_groups(&mut self) {
        self.lessons.forget_all();
        for here in std::mem::take(&mut self.groups).into_values() {
            for held in here.members.into_values() {
                held.heartbeat.release();
            }
        }
    }

    /// The group needs a heartbeat of somebody.
    pub(crate) fn release_one(&mut self, group: &str) {
        let Some(here) = self.groups.get_mut(group) else { return };
        let mut over = Vec::new();
        for (member, held) in &here.members {
            over.push(member.clone());
            if held.heartbeat.release() {
                break;
            }
        }
        for member in over {
            here.take(&member);
        }
    }

    /// The groups that have held heartbeats, or had.
    pub(crate) fn groups(&self) -> Vec<Arc<str>> {
        self.groups.keys().cloned().collect()
    }

    /// The target assignment of a member is written, and will be the group's with the epoch after it.
    pub(crate) fn retargeted(&mut self, group: &str, member: &str) {
        if let Some(here) = self.groups.get_mut(group)
            && let Some((member, _)) = here.members.get_key_value(member)
        {
            here.retargeted.insert(member.clone());
        }
    }

    /// The epoch of the target assignments that were written is: they are the group's now.
    pub(crate) fn assignment_epoch_raised(&mut self, group: &str, epoch: i32) {
        let Some(here) = self.groups.get_mut(group) else { return };
        here.epoch.store(epoch, Ordering::Relaxed);
        for member in std::mem::take(&mut here.retargeted) {
            here.release(&member);
        }
        // What a member was to own before, and was not subscribed to, it may get in the new epoch.
        let waiting: BTreeSet<Arc<str>> = here.awaited.values().cloned().collect();
        for member in waiting {
            here.release(&member);
        }
        // A member that joins again, with a target that is the one it had, may have waited for the epoch alone.
        self.release_newcomers(group);
    }

    /// Whether somebody waits for a partition of a group.
    pub(crate) fn awaits_any(&self, group: &str) -> bool {
        self.groups.get(group).is_some_and(|here| !here.awaited.is_empty())
    }

    /// A partition is free.
    pub(crate) fn freed(&mut self, group: &str, partition: Awaited) {
        let Some(here) = self.groups.get_mut(group) else { return };
        let Some(member) = here.awaited.remove(&partition) else { return };
        let Some(held) = here.members.get_mut(&member) else { return };
        if let Some(at) = held.awaits.iter().position(|awaited| *awaited == partition) {
            held.awaits.swap_remove(at);
        }
        if held.awaits.is_empty() {
            here.release(&member);
        } else {
            held.heartbeat.release_soon();
        }
    }
}
