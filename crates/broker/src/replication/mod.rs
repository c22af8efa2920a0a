//! Replication between brokers, around the state machines of `thalweg_replication`: what leaders ask the controller
//! for (`isr_changes`), and what followers fetch (`fetchers`: which broker from whom, `fetcher`: one at a time,
//! `answer`: what is done with what comes).

mod answer;
mod fetcher;
mod fetchers;
mod isr_changes;

pub(crate) use fetchers::Fetchers;
pub(crate) use isr_changes::{IsrChanges, run as ask_for_isrs};
