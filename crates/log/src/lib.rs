//! A partition's log on disk in Kafka's own format, and all logs of a node.
//!
//! [`LogManager`] takes the log directories into use and hands out [`Log`]s, one per partition.
//! Everything on disk is as Kafka 4.4 has it, to the byte: Kafka's tools open every file, and a
//! directory may go from Java to Thalweg and back.
//!
//! Invariants:
//! - The bytes handed to an append are the bytes on disk, but for base offset and leader epoch.
//! - Acknowledged bytes are never rewritten, other than by truncation on a leader's word, and by
//!   compaction, which leaves every key its last record ([`cleaner`]).
//! - A read answers whole batches.
//! - A thread that must not wait for the disk waits for no thread that does. An append finds the log
//!   free, or is queued.
//! - An append is for one leader epoch, and refused if the log's role is another one when its offsets
//!   are assigned.
//! - An I/O error takes its log directory offline; a failed fsync is never repeated. An open that the
//!   system had no descriptor or no memory for is no such error: it is retriable, and nothing was
//!   changed by what needed it.
//! - An idle partition holds no descriptor and a few hundred bytes.
//!
//! Folders, each of which uses only those before it (`tests/folders.rs`):
//! - `fs`: files, their names and the pool of open ones; not what they hold.
//! - `format`: bytes on disk; no locks, and no decision when they are written.
//! - `stalls`: disks that hang, seen by the time of their writes.
//! - `partition`: one log, its segments, producers and role; the log directory as it uses it.
//! - `cleaner`: compaction of the logs it is given.
//! - `store`: all logs of a node; start, stop, housekeeping, moves between directories.
//! - `testing`: what tests of this crate and of others need.
//!
//! Not here: validation of batches (`thalweg-records`), replication, tiered storage.
//! No tokio: calls either answer at once or wait on the calling thread, and say which.

mod cleaner;
mod format;
mod fs;
mod metrics;
mod partition;
mod stalls;
mod store;

#[doc(hidden)]
pub mod testing;

pub use cleaner::{CleanedLog, CleanerConfig, CleanerMetrics, Clock, DirCleanerMetrics};
pub use format::checkpoint::format_partition_metadata;
pub use format::files;
pub use format::meta_properties::MetaProperties;
pub use format::txn_index::AbortedTxn;
pub use fs::disk::{Change, DirEntry, Disk, DiskOp, FaultHook, Injected, Mode, OpenFile, Record};
pub use fs::names::{CLUSTER_METADATA_TOPIC, PARTITION_METADATA, is_partition_dir};
pub use fs::wait::Wait;
pub use metrics::{Counter, Metrics};
pub use partition::config::LogConfig;
pub use partition::dir::{DirFailureListener, Executor, LogDir, retry_exhausted};
pub use partition::error::{AppendError, ReadError, StorageError};
pub use partition::log::{ActiveProducer, Log, LogOffsets, OpenTransaction};
pub use partition::producers::{AppendOrigin, TransactionCheck, VerificationGuard};
pub use partition::published::DecidedListener;
pub use partition::read::{Isolation, ReadRequest, ReadResult};
pub use partition::request::{AppendContext, AppendInfo, AppendWaiter, Submitted};
pub use partition::role::Role;
pub use partition::timestamps::{RecordScan, TimestampOffset};
pub use partition::verify::BeginVerification;
pub use stalls::Stalls;
pub use store::changes::PartitionChange;
pub use store::config::{DirReport, ManagerConfig, OpenReport, TopicConfigs};
pub use store::create::CreateRequest;
pub use store::error::{CreateError, OpenError};
pub use store::future::{CopyStep, MoveError, can_be_future};
pub use store::housekeeping::DirLogs;
pub use store::load::LoadStats;
pub use store::manager::LogManager;
pub use store::removal::Deletion;
pub use store::survey::{DirSurvey, LockHolder, SurveyedPartition};
