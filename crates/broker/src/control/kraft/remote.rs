//! The active controller of a quorum on other nodes: found by the observer, asked over a connection.
//!
//! Each kind of request has a connection of its own, so that a heartbeat does not wait for topics that are being
//! created. On each one request is in flight at a time, as from the Java broker.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use thalweg_connection::{ApiVersions, pipeline};
use thalweg_metadata::controller::ControllerRequest;
use thalweg_wire::messages::{DefaultPrincipalData, EnvelopeRequest};
use thalweg_wire::{ApiKey, ErrorCode, Message, Reader, Request, Writer};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout_at};

use super::controller::{Client, ControllerError};
use super::observer::QuorumStatus;
use crate::net::kept::KeptConnection;
use crate::net::outgoing::{Outgoing, OutgoingError, Timeouts};

/// How long a request may wait for an active controller, as in the Java broker.
const WAIT_FOR_CONTROLLER: Duration = Duration::from_secs(60);
/// Pause before a request is sent again that found no controller.
const RETRY: Duration = Duration::from_millis(50);
/// Version of a principal's serialized form.
const PRINCIPAL_VERSION: i16 = 0;

/// A connection to the active controller.
#[derive(Debug)]
pub(crate) struct Channel {
    quorum: watch::Receiver<QuorumStatus>,
    client_id: Arc<str>,
    timeouts: Timeouts,
    /// What the one that answered last speaks.
    versions: ArcSwap<ApiVersions>,
    connection: Mutex<KeptConnection>,
}

impl Channel {
    pub(crate) fn new(
        quorum: watch::Receiver<QuorumStatus>,
        client_id: &str,
        timeouts: Timeouts,
        versions: &Arc<ApiVersions>,
    ) -> Channel {
        Channel {
            quorum,
            client_id: client_id.into(),
            timeouts,
            versions: ArcSwap::new(Arc::clone(versions)),
            connection: Mutex::default(),
        }
    }

    /// Sends a request to the active controller, as soon as one is known and the requests before it are answered.
    pub(crate) async fn call<R: Request>(&self, request: &R) -> Result<R::Response, OutgoingError> {
        let mut held = self.connection.lock().await;
        let connection = self.connect(&mut held).await?;
        let answer = connection.call(request).await;
        if answer.is_err() {
            held.close();
        }
        answer
    }

    async fn connect<'a>(
        &self,
        held: &'a mut KeptConnection,
    ) -> Result<&'a mut Outgoing, OutgoingError> {
        let mut quorum = self.quorum.clone();
        // The observer has ended if there will never be one.
        let known = quorum.wait_for(|status| status.endpoint.is_some()).await;
        let endpoint = known.ok().and_then(|status| status.endpoint.clone());
        let endpoint = endpoint.ok_or(OutgoingError::GivenUp)?;
        let is_new = !held.goes_to(&endpoint);
        let connection = held.to(&endpoint, &self.client_id, self.timeouts).await?;
        if is_new {
            self.versions.store(Arc::new(connection.versions().clone()));
        }
        Ok(connection)
    }

    /// The one it was sent to does not lead any more.
    async fn forget(&self) {
        self.connection.lock().await.close();
    }
}

/// For requests in this broker's own name. A change of an ISR, which producers with acks=all wait for, does not wait for
/// an internal topic of many partitions.
#[derive(Debug)]
struct OwnChannels {
    isrs: Channel,
    directories: Channel,
    topics: Channel,
    others: Channel,
}

impl OwnChannels {
    fn new(channel: impl Fn(&str) -> Channel) -> OwnChannels {
        OwnChannels {
            isrs: channel("alter-partition"),
            directories: channel("directory-assignments"),
            topics: channel("topics"),
            others: channel("broker"),
        }
    }

    fn of(&self, api: ApiKey) -> &Channel {
        match api {
            ApiKey::ALTER_PARTITION => &self.isrs,
            ApiKey::ASSIGN_REPLICAS_TO_DIRS => &self.directories,
            ApiKey::CREATE_TOPICS => &self.topics,
            _ => &self.others,
        }
    }
}

/// The controller of a broker that has joined a quorum.
#[derive(Debug)]
pub(crate) struct RemoteController {
    quorum: watch::Receiver<QuorumStatus>,
    /// Other requests of this broker.
    own: OwnChannels,
    /// Requests of its clients.
    forwarded: Channel,
}

impl RemoteController {
    /// `channel` makes a connection for a kind of request.
    pub(crate) fn new(
        quorum: watch::Receiver<QuorumStatus>,
        channel: impl Fn(&str) -> Channel,
    ) -> RemoteController {
        let forwarded = channel("forwarding");
        RemoteController { own: OwnChannels::new(channel), forwarded, quorum }
    }

    /// Versions of an API that the controllers speak, as far as is known.
    pub(crate) fn range(&self, api: ApiKey) -> Option<RangeInclusive<i16>> {
        self.forwarded.versions.load().range(api)
    }

    /// What is known of the quorum now.
    pub(crate) fn status(&self) -> watch::Ref<'_, QuorumStatus> {
        self.quorum.borrow()
    }

    /// Asks in this broker's own name.
    pub(crate) async fn send<R: ControllerRequest>(
        &self,
        request: &R,
    ) -> Result<R::Response, ControllerError> {
        let until = Instant::now() + WAIT_FOR_CONTROLLER;
        let channel = self.own.of(R::API_KEY);
        let answered = timeout_at(until, async {
            loop {
                match channel.call(request).await {
                    Ok(answer) if request.is_of_inactive(&answer) => channel.forget().await,
                    Ok(answer) => return Ok(answer),
                    Err(error) => retry_unless_final(error)?,
                }
                tokio::time::sleep(RETRY).await;
            }
        });
        answered.await.unwrap_or(Err(ControllerError::TimedOut))
    }

    /// Asks in the name of a client, with its request in the version in which it came.
    pub(crate) async fn forward<R: Request>(
        &self,
        request: &R,
        version: i16,
        client: &Client,
    ) -> Result<R::Response, ControllerError> {
        let envelope = envelope(request, version, client)?;
        let until = Instant::now() + WAIT_FOR_CONTROLLER;
        let answered = timeout_at(until, async {
            loop {
                match self.forwarded.call(&envelope).await {
                    Ok(answer) => match answer.error_code {
                        ErrorCode::NONE => {
                            let data = answer.response_data.unwrap_or_default();
                            return open::<R>(&data, version);
                        }
                        ErrorCode::NOT_CONTROLLER => self.forwarded.forget().await,
                        code => return Err(ControllerError::Refused(code)),
                    },
                    Err(error) => retry_unless_final(error)?,
                }
                tokio::time::sleep(RETRY).await;
            }
        });
        answered.await.unwrap_or(Err(ControllerError::TimedOut))
    }
}

/// Whether a request that failed is to be sent again: not where it would fail again.
fn retry_unless_final(error: OutgoingError) -> Result<(), ControllerError> {
    match error {
        OutgoingError::Version(_)
        | OutgoingError::Encode { .. }
        | OutgoingError::Decode { .. }
        | OutgoingError::Negotiation(_) => Err(ControllerError::Failed(error.to_string())),
        error => {
            tracing::debug!(%error, "the active controller was not reached");
            Ok(())
        }
    }
}

/// A client's request, header and all, with who the client is (KIP-590).
fn envelope<R: Request>(
    request: &R,
    version: i16,
    client: &Client,
) -> Result<EnvelopeRequest, ControllerError> {
    let failed = |error: thalweg_wire::EncodeError| ControllerError::Failed(error.to_string());
    let mut frame = Writer::new();
    pipeline::encode_request(&mut frame, request, version, &client.id).map_err(failed)?;
    let frame = Bytes::from(frame.to_vec());
    let mut principal = Writer::new();
    principal.i16(PRINCIPAL_VERSION);
    DefaultPrincipalData::encode(&client.principal, &mut principal, PRINCIPAL_VERSION)
        .map_err(failed)?;
    let address = match client.address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    Ok(EnvelopeRequest {
        // Without its length.
        request_data: frame.slice(4..),
        request_principal: Some(principal.to_vec().into()),
        client_host_address: address.into(),
        ..EnvelopeRequest::default()
    })
}

/// The answer in an envelope.
fn open<R: Request>(data: &Bytes, version: i16) -> Result<R::Response, ControllerError> {
    let failed = |error: thalweg_wire::DecodeError| {
        ControllerError::Failed(format!("the answer to {} cannot be read: {error}", R::API_KEY))
    };
    let mut reader = Reader::shared(data);
    reader.i32().map_err(failed)?;
    if R::API_KEY.response_header_version(version) >= 1 {
        reader.tags(None, |_, _| Ok(false)).map_err(failed)?;
    }
    R::Response::decode(&mut reader, version).map_err(failed)
}

#[cfg(test)]
mod tests {
    use thalweg_wire::messages::{
        AlterPartitionRequest, AlterPartitionResponse, CreateTopicsRequest, CreateTopicsResponse,
    };

    use super::*;
    use crate::net::outgoing::ANSWER_MAX;
    use crate::testing::{Peer, soon};

    const WAIT: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn an_isr_change_does_not_wait_for_an_internal_topic() {
        let controller = Peer::new(9).await;
        let endpoint = Some(controller.endpoint());
        let (_status, quorum) = watch::channel(QuorumStatus { endpoint, ..Default::default() });
        let timeouts = Timeouts { connect: WAIT, request: WAIT, answer_max: ANSWER_MAX };
        let channel = |what: &str| {
            Channel::new(quorum.clone(), what, timeouts, &Arc::new(ApiVersions::default()))
        };
        let own = Arc::new(OwnChannels::new(channel));
        let of_topics = Arc::clone(&own);
        let topics = tokio::spawn(async move {
            of_topics.of(ApiKey::CREATE_TOPICS).call(&CreateTopicsRequest::default()).await
        });
        let mut busy = controller.accept().await;
        busy.request::<CreateTopicsRequest>().await;
        let isr = tokio::spawn(async move {
            own.of(ApiKey::ALTER_PARTITION).call(&AlterPartitionRequest::default()).await
        });
        let mut free = controller.accept().await;
        free.request::<AlterPartitionRequest>().await;
        free.answer(&AlterPartitionResponse::default()).await;
        soon("the ISR's answer", isr).await.unwrap().unwrap();
        busy.answer(&CreateTopicsResponse::default()).await;
        soon("the topics' answer", topics).await.unwrap().unwrap();
    }
}
