//! A log directory as it lies there, for who asks before a start: nothing is written, made or locked.
//!
//! The names, the lock and `meta.properties` are read as [`crate::LogManager::open`] reads them.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{Flock, FlockType, fcntl_getlk};
use thalweg_wire::Uuid;

use crate::format::checkpoint;
use crate::format::meta_properties::MetaProperties;
use crate::fs::dir_lock::is_held_here;
use crate::fs::disk::{Disk, Mode};
use crate::fs::names::{self, CLUSTER_METADATA_TOPIC, DirName};

/// Where the magic number of a batch stands, in every format.
const MAGIC_AT: u64 = 16;
/// What Kafka 4 writes.
const MAGIC: u8 = 2;

/// Who has a log directory's lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockHolder {
    /// Nobody.
    Nobody,
    /// A process of this number, as far as this machine's namespaces tell it.
    Process(i32),
    /// This process.
    ThisProcess,
}

/// A partition in a log directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SurveyedPartition {
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: i32,
    /// The topic's id, where `partition.metadata` has it.
    pub topic_id: Option<Uuid>,
    /// Magic number of the first batch, if it is older than what Kafka 4 writes.
    pub old_magic: Option<u8>,
}

/// What a log directory holds.
#[derive(Debug)]
pub struct DirSurvey {
    /// As configured.
    pub path: PathBuf,
    /// Whether it is there.
    pub exists: bool,
    /// Why it cannot be read, if so.
    pub unreadable: Option<String>,
    /// `meta.properties`, if there is one; what is wrong with it otherwise.
    pub meta: Option<Result<MetaProperties, String>>,
    /// Who uses the directory.
    pub lock: Option<LockHolder>,
    /// Whether it was closed cleanly.
    pub is_clean: bool,
    /// The broker epoch in the clean-shutdown marker.
    pub broker_epoch: Option<i64>,
    /// Partitions, by topic and number; not the metadata log's.
    pub partitions: Vec<SurveyedPartition>,
    /// Whether the metadata log is here.
    pub has_metadata_log: bool,
    /// Names of directories that were set aside because the metadata did not know them.
    pub strays: Vec<String>,
    /// Names of directories of unfinished moves between log directories.
    pub futures: Vec<String>,
}

impl DirSurvey {
    /// Looks at a directory. What cannot be read is said in the result.
    pub fn of(path: &Path) -> DirSurvey {
        let mut survey = DirSurvey {
            path: path.to_path_buf(),
            exists: false,
            unreadable: None,
            meta: None,
            lock: None,
            is_clean: false,
            broker_epoch: None,
            partitions: Vec::new(),
            has_metadata_log: false,
            strays: Vec::new(),
            futures: Vec::new(),
        };
        match path.try_exists() {
            Ok(exists) => survey.exists = exists,
            Err(error) => survey.unreadable = Some(error.to_string()),
        }
        if survey.exists
            && let Err(error) = survey.look(&Disk::default())
        {
            survey.unreadable = Some(error.to_string());
        }
        survey
    }

    fn look(&mut self, disk: &Disk) -> io::Result<()> {
        let entries = disk.list(&self.path)?;
        self.lock = Some(lock_holder(disk, &self.path)?);
        let meta = disk.read_small(&self.path.join(names::META_PROPERTIES))?;
        self.meta = meta.map(|bytes| MetaProperties::parse(&bytes));
        if let Some(marker) = disk.read_small(&self.path.join(names::CLEAN_SHUTDOWN))? {
            self.is_clean = true;
            self.broker_epoch = checkpoint::parse_clean_shutdown(&marker);
        }
        for entry in entries {
            let name = names::parse_dir(&entry.name);
            let is_partition = match &name {
                DirName::Partition(..) | DirName::Future(..) => entry.is_partition()?,
                DirName::Stray | DirName::Delete | DirName::Other => entry.is_dir,
            };
            if !is_partition {
                continue;
            }
            match name {
                DirName::Partition(topic, _) if topic == CLUSTER_METADATA_TOPIC => {
                    self.has_metadata_log = true;
                }
                DirName::Partition(topic, partition) => {
                    let path = self.path.join(&entry.name);
                    match partition_of(disk, &path, topic, partition) {
                        Ok(found) => self.partitions.push(found),
                        // It was deleted by the broker that runs meanwhile.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        Err(error) => return Err(error),
                    }
                }
                DirName::Stray => self.strays.push(entry.name),
                DirName::Future(..) => self.futures.push(entry.name),
                DirName::Delete | DirName::Other => {}
            }
        }
        let key = |it: &SurveyedPartition| (it.topic.clone(), it.partition);
        self.partitions.sort_by_cached_key(key);
        self.strays.sort_unstable();
        self.futures.sort_unstable();
        Ok(())
    }
}

fn partition_of(
    disk: &Disk,
    path: &Path,
    topic: String,
    partition: i32,
) -> io::Result<SurveyedPartition> {
    let metadata = disk.read_small(&path.join(names::PARTITION_METADATA))?;
    // What a power cut has torn is made anew by a start.
    let topic_id = metadata.and_then(|bytes| checkpoint::parse_partition_metadata(&bytes).ok());
    let segments = disk.list(path)?.into_iter().filter_map(|entry| {
        let (offset, suffix) = names::split_offset(&entry.name)?;
        (!entry.is_dir && suffix == names::LOG).then_some(offset)
    });
    let mut old_magic = None;
    if let Some(first) = segments.min() {
        let mut magic = [MAGIC];
        let file = disk.open(&names::segment_file(path, first, names::LOG), Mode::Read)?;
        // An empty segment has none.
        if file.len()? > MAGIC_AT {
            file.read_exact_at(&mut magic, MAGIC_AT)?;
        }
        old_magic = Some(magic[0]).filter(|magic| *magic < MAGIC);
    }
    Ok(SurveyedPartition { topic, partition, topic_id, old_magic })
}

/// Who holds `.lock`: a start takes it with `flock` and with `fcntl`, as Java does with the latter, and of that
/// one it can be asked who has it without taking it.
fn lock_holder(disk: &Disk, dir: &Path) -> io::Result<LockHolder> {
    let path = dir.join(names::LOCK);
    let metadata = match std::fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LockHolder::Nobody),
        Err(error) => return Err(error),
    };
    if is_held_here((metadata.dev(), metadata.ino())) {
        // Its lock would go with the descriptor.
        return Ok(LockHolder::ThisProcess);
    }
    let file = disk.open(&path, Mode::Read)?;
    let holder = fcntl_getlk(&file, &Flock::from(FlockType::WriteLock))?;
    Ok(match holder {
        Some(lock) => LockHolder::Process(lock.pid.map_or(0, |pid| pid.as_raw_nonzero().get())),
        None => LockHolder::Nobody,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::TempDir;
    use crate::{CreateRequest, LogConfig, LogManager, ManagerConfig};

    #[test]
    fn what_lies_there_is_told_and_stays() {
        let dir = TempDir::new();
        let missing = DirSurvey::of(&dir.path().join("missing"));
        assert!(!missing.exists && missing.unreadable.is_none() && missing.lock.is_none());
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(DirSurvey::of(&file).unreadable.is_some());
        fs::remove_file(&file).unwrap();

        let mut config =
            ManagerConfig::new(vec![dir.path().to_path_buf()], 7, LogConfig::default(), 0);
        config.cluster_id = Some("cluster".into());
        let (logs, _) = LogManager::open(config).unwrap();
        for (topic, partition) in [("b", 1), ("a", 10), ("a", 2)] {
            let id = Uuid::from_u128(1 << 90 | topic.len() as u128);
            logs.create(&CreateRequest::new(topic, partition, id), 0).unwrap();
        }
        let running = DirSurvey::of(dir.path());
        assert_eq!(running.lock, Some(LockHolder::ThisProcess));
        assert!(!running.is_clean);
        logs.shut_down(42, 0);
        drop(logs);

        let unique = "00000000000000000000000000000001";
        for name in [
            format!("c-0.{unique}-stray"),
            format!("c-1.{unique}-future"),
            format!("c-2.{unique}-delete"),
            "__cluster_metadata-0".into(),
            "lost+found".into(),
        ] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let mut old = [0; 40];
        old[16] = 1;
        fs::write(dir.path().join("b-1/00000000000000000000.log"), old).unwrap();
        let before: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().path()).collect();

        let survey = DirSurvey::of(dir.path());
        assert_eq!(survey.unreadable, None);
        assert_eq!(survey.lock, Some(LockHolder::Nobody));
        assert!(survey.is_clean && survey.has_metadata_log);
        assert_eq!(survey.broker_epoch, Some(42));
        let meta = survey.meta.unwrap().unwrap();
        assert_eq!((meta.cluster_id.as_str(), meta.node_id), ("cluster", 7));
        let found: Vec<_> = survey
            .partitions
            .iter()
            .map(|it| (&*it.topic, it.partition, it.topic_id.is_some(), it.old_magic))
            .collect();
        assert_eq!(found, [("a", 2, true, None), ("a", 10, true, None), ("b", 1, true, Some(1))]);
        assert_eq!(survey.strays, [format!("c-0.{unique}-stray")]);
        assert_eq!(survey.futures, [format!("c-1.{unique}-future")]);
        let after: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().path()).collect();
        assert_eq!(before, after);
    }
}
