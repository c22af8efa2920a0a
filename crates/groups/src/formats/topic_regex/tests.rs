//! What holds whether RE2/J can be asked or not; `tests/topic_regex_oracle.rs` asks it about far more.

use proptest::prelude::*;
use thalweg_random::Random;

use super::ascii_set::AsciiSet;
use super::error::InvalidRegexKind::{self, *};
use super::*;

fn regex(pattern: &str) -> TopicRegex {
    TopicRegex::new(pattern).unwrap_or_else(|error| panic!("{pattern:?}: {error}"))
}

fn refused(pattern: &str) -> InvalidRegex {
    match TopicRegex::new(pattern) {
        Ok(_) => panic!("{pattern:?} is accepted"),
        Err(error) => error,
    }
}

/// Checks which of the names match.
fn check(pattern: &str, matching: &[&str], others: &[&str]) {
    let regex = regex(pattern);
    let mut matcher = regex.matcher();
    for (names, expected) in [(matching, true), (others, false)] {
        for name in names {
            assert_eq!(matcher.matches(name), expected, "{pattern:?} and {name:?}");
            assert_eq!(regex.matches(name), expected, "{pattern:?} and {name:?}");
        }
    }
}

#[test]
fn whole_names_match() {
    check("foo", &["foo"], &["", "fo", "foobar", "xfoo", "FOO", "foo\n"]);
    check("foo.*", &["foo", "foobar"], &["xfoo", "foo\nbar"]);
    check("foo|foobar", &["foo", "foobar"], &["foob"]);
    check(
        r"orders-(eu|us)\.v\d+",
        &["orders-eu.v1", "orders-us.v22"],
        &["orders-eu.v", "orders-euxv1"],
    );
    check("", &[""], &["a"]);
    check("a|", &["", "a"], &["b"]);
}

#[test]
fn repetitions() {
    check("a{2,3}", &["aa", "aaa"], &["a", "aaaa"]);
    check("a{0,2}b", &["b", "ab", "aab"], &["aaab"]);
    check("(ab){2,}", &["abab", "ababab"], &["ab", "aba"]);
    check("a{0}b", &["b"], &["ab"]);
    check("(a*)*", &["", "aaa"], &["b"]);
    check("(a?){3}b", &["b", "aaab"], &["aaaab"]);
    check("x{2}(?i){3}", &["xxxxxx"], &["xxxxx", "xxxxxxx"]);
    check("x{0,2}(?i){3}", &["", "xxxxxx"], &["xxxxxxx"]);
    check("(x+){0,2}y(?:a{0}(?i)+){2}", &["y", "xxy"], &["yx"]);
    check("a{1000}", &[&"a".repeat(1000)], &[&"a".repeat(999), &"a".repeat(1001)]);
    check("{,5}a{1", &["{,5}a{1"], &["a"]);
}

#[test]
fn classes() {
    check(r"[\w.-]+", &["a_B-9."], &["", "a b"]);
    check("[]a]", &["]", "a"], &["[", "b"]);
    check("[^]a]", &["b", "^", "\n"], &["]", "a"]);
    check("[a&&b~~d-]+", &["a&&b", "-", "~", "d"], &["e"]);
    check("[+--]", &["+", ",", "-"], &["."]);
    check("[[:alpha:]_]", &["a", "Z", "_"], &["1", ":", "["]);
    check("[[:^alpha:]]", &["1"], &["a"]);
    check("[[a]", &["[", "a"], &["b"]);
    check(r"\p{Lu}\pL\P{L}\p{^Greek}", &["Aa1x"], &["aa1x"]);
    check(r"[^\x00-\x{10FFFF}]", &[], &["", "a"]);
    check(r"\s", &[" ", "\t"], &["\x0b", "a"]);
    check(r"(?s).", &["\n", "a"], &["", "é"]);
}

#[test]
fn case_is_ignored_where_the_flag_holds() {
    check("(?i)ab", &["ab", "AB", "aB"], &["ac"]);
    check("(a(?i)b|c)d", &["abd", "aBd", "Cd"], &["Abd", "abD"]);
    check("(?i:a(?-i)b)c", &["abc", "Abc"], &["aBc", "abC"]);
    check("(?i)[^k]", &["a"], &["k", "K"]);
    check("(?i)[ſ\u{212a}]", &["s", "S", "k", "K"], &["a"]);
    check("(?i)[[:^lower:]]", &["1"], &["a", "A"]);
    // RE2/J's table has only these two capitals.
    check(r"(?i)\p{Ll}", &["a", "K", "S"], &["A", "1"]);
    // RE2/J merges the letters of these, and matches otherwise.
    check("T.*|[Tt]opic", &["topic", "Tx"], &["tx"]);
    check("[Tt]opic|T.*", &["topic", "Tx"], &["tx"]);
    // RE2/J does not end at these.
    check("(?i)\u{1c80}", &[], &["a"]);
    check("(?i)[a-\u{2c00}]", &["a", "A"], &["1"]);
}

#[test]
fn escapes_and_assertions() {
    check(r"\x41\x{4B}\101\061", &["AKA1"], &["AKA"]);
    check(r"\Qa.b*\E+", &["a.b*", "a.b**"], &["axb", "a.b"]);
    check(r"a\Q\E*", &["", "aa"], &["a*"]);
    check(r"\Q\a", &["\\a"], &["a"]);
    check(r"^\Afoo\b.bar\z$", &["foo.bar"], &["foo_bar", "foo.bar\n"]);
    check(r"a\Bb", &["ab"], &["a"]);
    check(r"(?m)a$\n^b", &["a\nb"], &["a", "ab"]);
    check(r"a$\nb", &[], &["a\nb"]);
}

#[test]
fn what_is_wrong_and_where() {
    let cases: &[(&str, InvalidRegexKind, usize, &str)] = &[
        ("ab[z-a]", ClassRange, 3, "z-a"),
        ("[[:foo:]]", ClassRange, 1, "[:foo:]"),
        (r"a\p{Emoji}", ClassRange, 1, r"\p{Emoji}"),
        (r"\pA", ClassRange, 0, r"\pA"),
        (r"\p{Greek", ClassRange, 0, r"\p{Greek"),
        (r"a\Cb", Escape, 1, r"\C"),
        (r"\Z", Escape, 0, r"\Z"),
        (r"(a)\1", Escape, 3, r"\1"),
        (r"\x{110000}", Escape, 0, r"\x{110000"),
        (r"[\Q]\E]", Escape, 1, r"\Q"),
        ("(?P<n-m>a)", GroupName, 0, "(?P<n-m>"),
        ("(?<=a)b", GroupName, 0, "(?<=a)b"),
        ("a(?P<n>b)(?<n>c)", DuplicateGroupName, 12, "n"),
        ("a(?=b)", PerlSyntax, 1, "(?="),
        ("(?x)a", PerlSyntax, 0, "(?x"),
        ("(?i-)a", PerlSyntax, 0, "(?i-)"),
        ("ba**", RepeatOperator, 2, "**"),
        ("a++", RepeatOperator, 1, "++"),
        ("a{2}{3}", RepeatOperator, 1, "{2}{3}"),
        ("a{*", RepeatOperator, 1, "{*"),
        ("a{1001}", RepeatSize, 1, "{1001}"),
        ("a{3,2}", RepeatSize, 1, "{3,2}"),
        ("a{99999999999}", RepeatSize, 1, "{99999999999}"),
        ("a|*", MissingRepeatArgument, 2, "*"),
        ("(?i)+", MissingRepeatArgument, 4, "+"),
        ("a[b", MissingBracket, 1, "[b"),
        ("[]", MissingBracket, 0, "[]"),
        ("a(b", MissingParen, 0, "a(b"),
        ("ab\\", TrailingBackslash, 2, "\\"),
        ("é)", UnexpectedParen, 2, ")"),
        ("a(?:b{1000}){1000}", TooLarge, 12, "{1000}"),
    ];
    for &(pattern, kind, offset, part) in cases {
        let error = refused(pattern);
        assert_eq!(
            (error.kind(), error.offset(), error.part()),
            (kind, offset, part),
            "{pattern:?}"
        );
    }
    assert_eq!(refused("a**").to_string(), "invalid nested repetition operator at byte 1: `**`");
}

#[test]
fn large_patterns_are_refused_by_name() {
    let error = refused(&"(".repeat(100_000));
    assert_eq!(error.kind(), TooLong);
    assert!(error.part().len() < 100, "{error}");
    assert_eq!(refused(&"é".repeat(PATTERN_BYTES_MAX / 2 + 1)).kind(), TooLong);
    for pattern in [
        "((a{1000}){1000}){1000}",
        "(((a{1000}){1000}){1000}){0}",
        "((.{0,1000}){0,1000}){0,1000}",
        "((a{1000,}){1000,}){1000,}",
        "((((){1000}){1000}){1000}){1000}",
    ] {
        assert_eq!(refused(pattern).kind(), TooLarge, "{pattern:?}");
    }
    let dropped = "(a{1000}){0}".repeat(1000);
    assert_eq!(refused(&dropped).kind(), TooLarge);
    assert_eq!(refused(&"(".repeat(PATTERN_BYTES_MAX)).kind(), MissingParen);
}

/// However they are nested, and whatever they consist of.
#[test]
fn only_counted_repetitions_make_a_pattern_too_large() {
    let most = PATTERN_BYTES_MAX;
    let nested = |open: &str, close: &str| {
        let depth = (most - 1) / (open.len() + close.len());
        format!("{}a{}", open.repeat(depth), close.repeat(depth))
    };
    for pattern in [
        "a".repeat(most),
        "|".repeat(most),
        "()".repeat(most / 2),
        "a*".repeat(most / 2),
        r"\W".repeat(most / 2),
        r"\PP".repeat(most / 3),
        format!("a*{}", "(?i)*".repeat(most / 5 - 1)),
        nested("(", ")"),
        nested("(", ")*"),
        nested("(?i:", ")+?"),
        nested("(a|", "|b)?"),
    ] {
        let regex = regex(&pattern);
        let mut matcher = regex.matcher();
        assert!(!matcher.matches(&"-".repeat(249)), "{:?}", pattern.get(..20));
    }
    check(&"a".repeat(most), &[&"a".repeat(most)], &["a"]);
    check(&nested("(", ")*"), &["", "aaaa"], &["b"]);
    check(&nested("(a|", ")"), &["a"], &["aa"]);
    check(&"a?".repeat(most / 2), &["", "aaaa"], &["b"]);
    check(&format!("[{}x]", "[:".repeat(most / 2 - 2)), &["[", ":", "x"], &["a"]);
}

/// A machine with far more states than a matcher keeps.
#[test]
fn what_was_learnt_can_be_lost() {
    const BEHIND: usize = 14;
    let regex = regex(&format!("[ab]*a[ab]{{{BEHIND}}}"));
    let mut matcher = regex.matcher();
    let mut random = Random::new(1);
    let mut matched = 0;
    for _ in 0..2_000 {
        let name: String = (0..249).map(|_| *random.pick(&['a', 'b'])).collect();
        let expected = name.as_bytes()[name.len() - 1 - BEHIND] == b'a';
        assert_eq!(matcher.matches(&name), expected, "{name}");
        matched += usize::from(expected);
    }
    assert!(matcher.learnt.clear_count() > 0, "nothing was lost");
    assert!((500..1_500).contains(&matched));
}

#[test]
fn sets_of_characters() {
    let ranges = |set: AsciiSet| set.ranges().collect::<Vec<_>>();
    assert_eq!(ranges(AsciiSet::EMPTY), []);
    assert_eq!(ranges(AsciiSet::ALL), [(0, 127)]);
    assert_eq!(ranges(AsciiSet::range(0x7f, 0x1000)), [(0x7f, 0x7f)]);
    assert_eq!(ranges(AsciiSet::range(0x80, 0x1000)), []);
    assert_eq!(ranges(AsciiSet::range(3, 2)), []);
    let some =
        AsciiSet::range(0, 0).union(AsciiSet::range(0x41, 0x43)).union(AsciiSet::range(0x7f, 0x7f));
    assert_eq!(ranges(some), [(0, 0), (0x41, 0x43), (0x7f, 0x7f)]);
    assert_eq!(ranges(some.complement()), [(1, 0x40), (0x44, 0x7e)]);
    assert_eq!(ranges(some.folded()), [(0, 0), (0x41, 0x43), (0x61, 0x63), (0x7f, 0x7f)]);
    assert_eq!(ranges(AsciiSet::range(0x40, 0x5b).folded()), [(0x40, 0x5b), (0x61, 0x7a)]);
    assert_eq!(ranges(AsciiSet::folded_range(0x17f, 0x17f)), [(b'S', b'S'), (b's', b's')]);
}

/// Text of the characters that mean something.
fn syntax() -> impl Strategy<Value = String> {
    let pieces = [
        "\\",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "|",
        "*",
        "+",
        "?",
        ".",
        "^",
        "$",
        "-",
        ":",
        ",",
        "(?",
        "(?P<",
        "<",
        ">",
        "\\Q",
        "\\E",
        "\\p{",
        "\\x{",
        "[:",
        ":]",
        "[:alpha:]",
        "i",
        "P",
        "1",
        "9",
        "a",
        "é",
        "😀",
        "{2,3}",
        "{1000}",
        "Greek",
        "-\u{1c80}",
    ];
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..40)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_text_is_a_pattern_or_refused(text in prop_oneof![any::<String>(), syntax()], name in "[ -~]{0,20}") {
        match TopicRegex::new(&text) {
            Ok(regex) => {
                let mut matcher = regex.matcher();
                prop_assert_eq!(matcher.matches(&name), matcher.matches(&name));
                prop_assert_eq!(regex.as_str(), text);
            }
            Err(error) => {
                let part = text.get(error.offset()..).is_some_and(|rest| rest.starts_with(error.part()));
                prop_assert!(part, "{:?}", error);
            }
        }
    }

    #[test]
    fn a_name_matches_itself(name in "[ -~]{0,40}", other in "[ -~]{0,40}") {
        let escaped: String = name
            .chars()
            .flat_map(|c| (!c.is_ascii_alphanumeric()).then_some('\\').into_iter().chain([c]))
            .collect();
        let regex = regex(&escaped);
        prop_assert!(regex.matches(&name));
        prop_assert_eq!(regex.matches(&other), name == other);
    }
}
