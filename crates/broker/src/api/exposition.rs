//! The page of `/metrics`: Prometheus' text format, under names that map one to one to Kafka's MBeans. The page and
//! `docs/metrics.md` come from one table.
//!
//! To add a metric: a row in a file of this folder, and its line in `docs/metrics.md`, which a test of this folder writes.
//! A figure that rows share, or that several rooms add to, is a part of [`Figures`].

mod connections;
mod figures;
mod groups;
mod logs;
mod memory;
mod metric;
mod replicas;
mod requests;
mod traffic;
mod transactions;

use crate::api::services::Services;
use figures::Figures;
use metric::Metric;

/// The table, in the order of the page.
const TABLE: &[&[Metric]] = &[
    traffic::METRICS,
    connections::METRICS,
    requests::PARKED,
    transactions::METRICS,
    requests::ANSWERED,
    memory::METRICS,
    replicas::METRICS,
    logs::METRICS,
    groups::METRICS,
];

fn metrics() -> impl Iterator<Item = &'static Metric> {
    TABLE.iter().copied().flatten()
}

/// The page, made from the counters as they are now.
pub(crate) fn text(services: &Services) -> String {
    let figures = Figures::new(services);
    let mut page = String::with_capacity(16 << 10);
    for metric in metrics() {
        metric.write(services, &figures, &mut page);
    }
    page
}

#[cfg(test)]
mod tests;
