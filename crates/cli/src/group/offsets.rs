//! Partitions of a group, and `thalweg group delete-offsets`.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use serde_json::json;
use thalweg::TopicPartition;
use thalweg::admin::{GroupOffsets, TopicRef};

use crate::client::{CliError, ClientArgs, CommandContext, Tally, parse_partitions};

/// Which partitions of a group are meant.
#[derive(Args)]
pub(super) struct Scope {
    /// A topic, or some of its partitions: orders, orders:0,1; may be repeated
    #[arg(long = "topic", value_name = "TOPIC[:PARTITION,...]", value_parser = parse_partitions)]
    topics: Vec<(String, Option<BTreeSet<i32>>)>,
    /// Everything that the group committed
    #[arg(long, conflicts_with = "topics")]
    all_topics: bool,
}

impl Scope {
    /// Whether anything is meant at all.
    pub(super) fn is_empty(&self) -> bool {
        self.topics.is_empty() && !self.all_topics
    }

    /// Refuses that nothing is meant.
    pub(super) fn check(&self) -> Result<(), CliError> {
        match self.is_empty() {
            true => Err(CliError::Usage("which offsets? --topic or --all-topics".into())),
            false => Ok(()),
        }
    }

    /// The partitions.
    pub(super) async fn partitions(
        &self,
        session: &CommandContext,
        committed: &GroupOffsets,
    ) -> Result<BTreeSet<TopicPartition>, CliError> {
        if self.all_topics {
            return Ok(committed.keys().cloned().collect());
        }
        let mut partitions = BTreeSet::new();
        let mut whole = BTreeMap::new();
        for (topic, indexes) in &self.topics {
            match indexes {
                Some(indexes) => {
                    let each = indexes.iter().map(|index| TopicPartition::new(&**topic, *index));
                    partitions.extend(each);
                }
                None => {
                    whole.insert(TopicRef::from(&**topic), topic);
                }
            }
        }
        for (topic, result) in session.admin.describe_topics(whole.into_keys()).await {
            let described = result.map_err(|error| match CliError::from(error) {
                CliError::NotFound(why) => CliError::NotFound(format!("topic {topic}: {why}")),
                other => other,
            })?;
            let name: std::sync::Arc<str> = described.name.into();
            let each = described.partitions.iter();
            partitions.extend(each.map(|p| TopicPartition::new(name.clone(), p.index)));
        }
        Ok(partitions)
    }
}

/// What a group committed.
pub(super) async fn committed(
    session: &CommandContext,
    group: &str,
) -> Result<GroupOffsets, CliError> {
    let mut results = session.admin.list_group_offsets([group.to_owned()]).await;
    let result = results.remove(group);
    let result = result.ok_or_else(|| CliError::Failed(format!("nothing is said of {group}")))?;
    Ok(result?)
}

#[derive(Args)]
pub(super) struct DeleteOffsetsArgs {
    /// Group
    group: String,
    #[command(flatten)]
    scope: Scope,
}

pub(super) async fn delete(client: &ClientArgs, args: DeleteOffsetsArgs) -> Result<(), CliError> {
    args.scope.check()?;
    let mut session = CommandContext::open(client).await?;
    let committed = committed(&session, &args.group).await?;
    let partitions = args.scope.partitions(&session, &committed).await?;
    if partitions.is_empty() {
        let why = format!("group {} has committed nothing", args.group);
        return Err(CliError::NotFound(why));
    }
    let mut tally = Tally::default();
    let mut all = Vec::new();
    let results = session.admin.delete_group_offsets(&args.group, partitions).await;
    for (partition, result) in results {
        let failure = result.as_ref().err().map(ToString::to_string);
        let deleted = tally.take(&partition, result).is_some();
        if deleted && !session.json() {
            session.out.line(&format!("{}:{}", partition.topic, partition.partition))?;
        }
        all.push(json!({
            "topic": &*partition.topic,
            "partition": partition.partition,
            "deleted": deleted,
            "error": failure,
        }));
    }
    session.conclude(tally, all)
}
