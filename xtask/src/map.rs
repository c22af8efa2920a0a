//! What `ARCHITECTURE.md` names between backticks exists: files, folders, and items of the workspace.
//!
//! A path is read from the root of the checkout, from `crates/`, or from a crate's folder or `src/` (the crate of the
//! paragraph, any crate under "Decisions"). It may also begin in a folder that the same paragraph has named before.
//! `Type::member` and `module::item` are looked up with all of their segments. *Invariant*: nothing is found by its last
//! segment alone. Words without a slash, an underscore or a capital are not checked, nor are commands and configs.

mod items;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use items::Items;

const MAP: &str = "ARCHITECTURE.md";

/// Names in the map that are not ours: attributes, and classes of Kafka.
const FOREIGN: [&str; 2] = ["non_exhaustive", "ReplicationControlManager"];

/// What the names of files end in.
const EXTENSIONS: [&str; 11] =
    ["rs", "py", "toml", "txt", "md", "java", "c", "lock", "js", "json", "proto"];

/// Types nest deeply, and each level is some frames of the parser.
const STACK_BYTES: usize = 32 << 20;

/// Adds every name of the map that stands for nothing. `files` are those that git knows.
pub fn check(root: &Path, files: &[PathBuf], wrong: &mut Vec<String>) -> Result<(), String> {
    let path = root.join(MAP);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let files: Vec<String> = files
        .iter()
        .filter(|file| root.join(file).exists())
        .map(|file| file.display().to_string())
        .collect();
    let read = || Items::read(root, &files);
    let items = thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, read);
        let thread = thread.map_err(|e| format!("thread for {MAP}: {e}"))?;
        thread.join().map_err(|_| format!("the reader of items for {MAP} panicked"))?
    })?;
    let places = Places::new(&files);
    let missing = missing(&text, &places, &items);
    wrong.extend(missing.iter().map(|(line, what)| format!("{MAP}:{line}: {what}")));
    Ok(())
}

/// Files and folders of the checkout.
struct Places {
    known: BTreeSet<String>,
    crates: BTreeSet<String>,
}

impl Places {
    fn new(files: &[String]) -> Places {
        let mut known = BTreeSet::new();
        for file in files {
            known.extend(Path::new(file).ancestors().map(|path| path.display().to_string()));
        }
        known.remove("");
        let crates = known
            .iter()
            .filter_map(|path| path.strip_prefix("crates/"))
            .filter(|name| !name.contains('/'))
            .map(str::to_owned)
            .collect();
        Places { known, crates }
    }

    /// Folders from which paths are read in the paragraphs of a crate or a folder, if it is one.
    fn bases(&self, name: &str) -> Option<Vec<String>> {
        if self.crates.contains(name) {
            return Some(vec![format!("crates/{name}"), format!("crates/{name}/src")]);
        }
        self.known.contains(name).then(|| vec![name.to_owned()])
    }

    /// Every place that a path may stand for.
    fn find(&self, path: &str, bases: &[String]) -> Vec<String> {
        let mut candidates = vec![path.to_owned(), format!("crates/{path}")];
        if let Some((name, rest)) = path.split_once('/') {
            candidates.push(format!("crates/{name}/src/{rest}"));
        }
        candidates.extend(bases.iter().map(|base| format!("{base}/{path}")));
        candidates.retain(|candidate| self.known.contains(candidate));
        candidates
    }
}

/// Lines with names that stand for nothing, and what is wrong with each.
fn missing(text: &str, places: &Places, items: &Items) -> Vec<(usize, String)> {
    let of_all = || places.crates.iter().filter_map(|name| places.bases(name)).flatten().collect();
    let mut wrong = Vec::new();
    let mut section: Vec<String> = of_all();
    for (first, block) in blocks(text) {
        if block.starts_with("## ") {
            section = of_all();
        }
        let mut here: Vec<String> = Vec::new();
        for span in spans(&block) {
            let line = first + block[..span.at].matches('\n').count();
            let name = span.text.trim_end_matches('/');
            if let Some(bases) = span.is_heading.then(|| places.bases(name)).flatten() {
                if !span.continues_heading {
                    (section, here) = (Vec::new(), Vec::new());
                }
                section.extend(bases);
                continue;
            }
            if span.is_heading && name.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
                wrong.push((line, format!("no crate or folder `{name}`")));
                continue;
            }
            match kind(span.text) {
                Kind::Path => {
                    for path in braces(name) {
                        let bases: Vec<String> = section.iter().chain(&here).cloned().collect();
                        let found = places.find(&path, &bases);
                        if found.is_empty() {
                            wrong.push((line, format!("no file or folder `{path}`")));
                        }
                        here.extend(found.iter().map(|place| folder(place)));
                    }
                }
                Kind::Item if !items.has_item(span.text) => {
                    wrong.push((line, format!("no item `{}`", span.text)));
                }
                Kind::Name if !FOREIGN.contains(&span.text) && !items.has_name(span.text) => {
                    wrong.push((line, format!("nothing has the name `{}`", span.text)));
                }
                Kind::Item | Kind::Name | Kind::Other => {}
            }
        }
    }
    wrong
}

/// Paragraphs, list items and rows of tables, each with its first line. Fenced blocks are left out.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let (mut is_fenced, mut is_open) = (false, false);
    for (number, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if start.starts_with("```") {
            (is_fenced, is_open) = (!is_fenced, false);
        } else if is_fenced || start.is_empty() {
            is_open = false;
        } else {
            let begins = ["#", "|", "- ", "* "].iter().any(|mark| start.starts_with(mark));
            match blocks.last_mut().filter(|_| is_open && !begins) {
                Some((_, block)) => {
                    block.push('\n');
                    block.push_str(line);
                }
                None => blocks.push((number + 1, line.to_owned())),
            }
            is_open = true;
        }
    }
    blocks
}

/// Code between backticks.
struct Span<'a> {
    at: usize,
    text: &'a str,
    /// It stands at the beginning of bold text, or in a list that does.
    is_heading: bool,
    continues_heading: bool,
}

fn spans(block: &str) -> Vec<Span<'_>> {
    let mut spans: Vec<Span<'_>> = Vec::new();
    let mut from = 0;
    while let Some(open) = block[from..].find('`').map(|at| from + at) {
        let Some(close) = block[open + 1..].find('`').map(|at| open + 1 + at) else { break };
        let before = &block[from..open];
        let was_heading = spans.last().is_some_and(|last| last.is_heading);
        let continues_heading = was_heading && before == ", ";
        let is_heading = before.ends_with("**") || continues_heading;
        let text = &block[open + 1..close];
        spans.push(Span { at: open, text, is_heading, continues_heading });
        from = close + 1;
    }
    spans
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// A file or a folder.
    Path,
    /// `Type::member` or `module::item`.
    Item,
    /// A type, or an identifier of two words.
    Name,
    /// A command, a config, a value or a single word.
    Other,
}

fn kind(text: &str) -> Kind {
    let is_identifier = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if text.contains("::") && text.split("::").all(is_identifier) {
        return Kind::Item;
    }
    let is_path = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./{},".contains(c));
    let extension = text.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_file = EXTENSIONS.contains(&extension);
    if is_path && !text.starts_with(['/', '-']) && (text.contains('/') || is_file) {
        return Kind::Path;
    }
    let has_small = text.contains(|c: char| c.is_ascii_lowercase());
    let is_name = text.contains('_') || text.starts_with(|c: char| c.is_ascii_uppercase());
    if is_identifier(text) && has_small && is_name { Kind::Name } else { Kind::Other }
}

/// `a/{b,c}/d` as its paths.
fn braces(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(before, rest)| {
        rest.split_once('}').map(|(among, after)| (before, among, after))
    });
    match parts {
        Some((before, among, after)) => {
            among.split(',').map(|one| format!("{before}{one}{after}")).collect()
        }
        None => vec![path.to_owned()],
    }
}

/// The folder itself, or the one that a file is in.
fn folder(place: &str) -> String {
    let path = Path::new(place);
    let folder = if path.extension().is_some() { path.parent() } else { Some(path) };
    folder.unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [&str; 4] = [
        "crates/log/src/partition/turn.rs",
        "crates/log/src/format/lookup.rs",
        "crates/broker/src/api/front.rs",
        "tests/python/kills.py",
    ];

    fn wrong(text: &str) -> Vec<String> {
        let places = Places::new(&FILES.map(str::to_owned));
        let mut items = Items::default();
        items.add("crates/log/src/partition/turn.rs", "pub struct Turn { end: u64 } fn begin() {}");
        items.add("crates/log/src/format/lookup.rs", "impl super::Turn { fn end_turn(&self) {} }");
        items
            .add("crates/broker/src/api/front.rs", "pub struct Front; pub use crate::net::Budget;");
        let missing = missing(text, &places, &items.unwrap());
        missing.into_iter().map(|(line, what)| format!("{line} {what}")).collect()
    }

    #[test]
    fn paths_resolve_in_full() {
        let right = "`log/partition/turn.rs`, `crates/log/src/partition/`, `tests/python/kills.py`";
        assert_eq!(wrong(right), [""; 0]);
        assert_eq!(wrong("## Decisions\n`api/front.rs`"), [""; 0]);
        assert_eq!(wrong("a\n`turn.rs`"), ["2 no file or folder `turn.rs`"]);
        assert_eq!(wrong("`log/turn.rs`").len(), 1);
        assert_eq!(
            wrong("`{log,broker}/api/front.rs`"),
            ["1 no file or folder `log/api/front.rs`"]
        );
    }

    #[test]
    fn paths_begin_at_the_crate_of_their_section() {
        assert_eq!(wrong("**`log`** - `partition/turn.rs`\n\nmore `partition/turn.rs`"), [""; 0]);
        assert_eq!(wrong("**`broker`, `log`** - `partition/turn.rs`, `api/front.rs`"), [""; 0]);
        assert_eq!(wrong("**`broker`** - `partition/turn.rs`").len(), 1);
        assert_eq!(wrong("**`brokers`** - of old"), ["1 no crate or folder `brokers`"]);
    }

    #[test]
    fn paths_begin_in_a_folder_named_before() {
        assert_eq!(wrong("**`broker`** -\n| `api/` | `front.rs` |"), [""; 0]);
        assert_eq!(wrong("**`broker`** -\n| `api/` | x |\n| y | `front.rs` |").len(), 1);
    }

    #[test]
    fn items_resolve_in_full() {
        let right =
            "`Turn::end` `Turn::end_turn` `log::format::lookup` `turn::begin` `front::Budget`";
        assert_eq!(wrong(right), [""; 0]);
        for gone in ["log::lookup", "lookup::Turn", "Turn::begin", "Front::end", "api::Budget"] {
            assert_eq!(wrong(&format!("`{gone}`")), [format!("1 no item `{gone}`")]);
        }
        assert_eq!(wrong("`Turn`, `end_turn`, `Gone`, `gone_too`").len(), 2);
    }

    #[test]
    fn other_code_is_not_checked() {
        let other = "`cargo xtask tidy`, `min.insync.replicas`, `-delete`, `..Default::default()`, \
                     `THALWEG_KAFKA`, `change`\n```\ngone/x.rs\n```\n";
        assert_eq!(wrong(other), [""; 0]);
    }
}
