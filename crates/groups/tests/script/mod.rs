//! Scripts of events for a shard: one operation per line, what came of it as text.
//!
//! The same operations and the same text are understood and written by `oracle/GroupOracle.java`,
//! which runs them on Kafka's own coordinator. Fields are `key=value`; `@3` stands for the third
//! member id that was ever seen, in operations and in results; `{a|b}` is a set.

#![allow(dead_code)] // Every test program uses its own part.

pub mod consumer;
pub mod random;
pub mod random_consumer;
pub mod transactions;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_coordinator::{
    CoordinatorRecord, KeyValue, LogEntry, MemoryRunner, Now, Position, Shard, Token,
};
use thalweg_groups::{
    ClassicGroup, ConnectionId, GroupConfig, GroupEvent, GroupRecord, GroupRequest, GroupResponse,
    GroupShard, RequestContext, Submission, java_string_hash,
};
use thalweg_metadata::image::{Changes, TopicImage};
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::leave_group_request::MemberIdentity;
use thalweg_wire::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use thalweg_wire::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use thalweg_wire::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use thalweg_wire::messages::sync_group_request::SyncGroupRequestAssignment;
use thalweg_wire::messages::{
    HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, ListGroupsRequest, OffsetCommitRequest,
    OffsetDeleteRequest, SyncGroupRequest,
};
use thalweg_wire::{ErrorCode, Uuid};

pub const START_MS: i64 = 1_000_000;

/// An operation's fields.
pub struct Op<'a> {
    pub name: &'a str,
    fields: BTreeMap<&'a str, &'a str>,
}

impl<'a> Op<'a> {
    pub fn parse(line: &'a str) -> Op<'a> {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let fields = words
            .map(|word| word.split_once('=').unwrap_or_else(|| panic!("no value in {line:?}")))
            .collect();
        Op { name, fields }
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.fields.get(key).copied()
    }

    fn text(&self, key: &str, otherwise: &str) -> String {
        self.get(key).unwrap_or(otherwise).to_owned()
    }

    fn number<T: std::str::FromStr>(&self, key: &str, otherwise: T) -> T {
        match self.get(key) {
            None => otherwise,
            Some(text) => text.parse().unwrap_or_else(|_| panic!("{key}={text} is no number")),
        }
    }

    fn list(&self, key: &str) -> Vec<&'a str> {
        self.get(key).map_or_else(Vec::new, |text| text.split(',').collect())
    }
}

/// Member ids by number, in the order in which they were first seen.
#[derive(Default)]
pub struct Names {
    ids: Vec<String>,
}

impl Names {
    /// `text` with member ids as numbers, and the items of sets sorted.
    pub fn normalise(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((at, length)) = find_id(rest) {
            let prefix = rest[..at].rfind([' ', '=', '{', '|', '/', ':', ',']).map_or(0, |i| i + 1);
            let id = &rest[prefix..at + length];
            let number = self.number_of(id);
            out.push_str(&rest[..prefix]);
            let _ = write!(out, "@{number}");
            rest = &rest[at + length..];
        }
        out.push_str(rest);
        sort_sets(&out)
    }

    /// `text` with numbers as member ids.
    pub fn resolve(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('@') {
            out.push_str(&rest[..at]);
            let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
            let number: usize = rest[at + 1..at + 1 + digits].parse().unwrap_or(0);
            let id = number.checked_sub(1).and_then(|index| self.ids.get(index));
            out.push_str(id.map_or("nobody", String::as_str));
            rest = &rest[at + 1 + digits..];
        }
        out.push_str(rest);
        out
    }

    /// The number of an id that has been seen.
    pub fn number(&self, id: &str) -> Option<usize> {
        self.ids.iter().position(|known| known == id).map(|index| index + 1)
    }

    /// How many ids have been seen.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// The bits of the UUID at the end of id `index`.
    pub fn uuid_bits(&self, index: usize) -> Option<u128> {
        let id = self.ids.get(index)?;
        if id.len() == KAFKA_UUID {
            return kafka_uuid_bits(id);
        }
        let uuid = &id[id.len() - JAVA_UUID..];
        u128::from_str_radix(&uuid.replace('-', ""), 16).ok()
    }

    fn number_of(&mut self, id: &str) -> usize {
        match self.ids.iter().position(|known| known == id) {
            Some(index) => index + 1,
            None => {
                self.ids.push(id.to_owned());
                self.ids.len()
            }
        }
    }
}

/// Length of an id of Java's, which classic groups give out.
const JAVA_UUID: usize = 36;
/// Length of an id of Kafka's, which consumer groups give out.
const KAFKA_UUID: usize = 22;

/// The next id of a member: where it is, and its length. Ids of topics are left alone.
fn find_id(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let is_java = |part: &[u8]| {
        part.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
    };
    let in_id = |b: &u8| b.is_ascii_alphanumeric() || *b == b'-' || *b == b'_';
    (0..bytes.len()).find_map(|at| {
        let rest = &bytes[at..];
        if rest.len() >= JAVA_UUID && is_java(&rest[..JAVA_UUID]) {
            return Some((at, JAVA_UUID));
        }
        let begins = at == 0 || !in_id(&bytes[at - 1]);
        let length = rest.iter().take_while(|b| in_id(b)).count();
        let is_topic = rest.starts_with(b"cAAAAA") || rest.starts_with(b"AAAAAA");
        (begins && length == KAFKA_UUID && !is_topic).then_some((at, KAFKA_UUID))
    })
}

fn kafka_uuid_bits(id: &str) -> Option<u128> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bits = 0u128;
    for (at, digit) in id.bytes().enumerate() {
        let value = DIGITS.iter().position(|d| *d == digit)? as u128;
        // Of the last digit only the first two bits belong to it.
        bits = if at == KAFKA_UUID - 1 { bits << 2 | value >> 4 } else { bits << 6 | value };
    }
    Some(bits)
}

fn sort_sets(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let (Some(open), Some(close)) = (rest.find('{'), rest.find('}')) {
        let mut items: Vec<&str> = rest[open + 1..close].split('|').collect();
        items.sort_unstable();
        items.dedup(); // Kafka's timeline maps show an entry twice after a failed write.
        let _ = write!(out, "{}{{{}}}", &rest[..open], items.join("|"));
        rest = &rest[close + 1..];
    }
    out.push_str(rest);
    out
}

/// A shard with its log and clock, driven by operations.
pub struct World {
    pub memory: MemoryRunner<GroupShard>,
    pub config: Arc<GroupConfig>,
    pub metadata: consumer::Metadata,
    requests: BTreeMap<Token, usize>,
    next_request: usize,
    next_random: u128,
}

impl World {
    pub fn new(config: GroupConfig) -> World {
        let config = Arc::new(config);
        let now = Now { wall_ms: START_MS, monotonic_ms: 77 };
        let metadata = consumer::Metadata::default();
        let mut memory = MemoryRunner::new(GroupShard::new(config.clone()), now);
        memory.event(metadata.whole());
        World {
            memory,
            config,
            metadata,
            requests: BTreeMap::new(),
            next_request: 0,
            next_random: 0,
        }
    }

    pub fn shard(&self) -> &GroupShard {
        self.memory.runner.shard()
    }

    /// Runs an operation with member ids in full; `random` becomes a new member's id.
    pub fn run(&mut self, line: &str, random: Option<u128>) -> Vec<String> {
        let op = Op::parse(line);
        let logged = if op.name == "new" { 0 } else { self.memory.log.len() };
        let mut refused = None;
        match op.name {
            "new" => *self = World::new(config_of(&op)),
            "tick" => self.memory.advance(op.number("ms", 0)),
            "fail" => self.memory.failures.push(ErrorCode(op.number("code", 0))),
            "reload" => self.memory.close(ErrorCode::NOT_COORDINATOR),
            "topic" => {
                let event = self.metadata.topic(&op);
                self.memory.event(event);
            }
            "untopic" => {
                if let Some(event) = self.metadata.untopic(&op) {
                    self.memory.event(event);
                }
            }
            "topicdel" => {
                let deleted = op.list("t").into_iter().map(|name| {
                    let id = topic_id(name);
                    let partitions = BTreeMap::new();
                    (id, Arc::new(TopicImage { name: name.into(), id, partitions }))
                });
                let changes = Changes { deleted_topics: deleted.collect(), ..Default::default() };
                let image = self.metadata.image.clone();
                let changes = Some(Arc::new(changes));
                self.memory.event(GroupEvent::Metadata { image, changes });
            }
            "disconnect" => self.memory.event(GroupEvent::Disconnected {
                group: op.text("g", "").into(),
                member: op.text("m", "").into(),
                connection: ConnectionId(op.number("conn", 0)),
            }),
            "gconf" => {
                self.config = Arc::new(consumer::configure_group(&op, &self.config));
                self.memory.event(GroupEvent::Config(self.config.clone()));
            }
            _ => {
                self.next_random += 1;
                let context = RequestContext {
                    api_version: op.number("v", 0),
                    client_id: op.text("c", "c").into(),
                    client_host: "/127.0.0.1".into(),
                    random: random.unwrap_or(self.next_random),
                    hold: None,
                    connection: op.get("conn").map(|_| ConnectionId(op.number("conn", 0))),
                    is_repeat: op.get("repeat").is_some(),
                };
                let request = request_of(&op, line, &self.metadata);
                let submission = Submission { context, request };
                // The owner of a shard refuses what is wrong by itself, and the shard never has it.
                refused =
                    submission.precheck(&self.config).map(|answer| (self.next_request, answer));
                if refused.is_none() {
                    let token = self.memory.submit(submission);
                    self.requests.insert(token, self.next_request);
                }
                self.next_request += 1;
            }
        }
        let mut lines: Vec<String> = self.memory.log[logged..].iter().map(show_entry).collect();
        let taken = self.memory.take_answers().into_iter().map(|(token, response)| {
            let number = self.requests.remove(&token).unwrap_or_else(|| {
                panic!("{token:?} is answered twice");
            });
            (number, response)
        });
        for (number, response) in taken.collect::<Vec<_>>().into_iter().chain(refused) {
            lines.extend(show_response(&response).into_iter().map(|l| format!("#{number} {l}")));
        }
        if op.name == "reload" {
            assert_eq!(self.requests.len(), 0, "requests are left after unload");
            self.memory.reload(GroupShard::new(self.config.clone()));
            let now = self.metadata.whole();
            self.memory.event(now);
        }
        lines
    }

    /// From now on every target assignment is computed elsewhere, however small the group.
    pub fn compute_elsewhere(&mut self) {
        self.config = Arc::new(GroupConfig { assign_in_place_max: 0, ..(*self.config).clone() });
        self.memory.event(GroupEvent::Config(self.config.clone()));
    }

    /// The live groups.
    pub fn state(&self) -> Vec<String> {
        let consumers = self.shard().logged().consumer_groups();
        let consumers = consumers.map(|(id, group)| consumer::show_group(id, group));
        let to_come = Some(self.memory.failures.len()).filter(|failures| *failures > 0);
        let failures = to_come.map(|failures| format!("failures to come: {failures}"));
        failures.into_iter().chain(self.shard().groups().map(show_group)).chain(consumers).collect()
    }

    /// What must hold after any operation.
    pub fn check(&self) {
        self.shard().check().unwrap_or_else(|broken| panic!("{broken}"));
        let waiting = self.shard().awaiting().count();
        assert_eq!(waiting, self.memory.runner.parked(), "tokens are lost or left over");
        if self.memory.runner.queued_appends() == 0 {
            let replayed = replay(&self.memory.log);
            assert_eq!(self.shard().logged(), replayed.logged(), "the log says otherwise");
        }
    }
}

/// A shard as the log alone makes it.
pub fn replay(log: &[LogEntry]) -> GroupShard {
    let mut shard = GroupShard::new(Arc::new(GroupConfig::default()));
    for (offset, entry) in (0i64..).zip(log) {
        match entry {
            LogEntry::Marker(end) => shard.replay_marker(offset, end.producer.id, end.commit),
            LogEntry::Record(producer, record) => {
                let producer_id = producer.map(|producer| producer.id);
                let record = GroupRecord::decode(&record.key, record.value.as_deref());
                if let Some(record) = record.expect("a record that was written") {
                    shard.replay(Position { offset, producer_id }, Now::default(), &record);
                }
            }
        }
    }
    shard
}

fn config_of(op: &Op<'_>) -> GroupConfig {
    let d = GroupConfig::default();
    GroupConfig {
        max_size: op.number("max", d.max_size),
        initial_rebalance_delay_ms: op.number("delay", d.initial_rebalance_delay_ms),
        min_session_timeout_ms: op.number("minsession", d.min_session_timeout_ms),
        max_session_timeout_ms: op.number("maxsession", d.max_session_timeout_ms),
        offset_metadata_max_bytes: op.number("maxmeta", d.offset_metadata_max_bytes),
        offsets_retention_ms: op.number("retention", d.offsets_retention_ms / 60_000) * 60_000,
        offsets_retention_check_interval_ms: op
            .number("check", d.offsets_retention_check_interval_ms),
        ..consumer::configure(op, d)
    }
}

fn request_of(op: &Op<'_>, line: &str, metadata_now: &consumer::Metadata) -> GroupRequest {
    let group_id = op.text("g", "");
    let member_id = op.text("m", "");
    let group_instance_id = op.get("i").map(str::to_owned);
    match op.name {
        "join" => GroupRequest::JoinGroup(JoinGroupRequest {
            group_id,
            member_id,
            group_instance_id,
            session_timeout_ms: op.number("s", 10_000),
            rebalance_timeout_ms: op.number("r", 60_000),
            protocol_type: op.text("t", "consumer"),
            protocols: op
                .list("p")
                .into_iter()
                .map(|protocol| {
                    let (name, said) = protocol.split_once(':').unwrap_or((protocol, ""));
                    JoinGroupRequestProtocol {
                        name: name.to_owned(),
                        metadata: metadata(said),
                        ..Default::default()
                    }
                })
                .collect(),
            ..Default::default()
        }),
        "sync" => GroupRequest::SyncGroup(SyncGroupRequest {
            group_id,
            member_id,
            group_instance_id,
            generation_id: op.number("gen", 0),
            protocol_type: op.get("t").map(str::to_owned),
            protocol_name: op.get("n").map(str::to_owned),
            assignments: op
                .list("a")
                .into_iter()
                .map(|given| {
                    let (member, assignment) = given.split_once(':').expect("member:assignment");
                    SyncGroupRequestAssignment {
                        member_id: member.to_owned(),
                        assignment: match assignment.starts_with('!') {
                            true => metadata(assignment),
                            false => Bytes::copy_from_slice(assignment.as_bytes()),
                        },
                        ..Default::default()
                    }
                })
                .collect(),
            ..Default::default()
        }),
        "hb" => GroupRequest::Heartbeat(HeartbeatRequest {
            group_id,
            member_id,
            group_instance_id,
            generation_id: op.number("gen", 0),
            ..Default::default()
        }),
        "leave" => {
            let members: Vec<MemberIdentity> = op
                .list("m")
                .into_iter()
                .map(|member| {
                    let (id, instance) = member.split_once('/').unwrap_or((member, ""));
                    MemberIdentity {
                        member_id: id.to_owned(),
                        group_instance_id: Some(instance.to_owned()).filter(|i| !i.is_empty()),
                        ..Default::default()
                    }
                })
                .collect();
            let single = op.number::<i16>("v", 0) < 3;
            GroupRequest::LeaveGroup(LeaveGroupRequest {
                group_id,
                member_id: members
                    .first()
                    .filter(|_| single)
                    .map_or_else(String::new, |m| m.member_id.clone()),
                members: if single { Vec::new() } else { members },
                ..Default::default()
            })
        }
        "describe" => GroupRequest::DescribeGroups {
            groups: op.list("g").into_iter().map(str::to_owned).collect(),
            rebalances: false,
        },
        "list" => GroupRequest::ListGroups(ListGroupsRequest {
            states_filter: op.list("states").into_iter().map(str::to_owned).collect(),
            types_filter: op.list("types").into_iter().map(str::to_owned).collect(),
            ..Default::default()
        }),
        "delete" => {
            GroupRequest::DeleteGroups(op.list("g").into_iter().map(str::to_owned).collect())
        }
        "commit" => GroupRequest::OffsetCommit(OffsetCommitRequest {
            group_id,
            member_id,
            group_instance_id,
            generation_id_or_member_epoch: op.number("gen", -1),
            retention_time_ms: op.number("ret", -1),
            topics: op
                .list("o")
                .into_iter()
                .map(|offset| {
                    let parts: Vec<&str> = offset.split(':').collect();
                    OffsetCommitRequestTopic {
                        name: parts[0].to_owned(),
                        topic_id: metadata_now.topic_id(parts[0]),
                        partitions: vec![OffsetCommitRequestPartition {
                            partition_index: parts[1].parse().expect("partition"),
                            committed_offset: parts[2].parse().expect("offset"),
                            committed_metadata: parts.get(3).map(|m| (*m).to_owned()),
                            committed_leader_epoch: parts
                                .get(4)
                                .map_or(-1, |e| e.parse().expect("epoch")),
                            ..Default::default()
                        }],
                        ..Default::default()
                    }
                })
                .collect(),
            ..Default::default()
        }),
        "tcommit" => transactions::commit(op, metadata_now),
        "txnend" => transactions::end(op),
        "fetch" => GroupRequest::OffsetFetch {
            group: OffsetFetchRequestGroup {
                group_id,
                member_id: op.get("m").map(str::to_owned),
                member_epoch: op.number("e", -1),
                topics: (op.get("o") != Some("all")).then(|| {
                    op.list("o")
                        .into_iter()
                        .map(|partition| {
                            let parts: Vec<&str> = partition.split(':').collect();
                            OffsetFetchRequestTopics {
                                name: parts[0].to_owned(),
                                topic_id: parts.get(2).map_or_else(
                                    || metadata_now.topic_id(parts[0]),
                                    |t| topic_id(t),
                                ),
                                partition_indexes: vec![parts[1].parse().expect("partition")],
                                ..Default::default()
                            }
                        })
                        .collect()
                }),
                ..Default::default()
            },
            require_stable: op.get("stable") == Some("1"),
        },
        "odel" => GroupRequest::OffsetDelete(OffsetDeleteRequest {
            group_id,
            topics: op
                .list("o")
                .into_iter()
                .map(|partition| {
                    let (topic, index) = partition.split_once(':').expect("topic:partition");
                    OffsetDeleteRequestTopic {
                        name: topic.to_owned(),
                        partitions: vec![OffsetDeleteRequestPartition {
                            partition_index: index.parse().expect("partition"),
                        }],
                    }
                })
                .collect(),
        }),
        "chb" => consumer::heartbeat(op),
        "cdesc" => GroupRequest::ConsumerGroupDescribe(
            op.list("g").into_iter().map(str::to_owned).collect(),
        ),
        _ => panic!("unknown operation {line:?}"),
    }
}

/// Topics that begin with `old` have no id.
pub fn topic_id(name: &str) -> Uuid {
    if name.starts_with("old") {
        return Uuid::ZERO;
    }
    let low = i64::from(java_string_hash(name)).cast_unsigned();
    Uuid::from_u128((0x7000_0000_0000_0000u128 << 64) | u128::from(low))
}

/// `!hex` is taken as it is, anything else names topics.
fn metadata(text: &str) -> Bytes {
    if let Some(hex) = text.strip_prefix('!') {
        return hex
            .as_bytes()
            .chunks(2)
            .map(|pair| {
                let digits = std::str::from_utf8(pair).expect("ascii");
                u8::from_str_radix(digits, 16).expect("hex")
            })
            .collect();
    }
    // Topics, and what is owned: t1+t2~t1.0.1~t2.4
    let mut halves = text.split('~');
    let text = halves.next().unwrap_or_default();
    let owned: Vec<&str> = halves.collect();
    let topics: Vec<&str> = if text.is_empty() { Vec::new() } else { text.split('+').collect() };
    let mut out = 1i16.to_be_bytes().to_vec();
    out.extend((topics.len() as i32).to_be_bytes());
    for topic in topics {
        out.extend((topic.len() as i16).to_be_bytes());
        out.extend(topic.as_bytes());
    }
    out.extend((-1i32).to_be_bytes());
    out.extend((owned.len() as i32).to_be_bytes());
    for topic in owned {
        let parts: Vec<&str> = topic.split('.').collect();
        out.extend((parts[0].len() as i16).to_be_bytes());
        out.extend(parts[0].as_bytes());
        out.extend((parts.len() as i32 - 1).to_be_bytes());
        for partition in &parts[1..] {
            out.extend(partition.parse::<i32>().expect("partition").to_be_bytes());
        }
    }
    out.into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn null(text: Option<&str>) -> &str {
    text.unwrap_or("null")
}

fn set(items: impl IntoIterator<Item = String>) -> String {
    format!("{{{}}}", items.into_iter().collect::<Vec<_>>().join("|"))
}

fn show_entry(entry: &LogEntry) -> String {
    match entry {
        LogEntry::Marker(end) => transactions::show_marker(end),
        LogEntry::Record(producer, record) => {
            show_record(record) + &transactions::show_producer(*producer)
        }
    }
}

fn show_record(record: &KeyValue) -> String {
    let version = record.value.as_ref().map_or(-1, |v| i16::from_be_bytes([v[0], v[1]]));
    match GroupRecord::decode(&record.key, record.value.as_deref()) {
        Ok(Some(GroupRecord::GroupMetadata { key, value: None })) => {
            format!("log group g={} tombstone", key.group)
        }
        Ok(Some(GroupRecord::GroupMetadata { key, value: Some(v) })) => {
            let members = v.members.iter().map(|m| {
                format!(
                    "{}/{}/{}/{}/{}/{}:{}:{}",
                    m.member_id,
                    null(m.group_instance_id.as_deref()),
                    m.client_id,
                    m.client_host,
                    m.rebalance_timeout,
                    m.session_timeout,
                    hex(&m.subscription),
                    hex(&m.assignment)
                )
            });
            format!(
                "log group g={} v={version} gen={} type={} proto={} leader={} ts={} members={}",
                key.group,
                v.generation,
                v.protocol_type,
                null(v.protocol.as_deref()),
                null(v.leader.as_deref()),
                v.current_state_timestamp,
                set(members)
            )
        }
        Ok(Some(GroupRecord::OffsetCommit { key, value })) => {
            let at = format!("log offset {}/{}/{}", key.group, key.topic, key.partition);
            match value {
                None => format!("{at} tombstone"),
                Some(v) => format!(
                    "{at} v={version} off={} epoch={} meta={} ts={} exp={} tid={}",
                    v.offset,
                    v.leader_epoch,
                    v.metadata,
                    v.commit_timestamp,
                    v.expire_timestamp,
                    v.topic_id
                ),
            }
        }
        Ok(Some(GroupRecord::ConsumerGroup(record))) => consumer::show_record(&record, version),
        other => panic!("a record that cannot be read was written: {other:?}"),
    }
}

fn show_response(response: &GroupResponse) -> Vec<String> {
    vec![match response {
        GroupResponse::JoinGroup(r) => {
            let members = r.members.iter().map(|m| {
                let instance = null(m.group_instance_id.as_deref());
                format!("{}/{instance}:{}", m.member_id, hex(&m.metadata))
            });
            format!(
                "join err={} gen={} type={} name={} leader={} skip={} id={} members={}",
                r.error_code.0,
                r.generation_id,
                null(r.protocol_type.as_deref()),
                // Which of the two it is depends on the client's version.
                null(r.protocol_name.as_deref().filter(|name| !name.is_empty())),
                r.leader,
                r.skip_assignment,
                r.member_id,
                set(members)
            )
        }
        GroupResponse::SyncGroup(r) => format!(
            "sync err={} type={} name={} assignment={}",
            r.error_code.0,
            null(r.protocol_type.as_deref()),
            null(r.protocol_name.as_deref()),
            hex(&r.assignment)
        ),
        GroupResponse::Heartbeat(r) => format!("hb err={}", r.error_code.0),
        GroupResponse::LeaveGroup(r) => {
            let members = r.members.iter().map(|m| {
                let instance = null(m.group_instance_id.as_deref());
                format!("{}/{instance}/{}", m.member_id, m.error_code.0)
            });
            format!("leave err={} members={}", r.error_code.0, set(members))
        }
        GroupResponse::DescribeGroups(groups) => {
            return groups
                .iter()
                .map(|g| {
                    let members = g.members.iter().map(|m| {
                        format!(
                            "{}/{}/{}/{}:{}:{}",
                            m.member_id,
                            null(m.group_instance_id.as_deref()),
                            m.client_id,
                            m.client_host,
                            hex(&m.member_metadata),
                            hex(&m.member_assignment)
                        )
                    });
                    format!(
                        "describe g={} err={} state={} type={} data={} members={}",
                        g.group_id,
                        g.error_code.0,
                        g.group_state,
                        g.protocol_type,
                        g.protocol_data,
                        set(members)
                    )
                })
                .collect();
        }
        GroupResponse::ListGroups(r) => {
            let groups = r.groups.iter().map(|g| {
                format!("{}/{}/{}/{}", g.group_id, g.protocol_type, g.group_state, g.group_type)
            });
            format!("list err={} groups={}", r.error_code.0, set(groups))
        }
        GroupResponse::DeleteGroups(results) => {
            let groups = results.iter().map(|g| format!("{}/{}", g.group_id, g.error_code.0));
            format!("delete groups={}", set(groups))
        }
        GroupResponse::OffsetCommit(r) => {
            let partitions = r.topics.iter().flat_map(|t| {
                t.partitions
                    .iter()
                    .map(|p| format!("{}/{}/{}", t.name, p.partition_index, p.error_code.0))
            });
            format!("commit topics={}", set(partitions))
        }
        GroupResponse::TxnOffsetCommit(r) => transactions::show_response(r),
        GroupResponse::CompleteTransaction(error) => format!("txnend err={}", error.0),
        GroupResponse::OffsetFetch(r) => {
            let partitions = r.topics.iter().flat_map(|t| {
                t.partitions.iter().map(|p| {
                    format!(
                        "{}/{}/{}/{}/{}/{}",
                        t.name,
                        p.partition_index,
                        p.committed_offset,
                        p.committed_leader_epoch,
                        null(p.metadata.as_deref()),
                        p.error_code.0
                    )
                })
            });
            format!("fetch g={} err={} topics={}", r.group_id, r.error_code.0, set(partitions))
        }
        GroupResponse::OffsetDelete(r) => {
            let partitions = r.topics.iter().flat_map(|t| {
                t.partitions
                    .iter()
                    .map(|p| format!("{}/{}/{}", t.name, p.partition_index, p.error_code.0))
            });
            format!("odel err={} topics={}", r.error_code.0, set(partitions))
        }
        GroupResponse::ConsumerGroupHeartbeat(r) => consumer::show_heartbeat(r),
        GroupResponse::ConsumerGroupDescribe(groups) => {
            return groups.iter().map(consumer::show_description).collect();
        }
    }]
}

fn show_group(group: &ClassicGroup) -> String {
    let members = group.members().map(|m| {
        let flags = [(m.is_awaiting_join(), "J"), (m.is_awaiting_sync(), "S"), (m.is_new(), "N")];
        let flags: String = flags.iter().filter(|(set, _)| *set).map(|(_, flag)| *flag).collect();
        format!("{}/{}/{flags}/{}", m.id, null(m.instance_id.as_deref()), hex(&m.assignment))
    });
    let topics = group.subscribed_topics().map_or_else(
        || "unknown".to_owned(),
        |topics| topics.iter().map(String::as_str).collect::<Vec<_>>().join("+"),
    );
    format!(
        "group {} {} gen={} type={} proto={} leader={} since={} pending={} unsynced={} topics={topics} members={}",
        group.id(),
        group.state(),
        group.generation(),
        null(group.protocol_type()),
        null(group.protocol_name()),
        group.leader().map_or("null", |leader| leader),
        group.state_timestamp_ms().unwrap_or(-1),
        group.pending_members(),
        set(group.unsynced_members().map(|id| id.to_string())),
        set(members)
    )
}
