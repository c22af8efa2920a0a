//! The regular expressions of `SubscribedTopicRegex` (KIP-848), which a coordinator matches against
//! the names of all topics.
//!
//! Kafka uses RE2/J for them. Its syntax is neither Java's nor that of Rust's `regex`, and clients see
//! what is refused, so patterns are parsed here (`parser.rs`), by RE2/J's grammar. Two things make that
//! small. A topic's name is ASCII, so a class is 128 bits and no tables of Unicode are needed
//! (`ascii_set.rs`). And all that is asked is whether a whole name matches, so neither groups nor
//! greediness have any effect, and a pattern can become the steps of a machine as it is read
//! (`program.rs`), without a syntax tree whose depth would have to be limited. `regex-automata` runs it:
//! a lazy DFA, in time linear in the name.
//!
//! Differences from RE2/J, all of them meant:
//! - A text that is not ASCII matches nothing. No topic has such a name.
//! - Where two alternatives begin with the same letter and one of them ignores its case, RE2/J merges
//!   the two letters: `T.*|[Tt]opic` does not match `topic` there, and `[Tt]opic|T.*` matches `tx`.
//! - RE2/J does not end when case is ignored for one of some Cyrillic letters (U+1C80 to U+1C88), or
//!   for a range with one of them: Java knows their capitals, and RE2/J's older tables do not.
//! - RE2/J writes out any repetition and calls itself for each level of groups, until it has no memory
//!   or stack left. Here a pattern has at most [`PATTERN_BYTES_MAX`] bytes, as in Kafka's protocol, and
//!   one that becomes too large by its counted repetitions is refused; depth has no limit.
//! - A `)` too many is an internal error in RE2/J and [`InvalidRegexKind::UnexpectedParen`] here.

mod ascii_set;
mod cursor;
mod error;
mod parser;
mod program;
#[cfg(test)]
mod tests;

use std::fmt;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::{Anchored, Input};

pub use error::{InvalidRegex, InvalidRegexKind};

/// Longest pattern, in bytes: the length of the longest string in Kafka's protocol.
const PATTERN_BYTES_MAX: usize = i16::MAX as usize;

/// Most steps that the counted repetitions of a pattern may add to it. Without them a byte makes two
/// steps at most, so nothing else can become too large.
const COPIED_STEPS_MAX: usize = 20_000;
/// How much a matcher keeps of what it learnt, before it forgets all of it and begins anew. A machine
/// whose few smallest states need more gets that.
const LEARNT_BYTES_MAX: usize = 1 << 20;

/// A regular expression that whole names of topics are matched against.
///
/// ```
/// # use thalweg_groups::TopicRegex;
/// let regex = TopicRegex::new(r"orders-(eu|us)\.v\d+").unwrap();
/// assert!(regex.matches("orders-eu.v12"));
/// assert!(!regex.matches("orders-eu.v12.retry"));
/// assert!(TopicRegex::new("orders-(?=eu)").is_err());
/// ```
#[derive(Clone)]
pub struct TopicRegex {
    pattern: Box<str>,
    dfa: DFA,
}

impl TopicRegex {
    /// Compiles a pattern, in time and memory that depend on its length but have a limit.
    ///
    /// # Errors
    /// If RE2/J would refuse it, or it is too large.
    pub fn new(pattern: &str) -> Result<TopicRegex, InvalidRegex> {
        let too_large = || InvalidRegex::new(InvalidRegexKind::TooLarge, 0, pattern);
        let nfa = parser::parse(pattern)?.finish().map_err(|_| too_large())?;
        let config = DFA::config().skip_cache_capacity_check(true).cache_capacity(LEARNT_BYTES_MAX);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).map_err(|_| too_large())?;
        Ok(TopicRegex { pattern: pattern.into(), dfa })
    }

    /// The pattern as it was given.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Whether the whole name matches. For many names take a [`matcher`](TopicRegex::matcher).
    pub fn matches(&self, topic: &str) -> bool {
        self.matcher().matches(topic)
    }

    /// A matcher for many names. It keeps what it learns of the regular expression, within a limit, and
    /// allocates for that only: not for each name.
    pub fn matcher(&self) -> TopicMatcher<'_> {
        TopicMatcher { dfa: &self.dfa, learnt: self.dfa.create_cache() }
    }
}

impl fmt::Debug for TopicRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TopicRegex").field(&self.pattern).finish()
    }
}

/// Matches many names against one [`TopicRegex`].
pub struct TopicMatcher<'r> {
    dfa: &'r DFA,
    learnt: Cache,
}

impl TopicMatcher<'_> {
    /// Whether the whole name matches.
    pub fn matches(&mut self, topic: &str) -> bool {
        let input = Input::new(topic).anchored(Anchored::Yes);
        // It fails at bytes on which it was told to, or after so many losses of what it learnt: it was
        // given neither.
        matches!(self.dfa.try_search_fwd(&mut self.learnt, &input), Ok(Some(_)))
    }
}

impl fmt::Debug for TopicMatcher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopicMatcher").finish_non_exhaustive()
    }
}
