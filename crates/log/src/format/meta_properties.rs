//! `meta.properties`: which node and cluster a log directory belongs to, and its own id.
//!
//! Version 1 (KRaft) only. Properties that are not ours are kept.

use thalweg_wire::Uuid;

/// The content of one directory's `meta.properties`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MetaProperties {
    /// `cluster.id`
    pub cluster_id: String,
    /// `node.id`
    pub node_id: i32,
    /// `directory.id`; older installations have none.
    pub directory_id: Option<Uuid>,
    others: Vec<(String, String)>,
}

impl MetaProperties {
    /// For a directory that is taken into use.
    pub fn new(cluster_id: &str, node_id: i32, directory_id: Uuid) -> MetaProperties {
        MetaProperties {
            cluster_id: cluster_id.to_owned(),
            node_id,
            directory_id: Some(directory_id),
            others: Vec::new(),
        }
    }

    /// Reads the file's content; says what is wrong with it otherwise.
    pub fn parse(bytes: &[u8]) -> Result<MetaProperties, String> {
        let mut version = None;
        let mut cluster_id = None;
        let mut node_id = None;
        let mut directory_id = None;
        let mut others = Vec::new();
        for (key, value) in parse_properties(bytes)? {
            match key.as_str() {
                "version" => version = Some(value),
                "cluster.id" => cluster_id = Some(value),
                "node.id" => {
                    node_id = Some(
                        value.parse().map_err(|_| format!("node.id {value:?} is not a number"))?,
                    );
                }
                "directory.id" => {
                    directory_id = Some(
                        Uuid::parse(&value)
                            .filter(|id| !id.is_reserved())
                            .ok_or_else(|| format!("directory.id {value:?} is not usable"))?,
                    );
                }
                _ => others.push((key, value)),
            }
        }
        match version.as_deref() {
            Some("1") => {}
            Some("0") | None => {
                return Err("version 0 is of a ZooKeeper installation, which Kafka 4 cannot read \
                            either"
                    .into());
            }
            Some(other) => return Err(format!("version {other:?} is not supported, expected 1")),
        }
        Ok(MetaProperties {
            cluster_id: cluster_id.ok_or("cluster.id is missing")?,
            node_id: node_id.ok_or("node.id is missing")?,
            directory_id,
            others,
        })
    }

    /// The file's content.
    pub fn format(&self) -> Vec<u8> {
        let mut text = String::from("#\n");
        let mut put = |key: &str, value: &str| {
            escape(&mut text, key, true);
            text.push('=');
            escape(&mut text, value, false);
            text.push('\n');
        };
        put("cluster.id", &self.cluster_id);
        if let Some(id) = self.directory_id {
            put("directory.id", &id.to_string());
        }
        put("node.id", &self.node_id.to_string());
        put("version", "1");
        for (key, value) in &self.others {
            put(key, value);
        }
        text.into_bytes()
    }
}

fn escape(out: &mut String, text: &str, is_key: bool) {
    for (at, c) in text.chars().enumerate() {
        match c {
            '\\' | '=' | ':' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            ' ' if is_key || at == 0 => out.push_str("\\ "),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if c.is_ascii() && !c.is_ascii_control() => out.push(c),
            c => {
                let mut units = [0u16; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            }
        }
    }
}

/// Java's properties format: comments, continued lines, escapes, `=`, `:` or blanks between key
/// and value.
fn parse_properties(bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
    let mut properties = Vec::new();
    let mut lines = text.lines();
    while let Some(first) = lines.next() {
        let first = first.trim_start();
        if first.is_empty() || first.starts_with(['#', '!']) {
            continue;
        }
        let mut line = first.to_owned();
        while line.bytes().rev().take_while(|&b| b == b'\\').count() % 2 == 1 {
            line.pop();
            match lines.next() {
                Some(next) => line.push_str(next.trim_start()),
                None => break,
            }
        }
        let mut key = String::new();
        let mut value = String::new();
        let mut chars = line.chars().peekable();
        let mut separated = false;
        while let Some(c) = chars.next() {
            match c {
                '\\' => key.push(unescape(&mut chars)?),
                '=' | ':' => {
                    separated = true;
                    break;
                }
                c if c.is_whitespace() => break,
                c => key.push(c),
            }
        }
        while let Some(&c) = chars.peek() {
            if c.is_whitespace() || (!separated && matches!(c, '=' | ':')) {
                separated |= matches!(c, '=' | ':');
                chars.next();
            } else {
                break;
            }
        }
        while let Some(c) = chars.next() {
            value.push(if c == '\\' { unescape(&mut chars)? } else { c });
        }
        properties.push((key, value));
    }
    Ok(properties)
}

fn unescape(chars: &mut impl Iterator<Item = char>) -> Result<char, String> {
    Ok(match chars.next() {
        Some('t') => '\t',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('f') => '\u{c}',
        Some('u') => {
            let mut code = 0;
            for _ in 0..4 {
                let digit = chars.next().and_then(|c| c.to_digit(16));
                code = code * 16 + digit.ok_or("\\u is not followed by four hex digits")?;
            }
            char::from_u32(code).unwrap_or('\u{fffd}')
        }
        Some(c) => c,
        None => return Err("ends with a backslash".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_java_writes_it() {
        let text = b"#\n#Mon Jan 05 10:00:00 UTC 2026\ncluster.id=abc\\:d\ndirectory.id=\
                     WDPIf8iBRjmzqMaqUFdEpw\nnode.id=1\nversion=1\nextra : x\n";
        let meta = MetaProperties::parse(text).unwrap();
        assert_eq!(meta.cluster_id, "abc:d");
        assert_eq!(meta.node_id, 1);
        assert_eq!(meta.directory_id.unwrap().to_string(), "WDPIf8iBRjmzqMaqUFdEpw");
        let again = MetaProperties::parse(&meta.format()).unwrap();
        assert_eq!(again, meta);
        assert_eq!(again.others, [("extra".to_owned(), "x".to_owned())]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (text, reason) in [
            ("version=0\nbroker.id=1\n", "ZooKeeper"),
            ("node.id=1\ncluster.id=x\n", "ZooKeeper"),
            ("version=2\nnode.id=1\ncluster.id=x\n", "version"),
            ("version=1\ncluster.id=x\n", "node.id"),
            ("version=1\nnode.id=x\ncluster.id=x\n", "node.id"),
            ("version=1\nnode.id=1\n", "cluster.id"),
            ("version=1\nnode.id=1\ncluster.id=c\ndirectory.id=x", "directory.id"),
            (
                "version=1\nnode.id=1\ncluster.id=c\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ",
                "directory.id",
            ),
            ("version=1\\u00", "four hex"),
        ] {
            let error = MetaProperties::parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }

    #[test]
    fn odd_but_valid_properties() {
        let parsed = parse_properties(b"a b\n c = d\\\n   e\nk\\ 1=v=2\n!no\nempty\n").unwrap();
        let expected = [("a", "b"), ("c", "de"), ("k 1", "v=2"), ("empty", "")];
        assert_eq!(parsed.len(), expected.len());
        for ((key, value), (k, v)) in parsed.iter().zip(expected) {
            assert_eq!((key.as_str(), value.as_str()), (k, v));
        }
    }
}
