//! A partition's log on disk in Kafka's own format.
