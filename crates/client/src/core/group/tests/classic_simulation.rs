//! Members of classic groups against the broker's own classic groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_coordinator::{MemoryRunner, Now, Token};
use thalweg_groups::{GroupConfig, GroupShard, RequestContext, Submission};
use thalweg_wire::ErrorCode;

use super::super::assignor::Assignor;
use super::super::{GroupProtocol, GroupRequest, GroupResponse, GroupSettings, Member};
use super::simulation::{Coordinator, Origin, run_seeds};

const SEEDS: u64 = 200;

struct ClassicCoordinator {
    runner: MemoryRunner<GroupShard>,
    config: Arc<GroupConfig>,
    origins: BTreeMap<Token, Origin>,
    /// Answers that were given when the coordinator moved.
    refused: Vec<(Token, thalweg_groups::GroupResponse)>,
}

impl ClassicCoordinator {
    fn new() -> ClassicCoordinator {
        let config = Arc::new(GroupConfig::default());
        let now = Now { wall_ms: 1_000_000, monotonic_ms: 0 };
        let runner = MemoryRunner::new(GroupShard::new(Arc::clone(&config)), now);
        ClassicCoordinator { runner, config, origins: BTreeMap::new(), refused: Vec::new() }
    }
}

impl Coordinator for ClassicCoordinator {
    fn settings(&self, assignors: Vec<Assignor>) -> GroupSettings {
        GroupSettings {
            protocol: GroupProtocol::Classic { assignors },
            session_timeout_ms: 10_000,
            ..GroupSettings::new("g")
        }
    }

    fn submit(&mut self, origin: Origin, request: GroupRequest, random: u64) {
        let token = self.runner.submit(submission(request, random));
        self.origins.insert(token, origin);
    }

    fn take_answers(&mut self) -> Vec<(Origin, GroupResponse)> {
        let mut answers = std::mem::take(&mut self.refused);
        answers.extend(self.runner.take_answers());
        let known = |(token, response)| Some((self.origins.remove(&token)?, response_of(response)));
        answers.into_iter().filter_map(known).collect()
    }

    fn wake_at_ms(&self) -> Option<u64> {
        self.runner.runner.wake_at_ms()
    }

    fn advance(&mut self, now_ms: u64) {
        self.runner.advance(now_ms - self.runner.now.monotonic_ms);
    }

    fn topics_changed(&mut self, _topics: &BTreeMap<Arc<str>, i32>) {}

    fn fail_over(&mut self) {
        self.runner.close(ErrorCode::NOT_COORDINATOR);
        let answers = self.runner.take_answers();
        self.refused.extend(answers);
        self.runner.reload(GroupShard::new(Arc::clone(&self.config)));
    }

    fn counts_on(&self, member: &Member, is_static: bool) -> bool {
        let Some(group) = self.runner.runner.shard().group("g") else { return false };
        // Who is in the group and dynamic is waited for, whatever generation it is in.
        let is_waited_for = member.generation() == group.generation() || !is_static;
        is_waited_for && group.members().any(|known| *known.id == *member.member_id())
    }
}

#[test]
fn groups_settle_and_no_partition_has_two_owners() {
    run_seeds("classic group", SEEDS, ClassicCoordinator::new);
}

fn submission(request: GroupRequest, random: u64) -> Submission {
    use thalweg_groups::GroupRequest as Server;
    let (api_version, request) = match request {
        GroupRequest::Join(request) => (9, Server::JoinGroup(request)),
        GroupRequest::Sync(request) => (5, Server::SyncGroup(request)),
        GroupRequest::Heartbeat(request) => (4, Server::Heartbeat(request)),
        GroupRequest::Leave(request) => (5, Server::LeaveGroup(request)),
        GroupRequest::ConsumerHeartbeat(request) => panic!("not a classic request: {request:?}"),
    };
    let context = RequestContext {
        api_version,
        client_id: "c".into(),
        client_host: "/127.0.0.1".into(),
        random: u128::from(random),
        ..Default::default()
    };
    Submission { context, request }
}

fn response_of(response: thalweg_groups::GroupResponse) -> GroupResponse {
    use thalweg_groups::GroupResponse as Server;
    match response {
        Server::JoinGroup(response) => GroupResponse::Join(response),
        Server::SyncGroup(response) => GroupResponse::Sync(response),
        Server::Heartbeat(response) => GroupResponse::Heartbeat(response),
        Server::LeaveGroup(response) => GroupResponse::Leave(response),
        other => panic!("not an answer to a member: {other:?}"),
    }
}
