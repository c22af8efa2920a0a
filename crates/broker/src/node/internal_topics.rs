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
        let value = |name: &str| settings.value(name).map(|value| value.to_text());
        let number = |name: &str| value(name).and_then(|text| text.parse::<i32>().ok());
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
        // Where the settings of the broker say each of these.
        let (partitions, replicas, min_isr, segment) = match self {
            InternalTopic::Offsets => (
                Some(settings.offsets_topic_partitions()),
                Some(settings.offsets_topic_replication_factor()),
                None,
                Some(settings.offsets_topic_segment_bytes().to_string()),
            ),
            InternalTopic::Transactions => {
                configs.push(config("unclean.leader.election.enable", "false".into()));
                (
                    number("transaction.state.log.num.partitions"),
                    number("transaction.state.log.replication.factor").and_then(to_i16),
                    value("transaction.state.log.min.isr"),
                    value("transaction.state.log.segment.bytes"),
                )
            }
            InternalTopic::ShareState => {
                configs.push(config("retention.ms", "-1".into()));
                (
                    number("share.coordinator.state.topic.num.partitions"),
                    number("share.coordinator.state.topic.replication.factor").and_then(to_i16),
                    value("share.coordinator.state.topic.min.isr"),
                    value("share.coordinator.state.topic.segment.bytes"),
                )
            }
        };
        configs.extend(min_isr.map(|value| config("min.insync.replicas", value)));
        configs.extend(segment.map(|value| config("segment.bytes", value)));
        CreatableTopic {
            name: self.name().to_owned(),
            num_partitions: partitions.unwrap_or(-1),
            replication_factor: replicas.unwrap_or(-1),
            configs,
            ..Default::default()
        }
    }
}

fn to_i16(number: i32) -> Option<i16> {
    i16::try_from(number).ok()
}
