//! Finds the topics that the regular expressions of a group stand for.
//!
//! Invariant: the job owns a snapshot. An expression that this release does not accept stands for nothing.

use std::sync::Arc;

use thalweg_coordinator::Job;
use thalweg_metadata::image::MetadataImage;

use super::id::JobId;
use crate::formats::TopicRegex;

/// Topics that a regular expression stood for when it was last looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedRegex {
    /// The topics, sorted.
    pub topics: Arc<[Arc<str>]>,
    /// Offset of the metadata image that was looked at.
    pub version: i64,
    /// When, in milliseconds since the epoch.
    pub timestamp_ms: i64,
}

/// Finds the topics that regular expressions stand for.
#[derive(Clone, Debug)]
pub struct RegexJob {
    pub(crate) id: JobId,
    pub(crate) group: Arc<str>,
    pub(crate) regexes: Vec<Arc<str>>,
    pub(crate) image: Arc<MetadataImage>,
    pub(crate) now_ms: i64,
}

/// What expressions stand for; `None` if that could not be found out.
#[derive(Debug)]
pub struct RegexesResolved {
    pub(crate) id: JobId,
    pub(crate) group: Arc<str>,
    pub(crate) resolved: Option<Vec<(Arc<str>, ResolvedRegex)>>,
}

impl Job for RegexJob {
    type Done = RegexesResolved;

    fn run(&self) -> RegexesResolved {
        let version = self.image.provenance.offset;
        let resolve = |regex: &Arc<str>| {
            // Checked when a member sent it. One that another release took and this one does not
            // stands for nothing.
            let compiled = TopicRegex::new(regex).ok();
            let mut matcher = compiled.as_ref().map(TopicRegex::matcher);
            let topics = self.image.topics.iter().map(|topic| &topic.name);
            let topics = topics.filter(|name| matcher.as_mut().is_some_and(|m| m.matches(name)));
            let topics = topics.cloned().collect();
            (regex.clone(), ResolvedRegex { topics, version, timestamp_ms: self.now_ms })
        };
        let resolved = self.regexes.iter().map(resolve).collect();
        RegexesResolved { id: self.id, group: self.group.clone(), resolved: Some(resolved) }
    }

    fn failed(&self) -> RegexesResolved {
        RegexesResolved { id: self.id, group: self.group.clone(), resolved: None }
    }
}
