//! Partitions here, their in-sync replicas and their moves between log directories.

use super::metric::Source::{Figures, Replicas};
use super::metric::{Metric, counter, gauge};

pub(super) const METRICS: &[Metric] = &[
    gauge(
        "thalweg_slow_log_directories",
        "Log directories whose appends stall.",
        Replicas(|replicas, out| {
            out.value(replicas.logs().dirs().iter().filter(|dir| dir.is_slow()).count());
        }),
    ),
    counter(
        "thalweg_append_stalls_total",
        "How often appends to a log directory began to stall.",
        Replicas(|replicas, out| out.value(replicas.logs().metrics().append_stalls.get())),
    ),
    gauge(
        "kafka_server_replicamanager_partitioncount",
        "Partitions here.",
        Figures(|figures, out| out.value(figures.partitions().here)),
    ),
    gauge(
        "kafka_server_replicamanager_leadercount",
        "Partitions led here.",
        Figures(|figures, out| out.value(figures.partitions().led)),
    ),
    gauge(
        "kafka_server_replicamanager_underreplicatedpartitions",
        "Partitions led here of which a replica is not in sync.",
        Figures(|figures, out| out.value(figures.partitions().under_replicated)),
    ),
    gauge(
        "kafka_server_replicamanager_underminisrpartitioncount",
        "Partitions led here of which fewer replicas are in sync than min.insync.replicas.",
        Figures(|figures, out| out.value(figures.partitions().under_min_isr)),
    ),
    counter(
        "kafka_server_replicamanager_isrexpands_total",
        "Followers that joined an ISR of a partition led here.",
        Replicas(|replicas, out| out.value(replicas.shared().isr_changes.expands())),
    ),
    counter(
        "kafka_server_replicamanager_isrshrinks_total",
        "Times that followers left an ISR of a partition led here.",
        Replicas(|replicas, out| out.value(replicas.shared().isr_changes.shrinks())),
    ),
    counter(
        "kafka_server_replicamanager_failedisrupdates_total",
        "Changes of an ISR that the controller refused.",
        Replicas(|replicas, out| out.value(replicas.shared().isr_changes.refused())),
    ),
    gauge(
        "kafka_server_replicaalterlogdirsmanager_maxlag",
        "Records that the future replica lacks that lacks most.",
        Figures(|figures, out| out.value(figures.moves().max_lag)),
    ),
    gauge(
        "kafka_server_replicaalterlogdirsmanager_failedpartitionscount",
        "Partitions that are to go to another log directory and do not, for a reason that is in the log.",
        Figures(|figures, out| out.value(figures.moves().failed)),
    ),
    gauge(
        "thalweg_partitions_moving",
        "Partitions that have a future replica in another log directory.",
        Figures(|figures, out| out.value(figures.moves().moving)),
    ),
    gauge(
        "kafka_controller_kafkacontroller_globaltopiccount",
        "Topics.",
        Figures(|figures, out| out.value(figures.partitions().topics)),
    ),
];
