//! The same patterns and topics given to RE2/J, with which Kafka resolves `SubscribedTopicRegex`.
//!
//! What is refused must be the same, for the same reason and because of the same part of the pattern;
//! and so must be the topics that match. Patterns are random, damaged, or written by hand.
//!
//! Needs Java 17 and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. Without the
//! variable the test says that it was skipped; with it, whatever goes wrong fails it.
//! `THALWEG_SEED_BASE` and `THALWEG_ORACLE_CASES` choose the random patterns.

#[path = "../../../fuzz/src/groups.rs"]
mod bodies;
mod by_hand;
mod patterns;
mod pieces;

use std::io::Write as _;

use crate::oracle::{self, Program};
use by_hand::TOPICS;
use patterns::Case;
use thalweg_groups::{InvalidRegexKind, TopicRegex};
use thalweg_random::Random;
use thalweg_random::seeds::{self, oracle_seeds};

/// Patterns and topics where we mean to differ: what we say, what RE2/J says, and why.
const DIFFERENCES: &[(&str, &str, &str, &str, &str)] = &[
    ("T.*|[Tt]opic", "topic", "ok 1", "ok 0", MERGED_LETTERS),
    ("[Tt]opic|T.*", "tx", "ok 0", "ok 1", MERGED_LETTERS),
    ("(?i:t)opic|T[xy]", "tx", "ok 0", "ok 1", MERGED_LETTERS),
    (".", "é", "ok 0", "ok 1", "no topic has a name that is not ASCII"),
    ("é", "é", "ok 0", "ok 1", "no topic has a name that is not ASCII"),
    (
        "a)",
        "",
        "no unexpected ) -29",
        "no regexp/syntax: internal error -737461636b20756e646572666c6f77",
        PAREN,
    ),
    (
        "a\\",
        "",
        "no trailing backslash at end of expression -5c",
        "no trailing backslash at end of expression -",
        "RE2/J does not say where",
    ),
];

const MERGED_LETTERS: &str = "RE2/J merges letters that alternatives begin with, though one ignores its case \
                              and the other does not";
const PAREN: &str = "a parenthesis too many is no fault of the parser";

/// RE2/J does not end if case is ignored for a range with one of some Cyrillic letters (U+1C80 to
/// U+1C88), so it cannot be asked. This is true of more patterns than those: of all with a range that
/// may end behind these letters. Alone they are in none.
fn may_not_end(pattern: &str) -> bool {
    pattern.contains('i')
        && pattern.split('-').skip(1).any(|end| {
            let digits = end.strip_prefix("\\x{").and_then(|rest| rest.split('}').next());
            let escaped = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            escaped.or(end.chars().next().map(u32::from)).is_some_and(|end| end >= 0x1c80)
        })
}

fn word(text: &str) -> String {
    text.bytes().fold("-".to_owned(), |word, byte| format!("{word}{byte:02x}"))
}

fn question(case: &Case) -> String {
    let topics = case.topics.iter().map(|topic| format!(" {}", word(topic)));
    topics.fold(word(&case.pattern), |line, topic| line + &topic)
}

/// RE2/J's answers, one line for each case; `None` without Kafka.
fn ask(cases: &[Case]) -> Option<Vec<String>> {
    oracle::jars()?;
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/RegexOracle.java");
    let (mut input, output) = Program::source(source, "RegexOracle").start();
    let lines: String = cases.iter().map(|case| question(case) + "\n").collect();
    // Dropped at the end, it ends the program's input; answers are read meanwhile.
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let done = output.finish();
    assert_eq!(done.status, 0, "the oracle failed: {}", done.errors);
    writer.join().expect("the writer").expect("the oracle reads the questions");
    let answers: Vec<String> = done.output.lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), cases.len(), "an answer for each question: {}", done.errors);
    Some(answers)
}

/// Our answer, as RE2/J would give it.
fn answer(case: &Case) -> String {
    match TopicRegex::new(&case.pattern) {
        Ok(regex) => {
            let mut matcher = regex.matcher();
            let matches = case.topics.iter().map(|topic| matcher.matches(topic));
            format!("ok {}", matches.map(|yes| if yes { '1' } else { '0' }).collect::<String>())
        }
        Err(error) => {
            let (at, part) = (error.offset(), error.part());
            assert!(case.pattern[at..].starts_with(part), "{error:?} of {:?}", case.pattern);
            format!("no {} {}", error.kind(), word(part))
        }
    }
}

/// The same pattern with something empty in front of each alternative but the first, so that RE2/J does not
/// merge what alternatives begin with.
fn without_merging(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let end = |text: &str, from: usize| {
            rest[from..].find(text).map_or(rest.len(), |at| from + at + text.len())
        };
        let length = if rest.starts_with("\\Q") {
            end("\\E", 2)
        } else if c == '\\' {
            1 + rest[1..].chars().next().map_or(0, char::len_utf8)
        } else if c == '[' {
            class_length(rest)
        } else {
            c.len_utf8()
        };
        out += &rest[..length];
        out += if c == '|' { "(?:)" } else { "" };
        rest = &rest[length..];
    }
    out
}

/// How long the class is that the text begins with.
fn class_length(text: &str) -> usize {
    let begin = if text.starts_with("[^") { 2 } else { 1 };
    let mut at = begin;
    while let Some(c) = text[at..].chars().next() {
        let name = text[at..].starts_with("[:").then(|| text[at..].find(":]")).flatten();
        match (c, name) {
            (_, Some(name)) => at += name + 2,
            ('\\', _) => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            (']', _) if at > begin => return at + 1,
            _ => at += c.len_utf8(),
        }
    }
    text.len()
}

#[derive(Debug, Default)]
struct Counts {
    cases: usize,
    refused: usize,
    topics: usize,
    matched: usize,
    /// Not asked about, because it was too large for us or would not end there.
    not_asked: usize,
    merged: usize,
    overflow: usize,
}

/// Compares all; `None` without Kafka.
fn compare(mut cases: Vec<(String, Case)>) -> Option<Counts> {
    let mut counts = Counts { cases: cases.len(), ..Counts::default() };
    cases.retain(|(_, case)| {
        let too_large = TopicRegex::new(&case.pattern)
            .is_err_and(|error| error.kind() == InvalidRegexKind::TooLarge);
        !too_large && !may_not_end(&case.pattern)
    });
    counts.not_asked = counts.cases - cases.len();
    let (names, cases): (Vec<String>, Vec<Case>) = cases.into_iter().unzip();
    let answers = ask(&cases)?;
    let mut doubtful: Vec<(String, Case)> = Vec::new();
    for ((name, case), theirs) in names.into_iter().zip(cases).zip(answers) {
        let ours = answer(&case);
        counts.refused += usize::from(ours.starts_with("no"));
        counts.topics += case.topics.len();
        counts.matched += ours.matches('1').count();
        if theirs == "overflow" {
            counts.overflow += 1;
            continue;
        }
        if ours == theirs
            || ours.starts_with("no unexpected )") && theirs.contains("internal error")
            || ours.starts_with("no trailing") && theirs.starts_with("no trailing")
        {
            continue;
        }
        // What is left can be equal if RE2/J does not merge.
        assert!(
            ours.starts_with("ok") && theirs.starts_with("ok"),
            "{name}: {:?}: {ours:?}, but RE2/J {theirs:?}",
            case.pattern
        );
        doubtful.push((name, case));
    }
    counts.merged = doubtful.len();
    let unmerged: Vec<Case> = doubtful
        .iter()
        .map(|(_, case)| Case {
            pattern: without_merging(&case.pattern),
            topics: case.topics.clone(),
        })
        .collect();
    for ((name, case), theirs) in doubtful.iter().zip(ask(&unmerged)?) {
        let ours = answer(case);
        assert_eq!(ours, theirs, "{name}: {:?} with {:?}", case.pattern, case.topics);
    }
    eprintln!("{counts:?}");
    Some(counts)
}

#[test]
fn random_patterns_are_what_they_are_in_kafka() {
    let case = |seed: u64| {
        let mut random = Random::new(seed);
        (format!("seed {seed}"), patterns::case(&mut random))
    };
    let Some(counts) = compare(oracle_seeds(20_000).map(case).collect()) else { return };
    // That so many agree says something only if they are of all kinds.
    assert!(counts.refused * 50 > counts.cases, "hardly any was refused");
    assert!(counts.refused * 2 < counts.cases, "most were refused");
    assert!(counts.matched * 20 > counts.topics, "hardly any topic matched");
    assert!(counts.matched * 2 < counts.topics, "most topics matched");
    assert!(counts.not_asked * 20 < counts.cases, "many cannot be asked");
    assert!((counts.merged + counts.overflow) * 20 < counts.cases, "many differ");
}

#[test]
fn hand_written_patterns_are_what_they_are_in_kafka() {
    let topics: Vec<String> = TOPICS.iter().map(|topic| (*topic).to_owned()).collect();
    let case = |pattern: String| ("by hand".to_owned(), Case { pattern, topics: topics.clone() });
    compare(by_hand::patterns().into_iter().map(case).collect());
}

#[test]
fn differences_are_what_we_say() {
    let cases: Vec<Case> = DIFFERENCES
        .iter()
        .map(|(pattern, topic, ..)| Case {
            pattern: (*pattern).into(),
            topics: vec![(*topic).into()],
        })
        .collect();
    let theirs = ask(&cases);
    for (at, (case, (_, _, ours, kafkas, reason))) in cases.iter().zip(DIFFERENCES).enumerate() {
        assert_eq!(answer(case), *ours, "{:?}: {reason}", case.pattern);
        if let Some(theirs) = &theirs {
            assert_eq!(theirs[at], *kafkas, "{:?}: {reason}", case.pattern);
        }
    }
}

/// What the fuzz target does, for a while; Kafka is not asked.
#[test]
fn random_patterns_keep_what_the_fuzz_target_checks() {
    seeds::each(2_000, |seed, history| {
        let case = patterns::case(&mut Random::new(!seed));
        let text = format!("{}\n{}", case.pattern.replace('\n', "N"), case.topics.join("\n"));
        history.push(format!("{text:?}"));
        bodies::topic_regex(text.as_bytes());
    });
}
