//! Offsets of the groups of a shard, whatever their type.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_coordinator::{AppendKind, Now, Producer, Reply};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::offset_fetch_request::OffsetFetchRequestGroup;
use thalweg_wire::messages::{
    OffsetCommitRequest, OffsetDeleteRequest, OffsetDeleteResponse, TxnOffsetCommitRequest,
};

use super::classic::env;
use super::{GroupShard, Out};
use crate::classic::{ClassicGroup, ClassicGroupState};
use crate::logged::{GroupKind, Logged};
use crate::model::{GroupRecord, GroupResponse, GroupTimer, RequestContext};
use crate::offsets::{
    CommitGroup, Expiry, commit_offsets, commit_transactional_offsets, delete_offsets,
    expire_offsets, fetch_committed, fetch_stable, refuse_delete,
};

/// The group whose offsets are to be committed.
fn commit_group<'a>(
    kind: GroupKind,
    live: &'a mut BTreeMap<Arc<str>, ClassicGroup>,
    logged: &'a Logged,
    id: &str,
) -> CommitGroup<'a> {
    let group = match kind {
        GroupKind::Absent | GroupKind::Reserved(_) => None,
        GroupKind::Classic => live.get_mut(id).map(CommitGroup::Classic),
        GroupKind::EmptyConsumer | GroupKind::Consumer | GroupKind::Hosted => {
            let is_hosted = kind == GroupKind::Hosted;
            logged.consumer_group(id).map(|group| CommitGroup::Consumer { group, is_hosted })
        }
    };
    group.unwrap_or(CommitGroup::None)
}

impl GroupShard {
    pub(super) fn commit_offsets(
        &mut self,
        kind: GroupKind,
        context: &RequestContext,
        request: &OffsetCommitRequest,
        now: Now,
        out: &mut Out,
    ) -> GroupResponse {
        let mut env = env!(self, now, out);
        let group = commit_group(kind, &mut self.classic_groups, &self.logged, &request.group_id);
        let response = commit_offsets(group, request, context.api_version, &mut env);
        self.counters.offset_commits += out.records.len() as u64;
        GroupResponse::OffsetCommit(response)
    }

    /// Offsets of a producer's transaction.
    pub(super) fn commit_transactional_offsets(
        &mut self,
        kind: GroupKind,
        context: &RequestContext,
        request: &TxnOffsetCommitRequest,
        now: Now,
        out: &mut Out,
    ) -> GroupResponse {
        let group = commit_group(kind, &mut self.classic_groups, &self.logged, &request.group_id);
        let response = commit_transactional_offsets(
            group,
            request,
            context.api_version,
            &self.config,
            now.wall_ms,
            &mut out.records,
        );
        out.kind = AppendKind::Transactional(Producer {
            id: request.producer_id,
            epoch: request.producer_epoch,
        });
        self.counters.offset_commits += out.records.len() as u64;
        GroupResponse::TxnOffsetCommit(response)
    }

    /// Offsets as of the last commit, or, if they have to be stable, as of everything written.
    pub(super) fn fetch_offsets(
        &self,
        request: &OffsetFetchRequestGroup,
        require_stable: bool,
        api_version: i16,
    ) -> Reply<GroupResponse> {
        let id = request.group_id.as_str();
        if require_stable {
            let is_classic = || self.kind(id) == GroupKind::Hosted;
            let fetched = fetch_stable(&self.logged, request, api_version, is_classic);
            return Reply::AfterCommit(GroupResponse::OffsetFetch(fetched));
        }
        let is_classic = || self.committed_kind(id) == GroupKind::Hosted;
        let fetched = fetch_committed(&self.logged, request, api_version, is_classic);
        Reply::Now(GroupResponse::OffsetFetch(fetched))
    }

    /// Deletes offsets of a classic group.
    pub(super) fn delete_offsets_of_classic(
        &mut self,
        request: &OffsetDeleteRequest,
        out: &mut Out,
    ) -> GroupResponse {
        let response = self.classic_groups.get(request.group_id.as_str()).map(|group| {
            refuse_delete(group).unwrap_or_else(|| {
                let is_subscribed = |topic: &str| group.is_subscribed_to(topic);
                delete_offsets(&self.logged, is_subscribed, request, &mut out.records)
            })
        });
        self.offsets_deleted(response, out)
    }

    /// Deletes offsets of a consumer group.
    pub(super) fn delete_offsets_of_consumer(
        &mut self,
        request: &OffsetDeleteRequest,
        out: &mut Out,
    ) -> GroupResponse {
        let response = self.logged.consumer_group(&request.group_id).map(|group| {
            let is_subscribed = |topic: &str| group.topics().contains_key(topic);
            delete_offsets(&self.logged, is_subscribed, request, &mut out.records)
        });
        self.offsets_deleted(response, out)
    }

    /// Counts deleted offsets. There is no response for a group that does not exist.
    fn offsets_deleted(
        &mut self,
        response: Option<OffsetDeleteResponse>,
        out: &Out,
    ) -> GroupResponse {
        self.counters.offset_deletions += out.records.len() as u64;
        GroupResponse::OffsetDelete(response.unwrap_or_else(|| OffsetDeleteResponse {
            error_code: ErrorCode::GROUP_ID_NOT_FOUND,
            ..Default::default()
        }))
    }

    /// Removes expired offsets, and groups that hold nothing any more.
    pub(super) fn expire(&mut self, now: Now, out: &mut Out) {
        let mut expired = 0;
        let mut expire = |expiry: &Expiry<'_>, records: &mut Vec<GroupRecord>| {
            let before = records.len();
            let retention_ms = self.config.offsets_retention_ms;
            let nothing_left =
                expire_offsets(&self.logged, expiry, now.wall_ms, retention_ms, records);
            expired += records.len() - before;
            nothing_left
        };
        for group in self.classic_groups.values() {
            if expire(&Expiry::of_classic(group), &mut out.records)
                && group.is(ClassicGroupState::Empty)
            {
                out.record(GroupRecord::group_metadata(group.id(), None));
                self.rebalances.forget(group.id());
            }
        }
        let mut ended: Vec<Arc<str>> = Vec::new();
        for (id, group) in self.logged.consumer_groups() {
            if expire(&Expiry::of_consumer(id, group), &mut out.records)
                && group.members().is_empty()
            {
                ended.push(id.clone());
            }
        }
        self.counters.offset_expirations += expired as u64;
        for id in ended {
            self.rebalances.forget(&id);
            self.end_consumer_group(&id, now, out);
        }
        out.split();
        out.schedule(GroupTimer::Expiration, self.config.offsets_retention_check_interval_ms);
    }
}
