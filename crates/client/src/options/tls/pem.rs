//! PEM as Kafka's clients take it (KIP-651): sections may be on one line, as property files with
//! continuations and folded YAML have them, and a line's end may be written as `\n`.
//!
//! The reasons of errors never show anything that was found: it may be a private key.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer,
};

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// A section of a PEM: what its lines BEGIN and END name, and the text between them.
struct Section<'a> {
    label: String,
    body: &'a str,
}

/// The certificates of a PEM; other sections are passed over.
pub(super) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, &'static str> {
    let text = unescape(pem);
    let mut found = Vec::new();
    for section in sections(&text)? {
        if matches!(section.label.as_str(), "CERTIFICATE" | "X509 CERTIFICATE") {
            let canonical = section.canonical("CERTIFICATE")?;
            let der = CertificateDer::from_pem_slice(canonical.as_bytes());
            found.push(der.map_err(|_| NOT_BASE64)?);
        }
    }
    Ok(found)
}

/// The private key of a PEM, which has one; other sections are passed over.
pub(super) fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, &'static str> {
    let text = unescape(pem);
    let mut key = None;
    for section in sections(&text)? {
        if !section.label.ends_with("PRIVATE KEY") {
            continue;
        }
        if section.label.starts_with("ENCRYPTED") || section.body.contains("ENCRYPTED") {
            return Err("has an encrypted private key, which is not read");
        }
        if key.is_some() {
            return Err("has more than one private key");
        }
        let canonical = section.canonical(&section.label)?;
        let canonical = canonical.as_bytes();
        let read = match section.label.as_str() {
            "PRIVATE KEY" => PrivatePkcs8KeyDer::from_pem_slice(canonical).map(Into::into),
            "RSA PRIVATE KEY" => PrivatePkcs1KeyDer::from_pem_slice(canonical).map(Into::into),
            "EC PRIVATE KEY" => PrivateSec1KeyDer::from_pem_slice(canonical).map(Into::into),
            _ => return Err("has a private key in a form that is not read: PKCS #8 is"),
        };
        key = Some(read.map_err(|_| NOT_BASE64)?);
    }
    key.ok_or("has no private key")
}

const NOT_BASE64: &str = "has a section of PEM that is not base64";

/// Line ends that are written as characters become line ends.
fn unescape(pem: &[u8]) -> String {
    // Between sections may stand anything, such as a subject's name in another encoding.
    let text = String::from_utf8_lossy(pem);
    if !text.contains('\\') {
        return text.into_owned();
    }
    text.replace("\\r", "\n").replace("\\n", "\n").replace("\\\n", "\n").replace("\\\r", "\n")
}

fn sections(text: &str) -> Result<Vec<Section<'_>>, &'static str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, begun)) = rest.split_once(BEGIN) {
        let (label, inside) = begun.split_once(DASHES).ok_or("has a BEGIN that is not closed")?;
        let (body, ended) = inside.split_once(END).ok_or("has a section of PEM without its END")?;
        let (end, behind) = ended.split_once(DASHES).ok_or("has an END that is not closed")?;
        let label = words(label);
        if label != words(end) || body.contains(DASHES) {
            return Err("has a section of PEM whose END does not belong to its BEGIN");
        }
        found.push(Section { label, body });
        rest = behind;
    }
    Ok(found)
}

/// The words of a label, which may be folded, one space apart.
fn words(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Section<'_> {
    /// The section with each part on a line of its own, and without its headers (RFC 1421).
    fn canonical(&self, label: &str) -> Result<String, &'static str> {
        let lines =
            self.body.lines().skip_while(|line| line.trim().is_empty() || line.contains(':'));
        let base64: String = lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect();
        let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
        if base64.is_empty() || !base64.bytes().all(is_base64) {
            return Err(NOT_BASE64);
        }
        Ok(format!("{BEGIN}{label}{DASHES}\n{base64}\n{END}{label}{DASHES}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (String, String) {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["client".to_owned()]).unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    /// All layouts that Kafka's client takes or that configuration files make of one.
    fn layouts(pem: &str) -> Vec<String> {
        let with = |end: &str| pem.trim_end().replace('\n', end);
        vec![
            pem.to_owned(),
            with("\r\n"),
            with(" "),
            with("\t"),
            with("\n    "),
            with(" \n"),
            // Continuations of a property file without white space before the backslash.
            with(""),
            with("\\n"),
            with("\\r\\n"),
            with(" \\\n"),
            format!("Bag Attributes\n    friendlyName: caf\u{e9}\n{pem}\nkeyid: 1\n"),
        ]
    }

    #[test]
    fn sections_are_read_in_every_layout() {
        let (certificate, key) = pair();
        let der = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
        let key_der = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        for text in layouts(&certificate) {
            assert_eq!(
                certificates(text.as_bytes()).unwrap(),
                std::slice::from_ref(&der),
                "{text}"
            );
            let both = format!("{text} {text}");
            assert_eq!(certificates(both.as_bytes()).unwrap(), [der.clone(), der.clone()]);
        }
        for text in layouts(&key) {
            assert_eq!(private_key(text.as_bytes()).unwrap(), key_der, "{text}");
            let with_chain = format!("{certificate} {text} {certificate}");
            assert_eq!(private_key(with_chain.as_bytes()).unwrap(), key_der);
            assert_eq!(certificates(with_chain.as_bytes()).unwrap().len(), 2);
        }
        let latin = [b"caf\xe9\n", certificate.as_bytes()].concat();
        assert_eq!(certificates(&latin).unwrap(), [der]);
    }

    #[test]
    fn faults_are_named() {
        let (certificate, key) = pair();
        let refused = |text: &str| private_key(text.as_bytes()).unwrap_err();
        assert_eq!(refused(&certificate), "has no private key");
        assert_eq!(refused(&format!("{key}{key}")), "has more than one private key");
        let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
        assert!(refused(&encrypted).contains("encrypted"));
        let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        assert!(refused(old).contains("encrypted"));
        let dsa = key.replace("PRIVATE KEY", "DSA PRIVATE KEY");
        assert!(refused(&dsa).contains("PKCS #8"));
        assert!(refused(&key.replace("-----END", "")).contains("without its END"));
        let other_end = key.replace("END PRIVATE KEY", "END CERTIFICATE");
        assert!(refused(&other_end).contains("does not belong"));
        assert_eq!(refused(&key.replace('\n', "!\n")), NOT_BASE64);
        assert_eq!(certificates(b"no PEM").unwrap(), []);
    }
}
