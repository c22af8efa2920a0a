//! Listeners, connections, one file per API, purgatory, fetch sessions, wiring.
