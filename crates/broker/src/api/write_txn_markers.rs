//! WriteTxnMarkers: the end of a transaction is written into partitions that this broker leads (KIP-98, KIP-664). A
//! transaction's coordinator asks for it, or an administrator who ends a transaction that hangs.

use thalweg_wire::messages::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};

use crate::api::context::Context;
use crate::coordination::transactions::write_markers;

pub(super) async fn handle(
    context: Context,
    request: WriteTxnMarkersRequest,
) -> WriteTxnMarkersResponse {
    write_markers::write(&context.services.coordination, request).await
}
