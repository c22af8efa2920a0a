//! A line on stderr that tells how far a command is, where somebody looks at it.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use crate::client::{clear_progress, show_progress};

const EVERY: Duration = Duration::from_millis(200);

/// The line; taken back when this is dropped.
pub struct Progress {
    began: Instant,
    shown: Option<Instant>,
    is_wanted: bool,
    /// What there is to do in all, where that is known.
    total: Option<u64>,
}

impl Progress {
    /// Shown only if stderr is a terminal, and `is_wanted`.
    pub fn new(is_wanted: bool, total: Option<u64>) -> Progress {
        let is_wanted = is_wanted && std::io::stderr().is_terminal();
        Progress { began: Instant::now(), shown: None, is_wanted, total }
    }

    /// So many records and bytes are done, and `done` of the total.
    pub fn update(&mut self, records: u64, bytes: u64, done: u64) {
        if !self.is_wanted || self.shown.unwrap_or(self.began).elapsed() < EVERY {
            return;
        }
        self.shown = Some(Instant::now());
        let seconds = self.began.elapsed().as_secs_f64().max(1e-3);
        let mut line = format!(
            "{records} records, {:.1} MB, {:.0}/s",
            bytes as f64 / 1e6,
            records as f64 / seconds
        );
        if let Some(total) = self.total.filter(|&total| total > 0) {
            let share = (done as f64 / total as f64).clamp(0.0, 1.0);
            let filled = (share * 30.0) as usize;
            line = format!("[{:-<30}] {:3.0} % {line}", "#".repeat(filled), share * 100.0);
        }
        show_progress(&line);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            clear_progress();
        }
    }
}
