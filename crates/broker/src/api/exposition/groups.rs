//! Groups and their offsets, under the names of Kafka 4.4's `group-coordinator-metrics`.

use thalweg_groups::{GroupCounts, TriggerKind};

use super::metric::Source::Figures;
use super::metric::Unit::Milliseconds;
use super::metric::{Metric, Samples, counter, gauge, histogram};

pub(super) const METRICS: &[Metric] = &[
    gauge(
        "kafka_coordinator_group_partition_load_time_max",
        "Milliseconds that loads of partitions of __consumer_offsets took in the last minute.",
        Figures(|figures, out| out.value(figures.group_loads().max_ms)),
    )
    .unit(Milliseconds),
    gauge(
        "kafka_coordinator_group_partition_load_time_avg",
        "Milliseconds that loads of partitions of __consumer_offsets took in the last minute.",
        Figures(|figures, out| out.value(figures.group_loads().average_ms)),
    )
    .unit(Milliseconds),
    gauge(
        "kafka_coordinator_group_classic_group_count",
        "Groups of the classic protocol by state.",
        Figures(|figures, out| classic_states(figures.groups(), out)),
    )
    .by(&["state"]),
    gauge(
        "kafka_coordinator_group_offset_count",
        "Committed offsets.",
        Figures(|figures, out| out.value(figures.groups().offsets)),
    ),
    gauge(
        "kafka_coordinator_group_groupmetadatamanager_numgroups",
        "Deprecated in Kafka 4.4: use kafka_coordinator_group_classic_group_count.",
        Figures(|figures, out| classic_states(figures.groups(), out)),
    )
    .by(&["state"]),
    gauge(
        "kafka_coordinator_group_groupmetadatamanager_numoffsets",
        "Deprecated in Kafka 4.4: use kafka_coordinator_group_offset_count.",
        Figures(|figures, out| out.value(figures.groups().offsets)),
    ),
    gauge(
        "kafka_coordinator_group_group_count",
        "Groups by protocol.",
        Figures(|figures, out| {
            out.labelled(["classic"], figures.groups().classic_groups());
            out.labelled(["consumer"], figures.groups().consumer_groups());
        }),
    )
    .by(&["protocol"]),
    gauge(
        "kafka_coordinator_group_consumer_group_count",
        "Groups of the consumer protocol by state.",
        Figures(|figures, out| consumer_states(figures.groups(), out)),
    )
    .by(&["state"]),
    counter(
        "kafka_coordinator_group_consumer_group_rebalances_total",
        "Epochs that groups of the consumer protocol began, but for those that a member's end begins.",
        Figures(|figures, out| out.value(figures.groups_done().consumer_rebalances)),
    ),
    counter(
        "kafka_coordinator_group_completed_rebalances_total",
        "Rebalances that were completed.",
        Figures(|figures, out| out.value(figures.groups_done().completed_rebalances)),
    ),
    counter(
        "thalweg_group_members_disconnected_total",
        "Members removed from their groups because their connections were gone, and their heartbeats overdue.",
        Figures(|figures, out| out.value(figures.groups_done().disconnected_members)),
    ),
    counter(
        "thalweg_group_rebalances_total",
        "Rebalances of groups, by what began them.",
        Figures(|figures, out| {
            let triggered = figures.groups_done().rebalances.triggered;
            for (kind, count) in TriggerKind::ALL.into_iter().zip(triggered) {
                out.labelled([kind.name()], count);
            }
        }),
    )
    .by(&["trigger"]),
    histogram(
        "thalweg_group_rebalance_seconds",
        "Rebalances that are over: how long they took.",
        Figures(|figures, out| out.durations(&figures.groups_done().rebalances.took)),
    ),
    histogram(
        "thalweg_group_partition_unowned_seconds",
        "Partitions that moved to another member: how long they had no owner.",
        Figures(|figures, out| out.durations(&figures.groups_done().rebalances.unowned)),
    ),
    histogram(
        "thalweg_group_partition_revocation_seconds",
        "Partitions that were given up: how long their owners took from when they were told.",
        Figures(|figures, out| out.durations(&figures.groups_done().rebalances.revocation)),
    ),
    counter(
        "thalweg_group_moved_partitions_total",
        "Partitions that moved in rebalances.",
        Figures(|figures, out| out.value(figures.groups_done().rebalances.moves)),
    ),
    counter(
        "kafka_coordinator_group_offset_commits_total",
        "Offsets committed.",
        Figures(|figures, out| out.value(figures.groups_done().offset_commits)),
    ),
    counter(
        "kafka_coordinator_group_offset_expiration_total",
        "Offsets that expired.",
        Figures(|figures, out| out.value(figures.groups_done().offset_expirations)),
    ),
];

fn classic_states(groups: &GroupCounts, out: &mut Samples<'_>) {
    out.labelled(["Empty"], groups.empty);
    out.labelled(["PreparingRebalance"], groups.preparing_rebalance);
    out.labelled(["CompletingRebalance"], groups.completing_rebalance);
    out.labelled(["Stable"], groups.stable);
    out.labelled(["Dead"], groups.dead);
}

fn consumer_states(groups: &GroupCounts, out: &mut Samples<'_>) {
    out.labelled(["Empty"], groups.consumer_empty);
    out.labelled(["Assigning"], groups.consumer_assigning);
    out.labelled(["Reconciling"], groups.consumer_reconciling);
    out.labelled(["Stable"], groups.consumer_stable);
    // Groups that are gone are not held.
    out.labelled(["Dead"], 0);
}
