//! TLS by rustls: what users set, and what becomes of it.
//!
//! Certificates and keys are PEM, as Kafka takes them with `ssl.keystore.type=PEM`; Java's own
//! stores (JKS, PKCS #12) and encrypted keys are not read.

mod pem;
mod trust;

use std::fmt;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::error::{AuthenticationError, Error};
use trust::Trust;

/// Longest file that is read; a system's bundle of all authorities has less than 1 MiB.
const FILE_MAX: u64 = 16 << 20;

/// How TLS is done. The default trusts whom the system trusts, checks the broker's name, and has no
/// certificate of its own.
///
/// Files are read when the first connection is opened, and not again for this value and its
/// clones. TLS is version 1.2 or 1.3 (`ssl.enabled.protocols`).
///
/// ```
/// use thalweg::{Options, Roots, Security, TlsOptions};
///
/// let tls = TlsOptions::default().with_roots(Roots::file("ca.pem"));
/// let options = Options::default().with_security(Security::Tls(tls));
/// # drop(options);
/// ```
#[derive(Clone, Default)]
pub struct TlsOptions {
    roots: Roots,
    identity: Option<Identity>,
    server_name: Option<Arc<str>>,
    accepts_any_host_name: bool,
    /// Made when first needed; shared by clones, and gone when a setting changes.
    prepared: Arc<OnceLock<Arc<ClientConfig>>>,
}

/// Who may vouch for brokers.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Roots {
    /// Whoever the system trusts.
    #[default]
    System,
    /// These certificates, and no others. A broker's own certificate is trusted by exact match, as in Java, also if it
    /// is self-signed; its name is checked as any other's. What a certificate signs is trusted only if it is a CA's.
    Pem(Pem),
}

/// This client's certificate and key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Identity {
    /// The certificate, followed by those between it and the root
    /// (`ssl.keystore.certificate.chain`). No default.
    pub certificate_chain: Pem,
    /// Its private key, not encrypted (`ssl.keystore.key`). No default.
    pub key: Pem,
}

/// PEM, in a file or in memory. As in Kafka's client (KIP-651) a section may be on one line; a line's end may also be
/// written as `\n`.
#[derive(Clone)]
#[non_exhaustive]
pub enum Pem {
    /// A file's path.
    File(PathBuf),
    /// The text itself. Not shown by `Debug`.
    Text(Arc<[u8]>),
}

impl Pem {
    /// PEM in a file.
    pub fn file(path: impl Into<PathBuf>) -> Pem {
        Pem::File(path.into())
    }

    /// PEM in memory.
    pub fn text(text: impl AsRef<[u8]>) -> Pem {
        Pem::Text(text.as_ref().into())
    }

    fn read(&self) -> Result<Arc<[u8]>, String> {
        match self {
            Pem::File(path) => {
                let mut text = Vec::new();
                let read = std::fs::File::open(path)
                    .and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut text))
                    .map_err(|error| format!("{self} cannot be read: {error}"))?;
                match read as u64 <= FILE_MAX {
                    true => Ok(text.into()),
                    false => Err(format!("{self} is longer than {FILE_MAX} bytes")),
                }
            }
            Pem::Text(text) => Ok(Arc::clone(text)),
        }
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pem::File(_) => write!(f, "File({self})"),
            // It may be a private key.
            Pem::Text(text) => write!(f, "Text({} bytes)", text.len()),
        }
    }
}

/// Whether a path is no path but what should be in the file. Keys and certificates begin with the same bytes of
/// DER, in base64 `MI`.
fn is_key_material(path: &str) -> bool {
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    path.contains("-----")
        || path.contains(['\n', '\r'])
        || (path.starts_with("MI") && path.len() > 40 && path.bytes().all(is_base64))
}

/// How messages name what is being read.
impl fmt::Display for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pem::File(path) => match path.to_string_lossy() {
                path if is_key_material(&path) => {
                    f.write_str("the PEM that was given in place of a path")
                }
                path => f.write_str(&path),
            },
            Pem::Text(_) => f.write_str("the text given"),
        }
    }
}

impl Roots {
    /// The certificates of a PEM file (`ssl.truststore.location` with `ssl.truststore.type=PEM`).
    pub fn file(path: impl Into<PathBuf>) -> Roots {
        Roots::Pem(Pem::file(path))
    }

    /// The certificates of PEM in memory (`ssl.truststore.certificates`).
    pub fn text(text: impl AsRef<[u8]>) -> Roots {
        Roots::Pem(Pem::text(text))
    }
}

impl fmt::Debug for TlsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsOptions")
            .field("roots", &self.roots)
            .field("identity", &self.identity)
            .field("server_name", &self.server_name)
            .field("accepts_any_host_name", &self.accepts_any_host_name)
            .finish_non_exhaustive()
    }
}

impl TlsOptions {
    /// Who may vouch for brokers (`ssl.truststore.*`); whoever the system trusts.
    pub fn with_roots(mut self, roots: Roots) -> TlsOptions {
        self.roots = roots;
        self.changed()
    }

    /// A certificate of this client's own, for brokers with `ssl.client.auth` (`ssl.keystore.*`);
    /// none.
    pub fn with_identity(mut self, identity: Identity) -> TlsOptions {
        self.identity = Some(identity);
        self.changed()
    }

    /// The name that every broker's certificate must carry, instead of the host that is connected
    /// to; that host. For tunnels and proxies; Kafka's client has no such setting.
    pub fn with_server_name(mut self, name: impl Into<Arc<str>>) -> TlsOptions {
        self.server_name = Some(name.into());
        self.changed()
    }

    /// Takes any certificate that a root vouches for, whatever name it carries
    /// (`ssl.endpoint.identification.algorithm` empty; the default is `https`). Whoever has *any*
    /// certificate from one of the roots can then pose as a broker: with the system's roots, that
    /// is everybody.
    pub fn dangerously_accept_any_host_name(mut self) -> TlsOptions {
        self.accepts_any_host_name = true;
        self.changed()
    }

    fn changed(mut self) -> TlsOptions {
        self.prepared = Arc::default();
        self
    }

    /// The name to look for in the certificate of the broker at `host`.
    pub(crate) fn server_name(
        &self,
        host: &str,
    ) -> Result<ServerName<'static>, AuthenticationError> {
        let name = self.server_name.as_deref().unwrap_or(host);
        ServerName::try_from(name.to_owned())
            .map_err(|_| AuthenticationError::ServerName(name.to_owned()))
    }

    /// What rustls needs; reads files the first time.
    pub(crate) fn prepare(&self) -> Result<Arc<ClientConfig>, Error> {
        if let Some(prepared) = self.prepared.get() {
            return Ok(Arc::clone(prepared));
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = Arc::new(self.trust(&provider)?);
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong("ssl.enabled.protocols", error.to_string()))?
            // What differs from rustls's own verifier is in `trust.rs`.
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = identity.read()?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| wrong("ssl.keystore.key", refused_key(&error)))?
            }
        };
        // Another connection may have been quicker: one of both is used from now on, for its
        // sessions to be resumed.
        Ok(Arc::clone(self.prepared.get_or_init(|| Arc::new(config))))
    }

    /// Whom this client takes for a broker.
    fn trust(&self, provider: &Arc<CryptoProvider>) -> Result<Trust, Error> {
        let checks_names = !self.accepts_any_host_name;
        let provider = Arc::clone(provider);
        match &self.roots {
            Roots::System => {
                let found = rustls_native_certs::load_native_certs();
                let mut store = RootCertStore::empty();
                // Systems carry a few certificates that nobody can read; the others count.
                let (added, _) = store.add_parsable_certificates(found.certs);
                if added == 0 {
                    let why = found.errors.first().map_or(String::new(), system_error);
                    let reason = format!("is not set, and the system has no certificates{why}");
                    return Err(wrong("ssl.truststore.location", reason));
                }
                Ok(Trust::new(store, checks_names, provider))
            }
            Roots::Pem(pem) => {
                let name = match pem {
                    Pem::File(_) => "ssl.truststore.location",
                    Pem::Text(_) => "ssl.truststore.certificates",
                };
                let certificates = certificates(name, pem)?;
                Trust::of_store(certificates, checks_names, provider).map_err(|error| {
                    wrong(name, format!("has a certificate in {pem} that is refused: {error}"))
                })
            }
        }
    }
}

impl Identity {
    /// A certificate chain and its key.
    pub fn new(certificate_chain: Pem, key: Pem) -> Identity {
        Identity { certificate_chain, key }
    }

    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Error> {
        let chain = certificates("ssl.keystore.certificate.chain", &self.certificate_chain)?;
        let name = "ssl.keystore.key";
        let text = self.key.read().map_err(|reason| wrong(name, reason))?;
        let key = pem::private_key(&text)
            .map_err(|reason| wrong(name, format!("{reason}, in {}", self.key)))?;
        Ok((chain, key))
    }
}

/// The certificates of a PEM, at least one.
fn certificates(name: &'static str, pem: &Pem) -> Result<Vec<CertificateDer<'static>>, Error> {
    let text = pem.read().map_err(|reason| wrong(name, reason))?;
    let found =
        pem::certificates(&text).map_err(|reason| wrong(name, format!("{reason}, in {pem}")))?;
    if found.is_empty() {
        return Err(wrong(name, format!("has no certificate in {pem}")));
    }
    Ok(found)
}

/// Why the system's certificates cannot be read. `SSL_CERT_FILE` may name any file: the parser's own errors contain
/// what it found there.
fn system_error(error: &rustls_native_certs::Error) -> String {
    match &error.kind {
        rustls_native_certs::ErrorKind::Io { inner, path } => {
            format!(": {} cannot be read: {inner}", Pem::file(path))
        }
        _ => format!(": {}", error.context),
    }
}

/// Why a private key is not taken. An error of the library that reads keys is not shown.
fn refused_key(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => "does not belong to the certificate".into(),
        rustls::Error::InvalidCertificate(_) => {
            "belongs to a certificate that cannot be read".into()
        }
        _ => "is no key of a kind that is known here (RSA, ECDSA, EdDSA)".into(),
    }
}

fn wrong(name: &'static str, reason: String) -> Error {
    Error::Config { name: name.into(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(options: &TlsOptions) -> String {
        options.prepare().unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let none = TlsOptions::default().with_roots(Roots::file("no/such/ca.pem"));
        assert!(refused(&none).starts_with("config ssl.truststore.location no/such/ca.pem cannot"));
        let empty = TlsOptions::default().with_roots(Roots::text("nothing"));
        assert_eq!(
            refused(&empty),
            "config ssl.truststore.certificates has no certificate in the text given"
        );
        let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let garbage = TlsOptions::default().with_roots(Roots::text(garbage));
        assert!(refused(&garbage).contains("that is refused"), "{}", refused(&garbage));
        let cut = TlsOptions::default().with_roots(Roots::text("-----BEGIN CERTIFICATE-----\nAA"));
        assert!(refused(&cut).contains("without its END"), "{}", refused(&cut));
    }

    #[test]
    fn identities_need_both_parts() {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["client".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        let options = |chain: &str, key: &str| {
            TlsOptions::default()
                .with_roots(Roots::text(&certificate))
                .with_identity(Identity::new(Pem::text(chain), Pem::text(key)))
        };
        assert!(options(&certificate, &key.serialize_pem()).prepare().is_ok());
        let no_key = refused(&options(&certificate, &certificate));
        assert!(no_key.starts_with("config ssl.keystore.key has no private key"), "{no_key}");
        let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
        let other = refused(&options(&certificate, &other));
        assert!(other.starts_with("config ssl.keystore.key does not belong"), "{other}");
        let no_chain = refused(&options("", &key.serialize_pem()));
        assert!(no_chain.starts_with("config ssl.keystore.certificate.chain"), "{no_chain}");
    }

    #[test]
    fn clones_share_what_was_prepared_until_they_differ() {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        let options =
            TlsOptions::default().with_roots(Roots::text(params.self_signed(&key).unwrap().pem()));
        let same = options.clone();
        assert!(Arc::ptr_eq(&options.prepare().unwrap(), &same.prepare().unwrap()));
        let other = options.clone().dangerously_accept_any_host_name();
        assert!(!Arc::ptr_eq(&options.prepare().unwrap(), &other.prepare().unwrap()));
    }

    /// The secret in every place of a PEM, and in place of a file's path.
    #[test]
    fn errors_show_nothing_of_keys() {
        let pair = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["client".to_owned()]).unwrap();
        let certificate = params.self_signed(&pair).unwrap().pem();
        let key = pair.serialize_pem();
        let secret: String = key.lines().filter(|line| !line.starts_with("--")).collect();
        let marked = secret.get(..24).unwrap();
        let numbers = format!("{:?}", marked.as_bytes());
        let numbers = numbers.trim_matches(['[', ']']);
        let one_line = key.replace('\n', " ");
        let escaped = key.replace('\n', "\\n");
        let texts = [
            one_line.clone(),
            escaped,
            one_line.replace("-----END PRIVATE KEY-----", ""),
            one_line.replace("-----BEGIN", "----BEGIN"),
            key.replace("PRIVATE KEY", &secret),
            key.replace('\n', "!\n"),
            key.replace("PRIVATE KEY", "CERTIFICATE"),
            secret.clone(),
        ];
        let folder = std::env::temp_dir().join(format!("thalweg-keys-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("key.pem");
        for text in &texts {
            std::fs::write(&file, format!("{certificate}{text}\n")).unwrap();
            let identities = [
                Identity::new(Pem::text(&certificate), Pem::text(text)),
                Identity::new(Pem::text(text), Pem::text(&key)),
                Identity::new(Pem::file(&file), Pem::file(&file)),
                Identity::new(Pem::text(&certificate), Pem::file(text)),
            ];
            let mut all: Vec<TlsOptions> =
                identities.map(|identity| TlsOptions::default().with_identity(identity)).into();
            all.push(TlsOptions::default().with_roots(Roots::text(text)));
            all.push(TlsOptions::default().with_roots(Roots::file(text)));
            for options in all {
                let mut shown = vec![format!("{options:?}")];
                if let Err(error) = options.prepare() {
                    shown.extend(crate::error::tests::everything_shown(&error));
                }
                for shown in shown {
                    assert!(!shown.contains(marked) && !shown.contains(numbers), "{shown}");
                }
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn keys_are_not_shown() {
        let pem = Pem::text("-----BEGIN PRIVATE KEY-----");
        let options = TlsOptions::default().with_identity(Identity::new(pem.clone(), pem));
        assert!(!format!("{options:?}").contains("PRIVATE"), "{options:?}");
    }

    #[test]
    fn names() {
        let options = TlsOptions::default();
        assert!(matches!(options.server_name("127.0.0.1"), Ok(ServerName::IpAddress(_))));
        assert!(matches!(options.server_name("::1"), Ok(ServerName::IpAddress(_))));
        assert!(matches!(options.server_name("a.example"), Ok(ServerName::DnsName(_))));
        assert!(options.server_name("not a name").is_err());
        let options = options.with_server_name("b.example");
        assert_eq!(options.server_name("a.example").unwrap().to_str(), "b.example");
    }
}
