//! When a group of classic members gets a new target assignment. Their requests do not wait for it.

use std::sync::Arc;

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{GroupMetadataValue, HeartbeatRequest};

use super::context::Step;
use super::migrate::Downgrade;
use crate::assignor::Assignor;
use crate::consumer::{assignor_of, is_built_in, is_hosted, is_server_mode};
use crate::formats::{CONSUMER_PROTOCOL_TYPE, Offer, offers, offers_without, voted};
use crate::jobs::has_claims;
use crate::model::{ConsumerMember, GroupRecord, GroupTimer, Refused};

/// How a group's target assignment is computed.
pub(crate) struct Chosen {
    pub(crate) assignor: &'static dyn Assignor,
    /// The assignor of consumers under which members say what they had before they came.
    pub(crate) claimed_under: Option<String>,
}

impl Step<'_, '_> {
    /// Whether the coordinator has assigned the group: it has done so until now, or it is stored in all of its
    /// members.
    pub(crate) fn was_hosted(&self) -> bool {
        let members = self.group.members().len();
        members > 0
            && self.group.classic_members() == members
            && (self.group.members_with_assignor() == members
                || self.cx.consumer_state.was_hosted(self.id))
    }

    pub(crate) fn is_server_mode(&self) -> bool {
        is_server_mode(self.cx.config, self.id)
    }

    /// Whether the coordinator assigns this group's classic members.
    pub(crate) fn is_hosted(&self) -> bool {
        is_hosted(self.group, self.cx.config, self.id)
    }

    /// Whether it did, and the setting says now that it is not to, or the votes leave it no assignor.
    /// Where groups may not become classic ones, or this one is too large for it, its members go on by
    /// Kafka's rules.
    pub(crate) fn leaves_server(&self) -> bool {
        let members = self.group.members().len();
        !self.is_hosted()
            && self.was_hosted()
            && self.may_downgrade(members)
            && self.cx.consumer_state.may_fit_barrier(self.id, members)
    }

    /// Whether the coordinator assigns what is left without these members.
    pub(crate) fn is_hosted_without(&self, leaving: &[Arc<ConsumerMember>]) -> bool {
        let left = self.group.members().len().saturating_sub(leaving.len());
        let classic = leaving.iter().filter(|member| member.is_classic()).count();
        if left == 0
            || !self.is_server_mode()
            || self.group.classic_members().saturating_sub(classic) != left
        {
            return false;
        }
        let gone: Vec<Offer> =
            leaving.iter().filter_map(|m| Some(m.metadata.classic.as_ref()?.offer())).collect();
        voted(&offers_without(offers(self.group.classic_offers()), gone.iter()))
            .is_some_and(is_built_in)
    }

    /// The assignor that the group votes for as it is.
    pub(crate) fn voted(&self) -> Option<&str> {
        self.group.classic_vote()
    }

    /// The assignor that the group votes for with `joining` in the place of `before`; `None` if it has
    /// none in common with all others.
    pub(crate) fn ballot(
        &self,
        before: Option<&ConsumerMember>,
        joining: &Offer,
    ) -> Option<String> {
        let before =
            before.and_then(|b| b.metadata.classic.as_ref()).map(|classic| classic.offer());
        let mut offers = offers_without(offers(self.group.classic_offers()), before.iter());
        *offers.entry(joining).or_default() += 1;
        voted(&offers).map(str::to_owned)
    }

    /// The assignor that the group's members have chosen, once `after` has taken the place of `before`.
    pub(crate) fn chosen_assignor(
        &self,
        change: Option<(&ConsumerMember, &ConsumerMember)>,
    ) -> Chosen {
        let hosted = match change {
            None => self.is_hosted().then(|| self.voted().map(str::to_owned)).flatten(),
            Some((_, after)) => self.voted_with(after),
        };
        if let Some(protocol) = hosted {
            let assignor = assignor_of(&protocol);
            return Chosen { assignor, claimed_under: Some(protocol).filter(|p| has_claims(p)) };
        }
        let name = |member: &'_ ConsumerMember| member.metadata.server_assignor.clone();
        let (leaving, joining) = change.map_or((None, None), |(a, b)| (name(a), name(b)));
        let wanted = self.group.preferred_assignor(leaving.as_ref(), joining.as_ref());
        let assignor = self.cx.config.consumer_assignor(wanted.as_deref());
        Chosen { assignor, claimed_under: None }
    }

    /// The built-in assignor that the group votes for with `after`, which may be in the place of a static
    /// member of another id; `None` if the coordinator does not assign it then.
    pub(crate) fn voted_with(&self, after: &ConsumerMember) -> Option<String> {
        let joining = after.metadata.classic.as_ref()?.offer();
        if !self.is_server_mode() {
            return None;
        }
        let instance_id = after.metadata.instance_id.as_deref();
        let replaced = instance_id.and_then(|id| self.group.static_member(id));
        let before = self.group.member(&after.id).or(replaced);
        let others = self.group.members().len() - usize::from(before.is_some());
        let classic = before.is_some_and(|before| before.is_classic());
        if self.group.classic_members() - usize::from(classic) != others {
            return None;
        }
        let gone = before.and_then(|before| Some(before.metadata.classic.as_ref()?.offer()));
        let mut offers = offers_without(offers(self.group.classic_offers()), gone.iter());
        *offers.entry(&joining).or_default() += 1;
        voted(&offers).filter(|protocol| is_built_in(protocol)).map(str::to_owned)
    }

    /// Has a new target assignment computed if one is due and nobody else sees to it; looks at the
    /// metadata again if that is due.
    pub(crate) fn look_after_target(&mut self) {
        self.consumer_state().was_hosted = true;
        if self.has_metadata_expired() {
            return self.hosted_refresh();
        }
        let epochs = self.group.epochs();
        if epochs.assignment < epochs.group && !self.is_assigning() {
            self.assign_soon();
        }
    }

    /// Takes note of the group's topics as they are now.
    pub(crate) fn hosted_refresh(&mut self) {
        if !self.is_hosted() {
            return;
        }
        let epochs = *self.group.epochs();
        let hash = self.hash_of(self.group.topics());
        let is_new = hash != epochs.metadata_hash;
        let epoch = if is_new { self.bump_epoch(hash) } else { epochs.group };
        self.metadata_refreshed(epoch);
        if epoch > epochs.assignment && !self.is_assigning() {
            self.assign_soon();
        }
    }

    /// Has a target assignment computed after what is under way, as soon as the group may have one.
    pub(crate) fn assign_soon(&mut self) {
        let timer = GroupTimer::Assign(self.id.clone());
        let delay_ms = self.assignment_delay_ms();
        self.cx.out.schedule_if_absent(timer, delay_ms);
    }

    /// Computes the target assignment that is due, or has it computed.
    pub(crate) fn hosted_assign(&mut self) {
        let epochs = *self.group.epochs();
        if !self.is_hosted() || epochs.assignment >= epochs.group || self.is_assigning() {
            return;
        }
        if self.assignment_delay_ms() > 0 {
            return self.assign_soon();
        }
        self.assign(epochs.group);
    }

    /// The classic group that this becomes, whose members all have to join again. Refused if its record,
    /// which has all members, and those that end this group do not fit a batch.
    pub(crate) fn return_to_barrier(&mut self) -> Result<Downgrade, Refused> {
        let members = self.group.members().len();
        if self.cx.consumer_state.may_fit_barrier(self.id, members) {
            let before = self.records.len();
            let downgrade = self.downgrade(&[], None, true)?;
            if self.cx.config.batch_limit.fits(&self.records[before..]) {
                for id in self.group.members().keys() {
                    self.cancel_timers(id);
                }
                return Ok(downgrade);
            }
            self.records.truncate(before);
            self.consumer_state().too_large_for_barrier = Some(members);
        }
        let message = "The group is too large for a classic one.";
        Err(Refused::new(ErrorCode::GROUP_MAX_SIZE_REACHED, message))
    }

    /// Handles a heartbeat in a group that becomes a classic one.
    pub(crate) fn heartbeat_to_barrier(
        &mut self,
        request: &HeartbeatRequest,
    ) -> Result<(ErrorCode, Option<Downgrade>), Refused> {
        let instance_id = request.group_instance_id.as_deref();
        self.classic_member(&request.member_id, instance_id, request.generation_id)?;
        match self.return_to_barrier() {
            Ok(downgrade) => Ok((ErrorCode::REBALANCE_IN_PROGRESS, Some(downgrade))),
            Err(_) => {
                // Whatever stands in the way is not tried again with every heartbeat.
                let members = self.group.members().len();
                self.consumer_state().too_large_for_barrier.get_or_insert(members);
                self.classic_heartbeat(request).map(|code| (code, None))
            }
        }
    }

    /// Records that end a group with its last members. Its offsets are those of a classic group then.
    pub(crate) fn end_hosted(&mut self, members: &[Arc<ConsumerMember>]) {
        self.end_group(None);
        let record = GroupMetadataValue {
            protocol_type: CONSUMER_PROTOCOL_TYPE.to_owned(),
            generation: self.group.epochs().group,
            current_state_timestamp: self.cx.now.wall_ms,
            ..Default::default()
        };
        self.records.push(GroupRecord::group_metadata(self.id, Some(record)));
        for member in members {
            self.cancel_timers(&member.id);
        }
    }
}
