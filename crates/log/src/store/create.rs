//! Making partitions, and opening logs that somebody else looks after.

use std::path::Path;
use std::sync::Arc;

use thalweg_wire::Uuid;

use crate::fs::names;
use crate::partition::config::LogConfig;
use crate::partition::dir::LogDir;
use crate::partition::log::Log;
use crate::store::changes::PartitionChange;
use crate::store::error::CreateError;
use crate::store::load::{LoadError, LoadInput, load};
use crate::store::manager::LogManager;

/// A partition to be made.
#[derive(Clone, Debug)]
pub struct CreateRequest<'a> {
    /// Its topic.
    pub topic: &'a str,
    /// Its number.
    pub partition: i32,
    /// Its topic's id.
    pub topic_id: Uuid,
    /// The directory to put it in; the one with the fewest partitions without it, or where that
    /// directory is none of the node's and all of them are online.
    pub dir: Option<Uuid>,
    /// Without `dir`: the directory that [`LogManager::choose_dir`] has chosen.
    pub chosen: Option<Uuid>,
    /// The partition has never been on this node. If it may have been, and a directory is
    /// offline, it is not made anew: it might be there.
    pub is_new: bool,
}

impl<'a> CreateRequest<'a> {
    /// A new partition, anywhere.
    pub fn new(topic: &'a str, partition: i32, topic_id: Uuid) -> CreateRequest<'a> {
        CreateRequest { topic, partition, topic_id, dir: None, chosen: None, is_new: true }
    }
}

/// A log that is to be opened, or made, which nothing is known of.
pub(crate) struct Opening(LoadInput);

impl Opening {
    pub(crate) fn new(
        topic: Arc<str>,
        partition: i32,
        config: Arc<LogConfig>,
        now_ms: i64,
    ) -> Opening {
        Opening(LoadInput {
            topic,
            partition,
            config,
            log_start_offset: 0,
            recovery_point: 0,
            high_watermark: 0,
            cleaned_offset: None,
            clean: true,
            is_unmanaged: false,
            now_ms,
        })
    }
}

impl LogManager {
    /// The partition's log; made if there is none.
    pub fn create(
        &self,
        request: &CreateRequest<'_>,
        now_ms: i64,
    ) -> Result<Arc<Log>, CreateError> {
        let change = self.changes.begin(request.topic, request.partition);
        self.create_in(&change, request, now_ms)
    }

    /// [`Self::create`], in a change of the partition that was begun with [`Self::try_change`].
    pub fn create_in(
        &self,
        change: &PartitionChange,
        request: &CreateRequest<'_>,
        now_ms: i64,
    ) -> Result<Arc<Log>, CreateError> {
        debug_assert_eq!((change.topic(), change.partition()), (request.topic, request.partition));
        if !names::valid_topic(request.topic) || request.partition < 0 {
            return Err(CreateError::InvalidTopic(request.topic.to_owned()));
        }
        if let Some(log) = self.get(request.topic, request.partition) {
            log.dir().check()?;
            return match log.topic_id() {
                Some(found) if found != request.topic_id => Err(CreateError::InconsistentTopicId {
                    topic: request.topic.to_owned(),
                    partition: request.partition,
                    found,
                    expected: request.topic_id,
                }),
                Some(_) => Ok(log),
                None => {
                    log.assign_topic_id(request.topic_id)?;
                    Ok(log)
                }
            };
        }
        if !request.is_new {
            self.dirs.check_all()?;
        }
        let topic = self.logs.topic(request.topic).unwrap_or_else(|| Arc::from(request.topic));
        let adopted = match request.is_new {
            true => None,
            false => self.adopt_future(
                request.topic,
                request.partition,
                request.topic_id,
                request.dir,
                now_ms,
            )?,
        };
        if let Some(log) = adopted {
            self.logs.insert(&log);
            return Ok(log);
        }
        if request.is_new
            && let Some(future) = self.future(request.topic, request.partition)
        {
            tracing::warn!(path = %future.path().display(),
                "a future replica of an earlier topic of that name is set aside");
            self.discard_future(&future, now_ms, true)?;
        }
        let preferred = self.futures.take_preferred(request.topic, request.partition);
        // One that has failed since is not waited for.
        let mut chosen = preferred.or(request.chosen).filter(|id| self.dirs.is_online(*id));
        let log = loop {
            let wanted = request.dir.or(chosen.take());
            let dir = self.dirs.choose(wanted, |dir| self.partitions_in(dir))?;
            let config = self.configs.of(request.topic);
            let opening = Opening::new(topic.clone(), request.partition, config, now_ms);
            let name = names::partition_dir(&topic, request.partition);
            match self.open_in(&dir, &name, opening, request.topic_id) {
                // That directory is offline now; a new partition may go into another one.
                Err(CreateError::Storage(_))
                    if request.is_new
                        && request.dir.is_none()
                        && dir.check().is_err()
                        && self.dirs.any_online() => {}
                opened => break opened?,
            }
        };
        self.logs.insert(&log);
        Ok(log)
    }

    /// The directory for a new partition that none is asked for: of those that are online, not cordoned and allowed, the
    /// one with the fewest partitions, as `count` counts them.
    pub fn choose_dir(
        &self,
        is_allowed: impl Fn(&LogDir) -> bool,
        count: impl Fn(&LogDir) -> usize,
    ) -> Option<Arc<LogDir>> {
        self.dirs.emptiest(is_allowed, |dir| count(dir)).cloned()
    }

    /// How many logs a directory has, future replicas among them. Looks at all logs.
    pub fn partitions_in(&self, dir: &Arc<LogDir>) -> usize {
        self.logs.count_in(dir) + self.futures.count_in(dir)
    }

    /// A log that its owner looks after by itself: KRaft's `__cluster_metadata`. It is in no
    /// checkpoint and no housekeeping, all of it is checked when it is opened, and its owner
    /// flushes and closes it. The file that is appended to stays open, and a segment is flushed before
    /// the next one begins, so that a power cut leaves no gap.
    pub fn open_unmanaged(
        &self,
        dir: &Arc<LogDir>,
        request: &CreateRequest<'_>,
        config: Arc<LogConfig>,
        now_ms: i64,
    ) -> Result<Arc<Log>, CreateError> {
        if !names::valid_topic(request.topic) || request.partition < 0 {
            return Err(CreateError::InvalidTopic(request.topic.to_owned()));
        }
        let topic = Arc::from(request.topic);
        let mut opening = Opening::new(topic, request.partition, config, now_ms);
        (opening.0.clean, opening.0.is_unmanaged) = (false, true);
        let name = names::partition_dir(request.topic, request.partition);
        self.open_in(dir, &name, opening, request.topic_id)
    }

    /// Opens or makes the log in the directory of that name.
    pub(crate) fn open_in(
        &self,
        dir: &Arc<LogDir>,
        name: &str,
        opening: Opening,
        topic_id: Uuid,
    ) -> Result<Arc<Log>, CreateError> {
        dir.check()?;
        let path = dir.path().join(name);
        let was_there = dir.guard("look at", &path, dir.disk.has_name(&path))?;
        let mut input = opening.0;
        // The start has not seen it, so nothing is known of how it was closed.
        input.clean &= !was_there;
        let opened = self.open_at(dir, &path, input, topic_id);
        if opened.is_err() && !was_there {
            // Nothing was ever appended to it. This may fail too, for the same reason: then the next
            // attempt, or the next start, finds a partition without a topic id.
            if let Err(error) = dir.disk.remove_dir_all(&path) {
                tracing::warn!(path = %path.display(), %error,
                    "what is left of a partition that could not be made stays there");
            }
        }
        opened
    }

    fn open_at(
        &self,
        dir: &Arc<LogDir>,
        path: &Path,
        input: LoadInput,
        topic_id: Uuid,
    ) -> Result<Arc<Log>, CreateError> {
        let (topic, partition) = (input.topic.clone(), input.partition);
        dir.guard("create", path, dir.disk.create_dir_all(path))?;
        let (log, _) = load(dir, path, input).map_err(|error| match error {
            LoadError::Storage(error) => CreateError::Storage(error),
            LoadError::Refused(reason) => CreateError::Load { path: path.into(), reason },
        })?;
        match log.topic_id() {
            Some(found) if found != topic_id => Err(CreateError::InconsistentTopicId {
                topic: topic.to_string(),
                partition,
                found,
                expected: topic_id,
            }),
            Some(_) => Ok(log),
            None => {
                log.assign_topic_id(topic_id)?;
                Ok(log)
            }
        }
    }
}
