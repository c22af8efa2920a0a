//! What log directories say of a start: whose they are, who uses them, and what in them cannot be served.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use thalweg_log::{DirSurvey, LockHolder, MetaProperties, OpenError, SurveyedPartition};
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::controller::SHARE_STATE_TOPIC;
use thalweg_metadata::image::MetadataImage;

use super::{Area, Finding, Findings, Severity};

/// Partitions that one finding names; more are counted.
const NAMED_MAX: usize = 10;

fn of(findings: &mut Vec<Finding>) -> Findings<'_> {
    Findings { area: Area::Directories, all: findings }
}

/// The directories could not be looked at.
pub(super) fn unknown(findings: &mut Vec<Finding>) {
    of(findings).add(
        Severity::NotChecked,
        "the log directories could not be looked at",
        "see the message above",
    );
}

/// The broker epoch that a start would tell the controllers: that of the markers, if all agree.
pub(super) fn previous_broker_epoch(surveys: &[DirSurvey], log_dirs: usize) -> Option<i64> {
    let mut epochs = surveys.iter().take(log_dirs).map(|survey| survey.broker_epoch);
    let first = epochs.next().flatten()?;
    epochs.all(|epoch| epoch == Some(first)).then_some(first).filter(|epoch| *epoch >= 0)
}

/// Names, as many as are read.
fn named(names: &[String]) -> String {
    let shown = names.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMED_MAX) {
        Some(more) if more > 0 => format!("{shown} and {more} more"),
        _ => shown,
    }
}

fn name_of(partition: &SurveyedPartition) -> String {
    format!("{}-{}", partition.topic, partition.partition)
}

/// What the directories themselves say.
pub(super) fn check(
    surveys: &[DirSurvey],
    config: &BrokerConfig,
    is_takeover: bool,
    findings: &mut Vec<Finding>,
) {
    let mut found = of(findings);
    for (at, survey) in surveys.iter().enumerate() {
        let path = survey.path.display();
        if let Some(error) = &survey.unreadable {
            found.not_honoured(
                format!("{path} cannot be read, and would be offline: {error}"),
                "put it right, or check as the user that the broker runs as",
            );
            continue;
        }
        if !survey.exists {
            let (severity, action) = match surveys.iter().any(|other| other.exists) {
                true => {
                    (Severity::NotHonoured, "mount the disk, if there is one; or correct log.dirs")
                }
                false => {
                    (Severity::Note, "nothing, if the node is new; otherwise correct log.dirs")
                }
            };
            found.add(severity, format!("{path} is not there, and would be made"), action);
            continue;
        }
        if surveys[..at].iter().any(|other| is_same(&other.path, &survey.path)) {
            let error = OpenError::Duplicate(survey.path.clone());
            found.refused(error.to_string(), "name it once");
            continue;
        }
        identity(survey, config.node_id(), &mut found);
        usage(survey, is_takeover, &mut found);
        contents(survey, &mut found);
    }
    check_together(surveys, &mut found);
}

fn is_same(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    one == other || canonical(one).is_some_and(|path| canonical(other) == Some(path))
}

fn identity(survey: &DirSurvey, node_id: i32, found: &mut Findings<'_>) {
    let file = survey.path.join("meta.properties");
    let file = file.display();
    match &survey.meta {
        None if survey.partitions.is_empty() => {
            found
                .note(format!("{} is new: it will be formatted", survey.path.display()), "nothing");
        }
        None => found.not_honoured(
            format!("{file} is missing, beside {} partitions", survey.partitions.len()),
            "find out whose directory this is: it would be taken for this node's",
        ),
        Some(Err(reason)) => {
            found.refused(
                format!("{file}: {reason}"),
                "restore it, with the ids of the other directories",
            );
        }
        Some(Ok(meta)) if meta.node_id != node_id => found.refused(
            format!(
                "{file}: node.id is {}, but this node is configured as {node_id}",
                meta.node_id
            ),
            "correct node.id or log.dirs",
        ),
        Some(Ok(meta)) if meta.directory_id.is_none() => {
            found.note(format!("{file} has no directory.id: it will be given one"), "nothing")
        }
        Some(Ok(_)) => {}
    }
}

fn usage(survey: &DirSurvey, is_takeover: bool, found: &mut Findings<'_>) {
    let path = survey.path.display();
    match survey.lock {
        Some(LockHolder::Process(id)) => {
            let process = if id > 0 { format!("process {id}") } else { "another process".into() };
            let what = format!("{path} is in use by {process}");
            match is_takeover {
                true => found.note(what, "stop that broker (SIGTERM) before this one is started"),
                false => found.refused(what, "stop that process (SIGTERM) first"),
            }
        }
        Some(LockHolder::ThisProcess) => {
            found.refused(format!("{path} is in use by this process"), "stop it first");
        }
        Some(LockHolder::Nobody) | None => {
            let is_used = !survey.partitions.is_empty();
            if is_used && !survey.is_clean {
                found.note(
                    format!(
                        "{path} was not closed cleanly: the start checks what may not be on the disk, and the \
                         controllers take its replicas out of the ISR where they may lack records"
                    ),
                    "nothing; or start the former broker again, and stop it with SIGTERM",
                );
            }
        }
    }
}

fn contents(survey: &DirSurvey, found: &mut Findings<'_>) {
    let path = survey.path.display();
    if !survey.futures.is_empty() {
        found.note(
            format!("{path} has replicas that are being moved there: {}", named(&survey.futures)),
            "nothing; the moves go on",
        );
    }
    if !survey.strays.is_empty() {
        found.note(
            format!("{path} has partitions that were set aside: {}", named(&survey.strays)),
            "nothing; they stay as they are",
        );
    }
    let old: Vec<String> =
        survey.partitions.iter().filter(|it| it.old_magic.is_some()).map(name_of).collect();
    if !old.is_empty() {
        found.not_honoured(
            format!(
                "{path} has partitions in a format that only Kafka 3 and older write: {}; after a stop that was \
                 not clean they are not served, and they are not compacted",
                named(&old)
            ),
            "let retention take the old segments, or have the topics written anew",
        );
    }
}

/// What they say in comparison.
fn check_together(surveys: &[DirSurvey], found: &mut Findings<'_>) {
    let metas: Vec<(&Path, &MetaProperties)> = surveys
        .iter()
        .filter_map(|survey| Some((&*survey.path, survey.meta.as_ref()?.as_ref().ok()?)))
        .collect();
    if let Some((first, one)) = metas.first() {
        for (path, other) in metas.iter().skip(1) {
            if one.cluster_id != other.cluster_id {
                found.refused(
                    format!(
                        "{} belongs to cluster {}, {} to cluster {}",
                        first.display(),
                        one.cluster_id,
                        path.display(),
                        other.cluster_id
                    ),
                    "correct log.dirs",
                );
            }
        }
    }
    let mut by_id = BTreeMap::new();
    for (path, meta) in &metas {
        let Some(id) = meta.directory_id else { continue };
        match by_id.insert(id, *path) {
            Some(before) if !is_same(before, path) => found.refused(
                format!(
                    "directory.id {id} is that of both {} and {}",
                    before.display(),
                    path.display()
                ),
                "remove the copy from log.dirs",
            ),
            _ => {}
        }
    }
    let mut places: BTreeMap<(&str, i32), (&SurveyedPartition, &Path)> = BTreeMap::new();
    for survey in surveys {
        for partition in &survey.partitions {
            let place = (partition, &*survey.path);
            let before = places.insert((&partition.topic, partition.partition), place);
            let Some((other, path)) = before.filter(|(_, path)| !is_same(path, &survey.path))
            else {
                continue;
            };
            let name = name_of(partition);
            let both = format!("{} and {}", path.display(), survey.path.display());
            match other.topic_id.is_some() && other.topic_id == partition.topic_id {
                true => found.refused(
                    format!("partition {name} is in both {both}"),
                    "remove one of the two; the one with the smaller log end",
                ),
                false => found.note(
                    format!("partition {name} is in both {both}, of topics that were not the same"),
                    "nothing: the metadata decides, the other is set aside",
                ),
            }
        }
    }
    let is_clean = |survey: &&DirSurvey| survey.is_clean;
    let epochs: Vec<Option<i64>> =
        surveys.iter().filter(is_clean).map(|survey| survey.broker_epoch).collect();
    if epochs.iter().any(|epoch| Some(epoch) != epochs.first()) {
        found.note(
            "the log directories were closed by different runs of the broker",
            "nothing: the controllers are told that the stop was not a clean one",
        );
    }
}

/// Whether a node with a controller of its own may begin with, or go on with, a metadata log where it is.
pub(super) fn check_founding(dirs: &[PathBuf], metadata_dir: &Path, findings: &mut Vec<Finding>) {
    if let Err(reason) = crate::boot::metadata_place::check(dirs, metadata_dir) {
        of(findings).refused(reason, "put the directories right");
    }
}

/// What the metadata says of what is there.
pub(super) fn check_against(
    surveys: &[DirSurvey],
    image: &MetadataImage,
    config: &BrokerConfig,
    findings: &mut Vec<Finding>,
) {
    let mut found = of(findings);
    let node_id = config.node_id();
    let is_placed_here = |partition: &SurveyedPartition| {
        let topic = image.topics.by_name(&partition.topic);
        let topic =
            topic.filter(|topic| partition.topic_id.is_none_or(|topic_id| topic_id == topic.id));
        let placed = topic.and_then(|topic| topic.partitions.get(&partition.partition));
        placed.is_some_and(|placed| placed.replicas.contains(&node_id))
    };
    let elsewhere: Vec<String> = surveys
        .iter()
        .flat_map(|survey| &survey.partitions)
        .filter(|partition| !is_placed_here(partition))
        .map(name_of)
        .collect();
    if !elsewhere.is_empty() {
        found.note(
            format!(
                "the metadata does not place {} partitions here: {}; they will be set aside as strays",
                elsewhere.len(),
                named(&elsewhere)
            ),
            "nothing, or delete them afterwards",
        );
    }
    let ids: Vec<_> = surveys
        .iter()
        .filter_map(|survey| survey.meta.as_ref()?.as_ref().ok()?.directory_id)
        .collect();
    let registered = image.cluster.broker(node_id).map(|broker| broker.directories.clone());
    let lost: Vec<String> = registered
        .unwrap_or_default()
        .into_iter()
        .filter(|id| !ids.contains(id))
        .map(|id| id.to_string())
        .collect();
    if !lost.is_empty() {
        found.not_honoured(
            format!(
                "the cluster knows directories of this node that are not in log.dirs: {}; what is in them is copied \
                 anew from other replicas",
                named(&lost)
            ),
            "add them to log.dirs, unless they are lost",
        );
    }
}

/// What the directories say of replicas that this broker cannot serve, where the metadata is not known.
pub(super) fn check_alone(surveys: &[DirSurvey], findings: &mut Vec<Finding>) {
    let mut found = of(findings);
    let here: Vec<String> = surveys
        .iter()
        .flat_map(|survey| &survey.partitions)
        .filter(|partition| partition.topic == SHARE_STATE_TOPIC)
        .map(|partition| partition.partition.to_string())
        .collect();
    if !here.is_empty() {
        let here = named(&here);
        found.refused(
            format!("partitions {here} of {SHARE_STATE_TOPIC} are here, for which this broker has no coordinator yet"),
            "check again with the cluster, which gives a plan by which these replicas move to other brokers",
        );
    }
}

#[cfg(test)]
mod tests {
    use thalweg_metadata::image::Provenance;
    use thalweg_metadata::{Delta, image};
    use thalweg_wire::Uuid;
    use thalweg_wire::messages::{PartitionRecord, RegisterBrokerRecord, TopicRecord};

    use super::*;
    use crate::boot::inspect::testing::config_of_node_4;

    fn config() -> BrokerConfig {
        config_of_node_4("/a,/b")
    }

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number << 80 | 1 << 66)
    }

    fn survey(path: &str, node_id: i32, directory: u128) -> DirSurvey {
        DirSurvey {
            path: path.into(),
            exists: true,
            unreadable: None,
            meta: Some(Ok(MetaProperties::new("one", node_id, id(directory)))),
            lock: Some(LockHolder::Nobody),
            is_clean: true,
            broker_epoch: Some(7),
            partitions: Vec::new(),
            has_metadata_log: false,
            strays: Vec::new(),
            futures: Vec::new(),
        }
    }

    fn partition(topic: &str, partition: i32, topic_id: u128) -> SurveyedPartition {
        let topic = topic.to_owned();
        SurveyedPartition { topic, partition, topic_id: Some(id(topic_id)), old_magic: None }
    }

    fn checked(surveys: &[DirSurvey], is_takeover: bool) -> Vec<(Severity, String)> {
        let mut findings = Vec::new();
        check(surveys, &config(), is_takeover, &mut findings);
        assert!(findings.iter().all(|it| !it.action.is_empty()), "{findings:?}");
        findings.into_iter().map(|it| (it.severity, it.what)).collect()
    }

    /// The only finding.
    fn only(surveys: &[DirSurvey], is_takeover: bool) -> (Severity, String) {
        let mut found = checked(surveys, is_takeover);
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    }

    #[test]
    fn directories_in_order_say_nothing() {
        let mut first = survey("/a", 4, 1);
        first.partitions = vec![partition("t", 0, 1), partition("t", 1, 1)];
        let surveys = [first, survey("/b", 4, 2)];
        assert_eq!(checked(&surveys, true), []);
        assert_eq!(previous_broker_epoch(&surveys, 2), Some(7));
    }

    #[test]
    fn whose_directories_they_are() {
        let (severity, what) = only(&[survey("/a", 5, 1)], true);
        assert!(severity == Severity::Refused && what.contains("node.id is 5"), "{what}");
        let mut broken = survey("/a", 4, 1);
        broken.meta = Some(Err("version is missing".into()));
        let (severity, what) = only(&[broken], true);
        assert!(severity == Severity::Refused && what.contains("version is missing"), "{what}");
        let mut other = survey("/b", 4, 2);
        other.meta = Some(Ok(MetaProperties::new("two", 4, id(2))));
        let (severity, what) = only(&[survey("/a", 4, 1), other], true);
        assert!(severity == Severity::Refused && what.contains("cluster two"), "{what}");
        let (severity, what) = only(&[survey("/a", 4, 1), survey("/b", 4, 1)], true);
        assert!(severity == Severity::Refused && what.contains("directory.id"), "{what}");
        let (severity, what) = only(&[survey("/a", 4, 1), survey("/a", 4, 1)], true);
        assert!(severity == Severity::Refused && what.contains("named twice"), "{what}");
    }

    #[test]
    fn who_uses_them() {
        let mut used = survey("/a", 4, 1);
        used.lock = Some(LockHolder::Process(77));
        used.is_clean = false;
        used.partitions = vec![partition("t", 0, 1)];
        let (severity, what) = only(&[used], true);
        assert!(severity == Severity::Note && what.contains("process 77"), "{what}");
        let mut used = survey("/a", 4, 1);
        used.lock = Some(LockHolder::Process(77));
        assert_eq!(only(&[used], false).0, Severity::Refused);
        let mut unclean = survey("/a", 4, 1);
        (unclean.is_clean, unclean.broker_epoch) = (false, None);
        unclean.partitions = vec![partition("t", 0, 1)];
        let unclean = [unclean];
        let (severity, what) = only(&unclean, true);
        assert!(severity == Severity::Note && what.contains("not closed cleanly"), "{what}");
        assert_eq!(previous_broker_epoch(&unclean, 1), None);
        let mut earlier = survey("/b", 4, 2);
        earlier.broker_epoch = Some(6);
        let surveys = [survey("/a", 4, 1), earlier];
        assert!(only(&surveys, true).1.contains("different runs"));
        assert_eq!(previous_broker_epoch(&surveys, 2), None);
    }

    #[test]
    fn what_is_in_them() {
        let mut first = survey("/a", 4, 1);
        first.futures = vec!["t-0.1-future".into()];
        assert_eq!(only(&[first], true).0, Severity::Note);
        let mut first = survey("/a", 4, 1);
        first.strays = (0..15).map(|at| format!("t-{at}.1-stray")).collect();
        let (severity, what) = only(&[first], true);
        assert!(severity == Severity::Note && what.contains("and 5 more"), "{what}");
        let mut first = survey("/a", 4, 1);
        first.partitions = vec![SurveyedPartition { old_magic: Some(1), ..partition("t", 0, 1) }];
        assert_eq!(only(&[first], true).0, Severity::NotHonoured);
        let twice = |first_id, second_id| {
            let (mut first, mut second) = (survey("/a", 4, 1), survey("/b", 4, 2));
            first.partitions = vec![partition("t", 0, first_id)];
            second.partitions = vec![partition("t", 0, second_id)];
            only(&[first, second], true).0
        };
        assert_eq!((twice(1, 1), twice(1, 2)), (Severity::Refused, Severity::Note));
        let mut gone = survey("/b", 4, 2);
        gone.exists = false;
        assert_eq!(only(&[survey("/a", 4, 1), gone], true).0, Severity::NotHonoured);
    }

    #[test]
    fn without_the_metadata_the_directories_tell_what_cannot_be_served() {
        let mut first = survey("/a", 4, 1);
        first.partitions = vec![partition(SHARE_STATE_TOPIC, 3, 1), partition("t", 0, 2)];
        let mut findings = Vec::new();
        check_alone(&[first], &mut findings);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].severity == Severity::Refused && findings[0].what.contains("3"));
    }

    #[test]
    fn what_the_metadata_does_not_know_is_told() {
        let mut delta = Delta::new(image::MetadataImage::empty());
        let topic = TopicRecord { name: "t".into(), topic_id: id(1), ..Default::default() };
        delta.replay(&topic.into()).unwrap();
        for partition_id in [0, 1] {
            let replicas = vec![4 + partition_id];
            let partition = PartitionRecord {
                partition_id,
                topic_id: id(1),
                isr: replicas.clone(),
                leader: replicas[0],
                replicas,
                leader_epoch: 0,
                partition_epoch: 0,
                ..Default::default()
            };
            delta.replay(&partition.into()).unwrap();
        }
        let broker = RegisterBrokerRecord {
            broker_id: 4,
            log_dirs: vec![id(1), id(9)],
            ..Default::default()
        };
        delta.replay(&broker.into()).unwrap();
        let provenance = Provenance { offset: 9, epoch: 1, timestamp_ms: 0 };
        let image = delta.apply(provenance).0;
        let mut first = survey("/a", 4, 1);
        let other_topic = partition("t", 0, 2);
        first.partitions = vec![partition("t", 0, 1), partition("t", 1, 1), other_topic];
        let mut findings = Vec::new();
        check_against(&[first], &image, &config(), &mut findings);
        assert_eq!(findings.len(), 2, "{findings:#?}");
        assert!(findings[0].what.contains("2 partitions here: t-1, t-0"), "{findings:#?}");
        assert!(findings[1].what.contains(&id(9).to_string()), "{findings:#?}");
    }
}
