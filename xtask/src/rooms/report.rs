//! The report of `cargo xtask rooms`: files, circles and imports between rooms of each crate.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::circles;
use super::imports::Graph;
use super::rules::Rules;

/// Files, lines, circles, and the number of imports from room to room.
pub fn figures(name: &str, rules: &Rules, graph: &Graph) -> String {
    let mut text = String::new();
    let lines: usize = graph.files.iter().map(|file| file.lines).sum();
    let circles = circles::find(graph);
    let _ = writeln!(
        text,
        "{name}: {} files, {lines} lines, {} imports, {} circles",
        graph.files.len(),
        graph.imports.len(),
        circles.len()
    );
    for circle in &circles {
        let _ = writeln!(text, "  circle of {} files", circle.len());
        for file in circle {
            let _ = writeln!(text, "    {}", graph.files[*file].path);
        }
    }
    let mut rooms: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (from, to) in graph.imports.keys() {
        let room = |file: usize| rules.room(&graph.files[file].path);
        let (from, to) = (room(*from), room(*to));
        if from != to {
            *rooms.entry((from, to)).or_default() += 1;
        }
    }
    let _ = writeln!(text, "  imports from room to room");
    for ((from, to), count) in rooms {
        let _ = writeln!(text, "    {from} -> {to}: {count}");
    }
    text
}

/// Every import with its first place.
pub fn imports(name: &str, graph: &Graph) -> String {
    let mut lines: Vec<String> = graph
        .imports
        .iter()
        .map(|((from, to), import)| {
            let (from, to) = (&graph.files[*from].path, &graph.files[*to].path);
            format!("{name}: {from}:{} -> {to} by {}\n", import.line, import.path)
        })
        .collect();
    lines.sort();
    lines.concat()
}

/// First segments of paths that are no names of the crate.
pub fn outside(name: &str, graph: &Graph) -> String {
    let mut text = String::new();
    for (segment, count) in &graph.outside {
        let _ = writeln!(text, "{name}: {segment} {count}");
    }
    text
}

/// The lines of `rooms.txt` that describe the present state: all but the table.
pub fn exceptions(name: &str, rules: &Rules, graph: &Graph) -> String {
    let mut text = String::new();
    let path = |file: usize| graph.files[file].path.as_str();
    let found = rules.find(graph);
    if !rules.table.is_empty() {
        let mut unplaced: Vec<&str> = graph
            .files
            .iter()
            .map(|file| rules.room(&file.path))
            .filter(|room| *room != "lib" && !rules.table.contains_key(*room))
            .collect();
        unplaced.sort_unstable();
        unplaced.dedup();
        for rooms in unplaced.chunks(6) {
            let _ = writeln!(text, "unplaced {name}: {}", rooms.join(" "));
        }
    }
    let mut lines: Vec<String> = found
        .imports
        .iter()
        .map(|(from, to)| format!("except {name}: {} -> {}\n", path(*from), path(*to)))
        .collect();
    lines.sort();
    text.push_str(&lines.concat());
    for circle in &found.circles {
        let _ = writeln!(text, "circle {name}: {}", circle.len());
    }
    text
}
