//! Requests that a controller answers, and what comes with one.

use thalweg_wire::{ErrorCode, Request};

use super::{Context, Decision, Random};

/// A request that a controller answers, whoever that is: the embedded one decides with
/// [`decide`](Self::decide), the active one of a quorum elsewhere is sent the request as it is.
pub trait ControllerRequest: Request<Response: Send + 'static> + Send + Sync + 'static {
    /// Whether it changes nothing. Its decisions have no records, so that it need not wait for
    /// its turn: the image in force answers it.
    const READ_ONLY: bool = false;

    /// Decides about it.
    fn decide(
        &self,
        context: &Context<'_>,
        given: &mut RequestContext<'_>,
    ) -> Decision<Self::Response>;

    /// The answer where the controller gave none: `code`, wherever this API has a place for it.
    fn refused(&self, code: ErrorCode) -> Self::Response;

    /// Whether the answer is that of a controller that is not the active one.
    fn is_of_inactive(&self, answer: &Self::Response) -> bool {
        *answer == self.refused(ErrorCode::NOT_CONTROLLER)
    }
}

/// What a decision goes by beside its request, the image and the configuration.
pub struct RequestContext<'a> {
    /// Version of the request. Some are answered differently in older ones.
    pub version: i16,
    /// Where new ids and the places of new replicas come from.
    pub random: &'a mut dyn Random,
    /// Id of this cluster.
    pub cluster_id: &'a str,
    /// Level of `kraft.version`, which is in no record of the image.
    pub kraft_version: i16,
    /// Offset of the metadata log's next record: the epoch of a broker that registers.
    pub next_offset: i64,
    /// What was heard of the broker that registers, or that the heartbeat is of.
    pub heartbeats: HeartbeatState,
}

/// What a controller remembers of a broker's heartbeats. No record says it: a controller that takes
/// over begins anew.
#[derive(Debug, Clone, Copy)]
pub struct HeartbeatState {
    /// Whether the broker that is registered under this id was heard of within its session.
    pub has_session: bool,
    /// Offset of the broker's registration.
    pub registration_offset: i64,
    /// Metadata offset up to which every other active broker is known to have come, if there are
    /// others; a broker that stops waits until they know who leads now.
    pub lowest_active_offset: Option<i64>,
    /// Offset at which the broker's controlled shutdown began, if it did.
    pub shutdown_offset: Option<i64>,
}
