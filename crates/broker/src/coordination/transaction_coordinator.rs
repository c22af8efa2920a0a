//! The transaction coordinator of this broker: routes requests to the shard their transactional id lives in, and has the
//! markers written that its shards ask for.

use std::ops::ControlFlow;
use std::sync::Arc;

use arc_swap::ArcSwap;
use thalweg_coordinator::RunnerConfig;
use thalweg_groups::partition_for;
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::features::TRANSACTION_VERSION;
use thalweg_metadata::image::MetadataImage;
use thalweg_records::codec::CompressionSpec;
use thalweg_transactions::{
    ProducerIdSource, TransactionConfig, TransactionEvent, TransactionRequest, TransactionResponse,
    TransactionShard, TransactionVersion,
};
use thalweg_wire::ErrorCode;

use super::runtime::{LoadFigures, PartitionRunners, RuntimeConfig, Source, Submitted};
use crate::control::producer_ids::ProducerIds;
use crate::coordination::transactions::Markers;
use crate::node::clock::Clock;
use crate::replicas::partition::Partition;

/// How long an answer waits for the commit of its records. Kafka waits for the transaction's timeout, and clients for
/// `request.timeout.ms`, which is 30 s.
const WRITE_TIMEOUT_MS: u64 = 30_000;

/// Transaction coordination on the partitions of `__transaction_state` that this broker leads.
pub(crate) struct TransactionCoordinator {
    runners: Arc<PartitionRunners<TransactionShard>>,
    config: Arc<ArcSwap<TransactionConfig>>,
}

/// Settings, from the broker's and from the features of the cluster.
fn config_of(config: &BrokerConfig, image: &MetadataImage) -> TransactionConfig {
    let interval = |ms: i32| u64::try_from(ms).unwrap_or(0).max(1);
    let level = image.features.level(TRANSACTION_VERSION);
    TransactionConfig {
        version: TransactionVersion::from_level(level).unwrap_or(TransactionVersion::V2),
        max_timeout_ms: config.transaction_max_timeout_ms(),
        id_expiration_ms: i64::from(config.transactional_id_expiration_ms()),
        two_phase_commit: config.transaction_two_phase_commit_enable(),
        abort_interval_ms: interval(
            config.transaction_abort_timed_out_transaction_cleanup_interval_ms(),
        ),
        expire_interval_ms: interval(
            config.transaction_remove_expired_transaction_cleanup_interval_ms(),
        ),
        ..TransactionConfig::default()
    }
}

impl TransactionCoordinator {
    pub(crate) fn new(
        config: &BrokerConfig,
        image: &MetadataImage,
        producer_ids: &Arc<ProducerIds>,
        markers: Arc<Markers>,
        clock: Clock,
    ) -> TransactionCoordinator {
        let runtime = RuntimeConfig {
            runner: RunnerConfig { write_timeout_ms: WRITE_TIMEOUT_MS },
            // As Kafka's coordinator does.
            compression: CompressionSpec::NONE,
            jobs: 1,
            // As in Kafka, so that one record does not end the transactions of a fiftieth of all ids.
            serves_partial_loads: true,
        };
        let config = Arc::new(ArcSwap::from_pointee(config_of(config, image)));
        let ids = Arc::clone(producer_ids);
        let of_shards = Arc::clone(&config);
        let shard = move || {
            let config = TransactionConfig::clone(&of_shards.load());
            TransactionShard::new(config, ProducerIdSource(Arc::clone(&ids) as _))
        };
        let known = Arc::clone(&config);
        let initial = move || vec![TransactionEvent::Configured((**known.load()).clone())];
        let write_markers =
            move |source: Source<TransactionShard>, effect| markers.write(source, effect);
        let runners = PartitionRunners::new(runtime, clock, shard, initial, write_markers);
        TransactionCoordinator { runners, config }
    }

    /// Panics that took a shard down.
    pub(crate) fn panics(&self) -> u64 {
        self.runners.panics()
    }

    /// How long loads of partitions took of late.
    pub(crate) fn load_figures(&self) -> LoadFigures {
        self.runners.load_figures()
    }

    /// Transactions whose completion could not be written, and is written again.
    pub(crate) fn completions_to_retry(&self) -> usize {
        let mut count = 0;
        self.runners.each_shard(|_, shard| {
            count += shard.completions_to_retry();
            ControlFlow::Break(())
        });
        count
    }

    /// This broker leads a partition of the topic from now on.
    pub(crate) fn elected(&self, partition: Arc<Partition>, leader_epoch: i32) {
        self.runners.elected(partition, leader_epoch);
    }

    /// It does not any more.
    pub(crate) fn resigned(&self, index: i32, leader_epoch: Option<i32>) {
        self.runners.resigned(index, leader_epoch);
    }

    /// The broker stops.
    pub(crate) fn close(&self) {
        self.runners.close();
    }

    /// The settings or features may have changed.
    pub(crate) fn configure(&self, config: &BrokerConfig, image: &MetadataImage) {
        let config = config_of(config, image);
        if **self.config.load() == config {
            return;
        }
        self.config.store(Arc::new(config.clone()));
        self.runners.event(|| TransactionEvent::Configured(config.clone()));
    }

    /// Asks the shard of a transactional id, where the topic has so many partitions; NOT_COORDINATOR where it is not
    /// here.
    pub(crate) async fn ask(
        &self,
        partitions: usize,
        transactional_id: &str,
        request: TransactionRequest,
    ) -> TransactionResponse {
        self.begin(partitions, transactional_id, request).answer().await
    }

    /// The same; the caller waits for the answer later.
    pub(crate) fn begin(
        &self,
        partitions: usize,
        transactional_id: &str,
        request: TransactionRequest,
    ) -> Begun {
        let gone = <TransactionShard as thalweg_coordinator::Shard>::refuse(
            &request,
            ErrorCode::NOT_COORDINATOR,
        );
        if partitions == 0 {
            return Begun { answer: None, gone };
        }
        let index = partition_for(transactional_id, u32::try_from(partitions).unwrap_or(u32::MAX));
        Begun { answer: Some(self.runners.submit(index, request, None)), gone }
    }

    /// Asks every shard led here.
    pub(crate) fn ask_all(
        &self,
        request: &TransactionRequest,
    ) -> Vec<Submitted<TransactionResponse>> {
        let partitions = self.runners.partitions().into_iter();
        partitions.map(|index| self.runners.submit(index, request.clone(), None)).collect()
    }
}

/// A request to a shard, whose answer is there or will come.
pub(crate) struct Begun {
    answer: Option<Submitted<TransactionResponse>>,
    /// The answer if the id is not coordinated here, or not any more.
    gone: TransactionResponse,
}

impl Begun {
    pub(crate) async fn answer(self) -> TransactionResponse {
        match self.answer {
            Some(answer) => answer.wait().await.unwrap_or(self.gone),
            None => self.gone,
        }
    }
}
