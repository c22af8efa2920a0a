//! Which cases the client suites have: `tests/cases.txt` lists them, and what ran is compared with it.
//! A suite that ends early, prints nothing or loses cases fails by that, whatever its exit code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::conformance::Target;

/// The list's place in the checkout.
pub const PATH: &str = "tests/cases.txt";

const HEADER: &str = "\
# The cases of the client suites, by the brokers that they run against. `cargo xtask conformance
# --record-cases` writes this file anew, after a change that is meant to add or take cases away.
# `CASE | REASON` is a case that Apache Kafka itself does not pass every time: there it is not compared.
# `CASE ? REASON` is one that says itself that it cannot run, where the machine does not allow it.
";

/// The cases that must run.
#[derive(Default)]
pub struct Cases {
    /// By broker.
    by_target: BTreeMap<&'static str, BTreeSet<String>>,
    /// Cases that may fail on Apache Kafka, with the reason.
    unsteady: BTreeMap<String, String>,
    /// Cases that may be left out, by broker, with the reason.
    optional: BTreeMap<(&'static str, String), String>,
}

impl Cases {
    /// Reads the list.
    pub fn read(root: &Path) -> Result<Self, String> {
        let path = root.join(PATH);
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Self::parse(&text)
    }

    /// Reads the list's text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut cases = Self::default();
        let mut section = None;
        for (number, line) in text.lines().enumerate() {
            let at = || format!("{PATH}:{}", number + 1);
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                let target = Target::named(name).ok_or(format!("{}: no broker {name}", at()))?;
                section = Some(target.name());
                continue;
            }
            let section = section.ok_or(format!("{}: a case before a broker", at()))?;
            let case = match line.split_once(" | ") {
                Some((case, reason)) if section == Target::Kafka.name() => {
                    cases.unsteady.insert(case.to_string(), reason.to_string());
                    case
                }
                Some(_) => return Err(format!("{}: only Apache Kafka may fail a case", at())),
                None => match line.split_once(" ? ") {
                    Some((case, reason)) => {
                        cases.optional.insert((section, case.to_string()), reason.to_string());
                        case
                    }
                    None => line,
                },
            };
            if !cases.by_target.entry(section).or_default().insert(case.to_string()) {
                return Err(format!("{}: {case} is listed twice", at()));
            }
        }
        Ok(cases)
    }

    /// Why Apache Kafka may fail a case.
    pub fn unsteady(&self, case: &str) -> Option<&str> {
        self.unsteady.get(case).map(String::as_str)
    }

    /// Whether a case may say that it cannot run against a broker.
    pub fn may_be_left_out(&self, target: Target, case: &str) -> bool {
        self.optional.contains_key(&(target.name(), case.to_string()))
    }

    /// The cases of a suite against a broker.
    pub fn of_suite(&self, target: Target, suite: &str) -> Vec<&str> {
        let listed = self.by_target.get(target.name()).into_iter().flatten();
        listed.map(String::as_str).filter(|case| case.split('.').next() == Some(suite)).collect()
    }

    /// What is wrong with the cases that ran, among those that were `wanted`: one that did not run, one
    /// that ran twice, one that is not listed.
    pub fn complaints(
        &self,
        target: Target,
        ran: &[String],
        wanted: impl Fn(&str) -> bool,
    ) -> Vec<(String, String)> {
        let none = BTreeSet::new();
        let listed = self.by_target.get(target.name()).unwrap_or(&none);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        ran.iter().for_each(|case| *counts.entry(case).or_default() += 1);
        let mut found = Vec::new();
        for case in listed.iter().filter(|case| wanted(case)) {
            if !counts.contains_key(case.as_str()) {
                found.push((case.clone(), format!("it is in {PATH} and did not run")));
            }
        }
        for (case, count) in counts {
            if !listed.contains(case) {
                found.push((case.to_string(), format!("it is not in {PATH}")));
            }
            if count > 1 {
                found.push((case.to_string(), format!("it ran {count} times")));
            }
        }
        found
    }

    /// Writes the list anew from what ran, keeping the reasons.
    pub fn record(&self, root: &Path, ran: &[(Target, Vec<String>)]) -> Result<(), String> {
        let mut text = HEADER.to_string();
        for (target, cases) in ran {
            text.push_str(&format!("\n[{}]\n", target.name()));
            for case in cases.iter().collect::<BTreeSet<_>>() {
                text.push_str(case);
                if let Some(reason) = self.unsteady(case).filter(|_| *target == Target::Kafka) {
                    text.push_str(&format!(" | {reason}"));
                }
                if let Some(reason) = self.optional.get(&(target.name(), case.clone())) {
                    text.push_str(&format!(" ? {reason}"));
                }
                text.push('\n');
            }
        }
        let path = root.join(PATH);
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(cases: &[&str]) -> Vec<String> {
        cases.iter().map(|case| (*case).to_string()).collect()
    }

    #[test]
    fn what_is_missing_doubled_or_new_is_told() {
        let cases = Cases::parse("[kafka]\na.x | slow\n[thalweg]\n# all\na.x\na.y\nb.z\n").unwrap();
        let of = |list: &[&str]| {
            let found =
                cases.complaints(Target::Thalweg, &ran(list), |case| case.starts_with("a."));
            found.into_iter().map(|(case, _)| case).collect::<Vec<_>>()
        };
        assert_eq!(of(&["a.x", "a.y"]), Vec::<String>::new());
        assert_eq!(of(&[]), ["a.x", "a.y"], "a suite that printed nothing");
        assert_eq!(of(&["a.y", "a.y", "a.x"]), ["a.y"], "twice");
        assert_eq!(of(&["a.x", "a.y", "c.new"]), ["c.new"]);
        let optional = Cases::parse("[thalweg]\na.x ? no mounts\na.y\n").unwrap();
        let may = |target, case| optional.may_be_left_out(target, case);
        assert!(may(Target::Thalweg, "a.x") && !may(Target::Thalweg, "a.y"));
        assert!(
            !may(Target::Kafka, "a.x"),
            "what is allowed against one broker says nothing of the other"
        );
        assert_eq!(cases.unsteady("a.x"), Some("slow"));
        assert_eq!(cases.unsteady("a.y"), None);
        assert_eq!(cases.of_suite(Target::Thalweg, "a"), ["a.x", "a.y"]);
        assert_eq!(cases.of_suite(Target::Kafka, "b"), Vec::<&str>::new());
    }

    #[test]
    fn lists_that_make_no_sense_are_refused() {
        for bad in ["a.x", "[other]\na.x", "[kafka]\na.x\na.x", "[thalweg]\na.x | may fail"] {
            assert!(Cases::parse(bad).is_err(), "{bad}");
        }
    }
}
