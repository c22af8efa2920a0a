//! How connections behave and are protected, from properties.

use std::time::Duration;

use thalweg_connection::Mechanism;

use super::{Properties, jaas, refuse, wrong};
use crate::error::Error;
use crate::options::{MetadataRecoveryStrategy, Options, SaslOptions, Security};

const PLAIN_MODULE: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";
const SCRAM_MODULE: &str = "org.apache.kafka.common.security.scram.ScramLoginModule";

impl Options {
    /// How connections behave and are protected, by Kafka's names; what is not given has its
    /// default. What nobody takes says [`Properties::unused`].
    ///
    /// # Errors
    /// [`Error::Config`] names a value that makes no sense, or that would change who is trusted in
    /// a way that is not there yet.
    pub fn from_properties(properties: &Properties) -> Result<Options, Error> {
        options(properties)
    }
}

fn options(properties: &Properties) -> Result<Options, Error> {
    properties.refuse_unsupported()?;
    let mut options = Options::default();
    if let Some(id) = properties.filled("client.id") {
        options.client_id = id.into();
    }
    if let Some(time) = properties.millis("request.timeout.ms")? {
        options.request_timeout = time;
    }
    if let Some(time) = properties.millis("socket.connection.setup.timeout.ms")? {
        options.connect_timeout = time;
    }
    // A negative one means never, as in Kafka.
    if let Some(ms) = properties.number::<i64>("connections.max.idle.ms")? {
        options.connections_max_idle =
            u64::try_from(ms).map_or(Duration::MAX, Duration::from_millis);
    }
    if let Some(most) = properties.number::<u32>("thalweg.connect.ahead.brokers")? {
        options.connect_ahead = usize::try_from(most).unwrap_or(usize::MAX);
    }
    if let Some(strategy) = properties.filled("metadata.recovery.strategy") {
        options.metadata_recovery_strategy = match strategy.to_ascii_lowercase().as_str() {
            "rebootstrap" => MetadataRecoveryStrategy::Rebootstrap,
            "none" => MetadataRecoveryStrategy::None,
            _ => {
                return Err(refuse("metadata.recovery.strategy", strategy, "rebootstrap or none"));
            }
        };
    }
    if let Some(is_checked) = properties.boolean("metadata.cluster.check.enable")? {
        options.metadata_cluster_check = is_checked;
    }
    let protocol = properties.filled("security.protocol").unwrap_or("PLAINTEXT");
    let (is_encrypted, has_sasl) = match protocol.to_ascii_uppercase().as_str() {
        "PLAINTEXT" => (false, false),
        "SSL" => (true, false),
        "SASL_PLAINTEXT" => (false, true),
        "SASL_SSL" => (true, true),
        _ => {
            let wanted = "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL";
            return Err(refuse("security.protocol", protocol, wanted));
        }
    };
    if is_encrypted {
        options.security = tls(properties)?;
    }
    if has_sasl {
        options.sasl = Some(sasl(properties)?);
    }
    Ok(options)
}

fn sasl(properties: &Properties) -> Result<SaslOptions, Error> {
    let name = properties.filled("sasl.mechanism").unwrap_or("GSSAPI");
    let mechanism = Mechanism::from_name(name).ok_or_else(|| {
        let known = Mechanism::ALL.map(Mechanism::name).join(", ");
        refuse("sasl.mechanism", name, &format!("one of {known}"))
    })?;
    let wrong = |why: &str| wrong("sasl.jaas.config", why);
    let text = properties.filled("sasl.jaas.config").ok_or_else(|| {
        wrong("is missing: it names who logs in, as 'Module required username=\"..\" password=\"..\";'")
    })?;
    let parsed = jaas::parse(text).map_err(|why| wrong(&why))?;
    let module = match mechanism {
        Mechanism::Plain => PLAIN_MODULE,
        Mechanism::ScramSha256 | Mechanism::ScramSha512 => SCRAM_MODULE,
        // A mechanism that is added says here which of Kafka's modules goes with it.
        _ => return Err(wrong(&format!("has no login module that goes with {mechanism}"))),
    };
    if parsed.module != module {
        // The text may begin with something else than a module, such as a password.
        let named = [PLAIN_MODULE, SCRAM_MODULE].into_iter().find(|known| *known == parsed.module);
        let named = named.unwrap_or("another login module");
        return Err(wrong(&format!("names {named}, {mechanism} goes with {module}")));
    }
    let (mut username, mut password) = (None, None);
    for (name, value) in parsed.options {
        match name.as_str() {
            "username" => username = Some(value),
            "password" => password = Some(value),
            // Whom a broker lets in: files that serve both sides have it.
            _ if name.starts_with("user_") => {}
            "tokenauth" if !value.eq_ignore_ascii_case("true") => {}
            _ => {
                let shown = jaas::shown_option(&name);
                return Err(wrong(&format!("has an option that is not supported: {shown}")));
            }
        }
    }
    match (username, password) {
        (Some(username), Some(password)) => Ok(SaslOptions::new(mechanism, username, password)),
        (None, _) => Err(wrong("has no username")),
        (_, None) => Err(wrong("has no password")),
    }
}

#[cfg(not(feature = "tls"))]
fn tls(_: &Properties) -> Result<Security, Error> {
    Err(wrong("security.protocol", "needs TLS, which this was built without"))
}

#[cfg(feature = "tls")]
fn tls(properties: &Properties) -> Result<Security, Error> {
    use crate::options::tls::{Identity, Pem, Roots, TlsOptions};

    if let Some(list) = properties.filled("ssl.enabled.protocols") {
        let listed: Vec<&str> = list.split(',').map(str::trim).collect();
        if !["TLSv1.2", "TLSv1.3"].iter().all(|spoken| listed.contains(spoken)) {
            return Err(refuse(
                "ssl.enabled.protocols",
                list,
                "TLSv1.2,TLSv1.3, which are both on",
            ));
        }
    }
    let mut tls = TlsOptions::default();
    let text = properties.filled("ssl.truststore.certificates");
    let file = properties.filled("ssl.truststore.location");
    if text.is_some() || file.is_some() {
        only_pem(properties, "ssl.truststore")?;
        tls = match (text, file) {
            (Some(_), Some(_)) => {
                let name = "ssl.truststore.certificates";
                return Err(wrong(name, "and ssl.truststore.location exclude each other"));
            }
            (Some(text), None) => tls.with_roots(Roots::text(text)),
            (None, Some(file)) => tls.with_roots(Roots::file(file)),
            (None, None) => tls,
        };
    }
    let chain = properties.filled("ssl.keystore.certificate.chain");
    let key = properties.filled("ssl.keystore.key");
    let file = properties.filled("ssl.keystore.location");
    if chain.is_some() || key.is_some() || file.is_some() {
        only_pem(properties, "ssl.keystore")?;
        let identity = match (chain, key, file) {
            (Some(chain), Some(key), None) => Identity::new(Pem::text(chain), Pem::text(key)),
            (None, None, Some(file)) => Identity::new(Pem::file(file), Pem::file(file)),
            (_, _, Some(_)) => {
                let why = "excludes ssl.keystore.certificate.chain and ssl.keystore.key";
                return Err(wrong("ssl.keystore.location", why));
            }
            _ => {
                let name = "ssl.keystore.certificate.chain";
                return Err(wrong(name, "and ssl.keystore.key need each other"));
            }
        };
        tls = tls.with_identity(identity);
    }
    if properties.filled("ssl.key.password").is_some() {
        return Err(wrong("ssl.key.password", "is for encrypted keys, which are not read"));
    }
    match properties.text("ssl.endpoint.identification.algorithm") {
        None => {}
        Some("") => tls = tls.dangerously_accept_any_host_name(),
        Some(https) if https.eq_ignore_ascii_case("https") => {}
        Some(other) => {
            let name = "ssl.endpoint.identification.algorithm";
            return Err(refuse(name, other, "https or empty"));
        }
    }
    Ok(Security::Tls(tls))
}

/// Refuses Java's own stores, and passwords, which PEM has none of.
#[cfg(feature = "tls")]
fn only_pem(properties: &Properties, store: &str) -> Result<(), Error> {
    let kind = format!("{store}.type");
    let given = properties.filled(&kind).unwrap_or("JKS");
    if !given.eq_ignore_ascii_case("PEM") {
        return Err(refuse(&kind, given, "PEM, which is what is read here"));
    }
    let password = format!("{store}.password");
    if properties.filled(&password).is_some() {
        return Err(wrong(&password, "is set, and PEM has none"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(pairs: &[(&str, &str)]) -> Result<Options, String> {
        let properties: Properties = pairs.iter().copied().collect();
        options(&properties).map_err(|error| error.to_string())
    }

    const PLAIN: [(&str, &str); 3] = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "PLAIN"),
        (
            "sasl.jaas.config",
            "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"a\" \
             password=\"b\" user_x=\"y\";",
        ),
    ];

    #[test]
    fn plain() {
        let options = from(&PLAIN).unwrap();
        assert_eq!(options.sasl, Some(SaslOptions::new(Mechanism::Plain, "a", "b")));
        assert!(matches!(options.security, Security::Plaintext));
    }

    #[test]
    fn modules_go_with_mechanisms() {
        let mut scram = PLAIN;
        scram[1].1 = "SCRAM-SHA-512";
        let error = from(&scram).unwrap_err();
        assert!(error.contains("SCRAM-SHA-512 goes with org.apache"), "{error}");
        let error = from(&PLAIN[..1]).unwrap_err();
        assert!(error.starts_with("config sasl.mechanism is 'GSSAPI', not one of"), "{error}");
        assert!(from(&[("security.protocol", "TLS")]).is_err());
    }

    #[test]
    fn idle_connections_may_stay() {
        let options = from(&[("connections.max.idle.ms", "-1")]).unwrap();
        assert_eq!(options.connections_max_idle, Duration::MAX);
        let options = from(&[("connections.max.idle.ms", "1000")]).unwrap();
        assert_eq!(options.connections_max_idle, Duration::from_secs(1));
        let options = from(&[("thalweg.connect.ahead.brokers", "0")]).unwrap();
        assert_eq!(options.connect_ahead, 0);
        let error = from(&[("thalweg.connect.ahead.brokers", "-1")]).unwrap_err();
        assert!(error.to_string().contains("thalweg.connect.ahead.brokers"), "{error}");
    }

    #[test]
    fn metadata_recovery_has_two_strategies() {
        let options = from(&[]).unwrap();
        assert_eq!(options.metadata_recovery_strategy, MetadataRecoveryStrategy::Rebootstrap);
        assert!(options.metadata_cluster_check);
        let given =
            [("metadata.recovery.strategy", "NONE"), ("metadata.cluster.check.enable", "false")];
        let options = from(&given).unwrap();
        assert_eq!(options.metadata_recovery_strategy, MetadataRecoveryStrategy::None);
        assert!(!options.metadata_cluster_check);
        let error = from(&[("metadata.recovery.strategy", "wait")]).unwrap_err();
        assert_eq!(error, "config metadata.recovery.strategy is 'wait', not rebootstrap or none");
    }

    #[cfg(feature = "tls")]
    #[test]
    fn stores_are_pem() {
        let jks = [("security.protocol", "SSL"), ("ssl.truststore.location", "a.jks")];
        let error = from(&jks).unwrap_err();
        assert_eq!(
            error,
            "config ssl.truststore.type is 'JKS', not PEM, which is what is read here"
        );
        let pem = [jks[0], ("ssl.truststore.location", "a.pem"), ("ssl.truststore.type", "PEM")];
        assert!(matches!(from(&pem).unwrap().security, Security::Tls(_)));
        let with_password = [pem[0], pem[1], pem[2], ("ssl.truststore.password", "x")];
        assert!(from(&with_password).is_err());
        let any = [("security.protocol", "SSL"), ("ssl.endpoint.identification.algorithm", "")];
        let shown = format!("{:?}", from(&any).unwrap().security);
        assert!(shown.contains("accepts_any_host_name: true"), "{shown}");
        let one = [("security.protocol", "SSL"), ("ssl.enabled.protocols", "TLSv1.3")];
        assert!(from(&one).is_err());
    }
}
