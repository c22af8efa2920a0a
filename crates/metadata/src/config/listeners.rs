//! Listeners: `listeners`, `advertised.listeners` and the map from their names to protocols.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use super::error::ConfigError;
use super::value::trim_regex_space;

/// How a listener protects what passes through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecurityProtocol {
    /// Not at all.
    Plaintext,
    /// TLS.
    Ssl,
    /// SASL without TLS.
    SaslPlaintext,
    /// SASL over TLS.
    SaslSsl,
}

impl SecurityProtocol {
    /// Kafka's name of the protocol.
    pub fn name(self) -> &'static str {
        match self {
            SecurityProtocol::Plaintext => "PLAINTEXT",
            SecurityProtocol::Ssl => "SSL",
            SecurityProtocol::SaslPlaintext => "SASL_PLAINTEXT",
            SecurityProtocol::SaslSsl => "SASL_SSL",
        }
    }

    /// The number of the protocol in registrations.
    pub fn id(self) -> i16 {
        match self {
            SecurityProtocol::Plaintext => 0,
            SecurityProtocol::Ssl => 1,
            SecurityProtocol::SaslPlaintext => 2,
            SecurityProtocol::SaslSsl => 3,
        }
    }

    /// The protocol of that number.
    pub fn from_id(id: i16) -> Option<SecurityProtocol> {
        [Self::Plaintext, Self::Ssl, Self::SaslPlaintext, Self::SaslSsl]
            .into_iter()
            .find(|protocol| protocol.id() == id)
    }

    /// The protocol of that name, in any case.
    pub fn from_name(name: &str) -> Option<SecurityProtocol> {
        [Self::Plaintext, Self::Ssl, Self::SaslPlaintext, Self::SaslSsl]
            .into_iter()
            .find(|protocol| protocol.name() == name.to_uppercase())
    }
}

impl fmt::Display for SecurityProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Protocols by listener name.
pub type ProtocolMap = BTreeMap<String, SecurityProtocol>;

/// An address under a listener's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Name of the listener, in upper case.
    pub listener: String,
    /// Its protocol.
    pub protocol: SecurityProtocol,
    /// Host name or address; `None` means all interfaces, or the machine's own name when
    /// advertised.
    pub host: Option<String>,
    /// Port; 0 lets the system choose.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.as_deref().unwrap_or("");
        match host.contains(':') {
            true => write!(f, "{}://[{host}]:{}", self.listener, self.port),
            false => write!(f, "{}://{host}:{}", self.listener, self.port),
        }
    }
}

/// Upper case, as listener names are compared; an empty name is refused.
pub(crate) fn listener_name(config: &str, name: &str) -> Result<String, ConfigError> {
    if name.trim().is_empty() {
        return Err(ConfigError::invalid(config, format!("{name:?}"), "a listener has no name"));
    }
    Ok(name.to_uppercase())
}

/// Reads `listener.security.protocol.map`.
pub fn parse_protocol_map(text: &str) -> Result<ProtocolMap, ConfigError> {
    const NAME: &str = "listener.security.protocol.map";
    let mut map = ProtocolMap::new();
    for (listener, protocol) in parse_pairs(NAME, text)? {
        let listener = listener_name(NAME, &listener)?;
        let protocol = SecurityProtocol::from_name(&protocol).ok_or_else(|| {
            ConfigError::invalid(
                NAME,
                format!("{text:?}"),
                format!("{protocol:?} is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
            )
        })?;
        if map.insert(listener.clone(), protocol).is_some() {
            return Err(ConfigError::invalid(
                NAME,
                format!("{text:?}"),
                format!("listener {listener} stands twice"),
            ));
        }
    }
    Ok(map)
}

/// Reads `key:value` pairs separated by commas; the last colon separates, so that keys can be IPv6
/// addresses.
pub(crate) fn parse_pairs(config: &str, text: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let mut pairs: Vec<&str> = text.split(',').map(trim_regex_space).collect();
    // Java's split drops empty parts at the end.
    while pairs.last().is_some_and(|part| part.is_empty()) {
        pairs.pop();
    }
    let mut out: Vec<(String, String)> = Vec::new();
    for pair in pairs {
        let (key, value) = pair.rsplit_once(':').ok_or_else(|| {
            let reason = format!("{pair:?} is not of the form name:value");
            ConfigError::invalid(config, format!("{text:?}"), reason)
        })?;
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        match out.iter_mut().find(|(known, _)| *known == key) {
            Some(known) => known.1 = value,
            None => out.push((key, value)),
        }
    }
    Ok(out)
}

/// Reads a list of `NAME://host:port`.
///
/// Listener names must differ; so must ports, unless `shared_ports` is set or one address is IPv4
/// and the other IPv6.
pub fn parse_endpoints(
    config: &str,
    entries: &[String],
    protocols: &ProtocolMap,
    shared_ports: bool,
) -> Result<Vec<Endpoint>, ConfigError> {
    let refuse =
        |reason: String| ConfigError::invalid(config, format!("{:?}", entries.join(",")), reason);
    let mut endpoints = Vec::with_capacity(entries.len());
    for entry in entries {
        let form = || refuse(format!("{entry:?} is not of the form NAME://host:port"));
        let (name, address) = entry.rsplit_once("://").ok_or_else(form)?;
        let (host, port) = address.rsplit_once(':').ok_or_else(form)?;
        let host = host.strip_prefix('[').unwrap_or(host);
        let host = host.strip_suffix(']').unwrap_or(host);
        if !super::validator::is_host(host) || name.contains(['\n', '\r']) {
            return Err(form());
        }
        let digits = port.strip_prefix('-').unwrap_or(port);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(form());
        }
        let port = port.parse().map_err(|_| refuse(format!("{port} is not a port")))?;
        let listener = listener_name(config, name)?;
        let protocol = protocols.get(&listener).copied().ok_or_else(|| {
            refuse(format!("listener.security.protocol.map has no entry for {listener}"))
        })?;
        let host = Some(host.to_owned()).filter(|host| !host.is_empty());
        endpoints.push(Endpoint { listener, protocol, host, port });
    }
    for (at, endpoint) in endpoints.iter().enumerate() {
        let earlier = endpoints.get(..at).unwrap_or(&[]);
        if earlier.iter().any(|other| other.listener == endpoint.listener) {
            return Err(refuse(format!("listener {} stands twice", endpoint.listener)));
        }
    }
    if !shared_ports {
        check_ports(&endpoints).map_err(refuse)?;
    }
    Ok(endpoints)
}

fn check_ports(endpoints: &[Endpoint]) -> Result<(), String> {
    for endpoint in endpoints.iter().filter(|endpoint| endpoint.port != 0) {
        let same: Vec<&Endpoint> =
            endpoints.iter().filter(|other| other.port == endpoint.port).collect();
        if same.len() < 2 {
            continue;
        }
        let addresses: Vec<IpAddr> = same.iter().filter_map(|other| address(other)).collect();
        let pair = same.len() == 2
            && match addresses[..] {
                [one, other] => one.is_ipv4() != other.is_ipv4(),
                _ => false,
            };
        if !pair {
            return Err(format!(
                "port {} stands more than once, which is only possible for one IPv4 and one IPv6 \
                 address",
                endpoint.port
            ));
        }
    }
    Ok(())
}

fn address(endpoint: &Endpoint) -> Option<IpAddr> {
    let host = endpoint.host.as_deref()?;
    let host = host.split_once('%').map_or(host, |(address, _zone)| address);
    host.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Endpoint>, ConfigError> {
        let protocols = parse_protocol_map("A:PLAINTEXT,B:ssl, C:SASL_SSL").expect("a map");
        let entries: Vec<String> = text.split(',').map(str::to_owned).collect();
        parse_endpoints("listeners", &entries, &protocols, false)
    }

    #[test]
    fn endpoints() {
        let parsed = parse("a://:9092,B://[::1]:0").expect("endpoints");
        assert_eq!(parsed[0].to_string(), "A://:9092");
        assert_eq!(parsed[0].host, None);
        assert_eq!(parsed[1].to_string(), "B://[::1]:0");
        assert_eq!(parsed[1].protocol, SecurityProtocol::Ssl);
        for bad in [
            "",
            "A",
            "A://",
            "A://h",
            "A://h:x",
            "A://h:-1",
            "A://h:65536",
            "A://h h:1",
            "D://h:1",
            "://h:1",
            "A://h:1,a://h:2",
            "A://h:1,B://h:1",
            "A://:1,B://127.0.0.1:1",
            "A://127.0.0.1:1,B://[::1]:1,C://:1",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(parse("A://127.0.0.1:1,B://[::1]:1").is_ok());
        assert!(parse("A://h:0,B://h:0").is_ok());
    }

    #[test]
    fn protocol_maps() {
        for bad in ["A", "A:", ":SSL", "A:TLS", "A:SSL,a:SSL"] {
            assert!(parse_protocol_map(bad).is_err(), "{bad}");
        }
        assert!(parse_protocol_map("").expect("an empty map").is_empty());
    }
}
