//! The brokers' own topics, each with a coordinator, and how they are made.

use thalweg_metadata::controller::{OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC};
use thalweg_wire::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};

use crate::node::settings::Settings;

/// A topic that only brokers write to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InternalTopic {
    /// Groups and their offsets.
    Offsets,
    /// Transactions.
    Transactions,
    /// State of share groups.
    ShareState,
}

impl InternalTopic {
    pub(crate) const ALL: [InternalTopic; 3] =
        [InternalTopic::Offsets, InternalTopic::Transactions, InternalTopic::ShareState];

    pub(crate) fn named(name: &str) -> Option<InternalTopic> {
        Self::ALL.into_iter().find(|topic| topic.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            InternalTopic::Offsets => OFFSETS_TOPIC,
            InternalTopic::Transactions => TRANSACTIONS_TOPIC,
            InternalTopic::ShareState => SHARE_STATE_TOPIC,
        }
    }

    /// The topic as its coordinator makes it. The number of partitions decides where everything lies,
    /// and cannot be changed later.
    pub(crate) fn creatable(self, settings: &Settings) -> CreatableTopic {
        let config = |name: &str, value: String| CreatableTopicConfig {
            name: name.to_owned(),
            value: Some(value),
            ..Default::default()
        };
        let (policy, compression) = match self {
            InternalTopic::Offsets => ("compact", "producer"),
            InternalTopic::Transactions => ("compact", "uncompressed"),
            InternalTopic::ShareState => ("delete", "producer"),
        };
        let mut configs = vec![
            config("cleanup.policy", policy.into()),
            config("compression.type", compression.into()),
        ];
        let (num_partitions, replication_factor, min_isr, segment_bytes) = match self {
            InternalTopic::Offsets => (
                settings.offsets_topic_num_partitions(),
                settings.offsets_topic_replication_factor(),
                None,
                settings.offsets_topic_segment_bytes(),
            ),
            InternalTopic::Transactions => {
                configs.push(config("unclean.leader.election.enable", "false".into()));
                (
                    settings.transaction_state_log_num_partitions(),
                    settings.transaction_state_log_replication_factor(),
                    Some(settings.transaction_state_log_min_isr()),
                    settings.transaction_state_log_segment_bytes(),
                )
            }
            InternalTopic::ShareState => {
                configs.push(config("retention.ms", "-1".into()));
                (
                    settings.share_coordinator_state_topic_num_partitions(),
                    settings.share_coordinator_state_topic_replication_factor(),
                    Some(settings.share_coordinator_state_topic_min_isr().into()),
                    settings.share_coordinator_state_topic_segment_bytes(),
                )
            }
        };
        configs.extend(min_isr.map(|min| config("min.insync.replicas", min.to_string())));
        configs.push(config("segment.bytes", segment_bytes.to_string()));
        CreatableTopic {
            name: self.name().to_owned(),
            num_partitions,
            replication_factor,
            configs,
            ..Default::default()
        }
    }
}
