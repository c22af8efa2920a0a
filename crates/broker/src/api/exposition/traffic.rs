//! Records and requests, as Kafka's MBeans of `kafka.server` and `kafka.network` have them.

use super::metric::Source::{Figures, Node};
use super::metric::Unit::{Bytes, BytesPerSecond};
use super::metric::{Metric, counter, gauge};

pub(super) const METRICS: &[Metric] = &[
    counter(
        "kafka_server_brokertopicmetrics_bytesin_total",
        "Bytes of record batches appended for producers.",
        Node(|node, out| out.value(node.metrics().bytes_in.get())),
    )
    .unit(Bytes),
    counter(
        "kafka_server_brokertopicmetrics_bytesout_total",
        "Bytes of record batches sent to consumers.",
        Node(|node, out| out.value(node.metrics().bytes_out.get())),
    )
    .unit(Bytes),
    counter(
        "kafka_server_brokertopicmetrics_replicationbytesin_total",
        "Bytes of record batches fetched from leaders.",
        Node(|node, out| out.value(node.metrics().replication_bytes_in.get())),
    )
    .unit(Bytes),
    counter(
        "kafka_server_brokertopicmetrics_replicationbytesout_total",
        "Bytes of record batches sent to followers.",
        Node(|node, out| out.value(node.metrics().replication_bytes_out.get())),
    )
    .unit(Bytes),
    gauge(
        "kafka_server_leaderreplication_byte_rate",
        "Bytes per second sent to followers of throttled replicas.",
        Figures(|figures, out| out.value(figures.throttled().leader)),
    )
    .unit(BytesPerSecond),
    gauge(
        "kafka_server_followerreplication_byte_rate",
        "Bytes per second fetched for throttled replicas.",
        Figures(|figures, out| out.value(figures.throttled().follower)),
    )
    .unit(BytesPerSecond),
    counter(
        "kafka_server_brokertopicmetrics_messagesin_total",
        "Records appended for producers.",
        Node(|node, out| out.value(node.metrics().messages_in.get())),
    ),
    counter(
        "kafka_server_brokertopicmetrics_invalidbatches_total",
        "Batches that validation refused.",
        Node(|node, out| out.value(node.metrics().invalid_batches.get())),
    ),
    counter(
        "kafka_network_requestmetrics_requests_total",
        "Requests by API.",
        Node(|node, out| {
            for (key, count) in node.metrics().requests() {
                out.labelled([key.name().unwrap_or("unknown")], count);
            }
        }),
    )
    .by(&["request"]),
];
