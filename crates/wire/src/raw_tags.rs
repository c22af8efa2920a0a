//! Tagged fields that this version of the protocol does not know.

use bytes::Bytes;

/// Unknown tagged fields, in the order they came; nearly always none, so it is one word when empty.
// Boxed twice on purpose: the field stands in hundreds of structs and is one word there.
#[allow(clippy::box_collection)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawTags(Option<Box<Vec<(u32, Bytes)>>>);

impl RawTags {
    /// Adds a field.
    pub fn push(&mut self, tag: u32, value: Bytes) {
        self.0.get_or_insert_default().push((tag, value));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |v| v.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tag and raw value of each.
    pub fn iter(&self) -> std::slice::Iter<'_, (u32, Bytes)> {
        self.0.as_ref().map_or([].iter(), |v| v.iter())
    }
}
