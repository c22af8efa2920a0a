//! The releases of Apache Kafka that the tests run with. `xtask`, which fetches their jars, compiles this file too.

/// The oracle: everything is compared with it, and all suites run with it.
pub const ORACLE: &str = "4.4.0";

/// The newest patch of the minor release before the oracle's. One run of produce, fetch, groups and transactions is
/// with it, and its metadata shell reads what Thalweg writes: 4.4.0 was published without a shell.
pub const PREVIOUS: &str = "4.3.1";

/// The other minor releases since 4.0, in the newest patch that the tests run with: their controllers are joined.
pub const OLDER: [&str; 3] = ["4.0.0", "4.1.1", "4.2.0"];
