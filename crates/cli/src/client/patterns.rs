//! Names that stand for several things.

use std::collections::BTreeSet;

use regex_lite::Regex;

use super::error::CliError;

/// Names as they are, with `*` and `?`, or as regular expressions.
#[derive(Debug)]
pub struct Patterns {
    exact: BTreeSet<String>,
    patterns: Vec<(String, Regex)>,
}

impl Patterns {
    /// Names in which `*` stands for anything and `?` for one character: neither can be in a topic's
    /// name.
    pub fn globs(names: &[String], regexes: &[String]) -> Result<Patterns, CliError> {
        let is_glob = |name: &&String| name.contains(['*', '?']);
        let mut all = Patterns::names(&[], regexes)?;
        all.exact.extend(names.iter().filter(|name| !is_glob(name)).cloned());
        for glob in names.iter().filter(is_glob) {
            let mut regex = String::new();
            for c in glob.chars() {
                match c {
                    '*' => regex.push_str(".*"),
                    '?' => regex.push('.'),
                    c => regex.push_str(&regex_lite::escape(c.encode_utf8(&mut [0; 4]))),
                }
            }
            all.patterns.push((glob.clone(), whole(&regex)?));
        }
        Ok(all)
    }

    /// Names as they are.
    pub fn names(names: &[String], regexes: &[String]) -> Result<Patterns, CliError> {
        let with_regex = |regex: &String| Ok((regex.clone(), whole(regex)?));
        let patterns = regexes.iter().map(with_regex).collect::<Result<_, CliError>>()?;
        Ok(Patterns { exact: names.iter().cloned().collect(), patterns })
    }

    /// Whether nothing at all was given.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.patterns.is_empty()
    }

    /// Whether more may be meant than stands there.
    pub fn has_patterns(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// The names that are not patterns.
    pub fn exact(&self) -> impl Iterator<Item = &String> {
        self.exact.iter()
    }

    /// Whether a name stands there as it is.
    pub fn is_exact(&self, name: &str) -> bool {
        self.exact.contains(name)
    }

    /// Whether a name is meant.
    pub fn matches(&self, name: &str) -> bool {
        self.exact.contains(name) || self.patterns.iter().any(|(_, regex)| regex.is_match(name))
    }

    /// What is meant of all there are: the names given, whether they are there or not, and what
    /// the patterns find, which is an error for one that finds nothing.
    pub fn select(&self, all: &[String]) -> Result<BTreeSet<String>, CliError> {
        self.select_where(all, false)
    }

    /// As [`Self::select`]; a pattern that finds nothing is fine.
    pub fn select_any(&self, all: &[String]) -> Result<BTreeSet<String>, CliError> {
        self.select_where(all, true)
    }

    fn select_where(&self, all: &[String], fine: bool) -> Result<BTreeSet<String>, CliError> {
        let mut selected = self.exact.clone();
        for (text, regex) in &self.patterns {
            let before = selected.len();
            let found = all.iter().filter(|name| regex.is_match(name));
            selected.extend(found.clone().cloned());
            if selected.len() == before && found.count() == 0 && !fine {
                return Err(CliError::NotFound(format!("nothing matches '{text}'")));
            }
        }
        Ok(selected)
    }
}

/// A regular expression for whole names.
fn whole(regex: &str) -> Result<Regex, CliError> {
    Regex::new(&format!("^(?:{regex})$"))
        .map_err(|error| CliError::Usage(format!("'{regex}' is no regular expression: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn globs_and_regexes_find_whole_names() {
        let all = list(&["a.b", "axb", "a.bc", "z"]);
        let select = |names: &[&str], regexes: &[&str]| {
            let patterns = Patterns::globs(&list(names), &list(regexes)).unwrap();
            patterns.select(&all).map(|found| found.into_iter().collect::<Vec<_>>())
        };
        assert_eq!(select(&["a.b*"], &[]).unwrap(), ["a.b", "a.bc"]);
        assert_eq!(select(&["?", "gone"], &[]).unwrap(), ["gone", "z"]);
        assert_eq!(select(&[], &["a.b"]).unwrap(), ["a.b", "axb"]);
        assert!(matches!(select(&["q*"], &[]), Err(CliError::NotFound(_))));
        let some = Patterns::globs(&list(&["q*", "gone", "a*"]), &[]).unwrap();
        let found: Vec<String> = some.select_any(&all).unwrap().into_iter().collect();
        assert_eq!(found, ["a.b", "a.bc", "axb", "gone"]);
        assert!(matches!(Patterns::names(&[], &list(&["("])), Err(CliError::Usage(_))));
    }
}
