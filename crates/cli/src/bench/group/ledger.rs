//! Who owns which partition, and what every event cost whom: the measurement, apart from the
//! members that it is about and from the sockets.
//!
//! A member owns a partition from the moment it may fetch it until the moment it gives it up, by its
//! own knowledge; all moments are of one clock. Two owners at a time are counted and never
//! corrected. Members are numbered; a static member that comes back keeps its number, so its
//! partitions have not moved.

use super::figures::{Figures, Samples};
use super::moves::least_moves;

/// Time since the run began, in microseconds.
pub type Micros = u64;

/// Number of a member.
pub type MemberNo = usize;

/// What the members believe.
#[derive(Debug, Default)]
pub struct Ledger {
    partitions: Vec<Partition>,
    members: Vec<Member>,
    alive: usize,
    unsettled: usize,
    unowned: usize,
    changed_at: Micros,
    event: Event,
}

#[derive(Debug, Default)]
struct Partition {
    owners: Vec<MemberNo>,
    last_owner: Option<MemberNo>,
    /// When the last owner let go; 0 before there was one.
    unowned_since: Micros,
    /// The last owner stopped, and did not give it up while it lived.
    is_orphan: bool,
    /// Since when it has had more than one owner.
    double_since: Option<Micros>,
}

#[derive(Debug, Default)]
struct Member {
    is_alive: bool,
    is_settled: bool,
    /// It joined during the event.
    is_new: bool,
    held: usize,
    told_at: Option<Micros>,
    pause_from: Option<Micros>,
    /// Of this event.
    pause: Micros,
    was_told: bool,
    rejoins: u64,
}

/// What is counted from [`Ledger::begin`] to [`Ledger::end`].
#[derive(Debug, Default)]
struct Event {
    began_at: Micros,
    before: Vec<Option<MemberNo>>,
    pauses: Samples,
    settling: Samples,
    unowned: Samples,
    moves: u64,
    doubles: u64,
    double_longest: Micros,
    unavailable_orphaned: Micros,
    unavailable_revoked: Micros,
}

impl Ledger {
    /// Of a topic with so many partitions, which nobody owns.
    pub fn new(partitions: usize) -> Ledger {
        Ledger {
            partitions: (0..partitions).map(|_| Partition::default()).collect(),
            unowned: partitions,
            ..Ledger::default()
        }
    }

    /// A member begins to join; a static one may have been here before.
    pub fn join(&mut self, member: MemberNo, now: Micros) {
        if self.members.len() <= member {
            self.members.resize_with(member + 1, Member::default);
        }
        let state = &mut self.members[member];
        *state = Member { is_alive: true, is_new: true, ..Member::default() };
        self.alive += 1;
        self.unsettled += 1;
        self.changed_at = now;
    }

    /// The coordinator told the member that its assignment changes, or may.
    pub fn tell(&mut self, member: MemberNo, now: Micros) {
        let state = &mut self.members[member];
        state.was_told = true;
        state.told_at.get_or_insert(now);
        self.changed_at = now;
        self.unsettle(member);
    }

    /// The member asks to join again.
    pub fn rejoin(&mut self, member: MemberNo, now: Micros) {
        self.members[member].rejoins += 1;
        self.changed_at = now;
        self.unsettle(member);
    }

    fn unsettle(&mut self, member: MemberNo) {
        let state = &mut self.members[member];
        if state.is_settled {
            state.is_settled = false;
            self.unsettled += 1;
        }
    }

    /// The member has its assignment and owes the coordinator nothing.
    pub fn settle(&mut self, member: MemberNo, now: Micros) {
        let state = &mut self.members[member];
        if !state.is_settled {
            state.is_settled = true;
            self.unsettled -= 1;
            self.changed_at = now;
        }
        if let Some(told_at) = state.told_at.take()
            && !state.is_new
        {
            self.event.settling.add(now - told_at);
        }
    }

    /// The member may fetch the partition from now on.
    pub fn acquire(&mut self, member: MemberNo, partition: usize, now: Micros) {
        let slot = &mut self.partitions[partition];
        if slot.owners.contains(&member) {
            return;
        }
        if slot.owners.is_empty() {
            self.unowned -= 1;
            if slot.last_owner.is_some() {
                let since = slot.unowned_since.max(self.event.began_at);
                let unavailable = match slot.is_orphan {
                    true => &mut self.event.unavailable_orphaned,
                    false => &mut self.event.unavailable_revoked,
                };
                *unavailable += now.saturating_sub(since);
            }
        } else {
            self.event.doubles += 1;
            slot.double_since.get_or_insert(now);
        }
        if slot.last_owner.is_some_and(|last| last != member) {
            self.event.moves += 1;
            let is_free = slot.owners.is_empty();
            self.event.unowned.add(if is_free { now - slot.unowned_since } else { 0 });
        }
        slot.owners.push(member);
        slot.last_owner = Some(member);
        let state = &mut self.members[member];
        state.held += 1;
        if let Some(from) = state.pause_from.take() {
            let pause = now - from;
            state.pause += pause;
            self.event.pauses.add(pause);
        }
        self.changed_at = now;
    }

    /// The member has given the partition up.
    pub fn release(&mut self, member: MemberNo, partition: usize, now: Micros) {
        self.let_go(member, partition, false, now);
        let state = &mut self.members[member];
        if state.held == 0 {
            state.pause_from.get_or_insert(now);
        }
    }

    fn let_go(&mut self, member: MemberNo, partition: usize, is_orphan: bool, now: Micros) {
        let slot = &mut self.partitions[partition];
        let Some(at) = slot.owners.iter().position(|&owner| owner == member) else { return };
        slot.owners.swap_remove(at);
        if slot.owners.len() < 2
            && let Some(since) = slot.double_since.take()
        {
            self.event.double_longest = self.event.double_longest.max(now - since);
        }
        if slot.owners.is_empty() {
            self.unowned += 1;
            slot.unowned_since = now;
            slot.is_orphan = is_orphan;
        }
        self.members[member].held -= 1;
        self.changed_at = now;
    }

    /// The member stopped, in whatever way; `owned` is what it had.
    pub fn stop(&mut self, member: MemberNo, owned: &[i32], now: Micros) {
        for &partition in owned {
            self.let_go(member, index(partition), true, now);
        }
        let state = &mut self.members[member];
        if state.is_alive {
            state.is_alive = false;
            self.alive -= 1;
            self.unsettled -= usize::from(!state.is_settled);
        }
        // The unfinished pause of a member that is no more says nothing.
        (state.told_at, state.pause_from) = (None, None);
        self.changed_at = now;
    }

    /// Whether every member has settled and every partition has an owner.
    pub fn is_whole(&self) -> bool {
        self.alive > 0 && self.unsettled == 0 && self.unowned == 0
    }

    /// Whether no member has two partitions more than another.
    pub fn is_balanced(&self) -> bool {
        let held = || self.members.iter().filter(|m| m.is_alive).map(|m| m.held);
        held().max().unwrap_or(0) <= held().min().unwrap_or(0) + 1
    }

    /// When anything changed last.
    pub fn changed_at(&self) -> Micros {
        self.changed_at
    }

    /// Members that live.
    pub fn alive(&self) -> usize {
        self.alive
    }

    /// Members that have not settled, and partitions without owner.
    pub fn unfinished(&self) -> (usize, usize) {
        (self.unsettled, self.unowned)
    }

    /// Partitions that a member holds.
    pub fn held(&self, member: MemberNo) -> usize {
        self.members.get(member).map_or(0, |state| state.held)
    }

    /// An event begins; what was counted before is forgotten. Where one event follows another
    /// without rest (`carry`), pauses that have begun go on.
    pub fn begin(&mut self, now: Micros, carry: bool) {
        if self.alive == 0 {
            // What comes is another group: its members take over from none.
            for slot in &mut self.partitions {
                (slot.last_owner, slot.is_orphan) = (None, false);
            }
        }
        for state in &mut self.members {
            if !carry {
                (state.told_at, state.pause_from) = (None, None);
            }
            state.is_new &= !state.is_settled;
            (state.pause, state.was_told, state.rejoins) = (0, state.told_at.is_some(), 0);
        }
        let before = self.partitions.iter().map(|slot| slot.owners.first().copied()).collect();
        self.event = Event { began_at: now, before, ..Event::default() };
        self.changed_at = now;
    }

    /// The event is over: what it came to.
    pub fn end(&mut self, now: Micros) -> Figures {
        let mut event = std::mem::take(&mut self.event);
        let mut kept = vec![false; self.members.len()];
        let mut survivors = vec![0; self.members.len()];
        let mut owned_before = 0;
        for owner in event.before.iter().flatten() {
            owned_before += 1;
            kept[*owner] = self.members[*owner].is_alive;
            survivors[*owner] += 1;
        }
        for (slot, before) in self.partitions.iter().zip(&event.before) {
            if let Some(owner) = before
                && slot.owners != [*owner]
            {
                kept[*owner] = false;
            }
            if let Some(since) = slot.double_since {
                event.double_longest = event.double_longest.max(now - since);
            }
            if slot.owners.is_empty() && slot.last_owner.is_some() {
                let open = now - slot.unowned_since.max(event.began_at);
                match slot.is_orphan {
                    true => event.unavailable_orphaned += open,
                    false => event.unavailable_revoked += open,
                }
            }
        }
        let alive = |&(_, state): &(usize, &Member)| state.is_alive;
        let survivors: Vec<usize> =
            self.members.iter().enumerate().filter(alive).map(|(no, _)| survivors[no]).collect();
        let mut figures = Figures {
            members: self.alive,
            pauses: event.pauses,
            settling: event.settling,
            unowned: event.unowned,
            moves: event.moves,
            // From nothing there is no move.
            least_moves: match owned_before {
                0 => 0,
                _ => least_moves(&survivors, self.partitions.len()) as u64,
            },
            doubles: event.doubles,
            double_longest: event.double_longest,
            length: now - event.began_at,
            stable_after: self.changed_at.saturating_sub(event.began_at),
            unavailable_orphaned: event.unavailable_orphaned,
            unavailable_revoked: event.unavailable_revoked,
            ..Figures::default()
        };
        for (state, kept) in self.members.iter().zip(kept) {
            if !state.is_alive {
                continue;
            }
            figures.slowest_pause = figures.slowest_pause.max(state.pause);
            figures.paused += u64::from(state.pause > 0);
            figures.told += u64::from(state.was_told && !state.is_new);
            match state.is_new {
                true => figures.newcomers_rejoins += state.rejoins,
                false => figures.rejoins += state.rejoins,
            }
            // A static member that was stopped and came back is not one that was left alone.
            if kept && !state.is_new {
                figures.kept += 1;
                figures.kept_paused += u64::from(state.pause > 0);
                figures.kept_slowest_pause = figures.kept_slowest_pause.max(state.pause);
                figures.kept_rejoins += state.rejoins;
            }
        }
        figures
    }
}

/// A partition's place; members never have others than those of the topic.
fn index(partition: i32) -> usize {
    usize::try_from(partition).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
