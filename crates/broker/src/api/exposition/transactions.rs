//! Transactions in partitions here, and those that are coordinated here, as Kafka's MBeans of
//! `kafka.coordinator.transaction` and `kafka.server` have them.

use super::metric::Source::{Coordination, Figures, Node};
use super::metric::Unit::Milliseconds;
use super::metric::{Metric, counter, gauge, histogram};

pub(super) const METRICS: &[Metric] = &[
    gauge(
        "kafka_server_replicamanager_produceridcount",
        "Producers that the partitions here remember, in each partition.",
        Figures(|figures, out| out.value(figures.partitions().producers)),
    ),
    gauge(
        "kafka_server_replicamanager_partitionswithlatetransactionscount",
        "Partitions led here in which a transaction is open for longer than any may be (transaction.max.timeout.ms, and \
         five minutes): it may hang.",
        Coordination(|coordination, out| out.value(coordination.late_partitions())),
    ),
    counter(
        "thalweg_late_transactions_found_total",
        "Such transactions, each of which the log has a line of.",
        Coordination(|coordination, out| out.value(coordination.transaction_writes().late.found())),
    ),
    counter(
        "thalweg_transaction_markers_total",
        "Ends of transactions that were written into partitions led here.",
        Node(|node, out| out.value(node.metrics().transaction_markers.get())),
    ),
    counter(
        "kafka_server_addpartitionstotxnmanager_verificationfailure_total",
        "Partitions that a transaction's coordinator did not confirm.",
        Coordination(|coordination, out| out.value(coordination.transaction_writes().failures())),
    ),
    histogram(
        "kafka_server_addpartitionstotxnmanager_verificationtimems",
        "Milliseconds until a transaction's coordinator confirmed its partitions, or added them.",
        Coordination(|coordination, out| {
            out.durations(&coordination.transaction_writes().verification_times());
        }),
    )
    .unit(Milliseconds),
    gauge(
        "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize",
        "Transactions that have markers for partitions that nobody leads.",
        Coordination(|coordination, out| {
            out.value(coordination.transaction_writes().markers().leaderless());
        }),
    ),
    gauge(
        "kafka_coordinator_transaction_transactionmarkerchannelmanager_logappendretryqueuesize",
        "Transactions whose markers are all written, and whose completion is tried again.",
        Coordination(|coordination, out| {
            out.value(coordination.transaction_coordinator().completions_to_retry());
        }),
    ),
    gauge(
        "kafka_server_transactioncoordinatormetrics_partition_load_time_max",
        "Milliseconds that loads of partitions of __transaction_state took in the last minute.",
        Figures(|figures, out| out.value(figures.transaction_loads().max_ms)),
    )
    .unit(Milliseconds),
    gauge(
        "kafka_server_transactioncoordinatormetrics_partition_load_time_avg",
        "Milliseconds that loads of partitions of __transaction_state took in the last minute.",
        Figures(|figures, out| out.value(figures.transaction_loads().average_ms)),
    )
    .unit(Milliseconds),
    gauge(
        "kafka_server_txnmarkerchannelmetrics_connection_count",
        "Connections to leaders of partitions that markers are sent on.",
        Figures(|figures, out| out.value(figures.marker_connections().open())),
    ),
    counter(
        "kafka_server_txnmarkerchannelmetrics_connection_creation_total",
        "Such connections that were opened.",
        Figures(|figures, out| out.value(figures.marker_connections().opened)),
    ),
    counter(
        "kafka_server_txnmarkerchannelmetrics_connection_close_total",
        "Such connections that ended.",
        Figures(|figures, out| out.value(figures.marker_connections().closed)),
    ),
    counter(
        "kafka_server_txnmarkerchannelmetrics_request_total",
        "Requests with markers that were sent.",
        Coordination(|coordination, out| {
            out.value(coordination.transaction_writes().markers().channels.requests.get());
        }),
    ),
    counter(
        "kafka_server_txnmarkerchannelmetrics_response_total",
        "Answers to these.",
        Coordination(|coordination, out| {
            out.value(coordination.transaction_writes().markers().channels.responses.get());
        }),
    ),
];
