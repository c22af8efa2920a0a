//! From a topic's configuration to what validation and the log need of it.

use thalweg_log::LogConfig;
use thalweg_metadata::config::TopicConfig;
use thalweg_metadata::config::topic::TopicCompression;
use thalweg_records::codec::CompressionSpec;
use thalweg_records::validate::{BrokerCompression, ValidationConfig};
use thalweg_records::{Compression, TimestampType};

use crate::replicas::shared::{ThrottledReplicas, throttled_replicas};

/// What a topic's configuration means for the data path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TopicSettings {
    pub(crate) validation: ValidationConfig,
    pub(crate) log: LogConfig,
    pub(crate) min_insync_replicas: i32,
    /// Replicas that are led, and those that follow, as fast as the throttles let them.
    pub(crate) leader_throttled: ThrottledReplicas,
    pub(crate) follower_throttled: ThrottledReplicas,
}

/// Settings of a topic.
pub(crate) fn of(config: &TopicConfig) -> TopicSettings {
    let unsigned = |value: i32| u32::try_from(value).unwrap_or(0);
    let level = |codec: Compression, level: i32| {
        // Levels were checked when the config was set.
        CompressionSpec::with_level(codec, level).unwrap_or(CompressionSpec::new(codec))
    };
    let compression = match config.compression {
        TopicCompression::Producer => BrokerCompression::Producer,
        TopicCompression::Uncompressed => BrokerCompression::Fixed(CompressionSpec::NONE),
        TopicCompression::Gzip => {
            BrokerCompression::Fixed(level(Compression::Gzip, config.gzip_level))
        }
        TopicCompression::Snappy => {
            BrokerCompression::Fixed(CompressionSpec::new(Compression::Snappy))
        }
        TopicCompression::Lz4 => {
            BrokerCompression::Fixed(level(Compression::Lz4, config.lz4_level))
        }
        TopicCompression::Zstd => {
            BrokerCompression::Fixed(level(Compression::Zstd, config.zstd_level))
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
            timestamp_before_max_ms: config.timestamp_before_max_ms,
            timestamp_after_max_ms: config.timestamp_after_max_ms,
            max_message_bytes: config.max_message_bytes,
            max_decompressed_message_bytes: config.max_decompressed_message_bytes,
            ..ValidationConfig::default()
        },
        log: LogConfig {
            segment_bytes: unsigned(config.segment_bytes),
            segment_ms: config.segment_ms,
            segment_jitter_ms: config.segment_jitter_ms,
            segment_index_bytes: unsigned(config.segment_index_bytes),
            index_interval_bytes: unsigned(config.index_interval_bytes),
            flush_messages: config.flush_messages,
            flush_ms: config.flush_ms,
            retention_bytes: config.retention_bytes,
            retention_ms: config.retention_ms,
            max_message_bytes: unsigned(config.max_message_bytes),
            max_decompressed_message_bytes: config.max_decompressed_message_bytes,
            file_delete_delay_ms: config.file_delete_delay_ms,
            preallocate: config.preallocate,
            delete: config.delete,
            compact: config.compact,
            min_cleanable_dirty_ratio: config.min_cleanable_dirty_ratio,
            min_compaction_lag_ms: config.min_compaction_lag_ms,
            max_compaction_lag_ms: config.max_compaction_lag_ms,
            delete_retention_ms: config.delete_retention_ms,
        },
        min_insync_replicas: config.min_insync_replicas,
    }
}

/// Kafka's defaults.
pub(crate) fn defaults() -> TopicSettings {
    TopicSettings {
        validation: ValidationConfig::default(),
        log: LogConfig::default(),
        min_insync_replicas: 1,
        leader_throttled: ThrottledReplicas::None,
        follower_throttled: ThrottledReplicas::None,
    }
}
