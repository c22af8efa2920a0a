//! A cluster: bootstrap addresses, metadata, and one connection per broker, opened when it is
//! first needed and again when it was lost.
//!
//! A broker that answers REBOOTSTRAP_REQUIRED sends this client away (KIP-1102, KIP-1242): all connections to the
//! cluster are closed, those too that producers and consumers own, the brokers are forgotten, and the bootstrap
//! addresses are asked. Invariants: an opening that began before does not add a connection to those in use, and an
//! answer over a connection that was begun before does not change the metadata.
//!
//! What this does not do: retry requests or refresh metadata by itself. Who sends knows what an
//! error means then.

pub(crate) mod coordinator;
pub(crate) mod offsets;

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use thalweg_wire::messages::metadata_request::MetadataRequestTopic;
use thalweg_wire::messages::{MetadataRequest, MetadataResponse};
use thalweg_wire::{ApiKey, ErrorCode, Request, Uuid, secret};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};

use crate::core::Metadata;
use crate::core::metadata::{Broker, Leader, LoweredEpoch, NodeIdentity};
use crate::core::partition::TopicPartition;
use crate::error::Error;
use crate::net::connection::Connection;
use crate::net::raw::RawConnection;
use crate::net::transport::CloseSignal;
use crate::options::backoff::RETRY_BACKOFF_MAX;
use crate::options::{MetadataRecoveryStrategy, Options};

/// How long one address is tried alone, before the next is tried beside it.
const HEAD_START: Duration = Duration::from_secs(1);
/// For so long after a rebootstrap, a connection that is refused with REBOOTSTRAP_REQUIRED has only failed: one broker
/// under another id must not end the others' connections all the time.
const REBOOTSTRAP_PAUSE: Duration = RETRY_BACKOFF_MAX;

/// A connection that is being opened, and what became of that.
type Opening = watch::Receiver<Option<Result<Connection, Error>>>;

/// What is known after an answer to Metadata, and the topics that came with an error.
type Refreshed = (Arc<Metadata>, Vec<(String, ErrorCode)>);

/// Waits for a connection.
type Connecting = Pin<Box<dyn Future<Output = Result<Connection, Error>> + Send>>;

/// A cluster; clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct Cluster {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    bootstrap: Vec<String>,
    options: Options,
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    metadata: Arc<Metadata>,
    /// By address: a broker that moves gets a new connection.
    connections: HashMap<String, Connection>,
    /// By address: each is opened once, by a task of its own. Whoever waits for it may give up
    /// sooner than `socket.connection.setup.timeout.ms`; a name's second address is tried all the
    /// same.
    opening: HashMap<String, Opening>,
    /// Metadata requests sent so far, answered or not.
    metadata_requests: u64,
    /// Close the connections of this cluster, those of producers and consumers included.
    close: Vec<oneshot::Sender<()>>,
    /// Number of rebootstraps, and the time of the last.
    rebootstraps: u64,
    rebootstrapped_at: Option<Instant>,
}

/// What a connection of the cluster is opened with.
#[derive(Debug)]
struct OpeningTerms {
    identity: Option<NodeIdentity>,
    close: CloseSignal,
    /// [`State::rebootstraps`] at that time.
    rebootstraps: u64,
}

impl Cluster {
    /// Connects to the first of `bootstrap` (`host:port,host:port`) that answers and learns the
    /// cluster's brokers. The order is that of the list.
    ///
    /// # Errors
    /// [`Error::BadAddress`] for what is no such list, [`Error::NoBootstrap`] when none of them
    /// answers, [`Error::Authentication`] and [`Error::Config`] when another address would not help
    /// either.
    pub async fn connect(bootstrap: &str, options: Options) -> Result<Cluster, Error> {
        let addresses = parse_addresses(bootstrap)?;
        let begun = Instant::now();
        let shared = Shared { bootstrap: addresses, options, begun, state: Mutex::default() };
        let cluster = Cluster { shared: Arc::new(shared) };
        cluster.refresh(&[]).await?;
        Ok(cluster)
    }

    /// How connections behave.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// What is known of the cluster.
    pub fn metadata(&self) -> Arc<Metadata> {
        self.shared.lock().metadata.clone()
    }

    /// Metadata requests so far of all who use this cluster: of this handle, of consumers, producers and
    /// admins. One that was tried at several addresses counts once.
    pub fn metadata_requests(&self) -> u64 {
        self.shared.lock().metadata_requests
    }

    /// Asks for the cluster's brokers and the topics named. Topics are not created by being asked
    /// for. Returns what is known then, and the topics that came with an error.
    pub async fn refresh(
        &self,
        topics: &[&str],
    ) -> Result<(Arc<Metadata>, Vec<(String, ErrorCode)>), Error> {
        self.refresh_with_ids(topics, &[]).await
    }

    /// As [`Self::refresh`]; with `create` the brokers create topics that are not there, where
    /// their `auto.create.topics.enable` says so.
    pub(crate) async fn refresh_or_create(
        &self,
        topics: &[&str],
        create: bool,
    ) -> Result<(Arc<Metadata>, Vec<(String, ErrorCode)>), Error> {
        let by_name = topics.iter().map(|name| MetadataRequestTopic {
            name: Some((*name).to_owned()),
            ..MetadataRequestTopic::default()
        });
        self.ask_for(Some(by_name.collect()), create).await
    }

    /// As [`Self::refresh`], with topics of which only the id is known.
    pub(crate) async fn refresh_with_ids(
        &self,
        topics: &[&str],
        ids: &[Uuid],
    ) -> Result<(Arc<Metadata>, Vec<(String, ErrorCode)>), Error> {
        let by_name = topics.iter().map(|name| MetadataRequestTopic {
            name: Some((*name).to_owned()),
            ..MetadataRequestTopic::default()
        });
        let by_id = ids.iter().map(|&topic_id| MetadataRequestTopic {
            topic_id,
            name: None,
            ..MetadataRequestTopic::default()
        });
        self.ask_for(Some(by_name.chain(by_id).collect()), false).await
    }

    /// As [`Self::refresh`], for all topics there are.
    pub(crate) async fn refresh_all(
        &self,
    ) -> Result<(Arc<Metadata>, Vec<(String, ErrorCode)>), Error> {
        self.ask_for(None, false).await
    }

    async fn ask_for(
        &self,
        topics: Option<Vec<MetadataRequestTopic>>,
        create: bool,
    ) -> Result<Refreshed, Error> {
        let request = MetadataRequest {
            topics,
            allow_auto_topic_creation: create,
            ..MetadataRequest::default()
        };
        self.shared.lock().metadata_requests += 1;
        for is_last in [false, true] {
            let (response, rebootstraps) = self.send_any_over(&request).await?;
            match response.error_code {
                ErrorCode::NONE => {
                    if let Some(applied) = self.apply(&request, &response, rebootstraps) {
                        return Ok(applied);
                    }
                }
                // These brokers are not the ones to ask any more (KIP-1102).
                ErrorCode::REBOOTSTRAP_REQUIRED if self.shared.may_rebootstrap() && !is_last => {
                    self.shared.rebootstrap(rebootstraps);
                }
                // What it says of brokers and topics is nothing, not that there are none.
                code => return Err(self.refused(code)),
            }
        }
        // The answers were of clusters that were abandoned before they came.
        Err(self.refused(ErrorCode::REBOOTSTRAP_REQUIRED))
    }

    /// An answer to Metadata that is an error as a whole.
    fn refused(&self, code: ErrorCode) -> Error {
        let addr = self.shared.bootstrap.join(",").into();
        Error::Broker { addr, api: ApiKey::METADATA, code, message: None }
    }

    /// Applies an answer that came over a connection begun after so many `rebootstraps`; `None` if there were more
    /// since. Otherwise this client would return to the cluster that it has abandoned.
    fn apply(
        &self,
        request: &MetadataRequest,
        response: &MetadataResponse,
        rebootstraps: u64,
    ) -> Option<Refreshed> {
        let now_ms = u64::try_from(self.shared.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut state = self.shared.lock();
        if state.rebootstraps != rebootstraps {
            return None;
        }
        let metadata = Arc::make_mut(&mut state.metadata);
        let failed = match request.topics {
            Some(_) => metadata.apply(response, now_ms),
            None => metadata.apply_all(response, now_ms),
        };
        if metadata.has_lowered() {
            for LoweredEpoch { partition, from, to } in metadata.take_lowered() {
                tracing::warn!(
                    %partition,
                    leader = to.id,
                    from = from.epoch,
                    to = to.epoch,
                    "the leader epoch went back, as several metadata answers say: a broker may have \
                     been restored from an older copy, and records may be missing"
                );
            }
        }
        Some((state.metadata.clone(), failed))
    }

    /// Takes over what a broker said of leaders and where they listen (KIP-951), over a connection begun after so many
    /// `rebootstraps`. If there were more since, this is dropped: these brokers would be connected to without a check of
    /// their cluster, whose id is not known then.
    pub(crate) fn hint(
        &self,
        rebootstraps: u64,
        leaders: &[(TopicPartition, Leader)],
        brokers: impl IntoIterator<Item = Broker>,
    ) {
        let mut state = self.shared.lock();
        if state.rebootstraps != rebootstraps {
            return;
        }
        // Copied only where somebody still looks at what was known, and the hint is news.
        for broker in brokers {
            if state.metadata.brokers.get(&broker.id) != Some(&broker) {
                Arc::make_mut(&mut state.metadata).brokers.insert(broker.id, broker);
            }
        }
        for (partition, leader) in leaders {
            if state.metadata.is_news(&partition.topic, partition.partition, *leader) {
                let metadata = Arc::make_mut(&mut state.metadata);
                metadata.hint_leader(&partition.topic, partition.partition, *leader);
            }
        }
    }

    /// Where a broker listens.
    pub(crate) fn address(&self, id: i32) -> Result<String, Error> {
        let metadata = self.metadata();
        let broker = metadata.brokers.get(&id).ok_or(Error::UnknownBroker(id))?;
        Ok(broker.address())
    }

    /// The connection to a broker, opened when there is none that works.
    ///
    /// # Errors
    /// [`Error::UnknownBroker`] for an id that the metadata do not have, and what goes wrong with
    /// connecting.
    pub async fn broker(&self, id: i32) -> Result<Connection, Error> {
        self.connection(&self.address(id)?).await
    }

    /// A connection to a broker that nobody else uses.
    pub(crate) async fn open(&self, id: i32) -> Result<Connection, Error> {
        Ok(Connection::drive(self.open_raw(id).await?, &self.shared.options))
    }

    /// As [`Self::open`], driven by its owner.
    pub(crate) async fn open_raw(&self, id: i32) -> Result<RawConnection, Error> {
        let address = self.address(id)?;
        let terms = self.shared.terms(&mut self.shared.lock(), &address);
        terms.open(&address, Arc::downgrade(&self.shared), &self.shared.options).await
    }

    /// Sends a request to a broker.
    pub async fn send_to<R: Request>(&self, id: i32, request: &R) -> Result<R::Response, Error> {
        self.send_at(&self.address(id)?, request).await
    }

    /// Sends over the connection to an address. One that ended before this was written on it says
    /// nothing of the broker, which closes those that were idle for long, or whose session is over:
    /// another is opened, once.
    async fn send_at<R: Request>(&self, address: &str, request: &R) -> Result<R::Response, Error> {
        let connection = self.connection(address).await?;
        let (response, _) = self.send_over(connection, address, request).await?;
        Ok(response)
    }

    /// Gives the answer, and [`Connection::rebootstraps`] of the connection that it came over.
    async fn send_over<R: Request>(
        &self,
        connection: Connection,
        address: &str,
        request: &R,
    ) -> Result<(R::Response, u64), Error> {
        let rebootstraps = connection.rebootstraps();
        match connection.send(request).await {
            // The address may have been forgotten by a rebootstrap.
            Err(Error::Closed { api: None, .. } | Error::Idle { .. })
                if self.shared.lock().rebootstraps == rebootstraps =>
            {
                let connection = self.connection(address).await?;
                let rebootstraps = connection.rebootstraps();
                Ok((connection.send(request).await?, rebootstraps))
            }
            sent => Ok((sent?, rebootstraps)),
        }
    }

    /// Sends a request to the broker that stands for the controller, or to any where none is named.
    pub async fn send_controller<R: Request>(&self, request: &R) -> Result<R::Response, Error> {
        match self.metadata().controller_id {
            Some(id) => self.send_to(id, request).await,
            None => self.send_any(request).await,
        }
    }

    /// The connection to whichever broker can be reached, in the order of [`Self::send_any`].
    pub(crate) async fn any(&self) -> Result<Connection, Error> {
        let mut candidates = self.candidates();
        let mut last = None;
        while let Some((_, connected)) = candidates.next().await {
            match connected {
                Ok(connection) => return Ok(connection),
                Err(error) if error.is_authentication() => return Err(error),
                Err(error) => last = Some(error),
            }
        }
        Err(self.none_answered(last))
    }

    /// Sends a request to whichever broker answers: those connected first, then the others that
    /// are known, then the bootstrap addresses.
    pub async fn send_any<R: Request>(&self, request: &R) -> Result<R::Response, Error> {
        let (response, _) = self.send_any_over(request).await?;
        Ok(response)
    }

    /// As [`Self::send_any`]; gives what [`Self::send_over`] does.
    async fn send_any_over<R: Request>(&self, request: &R) -> Result<(R::Response, u64), Error> {
        let mut candidates = self.candidates();
        let mut last = None;
        while let Some((address, connected)) = candidates.next().await {
            let sent = match connected {
                Ok(connection) => self.send_over(connection, &address, request).await,
                Err(error) => Err(error),
            };
            match sent {
                // Another broker would not do better with what cannot be written or read, nor
                // trust this client more; and no setting gets better by being tried again.
                Ok(_)
                | Err(
                    Error::Version { .. }
                    | Error::Encode { .. }
                    | Error::Decode { .. }
                    | Error::Authentication { .. }
                    | Error::Config { .. },
                ) => {
                    return sent;
                }
                Err(error) => last = Some(error),
            }
        }
        Err(self.none_answered(last))
    }

    fn candidates(&self) -> Candidates {
        let (left, rebootstraps) = self.addresses();
        Candidates { cluster: self.clone(), left, opening: Vec::new(), rebootstraps }
    }

    /// The addresses that may be asked, in the order of [`Self::send_any`], and [`State::rebootstraps`].
    fn addresses(&self) -> (std::vec::IntoIter<String>, u64) {
        let state = self.shared.lock();
        let live = state.connections.iter().filter(|(_, c)| c.over().is_none());
        let mut addresses: Vec<String> = live.map(|(address, _)| address.clone()).collect();
        let known = state.metadata.brokers.values().map(|broker| broker.address());
        let is_final = !self.shared.may_rebootstrap() && !state.metadata.brokers.is_empty();
        let bootstrap = self.shared.bootstrap.iter().filter(|_| !is_final).cloned();
        for address in known.chain(bootstrap) {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        (addresses.into_iter(), state.rebootstraps)
    }

    fn none_answered(&self, last: Option<Error>) -> Error {
        let last = last.unwrap_or_else(|| Error::BadAddress(self.shared.bootstrap.join(",")));
        Error::NoBootstrap(Box::new(last))
    }

    /// The connection to an address; opened when there is none that works.
    async fn connection(&self, address: &str) -> Result<Connection, Error> {
        let mut opening = {
            let mut state = self.shared.lock();
            let live = state.connections.get(address).filter(|c| c.over().is_none());
            if let Some(connection) = live {
                return Ok(connection.clone());
            }
            // One whose task ended with its runtime is not waited for.
            match state.opening.get(address).filter(|opening| opening.has_changed().is_ok()) {
                Some(opening) => opening.clone(),
                None => {
                    let terms = self.shared.terms(&mut state, address);
                    let opening = self.begin_opening(address.to_owned(), terms);
                    state.opening.insert(address.to_owned(), opening.clone());
                    opening
                }
            }
        };
        let opened = match opening.wait_for(Option::is_some).await {
            Ok(opened) => opened.clone(),
            Err(_) => None,
        };
        opened.unwrap_or_else(|| Err(Error::ShutDown { addr: address.into() }))
    }

    /// Opens a connection, whoever goes on waiting for it.
    fn begin_opening(&self, address: String, terms: OpeningTerms) -> Opening {
        let (done, opening) = watch::channel(None);
        let (shared, options) = (Arc::downgrade(&self.shared), self.shared.options.clone());
        tokio::spawn(async move {
            let rebootstraps = terms.rebootstraps;
            let opened = terms.open(&address, shared.clone(), &options).await;
            let opened = opened.map(|connection| Connection::drive(connection, &options));
            if let Some(shared) = shared.upgrade() {
                let mut state = shared.lock();
                if state.rebootstraps == rebootstraps {
                    state.opening.remove(&address);
                    state.connections.retain(|_, connection| connection.over().is_none());
                    if let Ok(connection) = &opened {
                        state.connections.insert(address, connection.clone());
                    }
                }
            }
            done.send_replace(Some(opened));
        });
        opening
    }
}

impl OpeningTerms {
    /// Opens a connection. If the broker is not the one that is named, the bootstrap addresses are asked next.
    async fn open(
        self,
        address: &str,
        shared: Weak<Shared>,
        options: &Options,
    ) -> Result<RawConnection, Error> {
        let OpeningTerms { identity, close, rebootstraps } = self;
        let opened = RawConnection::open_to(address, options, identity.as_ref(), close).await;
        let opened = opened.map(|connection| connection.after_rebootstraps(rebootstraps));
        // At a bootstrap address, where no broker is named, the code is a failure like any other.
        if let Err(error) = &opened
            && error.is_rebootstrap()
            && let Some(NodeIdentity { cluster_id, node_id }) = &identity
            && let Some(shared) = shared.upgrade()
        {
            tracing::debug!(address, cluster_id, node_id, "another broker answers at this address");
            let last = shared.lock().rebootstrapped_at;
            if last.is_none_or(|at| at.elapsed() >= REBOOTSTRAP_PAUSE) {
                shared.rebootstrap(rebootstraps);
            }
        }
        opened
    }
}

/// Addresses to ask one after the other. One that does not answer holds up the next for
/// [`HEAD_START`] only: whoever asks may have less time than connecting may take.
struct Candidates {
    cluster: Cluster,
    left: std::vec::IntoIter<String>,
    opening: Vec<(String, Connecting)>,
    /// [`State::rebootstraps`] when the addresses were chosen.
    rebootstraps: u64,
}

impl Candidates {
    /// The next that is connected, or cannot be; `None` when there are no more.
    async fn next(&mut self) -> Option<(String, Result<Connection, Error>)> {
        loop {
            if self.cluster.shared.lock().rebootstraps != self.rebootstraps {
                // Those that are left are forgotten.
                self.opening.clear();
                (self.left, self.rebootstraps) = self.cluster.addresses();
            }
            if let Some(address) = self.left.next() {
                let (cluster, of) = (self.cluster.clone(), address.clone());
                self.opening
                    .push((address, Box::pin(async move { cluster.connection(&of).await })));
            }
            if self.opening.is_empty() {
                return None;
            }
            let is_last = self.left.len() == 0;
            let opening = &mut self.opening;
            let any = poll_fn(|cx| {
                for (at, (_, connecting)) in opening.iter_mut().enumerate() {
                    if let Poll::Ready(connected) = connecting.as_mut().poll(cx) {
                        return Poll::Ready((at, connected));
                    }
                }
                Poll::Pending
            });
            let connected = match is_last {
                true => Some(any.await),
                false => timeout(HEAD_START, any).await.ok(),
            };
            if let Some((at, connected)) = connected {
                return Some((self.opening.swap_remove(at).0, connected));
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the bootstrap addresses may be asked once brokers are known.
    fn may_rebootstrap(&self) -> bool {
        self.options.metadata_recovery_strategy == MetadataRecoveryStrategy::Rebootstrap
    }

    /// What a connection to an address is opened with.
    fn terms(&self, state: &mut State, address: &str) -> OpeningTerms {
        let (closer, close) = oneshot::channel();
        state.close.retain(|closer| !closer.is_closed());
        state.close.push(closer);
        let is_checked = self.may_rebootstrap() && self.options.metadata_cluster_check;
        OpeningTerms {
            identity: state.metadata.identity(address).filter(|_| is_checked),
            close: CloseSignal::When(close),
            rebootstraps: state.rebootstraps,
        }
    }

    /// Forgets the brokers and closes all connections; the bootstrap addresses are asked next. Several connections may
    /// be refused at the same time, so this does nothing if the count of `rebootstraps` has changed since.
    fn rebootstrap(&self, rebootstraps: u64) {
        let mut state = self.lock();
        if state.rebootstraps != rebootstraps {
            return;
        }
        tracing::info!(
            bootstrap = self.bootstrap.join(","),
            "a broker answered REBOOTSTRAP_REQUIRED: all connections are closed, and the bootstrap \
             addresses are asked"
        );
        state.rebootstraps += 1;
        state.rebootstrapped_at = Some(Instant::now());
        Arc::make_mut(&mut state.metadata).forget_brokers();
        state.connections.clear();
        state.opening.clear();
        for close in state.close.drain(..) {
            // The connection may have ended by itself.
            let _ = close.send(());
        }
    }
}

/// Splits `host:port,host:port`; hosts may be names, IPv4 or bracketed IPv6 addresses.
fn parse_addresses(list: &str) -> Result<Vec<String>, Error> {
    let addresses: Vec<String> =
        list.split(',').map(str::trim).filter(|a| !a.is_empty()).map(str::to_owned).collect();
    let valid = |address: &String| {
        address.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty()
                && !host.contains('@')
                && (!host.contains(':') || (host.starts_with('[') && host.ends_with(']')))
                && port.parse::<u16>().is_ok_and(|port| port != 0)
        })
    };
    if addresses.is_empty() || !addresses.iter().all(valid) {
        // A URL may have a password before its host.
        let shown = if list.contains('@') { secret::HIDDEN } else { list };
        return Err(Error::BadAddress(shown.to_owned()));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use thalweg_wire::messages::metadata_response::MetadataResponseBroker;

    use super::*;

    impl Cluster {
        /// One that nobody is asked for.
        pub(crate) fn detached(metadata: Metadata) -> Cluster {
            let state = State { metadata: Arc::new(metadata), ..State::default() };
            let shared = Shared {
                bootstrap: vec!["127.0.0.1:1".into()],
                options: Options::default(),
                begun: Instant::now(),
                state: Mutex::new(state),
            };
            Cluster { shared: Arc::new(shared) }
        }
    }

    #[test]
    fn a_hint_copies_nothing_that_nobody_looks_at() {
        let partition = |index: i32| {
            let leader = Some(Leader { id: 1, epoch: 3 });
            (index, crate::core::metadata::Partition { leader, replicas: vec![1], isr: vec![1] })
        };
        let topic = crate::core::metadata::Topic {
            id: Uuid::ZERO,
            internal: false,
            partitions: (0..3).map(partition).collect(),
        };
        let mut metadata = Metadata::default();
        metadata.topics.insert("t".into(), topic);
        let cluster = Cluster::detached(metadata);
        let before = Arc::as_ptr(&cluster.metadata());
        let broker = Broker { id: 2, host: "b".into(), port: 1, rack: None };
        let leader = Leader { id: 2, epoch: 4 };
        cluster.hint(0, &[(TopicPartition::new("t", 1), leader)], [broker.clone()]);
        assert_eq!(cluster.metadata().leader("t", 1), Some(leader));
        assert_eq!(Arc::as_ptr(&cluster.metadata()), before);
        // A snapshot stays as it is; what is no news does not part from it.
        let snapshot = cluster.metadata();
        cluster.hint(0, &[(TopicPartition::new("t", 1), leader)], [broker.clone()]);
        assert!(Arc::ptr_eq(&snapshot, &cluster.metadata()));
        cluster.hint(0, &[(TopicPartition::new("t", 2), leader)], [broker]);
        assert_eq!(snapshot.leader("t", 2), Some(Leader { id: 1, epoch: 3 }));
        assert_eq!(cluster.metadata().leader("t", 2), Some(leader));
    }

    #[test]
    fn answers_from_before_a_rebootstrap_are_not_applied() {
        let broker = |node_id| MetadataResponseBroker {
            node_id,
            host: "b".into(),
            port: 1,
            ..MetadataResponseBroker::default()
        };
        let answer = |node_id| MetadataResponse {
            cluster_id: Some("c".into()),
            brokers: vec![broker(node_id)],
            ..MetadataResponse::default()
        };
        let cluster = Cluster::detached(Metadata::default());
        for topics in [Some(Vec::new()), None] {
            let request = MetadataRequest { topics, ..MetadataRequest::default() };
            let before = cluster.shared.lock().rebootstraps;
            assert!(cluster.apply(&request, &answer(1), before).is_some());
            let hinted = Broker { id: 2, host: "b".into(), port: 2, rack: None };
            cluster.hint(before, &[], [hinted.clone()]);
            assert_eq!(cluster.metadata().brokers.len(), 2);

            cluster.shared.rebootstrap(before);
            assert!(cluster.apply(&request, &answer(1), before).is_none());
            cluster.hint(before, &[], [hinted.clone()]);
            let metadata = cluster.metadata();
            assert!(metadata.brokers.is_empty() && metadata.cluster_id.is_none());

            cluster.hint(before + 1, &[], [hinted]);
            assert!(cluster.address(2).is_ok());
            assert!(cluster.apply(&request, &answer(3), before + 1).is_some());
            assert!(cluster.address(3).is_ok());
        }
    }

    #[test]
    fn lists_of_addresses() {
        assert_eq!(parse_addresses("a:1, b:2,[::1]:3").unwrap(), ["a:1", "b:2", "[::1]:3"]);
        for bad in ["", ",", "a", "a:", ":1", "a:0", "a:99999", "::1:9092", "a:1,b"] {
            assert!(parse_addresses(bad).is_err(), "{bad}");
        }
        for bad in ["kafka://alice:hunter2@a:1", "alice:hunter2@a:1", "hunter2@a:1"] {
            let error = parse_addresses(bad).unwrap_err();
            for shown in crate::error::tests::everything_shown(&error) {
                assert!(!shown.contains("hunter2"), "{shown}");
            }
        }
    }
}
