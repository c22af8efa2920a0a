//! What goes wrong while bytes are read or written.

/// Why bytes are not the message they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The input ends inside a field.
    #[error("{need} bytes needed, {have} left")]
    Truncated {
        /// Bytes the field needs.
        need: usize,
        /// Bytes that were left.
        have: usize,
    },
    /// A variable-length integer has no end within its widest form.
    #[error("malformed variable-length integer")]
    BadVarint,
    /// A length is negative where the field cannot be null, or wider than the field may be.
    #[error("length {0} is not valid for this field")]
    BadLength(i64),
    /// An array claims more elements than bytes are left.
    #[error("array of {count} elements claimed with {have} bytes left")]
    TooManyElements {
        /// Elements claimed.
        count: usize,
        /// Bytes that were left.
        have: usize,
    },
    /// More elements or tagged fields than one message may have.
    #[error("{count} elements claimed where at most {max} are read")]
    AboveLimit {
        /// Elements claimed.
        count: usize,
        /// Elements that are read.
        max: usize,
    },
    /// The decoded form would take more memory than the reader may use.
    #[error("decoded form exceeds the memory allowed for {0} bytes of input")]
    OverBudget(usize),
    /// A field that cannot be null in this version is.
    #[error("field {0} is null")]
    Null(&'static str),
    /// A tagged field appears in a version that does not have it.
    #[error("tag {tag} is not valid in version {version}")]
    TagNotInVersion {
        /// The tag.
        tag: u32,
        /// The message's version.
        version: i16,
    },
    /// The message does not exist in this version.
    #[error("{message} has no version {version}")]
    UnsupportedVersion {
        /// The message.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A record type this version does not know.
    #[error("unknown record type {key}")]
    UnknownRecordType {
        /// Number of the type.
        key: i16,
    },
}

/// Why a message cannot be written in a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeError {
    /// A field is set that the version lacks and that may not be dropped.
    #[error("{message}.{field} is set, but version {version} has no such field")]
    NotInVersion {
        /// The message or the part of it.
        message: &'static str,
        /// The field.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A field is null in a version where it cannot be.
    #[error("{message}.{field} is null, which version {version} does not allow")]
    Null {
        /// The message or the part of it.
        message: &'static str,
        /// The field.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// The message does not exist in this version.
    #[error("{message} has no version {version}")]
    UnsupportedVersion {
        /// The message.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// An unknown tagged field has the tag of a known one, or does not come in ascending order.
    #[error("unknown tagged field {0} is out of order or has a known field's tag")]
    BadTag(u32),
    /// A value is longer than its length field can say.
    #[error("a value of {0} bytes or elements is too long for its field")]
    TooLong(usize),
}

/// Result of reading.
pub type Decoded<T> = Result<T, DecodeError>;
/// Result of writing.
pub type Encoded = Result<(), EncodeError>;

/// Refuses null where `allowed` is false.
#[inline]
pub(crate) fn non_null_unless<T>(
    allowed: bool,
    value: Option<T>,
    field: &'static str,
) -> Decoded<Option<T>> {
    if value.is_none() && !allowed { Err(DecodeError::Null(field)) } else { Ok(value) }
}
