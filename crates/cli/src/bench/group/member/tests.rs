//! Scripts: what a member is told, and what it then sends and notes.

use bytes::Bytes;
use thalweg_wire::{ErrorCode, Uuid};

use super::super::protocol;
use super::*;

const SECOND: Micros = 1_000_000;

/// A member under test, its clock, and what it wanted since the last look.
struct Script {
    spec: GroupSpec,
    member: Member,
    fx: Effects,
    now: Micros,
}

impl Script {
    fn new(protocol: Protocol, instance: Option<&str>, commit: Option<Micros>) -> Script {
        Script::with(protocol, Clients::Java, instance, commit)
    }

    fn of(clients: Clients) -> Script {
        Script::with(Protocol::Consumer(None), clients, None, None)
    }

    fn with(
        protocol: Protocol,
        clients: Clients,
        instance: Option<&str>,
        commit: Option<Micros>,
    ) -> Script {
        let spec = GroupSpec {
            group: "g".into(),
            topic: "t".into(),
            topic_id: Uuid::ONE,
            partitions: 10,
            protocol,
            clients,
            heartbeat: 3 * SECOND,
            session_ms: 45_000,
            rebalance_ms: 300_000,
            commit,
        };
        let id = Uuid::from_random([7; 16]).unwrap();
        let member = Member::new(&spec, 0, id, instance.map(str::to_owned), 5 * SECOND);
        let mut script = Script { spec, member, fx: Effects::default(), now: 0 };
        script.member.connected(0, &script.spec, &mut script.fx);
        script
    }

    fn classic(assignor: Assignor) -> Script {
        Script::new(Protocol::Classic(assignor), None, None)
    }

    fn consumer() -> Script {
        Script::new(Protocol::Consumer(None), None, None)
    }

    fn answer(&mut self, answer: Answer) {
        let epoch = self.member.core().epoch;
        self.answer_of(epoch, answer);
    }

    fn answer_of(&mut self, epoch: i32, answer: Answer) {
        self.member.answered(answer, epoch, self.now, &self.spec, &mut self.fx);
    }

    fn wait(&mut self, time: Micros) {
        self.now += time;
        self.member.tick(self.now, &self.spec, &mut self.fx);
    }

    fn took(&mut self) -> (Vec<Request>, Vec<Note>) {
        (std::mem::take(&mut self.fx.requests), std::mem::take(&mut self.fx.notes))
    }

    #[track_caller]
    fn sends(&mut self, requests: &[Request]) {
        let (sent, _) = self.took();
        assert_eq!(sent, requests);
    }

    #[track_caller]
    fn does(&mut self, requests: &[Request], notes: &[Note]) {
        assert_eq!(self.took(), (requests.to_vec(), notes.to_vec()));
    }

    fn joined(&mut self, generation: i32, leader: &str) {
        self.answer(Answer::Join(JoinAnswer {
            generation,
            member_id: "me".into(),
            leader: leader.into(),
            ..JoinAnswer::default()
        }));
    }

    fn synced(&mut self, partitions: &[i32]) {
        let assignment = protocol::assignment("t", partitions).unwrap();
        self.answer(Answer::Sync { code: ErrorCode::NONE, assignment });
    }

    /// A member with these partitions in generation 1, about which nothing is to be said.
    fn settled(mut self, partitions: &[i32]) -> Script {
        self.joined(1, "other");
        self.synced(partitions);
        self.took();
        self
    }

    fn heard(&mut self, epoch: i32, assignment: Option<&[i32]>) {
        self.answer(Answer::ConsumerHeartbeat(HeartbeatAnswer {
            epoch,
            interval: 5 * SECOND,
            assignment: assignment.map(<[i32]>::to_vec),
            ..HeartbeatAnswer::default()
        }));
    }
}

fn beat(say: Say) -> Request {
    Request::ConsumerHeartbeat(say)
}

#[test]
fn a_classic_member_joins_in_two_rounds() {
    let mut script = Script::classic(Assignor::Range);
    script.does(&[Request::Join], &[]);
    script.answer(Answer::Join(JoinAnswer {
        code: ErrorCode::MEMBER_ID_REQUIRED,
        member_id: "me".into(),
        ..JoinAnswer::default()
    }));
    script.does(&[Request::Join], &[]);
    assert_eq!(script.member.core().id, "me");
    script.joined(1, "other");
    script.does(&[Request::Sync(Vec::new())], &[]);
    script.synced(&[4, 5]);
    script.does(&[], &[Note::Acquired(4), Note::Acquired(5), Note::Settled]);
}

#[test]
fn the_leader_assigns_for_everybody_unless_it_is_to_skip_that() {
    let subscription = protocol::subscription(Assignor::Range, "t", &[], -1).unwrap();
    let members = vec![
        ("me".to_owned(), None, subscription.clone()),
        ("other".to_owned(), None, subscription),
    ];
    let answer = |skip_assignment| {
        Answer::Join(JoinAnswer {
            generation: 1,
            member_id: "me".into(),
            leader: "me".into(),
            skip_assignment,
            members: members.clone(),
            ..JoinAnswer::default()
        })
    };
    let mut script = Script::classic(Assignor::Range);
    script.took();
    script.answer(answer(false));
    script.sends(&[Request::Sync(vec![
        ("me".into(), vec![0, 1, 2, 3, 4]),
        ("other".into(), vec![5, 6, 7, 8, 9]),
    ])]);
    let mut script = Script::classic(Assignor::Range);
    script.took();
    script.answer(answer(true));
    script.sends(&[Request::Sync(Vec::new())]);
}

#[test]
fn an_eager_member_gives_up_everything_when_it_is_told() {
    let mut script = Script::classic(Assignor::Range).settled(&[1, 2]);
    script.answer(Answer::Heartbeat(ErrorCode::REBALANCE_IN_PROGRESS));
    let notes = [Note::Told, Note::Released(1), Note::Released(2), Note::Rejoins];
    script.does(&[Request::Join], &notes);
    // A second answer of that kind is none of its business while it joins.
    script.answer(Answer::Heartbeat(ErrorCode::REBALANCE_IN_PROGRESS));
    script.does(&[], &[]);
}

#[test]
fn a_cooperative_member_keeps_what_it_has_and_joins_again_after_a_revocation() {
    let mut script = Script::classic(Assignor::CooperativeSticky).settled(&[1, 2]);
    script.answer(Answer::Heartbeat(ErrorCode::REBALANCE_IN_PROGRESS));
    script.does(&[Request::Join], &[Note::Told, Note::Rejoins]);
    script.joined(2, "other");
    script.sends(&[Request::Sync(Vec::new())]);
    script.synced(&[2, 3]);
    let notes = [Note::Released(1), Note::Acquired(3), Note::Told, Note::Rejoins];
    script.does(&[Request::Join], &notes);
    script.joined(3, "other");
    script.sends(&[Request::Sync(Vec::new())]);
    script.synced(&[2, 3]);
    script.does(&[], &[Note::Settled]);
}

/// As the Java client's heartbeat thread: the timer starts with the sending, and nothing is awaited.
#[test]
fn classic_heartbeats_go_out_by_the_clock_also_behind_one_that_is_held() {
    let mut script = Script::classic(Assignor::Range).settled(&[1]);
    assert_eq!(script.member.next_due(), Some(3 * SECOND));
    script.wait(3 * SECOND - 1);
    script.sends(&[]);
    script.wait(1);
    script.sends(&[Request::Heartbeat]);
    script.wait(3 * SECOND);
    script.sends(&[Request::Heartbeat]);
    assert_eq!(script.member.next_due(), Some(9 * SECOND));
}

#[test]
fn heartbeats_begin_before_the_assignment_and_an_old_answer_changes_nothing() {
    let mut script = Script::classic(Assignor::Range);
    script.joined(1, "other");
    script.took();
    script.wait(3 * SECOND);
    script.sends(&[Request::Heartbeat]);
    // It is syncing, and will hear of the rebalance from that.
    script.answer(Answer::Heartbeat(ErrorCode::REBALANCE_IN_PROGRESS));
    script.does(&[], &[]);
    script.synced(&[1]);
    script.took();
    script.answer_of(0, Answer::Heartbeat(ErrorCode::ILLEGAL_GENERATION));
    script.does(&[], &[]);
}

#[test]
fn a_member_that_is_not_known_any_more_has_lost_everything() {
    for (code, id) in [(ErrorCode::UNKNOWN_MEMBER_ID, ""), (ErrorCode::ILLEGAL_GENERATION, "me")] {
        let mut script = Script::classic(Assignor::CooperativeSticky).settled(&[1]);
        script.answer(Answer::Heartbeat(code));
        let refused = Note::Refused(Api::Heartbeat, code);
        script.does(&[Request::Join], &[refused, Note::Told, Note::Released(1), Note::Rejoins]);
        assert_eq!((script.member.core().id.as_str(), script.member.core().epoch), (id, -1));
    }
}

#[test]
fn a_coordinator_that_is_not_ready_is_asked_again_later() {
    let mut script = Script::classic(Assignor::Range);
    script.took();
    let code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
    script.answer(Answer::Join(JoinAnswer { code, ..JoinAnswer::default() }));
    script.does(&[], &[Note::Refused(Api::Join, code)]);
    assert_eq!(script.member.next_due(), Some(RETRY_BACKOFF));
    script.wait(RETRY_BACKOFF);
    script.sends(&[Request::Join]);

    let mut script = Script::consumer();
    script.heard(1, Some(&[1]));
    script.took();
    script.answer(Answer::ConsumerHeartbeat(HeartbeatAnswer { code, ..Default::default() }));
    script.sends(&[]);
    script.wait(RETRY_BACKOFF);
    script.sends(&[beat(Say::Owned)]);
}

/// The first assignment of a member is empty while others have what it is to get.
#[test]
fn empty_first_assignment_is_acknowledged_as_the_client_does_it() {
    for (clients, acknowledges) in [(Clients::Java, true), (Clients::Librdkafka, false)] {
        let mut script = Script::of(clients);
        script.took();
        script.wait(4 * SECOND);
        script.heard(1, Some(&[]));
        match acknowledges {
            true => script.sends(&[beat(Say::Owned)]),
            false => script.sends(&[]),
        }
        // librdkafka's counts the interval from the heartbeat that it sent.
        script.wait(SECOND);
        match acknowledges {
            true => script.sends(&[]),
            false => script.sends(&[beat(Say::Alive)]),
        }
        script.heard(1, Some(&[3]));
        script.sends(&[beat(Say::Owned)]);
    }
}

#[test]
fn what_no_retry_cures_ends_a_member() {
    let mut script = Script::classic(Assignor::Range);
    script.took();
    let code = ErrorCode::INVALID_SESSION_TIMEOUT;
    script.answer(Answer::Join(JoinAnswer { code, ..JoinAnswer::default() }));
    let (_, notes) = script.took();
    assert!(notes.contains(&Note::Failed(Api::Join, code, String::new())), "{notes:?}");
    assert_eq!(script.member.next_due(), None);
}

#[test]
fn sticky_tells_the_leader_what_it_had() {
    let mut script = Script::classic(Assignor::Sticky).settled(&[1, 2]);
    script.answer(Answer::Heartbeat(ErrorCode::REBALANCE_IN_PROGRESS));
    script.took();
    let Member::Classic(member) = &script.member else { panic!("classic") };
    assert_eq!(member.core.owned, [0; 0]);
    assert_eq!(member.claim(), (&[1, 2][..], 1));
}

#[test]
fn members_that_commit_do_so_by_the_clock_and_before_they_give_up() {
    let every = Some(5 * SECOND);
    let mut script = Script::new(Protocol::Classic(Assignor::Range), None, every).settled(&[1, 2]);
    script.wait(5 * SECOND);
    script.sends(&[Request::Heartbeat, Request::Commit(vec![1, 2])]);
    // The next one is not sent before the last was answered.
    script.wait(5 * SECOND);
    script.sends(&[Request::Heartbeat]);
    script.answer(Answer::Commit(ErrorCode::NONE));
    script.wait(5 * SECOND);
    script.sends(&[Request::Heartbeat, Request::Commit(vec![1, 2])]);
    script.answer(Answer::Heartbeat(ErrorCode::REBALANCE_IN_PROGRESS));
    script.sends(&[Request::Commit(vec![1, 2]), Request::Join]);

    let cooperative = Protocol::Classic(Assignor::CooperativeSticky);
    let mut script = Script::new(cooperative, None, every).settled(&[1, 2]);
    script.answer(Answer::Heartbeat(ErrorCode::REBALANCE_IN_PROGRESS));
    script.sends(&[Request::Commit(vec![1, 2]), Request::Join]);
    assert_eq!(script.member.core().owned, [1, 2]);

    let mut script = Script::new(Protocol::Consumer(None), None, every);
    script.heard(1, Some(&[1, 2]));
    script.heard(1, None);
    script.took();
    script.wait(5 * SECOND);
    script.sends(&[beat(Say::Alive), Request::Commit(vec![1, 2])]);
    script.heard(2, Some(&[2]));
    script.sends(&[Request::Commit(vec![1]), beat(Say::Owned)]);
}

#[test]
fn leaving_waits_for_no_heartbeat() {
    let mut script = Script::classic(Assignor::Range).settled(&[1]);
    script.wait(3 * SECOND);
    script.sends(&[Request::Heartbeat]);
    script.member.leave(false, &script.spec, &mut script.fx);
    script.sends(&[Request::Leave]);
    script.answer(Answer::Heartbeat(ErrorCode::NONE));
    script.does(&[], &[]);
    script.answer(Answer::Leave(ErrorCode::NONE));
    script.does(&[], &[Note::Left]);

    let mut script = Script::consumer();
    script.heard(1, Some(&[1]));
    script.heard(1, None);
    script.wait(5 * SECOND);
    script.took();
    script.member.leave(false, &script.spec, &mut script.fx);
    script.sends(&[beat(Say::Leave(-1))]);
    // The first answer is that of the heartbeat before.
    script.heard(1, None);
    script.does(&[], &[]);
    script.heard(-1, None);
    script.does(&[], &[Note::Left]);
}

#[test]
fn static_members_that_return_say_so_or_nothing() {
    let classic = Protocol::Classic(Assignor::Range);
    let mut script = Script::new(classic.clone(), Some("s"), None).settled(&[1]);
    script.member.leave(true, &script.spec, &mut script.fx);
    script.does(&[], &[Note::Left]);
    let mut script = Script::new(classic, Some("s"), None).settled(&[1]);
    script.member.leave(false, &script.spec, &mut script.fx);
    script.sends(&[Request::Leave]);
    for (returns, epoch) in [(true, -2), (false, -1)] {
        let mut script = Script::new(Protocol::Consumer(None), Some("s"), None);
        script.heard(1, Some(&[1]));
        script.took();
        script.member.leave(returns, &script.spec, &mut script.fx);
        script.sends(&[beat(Say::Leave(epoch))]);
    }
}

#[test]
fn a_consumer_member_joins_and_acknowledges_at_once() {
    let mut script = Script::consumer();
    script.does(&[beat(Say::All)], &[]);
    assert_eq!(script.member.core().epoch, 0);
    script.heard(3, Some(&[4, 5]));
    let notes = [Note::Told, Note::Acquired(4), Note::Acquired(5), Note::Settled];
    script.does(&[beat(Say::Owned)], &notes);
    script.heard(3, None);
    script.does(&[], &[]);
    // The same once more is no news.
    script.wait(5 * SECOND);
    script.sends(&[beat(Say::Alive)]);
    script.heard(4, Some(&[4, 5]));
    script.does(&[], &[]);
    assert_eq!(script.member.core().epoch, 4);
}

#[test]
fn an_empty_first_assignment_is_acknowledged() {
    let mut script = Script::consumer();
    script.took();
    script.heard(1, Some(&[]));
    script.does(&[beat(Say::Owned)], &[Note::Told, Note::Settled]);
    script.heard(1, None);
    script.does(&[], &[]);
}

#[test]
fn a_consumer_member_gives_up_before_it_answers() {
    let mut script = Script::consumer();
    script.heard(1, Some(&[1, 2]));
    script.heard(1, None);
    script.took();
    script.wait(5 * SECOND);
    script.took();
    script.heard(1, Some(&[2, 7]));
    let notes = [Note::Told, Note::Released(1), Note::Acquired(7), Note::Settled];
    script.does(&[beat(Say::Owned)], &notes);
    assert_eq!(script.member.core().owned, [2, 7]);
}

/// As the Java client's request manager: one in flight, the timer starts with the sending.
#[test]
fn consumer_heartbeats_wait_for_the_one_in_flight() {
    let mut script = Script::consumer();
    script.heard(1, Some(&[1]));
    script.heard(1, None);
    script.took();
    script.wait(5 * SECOND);
    script.sends(&[beat(Say::Alive)]);
    assert_eq!(script.member.next_due(), None, "it is in flight");
    // The coordinator holds it back for longer than the interval.
    script.wait(6 * SECOND);
    script.sends(&[]);
    script.heard(1, None);
    script.sends(&[beat(Say::Alive)]);
}

#[test]
fn a_fenced_member_joins_again_without_what_it_had() {
    for code in [ErrorCode::FENCED_MEMBER_EPOCH, ErrorCode::UNKNOWN_MEMBER_ID] {
        let mut script = Script::consumer();
        script.heard(5, Some(&[1]));
        script.took();
        script.answer(Answer::ConsumerHeartbeat(HeartbeatAnswer { code, ..Default::default() }));
        let refused = Note::Refused(Api::ConsumerHeartbeat, code);
        script.does(&[beat(Say::All)], &[refused, Note::Told, Note::Released(1), Note::Rejoins]);
        assert_eq!(script.member.core().epoch, 0);
    }
}

#[test]
fn partitions_that_the_topic_does_not_have_are_nobodys() {
    let mut script = Script::consumer();
    script.heard(1, Some(&[3, 99]));
    assert_eq!(script.member.core().owned, [3]);
    let mut script = Script::classic(Assignor::Range);
    script.joined(1, "other");
    script.synced(&[3, 99]);
    assert_eq!(script.member.core().owned, [3]);
}

#[test]
fn a_connection_that_comes_back_finds_the_member_where_it_was() {
    let mut script = Script::classic(Assignor::Range).settled(&[1]);
    script.member.disconnected();
    script.member.connected(script.now, &script.spec, &mut script.fx);
    script.wait(0);
    script.sends(&[Request::Heartbeat]);

    let mut script = Script::consumer();
    script.heard(1, Some(&[1]));
    script.took();
    script.member.disconnected();
    script.member.connected(script.now, &script.spec, &mut script.fx);
    script.sends(&[beat(Say::Owned)]);
}

#[test]
fn an_assignment_that_cannot_be_read_ends_the_run() {
    let mut script = Script::classic(Assignor::Range);
    script.joined(1, "other");
    script.took();
    let assignment = Bytes::from_static(&[0, 3, 0, 0]);
    script.answer(Answer::Sync { code: ErrorCode::NONE, assignment });
    let failed = Note::Failed(Api::Sync, ErrorCode::CORRUPT_MESSAGE, String::new());
    script.does(&[], &[failed]);
}
