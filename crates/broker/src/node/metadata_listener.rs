//! How committed metadata takes effect, seen from the room that commits it.

use std::collections::BTreeSet;
use std::pin::Pin;

use thalweg_metadata::image::Update;
use thalweg_wire::Uuid;

/// Ends when the logs of new partitions are open.
pub(crate) type Opening<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Has updates of the metadata take effect.
pub(crate) trait MetadataListener: Send + Sync {
    /// The update is in force when this returns. Called on a thread that may wait, for one update after the other, in the
    /// order in which they were committed. Gives the topics with partitions whose logs are opened later.
    fn apply(&self, update: Update) -> BTreeSet<Uuid>;

    /// Waits until no log of these topics is to be opened. A listener without logs has nothing to wait for.
    fn wait_opened<'a>(&'a self, _topics: &'a BTreeSet<Uuid>) -> Opening<'a> {
        Box::pin(std::future::ready(()))
    }
}
