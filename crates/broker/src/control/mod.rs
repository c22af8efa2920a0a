//! The node's side of the cluster's control plane: its controller, its registration, and the requests that it sends to
//! the controller in its own name.

pub(crate) mod auto_topics;
pub(crate) mod directories;
pub(crate) mod kraft;
pub(crate) mod membership;
pub(crate) mod producer_ids;
pub(crate) mod registration;
