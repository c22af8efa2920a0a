//! The house rules that compilers do not check: who may depend on whom, what pure crates must not
//! touch, licences and sources of dependencies, the length and the headers of files, leftovers. Imports
//! inside a crate are checked in [`crate::rooms`], and the names in `ARCHITECTURE.md` in [`crate::map`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{codegen, map, rooms};

/// Longest file that is still read in one sitting, and what is refused.
const LINES_WARN: usize = 900;
const LINES_MAX: usize = 1500;

/// Workspace crates and those among them that they may use in production.
const MAY_USE: [(&str, &[&str]); 15] = [
    ("thalweg-random", &[]),
    ("thalweg-wire", &[]),
    ("thalweg-records", &["thalweg-wire"]),
    ("thalweg-log", &["thalweg-random", "thalweg-wire", "thalweg-records"]),
    ("thalweg-metadata", &["thalweg-wire", "thalweg-records"]),
    ("thalweg-coordinator", &["thalweg-wire", "thalweg-records"]),
    (
        "thalweg-groups",
        &["thalweg-wire", "thalweg-records", "thalweg-metadata", "thalweg-coordinator"],
    ),
    ("thalweg-transactions", &["thalweg-wire", "thalweg-coordinator"]),
    ("thalweg-replication", &["thalweg-wire", "thalweg-metadata"]),
    ("thalweg-connection", &["thalweg-wire"]),
    (
        "thalweg-broker",
        &[
            "thalweg-wire",
            "thalweg-records",
            "thalweg-log",
            "thalweg-metadata",
            "thalweg-coordinator",
            "thalweg-groups",
            "thalweg-transactions",
            "thalweg-replication",
            "thalweg-connection",
        ],
    ),
    ("thalweg", &["thalweg-random", "thalweg-wire", "thalweg-records", "thalweg-connection"]),
    (
        "thalweg-cli",
        &[
            "thalweg",
            "thalweg-broker",
            "thalweg-log",
            "thalweg-metadata",
            "thalweg-wire",
            "thalweg-records",
        ],
    ),
    ("thalweg-testkit", &["thalweg", "thalweg-broker", "thalweg-wire", "thalweg-records"]),
    ("xtask", &[]),
];

/// Crates without input, output, clock or chance.
const PURE: [&str; 8] = [
    "wire",
    "records",
    "metadata",
    "coordinator",
    "groups",
    "transactions",
    "replication",
    "connection",
];

/// What opens files or sockets, tells the time or draws numbers.
const IMPURE: [&str; 14] = [
    "tokio",
    "mio",
    "rustix",
    "rustls",
    "socket2",
    "nix",
    "rand",
    "rand_core",
    "getrandom",
    "hyper",
    "chrono",
    "time",
    "tempfile",
    "aws-lc-rs",
];

/// The same in the standard library, which no manifest shows.
const IMPURE_CALLS: [&str; 11] = [
    "std::fs",
    "TcpListener",
    "UdpSocket",
    "ToSocketAddrs",
    "std::thread",
    "std::process",
    "std::env",
    "Instant::now",
    "SystemTime::now",
    "File::open",
    "TcpStream",
];

/// Crates that nobody may bring in.
const BANNED: [&str; 5] = ["openssl", "openssl-sys", "native-tls", "rdkafka", "rdkafka-sys"];

/// Hosts that may stand in a file: documentation, namespaces and this machine.
const HOSTS: [&str; 10] = [
    "127.0.0.1",
    "localhost",
    "[::1]",
    "0.0.0.0",
    "kafka.apache.org",
    "issues.apache.org",
    "cwiki.apache.org",
    "www.apache.org",
    "maven.apache.org",
    "www.w3.org",
];

/// Runs every check and lists everything that is wrong.
pub fn run(root: &Path) -> Result<(), String> {
    let mut wrong = Vec::new();
    let metadata = metadata(root)?;
    dependencies(&metadata, &mut wrong)?;
    licences(root, &metadata, &mut wrong)?;
    let files = tracked(root)?;
    sources(root, &files, &mut wrong);
    tests(root, &files, &mut wrong);
    if let Err(why) = rooms::check(root, &mut wrong) {
        wrong.push(why);
    }
    if let Err(why) = map::check(root, &files, &mut wrong) {
        wrong.push(why);
    }
    if let Err(why) = codegen::check(root, &root.join("target/gen-check")) {
        wrong.push(why);
    }
    for one in &wrong {
        println!("tidy: {one}");
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{} violations", wrong.len())) }
}

/// Every file of integration tests is part of a test binary: one that is forgotten would not run.
fn tests(root: &Path, files: &[PathBuf], wrong: &mut Vec<String>) {
    for file in files {
        let parts: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
        let ["crates", name, "tests", test] = parts.as_slice() else { continue };
        let Some(test) = test.strip_suffix(".rs") else { continue };
        let read = |path: &str| fs::read_to_string(root.join("crates").join(name).join(path));
        let manifest = read("Cargo.toml").unwrap_or_default();
        if !manifest.contains("\nautotests = false\n") {
            continue;
        }
        let modules = read("tests/integration.rs").unwrap_or_default();
        let is_module = modules.lines().any(|line| line == format!("mod {test};"));
        let is_binary = manifest.contains(&format!("[[test]]\nname = \"{test}\"\n"));
        if !is_module && !is_binary {
            wrong.push(format!(
                "{}: no test binary has it; name it in tests/integration.rs or in Cargo.toml",
                file.display()
            ));
        }
    }
}

fn metadata(root: &Path) -> Result<Value, String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--all-features"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Production dependencies by package id: those that are neither for tests nor for build scripts.
fn graph(metadata: &Value) -> BTreeMap<&str, Vec<&str>> {
    let nodes = metadata.get("resolve").map_or(&[][..], |resolve| list(resolve, "nodes"));
    let mut graph = BTreeMap::new();
    for node in nodes {
        let normal = |dep: &&Value| {
            list(dep, "dep_kinds").iter().any(|kind| kind.get("kind").is_some_and(Value::is_null))
        };
        let deps = list(node, "deps").iter().filter(normal).map(|dep| text(dep, "pkg")).collect();
        graph.insert(text(node, "id"), deps);
    }
    graph
}

fn dependencies(metadata: &Value, wrong: &mut Vec<String>) -> Result<(), String> {
    let packages = list(metadata, "packages");
    let names: BTreeMap<&str, &str> =
        packages.iter().map(|p| (text(p, "id"), text(p, "name"))).collect();
    let graph = graph(metadata);
    if packages.is_empty() || graph.is_empty() {
        return Err("cargo metadata holds no packages".into());
    }
    let members: BTreeSet<&str> =
        list(metadata, "workspace_members").iter().filter_map(Value::as_str).collect();
    for name in names.values().filter(|name| BANNED.contains(*name)) {
        wrong.push(format!("{name} is banned, and something depends on it"));
    }
    for member in &members {
        let name = names.get(member).copied().unwrap_or_default();
        let Some((_, allowed)) = MAY_USE.iter().find(|(crate_name, _)| *crate_name == name) else {
            wrong.push(format!("crate {name} has no rule about what it may use; add it to tidy"));
            continue;
        };
        for used in graph.get(member).into_iter().flatten().filter(|id| members.contains(*id)) {
            let used = names.get(used).copied().unwrap_or_default();
            if !allowed.contains(&used) {
                wrong.push(format!("{name} must not depend on {used}"));
            }
        }
        let short = name.strip_prefix("thalweg-").unwrap_or(name);
        if PURE.contains(&short) {
            for (impure, way) in reach(member, &graph, &names) {
                wrong.push(format!("{name} is pure, and depends on {impure} by {way}"));
            }
        }
    }
    Ok(())
}

/// Impure crates that production code of `from` reaches, each with the way there.
fn reach<'a>(
    from: &'a str,
    graph: &BTreeMap<&'a str, Vec<&'a str>>,
    names: &BTreeMap<&'a str, &'a str>,
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![(from, String::new())];
    while let Some((id, way)) = open.pop() {
        let name = names.get(id).copied().unwrap_or_default();
        let here = if way.is_empty() { name.to_string() } else { format!("{way} -> {name}") };
        if IMPURE.contains(&name) {
            found.insert(name.to_string(), here.clone());
        }
        for next in graph.get(id).into_iter().flatten() {
            if seen.insert(next) {
                open.push((next, here.clone()));
            }
        }
    }
    found
}

/// Licences and sources against `deny.toml`, so that CI needs no further tool for the most of it.
fn licences(root: &Path, metadata: &Value, wrong: &mut Vec<String>) -> Result<(), String> {
    let path = root.join("deny.toml");
    let deny = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let start = deny.find("allow = [").ok_or("deny.toml: no list of allowed licences")?;
    let allowed: Vec<&str> =
        deny[start..].split(']').next().unwrap_or_default().split('"').skip(1).step_by(2).collect();
    for package in list(metadata, "packages") {
        let name = format!("{} {}", text(package, "name"), text(package, "version"));
        let licence = text(package, "license");
        if licence.is_empty() {
            wrong.push(format!("{name} names no licence"));
        } else if !allows(licence, &allowed) {
            wrong.push(format!("{name} has licence {licence}, which deny.toml does not allow"));
        }
        // No source means a member of the workspace.
        let source = text(package, "source");
        if !source.is_empty() && !source.starts_with("registry+") && !source.starts_with("sparse+")
        {
            wrong.push(format!("{name} comes from {source}, not from a registry"));
        }
    }
    Ok(())
}

/// Whether an SPDX expression can be met with the allowed licences. `/` is the old form of OR.
fn allows(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    either(&words, &mut at, allowed) && at == words.len()
}

fn either(words: &[&str], at: &mut usize, allowed: &[&str]) -> bool {
    let mut holds = both(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        holds |= both(words, at, allowed);
    }
    holds
}

fn both(words: &[&str], at: &mut usize, allowed: &[&str]) -> bool {
    let mut holds = single(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        holds &= single(words, at, allowed);
    }
    holds
}

fn single(words: &[&str], at: &mut usize, allowed: &[&str]) -> bool {
    let Some(word) = words.get(*at) else { return false };
    *at += 1;
    if *word == "(" {
        let holds = either(words, at, allowed);
        *at += 1;
        return holds;
    }
    if words.get(*at) == Some(&"WITH") {
        let exception = words.get(*at + 1).copied().unwrap_or_default();
        *at += 2;
        return allowed.contains(&format!("{word} WITH {exception}").as_str())
            || allowed.contains(word);
    }
    allowed.contains(word)
}

/// Files that git knows or would take, relative to the checkout.
fn tracked(root: &Path) -> Result<Vec<PathBuf>, String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("git: {e}"))?;
    if !output.status.success() {
        return Err(format!("git: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let names = String::from_utf8_lossy(&output.stdout);
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

fn sources(root: &Path, files: &[PathBuf], wrong: &mut Vec<String>) {
    for path in files {
        let name = path.display().to_string();
        // Not ours to word, or written by a tool; a deleted file is still listed.
        if name == "LICENSE" || name.ends_with("Cargo.lock") || name.starts_with("bench/results/") {
            continue;
        }
        let Ok(bytes) = fs::read(root.join(path)) else { continue };
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let generated = codegen::FOLDERS.iter().any(|folder| name.starts_with(folder));
        if ["rs", "java", "py", "js"].contains(&extension) && !generated {
            let lines = text.lines().count();
            if lines > LINES_MAX {
                wrong.push(format!("{name}: {lines} lines; split it by noun"));
            } else if lines > LINES_WARN {
                println!("tidy: note: {name} has {lines} lines");
            }
        }
        if extension == "rs" {
            rust(&name, &text, generated, wrong);
        }
        places(&name, &text, wrong);
    }
}

fn rust(name: &str, text: &str, generated: bool, wrong: &mut Vec<String>) {
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
    // A fuzz target is one line; what it calls is documented where it stands.
    let trivial = text.lines().count() < 5;
    if !generated && !trivial && !first.is_some_and(|line| line.starts_with("//!")) {
        wrong.push(format!("{name}: no header that says what the module is for"));
    }
    let leftovers = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("FIX", "ME")];
    for (number, line) in text.lines().enumerate() {
        for leftover in leftovers.iter().filter(|leftover| line.contains(**leftover)) {
            wrong.push(format!("{name}:{}: {leftover}", number + 1));
        }
    }
    let pure = PURE.iter().any(|one| name.starts_with(&format!("crates/{one}/src/")));
    let file = name.rsplit('/').next().unwrap_or_default();
    if !pure || file == "tests.rs" || name.contains("/tests/") {
        return;
    }
    for (number, line) in text.lines().enumerate() {
        if line.trim() == "#[cfg(test)]" {
            // By convention tests end a file.
            break;
        }
        if line.trim_start().starts_with("//") {
            continue;
        }
        for call in IMPURE_CALLS.iter().filter(|call| line.contains(**call)) {
            wrong.push(format!("{name}:{}: {call} in a pure crate", number + 1));
        }
    }
}

/// Hosts, and folders of one machine or person.
fn places(name: &str, text: &str, wrong: &mut Vec<String>) {
    let folders = [
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
        concat!("/wo", "rk/"),
        concat!("/Us", "ers/"),
        concat!("/tm", "p/"),
    ];
    for (number, line) in text.lines().enumerate() {
        let at = format!("{name}:{}", number + 1);
        // Kafka's own default, a fact of its configuration.
        let line = &line.replace(concat!("/tm", "p/kafka-logs"), "");
        for folder in folders.iter().filter(|folder| has_folder(line, folder)) {
            wrong.push(format!("{at}: a path below {folder}"));
        }
        for scheme in ["http://", "https://"] {
            for part in line.split(scheme).skip(1) {
                let end = part.find(|c: char| !(c.is_alphanumeric() || ".-[]:".contains(c)));
                let host = &part[..end.unwrap_or(part.len())];
                let host =
                    host.split(':').next().filter(|_| !host.starts_with('[')).unwrap_or(host);
                let placeholder =
                    host.is_empty() || !host.contains('.') || host.ends_with(".example");
                if !placeholder && !HOSTS.contains(&host) {
                    wrong.push(format!("{at}: host {host}"));
                }
            }
        }
    }
}

/// Whether the folder stands in the line as the start of a path, not within another one.
fn has_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder)
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}$".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_expressions() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];
        for good in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR GPL-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(allows(good, &allowed), "{good}");
        }
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(GPL-3.0 OR MIT) AND MPL-2.0", "MIT GPL-3.0"] {
            assert!(!allows(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn places_are_found() {
        let check = |line: &str| {
            let mut wrong = Vec::new();
            places("f", line, &mut wrong);
            wrong.len()
        };
        assert_eq!(check(concat!("let p = \"/ho", "me/me/x\";")), 1);
        assert_eq!(check(concat!("see htt", "ps://crates.example.org/x")), 1);
        assert_eq!(check("see https://kafka.apache.org/43/"), 0);
        assert_eq!(check("GET http://127.0.0.1:8080/metrics"), 0);
        assert_eq!(check("http://HOST:PORT/metrics"), 0);
        assert_eq!(check("target/tmp/x, {root}/work/y"), 0);
    }
}
