//! Leaders that an answer names beside an error, so that the client need not ask for metadata (KIP-951).

use crate::api::context::Context;
use crate::node::view::{BrokerAddress, View};

/// The metadata in which the leaders of an answer are looked up.
pub(super) struct LeaderHints(Option<View>);

impl LeaderHints {
    /// For an answer that names leaders, or none.
    pub(super) fn new(context: &Context, names_leaders: bool) -> LeaderHints {
        LeaderHints(names_leaders.then(|| context.services.node.image()))
    }

    /// The addresses of leaders on the client's listener.
    pub(super) fn addresses<'a>(
        &'a self,
        context: &'a Context,
        leaders: impl IntoIterator<Item = &'a i32>,
    ) -> impl Iterator<Item = BrokerAddress<'a>> {
        let listener = &context.listener.name;
        leaders.into_iter().filter_map(move |id| self.0.as_ref()?.endpoint(*id, listener))
    }
}
