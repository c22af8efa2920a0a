//! The client's side of SASL without I/O: PLAIN (RFC 4616) and SCRAM (RFC 5802, RFC 7677). Messages
//! in, messages out; randomness is passed in.
//!
//! Invariants:
//! - The password never leaves this module but as PLAIN's message, and is in no `Debug`.
//! - A server is only believed once it has shown that it knows the password (SCRAM), and its nonce
//!   only as a continuation of ours.
//! - How much is computed for a server that asks for it is bounded: see [`ITERATIONS_MAX`].
//!
//! What this does not do: channel binding, delegation tokens, SASLprep. Kafka's own client takes
//! user names and passwords as their UTF-8, unprepared, and so must who talks to its brokers.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{EagerHash, Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256, Sha512};

/// Random bytes that an exchange needs.
pub const RANDOM_LEN: usize = 24;
/// Fewest iterations that a server may ask for (RFC 7677, and Kafka's own least).
pub const ITERATIONS_MIN: u32 = 4096;
/// Most iterations that a server may ask for. Kafka stores no credentials with more than 16384;
/// this leaves room for others, and no server can have more than about 0.1 s of a core.
pub const ITERATIONS_MAX: u32 = 1 << 17;
/// Longest message that is looked at.
const MESSAGE_MAX: usize = 8 << 10;
/// Longest salt.
const SALT_MAX: usize = 1 << 10;
/// Longest part of a server's own words that is kept.
const WORDS_MAX: usize = 200;
/// No channel binding, no other identity: `n,,` in base64.
const NO_BINDING: &str = "biws";

/// How to prove who one is (`sasl.mechanism`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Mechanism {
    /// The password as it is: for encrypted connections only.
    Plain,
    /// A proof that the password is known, by SHA-256.
    ScramSha256,
    /// The same by SHA-512.
    ScramSha512,
}

impl Mechanism {
    /// All that are spoken here.
    pub const ALL: [Mechanism; 3] =
        [Mechanism::Plain, Mechanism::ScramSha256, Mechanism::ScramSha512];

    /// Its registered name.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Plain => "PLAIN",
            Mechanism::ScramSha256 => "SCRAM-SHA-256",
            Mechanism::ScramSha512 => "SCRAM-SHA-512",
        }
    }

    /// The mechanism of this name.
    pub fn from_name(name: &str) -> Option<Mechanism> {
        Mechanism::ALL.into_iter().find(|mechanism| mechanism.name() == name)
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why an exchange failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaslError {
    /// The user name or the password cannot be sent.
    #[error("the {what} {reason}")]
    Credentials {
        /// Which of both.
        what: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The server's message is longer than any that makes sense.
    #[error("the server's message of {0} bytes is too long")]
    TooLong(usize),
    /// The server's message does not have the form it must have.
    #[error("the server's message cannot be read: {0}")]
    Malformed(&'static str),
    /// The server's nonce does not continue ours: its message belongs to another exchange.
    #[error("the server's nonce does not extend this client's")]
    Nonce,
    /// The server asks for so few iterations that the proof would give the password away, or for
    /// so many that computing them is an attack.
    #[error("the server asks for {0} iterations, not {ITERATIONS_MIN} to {ITERATIONS_MAX}")]
    Iterations(u64),
    /// The server demands an extension that this client does not know.
    #[error("the server demands an extension that is not known here")]
    Extension,
    /// The server names an error itself.
    #[error("the server answers {0}")]
    Server(ServerError),
    /// The server did not prove that it knows the password.
    #[error("the server's signature is wrong: it does not know the password")]
    Signature,
    /// The server speaks where nothing is to be said any more.
    #[error("the server goes on after the end")]
    OutOfTurn,
}

/// An error as a SCRAM server names it (RFC 5802, section 7).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ServerError {
    /// `invalid-encoding`
    InvalidEncoding,
    /// `extensions-not-supported`
    ExtensionsNotSupported,
    /// `invalid-proof`: usually a wrong password.
    InvalidProof,
    /// `channel-bindings-dont-match`
    ChannelBindingsDontMatch,
    /// `server-does-support-channel-binding`
    ServerDoesSupportChannelBinding,
    /// `channel-binding-not-supported`
    ChannelBindingNotSupported,
    /// `unsupported-channel-binding-type`
    UnsupportedChannelBindingType,
    /// `unknown-user`
    UnknownUser,
    /// `invalid-username-encoding`
    InvalidUsernameEncoding,
    /// `no-resources`
    NoResources,
    /// `other-error`
    OtherError,
    /// Any other, without what is not printable, and not all of it when it is long.
    Other(String),
}

/// Names of the errors that RFC 5802 knows.
const SERVER_ERRORS: [(&str, ServerError); 11] = [
    ("invalid-encoding", ServerError::InvalidEncoding),
    ("extensions-not-supported", ServerError::ExtensionsNotSupported),
    ("invalid-proof", ServerError::InvalidProof),
    ("channel-bindings-dont-match", ServerError::ChannelBindingsDontMatch),
    ("server-does-support-channel-binding", ServerError::ServerDoesSupportChannelBinding),
    ("channel-binding-not-supported", ServerError::ChannelBindingNotSupported),
    ("unsupported-channel-binding-type", ServerError::UnsupportedChannelBindingType),
    ("unknown-user", ServerError::UnknownUser),
    ("invalid-username-encoding", ServerError::InvalidUsernameEncoding),
    ("no-resources", ServerError::NoResources),
    ("other-error", ServerError::OtherError),
];

impl ServerError {
    fn from_words(words: &str) -> ServerError {
        let known = SERVER_ERRORS.into_iter().find(|(name, _)| *name == words);
        known.map_or_else(|| ServerError::Other(printable(words)), |(_, error)| error)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerError::Other(words) => f.write_str(words),
            error => {
                let known = SERVER_ERRORS.iter().find(|(_, known)| known == error);
                f.write_str(known.map_or("", |(name, _)| name))
            }
        }
    }
}

/// The beginning of `words`, fit for a log.
fn printable(words: &str) -> String {
    words.chars().filter(|c| !c.is_control()).take(WORDS_MAX).collect()
}

/// What to do after a server's message.
#[derive(PartialEq, Eq)]
pub enum Step {
    /// Send this.
    Send(Vec<u8>),
    /// This side is done; with SCRAM the server has proved itself.
    Done,
}

/// One exchange with a server, begun by the client.
pub struct Exchange {
    state: State,
}

enum State {
    /// PLAIN was sent.
    Plain,
    /// SCRAM: our nonce was sent.
    First {
        hash: Hash,
        nonce: String,
        bare: String,
        password: String,
    },
    /// SCRAM: our proof was sent.
    Final {
        hash: Hash,
        server_key: Vec<u8>,
        auth_message: String,
    },
    Done,
    Failed,
}

#[derive(Clone, Copy)]
enum Hash {
    Sha256,
    Sha512,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Plain => "plain",
            State::First { .. } => "first",
            State::Final { .. } => "final",
            State::Done => "done",
            State::Failed => "failed",
        };
        f.debug_struct("Exchange").field("state", &state).finish_non_exhaustive()
    }
}

impl Exchange {
    /// Begins; gives the first message. `random` must never have been used before.
    pub fn begin(
        mechanism: Mechanism,
        username: &str,
        password: &str,
        random: [u8; RANDOM_LEN],
    ) -> Result<(Exchange, Vec<u8>), SaslError> {
        // Base64 has no comma, which is all that a nonce must not have.
        Exchange::with_nonce(mechanism, username, password, BASE64.encode(random))
    }

    fn with_nonce(
        mechanism: Mechanism,
        username: &str,
        password: &str,
        nonce: String,
    ) -> Result<(Exchange, Vec<u8>), SaslError> {
        check("user name", username)?;
        check("password", password)?;
        let hash = match mechanism {
            Mechanism::Plain => {
                let message = ["", username, password].join("\0").into_bytes();
                return Ok((Exchange { state: State::Plain }, message));
            }
            Mechanism::ScramSha256 => Hash::Sha256,
            Mechanism::ScramSha512 => Hash::Sha512,
        };
        let name = username.replace('=', "=3D").replace(',', "=2C");
        let bare = format!("n={name},r={nonce}");
        let message = format!("n,,{bare}").into_bytes();
        let state = State::First { hash, nonce, bare, password: password.to_owned() };
        Ok((Exchange { state }, message))
    }

    /// Takes the server's message. After an error, and after [`Step::Done`], nothing is expected
    /// any more.
    pub fn step(&mut self, message: &[u8]) -> Result<Step, SaslError> {
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Plain => {
                // RFC 4616 has no answer; what a server says with its consent means nothing.
                self.state = State::Done;
                Ok(Step::Done)
            }
            State::First { hash, nonce, bare, password } => {
                let text = readable(message)?;
                let first = ServerFirst::parse(text, &nonce)?;
                let without_proof = format!("c={NO_BINDING},r={}", first.nonce);
                let auth_message = format!("{bare},{text},{without_proof}");
                let (proof, server_key) = match hash {
                    Hash::Sha256 => prove::<Sha256>(&password, &first, &auth_message),
                    Hash::Sha512 => prove::<Sha512>(&password, &first, &auth_message),
                };
                self.state = State::Final { hash, server_key, auth_message };
                Ok(Step::Send(format!("{without_proof},p={}", BASE64.encode(proof)).into_bytes()))
            }
            State::Final { hash, server_key, auth_message } => {
                let signature = server_signature(readable(message)?)?;
                let is_right = match hash {
                    Hash::Sha256 => is_signed::<Sha256>(&server_key, &auth_message, &signature),
                    Hash::Sha512 => is_signed::<Sha512>(&server_key, &auth_message, &signature),
                };
                if !is_right {
                    return Err(SaslError::Signature);
                }
                self.state = State::Done;
                Ok(Step::Done)
            }
            State::Done | State::Failed => Err(SaslError::OutOfTurn),
        }
    }
}

fn check(what: &'static str, text: &str) -> Result<(), SaslError> {
    let wrong = |reason| Err(SaslError::Credentials { what, reason });
    match text {
        "" => wrong("is empty"),
        text if text.contains('\0') => wrong("contains a zero byte"),
        text if text.len() > MESSAGE_MAX / 8 => wrong("is longer than 1024 bytes"),
        _ => Ok(()),
    }
}

fn readable(message: &[u8]) -> Result<&str, SaslError> {
    if message.len() > MESSAGE_MAX {
        return Err(SaslError::TooLong(message.len()));
    }
    std::str::from_utf8(message).map_err(|_| SaslError::Malformed("it is not UTF-8"))
}

/// The server's first message: `r=...,s=...,i=...`, perhaps with extensions behind.
struct ServerFirst<'a> {
    nonce: &'a str,
    salt: Vec<u8>,
    iterations: u32,
}

impl<'a> ServerFirst<'a> {
    fn parse(text: &'a str, ours: &str) -> Result<ServerFirst<'a>, SaslError> {
        let mut attributes = text.split(',');
        let first = attributes.next().unwrap_or_default();
        if let Some(words) = first.strip_prefix("e=") {
            return Err(SaslError::Server(ServerError::from_words(words)));
        }
        // An extension that must be understood comes before everything else.
        if first.starts_with("m=") {
            return Err(SaslError::Extension);
        }
        let nonce = first.strip_prefix("r=").ok_or(SaslError::Malformed("no nonce"))?;
        let added = nonce.strip_prefix(ours).ok_or(SaslError::Nonce)?;
        if added.is_empty() {
            return Err(SaslError::Nonce);
        }
        if !added.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SaslError::Malformed("the nonce is not printable"));
        }
        let salt = attributes.next().and_then(|attribute| attribute.strip_prefix("s="));
        let salt = salt.ok_or(SaslError::Malformed("no salt"))?;
        let salt =
            BASE64.decode(salt).map_err(|_| SaslError::Malformed("the salt is not base64"))?;
        if salt.is_empty() || salt.len() > SALT_MAX {
            return Err(SaslError::Malformed("the salt is empty or too long"));
        }
        let count = attributes.next().and_then(|attribute| attribute.strip_prefix("i="));
        let count = count.ok_or(SaslError::Malformed("no iteration count"))?;
        // A sign, which parsing would take, has no place here.
        if count.is_empty() || !count.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(SaslError::Malformed("the iteration count is not a number"));
        }
        let count: u64 = count.parse().unwrap_or(u64::MAX);
        let iterations = u32::try_from(count)
            .ok()
            .filter(|count| (ITERATIONS_MIN..=ITERATIONS_MAX).contains(count))
            .ok_or(SaslError::Iterations(count))?;
        extensions(attributes)?;
        Ok(ServerFirst { nonce, salt, iterations })
    }
}

/// Extensions may follow and may be ignored, but they have a form.
fn extensions<'a>(mut attributes: impl Iterator<Item = &'a str>) -> Result<(), SaslError> {
    let is_extension = |attribute: &str| {
        let bytes = attribute.as_bytes();
        bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b'='
    };
    match attributes.all(is_extension) {
        true => Ok(()),
        false => Err(SaslError::Malformed("what follows is not an extension")),
    }
}

/// The signature in the server's last message, `v=...` or `e=...`.
fn server_signature(text: &str) -> Result<Vec<u8>, SaslError> {
    let mut attributes = text.split(',');
    let first = attributes.next().unwrap_or_default();
    if let Some(words) = first.strip_prefix("e=") {
        return Err(SaslError::Server(ServerError::from_words(words)));
    }
    let signature = first.strip_prefix("v=").ok_or(SaslError::Malformed("no signature"))?;
    let signature = BASE64
        .decode(signature)
        .map_err(|_| SaslError::Malformed("the signature is not base64"))?;
    extensions(attributes)?;
    Ok(signature)
}

/// What a broker keeps of a password for a mechanism; nothing for PLAIN, which keeps the password.
pub fn salted_password(
    mechanism: Mechanism,
    password: &str,
    salt: &[u8],
    iterations: u32,
) -> Vec<u8> {
    match mechanism {
        Mechanism::Plain => Vec::new(),
        Mechanism::ScramSha256 => salted::<Sha256>(password, salt, iterations),
        Mechanism::ScramSha512 => salted::<Sha512>(password, salt, iterations),
    }
}

fn salted<D: EagerHash + Digest>(password: &str, salt: &[u8], iterations: u32) -> Vec<u8> {
    let mut salted = vec![0; <D as Digest>::output_size()];
    pbkdf2::pbkdf2_hmac::<D>(password.as_bytes(), salt, iterations, &mut salted);
    salted
}

/// The client's proof, and the key that the server signs with.
fn prove<D: EagerHash + Digest>(
    password: &str,
    first: &ServerFirst<'_>,
    auth_message: &str,
) -> (Vec<u8>, Vec<u8>) {
    let salted = salted::<D>(password, &first.salt, first.iterations);
    let client_key = digest_of(keyed::<D>(&salted).chain_update("Client Key"));
    let stored_key = D::digest(&client_key);
    let mut proof = digest_of(keyed::<D>(&stored_key).chain_update(auth_message));
    proof.iter_mut().zip(&client_key).for_each(|(byte, key)| *byte ^= key);
    (proof, digest_of(keyed::<D>(&salted).chain_update("Server Key")))
}

/// Whether the server signed; takes the same time however much of the signature is right.
fn is_signed<D: EagerHash>(server_key: &[u8], auth_message: &str, signature: &[u8]) -> bool {
    keyed::<D>(server_key).chain_update(auth_message).verify_slice(signature).is_ok()
}

/// HMAC with a key that is a digest, and so never longer than a block.
fn keyed<D: EagerHash>(key: &[u8]) -> Hmac<D> {
    // Short keys are filled up with zeros to a block: what HMAC does with them itself.
    let mut block = hmac::digest::Key::<Hmac<D>>::default();
    block.iter_mut().zip(key).for_each(|(byte, key)| *byte = *key);
    <Hmac<D> as KeyInit>::new(&block)
}

fn digest_of(mac: impl Mac) -> Vec<u8> {
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const FIRST: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                         s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    fn begin(mechanism: Mechanism) -> Exchange {
        let begun = Exchange::with_nonce(mechanism, "user", "pencil", NONCE.into());
        let (exchange, message) = begun.unwrap();
        assert_eq!(message, b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        exchange
    }

    fn sent(step: Result<Step, SaslError>) -> String {
        match step {
            Ok(Step::Send(message)) => String::from_utf8(message).unwrap(),
            Ok(Step::Done) => panic!("done too soon"),
            Err(error) => panic!("{error}"),
        }
    }

    fn fails(step: Result<Step, SaslError>) -> SaslError {
        match step {
            Ok(_) => panic!("believed"),
            Err(error) => error,
        }
    }

    #[test]
    fn plain_is_one_message() {
        let begun = Exchange::begin(Mechanism::Plain, "tim", "tanstaaf=,tanstaaf", [0; 24]);
        let (mut exchange, message) = begun.unwrap();
        assert_eq!(message, b"\0tim\0tanstaaf=,tanstaaf");
        assert!(exchange.step(b"").unwrap() == Step::Done);
        assert_eq!(fails(exchange.step(b"")), SaslError::OutOfTurn);
    }

    #[test]
    fn scram_sha_256_as_in_rfc_7677() {
        let mut exchange = begin(Mechanism::ScramSha256);
        assert_eq!(
            sent(exchange.step(FIRST.as_bytes())),
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        let last = exchange.step(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        assert!(last.unwrap() == Step::Done);
        assert_eq!(fails(exchange.step(b"v=")), SaslError::OutOfTurn);
    }

    /// The same exchange by SHA-512; there is no RFC with a vector, these values come from another
    /// implementation.
    #[test]
    fn scram_sha_512() {
        let mut exchange = begin(Mechanism::ScramSha512);
        assert_eq!(
            sent(exchange.step(FIRST.as_bytes())),
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=gMGXRcevScNtxZ6/8lQYpGtnsNAc3mGcmNomv+xnoOMw+3R2xNJdMNnzMlTN8PPC6wdp6dybEmDYXYTxwnYPJQ=="
        );
        let last = exchange.step(
            b"v=ZQnYEgWQMFmmsM8aQMF0nDDCy/AgCzkwk8CmMZYcMg0vSVlKDanekLtifDSeVGT4+5ZxXnJq199RVG2rR7N7Zw==",
        );
        assert!(last.unwrap() == Step::Done);
    }

    /// A name with characters that are escaped, and a password longer than a block of the hash.
    #[test]
    fn names_are_escaped_and_long_passwords_are_taken_whole() {
        let password = "p,=\u{e9}".repeat(60);
        let begun = Exchange::with_nonce(Mechanism::ScramSha512, "a=b,c", &password, NONCE.into());
        let (mut exchange, message) = begun.unwrap();
        assert_eq!(message, b"n,,n=a=3Db=2Cc,r=rOprNGfwEbeRWgbNEkqO");
        assert_eq!(
            sent(exchange.step(FIRST.replace("4096", "8192").as_bytes())),
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=cMgL7iBf4/nNjAcp/38HzojIxp22dY4hdkere2byqrZyiA5s/7BqHK2l7ND2Ay66OmpvTpxeNagrC3gnIQgzQg=="
        );
    }

    #[test]
    fn nonces_come_from_the_randomness_given() {
        let first = |random| {
            let begun = Exchange::begin(Mechanism::ScramSha256, "u", "p", random);
            begun.unwrap().1
        };
        assert_eq!(first([0; 24]), first([0; 24]));
        assert_ne!(first([0; 24]), first([1; 24]));
        assert_eq!(first([255; 24]), *b"n,,n=u,r=////////////////////////////////");
    }

    #[test]
    fn credentials_that_cannot_be_sent() {
        let long = "x".repeat(1025);
        for (username, password, text) in [
            ("", "p", "the user name is empty"),
            ("u", "", "the password is empty"),
            ("u\0v", "p", "the user name contains a zero byte"),
            ("u", "p\0", "the password contains a zero byte"),
            ("u", &*long, "the password is longer than 1024 bytes"),
        ] {
            for mechanism in Mechanism::ALL {
                let begun = Exchange::begin(mechanism, username, password, [0; 24]);
                assert_eq!(begun.unwrap_err().to_string(), text);
            }
        }
    }

    #[test]
    fn hostile_first_messages() {
        use SaslError::*;
        let malformed = Malformed;
        let salt = "s=W22ZaJ0SNY7soEsUEjb6gQ==";
        let long_salt = format!("r={NONCE}x,s={},i=4096", BASE64.encode([7; 1025]));
        let long = format!("r={NONCE}{}", "x".repeat(MESSAGE_MAX));
        let cases: Vec<(String, SaslError)> = vec![
            (String::new(), malformed("no nonce")),
            ("r=".into(), Nonce),
            (format!("r={NONCE},{salt},i=4096"), Nonce),
            (format!("r=other,{salt},i=4096"), Nonce),
            (format!("r=x{NONCE}x,{salt},i=4096"), Nonce),
            (format!("r={NONCE}\u{7f},{salt},i=4096"), malformed("the nonce is not printable")),
            (format!("r={NONCE} x,{salt},i=4096"), malformed("the nonce is not printable")),
            (format!("m=x,r={NONCE}x,{salt},i=4096"), Extension),
            (format!("r={NONCE}x"), malformed("no salt")),
            (format!("r={NONCE}x,i=4096,{salt}"), malformed("no salt")),
            (format!("r={NONCE}x,s=,i=4096"), malformed("the salt is empty or too long")),
            (format!("r={NONCE}x,s=A,i=4096"), malformed("the salt is not base64")),
            (format!("r={NONCE}x,s=W22Z*J0S,i=4096"), malformed("the salt is not base64")),
            (long_salt, malformed("the salt is empty or too long")),
            (format!("r={NONCE}x,{salt}"), malformed("no iteration count")),
            (format!("r={NONCE}x,{salt},i="), malformed("the iteration count is not a number")),
            (
                format!("r={NONCE}x,{salt},i=-4096"),
                malformed("the iteration count is not a number"),
            ),
            (
                format!("r={NONCE}x,{salt},i=+4096"),
                malformed("the iteration count is not a number"),
            ),
            (format!("r={NONCE}x,{salt},i=0"), Iterations(0)),
            (format!("r={NONCE}x,{salt},i=4095"), Iterations(4095)),
            (format!("r={NONCE}x,{salt},i=131073"), Iterations(131_073)),
            (format!("r={NONCE}x,{salt},i=4294971392"), Iterations(4_294_971_392)),
            (format!("r={NONCE}x,{salt},i={}", "9".repeat(40)), Iterations(u64::MAX)),
            (format!("r={NONCE}x,{salt},i=4096,"), malformed("what follows is not an extension")),
            (
                format!("r={NONCE}x,{salt},i=4096,1=x"),
                malformed("what follows is not an extension"),
            ),
            ("e=unknown-user".into(), Server(ServerError::UnknownUser)),
            ("e=in\u{1b}[31mvented".into(), Server(ServerError::Other("in[31mvented".into()))),
            (long.clone(), TooLong(long.len())),
        ];
        for (message, expected) in cases {
            let mut exchange = begin(Mechanism::ScramSha256);
            assert_eq!(fails(exchange.step(message.as_bytes())), expected, "{message}");
            // Nothing more is said to a server that failed once.
            assert_eq!(fails(exchange.step(FIRST.as_bytes())), OutOfTurn);
        }
        let mut exchange = begin(Mechanism::ScramSha256);
        assert_eq!(fails(exchange.step(&[0xff, 0xfe])), malformed("it is not UTF-8"));
    }

    #[test]
    fn servers_that_do_not_know_the_password() {
        use SaslError::*;
        let wrong = BASE64.encode([0; 32]);
        for (message, expected) in [
            (String::new(), Malformed("no signature")),
            ("v=".into(), Signature),
            ("v=%".into(), Malformed("the signature is not base64")),
            (format!("v={wrong}"), Signature),
            // Right but for the last byte, then too short, then too long.
            ("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G8=".into(), Signature),
            ("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95A==".into(), Signature),
            ("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4A".into(), Signature),
            (FIRST.into(), Malformed("no signature")),
            ("e=invalid-proof".into(), Server(ServerError::InvalidProof)),
            ("e=other-error,x=y".into(), Server(ServerError::OtherError)),
        ] {
            let mut exchange = begin(Mechanism::ScramSha256);
            sent(exchange.step(FIRST.as_bytes()));
            assert_eq!(fails(exchange.step(message.as_bytes())), expected, "{message}");
        }
    }

    #[test]
    fn errors_are_named_as_servers_name_them() {
        for (name, error) in SERVER_ERRORS {
            assert_eq!(ServerError::from_words(name), error);
            assert_eq!(error.to_string(), name);
        }
        let long = ServerError::from_words(&"x".repeat(1000)).to_string();
        assert_eq!(long.len(), WORDS_MAX);
    }

    #[test]
    fn cut_and_changed_messages_never_panic() {
        for at in 0..FIRST.len() {
            begin(Mechanism::ScramSha256).step(&FIRST.as_bytes()[..at]).err();
            for byte in [0, b',', b'='] {
                let mut message = FIRST.as_bytes().to_vec();
                message[at] = byte;
                begin(Mechanism::ScramSha256).step(&message).err();
            }
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let begun = Exchange::begin(Mechanism::ScramSha256, "user", "pencil", [0; 24]);
        let (exchange, _) = begun.unwrap();
        assert!(!format!("{exchange:?}").contains("pencil"));
    }

    #[test]
    fn mechanisms_have_their_registered_names() {
        for mechanism in Mechanism::ALL {
            assert_eq!(Mechanism::from_name(mechanism.name()), Some(mechanism));
        }
        assert_eq!(Mechanism::from_name("GSSAPI"), None);
    }
}
