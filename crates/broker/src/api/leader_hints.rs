//! Leaders that an answer names beside an error, so that the client need not ask for metadata (KIP-951).

use crate::api::context::Context;
use crate::node::view::{BrokerAddress, View};

/// The leaders that an answer names, each once.
#[derive(Default)]
pub(super) struct NamedLeaders(Vec<i32>);

impl NamedLeaders {
    /// Names a partition's leader, if the client is told of it; gives id and epoch as the answer has them.
    pub(super) fn name(&mut self, leader: Option<(i32, i32)>) -> (i32, i32) {
        let (id, epoch) = leader.unwrap_or((-1, -1));
        if id >= 0 && !self.0.contains(&id) {
            self.0.push(id);
        }
        (id, epoch)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The leaders of an answer, and the metadata in which they are looked up.
pub(super) struct LeaderHints {
    leaders: Vec<i32>,
    view: Option<View>,
}

impl LeaderHints {
    /// For an answer that names these leaders, or none.
    pub(super) fn new(context: &Context, leaders: NamedLeaders) -> LeaderHints {
        let view = (!leaders.is_empty()).then(|| context.services.node.image());
        LeaderHints { leaders: leaders.0, view }
    }

    /// The addresses of the leaders on the client's listener.
    pub(super) fn addresses<'a>(
        &'a self,
        context: &'a Context,
    ) -> impl Iterator<Item = BrokerAddress<'a>> {
        let listener = &context.listener.name;
        self.leaders.iter().filter_map(move |id| self.view.as_ref()?.endpoint(*id, listener))
    }
}
