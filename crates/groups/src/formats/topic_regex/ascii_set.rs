//! Sets of ASCII characters, and the classes that have names.
//!
//! Topic names are ASCII, so of every class only its ASCII part can ever matter. What remains of
//! Unicode is which ASCII letters are equal to a character beyond ASCII when case is ignored.

/// A set of ASCII characters, one bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AsciiSet(u128);

const LETTERS: u32 = 26;
/// The characters beyond ASCII that are equal to ASCII letters when case is ignored: the long s and
/// the Kelvin sign.
const FOLDED: [(u32, u8); 2] = [(0x17f, b's'), (0x212a, b'k')];

impl AsciiSet {
    pub(super) const EMPTY: AsciiSet = AsciiSet(0);
    pub(super) const ALL: AsciiSet = AsciiSet(u128::MAX);

    /// The ASCII characters among those from `first` to `last`, both included.
    pub(super) const fn range(first: u32, last: u32) -> AsciiSet {
        let last = if last > 0x7f { 0x7f } else { last };
        if first > last {
            return AsciiSet::EMPTY;
        }
        AsciiSet((u128::MAX >> (0x7f - (last - first))) << first)
    }

    /// The same, and all that are equal to one of them when case is ignored.
    pub(super) fn folded_range(first: u32, last: u32) -> AsciiSet {
        let mut set = AsciiSet::range(first, last);
        for (beyond, letter) in FOLDED {
            if (first..=last).contains(&beyond) {
                set = set.union(AsciiSet::range(letter.into(), letter.into()));
            }
        }
        set.folded()
    }

    /// The characters of these ranges, given as pairs of first and last.
    const fn ranges_of(mut pairs: &[u8]) -> AsciiSet {
        let mut set = AsciiSet::EMPTY;
        while let [first, last, rest @ ..] = pairs {
            set = set.union(AsciiSet::range(*first as u32, *last as u32));
            pairs = rest;
        }
        set
    }

    pub(super) const fn union(self, other: AsciiSet) -> AsciiSet {
        AsciiSet(self.0 | other.0)
    }

    pub(super) const fn complement(self) -> AsciiSet {
        AsciiSet(!self.0)
    }

    /// With the other case of each letter.
    pub(super) fn folded(self) -> AsciiSet {
        let letters = (1 << LETTERS) - 1;
        let (upper, lower) = (u32::from(b'A'), u32::from(b'a'));
        let either = (self.0 >> upper | self.0 >> lower) & letters;
        AsciiSet(self.0 | either << upper | either << lower)
    }

    /// The ranges it consists of, in ascending order, each as first and last.
    pub(super) fn ranges(self) -> impl Iterator<Item = (u8, u8)> {
        let mut rest = self.0;
        let mut at = 0u32;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let skipped = rest.trailing_zeros();
            rest >>= skipped;
            let length = rest.trailing_ones();
            rest = rest.checked_shr(length).unwrap_or(0);
            let first = at + skipped;
            at = first + length;
            // Both are below 128.
            Some((first as u8, (at - 1) as u8))
        })
    }
}

pub(super) const DIGIT: AsciiSet = AsciiSet::ranges_of(b"09");
pub(super) const WORD: AsciiSet = AsciiSet::ranges_of(b"09AZ__az");
/// Perl's white space, which has no vertical tab.
pub(super) const SPACE: AsciiSet = AsciiSet::ranges_of(b"\t\n\x0c\r  ");

/// `[:name:]`.
pub(super) fn posix_class(name: &str) -> Option<AsciiSet> {
    let pairs: &[u8] = match name {
        "alnum" => b"09AZaz",
        "alpha" => b"AZaz",
        "ascii" => b"\0\x7f",
        "blank" => b"\t\t  ",
        "cntrl" => b"\0\x1f\x7f\x7f",
        "digit" => b"09",
        "graph" => b"!~",
        "lower" => b"az",
        "print" => b" ~",
        "punct" => b"!/:@[`{~",
        "space" => b"\t\r  ",
        "upper" => b"AZ",
        "word" => b"09AZ__az",
        "xdigit" => b"09AFaf",
        _ => return None,
    };
    Some(AsciiSet::ranges_of(pairs))
}

/// `\p{name}`: general categories and scripts, as many as RE2/J knows.
///
/// When case is ignored RE2/J adds to a class what its tables say. Those have the capitals of all small
/// letters for `Lu`, but for `Ll` only the two capitals that are equal to a third character.
pub(super) fn unicode_class(name: &str, fold_case: bool) -> Option<AsciiSet> {
    let pairs: &[u8] = match (name, fold_case) {
        ("Any", _) => b"\0\x7f",
        ("C" | "Cc", _) => b"\0\x1f\x7f\x7f",
        ("L" | "Latin", _) | ("Lu", true) => b"AZaz",
        ("Lu", false) => b"AZ",
        ("Ll", false) => b"az",
        ("Ll", true) => b"KKSSaz",
        ("N" | "Nd", _) => b"09",
        ("P", _) => b"!#%*,/:;?@[]__{{}}",
        ("Pc", _) => b"__",
        ("Pd", _) => b"--",
        ("Pe", _) => b"))]]}}",
        ("Po", _) => b"!#%'**,,./:;?@\\\\",
        ("Ps", _) => b"(([[{{",
        ("S", _) => b"$$++<>^^``||~~",
        ("Sc", _) => b"$$",
        ("Sk", _) => b"^^``",
        ("Sm", _) => b"++<>||~~",
        ("Z" | "Zs", _) => b"  ",
        ("Common", _) => b"\0@[`{\x7f",
        _ if CLASSES_BEYOND_ASCII.contains(&name) => b"",
        _ => return None,
    };
    Some(AsciiSet::ranges_of(pairs))
}

/// Categories and scripts without an ASCII character, in the order of their names.
const CLASSES_BEYOND_ASCII: &[&str] = &[
    "Arabic",
    "Armenian",
    "Avestan",
    "Balinese",
    "Bamum",
    "Batak",
    "Bengali",
    "Bopomofo",
    "Brahmi",
    "Braille",
    "Buginese",
    "Buhid",
    "Canadian_Aboriginal",
    "Carian",
    "Cf",
    "Cham",
    "Cherokee",
    "Co",
    "Coptic",
    "Cs",
    "Cuneiform",
    "Cypriot",
    "Cyrillic",
    "Deseret",
    "Devanagari",
    "Egyptian_Hieroglyphs",
    "Ethiopic",
    "Georgian",
    "Glagolitic",
    "Gothic",
    "Greek",
    "Gujarati",
    "Gurmukhi",
    "Han",
    "Hangul",
    "Hanunoo",
    "Hebrew",
    "Hiragana",
    "Imperial_Aramaic",
    "Inherited",
    "Inscriptional_Pahlavi",
    "Inscriptional_Parthian",
    "Javanese",
    "Kaithi",
    "Kannada",
    "Katakana",
    "Kayah_Li",
    "Kharoshthi",
    "Khmer",
    "Lao",
    "Lepcha",
    "Limbu",
    "Linear_B",
    "Lisu",
    "Lm",
    "Lo",
    "Lt",
    "Lycian",
    "Lydian",
    "M",
    "Malayalam",
    "Mandaic",
    "Mc",
    "Me",
    "Meetei_Mayek",
    "Mn",
    "Mongolian",
    "Myanmar",
    "New_Tai_Lue",
    "Nko",
    "Nl",
    "No",
    "Ogham",
    "Ol_Chiki",
    "Old_Italic",
    "Old_Persian",
    "Old_South_Arabian",
    "Old_Turkic",
    "Oriya",
    "Osmanya",
    "Pf",
    "Phags_Pa",
    "Phoenician",
    "Pi",
    "Rejang",
    "Runic",
    "Samaritan",
    "Saurashtra",
    "Shavian",
    "Sinhala",
    "So",
    "Sundanese",
    "Syloti_Nagri",
    "Syriac",
    "Tagalog",
    "Tagbanwa",
    "Tai_Le",
    "Tai_Tham",
    "Tai_Viet",
    "Tamil",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Tifinagh",
    "Ugaritic",
    "Unknown",
    "Vai",
    "Yi",
    "Zl",
    "Zp",
];
