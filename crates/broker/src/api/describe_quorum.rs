//! DescribeQuorum: the quorum of the metadata log, which is this node, or the controllers of others.

use thalweg_metadata::controller::{QuorumState, describe_quorum};
use thalweg_wire::Uuid;
use thalweg_wire::messages::{DescribeQuorumRequest, DescribeQuorumResponse};

use crate::api::context::Context;
use crate::control::kraft::Controller;

pub(super) async fn handle(
    context: Context,
    request: DescribeQuorumRequest,
) -> Result<DescribeQuorumResponse, String> {
    let controller = match context.services.control.controller() {
        Controller::Embedded(controller) => controller,
        Controller::Remote(remote) => {
            let answer = remote.forward(&request, context.version, &context.client()).await;
            return answer.or_else(|error| {
                tracing::warn!(%error, "the quorum could not be asked");
                let error_code = super::forward::code(&error)?;
                Ok(DescribeQuorumResponse { error_code, ..Default::default() })
            });
        }
    };
    let (epoch, end_offset) = controller.quorum().await;
    // Static voters are known by their ids alone.
    let directory_id = match context.services.control.controller().kraft_version() {
        0 => Uuid::ZERO,
        _ => context.services.replicas.logs().metadata_dir().id(),
    };
    let state = QuorumState {
        epoch,
        high_watermark: end_offset,
        log_end_offset: end_offset,
        directory_id,
        now_ms: context.services.node.clock().wall_ms(),
    };
    let version = context.version;
    let services = &context.services;
    Ok(services.node.with_controller_context(|c| describe_quorum(c, &request, state, version)))
}
