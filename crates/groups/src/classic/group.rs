//! A classic group: its members and what they have in common.
//!
//! Invariants (checked by [`check`](ClassicGroup::check)): the number of members that wait for a
//! JoinGroup answer is counted right; the count of each protocol is the number of members that
//! support it; static members map both ways; a leader is a member; who waits for a SyncGroup answer
//! does so in CompletingRebalance.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use thalweg_coordinator::{Account, Now, Token};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::GroupMetadataValue;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::join_group_response::JoinGroupResponseMember;

use super::protocol::select_protocol;
use super::state::ClassicGroupState;
use super::why::RebalanceAccount;
use crate::formats::{
    CONSUMER_PROTOCOL_TYPE, bucket, hash_map_buckets, spread_hash, subscribed_topics,
};
use crate::model::{
    GroupConfig, GroupOutcome, GroupResponse, GroupTimer, Member, Protocol, join_error, sync_error,
};
use crate::rebalances::Rebalances;

/// What a handler works with beside the group.
pub(crate) struct Env<'a> {
    pub config: &'a GroupConfig,
    /// What members leave behind is held of this.
    pub account: &'a Arc<Account>,
    pub now: Now,
    pub out: &'a mut GroupOutcome,
    /// Rebalances completed, for the metrics.
    pub completed_rebalances: &'a mut u64,
    /// Why groups rebalanced.
    pub rebalances: &'a mut Rebalances,
}

/// How far the delay of a group's first rebalance has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InitialDelay {
    pub delay_ms: u64,
    pub remaining_ms: u64,
}

/// A classic group, live.
#[derive(Debug)]
pub struct ClassicGroup {
    pub(super) id: Arc<str>,
    pub(super) state: ClassicGroupState,
    pub(super) previous_state: ClassicGroupState,
    /// When it came into its state. `None` if its record is too old to say.
    pub(super) state_timestamp_ms: Option<i64>,
    pub(super) protocol_type: Option<String>,
    pub(super) protocol_name: Option<String>,
    pub(super) generation: i32,
    pub(super) leader: Option<Arc<str>>,
    pub(super) members: BTreeMap<Arc<str>, Member>,
    pub(super) static_members: BTreeMap<Arc<str>, Arc<str>>,
    /// Ids given out to members that have not come back with them.
    pub(super) pending_join: BTreeSet<Arc<str>>,
    pub(super) awaiting_join: usize,
    /// Number of members by protocol they support.
    pub(super) supported: BTreeMap<String, usize>,
    /// Members that have not sent SyncGroup in this generation.
    pub(super) pending_sync: BTreeSet<Arc<str>>,
    /// Topics of all members as of the last generation; `None` if they cannot be known.
    pub(super) subscribed_topics: Option<BTreeSet<String>>,
    /// Somebody came while the first rebalance was delayed: it may be delayed once more.
    pub(super) new_member_added: bool,
    pub(super) initial_delay: Option<InitialDelay>,
    /// Size of the hash table that Kafka would hold the members in; it never shrinks.
    buckets: u32,
    next_sequence: u64,
    /// The generation in which it was found that the coordinator cannot assign the group, and why it cannot.
    pub(crate) unhostable: Option<(i32, Box<str>)>,
    /// Of a group that the coordinator assigned until now: the generations that its members are in, until
    /// they have come together in one.
    pub(crate) hosted_epochs: BTreeMap<Arc<str>, i32>,
    pub(super) why: RebalanceAccount,
}

impl ClassicGroup {
    /// A group without members.
    pub(crate) fn new(id: Arc<str>, now: Now) -> ClassicGroup {
        ClassicGroup {
            id,
            state: ClassicGroupState::Empty,
            previous_state: ClassicGroupState::Dead,
            state_timestamp_ms: Some(now.wall_ms),
            protocol_type: None,
            protocol_name: None,
            generation: 0,
            leader: None,
            members: BTreeMap::new(),
            static_members: BTreeMap::new(),
            pending_join: BTreeSet::new(),
            awaiting_join: 0,
            supported: BTreeMap::new(),
            pending_sync: BTreeSet::new(),
            subscribed_topics: None,
            new_member_added: false,
            initial_delay: None,
            buckets: hash_map_buckets(0),
            next_sequence: 0,
            unhostable: None,
            hosted_epochs: BTreeMap::new(),
            why: RebalanceAccount::default(),
        }
    }

    /// Why the coordinator cannot assign the group, if that was found in this generation.
    pub(crate) fn unhostable(&self) -> Option<&str> {
        let (generation, reason) = self.unhostable.as_ref()?;
        (*generation == self.generation).then_some(reason)
    }

    /// Whether a member is in this generation.
    pub(crate) fn is_generation_of(&self, member_id: &str, generation: i32) -> bool {
        generation == self.generation || self.hosted_epochs.get(member_id) == Some(&generation)
    }

    /// Ids given out to members that have not come back with them.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Arc<str>> {
        self.pending_join.iter()
    }

    /// An id was given out to a member, which is to come back with it.
    pub(crate) fn expect(&mut self, member_id: Arc<str>, env: &mut Env<'_>) {
        let session = GroupTimer::Session(self.id.clone(), member_id.clone());
        env.out.schedule(session, env.config.new_member_join_timeout_ms);
        self.pending_join.insert(member_id);
    }

    /// The group that a record describes, as after a restart. A record that contradicts itself (the
    /// same member or instance twice, a leader that is no member) loses the part that is wrong.
    pub(crate) fn from_record(
        id: Arc<str>,
        value: &GroupMetadataValue,
        account: &Arc<Account>,
        now: Now,
    ) -> ClassicGroup {
        let mut group = ClassicGroup::new(id, now);
        group.generation = value.generation;
        group.protocol_type =
            (!value.protocol_type.is_empty()).then(|| value.protocol_type.clone());
        // Kafka never writes members without a protocol.
        group.protocol_name =
            value.protocol.clone().or_else(|| (!value.members.is_empty()).then(String::new));
        group.state_timestamp_ms =
            (value.current_state_timestamp != -1).then_some(value.current_state_timestamp);
        let protocol = value.protocol.as_deref().unwrap_or_default();
        for record in &value.members {
            let member = Member::from_record(protocol, record, account);
            let taken = group.members.contains_key(&member.id)
                || member
                    .instance_id
                    .as_ref()
                    .is_some_and(|i| group.static_members.contains_key(i));
            if !taken {
                group.insert(member);
            }
        }
        if !group.members.is_empty() {
            group.state = ClassicGroupState::Stable;
        }
        group.leader = value
            .leader
            .as_deref()
            .and_then(|leader| group.members.get_key_value(leader))
            .map(|(id, _)| id.clone())
            .or_else(|| group.first_member(|_| true));
        group.subscribed_topics = group.compute_subscribed_topics();
        group
    }

    /// Id of the group.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Its state.
    pub fn state(&self) -> ClassicGroupState {
        self.state
    }

    /// Its generation: one more with each completed join phase.
    pub fn generation(&self) -> i32 {
        self.generation
    }

    /// `consumer`, `connect`, or whatever its members said; `None` if it only holds offsets.
    pub fn protocol_type(&self) -> Option<&str> {
        self.protocol_type.as_deref()
    }

    /// The protocol chosen for this generation.
    pub fn protocol_name(&self) -> Option<&str> {
        self.protocol_name.as_deref()
    }

    /// The member that computes the assignment.
    pub fn leader(&self) -> Option<&Arc<str>> {
        self.leader.as_ref()
    }

    /// Its members in the order of their ids.
    pub fn members(&self) -> impl ExactSizeIterator<Item = &Member> {
        self.members.values()
    }

    /// A member.
    pub fn member(&self, id: &str) -> Option<&Member> {
        self.members.get(id)
    }

    /// The id of the member of that instance.
    pub fn member_of_instance(&self, instance_id: &str) -> Option<&Arc<str>> {
        self.static_members.get(instance_id)
    }

    /// Number of members that were given an id and have not come back with it.
    pub fn pending_members(&self) -> usize {
        self.pending_join.len()
    }

    /// Whether the member of that instance has not sent SyncGroup in this generation.
    pub fn is_unsynced_instance(&self, instance_id: &str) -> bool {
        self.static_members.get(instance_id).is_some_and(|id| self.pending_sync.contains(id))
    }

    /// Members that have not sent SyncGroup in this generation.
    pub fn unsynced_members(&self) -> impl Iterator<Item = &Arc<str>> {
        self.pending_sync.iter()
    }

    /// Topics of all members as of the last generation; `None` if they cannot be known.
    pub fn subscribed_topics(&self) -> Option<&BTreeSet<String>> {
        self.subscribed_topics.as_ref()
    }

    /// When it came into its state, if that is known.
    pub fn state_timestamp_ms(&self) -> Option<i64> {
        self.state_timestamp_ms
    }

    pub(crate) fn is(&self, state: ClassicGroupState) -> bool {
        self.state == state
    }

    pub(super) fn is_leader(&self, member_id: &str) -> bool {
        self.leader.as_deref() == Some(member_id)
    }

    pub(super) fn leader_id(&self) -> String {
        self.leader.as_deref().unwrap_or_default().to_owned()
    }

    pub(crate) fn uses_consumer_protocol(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER_PROTOCOL_TYPE)
    }

    /// Whether members may depend on the offsets of `topic`. If the subscriptions cannot be known,
    /// a consumer group counts as subscribed to everything.
    pub(crate) fn is_subscribed_to(&self, topic: &str) -> bool {
        match &self.subscribed_topics {
            Some(topics) => topics.contains(topic),
            None => self.uses_consumer_protocol(),
        }
    }

    /// Whether the topics of all members are known.
    pub(crate) fn has_known_subscriptions(&self) -> bool {
        self.uses_consumer_protocol() && self.subscribed_topics.is_some()
    }

    /// Starts the session of every member, as after a restart.
    pub(crate) fn start_sessions(&self, env: &mut Env<'_>) {
        for member_id in self.member_ids() {
            self.reschedule_session(&member_id, env);
        }
    }

    /// The group is there again after the records that ended it were taken back: it has the timers again
    /// that fired or were cancelled meanwhile, so that nobody stays in it for good.
    pub(crate) fn restore_timers(&self, env: &mut Env<'_>) {
        for member in self.members.values() {
            let session = GroupTimer::Session(self.id.clone(), member.id.clone());
            let timeout_ms = u64::try_from(member.session_timeout_ms).unwrap_or(0);
            env.out.schedule_if_absent(session, timeout_ms);
        }
        for member_id in &self.pending_join {
            let session = GroupTimer::Session(self.id.clone(), member_id.clone());
            env.out.schedule_if_absent(session, env.config.new_member_join_timeout_ms);
        }
        let phase = match self.state {
            ClassicGroupState::PreparingRebalance => GroupTimer::Join(self.id.clone()),
            ClassicGroupState::CompletingRebalance => GroupTimer::Sync(self.id.clone()),
            ClassicGroupState::Stable if !self.pending_sync.is_empty() => {
                GroupTimer::Sync(self.id.clone())
            }
            _ => return,
        };
        env.out.schedule_if_absent(phase, self.rebalance_timeout_ms());
    }

    /// Longest wait any member asks for.
    pub(super) fn rebalance_timeout_ms(&self) -> u64 {
        let longest = self.members.values().map(|m| m.rebalance_timeout_ms).max().unwrap_or(0);
        u64::try_from(longest).unwrap_or(0)
    }

    pub(super) fn has_all_members_joined(&self) -> bool {
        self.members.len() == self.awaiting_join && self.pending_join.is_empty()
    }

    pub(super) fn transition(&mut self, state: ClassicGroupState, now: Now) {
        debug_assert!(self.state.may_become(state), "{} -> {state}", self.state);
        self.previous_state = self.state;
        self.state = state;
        self.state_timestamp_ms = Some(now.wall_ms);
    }

    /// Whether someone with these protocols can be in the group.
    pub(super) fn supports_protocols(
        &self,
        protocol_type: &str,
        protocols: &[JoinGroupRequestProtocol],
    ) -> bool {
        if self.is(ClassicGroupState::Empty) {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        let everybody = self.members.len();
        self.protocol_type.as_deref() == Some(protocol_type)
            && protocols
                .iter()
                .any(|p| self.supported.get(&p.name).copied().unwrap_or(0) == everybody)
    }

    /// Whether all members support some protocol.
    pub(super) fn has_protocol_in_common(&self) -> bool {
        let everybody = self.members.len();
        everybody == 0 || self.supported.values().any(|count| *count == everybody)
    }

    /// UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID if this is not who it says.
    pub(crate) fn validate_member(
        &self,
        member_id: &str,
        instance_id: Option<&str>,
    ) -> Result<(), ErrorCode> {
        if let Some(instance_id) = instance_id {
            match self.static_members.get(instance_id) {
                None => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
                Some(existing) if &**existing != member_id => {
                    return Err(ErrorCode::FENCED_INSTANCE_ID);
                }
                Some(_) => {}
            }
        }
        if self.members.contains_key(member_id) {
            Ok(())
        } else {
            Err(ErrorCode::UNKNOWN_MEMBER_ID)
        }
    }

    /// Adds a member whose id and instance id are free.
    pub(super) fn insert(&mut self, mut member: Member) {
        member.spread_hash = spread_hash(&member.id);
        member.sequence = self.next_sequence;
        self.next_sequence += 1;
        if let Some(instance_id) = &member.instance_id {
            self.static_members.insert(instance_id.clone(), member.id.clone());
        }
        if self.leader.is_none() {
            self.leader = Some(member.id.clone());
        }
        self.count_protocols(&member, true);
        self.awaiting_join += usize::from(member.is_awaiting_join());
        self.pending_join.remove(&member.id);
        self.members.insert(member.id.clone(), member);
        self.buckets = self.buckets.max(hash_map_buckets(self.members.len()));
    }

    /// Takes a member or pending member out. Whatever it waits for is answered with
    /// UNKNOWN_MEMBER_ID, so that a client that is still there joins again.
    pub(super) fn remove(&mut self, member_id: &str, env: &mut Env<'_>) {
        let was_pending = self.pending_join.remove(member_id);
        self.pending_sync.remove(member_id);
        env.out.cancel(GroupTimer::Session(self.id.clone(), member_id.into()));
        let Some(member) = self.members.remove(member_id) else {
            if was_pending {
                self.note_pending_removed(member_id, env);
            }
            return;
        };
        self.note_removed(&member, env);
        self.count_protocols(&member, false);
        if let Some(instance_id) = &member.instance_id {
            self.static_members.remove(instance_id);
        }
        if let Some(token) = member.awaiting_join {
            self.awaiting_join -= 1;
            let response = join_error("", ErrorCode::UNKNOWN_MEMBER_ID);
            env.out.complete(token, GroupResponse::JoinGroup(response));
        }
        if let Some(token) = member.awaiting_sync {
            let response = sync_error(ErrorCode::UNKNOWN_MEMBER_ID);
            env.out.complete(token, GroupResponse::SyncGroup(response));
        }
        if self.is_leader(member_id) {
            self.leader = self.first_member(|_| true);
        }
    }

    /// Ids of the members in the order that Kafka goes through them. It shows where the order in
    /// which timers are set decides which of them fires first.
    pub(super) fn member_ids(&self) -> Vec<Arc<str>> {
        self.ordered_members().into_iter().map(|member| member.id.clone()).collect()
    }

    fn ordered_members(&self) -> Vec<&Member> {
        let mut members: Vec<&Member> = self.members.values().collect();
        members.sort_by_key(|member| (bucket(member.spread_hash, self.buckets), member.sequence));
        members
    }

    /// The first member that `is_eligible`, in the order that Kafka goes through its members.
    fn first_member(&self, is_eligible: impl Fn(&Member) -> bool) -> Option<Arc<str>> {
        self.members
            .values()
            .filter(|member| is_eligible(member))
            .min_by_key(|member| (bucket(member.spread_hash, self.buckets), member.sequence))
            .map(|member| member.id.clone())
    }

    fn count_protocols(&mut self, member: &Member, add: bool) {
        for name in member.protocol_names() {
            if add {
                *self.supported.entry(name.to_owned()).or_default() += 1;
            } else if let Some(count) = self.supported.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.supported.remove(name);
                }
            }
        }
    }

    /// Sets what a member says of itself, and the request it waits for.
    ///
    /// A member that waits already has sent its request twice. The first one is answered with
    /// REBALANCE_IN_PROGRESS: Kafka forgets it, and lets its connection wait for nothing.
    pub(super) fn update_member(
        &mut self,
        member_id: &str,
        protocols: Vec<Protocol>,
        rebalance_timeout_ms: i32,
        session_timeout_ms: i32,
        awaiting_join: Option<Token>,
        env: &mut Env<'_>,
    ) {
        let Some(mut member) = self.members.remove(member_id) else { return };
        self.count_protocols(&member, false);
        member.protocols = protocols;
        member.rebalance_timeout_ms = rebalance_timeout_ms;
        member.session_timeout_ms = session_timeout_ms;
        self.count_protocols(&member, true);
        if let Some(earlier) = member.awaiting_join.take() {
            self.awaiting_join -= 1;
            let response = join_error(member_id, ErrorCode::REBALANCE_IN_PROGRESS);
            env.out.complete(earlier, GroupResponse::JoinGroup(response));
        }
        member.awaiting_join = awaiting_join;
        self.awaiting_join += usize::from(awaiting_join.is_some());
        self.members.insert(member.id.clone(), member);
    }

    /// Gives a static member's place to `new_id`. What waits under the old id is fenced.
    pub(super) fn replace_static_member(
        &mut self,
        instance_id: &str,
        old_id: &str,
        new_id: Arc<str>,
        env: &mut Env<'_>,
    ) {
        let Some(mut member) = self.members.remove(old_id) else { return };
        if let Some(token) = member.awaiting_join.take() {
            self.awaiting_join -= 1;
            let response = join_error(old_id, ErrorCode::FENCED_INSTANCE_ID);
            env.out.complete(token, GroupResponse::JoinGroup(response));
        }
        if let Some(token) = member.awaiting_sync.take() {
            let response = sync_error(ErrorCode::FENCED_INSTANCE_ID);
            env.out.complete(token, GroupResponse::SyncGroup(response));
        }
        env.out.cancel(GroupTimer::Session(self.id.clone(), member.id.clone()));
        // Kafka leaves the old id among those that have not synced, and so rebalances once more when
        // their time is up, whatever the new member does.
        if self.pending_sync.remove(old_id) {
            self.pending_sync.insert(new_id.clone());
        }
        member.id = new_id.clone();
        member.is_new = false;
        member.spread_hash = spread_hash(&member.id);
        member.sequence = self.next_sequence;
        self.next_sequence += 1;
        self.static_members.insert(instance_id.into(), new_id.clone());
        if self.is_leader(old_id) {
            self.leader = Some(new_id.clone());
        }
        self.why.renamed(old_id, &new_id);
        self.members.insert(new_id, member);
    }

    /// Starts a member's session again.
    pub(crate) fn reschedule_session(&self, member_id: &str, env: &mut Env<'_>) {
        if let Some(member) = self.members.get(member_id) {
            let timeout = u64::try_from(member.session_timeout_ms).unwrap_or(0);
            env.out.schedule(GroupTimer::Session(self.id.clone(), member.id.clone()), timeout);
        }
    }

    /// The leader's view of the members.
    pub(super) fn members_for_leader(&self) -> Vec<JoinGroupResponseMember> {
        let protocol = self.protocol_name.as_deref().unwrap_or_default();
        self.members
            .values()
            .map(|member| JoinGroupResponseMember {
                member_id: member.id.to_string(),
                group_instance_id: member.instance_id.as_deref().map(str::to_owned),
                metadata: member.metadata(protocol),
                ..Default::default()
            })
            .collect()
    }

    /// If the leader did not come back, the first member that did takes its place. False if nobody
    /// did.
    pub(super) fn elect_joined_leader(&mut self) -> bool {
        let Some(leader) = &self.leader else { return false };
        if self.members.get(leader).is_some_and(Member::is_awaiting_join) {
            return true;
        }
        match self.first_member(Member::is_awaiting_join) {
            Some(member_id) => {
                self.leader = Some(member_id);
                true
            }
            None => false,
        }
    }

    /// The next generation: a protocol is chosen, or the group is empty.
    pub(super) fn start_next_generation(&mut self, now: Now) {
        self.generation = self.generation.wrapping_add(1);
        self.hosted_epochs.clear();
        let next = if self.members.is_empty() {
            self.protocol_name = None;
            ClassicGroupState::Empty
        } else {
            self.protocol_name = Some(self.selected_protocol());
            ClassicGroupState::CompletingRebalance
        };
        self.subscribed_topics = self.compute_subscribed_topics();
        self.transition(next, now);
        self.pending_sync.clear();
    }

    /// The protocol that the members would choose now.
    pub(crate) fn selected_protocol(&self) -> String {
        select_protocol(&self.ordered_members(), &self.supported)
    }

    pub(super) fn compute_subscribed_topics(&self) -> Option<BTreeSet<String>> {
        if !self.uses_consumer_protocol() {
            return None;
        }
        if self.members.is_empty() {
            return Some(BTreeSet::new());
        }
        let protocol = self.protocol_name.as_deref()?;
        let mut all = BTreeSet::new();
        for member in self.members.values() {
            all.append(&mut subscribed_topics(&member.metadata(protocol)).ok()?);
        }
        Some(all)
    }

    /// The group's record, with the assignments given. Whoever loads it has the members in the order of the record, which
    /// says who leads next.
    pub(super) fn to_record(&self, assignments: &BTreeMap<Arc<str>, Bytes>) -> GroupMetadataValue {
        let protocol = self.protocol_name.as_deref().unwrap_or_default();
        GroupMetadataValue {
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            generation: self.generation,
            protocol: self.protocol_name.clone(),
            leader: self.leader.as_deref().map(str::to_owned),
            current_state_timestamp: self.state_timestamp_ms.unwrap_or(-1),
            members: self
                .ordered_members()
                .into_iter()
                .map(|m| m.to_record(protocol, assignments.get(&m.id).cloned().unwrap_or_default()))
                .collect(),
            ..Default::default()
        }
    }

    /// The record of a group that was just created.
    pub(crate) fn empty_record(&self) -> GroupMetadataValue {
        GroupMetadataValue {
            protocol: None,
            leader: None,
            current_state_timestamp: self.state_timestamp_ms.unwrap_or(-1),
            ..Default::default()
        }
    }

    /// Ends the group: whatever waits is answered, timers are forgotten. New members are not told
    /// their ids if the group never was.
    pub(crate) fn dissolve(&mut self, error: ErrorCode, never_was: bool, out: &mut GroupOutcome) {
        for member in self.members.values_mut() {
            if let Some(token) = member.awaiting_join.take() {
                self.awaiting_join -= 1;
                let member_id = if never_was { "" } else { &*member.id };
                out.complete(token, GroupResponse::JoinGroup(join_error(member_id, error)));
            }
            if let Some(token) = member.awaiting_sync.take() {
                out.complete(token, GroupResponse::SyncGroup(sync_error(error)));
            }
            out.cancel(GroupTimer::Session(self.id.clone(), member.id.clone()));
        }
        for member_id in &self.pending_join {
            out.cancel(GroupTimer::Session(self.id.clone(), member_id.clone()));
        }
        out.cancel(GroupTimer::Join(self.id.clone()));
        out.cancel(GroupTimer::Sync(self.id.clone()));
    }

    /// Tokens of the requests that wait in this group.
    pub fn awaiting(&self) -> impl Iterator<Item = Token> {
        self.members.values().flat_map(|m| m.awaiting_join.into_iter().chain(m.awaiting_sync))
    }

    /// The invariants of the module's header; says which one does not hold.
    pub fn check(&self) -> Result<(), String> {
        let ensure = |holds: bool, what: &str| {
            if holds { Ok(()) } else { Err(format!("group {}: {what}", self.id)) }
        };
        let awaiting = self.members.values().filter(|m| m.is_awaiting_join()).count();
        ensure(awaiting == self.awaiting_join, "members awaiting join are miscounted")?;
        let mut supported: BTreeMap<String, usize> = BTreeMap::new();
        for name in self.members.values().flat_map(Member::protocol_names) {
            *supported.entry(name.to_owned()).or_default() += 1;
        }
        ensure(supported == self.supported, "protocols are miscounted")?;
        for (instance_id, member_id) in &self.static_members {
            let member = self.members.get(member_id);
            ensure(
                member.is_some_and(|m| m.instance_id.as_ref() == Some(instance_id)),
                "a static member is not a member",
            )?;
        }
        let statics = self.members.values().filter(|m| m.is_static()).count();
        ensure(statics == self.static_members.len(), "a static member is missing")?;
        ensure(
            self.leader.as_ref().is_none_or(|leader| self.members.contains_key(leader)),
            "the leader is not a member",
        )?;
        ensure(
            self.leader.is_some() || self.members.is_empty(),
            "there are members and no leader",
        )?;
        ensure(self.has_protocol_in_common(), "no protocol is supported by all members")?;
        ensure(
            self.pending_join.iter().all(|id| !self.members.contains_key(id)),
            "a pending member is a member",
        )?;
        ensure(
            self.pending_sync.iter().all(|id| self.members.contains_key(id)),
            "a member pending sync is no member",
        )?;
        let completing = self.is(ClassicGroupState::CompletingRebalance);
        ensure(
            completing || self.members.values().all(|m| m.awaiting_sync.is_none()),
            "a member awaits sync outside of CompletingRebalance",
        )?;
        if self.is(ClassicGroupState::Empty) {
            ensure(self.members.is_empty(), "it is empty and has members")?;
        }
        let rebalances = match self.state {
            ClassicGroupState::PreparingRebalance | ClassicGroupState::CompletingRebalance => true,
            ClassicGroupState::Stable => !self.pending_sync.is_empty(),
            ClassicGroupState::Empty | ClassicGroupState::Dead => false,
        };
        let under_way = self.rebalance_under_way().is_some();
        ensure(rebalances == under_way, "its rebalance is not over, or not accounted for")?;
        if matches!(self.state, ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable)
        {
            ensure(self.protocol_name.is_some(), "it has members and no protocol")?;
        }
        Ok(())
    }
}
