//! Producer ids: the controller hands out blocks, the broker hands out their members. A block that
//! was not used up when the broker stops is lost, so no id is ever given twice.

use std::sync::Arc;

use thalweg_wire::messages::AllocateProducerIdsRequest;
use tokio::sync::Mutex;

use crate::broker::Broker;
use crate::kraft::ControllerError;

/// The block in use.
#[derive(Debug, Default)]
pub(crate) struct ProducerIds {
    block: Mutex<std::ops::Range<i64>>,
}

impl ProducerIds {
    /// The next id.
    pub(crate) async fn next(&self, broker: &Arc<Broker>) -> Result<i64, ControllerError> {
        let mut block = self.block.lock().await;
        if block.is_empty() {
            let request = AllocateProducerIdsRequest {
                broker_id: broker.node_id,
                broker_epoch: broker.epoch(),
                ..Default::default()
            };
            let response = broker.controller.send(broker, request).await?;
            if response.error_code.is_err() {
                return Err(ControllerError::Refused(response.error_code));
            }
            let start = response.producer_id_start;
            *block = start..start + i64::from(response.producer_id_len);
        }
        let id = block.start;
        block.start += 1;
        Ok(id)
    }
}
