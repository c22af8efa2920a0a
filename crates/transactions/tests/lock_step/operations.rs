//! How each operation is done on both sides.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};
use thalweg_transactions::{
    Partitions, Producer, TransactionEvent, TransactionRequest, TransactionVersion, WriteMarkers,
};
use thalweg_wire::ErrorCode;

use super::kafka::{self, command, error, number, string};
use super::{
    Checked, Difference, GONE, Hold, IDS, LED, Markers, Op, Pair, Sent, Step, is_completion,
};
use crate::world::{self, describe};

impl Pair<'_> {
    /// What Kafka cannot do: commit in the last epoch with transactions of version 2, which throws and uses a producer
    /// id up; and write what a client says of transactions for which the cluster is too old, upon which the id is stuck.
    pub(super) fn is_apart(&self, request: &TransactionRequest) -> bool {
        let version = match request {
            TransactionRequest::End(of) => {
                if of.commit && of.client_version.bumps_epochs() && of.producer.epoch == i16::MAX {
                    return true;
                }
                of.client_version
            }
            TransactionRequest::Add(of) => of.client_version,
            _ => TransactionVersion::V0,
        };
        self.world.config.version == TransactionVersion::V0 && version > TransactionVersion::V0
    }

    /// Whether something is under way.
    pub(super) fn is_busy(&mut self) -> bool {
        let is_prepared = |id| self.world.describe(id).starts_with("Prepare");
        self.hold.is_some() || self.retries || IDS.into_iter().any(is_prepared)
    }

    /// Whether a completion would be written again by Kafka only: our timers wait for appends that are queued.
    pub(super) fn is_retry_blocked(&self) -> bool {
        let has_queued_appends = self.world.memory.runner.queued_appends() > 0;
        self.retries && self.held() == Some(false) && has_queued_appends
    }

    pub(super) fn count(&mut self, difference: Difference) {
        *self.differences.entry(difference).or_default() += 1;
    }

    pub(super) fn tick(&mut self, ms: u64) {
        self.tell(&json!({"op": "clock", "ms": ms}));
        self.world.memory.advance(ms);
    }

    pub(super) fn hold(&mut self, written: bool) {
        self.tell(&json!({"op": "holdAppends"}));
        self.world.memory.auto_commit = !written;
        self.world.memory.auto_append = written;
        self.hold = Some(Hold {
            written,
            steps: 0,
            batches: VecDeque::new(),
            is_unordered: false,
            committed: self.world.memory.log.len(),
        });
    }

    /// Takes down which records were written together.
    pub(super) fn note_batches(&mut self, op: &Op) {
        let Some(hold) = &mut self.hold else { return };
        let count = self.step.records.len();
        match op {
            Op::Expire if count > 0 => hold.batches.push_back(count),
            // Completions that are written again may come in another order in Kafka, too.
            Op::AbortTimedOut | Op::Send if count > 1 => hold.is_unordered = true,
            _ => {}
        }
        if !matches!(op, Op::Expire) {
            hold.batches.extend(std::iter::repeat_n(1, count));
        }
    }

    pub(super) fn release(&mut self, count: Option<usize>) {
        let Some(hold) = &mut self.hold else { return };
        let memory = &mut self.world.memory;
        match count.filter(|count| !hold.is_unordered && *count < hold.batches.len()) {
            Some(count) if hold.written => {
                hold.committed += hold.batches.drain(..count).sum::<usize>();
                memory.commit(i64::try_from(hold.committed).expect("an offset"));
                self.tell(&json!({"op": "releaseAppends", "count": count}));
            }
            Some(count) => {
                hold.batches.drain(..count);
                for _ in 0..count {
                    assert!(memory.append_one(), "an append is held");
                    memory.settle();
                }
                self.tell(&json!({"op": "releaseAppends", "count": count}));
            }
            None => {
                memory.auto_append = true;
                memory.auto_commit = true;
                memory.settle();
                self.hold = None;
                self.tell(&json!({"op": "releaseAppends"}));
            }
        }
    }

    pub(super) fn release_failed(&mut self, code: ErrorCode) {
        let memory = &mut self.world.memory;
        memory.failures.push(code);
        if !memory.append_one() {
            memory.failures.clear();
        }
        memory.auto_append = true;
        memory.settle();
        self.hold = None;
        self.tell(&json!({"op": "releaseAppends", "error": error(code)}));
        self.step.has_failed = true;
        self.truncate();
    }

    /// Takes out of Kafka's log what is not in ours.
    fn truncate(&mut self) {
        let end = self.world.memory.log.len();
        if self.kafkas_log.len() > end {
            self.kafkas_log.truncate(end);
            self.tell(&json!({"op": "truncate", "partition": 0, "offset": end}));
        }
    }

    /// Drops the failures of later appends on both sides.
    pub(super) fn clear_failures(&mut self) {
        self.tell(&json!({"op": "clearFailures"}));
        self.world.memory.failures.clear();
    }

    /// Everything is answered NOT_COORDINATOR.
    pub(super) fn resign(&mut self) -> Checked {
        self.coordinator_epoch += 1;
        let epoch = self.coordinator_epoch;
        self.tell(&json!({"op": "resign", "partition": 0, "epoch": epoch}));
        self.tell(&json!({"op": "releaseAppends"}));
        self.world.memory.close(ErrorCode::NOT_COORDINATOR);
        self.step.errors.clear();
        self.check_answers()?;
        for request in [describe("a"), world::init("a"), world::end("a", (1000, 0), true)] {
            let (number, _) = self.tell(&command(&request));
            let token = self.world.memory.submit(request.clone());
            self.asked.push((number, token, request));
        }
        self.check_answers()
    }

    pub(super) fn elect(&mut self) {
        self.truncate();
        self.hold = None;
        self.retries = false;
        self.world.memory.auto_append = true;
        self.world.memory.auto_commit = true;
        self.queued.clear();
        self.sent.iter_mut().for_each(|sent| sent.is_stale = true);
        self.coordinator_epoch += 1;
        let epoch = self.coordinator_epoch;
        self.tell(&json!({"op": "elect", "partition": 0, "epoch": epoch}));
        self.world.reload();
    }

    /// Gives Kafka what is in our log since both were compared.
    pub(super) fn adopt_log(&mut self) {
        let from = self.compared;
        self.tell(&json!({"op": "truncate", "partition": 0, "offset": from}));
        self.kafkas_log.truncate(from);
        for at in from..self.world.memory.log.len() {
            let record = world::bytes(&self.world.memory.log[at]).clone();
            self.tell(&kafka::write(&record));
            self.kafkas_log.push(record);
        }
    }

    /// Makes both the same again, upon a difference: both load what is in their logs.
    pub(super) fn realign(&mut self) -> Checked {
        self.step = Step::default();
        // Kafka stops at an exception, so it may have used fewer failures. A load would make it throw again: it writes
        // the completion of a transaction without partitions.
        self.clear_failures();
        self.resign()?;
        self.elect();
        let ids = &self.world.ids;
        let command = json!({"op": "producerIds", "next": ids.peek(),
            "error": ids.error().map_or("NONE", error)});
        self.tell(&command);
        self.take_effects();
        self.check_answers()?;
        self.check_state()
    }

    /// Takes over what we want to be written.
    pub(super) fn take_effects(&mut self) {
        while let Some(of) = self.world.effect() {
            let WriteMarkers { transactional_id, producer, commit, partitions, client_version } =
                of;
            let (gone, led): (Vec<_>, Vec<_>) =
                partitions.iter().partition(|(topic, _)| *topic == GONE);
            let (gone, led): (Partitions, Partitions) =
                (gone.into_iter().collect(), led.into_iter().collect());
            let version = client_version.level();
            if !led.is_empty() {
                let markers = Markers { producer, commit, version, partitions: led.clone() };
                self.queued.insert(transactional_id.clone(), markers);
            }
            if led.is_empty() || !gone.is_empty() {
                self.world.memory.event(TransactionEvent::MarkersWritten {
                    transactional_id,
                    producer,
                    partitions: gone,
                });
            }
        }
    }

    /// Markers of an answer, by transactional id.
    pub(super) fn markers(&self, groups: &Value) -> Checked<BTreeMap<String, Markers>> {
        let mut all: BTreeMap<String, Markers> = BTreeMap::new();
        for one in kafka::list(groups).iter().flat_map(|group| kafka::list(&group["markers"])) {
            if number(&one["coordinatorEpoch"]) != self.coordinator_epoch {
                return Err(format!("markers of another coordinator epoch: {one}"));
            }
            let (id, markers) = self.marker(one);
            match all.get_mut(&id) {
                None => {
                    all.insert(id, markers);
                }
                Some(all) => {
                    let of = (all.producer, all.commit, all.version);
                    if of != (markers.producer, markers.commit, markers.version) {
                        return Err(format!("Kafka has two kinds of markers for {id}"));
                    }
                    all.partitions.extend(&markers.partitions);
                }
            }
        }
        Ok(all)
    }

    fn marker(&self, one: &Value) -> (String, Markers) {
        let at = kafka::list(&one["partitions"]).iter();
        let partitions = at.map(|at| (string(&at[0]), number(&at[1]) as i32)).collect();
        let producer = Producer {
            id: number(&one["producerId"]),
            epoch: number(&one["producerEpoch"]) as i16,
        };
        let markers = Markers {
            producer,
            commit: one["committed"] == true,
            version: number(&one["transactionVersion"]) as i16,
            partitions,
        };
        (string(&one["transactionalId"]).to_owned(), markers)
    }

    pub(super) fn send(&mut self) -> Checked {
        self.tick(100);
        self.take_effects();
        let (_, result) = self.tell(&json!({"op": "sendMarkers"}));
        if result.is_null() {
            // A completion that is written again fails for another reason, which ends Kafka's round.
            self.step.is_round_lost = self.step.refused.iter().any(is_completion);
            return Ok(());
        }
        let sent = self.markers(&result["sent"])?;
        let queued = std::mem::take(&mut self.queued);
        if sent != queued {
            return Err(format!("markers sent\n  ours:  {queued:?}\n  kafka: {sent:?}"));
        }
        for one in kafka::list(&result["sent"]) {
            let entries = kafka::list(&one["markers"]).iter();
            self.sent.push(Sent {
                send: number(&one["send"]),
                is_stale: false,
                entries: entries.map(|one| self.marker(one)).collect(),
            });
        }
        self.note_retries();
        Ok(())
    }

    pub(super) fn note_retries(&mut self) {
        let (_, state) = self.tell(&json!({"op": "state"}));
        self.retries = number(&state["appendRetries"]) > 0;
    }

    pub(super) fn answer_markers(&mut self, at: usize, errors: Option<[ErrorCode; 3]>) {
        let sent = self.sent.remove(at);
        let Some(errors) = errors else {
            self.tell(&json!({"op": "answerMarkers", "send": sent.send, "disconnected": true}));
            if !sent.is_stale {
                sent.entries.iter().for_each(|(id, markers)| self.queue(id, markers, |_| true));
            }
            return;
        };
        let named = (0..).zip(errors);
        let named: Vec<Value> = named
            .map(|(at, code)| json!({"topic": LED, "partition": at, "error": error(code)}))
            .collect();
        self.tell(&json!({"op": "answerMarkers", "send": sent.send, "errors": named}));
        if sent.is_stale {
            return;
        }
        let of = |index: i32| errors[index as usize];
        for (id, markers) in &sent.entries {
            let indices = || markers.partitions.iter().map(|(_, index)| index);
            let done: Partitions =
                indices().filter(|at| is_done(of(*at))).map(|at| (LED, at)).collect();
            self.world.memory.event(TransactionEvent::MarkersWritten {
                transactional_id: id.clone(),
                producer: markers.producer,
                partitions: done,
            });
            if !indices().any(|at| is_fenced(of(at))) {
                self.queue(id, markers, |at| !is_done(of(at)));
            }
        }
    }

    /// Markers have to be sent again.
    fn queue(&mut self, id: &str, markers: &Markers, again: impl Fn(i32) -> bool) {
        let partitions: Partitions =
            markers.partitions.iter().filter(|(_, index)| again(*index)).collect();
        if partitions.is_empty() {
            return;
        }
        let queued = self
            .queued
            .entry(id.to_owned())
            .or_insert_with(|| Markers { partitions: Partitions::default(), ..markers.clone() });
        queued.partitions.extend(&partitions);
    }
}

/// Whether Kafka takes it that a marker is written, or need not be.
fn is_done(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::NONE
            | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT
            | ErrorCode::UNSUPPORTED_VERSION
    )
}

/// Whether Kafka gives a transaction up for it, until it has another coordinator.
fn is_fenced(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::TRANSACTION_COORDINATOR_FENCED)
}
