//! Subscriptions by regular expression: which topics an expression stands for is found out away from
//! the requests, for all of a group's expressions at once, and kept in the log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_wire::ErrorCode;

use super::context::Step;
use crate::consumer::Subscribers;
use crate::formats::TopicRegex;
use crate::jobs::{RegexJob, RegexesResolved};
use crate::model::{ConsumerGroupRecord, ConsumerMember, Refused};

/// How often a group's expressions are resolved at most, in milliseconds. Fixed in Kafka.
const REFRESH_MIN_INTERVAL_MS: i64 = 10_000;

/// What a heartbeat did to its member's regular expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegexUpdate {
    /// Nothing.
    None,
    /// It is another one, and not known yet what it stands for.
    Changed,
    /// It is another one, or none, and known what it stands for.
    ChangedAndResolved,
}

impl Step<'_, '_> {
    /// Takes note of the member's regular expression, and has the group's resolved if it is time.
    pub(crate) fn update_regex(
        &mut self,
        before: &ConsumerMember,
        after: &ConsumerMember,
    ) -> Result<RegexUpdate, Refused> {
        let (old, new) = (before.metadata.regex(), after.metadata.regex());
        let mut update = RegexUpdate::None;
        let mut wanted = false;
        if before.metadata.topic_regex != after.metadata.topic_regex {
            update = RegexUpdate::Changed;
            let subscribers =
                |regex: &Arc<str>| self.group.regex_members().get(regex).copied().unwrap_or(0);
            let is_last = old.filter(|old| subscribers(old) == 1).cloned();
            match new {
                Some(new) if subscribers(new) == 0 => {
                    if let Err(invalid) = TopicRegex::new(new) {
                        return Err(Refused::new(
                            ErrorCode::INVALID_REGULAR_EXPRESSION,
                            format!(
                                "SubscribedTopicRegex `{new}` is not a valid regular expression: \
                                 {invalid}."
                            ),
                        ));
                    }
                    wanted = true;
                }
                Some(new) if self.group.regexes().contains_key(new) => {
                    update = RegexUpdate::ChangedAndResolved;
                }
                Some(_) => {}
                None if old.is_some() => update = RegexUpdate::ChangedAndResolved,
                None => {}
            }
            if let Some(old) = is_last {
                self.record(ConsumerGroupRecord::regex(self.id, &old, None));
            }
        }
        if wanted || !self.group.regex_members().is_empty() {
            self.resolve_if_due(wanted, before, after);
        }
        Ok(update)
    }

    /// A member whose record is another one's from now on subscribes with its own expression no more. As far as
    /// Kafka goes that stays in the log.
    pub(crate) fn drop_regex_of_replaced(&mut self, before: &ConsumerMember, now: &ConsumerMember) {
        let Some(old) = before.metadata.regex().filter(|old| now.metadata.regex() != Some(old))
        else {
            return;
        };
        if self.group.regex_members().get(old) == Some(&1) {
            self.record(ConsumerGroupRecord::regex(self.id, old, None));
        }
    }

    fn resolve_if_due(
        &mut self,
        mut wanted: bool,
        before: &ConsumerMember,
        after: &ConsumerMember,
    ) {
        let now_ms = self.cx.now.wall_ms;
        // All are resolved together, so the newest says when; one that nobody subscribes with any more
        // may be older.
        let known = self.group.regexes().values().max_by_key(|resolved| resolved.timestamp_ms);
        // A time to come was written by a clock that has been set back.
        let times = self.group.regexes().values().map(|resolved| resolved.timestamp_ms);
        let last_ms = times.filter(|at_ms| *at_ms <= now_ms).max().unwrap_or(i64::MIN);
        if self.consumer_state().resolving.is_some()
            || now_ms <= last_ms.saturating_add(REFRESH_MIN_INTERVAL_MS)
        {
            return;
        }
        let regexes = self.regex_members_with(before, after);
        let version = known.map_or(0, |resolved| resolved.version);
        let interval_ms = self.cx.config.consumer_regex_refresh_interval_ms;
        // Kafka compares how many there are: one that is missing would not be noticed beside one too many.
        wanted |= regexes.keys().ne(self.group.regexes().keys());
        wanted |= self.cx.hashes.last_new_topics.is_some_and(|last| version < last);
        wanted |= now_ms > last_ms.saturating_add(interval_ms);
        if wanted && !regexes.is_empty() {
            let id = self.cx.consumer_state.job_id();
            self.consumer_state().resolving = Some(id);
            let job = RegexJob {
                id,
                group: self.id.clone(),
                regexes: regexes.into_keys().collect(),
                image: Arc::clone(self.cx.image),
                now_ms,
            };
            self.cx.out.start(job.into());
        }
    }

    /// Takes what expressions stand for.
    pub(crate) fn regexes_resolved(&mut self, done: RegexesResolved) {
        let live = self.consumer_state();
        if live.resolving != Some(done.id) {
            return;
        }
        live.resolving = None;
        let Some(resolved) = done.resolved else { return };
        let mut topics: BTreeMap<Arc<str>, Subscribers> = self.group.topics().clone();
        let mut bump = false;
        let mut found_nothing = BTreeSet::new();
        for (regex, resolved) in resolved {
            if !self.group.regex_members().contains_key(&regex) {
                continue; // Nobody subscribes with it any more.
            }
            let before = self.group.regexes().get(&regex);
            let before = before.map_or(&[][..], |before| &before.topics);
            if *before != *resolved.topics {
                bump = true;
                for topic in before {
                    if let Some(subscribers) = topics.get_mut(topic) {
                        subscribers.by_regex = subscribers.by_regex.saturating_sub(1);
                    }
                }
                for topic in resolved.topics.iter() {
                    topics.entry(topic.clone()).or_default().by_regex += 1;
                }
            }
            if self.group.regexes().get(&regex).is_none() && resolved.topics.is_empty() {
                found_nothing.insert(regex.clone());
            }
            self.record(ConsumerGroupRecord::regex(self.id, &regex, Some(&resolved)));
        }
        bump = bump || self.is_any_target_unsubscribed(&found_nothing);
        if !found_nothing.is_empty() {
            // A target that is being computed may be for what a member's last expression stood for, too.
            let live = self.consumer_state();
            live.is_assignment_stale |= live.assigning.is_some();
        }
        topics.retain(|_, subscribers| *subscribers != Subscribers::default());
        let hash = self.hash_of(&topics);
        if bump || hash != self.group.epochs().metadata_hash {
            let epoch = self.bump_epoch(hash);
            self.metadata_refreshed(epoch);
        }
    }

    /// Whether one of the members that subscribe with these expressions, which stand for nothing, is to
    /// own something of a topic that it does not subscribe to any more: its last expression stood for it.
    /// In Kafka nobody gets that before something else happens to the group.
    fn is_any_target_unsubscribed(&self, regexes: &BTreeSet<Arc<str>>) -> bool {
        let epochs = self.group.epochs();
        !regexes.is_empty()
            && epochs.assignment >= epochs.group
            && self.group.members().values().any(|member| {
                let target = self.group.target(&member.id);
                let target = target.filter(|target| !target.is_empty());
                let regex = member.metadata.regex();
                let Some(target) = target.filter(|_| regex.is_some_and(|r| regexes.contains(r)))
                else {
                    return false;
                };
                let subscribed = self.subscribed_ids(member);
                target.iter().any(|(topic_id, _)| subscribed.binary_search(&topic_id).is_err())
            })
    }
}
