//! Logging in on a connection: the requests that carry SASL (SaslHandshake from version 1 on, then
//! SaslAuthenticate until both sides are done), and when to do it again (KIP-368).

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use thalweg_wire::messages::{
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use thalweg_wire::{ApiKey, DecodeError, EncodeError, ErrorCode, Message, Reader, Request, Writer};

use crate::pipeline;
use crate::sasl::{Exchange, Mechanism, RANDOM_LEN, SaslError, Step};
use crate::versions::{ApiVersions, VersionError};

/// Version of SaslHandshake; after version 0 tokens would be sent bare, not as requests.
const HANDSHAKE_VERSION: i16 = 1;
/// Messages of a mechanism; none has more than a few, and a server must not be able to go on.
const ROUNDS_MAX: u32 = 8;
/// A session is renewed after this part of its life at the earliest, as Kafka's client does...
const RENEW_FROM_PERCENT: u64 = 85;
/// ...and at most this much later, so that not all connections do it at once.
const RENEW_SPREAD_PERCENT: u64 = 10;

/// Why logging in failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoginError {
    /// The broker does not speak the requests that it takes.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// An answer cannot be read.
    #[error("{api} version {version}: {source}")]
    Decode {
        /// The API.
        api: ApiKey,
        /// The answer's version.
        version: i16,
        /// Why.
        source: DecodeError,
    },
    /// The broker does not offer the mechanism on this listener.
    #[error("mechanism {wanted} is not offered, only {}", offered.join(", "))]
    Mechanism {
        /// What was asked for.
        wanted: Mechanism,
        /// What is offered.
        offered: Vec<String>,
    },
    /// The broker refuses.
    #[error("answered with {code:?}")]
    Refused {
        /// The API that was answered.
        api: ApiKey,
        /// The code.
        code: ErrorCode,
        /// The broker's words.
        message: Option<String>,
    },
    /// The mechanism failed.
    #[error(transparent)]
    Sasl(#[from] SaslError),
}

/// What to do after an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Send what [`Login::request`] gives.
    Again,
    /// Logged in, for as long as this; `None` for good.
    Done(Option<Duration>),
}

/// One login, without I/O.
pub struct Login {
    mechanism: Mechanism,
    exchange: Exchange,
    /// The next message of the mechanism.
    token: Vec<u8>,
    is_greeted: bool,
    rounds: u32,
    version: i16,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token may be the password.
        f.debug_struct("Login")
            .field("mechanism", &self.mechanism)
            .field("exchange", &self.exchange)
            .finish_non_exhaustive()
    }
}

impl Login {
    /// Begins. `random` must never have been used before.
    pub fn begin(
        mechanism: Mechanism,
        username: &str,
        password: &str,
        random: [u8; RANDOM_LEN],
        versions: &ApiVersions,
    ) -> Result<Login, LoginError> {
        let only = HANDSHAKE_VERSION..=HANDSHAKE_VERSION;
        versions.pick(SaslHandshakeRequest::API_KEY, only)?;
        let version = versions.pick_for::<SaslAuthenticateRequest>()?;
        let (exchange, token) = Exchange::begin(mechanism, username, password, random)?;
        Ok(Login { mechanism, exchange, token, is_greeted: false, rounds: 0, version })
    }

    /// Whether the next answer takes long to compute with: worth another thread.
    pub fn is_costly(&self) -> bool {
        self.is_greeted && self.rounds == 1 && self.mechanism != Mechanism::Plain
    }

    /// Writes the next request as a frame; gives its API and version.
    pub fn request(
        &mut self,
        w: &mut Writer,
        client_id: &str,
    ) -> Result<(ApiKey, i16), (ApiKey, i16, EncodeError)> {
        if !self.is_greeted {
            let request = SaslHandshakeRequest { mechanism: self.mechanism.name().into() };
            let sent = (SaslHandshakeRequest::API_KEY, HANDSHAKE_VERSION);
            return pipeline::encode_request(w, &request, sent.1, client_id)
                .map(|()| sent)
                .map_err(|source| (sent.0, sent.1, source));
        }
        self.rounds += 1;
        let request = SaslAuthenticateRequest {
            auth_bytes: std::mem::take(&mut self.token).into(),
            ..SaslAuthenticateRequest::default()
        };
        let sent = (SaslAuthenticateRequest::API_KEY, self.version);
        pipeline::encode_request(w, &request, sent.1, client_id)
            .map(|()| sent)
            .map_err(|source| (sent.0, sent.1, source))
    }

    /// Takes the answer's body.
    pub fn on_response(&mut self, body: &Bytes) -> Result<Progress, LoginError> {
        if !self.is_greeted {
            let response: SaslHandshakeResponse =
                decode(SaslHandshakeRequest::API_KEY, body, HANDSHAKE_VERSION)?;
            match response.error_code {
                ErrorCode::NONE => {}
                ErrorCode::UNSUPPORTED_SASL_MECHANISM => {
                    let offered = response.mechanisms;
                    return Err(LoginError::Mechanism { wanted: self.mechanism, offered });
                }
                code => {
                    let api = SaslHandshakeRequest::API_KEY;
                    return Err(LoginError::Refused { api, code, message: None });
                }
            }
            self.is_greeted = true;
            return Ok(Progress::Again);
        }
        let response: SaslAuthenticateResponse =
            decode(SaslAuthenticateRequest::API_KEY, body, self.version)?;
        if response.error_code != ErrorCode::NONE {
            return Err(LoginError::Refused {
                api: SaslAuthenticateRequest::API_KEY,
                code: response.error_code,
                message: response.error_message.filter(|message| !message.is_empty()),
            });
        }
        match self.exchange.step(&response.auth_bytes)? {
            Step::Send(token) if self.rounds < ROUNDS_MAX => {
                self.token = token;
                Ok(Progress::Again)
            }
            Step::Send(_) => Err(SaslError::OutOfTurn.into()),
            Step::Done => {
                let lifetime = u64::try_from(response.session_lifetime_ms).unwrap_or(0);
                Ok(Progress::Done((lifetime > 0).then(|| Duration::from_millis(lifetime))))
            }
        }
    }
}

fn decode<M: Message>(api: ApiKey, body: &Bytes, version: i16) -> Result<M, LoginError> {
    M::decode(&mut Reader::shared(body), version).map_err(|source| LoginError::Decode {
        api,
        version,
        source,
    })
}

/// When in its life to renew a session: at 85 to 95 percent, by chance.
pub fn renew_after(lifetime: Duration, random: u8) -> Duration {
    let ms = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
    let percent_of = |percent| ms / 100 * percent + ms % 100 * percent / 100;
    let spread = percent_of(RENEW_SPREAD_PERCENT);
    let later = spread / 255 * u64::from(random) + spread % 255 * u64::from(random) / 255;
    Duration::from_millis(percent_of(RENEW_FROM_PERCENT).saturating_add(later))
}

#[cfg(test)]
mod tests {
    use thalweg_wire::messages::ApiVersionsResponse;
    use thalweg_wire::messages::api_versions_response::ApiVersion;

    use super::*;

    fn versions(ranges: &[(ApiKey, i16, i16)]) -> ApiVersions {
        ApiVersions::from_response(&ApiVersionsResponse {
            api_keys: ranges
                .iter()
                .map(|&(api, min_version, max_version)| ApiVersion {
                    api_key: api.0,
                    min_version,
                    max_version,
                    ..ApiVersion::default()
                })
                .collect(),
            ..ApiVersionsResponse::default()
        })
    }

    fn usual() -> ApiVersions {
        let authenticate = SaslAuthenticateRequest::API_KEY;
        versions(&[(SaslHandshakeRequest::API_KEY, 0, 1), (authenticate, 0, 2)])
    }

    fn login() -> Login {
        Login::begin(Mechanism::Plain, "u", "p", [0; RANDOM_LEN], &usual()).unwrap()
    }

    fn body(message: &impl Message, version: i16) -> Bytes {
        let mut w = Writer::new();
        message.encode(&mut w, version).unwrap();
        w.to_vec().into()
    }

    fn greeting(code: ErrorCode) -> Bytes {
        let mechanisms = vec!["SCRAM-SHA-256".into(), "GSSAPI".into()];
        body(&SaslHandshakeResponse { error_code: code, mechanisms }, 1)
    }

    fn consent(code: ErrorCode, words: Option<&str>, session_lifetime_ms: i64) -> Bytes {
        let response = SaslAuthenticateResponse {
            error_code: code,
            error_message: words.map(str::to_owned),
            session_lifetime_ms,
            ..SaslAuthenticateResponse::default()
        };
        body(&response, 2)
    }

    #[test]
    fn handshake_then_tokens() {
        let mut login = login();
        let mut w = Writer::new();
        assert_eq!(login.request(&mut w, "me").unwrap(), (ApiKey::SASL_HANDSHAKE, 1));
        assert_eq!(login.on_response(&greeting(ErrorCode::NONE)), Ok(Progress::Again));
        let mut w = Writer::new();
        assert_eq!(login.request(&mut w, "me").unwrap(), (ApiKey::SASL_AUTHENTICATE, 2));
        assert!(w.to_vec().windows(4).any(|part| part == b"\0u\0p"));
        let done = login.on_response(&consent(ErrorCode::NONE, None, 1500));
        assert_eq!(done, Ok(Progress::Done(Some(Duration::from_millis(1500)))));
    }

    #[test]
    fn sessions_without_an_end() {
        for lifetime in [0, -1, i64::MIN] {
            let mut login = login();
            login.on_response(&greeting(ErrorCode::NONE)).unwrap();
            let done = login.on_response(&consent(ErrorCode::NONE, None, lifetime));
            assert_eq!(done, Ok(Progress::Done(None)));
        }
    }

    #[test]
    fn what_a_broker_refuses() {
        let code = ErrorCode::UNSUPPORTED_SASL_MECHANISM;
        let error = login().on_response(&greeting(code)).unwrap_err();
        assert_eq!(error.to_string(), "mechanism PLAIN is not offered, only SCRAM-SHA-256, GSSAPI");
        let mut login = login();
        login.on_response(&greeting(ErrorCode::NONE)).unwrap();
        let code = ErrorCode::SASL_AUTHENTICATION_FAILED;
        let error = login.on_response(&consent(code, Some("no such user"), 0)).unwrap_err();
        let LoginError::Refused { message, .. } = error else { panic!("{error}") };
        assert_eq!(message.as_deref(), Some("no such user"));
    }

    #[test]
    fn brokers_that_do_not_speak_it() {
        let begin = |ranges: &[(ApiKey, i16, i16)]| {
            let versions = versions(ranges);
            Login::begin(Mechanism::Plain, "u", "p", [0; RANDOM_LEN], &versions).unwrap_err()
        };
        assert!(matches!(begin(&[]), LoginError::Version(VersionError::Missing(_))));
        let bare = begin(&[(ApiKey::SASL_HANDSHAKE, 0, 0), (ApiKey::SASL_AUTHENTICATE, 0, 2)]);
        assert!(matches!(bare, LoginError::Version(VersionError::Disjoint { .. })));
    }

    #[test]
    fn cut_answers_are_errors() {
        let answer = greeting(ErrorCode::NONE);
        for len in 0..answer.len() {
            assert!(login().on_response(&answer.slice(..len)).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn sessions_are_renewed_before_they_end() {
        let ms = Duration::from_millis;
        assert_eq!(renew_after(ms(10_000), 0), ms(8_500));
        assert_eq!(renew_after(ms(10_000), 255), ms(9_500));
        assert_eq!(renew_after(ms(1), 255), ms(0));
        let longest = ms(i64::MAX as u64);
        for random in [0, 127, 255] {
            assert!(renew_after(longest, random) < longest);
            assert!(renew_after(longest, random) > longest / 100 * 84);
        }
    }
}
