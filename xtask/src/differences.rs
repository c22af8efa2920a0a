//! Compares what the suites saw on Apache Kafka with what they saw on Thalweg.
//!
//! A transcript is text: `## CASE` and then lines. Lines that start with `M ` hold wording: they may
//! differ and are only counted. All others must be the same, but for what `tests/differences.txt`
//! lists with its reason.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Lines of a transcript by case.
pub type Transcript = BTreeMap<String, Vec<String>>;

/// Reads a transcript file into `into`; a missing file holds nothing.
pub fn read(path: &Path, into: &mut Transcript) {
    let mut case = String::new();
    // A suite may print what a broker sent it.
    let bytes = fs::read(path).unwrap_or_default();
    for line in String::from_utf8_lossy(&bytes).lines() {
        if let Some(name) = line.strip_prefix("## ") {
            case = name.to_string();
            into.entry(case.clone()).or_default();
        } else if let Some(lines) = into.get_mut(&case) {
            lines.push(line.to_string());
        }
    }
}

/// Differences that are meant to be: in a case, lines that match a pattern.
pub struct Accepted {
    entries: Vec<(String, String)>,
    /// Which of them matched something.
    used: RefCell<BTreeSet<usize>>,
}

impl Accepted {
    /// Reads `CASE-PATTERN | LINE-PATTERN` lines; `*` stands for anything, `#` starts a reason.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut entries = Vec::new();
        let mut reasoned = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                reasoned = false;
            } else if line.starts_with('#') {
                reasoned = true;
            } else {
                let at = format!("{}:{}", path.display(), number + 1);
                if !reasoned {
                    return Err(format!("{at}: a difference without a reason above it"));
                }
                let (case, pattern) =
                    line.split_once(" | ").ok_or(format!("{at}: expected CASE | LINE"))?;
                entries.push((case.to_string(), pattern.to_string()));
            }
        }
        Ok(Self { entries, used: RefCell::default() })
    }

    fn covers(&self, case: &str, line: &str) -> bool {
        let covering = |(c, l): &(String, String)| matches(c, case) && matches(l, line);
        let mut covered = false;
        for (index, _) in self.entries.iter().enumerate().filter(|(_, entry)| covering(entry)) {
            self.used.borrow_mut().insert(index);
            covered = true;
        }
        covered
    }

    /// Entries that matched nothing so far.
    pub fn unused(&self) -> Vec<String> {
        let used = self.used.borrow();
        let unused = self.entries.iter().enumerate().filter(|(index, _)| !used.contains(index));
        unused.map(|(_, (case, line))| format!("{case} | {line}")).collect()
    }
}

/// Whether `text` has the pattern's parts in order, `*` standing for anything between them.
fn matches(pattern: &str, text: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let [first, middle @ .., last] = parts.as_slice() else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The verdict on one case.
pub struct Verdict {
    /// Name of the case.
    pub case: String,
    /// Lines that differ, `-` for Kafka's and `+` for Thalweg's.
    pub lines: Vec<String>,
    /// How many lines of wording differ.
    pub wording: usize,
}

/// Compares all cases; one that only one side ran differs in everything it showed.
pub fn compare(kafka: &Transcript, thalweg: &Transcript, accepted: &Accepted) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let cases: BTreeSet<&String> = kafka.keys().chain(thalweg.keys()).collect();
    for case in cases {
        let absent = |side: &str| vec![format!("{side} did not run this case")];
        let left = &kafka.get(case).cloned().unwrap_or_else(|| absent("the first broker"));
        let right = &thalweg.get(case).cloned().unwrap_or_else(|| absent("the second broker"));
        let keep = |line: &&String| !line.starts_with("M ") && !accepted.covers(case, line.trim());
        let strict = |all: &[String]| all.iter().filter(keep).cloned().collect::<Vec<_>>();
        let wording = |all: &[String]| {
            all.iter().filter(|line| line.starts_with("M ")).cloned().collect::<Vec<_>>()
        };
        verdicts.push(Verdict {
            case: case.clone(),
            lines: diff(&strict(left), &strict(right)),
            wording: diff(&wording(left), &wording(right)).len(),
        });
    }
    verdicts
}

/// The lines that are not common to both, in order, by longest common subsequence.
fn diff(left: &[String], right: &[String]) -> Vec<String> {
    let width = right.len() + 1;
    let mut common = vec![0u32; (left.len() + 1) * width];
    for i in (0..left.len()).rev() {
        for j in (0..right.len()).rev() {
            common[i * width + j] = if left[i] == right[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < left.len() || j < right.len() {
        if i < left.len() && j < right.len() && left[i] == right[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == right.len()
            || (i < left.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            out.push(format!("- {}", left[i]));
            i += 1;
        } else {
            out.push(format!("+ {}", right[j]));
            j += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_string).collect()
    }

    #[test]
    fn patterns_match_whole_lines() {
        assert!(matches("a*c", "abc"));
        assert!(matches("*", ""));
        assert!(matches("abc", "abc"));
        assert!(!matches("abc", "abcd"));
        assert!(!matches("a*c", "abcd"));
        assert!(matches("java.admin.*", "java.admin.features"));
        assert!(!matches("ab*ba", "aba"));
    }

    #[test]
    fn only_what_differs_is_shown() {
        assert_eq!(diff(&lines("a\nb\nc"), &lines("a\nb\nc")), Vec::<String>::new());
        assert_eq!(diff(&lines("a\nb\nc"), &lines("a\nx\nc")), ["- b", "+ x"]);
        assert_eq!(diff(&lines(""), &lines("a")), ["+ a"]);
    }

    #[test]
    fn wording_and_accepted_lines_do_not_count() {
        let kafka = Transcript::from([("c".into(), lines("one\nM this\nfinalized x 1"))]);
        let thalweg = Transcript::from([("c".into(), lines("one\nM that"))]);
        let entries = vec![("c".into(), "finalized *".into()), ("c".into(), "gone *".into())];
        let accepted = Accepted { entries, used: RefCell::default() };
        let verdicts = compare(&kafka, &thalweg, &accepted);
        assert_eq!(verdicts.len(), 1);
        assert!(verdicts[0].lines.is_empty());
        assert_eq!(verdicts[0].wording, 2);
        assert_eq!(accepted.unused(), ["c | gone *"]);
    }
}
