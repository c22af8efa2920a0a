//! Requests that panicked or wait, hints of leaders, and heartbeats whose answers are kept back.

use super::metric::Source::{Figures, Node};
use super::metric::{Metric, counter, gauge};

/// Requests that panicked, and those that wait.
pub(super) const PARKED: &[Metric] = &[
    counter(
        "thalweg_panics_total",
        "Requests that panicked.",
        Figures(|figures, out| out.value(figures.panics())),
    ),
    counter(
        "thalweg_fetches_parked_total",
        "Fetches that waited for data, or for metadata.",
        Node(|node, out| out.value(node.metrics().fetches_parked.get())),
    ),
    counter(
        "kafka_server_delayedfetchmetrics_expires_total",
        "Fetches that found too little until their time was over.",
        Node(|node, out| {
            out.labelled(["consumer"], node.metrics().consumer_fetches_expired.get());
            out.labelled(["follower"], node.metrics().follower_fetches_expired.get());
        }),
    )
    .by(&["fetcherType"]),
    counter(
        "thalweg_produces_parked_total",
        "Produce requests that waited until other replicas had their records.",
        Node(|node, out| out.value(node.metrics().produces_parked.get())),
    ),
    counter(
        "thalweg_produces_early_total",
        "Produce requests that waited, at most 10 ms, for this broker to be elected: it followed in sync.",
        Node(|node, out| out.value(node.metrics().produces_early.get())),
    ),
];

/// Answers that name leaders, and those that are kept back.
pub(super) const ANSWERED: &[Metric] = &[
    counter(
        "thalweg_leader_hints_total",
        "Answers to clients' Produce and Fetch that named the leader to be asked instead (KIP-951).",
        Node(|node, out| out.value(node.metrics().leader_hints.get())),
    ),
    gauge(
        "thalweg_heartbeats_held",
        "Heartbeats of members of groups, and SyncGroups, whose answers are kept back.",
        Node(|node, out| out.value(node.metrics().heartbeats_held.get())),
    ),
    counter(
        "thalweg_heartbeats_pushed_total",
        "Held heartbeats that were answered because there was something to say.",
        Node(|node, out| out.value(node.metrics().heartbeats_pushed.get())),
    ),
];
