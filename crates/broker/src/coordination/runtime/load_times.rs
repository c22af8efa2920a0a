//! How long loads took, as Kafka's metrics `partition-load-time-max` and `-avg` tell it.

use parking_lot::Mutex;

/// Loads are gathered over so long; what is told is of the last two such times.
const WINDOW_MS: u64 = 30_000;

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    begun_ms: u64,
    count: u64,
    sum_ms: u64,
    max_ms: u64,
}

/// Loads of late.
#[derive(Debug, Default)]
pub(super) struct LoadTimes {
    /// The one of now, and the one before it.
    windows: Mutex<[Window; 2]>,
}

/// What [`LoadTimes`] tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoadFigures {
    pub(crate) max_ms: f64,
    pub(crate) average_ms: f64,
}

impl LoadTimes {
    /// A partition was loaded, at this time on the monotonic clock.
    pub(super) fn add(&self, took_ms: u64, now_ms: u64) {
        let mut windows = self.windows.lock();
        let [current, before] = &mut *windows;
        if current.count == 0 || now_ms.saturating_sub(current.begun_ms) >= WINDOW_MS {
            *before = std::mem::take(current);
            current.begun_ms = now_ms;
        }
        current.count += 1;
        current.sum_ms = current.sum_ms.saturating_add(took_ms);
        current.max_ms = current.max_ms.max(took_ms);
    }

    /// The longest of late, and how long they took on average; not a number if there were none, as in Kafka.
    pub(super) fn figures(&self, now_ms: u64) -> LoadFigures {
        let windows = *self.windows.lock();
        let of_late = windows.iter().filter(|window| {
            window.count > 0 && now_ms.saturating_sub(window.begun_ms) < 2 * WINDOW_MS
        });
        let (count, sum_ms, max_ms) = of_late.fold((0, 0, 0), |(count, sum, max), window| {
            (count + window.count, sum + window.sum_ms, window.max_ms.max(max))
        });
        let max_ms = if count > 0 { max_ms as f64 } else { f64::NAN };
        LoadFigures { max_ms, average_ms: sum_ms as f64 / count as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_told_for_two_windows() {
        let times = LoadTimes::default();
        let told = |now_ms| {
            let LoadFigures { max_ms, average_ms } = times.figures(now_ms);
            (!max_ms.is_nan()).then_some((max_ms, average_ms))
        };
        assert_eq!(told(1_000), None);
        times.add(10, 1_000);
        times.add(40, 20_000);
        assert_eq!(told(20_000), Some((40.0, 25.0)));
        // In the next window, and with the one before it.
        times.add(1, 31_000);
        assert_eq!(told(31_000), Some((40.0, 17.0)));
        assert_eq!(told(61_000), Some((1.0, 1.0)));
        assert_eq!(told(91_000), None);
        times.add(7, 200_000);
        assert_eq!(told(200_000), Some((7.0, 7.0)));
    }
}
