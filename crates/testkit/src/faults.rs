//! Disks that fail, fill up and take their time, by path.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use thalweg_testkit::{TestBroker, faults::{DiskOp, Faults}};
//! # async fn test() {
//! let faults = Faults::new();
//! let broker = TestBroker::builder().dirs(&["a", "b"]).faults(&faults).start().await;
//! faults.stall(&[DiskOp::Write], "/b/", Duration::from_millis(500));
//! # broker.shut_down().await;
//! # }
//! ```

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, RwLock};
pub use thalweg_broker::disk::DiskOp;
use thalweg_broker::disk::{FaultHook, Injected};

/// An error of the system, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// Input/output error.
    Eio = 5,
    /// Permission denied.
    Eacces = 13,
    /// Too many open files.
    Emfile = 24,
    /// No space left on device.
    Enospc = 28,
    /// Read-only file system.
    Erofs = 30,
}

#[derive(Clone, Debug)]
enum Effect {
    Fail(Errno),
    Torn(usize, Errno),
    Stall(Duration),
    Hold(Arc<Gate>),
    Panic,
}

/// Closed until [`Faults::clear`].
#[derive(Debug, Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

/// How long operations are held at most, all together: a test that forgot them, or that failed while they
/// were held, ends instead of standing still.
const HOLD_MAX: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
struct Rule {
    ops: Vec<DiskOp>,
    /// Part of the path; after a `*` how it ends.
    part: String,
    effect: Effect,
    hits: Arc<Counts>,
}

impl Rule {
    fn is_about(&self, path: &str) -> bool {
        match self.part.split_once('*') {
            Some((part, end)) => path.contains(part) && path.ends_with(end),
            None => path.contains(&self.part),
        }
    }
}

/// Faults of the disks under a broker, by parts of paths (`"/b/"`) and how they end (`"/b/*.log"`);
/// may be changed while it runs.
#[derive(Debug, Default)]
pub struct Faults {
    rules: RwLock<Vec<Rule>>,
}

#[derive(Debug, Default)]
struct Counts {
    all: AtomicU64,
    inside: AtomicU64,
    most: AtomicU64,
}

/// How often a rule was hit.
#[derive(Clone, Debug)]
pub struct Hits(Arc<Counts>);

impl Hits {
    /// The count now; an operation counts when it begins.
    pub fn get(&self) -> u64 {
        self.0.all.load(Ordering::SeqCst)
    }

    /// The most operations that were inside of the fault at a time.
    pub fn most_at_once(&self) -> u64 {
        self.0.most.load(Ordering::SeqCst)
    }
}

impl Faults {
    /// None yet.
    pub fn new() -> Arc<Faults> {
        Arc::default()
    }

    fn add(&self, ops: &[DiskOp], part: &str, effect: Effect) -> Hits {
        let hits = Arc::new(Counts::default());
        let rule =
            Rule { ops: ops.to_vec(), part: part.to_owned(), effect, hits: Arc::clone(&hits) };
        self.rules.write().push(rule);
        Hits(hits)
    }

    /// Operations on paths that contain `part` fail from now on, having done nothing.
    pub fn fail(&self, ops: &[DiskOp], part: &str, errno: Errno) -> Hits {
        self.add(ops, part, Effect::Fail(errno))
    }

    /// Writes to paths that contain `part` do their first `bytes` bytes and fail then.
    pub fn tear(&self, part: &str, bytes: usize, errno: Errno) -> Hits {
        self.add(&[DiskOp::Write], part, Effect::Torn(bytes, errno))
    }

    /// Operations on paths that contain `part` take so long from now on. What is read is not in the
    /// page cache then.
    pub fn stall(&self, ops: &[DiskOp], part: &str, time: Duration) -> Hits {
        self.add(ops, part, Effect::Stall(time))
    }

    /// Operations on paths that contain `part` wait until [`Self::clear`] from now on, or until the first of
    /// them has waited for a minute. What is read is not in the page cache then.
    pub fn hold(&self, ops: &[DiskOp], part: &str) -> Hits {
        self.add(ops, part, Effect::Hold(Arc::default()))
    }

    /// Operations on paths that contain `part` panic from now on: the broker has a bug there.
    pub fn panic(&self, ops: &[DiskOp], part: &str) -> Hits {
        self.add(ops, part, Effect::Panic)
    }

    /// All is well again.
    pub fn clear(&self) {
        for rule in self.rules.write().drain(..) {
            if let Effect::Hold(gate) = rule.effect {
                *gate.open.lock() = true;
                gate.opened.notify_all();
            }
        }
    }
}

impl FaultHook for Faults {
    fn before(&self, op: DiskOp, path: &Path, _len: usize) -> Injected {
        let rule = {
            let rules = self.rules.read();
            let path = path.to_string_lossy();
            let asked = if op == DiskOp::ReadCached { DiskOp::Read } else { op };
            let found = rules.iter().find(|r| r.ops.contains(&asked) && r.is_about(&path));
            found.cloned()
        };
        let Some(rule) = rule else { return Injected::Nothing };
        let waits = matches!(rule.effect, Effect::Stall(_) | Effect::Hold(_));
        if op == DiskOp::ReadCached && waits {
            return Injected::Fail(io::ErrorKind::WouldBlock.into());
        }
        rule.hits.all.fetch_add(1, Ordering::SeqCst);
        let error = |errno: Errno| io::Error::from_raw_os_error(errno as i32);
        match rule.effect {
            Effect::Fail(errno) => Injected::Fail(error(errno)),
            Effect::Torn(bytes, errno) => Injected::Torn(bytes, error(errno)),
            Effect::Panic => panic!("{op:?} of {}", path.display()),
            effect => {
                let inside = rule.hits.inside.fetch_add(1, Ordering::SeqCst) + 1;
                rule.hits.most.fetch_max(inside, Ordering::SeqCst);
                match effect {
                    Effect::Stall(time) => std::thread::sleep(time),
                    Effect::Hold(gate) => {
                        let mut open = gate.open.lock();
                        gate.opened.wait_while_for(&mut open, |open| !*open, HOLD_MAX);
                        *open = true;
                        gate.opened.notify_all();
                    }
                    Effect::Fail(_) | Effect::Torn(..) | Effect::Panic => {}
                }
                rule.hits.inside.fetch_sub(1, Ordering::SeqCst);
                Injected::Nothing
            }
        }
    }
}
