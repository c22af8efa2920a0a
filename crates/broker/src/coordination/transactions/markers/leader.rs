//! One broker that leads partitions: the request in flight to it, and what waits for that.
//!
//! A leader that hangs is not waited for once the metadata names another one: what it was sent of those partitions goes
//! to that one at once. It may have been written, too; a marker that comes twice changes nothing.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_wire::messages::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};
use tokio::sync::Notify;

use super::{Codes, Pending, take};
use crate::coordination::Coordination;
use crate::coordination::transactions::write_markers;
use crate::net::kept::KeptConnection;
use crate::net::outgoing::{ANSWER_MAX, OutgoingError, Timeouts};
use crate::net::peer;

/// How long the connection to a broker is kept without a marker, well below what brokers allow by default.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// The longest that a connection may take to come about.
const CONNECT_TIMEOUT_MAX: Duration = Duration::from_secs(10);
/// So many transactions are in one request at most.
const REQUEST_MAX: usize = 1_000;

/// A broker that leads partitions, and what waits for the request in flight to it.
#[derive(Default)]
pub(super) struct Leader {
    waiting: Mutex<Waiting>,
    added: Notify,
}

#[derive(Default)]
struct Waiting {
    all: Vec<Pending>,
    /// A task sends them.
    has_sender: bool,
}

/// The connection to a leader, which is counted.
struct Channel {
    coordination: Arc<Coordination>,
    id: i32,
    client_id: Arc<str>,
    connection: KeptConnection,
}

impl Channel {
    async fn call(
        &mut self,
        request: &WriteTxnMarkersRequest,
    ) -> Result<WriteTxnMarkersResponse, OutgoingError> {
        let coordination = &self.coordination;
        let timeout = u64::try_from(coordination.node.settings().request_timeout_ms()).unwrap_or(0);
        let timeout = Duration::from_millis(timeout.max(1));
        let connect = timeout.min(CONNECT_TIMEOUT_MAX);
        let timeouts = Timeouts { connect, request: timeout, answer_max: ANSWER_MAX };
        if !peer::is_usable(&coordination.node, self.id, &self.connection) {
            self.close();
        }
        let (coordination, is_new) = (&self.coordination, !self.connection.is_open());
        let metrics = &coordination.transaction_writes().markers().channels;
        let opened = peer::connect(
            &coordination.node,
            self.id,
            &self.client_id,
            timeouts,
            &mut self.connection,
        )
        .await?;
        if is_new {
            metrics.connections_opened.add(1);
        }
        metrics.requests.add(1);
        let answer = opened.call(request).await?;
        metrics.responses.add(1);
        Ok(answer)
    }

    fn close(&mut self) {
        if self.connection.close() {
            self.coordination.transaction_writes().markers().channels.connections_closed.add(1);
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.close();
    }
}

impl Leader {
    /// Has markers sent to the broker.
    pub(super) fn add(
        self: &Arc<Self>,
        coordination: &Arc<Coordination>,
        id: i32,
        pending: Pending,
    ) {
        let mut waiting = self.waiting.lock();
        waiting.all.push(pending);
        if !std::mem::replace(&mut waiting.has_sender, true) {
            let sender = Arc::clone(self).send_all(Arc::clone(coordination), id);
            coordination.node.spawn_until_stopped(sender);
        }
        drop(waiting);
        self.added.notify_one();
    }

    /// Sends what waits, for as long as something does.
    async fn send_all(self: Arc<Self>, coordination: Arc<Coordination>, id: i32) {
        let client_id = format!("broker-{}-txn-marker-sender", coordination.node.id()).into();
        let mut channel =
            Channel { coordination, id, client_id, connection: KeptConnection::default() };
        loop {
            let all: Vec<Pending> = {
                let mut waiting = self.waiting.lock();
                let count = waiting.all.len().min(REQUEST_MAX);
                waiting.all.drain(..count).collect()
            };
            if all.is_empty() {
                let added = tokio::time::timeout(IDLE_MAX, self.added.notified()).await;
                let mut waiting = self.waiting.lock();
                if added.is_err() && waiting.all.is_empty() {
                    waiting.has_sender = false;
                    return;
                }
                continue;
            }
            self.send(&mut channel, all).await;
        }
    }

    /// Sends markers in one request, and tells their transactions what became of them.
    async fn send(&self, channel: &mut Channel, all: Vec<Pending>) {
        let (coordination, id) = (Arc::clone(&channel.coordination), channel.id);
        // If another broker coordinates now, it sends the marker.
        let epoch = |pending: &Pending| pending.source.coordinator_epoch();
        let mut all: Vec<(Pending, i32)> =
            all.into_iter().filter_map(|it| epoch(&it).map(|epoch| (it, epoch))).collect();
        self.pass_on_moved(&coordination, id, &mut all);
        if all.is_empty() {
            return;
        }
        let markers = all.iter().map(|(pending, epoch)| pending.to_marker(*epoch)).collect();
        let request = WriteTxnMarkersRequest { markers, ..Default::default() };
        let answer = if id == coordination.node.id() {
            // A leader that is here no more answers at once.
            Some(Ok(write_markers::write(&coordination, request).await))
        } else {
            self.call_while_led(channel, &request, &mut all).await
        };
        let codes = match answer {
            Some(Ok(answer)) => Codes::of(answer),
            Some(Err(error)) => {
                tracing::info!(broker = id, %error, "transaction markers are sent again");
                channel.close();
                Codes::default()
            }
            None => {
                tracing::info!(
                    broker = id,
                    "transaction markers go to other leaders; an answer is not waited for"
                );
                channel.close();
                return;
            }
        };
        for (pending, epoch) in all {
            take(&coordination, pending, epoch, &codes);
        }
    }

    /// Asks the broker for as long as it leads a partition of those in the request; the others are sent to who leads them
    /// now, and left in `all` no longer. `None` if none is left.
    async fn call_while_led(
        &self,
        channel: &mut Channel,
        request: &WriteTxnMarkersRequest,
        all: &mut Vec<(Pending, i32)>,
    ) -> Option<Result<WriteTxnMarkersResponse, OutgoingError>> {
        let (coordination, id) = (Arc::clone(&channel.coordination), channel.id);
        let mut answer = std::pin::pin!(channel.call(request));
        loop {
            let published = coordination.node.published().notified();
            self.pass_on_moved(&coordination, id, all);
            if all.is_empty() {
                return None;
            }
            tokio::select! {
                answer = &mut answer => return Some(answer),
                () = published => {}
            }
        }
    }

    /// Has what is in flight, or waits, and is for partitions that the broker does not lead any more sent to who does.
    fn pass_on_moved(
        &self,
        coordination: &Coordination,
        id: i32,
        in_flight: &mut Vec<(Pending, i32)>,
    ) {
        let (image, markers) =
            (coordination.node.image(), &coordination.transaction_writes().markers());
        let mut waiting = self.waiting.lock();
        let all = in_flight.iter_mut().map(|(pending, _)| pending).chain(&mut waiting.all);
        for moved in all.filter_map(|pending| pending.split_off_moved(&image, id)) {
            markers.add(moved);
        }
        in_flight.retain(|(pending, _)| !pending.partitions.is_empty());
        waiting.all.retain(|pending| !pending.partitions.is_empty());
    }
}
