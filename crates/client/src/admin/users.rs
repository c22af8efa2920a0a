//! Users and their SCRAM passwords (KIP-554). A password never leaves this client: what is sent is
//! what the broker keeps, from which it can check one but not tell it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use thalweg_connection::{Mechanism, sasl};
use thalweg_wire::ApiKey;
use thalweg_wire::messages::alter_user_scram_credentials_request::{
    ScramCredentialDeletion, ScramCredentialUpsertion,
};
use thalweg_wire::messages::describe_user_scram_credentials_request::UserName;
use thalweg_wire::messages::{
    AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest,
};

use super::attempt::{Answers, for_all};
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

/// A change as it is sent.
#[derive(Clone)]
enum Prepared {
    Deletion(ScramCredentialDeletion),
    Upsertion(ScramCredentialUpsertion),
}

fn prepare(user: &str, change: &ScramChange) -> Result<Prepared, AdminError> {
    match change {
        ScramChange::Delete(mechanism) => Ok(Prepared::Deletion(ScramCredentialDeletion {
            name: user.to_owned(),
            mechanism: code_of(*mechanism)?,
            ..Default::default()
        })),
        ScramChange::Set { mechanism, iterations, password } => {
            if !ITERATIONS.contains(iterations) {
                let reason = format!("{iterations} iterations are not 4096 to 16384");
                return Err(AdminError::Invalid(reason));
            }
            let mut salt = vec![0; SALT_LEN];
            getrandom::fill(&mut salt)
                .map_err(|error| AdminError::Invalid(format!("no randomness: {error}")))?;
            let code = code_of(*mechanism)?;
            let salted = sasl::salted_password(*mechanism, password, &salt, *iterations);
            Ok(Prepared::Upsertion(ScramCredentialUpsertion {
                name: user.to_owned(),
                mechanism: code,
                // Within the bounds above.
                iterations: iterations.cast_signed(),
                salt: Bytes::from(salt),
                salted_password: Bytes::from(salted),
                ..Default::default()
            }))
        }
    }
}

impl Admin {
    /// Which passwords users have; all users without names. A name that is given twice is asked for
    /// once, because Kafka refuses the request otherwise.
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
        let users = users.map(BTreeSet::from_iter);
        let users = &users;
        self.settle_one(api, |_| async move {
            let named = |names: &BTreeSet<String>| {
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

    /// Changes users' passwords. The changes of one user are made in order, in a request each, because
    /// Kafka refuses a request that names a user twice. The first one that fails is the user's
    /// result, and those behind it are not made.
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
            each.map(|(user, changes)| {
                let prepared: Result<Vec<_>, _> =
                    changes.iter().map(|change| prepare(&user, change)).collect();
                (user, prepared)
            })
            .collect::<BTreeMap<_, _>>()
        });
        let mut prepared = BTreeMap::new();
        let mut results = Results::new();
        // Without a result the runtime shuts down, and nobody waits for this.
        for (user, result) in hashed.await.unwrap_or_default() {
            let result = result.map(|changes| {
                let numbered = changes.into_iter().enumerate();
                prepared.extend(numbered.map(|(at, change)| ((user.clone(), at), change)));
            });
            results.insert(user, result);
        }
        let changed = self.alter_in_turn(api, &prepared).await;
        for ((user, _), result) in changed {
            let of_user = results.entry(user).or_insert(Ok(()));
            if of_user.is_ok() {
                *of_user = result;
            }
        }
        results
    }

    /// Makes the changes of each user one after the other, those of different users together.
    async fn alter_in_turn(
        &self,
        api: ApiKey,
        changes: &BTreeMap<(String, usize), Prepared>,
    ) -> Results<(String, usize), ()> {
        self.settle(api, changes.keys().cloned(), |mut open, left| async move {
            let mut answers: Answers<(String, usize), ()> = Vec::new();
            let mut failed: BTreeMap<String, AdminError> = BTreeMap::new();
            while !open.is_empty() {
                let mut users = BTreeSet::new();
                let (asked, later): (Vec<_>, Vec<_>) =
                    open.into_iter().partition(|(user, _)| users.insert(user.clone()));
                open = later;
                let (skipped, asked): (Vec<_>, Vec<_>) =
                    asked.into_iter().partition(|(user, _)| failed.contains_key(user));
                answers.extend(skipped.into_iter().filter_map(|change| {
                    let error = failed.get(&change.0)?.clone();
                    Some((change, Err(error)))
                }));
                let made = self.alter_once(api, changes, asked, left).await;
                let errors = made.iter().filter_map(|((user, _), result)| {
                    Some((user.clone(), result.as_ref().err()?.clone()))
                });
                failed.extend(errors);
                answers.extend(made);
            }
            answers
        })
        .await
    }

    /// Sends changes of which each is of another user.
    async fn alter_once(
        &self,
        api: ApiKey,
        changes: &BTreeMap<(String, usize), Prepared>,
        asked: Vec<(String, usize)>,
        left: Duration,
    ) -> Answers<(String, usize), ()> {
        if asked.is_empty() {
            return Vec::new();
        }
        let mut request = AlterUserScramCredentialsRequest::default();
        for change in asked.iter().filter_map(|change| changes.get(change)) {
            match change.clone() {
                Prepared::Deletion(deletion) => request.deletions.push(deletion),
                Prepared::Upsertion(upsertion) => request.upsertions.push(upsertion),
            }
        }
        let sent = async { self.controller().await?.send_within(&request, left).await };
        let response = match sent.await {
            Ok(response) => response,
            Err(error) => return for_all(asked, error),
        };
        let asked: BTreeMap<String, usize> = asked.into_iter().collect();
        let answered = response.results.into_iter().filter_map(|result| {
            let message = result.error_message.as_deref();
            let checked = AdminError::check(api, result.error_code, message);
            let at = *asked.get(&result.user)?;
            Some(((result.user, at), checked))
        });
        answered.collect()
    }
}
