//! From configuration and quotas to what connections are allowed.

use std::collections::HashMap;
use std::net::{IpAddr, ToSocketAddrs};

use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::config::broker::IpOrName;
use thalweg_metadata::image::QuotasImage;

use crate::net::limits::{Allowed, AllowedListener, UNLIMITED};
use crate::net::rate::Window;

const RATE_QUOTA: &str = "connection_creation_rate";

/// The limits of connections to the listeners that are open. Names of hosts are looked up: on a
/// thread that may wait.
pub(crate) fn connections(config: &BrokerConfig, quotas: &QuotasImage, open: &[String]) -> Allowed {
    let count = |value: i32| usize::try_from(value).unwrap_or(0);
    let rate = |value: i32| u32::try_from(value).unwrap_or(0);
    let (max, rate_max) = (config.max_connections(), config.max_connection_creation_rate());
    let listeners: HashMap<String, AllowedListener> = open
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
    let (ip_rates, ip_rate_default) = ip_rates(quotas);
    Allowed {
        total_max: count(max),
        per_ip_max: count(config.max_connections_per_ip()),
        per_ip_overrides: per_ip(config),
        rate_max: rate(rate_max),
        listeners,
        protected,
        ip_rates,
        ip_rate_default,
        window: Window {
            samples: u64::try_from(config.quota_window_num()).unwrap_or(1).max(1),
            sample_ms: u64::try_from(config.quota_window_size_seconds()).unwrap_or(1).max(1)
                * 1_000,
        },
    }
}

fn per_ip(config: &BrokerConfig) -> HashMap<IpAddr, usize> {
    let mut limits = HashMap::new();
    for (who, limit) in config.per_ip_overrides() {
        let limit = usize::try_from(*limit).unwrap_or(0);
        match who {
            IpOrName::Ip(ip) => {
                limits.insert(*ip, limit);
            }
            IpOrName::Name(name) => {
                limits.extend(look_up(name).into_iter().map(|ip| (ip, limit)));
            }
        }
    }
    limits
}

/// Quotas of addresses, and of all that have none of their own.
fn ip_rates(quotas: &QuotasImage) -> (HashMap<IpAddr, u32>, u32) {
    let mut rates = HashMap::new();
    let mut default = UNLIMITED;
    for (entity, values) in &quotas.entities {
        let (Some(who), Some(&value)) = (entity.0.get("ip"), values.get(RATE_QUOTA)) else {
            continue;
        };
        // The controller takes whole numbers from 0 on only.
        let rate = value.clamp(0.0, f64::from(UNLIMITED)) as u32;
        match who {
            None => default = rate,
            Some(name) => match name.parse::<IpAddr>() {
                Ok(ip) => {
                    rates.insert(ip, rate);
                }
                Err(_) => rates.extend(look_up(name).into_iter().map(|ip| (ip, rate))),
            },
        }
    }
    (rates, default)
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
