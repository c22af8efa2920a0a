//! A transactional producer that does what it is told, line by line, and says what came of it
//! (`tests/python/transaction_kills.py`). Ends with its input.
//!
//! `transactor BOOTSTRAP TRANSACTIONAL_ID` reads `init`, `begin`, `send TOPIC PARTITION VALUE`,
//! `offsets GROUP TOPIC PARTITION OFFSET`, `flush`, `commit` and `abort`, and answers each with `ok`, or with `aborted`, `fatal` or
//! `later` and why.

use std::io::{BufRead as _, Write as _};
use std::num::ParseIntError;
use std::time::Duration;

use thalweg::consumer::GroupMetadata;
use thalweg::{
    Cluster, CommittedOffset, Error, Options, Position, Producer, ProducerConfig, ProducerRecord,
    TopicPartition, Transaction, TransactionError,
};

#[derive(Debug, thiserror::Error)]
enum TransactorError {
    #[error(transparent)]
    Kafka(#[from] Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    NoNumber(#[from] ParseIntError),
    #[error("this is no command: {0:?}")]
    NoCommand(String),
    #[error("{0:?} needs a transaction that is open")]
    NotOpen(String),
}

struct Transactor {
    producer: Producer,
    open: Option<Transaction>,
}

impl Transactor {
    async fn obey(&mut self, line: &str) -> Result<Result<(), TransactionError>, TransactorError> {
        let words: Vec<&str> = line.split(' ').collect();
        let no_command = || TransactorError::NoCommand(line.to_owned());
        let open = || self.open.as_ref().ok_or_else(|| TransactorError::NotOpen(line.to_owned()));
        match words[..] {
            ["init"] => Ok(self.producer.init_transactions().await),
            ["begin"] => match self.producer.begin().await {
                Ok(transaction) => {
                    self.open = Some(transaction);
                    Ok(Ok(()))
                }
                Err(error) => Ok(Err(error)),
            },
            ["send", topic, partition, value] => {
                let mut record = ProducerRecord::new(topic).with_value(value.as_bytes());
                record.partition = Some(partition.parse()?);
                let transaction = open()?;
                // The commit waits for what was taken in.
                match transaction.send(record).await {
                    Ok(_) => Ok(Ok(())),
                    Err(error) => match transaction.failure() {
                        Some(failure) => Ok(Err(failure)),
                        None => Err(Error::from(error).into()),
                    },
                }
            }
            ["offsets", group, topic, partition, offset] => {
                let partition = TopicPartition::new(topic, partition.parse()?);
                let position = Position::at(offset.parse()?);
                let committed = CommittedOffset { position, metadata: None };
                let group = GroupMetadata::new(group);
                Ok(open()?.send_offsets([(partition, committed)], &group).await)
            }
            ["flush"] => match self.producer.flush().await {
                Ok(()) => Ok(Ok(())),
                Err(Error::Producer(why)) => Ok(Err(TransactionError::Fatal(why))),
                Err(error) => Err(error.into()),
            },
            ["commit" | "abort"] => {
                let Some(transaction) = self.open.take() else {
                    return Err(TransactorError::NotOpen(line.to_owned()));
                };
                let is_commit = line == "commit";
                Ok(if is_commit { transaction.commit().await } else { transaction.abort().await })
            }
            _ => Err(no_command()),
        }
    }
}

fn main() -> Result<(), TransactorError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, id] = args.as_slice() else {
        eprintln!("usage: transactor BOOTSTRAP TRANSACTIONAL_ID");
        std::process::exit(2);
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let options = Options::default()
        .with_client_id(id.as_str())
        .with_request_timeout(Duration::from_secs(10));
    let config = ProducerConfig::default()
        .with_transactional_id(id.clone())
        .with_transaction_timeout(Duration::from_secs(60))
        .with_delivery_timeout(Duration::from_secs(25));
    let producer = runtime.block_on(async {
        let cluster = Cluster::connect(bootstrap, options).await?;
        Producer::new(cluster, config)
    })?;
    let mut transactor = Transactor { producer, open: None };
    for line in std::io::stdin().lock().lines() {
        // What the client has to do meanwhile it does on the threads of the runtime.
        let answer = match runtime.block_on(transactor.obey(&line?))? {
            Ok(()) => "ok".to_owned(),
            Err(error) if error.is_aborted() => format!("aborted {error}"),
            Err(error @ TransactionError::Timeout { .. }) => format!("later {error}"),
            Err(error) => format!("fatal {error}"),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}
