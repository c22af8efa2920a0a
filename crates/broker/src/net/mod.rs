//! Sockets: listeners, connections, frames in and out. Knows nothing of what requests mean.

pub(crate) mod allowed;
pub(crate) mod budget;
pub(crate) mod buffers;
pub(crate) mod connection;
pub(crate) mod frame;
pub(crate) mod hosts;
pub(crate) mod idle;
pub(crate) mod kept;
pub(crate) mod limits;
pub(crate) mod listener;
pub(crate) mod outgoing;
pub(crate) mod peer;
pub(crate) mod rate;
pub(crate) mod send;
pub(crate) mod sockets;
