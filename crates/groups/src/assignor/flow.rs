//! The largest flow through a network, and of those the cheapest.
//!
//! Successive shortest paths (primal-dual): all paths of one cost are filled at once, as in Dinic's
//! algorithm, before the next cost is looked for. The costs here are few, and so are those of whole
//! paths. Nothing recurses: paths can be as long as there are nodes.

use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: u32,
    to: u32,
    capacity: u32,
    cost: i64,
}

/// An edge, or the way back along one.
#[derive(Clone, Copy, Debug)]
struct Arc {
    to: u32,
    /// The index of the arc in the other direction.
    reverse: u32,
    /// What can still be sent.
    capacity: u32,
    cost: i64,
}

const UNREACHED: u32 = u32::MAX;

/// A network between a source and a sink.
#[derive(Debug)]
pub(super) struct Network {
    edges: Vec<Edge>,
    /// Where each node's arcs begin, and after the last where they end. Empty before the first run.
    first: Vec<u32>,
    arcs: Vec<Arc>,
    /// Index of the arc that is the edge itself.
    arc_of_edge: Vec<u32>,
    /// Cost of the cheapest path from the source. No arc that has capacity is cheaper than the
    /// difference between its ends.
    potential: Vec<i64>,
    level: Vec<u32>,
    next: Vec<u32>,
}

impl Network {
    pub const SOURCE: u32 = 0;
    pub const SINK: u32 = 1;

    /// A network without edges, of so many nodes with source and sink.
    pub fn new(nodes: usize) -> Network {
        Network {
            edges: Vec::new(),
            first: Vec::new(),
            arcs: Vec::new(),
            arc_of_edge: Vec::new(),
            potential: vec![0; nodes],
            level: vec![UNREACHED; nodes],
            next: vec![0; nodes],
        }
    }

    /// Adds an edge and returns its number. A cost is not negative.
    pub fn edge(&mut self, from: u32, to: u32, capacity: u32, cost: i64) -> usize {
        debug_assert!(self.first.is_empty() && cost >= 0);
        self.edges.push(Edge { from, to, capacity, cost });
        self.edges.len() - 1
    }

    /// Lets more through an edge that ends at the sink. Those have no cost.
    pub fn widen(&mut self, edge: usize, by: u32) {
        debug_assert!(self.edges[edge].to == Network::SINK && self.edges[edge].cost == 0);
        self.arcs[self.arc_of_edge[edge] as usize].capacity += by;
    }

    /// What flows through an edge.
    pub fn flow(&self, edge: usize) -> u32 {
        let forward = self.arcs[self.arc_of_edge[edge] as usize];
        self.arcs[forward.reverse as usize].capacity
    }

    /// Sends as much as possible, on top of what flows already, and returns how much that is.
    pub fn run(&mut self) -> u64 {
        if self.first.is_empty() {
            self.build();
        }
        let mut sent = 0;
        while self.find_cost() {
            while self.find_levels() {
                sent += self.fill();
            }
        }
        sent
    }

    /// Which nodes the source reaches after a run.
    pub fn reached_from_source(&self) -> Vec<bool> {
        self.search(Network::SOURCE, |arc| arc.capacity > 0)
    }

    /// From which nodes the sink is reached after a run.
    pub fn reaching_sink(&self) -> Vec<bool> {
        self.search(Network::SINK, |arc| self.arcs[arc.reverse as usize].capacity > 0)
    }

    fn search(&self, start: u32, open: impl Fn(&Arc) -> bool) -> Vec<bool> {
        let mut reached = vec![false; self.potential.len()];
        reached[start as usize] = true;
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            for arc in self.arcs_of(node) {
                if !reached[arc.to as usize] && open(arc) {
                    reached[arc.to as usize] = true;
                    stack.push(arc.to);
                }
            }
        }
        reached
    }

    fn arcs_of(&self, node: u32) -> &[Arc] {
        let node = node as usize;
        &self.arcs[self.first[node] as usize..self.first[node + 1] as usize]
    }

    fn build(&mut self) {
        let nodes = self.potential.len();
        self.first = vec![0; nodes + 1];
        for edge in &self.edges {
            self.first[edge.from as usize + 1] += 1;
            self.first[edge.to as usize + 1] += 1;
        }
        for node in 0..nodes {
            self.first[node + 1] += self.first[node];
        }
        let mut free = self.first.clone();
        let mut place = |node: u32| {
            free[node as usize] += 1;
            free[node as usize] - 1
        };
        self.arcs = vec![Arc { to: 0, reverse: 0, capacity: 0, cost: 0 }; self.edges.len() * 2];
        self.arc_of_edge.reserve(self.edges.len());
        for &Edge { from, to, capacity, cost } in &self.edges {
            let (forward, back) = (place(from), place(to));
            self.arcs[forward as usize] = Arc { to, reverse: back, capacity, cost };
            self.arcs[back as usize] = Arc { to: from, reverse: forward, capacity: 0, cost: -cost };
            self.arc_of_edge.push(forward);
        }
    }

    /// What an arc costs beyond the difference between its ends: 0 on cheapest paths.
    fn surcharge(&self, from: u32, arc: &Arc) -> i64 {
        arc.cost + self.potential[from as usize] - self.potential[arc.to as usize]
    }

    /// Finds what the cheapest path to the sink costs; false if there is none.
    fn find_cost(&mut self) -> bool {
        let mut distance = vec![i64::MAX; self.potential.len()];
        distance[Network::SOURCE as usize] = 0;
        // The nodes of each distance. What is found later is never nearer than what was taken.
        let mut buckets = BTreeMap::from([(0, vec![Network::SOURCE])]);
        while let Some((at, mut nodes)) = buckets.pop_first() {
            if distance[Network::SINK as usize] <= at {
                break;
            }
            while let Some(node) = nodes.pop() {
                if distance[node as usize] != at {
                    continue;
                }
                let arcs = self.first[node as usize]..self.first[node as usize + 1];
                for arc in arcs {
                    let arc = self.arcs[arc as usize];
                    if arc.capacity == 0 {
                        continue;
                    }
                    let surcharge = self.surcharge(node, &arc);
                    debug_assert!(surcharge >= 0);
                    let further = at + surcharge;
                    if further < distance[arc.to as usize] {
                        distance[arc.to as usize] = further;
                        if surcharge == 0 {
                            nodes.push(arc.to);
                        } else {
                            buckets.entry(further).or_insert_with(Vec::new).push(arc.to);
                        }
                    }
                }
            }
        }
        let found = distance[Network::SINK as usize];
        if found == i64::MAX {
            return false;
        }
        for (potential, distance) in self.potential.iter_mut().zip(distance) {
            *potential += distance.min(found);
        }
        true
    }

    /// Finds how many arcs the cheapest paths have; false if none is left.
    fn find_levels(&mut self) -> bool {
        self.level.fill(UNREACHED);
        self.level[Network::SOURCE as usize] = 0;
        let mut queue = VecDeque::from([Network::SOURCE]);
        while let Some(node) = queue.pop_front() {
            for arc in self.first[node as usize]..self.first[node as usize + 1] {
                let arc = self.arcs[arc as usize];
                if arc.capacity > 0
                    && self.level[arc.to as usize] == UNREACHED
                    && self.surcharge(node, &arc) == 0
                {
                    self.level[arc.to as usize] = self.level[node as usize] + 1;
                    if arc.to == Network::SINK {
                        return true;
                    }
                    queue.push_back(arc.to);
                }
            }
        }
        false
    }

    /// Fills the paths that `find_levels` found.
    fn fill(&mut self) -> u64 {
        let nodes = self.potential.len();
        self.next.copy_from_slice(&self.first[..nodes]);
        let mut sent = 0;
        // The arcs from the source to `node`.
        let mut path: Vec<u32> = Vec::new();
        let mut node = Network::SOURCE;
        loop {
            if node == Network::SINK {
                let room = path.iter().map(|&arc| self.arcs[arc as usize].capacity).min();
                let room = room.unwrap_or(0);
                sent += u64::from(room);
                for &arc in &path {
                    let reverse = self.arcs[arc as usize].reverse as usize;
                    self.arcs[arc as usize].capacity -= room;
                    self.arcs[reverse].capacity += room;
                }
                // On from where the first full arc begins.
                let full = path.iter().position(|&arc| self.arcs[arc as usize].capacity == 0);
                path.truncate(full.unwrap_or(0));
                node = path.last().map_or(Network::SOURCE, |&arc| self.arcs[arc as usize].to);
            }
            let end = self.first[node as usize + 1];
            let level = self.level[node as usize];
            let step = (self.next[node as usize]..end).find(|&arc| {
                let arc = &self.arcs[arc as usize];
                arc.capacity > 0
                    && self.level[arc.to as usize] == level + 1
                    && self.surcharge(node, arc) == 0
            });
            if let Some(arc) = step {
                self.next[node as usize] = arc;
                path.push(arc);
                node = self.arcs[arc as usize].to;
                continue;
            }
            // A dead end: nobody needs to come here again.
            self.level[node as usize] = UNREACHED;
            if path.pop().is_none() {
                return sent;
            }
            node = path.last().map_or(Network::SOURCE, |&arc| self.arcs[arc as usize].to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: u32 = Network::SOURCE;
    const SINK: u32 = Network::SINK;

    #[test]
    fn the_largest_flow_is_found_and_its_cuts() {
        // Two ways of 3 and 2, joined by one of 1, with a bottleneck of 4 at the end.
        let mut network = Network::new(6);
        network.edge(SOURCE, 2, 3, 0);
        network.edge(SOURCE, 3, 2, 0);
        network.edge(2, 4, 2, 0);
        let joint = network.edge(2, 5, 1, 0);
        network.edge(3, 5, 2, 0);
        network.edge(4, SINK, 5, 0);
        let narrow = network.edge(5, SINK, 2, 0);
        assert_eq!(network.run(), 4);
        assert_eq!(network.flow(narrow), 2);
        assert_eq!(network.reached_from_source(), [true, false, true, true, false, true]);
        assert_eq!(network.reaching_sink(), [false, true, false, false, true, false]);
        network.widen(narrow, 1);
        assert_eq!(network.run(), 1);
        assert_eq!((network.flow(narrow), network.flow(joint)), (3, 1));
    }

    #[test]
    fn of_the_largest_flows_it_is_the_cheapest() {
        // The free way of the first takes what the second needs: it is taken back.
        let mut network = Network::new(6);
        network.edge(SOURCE, 2, 1, 0);
        network.edge(SOURCE, 3, 1, 0);
        let free = network.edge(2, 4, 1, 0);
        let dear = network.edge(2, 5, 1, 1);
        let only = network.edge(3, 4, 1, 1);
        network.edge(4, SINK, 1, 0);
        network.edge(5, SINK, 1, 0);
        assert_eq!(network.run(), 2);
        let flows = [free, dear, only].map(|edge| network.flow(edge));
        assert_eq!(flows, [0, 1, 1]);
    }
}
