//! Committed offsets: commit, in transactions too, fetch, delete, expiry, and topics that go away.
//!
//! Offsets belong to a group, which need not have members: a consumer that only commits has a group
//! without a record of its own (a *simple* group).

mod commit;
mod delete;
mod expire;
mod fetch;
mod txn_commit;

pub(crate) use commit::{CommitGroup, commit_offsets};
pub(crate) use delete::{delete_all_offsets, delete_offsets, delete_topics, refuse_delete};
pub(crate) use expire::{Expiry, expire_offsets};
pub(crate) use fetch::{fetch_committed, fetch_stable};
pub(crate) use txn_commit::commit_transactional_offsets;
