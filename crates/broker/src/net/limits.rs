//! How many connections there may be: `max.connections`, `max.connections.per.ip` and its
//! overrides.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

/// Counts connections and says no to those above a limit.
#[derive(Debug)]
pub(crate) struct ConnectionLimits {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    total_max: usize,
    per_ip_max: usize,
    per_ip_overrides: HashMap<IpAddr, usize>,
    total: usize,
    per_ip: HashMap<IpAddr, usize>,
    refused: u64,
}

/// One accepted connection; counts until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    limits: Arc<ConnectionLimits>,
    ip: IpAddr,
}

impl ConnectionLimits {
    pub(crate) fn new(
        total_max: usize,
        per_ip_max: usize,
        per_ip_overrides: HashMap<IpAddr, usize>,
    ) -> Arc<ConnectionLimits> {
        Arc::new(ConnectionLimits {
            state: Mutex::new(State {
                total_max,
                per_ip_max,
                per_ip_overrides,
                total: 0,
                per_ip: HashMap::new(),
                refused: 0,
            }),
        })
    }

    /// Counts a connection from `ip` in, or refuses it.
    pub(crate) fn admit(self: &Arc<Self>, ip: IpAddr) -> Option<Permit> {
        let mut state = self.state.lock();
        let ip_max = state.per_ip_overrides.get(&ip).copied().unwrap_or(state.per_ip_max);
        let from_ip = state.per_ip.get(&ip).copied().unwrap_or(0);
        if state.total >= state.total_max || from_ip >= ip_max {
            state.refused += 1;
            return None;
        }
        state.total += 1;
        *state.per_ip.entry(ip).or_default() += 1;
        Some(Permit { limits: Arc::clone(self), ip })
    }

    /// Whether there may be no further connection at all for now.
    pub(crate) fn full(&self) -> bool {
        let state = self.state.lock();
        state.total >= state.total_max
    }

    /// Changes the limits; connections that exist stay.
    pub(crate) fn set(
        &self,
        total_max: usize,
        per_ip_max: usize,
        per_ip_overrides: HashMap<IpAddr, usize>,
    ) {
        let mut state = self.state.lock();
        state.total_max = total_max;
        state.per_ip_max = per_ip_max;
        state.per_ip_overrides = per_ip_overrides;
    }

    /// Connections now, and how many were refused so far.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let state = self.state.lock();
        (state.total, state.refused)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.limits.state.lock();
        state.total -= 1;
        if let Some(count) = state.per_ip.get_mut(&self.ip) {
            *count -= 1;
            if *count == 0 {
                state.per_ip.remove(&self.ip);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_and_permits_return() {
        let [a, b]: [IpAddr; 2] = [[127, 0, 0, 1].into(), [127, 0, 0, 2].into()];
        let limits = ConnectionLimits::new(3, 2, HashMap::from([(b, 1)]));
        let first = limits.admit(a);
        let second = limits.admit(a);
        assert!(first.is_some() && second.is_some());
        assert!(limits.admit(a).is_none(), "per address");
        let other = limits.admit(b);
        assert!(other.is_some());
        assert!(limits.admit(b).is_none(), "override and total");
        drop(first);
        assert!(limits.admit(b).is_none(), "override");
        assert_eq!(limits.counts(), (2, 3));
    }
}
