//! Tagged fields that this version of the protocol does not know.

use bytes::Bytes;

/// Unknown tagged fields, in the order they came; nearly always none, so it is one word when empty.
// Boxed twice on purpose: the field stands in hundreds of structs and is one word there.
#[allow(clippy::box_collection)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawTags(Option<Box<Vec<(u32, Bytes)>>>);

impl RawTags {
    /// Adds a field. Those that are to be written again come in ascending order of their tags.
    pub fn push(&mut self, tag: u32, value: Bytes) {
        self.0.get_or_insert_with(|| Box::new(Vec::with_capacity(1))).push((tag, value));
    }

    /// Memory that the next field takes at most, without its value: the first one a list of its
    /// own, later ones a share of the list's growth, during which old and new stand side by side.
    pub(crate) fn cost(&self) -> usize {
        const ENTRY: usize = size_of::<(u32, Bytes)>();
        // A list of more than one entry has room for four at least.
        match self.len() {
            0 => ENTRY + size_of::<Vec<(u32, Bytes)>>(),
            1 => 4 * ENTRY,
            _ => 3 * ENTRY,
        }
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
    pub fn as_slice(&self) -> &[(u32, Bytes)] {
        self.0.as_ref().map_or(&[], |v| v.as_slice())
    }

    /// Tag and raw value of each.
    pub fn iter(&self) -> std::slice::Iter<'_, (u32, Bytes)> {
        self.as_slice().iter()
    }
}
