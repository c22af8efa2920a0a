//! The code blocks of README and guide, each under its name: `guide NAME`, with the broker in `GUIDE_BROKER`.
//! `guide list` names them. What a block needs, such as a consumer, is made here; what it does is seen
//! in the topics, the groups and the output, which tests/guide.rs looks at.

use std::error::Error;
use std::time::Duration;

use thalweg::{Cluster, Consumer, ConsumerConfig, OffsetReset, Options, Producer, ProducerConfig};

/// Prints a line, and is busy for a moment.
macro_rules! work {
    ($($arg:tt)*) => {{
        println!($($arg)*);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }};
}
pub(crate) use work;

include!(concat!(env!("OUT_DIR"), "/guide.rs"));

pub(crate) fn bootstrap() -> String {
    std::env::var("GUIDE_BROKER").unwrap_or_else(|_| "127.0.0.1:9092".to_owned())
}

async fn cluster() -> Result<Cluster, thalweg::Error> {
    Cluster::connect(&bootstrap(), Options::default()).await
}

/// A member that reads orders from their beginning.
async fn consumer(group: &str) -> Result<Consumer, thalweg::Error> {
    let config = ConsumerConfig::default()
        .with_group_id(group)
        .with_auto_offset_reset(OffsetReset::Earliest);
    let mut consumer = Consumer::new(cluster().await?, config)?;
    consumer.subscribe(["orders"])?;
    Ok(consumer)
}

/// Polls until there is something.
async fn settled(group: &str) -> Result<Consumer, thalweg::Error> {
    let mut consumer = consumer(group).await?;
    consumer.poll(1).await?;
    Ok(consumer)
}

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_default();
    // Those that have a runtime of their own.
    match &*name {
        "list" => {
            BLOCKS.iter().for_each(|name| println!("{name}"));
            return Ok(());
        }
        "guide_first_producer_1" => return Ok(guide_first_producer_1::main()?),
        "guide_first_consumer_1" => return guide_first_consumer_1::main(),
        "guide_read_work_write_1" => return guide_read_work_write_1::main(),
        "guide_streams_5" => return guide_streams_5::main(),
        _ => {}
    }
    tokio::runtime::Runtime::new()?.block_on(run(&name))
}

async fn run(name: &str) -> Result<(), Box<dyn Error>> {
    match name {
        "guide_first_producer_2" => {
            let mut consumer = consumer("sort out").await?;
            let producer = Producer::new(cluster().await?, ProducerConfig::default())?;
            guide_first_producer_2::sort_out(&mut consumer, &producer).await?;
            consumer.close(Duration::from_secs(10)).await?;
        }
        "guide_first_producer_3" => guide_first_producer_3::run().await?,
        "guide_transactions_1" => guide_transactions_1::bill(cluster().await?).await?,
        "guide_first_consumer_2" => guide_first_consumer_2::run().await?,
        "guide_first_consumer_3" => guide_first_consumer_3::read_two(cluster().await?).await?,
        // An abort in between: `shout` and `rewind` of the program.
        "guide_read_work_write_1 abort" => aborted().await?,
        "guide_commits_1" => guide_commits_1::by_hand(cluster().await?).await?,
        "guide_from_other_tasks_1" => {
            let consumer = settled("other tasks").await?;
            println!("ready");
            guide_from_other_tasks_1::until_ctrl_c(consumer).await?;
        }
        "guide_pausing_1" => {
            let mut consumer = settled("pausing").await?;
            guide_pausing_1::one_after_the_other(&mut consumer).await?;
            assert!(consumer.paused().is_empty());
        }
        "guide_seeking_and_times_1" => {
            let mut consumer = settled("seeking").await?;
            guide_seeking_and_times_1::rewind(&consumer).await?;
            println!(
                "{}",
                consumer.poll(1).await?.iter().map(|record| record.offset()).sum::<i64>()
            );
        }
        "guide_rebalances_1" => {
            let mut consumer = consumer("listener").await?;
            consumer.unsubscribe().await?;
            consumer.set_listener(guide_rebalances_1::CommitWhenRevoked)?;
            consumer.subscribe(["orders"])?;
            consumer.poll(500).await?;
            consumer.close(Duration::from_secs(10)).await?;
        }
        "guide_why_does_nothing_come_1" => {
            guide_why_does_nothing_come_1::explain(&settled("why").await?);
        }
        "guide_the_log_1" => {
            guide_the_log_1::run().await?;
            let config = ConsumerConfig::default();
            let mut consumer = Consumer::new(cluster().await?, config)?;
            consumer.assign([(thalweg::TopicPartition::new("ordres", 0), None)])?;
            consumer.poll(1).await?;
        }
        "guide_errors_1" => {
            let refused = ConsumerConfig::default().with_group_id("").check();
            guide_errors_1::judge(&refused.err().unwrap_or(thalweg::Error::Wakeup));
        }
        "guide_tls_and_sasl_1" => guide_tls_and_sasl_1::run().await?,
        "guide_tls_and_sasl_2" => {
            let file = [("client.id", "me"), ("nonsense", "1"), ("group.id", "billing")];
            let file = file.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let (options, consumer) = guide_tls_and_sasl_2::settings(file.to_vec())?;
            println!("{} {:?}", options.client_id, consumer.group_id);
        }
        "guide_streams_1" => guide_streams_1::run(cluster().await?).await?,
        "guide_streams_2" => guide_streams_2::run(cluster().await?).await?,
        "guide_streams_3" => guide_streams_3::copy(cluster().await?).await?,
        "guide_streams_4" => guide_streams_4::copy(cluster().await?).await?,
        "guide_administration_1" => guide_administration_1::set_up(cluster().await?).await?,
        "guide_in_your_tests_1" => guide_in_your_tests_1::orders_are_billed().await,
        "readme_in_a_test_of_your_own_1" => readme_in_a_test_of_your_own_1::run().await?,
        "readme_in_a_test_of_your_own_2" => readme_in_a_test_of_your_own_2::run().await?,
        "readme_read_and_write_with_the_client_crate_1" => {
            readme_read_and_write_with_the_client_crate_1::run().await?;
        }
        "readme_read_and_write_with_the_client_crate_2" => {
            readme_read_and_write_with_the_client_crate_2::run().await?;
        }
        name => return Err(format!("there is no block {name}").into()),
    }
    Ok(())
}

/// Reads, aborts, sets back, and works on the same records.
async fn aborted() -> Result<(), Box<dyn Error>> {
    use guide_read_work_write_1::{rewind, shout};
    let config = ProducerConfig::default().with_transactional_id("shouter-1");
    let producer = Producer::new(cluster().await?, config)?;
    producer.init_transactions().await?;
    let config = ConsumerConfig::default()
        .with_group_id("shouter")
        .with_auto_commit(false)
        .with_auto_offset_reset(OffsetReset::Earliest);
    let mut consumer = Consumer::new(cluster().await?, config)?;
    consumer.subscribe(["orders"])?;
    for round in 0..2 {
        let first = consumer.poll(10).await?;
        let transaction = producer.begin().await?;
        for record in &first {
            drop(transaction.send(record.to_topic("shouted")).await?);
        }
        transaction.abort().await?;
        rewind(&consumer).await?;
        let again = consumer.poll(first.len()).await?;
        let places = |records: &thalweg::Records| -> Vec<_> {
            records.iter().map(|record| (record.partition(), record.offset())).collect()
        };
        assert_eq!(places(&first)[0], places(&again)[0], "in round {round}");
        shout(&producer, &consumer, &again).await?;
    }
    consumer.close(Duration::from_secs(10)).await?;
    Ok(())
}
