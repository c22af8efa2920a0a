//! Transactions as the admin client asks for them: who is asked again, and what a broker cannot be told.

use crate::support;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::hostile::{Answer, Fate, Hostile};
use thalweg::admin::{
    Admin, AdminConfig, AdminError, Mode, NewTopic, TransactionFilter, TransactionToAbort,
};
use thalweg::{Cluster, Options, TopicPartition};
use thalweg_wire::messages::{
    ApiVersionsResponse, DescribeTransactionsResponse, InitProducerIdResponse,
    ListTransactionsResponse, WriteTxnMarkersResponse,
};
use thalweg_wire::{ApiKey, ErrorCode};

async fn admin(hostile: &Hostile) -> Admin {
    let config = AdminConfig::default()
        .with_timeout(Duration::from_secs(60))
        .with_retry_backoff(Duration::from_millis(1));
    // Requests have time: each is counted.
    let cluster = Cluster::connect(&hostile.address, Options::default()).await.unwrap();
    Admin::new(cluster, config)
}

/// Has a broker answer with these codes first, and counts its answers.
fn refuses(
    hostile: &Hostile,
    mut codes: BTreeMap<ApiKey, Vec<ErrorCode>>,
) -> Arc<Mutex<BTreeMap<ApiKey, usize>>> {
    let counts = Arc::new(Mutex::new(BTreeMap::new()));
    let counting = Arc::clone(&counts);
    codes.values_mut().for_each(|codes| codes.reverse());
    hostile.judge(move |answer: &Answer<'_>| {
        *counting.lock().unwrap().entry(answer.api).or_default() += 1;
        let Some(code) = codes.get_mut(&answer.api).and_then(Vec::pop) else { return Fate::Pass };
        match answer.api {
            ApiKey::LIST_TRANSACTIONS => {
                answer.change(|it: &mut ListTransactionsResponse| it.error_code = code)
            }
            ApiKey::DESCRIBE_TRANSACTIONS => {
                answer.change(|it: &mut DescribeTransactionsResponse| {
                    it.transaction_states[0].error_code = code;
                })
            }
            ApiKey::INIT_PRODUCER_ID => {
                answer.change(|it: &mut InitProducerIdResponse| it.error_code = code)
            }
            ApiKey::WRITE_TXN_MARKERS => answer.change(|it: &mut WriteTxnMarkersResponse| {
                it.markers[0].topics[0].partitions[0].error_code = code;
            }),
            api => panic!("{api} is not refused here"),
        }
    });
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_passes_is_asked_for_again() {
    let hostile = Hostile::start().await;
    let admin = admin(&hostile).await;
    let topic = NewTopic::new("t").with_partitions(1);
    admin.create_topics([topic], Mode::Apply).await.remove("t").unwrap().unwrap();
    let counts = refuses(
        &hostile,
        [
            (ApiKey::LIST_TRANSACTIONS, vec![ErrorCode::COORDINATOR_LOAD_IN_PROGRESS]),
            (
                ApiKey::DESCRIBE_TRANSACTIONS,
                vec![
                    ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
                    ErrorCode::NOT_COORDINATOR,
                    ErrorCode::COORDINATOR_NOT_AVAILABLE,
                ],
            ),
            (ApiKey::INIT_PRODUCER_ID, vec![ErrorCode::CONCURRENT_TRANSACTIONS; 2]),
            (ApiKey::WRITE_TXN_MARKERS, vec![ErrorCode::NOT_LEADER_OR_FOLLOWER]),
        ]
        .into(),
    );
    let count = |api: ApiKey| counts.lock().unwrap().get(&api).copied().unwrap_or_default();

    let fenced = admin.fence_producers(["id"]).await.remove("id").unwrap().unwrap();
    assert!(fenced.id >= 0 && fenced.epoch >= 0, "{fenced:?}");
    assert!(count(ApiKey::INIT_PRODUCER_ID) >= 3);
    let before = count(ApiKey::FIND_COORDINATOR);
    let described = admin.describe_transactions(["id"]).await.remove("id").unwrap().unwrap();
    assert_eq!((&*described.state, described.producer_id), ("Empty", fenced.id));
    assert_eq!((described.start_time_ms, described.partitions.len()), (None, 0));
    assert_eq!(count(ApiKey::DESCRIBE_TRANSACTIONS), 4);
    assert_eq!(count(ApiKey::FIND_COORDINATOR) - before, 4, "it may be another by then");
    let listed = admin.list_transactions(&TransactionFilter::default()).await.unwrap();
    assert_eq!(count(ApiKey::LIST_TRANSACTIONS), 2);
    assert!(listed.failed.is_empty() && listed.unknown_states.is_empty(), "{listed:?}");
    assert_eq!((listed.transactions.len(), &*listed.transactions[0].id), (1, "id"));
    let transaction = TransactionToAbort::new(TopicPartition::new("t", 0), 7, 0, 0);
    admin.abort_transaction(transaction).await.unwrap();
    assert_eq!(count(ApiKey::WRITE_TXN_MARKERS), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_pass_is_told() {
    let hostile = Hostile::start().await;
    let admin = admin(&hostile).await;
    let counts = refuses(
        &hostile,
        [
            (ApiKey::LIST_TRANSACTIONS, vec![ErrorCode::CLUSTER_AUTHORIZATION_FAILED]),
            (ApiKey::INIT_PRODUCER_ID, vec![ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED]),
        ]
        .into(),
    );
    let count = |api: ApiKey| counts.lock().unwrap().get(&api).copied().unwrap_or_default();
    let states = vec!["Ongoing".to_owned(), "Open".to_owned()];
    let filter = TransactionFilter::default().with_states(states);
    let listed = admin.list_transactions(&filter).await.unwrap();
    let codes: Vec<_> = listed.failed.values().map(AdminError::code).collect();
    assert_eq!(codes, [Some(ErrorCode::CLUSTER_AUTHORIZATION_FAILED)]);
    let listed = admin.list_transactions(&filter).await.unwrap();
    assert_eq!(listed.unknown_states, ["Open".to_owned()].into());
    assert!(listed.failed.is_empty(), "{listed:?}");
    let fenced = admin.fence_producers(["id"]).await.remove("id").unwrap();
    let code = ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    assert_eq!(fenced.unwrap_err().code(), Some(code));
    assert_eq!(count(ApiKey::INIT_PRODUCER_ID), 1);
    let unknown = admin.describe_transactions(["none"]).await.remove("none").unwrap();
    assert!(unknown.unwrap_err().is_not_found());
    let nowhere = TransactionToAbort::new(TopicPartition::new("none", 0), 7, 0, 0);
    assert!(admin.abort_transaction(nowhere).await.unwrap_err().is_not_found());
    assert_eq!(count(ApiKey::WRITE_TXN_MARKERS), 0, "nobody leads it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_that_a_broker_does_not_have_is_an_error_that_names_it() {
    for max in [0, 1] {
        let hostile = Hostile::start().await;
        hostile.judge(move |answer: &Answer<'_>| {
            if answer.api != ApiKey::API_VERSIONS {
                return Fate::Pass;
            }
            answer.change(|it: &mut ApiVersionsResponse| {
                let list = ApiKey::LIST_TRANSACTIONS.0;
                for api in it.api_keys.iter_mut().filter(|api| api.api_key == list) {
                    api.max_version = max;
                }
            })
        });
        let admin = admin(&hostile).await;
        let said = async |filter: TransactionFilter| {
            let mut failed = admin.list_transactions(&filter).await.unwrap().failed;
            failed.pop_first().map(|(_, error)| error.to_string())
        };
        let all = TransactionFilter::default();
        let ongoing = all.clone().with_states(vec!["Ongoing".into()]).with_producer_ids(vec![1]);
        assert_eq!((said(all.clone()).await, said(ongoing).await), (None, None));
        let longer = said(all.clone().with_longer_than(Some(Duration::from_secs(1)))).await;
        if max == 0 {
            let longer = longer.unwrap();
            let needs = "a filter by duration needs ListTransactions version 1";
            assert!(longer.starts_with(needs) && longer.ends_with("up to 0"), "{longer}");
        } else {
            assert_eq!(longer, None);
        }
        let pattern = said(all.with_id_pattern(Some("a.*".into()))).await.unwrap();
        let needs = "a filter by a pattern of transactional ids needs ListTransactions version 2";
        assert!(pattern.starts_with(needs), "{pattern}");
        assert!(pattern.ends_with(&format!("up to {max}")), "{pattern}");
    }
}
