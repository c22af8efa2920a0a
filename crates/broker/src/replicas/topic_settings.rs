//! From a topic's configuration to what validation and the log need of it.

use thalweg_log::LogConfig;
use thalweg_metadata::config::topic::TopicCompression;
use thalweg_metadata::config::{TopicConfig, TopicScalars};
use thalweg_records::codec::CompressionSpec;
use thalweg_records::validate::{BrokerCompression, ValidationConfig};
use thalweg_records::{Compression, TimestampType};

use crate::replicas::shared::{ThrottledReplicas, throttled_replicas};

/// What a topic's configuration means for the data path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TopicSettings {
    pub(crate) validation: ValidationConfig,
    pub(crate) log: LogConfig,
    /// The numbers and booleans as they are configured.
    pub(crate) scalars: TopicScalars,
    /// Replicas that are led, and those that follow, as fast as the throttles let them.
    pub(crate) leader_throttled: ThrottledReplicas,
    pub(crate) follower_throttled: ThrottledReplicas,
}

/// Settings of a topic.
pub(crate) fn of(config: &TopicConfig) -> TopicSettings {
    let scalars = config.scalars;
    let unsigned = |value: i32| u32::try_from(value).unwrap_or(0);
    let level = |codec: Compression, level: i32| {
        // Levels were checked when the config was set.
        CompressionSpec::with_level(codec, level).unwrap_or(CompressionSpec::new(codec))
    };
    let compression = match config.compression {
        TopicCompression::Producer => BrokerCompression::Producer,
        TopicCompression::Uncompressed => BrokerCompression::Fixed(CompressionSpec::NONE),
        TopicCompression::Gzip => {
            BrokerCompression::Fixed(level(Compression::Gzip, scalars.compression_gzip_level))
        }
        TopicCompression::Snappy => {
            BrokerCompression::Fixed(CompressionSpec::new(Compression::Snappy))
        }
        TopicCompression::Lz4 => {
            BrokerCompression::Fixed(level(Compression::Lz4, scalars.compression_lz4_level))
        }
        TopicCompression::Zstd => {
            BrokerCompression::Fixed(level(Compression::Zstd, scalars.compression_zstd_level))
        }
    };
    let (leader_throttled, follower_throttled) = throttled_replicas(config);
    TopicSettings {
        leader_throttled,
        follower_throttled,
        validation: ValidationConfig {
            compression,
            compact: config.compact,
            timestamp_type: if config.log_append_time {
                TimestampType::LogAppendTime
            } else {
                TimestampType::CreateTime
            },
            timestamp_before_max_ms: scalars.message_timestamp_before_max_ms,
            timestamp_after_max_ms: scalars.message_timestamp_after_max_ms,
            max_message_bytes: scalars.max_message_bytes,
            max_decompressed_message_bytes: scalars.max_decompressed_message_bytes,
            ..ValidationConfig::default()
        },
        log: LogConfig {
            segment_bytes: unsigned(scalars.segment_bytes),
            segment_ms: scalars.segment_ms,
            segment_jitter_ms: scalars.segment_jitter_ms,
            segment_index_bytes: unsigned(scalars.segment_index_bytes),
            index_interval_bytes: unsigned(scalars.index_interval_bytes),
            flush_messages: scalars.flush_messages,
            flush_ms: scalars.flush_ms,
            retention_bytes: scalars.retention_bytes,
            retention_ms: scalars.retention_ms,
            max_message_bytes: unsigned(scalars.max_message_bytes),
            max_decompressed_message_bytes: scalars.max_decompressed_message_bytes,
            file_delete_delay_ms: scalars.file_delete_delay_ms,
            preallocate: scalars.preallocate,
            delete: config.delete,
            compact: config.compact,
            min_cleanable_dirty_ratio: scalars.min_cleanable_dirty_ratio,
            min_compaction_lag_ms: scalars.min_compaction_lag_ms,
            max_compaction_lag_ms: scalars.max_compaction_lag_ms,
            delete_retention_ms: scalars.delete_retention_ms,
        },
        scalars,
    }
}

/// Kafka's defaults.
pub(crate) fn defaults() -> TopicSettings {
    TopicSettings {
        validation: ValidationConfig::default(),
        log: LogConfig::default(),
        scalars: TopicScalars::default(),
        leader_throttled: ThrottledReplicas::None,
        follower_throttled: ThrottledReplicas::None,
    }
}
