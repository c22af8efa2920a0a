//! Classic consumers as the coordinator sees them: they join, sync, send heartbeats, give up what they
//! are to give up, commit and die.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_coordinator::Token;
use thalweg_groups::{
    ConnectionId, GroupEvent, GroupRequest, GroupResponse, RequestContext, Submission,
};
use thalweg_wire::messages::consumer_protocol_assignment::TopicPartition as AssignedPartitions;
use thalweg_wire::messages::consumer_protocol_subscription::TopicPartition;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::leave_group_request::MemberIdentity;
use thalweg_wire::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use thalweg_wire::messages::sync_group_request::SyncGroupRequestAssignment;
use thalweg_wire::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use thalweg_wire::messages::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, HeartbeatRequest, JoinGroupRequest,
    JoinGroupResponse, LeaveGroupRequest, OffsetCommitRequest, SyncGroupRequest, SyncGroupResponse,
    TxnOffsetCommitRequest,
};
use thalweg_wire::{ErrorCode, Message as _, Reader, Writer};

use crate::script::World;

pub const GROUP: &str = "g";
pub const SESSION_MS: i32 = 20_000;
pub const REBALANCE_MS: i32 = 30_000;

/// A topic's name and a partition.
pub type Partition = (String, i32);

/// A consumer. What it owns is what it believes that it owns.
#[derive(Clone, Debug)]
pub struct Client {
    pub name: String,
    pub protocols: Vec<&'static str>,
    pub instance_id: Option<String>,
    pub rack: Option<String>,
    pub topics: Vec<&'static str>,
    pub is_cooperative: bool,
    pub member_id: String,
    /// The connection that it sends its requests on, where that is told.
    pub connection: Option<ConnectionId>,
    pub generation: i32,
    pub owned: BTreeSet<Partition>,
    /// What it was assigned last and in which generation: the sticky assignors remember that and say it.
    pub remembered: Option<(i32, BTreeSet<Partition>)>,
    /// What it says in place of the user data of `sticky`.
    pub user_data: Option<Vec<u8>>,
    /// It has been answered a JoinGroup and not yet a SyncGroup.
    pub is_syncing: Option<String>,
    pub must_join: bool,
    /// REBALANCE_IN_PROGRESS in heartbeats.
    pub told: usize,
    pub joins: usize,
    /// What it owned in generations that have passed.
    pub past: Vec<(i32, Partition)>,
    /// What it assigns as the leader of a barrier: member ids and assignments.
    pub assigns: Vec<(String, Vec<u8>)>,
    /// How many partitions there were when it led last: it rejoins when there are others.
    pub watches: Option<usize>,
    /// The request that is not answered yet.
    pub waiting: Option<Token>,
}

impl Client {
    pub fn new(name: String, protocols: &[&'static str], topics: &[&'static str]) -> Client {
        Client {
            name,
            protocols: protocols.to_vec(),
            instance_id: None,
            rack: None,
            topics: topics.to_vec(),
            // A consumer goes by the rule that all of its assignors support.
            is_cooperative: protocols[0] == "cooperative-sticky",
            member_id: String::new(),
            connection: None,
            generation: -1,
            owned: BTreeSet::new(),
            remembered: None,
            user_data: None,
            is_syncing: None,
            must_join: true,
            told: 0,
            joins: 0,
            past: Vec::new(),
            assigns: Vec::new(),
            watches: None,
            waiting: None,
        }
    }

    fn context(&self, api_version: i16) -> RequestContext {
        // No two clients are given the same id.
        static RANDOM: AtomicU64 = AtomicU64::new(1);
        RequestContext {
            api_version,
            client_id: self.name.as_str().into(),
            client_host: "/127.0.0.1".into(),
            random: RANDOM.fetch_add(1, Ordering::Relaxed).into(),
            connection: self.connection,
            hold: None,
            is_repeat: false,
        }
    }

    fn submit(&mut self, world: &mut World, api_version: i16, request: GroupRequest) {
        let context = self.context(api_version);
        assert_eq!(self.waiting, None, "one request at a time");
        self.waiting = Some(world.memory.submit(Submission { context, request }));
    }

    /// Its connection is gone.
    pub fn disconnect(&mut self, world: &mut World) {
        if let Some(connection) = self.connection.take() {
            world.memory.event(GroupEvent::Disconnected {
                group: GROUP.into(),
                member: self.member_id.as_str().into(),
                connection,
            });
        }
    }

    /// Takes the answer to its request, if there is one; what it came to.
    pub fn receive(&mut self, world: &mut World) -> Option<ErrorCode> {
        let response = world.memory.take_answer(self.waiting?)?;
        self.waiting = None;
        Some(match response {
            GroupResponse::JoinGroup(response) => self.joined(response, world),
            GroupResponse::SyncGroup(response) => self.synced(&response),
            GroupResponse::Heartbeat(response) => self.heard(response.error_code),
            GroupResponse::LeaveGroup(response) => response.error_code,
            other => panic!("{other:?}"),
        })
    }

    /// Sends what it has to send next, if that is no heartbeat. Whether there is anything.
    pub fn send(&mut self, world: &mut World) -> bool {
        if self.waiting.is_some() {
            return false;
        }
        if self.must_join {
            self.join(world);
        } else if self.is_syncing.is_some() {
            self.sync(world);
        } else {
            return false;
        }
        true
    }

    /// Does all that it can do without a heartbeat.
    pub fn run(&mut self, world: &mut World) {
        for _ in 0..20 {
            let is_refused = self.receive(world).is_some_and(|error| {
                !matches!(error, ErrorCode::NONE | ErrorCode::REBALANCE_IN_PROGRESS)
                    && !matches!(
                        error,
                        ErrorCode::MEMBER_ID_REQUIRED | ErrorCode::UNKNOWN_MEMBER_ID
                    )
            });
            if is_refused || !self.send(world) {
                return;
            }
        }
        panic!("{} has no end of it", self.name);
    }

    /// Sends a heartbeat and does what it is told.
    pub fn beat(&mut self, world: &mut World) {
        self.run(world);
        if self.watches.is_some_and(|known| known != partitions(world)) {
            self.must_join = true;
            self.run(world);
        }
        if self.waiting.is_none() {
            self.heartbeat(world);
            self.run(world);
        }
    }

    /// What it says under an assignor.
    fn subscription(&self, protocol: &str) -> Vec<u8> {
        let remembered = self.remembered.as_ref();
        let user_data = remembered.filter(|_| protocol == "sticky").map(|(generation, had)| {
            let mut w = Writer::new();
            let topics = by_topic(had);
            w.i32(topics.len() as i32);
            for topic in topics {
                w.i16(topic.topic.len() as i16);
                w.raw(topic.topic.as_bytes());
                w.i32(topic.partitions.len() as i32);
                topic.partitions.iter().for_each(|partition| w.i32(*partition));
            }
            w.i32(*generation);
            w.to_vec()
        });
        let user_data = self.user_data.clone().or(user_data);
        let subscription = ConsumerProtocolSubscription {
            topics: self.topics.iter().map(|topic| (*topic).to_owned()).collect(),
            owned_partitions: by_topic(&self.owned),
            user_data: user_data.map(Into::into),
            generation_id: remembered.map_or(-1, |(generation, _)| *generation),
            rack_id: self.rack.clone(),
        };
        let mut w = Writer::new();
        w.i16(3);
        subscription.encode(&mut w, 3).expect("a subscription");
        w.to_vec()
    }

    /// The consumer gives everything up that it has, as one that lost its membership does.
    pub fn lose_all(&mut self) {
        let generation = self.generation;
        self.past.extend(std::mem::take(&mut self.owned).into_iter().map(|p| (generation, p)));
    }

    fn give_up(&mut self, lost: Vec<Partition>) {
        for partition in lost {
            self.owned.remove(&partition);
            self.past.push((self.generation, partition));
        }
    }

    /// Something refused it: it begins anew.
    fn fenced(&mut self) {
        self.lose_all();
        self.member_id = String::new();
        self.generation = -1;
        self.is_syncing = None;
        self.must_join = true;
    }

    /// Sends JoinGroup. Eager consumers have given everything up before.
    fn join(&mut self, world: &mut World) {
        if !self.is_cooperative {
            self.lose_all();
        }
        self.joins += 1;
        let protocols = self.protocols.iter().map(|name| JoinGroupRequestProtocol {
            name: (*name).to_owned(),
            metadata: self.subscription(name).into(),
            ..Default::default()
        });
        let request = JoinGroupRequest {
            group_id: GROUP.to_owned(),
            session_timeout_ms: SESSION_MS,
            rebalance_timeout_ms: REBALANCE_MS,
            member_id: self.member_id.clone(),
            group_instance_id: self.instance_id.clone(),
            protocol_type: "consumer".to_owned(),
            protocols: protocols.collect(),
            ..Default::default()
        };
        self.submit(world, 9, GroupRequest::JoinGroup(request));
    }

    fn joined(&mut self, response: JoinGroupResponse, world: &World) -> ErrorCode {
        match response.error_code {
            ErrorCode::NONE => {
                // What a leader assigns follows from the assignor, whatever the leader itself gives up.
                // Members that list "own" beside "cooperative-sticky" keep what they own: it has to
                // support both rules.
                let is_cooperative =
                    matches!(response.protocol_name.as_deref(), Some("cooperative-sticky" | "own"));
                self.assigns = lead(&response, is_cooperative, world);
                let leads = response.leader == response.member_id;
                self.watches = leads.then(|| partitions(world));
                if self.generation != response.generation_id {
                    let generation = self.generation;
                    self.past.extend(self.owned.iter().cloned().map(|p| (generation, p)));
                }
                self.member_id = response.member_id;
                self.generation = response.generation_id;
                self.is_syncing = response.protocol_name;
                self.must_join = false;
            }
            ErrorCode::MEMBER_ID_REQUIRED => self.member_id = response.member_id,
            ErrorCode::REBALANCE_IN_PROGRESS => {}
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_INSTANCE_ID => self.fenced(),
            // Its id is still its own.
            ErrorCode::ILLEGAL_GENERATION => {
                let member_id = std::mem::take(&mut self.member_id);
                self.fenced();
                self.member_id = member_id;
            }
            _ => {}
        }
        response.error_code
    }

    fn sync(&mut self, world: &mut World) {
        let request = SyncGroupRequest {
            group_id: GROUP.to_owned(),
            generation_id: self.generation,
            member_id: self.member_id.clone(),
            group_instance_id: self.instance_id.clone(),
            protocol_type: Some("consumer".to_owned()),
            protocol_name: self.is_syncing.clone(),
            assignments: std::mem::take(&mut self.assigns)
                .into_iter()
                .map(|(member_id, assignment)| SyncGroupRequestAssignment {
                    member_id,
                    assignment: assignment.into(),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        };
        self.submit(world, 5, GroupRequest::SyncGroup(request));
    }

    fn synced(&mut self, response: &SyncGroupResponse) -> ErrorCode {
        self.is_syncing = None;
        match response.error_code {
            ErrorCode::NONE => {
                let assigned = assignment(&response.assignment);
                let revoked: Vec<Partition> = self.owned.difference(&assigned).cloned().collect();
                assert!(self.is_cooperative || revoked.is_empty(), "eager consumers own nothing");
                // A cooperative consumer that gave something up says so by joining again.
                self.must_join = !revoked.is_empty();
                self.give_up(revoked);
                self.remembered = Some((self.generation, assigned.clone()));
                self.owned = assigned;
            }
            ErrorCode::REBALANCE_IN_PROGRESS => self.must_join = true,
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_INSTANCE_ID => self.fenced(),
            // Its id is still its own.
            ErrorCode::ILLEGAL_GENERATION => {
                let member_id = std::mem::take(&mut self.member_id);
                self.fenced();
                self.member_id = member_id;
            }
            _ => self.must_join = true,
        }
        response.error_code
    }

    pub fn heartbeat(&mut self, world: &mut World) {
        let request = HeartbeatRequest {
            group_id: GROUP.to_owned(),
            generation_id: self.generation,
            member_id: self.member_id.clone(),
            group_instance_id: self.instance_id.clone(),
            ..Default::default()
        };
        self.submit(world, 4, GroupRequest::Heartbeat(request));
    }

    fn heard(&mut self, error: ErrorCode) -> ErrorCode {
        match error {
            ErrorCode::REBALANCE_IN_PROGRESS => {
                self.told += 1;
                self.must_join = true;
            }
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_INSTANCE_ID => self.fenced(),
            // Its id is still its own.
            ErrorCode::ILLEGAL_GENERATION => {
                let member_id = std::mem::take(&mut self.member_id);
                self.fenced();
                self.member_id = member_id;
            }
            _ => {}
        }
        error
    }

    pub fn leave(&mut self, world: &mut World) {
        self.lose_all();
        let request = LeaveGroupRequest {
            group_id: GROUP.to_owned(),
            members: vec![MemberIdentity {
                member_id: self.member_id.clone(),
                group_instance_id: self.instance_id.clone(),
                ..Default::default()
            }],
            ..Default::default()
        };
        self.submit(world, 5, GroupRequest::LeaveGroup(request));
    }

    /// Commits an offset of one partition in a generation.
    pub fn commit(&self, world: &mut World, generation: i32, partition: &Partition) -> ErrorCode {
        let request = OffsetCommitRequest {
            group_id: GROUP.to_owned(),
            generation_id_or_member_epoch: generation,
            member_id: self.member_id.clone(),
            group_instance_id: self.instance_id.clone(),
            topics: vec![OffsetCommitRequestTopic {
                name: partition.0.clone(),
                topic_id: world.metadata.image.topics.by_name(&partition.0).expect("a topic").id,
                partitions: vec![OffsetCommitRequestPartition {
                    partition_index: partition.1,
                    committed_offset: 1,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let context = self.context(8);
        let request = GroupRequest::OffsetCommit(request);
        let token = world.memory.submit(Submission { context, request });
        world.memory.settle();
        let Some(GroupResponse::OffsetCommit(response)) = world.memory.take_answer(token) else {
            panic!("commits are answered when they are written");
        };
        response.topics[0].partitions[0].error_code
    }

    /// The same in a transaction of a producer that this member reads for.
    pub fn commit_in_transaction(
        &self,
        world: &mut World,
        generation: i32,
        partition: &Partition,
    ) -> ErrorCode {
        let request = TxnOffsetCommitRequest {
            group_id: GROUP.to_owned(),
            producer_id: 7,
            generation_id_or_member_epoch: generation,
            member_id: self.member_id.clone(),
            group_instance_id: self.instance_id.clone(),
            topics: vec![TxnOffsetCommitRequestTopic {
                name: partition.0.clone(),
                topic_id: world.metadata.image.topics.by_name(&partition.0).expect("a topic").id,
                partitions: vec![TxnOffsetCommitRequestPartition {
                    partition_index: partition.1,
                    committed_offset: 1,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let context = self.context(5);
        let request = GroupRequest::TxnOffsetCommit(request);
        let token = world.memory.submit(Submission { context, request });
        world.memory.settle();
        let Some(GroupResponse::TxnOffsetCommit(response)) = world.memory.take_answer(token) else {
            panic!("commits are answered when they are written");
        };
        response.topics[0].partitions[0].error_code
    }
}

/// How many partitions there are.
fn partitions(world: &World) -> usize {
    world.metadata.image.topics.iter().map(|topic| topic.partitions.len()).sum()
}

fn by_topic(partitions: &BTreeSet<Partition>) -> Vec<TopicPartition> {
    let mut by_topic: Vec<TopicPartition> = Vec::new();
    for (topic, partition) in partitions {
        match by_topic.last_mut().filter(|last| last.topic == *topic) {
            Some(last) => last.partitions.push(*partition),
            None => {
                by_topic.push(TopicPartition { topic: topic.clone(), partitions: vec![*partition] })
            }
        }
    }
    by_topic
}

/// What the leader of a barrier assigns: partitions in turn to those who subscribe to their topic; with
/// cooperative members nothing that another one still has.
pub fn lead(
    response: &JoinGroupResponse,
    is_cooperative: bool,
    world: &World,
) -> Vec<(String, Vec<u8>)> {
    let said: Vec<(&str, ConsumerProtocolSubscription)> = response
        .members
        .iter()
        .map(|member| {
            let mut r = Reader::new(&member.metadata);
            let version = r.i16().expect("a version");
            let said = ConsumerProtocolSubscription::decode(&mut r, version);
            (&*member.member_id, said.expect("a subscription"))
        })
        .collect();
    let has = |said: &ConsumerProtocolSubscription, topic: &str, partition: i32| {
        let mut owned = said.owned_partitions.iter();
        owned.any(|owned| owned.topic == topic && owned.partitions.contains(&partition))
    };
    let mut assigned: Vec<Vec<TopicPartition>> = vec![Vec::new(); said.len()];
    for topic in world.metadata.image.topics.iter() {
        let wants = |(_, said): &(&str, ConsumerProtocolSubscription)| {
            said.topics.iter().any(|name| **name == *topic.name)
        };
        let takers: Vec<usize> = (0..said.len()).filter(|at| wants(&said[*at])).collect();
        for (turn, &partition) in topic.partitions.keys().enumerate() {
            if takers.is_empty() {
                continue;
            }
            let taker = takers[turn % takers.len()];
            let others = said.iter().enumerate().filter(|(at, _)| *at != taker);
            let is_held =
                others.into_iter().any(|(_, (_, said))| has(said, &topic.name, partition));
            if is_cooperative && is_held {
                continue;
            }
            assigned[taker].push(TopicPartition {
                topic: topic.name.to_string(),
                partitions: vec![partition],
            });
        }
    }
    let encode = |topics: Vec<TopicPartition>| {
        let mut by_topic: BTreeMap<String, Vec<i32>> = BTreeMap::new();
        for one in topics {
            by_topic.entry(one.topic).or_default().extend(one.partitions);
        }
        let assigned_partitions = by_topic
            .into_iter()
            .map(|(topic, partitions)| AssignedPartitions { topic, partitions })
            .collect();
        let assignment = ConsumerProtocolAssignment { assigned_partitions, user_data: None };
        let mut w = Writer::new();
        w.i16(1);
        assignment.encode(&mut w, 1).expect("an assignment");
        w.to_vec()
    };
    let ids = said.iter().map(|(id, _)| (*id).to_owned());
    ids.zip(assigned.into_iter().map(encode)).collect()
}

fn assignment(bytes: &[u8]) -> BTreeSet<Partition> {
    if bytes.is_empty() {
        return BTreeSet::new();
    }
    let mut r = Reader::new(bytes);
    let version = r.i16().expect("a version");
    let assignment = ConsumerProtocolAssignment::decode(&mut r, version).expect("an assignment");
    let topics = assignment.assigned_partitions.into_iter();
    topics
        .flat_map(|topic| {
            let name = topic.topic;
            topic.partitions.into_iter().map(move |partition| (name.clone(), partition))
        })
        .collect()
}
