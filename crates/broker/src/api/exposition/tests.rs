//! The table of metrics, the page of a broker, and `docs/metrics.md` say the same.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use thalweg_wire::messages::MetadataRequest;

use super::metric::{Kind, Unit};
use super::*;
use crate::testing::{Node, soon};

#[test]
fn names_of_metrics_are_unique() {
    let mut names = BTreeSet::new();
    for metric in metrics() {
        assert!(names.insert(metric.name.to_owned()), "{}", metric.name);
        if metric.kind == Kind::Histogram {
            for suffix in ["bucket", "sum", "count"] {
                let name = format!("{}_{suffix}", metric.name);
                assert!(names.insert(name), "{suffix} of {}", metric.name);
            }
        }
    }
}

#[test]
fn histograms_have_a_unit_of_time() {
    for metric in metrics().filter(|metric| metric.kind == Kind::Histogram) {
        let unit = metric.unit;
        assert!(matches!(unit, Some(Unit::Seconds | Unit::Milliseconds)), "{}", metric.name);
    }
}

/// The labels of a line `NAME{LABEL="VALUE",...} VALUE`, for values without commas.
fn label_names(line: &str) -> Vec<&str> {
    let Some((labels, _)) = line.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}')) else {
        return Vec::new();
    };
    labels.split(',').filter_map(|label| Some(label.split_once('=')?.0)).collect()
}

/// A page and the table: the same metrics in the same order, and samples with the labels of their rows.
#[tokio::test(flavor = "multi_thread")]
async fn page_of_a_broker_shows_the_rows_in_their_order() {
    let node = Node::start(&[]).await;
    let mut client = node.connect().await;
    soon("an answer", client.call(&MetadataRequest::default())).await.unwrap();
    let page = text(node.services());
    let mut lines = page.lines().peekable();
    for metric in metrics() {
        let (name, kind, help) = (metric.name, metric.kind.name(), metric.help);
        assert_eq!(lines.next(), Some(&*format!("# HELP {name} {help}")));
        assert_eq!(lines.next(), Some(&*format!("# TYPE {name} {kind}")));
        let mut samples = 0;
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            let sample = line.split(['{', ' ']).next().unwrap_or_default();
            let suffix = sample.strip_prefix(name).unwrap_or("another metric");
            match (metric.kind, suffix) {
                (Kind::Histogram, "_sum" | "_count") => assert!(label_names(line).is_empty()),
                (Kind::Histogram, "_bucket") | (Kind::Counter | Kind::Gauge, "") => {
                    assert_eq!(label_names(line), metric.labels, "{line}");
                }
                _ => panic!("{line} is no sample of {name}"),
            }
            samples += 1;
        }
        assert_ne!(samples, 0, "samples of {name}");
    }
    assert_eq!(lines.next(), None);
    node.shut_down().await;
}

/// `docs/metrics.md` lists the table. With `UPDATE_EXPECT=1` this test writes the page.
#[test]
fn docs_list_the_metrics_that_are_shown() {
    let mut page = String::from(
        "# Metrics\n\nWritten by a test from the table in `crates/broker/src/api/exposition.rs` (`UPDATE_EXPECT=1 cargo \
         test -p\nthalweg-broker docs_list`). `/metrics` shows these metrics in this order, in Prometheus' text format \
         (`thalweg serve\n--metrics HOST:PORT`). Names that begin with `kafka_` map one to one to Kafka's MBeans. A \
         histogram has the samples\n`NAME_bucket`, `NAME_sum` and `NAME_count`.\n\n| Metric | Kind | Unit | Labels | \
         Help |\n|---|---|---|---|---|\n",
    );
    for metric in metrics() {
        let (name, kind, help) = (metric.name, metric.kind.name(), metric.help);
        let unit = metric.unit.map_or("", Unit::name);
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let _ = writeln!(page, "| `{name}` | {kind} | {unit} | {} | {help} |", labels.join(", "));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "docs/metrics.md is not the table: UPDATE_EXPECT=1 writes it");
}
