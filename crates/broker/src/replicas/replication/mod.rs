//! Replication between brokers, around the state machines of `thalweg_replication`: the requests of leaders to the
//! controller (`isr_requests`), and what followers fetch (`fetchers`: which broker from whom, `fetcher`: one of them,
//! `answer`: what is done with an answer, `waiting`: what of that may wait for a disk).

mod answer;
mod fetcher;
mod fetchers;
mod isr_requests;
#[cfg(test)]
mod tests;
mod waiting;

pub(crate) use fetchers::{Fetchers, take_over_stuck};
pub(crate) use isr_requests::run as ask_for_isrs;
