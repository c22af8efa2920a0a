//! A consumer's membership as its handle and its tasks see it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use thalweg_wire::{ApiKey, ErrorCode};
use tokio::sync::Notify;

use crate::cluster::coordinator::Identity;
use crate::core::fetch::Fetcher;
use crate::core::group::{Action, GroupStatus, Member};
use crate::core::partition::{Position, TopicPartition};
use crate::error::Error;

/// The group that a consumer commits to, and its membership when it subscribes.
pub(in crate::consumer) struct Group {
    pub id: Arc<str>,
    pub instance: Option<String>,
    pub member: Option<Member>,
    /// Tells the membership's task that something happened.
    pub wake: Arc<Notify>,
    /// The application has a listener, which hears of events from within polls.
    pub has_listener: bool,
    /// What the listener has to hear of.
    pub events: VecDeque<Event>,
    /// The application is in a poll.
    pub in_poll: bool,
    pub revocation: Option<Revocation>,
    revocations: u64,
    /// What is committed, as far as this consumer knows.
    pub committed: BTreeMap<TopicPartition, Position>,
    /// By which commit, of all that were begun.
    pub committed_by: BTreeMap<TopicPartition, u64>,
    pub commits: u64,
    /// Everything was committed when the fetcher's moves were these.
    pub committed_at: Option<u64>,
    /// What went wrong with the last commit that the consumer made by itself.
    pub commit_error: Option<Error>,
    /// Behind the last record handed out of partitions that were lost, of which not all was
    /// committed.
    lost: BTreeMap<TopicPartition, i64>,
    /// How often partitions were lost.
    losses: u64,
    /// By which loss a partition was lost last.
    lost_by: BTreeMap<TopicPartition, u64>,
    /// The last loss that the application heard of: by a poll, or by its listener. The membership's
    /// task joins again before that, and what the application commits meanwhile is of the old life.
    heard_losses: u64,
    /// What the coordinator was asked and has not answered, in the order of the asking.
    pub in_flight: Vec<InFlightRequest>,
}

/// Something that was asked of a coordinator.
pub(in crate::consumer) struct InFlightRequest {
    pub api: ApiKey,
    /// `None` where any broker may answer.
    pub broker: Option<i32>,
    pub since_ms: u64,
}

/// What a listener has to hear of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::consumer) enum Event {
    Assigned(Vec<TopicPartition>),
    Revoked { partitions: Vec<TopicPartition>, deadline_ms: u64 },
    Lost(Vec<TopicPartition>),
}

/// Partitions that are being given up.
pub(in crate::consumer) struct Revocation {
    /// Tells it from those before and after it.
    pub number: u64,
    pub partitions: Vec<TopicPartition>,
    /// The application has nothing more to do with them.
    pub is_done: bool,
}

/// What the membership's task has to do.
pub(in crate::consumer) enum Task {
    /// A request, or a lookup.
    Ask(Action),
    /// Look up what is committed for partitions that were assigned.
    LookUpCommitted,
    /// Out of the group for good.
    Fail(crate::core::group::GroupError),
}

impl Group {
    pub fn new(id: Arc<str>, instance: Option<String>) -> Group {
        Group {
            id,
            instance,
            member: None,
            wake: Arc::new(Notify::new()),
            has_listener: false,
            events: VecDeque::new(),
            in_poll: false,
            revocation: None,
            revocations: 0,
            committed: BTreeMap::new(),
            committed_by: BTreeMap::new(),
            commits: 0,
            committed_at: None,
            commit_error: None,
            lost: BTreeMap::new(),
            losses: 0,
            lost_by: BTreeMap::new(),
            heard_losses: 0,
            in_flight: Vec::new(),
        }
    }

    /// Is no member any more, and remembers nothing of it.
    pub fn forget_membership(&mut self) {
        let (id, instance) = (Arc::clone(&self.id), self.instance.take());
        let (wake, has_listener) = (Arc::clone(&self.wake), self.has_listener);
        let (revocations, commits) = (self.revocations, self.commits);
        let (losses, lost_by) = (self.losses, std::mem::take(&mut self.lost_by));
        *self = Group {
            wake,
            has_listener,
            revocations,
            commits,
            losses,
            lost_by,
            heard_losses: losses,
            ..Group::new(id, instance)
        };
    }

    /// Notes that records were handed out that can no longer be committed.
    fn note_lost(&mut self, fetcher: &Fetcher, partition: &TopicPartition) {
        let Some(end) = fetcher.handed_out(partition) else { return };
        let committed = self.committed.get(partition).map_or(-1, |known| known.offset);
        if committed < end {
            self.lost.insert(partition.clone(), end);
        }
    }

    /// Nothing is known to be committed for a partition: its topic was created again.
    pub fn forget_committed(&mut self, partition: &TopicPartition) {
        self.committed.remove(partition);
        self.committed_by.remove(partition);
        self.committed_at = None;
    }

    /// The oldest request that is not answered, and not held back either.
    pub fn unanswered(&self, now_ms: u64) -> Option<&InFlightRequest> {
        let held_ms = self.member.as_ref().map_or(0, Member::heartbeat_interval_ms);
        self.in_flight.iter().find(|asked| {
            let is_heartbeat =
                matches!(asked.api, ApiKey::HEARTBEAT | ApiKey::CONSUMER_GROUP_HEARTBEAT);
            !is_heartbeat || now_ms.saturating_sub(asked.since_ms) > held_ms
        })
    }

    /// How often partitions were lost so far, whether or not the application has heard of it.
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// The last loss that the application has heard of. What it commits was read before the next one.
    pub fn heard_losses(&self) -> u64 {
        self.heard_losses
    }

    /// Whether a partition was lost after a loss.
    pub fn is_lost_since(&self, partition: &TopicPartition, loss: u64) -> bool {
        self.lost_by.get(partition).is_some_and(|by| *by > loss)
    }

    /// Forgets what was lost of partitions that were read as far again.
    pub fn forget_lost(&mut self, fetcher: Option<&Fetcher>) {
        match fetcher {
            None => self.lost.clear(),
            Some(fetcher) => self.lost.retain(|partition, lost| {
                fetcher.position(partition).is_none_or(|now| now.offset < *lost)
            }),
        }
    }

    /// Says, once, that records that were handed out can no longer be committed.
    pub fn take_lost(&mut self) -> Option<Error> {
        let lost = std::mem::take(&mut self.lost);
        lost.into_keys().next().map(|partition| Error::Revoked(Box::new(partition)))
    }

    /// A request about offsets was refused because of who asked: the member hears of it at once, not
    /// with its next heartbeat.
    pub fn refused(&mut self, api: ApiKey, code: ErrorCode, identity: &Identity, now_ms: u64) {
        let Some(member) = &mut self.member else { return };
        member.on_refused(api, code, (&identity.member, identity.generation), now_ms);
        self.wake.notify_one();
    }

    /// As whom to commit; `None` while a member may not.
    pub fn identity(&self) -> Option<Identity> {
        let group = Arc::clone(&self.id);
        let instance = self.instance.clone();
        match &self.member {
            None => Some(self.nobody()),
            Some(member) => member.identity().map(|identity| Identity {
                group,
                generation: identity.generation_or_epoch,
                member: identity.member_id,
                instance,
            }),
        }
    }

    /// Somebody who is no member.
    pub fn nobody(&self) -> Identity {
        let group = Arc::clone(&self.id);
        Identity { group, generation: -1, member: String::new(), instance: None }
    }

    /// The application polls: what it was given before is done with.
    pub fn polled(&mut self, now_ms: u64) {
        let Some(member) = &mut self.member else { return };
        let was_away = member.is_poll_interval_exceeded();
        member.polled(now_ms);
        if was_away {
            // It joins again, and its task sleeps.
            self.wake.notify_one();
        }
        if !self.has_listener {
            self.events.clear();
            self.finish_revocation();
        }
        // Where a listener came after a loss it does not hear of that one.
        self.hear_losses();
    }

    /// The application has heard of all losses but those that its listener is yet to hear of.
    fn hear_losses(&mut self) {
        let is_loss = |event: &&Event| matches!(event, Event::Lost(_));
        let to_come = self.events.iter().filter(is_loss).count();
        self.heard_losses = self.losses - to_come as u64;
    }

    /// The application is done with the partitions that are being given up.
    pub fn finish_revocation(&mut self) {
        if let Some(revocation) = &mut self.revocation
            && !revocation.is_done
        {
            revocation.is_done = true;
            self.wake.notify_one();
        }
    }

    /// A revocation is over, unless something else ended it before.
    pub fn revoked(&mut self, fetcher: &mut Fetcher, number: u64, now_ms: u64) {
        // One that was overtaken by a loss must not end the one that followed.
        let is_this = |now: &mut Revocation| now.number == number;
        let Some(revocation) = self.revocation.take_if(is_this) else { return };
        // What comes back with the next assignment is not fetched again.
        let may_get_back = self.member.as_ref().is_some_and(Member::may_get_back);
        for partition in &revocation.partitions {
            if may_get_back {
                fetcher.park(partition);
            } else {
                fetcher.remove(partition);
            }
            self.committed.remove(partition);
        }
        if let Some(member) = &mut self.member {
            member.revoked(now_ms);
        }
    }

    /// Whether the member is leaving its group, or has left it, because the application said so.
    pub fn is_on_its_way_out(&self) -> bool {
        self.member
            .as_ref()
            .is_some_and(|member| member.is_leaving() || member.why() == GroupStatus::Left)
    }

    /// Whether nothing may be handed out before the listener has heard of something.
    pub fn is_waiting_for_listener(&self) -> bool {
        !self.events.is_empty()
    }

    /// Lets the member go on; takes over what it says about partitions.
    pub fn advance(&mut self, fetcher: &mut Fetcher, now_ms: u64) -> Vec<Task> {
        let mut tasks = Vec::new();
        if let Some(member) = self.member.as_mut().filter(|_| self.in_poll) {
            member.polled(now_ms);
        }
        while let Some(action) = self.member.as_mut().and_then(|member| member.next(now_ms)) {
            match action {
                Action::Revoke { partitions, deadline_ms } => {
                    for partition in &partitions {
                        fetcher.hold(partition);
                    }
                    // Without a listener the next poll, or the one under way, says it is done. Who
                    // leaves has said so.
                    let is_done = !self.has_listener && (self.in_poll || self.is_on_its_way_out());
                    if self.has_listener {
                        let partitions = partitions.clone();
                        self.events.push_back(Event::Revoked { partitions, deadline_ms });
                    }
                    self.revocations += 1;
                    let number = self.revocations;
                    self.revocation = Some(Revocation { number, partitions, is_done });
                }
                Action::Assign { added, all } => {
                    // What is not among them any more is being revoked, or is lost.
                    for partition in all {
                        fetcher.add_committed(partition);
                    }
                    fetcher.remove_parked();
                    if self.has_listener {
                        for partition in &added {
                            fetcher.hold(partition);
                        }
                        self.events.push_back(Event::Assigned(added));
                    }
                    tasks.push(Task::LookUpCommitted);
                }
                Action::Lost { partitions } => {
                    self.losses += 1;
                    for partition in &partitions {
                        self.note_lost(fetcher, partition);
                        self.lost_by.insert(partition.clone(), self.losses);
                        fetcher.remove(partition);
                        self.committed.remove(partition);
                    }
                    self.revocation = None;
                    self.events.retain(|event| !matches!(event, Event::Revoked { .. }));
                    if self.has_listener {
                        self.events.push_back(Event::Lost(partitions));
                    }
                }
                Action::Fatal(error) => {
                    fetcher.remove_parked();
                    tasks.push(Task::Fail(error));
                }
                Action::Warn(error) => tracing::warn!(group = %self.id, %error, "group membership"),
                action => tasks.push(Task::Ask(action)),
            }
        }
        tasks
    }

    /// The listener has heard of an event.
    pub fn heard(&mut self, fetcher: &mut Fetcher, event: &Event) {
        // One that was overtaken by a loss is not there any more.
        if self.events.front() == Some(event) {
            self.events.pop_front();
        }
        match event {
            Event::Assigned(partitions) => {
                // What is on its way out already stays held: it was taken away before anybody
                // came to hear that it was given.
                let leaving = self.revocation.as_ref().map(|now| &now.partitions[..]);
                let leaving = leaving.unwrap_or_default();
                for partition in partitions.iter().filter(|given| !leaving.contains(given)) {
                    fetcher.unhold(partition);
                }
            }
            Event::Revoked { partitions, .. } => {
                let is_this =
                    self.revocation.as_ref().is_some_and(|now| now.partitions == *partitions);
                if is_this {
                    self.finish_revocation();
                }
            }
            Event::Lost(_) => self.hear_losses(),
        }
    }

    /// Acknowledged positions of `partitions` that are not committed yet.
    pub fn to_commit<'a>(
        &self,
        fetcher: &Fetcher,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Vec<(TopicPartition, Position)> {
        partitions
            .into_iter()
            .filter_map(|partition| Some((partition, fetcher.acknowledged(partition)?)))
            .filter(|(partition, position)| {
                self.committed.get(*partition).is_none_or(|known| known.offset != position.offset)
            })
            .map(|(partition, position)| (partition.clone(), position))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fetch::{Budget, FetchSettings, PartitionStatus};

    #[test]
    fn a_heartbeat_that_is_held_back_is_not_unanswered() {
        let mut group = Group::new("g".into(), None);
        let settings = crate::core::group::GroupSettings::new("g");
        let topics = crate::core::group::SubscribedTopics::Topics(["t".into()].into());
        group.member = Some(Member::new(settings, topics, [7; 16], 0));
        for api in [ApiKey::HEARTBEAT, ApiKey::CONSUMER_GROUP_HEARTBEAT, ApiKey::JOIN_GROUP] {
            group.in_flight.push(InFlightRequest { api, broker: Some(1), since_ms: 1_000 });
        }
        let api_at = |now_ms| group.unanswered(now_ms).map(|asked| asked.api);
        assert_eq!(api_at(4_000), Some(ApiKey::JOIN_GROUP));
        // The next heartbeat would be due.
        assert_eq!(api_at(4_001), Some(ApiKey::HEARTBEAT));
    }

    #[test]
    fn what_is_on_its_way_out_stays_held_when_it_is_heard_that_it_was_given() {
        let given = [0, 1].map(|index| TopicPartition::new("t", index));
        let budget = Budget::new(1 << 20, || {});
        let mut fetcher = Fetcher::new(FetchSettings::default(), budget);
        let mut group = Group::new("g".into(), None);
        for partition in &given {
            fetcher.add(partition.clone(), Some(Position::at(0)));
            fetcher.hold(partition);
        }
        // Before the application polled, one of them was taken away again.
        let leaving = vec![given[0].clone()];
        let assigned = Event::Assigned(given.to_vec());
        let revoked = Event::Revoked { partitions: leaving.clone(), deadline_ms: 1_000 };
        group.events.extend([assigned.clone(), revoked.clone()]);
        group.revocation = Some(Revocation { number: 1, partitions: leaving, is_done: false });
        let held = |fetcher: &Fetcher| {
            let is_held = |(partition, status): (TopicPartition, PartitionStatus)| {
                (status == PartitionStatus::Revoking).then_some(partition.partition)
            };
            fetcher.statuses().into_iter().filter_map(is_held).collect::<Vec<_>>()
        };
        group.heard(&mut fetcher, &assigned);
        assert_eq!(held(&fetcher), [0]);
        group.heard(&mut fetcher, &revoked);
        assert_eq!(held(&fetcher), [0], "until it is revoked");
        assert!(group.revocation.is_some_and(|revocation| revocation.is_done));
        assert!(group.events.is_empty());
    }
}
