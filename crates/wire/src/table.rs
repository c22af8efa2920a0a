//! Messages chosen at run time, by name.

use crate::message::Message;

pub use crate::r#gen::table::{MESSAGES, visit};

/// What is done with a message whose type is found by [`visit`].
///
/// ```
/// use thalweg_wire::table::{Visit, visit};
/// use thalweg_wire::Message;
///
/// struct FlexibleFrom;
/// impl Visit for FlexibleFrom {
///     type Output = i16;
///     fn visit<M: Message>(self) -> i16 {
///         M::FLEXIBLE_FROM
///     }
/// }
/// assert_eq!(visit("FetchRequest", FlexibleFrom), Some(12));
/// assert_eq!(visit("NoSuchRequest", FlexibleFrom), None);
/// ```
pub trait Visit {
    /// What comes of it.
    type Output;

    /// Does it.
    fn visit<M: Message>(self) -> Self::Output;
}
