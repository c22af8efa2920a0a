//! Which broker's certificate is trusted: as Java's PKIX trust manager decides it for a PEM trust store.
//!
//! - A certificate that is itself in the trust store is trusted, whoever signed it, and whatever its dates and
//!   uses are: Java asks for nothing more of a pinned certificate than its name.
//! - Any other certificate needs a chain to a certificate of the store that belongs to a CA. A pinned
//!   certificate of a broker vouches for no other certificate: that broker could pose as each of them.
//! - The name counts in both cases, unless `ssl.endpoint.identification.algorithm` is empty.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Decides about brokers' certificates.
#[derive(Debug)]
pub(super) struct Trust {
    authorities: RootCertStore,
    /// Certificates that are trusted by exact match.
    pinned: Vec<CertificateDer<'static>>,
    checks_names: bool,
    provider: Arc<CryptoProvider>,
}

impl Trust {
    /// Trusts what these authorities sign.
    pub(super) fn new(
        authorities: RootCertStore,
        checks_names: bool,
        provider: Arc<CryptoProvider>,
    ) -> Trust {
        Trust { authorities, pinned: Vec::new(), checks_names, provider }
    }

    /// Trusts the certificates of a trust store: each by itself, and those of CAs with what they sign.
    pub(super) fn of_store(
        certificates: Vec<CertificateDer<'static>>,
        checks_names: bool,
        provider: Arc<CryptoProvider>,
    ) -> Result<Trust, rustls::Error> {
        let mut authorities = RootCertStore::empty();
        let mut others = RootCertStore::empty();
        for certificate in &certificates {
            // What cannot be read is refused also where it is no CA's.
            let store = if is_authority(certificate) { &mut authorities } else { &mut others };
            store.add(certificate.clone())?;
        }
        Ok(Trust { authorities, pinned: certificates, checks_names, provider })
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        if !self.pinned.contains(end_entity) {
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                &self.authorities,
                intermediates,
                now,
                self.provider.signature_verification_algorithms.all,
            )?;
        }
        if self.checks_names {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Whether a certificate may sign others: its basic constraints say that it is a CA's (RFC 5280, section
/// 4.2.1.9). Before version 3 there was no way to say so, and Java takes each of them for one.
fn is_authority(certificate: &[u8]) -> bool {
    try_is_authority(certificate).unwrap_or(false)
}

fn try_is_authority(certificate: &[u8]) -> Option<bool> {
    const SEQUENCE: u8 = 0x30;
    const VERSION: u8 = 0xa0;
    const EXTENSIONS: u8 = 0xa3;
    const BASIC_CONSTRAINTS: [u8; 3] = [0x55, 0x1d, 0x13];
    let certificate = Der(certificate).only(SEQUENCE)?;
    let mut fields = Der(certificate).only(SEQUENCE).map(Der)?;
    let (first, _) = fields.clone().next()?;
    if first != VERSION {
        return Some(true);
    }
    let extensions = fields.find(|(tag, _)| *tag == EXTENSIONS);
    let Some((_, extensions)) = extensions else { return Some(false) };
    for (_, extension) in Der(Der(extensions).only(SEQUENCE)?) {
        let mut parts = Der(extension);
        let (_, id) = parts.next()?;
        if id != BASIC_CONSTRAINTS {
            continue;
        }
        // It may be marked as critical before its value.
        let (_, value) = parts.last()?;
        let constraints = Der(value).only(SEQUENCE)?;
        // The first of the constraints is the flag; left out, it is false.
        let flag = Der(constraints).next();
        return Some(flag.is_some_and(|(tag, flag)| tag == 1 && flag != [0]));
    }
    Some(false)
}

/// The elements of DER one behind the other: their tags and contents. Ends at what is none.
#[derive(Clone)]
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The content of the first element, which must have this tag.
    fn only(mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }
}

impl<'a> Iterator for Der<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (len, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // No certificate is longer than four bytes can say.
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let len = bytes.iter().fold(0u32, |len, byte| len << 8 | u32::from(*byte));
                (usize::try_from(len).ok()?, rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((tag, content))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    use rustls::crypto::aws_lc_rs;

    use super::*;

    const HOST: &str = "broker.example";

    fn params(is_ca: IsCa) -> CertificateParams {
        let mut params = CertificateParams::new(vec![HOST.to_owned()]).unwrap();
        params.is_ca = is_ca;
        params
    }

    fn authority() -> IsCa {
        IsCa::Ca(BasicConstraints::Unconstrained)
    }

    fn trust(certificates: &[&CertificateDer<'static>], checks_names: bool) -> Trust {
        let certificates = certificates.iter().map(|one| (*one).clone()).collect();
        Trust::of_store(certificates, checks_names, Arc::new(aws_lc_rs::default_provider()))
            .unwrap()
    }

    fn accepts(trust: &Trust, certificate: &CertificateDer<'_>, host: &str) -> bool {
        // Long after the year in which the certificates of these tests end.
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000));
        let name = ServerName::try_from(host.to_owned()).unwrap();
        trust.verify_server_cert(certificate, &[], &name, &[], now).is_ok()
    }

    #[test]
    fn pinned_certificate_is_trusted_by_exact_match() {
        let root_key = KeyPair::generate().unwrap();
        let root_params = params(authority());
        let root = root_params.self_signed(&root_key).unwrap().der().clone();
        let root_issuer = Issuer::new(root_params, root_key);
        let key = KeyPair::generate().unwrap();
        let leaf = params(IsCa::NoCa).signed_by(&key, &root_issuer).unwrap().der().clone();
        let mut old = params(IsCa::NoCa);
        old.not_after = rcgen::date_time_ymd(2001, 1, 1);
        let old = old.signed_by(&key, &root_issuer).unwrap().der().clone();
        let other_key = KeyPair::generate().unwrap();
        let self_signed = params(IsCa::ExplicitNoCa).self_signed(&key).unwrap().der().clone();
        // As openssl makes it by default.
        let as_ca = params(authority()).self_signed(&key).unwrap().der().clone();
        for pinned in [&leaf, &old, &self_signed, &as_ca] {
            let one = trust(&[pinned], true);
            assert!(accepts(&one, pinned, HOST));
            assert!(!accepts(&one, pinned, "other.example"));
            assert!(accepts(&trust(&[pinned], false), pinned, "other.example"));
            let stranger = params(IsCa::NoCa).self_signed(&other_key).unwrap().der().clone();
            assert!(!accepts(&one, &stranger, HOST));
        }
        let by_root = trust(&[&root], true);
        assert!(accepts(&by_root, &leaf, HOST) && !accepts(&by_root, &old, HOST));
        assert!(!accepts(&by_root, &leaf, "other.example"));
        assert!(!accepts(&by_root, &self_signed, HOST) && !accepts(&by_root, &as_ca, HOST));
    }

    /// As in Java, unless `jdk.security.allowNonCaAnchor` is set.
    #[test]
    fn pinned_certificate_vouches_for_no_other() {
        for is_ca in [IsCa::NoCa, IsCa::ExplicitNoCa, authority()] {
            let is_authority = is_ca == authority();
            let key = KeyPair::generate().unwrap();
            let pinned_params = params(is_ca);
            let pinned = pinned_params.self_signed(&key).unwrap().der().clone();
            assert_eq!(super::is_authority(&pinned), is_authority);
            let issuer = Issuer::new(pinned_params, key);
            let signed = params(IsCa::NoCa).signed_by(&KeyPair::generate().unwrap(), &issuer);
            let signed = signed.unwrap().der().clone();
            for checks_names in [true, false] {
                let trust = trust(&[&pinned], checks_names);
                assert_eq!(accepts(&trust, &signed, HOST), is_authority);
            }
        }
    }

    #[test]
    fn damaged_certificates_are_no_authorities() {
        let key = KeyPair::generate().unwrap();
        let whole = params(authority()).self_signed(&key).unwrap().der().to_vec();
        assert!(is_authority(&whole));
        for len in 0..whole.len() {
            assert!(!is_authority(&whole[..len]), "{len} bytes");
        }
    }
}
