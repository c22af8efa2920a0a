//! A member of a KIP-848 group and a coordinator whose answers are given by hand.

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::consumer_group_heartbeat_response::{Assignment, TopicPartitions};
use thalweg_wire::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};

use super::super::{
    Action, GroupError, GroupProtocol, GroupRequest, GroupResponse, GroupSettings, GroupStatus,
    Member, OnLeave, RequestFailure, RequestId, SubscribedTopics,
};
use super::*;

struct Script {
    member: Member,
    now_ms: u64,
}

impl Script {
    fn with(subscription: SubscribedTopics, instance_id: Option<String>) -> Script {
        let settings = GroupSettings {
            protocol: GroupProtocol::Consumer { server_assignor: Some("range".into()) },
            instance_id,
            rack: Some("r".into()),
            ..GroupSettings::new("g")
        };
        let mut member = Member::new(settings, subscription, [7; 16], 0);
        assert_eq!(member.next(0), Some(Action::FindCoordinator));
        member.on_coordinator(1, 0);
        Script { member, now_ms: 0 }
    }

    /// A member that knows two topics.
    fn new() -> Script {
        let mut script = Script::with(SubscribedTopics::Topics(topics(&["t", "u"])), None);
        script.know(&["t", "u"]);
        script
    }

    fn know(&mut self, names: &[&str]) {
        let counts = names.iter().map(|&name| (name.into(), 3)).collect();
        self.member.update_metadata(&metadata(&counts), self.now_ms);
    }

    fn action(&mut self) -> Action {
        self.member.next(self.now_ms).expect("an action")
    }

    fn quiet(&mut self) {
        assert_eq!(self.member.next(self.now_ms), None);
    }

    fn heartbeat(&mut self) -> (RequestId, ConsumerGroupHeartbeatRequest) {
        match expect_request(&mut self.member, self.now_ms) {
            (id, GroupRequest::ConsumerHeartbeat(request)) => (id, request),
            other => panic!("not a heartbeat: {other:?}"),
        }
    }

    fn answer(&mut self, id: RequestId, epoch: i32, assigned: Option<&[(&str, i32)]>) {
        let assignment = assigned.map(|assigned| {
            let topic = |&(name, index): &(&str, i32)| TopicPartitions {
                topic_id: topic_id(name),
                partitions: vec![index],
                ..TopicPartitions::default()
            };
            let topic_partitions = assigned.iter().map(topic).collect();
            Assignment { topic_partitions, ..Assignment::default() }
        });
        let response = ConsumerGroupHeartbeatResponse {
            member_epoch: epoch,
            heartbeat_interval_ms: 5_000,
            assignment,
            ..ConsumerGroupHeartbeatResponse::default()
        };
        self.member.on_response(id, Ok(GroupResponse::ConsumerHeartbeat(response)), self.now_ms);
    }

    fn refuse(&mut self, id: RequestId, error_code: ErrorCode) {
        let response = ConsumerGroupHeartbeatResponse { error_code, ..Default::default() };
        self.member.on_response(id, Ok(GroupResponse::ConsumerHeartbeat(response)), self.now_ms);
    }

    fn expect_assign(&mut self, added: &[(&str, i32)], all: &[(&str, i32)]) {
        let (added, all) = (partitions(added), partitions(all));
        assert_eq!(self.action(), Action::Assign { added, all });
    }

    /// A member with t-0 and u-0 at epoch 1, which the coordinator has heard of.
    fn settled() -> Script {
        let mut script = Script::new();
        let (id, _) = script.heartbeat();
        script.answer(id, 1, Some(&[("t", 0), ("u", 0)]));
        script.expect_assign(&[("t", 0), ("u", 0)], &[("t", 0), ("u", 0)]);
        let (id, request) = script.heartbeat();
        assert_eq!(owned(&request), Some(2));
        script.answer(id, 1, None);
        script.quiet();
        script
    }
}

fn owned(request: &ConsumerGroupHeartbeatRequest) -> Option<usize> {
    let topics = request.topic_partitions.as_ref()?;
    Some(topics.iter().map(|topic| topic.partitions.len()).sum())
}

#[test]
fn joining_says_everything_and_later_only_what_changed() {
    let mut script = Script::new();
    let (id, request) = script.heartbeat();
    assert_eq!((request.member_epoch, request.member_id.len()), (0, 22));
    assert_eq!(request.rebalance_timeout_ms, 300_000);
    assert_eq!(request.subscribed_topic_names, Some(vec!["t".into(), "u".into()]));
    assert_eq!(request.subscribed_topic_regex, None);
    assert_eq!(request.server_assignor.as_deref(), Some("range"));
    assert_eq!((request.rack_id.as_deref(), owned(&request)), (Some("r"), Some(0)));
    assert_eq!(script.member.identity(), None);
    script.answer(id, 3, Some(&[]));
    script.expect_assign(&[], &[]);
    let (id, request) = script.heartbeat();
    assert_eq!((request.member_epoch, owned(&request)), (3, Some(0)));
    assert_eq!((request.rebalance_timeout_ms, request.server_assignor), (-1, None));
    assert_eq!((request.subscribed_topic_names, request.rack_id), (None, None));
    script.answer(id, 3, None);
    script.quiet();
    assert_eq!(script.member.epoch(), 3);
    // The interval is the coordinator's.
    assert_eq!(script.member.next_deadline(0), Some(5_000));
    script.now_ms = 5_000;
    let (_, request) = script.heartbeat();
    assert_eq!(owned(&request), None);
}

#[test]
fn another_interval_counts_from_the_heartbeat_that_was_sent() {
    let mut script = Script::settled();
    let told = |script: &mut Script, id, heartbeat_interval_ms| {
        let response = ConsumerGroupHeartbeatResponse {
            member_epoch: 1,
            heartbeat_interval_ms,
            ..ConsumerGroupHeartbeatResponse::default()
        };
        let response = GroupResponse::ConsumerHeartbeat(response);
        script.member.on_response(id, Ok(response), script.now_ms);
    };
    script.now_ms = 5_000;
    let (id, _) = script.heartbeat();
    told(&mut script, id, 250);
    assert_eq!(script.member.next_deadline(5_000), Some(5_250));
    script.now_ms = 5_250;
    let (id, _) = script.heartbeat();
    // Its answer is kept back.
    script.now_ms = 9_250;
    told(&mut script, id, 5_000);
    assert_eq!(script.member.next_deadline(9_250), Some(10_250));
    // What was to be said meanwhile does not wait for the new interval.
    script.now_ms = 10_250;
    let (id, _) = script.heartbeat();
    script.now_ms = 10_300;
    script.member.set_subscription(SubscribedTopics::Topics(["v".into()].into()), 10_300);
    script.now_ms = 10_400;
    told(&mut script, id, 7_000);
    let (_, request) = script.heartbeat();
    assert_eq!(request.subscribed_topic_names, Some(vec!["v".into()]));
}

#[test]
fn a_changed_subscription_is_said_at_once_and_a_pattern_is_taken_back() {
    let mut script = Script::with(SubscribedTopics::Pattern("t.*".into()), None);
    let (id, request) = script.heartbeat();
    assert_eq!(request.subscribed_topic_names, Some(vec![]));
    assert_eq!(request.subscribed_topic_regex.as_deref(), Some("t.*"));
    script.answer(id, 1, None);
    script.member.set_subscription(SubscribedTopics::Topics(topics(&["t"])), 0);
    let (id, request) = script.heartbeat();
    assert_eq!(request.subscribed_topic_names, Some(vec!["t".into()]));
    assert_eq!(request.subscribed_topic_regex.as_deref(), Some(""));
    // Nobody knows whether it arrived: it is said until it is answered.
    script.member.on_response(id, Err(RequestFailure::Connection), 0);
    script.now_ms = 1_000;
    assert_eq!(script.action(), Action::FindCoordinator);
    script.member.on_coordinator(1, 1_000);
    let (id, request) = script.heartbeat();
    assert_eq!(request.subscribed_topic_regex.as_deref(), Some(""));
    assert_eq!((request.rebalance_timeout_ms, owned(&request)), (300_000, Some(0)));
    script.answer(id, 1, None);
    script.now_ms = 6_000;
    let (_, request) = script.heartbeat();
    assert_eq!((request.subscribed_topic_regex, request.subscribed_topic_names), (None, None));
}

#[test]
fn what_is_to_be_given_up_is_kept_until_the_application_is_done() {
    let mut script = Script::settled();
    script.now_ms = 5_000;
    let (id, _) = script.heartbeat();
    script.now_ms = 5_100;
    script.answer(id, 1, Some(&[("t", 0)]));
    let revoked = partitions(&[("u", 0)]);
    // Counted from when the coordinator was asked.
    let revoke = Action::Revoke { partitions: revoked, deadline_ms: 305_000 };
    assert_eq!(script.action(), revoke);
    script.quiet();
    script.now_ms = 10_000;
    // It is not owned up to before.
    let (id, request) = script.heartbeat();
    assert_eq!(owned(&request), None);
    script.answer(id, 1, None);
    script.quiet();
    script.member.revoked(script.now_ms);
    script.expect_assign(&[], &[("t", 0)]);
    let (id, request) = script.heartbeat();
    assert_eq!((request.member_epoch, owned(&request)), (1, Some(1)));
    script.answer(id, 2, Some(&[("t", 0), ("t", 1)]));
    script.expect_assign(&[("t", 1)], &[("t", 0), ("t", 1)]);
    assert_eq!(owned(&script.heartbeat().1), Some(2));
}

#[test]
fn a_target_that_changes_during_a_revocation_is_taken_from_there() {
    let mut script = Script::settled();
    script.now_ms = 5_000;
    let (id, _) = script.heartbeat();
    script.answer(id, 1, Some(&[("t", 0), ("t", 1)]));
    assert!(matches!(script.action(), Action::Revoke { .. }));
    script.now_ms = 10_000;
    let (id, _) = script.heartbeat();
    script.answer(id, 1, Some(&[("t", 0), ("t", 2)]));
    script.quiet();
    script.member.revoked(script.now_ms);
    script.expect_assign(&[("t", 2)], &[("t", 0), ("t", 2)]);
}

/// The coordinator may keep the answer to a heartbeat back for a whole interval.
#[test]
fn a_subscription_that_changes_ends_a_heartbeat_that_is_held() {
    let mut script = Script::settled();
    script.now_ms = 5_000;
    let (id, _) = script.heartbeat();
    script.now_ms = 5_049;
    let wanted = |names: &[&str]| SubscribedTopics::Topics(topics(names));
    script.member.set_subscription(wanted(&["t", "v"]), script.now_ms);
    // It may still be on its way.
    script.quiet();
    assert_eq!(script.member.next_deadline(script.now_ms), Some(5_050));
    script.now_ms = 5_050;
    assert_eq!(script.action(), Action::EndHeldHeartbeat);
    script.quiet();
    script.answer(id, 1, None);
    let (id, request) = script.heartbeat();
    assert_eq!(request.subscribed_topic_names, Some(vec!["t".to_owned(), "v".to_owned()]));
    script.answer(id, 1, None);
    // With none in flight there is nothing to end.
    script.member.set_subscription(wanted(&["t"]), script.now_ms);
    script.heartbeat();
    script.now_ms = 6_000;
    script.quiet();
}

#[test]
fn topics_that_are_not_known_do_not_hold_up_the_others() {
    let mut script = Script::with(SubscribedTopics::Topics(topics(&["t", "u"])), None);
    script.know(&["t"]);
    let (id, _) = script.heartbeat();
    script.answer(id, 1, Some(&[("t", 0), ("u", 0)]));
    let refresh = Action::RefreshMetadata { topics: vec![], ids: vec![topic_id("u")] };
    assert_eq!(script.action(), refresh.clone());
    script.expect_assign(&[("t", 0)], &[("t", 0)]);
    assert_eq!(script.member.why(), GroupStatus::WaitingForMetadata { topics: 1 });
    let (id, request) = script.heartbeat();
    assert_eq!(owned(&request), Some(1));
    // Still not: it is asked for again, but with the heartbeats and not all the time.
    script.know(&["t"]);
    script.quiet();
    script.answer(id, 1, None);
    assert_eq!(script.action(), refresh);
    script.quiet();
    script.know(&["t", "u"]);
    script.expect_assign(&[("u", 0)], &[("t", 0), ("u", 0)]);
    assert_eq!(owned(&script.heartbeat().1), Some(2));
}

#[test]
fn a_fenced_member_loses_everything_and_joins_again() {
    for code in [ErrorCode::FENCED_MEMBER_EPOCH, ErrorCode::UNKNOWN_MEMBER_ID] {
        let mut script = Script::settled();
        script.now_ms = 5_000;
        let (id, _) = script.heartbeat();
        script.refuse(id, code);
        assert_eq!(script.member.identity(), None);
        let lost = partitions(&[("t", 0), ("u", 0)]);
        assert_eq!(script.action(), Action::Lost { partitions: lost });
        let (id, request) = script.heartbeat();
        assert_eq!((request.member_epoch, owned(&request)), (0, Some(0)));
        assert!(request.subscribed_topic_names.is_some());
        // The second time in a row it waits.
        script.refuse(id, code);
        script.quiet();
        assert!(script.member.next_deadline(script.now_ms).unwrap() > script.now_ms);
    }
}

#[test]
fn a_commit_that_is_refused_makes_the_member_join_at_once() {
    let mut script = Script::settled();
    let identity = script.member.identity().unwrap();
    let of = (&*identity.member_id, identity.generation_or_epoch);
    let api = thalweg_wire::ApiKey::OFFSET_COMMIT;
    script.member.on_refused(api, ErrorCode::UNKNOWN_MEMBER_ID, (of.0, of.1 - 1), 0);
    // The next heartbeat knows the epoch by then.
    script.member.on_refused(api, ErrorCode::STALE_MEMBER_EPOCH, of, 0);
    script.quiet();
    script.member.on_refused(api, ErrorCode::UNKNOWN_MEMBER_ID, of, 0);
    let lost = partitions(&[("t", 0), ("u", 0)]);
    assert_eq!(script.action(), Action::Lost { partitions: lost });
    assert_eq!(script.heartbeat().1.member_epoch, 0);
}

#[test]
fn errors_that_nothing_cures_end_the_membership() {
    for code in [
        ErrorCode::UNRELEASED_INSTANCE_ID,
        ErrorCode::FENCED_INSTANCE_ID,
        ErrorCode::UNSUPPORTED_ASSIGNOR,
        ErrorCode::INVALID_REGULAR_EXPRESSION,
        ErrorCode::GROUP_AUTHORIZATION_FAILED,
        ErrorCode::GROUP_MAX_SIZE_REACHED,
        ErrorCode::UNSUPPORTED_VERSION,
    ] {
        let mut script = Script::settled();
        script.now_ms = 5_000;
        let (id, _) = script.heartbeat();
        script.refuse(id, code);
        assert!(matches!(script.action(), Action::Lost { .. }), "{code:?}");
        assert!(matches!(script.action(), Action::Fatal(GroupError::Broker { .. })), "{code:?}");
        script.quiet();
        assert!(script.member.is_done());
    }
}

#[test]
fn a_missing_permission_is_reported_and_survived() {
    let mut script = Script::settled();
    script.now_ms = 5_000;
    let (id, _) = script.heartbeat();
    script.refuse(id, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    assert!(matches!(script.action(), Action::Warn(_)));
    script.now_ms = 6_000;
    let (_, request) = script.heartbeat();
    assert_eq!((request.member_epoch, owned(&request)), (1, Some(2)));
}

#[test]
fn a_member_that_leaves_hands_over_first() {
    for (instance_id, epoch) in [(None, -1), (Some("i".to_owned()), -2)] {
        let mut script = Script::with(SubscribedTopics::Topics(topics(&["t"])), instance_id);
        script.know(&["t"]);
        let (id, _) = script.heartbeat();
        script.answer(id, 1, Some(&[("t", 0)]));
        script.expect_assign(&[("t", 0)], &[("t", 0)]);
        script.member.leave(OnLeave::Default, 0);
        assert!(matches!(script.action(), Action::Revoke { .. }));
        script.member.revoked(0);
        let (id, request) = script.heartbeat();
        assert_eq!((request.member_epoch, request.topic_partitions), (epoch, None));
        script.refuse(id, ErrorCode::GROUP_ID_NOT_FOUND);
        assert_eq!(script.member.why(), GroupStatus::Left);
    }
}

#[test]
fn an_application_that_does_not_poll_loses_its_partitions_until_it_does() {
    let mut script = Script::settled();
    script.now_ms = 300_001;
    let lost = partitions(&[("t", 0), ("u", 0)]);
    assert_eq!(script.action(), Action::Lost { partitions: lost });
    assert_eq!(script.heartbeat().1.member_epoch, -1);
    script.quiet();
    assert_eq!(script.member.why(), GroupStatus::PollIntervalExceeded);
    script.member.polled(script.now_ms);
    assert_eq!(script.heartbeat().1.member_epoch, 0);
}
