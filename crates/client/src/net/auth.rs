//! Logging in on a connection that somebody else drives, and doing so again before the session ends
//! (KIP-368). The messages are `thalweg_connection::login`'s; this brings what it must not have: the clock,
//! chance, and a thread for what takes long to compute.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use thalweg_connection::login::{self, Progress};
use thalweg_connection::sasl::RANDOM_LEN;
use thalweg_connection::{ApiVersions, Login, LoginError, SaslError};
use thalweg_wire::messages::ApiVersionsRequest;
use thalweg_wire::{ApiKey, ErrorCode, Writer, secret};
use tokio::time::{Instant, timeout};

use super::frames;
use crate::error::{AuthenticationError, Error};
use crate::options::{Options, SaslOptions, bounded};

/// Shortest session that is believed.
const LIFETIME_MIN: Duration = Duration::from_millis(100);

/// Whoever drives a connection, as far as a login needs it. Nothing else may be sent between the
/// first request of a login and its last answer; what was sent before may still be answered.
pub(crate) trait Ask: Send {
    fn addr(&self) -> &Arc<str>;

    /// What the broker speaks.
    fn versions(&self) -> &Arc<ApiVersions>;

    /// As whom the connection is logged in.
    fn session(&mut self) -> &mut SaslSession;

    /// Sends a request's frame, its correlation id still 0; gives the answer's body.
    fn ask(
        &mut self,
        frame: Writer,
        api: ApiKey,
        version: i16,
    ) -> impl Future<Output = Result<Bytes, Error>> + Send;
}

/// As whom a connection is logged in, and until when.
#[derive(Debug, Default)]
pub(crate) struct SaslSession {
    sasl: Option<SaslOptions>,
    client_id: Arc<str>,
    renew_at: Option<Instant>,
    ends_at: Option<Instant>,
}

impl SaslSession {
    /// Not logged in yet.
    pub fn new(options: &Options) -> SaslSession {
        let sasl = options.sasl.clone();
        SaslSession { sasl, client_id: options.client_id.clone(), ..SaslSession::default() }
    }

    /// Whether to log in again before anything else is sent: the broker closes a connection on
    /// which something comes after the session's end.
    pub fn is_due(&self) -> bool {
        self.renew_at.is_some_and(|at| Instant::now() >= at)
    }

    /// When to log in again.
    pub fn renew_at(&self) -> Option<Instant> {
        self.renew_at
    }

    /// When the session ends.
    pub fn ends_at(&self) -> Option<Instant> {
        self.ends_at
    }

    async fn log_in(&mut self, on: &mut impl Ask, versions: &ApiVersions) -> Result<(), Error> {
        let Some(sasl) = self.sasl.clone() else { return Ok(()) };
        let addr = on.addr().clone();
        let failed = |error| into_error(&addr, error, &sasl.password);
        let (nonce, jitter) = random(&addr)?;
        let mechanism = sasl.mechanism;
        let mut login = Login::begin(mechanism, &sasl.username, &sasl.password, nonce, versions)
            .map_err(failed)?;
        loop {
            let mut frame = Writer::new();
            let (api, version) =
                login.request(&mut frame, &self.client_id).map_err(|(api, version, source)| {
                    Error::Encode { addr: addr.clone(), api, version, source }
                })?;
            let body = on.ask(frame, api, version).await?;
            let progress;
            (login, progress) = respond(login, body, &addr).await?;
            if let Progress::Done(lifetime) = progress.map_err(failed)? {
                // Less would be nothing but logging in.
                let lifetime = lifetime.map(|time| time.max(LIFETIME_MIN));
                let now = Instant::now();
                let after = |time| now.checked_add(time);
                self.ends_at = lifetime.and_then(after);
                self.renew_at = lifetime.and_then(|time| after(login::renew_after(time, jitter)));
                return Ok(());
            }
        }
    }
}

/// Logs in for the first time; nothing without SASL.
pub(crate) async fn log_in(on: &mut impl Ask) -> Result<(), Error> {
    let versions = Arc::clone(on.versions());
    let mut session = std::mem::take(on.session());
    let done = session.log_in(on, &versions).await;
    *on.session() = session;
    done
}

/// Logs in again if it is time to, within `after`. After an error the connection is of no more use.
pub(crate) async fn log_in_if_due(on: &mut impl Ask, after: Duration) -> Result<(), Error> {
    if !on.session().is_due() {
        return Ok(());
    }
    tracing::debug!(addr = %on.addr(), "logging in again");
    let done = timeout(bounded(after), log_in(on)).await;
    done.unwrap_or_else(|_| {
        let addr = Arc::clone(on.addr());
        Err(Error::Timeout { addr, what: "SASL authentication".into(), after })
    })
}

/// Asks something that costs nothing, so that the broker does not take the connection for one that nobody needs
/// (`connections.max.idle.ms`), within `after`. Nothing may be in flight. After an error the connection is of no more
/// use.
pub(crate) async fn keep_alive(on: &mut impl Ask, options: &Options) -> Result<(), Error> {
    let request = frames::api_versions(options);
    let version = on
        .versions()
        .pick_for::<ApiVersionsRequest>()
        .map_err(|source| Error::Version { addr: Arc::clone(on.addr()), source })?;
    let frame = frames::encode(on.addr(), &request, version, options)?;
    let after = bounded(options.request_timeout);
    let asked = timeout(after, on.ask(frame, ApiKey::API_VERSIONS, version)).await;
    let late = |_| {
        let addr = Arc::clone(on.addr());
        Error::Timeout { addr, what: ApiKey::API_VERSIONS.to_string(), after }
    };
    asked.map_err(late)?.map(drop)
}

/// Has the login take an answer in, elsewhere if that takes milliseconds: others wait for this
/// thread.
async fn respond(
    mut login: Login,
    body: Bytes,
    addr: &Arc<str>,
) -> Result<(Login, Result<Progress, LoginError>), Error> {
    if !login.is_costly() {
        let progress = login.on_response(&body);
        return Ok((login, progress));
    }
    let computed = tokio::task::spawn_blocking(move || {
        let progress = login.on_response(&body);
        (login, progress)
    });
    // It ends without a result when the runtime does.
    computed.await.map_err(|_| Error::ShutDown { addr: addr.clone() })
}

/// A nonce's bytes, and one for the moment at which to renew.
fn random(addr: &Arc<str>) -> Result<([u8; RANDOM_LEN], u8), Error> {
    let mut bytes = [0; RANDOM_LEN + 1];
    getrandom::fill(&mut bytes).map_err(|error| Error::Io {
        addr: addr.clone(),
        source: Arc::new(std::io::Error::other(format!("no randomness: {error}"))),
    })?;
    let [nonce @ .., jitter] = bytes;
    Ok((nonce, jitter))
}

/// A broker that was sent the password (PLAIN) may repeat it in its messages.
fn into_error(addr: &Arc<str>, error: LoginError, password: &str) -> Error {
    let addr = addr.clone();
    let shown = |text: String| secret::without(&text, [password]).to_owned();
    let source = match error {
        LoginError::Version(source) => return Error::Version { addr, source },
        LoginError::Decode { api, version, source } => {
            return Error::Decode { addr, api, version, source };
        }
        LoginError::Mechanism { wanted, offered } => {
            let offered = offered.into_iter().map(shown).collect();
            AuthenticationError::Mechanism { wanted, offered }
        }
        LoginError::Refused {
            code:
                code @ (ErrorCode::SASL_AUTHENTICATION_FAILED
                | ErrorCode::ILLEGAL_SASL_STATE
                | ErrorCode::UNSUPPORTED_SASL_MECHANISM),
            message,
            ..
        } => AuthenticationError::Refused { code, message: message.map(shown) },
        // The broker has trouble of its own, and says nothing of who this client is.
        LoginError::Refused { api, code, message } => {
            return Error::Broker { addr, api, code, message: message.map(shown) };
        }
        LoginError::Sasl(SaslError::Credentials { what, reason }) => {
            let reason = format!("is of no use: the {what} {reason}");
            return Error::Config { name: "sasl.jaas.config".into(), reason };
        }
        LoginError::Sasl(source) => AuthenticationError::Sasl(source),
    };
    Error::Authentication { addr, source }
}

#[cfg(test)]
mod tests {
    use thalweg_connection::Mechanism;

    use super::*;

    #[test]
    fn messages_of_brokers_do_not_repeat_the_password() {
        let addr: Arc<str> = "a:1".into();
        let message = || Some("password 'hunter-22' of alice is wrong".to_owned());
        let refused = |code| {
            let api = ApiKey::SASL_AUTHENTICATE;
            LoginError::Refused { api, code, message: message() }
        };
        let offered = vec!["hunter-22".to_owned(), "PLAIN".to_owned()];
        for error in [
            refused(ErrorCode::SASL_AUTHENTICATION_FAILED),
            refused(ErrorCode::UNKNOWN_SERVER_ERROR),
            LoginError::Mechanism { wanted: Mechanism::ScramSha256, offered },
        ] {
            let error = into_error(&addr, error, "hunter-22");
            for shown in crate::error::tests::everything_shown(&error) {
                assert!(shown.contains("[hidden]") && !shown.contains("hunter"), "{shown}");
            }
        }
        let error =
            into_error(&addr, refused(ErrorCode::SASL_AUTHENTICATION_FAILED), "something else");
        assert!(error.to_string().contains("hunter-22"), "{error}");
    }
}
