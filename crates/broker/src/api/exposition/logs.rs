//! Log directories and the log cleaner, as Kafka's MBeans of `kafka.log` have them.

use std::path::Path;

use super::metric::Source::{Figures, Replicas};
use super::metric::Unit::{Bytes, Milliseconds, Percent, Seconds};
use super::metric::{Metric, gauge};

pub(super) const METRICS: &[Metric] = &[
    gauge(
        "kafka_log_logmanager_offlinelogdirectorycount",
        "Log directories that are offline.",
        Replicas(|replicas, out| {
            out.value(replicas.logs().dirs().iter().filter(|dir| dir.check().is_err()).count());
        }),
    ),
    gauge(
        "kafka_log_logcleaner_cleaner_recopy_percent",
        "Bytes that the last compactions wrote, of those they read.",
        Figures(|figures, out| out.value(figures.cleaner().recopy_percent)),
    )
    .unit(Percent),
    gauge(
        "kafka_log_logcleaner_max_clean_time_secs",
        "Seconds of the longest of the cleaner threads' last compactions.",
        Figures(|figures, out| out.value(figures.cleaner().max_clean_time_secs)),
    )
    .unit(Seconds),
    gauge(
        "kafka_log_logcleaner_max_buffer_utilization_percent",
        "Share of the dedupe buffer that the last compactions used at most.",
        Figures(|figures, out| out.value(figures.cleaner().max_buffer_utilization_percent)),
    )
    .unit(Percent),
    gauge(
        "kafka_log_logcleaner_max_compaction_delay_secs",
        "By how much a log had passed max.compaction.lag.ms when a log was last chosen.",
        Figures(|figures, out| out.value(figures.cleaner().max_compaction_delay_secs)),
    )
    .unit(Seconds),
    gauge(
        "kafka_log_logcleaner_deadthreadcount",
        "Threads of the cleaner that are gone.",
        Figures(|figures, out| out.value(figures.cleaner().dead_threads)),
    ),
    gauge(
        "kafka_log_logcleanermanager_max_dirty_percent",
        "Share of the log with the largest that is not compacted yet.",
        Figures(|figures, out| out.value(figures.cleaner().max_dirty_percent)),
    )
    .unit(Percent),
    gauge(
        "kafka_log_logcleanermanager_time_since_last_run_ms",
        "Since the cleaner last looked for a log.",
        Figures(|figures, out| out.value(figures.cleaner().time_since_last_run_ms)),
    )
    .unit(Milliseconds),
    gauge(
        "kafka_log_logcleanermanager_uncleanable_partitions_count",
        "Logs that compaction has given up.",
        Figures(|figures, out| {
            for dir in &figures.cleaner().dirs {
                out.labelled([&name(&dir.path)], dir.uncleanable_partitions);
            }
        }),
    )
    .by(&["logDirectory"]),
    gauge(
        "kafka_log_logcleanermanager_uncleanable_bytes",
        "Bytes of these logs that would be compacted.",
        Figures(|figures, out| {
            for dir in &figures.cleaner().dirs {
                out.labelled([&name(&dir.path)], dir.uncleanable_bytes);
            }
        }),
    )
    .by(&["logDirectory"])
    .unit(Bytes),
    gauge(
        "thalweg_log_open_files",
        "Log files held open.",
        Replicas(|replicas, out| out.value(replicas.logs().open_files())),
    ),
];

/// A directory as the value of a label.
fn name(path: &Path) -> String {
    path.display().to_string()
}
