//! The lines that a worker writes on its standard output, one JSON object each.
//! `tests/python/group_worker.py` says what they mean.

use std::collections::BTreeMap;
use std::io::Write as _;

/// The next offset of each partition, by the partition's name in the lines.
pub type Offsets = BTreeMap<String, i64>;

/// Microseconds of the monotonic clock, which all workers count from the same moment.
pub fn now() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1_000_000 + now.tv_nsec / 1000
}

/// A partition's name in the lines.
pub fn name(topic: &str, partition: i32) -> String {
    format!("{topic}-{partition}")
}

/// The topic and the number in a partition's name.
pub fn split(name: &str) -> Option<(&str, i32)> {
    let (topic, number) = name.rsplit_once('-')?;
    Some((topic, number.parse().ok()?))
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn map(offsets: &Offsets) -> String {
    let fields = offsets.iter().map(|(name, offset)| format!("{}:{offset}", quoted(name)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// Writes a line; `more` are its other fields, each behind a comma.
fn tell(event: &str, more: &str) {
    let mut out = std::io::stdout().lock();
    let line = format!("{{\"e\":\"{event}\",\"t\":{}{more}}}\n", now());
    // A test that has ended does not read the line any more.
    drop(out.write_all(line.as_bytes()).and_then(|()| out.flush()));
}

/// `ready` or `left`.
pub fn tell_state(event: &str) {
    tell(event, "");
}

/// `assigned`, `revoked` or `lost`.
pub fn tell_partitions(event: &str, names: &[String]) {
    let mut names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    names.sort();
    tell(event, &format!(",\"p\":[{}]", names.join(",")));
}

/// Records `first` to `last` were processed, from `start` to now.
pub fn tell_batch(name: &str, first: i64, last: i64, start: i64) {
    let name = quoted(name);
    tell("batch", &format!(",\"p\":{name},\"from\":{first},\"to\":{last},\"t0\":{start}"));
}

/// Offsets are about to be committed.
pub fn tell_sent(offsets: &Offsets) {
    tell("sent", &format!(",\"o\":{}", map(offsets)));
}

/// A commit that was sent at `start` was answered, with what went wrong if it failed.
pub fn tell_commit(offsets: &Offsets, start: i64, error: Option<&str>) {
    let mut more = format!(",\"ok\":{},\"o\":{},\"t0\":{start}", error.is_none(), map(offsets));
    if let Some(error) = error {
        more += &format!(",\"why\":{}", quoted(error));
    }
    tell("commit", &more);
}

/// An error of the client that the worker goes on after.
pub fn tell_error(error: &str) {
    tell("error", &format!(",\"what\":{}", quoted(error)));
}
