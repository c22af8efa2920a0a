//! How connections behave and are protected, from properties.

use thalweg::{Mechanism, Options, SaslOptions, Security};

use super::error::CliError;
use super::jaas;
use super::properties::{Properties, refuse};

const PLAIN_MODULE: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";
const SCRAM_MODULE: &str = "org.apache.kafka.common.security.scram.ScramLoginModule";

/// Makes of properties how connections behave.
pub(super) fn options(properties: &Properties) -> Result<Options, CliError> {
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

fn sasl(properties: &Properties) -> Result<SaslOptions, CliError> {
    let name = properties.filled("sasl.mechanism").unwrap_or("GSSAPI");
    let mechanism = Mechanism::from_name(name).ok_or_else(|| {
        let known = Mechanism::ALL.map(Mechanism::name).join(", ");
        refuse("sasl.mechanism", name, &format!("one of {known}, which are those spoken here"))
    })?;
    let wrong = |why: &str| CliError::Usage(format!("property sasl.jaas.config {why}"));
    let text = properties.filled("sasl.jaas.config").ok_or_else(|| {
        wrong("is missing: it names who logs in, as 'Module required username=\"..\" password=\"..\";'")
    })?;
    let parsed = jaas::parse(text).map_err(|why| wrong(&why))?;
    let module = match mechanism {
        Mechanism::Plain => PLAIN_MODULE,
        Mechanism::ScramSha256 | Mechanism::ScramSha512 => SCRAM_MODULE,
    };
    if parsed.module != module {
        return Err(wrong(&format!("names {}, {mechanism} goes with {module}", parsed.module)));
    }
    let (mut username, mut password) = (None, None);
    for (name, value) in parsed.options {
        match name.as_str() {
            "username" => username = Some(value),
            "password" => password = Some(value),
            // Whom a broker lets in: files that serve both sides have it.
            _ if name.starts_with("user_") => {}
            "tokenauth" if !value.eq_ignore_ascii_case("true") => {}
            _ => return Err(wrong(&format!("has the option {name}, which is not supported"))),
        }
    }
    match (username, password) {
        (Some(username), Some(password)) => Ok(SaslOptions::new(mechanism, username, password)),
        (None, _) => Err(wrong("has no username")),
        (_, None) => Err(wrong("has no password")),
    }
}

#[cfg(not(feature = "tls"))]
fn tls(_: &Properties) -> Result<Security, CliError> {
    Err(CliError::Usage("property security.protocol: this was built without TLS".into()))
}

#[cfg(feature = "tls")]
fn tls(properties: &Properties) -> Result<Security, CliError> {
    use thalweg::{Identity, Pem, Roots, TlsOptions};

    let wrong = |text: String| Err(CliError::Usage(text));
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
                return wrong(
                    "ssl.truststore.certificates and .location exclude each other".into(),
                );
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
                return wrong("ssl.keystore.location excludes .certificate.chain and .key".into());
            }
            _ => {
                return wrong("ssl.keystore.certificate.chain and .key need each other".into());
            }
        };
        tls = tls.with_identity(identity);
    }
    if properties.filled("ssl.key.password").is_some() {
        return wrong("property ssl.key.password: encrypted keys are not read".into());
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
fn only_pem(properties: &Properties, store: &str) -> Result<(), CliError> {
    let kind = format!("{store}.type");
    let given = properties.filled(&kind).unwrap_or("JKS");
    if !given.eq_ignore_ascii_case("PEM") {
        return Err(refuse(&kind, given, "PEM, which is what is read here"));
    }
    let password = format!("{store}.password");
    if properties.filled(&password).is_some() {
        return Err(CliError::Usage(format!("property {password}: PEM has none")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(pairs: &[(&str, &str)]) -> Result<Options, String> {
        let mut properties = Properties::default();
        for (name, value) in pairs {
            properties.set(name, value);
        }
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
        assert!(error.starts_with("property sasl.mechanism: 'GSSAPI' is not one of"), "{error}");
        assert!(from(&[("security.protocol", "TLS")]).is_err());
    }

    #[cfg(feature = "tls")]
    #[test]
    fn stores_are_pem() {
        let jks = [("security.protocol", "SSL"), ("ssl.truststore.location", "a.jks")];
        let error = from(&jks).unwrap_err();
        assert_eq!(
            error,
            "property ssl.truststore.type: 'JKS' is not PEM, which is what is read here"
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
