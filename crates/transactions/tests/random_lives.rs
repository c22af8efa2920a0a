//! Random lives of a shard, with appends that wait, fail and are committed late, other leaders at any moment, and markers
//! that are lost, come twice and in any order, against what must always hold.

use std::collections::{BTreeMap, BTreeSet};

use thalweg_coordinator::Token;
use thalweg_random::{Random, seeds};
use thalweg_transactions::{
    Producer, TransactionConfig, TransactionRequest, TransactionResponse, TransactionState,
    TransactionVersion, WriteMarkers,
};
use thalweg_wire::ErrorCode;

use crate::world::{World, add_as, config, describe, end_as, init, init_as, verify};

const IDS: [&str; 3] = ["a", "b", "c"];
const ERRORS: [ErrorCode; 4] = [
    ErrorCode::NOT_ENOUGH_REPLICAS,
    ErrorCode::NOT_LEADER_OR_FOLLOWER,
    ErrorCode::MESSAGE_TOO_LARGE,
    ErrorCode::KAFKA_STORAGE_ERROR,
];

struct Life {
    world: World,
    random: Random,
    /// Everything below is committed.
    committed: usize,
    open: BTreeMap<Token, TransactionRequest>,
    /// Markers to be written, and what was written before.
    markers: Vec<WriteMarkers>,
    written: Vec<WriteMarkers>,
    /// How each transaction was decided.
    decided: BTreeMap<(i64, i16), bool>,
    /// What producers without a past were given.
    given: BTreeSet<(i64, i16)>,
    producers: Vec<Producer>,
}

impl Life {
    fn new(seed: u64) -> Life {
        let mut random = Random::new(seed);
        let level = [0, 1, 2, 2][random.below(4)];
        let version = TransactionVersion::from_level(level).expect("there are three");
        let wait_ms = *random.pick(&[0, 1_000]);
        Life {
            world: World::new(TransactionConfig { wait_ms, ..config(version) }),
            random,
            committed: 0,
            open: BTreeMap::new(),
            markers: Vec::new(),
            written: Vec::new(),
            decided: BTreeMap::new(),
            given: BTreeSet::new(),
            producers: vec![Producer { id: 1000, epoch: 0 }],
        }
    }

    fn request(&mut self) -> TransactionRequest {
        let id = *self.random.pick(&IDS);
        let described = self.world.try_ask(describe(id));
        let current = match described {
            Ok(TransactionResponse::Describe(Ok(of))) if self.random.chance(85) => of.producer,
            _ => *self.random.pick(&self.producers),
        };
        let of = (current.id, current.epoch);
        let version = match self.world.config.version {
            TransactionVersion::V2 if self.random.chance(80) => TransactionVersion::V2,
            _ => TransactionVersion::V0,
        };
        let to = *self.random.pick(&["t-0", "t-0 t-1", "t-2", ""]);
        match self.random.below(10) {
            0 => init(id),
            1 => init_as(id, Some(of)),
            2 => verify(id, of, to),
            3..7 => add_as(id, of, to, version),
            _ => end_as(id, of, self.random.chance(50), version),
        }
    }

    fn step(&mut self, history: &mut Vec<String>) {
        let memory = &mut self.world.memory;
        let what = match self.random.below(20) {
            0 => {
                memory.auto_append = self.random.chance(60);
                memory.auto_commit = self.random.chance(60);
                format!("append {}, commit {}", memory.auto_append, memory.auto_commit)
            }
            1 => {
                memory.append_one();
                "append one".into()
            }
            2 => {
                let end = memory.log.len();
                let offset = self.committed + self.random.below(end + 1 - self.committed);
                self.committed = offset;
                memory.commit(offset as i64);
                format!("commit {offset}")
            }
            3 => {
                let error = *self.random.pick(&ERRORS);
                memory.failures.push(error);
                format!("fail {error}")
            }
            4 => {
                let ms = *self.random.pick(&[1, 100, 1_000, 6_000, 70_000]);
                memory.advance(ms);
                format!("tick {ms}")
            }
            5 => {
                self.world.abort_timed_out();
                "abort what has timed out".into()
            }
            6 if self.random.chance(50) => self.lead_again(),
            7..11 => self.mark(),
            _ => {
                let request = self.request();
                let token = self.world.memory.submit(request.clone());
                self.open.insert(token, request.clone());
                format!("{token:?} {request:?}")
            }
        };
        history.push(what);
        self.world.memory.settle();
        self.check();
    }

    /// Some markers are written, or they are lost, or written and that is not heard of, or they are told of again.
    fn mark(&mut self) -> String {
        if self.random.chance(15) && !self.written.is_empty() {
            let of = self.random.pick(&self.written).clone();
            let said = format!("marked again {of:?}");
            self.world.marked(of);
            return said;
        }
        if self.markers.is_empty() {
            return "no markers".into();
        }
        let at = self.random.below(self.markers.len());
        let mut of = self.markers[at].clone();
        let kept: Vec<(String, i32)> =
            of.partitions.iter().map(|(topic, index)| (topic.to_owned(), index)).collect();
        if self.random.chance(30) {
            // Only some of them: the whole is sent again.
            of.partitions = kept.iter().take(1).map(|(topic, index)| (&**topic, *index)).collect();
        } else {
            self.markers.remove(at);
        }
        let said = format!("marked {of:?}");
        self.written.push(of.clone());
        self.world.marked(of);
        said
    }

    /// Another leader, who has what is committed and some of the rest.
    fn lead_again(&mut self) -> String {
        self.world.memory.close(ErrorCode::NOT_COORDINATOR);
        self.check();
        assert!(self.open.is_empty(), "no answer to {:?}", self.open);
        let end = self.world.memory.log.len();
        let kept = self.committed + self.random.below(end + 1 - self.committed);
        self.world.memory.log.truncate(kept);
        self.markers.clear();
        let shard = self.world.fresh();
        self.world.memory.auto_append = true;
        if self.random.chance(50) {
            self.world.memory.reload_at(shard, self.committed as i64);
        } else {
            self.committed = kept;
            self.world.memory.auto_commit = true;
            self.world.memory.reload(shard);
        }
        format!("another leader, with {kept} records, {} of them committed", self.committed)
    }

    fn check(&mut self) {
        if self.world.memory.auto_commit {
            self.committed = self.committed.max(self.world.memory.log.len());
        }
        for (token, answer) in self.world.memory.take_answers() {
            let request = self.open.remove(&token);
            let Some(request) = request else { panic!("{token:?} is answered twice") };
            match (request, answer) {
                (TransactionRequest::Init(of), TransactionResponse::Init(Ok(producer))) => {
                    let is_new = self.given.insert((producer.id, producer.epoch));
                    assert!(is_new || of.expected.is_some(), "two are given {producer:?}");
                    self.producers.push(producer);
                }
                (TransactionRequest::End(_), TransactionResponse::End(Ok(producer))) => {
                    self.producers.push(producer);
                }
                _ => {}
            }
        }
        let committed = self.world.records(0);
        while let Some(of) = self.world.effect() {
            let is_committed = committed[..self.committed].iter().any(|record| {
                let decision = record.value.as_ref().filter(|it| it.state.is_prepared());
                record.transactional_id == of.transactional_id
                    && decision.is_some_and(|it| {
                        it.producer() == of.producer
                            && (it.state == TransactionState::PrepareCommit) == of.commit
                    })
            });
            assert!(is_committed, "nothing committed says {of:?}");
            let transaction = (of.producer.id, of.producer.epoch);
            let before = self.decided.insert(transaction, of.commit);
            // Without the bump of version 2 one epoch has many transactions, one after the other.
            if of.client_version.bumps_epochs() {
                assert!(before.is_none_or(|it| it == of.commit), "decided twice: {of:?}");
            }
            self.markers.push(of);
        }
    }

    /// Everything is written and told: every transaction that was decided is complete, every request answered.
    fn finish(&mut self) {
        self.world.memory.failures.clear();
        self.world.memory.auto_append = true;
        self.world.memory.auto_commit = true;
        self.world.memory.settle();
        self.check();
        for _ in 0..100 {
            for of in std::mem::take(&mut self.markers) {
                self.world.marked(of);
            }
            self.check();
        }
        // Completions that failed before are written again, and nobody waits any longer.
        for _ in 0..3 {
            self.world.memory.advance(1_000);
            self.check();
            for of in std::mem::take(&mut self.markers) {
                self.world.marked(of);
            }
            self.check();
        }
        assert!(self.open.is_empty(), "no answer to {:?}", self.open);
        for id in IDS {
            let described = self.world.describe(id);
            assert!(!described.starts_with("Prepare"), "{id}: {described}");
        }
        let mut last: BTreeMap<String, Producer> = BTreeMap::new();
        for record in self.world.records(0) {
            let Some(value) = record.value else { continue };
            let before = last.insert(record.transactional_id.clone(), value.producer());
            let goes_on = before
                .is_none_or(|it| it.id != value.producer_id || it.epoch <= value.producer_epoch);
            assert!(goes_on, "{} goes back to {:?}", record.transactional_id, value.producer());
        }
    }
}

#[test]
fn random_lives_keep_the_invariants() {
    seeds::family("coordinated transactions", 600, 10, |seed, history| {
        let mut life = Life::new(seed);
        for _ in 0..200 {
            life.step(history);
        }
        history.push("the end".into());
        life.finish();
    });
}
