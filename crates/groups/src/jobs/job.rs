//! The jobs of a shard, as its runner takes them.

use thalweg_coordinator::Job;

use super::regexes::{RegexJob, RegexesResolved};
use super::target::{TargetComputed, TargetJob};

/// What a shard has computed elsewhere.
#[derive(Clone, Debug)]
pub enum GroupJob {
    /// The target assignment of a consumer group.
    Target(TargetJob),
    /// The topics that a group's regular expressions stand for.
    Regexes(RegexJob),
}

impl From<TargetJob> for GroupJob {
    fn from(job: TargetJob) -> GroupJob {
        GroupJob::Target(job)
    }
}

impl From<RegexJob> for GroupJob {
    fn from(job: RegexJob) -> GroupJob {
        GroupJob::Regexes(job)
    }
}

/// What came of it.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum GroupJobDone {
    Target(TargetComputed),
    Regexes(RegexesResolved),
}

impl Job for GroupJob {
    type Done = GroupJobDone;

    fn run(&self) -> GroupJobDone {
        match self {
            GroupJob::Target(job) => GroupJobDone::Target(job.run()),
            GroupJob::Regexes(job) => GroupJobDone::Regexes(job.run()),
        }
    }

    fn failed(&self) -> GroupJobDone {
        match self {
            GroupJob::Target(job) => GroupJobDone::Target(job.failed()),
            GroupJob::Regexes(job) => GroupJobDone::Regexes(job.failed()),
        }
    }
}
