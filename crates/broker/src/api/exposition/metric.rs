//! A row of the table of metrics, and how its samples are written.

use std::fmt::{Display, Write as _};

use thalweg_groups::DurationHistogram;

use super::figures::Figures;
use crate::api::front::Front;
use crate::api::services::Services;
use crate::coordination::Coordination;
use crate::node::Node;
use crate::replicas::Replicas;

/// The types of Prometheus that occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// The unit of a metric that does not count things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Bytes,
    BytesPerSecond,
    Milliseconds,
    Percent,
    Seconds,
}

impl Unit {
    #[cfg(test)]
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::BytesPerSecond => "bytes/s",
            Unit::Milliseconds => "ms",
            Unit::Percent => "%",
            Unit::Seconds => "s",
        }
    }
}

/// The room that a metric comes from, with the function that writes its samples. Figures are read once for a page.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Node(fn(&Node, &mut Samples<'_>)),
    Replicas(fn(&Replicas, &mut Samples<'_>)),
    Coordination(fn(&Coordination, &mut Samples<'_>)),
    Front(fn(&Front, &mut Samples<'_>)),
    Figures(fn(&Figures<'_>, &mut Samples<'_>)),
}

/// A row of the table.
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) help: &'static str,
    /// Names of labels. A histogram has `le`.
    pub(super) labels: &'static [&'static str],
    pub(super) unit: Option<Unit>,
    source: Source,
}

/// A number that only grows.
pub(super) const fn counter(name: &'static str, help: &'static str, source: Source) -> Metric {
    Metric { name, kind: Kind::Counter, help, labels: &[], unit: None, source }
}

/// A number that goes up and down.
pub(super) const fn gauge(name: &'static str, help: &'static str, source: Source) -> Metric {
    Metric { name, kind: Kind::Gauge, help, labels: &[], unit: None, source }
}

/// Durations, in seconds unless the row has another unit.
pub(super) const fn histogram(name: &'static str, help: &'static str, source: Source) -> Metric {
    let unit = Some(Unit::Seconds);
    Metric { name, kind: Kind::Histogram, help, labels: &["le"], unit, source }
}

impl Metric {
    /// The same with a sample for each value of these labels.
    pub(super) const fn by(self, labels: &'static [&'static str]) -> Metric {
        Metric { labels, ..self }
    }

    pub(super) const fn unit(self, unit: Unit) -> Metric {
        Metric { unit: Some(unit), ..self }
    }

    /// Adds the metric to a page.
    pub(super) fn write(&self, services: &Services, figures: &Figures<'_>, page: &mut String) {
        let (name, help, kind) = (self.name, self.help, self.kind.name());
        let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
        let samples = &mut Samples { metric: self, page };
        match self.source {
            Source::Node(write) => write(&services.node, samples),
            Source::Replicas(write) => write(&services.replicas, samples),
            Source::Coordination(write) => write(&services.coordination, samples),
            Source::Front(write) => write(&services.front, samples),
            Source::Figures(write) => write(figures, samples),
        }
    }
}

/// A page that takes the samples of one metric.
pub(super) struct Samples<'a> {
    metric: &'a Metric,
    page: &'a mut String,
}

impl Samples<'_> {
    /// The only sample.
    pub(super) fn value(&mut self, value: impl Display) {
        self.labelled([], value);
    }

    /// The sample of these values of the row's labels.
    pub(super) fn labelled<const N: usize>(&mut self, values: [&str; N], value: impl Display) {
        debug_assert_eq!(N, self.metric.labels.len(), "labels of {}", self.metric.name);
        self.sample("", &values, value);
    }

    /// The samples of a histogram.
    pub(super) fn durations(&mut self, durations: &DurationHistogram) {
        let unit_ms = if self.metric.unit == Some(Unit::Milliseconds) { 1.0 } else { 1_000.0 };
        let units = |ms: u64| ms as f64 / unit_ms;
        for (bound_ms, count) in durations.cumulative() {
            self.sample("_bucket", &[&units(bound_ms).to_string()], count);
        }
        self.sample("_bucket", &["+Inf"], durations.count());
        self.sample("_sum", &[], units(durations.sum_ms()));
        self.sample("_count", &[], durations.count());
    }

    fn sample(&mut self, suffix: &str, values: &[&str], value: impl Display) {
        let _ = write!(self.page, "{}{suffix}", self.metric.name);
        for (at, (label, value)) in self.metric.labels.iter().zip(values).enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.page, "{}{label}=\"{value}\"", if at == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.page, "{} {value}", if values.is_empty() { "" } else { "}" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(metric: &Metric, write: impl Fn(&mut Samples<'_>)) -> String {
        let mut page = String::new();
        write(&mut Samples { metric, page: &mut page });
        page
    }

    #[test]
    fn samples_name_the_labels_of_the_row() {
        let source = Source::Node(|_, _| ());
        let alone = gauge("alone", "", source);
        assert_eq!(written(&alone, |out| out.value(0.5)), "alone 0.5\n");
        let of_two = counter("of_two", "", source).by(&["topic", "partition"]);
        let text = written(&of_two, |out| out.labelled(["t", "7"], 3));
        assert_eq!(text, "of_two{topic=\"t\",partition=\"7\"} 3\n");
    }

    #[test]
    fn values_of_labels_are_escaped() {
        let metric = gauge("open", "", Source::Node(|_, _| ())).by(&["dir"]);
        let text = written(&metric, |out| out.labelled(["a\\b\"c\nd"], 1));
        assert_eq!(text, "open{dir=\"a\\\\b\\\"c\\nd\"} 1\n");
    }

    #[test]
    fn histograms_are_written_in_the_unit_of_the_row() {
        let mut durations = DurationHistogram::default();
        durations.add(2_500);
        let seconds = histogram("took", "", Source::Node(|_, _| ()));
        let text = written(&seconds, |out| out.durations(&durations));
        assert!(text.starts_with("took_bucket{le=\"0.001\"} 0\ntook_bucket{le=\"0.005\"} 0\n"));
        assert!(text.contains("took_bucket{le=\"1\"} 0\ntook_bucket{le=\"2.5\"} 1\n"));
        assert!(text.ends_with("took_bucket{le=\"+Inf\"} 1\ntook_sum 2.5\ntook_count 1\n"));
        let milliseconds = histogram("took", "", Source::Node(|_, _| ())).unit(Unit::Milliseconds);
        let text = written(&milliseconds, |out| out.durations(&durations));
        assert!(text.contains("took_bucket{le=\"1000\"} 0\ntook_bucket{le=\"2500\"} 1\n"));
        assert!(text.ends_with("took_sum 2500\ntook_count 1\n"));
    }
}
