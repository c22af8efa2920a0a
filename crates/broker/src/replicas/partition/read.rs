//! Reading a partition: what a fetch may have, and what coordinators load.

use std::sync::Arc;

use thalweg_log::{Isolation, LogOffsets, ReadError, Wait, retry_exhausted};
use thalweg_replication::Fetched;
use thalweg_wire::ErrorCode;

use super::{Leader, Partition, Piece};

/// Why nothing was read.
#[derive(Debug)]
pub(crate) enum ReadFailure {
    /// This broker does not lead.
    NotLeader { leader_id: i32, leader_epoch: i32 },
    /// The reader knows an older leader epoch.
    Fenced { leader_id: i32, leader_epoch: i32 },
    /// The reader knows a newer leader epoch than this broker.
    UnknownEpoch,
    /// The log refused.
    Log(ReadError),
}

/// What a fetch wants of the partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadRequest {
    pub(crate) offset: i64,
    pub(crate) max_bytes: usize,
    pub(crate) min_one: bool,
    pub(crate) committed_only: bool,
    /// -1 when the reader does not say.
    pub(crate) current_leader_epoch: i32,
    /// -1 when the reader does not say.
    pub(crate) last_fetched_epoch: i32,
    /// Whether this broker need not lead (KIP-392).
    pub(crate) any_replica: bool,
}

/// A replica on another broker, as its fetch says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplicaFetch {
    pub(crate) id: i32,
    /// Epoch of its broker; -1 if the request has none.
    pub(crate) broker_epoch: i64,
    /// Where its log starts.
    pub(crate) log_start: i64,
}

/// What a fetch gets of the partition.
#[derive(Debug)]
pub(crate) struct PartitionRead {
    pub(crate) leader: Leader,
    pub(crate) offsets: LogOffsets,
    pub(crate) diverging: Option<(i32, i64)>,
    pub(crate) aborted: Option<Vec<(i64, i64)>>,
    pub(crate) piece: Option<Piece>,
    /// Bytes that there are to read, whether or not they are in the piece: of one segment, with the batch that does not
    /// fit.
    pub(crate) readable: u32,
    /// Whether the reader lags so far that the end of what it may read is in a newer segment.
    pub(crate) is_in_older_segment: bool,
}

impl PartitionRead {
    /// One without records.
    fn without_records(leader: Leader, offsets: LogOffsets) -> PartitionRead {
        PartitionRead {
            leader,
            offsets,
            diverging: None,
            aborted: None,
            piece: None,
            readable: 0,
            is_in_older_segment: false,
        }
    }
}

impl Partition {
    /// Checks a reader's leader epoch against the partition's, which comes before the check whether this broker leads.
    pub(crate) fn check_epoch(&self, current: i32) -> Result<i32, ReadFailure> {
        self.check_reader(current, false).map(|leader| leader.epoch)
    }

    /// The same of a reader that may read from any replica; gives the leader.
    pub(crate) fn check_reader(
        &self,
        current: i32,
        any_replica: bool,
    ) -> Result<Leader, ReadFailure> {
        let leader = self.serving_leader();
        if !leader.is_local {
            self.log.dir().check().map_err(|error| ReadFailure::Log(error.into()))?;
        }
        let Leader { id: leader_id, epoch: leader_epoch, is_local } = leader;
        // Only -1 says nothing; what is below it is an epoch that has passed.
        if current != -1 && current < leader_epoch {
            return Err(ReadFailure::Fenced { leader_id, leader_epoch });
        }
        if current > leader_epoch {
            return Err(ReadFailure::UnknownEpoch);
        }
        // This broker is about to lead: the request is early, not wrong.
        if current != -1 && !is_local && leader_id == self.shared.node.id() {
            return Err(ReadFailure::UnknownEpoch);
        }
        // Before the first metadata nothing is known of what is committed.
        match is_local || any_replica && leader_epoch >= 0 && !self.is_gone() {
            true => Ok(leader),
            false => Err(ReadFailure::NotLeader { leader_id, leader_epoch }),
        }
    }

    /// The leader that requests go by: not this broker while its directory is offline or a change of role waits.
    pub(crate) fn serving_leader(&self) -> Leader {
        match self.led_epoch() {
            Ok(epoch) => Leader { id: self.shared.node.id(), epoch, is_local: true },
            Err(leader) => leader,
        }
    }

    /// The in-sync replica in `rack` that a consumer should rather read from than from this leader, as Kafka's
    /// `RackAwareReplicaSelector` chooses it: the one that has most. `None` if there is none, or this broker is in that
    /// rack itself, or does not lead.
    pub(crate) fn preferred_read_replica(
        &self,
        rack: &str,
        listener: &str,
        offset: i64,
    ) -> Option<i32> {
        if self.is_alone() {
            return None;
        }
        let image = self.shared.node.load_image();
        let is_there = |id: i32| {
            let broker = image.cluster.broker(id).filter(|broker| !broker.fenced);
            broker.is_some_and(|it| {
                it.rack.as_deref() == Some(rack) && it.endpoint(listener).is_some()
            })
        };
        if is_there(self.shared.node.id()) {
            return None;
        }
        let replica = self.replica.lock();
        replica
            .in_sync_followers()
            .filter(|(_, it)| it.log_end >= offset && it.log_start <= offset)
            .filter(|(id, _)| is_there(*id))
            .max_by_key(|(id, it)| (it.log_end, it.caught_up_ms, *id))
            .map(|(id, _)| id)
    }

    /// Finds what a fetch may have. With [`Wait::Never`] the answer may be
    /// [`ReadError::WouldBlock`]: index or headers are not in memory.
    pub(crate) fn read(
        &self,
        request: &ReadRequest,
        wait: Wait,
    ) -> Result<PartitionRead, ReadFailure> {
        let leader = self.check_reader(request.current_leader_epoch, request.any_replica)?;
        let isolation =
            if request.committed_only { Isolation::LastStable } else { Isolation::HighWatermark };
        self.read_from(leader, request, isolation, wait)
    }

    /// The same for a replica on another broker, which may have what is not committed yet. What the fetch says of the
    /// replica's log counts if `is_new`: records may be committed by it, and the replica may join the ISR.
    pub(crate) fn read_for_replica(
        &self,
        request: &ReadRequest,
        follower: &ReplicaFetch,
        is_new: bool,
        wait: Wait,
    ) -> Result<PartitionRead, ReadFailure> {
        let epoch = request.current_leader_epoch;
        let leader = self.check_reader(epoch, false)?;
        let refused = |code| match code {
            ErrorCode::UNKNOWN_LEADER_EPOCH => ReadFailure::UnknownEpoch,
            _ => ReadFailure::NotLeader { leader_id: leader.id, leader_epoch: leader.epoch },
        };
        self.check_replica(follower.id, (epoch != -1).then_some(epoch)).map_err(refused)?;
        // Before it is read: what is appended later does not keep the replica from being caught up.
        let leader_end = self.log.log_end_offset();
        let mut found = self.read_from(leader, request, Isolation::LogEnd, wait)?;
        if is_new && found.diverging.is_none() {
            let fetched = Fetched {
                replica: follower.id,
                leader_epoch: leader.epoch,
                broker_epoch: follower.broker_epoch,
                offset: request.offset,
                log_start: follower.log_start,
                leader_end,
            };
            self.fetched(&fetched).map_err(refused)?;
        }
        if found.piece.is_some() && self.holds_up(follower.id) {
            found.piece = None;
            (found.readable, found.is_in_older_segment) = (0, false);
        }
        Ok(found)
    }

    fn read_from(
        &self,
        leader: Leader,
        request: &ReadRequest,
        isolation: Isolation,
        wait: Wait,
    ) -> Result<PartitionRead, ReadFailure> {
        // A reader that followed this epoch to the end cannot have diverged.
        if (request.last_fetched_epoch < 0 || request.last_fetched_epoch == leader.epoch)
            && let Some(offsets) = self.log.nothing_at(request.offset, isolation)
        {
            return Ok(PartitionRead {
                aborted: request.committed_only.then(Vec::new),
                ..PartitionRead::without_records(leader, offsets)
            });
        }
        if let Some(diverging) = self.divergence(request)? {
            let found = PartitionRead::without_records(leader, self.log.offsets());
            return Ok(PartitionRead { diverging: Some(diverging), ..found });
        }
        let ask = thalweg_log::ReadRequest {
            offset: request.offset,
            max_bytes: u32::try_from(request.max_bytes).unwrap_or(u32::MAX),
            min_one: request.min_one,
            isolation,
            wait,
        };
        let result = self.log.read(&ask).map_err(ReadFailure::Log)?;
        let piece = result.file().filter(|_| result.len > 0).map(|file| Piece {
            file: Arc::clone(file),
            position: result.position,
            len: result.len,
        });
        let aborted = request.committed_only.then(|| {
            result.aborted.iter().map(|txn| (txn.producer_id, txn.first_offset)).collect()
        });
        Ok(PartitionRead {
            aborted,
            piece,
            readable: result.readable,
            is_in_older_segment: result.is_in_older_segment,
            ..PartitionRead::without_records(leader, result.offsets)
        })
    }

    /// Where the reader's log and this one part ways, if they do (KIP-595).
    fn divergence(&self, request: &ReadRequest) -> Result<Option<(i32, i64)>, ReadFailure> {
        if request.last_fetched_epoch < 0 {
            return Ok(None);
        }
        let out_of_range = || {
            ReadFailure::Log(ReadError::OffsetOutOfRange {
                topic: Arc::clone(&self.topic),
                partition: self.index,
                offset: request.offset,
                log_start_offset: self.log.log_start_offset(),
                log_end_offset: self.log.log_end_offset(),
            })
        };
        let (epoch, end) =
            self.log.end_offset_for_epoch(request.last_fetched_epoch).ok_or_else(out_of_range)?;
        if request.offset < self.log.log_start_offset() {
            return Err(out_of_range());
        }
        let diverges = epoch < request.last_fetched_epoch || end < request.offset;
        Ok(diverges.then_some((epoch, end)))
    }

    /// Whole batches from `offset` on, up to the log's end, on a thread that may wait. `None` while
    /// files cannot be opened for lack of descriptors or memory: nothing is wrong, and it may be asked
    /// again.
    pub(crate) fn read_whole(
        &self,
        offset: i64,
        max_bytes: usize,
    ) -> Result<Option<Vec<u8>>, String> {
        let request = thalweg_log::ReadRequest {
            offset,
            max_bytes: u32::try_from(max_bytes).unwrap_or(u32::MAX),
            min_one: true,
            isolation: Isolation::LogEnd,
            wait: Wait::Allowed,
        };
        // The caller needs the records, and does not ask again.
        let result = retry_exhausted(|| match self.log.read(&request) {
            Err(ReadError::Storage(failure)) => Err(failure),
            result => Ok(result),
        });
        let result = match result {
            Err(failure) if failure.is_retriable => return Ok(None),
            result => result.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?,
        };
        result.to_vec().map(Some).map_err(|e| e.to_string())
    }
}
