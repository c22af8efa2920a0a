//! The rooms of a crate: which folder may import which, and circles of imports between files.
//!
//! The rules stand in `xtask/rooms.txt`. *Invariant*: an import is a path in code that ships, counted
//! for the file with the definition, whatever re-exports lie between. A method that is called on a value
//! has no path, and the check does not see it.

mod circles;
mod imports;
mod names;
mod report;
mod rules;
mod test_code;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;

use imports::Graph;
use rules::Rules;
use tree::Sources;

/// The crates whose rooms are checked.
const CRATES: [&str; 4] = ["broker", "client", "groups", "log"];

/// Expressions nest deeply, and each level is some frames of the parser.
const STACK_BYTES: usize = 32 << 20;

/// The forms of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Files, circles and imports from room to room.
    Figures,
    /// Every import with its place.
    Imports,
    /// The lines of `rooms.txt` that describe the present state.
    Exceptions,
    /// First segments of paths that are no names of the crate.
    Outside,
}

/// Prints a report of every crate.
pub fn run(root: &Path, form: Form) -> Result<(), String> {
    let rules = rules(root)?;
    for (name, graph) in graphs(root)? {
        let rules = &rules[name];
        let text = match form {
            Form::Figures => report::figures(name, rules, &graph),
            Form::Imports => report::imports(name, &graph),
            Form::Exceptions => report::exceptions(name, rules, &graph),
            Form::Outside => report::outside(name, &graph),
        };
        print!("{text}");
    }
    Ok(())
}

/// Adds every violation.
pub fn check(root: &Path, wrong: &mut Vec<String>) -> Result<(), String> {
    let rules = rules(root)?;
    for (name, graph) in graphs(root)? {
        wrong.extend(rules[name].check(name, &src(name), &graph));
    }
    Ok(())
}

fn src(name: &str) -> String {
    format!("crates/{name}/src")
}

fn rules(root: &Path) -> Result<BTreeMap<String, Rules>, String> {
    let path = root.join("xtask/rooms.txt");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    rules::parse(&text, &CRATES)
}

/// The imports of every crate, each read by a thread of its own.
fn graphs(root: &Path) -> Result<Vec<(&'static str, Graph)>, String> {
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for name in CRATES {
            let read = move || {
                let src = src(name);
                let graph = sources(&root.join(&src)).and_then(|sources| graph(&sources));
                graph.map_err(|e| format!("{src}: {e}"))
            };
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            let thread =
                builder.spawn_scoped(scope, read).map_err(|e| format!("thread for {name}: {e}"))?;
            threads.push((name, thread));
        }
        threads
            .into_iter()
            .map(|(name, thread)| {
                let graph = thread.join().map_err(|_| format!("the reader of {name} panicked"))?;
                Ok((name, graph?))
            })
            .collect()
    })
}

/// The imports of a crate.
fn graph(sources: &Sources) -> Result<Graph, String> {
    imports::find(tree::read(sources)?)
}

/// Every Rust file below a folder.
fn sources(folder: &Path) -> Result<Sources, String> {
    fn collect(folder: &Path, prefix: &str, into: &mut Sources) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type().map_err(failed)?.is_dir() {
                collect(&entry.path(), &format!("{name}/"), into)?;
            } else if name.ends_with(".rs") {
                let text = fs::read_to_string(entry.path()).map_err(failed)?;
                into.insert(name, text);
            }
        }
        Ok(())
    }
    let mut found = Sources::new();
    collect(folder, "", &mut found)?;
    Ok(found)
}
