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
//! - Nobody who may not wait for the disk waits for somebody who does: an append finds the log free,
//!   or is queued.
//! - An append is for one leader epoch, and refused if the log's role is another one when its offsets
//!   are assigned.
//! - An I/O error takes its log directory offline; a failed fsync is never repeated. An open that the
//!   system had no descriptor or no memory for is no such error: it is retriable, and nothing was
//!   changed by what needed it.
//! - An idle partition holds no descriptor and a few hundred bytes.
//!
//! Not here: validation of batches (`thalweg-records`), replication, tiered storage.
//! No tokio: calls either answer at once or wait on the calling thread, and say which.

mod append;
mod change;
mod checkpoint;
mod cleaner;
mod config;
mod control;
mod create;
mod cut;
mod dir;
mod disk;
mod epochs;
mod error;
mod file_pool;
pub mod files;
mod find;
mod flush;
mod future;
mod hints;
mod housekeeping;
mod index;
mod load;
mod log;
mod lookup;
mod manager;
mod meta_properties;
mod metrics;
mod names;
mod pending;
mod producer_snapshot;
mod producers;
mod queue;
mod read;
mod removal;
mod role;
mod scan;
mod segment;
mod stage;
mod stalls;
mod submit;
mod survey;
mod timestamps;
mod txn_index;
mod verify;
mod walk;

#[doc(hidden)]
pub mod testing;

pub use append::{AppendContext, AppendInfo};
pub use checkpoint::format_partition_metadata;
pub use cleaner::{CleanedLog, CleanerConfig, CleanerMetrics, Clock, DirCleanerMetrics};
pub use config::LogConfig;
pub use create::CreateRequest;
pub use dir::{DirFailureListener, Executor, LogDir, retry_exhausted};
pub use disk::{Change, DirEntry, Disk, DiskOp, FaultHook, Injected, Mode, OpenFile, Record};
pub use error::{AppendError, CreateError, OpenError, ReadError, StorageError};
pub use future::{CopyStep, MoveError, can_be_future};
pub use housekeeping::DirLogs;
pub use load::LoadStats;
pub use log::{ActiveProducer, DecidedListener, Log, LogOffsets, OpenTransaction};
pub use manager::{DirReport, LogManager, ManagerConfig, OpenReport, TopicConfigs};
pub use meta_properties::MetaProperties;
pub use metrics::{Counter, Metrics};
pub use names::{CLUSTER_METADATA_TOPIC, PARTITION_METADATA, is_partition_dir};
pub use producers::{AppendOrigin, TransactionCheck, VerificationGuard};
pub use read::{Isolation, ReadRequest, ReadResult};
pub use role::Role;
pub use stalls::Stalls;
pub use submit::{AppendWaiter, Submitted};
pub use survey::{DirSurvey, LockHolder, SurveyedPartition};
pub use timestamps::{RecordScan, TimestampOffset};
pub use txn_index::AbortedTxn;
pub use verify::BeginVerification;
pub use walk::Wait;
