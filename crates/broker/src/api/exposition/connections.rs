//! Connections of clients, and the descriptors that they share with logs.

use super::metric::Source::{Figures, Front, Node, Replicas};
use super::metric::{Metric, counter, gauge};

pub(super) const METRICS: &[Metric] = &[
    counter(
        "kafka_server_socketservermetrics_connection_creation_total",
        "Connections accepted.",
        Node(|node, out| out.value(node.metrics().connections_opened.get())),
    ),
    counter(
        "kafka_server_socketservermetrics_connection_close_total",
        "Connections that ended.",
        Node(|node, out| out.value(node.metrics().connections_closed.get())),
    ),
    counter(
        "thalweg_connections_refused_input_total",
        "Connections closed because of what they sent.",
        Node(|node, out| out.value(node.metrics().connections_refused_input.get())),
    ),
    gauge(
        "kafka_server_socketservermetrics_connection_count",
        "Connections.",
        Figures(|figures, out| out.value(figures.connections().open)),
    ),
    counter(
        "thalweg_connections_refused_limit_total",
        "Connections closed because of a limit.",
        Figures(|figures, out| out.value(figures.connections().refused)),
    ),
    counter(
        "thalweg_connections_refused_descriptors_total",
        "Connections closed because descriptors are kept for the logs.",
        Front(|front, out| out.value(front.sockets().connections().limits().refused_sockets())),
    ),
    counter(
        "thalweg_log_opens_exhausted_total",
        "Opens of log files that failed for lack of descriptors or memory.",
        Replicas(|replicas, out| out.value(replicas.logs().metrics().opens_exhausted.get())),
    ),
];
