//! The other side: `oracle/TransactionOracle.java`, whose header says what it takes and gives.

use std::io::{BufRead as _, BufReader, Write as _};

use bytes::Bytes;
use serde_json::{Value, json};
use thalweg_coordinator::KeyValue;
use thalweg_transactions::{Partitions, Producer, TransactionRequest};
use thalweg_wire::ErrorCode;

use crate::oracle::{self, Input, Output, Program};
use crate::world::name;

/// Kafka's coordinator.
pub struct Kafka {
    input: Input,
    output: BufReader<Output>,
}

impl Kafka {
    /// Starts it, unless there are no jars.
    pub fn start() -> Option<Kafka> {
        oracle::jars()?;
        let file = |name| format!("{}/tests/oracle/{name}", env!("CARGO_MANIFEST_DIR"));
        let (input, output) = Program::source(file("TransactionOracle.java"), "TransactionOracle")
            .with(file("TransactionBroker.java"))
            .with(file("TransactionAnswer.java"))
            .start();
        Some(Kafka { input, output: BufReader::new(output) })
    }

    /// Gives it a command.
    pub fn run(&mut self, op: &Value) -> Value {
        writeln!(self.input, "{op}").expect("the oracle takes commands");
        self.input.flush().expect("the oracle takes commands");
        let mut line = String::new();
        let read = self.output.read_line(&mut line).expect("the oracle answers");
        assert!(read > 0, "the oracle ended at {op}");
        serde_json::from_str(&line).expect("JSON")
    }

    /// The same, for one whose result is at hand and that throws nothing.
    pub fn result(&mut self, op: &Value) -> Value {
        let answer = self.run(op);
        assert_eq!(answer["errors"], json!([]), "{op}");
        answer["result"].clone()
    }

    /// Lets it end.
    pub fn end(self) {
        drop(self.input);
        let done = self.output.into_inner().finish();
        assert_eq!(done.status, 0, "the oracle failed: {}", done.errors);
    }
}

/// Partitions, as commands have them.
pub fn partitions(of: &Partitions) -> Value {
    of.iter().map(|(topic, index)| json!([topic, index])).collect()
}

/// A request as a command.
pub fn command(request: &TransactionRequest) -> Value {
    match request {
        TransactionRequest::Init(of) => {
            let expected = of.expected.unwrap_or(Producer::NONE);
            json!({"op": "init", "transactionalId": of.transactional_id, "timeoutMs": of.timeout_ms,
                "enable2Pc": of.enable_2pc, "keepPreparedTxn": of.keep_prepared,
                "producerId": expected.id, "producerEpoch": expected.epoch})
        }
        TransactionRequest::Add(of) => json!({"op": "add", "transactionalId": of.transactional_id,
            "producerId": of.producer.id, "producerEpoch": of.producer.epoch,
            "partitions": partitions(&of.partitions),
            "clientTransactionVersion": of.client_version.level()}),
        TransactionRequest::Verify(of) => {
            json!({"op": "verify", "transactionalId": of.transactional_id,
                "producerId": of.producer.id, "producerEpoch": of.producer.epoch,
                "partitions": partitions(&of.partitions)})
        }
        TransactionRequest::End(of) => json!({"op": "end", "transactionalId": of.transactional_id,
            "producerId": of.producer.id, "producerEpoch": of.producer.epoch,
            "committed": of.commit, "clientTransactionVersion": of.client_version.level()}),
        TransactionRequest::Describe { transactional_id } => {
            json!({"op": "describe", "transactionalId": transactional_id})
        }
        TransactionRequest::List(of) => {
            let states = of.states.iter().flatten().map(|state| state.name());
            json!({"op": "list", "states": states.collect::<Vec<_>>(),
                "producerIds": of.producer_ids, "durationMs": of.duration_ms})
        }
    }
}

/// A number that is there.
pub fn number(of: &Value) -> i64 {
    of.as_i64().unwrap_or_else(|| panic!("{of} is no number"))
}

/// A string that is there.
pub fn string(of: &Value) -> &str {
    of.as_str().unwrap_or_else(|| panic!("{of} is no string"))
}

/// A list that is there.
pub fn list(of: &Value) -> &[Value] {
    of.as_array().unwrap_or_else(|| panic!("{of} is no list"))
}

fn producer(of: &Value) -> String {
    let epoch = i16::try_from(number(&of["producerEpoch"])).expect("an epoch");
    name(Producer { id: number(&of["producerId"]), epoch })
}

/// A result in the words of [`crate::world::words`].
pub fn words(request: &TransactionRequest, result: &Value) -> String {
    if let Some(error) = result["error"].as_str().filter(|error| *error != "NONE") {
        return error.to_owned();
    }
    match request {
        TransactionRequest::Init(_) | TransactionRequest::End(_) => producer(result),
        TransactionRequest::Add(_) => "NONE".into(),
        TransactionRequest::Verify(_) => {
            let errors = list(&result["errors"]);
            let first = errors.first().map_or("", |one| string(&one["error"]));
            let is_of_each = ["NONE", "TRANSACTION_ABORTABLE", ""].contains(&first);
            if !is_of_each {
                assert!(errors.iter().all(|one| one["error"] == first), "{result}");
                return first.to_owned();
            }
            let one = |one: &Value| {
                format!("{}-{}:{}", string(&one["topic"]), one["partition"], string(&one["error"]))
            };
            errors.iter().map(one).collect::<Vec<_>>().join(" ")
        }
        TransactionRequest::Describe { .. } => {
            let mut words = format!(
                "{} {} {} {}",
                string(&result["transactionState"]),
                producer(result),
                result["transactionTimeoutMs"],
                result["transactionStartTimeMs"]
            );
            for topic in list(&result["topics"]) {
                for index in list(&topic["partitions"]) {
                    words.push_str(&format!(" {}-{index}", string(&topic["topic"])));
                }
            }
            words
        }
        TransactionRequest::List(_) => {
            let one = |one: &Value| {
                let (id, state) =
                    (string(&one["transactionalId"]), string(&one["transactionState"]));
                format!("{id}:{}:{state}", one["producerId"])
            };
            let mut all: Vec<String> = list(&result["transactions"]).iter().map(one).collect();
            all.sort();
            all.join(" ")
        }
    }
}

fn unhex(text: &str) -> Bytes {
    let pairs = (0..text.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex")).collect()
}

/// Bytes as commands have them.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A record of an answer.
pub fn bytes(record: &Value) -> KeyValue {
    let value = record["valueHex"].as_str().map(unhex);
    KeyValue { key: unhex(string(&record["keyHex"])), value }
}

/// The command that puts a record into the log.
pub fn write(record: &KeyValue) -> Value {
    let value = record.value.as_ref().map(|value| hex(value));
    json!({"op": "write", "partition": 0, "hex": {"key": hex(&record.key), "value": value}})
}

/// The name of an error.
pub fn error(of: ErrorCode) -> &'static str {
    of.name().expect("a name")
}
