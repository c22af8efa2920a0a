//! Users and their SCRAM passwords (KIP-554). A password never leaves this client: what is sent is
//! what the broker keeps, from which it can check one but not tell it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_connection::{Mechanism, sasl};
use thalweg_wire::messages::alter_user_scram_credentials_request::{
    ScramCredentialDeletion, ScramCredentialUpsertion,
};
use thalweg_wire::messages::describe_user_scram_credentials_request::UserName;
use thalweg_wire::messages::{
    AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest,
};
use thalweg_wire::{ApiKey, ErrorCode};

use super::attempt::for_all;
use super::{Admin, AdminError, AdminFuture, Results};

/// Iterations that Kafka takes.
const ITERATIONS: std::ops::RangeInclusive<u32> = 4_096..=16_384;
const SALT_LEN: usize = 32;

/// What a change of a user's passwords is.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScramChange {
    /// The user has this password for a mechanism.
    Set {
        /// The mechanism.
        mechanism: Mechanism,
        /// How often it is hashed: 4 096 to 16 384.
        iterations: u32,
        /// The password. Not shown by `Debug`.
        password: Arc<str>,
    },
    /// The user has none for a mechanism any more.
    Delete(Mechanism),
}

impl std::fmt::Debug for ScramChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ScramChange::Set { mechanism, iterations, .. } => f
                .debug_struct("Set")
                .field("mechanism", mechanism)
                .field("iterations", iterations)
                .finish_non_exhaustive(),
            ScramChange::Delete(mechanism) => f.debug_tuple("Delete").field(mechanism).finish(),
        }
    }
}

/// A password that a user has, without the password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ScramCredential {
    /// For which mechanism; none for one that this does not know.
    pub mechanism: Option<Mechanism>,
    /// How often it is hashed.
    pub iterations: i32,
}

fn code_of(mechanism: Mechanism) -> Result<i8, AdminError> {
    match mechanism {
        Mechanism::ScramSha256 => Ok(1),
        Mechanism::ScramSha512 => Ok(2),
        other => Err(AdminError::Invalid(format!("{other} has no passwords of its own"))),
    }
}

/// A user's changes as they are sent.
#[derive(Clone, Default)]
struct Prepared {
    deletions: Vec<ScramCredentialDeletion>,
    upsertions: Vec<ScramCredentialUpsertion>,
}

fn prepare(user: &str, changes: &[ScramChange]) -> Result<Prepared, AdminError> {
    let mut prepared = Prepared::default();
    for change in changes {
        match change {
            ScramChange::Delete(mechanism) => prepared.deletions.push(ScramCredentialDeletion {
                name: user.to_owned(),
                mechanism: code_of(*mechanism)?,
                ..Default::default()
            }),
            ScramChange::Set { mechanism, iterations, password } => {
                if !ITERATIONS.contains(iterations) {
                    let reason = format!("{iterations} iterations are not 4096 to 16384");
                    return Err(AdminError::Invalid(reason));
                }
                let mut salt = vec![0; SALT_LEN];
                getrandom::fill(&mut salt)
                    .map_err(|error| AdminError::Invalid(format!("no randomness: {error}")))?;
                let salted = sasl::salted_password(*mechanism, password, &salt, *iterations);
                prepared.upsertions.push(ScramCredentialUpsertion {
                    name: user.to_owned(),
                    mechanism: code_of(*mechanism)?,
                    // Within the bounds above.
                    iterations: iterations.cast_signed(),
                    salt: Bytes::from(salt),
                    salted_password: Bytes::from(salted),
                    ..Default::default()
                });
            }
        }
    }
    Ok(prepared)
}

impl Admin {
    /// Which passwords users have; all users without names.
    pub fn describe_user_scram_credentials(
        &self,
        users: Option<Vec<String>>,
    ) -> AdminFuture<'_, Result<Results<String, Vec<ScramCredential>>, AdminError>> {
        Box::pin(self.describe_user_scram_credentials_inner(users))
    }

    async fn describe_user_scram_credentials_inner(
        &self,
        users: Option<Vec<String>>,
    ) -> Result<Results<String, Vec<ScramCredential>>, AdminError> {
        let api = ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS;
        let users = &users;
        self.settle_one(api, |_| async move {
            let named = |names: &Vec<String>| {
                let names = names.iter().cloned();
                names.map(|name| UserName { name, ..Default::default() }).collect()
            };
            let request = DescribeUserScramCredentialsRequest {
                users: users.as_ref().map(named),
                ..Default::default()
            };
            let response = self.controller().await?.send(&request).await?;
            AdminError::check(api, response.error_code, response.error_message.as_deref())?;
            let results = response.results.into_iter().map(|result| {
                let message = result.error_message.as_deref();
                let checked = AdminError::check(api, result.error_code, message);
                let credentials = result.credential_infos.into_iter();
                let credentials = credentials.map(|info| ScramCredential {
                    mechanism: match info.mechanism {
                        1 => Some(Mechanism::ScramSha256),
                        2 => Some(Mechanism::ScramSha512),
                        _ => None,
                    },
                    iterations: info.iterations,
                });
                (result.user, checked.map(|()| credentials.collect()))
            });
            Ok(results.collect())
        })
        .await
    }

    /// Changes users' passwords; of each user all or nothing.
    pub fn alter_user_scram_credentials(
        &self,
        changes: BTreeMap<String, Vec<ScramChange>>,
    ) -> AdminFuture<'_, Results<String, ()>> {
        Box::pin(self.alter_user_scram_credentials_inner(changes))
    }

    async fn alter_user_scram_credentials_inner(
        &self,
        changes: BTreeMap<String, Vec<ScramChange>>,
    ) -> Results<String, ()> {
        let api = ApiKey::ALTER_USER_SCRAM_CREDENTIALS;
        // Hashing takes milliseconds, and others wait for this thread.
        let hashed = tokio::task::spawn_blocking(move || {
            let each = changes.into_iter();
            each.map(|(user, changes)| (user.clone(), prepare(&user, &changes)))
                .collect::<BTreeMap<_, _>>()
        });
        let mut prepared = BTreeMap::new();
        let mut refused = Results::new();
        // Without a result the runtime shuts down, and nobody waits for this.
        for (user, result) in hashed.await.unwrap_or_default() {
            match result {
                Ok(changes) => {
                    prepared.insert(user, changes);
                }
                Err(error) => {
                    refused.insert(user, Err(error));
                }
            }
        }
        let prepared = &prepared;
        let mut results = self
            .settle(api, prepared.keys().cloned(), |users, left| async move {
                let mut request = AlterUserScramCredentialsRequest::default();
                for changes in users.iter().filter_map(|user| prepared.get(user)) {
                    request.deletions.extend(changes.deletions.iter().cloned());
                    request.upsertions.extend(changes.upsertions.iter().cloned());
                }
                let sent = async { self.controller().await?.send_within(&request, left).await };
                match sent.await {
                    Ok(response) => response
                        .results
                        .into_iter()
                        .map(|result| {
                            let message = result.error_message.as_deref();
                            let code: ErrorCode = result.error_code;
                            (result.user, AdminError::check(api, code, message))
                        })
                        .collect(),
                    Err(error) => for_all(users, error),
                }
            })
            .await;
        results.extend(refused);
        results
    }
}
