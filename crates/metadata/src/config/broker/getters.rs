//! A method for each config that something goes by: its name and its type, which the registry has to agree with
//! (`call_every_getter`).

use super::BrokerConfig;
use crate::config::Value;

macro_rules! getters {
    ($($(#[$doc:meta])* $method:ident: $kind:ident = $name:literal;)*) => {
        impl BrokerConfig {
            $($(#[$doc])* pub fn $method(&self) -> getters!(@type $kind) { self.$kind($name) })*
        }

        #[cfg(test)]
        pub(super) fn call_every_getter(config: &BrokerConfig) {
            $(let _ = config.$method();)*
        }
    };
    (@type int) => { i32 };
    (@type short) => { i16 };
    (@type long) => { i64 };
    (@type double) => { f64 };
    (@type boolean) => { bool };
    (@type text) => { &str };
    (@type list) => { &[String] };
    (@type long_or_none) => { Option<i64> };
    (@type int_or_none) => { Option<i32> };
    (@type text_or_none) => { Option<&str> };
}

getters! {
    /// `node.id`.
    node_id: int = "node.id";
    /// `broker.rack`.
    rack: text_or_none = "broker.rack";
    /// `replica.selector.class`.
    replica_selector: text_or_none = "replica.selector.class";
    /// `replication.quota.window.num`.
    replication_quota_samples: int = "replication.quota.window.num";
    /// `replication.quota.window.size.seconds`.
    replication_quota_sample_seconds: int = "replication.quota.window.size.seconds";
    /// `thalweg.format.release.version`.
    format_release_version: text = "thalweg.format.release.version";
    /// `thalweg.join.with.unserved.features`.
    joins_with_unserved_features: boolean = "thalweg.join.with.unserved.features";
    /// `server.max.startup.time.ms`.
    startup_time_max_ms: long = "server.max.startup.time.ms";
    /// `auto.create.topics.enable`.
    auto_create_topics: boolean = "auto.create.topics.enable";
    /// `delete.topic.enable`.
    delete_topics: boolean = "delete.topic.enable";
    /// `num.partitions`.
    num_partitions: int = "num.partitions";
    /// `default.replication.factor`.
    default_replication_factor: int = "default.replication.factor";
    /// `min.insync.replicas`.
    min_insync_replicas: int = "min.insync.replicas";
    /// `message.max.bytes`.
    message_max_bytes: int = "message.max.bytes";
    /// `fetch.max.bytes`.
    fetch_max_bytes: int = "fetch.max.bytes";
    /// `max.incremental.fetch.session.cache.slots`.
    fetch_session_slots: int = "max.incremental.fetch.session.cache.slots";
    /// `max.request.partition.size.limit`.
    max_request_partitions: int = "max.request.partition.size.limit";
    /// `request.timeout.ms`.
    request_timeout_ms: int = "request.timeout.ms";
    /// `socket.send.buffer.bytes`; -1 leaves it to the system.
    socket_send_buffer_bytes: int = "socket.send.buffer.bytes";
    /// `socket.receive.buffer.bytes`; -1 leaves it to the system.
    socket_receive_buffer_bytes: int = "socket.receive.buffer.bytes";
    /// `socket.request.max.bytes`.
    socket_request_max_bytes: int = "socket.request.max.bytes";
    /// `socket.listen.backlog.size`.
    socket_listen_backlog: int = "socket.listen.backlog.size";
    /// `queued.max.request.bytes`; -1 for no limit of its own.
    queued_max_request_bytes: long = "queued.max.request.bytes";
    /// `connections.max.idle.ms`; negative for never.
    connections_max_idle_ms: long = "connections.max.idle.ms";
    /// `max.connections`.
    max_connections: int = "max.connections";
    /// `max.connections.per.ip`.
    max_connections_per_ip: int = "max.connections.per.ip";
    /// `quota.window.num`.
    quota_window_num: int = "quota.window.num";
    /// `quota.window.size.seconds`.
    quota_window_size_seconds: int = "quota.window.size.seconds";
    /// `max.connection.creation.rate`, per second.
    max_connection_creation_rate: int = "max.connection.creation.rate";
    /// `num.recovery.threads.per.data.dir`.
    recovery_threads_per_dir: int = "num.recovery.threads.per.data.dir";
    /// `log.flush.scheduler.interval.ms`.
    flush_scheduler_interval_ms: long = "log.flush.scheduler.interval.ms";
    /// `log.flush.offset.checkpoint.interval.ms`.
    flush_offset_checkpoint_interval_ms: int = "log.flush.offset.checkpoint.interval.ms";
    /// `log.flush.start.offset.checkpoint.interval.ms`.
    flush_start_offset_checkpoint_interval_ms: int = "log.flush.start.offset.checkpoint.interval.ms";
    /// `log.retention.check.interval.ms`.
    retention_check_interval_ms: long = "log.retention.check.interval.ms";
    /// `log.cleaner.enable`.
    cleaner_enabled: boolean = "log.cleaner.enable";
    /// `log.cleaner.threads`.
    cleaner_threads: int = "log.cleaner.threads";
    /// `log.cleaner.dedupe.buffer.size`.
    cleaner_dedupe_buffer_bytes: long = "log.cleaner.dedupe.buffer.size";
    /// `log.cleaner.io.buffer.load.factor`.
    cleaner_load_factor: double = "log.cleaner.io.buffer.load.factor";
    /// `log.cleaner.io.buffer.size`.
    cleaner_io_buffer_bytes: int = "log.cleaner.io.buffer.size";
    /// `log.cleaner.io.max.bytes.per.second`.
    cleaner_io_max_bytes_per_second: double = "log.cleaner.io.max.bytes.per.second";
    /// `log.cleaner.backoff.ms`.
    cleaner_backoff_ms: long = "log.cleaner.backoff.ms";
    /// `log.initial.task.delay.ms`.
    initial_task_delay_ms: long = "log.initial.task.delay.ms";
    /// `replica.high.watermark.checkpoint.interval.ms`.
    high_watermark_checkpoint_interval_ms: long = "replica.high.watermark.checkpoint.interval.ms";
    /// `producer.id.expiration.ms`.
    producer_id_expiration_ms: int = "producer.id.expiration.ms";
    /// `producer.id.expiration.check.interval.ms`.
    producer_id_expiration_check_interval_ms: int = "producer.id.expiration.check.interval.ms";
    /// `transaction.max.timeout.ms`.
    transaction_max_timeout_ms: int = "transaction.max.timeout.ms";
    /// `transactional.id.expiration.ms`.
    transactional_id_expiration_ms: int = "transactional.id.expiration.ms";
    /// `transaction.two.phase.commit.enable`.
    transaction_two_phase_commit: boolean = "transaction.two.phase.commit.enable";
    /// `transaction.abort.timed.out.transaction.cleanup.interval.ms`.
    transaction_abort_interval_ms: int = "transaction.abort.timed.out.transaction.cleanup.interval.ms";
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`.
    transaction_expire_interval_ms: int = "transaction.remove.expired.transaction.cleanup.interval.ms";
    /// `transaction.partition.verification.enable`.
    verifies_transactions: boolean = "transaction.partition.verification.enable";
    /// `add.partitions.to.txn.retry.backoff.ms`.
    add_partitions_to_txn_retry_backoff_ms: int = "add.partitions.to.txn.retry.backoff.ms";
    /// `add.partitions.to.txn.retry.backoff.max.ms`.
    add_partitions_to_txn_retry_max_ms: int = "add.partitions.to.txn.retry.backoff.max.ms";
    /// `offset.metadata.max.bytes`.
    offset_metadata_max_bytes: int = "offset.metadata.max.bytes";
    /// `offsets.commit.timeout.ms`.
    offsets_commit_timeout_ms: int = "offsets.commit.timeout.ms";
    /// `offsets.retention.minutes`.
    offsets_retention_minutes: int = "offsets.retention.minutes";
    /// `offsets.retention.check.interval.ms`.
    offsets_retention_check_interval_ms: long = "offsets.retention.check.interval.ms";
    /// `offsets.topic.num.partitions`.
    offsets_topic_partitions: int = "offsets.topic.num.partitions";
    /// `offsets.topic.replication.factor`.
    offsets_topic_replication_factor: short = "offsets.topic.replication.factor";
    /// `offsets.topic.segment.bytes`.
    offsets_topic_segment_bytes: int = "offsets.topic.segment.bytes";
    /// `offsets.topic.compression.codec`: the number of the codec.
    offsets_topic_compression: int = "offsets.topic.compression.codec";
    /// `transaction.state.log.num.partitions`.
    transactions_topic_partitions: int = "transaction.state.log.num.partitions";
    /// `transaction.state.log.replication.factor`.
    transactions_topic_replication_factor: short = "transaction.state.log.replication.factor";
    /// `transaction.state.log.min.isr`.
    transactions_topic_min_isr: int = "transaction.state.log.min.isr";
    /// `transaction.state.log.segment.bytes`.
    transactions_topic_segment_bytes: int = "transaction.state.log.segment.bytes";
    /// `share.coordinator.state.topic.num.partitions`.
    share_state_topic_partitions: int = "share.coordinator.state.topic.num.partitions";
    /// `share.coordinator.state.topic.replication.factor`.
    share_state_topic_replication_factor: short = "share.coordinator.state.topic.replication.factor";
    /// `share.coordinator.state.topic.min.isr`.
    share_state_topic_min_isr: short = "share.coordinator.state.topic.min.isr";
    /// `share.coordinator.state.topic.segment.bytes`.
    share_state_topic_segment_bytes: int = "share.coordinator.state.topic.segment.bytes";
    /// `group.initial.rebalance.delay.ms`.
    group_initial_rebalance_delay_ms: int = "group.initial.rebalance.delay.ms";
    /// `group.min.session.timeout.ms`.
    group_min_session_timeout_ms: int = "group.min.session.timeout.ms";
    /// `group.max.session.timeout.ms`.
    group_max_session_timeout_ms: int = "group.max.session.timeout.ms";
    /// `group.max.size`.
    group_max_size: int = "group.max.size";
    /// `group.coordinator.rebalance.protocols`.
    group_rebalance_protocols: list = "group.coordinator.rebalance.protocols";
    /// `group.coordinator.background.threads`.
    group_background_threads: int = "group.coordinator.background.threads";
    /// `group.consumer.session.timeout.ms`.
    group_consumer_session_timeout_ms: int = "group.consumer.session.timeout.ms";
    /// `group.consumer.heartbeat.interval.ms`.
    group_consumer_heartbeat_interval_ms: int = "group.consumer.heartbeat.interval.ms";
    /// `group.consumer.assignment.interval.ms`.
    group_consumer_assignment_interval_ms: int = "group.consumer.assignment.interval.ms";
    /// `group.consumer.regex.refresh.interval.ms`.
    group_consumer_regex_refresh_interval_ms: int = "group.consumer.regex.refresh.interval.ms";
    /// `group.consumer.max.size`.
    group_consumer_max_size: int = "group.consumer.max.size";
    /// `group.consumer.assignors`, as they are written; see [`assignor_name`].
    group_consumer_assignors: list = "group.consumer.assignors";
    /// `group.consumer.migration.policy`, in any case.
    group_consumer_migration_policy: text = "group.consumer.migration.policy";
    /// `thalweg.group.classic.rebalance.mode`, in any case.
    group_classic_rebalance_mode: text = "thalweg.group.classic.rebalance.mode";
    /// `thalweg.group.disconnect.grace.ms`: a dynamic member without a connection to the coordinator is removed when its
    /// next heartbeat is overdue by so long; 0 for never.
    group_disconnect_grace_ms: int = "thalweg.group.disconnect.grace.ms";
    /// `thalweg.group.heartbeat.push`.
    group_heartbeat_push: boolean = "thalweg.group.heartbeat.push";
    /// `metadata.log.segment.bytes`.
    metadata_segment_bytes: int = "metadata.log.segment.bytes";
    /// `metadata.log.segment.ms`.
    metadata_segment_ms: long = "metadata.log.segment.ms";
    /// `metadata.max.retention.bytes`.
    metadata_retention_bytes: long = "metadata.max.retention.bytes";
    /// `metadata.max.retention.ms`.
    metadata_retention_ms: long = "metadata.max.retention.ms";
    /// `metadata.log.max.record.bytes.between.snapshots`.
    metadata_snapshot_record_bytes: long = "metadata.log.max.record.bytes.between.snapshots";
    /// `metadata.log.max.snapshot.interval.ms`; 0 for no such limit.
    metadata_snapshot_interval_ms: long = "metadata.log.max.snapshot.interval.ms";
    /// `controller.listener.names`.
    controller_listener_names: list = "controller.listener.names";
    /// `controller.quorum.bootstrap.servers`.
    quorum_bootstrap_servers: list = "controller.quorum.bootstrap.servers";
    /// `controller.quorum.fetch.max.bytes`.
    quorum_fetch_max_bytes: int = "controller.quorum.fetch.max.bytes";
    /// `controller.quorum.fetch.snapshot.max.bytes`.
    quorum_fetch_snapshot_max_bytes: int = "controller.quorum.fetch.snapshot.max.bytes";
    /// `controller.quorum.request.timeout.ms`.
    quorum_request_timeout_ms: int = "controller.quorum.request.timeout.ms";
    /// `controller.quorum.retry.backoff.ms`.
    quorum_retry_backoff_ms: int = "controller.quorum.retry.backoff.ms";
    /// `broker.heartbeat.interval.ms`.
    heartbeat_interval_ms: int = "broker.heartbeat.interval.ms";
    /// `initial.broker.registration.timeout.ms`.
    registration_timeout_ms: int = "initial.broker.registration.timeout.ms";
    /// `log.dir.failure.timeout.ms`.
    directory_failure_timeout_ms: long = "log.dir.failure.timeout.ms";
    /// `controlled.shutdown.enable`.
    controlled_shutdown: boolean = "controlled.shutdown.enable";
    /// `controller.socket.timeout.ms`.
    controller_socket_timeout_ms: int = "controller.socket.timeout.ms";
    /// `num.replica.alter.log.dirs.threads`; unset there are as many as log directories.
    alter_log_dirs_threads: int_or_none = "num.replica.alter.log.dirs.threads";
    /// `num.replica.fetchers`.
    num_replica_fetchers: int = "num.replica.fetchers";
    /// `replica.fetch.backoff.ms`.
    replica_fetch_backoff_ms: int = "replica.fetch.backoff.ms";
    /// `replica.fetch.max.bytes`.
    replica_fetch_max_bytes: int = "replica.fetch.max.bytes";
    /// `replica.fetch.min.bytes`.
    replica_fetch_min_bytes: int = "replica.fetch.min.bytes";
    /// `replica.fetch.response.max.bytes`.
    replica_fetch_response_max_bytes: int = "replica.fetch.response.max.bytes";
    /// `replica.fetch.wait.max.ms`.
    replica_fetch_wait_max_ms: int = "replica.fetch.wait.max.ms";
    /// `replica.socket.timeout.ms`.
    replica_socket_timeout_ms: int = "replica.socket.timeout.ms";
    /// `replica.lag.time.max.ms`.
    replica_lag_time_max_ms: long = "replica.lag.time.max.ms";
}

impl BrokerConfig {
    pub(crate) fn double(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Double(value)) => *value,
            _ => unreachable!("{name} is not a double config"),
        }
    }

    pub(crate) fn boolean(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Boolean(value)) => *value,
            _ => unreachable!("{name} is not a boolean config"),
        }
    }

    pub(crate) fn int(&self, name: &str) -> i32 {
        self.int_or_none(name).unwrap_or_else(|| unreachable!("{name} is not an int config"))
    }

    pub(crate) fn int_or_none(&self, name: &str) -> Option<i32> {
        match self.value(name) {
            Some(Value::Int(value)) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn short(&self, name: &str) -> i16 {
        match self.value(name) {
            Some(Value::Short(value)) => *value,
            _ => unreachable!("{name} is not a short config"),
        }
    }

    pub(crate) fn long(&self, name: &str) -> i64 {
        self.long_or_none(name).unwrap_or_else(|| unreachable!("{name} is not a long config"))
    }

    pub(crate) fn long_or_none(&self, name: &str) -> Option<i64> {
        match self.value(name) {
            Some(Value::Long(value)) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.text_or_none(name).unwrap_or_else(|| unreachable!("{name} is not a string config"))
    }

    pub(crate) fn text_or_none(&self, name: &str) -> Option<&str> {
        match self.value(name) {
            Some(Value::String(value) | Value::Class(value)) => Some(value),
            _ => None,
        }
    }

    /// The members of a list; none if it is unset.
    pub(crate) fn list(&self, name: &str) -> &[String] {
        match self.value(name) {
            Some(Value::List(values)) => values,
            _ => &[],
        }
    }
}
