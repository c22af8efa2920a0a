//! The contract that every coordinator state machine plugs into: handle, replay, timers.
