//! What `/metrics` shows: Prometheus' text format, under names that map one to one to Kafka's
//! MBeans.

mod transactions;

use std::fmt::Write as _;

use thalweg_groups::{DurationHistogram, TriggerKind};

use crate::api::services::Services;

struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help);
        self.value(name, "", value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl std::fmt::Display) {
        self.family(name, "gauge", help);
        self.value(name, "", value);
    }

    /// A gauge with a value for each value of a label.
    fn gauges<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'a str, usize)>,
    ) {
        self.family(name, "gauge", help);
        for (of, value) in values {
            self.value(name, &format!("{{{label}=\"{of}\"}}"), value);
        }
    }

    /// Durations, in seconds.
    fn histogram(&mut self, name: &str, help: &str, durations: &DurationHistogram) {
        self.histogram_in(name, help, durations, 1_000.0);
    }

    /// Durations, in so many milliseconds.
    fn histogram_in(&mut self, name: &str, help: &str, durations: &DurationHistogram, unit: f64) {
        let units = |ms: u64| ms as f64 / unit;
        self.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        for (bound_ms, count) in durations.cumulative() {
            self.value(&bucket, &format!("{{le=\"{}\"}}", units(bound_ms)), count);
        }
        self.value(&bucket, "{le=\"+Inf\"}", durations.count());
        self.value(&format!("{name}_sum"), "", units(durations.sum_ms()));
        self.value(&format!("{name}_count"), "", durations.count());
    }
}

/// The log cleaner, as Kafka's MBeans of `kafka.log` have it.
fn cleaner(page: &mut Page, services: &Services) {
    let metrics = services.replicas.logs().cleaner_metrics();
    page.gauge(
        "kafka_log_logcleaner_cleaner_recopy_percent",
        "Bytes that the last compactions wrote, of those they read.",
        metrics.recopy_percent,
    );
    page.gauge(
        "kafka_log_logcleaner_max_clean_time_secs",
        "Seconds of the longest of the cleaner threads' last compactions.",
        metrics.max_clean_time_secs,
    );
    page.gauge(
        "kafka_log_logcleaner_max_buffer_utilization_percent",
        "Share of the dedupe buffer that the last compactions used at most.",
        metrics.max_buffer_utilization_percent,
    );
    page.gauge(
        "kafka_log_logcleaner_max_compaction_delay_secs",
        "By how much a log had passed max.compaction.lag.ms when a log was last chosen.",
        metrics.max_compaction_delay_secs,
    );
    page.gauge(
        "kafka_log_logcleaner_deadthreadcount",
        "Threads of the cleaner that are gone.",
        metrics.dead_threads,
    );
    page.gauge(
        "kafka_log_logcleanermanager_max_dirty_percent",
        "Share of the log with the largest that is not compacted yet.",
        metrics.max_dirty_percent,
    );
    page.gauge(
        "kafka_log_logcleanermanager_time_since_last_run_ms",
        "Since the cleaner last looked for a log.",
        metrics.time_since_last_run_ms,
    );
    let count = "kafka_log_logcleanermanager_uncleanable_partitions_count";
    let bytes = "kafka_log_logcleanermanager_uncleanable_bytes";
    page.family(count, "gauge", "Logs that compaction has given up.");
    let label = |path: &std::path::Path| {
        let text = path.display().to_string();
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{{logDirectory=\"{text}\"}}")
    };
    for dir in &metrics.dirs {
        page.value(count, &label(&dir.path), dir.uncleanable_partitions);
    }
    page.family(bytes, "gauge", "Bytes of these logs that would be compacted.");
    for dir in &metrics.dirs {
        page.value(bytes, &label(&dir.path), dir.uncleanable_bytes);
    }
}

/// The page, made from the counters as they are now.
pub(crate) fn text(services: &Services) -> String {
    let mut page = Page(String::with_capacity(4096));
    let metrics = services.node.metrics();
    page.counter(
        "kafka_server_brokertopicmetrics_bytesin_total",
        "Bytes of record batches appended for producers.",
        metrics.bytes_in.get(),
    );
    page.counter(
        "kafka_server_brokertopicmetrics_bytesout_total",
        "Bytes of record batches sent to consumers.",
        metrics.bytes_out.get(),
    );
    page.counter(
        "kafka_server_brokertopicmetrics_replicationbytesin_total",
        "Bytes of record batches fetched from leaders.",
        metrics.replication_bytes_in.get(),
    );
    page.counter(
        "kafka_server_brokertopicmetrics_replicationbytesout_total",
        "Bytes of record batches sent to followers.",
        metrics.replication_bytes_out.get(),
    );
    let (throttles, now_ms) =
        (&services.replicas.shared().throttles, services.node.clock().monotonic_ms());
    page.gauge(
        "kafka_server_leaderreplication_byte_rate",
        "Bytes per second sent to followers of throttled replicas.",
        throttles.leader.bytes_per_second(now_ms),
    );
    page.gauge(
        "kafka_server_followerreplication_byte_rate",
        "Bytes per second fetched for throttled replicas.",
        throttles.follower.bytes_per_second(now_ms),
    );
    page.counter(
        "kafka_server_brokertopicmetrics_messagesin_total",
        "Records appended for producers.",
        metrics.messages_in.get(),
    );
    page.counter(
        "kafka_server_brokertopicmetrics_invalidbatches_total",
        "Batches that validation refused.",
        metrics.invalid_batches.get(),
    );
    page.family("kafka_network_requestmetrics_requests_total", "counter", "Requests by API.");
    for (key, count) in metrics.requests() {
        let name = key.name().unwrap_or("unknown");
        page.value(
            "kafka_network_requestmetrics_requests_total",
            &format!("{{request=\"{name}\"}}"),
            count,
        );
    }
    page.counter(
        "kafka_server_socketservermetrics_connection_creation_total",
        "Connections accepted.",
        metrics.connections_opened.get(),
    );
    page.counter(
        "kafka_server_socketservermetrics_connection_close_total",
        "Connections that ended.",
        metrics.connections_closed.get(),
    );
    page.counter(
        "thalweg_connections_refused_input_total",
        "Connections closed because of what they sent.",
        metrics.connections_refused_input.get(),
    );
    let (connections, refused) = services.front.sockets().connections().limits().counts();
    page.gauge("kafka_server_socketservermetrics_connection_count", "Connections.", connections);
    page.counter(
        "thalweg_connections_refused_limit_total",
        "Connections closed because of a limit.",
        refused,
    );
    page.counter(
        "thalweg_connections_refused_descriptors_total",
        "Connections closed because descriptors are kept for the logs.",
        services.front.sockets().connections().limits().refused_sockets(),
    );
    page.counter(
        "thalweg_log_opens_exhausted_total",
        "Opens of log files that failed for lack of descriptors or memory.",
        services.replicas.logs().metrics().opens_exhausted.get(),
    );
    let panics = metrics.panics.get()
        + services.replicas.logs().metrics().panics.get()
        + services.coordination.groups().panics()
        + services.coordination.coordinated().panics();
    page.counter("thalweg_panics_total", "Requests that panicked.", panics);
    page.counter(
        "thalweg_fetches_parked_total",
        "Fetches that waited for data, or for metadata.",
        metrics.fetches_parked.get(),
    );
    let expired = "kafka_server_delayedfetchmetrics_expires_total";
    page.family(expired, "counter", "Fetches that found too little until their time was over.");
    for (kind, count) in [
        ("consumer", &metrics.consumer_fetches_expired),
        ("follower", &metrics.follower_fetches_expired),
    ] {
        page.value(expired, &format!("{{fetcherType=\"{kind}\"}}"), count.get());
    }
    page.counter(
        "thalweg_produces_parked_total",
        "Produce requests that waited until other replicas had their records.",
        metrics.produces_parked.get(),
    );
    page.counter(
        "thalweg_produces_early_total",
        "Produce requests that waited, at most 10 ms, for this broker to be elected: it followed in sync.",
        metrics.produces_early.get(),
    );
    transactions::expose(&mut page, services);
    page.counter(
        "thalweg_leader_hints_total",
        "Answers to clients' Produce and Fetch that named the leader to be asked instead (KIP-951).",
        metrics.leader_hints.get(),
    );
    page.gauge(
        "thalweg_heartbeats_held",
        "Heartbeats of members of groups, and SyncGroups, whose answers are kept back.",
        metrics.heartbeats_held.get(),
    );
    page.counter(
        "thalweg_heartbeats_pushed_total",
        "Held heartbeats that were answered because there was something to say.",
        metrics.heartbeats_pushed.get(),
    );
    page.gauge(
        "thalweg_request_memory_bytes",
        "Bytes that requests hold.",
        services.front.sockets().request_budget().used(),
    );
    page.gauge(
        "thalweg_request_reserve_bytes",
        "Bytes that fetches hold beside that, because other requests hold all of it.",
        services.front.sockets().request_budget().reserve_used(),
    );
    page.gauge(
        "thalweg_request_memory_limit_bytes",
        "Bytes that requests may hold.",
        services.front.sockets().request_budget().limit(),
    );
    page.gauge(
        "thalweg_group_memory_bytes",
        "Bytes that members of groups have left behind.",
        services.coordination.groups().account().used(),
    );
    page.gauge(
        "thalweg_group_memory_limit_bytes",
        "Bytes that members of groups may leave behind.",
        services.coordination.groups().account().limit(),
    );
    page.gauge(
        "thalweg_fetch_memory_bytes",
        "Bytes that answers to fetches hold, and fetches of many partitions that wait.",
        services.front.fetch_budget().used(),
    );
    page.gauge(
        "thalweg_fetch_memory_limit_bytes",
        "Bytes that answers to fetches may hold, and fetches of many partitions that wait.",
        services.front.fetch_budget().limit(),
    );
    page.gauge(
        "thalweg_fetch_answer_memory_bytes",
        "Bytes that answers of many partitions hold beside their records until they are sent.",
        services.front.answer_budget().used(),
    );
    page.gauge(
        "thalweg_fetch_answer_memory_limit_bytes",
        "Bytes that answers of many partitions may hold beside their records.",
        services.front.answer_budget().limit(),
    );
    let (sessions, partitions, bytes, evictions) = {
        let sessions = services.front.sessions();
        let (count, partitions) = sessions.counts();
        (count, partitions, sessions.bytes(), sessions.evictions)
    };
    page.gauge("thalweg_fetch_session_memory_bytes", "Bytes that fetch sessions hold.", bytes.0);
    page.gauge(
        "thalweg_fetch_session_memory_limit_bytes",
        "Bytes that fetch sessions may hold.",
        bytes.1,
    );
    page.gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        "Fetch sessions.",
        sessions,
    );
    page.gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached",
        "Partitions in fetch sessions.",
        partitions,
    );
    page.counter(
        "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total",
        "Fetch sessions that gave way to others.",
        evictions,
    );
    let table = services.replicas.topics();
    let mut count = 0;
    let mut leaders = 0;
    let (mut under_replicated, mut under_min_isr) = (0, 0);
    for topic in table.iter() {
        for partition in topic.partitions() {
            count += 1;
            leaders += usize::from(partition.led_epoch().is_ok());
            let lacks = partition.lacks();
            under_replicated += usize::from(lacks.replicas);
            under_min_isr += usize::from(lacks.min_isr);
        }
    }
    let slow = services.replicas.logs().dirs().iter().filter(|dir| dir.is_slow()).count();
    page.gauge("thalweg_slow_log_directories", "Log directories whose appends stall.", slow);
    page.counter(
        "thalweg_append_stalls_total",
        "How often appends to a log directory began to stall.",
        services.replicas.logs().metrics().append_stalls.get(),
    );
    page.gauge("kafka_server_replicamanager_partitioncount", "Partitions here.", count);
    page.gauge("kafka_server_replicamanager_leadercount", "Partitions led here.", leaders);
    page.gauge(
        "kafka_server_replicamanager_underreplicatedpartitions",
        "Partitions led here of which a replica is not in sync.",
        under_replicated,
    );
    page.gauge(
        "kafka_server_replicamanager_underminisrpartitioncount",
        "Partitions led here of which fewer replicas are in sync than min.insync.replicas.",
        under_min_isr,
    );
    let changes = &services.replicas.shared().isr_changes;
    page.counter(
        "kafka_server_replicamanager_isrexpands_total",
        "Followers that joined an ISR of a partition led here.",
        changes.expands(),
    );
    page.counter(
        "kafka_server_replicamanager_isrshrinks_total",
        "Times that followers left an ISR of a partition led here.",
        changes.shrinks(),
    );
    page.counter(
        "kafka_server_replicamanager_failedisrupdates_total",
        "Changes of an ISR that the controller refused.",
        changes.refused(),
    );
    let moves = services.replicas.moves().figures();
    page.gauge(
        "kafka_server_replicaalterlogdirsmanager_maxlag",
        "Records that the future replica lacks that lacks most.",
        moves.max_lag,
    );
    page.gauge(
        "kafka_server_replicaalterlogdirsmanager_failedpartitionscount",
        "Partitions that are to go to another log directory and do not, for a reason that is in the log.",
        moves.failed,
    );
    page.gauge(
        "thalweg_partitions_moving",
        "Partitions that have a future replica in another log directory.",
        moves.moving,
    );
    page.gauge("kafka_controller_kafkacontroller_globaltopiccount", "Topics.", table.len());
    let offline = services.replicas.logs().dirs().iter().filter(|dir| dir.check().is_err()).count();
    page.gauge(
        "kafka_log_logmanager_offlinelogdirectorycount",
        "Log directories that are offline.",
        offline,
    );
    cleaner(&mut page, services);
    page.gauge(
        "thalweg_log_open_files",
        "Log files held open.",
        services.replicas.logs().open_files(),
    );
    let (groups, done) = services.coordination.groups().counts();
    let loads = services.coordination.groups().load_figures();
    for (name, ms) in [("max", loads.max_ms), ("avg", loads.average_ms)] {
        page.gauge(
            &format!("kafka_coordinator_group_partition_load_time_{name}"),
            "Milliseconds that loads of partitions of __consumer_offsets took in the last minute.",
            ms,
        );
    }
    let classic_states = [
        ("Empty", groups.empty),
        ("PreparingRebalance", groups.preparing_rebalance),
        ("CompletingRebalance", groups.completing_rebalance),
        ("Stable", groups.stable),
        ("Dead", groups.dead),
    ];
    page.gauges(
        "kafka_coordinator_group_classic_group_count",
        "Groups of the classic protocol by state.",
        "state",
        classic_states,
    );
    page.gauge("kafka_coordinator_group_offset_count", "Committed offsets.", groups.offsets);
    page.gauges(
        "kafka_coordinator_group_groupmetadatamanager_numgroups",
        "Deprecated in Kafka 4.4: use kafka_coordinator_group_classic_group_count.",
        "state",
        classic_states,
    );
    page.gauge(
        "kafka_coordinator_group_groupmetadatamanager_numoffsets",
        "Deprecated in Kafka 4.4: use kafka_coordinator_group_offset_count.",
        groups.offsets,
    );
    page.gauges(
        "kafka_coordinator_group_group_count",
        "Groups by protocol.",
        "protocol",
        [("classic", groups.classic_groups()), ("consumer", groups.consumer_groups())],
    );
    page.gauges(
        "kafka_coordinator_group_consumer_group_count",
        "Groups of the consumer protocol by state.",
        "state",
        [
            ("Empty", groups.consumer_empty),
            ("Assigning", groups.consumer_assigning),
            ("Reconciling", groups.consumer_reconciling),
            ("Stable", groups.consumer_stable),
            // Groups that are gone are not held.
            ("Dead", 0),
        ],
    );
    page.counter(
        "kafka_coordinator_group_consumer_group_rebalances_total",
        "Epochs that groups of the consumer protocol began, but for those that a member's end begins.",
        done.consumer_rebalances,
    );
    page.counter(
        "kafka_coordinator_group_completed_rebalances_total",
        "Rebalances that were completed.",
        done.completed_rebalances,
    );
    page.counter(
        "thalweg_group_members_disconnected_total",
        "Members removed from their groups because their connections were gone, and their heartbeats overdue.",
        done.disconnected_members,
    );
    page.family(
        "thalweg_group_rebalances_total",
        "counter",
        "Rebalances of groups, by what began them.",
    );
    for (kind, count) in TriggerKind::ALL.into_iter().zip(done.rebalances.triggered) {
        let label = format!("{{trigger=\"{}\"}}", kind.name());
        page.value("thalweg_group_rebalances_total", &label, count);
    }
    for (name, help, value) in [
        ("rebalance", "Rebalances that are over: how long they took.", done.rebalances.took),
        (
            "partition_unowned",
            "Partitions that moved to another member: how long they had no owner.",
            done.rebalances.unowned,
        ),
        (
            "partition_revocation",
            "Partitions that were given up: how long their owners took from when they were told.",
            done.rebalances.revocation,
        ),
    ] {
        page.histogram(&format!("thalweg_group_{name}_seconds"), help, &value);
    }
    page.counter(
        "thalweg_group_moved_partitions_total",
        "Partitions that moved in rebalances.",
        done.rebalances.moves,
    );
    page.counter(
        "kafka_coordinator_group_offset_commits_total",
        "Offsets committed.",
        done.offset_commits,
    );
    page.counter(
        "kafka_coordinator_group_offset_expiration_total",
        "Offsets that expired.",
        done.offset_expirations,
    );
    page.0
}
