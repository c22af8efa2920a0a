//! Async Kafka client: connections, negotiation, metadata.
