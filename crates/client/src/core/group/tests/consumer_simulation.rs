//! Members of KIP-848 groups against a small coordinator.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::ConsumerGroupHeartbeatResponse;

use super::super::assignor::Assignor;
use super::super::{GroupProtocol, GroupRequest, GroupResponse, GroupSettings, Member};
use super::fake_coordinator::FakeCoordinator;
use super::simulation::{Coordinator, Origin, run_seeds};

const SEEDS: u64 = 120;

#[derive(Default)]
struct ConsumerCoordinator {
    fake: FakeCoordinator,
    answers: Vec<(Origin, GroupResponse)>,
    now_ms: u64,
    /// Refuses everything before.
    down_until_ms: u64,
}

impl Coordinator for ConsumerCoordinator {
    fn settings(&self, _assignors: Vec<Assignor>) -> GroupSettings {
        GroupSettings {
            protocol: GroupProtocol::Consumer { server_assignor: Some("uniform".into()) },
            ..GroupSettings::new("g")
        }
    }

    fn submit(&mut self, origin: Origin, request: GroupRequest, random: u64) {
        let GroupRequest::ConsumerHeartbeat(request) = request else {
            panic!("not a request of KIP-848: {request:?}")
        };
        let response = if self.now_ms < self.down_until_ms {
            let error_code = match random % 2 {
                0 => ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
                _ => ErrorCode::NOT_COORDINATOR,
            };
            ConsumerGroupHeartbeatResponse { error_code, ..Default::default() }
        } else {
            self.fake.heartbeat(&request)
        };
        self.answers.push((origin, GroupResponse::ConsumerHeartbeat(response)));
    }

    fn take_answers(&mut self) -> Vec<(Origin, GroupResponse)> {
        std::mem::take(&mut self.answers)
    }

    fn wake_at_ms(&self) -> Option<u64> {
        self.fake.wake_at_ms()
    }

    fn advance(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.fake.advance(now_ms);
    }

    fn topics_changed(&mut self, topics: &BTreeMap<Arc<str>, i32>) {
        self.fake.set_topics(topics);
    }

    fn fail_over(&mut self) {
        self.down_until_ms = self.now_ms + 1_000;
    }

    fn counts_on(&self, member: &Member, _is_static: bool) -> bool {
        self.fake.knows(member.member_id())
    }
}

#[test]
fn groups_settle_and_no_partition_has_two_owners() {
    run_seeds("consumer group", SEEDS, ConsumerCoordinator::default);
}
