//! When the requests of one connection are due.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// When a producer's requests are due: its links take the times in turn.
pub struct Schedule {
    start: Instant,
    /// Seconds from the start to the first, and from one to the next; without a rate all are due at once.
    offset: f64,
    interval: Option<f64>,
    next: Cell<u64>,
    /// Numbers that were taken and came to nothing.
    returned: RefCell<Vec<u64>>,
}

impl Schedule {
    /// For connection number `index` of so many, which sends requests of so many records. `rate` is that of all
    /// connections, in records per second; they take turns within an interval.
    pub fn new(
        start: Instant,
        index: usize,
        connections: usize,
        records: u64,
        rate: Option<f64>,
    ) -> Schedule {
        let connections = connections as f64;
        let rate = rate.filter(|_| records > 0);
        let interval = rate.map(|rate| records as f64 * connections / rate);
        let offset = interval.map_or(0.0, |interval| interval * index as f64 / connections);
        let (next, returned) = (Cell::new(0), RefCell::default());
        Schedule { start, offset, interval, next, returned }
    }

    /// Takes a number.
    pub fn take(&self) -> u64 {
        self.returned.borrow_mut().pop().unwrap_or_else(|| self.next.replace(self.next.get() + 1))
    }

    /// Gives a number back, whose request was not sent.
    pub fn give_back(&self, number: u64) {
        self.returned.borrow_mut().push(number);
    }

    /// When the request of that number is due.
    pub fn due(&self, number: u64) -> Instant {
        let seconds = self.interval.map_or(0.0, |interval| self.offset + interval * number as f64);
        self.start + Duration::from_secs_f64(seconds)
    }

    /// Requests that are due before a time, and were not sent.
    pub fn unsent(&self, end: Instant) -> u64 {
        let Some(interval) = self.interval else { return 0 };
        let next = self.due(self.next.get());
        let later = end.saturating_duration_since(next).as_secs_f64() / interval;
        // As far as a count of requests goes, that is exact.
        let later = later.ceil() as u64;
        let returned = self.returned.borrow();
        let earlier = returned.iter().filter(|number| self.due(**number) < end).count();
        later + earlier as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_share_a_schedule_and_what_was_not_sent_is_known() {
        let start = Instant::now();
        // The second of two connections, 5 records in a request, 10 a second.
        let schedule = Schedule::new(start, 1, 2, 5, Some(10.0));
        let end = start + Duration::from_secs(10);
        assert_eq!(schedule.unsent(end), 10);
        assert_eq!((schedule.take(), schedule.take()), (0, 1));
        assert_eq!(schedule.due(1), start + Duration::from_millis(1_500));
        assert_eq!(schedule.unsent(end), 8);
        schedule.give_back(1);
        assert_eq!(schedule.unsent(end), 9);
        assert_eq!((schedule.take(), schedule.take()), (1, 2));
        // The end is found by taking one that is due behind it, which nobody has to send.
        schedule.next.set(10);
        assert_eq!((schedule.take(), schedule.unsent(end)), (10, 0));
        let closed = Schedule { interval: None, ..schedule };
        assert_eq!((closed.due(7), closed.unsent(end)), (start, 0));
    }
}
