//! Transactions, as Kafka's MBeans of `kafka.coordinator.transaction` and `kafka.server` have them.

use super::Page;
use crate::api::services::Services;
use crate::coordination::transactions::LateTransactions;

/// What is told of transactions in partitions here, and of those that are coordinated here.
pub(super) fn expose(page: &mut Page, services: &Services) {
    of_partitions(page, services);
    of_coordinator(page, services);
}

fn of_partitions(page: &mut Page, services: &Services) {
    let table = services.replicas.topics();
    let logs = table.iter().flat_map(|topic| topic.partitions()).map(|partition| &partition.log);
    page.gauge(
        "kafka_server_replicamanager_produceridcount",
        "Producers that the partitions here remember, in each partition.",
        logs.map(|log| log.producer_count()).sum::<usize>(),
    );
    page.gauge(
        "kafka_server_replicamanager_partitionswithlatetransactionscount",
        "Partitions led here in which a transaction is open for longer than any may be (transaction.max.timeout.ms, and \
         five minutes): it may hang.",
        LateTransactions::partitions(&services.node, &services.replicas),
    );
    page.counter(
        "thalweg_late_transactions_found_total",
        "Such transactions, each of which the log has a line of.",
        services.coordination.transactions().late.found(),
    );
    page.counter(
        "thalweg_transaction_markers_total",
        "Ends of transactions that were written into partitions led here.",
        services.node.metrics().transaction_markers.get(),
    );
    page.counter(
        "kafka_server_addpartitionstotxnmanager_verificationfailure_total",
        "Partitions that a transaction's coordinator did not confirm.",
        services.coordination.transactions().failures(),
    );
    page.histogram_in(
        "kafka_server_addpartitionstotxnmanager_verificationtimems",
        "Milliseconds until a transaction's coordinator confirmed its partitions, or added them.",
        &services.coordination.transactions().verification_times(),
        1.0,
    );
}

fn of_coordinator(page: &mut Page, services: &Services) {
    let markers = &services.coordination.transactions().markers();
    page.gauge(
        "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize",
        "Transactions that have markers for partitions that nobody leads.",
        markers.leaderless(),
    );
    page.gauge(
        "kafka_coordinator_transaction_transactionmarkerchannelmanager_logappendretryqueuesize",
        "Transactions whose markers are all written, and whose completion is tried again.",
        services.coordination.coordinated().completions_to_retry(),
    );
    let loads = services.coordination.coordinated().load_figures();
    for (name, ms) in [("max", loads.max_ms), ("avg", loads.average_ms)] {
        page.gauge(
            &format!("kafka_server_transactioncoordinatormetrics_partition_load_time_{name}"),
            "Milliseconds that loads of partitions of __transaction_state took in the last minute.",
            ms,
        );
    }
    let channels = &markers.channels;
    let (opened, closed) = (channels.connections_opened.get(), channels.connections_closed.get());
    page.gauge(
        "kafka_server_txnmarkerchannelmetrics_connection_count",
        "Connections to leaders of partitions that markers are sent on.",
        opened.saturating_sub(closed),
    );
    for (name, help, count) in [
        ("connection_creation", "Such connections that were opened.", opened),
        ("connection_close", "Such connections that ended.", closed),
        ("request", "Requests with markers that were sent.", channels.requests.get()),
        ("response", "Answers to these.", channels.responses.get()),
    ] {
        page.counter(&format!("kafka_server_txnmarkerchannelmetrics_{name}_total"), help, count);
    }
}
