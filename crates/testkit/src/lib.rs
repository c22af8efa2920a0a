//! The real broker inside a test process.
//!
//! ```
//! # #[tokio::main(flavor = "multi_thread", worker_threads = 2)]
//! # async fn main() {
//! let broker = thalweg_testkit::TestBroker::start().await;
//! // Give broker.bootstrap() to any Kafka client.
//! assert!(broker.bootstrap().starts_with("127.0.0.1:"));
//! broker.shut_down().await;
//! # }
//! ```
//!
//! It is the same code as `thalweg serve`: the same formats on disk, the same answers.
//!
//! It serves groups of the classic protocol, with every assignor, and those of KIP-848
//! (`group.protocol=consumer`); share groups and streams groups it does not serve yet: their clients
//! are told that the version is not supported. Tests of those take [`kafka`] instead.
//!
//! Nothing has to be waited for that takes its time: a [`TestClock`] is moved.
//!
//! ```
//! # #[tokio::main(flavor = "multi_thread", worker_threads = 2)]
//! # async fn main() {
//! use std::time::Duration;
//! use thalweg_testkit::{TestBroker, TestClock};
//!
//! let clock = TestClock::new();
//! let broker = TestBroker::builder().clock(&clock).start().await;
//! // A producer has begun a transaction, and its transaction.timeout.ms is a minute: now it is aborted.
//! clock.advance(Duration::from_secs(61));
//! broker.shut_down().await;
//! # }
//! ```
//!
//! It listens on a port of its own, keeps its data in a directory of its own (in memory where the
//! system has such a place), and both are gone when it is dropped. Groups do not wait for members that might
//! still come (`group.initial.rebalance.delay.ms` is 0); everything else is Kafka's default.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_broker::config::broker::Mode;
use thalweg_broker::config::{BrokerConfig, Properties};
use thalweg_broker::{Hooks, RunningBroker, StartError};

pub use thalweg_broker::TestClock;

#[doc(hidden)]
pub use thalweg_broker::disk::{TempDir, crash};

pub mod faults;
pub mod kafka;
pub mod oracle;
mod ports;
pub mod releases;
#[doc(hidden)]
pub mod requests;

/// A broker for one test.
pub struct TestBroker {
    broker: RunningBroker,
    data: Data,
}

/// Options of a [`TestBroker`].
#[derive(Debug, Default)]
pub struct Builder {
    configs: Properties,
    data: Option<PathBuf>,
    dirs: Vec<String>,
    hooks: Hooks,
}

/// A directory that goes when it is dropped, unless it is the test's own.
#[derive(Debug)]
struct Data {
    path: PathBuf,
    is_ours: bool,
}

impl Drop for Data {
    fn drop(&mut self) {
        if self.is_ours {
            // What cannot be removed lies in a place for temporary files.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// A fresh path where files are cheap.
fn scratch() -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = parent.join(format!("thalweg-test-{}-{count}", std::process::id()));
    // What a process of the same id left behind when it was killed.
    let _ = std::fs::remove_dir_all(&path);
    path
}

impl Builder {
    /// Sets a config by Kafka's name.
    pub fn config(mut self, name: &str, value: impl ToString) -> Builder {
        self.configs.insert(name.to_owned(), value.to_string());
        self
    }

    /// Keeps the data in `path` instead; it stays when the broker goes.
    pub fn data(mut self, path: impl Into<PathBuf>) -> Builder {
        self.data = Some(path.into());
        self
    }

    /// Keeps the data in these directories of [`TestBroker::data`]; the first is the metadata's too.
    pub fn dirs(mut self, names: &[&str]) -> Builder {
        self.dirs = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Goes by this clock, which the test moves: nothing has to be waited for that takes its time, such as the end of a
    /// transaction that its producer has left open. What follows the clock and what does not, [`TestClock`] says.
    ///
    /// Transactions that are open for too long are looked for every 100 ms (Kafka's default is 10 s), so that one is
    /// aborted at once when the clock has passed its timeout.
    pub fn clock(mut self, clock: &TestClock) -> Builder {
        self.hooks.clock = Some(clock.clone());
        self
    }

    /// Puts faults between the broker and its disks.
    pub fn faults(mut self, faults: &std::sync::Arc<faults::Faults>) -> Builder {
        self.hooks.disk = thalweg_broker::disk::Disk::with_hook(faults.clone());
        self
    }

    /// Lets fetches hold so many bytes of memory.
    #[doc(hidden)]
    pub fn fetch_memory(mut self, bytes: usize) -> Builder {
        self.hooks.fetch_memory = Some(bytes);
        self
    }

    /// Reaches its disks through a hook.
    #[doc(hidden)]
    pub fn disk_hook(
        mut self,
        hook: std::sync::Arc<dyn thalweg_broker::disk::FaultHook>,
    ) -> Builder {
        self.hooks.disk = thalweg_broker::disk::Disk::with_hook(hook);
        self
    }

    /// Starts the broker, or says why it cannot.
    pub fn try_start(self) -> Pin<Box<dyn Future<Output = Result<TestBroker, StartError>> + Send>> {
        Box::pin(self.started())
    }

    async fn started(self) -> Result<TestBroker, StartError> {
        let data = match self.data {
            Some(path) => Data { path, is_ours: false },
            None => Data { path: scratch(), is_ours: true },
        };
        let mut props = Properties::new();
        props.insert("listeners".into(), "PLAINTEXT://127.0.0.1:0".into());
        let dirs: Vec<String> = match self.dirs[..] {
            [] => vec![data.path.display().to_string()],
            _ => self.dirs.iter().map(|dir| data.path.join(dir).display().to_string()).collect(),
        };
        props.insert("log.dirs".into(), dirs.join(","));
        props.insert("group.initial.rebalance.delay.ms".into(), "0".into());
        if self.hooks.clock.is_some() {
            props.insert(
                "transaction.abort.timed.out.transaction.cleanup.interval.ms".into(),
                "100".into(),
            );
        }
        props.extend(self.configs);
        let config = BrokerConfig::new(props, Mode::Embedded)?;
        Ok(TestBroker { broker: RunningBroker::start_with(config, self.hooks).await?, data })
    }

    /// Starts the broker.
    ///
    /// # Panics
    /// If it does not start: a test has nothing to do then.
    pub async fn start(self) -> TestBroker {
        match self.try_start().await {
            Ok(broker) => broker,
            Err(error) => panic!("the test broker did not start: {error}"),
        }
    }
}

impl TestBroker {
    /// Starts a broker with the defaults.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start() -> TestBroker {
        Builder::default().start().await
    }

    /// Has one worker of the test's runtime sleep until a disk stalls, as `thalweg serve` does.
    #[doc(hidden)]
    pub fn keep_spare_worker(&self) {
        self.broker.keep_spare_worker();
    }

    /// Options first.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// `bootstrap.servers` for clients.
    pub fn bootstrap(&self) -> String {
        self.broker.addresses().first().map_or(String::new(), |(_, address)| address.to_string())
    }

    /// Where the data is.
    pub fn data(&self) -> &Path {
        &self.data.path
    }

    /// What `/metrics` would show.
    pub fn metrics_text(&self) -> String {
        self.broker.metrics_text()
    }

    /// Waits until the broker stops by itself; gives the reason.
    pub async fn failed(&self) -> String {
        self.broker.failed().await
    }

    /// Stops the broker as SIGTERM does.
    pub async fn shut_down(self) {
        self.broker.shut_down().await;
    }
}
