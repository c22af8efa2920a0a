//! An admin's tool: `create TOPIC PARTITIONS`, `retention TOPIC MS`, `lag GROUP`, `rewind GROUP TOPIC`,
//! `delete TOPIC`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use thalweg::admin::{
    ConfigChange, ConfigDetails, ConfigResource, Mode, NewTopic, OffsetSpec, TopicRef,
};
use thalweg::{
    Admin, AdminConfig, AdminError, Cluster, CommittedOffset, Error, IsolationLevel, Options,
    Position, TopicPartition,
};

#[derive(Debug, thiserror::Error)]
enum ToolError {
    #[error("usage: admin_tool BOOTSTRAP create|retention|lag|rewind|delete ...")]
    Usage,
    #[error(transparent)]
    Kafka(#[from] Error),
    #[error("{what}: {error}")]
    Refused { what: String, error: AdminError },
}

/// The results of everything that was asked for, or the first refusal.
fn all<K: Ord + std::fmt::Debug, T>(
    results: BTreeMap<K, Result<T, AdminError>>,
) -> Result<Vec<(K, T)>, ToolError> {
    let one = |(what, result): (K, Result<T, AdminError>)| match result {
        Ok(value) => Ok((what, value)),
        Err(error) => Err(ToolError::Refused { what: format!("{what:?}"), error }),
    };
    results.into_iter().map(one).collect()
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            if matches!(error, ToolError::Usage) { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

async fn run(args: Vec<String>) -> Result<(), ToolError> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let [bootstrap, command @ ..] = args.as_slice() else { return Err(ToolError::Usage) };
    let cluster = Cluster::connect(bootstrap, Options::default()).await?;
    let config = AdminConfig::default().with_timeout(Duration::from_secs(20));
    let admin = Admin::new(cluster, config);
    match command {
        ["create", topic, partitions] => {
            let partitions = partitions.parse().map_err(|_| ToolError::Usage)?;
            let topic = NewTopic::new(*topic).with_partitions(partitions);
            for (name, created) in all(admin.create_topics(vec![topic], Mode::Apply).await)? {
                println!("{name} has {} partitions", created.partitions.unwrap_or(-1));
            }
        }
        ["retention", topic, ms] => {
            let topic = ConfigResource::topic(*topic);
            let changes = vec![ConfigChange::set("retention.ms", *ms)];
            all(admin.alter_configs([(topic.clone(), changes)].into(), Mode::Apply).await)?;
            for (_, configs) in
                all(admin.describe_configs([topic], ConfigDetails::default()).await)?
            {
                for config in configs.iter().filter(|config| config.name == "retention.ms") {
                    println!("retention.ms={}", config.value.as_deref().unwrap_or_default());
                }
            }
        }
        ["lag", group] => {
            let committed = committed(&admin, group).await?;
            let ends = offsets(&admin, committed.keys().cloned(), OffsetSpec::Latest).await?;
            for (partition, end) in ends {
                let lag = end - committed.get(&partition).copied().unwrap_or_default();
                println!("{partition} {lag}");
            }
        }
        ["rewind", group, topic] => {
            let partitions = partitions(&admin, topic).await?;
            let firsts = offsets(&admin, partitions, OffsetSpec::Earliest).await?;
            let at = |offset| CommittedOffset { position: Position::at(offset), metadata: None };
            let firsts = firsts.into_iter().map(|(partition, first)| (partition, at(first)));
            let rewound = all(admin.alter_group_offsets(group, firsts).await)?;
            println!("{} partitions", rewound.len());
        }
        ["delete", topic] => {
            let deleted = all(admin.delete_topics([TopicRef::from(*topic)]).await)?;
            println!("{} deleted", deleted.len());
        }
        _ => return Err(ToolError::Usage),
    }
    Ok(())
}

async fn committed(admin: &Admin, group: &str) -> Result<BTreeMap<TopicPartition, i64>, ToolError> {
    let mut all_committed = BTreeMap::new();
    for (_, partitions) in all(admin.list_group_offsets([group.to_owned()]).await)? {
        for (partition, committed) in all(partitions)? {
            all_committed.insert(partition, committed.position.offset);
        }
    }
    Ok(all_committed)
}

async fn partitions(admin: &Admin, topic: &str) -> Result<Vec<TopicPartition>, ToolError> {
    let mut partitions = Vec::new();
    for (_, topic) in all(admin.describe_topics([TopicRef::from(topic)]).await)? {
        let of = |index| TopicPartition::new(topic.name.as_str(), index);
        partitions.extend(topic.partitions.iter().map(|partition| of(partition.index)));
    }
    Ok(partitions)
}

async fn offsets(
    admin: &Admin,
    partitions: impl IntoIterator<Item = TopicPartition>,
    which: OffsetSpec,
) -> Result<Vec<(TopicPartition, i64)>, ToolError> {
    let wanted = partitions.into_iter().map(|partition| (partition, which));
    let found = all(admin.list_offsets(wanted, IsolationLevel::ReadUncommitted).await)?;
    Ok(found.into_iter().map(|(partition, found)| (partition, found.offset)).collect())
}
