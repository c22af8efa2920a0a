//! What a stretch of the program's life cost.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};

/// A moment, with what had been used up by then.
pub struct Usage {
    at: Instant,
    /// Seconds of all threads, from the process's own clock.
    cpu: f64,
    /// The same in the kernel's ticks, as user and system time.
    ticks: (f64, f64),
    switches: u64,
}

impl Usage {
    /// As of now.
    pub fn now() -> Usage {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let cpu = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
        Usage { at: Instant::now(), cpu, ticks: ticks(), switches: switches() }
    }

    /// Writes what was used since then into a report.
    pub fn report(&self, into: &mut Map<String, Value>) {
        let now = Usage::now();
        let mut set = |name: &str, value: Value| into.insert(name.to_owned(), value);
        set("seconds", json!((now.at - self.at).as_secs_f64()));
        set("cpu_seconds", json!(now.cpu - self.cpu));
        // The ticks tell no more than how the whole is shared.
        let (user, system) = (now.ticks.0 - self.ticks.0, now.ticks.1 - self.ticks.1);
        let share = if user + system > 0.0 { user / (user + system) } else { 1.0 };
        set("cpu_user", json!((now.cpu - self.cpu) * share));
        set("cpu_sys", json!((now.cpu - self.cpu) * (1.0 - share)));
        set("voluntary_switches", json!(now.switches.saturating_sub(self.switches)));
        set("rss_peak_kib", json!(status_field("/proc/self/status", "VmHWM:")));
    }
}

/// User and system seconds, as coarse as the kernel counts them.
fn ticks() -> (f64, f64) {
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the command may contain anything; behind it come numbers.
    let fields: Vec<&str> =
        text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let field =
        |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (field(11) / per_second, field(12) / per_second)
}

/// How often a thread went to sleep by itself, over all that live.
fn switches() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks
        .map(|task| {
            let status = task.path().join("status");
            status_field(&status.to_string_lossy(), "voluntary_ctxt_switches:").unwrap_or(0)
        })
        .sum()
}

fn status_field(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
