//! DescribeCluster: the brokers, whole and fenced.

use thalweg_metadata::controller::describe_cluster;
use thalweg_wire::messages::{DescribeClusterRequest, DescribeClusterResponse};

use crate::api::context::Context;

pub(super) async fn handle(
    context: Context,
    request: DescribeClusterRequest,
) -> DescribeClusterResponse {
    let services = &context.services;
    services.node.with_controller_context(|c| {
        describe_cluster(
            c,
            &request,
            services.node.cluster_id(),
            &context.listener.name,
            context.version,
        )
    })
}
