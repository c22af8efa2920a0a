//! What is answered to a request that the controller did not decide about: an error for each thing that
//! was asked for where the API has a place for it, and otherwise one for all.

use thalweg_metadata::controller::ControllerRequest;
use thalweg_wire::messages::*;
use thalweg_wire::{ErrorCode, Message, Reader, Uuid, Writer};

const CODE: ErrorCode = ErrorCode::NOT_CONTROLLER;

/// The answer, as a client reads it that asked in the newest version.
fn refused<R: ControllerRequest>(request: &R) -> R::Response {
    let version = R::MAX_VERSION;
    let mut w = Writer::new();
    request.refused(CODE).encode(&mut w, version).expect("an answer that can be sent");
    R::Response::decode(&mut Reader::new(&w.to_vec()), version).expect("an answer")
}

#[test]
fn topics_are_refused_one_by_one() {
    use create_partitions_request::CreatePartitionsTopic;
    use create_topics_request::CreatableTopic;
    use delete_topics_request::DeleteTopicState;
    let request = CreateTopicsRequest {
        topics: ["a", "b"]
            .map(|name| CreatableTopic { name: name.into(), ..Default::default() })
            .into(),
        ..Default::default()
    };
    let said = refused(&request).topics.into_iter().map(|t| (t.name, t.error_code));
    assert_eq!(said.collect::<Vec<_>>(), [("a".into(), CODE), ("b".into(), CODE)]);

    let request = CreatePartitionsRequest {
        topics: ["a", "b"]
            .map(|name| CreatePartitionsTopic { name: name.into(), ..Default::default() })
            .into(),
        ..Default::default()
    };
    let said = refused(&request).results.into_iter().map(|t| (t.name, t.error_code));
    assert_eq!(said.collect::<Vec<_>>(), [("a".into(), CODE), ("b".into(), CODE)]);

    let id = Uuid::from_u128(7 << 64);
    let topic = |name: Option<&str>, topic_id| DeleteTopicState {
        name: name.map(Into::into),
        topic_id,
        ..Default::default()
    };
    let request = DeleteTopicsRequest {
        topics: vec![topic(Some("a"), Uuid::ZERO), topic(None, id)],
        ..Default::default()
    };
    let said = refused(&request).responses.into_iter().map(|t| (t.name, t.topic_id, t.error_code));
    let expected = [(Some("a".into()), Uuid::ZERO, CODE), (None, id, CODE)];
    assert_eq!(said.collect::<Vec<_>>(), expected);
    // Older requests name them.
    let request = DeleteTopicsRequest { topic_names: vec!["a".into()], ..Default::default() };
    let answer = request.refused(CODE).responses;
    assert_eq!((answer[0].name.as_deref(), answer[0].error_code), (Some("a"), CODE));
}

#[test]
fn configs_are_refused_one_by_one() {
    let request = IncrementalAlterConfigsRequest {
        resources: [2, 4]
            .map(|resource_type| incremental_alter_configs_request::AlterConfigsResource {
                resource_type,
                resource_name: "1".into(),
                ..Default::default()
            })
            .into(),
        ..Default::default()
    };
    let answer = refused(&request).responses;
    let said = answer.into_iter().map(|r| (r.resource_type, r.resource_name, r.error_code));
    let expected = [(2, "1".into(), CODE), (4, "1".into(), CODE)];
    assert_eq!(said.collect::<Vec<(i8, String, _)>>(), expected);

    let request = AlterConfigsRequest {
        resources: [2, 4]
            .map(|resource_type| alter_configs_request::AlterConfigsResource {
                resource_type,
                resource_name: "1".into(),
                ..Default::default()
            })
            .into(),
        ..Default::default()
    };
    let answer = refused(&request).responses;
    let said = answer.into_iter().map(|r| (r.resource_type, r.resource_name, r.error_code));
    assert_eq!(said.collect::<Vec<(i8, String, _)>>(), expected);
}

#[test]
fn quotas_are_refused_one_by_one() {
    use alter_client_quotas_request::{EntityData, EntryData};
    let entry = |name: Option<&str>| EntryData {
        entity: vec![EntityData {
            entity_type: "user".into(),
            entity_name: name.map(str::to_owned),
            ..Default::default()
        }],
        ..Default::default()
    };
    let request = AlterClientQuotasRequest {
        entries: vec![entry(Some("a")), entry(None)],
        ..Default::default()
    };
    let answer = refused(&request).entries;
    let said = answer.into_iter().map(|mut entry| {
        let part = entry.entity.remove(0);
        (part.entity_type, part.entity_name, entry.error_code)
    });
    let expected = [("user".into(), Some("a".into()), CODE), ("user".into(), None, CODE)];
    assert_eq!(said.collect::<Vec<(String, Option<String>, _)>>(), expected);
}

#[test]
fn other_requests_are_refused_as_a_whole() {
    let codes = [
        refused(&ElectLeadersRequest::default()).error_code,
        refused(&AlterPartitionReassignmentsRequest::default()).error_code,
        refused(&ListPartitionReassignmentsRequest::default()).error_code,
        refused(&UpdateFeaturesRequest::default()).error_code,
        refused(&AllocateProducerIdsRequest::default()).error_code,
        refused(&AssignReplicasToDirsRequest::default()).error_code,
        refused(&BrokerRegistrationRequest::default()).error_code,
        refused(&ControllerRegistrationRequest::default()).error_code,
        refused(&BrokerHeartbeatRequest::default()).error_code,
        refused(&UnregisterBrokerRequest::default()).error_code,
        refused(&UnregisterControllerRequest::default()).error_code,
        refused(&AlterPartitionRequest::default()).error_code,
    ];
    assert_eq!(codes, [CODE; 12]);
}
