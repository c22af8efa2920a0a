//! What a cluster and its metadata ask of a broker that takes its place in it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thalweg_metadata::config::{BrokerConfig, ConfigError, TOPIC, dynamic};
use thalweg_metadata::controller::{INTERNAL_TOPICS, SHARE_STATE_TOPIC};
use thalweg_metadata::image::{ConfigResource, MetadataImage, Partition, ResourceType, TopicImage};

use super::{Area, Finding, Findings, Severity};
use crate::control::membership::{self, Cluster, NOT_SERVED, Unmet};

/// The config that says how controllers are spoken to.
const LISTENER_NAMES: &str = "controller.listener.names";
/// Security protocol PLAINTEXT.
const PLAINTEXT: i16 = 0;
/// The one limit of clients that is enforced.
const ENFORCED_QUOTA: &str = "connection_creation_rate";
/// Topics, brokers or names that one finding gives; more are counted.
const NAMED_MAX: usize = 10;

/// A partition whose replicas have to be others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reassignment {
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: i32,
    /// The brokers that shall have it, the preferred leader first.
    pub replicas: Vec<i32>,
}

fn of(findings: &mut Vec<Finding>) -> Findings<'_> {
    Findings { area: Area::Cluster, all: findings }
}

fn named<T: ToString>(all: impl IntoIterator<Item = T>) -> String {
    let mut all = all.into_iter();
    let shown: Vec<String> = all.by_ref().take(NAMED_MAX).map(|it| it.to_string()).collect();
    match all.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Finds the controllers, as a start does.
pub(super) async fn probe(
    config: &BrokerConfig,
    within: Duration,
    findings: &mut Vec<Finding>,
) -> Option<Cluster> {
    let mut refused = config.cannot_honour().into_iter();
    if refused
        .any(|it| matches!(it, ConfigError::CannotHonour { name, .. } if name == LISTENER_NAMES))
    {
        of(findings).add(
            Severity::NotChecked,
            "the cluster cannot be asked: its controllers do not speak PLAINTEXT",
            "give the controllers a PLAINTEXT listener",
        );
        return None;
    }
    let quorum = membership::quorum_config(config);
    let client_id = format!("{}-inspect", config.node_id()).into();
    let timeouts = membership::timeouts(config);
    match membership::describe(&quorum.bootstrap, &client_id, timeouts, within).await {
        Ok(cluster) => Some(cluster),
        Err(reason) => {
            of(findings).add(
                Severity::NotChecked,
                format!("the cluster cannot be asked: {reason}"),
                "check again when a controller can be reached from here; --offline does without",
            );
            None
        }
    }
}

/// What the controllers say of themselves.
pub(super) fn check(
    cluster: &Cluster,
    config: &BrokerConfig,
    own_cluster: Option<&str>,
    findings: &mut Vec<Finding>,
) {
    let mut found = of(findings);
    let refusals = cluster.refusals(config, own_cluster);
    let is_refused = !refusals.is_empty();
    for reason in refusals {
        found
            .refused(reason, "leave this broker to Apache Kafka, or change what stands in the way");
    }
    if let Some(unserved) = cluster.unserved().filter(|_| !is_refused) {
        let hint = "nothing, if what is placed here need not be served fully";
        return found.not_honoured(unserved, hint);
    }
    let levels = cluster.features.iter().map(|(name, level)| (name.as_str(), *level));
    if !is_refused && membership::must_be_cordoned(levels) {
        let used: Vec<(&String, &i16)> = cluster
            .features
            .iter()
            .filter(|(name, level)| **level > 0 && NOT_SERVED.contains(&name.as_str()))
            .collect();
        let list = membership::unserved(used.iter().map(|(name, level)| (name.as_str(), **level)));
        let to_zero: Vec<String> = used.iter().map(|(name, _)| format!("{name}=0")).collect();
        found.not_honoured(
            format!(
                "features are in use that are not served fully yet ({list}): the broker joins cordoned and \
                 keeps its replicas, and controllers of 4.4 refuse assignments that name it"
            ),
            format!(
                "nothing, if that will do; if nobody needs them: thalweg cluster update-features --downgrade {}",
                to_zero.join(" ")
            ),
        );
    }
}

/// What the metadata asks of this node.
pub(super) fn check_metadata(
    image: &MetadataImage,
    config: &BrokerConfig,
    findings: &mut Vec<Finding>,
) {
    let node_id = config.node_id();
    let has_controller = config.roles().controller;
    if !has_controller {
        unmet(image, node_id, &mut of(findings));
    }
    let mut found = of(findings);
    in_use(image, has_controller, &mut found);
    topics(image, node_id, has_controller, &mut found);
    clients(image, &mut found);
    if !has_controller {
        peers(image, config, &mut found);
    }
    dynamic_configs(image, config, findings);
}

fn unmet(image: &MetadataImage, node_id: i32, found: &mut Findings<'_>) {
    for unmet in membership::unmet(image, node_id) {
        let action = match unmet {
            Unmet::Acls => {
                "leave this broker to Apache Kafka, or delete all access control entries (thalweg acl delete)"
            }
            Unmet::Replicas { .. } => {
                "execute the reassignment below before the broker is stopped: thalweg cluster reassign --file"
            }
        };
        found.refused(unmet.to_string(), action);
    }
}

/// What clients do that this broker has no part in.
fn in_use(image: &MetadataImage, has_controller: bool, found: &mut Findings<'_>) {
    if image.topics.by_name(SHARE_STATE_TOPIC).is_some() {
        let served = match has_controller {
            true => "are not served",
            false => "get errors from this broker, for all that it leads",
        };
        found.not_honoured(
            format!(
                "share groups were used in this cluster: their members {served} ({SHARE_STATE_TOPIC} exists)"
            ),
            "make sure that nobody uses them any more, or leave the topics to brokers of Apache Kafka",
        );
    }
}

/// Partitions that have a replica on a node.
pub(super) fn replicas_on(
    image: &MetadataImage,
    node_id: i32,
) -> impl Iterator<Item = (&TopicImage, i32, &Partition)> {
    image.topics.iter().flat_map(move |topic| {
        let here = topic.partitions.iter().filter(move |(_, it)| it.replicas.contains(&node_id));
        here.map(move |(index, partition)| (&**topic, *index, &**partition))
    })
}

/// Configs of topics that this broker has something of.
fn topics(image: &MetadataImage, node_id: i32, has_controller: bool, found: &mut Findings<'_>) {
    let here: BTreeSet<&str> =
        replicas_on(image, node_id).map(|(topic, ..)| &*topic.name).collect();
    let mut tiered = Vec::new();
    let mut inactive: BTreeMap<&str, (&'static str, Vec<&str>)> = BTreeMap::new();
    for (resource, configs) in image.configs.iter() {
        let name = resource.name.as_str();
        if resource.resource_type != ResourceType::Topic || !here.contains(name) {
            continue;
        }
        for (config, value) in configs.iter() {
            if config == "remote.storage.enable" {
                if value == "true" {
                    tiered.push(name);
                }
                continue;
            }
            let key = TOPIC.get(config);
            let reason = key.and_then(|key| key.inactive_because(has_controller));
            let is_default =
                key.is_some_and(|key| key.parse(value).ok().as_ref() == key.default_value());
            if let Some(reason) = reason.filter(|_| !is_default) {
                inactive.entry(config).or_insert((reason, Vec::new())).1.push(name);
            }
        }
    }
    if !tiered.is_empty() {
        found.not_honoured(
            format!(
                "topics with remote.storage.enable=true have replicas here: {}; of these only what is in the log \
                 directories is served, and remote segments are neither read nor written",
                named(tiered)
            ),
            "give their replicas to brokers of Apache Kafka (thalweg cluster reassign)",
        );
    }
    for (config, (reason, topics)) in inactive {
        found.not_honoured(
            format!("config {config} of topics {} does not act yet: {reason}", named(topics)),
            "delete it from the topics, or do without what it does",
        );
    }
}

/// What is set for clients and users.
fn clients(image: &MetadataImage, found: &mut Findings<'_>) {
    let limits: BTreeSet<&str> = image
        .quotas
        .entities
        .values()
        .flat_map(|limits| limits.keys().map(String::as_str))
        .filter(|limit| *limit != ENFORCED_QUOTA)
        .collect();
    if !limits.is_empty() {
        found.not_honoured(
            format!("limits of clients are not enforced yet: {}", named(limits)),
            "limit these clients by other means, or do without (thalweg quota list)",
        );
    }
    if !image.scram.is_empty() {
        found.note(
            format!(
                "there are {} SCRAM passwords, and no listener here asks for one",
                image.scram.len()
            ),
            "nothing: other brokers go by them",
        );
    }
    if !image.tokens.is_empty() {
        found.note(
            format!(
                "there are {} delegation tokens, and no listener here takes one",
                image.tokens.len()
            ),
            "nothing: other brokers go by them",
        );
    }
}

/// Whether the other brokers can be followed.
fn peers(image: &MetadataImage, config: &BrokerConfig, found: &mut Findings<'_>) {
    let (listener, _) = config.inter_broker_listener();
    let others = image.cluster.brokers.values().filter(|broker| broker.id != config.node_id());
    let closed: Vec<i32> = others
        .filter(|broker| {
            broker.endpoint(listener).is_none_or(|it| it.security_protocol != PLAINTEXT)
        })
        .map(|broker| broker.id)
        .collect();
    if !closed.is_empty() {
        found.not_honoured(
            format!(
                "brokers {} have no PLAINTEXT listener {listener}: nothing is replicated from them",
                named(closed)
            ),
            "give them such a listener, and name it in inter.broker.listener.name",
        );
    }
}

/// Configs that the cluster keeps for this broker.
fn dynamic_configs(image: &MetadataImage, config: &BrokerConfig, findings: &mut Vec<Finding>) {
    let defaults = image.configs.properties(&ConfigResource::broker_defaults());
    let own = image.configs.properties(&ConfigResource::broker(config.node_id()));
    if defaults.is_empty() && own.is_empty() {
        return;
    }
    let (with_dynamic, unused) = dynamic::apply(config, &defaults, &own);
    let mut found = of(findings);
    for config in unused {
        let whose = if config.for_one_broker { "this broker" } else { "all brokers" };
        found.not_honoured(
            format!(
                "the dynamic config {}={} of {whose} is not used: {}",
                config.name, config.value, config.reason
            ),
            "delete it (thalweg config alter broker)",
        );
    }
    // Those of the file were told before.
    let mut all = Vec::new();
    super::configs::reports_of(config, &mut all);
    let known = std::mem::take(&mut all);
    super::configs::reports_of(&with_dynamic, &mut all);
    let new = all.into_iter().filter(|finding| !known.contains(finding));
    findings.extend(new.map(|finding| Finding { area: Area::Cluster, ..finding }));
}

/// Replicas that must not be on this node, on other brokers; and the partitions for which there is none.
pub(super) fn reassignments(
    image: &MetadataImage,
    node_id: i32,
) -> (Vec<Reassignment>, Vec<String>) {
    let mut load: BTreeMap<i32, usize> = image
        .cluster
        .brokers
        .values()
        // One that is cordoned may lack the coordinator as well.
        .filter(|broker| {
            broker.id != node_id && !broker.fenced && broker.has_uncordoned_directory()
        })
        .map(|broker| (broker.id, 0))
        .collect();
    for topic in INTERNAL_TOPICS.iter().filter_map(|name| image.topics.by_name(name)) {
        for id in topic.partitions.values().flat_map(|partition| &partition.replicas) {
            if let Some(count) = load.get_mut(id) {
                *count += 1;
            }
        }
    }
    let (mut moves, mut stuck) = (Vec::new(), Vec::new());
    for unmet in membership::unmet(image, node_id) {
        let Unmet::Replicas { topic, partitions } = unmet else { continue };
        for index in partitions {
            let found = image.topics.by_name(topic).and_then(|it| it.partitions.get(&index));
            let Some(partition) = found else { continue };
            let free = load.iter_mut().filter(|(id, _)| !partition.replicas.contains(id));
            let Some((target, count)) = free.min_by_key(|(id, count)| (**count, **id)) else {
                stuck.push(format!("{topic}-{index}"));
                continue;
            };
            *count += 1;
            let replaced = partition.replicas.iter();
            let replicas = replaced.map(|id| if *id == node_id { *target } else { *id }).collect();
            moves.push(Reassignment { topic: topic.to_owned(), partition: index, replicas });
        }
    }
    (moves, stuck)
}

/// Says which partitions have nowhere to go.
pub(super) fn report_stuck(stuck: &[String], findings: &mut Vec<Finding>) {
    if !stuck.is_empty() {
        of(findings).note(
            format!("no other broker that runs can take {}", named(stuck)),
            "add a broker of Apache Kafka, or reassign these partitions to fewer replicas",
        );
    }
}

#[cfg(test)]
mod tests {
    use thalweg_metadata::image::Provenance;
    use thalweg_metadata::{Delta, image};
    use thalweg_wire::Uuid;
    use thalweg_wire::messages::client_quota_record::EntityData;
    use thalweg_wire::messages::metadata_record::MetadataRecord;
    use thalweg_wire::messages::register_broker_record::BrokerEndpoint;
    use thalweg_wire::messages::{
        AccessControlEntryRecord, ClientQuotaRecord, ConfigRecord, PartitionRecord,
        RegisterBrokerRecord, TopicRecord,
    };

    use super::*;
    use crate::boot::inspect::testing::config_of_node_4;

    fn config() -> BrokerConfig {
        config_of_node_4("/a")
    }

    fn topic(name: &str, number: u128, partitions: &[&[i32]]) -> Vec<MetadataRecord> {
        let topic_id = Uuid::from_u128(number << 80 | 1 << 66);
        let topic = TopicRecord { name: name.into(), topic_id, ..Default::default() };
        let mut records = vec![topic.into()];
        records.extend((0..).zip(partitions).map(|(partition_id, replicas)| {
            let record = PartitionRecord {
                partition_id,
                topic_id,
                replicas: replicas.to_vec(),
                isr: replicas.to_vec(),
                leader: replicas[0],
                leader_epoch: 0,
                partition_epoch: 0,
                ..Default::default()
            };
            record.into()
        }));
        records
    }

    fn broker(broker_id: i32, security_protocol: i16) -> MetadataRecord {
        let endpoint = BrokerEndpoint {
            name: "PLAINTEXT".into(),
            host: "h".into(),
            port: 9092,
            security_protocol,
            ..Default::default()
        };
        RegisterBrokerRecord {
            broker_id,
            end_points: vec![endpoint],
            fenced: false,
            ..Default::default()
        }
        .into()
    }

    fn configured(
        resource_type: ResourceType,
        of: &str,
        name: &str,
        value: &str,
    ) -> MetadataRecord {
        ConfigRecord {
            resource_type: resource_type.id(),
            resource_name: of.into(),
            name: name.into(),
            value: Some(value.into()),
            ..Default::default()
        }
        .into()
    }

    fn image(records: impl IntoIterator<Item = MetadataRecord>) -> MetadataImage {
        let mut delta = Delta::new(image::MetadataImage::empty());
        records.into_iter().for_each(|record| delta.replay(&record).unwrap());
        delta.apply(Provenance { offset: 9, epoch: 1, timestamp_ms: 0 }).0
    }

    fn checked(records: Vec<MetadataRecord>) -> Vec<(Severity, String)> {
        let mut findings = Vec::new();
        check_metadata(&image(records), &config(), &mut findings);
        assert!(findings.iter().all(|it| !it.action.is_empty()), "{findings:?}");
        findings.into_iter().map(|it| (it.severity, it.what)).collect()
    }

    #[test]
    fn a_cluster_that_asks_for_nothing_special_is_fine() {
        let mut records = topic("t", 1, &[&[4, 5]]);
        records.extend([broker(4, 0), broker(5, 0)]);
        assert_eq!(checked(records), []);
    }

    #[test]
    fn what_the_metadata_asks_for_is_told() {
        let mut records = topic("tiered", 1, &[&[4]]);
        records.extend(topic("elsewhere", 2, &[&[5]]));
        records.extend([
            configured(ResourceType::Topic, "tiered", "remote.storage.enable", "true"),
            configured(ResourceType::Topic, "elsewhere", "remote.storage.enable", "true"),
            configured(ResourceType::Topic, "tiered", "local.retention.ms", "1000"),
            configured(ResourceType::Broker, "", "metric.reporters", "com.example.Reporter"),
            broker(5, 1),
        ]);
        let entity =
            EntityData { entity_type: "user".into(), entity_name: None, ..Default::default() };
        let quota = ClientQuotaRecord {
            entity: vec![entity],
            key: "producer_byte_rate".into(),
            value: 1.0,
            ..Default::default()
        };
        records.push(quota.into());
        let found = checked(records);
        let count = |severity: Severity, part: &str| {
            found.iter().filter(|it| it.0 == severity && it.1.contains(part)).count()
        };
        for part in [
            "replicas here: tiered;",
            "local.retention.ms of topics tiered",
            "metric.reporters",
            "producer_byte_rate",
            "brokers 5 have no PLAINTEXT listener",
        ] {
            assert_eq!(count(Severity::NotHonoured, part), 1, "{part} in {found:#?}");
        }
        assert_eq!(found.len(), 5, "{found:#?}");
    }

    #[test]
    fn what_a_start_refuses_is_refused() {
        let found = checked(vec![AccessControlEntryRecord::default().into()]);
        assert!(matches!(&found[..], [(Severity::Refused, what)] if what.contains("access")));
        let found = checked(topic(SHARE_STATE_TOPIC, 1, &[&[4, 5], &[5, 6]]));
        let refused: Vec<_> = found.iter().filter(|it| it.0 == Severity::Refused).collect();
        assert!(refused.len() == 1 && refused[0].1.contains("partitions 0"), "{found:#?}");
    }

    #[test]
    fn replicas_move_to_those_that_have_the_least() {
        let mut records = topic(SHARE_STATE_TOPIC, 1, &[&[4, 5], &[6, 4], &[5, 6], &[4, 5, 6, 7]]);
        records.extend(topic("t", 2, &[&[4]]));
        records.extend([4, 5, 6, 7].map(|id| broker(id, 0)));
        let fenced = RegisterBrokerRecord { broker_id: 8, fenced: true, ..Default::default() };
        records.push(fenced.into());
        let (moves, stuck) = reassignments(&image(records), 4);
        let moves: Vec<_> =
            moves.into_iter().map(|it| (it.topic, it.partition, it.replicas)).collect();
        let topic = SHARE_STATE_TOPIC.to_owned();
        assert_eq!(moves, [(topic.clone(), 0, vec![7, 5]), (topic, 1, vec![6, 7])]);
        assert_eq!(stuck, ["__share_group_state-3"]);
    }
}
