//! From the broker's configuration, and those of groups, to what the group coordinator needs of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_groups::{
    Assignors, BatchLimit, ClassicRebalanceMode, ConsumerGroupConfig, ConsumerMigrationPolicy,
    GroupConfig, assignor,
};
use thalweg_metadata::config::group::GroupValues;
use thalweg_metadata::config::{BrokerConfig, ConfigError, Properties, TopicConfig, broker};
use thalweg_metadata::controller::OFFSETS_TOPIC;
use thalweg_metadata::features::GROUP_VERSION;
use thalweg_metadata::image::{ConfigResource, MetadataImage, ResourceType};

use crate::coordination::compressed_len;

/// Settings of the group coordinator.
pub(crate) fn of(config: &BrokerConfig, image: &MetadataImage) -> GroupConfig {
    let size = |members: i32| usize::try_from(members).unwrap_or(usize::MAX);
    let default = GroupConfig::default();
    // Names and the policy were checked when the configuration was read.
    let assignors: Vec<_> = config
        .group_consumer_assignors()
        .iter()
        .filter_map(|name| assignor::assignor(broker::assignor_name(name)?))
        .collect();
    let policy = ConsumerMigrationPolicy::named(config.group_consumer_migration_policy());
    let (consumer, _) = of_group(config, &Properties::new());
    GroupConfig {
        min_session_timeout_ms: config.group_min_session_timeout_ms(),
        max_session_timeout_ms: config.group_max_session_timeout_ms(),
        initial_rebalance_delay_ms: u32::try_from(config.group_initial_rebalance_delay_ms())
            .unwrap_or(0),
        max_size: size(config.group_max_size()),
        offset_metadata_max_bytes: usize::try_from(config.offset_metadata_max_bytes()).unwrap_or(0),
        offsets_retention_ms: i64::from(config.offsets_retention_minutes()) * 60_000,
        offsets_retention_check_interval_ms: u64::try_from(
            config.offsets_retention_check_interval_ms(),
        )
        .unwrap_or(0),
        has_consumer_records: image.features.level(GROUP_VERSION) >= 1,
        batch_limit: batch_limit(
            config,
            &image.configs.properties(&ConfigResource::topic(OFFSETS_TOPIC)),
        ),
        consumer,
        consumer_groups: Arc::new(of_groups(config, consumer, image)),
        consumer_max_size: size(config.group_consumer_max_size()),
        consumer_assignors: Assignors(assignors),
        consumer_migration_policy: policy.unwrap_or(default.consumer_migration_policy),
        consumer_regex_refresh_interval_ms: config
            .group_consumer_regex_refresh_interval_ms()
            .into(),
        ..default
    }
}

/// What a batch of the groups' topic may hold, which the topic may have set for itself.
fn batch_limit(config: &BrokerConfig, own: &Properties) -> BatchLimit {
    let bytes = match TopicConfig::new(config, own) {
        Ok(topic) => topic.scalars.max_message_bytes,
        // Its partitions are told so, too, where they are opened.
        Err(_) => config.message_max_bytes(),
    };
    BatchLimit { bytes: usize::try_from(bytes).unwrap_or(0), compressed: compressed_len }
}

/// Whether something was changed that the settings of groups depend on.
pub(crate) fn is_concerned(of: &ConfigResource) -> bool {
    match of.resource_type {
        ResourceType::Broker | ResourceType::Group => true,
        ResourceType::Topic => of.name == OFFSETS_TOPIC,
        _ => false,
    }
}

/// What consumer groups have of their own, of those that have something.
fn of_groups(
    config: &BrokerConfig,
    default: ConsumerGroupConfig,
    image: &MetadataImage,
) -> BTreeMap<String, ConsumerGroupConfig> {
    let groups = image.configs.iter().filter(|(of, _)| of.resource_type == ResourceType::Group);
    groups
        .map(|(of, own)| {
            let (settings, errors) = of_group(config, own);
            for error in errors {
                // A value that an older release accepted, or another one's record.
                tracing::error!(group = of.name, %error, "the group runs with the broker's default");
            }
            (of.name.clone(), settings)
        })
        .filter(|(_, own)| *own != default)
        .collect()
}

/// Settings of a consumer group with configs of its own, and what is wrong with these.
fn of_group(config: &BrokerConfig, own: &Properties) -> (ConsumerGroupConfig, Vec<ConfigError>) {
    let mut values = GroupValues::new(config, own);
    // The registry lets no other name through.
    let mode = ClassicRebalanceMode::named(&values.text("thalweg.group.classic.rebalance.mode"));
    let settings = ConsumerGroupConfig {
        session_timeout_ms: values.int("consumer.session.timeout.ms"),
        heartbeat_interval_ms: values.int("consumer.heartbeat.interval.ms"),
        assignment_interval_ms: values.int("consumer.assignment.interval.ms"),
        classic_rebalance_mode: mode.unwrap_or(ClassicRebalanceMode::Barrier),
        heartbeat_push: values.boolean("thalweg.group.heartbeat.push"),
        disconnect_grace_ms: values.int("thalweg.group.disconnect.grace.ms"),
    };
    (settings, values.into_errors())
}

#[cfg(test)]
mod tests {
    use thalweg_metadata::config::broker::Mode;

    use super::*;

    fn config(pairs: &[(&str, &str)]) -> BrokerConfig {
        let pairs = pairs.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        BrokerConfig::new(pairs.collect(), Mode::Embedded).unwrap()
    }

    #[test]
    fn what_nobody_configured_is_kafkas_but_for_what_kafka_has_not() {
        let settings = of(&config(&[]), &MetadataImage::empty());
        let mut expected = GroupConfig { has_consumer_records: false, ..Default::default() };
        expected.consumer.classic_rebalance_mode = ClassicRebalanceMode::Server;
        expected.consumer.heartbeat_push = true;
        expected.consumer.disconnect_grace_ms = 5_000;
        assert_eq!(settings, expected);
    }

    #[test]
    fn a_batch_may_hold_what_the_topic_says() {
        let config = config(&[("message.max.bytes", "5000")]);
        assert_eq!(of(&config, &MetadataImage::empty()).batch_limit.bytes, 5000);
        let own = [("max.message.bytes".to_owned(), "7000".to_owned())].into();
        assert_eq!(batch_limit(&config, &own).bytes, 7000);
        let concerns = |topic: &str| is_concerned(&ConfigResource::topic(topic));
        assert!(concerns(OFFSETS_TOPIC) && !concerns("another"));
    }

    #[test]
    fn every_assignor_that_a_configuration_may_name_is_there() {
        for (name, expected) in [
            ("range,uniform", ["range", "uniform"].as_slice()),
            ("org.apache.kafka.coordinator.group.assignor.RangeAssignor", &["range"]),
            ("org.apache.kafka.coordinator.group.assignor.UniformAssignor", &["uniform"]),
        ] {
            let settings =
                of(&config(&[("group.consumer.assignors", name)]), &MetadataImage::empty());
            let names: Vec<_> = settings.consumer_assignors.0.iter().map(|a| a.name()).collect();
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn a_groups_own_values_are_kept_within_the_brokers_bounds() {
        let config = config(&[
            ("group.consumer.min.heartbeat.interval.ms", "100"),
            ("group.consumer.heartbeat.interval.ms", "200"),
        ]);
        let default = of(&config, &MetadataImage::empty()).consumer;
        let own = [
            ("consumer.session.timeout.ms", "1"),
            ("consumer.heartbeat.interval.ms", "99999"),
            ("share.session.timeout.ms", "50000"),
        ];
        let own = own.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let (settings, errors) = of_group(&config, &own);
        assert_eq!(errors, []);
        assert_eq!((settings.session_timeout_ms, settings.heartbeat_interval_ms), (45_000, 15_000));
        assert_eq!(settings.assignment_interval_ms, default.assignment_interval_ms);
        // One that cannot be read is as if it were not set.
        let own = [("consumer.heartbeat.interval.ms".to_owned(), "soon".to_owned())].into();
        let (settings, errors) = of_group(&config, &own);
        assert_eq!((settings, errors.len()), (default, 1));
    }
}
