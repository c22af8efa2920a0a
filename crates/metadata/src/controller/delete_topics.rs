//! DeleteTopics.

use std::collections::{BTreeMap, BTreeSet};

use thalweg_wire::messages::RemoveTopicRecord;
use thalweg_wire::messages::delete_topics_request::DeleteTopicsRequest;
use thalweg_wire::messages::delete_topics_response::{DeletableTopicResult, DeleteTopicsResponse};
use thalweg_wire::{ErrorCode, Uuid};

use super::{
    Context, ControllerRequest, Decision, MAX_RECORDS_PER_REQUEST, RequestContext, too_many_records,
};
use crate::ApiError;

impl ControllerRequest for DeleteTopicsRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        given: &mut RequestContext<'_>,
    ) -> Decision<DeleteTopicsResponse> {
        delete_topics(context, self, given.version)
    }

    fn refused(&self, error_code: ErrorCode) -> DeleteTopicsResponse {
        let refused = |name: Option<&String>, topic_id| DeletableTopicResult {
            name: name.cloned(),
            topic_id,
            error_code,
            ..Default::default()
        };
        let topics = self.topics.iter().map(|topic| refused(topic.name.as_ref(), topic.topic_id));
        let named = self.topic_names.iter().map(|name| refused(Some(name), Uuid::ZERO));
        DeleteTopicsResponse { responses: topics.chain(named).collect(), ..Default::default() }
    }
}

/// Decides about topics to be deleted, by name or by id.
///
/// `version` is the version of the request: older ones are told in another way that topics cannot
/// be deleted here.
fn delete_topics(
    context: &Context<'_>,
    request: &DeleteTopicsRequest,
    version: i16,
) -> Decision<DeleteTopicsResponse> {
    let respond = |responses: Vec<DeletableTopicResult>| DeleteTopicsResponse {
        responses,
        ..DeleteTopicsResponse::default()
    };
    if !context.config.delete_topic_enable() {
        let code = match version {
            ..3 => ErrorCode::INVALID_REQUEST,
            _ => ErrorCode::TOPIC_DELETION_DISABLED,
        };
        return Decision::answer(respond(refuse_all(
            request,
            &ApiError::new(code, "delete.topic.enable=false: topics cannot be deleted"),
        )));
    }
    let invalid = |message: &str| ApiError::new(ErrorCode::INVALID_REQUEST, message);
    let mut results = Vec::new();
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ids: BTreeMap<Uuid, usize> = BTreeMap::new();
    for name in &request.topic_names {
        *names.entry(name).or_default() += 1;
    }
    for topic in &request.topics {
        match (&topic.name, topic.topic_id) {
            (None, Uuid::ZERO) => {
                let error = invalid("a topic has neither name nor id");
                results.push(result(None, Uuid::ZERO, &error));
            }
            (None, id) => *ids.entry(id).or_default() += 1,
            (Some(name), Uuid::ZERO) => *names.entry(name).or_default() += 1,
            (Some(name), id) => {
                let error = invalid("a topic has both name and id");
                results.push(result(Some(name), id, &error));
            }
        }
    }
    let mut duplicate_ids = BTreeSet::new();
    for (name, _) in names.iter().filter(|(_, count)| **count > 1) {
        let error = invalid("the topic's name stands more than once");
        results.push(result(Some(name), Uuid::ZERO, &error));
    }
    for (id, _) in ids.iter().filter(|(_, count)| **count > 1) {
        duplicate_ids.insert(*id);
        results.push(result(None, *id, &invalid("the topic's id stands more than once")));
    }
    let topics = &context.image.topics;
    let mut deleted: BTreeMap<Uuid, String> = BTreeMap::new();
    for (id, _) in ids.iter().filter(|(_, count)| **count == 1) {
        match topics.by_id(*id) {
            Some(topic) => {
                deleted.insert(*id, topic.name.to_string());
            }
            None => {
                let error = ApiError::new(
                    ErrorCode::UNKNOWN_TOPIC_ID,
                    format!("there is no topic with id {id}"),
                );
                results.push(result(None, *id, &error));
            }
        }
    }
    for (name, _) in names.iter().filter(|(_, count)| **count == 1) {
        let Some(topic) = topics.by_name(name) else {
            let error = ApiError::new(
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                format!("there is no topic {name:?}"),
            );
            results.push(result(Some(name), Uuid::ZERO, &error));
            continue;
        };
        let id = topic.id;
        if duplicate_ids.contains(&id) || deleted.insert(id, topic.name.to_string()).is_some() {
            // Asked for by name and by id: neither counts.
            duplicate_ids.insert(id);
            deleted.remove(&id);
            let error = invalid("the topic's name and its id stand in the same request");
            results.push(result(Some(name), id, &error));
        }
    }
    if deleted.len() > MAX_RECORDS_PER_REQUEST {
        return Decision::answer(respond(refuse_all(request, &too_many_records())));
    }
    let mut records = Vec::with_capacity(deleted.len());
    for (id, name) in &deleted {
        records.push(RemoveTopicRecord { topic_id: *id, ..RemoveTopicRecord::default() }.into());
        results.push(result(Some(name), *id, &ApiError::NONE));
    }
    Decision { records, response: respond(results) }
}

fn result(name: Option<&str>, id: Uuid, error: &ApiError) -> DeletableTopicResult {
    DeletableTopicResult {
        name: name.map(str::to_owned),
        topic_id: id,
        error_code: error.code,
        error_message: error.message.clone(),
        ..DeletableTopicResult::default()
    }
}

fn refuse_all(request: &DeleteTopicsRequest, error: &ApiError) -> Vec<DeletableTopicResult> {
    let named = request.topic_names.iter().map(|name| result(Some(name), Uuid::ZERO, error));
    let topics = request.topics.iter().map(|t| result(t.name.as_deref(), t.topic_id, error));
    named.chain(topics).collect()
}
