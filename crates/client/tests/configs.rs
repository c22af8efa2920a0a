//! `CONFIGS.md` is true: what it names exists, what names a Java config in its docs is in it, and no
//! setting is left out. The sources are read as text.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Structs whose fields are settings, and the files they are in.
const SETTINGS: [(&str, &str); 6] = [
    ("Options", "options/mod.rs"),
    ("SaslOptions", "options/mod.rs"),
    ("Identity", "options/tls/mod.rs"),
    ("ConsumerConfig", "consumer/config/mod.rs"),
    ("ProducerConfig", "producer/config.rs"),
    ("AdminConfig", "admin/config.rs"),
];

fn crate_file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows about Java's configs: name, and the column that says what it is here.
fn rows() -> BTreeMap<String, String> {
    let text = crate_file("CONFIGS.md");
    let mut rows = BTreeMap::new();
    let mut last = String::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        // The table of what Java does not have has three columns.
        let [name, _, _, here, _, remarks] = cells[..] else { continue };
        let name = name.trim_matches('`').to_owned();
        if name.starts_with("sasl.") && !last.starts_with("sasl.") {
            last.clear();
        }
        assert!(name > last, "{name} comes after {last}");
        last.clone_from(&name);
        let reason = here == "not needed" || here == "not there yet";
        assert_ne!(reason, here.contains("::"), "{name} is '{here}'");
        assert!(!reason || !remarks.is_empty(), "{name} is {here}, without a reason");
        rows.insert(name, here.to_owned());
    }
    assert!(rows.len() > 120, "{} rows", rows.len());
    rows
}

/// What stands between backticks and has `::` in it, as the type and its member.
fn members(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('`').skip(1).step_by(2).filter_map(|code| code.split_once("::"))
}

/// The text from each place where `head` begins a line to the end of its braces.
fn blocks<'a>(source: &'a str, head: &str) -> Vec<&'a str> {
    let begins = |(at, _): &(usize, &str)| *at == 0 || source[..*at].ends_with('\n');
    let until_end = |(at, _): (usize, &'a str)| {
        let rest = &source[at..];
        &rest[..rest.find("\n}").unwrap_or(rest.len())]
    };
    source.match_indices(head).filter(begins).map(until_end).collect()
}

fn sources(directory: &Path, all: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// Whether some file has the type with a public member of that name.
fn is_member(sources: &[String], of: &str, member: &str) -> bool {
    let types = [
        (format!("pub struct {of} {{"), vec![format!("    pub {member}: ")]),
        (format!("pub struct {of}<'a> {{"), vec![format!("    pub {member}: ")]),
        (
            format!("pub enum {of} {{"),
            vec![format!("    {member},"), format!("    {member}("), format!("    {member} {{")],
        ),
        (format!("pub trait {of}: "), vec![format!("    fn {member}")]),
        (
            format!("impl {of} {{"),
            vec![format!("    pub fn {member}"), format!("    pub async fn {member}")],
        ),
    ];
    types.iter().any(|(head, lines)| {
        sources.iter().flat_map(|source| blocks(source, head)).any(|block| {
            block.lines().any(|line| {
                lines.iter().any(|start| {
                    line.strip_prefix(start.as_str()).is_some_and(|rest| {
                        // `pub fn commit` is not `pub fn commit_offsets`.
                        !start.contains(" fn ") || rest.starts_with(['(', '<'])
                    })
                })
            })
        })
    })
}

/// The public fields of a struct with their docs, in one line each.
fn fields(of: &str, file: &str) -> Vec<(String, String)> {
    let source = crate_file(&format!("src/{file}"));
    let [block] = blocks(&source, &format!("pub struct {of} {{"))[..] else {
        panic!("{of} is not in {file}")
    };
    let mut docs = String::new();
    let mut fields = Vec::new();
    for line in block.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            docs.push_str(text);
        } else if let Some((name, _)) =
            line.strip_prefix("pub ").and_then(|field| field.split_once(": "))
        {
            fields.push((name.to_owned(), std::mem::take(&mut docs)));
        }
    }
    assert!(!fields.is_empty(), "{of} has no field");
    fields
}

/// The Java configs that docs give in parentheses: names of small letters with dots.
fn java_names(docs: &str) -> Vec<&str> {
    let is_name =
        |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || c == '.') && !name.is_empty();
    let parentheses = docs.split("(`").skip(1).filter_map(|rest| rest.split_once(')'));
    parentheses
        .flat_map(|(inside, _)| inside.split([',', ' ']))
        .map(|word| word.trim_matches('`'))
        .filter(|name| name.contains('.') || matches!(*name, "acks" | "retries"))
        .filter(is_name)
        .collect()
}

#[test]
fn settings_are_in_the_table() {
    let rows = rows();
    let text = crate_file("CONFIGS.md");
    let mut named = 0;
    for (of, file) in SETTINGS {
        for (field, docs) in fields(of, file) {
            let full = format!("`{of}::{field}`");
            assert!(text.contains(&full), "{full} is missing");
            for name in java_names(&docs) {
                let here = rows.get(name).unwrap_or_else(|| panic!("{full} names {name}"));
                assert!(here.contains(&full), "{name} is {here} in the table, but {full} names it");
                named += 1;
            }
        }
    }
    assert!(named > 40, "only {named} names were found in docs");
}

#[test]
fn what_the_documents_name_exists() {
    let mut all = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
    assert!(is_member(&all, "ConsumerConfig", "fetch_budget"));
    assert!(!is_member(&all, "ConsumerConfig", "fetch"));
    assert!(!is_member(&all, "Consumer", "commi"));
    let configs = crate_file("CONFIGS.md");
    let mut seen = 0;
    for (of, member) in members(&configs) {
        // Elsewhere, but of this crate.
        if matches!(of, "thalweg") {
            continue;
        }
        assert!(is_member(&all, of, member), "there is no {of}::{member}");
        seen += 1;
    }
    assert!(seen > 60, "only {seen} members are named");
    // Of the guide the right halves of its tables; the left ones are another crate's.
    let guide = crate_file("README.md");
    let mut seen = 0;
    for line in guide.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let here = if cells.len() == 2 { cells[1] } else { cells.get(2).unwrap_or(&"") };
        for (of, member) in members(here) {
            let member = member.split('(').next().unwrap_or(member);
            let exists = match of {
                "stream" => ["fn", "struct"].iter().any(|kind| {
                    let declared = format!("\npub {kind} {member}");
                    all.iter().any(|source| source.contains(&declared))
                }),
                // Other crates' names.
                "thalweg_testkit" | "thalweg_wire" | "tokio" => continue,
                _ => is_member(&all, of, member),
            };
            assert!(exists, "there is no {of}::{member}: {line}");
            seen += 1;
        }
    }
    assert!(seen > 50, "only {seen} members are named in the guide");
}
