//! What is asked of coordinators: of groups, and of transactional ids.

use std::collections::BTreeMap;
use std::time::Duration;

use thalweg_wire::ApiKey;

use super::attempt::{Answers, for_all, join};
use super::{Admin, AdminError, Results};
use crate::cluster::coordinator;

/// Whose coordinators are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Coordinated {
    /// Groups.
    Groups,
    /// Transactional ids.
    Transactions,
}

impl Admin {
    /// Asks the coordinators of groups, each for its own.
    pub(super) async fn for_groups<T, F, Fut>(
        &self,
        api: ApiKey,
        groups: impl IntoIterator<Item = String>,
        ask: F,
    ) -> Results<String, T>
    where
        F: Fn(Admin, i32, Vec<String>, Duration) -> Fut,
        Fut: Future<Output = Answers<String, T>> + Send + 'static,
        T: Send + 'static,
    {
        self.for_coordinated(Coordinated::Groups, api, groups, ask).await
    }

    /// Asks the coordinators of groups or transactional ids, each for its own.
    pub(super) async fn for_coordinated<T, F, Fut>(
        &self,
        kind: Coordinated,
        api: ApiKey,
        keys: impl IntoIterator<Item = String>,
        ask: F,
    ) -> Results<String, T>
    where
        F: Fn(Admin, i32, Vec<String>, Duration) -> Fut,
        Fut: Future<Output = Answers<String, T>> + Send + 'static,
        T: Send + 'static,
    {
        self.settle(api, keys, |keys, left| {
            let ask = &ask;
            async move {
                let (coordinators, mut answers) = self.coordinators(kind, keys).await;
                let asking = coordinators
                    .into_iter()
                    .map(|(coordinator, keys)| ask(self.clone(), coordinator, keys, left));
                answers.extend(join(asking).await.into_iter().flatten());
                answers
            }
        })
        .await
    }

    /// The keys by who coordinates them, and those for which that is not known (KIP-699).
    async fn coordinators<T>(
        &self,
        kind: Coordinated,
        keys: Vec<String>,
    ) -> (BTreeMap<i32, Vec<String>>, Answers<String, T>) {
        let key_type = match kind {
            Coordinated::Groups => coordinator::GROUP,
            Coordinated::Transactions => coordinator::TRANSACTION,
        };
        let looking_up = async {
            let connection = self.cluster.any().await?;
            coordinator::look_up(&self.cluster, &connection, key_type, keys.clone()).await
        };
        let named = match looking_up.await {
            Ok(named) => named,
            Err(error) => return (BTreeMap::new(), for_all(keys, error)),
        };
        let mut found: BTreeMap<i32, Vec<String>> = BTreeMap::new();
        let mut answers = Vec::new();
        for one in named {
            let message = one.error_message.as_deref();
            match AdminError::check(ApiKey::FIND_COORDINATOR, one.error_code, message) {
                Ok(()) => found.entry(one.node_id).or_default().push(one.key),
                Err(error) => answers.push((one.key, Err(error))),
            }
        }
        (found, answers)
    }
}
