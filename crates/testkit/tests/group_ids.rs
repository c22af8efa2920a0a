//! Requests with a group id that is empty, blank or of no group: answered as Apache Kafka answers them.

use std::collections::BTreeMap;
use std::time::Duration;

use thalweg::{Connection, Options};
use thalweg_testkit::kafka::Shared;
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::leave_group_request::MemberIdentity;
use thalweg_wire::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use thalweg_wire::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use thalweg_wire::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use thalweg_wire::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use thalweg_wire::messages::*;

use crate::support::send;

const WAIT: Duration = Duration::from_secs(60);
const TOPIC: &str = "group-ids";

/// The codes in the answer to each request, by what it is.
type Answers = BTreeMap<String, Vec<ErrorCode>>;

struct Asker {
    connection: Connection,
    answers: Answers,
}

impl Asker {
    async fn new(bootstrap: &str) -> Asker {
        let connection = Connection::open(bootstrap, &Options::default()).await.unwrap();
        let create = requests::create(requests::topic(TOPIC, 1, &[]));
        connection.send(&create).await.unwrap();
        let asker = Asker { connection, answers: Answers::new() };
        let deadline = tokio::time::Instant::now() + WAIT;
        // All shards have loaded: no answer is of a coordinator that is not there yet.
        while !asker.is_loaded().await {
            assert!(tokio::time::Instant::now() < deadline, "the coordinators have not loaded");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        asker
    }

    async fn is_loaded(&self) -> bool {
        let find = requests::find_group_coordinator("group-ids");
        let found = self.connection.send(&find).await.unwrap();
        // The coordinator of the transactions' requests, too.
        let find = requests::find_transaction_coordinator("group-ids");
        let transactions = self.connection.send(&find).await.unwrap();
        let add = AddOffsetsToTxnRequest {
            transactional_id: "group-ids".into(),
            producer_id: 4_711,
            group_id: "group-ids".into(),
            ..Default::default()
        };
        let added = send(&self.connection, &add, 4).await;
        let is_coordinated = !matches!(
            added.error_code,
            ErrorCode::NOT_COORDINATOR
                | ErrorCode::COORDINATOR_NOT_AVAILABLE
                | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        );
        // Of all shards.
        let groups = (0..50).map(|number| format!("shard-{number}")).collect();
        let describe = DescribeGroupsRequest { groups, ..Default::default() };
        let described = send(&self.connection, &describe, 5).await;
        found.coordinators[0].error_code.is_ok()
            && transactions.coordinators[0].error_code.is_ok()
            && is_coordinated
            && described.groups.iter().all(|group| group.error_code.is_ok())
    }

    fn note(&mut self, id: &str, what: &str, codes: impl IntoIterator<Item = ErrorCode>) {
        self.answers.insert(format!("{what} of {id:?}"), codes.into_iter().collect());
    }

    async fn members(&mut self, id: &str) {
        let group_id = id.to_owned();
        let protocol = JoinGroupRequestProtocol { name: "range".into(), ..Default::default() };
        let join = JoinGroupRequest {
            group_id: group_id.clone(),
            protocol_type: "consumer".into(),
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: 10_000,
            protocols: vec![protocol],
            ..Default::default()
        };
        let answer = send(&self.connection, &join, 9).await;
        self.note(id, "JoinGroup", [answer.error_code]);
        let sync = SyncGroupRequest {
            group_id: group_id.clone(),
            generation_id: 1,
            member_id: "m".into(),
            protocol_type: Some("consumer".into()),
            protocol_name: Some("range".into()),
            ..Default::default()
        };
        let answer = send(&self.connection, &sync, 5).await;
        self.note(id, "SyncGroup", [answer.error_code]);
        let heartbeat = HeartbeatRequest {
            group_id: group_id.clone(),
            generation_id: 1,
            member_id: "m".into(),
            ..Default::default()
        };
        let answer = send(&self.connection, &heartbeat, 4).await;
        self.note(id, "Heartbeat", [answer.error_code]);
        let member = MemberIdentity { member_id: "m".into(), ..Default::default() };
        for members in [vec![], vec![member]] {
            let what = format!("LeaveGroup of {} members", members.len());
            let leave =
                LeaveGroupRequest { group_id: group_id.clone(), members, ..Default::default() };
            let answer = send(&self.connection, &leave, 5).await;
            let each = answer.members.iter().map(|member| member.error_code);
            self.note(id, &what, [answer.error_code].into_iter().chain(each));
        }
        let beat = ConsumerGroupHeartbeatRequest {
            group_id: group_id.clone(),
            member_id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
            rebalance_timeout_ms: 10_000,
            subscribed_topic_names: Some(vec![TOPIC.into()]),
            topic_partitions: Some(vec![]),
            ..Default::default()
        };
        let answer = send(&self.connection, &beat, 1).await;
        self.note(id, "ConsumerGroupHeartbeat", [answer.error_code]);
        // What it may have begun is over.
        let leave = ConsumerGroupHeartbeatRequest { member_epoch: -1, ..beat };
        let answer = send(&self.connection, &leave, 1).await;
        self.note(id, "ConsumerGroupHeartbeat that leaves", [answer.error_code]);
    }

    async fn groups(&mut self, id: &str) {
        for ids in [vec![id.to_owned()], vec![id.to_owned(), "unknown".into()]] {
            let count = ids.len();
            let describe = DescribeGroupsRequest { groups: ids.clone(), ..Default::default() };
            let answer = send(&self.connection, &describe, 6).await;
            let codes = answer.groups.iter().map(|group| group.error_code);
            self.note(id, &format!("DescribeGroups with {count}"), codes);
            let describe =
                ConsumerGroupDescribeRequest { group_ids: ids.clone(), ..Default::default() };
            let answer = send(&self.connection, &describe, 1).await;
            let codes = answer.groups.iter().map(|group| group.error_code);
            self.note(id, &format!("ConsumerGroupDescribe with {count}"), codes);
            let delete = DeleteGroupsRequest { groups_names: ids, ..Default::default() };
            let answer = send(&self.connection, &delete, 2).await;
            let codes: BTreeMap<_, _> =
                answer.results.iter().map(|it| (it.group_id.clone(), it.error_code)).collect();
            self.note(id, &format!("DeleteGroups with {count}"), codes.into_values());
        }
        let find = requests::find_group_coordinator(id);
        let answer = send(&self.connection, &find, 4).await;
        let codes = answer.coordinators.iter().map(|it| it.error_code);
        self.note(id, "FindCoordinator", codes);
        let find = FindCoordinatorRequest { key: id.into(), ..Default::default() };
        let answer = send(&self.connection, &find, 3).await;
        self.note(id, "FindCoordinator 3", [answer.error_code]);
        let config = "consumer.session.timeout.ms";
        let alter = IncrementalAlterConfigsRequest {
            validate_only: true,
            ..requests::set_config_of(32, id, config, 0, Some("50000"))
        };
        let answer = send(&self.connection, &alter, 1).await;
        let codes = answer.responses.iter().map(|it| it.error_code);
        self.note(id, "IncrementalAlterConfigs", codes);
    }

    async fn offsets(&mut self, id: &str) {
        let group_id = id.to_owned();
        for topics in [vec![], vec![TOPIC], vec!["unknown"], vec![TOPIC, "unknown"]] {
            let request = OffsetDeleteRequest {
                group_id: group_id.clone(),
                topics: topics
                    .iter()
                    .map(|name| OffsetDeleteRequestTopic {
                        name: (*name).into(),
                        partitions: vec![OffsetDeleteRequestPartition { partition_index: 0 }],
                    })
                    .collect(),
            };
            let mut answer = send(&self.connection, &request, 0).await;
            answer.topics.sort_by(|one, other| one.name.cmp(&other.name));
            let each = answer.topics.iter().flat_map(|it| &it.partitions).map(|it| it.error_code);
            let codes = [answer.error_code].into_iter().chain(each);
            self.note(id, &format!("OffsetDelete of {topics:?}"), codes);

            let request = OffsetCommitRequest {
                group_id: group_id.clone(),
                generation_id_or_member_epoch: -1,
                topics: topics
                    .iter()
                    .map(|name| OffsetCommitRequestTopic {
                        name: (*name).into(),
                        partitions: vec![OffsetCommitRequestPartition::default()],
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            };
            let mut answer = send(&self.connection, &request, 9).await;
            answer.topics.sort_by(|one, other| one.name.cmp(&other.name));
            let codes = answer.topics.iter().flat_map(|it| &it.partitions).map(|it| it.error_code);
            self.note(id, &format!("OffsetCommit of {topics:?}"), codes);

            let request = TxnOffsetCommitRequest {
                transactional_id: "group-ids".into(),
                group_id: group_id.clone(),
                producer_id: 4_711,
                generation_id_or_member_epoch: -1,
                topics: topics
                    .iter()
                    .map(|name| TxnOffsetCommitRequestTopic {
                        name: (*name).into(),
                        partitions: vec![TxnOffsetCommitRequestPartition::default()],
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            };
            let mut answer = send(&self.connection, &request, 3).await;
            answer.topics.sort_by(|one, other| one.name.cmp(&other.name));
            let codes = answer.topics.iter().flat_map(|it| &it.partitions).map(|it| it.error_code);
            self.note(id, &format!("TxnOffsetCommit of {topics:?}"), codes);

            let group = OffsetFetchRequestGroup {
                group_id: group_id.clone(),
                topics: (!topics.is_empty()).then(|| {
                    topics
                        .iter()
                        .map(|name| OffsetFetchRequestTopics {
                            name: (*name).into(),
                            partition_indexes: vec![0],
                            ..Default::default()
                        })
                        .collect()
                }),
                member_epoch: -1,
                ..Default::default()
            };
            let request = OffsetFetchRequest { groups: vec![group], ..Default::default() };
            let answer = send(&self.connection, &request, 9).await;
            let codes = answer.groups.iter().flat_map(|group| {
                let each = group.topics.iter().flat_map(|it| &it.partitions);
                [group.error_code].into_iter().chain(each.map(|it| it.error_code))
            });
            self.note(id, &format!("OffsetFetch of {topics:?}"), codes);

            let request = OffsetFetchRequest {
                group_id: group_id.clone(),
                topics: (!topics.is_empty()).then(|| {
                    topics
                        .iter()
                        .map(|name| OffsetFetchRequestTopic {
                            name: (*name).into(),
                            partition_indexes: vec![0],
                            ..Default::default()
                        })
                        .collect()
                }),
                ..Default::default()
            };
            let answer = send(&self.connection, &request, 7).await;
            let each = answer.topics.iter().flat_map(|it| &it.partitions).map(|it| it.error_code);
            let codes = [answer.error_code].into_iter().chain(each);
            self.note(id, &format!("OffsetFetch 7 of {topics:?}"), codes);
        }
        let request = AddOffsetsToTxnRequest {
            transactional_id: "group-ids".into(),
            producer_id: 4_711,
            group_id,
            ..Default::default()
        };
        let answer = send(&self.connection, &request, 4).await;
        self.note(id, "AddOffsetsToTxn", [answer.error_code]);
    }

    /// What is answered to a change of a logger's level.
    async fn alter_logger(
        &self,
        node: &str,
        (name, operation, value): (&str, i8, Option<&str>),
    ) -> ErrorCode {
        let alter = IncrementalAlterConfigsRequest {
            validate_only: true,
            ..requests::set_config_of(8, node, name, operation, value)
        };
        send(&self.connection, &alter, 1).await.responses[0].error_code
    }
}

async fn answers(bootstrap: &str) -> Answers {
    let mut asker = Asker::new(bootstrap).await;
    for id in ["", " ", "no-such-group"] {
        asker.members(id).await;
        asker.groups(id).await;
        asker.offsets(id).await;
    }
    asker.answers
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_and_blank_group_ids_are_answered_as_by_kafka() {
    let Some(kafka) = Shared::get() else { return };
    let expected = answers(kafka.bootstrap()).await;
    let broker = TestBroker::builder().config("offsets.topic.num.partitions", 4).start().await;
    let found = answers(&broker.bootstrap()).await;
    let differ: Vec<String> = expected
        .iter()
        .filter(|(what, codes)| found.get(*what) != Some(codes))
        .map(|(what, codes)| format!("{what}: {:?} instead of {codes:?}", found.get(what)))
        .collect();
    assert!(differ.is_empty() && found.len() == expected.len(), "{differ:#?}");
}

/// The codes that `loggers` of the broker has; the text of the messages is there.
#[tokio::test(flavor = "multi_thread")]
async fn changes_of_loggers_get_these_codes_from_kafka() {
    const SET: i8 = 0;
    const DELETE: i8 = 1;
    const APPEND: i8 = 2;
    const SUBTRACT: i8 = 3;
    let Some(kafka) = Shared::get() else { return };
    let asker = Asker::new(kafka.bootstrap()).await;
    let metadata = asker.connection.send(&MetadataRequest::default()).await.unwrap();
    let node = metadata.brokers[0].node_id.to_string();
    let (invalid, config) = (ErrorCode::INVALID_REQUEST, ErrorCode::INVALID_CONFIG);
    for (change, code) in [
        (("root", SET, Some("INFO")), ErrorCode::NONE),
        (("root", SET, Some("LOUD")), config),
        (("root", SET, Some("info")), config),
        (("root", SET, Some("")), config),
        (("root", SET, None), invalid),
        (("no.such.logger", SET, Some("INFO")), config),
        (("root", DELETE, None), invalid),
        (("root", APPEND, Some("INFO")), invalid),
        (("root", SUBTRACT, Some("INFO")), invalid),
    ] {
        assert_eq!(asker.alter_logger(&node, change).await, code, "{change:?}");
    }
    for node in ["", "x", "4711"] {
        let code = asker.alter_logger(node, ("root", SET, Some("INFO"))).await;
        assert_eq!(code, invalid, "{node:?}");
    }
}
