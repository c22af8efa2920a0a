//! Producer ids: the controller hands out blocks, the broker hands out their members. A block that
//! was not used up when the broker stops is lost, so no id is ever given twice.

use std::ops::Range;

use parking_lot::Mutex;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::AllocateProducerIdsRequest;
use tokio::sync::Notify;

use crate::control::Control;
use crate::control::kraft::ControllerError;

/// Ids that are left of the last block when the next one is asked for: a tenth of a block of 1000.
const LOW: i64 = 100;

/// The blocks that are here.
#[derive(Debug, Default)]
pub(crate) struct ProducerIds {
    blocks: Mutex<Blocks>,
    /// One request at a time.
    allocating: tokio::sync::Mutex<()>,
    low: Notify,
}

#[derive(Debug, Default)]
struct Blocks {
    current: Range<i64>,
    /// The one behind it.
    next: Range<i64>,
}

impl Blocks {
    fn take(&mut self) -> Option<i64> {
        if self.current.is_empty() {
            self.current = std::mem::take(&mut self.next);
        }
        self.current.next()
    }

    fn left(&self) -> i64 {
        (self.current.end - self.current.start) + (self.next.end - self.next.start)
    }
}

impl ProducerIds {
    /// The next id.
    pub(crate) async fn next(&self, control: &Control) -> Result<i64, ControllerError> {
        loop {
            if let Some(id) = self.blocks.lock().take() {
                return Ok(id);
            }
            self.allocate(control, 1).await?;
        }
    }

    /// Whether a caller that does not wait gets none.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.lock().left() == 0
    }

    /// Waits until a caller that does not wait gets one.
    pub(crate) async fn reserve(&self, control: &Control) -> Result<(), ControllerError> {
        self.allocate(control, 1).await
    }

    /// Has a block allocated, unless as many ids are left.
    async fn allocate(&self, control: &Control, least: i64) -> Result<(), ControllerError> {
        if self.blocks.lock().left() >= least {
            return Ok(());
        }
        let _one = self.allocating.lock().await;
        if self.blocks.lock().left() >= least {
            return Ok(());
        }
        let request = AllocateProducerIdsRequest {
            broker_id: control.node.id(),
            broker_epoch: control.node.broker_epoch(),
            ..Default::default()
        };
        let response = control.send(request).await?;
        if response.error_code.is_err() {
            return Err(ControllerError::Refused(response.error_code));
        }
        let start = response.producer_id_start;
        let mut blocks = self.blocks.lock();
        if blocks.current.is_empty() {
            blocks.current = std::mem::take(&mut blocks.next);
        }
        let block = start..start.saturating_add(i64::from(response.producer_id_len));
        if blocks.current.is_empty() {
            blocks.current = block;
        } else {
            blocks.next = block;
        }
        Ok(())
    }

    /// Has blocks allocated before they are needed, for as long as it is polled, once one was used.
    pub(crate) async fn keep(&self, control: &Control) {
        loop {
            self.low.notified().await;
            if let Err(error) = self.allocate(control, LOW).await {
                tracing::warn!(%error, "no block of producer ids could be allocated");
            }
        }
    }
}

/// Ids for coordinators, which do not wait.
impl thalweg_transactions::ProducerIds for ProducerIds {
    fn next(&self) -> Result<i64, ErrorCode> {
        let mut blocks = self.blocks.lock();
        let id = blocks.take();
        if blocks.left() < LOW {
            self.low.notify_one();
        }
        id.ok_or(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)
    }
}
