//! Group coordinator state machines: classic groups and offsets.
