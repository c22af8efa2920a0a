//! What a run prints: one JSON object, or lines to read.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

use super::BenchError;
use super::harness::Run;
use super::stats::BrokerStats;

/// Percentiles that are reported, with their names.
const PERCENTILES: [(&str, f64); 6] = [
    ("p50", 50.0),
    ("p90", 90.0),
    ("p95", 95.0),
    ("p99", 99.0),
    ("p99.9", 99.9),
    ("p99.99", 99.99),
];

/// Percentiles that are reported of each broker.
const OF_BROKERS: [(&str, f64); 2] = [("p50", 50.0), ("p99", 99.0)];

/// A report under construction: the figures all runs share, then what is particular.
pub struct Report {
    object: Map<String, Value>,
    lines: Vec<String>,
}

impl Report {
    /// The figures that all runs share.
    pub fn new(command: &str, topic: &str, run: &Run) -> Report {
        let stats = &run.stats;
        let seconds = run.seconds.max(1e-9);
        let mut object = Map::new();
        let mut set = |name: &str, value: Value| object.insert(name.to_owned(), value);
        set("command", command.into());
        set("topic", topic.into());
        set("records", stats.records.into());
        set("bytes", stats.bytes.into());
        set("wire_bytes", stats.wire_bytes.into());
        set("seconds", round(run.seconds, 6));
        set("errors", stats.error_count().into());
        set("errors_by_name", json!(stats.errors));
        set("records_per_second", round(stats.records as f64 / seconds, 1));
        set("bytes_per_second", round(stats.bytes as f64 / seconds, 1));
        set("with_warmup", json!({ "records": run.all_records, "bytes": run.all_bytes }));
        set("requests", stats.requests.into());
        set("batches", stats.batches.into());
        set("interrupted", run.interrupted.into());
        set(
            "load",
            json!({
                "threads": run.threads,
                "cpu_seconds": round(stats.cpu.as_secs_f64(), 6),
                "busiest_thread": round(run.busiest_thread, 4),
            }),
        );
        let mut lines = vec![format!(
            "{command}: {} records, {:.1} MB payload, {:.1} MB on the wire in {:.2} s: {:.0} records/s, {:.1} MB/s",
            stats.records,
            stats.bytes as f64 / 1e6,
            stats.wire_bytes as f64 / 1e6,
            run.seconds,
            stats.records as f64 / seconds,
            stats.bytes as f64 / seconds / 1e6,
        )];
        lines.push(format!(
            "load made with {:.2} CPU seconds; busiest of {} threads {:.0} % busy",
            stats.cpu.as_secs_f64(),
            run.threads,
            run.busiest_thread * 100.0
        ));
        let mut report = Report { object, lines };
        report.brokers(&stats.by_broker);
        report
    }

    /// What each broker did.
    fn brokers(&mut self, brokers: &BTreeMap<i32, BrokerStats>) {
        let mut all = Map::new();
        for (id, stats) in brokers {
            let mut line = format!(
                "broker {id}: {} requests, {} records, {:.1} MB payload",
                stats.requests,
                stats.records,
                stats.bytes as f64 / 1e6
            );
            let mut object = json!({
                "requests": stats.requests,
                "records": stats.records,
                "bytes": stats.bytes,
                "errors": stats.errors.values().sum::<u64>(),
                "errors_by_name": stats.errors,
            });
            let latencies = [
                ("latency_ms", "latency", &stats.latency),
                ("end_to_end_ms", "at the consumer after", &stats.end_to_end),
            ];
            for (name, label, histogram) in latencies {
                if histogram.is_empty() {
                    continue;
                }
                let ms = |percentile| histogram.value_at_percentile(percentile) as f64 / 1000.0;
                let text = OF_BROKERS.map(|(key, at)| format!("{key} {:.2}", ms(at)));
                line.push_str(&format!(", {label} {} ms", text.join(" ")));
                let values: Map<String, Value> = OF_BROKERS
                    .into_iter()
                    .map(|(key, at)| (key.to_owned(), round(ms(at), 3)))
                    .chain([("count".to_owned(), histogram.len().into())])
                    .collect();
                object[name] = Value::Object(values);
            }
            if !stats.errors.is_empty() {
                line.push_str(&format!(", {} errors", stats.errors.values().sum::<u64>()));
            }
            self.lines.push(line);
            all.insert(id.to_string(), object);
        }
        self.object.insert("by_broker".to_owned(), Value::Object(all));
    }

    /// Adds a value that only the JSON form has.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.object.insert(name.to_owned(), value.into());
    }

    /// Adds a line that only the form to read has.
    pub fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    /// Adds latencies, in ms.
    pub fn latency(&mut self, name: &str, label: &str, histogram: &Histogram<u64>) {
        let ms = |us: f64| us / 1000.0;
        let mut object = Map::new();
        let mut text = Vec::new();
        for (key, percentile) in PERCENTILES {
            let value = ms(histogram.value_at_percentile(percentile) as f64);
            object.insert(key.to_owned(), round(value, 3));
            text.push(format!("{key} {value:.2}"));
        }
        object.insert("max".to_owned(), round(ms(histogram.max() as f64), 3));
        object.insert("mean".to_owned(), round(ms(histogram.mean()), 3));
        object.insert("count".to_owned(), histogram.len().into());
        text.push(format!("max {:.2} ms", ms(histogram.max() as f64)));
        self.object.insert(name.to_owned(), Value::Object(object));
        self.lines.push(format!("{label}: {}", text.join(", ")));
    }

    /// Prints it.
    pub fn print(self, run: &Run, as_json: bool) -> Result<(), BenchError> {
        let text = if as_json {
            Value::Object(self.object).to_string()
        } else {
            let errors = run.stats.errors.iter().map(|(name, count)| format!("{count} x {name}"));
            let errors: Vec<String> = errors.collect();
            let mut lines = self.lines;
            if !errors.is_empty() {
                lines.push(format!("errors: {}", errors.join(", ")));
            }
            lines.join("\n")
        };
        super::print(&text)
    }
}

fn round(value: f64, digits: i32) -> Value {
    let factor = 10f64.powi(digits);
    json!((value * factor).round() / factor)
}
