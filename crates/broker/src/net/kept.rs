//! A connection that is kept between requests, and where it goes.

use std::sync::Arc;

use thalweg_replication::observer::Endpoint;

use super::outgoing::{Outgoing, OutgoingError, Timeouts};

/// At most one connection.
#[derive(Debug, Default)]
pub(crate) struct KeptConnection(Option<(Endpoint, Outgoing)>);

impl KeptConnection {
    /// Whether there is one.
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Whether there is one that can be used, and it goes there.
    pub(crate) fn goes_to(&self, endpoint: &Endpoint) -> bool {
        self.0.as_ref().is_some_and(|(known, it)| known == endpoint && it.is_usable())
    }

    /// The connection, if there is one.
    pub(crate) fn get(&mut self) -> Option<&mut Outgoing> {
        self.0.as_mut().map(|(_, connection)| connection)
    }

    /// The connection to an endpoint: the one that is kept, if it can be used and goes there, else a new one. The old one
    /// is closed before a new one is opened.
    pub(crate) async fn to(
        &mut self,
        endpoint: &Endpoint,
        client_id: &Arc<str>,
        timeouts: Timeouts,
    ) -> Result<&mut Outgoing, OutgoingError> {
        if !self.goes_to(endpoint) {
            self.close();
            let opened = Outgoing::open(endpoint, client_id, timeouts).await?;
            return Ok(&mut self.0.insert((endpoint.clone(), opened)).1);
        }
        self.get().ok_or(OutgoingError::GivenUp)
    }

    /// Closes it; says whether there was one.
    pub(crate) fn close(&mut self) -> bool {
        self.0.take().is_some()
    }
}
