//! What librdkafka tells of itself: delivery reports, and its statistics, which come at intervals.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use peer_common::Counters;
use rdkafka::client::ClientContext;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::KafkaError;
use rdkafka::message::DeliveryResult;
use rdkafka::producer::ProducerContext;

use crate::Deliveries;

/// Longest wait for statistics that come once a second.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// Context of the consumer or producer.
#[derive(Clone, Default)]
pub struct Counting {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    // Parsed after the run: that is no part of what is measured.
    statistics: Mutex<Vec<(Instant, Vec<u8>)>>,
    deliveries: Deliveries,
}

impl Counting {
    /// Records whose delivery was reported.
    pub fn deliveries(&self) -> u64 {
        self.inner.deliveries.all.load(Ordering::Relaxed)
    }

    /// Those that failed.
    pub fn errors(&self) -> u64 {
        self.inner.deliveries.failed.load(Ordering::Relaxed)
    }

    /// Serves the client until statistics came that are younger than `instant`.
    pub fn wait_past(&self, instant: Instant, serve: impl Fn()) {
        let until = Instant::now() + WAIT_MAX;
        while Instant::now() < until && self.last().is_none_or(|last| last <= instant) {
            serve();
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn last(&self) -> Option<Instant> {
        self.inner.statistics.lock().ok()?.last().map(|(at, _)| *at)
    }

    /// Requests and bytes between two instants, interpolated between the statistics around them.
    pub fn between(&self, begun: Instant, ended: Instant) -> Counters {
        let Ok(statistics) = self.inner.statistics.lock() else { return Counters::default() };
        let points: Vec<Point> =
            statistics.iter().filter_map(|(at, json)| Point::read(*at, json)).collect();
        let count = |of: fn(&Point) -> f64| {
            let (from, to) = (at(&points, begun, of)?, at(&points, ended, of)?);
            Some((to - from).max(0.0).round() as u64)
        };
        Counters { requests: count(|p| p.requests), received: count(|p| p.received) }
    }
}

struct Point {
    at: Instant,
    requests: f64,
    received: f64,
}

impl Point {
    fn read(at: Instant, json: &[u8]) -> Option<Point> {
        let root: serde_json::Value = serde_json::from_slice(json).ok()?;
        let (mut requests, mut received) = (0.0, 0.0);
        for broker in root.get("brokers")?.as_object()?.values() {
            for name in ["Fetch", "Produce"] {
                // Only what was sent at all is named.
                let sent = broker.pointer(&format!("/req/{name}"));
                requests += sent.and_then(serde_json::Value::as_f64).unwrap_or(0.0);
            }
            received += broker.get("rxbytes")?.as_f64()?;
        }
        Some(Point { at, requests, received })
    }
}

/// The value at an instant; 0 before the first point, unknown after the last.
fn at(points: &[Point], instant: Instant, of: fn(&Point) -> f64) -> Option<f64> {
    let after = points.partition_point(|point| point.at < instant);
    let next = points.get(after)?;
    let Some(before) = after.checked_sub(1).and_then(|before| points.get(before)) else {
        return Some(0.0);
    };
    let whole = (next.at - before.at).as_secs_f64();
    let part = (instant - before.at).as_secs_f64() / whole.max(1e-9);
    Some(of(before) + (of(next) - of(before)) * part)
}

impl ClientContext for Counting {
    fn stats_raw(&self, statistics: &[u8]) {
        if let Ok(mut list) = self.inner.statistics.lock() {
            list.push((Instant::now(), statistics.to_vec()));
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        // Standard error is for the user; a run goes on, as librdkafka does.
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "{error}: {reason}");
    }
}

impl ConsumerContext for Counting {}

impl ProducerContext for Counting {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        self.inner.deliveries.add(result.is_err());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_interpolated() {
        let begun = Instant::now();
        let second = |n: u64| begun + Duration::from_secs(n);
        let json = |fetches: u64| {
            format!(
                r#"{{"brokers":{{"b":{{"rxbytes":{fetches}0,"req":{{"Fetch":{fetches},"Produce":0}}}}}}}}"#
            )
        };
        let counting = Counting::default();
        for (at, fetches) in [(1, 10), (2, 20), (3, 40)] {
            let statistics = &counting.inner.statistics;
            statistics.lock().unwrap().push((second(at), json(fetches).into_bytes()));
        }
        let halves = begun + Duration::from_millis(1500);
        let counters = counting.between(halves, begun + Duration::from_millis(2500));
        assert_eq!((counters.requests, counters.received), (Some(15), Some(150)));
        assert_eq!(counting.between(begun, second(2)).requests, Some(20));
        assert_eq!(counting.between(begun, second(4)).requests, None);
    }
}
