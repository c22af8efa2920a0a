//! From configuration and quotas to what connections are allowed.
//!
//! Limits may name hosts, and a name takes as long to look up as the resolver likes. Changes come
//! from under the controller's lock, so there nothing is looked up: a limit acts at once on the
//! addresses that are known, and on the others when a thread of its own has found them.

use std::collections::HashMap;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use parking_lot::Mutex;
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::config::broker::IpOrName;
use thalweg_metadata::image::QuotasImage;

use crate::net::limits::{Allowed, AllowedListener, ConnectionLimits, UNLIMITED};
use crate::net::rate::Window;

const RATE_QUOTA: &str = "connection_creation_rate";

/// Addresses of hosts.
type Known = HashMap<String, Vec<IpAddr>>;
/// Finds the addresses of a host; may wait.
type LookUp = Arc<dyn Fn(&str) -> Vec<IpAddr> + Send + Sync>;

/// Brings the limits of connections into force.
pub(crate) struct Connections {
    limits: Arc<ConnectionLimits>,
    /// Names of the listeners that are open, whatever dynamic configs say.
    listeners: Vec<String>,
    look_up: LookUp,
    state: Mutex<LookUpState>,
}

struct LookUpState {
    wanted: Wanted,
    known: Known,
    /// Whether a thread looks up names; it goes on until it has those of the newest limits.
    is_looking_up: bool,
}

impl Connections {
    /// Limits for the listeners of these names; in force but for names of hosts, which
    /// [`Self::update_and_wait`] looks up. More sockets than `sockets_max` are not held.
    pub(crate) fn new(
        config: &BrokerConfig,
        quotas: &QuotasImage,
        listeners: Vec<String>,
        sockets_max: usize,
    ) -> Arc<Connections> {
        Self::with_look_up(config, quotas, listeners, sockets_max, Arc::new(look_up))
    }

    fn with_look_up(
        config: &BrokerConfig,
        quotas: &QuotasImage,
        listeners: Vec<String>,
        sockets_max: usize,
        look_up: LookUp,
    ) -> Arc<Connections> {
        let wanted = Wanted::new(config, quotas, &listeners);
        let known = Known::new();
        let limits = ConnectionLimits::new(wanted.resolve(&known), sockets_max);
        let state = Mutex::new(LookUpState { wanted, known, is_looking_up: false });
        Arc::new(Connections { limits, listeners, look_up, state })
    }

    /// What counts connections.
    pub(crate) fn limits(&self) -> &Arc<ConnectionLimits> {
        &self.limits
    }

    /// Configuration or quotas may have changed. Does not wait; within a runtime.
    pub(crate) fn update(self: &Arc<Self>, config: &BrokerConfig, quotas: &QuotasImage) {
        let wanted = Wanted::new(config, quotas, &self.listeners);
        let mut state = self.state.lock();
        if state.wanted == wanted {
            return;
        }
        self.limits.set(wanted.resolve(&state.known));
        let has_names = wanted.names().next().is_some();
        state.wanted = wanted;
        if has_names && !std::mem::replace(&mut state.is_looking_up, true) {
            let this = Arc::clone(self);
            tokio::task::spawn_blocking(move || this.look_up_all());
        }
    }

    /// The same before anybody connects: names are looked up when this returns.
    pub(crate) fn update_and_wait(&self, config: &BrokerConfig, quotas: &QuotasImage) {
        self.state.lock().wanted = Wanted::new(config, quotas, &self.listeners);
        self.look_up_all();
    }

    fn look_up_all(&self) {
        loop {
            let wanted = self.state.lock().wanted.clone();
            let found: Known =
                wanted.names().map(|name| (name.to_owned(), (self.look_up)(name))).collect();
            let mut state = self.state.lock();
            let is_newest = state.wanted == wanted;
            if is_newest {
                state.known = found;
            } else {
                state.known.extend(found);
            }
            self.limits.set(state.wanted.resolve(&state.known));
            if is_newest {
                state.is_looking_up = false;
                return;
            }
        }
    }
}

/// Limits as they are configured, names of hosts as names.
#[derive(Clone, Debug, PartialEq)]
struct Wanted {
    allowed: Allowed,
    overrides_of_names: Vec<(String, usize)>,
    rates_of_names: Vec<(String, u32)>,
}

impl Wanted {
    fn new(config: &BrokerConfig, quotas: &QuotasImage, listeners: &[String]) -> Wanted {
        let count = |value: i32| usize::try_from(value).unwrap_or(0);
        let rate = |value: i32| u32::try_from(value).unwrap_or(0);
        let (max, rate_max) = (config.max_connections(), config.max_connection_creation_rate());
        let listeners: HashMap<String, AllowedListener> = listeners
            .iter()
            .map(|listener| {
                let own = |name| config.listener_int(listener, name);
                let allowed = AllowedListener {
                    max: count(own("max.connections").unwrap_or(max)),
                    rate_max: rate(own("max.connection.creation.rate").unwrap_or(rate_max)),
                };
                (listener.clone(), allowed)
            })
            .collect();
        // With listeners for others, brokers get through to theirs whatever the others do.
        let protected = (listeners.len() > 1).then(|| config.inter_broker_listener().0.to_owned());
        let mut wanted = Wanted {
            allowed: Allowed {
                total_max: count(max),
                per_ip_max: count(config.max_connections_per_ip()),
                per_ip_overrides: HashMap::new(),
                rate_max: rate(rate_max),
                listeners,
                protected,
                ip_rates: HashMap::new(),
                ip_rate_default: UNLIMITED,
                window: Window {
                    samples: u64::try_from(config.quota_window_num()).unwrap_or(1).max(1),
                    sample_ms: u64::try_from(config.quota_window_size_seconds())
                        .unwrap_or(1)
                        .max(1)
                        * 1_000,
                },
            },
            overrides_of_names: Vec::new(),
            rates_of_names: Vec::new(),
        };
        for (who, limit) in config.per_ip_overrides() {
            let limit = count(*limit);
            match who {
                IpOrName::Ip(ip) => {
                    wanted.allowed.per_ip_overrides.insert(*ip, limit);
                }
                IpOrName::Name(name) => wanted.overrides_of_names.push((name.clone(), limit)),
            }
        }
        wanted.add_rates(quotas);
        wanted
    }

    /// Quotas of addresses, and of all that have none of their own.
    fn add_rates(&mut self, quotas: &QuotasImage) {
        for (entity, values) in &quotas.entities {
            let (Some(who), Some(&value)) = (entity.0.get("ip"), values.get(RATE_QUOTA)) else {
                continue;
            };
            // The controller takes whole numbers from 0 on only.
            let rate = value.clamp(0.0, f64::from(UNLIMITED)) as u32;
            match who {
                None => self.allowed.ip_rate_default = rate,
                Some(name) => match name.parse::<IpAddr>() {
                    Ok(ip) => {
                        self.allowed.ip_rates.insert(ip, rate);
                    }
                    Err(_) => self.rates_of_names.push((name.to_string(), rate)),
                },
            }
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let overrides = self.overrides_of_names.iter().map(|(name, _)| name.as_str());
        overrides.chain(self.rates_of_names.iter().map(|(name, _)| name.as_str()))
    }

    /// With the addresses of the hosts whose addresses are known. What is said of an address itself
    /// goes before what is said of its name.
    fn resolve(&self, known: &Known) -> Allowed {
        let mut allowed = self.allowed.clone();
        let addresses = |name: &String| known.get(name).into_iter().flatten().copied();
        for (name, limit) in &self.overrides_of_names {
            for ip in addresses(name) {
                allowed.per_ip_overrides.entry(ip).or_insert(*limit);
            }
        }
        for (name, rate) in &self.rates_of_names {
            for ip in addresses(name) {
                allowed.ip_rates.entry(ip).or_insert(*rate);
            }
        }
        allowed
    }
}

fn look_up(name: &str) -> Vec<IpAddr> {
    match (name, 0).to_socket_addrs() {
        Ok(addresses) => addresses.map(|address| address.ip()).collect(),
        Err(error) => {
            tracing::warn!(name, %error, "a host that a limit of connections names is not known");
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use thalweg_metadata::config::Properties;
    use thalweg_metadata::config::broker::Mode;

    use super::*;
    use crate::net::limits::Admission;

    const HOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    fn config(overrides: &str, per_ip: &str) -> BrokerConfig {
        let pairs =
            [("max.connections.per.ip.overrides", overrides), ("max.connections.per.ip", per_ip)];
        let props: Properties =
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        BrokerConfig::new(props, Mode::Embedded).unwrap()
    }

    /// How many connections from an address are let in, of three.
    fn admitted(connections: &Connections, ip: IpAddr) -> usize {
        let listener: Arc<str> = "PLAINTEXT".into();
        let admit = |_| connections.limits().admit(&listener, ip, 0);
        let all: Vec<Admission> = (0..3).map(admit).collect();
        all.iter().filter(|admission| matches!(admission, Admission::Granted(_))).count()
    }

    #[tokio::test]
    async fn nobody_waits_for_a_name_and_the_newest_limits_win() {
        let (answer, answers) = mpsc::channel::<()>();
        let (answers, asked) = (Mutex::new(answers), Arc::new(AtomicUsize::new(0)));
        let look_up: LookUp = Arc::new({
            let asked = Arc::clone(&asked);
            move |_| {
                asked.fetch_add(1, Ordering::SeqCst);
                answers.lock().recv_timeout(Duration::from_secs(30)).unwrap();
                vec![HOST]
            }
        });
        let (quotas, other) = (QuotasImage::default(), IpAddr::from([10, 0, 0, 2]));
        let listeners = vec!["PLAINTEXT".to_owned()];
        let first = config("", "3");
        let connections =
            Connections::with_look_up(&first, &quotas, listeners, usize::MAX, look_up);
        connections.update(&first, &quotas);
        assert_eq!(asked.load(Ordering::SeqCst), 0, "nothing changed");

        connections.update(&config("host:1", "2"), &quotas);
        assert_eq!((admitted(&connections, HOST), admitted(&connections, other)), (2, 2));
        // A second change while the resolver hangs is in force at once, too.
        let newest = config("host:0", "1");
        connections.update(&newest, &quotas);
        assert_eq!((admitted(&connections, HOST), admitted(&connections, other)), (1, 1));
        for _ in 0..2 {
            answer.send(()).unwrap();
        }
        while connections.state.lock().is_looking_up {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!((admitted(&connections, HOST), admitted(&connections, other)), (0, 1));
        let looked_up = asked.load(Ordering::SeqCst);
        assert!((1..=2).contains(&looked_up), "{looked_up}");

        // What is known stays in force while it is looked up again.
        connections.update(&config("host:0", "3"), &quotas);
        assert_eq!((admitted(&connections, HOST), admitted(&connections, other)), (0, 3));
        answer.send(()).unwrap();
    }

    #[test]
    fn an_address_goes_before_a_name() {
        let config = config("10.0.0.1:2,host:0", "3");
        let wanted = Wanted::new(&config, &QuotasImage::default(), &[]);
        let known = Known::from([("host".to_owned(), vec![HOST, [10, 0, 0, 9].into()])]);
        let overrides = wanted.resolve(&known).per_ip_overrides;
        assert_eq!(overrides, HashMap::from([(HOST, 2), ([10, 0, 0, 9].into(), 0)]));
    }
}
