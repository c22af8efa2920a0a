//! Why a pattern is refused.

/// A pattern that is no regular expression of RE2/J's, or one that is too large.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}: `{part:.60}`")]
pub struct InvalidRegex {
    kind: InvalidRegexKind,
    offset: usize,
    part: String,
}

impl InvalidRegex {
    pub(super) fn new(kind: InvalidRegexKind, offset: usize, part: &str) -> InvalidRegex {
        InvalidRegex { kind, offset, part: part.to_owned() }
    }

    /// What is wrong. Its text is what Kafka puts into the message of `INVALID_REGULAR_EXPRESSION`.
    pub fn kind(&self) -> InvalidRegexKind {
        self.kind
    }

    /// Where [`part`](InvalidRegex::part) begins, in bytes of the pattern.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The part of the pattern that is wrong.
    pub fn part(&self) -> &str {
        &self.part
    }
}

/// What is wrong with a pattern.
///
/// Clients see the texts in Kafka's error messages, so they are RE2's, word for word; the last three
/// have no counterpart there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRegexKind {
    /// A range that ends before it begins, or a class with a name that nobody knows.
    #[error("invalid character class range")]
    ClassRange,
    /// A backslash before a letter or digit that means nothing.
    #[error("invalid escape sequence")]
    Escape,
    /// A group whose name is empty, unfinished, or has other characters than letters, digits and `_`.
    #[error("invalid named capture")]
    GroupName,
    /// A second group of the same name.
    #[error("duplicate capture group name")]
    DuplicateGroupName,
    /// `(?` before something else than flags or a name, as in lookarounds.
    #[error("invalid or unsupported Perl syntax")]
    PerlSyntax,
    /// A repetition of a repetition, as in `a**` or the possessive `a++`.
    #[error("invalid nested repetition operator")]
    RepeatOperator,
    /// A count above 1000, or a least count above the greatest.
    #[error("invalid repeat count")]
    RepeatSize,
    /// A repetition of nothing.
    #[error("missing argument to repetition operator")]
    MissingRepeatArgument,
    /// A class without an end.
    #[error("missing closing ]")]
    MissingBracket,
    /// A group without an end.
    #[error("missing closing )")]
    MissingParen,
    /// A backslash with nothing behind it.
    #[error("trailing backslash at end of expression")]
    TrailingBackslash,
    /// The end of a group that was not begun. RE2/J calls this an internal error.
    #[error("unexpected )")]
    UnexpectedParen,
    /// A pattern longer than a string of Kafka's protocol can be.
    #[error("expression is longer than {} bytes", super::PATTERN_BYTES_MAX)]
    TooLong,
    /// A pattern that becomes too large when its counted repetitions are written out.
    #[error("expression is too large with its repetitions written out")]
    TooLarge,
}
