//! The rules of `xtask/rooms.txt`, and their violations.
//!
//! *Invariants*: a line that is not understood is an error. Exceptions and circles only shrink: a line
//! that permits more than the crate needs is a violation, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::circles;
use super::imports::Graph;

/// The largest circle inside a room that no line has to list.
pub const CIRCLE_FILES_MAX: usize = 8;

/// The room of `lib.rs`, which may import everything.
const LIB: &str = "lib";

/// The rules of one crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Rooms and those that they may import.
    pub table: BTreeMap<String, BTreeSet<String>>,
    /// Rooms that still have to be placed. They may import everything.
    pub unplaced: BTreeSet<String>,
    /// Importing and imported file of imports against the table.
    pub exceptions: BTreeSet<(String, String)>,
    /// Sizes of listed circles, the largest first.
    pub circles: Vec<usize>,
}

/// Parses the rules of every crate.
pub fn parse(text: &str, crates: &[&str]) -> Result<BTreeMap<String, Rules>, String> {
    let mut rules: BTreeMap<String, Rules> =
        crates.iter().map(|name| ((*name).to_owned(), Rules::default())).collect();
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        parse_line(line, &mut rules).map_err(|e| format!("xtask/rooms.txt:{}: {e}", number + 1))?;
    }
    for (name, rules) in &rules {
        check_names(rules).map_err(|e| format!("xtask/rooms.txt: {name}: {e}"))?;
    }
    Ok(rules)
}

fn parse_line(line: &str, rules: &mut BTreeMap<String, Rules>) -> Result<(), String> {
    const FORMS: &str = "not of the form `CRATE: ROOM -> ROOM...`, `unplaced CRATE: ROOM...`, \
                         `except CRATE: FILE -> FILE` or `circle CRATE: NUMBER`";
    let (head, rest) = line.split_once(": ").ok_or(FORMS)?;
    let (kind, name) = head.split_once(' ').unwrap_or(("", head));
    let rules = rules.get_mut(name).ok_or_else(|| format!("no crate {name} is checked"))?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    match (kind, words.as_slice()) {
        ("", [room, "->", allowed @ ..]) => {
            let allowed = allowed.iter().map(|room| (*room).to_owned()).collect();
            if rules.table.insert((*room).to_owned(), allowed).is_some() {
                return Err(format!("room {room} has a line already"));
            }
        }
        ("unplaced", rooms @ [_, ..]) => {
            for room in rooms {
                if !rules.unplaced.insert((*room).to_owned()) {
                    return Err(format!("room {room} is listed already"));
                }
            }
        }
        ("except", [from, "->", to]) => {
            if !rules.exceptions.insert(((*from).to_owned(), (*to).to_owned())) {
                return Err("the exception is listed already".into());
            }
        }
        ("circle", [files]) => {
            let files = files.parse().map_err(|e| format!("{files}: {e}"))?;
            rules.circles.push(files);
            rules.circles.sort_by_key(|files| usize::MAX - files);
        }
        _ => return Err(FORMS.into()),
    }
    Ok(())
}

/// Every room that a line names must have a line itself.
fn check_names(rules: &Rules) -> Result<(), String> {
    if let Some(room) = rules.unplaced.iter().find(|room| rules.table.contains_key(*room)) {
        return Err(format!("room {room} has a line, and is unplaced"));
    }
    if rules.table.contains_key(LIB) || rules.unplaced.contains(LIB) {
        return Err("lib.rs may import everything: delete the line".into());
    }
    for (room, allowed) in &rules.table {
        let missing = allowed.iter().find(|one| *one != LIB && !rules.table.contains_key(*one));
        if let Some(missing) = missing {
            return Err(format!("{room} may import {missing}, which has no line"));
        }
    }
    if rules.table.is_empty() && !(rules.unplaced.is_empty() && rules.exceptions.is_empty()) {
        return Err("exceptions and unplaced rooms need a table".into());
    }
    Ok(())
}

/// The imports against the table and the circles that need a line.
pub struct Findings {
    /// Importing and imported file.
    pub imports: Vec<(usize, usize)>,
    /// Circles that are larger than [`CIRCLE_FILES_MAX`], or have an import against the table.
    pub circles: Vec<Vec<usize>>,
}

impl Rules {
    /// The room of a file: the longest folder of the table around it, or the first part of its path.
    pub fn room<'a>(&self, path: &'a str) -> &'a str {
        let stem = path.strip_suffix(".rs").unwrap_or(path);
        let mut ends = stem.match_indices('/').map(|(end, _)| end).chain([stem.len()]);
        let first = ends.next().unwrap_or(stem.len());
        let longest = ends.rfind(|end| self.table.contains_key(&stem[..*end]));
        &stem[..longest.unwrap_or(first)]
    }

    /// Whether the table permits the import. A room without a line, such as that of `lib.rs`, may import
    /// everything.
    fn allows(&self, from: &str, to: &str) -> bool {
        from == to || self.table.get(from).is_none_or(|allowed| allowed.contains(to))
    }

    /// Compares a crate with the table, exceptions aside.
    pub fn find(&self, graph: &Graph) -> Findings {
        let room = |file: usize| self.room(&graph.files[file].path);
        let imports: Vec<(usize, usize)> = graph
            .imports
            .keys()
            .copied()
            .filter(|(from, to)| !self.table.is_empty() && !self.allows(room(*from), room(*to)))
            .collect();
        let circles = circles::find(graph)
            .into_iter()
            .filter(|circle| {
                circle.len() > CIRCLE_FILES_MAX
                    || imports.iter().any(|(from, to)| circle.contains(from) && circle.contains(to))
            })
            .collect();
        Findings { imports, circles }
    }

    /// Every violation in a crate whose sources lie in `src`.
    pub fn check(&self, name: &str, src: &str, graph: &Graph) -> Vec<String> {
        let mut wrong = Vec::new();
        let path = |file: usize| graph.files[file].path.as_str();
        for one in &graph.unresolved {
            let file = path(one.file);
            wrong.push(format!("cannot resolve {} in {src}/{file}:{}", one.path, one.line));
        }
        self.check_rooms(name, graph, &mut wrong);
        let found = self.find(graph);
        let mut gone = self.exceptions.clone();
        for (from, to) in found.imports {
            let files = (path(from).to_owned(), path(to).to_owned());
            if gone.remove(&files) {
                continue;
            }
            let line = graph.imports[&(from, to)].line;
            let (from_room, to_room) = (self.room(path(from)), self.room(path(to)));
            wrong.push(format!(
                "{src}/{}:{line}: {from_room} must not import {to_room} ({})",
                files.0, files.1
            ));
        }
        for (from, to) in gone {
            wrong.push(format!(
                "xtask/rooms.txt: `except {name}: {from} -> {to}` is listed, and gone: delete the line"
            ));
        }
        self.check_circles(name, graph, &found.circles, &mut wrong);
        wrong
    }

    fn check_rooms(&self, name: &str, graph: &Graph, wrong: &mut Vec<String>) {
        if self.table.is_empty() {
            return;
        }
        let rooms: BTreeSet<&str> = graph.files.iter().map(|file| self.room(&file.path)).collect();
        for room in &rooms {
            if *room != LIB && !self.table.contains_key(*room) && !self.unplaced.contains(*room) {
                wrong.push(format!("xtask/rooms.txt: room {room} of {name} has no line"));
            }
        }
        for room in self.table.keys().filter(|room| !rooms.contains(room.as_str())) {
            wrong.push(format!(
                "xtask/rooms.txt: `{name}: {room} ->` names a room without files: delete the line"
            ));
        }
        for room in self.unplaced.iter().filter(|room| !rooms.contains(room.as_str())) {
            wrong.push(format!(
                "xtask/rooms.txt: unplaced {name}: {room} is listed, and gone: delete it"
            ));
        }
    }

    fn check_circles(
        &self,
        name: &str,
        graph: &Graph,
        found: &[Vec<usize>],
        wrong: &mut Vec<String>,
    ) {
        for at in 0..found.len().max(self.circles.len()) {
            let listed = self.circles.get(at).copied();
            let Some(circle) = found.get(at) else {
                let files = listed.unwrap_or_default();
                wrong.push(format!(
                    "xtask/rooms.txt: `circle {name}: {files}` is listed, and gone: delete the line"
                ));
                continue;
            };
            let files = circle.len();
            let mut list = String::new();
            for file in circle {
                let _ = write!(list, "\n  {}", graph.files[*file].path);
            }
            match listed {
                None => wrong.push(format!(
                    "{name}: a circle of {files} files, which xtask/rooms.txt does not list:{list}"
                )),
                Some(listed) if files > listed => wrong.push(format!(
                    "{name}: a circle of {files} files, where xtask/rooms.txt permits {listed}:{list}"
                )),
                Some(listed) if files < listed => wrong.push(format!(
                    "xtask/rooms.txt: `circle {name}: {listed}` has {files} files now: write {files}"
                )),
                Some(_) => {}
            }
        }
    }
}
