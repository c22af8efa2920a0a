//! Circles of imports: files of which each imports each other one, directly or by way of others.

use std::collections::BTreeMap;

use super::imports::Graph;

/// The circles of more than one file, the largest first; files in the order of their paths.
pub fn find(graph: &Graph) -> Vec<Vec<usize>> {
    let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in graph.imports.keys() {
        next.entry(*from).or_default().push(*to);
    }
    let mut search = Search {
        next,
        index: vec![None; graph.files.len()],
        low: vec![0; graph.files.len()],
        is_open: vec![false; graph.files.len()],
        open: Vec::new(),
        count: 0,
        circles: Vec::new(),
    };
    for file in 0..graph.files.len() {
        if search.index[file].is_none() {
            search.visit(file);
        }
    }
    let mut circles = search.circles;
    let path = |file: &usize| graph.files[*file].path.as_str();
    for circle in &mut circles {
        circle.sort_by_key(|file| path(file));
    }
    circles.sort_by_key(|circle| (usize::MAX - circle.len(), path(&circle[0])));
    circles
}

/// Tarjan's search for strongly connected components.
struct Search {
    next: BTreeMap<usize, Vec<usize>>,
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    is_open: Vec<bool>,
    open: Vec<usize>,
    count: usize,
    circles: Vec<Vec<usize>>,
}

impl Search {
    fn visit(&mut self, file: usize) {
        let index = self.count;
        self.count += 1;
        (self.index[file], self.low[file]) = (Some(index), index);
        self.is_open[file] = true;
        self.open.push(file);
        for to in self.next.get(&file).cloned().unwrap_or_default() {
            match self.index[to] {
                None => {
                    self.visit(to);
                    self.low[file] = self.low[file].min(self.low[to]);
                }
                Some(index) if self.is_open[to] => self.low[file] = self.low[file].min(index),
                Some(_) => {}
            }
        }
        if self.low[file] != index {
            return;
        }
        let start = self.open.iter().position(|one| *one == file).unwrap_or_default();
        let circle = self.open.split_off(start);
        for one in &circle {
            self.is_open[*one] = false;
        }
        if circle.len() > 1 {
            self.circles.push(circle);
        }
    }
}
