//! What messages, logs and `Debug` may show of configs, which can hold passwords and private keys.
//!
//! The rules are made for files that were written wrongly: a PEM whose lines have no backslash at their
//! ends is read as one config per line, and each of these lines is a piece of the key.

/// Stands in place of what may be a secret.
pub const HIDDEN: &str = "[hidden]";

/// Longest name of a config that is shown; Kafka's longest has 63 characters.
const NAME_MAX: usize = 120;
/// Longest name without a dot that is shown. Kafka's are `acks` and `retries`.
const WORD_MAX: usize = 16;
/// Longest value that is shown.
const VALUE_MAX: usize = 256;

/// Whether the value of a config of this name is a secret. Any name can be given: those of plugins are
/// judged by the words in them.
pub fn is_sensitive_name(name: &str) -> bool {
    const WORDS: [&str; 11] = [
        "certificate",
        "credential",
        "hmac",
        "jaas",
        "passphrase",
        "passwd",
        "password",
        "private",
        "secret",
        "token",
        "apikey",
    ];
    let lower = name.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word)) || lower.ends_with("key")
}

/// A config's name, unless it does not look like one.
pub fn shown_name(name: &str) -> &str {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    // A line of a key in base64 has no dot, and its letters are of both cases.
    let is_name = match name.contains('.') {
        true => name.len() <= NAME_MAX && name.bytes().all(is_plain),
        false => {
            (1..=WORD_MAX).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase())
        }
    };
    if is_name { name } else { HIDDEN }
}

/// The value of a config, unless it may be a secret: by the config's name, or because the value looks
/// like a PEM, a login or a line with another config.
pub fn shown_value<'a>(name: &str, value: &'a str) -> &'a str {
    let is_suspect = value.len() > VALUE_MAX
        || value.contains(['"', '=', '\n', '\r', '@'])
        || value.contains("-----");
    if is_suspect || is_sensitive_name(name) { HIDDEN } else { value }
}

/// A foreign text, such as a broker's message; [`HIDDEN`] if one of these secrets is in it.
pub fn without<'a, 's>(text: &'a str, secrets: impl IntoIterator<Item = &'s str>) -> &'a str {
    // A part of the text would still show where the secret was, and how long it is.
    let is_secret = |secret: &str| !secret.trim().is_empty() && text.contains(secret.trim());
    if secrets.into_iter().any(is_secret) { HIDDEN } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_unless_they_look_like_keys() {
        for name in [
            "acks",
            "linger",
            "sasl.login.refresh.min.period.seconds",
            "listener.name.INTERNAL.scram-sha-256.sasl.jaas.config",
            "my_plugin.setting",
        ] {
            assert_eq!(shown_name(name), name);
        }
        for line in [
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
            "9w0BAQ",
            "abc/def",
            "-----END",
            "",
            "sasl.jaas.config: Module required username",
        ] {
            assert_eq!(shown_name(line), HIDDEN, "{line}");
        }
    }

    #[test]
    fn values_are_shown_unless_they_may_be_secrets() {
        assert_eq!(shown_value("security.protocol", "TLS"), "TLS");
        assert_eq!(shown_value("linger.ms", "5 ms"), "5 ms");
        for name in [
            "ssl.key.password",
            "ssl.keystore.key",
            "ssl.keystore.certificate.chain",
            "ssl.truststore.certificates",
            "sasl.jaas.config",
            "sasl.oauthbearer.client.credentials.client.secret",
            "listener.name.a.plain.sasl.jaas.config",
            "delegation.token.secret.key",
            "my.plugin.apiKey",
        ] {
            assert_eq!(shown_value(name, "x"), HIDDEN, "{name}");
        }
        for value in ["SSL\nssl.key.password=x", "Module required password=\"x\";", "a:b@c:9092"] {
            assert_eq!(shown_value("security.protocol", value), HIDDEN, "{value}");
        }
        assert_eq!(shown_value("ssl.keystore.location", "-----BEGIN PRIVATE KEY-----"), HIDDEN);
    }

    /// Every field of a message that holds a secret.
    #[test]
    fn messages_show_no_secrets() {
        use crate::messages::*;
        let bytes = || bytes::Bytes::from_static(b"hunter-22");
        let name = || "ssl.keystore.password".to_owned();
        let value = || Some("hunter-22".to_owned());
        let upsertion = alter_user_scram_credentials_request::ScramCredentialUpsertion {
            salted_password: bytes(),
            ..Default::default()
        };
        let synonym = describe_configs_response::DescribeConfigsSynonym {
            name: name(),
            value: value(),
            ..Default::default()
        };
        let config = describe_configs_response::DescribeConfigsResourceResult {
            name: name(),
            value: value(),
            synonyms: vec![synonym],
            ..Default::default()
        };
        let shown = [
            format!("{:?}", SaslAuthenticateRequest { auth_bytes: bytes(), ..Default::default() }),
            format!("{:?}", SaslAuthenticateResponse { auth_bytes: bytes(), ..Default::default() }),
            format!("{upsertion:?}"),
            format!(
                "{:?}",
                UserScramCredentialRecord {
                    stored_key: bytes(),
                    server_key: bytes(),
                    ..Default::default()
                }
            ),
            format!("{:?}", CreateDelegationTokenResponse { hmac: bytes(), ..Default::default() }),
            format!("{:?}", RenewDelegationTokenRequest { hmac: bytes(), ..Default::default() }),
            format!("{:?}", ConfigRecord { name: name(), value: value(), ..Default::default() }),
            format!(
                "{:?}",
                incremental_alter_configs_request::AlterableConfig {
                    name: name(),
                    value: value(),
                    ..Default::default()
                }
            ),
            format!(
                "{:?}",
                alter_configs_request::AlterableConfig {
                    name: name(),
                    value: value(),
                    ..Default::default()
                }
            ),
            format!("{config:?}"),
        ];
        for shown in shown {
            assert!(shown.contains(HIDDEN) && !shown.contains("hunter-22"), "{shown}");
        }
        let open = ConfigRecord { name: "linger.ms".into(), value: value(), ..Default::default() };
        assert!(format!("{open:?}").contains("hunter-22"));
    }

    #[test]
    fn foreign_texts_with_a_secret_are_hidden() {
        assert_eq!(without("user a, password b-1", ["b-1"]), HIDDEN);
        assert_eq!(without("nothing", ["", " "]), "nothing");
    }
}
