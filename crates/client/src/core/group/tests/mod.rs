//! Members against coordinators, with a clock that only moves when told to.

mod application;
mod classic;
mod classic_simulation;
mod consumer;
mod consumer_simulation;
mod fake_coordinator;
mod simulation;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_wire::Uuid;

use super::{Action, GroupRequest, Member, RequestId};
use crate::core::metadata::{Metadata, Partition, Topic};
use crate::core::partition::TopicPartition;

/// Metadata of topics with so many partitions each. A topic's id is made of its name.
fn metadata(topics: &BTreeMap<Arc<str>, i32>) -> Metadata {
    let partition = Partition { leader: None, replicas: vec![], isr: vec![] };
    let topic = |(name, &count): (&Arc<str>, &i32)| {
        let partitions = (0..count).map(|index| (index, partition.clone())).collect();
        (name.to_string(), Topic { id: topic_id(name), internal: false, partitions })
    };
    Metadata { topics: topics.iter().map(topic).collect(), ..Metadata::default() }
}

fn topic_id(name: &str) -> Uuid {
    Uuid::from_u128(name.bytes().fold(1000, |id, byte| id * 256 + u128::from(byte)))
}

fn topics(names: &[&str]) -> BTreeSet<Arc<str>> {
    names.iter().map(|&name| name.into()).collect()
}

fn partitions(names: &[(&str, i32)]) -> Vec<TopicPartition> {
    names.iter().map(|&(topic, partition)| TopicPartition::new(topic, partition)).collect()
}

/// The next action must be a request.
fn expect_request(member: &mut Member, now_ms: u64) -> (RequestId, GroupRequest) {
    match member.next(now_ms) {
        Some(Action::Request { id, request, .. }) => (id, *request),
        other => panic!("a request was expected, not {other:?}"),
    }
}
