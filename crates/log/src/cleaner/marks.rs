//! What the first reading of a log's dirty section has learnt of its batches, so that the second one
//! need not look at their records again: which records a newer one of the section has replaced.
//!
//! Two bits for each offset of the section, as many as there is memory for. A batch of which they say
//! nothing is looked at, so knowing less costs time and never a record. Pure.

use std::ops::Range;

use thalweg_records::BatchView;

/// Offsets whose bits are in one word of each kind.
const PER_WORD: u64 = 64;

/// Bytes for the bits of [`PER_WORD`] offsets.
const WORD_LEN: usize = size_of::<Word>();

/// The bits of neighbouring offsets, the lowest offset's lowest.
#[derive(Clone, Copy, Default, Debug)]
struct Word {
    /// At a batch's first offset: all its records were met, and each has a key and a value.
    plain: u64,
    /// At a record's offset: its key was met again.
    replaced: u64,
}

/// What is known of the records of a section that begins at `start`.
#[derive(Default, Debug)]
pub(crate) struct Marks {
    start: i64,
    words: Vec<Word>,
    /// Last offset of the batch that was noted last.
    noted: i64,
    /// Offsets cannot be told apart, so nothing is known, nor will be.
    is_unsure: bool,
}

/// How many of a plain batch's records were replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Replaced {
    None,
    All,
    /// So many that some are left.
    Some(u64),
}

impl Marks {
    /// Bytes that a section of so many offsets needs.
    pub(crate) fn bytes_for(offsets: u64) -> u64 {
        offsets.div_ceil(PER_WORD).saturating_mul(WORD_LEN as u64)
    }

    /// Knows nothing of a section that begins at `start`, and has `bytes` for what it will.
    pub(crate) fn begin(&mut self, start: i64, bytes: u64) {
        let words = usize::try_from(bytes).unwrap_or(0) / WORD_LEN;
        self.words.clear();
        if self.words.capacity() > 4 * words || self.words.capacity() < words {
            self.words = Vec::new();
            self.words.reserve_exact(words);
        }
        self.words.resize(words, Word::default());
        (self.start, self.noted) = (start, start.saturating_sub(1));
        self.is_unsure = false;
    }

    /// Gives the memory back.
    pub(crate) fn release(&mut self) {
        self.words = Vec::new();
    }

    /// Bytes that are taken now.
    pub(crate) fn memory(&self) -> usize {
        self.words.capacity() * WORD_LEN
    }

    /// Knows nothing any more, nor will: a record's offset is not one of its batch, so that the bit of another
    /// batch's record would be taken for its own. Leaders store such records, which clients have numbered.
    pub(crate) fn distrust(&mut self) {
        self.words.clear();
        self.is_unsure = true;
    }

    /// Notes that a newer record has the key of the one at `offset`.
    #[inline]
    pub(crate) fn replace(&mut self, offset: i64) {
        let Some((at, bit)) = self.place(offset) else { return };
        if let Some(word) = self.words.get_mut(at) {
            word.replaced |= bit;
        }
    }

    /// Notes a batch that was read to its end; `is_plain` if each of its records has a key and a value,
    /// and its offsets rise. Says whether it is, and all of its offsets have bits.
    pub(crate) fn note(&mut self, batch: &BatchView<'_>, is_plain: bool) -> bool {
        // The first one may begin before the section.
        if batch.base_offset().max(self.start) <= self.noted {
            // The bits of one would be taken for the other's. No leader writes such a log.
            self.distrust();
        }
        self.noted = batch.last_offset();
        if let Some((at, bit)) = self.place(batch.base_offset())
            && let Some(word) = self.words.get_mut(at)
            && is_plain
        {
            word.plain |= bit;
        }
        self.of(batch).is_some()
    }

    /// What is known of a batch, if it is plain and all of its offsets have bits.
    pub(crate) fn of(&self, batch: &BatchView<'_>) -> Option<Replaced> {
        let (first, first_bit) = self.place(batch.base_offset())?;
        let (last, last_bit) = self.place(batch.last_offset())?;
        let words = self.words.get(first..=last)?;
        if words.first()?.plain & first_bit == 0 {
            return None;
        }
        // From the first bit on, and up to the last.
        let (from, upto) = (!(first_bit - 1), last_bit | (last_bit - 1));
        let of_word = |(at, word): (usize, &Word)| {
            let mut bits = word.replaced;
            if at == 0 {
                bits &= from;
            }
            if first + at == last {
                bits &= upto;
            }
            u64::from(bits.count_ones())
        };
        let replaced: u64 = words.iter().enumerate().map(of_word).sum();
        Some(match u64::try_from(batch.record_count()) {
            _ if replaced == 0 => Replaced::None,
            Ok(count) if replaced == count => Replaced::All,
            Ok(count) if replaced < count => Replaced::Some(replaced),
            _ => return None,
        })
    }

    /// Whether the record at `offset` was replaced, of a batch of which something is known.
    pub(crate) fn is_replaced(&self, offset: i64) -> bool {
        let place = self.place(offset);
        place.is_some_and(|(at, bit)| self.words.get(at).is_some_and(|w| w.replaced & bit != 0))
    }

    /// Whether a record of these offsets, or of one close by, is known to be replaced, or may be.
    pub(crate) fn have_replaced(&self, offsets: &Range<i64>) -> bool {
        let word = |offset: i64| {
            let at = u64::try_from(offset.saturating_sub(self.start)).unwrap_or(0) / PER_WORD;
            usize::try_from(at).unwrap_or(usize::MAX)
        };
        if offsets.end <= self.start {
            // Nothing of it is in the section.
            return self.is_unsure;
        }
        let (first, last) = (word(offsets.start), word(offsets.end));
        let words = self.words.get(first..).unwrap_or_default();
        let replaced =
            words.iter().take((last - first).saturating_add(1)).any(|word| word.replaced != 0);
        replaced || self.is_unsure
    }

    /// Which word, and which bit of it.
    #[inline]
    fn place(&self, offset: i64) -> Option<(usize, u64)> {
        let at = u64::try_from(offset.checked_sub(self.start)?).ok()?;
        Some((usize::try_from(at / PER_WORD).ok()?, 1 << (at % PER_WORD)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::BatchSpec;

    const START: i64 = 1_000;

    fn marks(offsets: u64) -> Marks {
        let mut marks = Marks::default();
        marks.begin(START, Marks::bytes_for(offsets));
        marks
    }

    fn of(marks: &Marks, bytes: &[u8]) -> Option<Replaced> {
        marks.of(&BatchView::parse(bytes).unwrap())
    }

    #[test]
    fn the_replaced_records_of_a_batch_are_counted_within_it() {
        // Within a word, up to its end, from its beginning, across one, and across two.
        for (first, count) in [(0, 1), (3, 5), (50, 14), (64, 64), (60, 10), (63, 2), (10, 190)] {
            let mut marks = marks(300);
            let bytes = BatchSpec::new(START + first, count).build();
            let batch = BatchView::parse(&bytes).unwrap();
            assert_eq!(marks.of(&batch), None, "it was not noted");
            assert!(marks.note(&batch, true));
            // Those before and behind it count for others.
            marks.replace(batch.base_offset() - 1);
            marks.replace(batch.last_offset() + 1);
            assert_eq!(marks.of(&batch), Some(Replaced::None), "{first} {count}");
            for (done, offset) in (batch.base_offset()..=batch.last_offset()).rev().enumerate() {
                assert!(!marks.is_replaced(offset));
                marks.replace(offset);
                assert!(marks.is_replaced(offset));
                let expected = match done + 1 == count as usize {
                    true => Replaced::All,
                    false => Replaced::Some(done as u64 + 1),
                };
                assert_eq!(marks.of(&batch), Some(expected), "{first} {count} {offset}");
            }
        }
    }

    #[test]
    fn nothing_is_known_of_batches_that_are_not_plain_or_have_no_bits() {
        let mut marks = marks(64);
        for (first, count, is_plain) in [(0, 5, false), (5, 5, true), (60, 5, true), (70, 5, true)]
        {
            let bytes = BatchSpec::new(START + first, count).build();
            let is_known = marks.note(&BatchView::parse(&bytes).unwrap(), is_plain);
            assert_eq!(is_known, first == 5);
            marks.replace(START + first);
        }
        let known = |first, count| of(&marks, &BatchSpec::new(START + first, count).build());
        assert_eq!(known(0, 5), None);
        assert_eq!(known(5, 5), Some(Replaced::Some(1)));
        assert_eq!(known(6, 4), None, "no batch begins there");
        assert_eq!(known(60, 5), None, "its last offset has no bits");
        assert_eq!(known(70, 5), None);
        assert_eq!(known(-5, 3), None, "before the section");
        assert!(!marks.is_replaced(START - 1));
    }

    #[test]
    fn a_log_whose_offsets_go_back_is_looked_at() {
        let mut marks = marks(64);
        let bytes = BatchSpec::new(START + 10, 5).build();
        let batch = BatchView::parse(&bytes).unwrap();
        marks.note(&batch, true);
        assert_eq!(marks.of(&batch), Some(Replaced::None));
        let again = BatchSpec::new(START + 14, 1).build();
        marks.note(&BatchView::parse(&again).unwrap(), true);
        assert_eq!((marks.of(&batch), of(&marks, &again)), (None, None));
        assert!(marks.have_replaced(&(0..1)), "nobody knows");
        marks.begin(START, Marks::bytes_for(64));
        assert!(!marks.have_replaced(&(0..1)));
    }

    #[test]
    fn a_section_may_begin_in_the_middle_of_a_batch() {
        let mut marks = marks(64);
        let bytes = BatchSpec::new(START - 4, 10).build();
        assert!(
            !marks.note(&BatchView::parse(&bytes).unwrap(), true),
            "its first half has no bits"
        );
        let next = BatchSpec::new(START + 6, 5).build();
        let next = BatchView::parse(&next).unwrap();
        assert!(marks.note(&next, true));
        marks.replace(START + 7);
        assert_eq!(marks.of(&next), Some(Replaced::Some(1)));
        // What lies before the section is not concerned.
        assert!(!marks.have_replaced(&(0..START)) && marks.have_replaced(&(0..START + 1)));
    }

    #[test]
    fn replaced_records_are_found_among_many() {
        let mut marks = marks(640);
        assert!(!marks.have_replaced(&(0..i64::MAX)));
        marks.replace(START + 200);
        assert!(marks.have_replaced(&(0..i64::MAX)));
        assert!(marks.have_replaced(&(START + 150..START + 201)));
        assert!(marks.have_replaced(&(START + 200..START + 400)));
        for other in
            [0..START, START..START + 150, START + 300..START + 640, START + 5_000..i64::MAX]
        {
            assert!(!marks.have_replaced(&other), "{other:?}");
        }
    }

    #[test]
    fn another_section_begins_with_nothing() {
        let mut marks = marks(64);
        let bytes = BatchSpec::new(START, 5).build();
        let batch = BatchView::parse(&bytes).unwrap();
        marks.note(&batch, true);
        marks.replace(START);
        marks.begin(START, Marks::bytes_for(64));
        assert_eq!(marks.of(&batch), None);
        assert!(!marks.is_replaced(START));
        marks.begin(START, 0);
        marks.note(&batch, true);
        assert_eq!((marks.of(&batch), marks.memory()), (None, 0));
    }
}
