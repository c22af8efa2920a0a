//! Regular expressions and names of topics from arbitrary bytes.
//!
//! What is checked beyond the absence of panics: what is wrong lies in the pattern; what a matcher has
//! learnt from other names changes nothing; and neither do parentheses around the pattern.

use thalweg_groups::TopicRegex;

/// The first line is a pattern, the others are names.
pub fn topic_regex(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (pattern, names) = text.split_once('\n').unwrap_or((text, ""));
    let regex = match TopicRegex::new(pattern) {
        Ok(regex) => regex,
        Err(error) => {
            let rest = pattern.get(error.offset()..).expect("a place in the pattern");
            assert!(rest.starts_with(error.part()), "{error:?}");
            return;
        }
    };
    // A quotation without an end would have the parenthesis in it.
    let grouped = (!pattern.contains("\\Q")).then(|| format!("(?:{pattern})"));
    // It may have become too long.
    let grouped = grouped.and_then(|grouped| TopicRegex::new(&grouped).ok());
    let mut matcher = regex.matcher();
    for name in names.split('\n') {
        let matches = matcher.matches(name);
        assert_eq!(matches, regex.matches(name), "{name:?}");
        assert!(!matches || name.is_ascii());
        if let Some(grouped) = &grouped {
            assert_eq!(matches, grouped.matches(name), "{name:?}");
        }
    }
}
