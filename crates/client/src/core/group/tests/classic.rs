//! A classic member and a coordinator whose answers are given by hand.

use bytes::Bytes;
use thalweg_wire::messages::join_group_response::JoinGroupResponseMember;
use thalweg_wire::messages::{
    HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, LeaveGroupResponse, SyncGroupRequest,
    SyncGroupResponse,
};
use thalweg_wire::{ApiKey, ErrorCode};

use super::super::protocol::{MemberSubscription, decode_assignment, encode_assignment};
use super::super::{
    Action, Assignor, GroupError, GroupProtocol, GroupRequest, GroupResponse, GroupSettings,
    GroupStatus, Member, OnLeave, RequestFailure, RequestId, SubscribedTopics,
};
use super::*;

/// A member with the moment it lives in.
struct Script {
    member: Member,
    now_ms: u64,
}

impl Script {
    fn with(settings: GroupSettings) -> Script {
        let subscription = SubscribedTopics::Topics(topics(&["t"]));
        let mut member = Member::new(settings, subscription, [7; 16], 0);
        assert_eq!(member.next(0), Some(Action::FindCoordinator));
        assert_eq!(member.why(), GroupStatus::WaitingForCoordinator);
        member.on_coordinator(1, 0);
        Script { member, now_ms: 0 }
    }

    fn new(assignor: Assignor) -> Script {
        Script::with(settings(assignor))
    }

    fn action(&mut self) -> Action {
        self.member.next(self.now_ms).expect("an action")
    }

    fn quiet(&mut self) {
        assert_eq!(self.member.next(self.now_ms), None);
    }

    fn request(&mut self) -> (RequestId, GroupRequest) {
        expect_request(&mut self.member, self.now_ms)
    }

    fn expect_join(&mut self) -> (RequestId, JoinGroupRequest) {
        match self.request() {
            (id, GroupRequest::Join(request)) => (id, request),
            other => panic!("not JoinGroup: {other:?}"),
        }
    }

    fn expect_sync(&mut self) -> (RequestId, SyncGroupRequest) {
        match self.request() {
            (id, GroupRequest::Sync(request)) => (id, request),
            other => panic!("not SyncGroup: {other:?}"),
        }
    }

    fn answer(&mut self, id: RequestId, response: GroupResponse) {
        self.member.on_response(id, Ok(response), self.now_ms);
    }

    fn join_error(&mut self, id: RequestId, error_code: ErrorCode) {
        let member_id = "given".to_owned();
        let response = JoinGroupResponse { error_code, member_id, ..Default::default() };
        self.answer(id, GroupResponse::Join(response));
    }

    /// A whole round, led by another member.
    fn round(&mut self, generation_id: i32, assignor: Assignor, assigned: &[(&str, i32)]) {
        let (id, _) = self.expect_join();
        self.answer(id, GroupResponse::Join(joined(generation_id, assignor)));
        let (id, request) = self.expect_sync();
        assert_eq!(request.generation_id, generation_id);
        self.synced(id, assigned);
    }

    fn synced(&mut self, id: RequestId, assigned: &[(&str, i32)]) {
        let assignment = encode_assignment(&partitions(assigned)).unwrap();
        let response = SyncGroupResponse { assignment, ..Default::default() };
        self.answer(id, GroupResponse::Sync(response));
    }

    /// The next heartbeat, answered.
    fn heartbeat(&mut self, error_code: ErrorCode) {
        self.now_ms += 3_000;
        let (id, request) = self.request();
        assert!(matches!(request, GroupRequest::Heartbeat(_)), "{request:?}");
        let response = HeartbeatResponse { error_code, ..Default::default() };
        self.answer(id, GroupResponse::Heartbeat(response));
    }

    fn expect_assign(&mut self, added: &[(&str, i32)], all: &[(&str, i32)]) {
        let (added, all) = (partitions(added), partitions(all));
        assert_eq!(self.action(), Action::Assign { added, all });
    }

    fn expect_revoke(&mut self, expected: &[(&str, i32)]) -> u64 {
        match self.action() {
            Action::Revoke { partitions: going, deadline_ms } => {
                assert_eq!(going, partitions(expected));
                deadline_ms
            }
            other => panic!("not a revocation: {other:?}"),
        }
    }

    fn expect_lost(&mut self, expected: &[(&str, i32)]) {
        assert_eq!(self.action(), Action::Lost { partitions: partitions(expected) });
    }
}

fn settings(assignor: Assignor) -> GroupSettings {
    let protocol = GroupProtocol::Classic { assignors: vec![assignor] };
    GroupSettings { protocol, ..GroupSettings::new("g") }
}

fn joined(generation_id: i32, assignor: Assignor) -> JoinGroupResponse {
    JoinGroupResponse {
        generation_id,
        protocol_type: Some("consumer".into()),
        protocol_name: Some(assignor.name().into()),
        leader: "another".into(),
        member_id: "me".into(),
        ..JoinGroupResponse::default()
    }
}

#[test]
fn a_new_member_comes_back_with_the_id_it_was_given() {
    let mut script = Script::new(Assignor::Range);
    let (id, request) = script.expect_join();
    assert_eq!((request.member_id.as_str(), request.rebalance_timeout_ms), ("", 300_000));
    script.join_error(id, ErrorCode::MEMBER_ID_REQUIRED);
    let (id, request) = script.expect_join();
    assert_eq!(request.member_id, "given");
    script.quiet();
    assert_eq!(script.member.why(), GroupStatus::Joining);
    script.answer(id, GroupResponse::Join(joined(1, Assignor::Range)));
    let (id, _) = script.expect_sync();
    assert_eq!(script.member.why(), GroupStatus::Syncing);
    script.synced(id, &[("t", 0), ("t", 1)]);
    script.expect_assign(&[("t", 0), ("t", 1)], &[("t", 0), ("t", 1)]);
    script.quiet();
    assert_eq!(script.member.why(), GroupStatus::Stable { partitions: 2 });
    assert_eq!((script.member.generation(), script.member.member_id()), (1, "me"));
    assert_eq!(script.member.next_deadline(0), Some(3_000));
}

#[test]
fn an_eager_member_hands_everything_over_before_it_joins() {
    let mut script = Script::new(Assignor::Sticky);
    script.round(1, Assignor::Sticky, &[("t", 0), ("t", 1)]);
    script.expect_assign(&[("t", 0), ("t", 1)], &[("t", 0), ("t", 1)]);
    script.heartbeat(ErrorCode::NONE);
    script.heartbeat(ErrorCode::REBALANCE_IN_PROGRESS);
    // The rebalance began after the heartbeat at 3 000 at the earliest.
    assert_eq!(script.expect_revoke(&[("t", 0), ("t", 1)]), 303_000);
    script.quiet();
    let why = script.member.why();
    assert_eq!(why, GroupStatus::Revoking { partitions: 2, deadline_ms: 303_000 });
    // What was acknowledged can be committed in the old generation meanwhile.
    assert_eq!(script.member.identity().unwrap().generation_or_epoch, 1);
    script.heartbeat(ErrorCode::REBALANCE_IN_PROGRESS);
    script.quiet();
    script.member.revoked(script.now_ms);
    let (_, request) = script.expect_join();
    let sent = MemberSubscription::decode(&request.protocols[0].metadata).unwrap();
    assert_eq!((sent.owned.len(), sent.generation), (0, 1));
    // Sticky remembers all the same, in its own data: one topic, two partitions, generation 1.
    let data = b"\0\0\0\x01\0\x01t\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\x01";
    assert_eq!(sent.user_data, Some(Bytes::from_static(data)));
}

#[test]
fn a_cooperative_member_gives_up_only_what_moves_and_joins_again() {
    let cooperative = Assignor::CooperativeSticky;
    let mut script = Script::new(cooperative);
    script.round(1, cooperative, &[("t", 0), ("t", 1)]);
    script.expect_assign(&[("t", 0), ("t", 1)], &[("t", 0), ("t", 1)]);
    script.heartbeat(ErrorCode::REBALANCE_IN_PROGRESS);
    // Nothing is given up for joining.
    let (id, request) = script.expect_join();
    let sent = MemberSubscription::decode(&request.protocols[0].metadata).unwrap();
    assert_eq!((sent.owned, sent.generation), (partitions(&[("t", 0), ("t", 1)]), 1));
    script.answer(id, GroupResponse::Join(joined(2, cooperative)));
    let (id, _) = script.expect_sync();
    script.synced(id, &[("t", 0), ("t", 2)]);
    script.expect_revoke(&[("t", 1)]);
    script.expect_assign(&[("t", 2)], &[("t", 0), ("t", 2)]);
    script.quiet();
    script.heartbeat(ErrorCode::NONE);
    script.member.revoked(script.now_ms);
    let (_, request) = script.expect_join();
    let sent = MemberSubscription::decode(&request.protocols[0].metadata).unwrap();
    assert_eq!((sent.owned, sent.generation), (partitions(&[("t", 0), ("t", 2)]), 2));
}

#[test]
fn what_is_not_given_up_in_time_is_lost() {
    let mut script = Script::new(Assignor::Range);
    script.round(1, Assignor::Range, &[("t", 0)]);
    script.expect_assign(&[("t", 0)], &[("t", 0)]);
    script.heartbeat(ErrorCode::REBALANCE_IN_PROGRESS);
    let deadline_ms = script.expect_revoke(&[("t", 0)]);
    script.now_ms = deadline_ms;
    script.member.polled(deadline_ms);
    script.expect_lost(&[("t", 0)]);
    let warning = GroupError::RevocationTimeout { partitions: 1 };
    assert_eq!(script.action(), Action::Warn(warning));
    // Too late to matter.
    script.member.revoked(script.now_ms);
}

#[test]
fn a_member_that_the_group_forgot_loses_everything_and_starts_over() {
    for (code, id) in [(ErrorCode::UNKNOWN_MEMBER_ID, ""), (ErrorCode::ILLEGAL_GENERATION, "me")] {
        let mut script = Script::new(Assignor::CooperativeSticky);
        script.round(1, Assignor::CooperativeSticky, &[("t", 0)]);
        script.expect_assign(&[("t", 0)], &[("t", 0)]);
        script.heartbeat(code);
        assert_eq!(script.member.identity(), None, "nothing may be committed any more");
        script.expect_lost(&[("t", 0)]);
        let (_, request) = script.expect_join();
        assert_eq!(request.member_id, id);
        let sent = MemberSubscription::decode(&request.protocols[0].metadata).unwrap();
        assert_eq!((sent.owned.len(), sent.generation), (0, -1));
    }
}

#[test]
fn a_commit_that_is_refused_makes_the_member_join_at_once() {
    let settled = || {
        let mut script = Script::new(Assignor::CooperativeSticky);
        script.round(1, Assignor::CooperativeSticky, &[("t", 0)]);
        script.expect_assign(&[("t", 0)], &[("t", 0)]);
        script.quiet();
        let identity = script.member.identity().unwrap();
        (script, identity)
    };
    let api = ApiKey::OFFSET_COMMIT;
    let refuse = |script: &mut Script, code, (id, generation): (&str, i32)| {
        script.member.on_refused(api, code, (id, generation), script.now_ms);
    };
    let (mut script, identity) = settled();
    let of = (&*identity.member_id, identity.generation_or_epoch);
    // What was said to another member, or of another generation.
    refuse(&mut script, ErrorCode::UNKNOWN_MEMBER_ID, ("other", of.1));
    refuse(&mut script, ErrorCode::UNKNOWN_MEMBER_ID, (of.0, of.1 - 1));
    script.quiet();
    refuse(&mut script, ErrorCode::UNKNOWN_MEMBER_ID, of);
    assert_eq!(script.member.identity(), None, "nothing may be committed any more");
    script.expect_lost(&[("t", 0)]);
    assert_eq!(script.expect_join().1.member_id, "");
    let error = GroupError::Broker { api, code: ErrorCode::UNKNOWN_MEMBER_ID, message: None };
    assert_eq!(script.member.last_error(), Some(&error));
    // Of the generation a heartbeat decides, which does not wait.
    let (mut script, _) = settled();
    refuse(&mut script, ErrorCode::ILLEGAL_GENERATION, of);
    assert!(matches!(script.request().1, GroupRequest::Heartbeat(_)));
    let (mut script, _) = settled();
    refuse(&mut script, ErrorCode::FENCED_INSTANCE_ID, of);
    script.expect_lost(&[("t", 0)]);
    assert!(matches!(script.action(), Action::Fatal(GroupError::Broker { .. })));
}

#[test]
fn a_revocation_ends_when_the_group_forgets_the_member() {
    let mut script = Script::new(Assignor::Range);
    script.round(1, Assignor::Range, &[("t", 0)]);
    script.expect_assign(&[("t", 0)], &[("t", 0)]);
    script.heartbeat(ErrorCode::REBALANCE_IN_PROGRESS);
    script.expect_revoke(&[("t", 0)]);
    script.heartbeat(ErrorCode::UNKNOWN_MEMBER_ID);
    script.expect_lost(&[("t", 0)]);
    script.expect_join();
}

#[test]
fn errors_that_nothing_cures_end_the_membership() {
    for code in [
        ErrorCode::GROUP_MAX_SIZE_REACHED,
        ErrorCode::INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode::INVALID_SESSION_TIMEOUT,
        ErrorCode::GROUP_AUTHORIZATION_FAILED,
        ErrorCode::FENCED_INSTANCE_ID,
    ] {
        let mut script = Script::new(Assignor::Range);
        let (id, _) = script.expect_join();
        script.join_error(id, code);
        assert!(matches!(script.action(), Action::Fatal(GroupError::Broker { .. })), "{code:?}");
        script.quiet();
        assert!(script.member.is_done());
        assert_eq!(script.member.next_deadline(0), None);
    }
}

#[test]
fn what_another_try_cures_is_tried_later_and_later() {
    let mut script = Script::new(Assignor::Range);
    let mut pauses = Vec::new();
    for _ in 0..6 {
        let (id, _) = script.expect_join();
        script.join_error(id, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        script.quiet();
        let next_ms = script.member.next_deadline(script.now_ms).unwrap();
        pauses.push(next_ms - script.now_ms);
        script.now_ms = next_ms;
    }
    for (pause, expected) in pauses.iter().zip([100, 200, 400, 800, 1_000, 1_000]) {
        assert!((expected * 4 / 5..=expected * 6 / 5).contains(pause), "{pauses:?}");
    }
    assert!(script.member.last_error().is_some());
}

#[test]
fn a_coordinator_that_moved_or_vanished_is_looked_up_again() {
    let mut script = Script::new(Assignor::Range);
    let (id, _) = script.expect_join();
    script.join_error(id, ErrorCode::NOT_COORDINATOR);
    script.quiet();
    script.now_ms = 200;
    assert_eq!(script.action(), Action::FindCoordinator);
    script.quiet();
    script.member.on_coordinator_error(None, 200);
    script.now_ms = 1_000;
    assert_eq!(script.action(), Action::FindCoordinator);
    script.member.on_coordinator(2, 1_000);
    let (id, _) = script.expect_join();
    script.member.on_response(id, Err(RequestFailure::Connection), 1_000);
    script.now_ms = 3_000;
    assert_eq!(script.action(), Action::FindCoordinator);
}

#[test]
fn the_leader_assigns_once_it_knows_the_topics_and_joins_again_when_they_change() {
    let mut script = Script::new(Assignor::Range);
    let (id, request) = script.expect_join();
    let mine = request.protocols[0].metadata.clone();
    let other = MemberSubscription { topics: vec!["u".into()], ..MemberSubscription::default() };
    let member = |member_id: &str, metadata| JoinGroupResponseMember {
        member_id: member_id.into(),
        metadata,
        ..JoinGroupResponseMember::default()
    };
    let response = JoinGroupResponse {
        leader: "me".into(),
        members: vec![
            member("me", mine),
            member("other", other.encode().unwrap()),
            member("broken", Bytes::from_static(b"\0\x03\x7f")),
        ],
        ..joined(1, Assignor::Range)
    };
    script.answer(id, GroupResponse::Join(response));
    // One whose subscription cannot be read gets nothing, and that is said.
    let warned = script.action();
    assert!(matches!(&warned, Action::Warn(GroupError::MalformedSubscription { member, .. })
        if member == "broken"));
    let topics: Vec<_> = topics(&["t", "u"]).into_iter().collect();
    assert_eq!(script.action(), Action::RefreshMetadata { topics, ids: vec![] });
    script.quiet();
    assert_eq!(script.member.why(), GroupStatus::WaitingForMetadata { topics: 2 });
    let mut counts: BTreeMap<Arc<str>, i32> = [("t".into(), 1), ("u".into(), 2)].into();
    script.member.update_metadata(&metadata(&counts), 0);
    let (id, request) = script.expect_sync();
    let assigned: Vec<(String, usize)> = request
        .assignments
        .iter()
        .map(|a| (a.member_id.clone(), decode_assignment(&a.assignment).unwrap().len()))
        .collect();
    assert_eq!(assigned, [("broken".into(), 0), ("me".into(), 1), ("other".into(), 2)]);
    script.synced(id, &[("t", 0)]);
    script.expect_assign(&[("t", 0)], &[("t", 0)]);
    // The same again is no news, a topic of another member is.
    script.member.update_metadata(&metadata(&counts), 0);
    script.quiet();
    counts.insert("u".into(), 3);
    script.member.update_metadata(&metadata(&counts), 0);
    script.expect_revoke(&[("t", 0)]);
}

#[test]
fn an_assignment_that_cannot_be_read_or_does_not_fit_is_asked_for_again() {
    let mut script = Script::new(Assignor::Range);
    let (id, _) = script.expect_join();
    script.answer(id, GroupResponse::Join(joined(1, Assignor::Range)));
    let (id, _) = script.expect_sync();
    let assignment = Bytes::from_static(b"\0\x01\0\0\0\x09t");
    let response = SyncGroupResponse { assignment, ..Default::default() };
    script.answer(id, GroupResponse::Sync(response));
    assert!(matches!(script.action(), Action::Warn(GroupError::MalformedAssignment(_))));
    script.now_ms = 500;
    // A topic that it does not subscribe to.
    script.round(2, Assignor::Range, &[("u", 0)]);
    script.round(3, Assignor::Range, &[]);
    script.expect_assign(&[], &[]);
}

#[test]
fn an_application_that_does_not_poll_loses_its_partitions_until_it_does() {
    for instance_id in [None, Some("i".to_owned())] {
        let is_static = instance_id.is_some();
        let settings = GroupSettings { instance_id, ..settings(Assignor::Range) };
        let mut script = Script::with(settings);
        script.round(1, Assignor::Range, &[("t", 0)]);
        script.expect_assign(&[("t", 0)], &[("t", 0)]);
        while script.now_ms < 300_000 {
            script.heartbeat(ErrorCode::NONE);
        }
        script.now_ms = 300_001;
        script.expect_lost(&[("t", 0)]);
        if !is_static {
            assert!(matches!(script.request().1, GroupRequest::Leave(_)));
        }
        script.quiet();
        assert_eq!(script.member.why(), GroupStatus::PollIntervalExceeded);
        assert_eq!(script.member.next_deadline(script.now_ms), None);
        script.member.polled(script.now_ms);
        let (_, request) = script.expect_join();
        assert_eq!(request.member_id, "");
    }
}

/// Found by seed 2245990811 of the simulation.
#[test]
fn what_is_lost_before_its_revocation_was_told_is_lost_before_the_assignment_without_it() {
    let cooperative = Assignor::CooperativeSticky;
    let mut script = Script::new(cooperative);
    script.round(1, cooperative, &[("t", 0), ("t", 1)]);
    script.expect_assign(&[("t", 0), ("t", 1)], &[("t", 0), ("t", 1)]);
    while script.now_ms < 297_000 {
        script.heartbeat(ErrorCode::NONE);
    }
    script.heartbeat(ErrorCode::REBALANCE_IN_PROGRESS);
    let (id, _) = script.expect_join();
    script.answer(id, GroupResponse::Join(joined(2, cooperative)));
    let (id, _) = script.expect_sync();
    // The application has not polled for too long when the answer is there.
    script.now_ms = 300_001;
    script.synced(id, &[("t", 0), ("t", 2)]);
    script.expect_lost(&[("t", 1)]);
    script.expect_assign(&[("t", 2)], &[("t", 0), ("t", 2)]);
    script.expect_lost(&[("t", 0), ("t", 2)]);
    assert!(matches!(script.request().1, GroupRequest::Leave(_)));
    script.quiet();
}

#[test]
fn a_member_that_leaves_hands_over_first() {
    let mut script = Script::new(Assignor::CooperativeSticky);
    script.round(1, Assignor::CooperativeSticky, &[("t", 0)]);
    script.expect_assign(&[("t", 0)], &[("t", 0)]);
    script.member.leave(OnLeave::Default, script.now_ms);
    assert_eq!(script.expect_revoke(&[("t", 0)]), 300_000);
    script.quiet();
    script.member.revoked(script.now_ms);
    let (id, request) = script.request();
    let GroupRequest::Leave(request) = request else { panic!("{request:?}") };
    assert_eq!(request.members[0].member_id, "me");
    assert_eq!(script.member.identity(), None);
    script.answer(id, GroupResponse::Leave(LeaveGroupResponse::default()));
    assert_eq!(script.member.why(), GroupStatus::Left);
    script.quiet();
}

#[test]
fn a_static_member_leaves_without_a_word() {
    let settings = GroupSettings { instance_id: Some("i".into()), ..settings(Assignor::Range) };
    let mut script = Script::with(settings);
    script.round(1, Assignor::Range, &[]);
    script.expect_assign(&[], &[]);
    script.member.leave(OnLeave::Default, script.now_ms);
    script.quiet();
    assert_eq!(script.member.why(), GroupStatus::Left);
}

#[test]
fn a_static_leader_that_returns_does_not_assign_again() {
    let settings = GroupSettings { instance_id: Some("i".into()), ..settings(Assignor::Range) };
    let mut script = Script::with(settings);
    let counts: BTreeMap<Arc<str>, i32> = [("t".into(), 1)].into();
    script.member.update_metadata(&metadata(&counts), 0);
    let (id, _) = script.expect_join();
    let response = JoinGroupResponse {
        leader: "me".into(),
        skip_assignment: true,
        ..joined(5, Assignor::Range)
    };
    script.answer(id, GroupResponse::Join(response));
    let (id, request) = script.expect_sync();
    assert_eq!(request.assignments, []);
    script.synced(id, &[("t", 0)]);
    script.expect_assign(&[("t", 0)], &[("t", 0)]);
    // It looks after the topics all the same.
    let counts = [("t".into(), 2)].into();
    script.member.update_metadata(&metadata(&counts), 0);
    script.expect_revoke(&[("t", 0)]);
}

#[test]
fn a_pattern_waits_for_its_topics_and_follows_the_leader_to_new_ones() {
    let settings = settings(Assignor::Range);
    let mut member = Member::new(settings, SubscribedTopics::Pattern("t.*".into()), [7; 16], 0);
    assert_eq!(member.next(0), Some(Action::FindCoordinator));
    member.on_coordinator(1, 0);
    assert_eq!(member.next(0), None);
    assert_eq!(member.why(), GroupStatus::WaitingForTopics);
    member.set_topics(topics(&["t"]), 0);
    let mut script = Script { member, now_ms: 0 };
    script.round(1, Assignor::Range, &[("t", 0), ("t2", 0)]);
    script.expect_assign(&[("t", 0), ("t2", 0)], &[("t", 0), ("t2", 0)]);
    // The driver finds out what the leader knew already.
    script.member.set_topics(topics(&["t", "t2"]), 0);
    script.quiet();
}

#[test]
fn a_heartbeat_that_is_answered_ends_the_last_error() {
    let mut script = Script::new(Assignor::Range);
    script.round(1, Assignor::Range, &[("t", 0)]);
    script.expect_assign(&[("t", 0)], &[("t", 0)]);
    for answer in [ErrorCode::NONE, ErrorCode::REBALANCE_IN_PROGRESS] {
        script.now_ms += 3_000;
        let (id, _) = script.request();
        script.member.on_response(id, Err(RequestFailure::Connection), script.now_ms);
        let error = GroupError::Connection { api: ApiKey::HEARTBEAT };
        assert_eq!(script.member.last_error(), Some(&error));
        script.now_ms += 3_000;
        assert_eq!(script.action(), Action::FindCoordinator);
        script.member.on_coordinator_error(None, script.now_ms);
        script.now_ms += 3_000;
        assert_eq!(script.action(), Action::FindCoordinator);
        let error = GroupError::Connection { api: ApiKey::FIND_COORDINATOR };
        assert_eq!(script.member.last_error(), Some(&error));
        script.member.on_coordinator(1, script.now_ms);
        assert_eq!(script.member.last_error(), None, "it is found");
        script.heartbeat(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        assert!(script.member.last_error().is_some());
        script.heartbeat(answer);
        assert_eq!(script.member.last_error(), None, "{answer:?}");
    }
}
