//! The requests that may be held, and what is different between them.

use thalweg_groups::{GroupRequest, GroupResponse};
use thalweg_wire::messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, HeartbeatRequest,
    HeartbeatResponse, SyncGroupRequest, SyncGroupResponse,
};
use thalweg_wire::{ErrorCode, Message, Request};

use super::super::context::Context;
use super::super::groups::has_consumer_protocol;

/// The epoch that a member of the consumer protocol joins with.
const JOIN_EPOCH: i32 = 0;

/// What is different between the requests that may be held: the heartbeats of the two protocols, and SyncGroup.
pub(crate) trait Holdable: Request<Response: Message + Send> + Send + 'static {
    /// What is to be remembered of a request, so that it can be handled once more, besides the names that the
    /// coordinator has of its group and member.
    type Again: Send + Sync;

    fn group(&self) -> &str;
    fn again(&self) -> Self::Again;
    /// The same request, without what the coordinator has taken note of when it has handled it once, and with what the
    /// member would know if it had got the last answer.
    fn repeat(again: &Self::Again, group: &str, member: &str, last: &Self::Response) -> Self;
    fn into_request(self) -> GroupRequest;
    fn response(response: GroupResponse) -> Option<Self::Response>;
    fn error(code: ErrorCode) -> Self::Response;
    fn is_ok(response: &Self::Response) -> bool;
    /// The interval after which the next one is sent, where the coordinator says it, in milliseconds.
    fn interval_ms(response: &Self::Response) -> Option<i32>;
    /// Asks for the next heartbeat soon, where the protocol has the coordinator say when.
    fn expedite_next(response: &mut Self::Response, to_ms: fn(i32) -> i32);
    fn is_served(context: &Context) -> bool;

    /// How many partitions its member owns, if it says that.
    fn owned(&self) -> Option<usize> {
        None
    }

    /// How many partitions an answer says that the member is to own, if it says that.
    fn told(_: &Self::Response) -> Option<usize> {
        None
    }

    /// Whether it is the first heartbeat of a member of the consumer protocol.
    fn joins(&self) -> bool {
        false
    }

    /// Whether its member has an instance id, where that matters to how it is held.
    fn is_static(&self) -> bool {
        false
    }

    /// The answer to a first heartbeat that is handled once more: what was there to say the last time, and has not been
    /// said, is said.
    fn follow(response: Self::Response, _last: Self::Response) -> Self::Response {
        response
    }
}

/// What all say in the same way.
macro_rules! holdable {
    ($response:ident, $variant:ident) => {
        fn group(&self) -> &str {
            &self.group_id
        }

        fn into_request(self) -> GroupRequest {
            GroupRequest::$variant(self)
        }

        fn response(response: GroupResponse) -> Option<$response> {
            match response {
                GroupResponse::$variant(response) => Some(response),
                _ => None,
            }
        }

        fn error(error_code: ErrorCode) -> $response {
            $response { error_code, ..Default::default() }
        }

        fn is_ok(response: &$response) -> bool {
            response.error_code.is_ok()
        }
    };
}

impl Holdable for HeartbeatRequest {
    /// Generation and instance id.
    type Again = (i32, Option<Box<str>>);

    holdable!(HeartbeatResponse, Heartbeat);

    fn again(&self) -> Self::Again {
        (self.generation_id, self.group_instance_id.as_deref().map(Box::from))
    }

    fn repeat(
        (generation_id, instance_id): &Self::Again,
        group: &str,
        member: &str,
        _: &HeartbeatResponse,
    ) -> Self {
        HeartbeatRequest {
            group_id: group.to_owned(),
            generation_id: *generation_id,
            member_id: member.to_owned(),
            group_instance_id: instance_id.as_deref().map(str::to_owned),
            ..Default::default()
        }
    }

    fn is_served(_: &Context) -> bool {
        true
    }

    fn interval_ms(_: &HeartbeatResponse) -> Option<i32> {
        None
    }

    fn expedite_next(_: &mut HeartbeatResponse, _: fn(i32) -> i32) {}
}

impl Holdable for SyncGroupRequest {
    /// All but the assignments. It is held rarely, and not for long.
    type Again = Box<SyncGroupRequest>;

    holdable!(SyncGroupResponse, SyncGroup);

    fn again(&self) -> Self::Again {
        Box::new(SyncGroupRequest {
            group_id: self.group_id.clone(),
            generation_id: self.generation_id,
            member_id: self.member_id.clone(),
            group_instance_id: self.group_instance_id.clone(),
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            ..Default::default()
        })
    }

    fn repeat(again: &Self::Again, _: &str, _: &str, _: &SyncGroupResponse) -> Self {
        SyncGroupRequest::clone(again)
    }

    fn is_served(_: &Context) -> bool {
        true
    }

    fn interval_ms(_: &SyncGroupResponse) -> Option<i32> {
        None
    }

    fn expedite_next(_: &mut SyncGroupResponse, _: fn(i32) -> i32) {}
}

impl Holdable for ConsumerGroupHeartbeatRequest {
    /// Member epoch and instance id.
    type Again = (i32, Option<Box<str>>);

    holdable!(ConsumerGroupHeartbeatResponse, ConsumerGroupHeartbeat);

    fn again(&self) -> Self::Again {
        (self.member_epoch, self.instance_id.as_deref().map(Box::from))
    }

    /// A member that joins has joined by then. It has been told of no partition, so it owns none.
    fn repeat(
        (member_epoch, instance_id): &Self::Again,
        group: &str,
        member: &str,
        last: &ConsumerGroupHeartbeatResponse,
    ) -> Self {
        let joins = *member_epoch == JOIN_EPOCH;
        ConsumerGroupHeartbeatRequest {
            group_id: group.to_owned(),
            member_id: member.to_owned(),
            member_epoch: if joins { last.member_epoch } else { *member_epoch },
            instance_id: instance_id.as_deref().map(str::to_owned),
            rebalance_timeout_ms: -1,
            topic_partitions: joins.then(Vec::new),
            ..Default::default()
        }
    }

    fn joins(&self) -> bool {
        self.member_epoch == JOIN_EPOCH
    }

    fn is_static(&self) -> bool {
        self.instance_id.is_some()
    }

    fn owned(&self) -> Option<usize> {
        let topics = self.topic_partitions.as_ref()?;
        Some(topics.iter().map(|topic| topic.partitions.len()).sum())
    }

    fn told(response: &ConsumerGroupHeartbeatResponse) -> Option<usize> {
        let topics = &response.assignment.as_ref()?.topic_partitions;
        Some(topics.iter().map(|topic| topic.partitions.len()).sum())
    }

    fn follow(
        response: ConsumerGroupHeartbeatResponse,
        last: ConsumerGroupHeartbeatResponse,
    ) -> ConsumerGroupHeartbeatResponse {
        // After an error it is not certain what has been written: the client joins once more, and is told all.
        match response.error_code {
            ErrorCode::NONE => ConsumerGroupHeartbeatResponse {
                assignment: response.assignment.or(last.assignment),
                ..response
            },
            _ => response,
        }
    }

    fn is_served(context: &Context) -> bool {
        has_consumer_protocol(context)
    }

    fn interval_ms(response: &ConsumerGroupHeartbeatResponse) -> Option<i32> {
        Some(response.heartbeat_interval_ms)
    }

    fn expedite_next(response: &mut ConsumerGroupHeartbeatResponse, to_ms: fn(i32) -> i32) {
        response.heartbeat_interval_ms = to_ms(response.heartbeat_interval_ms);
    }
}
