//! The sockets of listeners: their addresses are taken before anything else, and they listen once the broker serves.

use std::sync::Arc;

use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::config::listeners::Endpoint;
use tokio::task::JoinHandle;

use crate::api::connection::ConnectionRequests;
use crate::api::services::Services;
use crate::boot::error::StartError;
use crate::net::hosts;
use crate::net::listener::{self, BoundSocket, Listener, SocketOptions};

/// Sockets that have their addresses, and do not listen.
pub(crate) type Bound = Vec<(Arc<Listener>, BoundSocket)>;

/// Listens, and accepts until the broker stops.
pub(super) fn accept_all(
    bound: Bound,
    services: &Arc<Services>,
) -> Result<Vec<JoinHandle<()>>, StartError> {
    let listen = |(listener, socket): (Arc<Listener>, BoundSocket)| match socket.listen() {
        Ok(listening) => Ok((listener, listening)),
        Err(error) => Err(StartError::Listen {
            listener: listener.name.clone(),
            address: listener.local.to_string(),
            error,
        }),
    };
    let listening: Vec<_> = bound.into_iter().map(listen).collect::<Result<_, _>>()?;
    let mut tasks = Vec::new();
    for (listener, listening) in listening {
        let served = Arc::clone(services);
        let requests = move |listener: &_, peer| ConnectionRequests::new(&served, listener, peer);
        let sockets = Arc::clone(services.front.sockets());
        let accepting = listener::accept(sockets, listener, listening, requests);
        tasks.push(services.node.spawn_until_stopped(accepting));
    }
    Ok(tasks)
}

/// Takes the addresses of all listeners.
pub(crate) fn bind_all(config: &BrokerConfig) -> Result<Bound, StartError> {
    let buffer = |bytes: i32| u32::try_from(bytes).ok().filter(|bytes| *bytes > 0);
    let options = SocketOptions {
        send_buffer: buffer(config.socket_send_buffer_bytes()),
        receive_buffer: buffer(config.socket_receive_buffer_bytes()),
        backlog: u32::try_from(config.socket_listen_backlog_size()).unwrap_or(50),
    };
    let mut bound = Vec::new();
    for endpoint in config.broker_listeners() {
        let host = endpoint.host.as_deref().unwrap_or_default();
        let failed = |error| StartError::Listen {
            listener: endpoint.listener.clone(),
            address: format!("{host}:{}", endpoint.port),
            error,
        };
        let socket = listener::bind(host, endpoint.port, options).map_err(failed)?;
        let local = socket.local_addr().map_err(failed)?;
        let (advertised_host, advertised_port) = advertised(config, endpoint, local.port());
        bound.push((
            Arc::new(Listener {
                name: endpoint.listener.clone(),
                advertised_host,
                advertised_port,
                local,
            }),
            socket,
        ));
    }
    if bound.is_empty() {
        return Err(StartError::Other("listeners names no listener for clients".into()));
    }
    Ok(bound)
}

/// Where clients are told to come for a listener. Port 0 lets the system choose; clients are told what it chose. A host
/// that is empty, or no address to connect to, becomes this machine's canonical name, as in Kafka.
pub(crate) fn advertised(config: &BrokerConfig, endpoint: &Endpoint, chosen: u16) -> (String, u16) {
    let advertised = config.advertised_listeners().iter().find(|a| a.listener == endpoint.listener);
    let host = advertised.map_or(&endpoint.host, |a| &a.host).as_deref().unwrap_or_default();
    let host = match hosts::is_wildcard(host) {
        true => hosts::canonical_name(),
        false => host.to_owned(),
    };
    let port = advertised.map(|a| a.port).filter(|port| *port != 0).unwrap_or(chosen);
    (host, port)
}

/// The controller's address for the voters' record. No broker connects to it.
pub(crate) fn controller_listener(
    config: &BrokerConfig,
    listeners: &[Arc<Listener>],
) -> (String, String, u16) {
    if let Some(endpoint) = config.advertised_controller_listeners().first() {
        let host = endpoint.host.clone().filter(|host| !hosts::is_wildcard(host));
        let host = host.unwrap_or_else(hosts::canonical_name);
        return (endpoint.listener.clone(), host, endpoint.port);
    }
    let name =
        config.controller_listener_names().first().cloned().unwrap_or_else(|| "CONTROLLER".into());
    let host = listeners.first().map_or("localhost", |l| &l.advertised_host).to_owned();
    (name, host, 9093)
}

#[cfg(test)]
mod tests {
    use thalweg_metadata::config::broker::Mode;

    use super::*;

    /// The host that clients are sent for a configuration's only listener.
    fn advertised_host(configs: &[(&str, &str)]) -> String {
        let props =
            configs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let config = BrokerConfig::new(props, Mode::Embedded).unwrap();
        let listeners = config.broker_listeners();
        advertised(&config, listeners[0], 9092).0
    }

    #[test]
    fn an_advertised_host_that_is_missing_is_the_canonical_name() {
        let canonical = hosts::canonical_name();
        for (listeners, advertised) in [
            ("PLAINTEXT://:9092", None),
            ("PLAINTEXT://:9092", Some("PLAINTEXT://:9093")),
            ("PLAINTEXT://0.0.0.0:9092", Some("PLAINTEXT://:9093")),
            ("PLAINTEXT://10.0.0.7:9092", Some("PLAINTEXT://:9093")),
            ("PLAINTEXT://[::]:9092", None),
        ] {
            let mut configs = vec![("listeners", listeners)];
            configs.extend(advertised.map(|value| ("advertised.listeners", value)));
            assert_eq!(advertised_host(&configs), canonical, "{configs:?}");
        }
        let named = [
            ("listeners", "PLAINTEXT://0.0.0.0:9092"),
            ("advertised.listeners", "PLAINTEXT://broker.example:9092"),
        ];
        assert_eq!(advertised_host(&named), "broker.example");
        assert_eq!(advertised_host(&[("listeners", "PLAINTEXT://localhost:9092")]), "localhost");
    }

    #[test]
    fn a_controller_without_a_host_has_the_canonical_name() {
        let configs = [
            ("listeners", "PLAINTEXT://localhost:9092,CONTROLLER://:9093"),
            ("process.roles", "broker,controller"),
            ("node.id", "1"),
            ("controller.listener.names", "CONTROLLER"),
            ("controller.quorum.bootstrap.servers", "localhost:9093"),
        ];
        let props = configs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let config = BrokerConfig::new(props.into_iter().collect(), Mode::Embedded).unwrap();
        let (_, host, port) = controller_listener(&config, &[]);
        assert_eq!((host, port), (hosts::canonical_name(), 9093));
    }
}
