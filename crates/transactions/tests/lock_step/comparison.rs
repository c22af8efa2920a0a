//! What is compared after an operation, and what may differ.

use std::collections::BTreeMap;

use serde_json::json;
use thalweg_coordinator::{KeyValue, Token};
use thalweg_transactions::{Producer, TransactionRecord, TransactionRequest, TransactionState};
use thalweg_wire::ErrorCode;

use super::kafka::{self, command, number, string};
use super::{Checked, Difference, IDS, Pair, is_completion};
use crate::world::{self, describe, id_of, list, name, record, words};

impl Pair<'_> {
    pub(super) fn check_answers(&mut self) -> Checked {
        let mut ours: BTreeMap<Token, String> = BTreeMap::new();
        for (token, answer) in self.world.memory.take_answers() {
            ours.insert(token, words(&answer));
        }
        let mut left = Vec::new();
        for (number, token, request) in std::mem::take(&mut self.asked) {
            let kafkas = self.step.done.remove(&number).map(|of| kafka::words(&request, &of));
            let ours = ours.remove(&token);
            if ours.as_deref() == Some("PRODUCER_FENCED")
                && kafkas.as_deref().is_some_and(|kafkas| kafkas != "PRODUCER_FENCED")
                && self.is_of_fenced(&request)
            {
                self.count(Difference::FencedEnds);
                continue;
            }
            match (&ours, &kafkas) {
                (None, None) => left.push((number, token, request)),
                (Some(ours), Some(kafkas)) if self.agree(&request, ours, kafkas) => {
                    let kind = command(&request);
                    let is_error = ErrorCode::NONE.to_string() == *ours
                        || ours.chars().all(|c| c.is_ascii_uppercase() || c == '_');
                    let said = if is_error { ours.as_str() } else { "fine" };
                    let said = format!("{} {said}", string(&kind["op"]));
                    *self.answers.entry(said).or_default() += 1;
                }
                _ => {
                    let none = "-".to_owned();
                    return Err(format!(
                        "{request:?}\n  ours:  {}\n  kafka: {}",
                        ours.as_ref().unwrap_or(&none),
                        kafkas.as_ref().unwrap_or(&none)
                    ));
                }
            }
        }
        self.asked = left;
        if !ours.is_empty() {
            return Err(format!("nobody asked for {ours:?}"));
        }
        Ok(())
    }

    /// Whether a producer of the epoch before the last one ends a transaction, and its last one did not end in the next epoch.
    fn is_of_fenced(&self, request: &TransactionRequest) -> bool {
        let TransactionRequest::End(of) = request else { return false };
        let mut records = self.world.memory.log.iter().rev().map(record);
        let last = records.find(|record| record.transactional_id == of.transactional_id);
        of.client_version.bumps_epochs()
            && last.and_then(|last| last.value).is_some_and(|last| {
                !last.client_version.bumps_epochs()
                    && last.producer_id == of.producer.id
                    && last.producer_epoch.checked_sub(1) == Some(of.producer.epoch)
            })
    }

    /// Whether an answer is the same, or one of those that are meant to differ.
    fn agree(&self, request: &TransactionRequest, ours: &str, kafkas: &str) -> bool {
        if let TransactionRequest::List(_) = request {
            return ours == self.without_first_in_transit(kafkas);
        }
        if ours == kafkas {
            return true;
        }
        let is_of_one_epoch = match request {
            TransactionRequest::Verify(_) => true,
            TransactionRequest::End(of) => !of.client_version.bumps_epochs(),
            _ => false,
        };
        match self.in_transit.get(id_of(request)) {
            Some(Difference::FirstInTransit) => {
                let kafkas_may = ["PRODUCER_FENCED", "INVALID_PRODUCER_ID_MAPPING"];
                is_of_one_epoch && ours == "CONCURRENT_TRANSACTIONS" && kafkas_may.contains(&kafkas)
            }
            Some(Difference::FenceInTransit) => {
                let is_fenced = |of: &str| of == "PRODUCER_FENCED";
                is_of_one_epoch && is_fenced(ours) != is_fenced(kafkas)
            }
            _ => false,
        }
    }

    fn without_first_in_transit(&self, kafkas: &str) -> String {
        let is_here = |one: &&str| {
            let id = one.split(':').next().unwrap_or_default();
            self.in_transit.get(id) != Some(&Difference::FirstInTransit)
        };
        kafkas.split_whitespace().filter(is_here).collect::<Vec<_>>().join(" ")
    }

    /// Kafka's completions that are lost, or are tried again.
    pub(super) fn check_failed_completions(&mut self) -> Checked {
        if !self.step.has_failed {
            return self.check_state();
        }
        self.note_retries();
        let has_lost =
            self.step.is_round_lost || self.step.refused.iter().any(is_completion) && !self.retries;
        let (_, state) = self.tell(&json!({"op": "state"}));
        let is_stuck = kafka::list(&state["partitions"][0]["transactions"])
            .iter()
            .any(|of| string(&of["state"]).starts_with("Prepare") && of["pendingState"].is_null());
        if has_lost || is_stuck {
            self.count(Difference::CompletionLost);
            // What it throws then takes the rest of the broker's answer with it, of other transactions, too.
            if !self.step.errors.is_empty() && self.held() != Some(false) {
                self.adopt_log();
            }
            return self.realign();
        }
        self.check_state()
    }

    pub(super) fn check_state(&mut self) -> Checked {
        if let Some(thrown) = self.step.errors.first() {
            return Err(format!("Kafka throws {thrown}"));
        }
        self.check_logs()?;
        self.check_failures()?;
        let (_, result) = self.tell(&json!({"op": "markers"}));
        let kafkas = self.markers(&result["queued"])?;
        if kafkas != self.queued {
            return Err(format!("markers\n  ours:  {:?}\n  kafka: {kafkas:?}", self.queued));
        }
        self.in_transit.clear();
        let mut is_apart = false;
        for id in IDS {
            let Some(difference) = self.check_id(id)? else { continue };
            self.count(difference);
            self.in_transit.insert(id, difference);
            is_apart |= matches!(difference, Difference::FirstFailed | Difference::FenceFailed);
        }
        if is_apart {
            return self.realign();
        }
        let request = list();
        let (number, _) = self.tell(&command(&request));
        let token = self.world.memory.submit(request.clone());
        self.asked.push((number, token, request));
        self.check_answers()
    }

    /// Compares how many appends are still to fail. An append on one side only would make a later answer differ.
    fn check_failures(&mut self) -> Checked {
        let (_, state) = self.tell(&json!({"op": "state"}));
        let ours = self.world.memory.failures.len();
        let kafkas = number(&state["failures"]);
        if i64::try_from(ours) == Ok(kafkas) {
            return Ok(());
        }
        Err(format!("appends still to fail\n  ours:  {ours}\n  kafka: {kafkas}"))
    }

    fn check_id(&mut self, id: &str) -> Checked<Option<Difference>> {
        let ours = self.world.describe(id);
        let request = describe(id);
        let (_, kafkas) = self.tell(&command(&request));
        let kafkas = kafka::words(&request, &kafkas);
        if ours == kafkas {
            return Ok(None);
        }
        let version = self.world.config.version;
        let is_first = ours == "TRANSACTIONAL_ID_NOT_FOUND"
            && kafkas.starts_with("Empty ")
            && kafkas.contains("/-1 ");
        let is_fenced = !version.bumps_epochs() && is_bumped(&ours, &kafkas);
        let is_held = self.hold.is_some();
        let has_failed = self.step.has_failed;
        match (is_first, is_fenced) {
            (true, _) if has_failed && !self.is_asked(id) => Ok(Some(Difference::FirstFailed)),
            (true, _) if is_held => Ok(Some(Difference::FirstInTransit)),
            (_, true) if has_failed && !self.is_asked(id) => Ok(Some(Difference::FenceFailed)),
            (_, true) if is_held => Ok(Some(Difference::FenceInTransit)),
            _ => Err(format!("describe {id}\n  ours:  {ours}\n  kafka: {kafkas}")),
        }
    }

    /// Whether a request of an id has no answer yet.
    fn is_asked(&self, id: &str) -> bool {
        self.asked.iter().any(|(_, _, request)| id_of(request) == id)
    }

    fn check_logs(&mut self) -> Checked {
        if self.held() == Some(false) {
            return Ok(());
        }
        let from = self.compared;
        let mut ours: Vec<(&KeyValue, TransactionRecord)> = self.world.memory.log[from..]
            .iter()
            .map(|one| (world::bytes(one), record(one)))
            .collect();
        let mut kafkas: Vec<(&KeyValue, TransactionRecord)> =
            self.kafkas_log[from..].iter().map(|one| (one, record(&one.clone().into()))).collect();
        // Sweeps find them in any order.
        ours.sort_by(|a, b| a.1.transactional_id.cmp(&b.1.transactional_id));
        kafkas.sort_by(|a, b| a.1.transactional_id.cmp(&b.1.transactional_id));
        let mut times = 0;
        for ((bytes, ours), (kafkas_bytes, kafkas)) in ours.iter().zip(&kafkas) {
            let mut expected = kafkas.clone();
            if let (Some(ours), Some(kafkas)) = (&ours.value, &mut expected.value) {
                let is_complete = matches!(
                    ours.state,
                    TransactionState::CompleteCommit | TransactionState::CompleteAbort
                );
                if is_complete && kafkas.last_update_ms < ours.last_update_ms {
                    kafkas.last_update_ms = ours.last_update_ms;
                    times += 1;
                }
            }
            if *ours != expected {
                return Err(format!("log\n  ours:  {ours:?}\n  kafka: {kafkas:?}"));
            }
            let has_order = ours.value.as_ref().is_some_and(|value| value.partitions.len() > 1);
            let is_same = bytes == kafkas_bytes || expected != *kafkas || has_order;
            let length = |of: &KeyValue| of.value.as_ref().map(bytes::Bytes::len);
            if !is_same || length(bytes) != length(kafkas_bytes) {
                return Err(format!("bytes\n  ours:  {bytes:?}\n  kafka: {kafkas_bytes:?}"));
            }
        }
        if ours.len() != kafkas.len() {
            return Err(format!("log\n  ours:  {ours:?}\n  kafka: {kafkas:?}"));
        }
        self.compared = self.kafkas_log.len();
        for _ in 0..times {
            self.count(Difference::CompletionTime);
        }
        Ok(())
    }
}

/// Whether Kafka has an ongoing transaction in the epoch behind ours.
fn is_bumped(ours: &str, kafkas: &str) -> bool {
    let producer = |of: &str| -> Option<(i64, i16)> {
        let (id, epoch) = of.strip_prefix("Ongoing ")?.split(' ').next()?.split_once('/')?;
        Some((id.parse().ok()?, epoch.parse().ok()?))
    };
    let (Some(of), Some(bumped)) = (producer(ours), producer(kafkas)) else { return false };
    let as_bumped = |epoch| name(Producer { id: of.0, epoch });
    of.0 == bumped.0
        && of.1.checked_add(1) == Some(bumped.1)
        && ours.replacen(&as_bumped(of.1), &as_bumped(bumped.1), 1) == kafkas
}
