//! How many connections there may be, and how fast they may come: `max.connections`,
//! `max.connections.per.ip` and its overrides, `max.connection.creation.rate`, and the quota
//! `connection_creation_rate` of single addresses (KIP-612). And how many sockets there may be at all,
//! so that descriptors are left for the logs.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::rate::{Rate, Window};

/// No limit of a rate.
pub(crate) const UNLIMITED: u32 = i32::MAX as u32;
/// Addresses whose rates are remembered before silent ones are looked for.
const RATES_KEPT: usize = 1024;

/// What is allowed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Allowed {
    pub(crate) total_max: usize,
    pub(crate) per_ip_max: usize,
    pub(crate) per_ip_overrides: HashMap<IpAddr, usize>,
    /// Connections per second.
    pub(crate) rate_max: u32,
    /// Limits of single listeners, by name.
    pub(crate) listeners: HashMap<String, AllowedListener>,
    /// The listener that the total and its rate do not concern.
    pub(crate) protected: Option<String>,
    /// Connections per second of single addresses, and of all others.
    pub(crate) ip_rates: HashMap<IpAddr, u32>,
    pub(crate) ip_rate_default: u32,
    pub(crate) window: Window,
}

/// What is allowed on one listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllowedListener {
    pub(crate) max: usize,
    pub(crate) rate_max: u32,
}

/// Counts connections and says no to those above a limit.
#[derive(Debug)]
pub(crate) struct ConnectionLimits {
    state: Mutex<ConnectionCounts>,
    sockets: SocketCounts,
}

/// Accepted sockets, whatever becomes of them.
#[derive(Debug)]
struct SocketCounts {
    held: AtomicUsize,
    max: usize,
    refused: AtomicU64,
    /// That there are too many was said, and has been so since.
    is_logged: AtomicBool,
}

/// One accepted socket; counts until it is dropped.
#[derive(Debug)]
pub(crate) struct Socket(Arc<ConnectionLimits>);

impl Drop for Socket {
    fn drop(&mut self) {
        let sockets = &self.0.sockets;
        let left = sockets.held.fetch_sub(1, Ordering::Relaxed) - 1;
        // Well below, so that one that comes and goes does not have it said again each time.
        if left < sockets.max - sockets.max / 8 {
            sockets.is_logged.store(false, Ordering::Relaxed);
        }
    }
}

#[derive(Debug)]
struct ConnectionCounts {
    allowed: Allowed,
    total: usize,
    rate: Rate,
    listeners: HashMap<Arc<str>, (usize, Rate)>,
    per_ip: HashMap<IpAddr, usize>,
    /// Only of addresses that have a quota.
    ip_rates: HashMap<IpAddr, Rate>,
    refused: u64,
}

/// One accepted connection; counts until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    limits: Arc<ConnectionLimits>,
    listener: Arc<str>,
    ip: IpAddr,
}

/// What becomes of a connection.
#[derive(Debug)]
pub(crate) enum Admission {
    /// It is served.
    Granted(Permit),
    /// There are too many of its address.
    TooMany,
    /// Its address connects too often: closed after so many milliseconds.
    Throttled(u64),
}

impl ConnectionLimits {
    /// Limits as they are now, and the most sockets that may be held, which does not change.
    pub(crate) fn new(allowed: Allowed, sockets_max: usize) -> Arc<ConnectionLimits> {
        Arc::new(ConnectionLimits {
            sockets: SocketCounts {
                held: AtomicUsize::new(0),
                max: sockets_max,
                refused: AtomicU64::new(0),
                is_logged: AtomicBool::new(false),
            },
            state: Mutex::new(ConnectionCounts {
                allowed,
                total: 0,
                rate: Rate::default(),
                listeners: HashMap::new(),
                per_ip: HashMap::new(),
                ip_rates: HashMap::new(),
                refused: 0,
            }),
        })
    }

    /// Counts an accepted socket in; `None` when there are so many that it has to be closed.
    pub(crate) fn hold(self: &Arc<Self>) -> Option<Socket> {
        let SocketCounts { held, max, refused, is_logged } = &self.sockets;
        if held.fetch_add(1, Ordering::Relaxed) < *max {
            return Some(Socket(Arc::clone(self)));
        }
        held.fetch_sub(1, Ordering::Relaxed);
        refused.fetch_add(1, Ordering::Relaxed);
        if !is_logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                connections = max,
                "connections are refused: there are as many as the limit of open files leaves room \
                 for beside the logs; raise `ulimit -n`"
            );
        }
        None
    }

    /// Sockets that were closed because there were too many.
    pub(crate) fn refused_sockets(&self) -> u64 {
        self.sockets.refused.load(Ordering::Relaxed)
    }

    /// A connection has come; gives the milliseconds until it may be looked at.
    pub(crate) fn arrived(&self, listener: &Arc<str>, now_ms: u64) -> u64 {
        let ConnectionCounts { allowed, rate, listeners, .. } = &mut *self.state.lock();
        let window = allowed.window;
        let broker = match is_protected(allowed, listener) {
            true => 0,
            false => rate.record(allowed.rate_max, window, now_ms),
        };
        let quota = allowed.listeners.get(&**listener).map_or(UNLIMITED, |l| l.rate_max);
        let (_, rate) = listeners.entry(Arc::clone(listener)).or_default();
        broker.max(rate.record(quota, window, now_ms))
    }

    /// Counts a connection from `ip` in, or refuses it.
    pub(crate) fn admit(
        self: &Arc<Self>,
        listener: &Arc<str>,
        ip: IpAddr,
        now_ms: u64,
    ) -> Admission {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let quota = state.allowed.ip_rates.get(&ip).copied();
        let quota = quota.unwrap_or(state.allowed.ip_rate_default);
        if quota != UNLIMITED {
            let window = state.allowed.window;
            if state.ip_rates.len() >= RATES_KEPT {
                state.ip_rates.retain(|_, rate| !rate.is_idle(window, now_ms));
            }
            let rate = state.ip_rates.entry(ip).or_default();
            let wait = rate.record(quota, window, now_ms);
            if wait > 0 {
                // It does not count against the others either.
                rate.unrecord();
                if !is_protected(&state.allowed, listener) {
                    state.rate.unrecord();
                }
                state.listeners.entry(Arc::clone(listener)).or_default().1.unrecord();
                state.refused += 1;
                return Admission::Throttled(wait);
            }
        }
        let overrides = &state.allowed.per_ip_overrides;
        let ip_max = overrides.get(&ip).copied().unwrap_or(state.allowed.per_ip_max);
        if state.per_ip.get(&ip).copied().unwrap_or(0) >= ip_max {
            state.refused += 1;
            return Admission::TooMany;
        }
        state.total += 1;
        state.listeners.entry(Arc::clone(listener)).or_default().0 += 1;
        *state.per_ip.entry(ip).or_default() += 1;
        let listener = Arc::clone(listener);
        Admission::Granted(Permit { limits: Arc::clone(self), listener, ip })
    }

    /// Whether there may be no further connection on a listener for now.
    pub(crate) fn full(&self, listener: &str) -> bool {
        let state = self.state.lock();
        let here = state.listeners.get(listener).map_or(0, |(count, _)| *count);
        let max = state.allowed.listeners.get(listener).map_or(usize::MAX, |l| l.max);
        here >= max
            || (!is_protected(&state.allowed, listener) && state.total >= state.allowed.total_max)
    }

    /// Changes what is allowed; connections that exist stay.
    pub(crate) fn set(&self, allowed: Allowed) {
        self.state.lock().allowed = allowed;
    }

    /// Connections now, and how many were refused so far.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let state = self.state.lock();
        (state.total, state.refused)
    }
}

fn is_protected(allowed: &Allowed, listener: &str) -> bool {
    allowed.protected.as_deref() == Some(listener)
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.limits.state.lock();
        state.total -= 1;
        if let Some((count, _)) = state.listeners.get_mut(&*self.listener) {
            *count -= 1;
        }
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

    fn allowed() -> Allowed {
        Allowed {
            total_max: 3,
            per_ip_max: 2,
            per_ip_overrides: HashMap::new(),
            rate_max: UNLIMITED,
            listeners: HashMap::new(),
            protected: None,
            ip_rates: HashMap::new(),
            ip_rate_default: UNLIMITED,
            window: Window { samples: 11, sample_ms: 1_000 },
        }
    }

    fn granted(admission: Admission) -> Option<Permit> {
        match admission {
            Admission::Granted(permit) => Some(permit),
            Admission::TooMany | Admission::Throttled(_) => None,
        }
    }

    #[test]
    fn limits_hold_and_permits_return() {
        let [a, b]: [IpAddr; 2] = [[127, 0, 0, 1].into(), [127, 0, 0, 2].into()];
        let [one, two]: [Arc<str>; 2] = ["ONE".into(), "TWO".into()];
        let mut rules = allowed();
        rules.per_ip_overrides.insert(b, 1);
        rules.listeners.insert("TWO".into(), AllowedListener { max: 1, rate_max: UNLIMITED });
        let limits = ConnectionLimits::new(rules.clone(), usize::MAX);
        let first = granted(limits.admit(&one, a, 0));
        let second = granted(limits.admit(&one, a, 0));
        assert!(first.is_some() && second.is_some());
        assert!(granted(limits.admit(&one, a, 0)).is_none(), "per address");
        assert!(!limits.full("TWO"));
        let other = granted(limits.admit(&two, b, 0));
        assert!(other.is_some());
        assert!(limits.full("ONE") && limits.full("TWO"), "in all");
        drop(first);
        assert!(!limits.full("ONE") && limits.full("TWO"), "on a listener");
        assert!(granted(limits.admit(&one, b, 0)).is_none(), "override");
        assert_eq!(limits.counts(), (2, 2));
        rules.protected = Some("ONE".into());
        rules.total_max = 1;
        limits.set(rules);
        assert!(!limits.full("ONE"), "brokers still get through");
    }

    #[test]
    fn connections_that_come_too_fast_wait_or_go() {
        let ip: IpAddr = [127, 0, 0, 1].into();
        let listener: Arc<str> = "ONE".into();
        let mut rules = allowed();
        rules.rate_max = 1;
        let limits = ConnectionLimits::new(rules.clone(), usize::MAX);
        let waits: Vec<u64> = (0..12).map(|_| limits.arrived(&listener, 0)).collect();
        assert!(waits[..10].iter().all(|wait| *wait == 0), "{waits:?}");
        assert!(waits[10] > 0 && waits[11] > 0, "{waits:?}");

        rules.rate_max = UNLIMITED;
        rules.ip_rate_default = 1;
        limits.set(rules.clone());
        let mut permits = Vec::new();
        for _ in 0..10 {
            permits.extend(granted(limits.admit(&listener, ip, 20_000)));
            permits.clear();
        }
        assert!(matches!(limits.admit(&listener, ip, 20_000), Admission::Throttled(1..)));
        assert!(granted(limits.admit(&listener, [127, 0, 0, 2].into(), 20_000)).is_some());
        rules.ip_rates.insert(ip, UNLIMITED);
        limits.set(rules);
        assert!(granted(limits.admit(&listener, ip, 20_000)).is_some());
    }
    #[test]
    fn sockets_above_the_limit_are_refused_and_counted() {
        let limits = ConnectionLimits::new(allowed(), 16);
        let mut held: Vec<Socket> = (0..16).map_while(|_| limits.hold()).collect();
        assert_eq!(held.len(), 16);
        assert!(limits.hold().is_none() && limits.hold().is_none());
        assert!(limits.sockets.is_logged.load(Ordering::Relaxed));
        held.pop();
        assert!(limits.sockets.is_logged.load(Ordering::Relaxed), "there is hardly any room");
        held.extend(limits.hold());
        assert!(limits.hold().is_none());
        assert_eq!(limits.refused_sockets(), 3);
        held.truncate(13);
        assert!(!limits.sockets.is_logged.load(Ordering::Relaxed));
        held.clear();
        assert_eq!(limits.sockets.held.load(Ordering::Relaxed), 0);
    }
}
