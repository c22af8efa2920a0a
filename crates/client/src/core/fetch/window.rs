//! How much one request asks for: as little as keeps the data coming.
//!
//! What was just received is still in the processor's cache when its checksum is computed and its
//! records are read, if it is little enough: answers of 1 MiB cost about a third less per byte than
//! answers of 4 MiB. Where the way to the broker is long, little at a time would mean waiting:
//! there the window grows, as long as full answers take their time.

/// What a request asks for at first.
const LEAST: usize = 1 << 20;
/// A full answer that takes so long makes the window grow.
const SLOW_MS: u64 = 4;
/// One that takes less than this makes it shrink.
const FAST_MS: u64 = 2;

/// Bytes to ask one broker for.
#[derive(Debug)]
pub(super) struct Window {
    bytes: usize,
    /// What the request under way asked for, and when.
    asked: (usize, u64),
}

impl Default for Window {
    fn default() -> Window {
        Window { bytes: LEAST, asked: (0, 0) }
    }
}

impl Window {
    /// Bytes to ask for at most.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// A request asks for so many.
    pub fn asked(&mut self, bytes: usize, now_ms: u64) {
        self.asked = (bytes, now_ms);
    }

    /// Its answer came, with so many. One that is not full says nothing: the broker may have waited
    /// for data.
    pub fn answered(&mut self, bytes: usize, now_ms: u64) {
        let (asked, at) = self.asked;
        if bytes < asked / 4 * 3 || asked < self.bytes / 2 {
            return;
        }
        match now_ms.saturating_sub(at) {
            SLOW_MS.. => self.bytes = self.bytes.saturating_mul(2).min(1 << 30),
            ms if ms < FAST_MS => self.bytes = (self.bytes / 2).max(LEAST),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_while_full_answers_take_long_and_shrinks_again() {
        let mut window = Window::default();
        let mut answer = |share: usize, ms: u64| {
            let asked = window.bytes();
            window.asked(asked, 10);
            window.answered(asked / 8 * share, 10 + ms);
            window.bytes() / LEAST
        };
        assert_eq!([answer(8, 4), answer(8, 50), answer(8, 3)], [2, 4, 4]);
        assert_eq!(answer(5, 500), 4, "the broker waited for data");
        assert_eq!([answer(8, 1), answer(8, 0), answer(8, 0)], [2, 1, 1]);
        for _ in 0..100 {
            answer(8, 100);
        }
        assert_eq!(window.bytes(), 1 << 30);
    }

    #[test]
    fn what_the_budget_did_not_allow_says_nothing() {
        let mut window = Window::default();
        window.asked(LEAST / 4, 0);
        window.answered(LEAST / 4, 100);
        assert_eq!(window.bytes(), LEAST);
    }
}
