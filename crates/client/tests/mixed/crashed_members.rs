//! Members that do not leave: they die, or come back under their own name (static members, KIP-345).

use std::collections::BTreeMap;
use std::time::Duration;

use thalweg::admin::{ConfigChange, ConfigResource, Mode};
use thalweg::{Consumer, ConsumerConfig, GroupProtocol, OffsetReset, TopicPartition};
use thalweg_testkit::kafka::Shared;

use super::members::{Java, Member, Other};
use super::traffic::{Book, Reader, Writer, partitions};
use super::{BETWEEN, OURS, Side};

/// The shortest session that brokers allow: somebody waits for its end.
const SHORT: Duration = Duration::from_secs(6);
/// One that nobody sees the end of.
const LONG: Duration = Duration::from_secs(45);

pub async fn run(kafka: &Shared, java: &Java, theirs: &Side, ours: &Side) {
    let modern = GroupProtocol::Consumer { server_assignor: None };
    for (side, protocol) in
        [(theirs, GroupProtocol::default()), (ours, GroupProtocol::default()), (theirs, modern)]
    {
        let scene = Scene { side, protocol };
        tokio::join!(scene.deaths(kafka, java), scene.names(java));
    }
}

/// What is written for a group, and what was read of it.
struct Traffic {
    /// A topic of three partitions, and one of two.
    names: [String; 2],
    all: Vec<TopicPartition>,
    book: Book,
    writer: Writer,
}

/// A cluster, and the protocol of the groups there.
struct Scene<'s> {
    side: &'s Side,
    protocol: GroupProtocol,
}

impl Scene<'_> {
    fn is_classic(&self) -> bool {
        matches!(self.protocol, GroupProtocol::Classic { .. })
    }

    fn group(&self, what: &str) -> String {
        let kind = if self.is_classic() { "classic" } else { "KIP-848" };
        super::group(&format!("{what}-{kind}"))
    }

    /// Makes the topics of a group, and writes to them from now on.
    async fn traffic(&self, group: &str) -> Traffic {
        let names = [format!("a-{group}"), format!("b-{group}")];
        let topics = [(&*names[0], 3), (&*names[1], 2)];
        self.side.create(&topics).await;
        let all = partitions(&topics);
        let cluster = self.side.cluster().await;
        let writer = Writer::start(cluster, all.clone(), Duration::from_millis(5));
        Traffic { names, all, book: Book::default(), writer }
    }

    /// Groups of KIP-848 have their sessions from the broker.
    async fn set_session(&self, group: &str, session: Duration) {
        if !self.is_classic() {
            let change =
                ConfigChange::set("consumer.session.timeout.ms", session.as_millis().to_string());
            let changes = BTreeMap::from([(ConfigResource::group(group), vec![change])]);
            let changed = self.side.admin.alter_configs(changes, Mode::Apply).await;
            assert!(changed.values().all(Result::is_ok), "{changed:?}");
        }
    }

    fn consumer_config(
        &self,
        group: &str,
        session: Duration,
        name: Option<&str>,
    ) -> ConsumerConfig {
        let mut config = ConsumerConfig::default()
            .with_group_id(group)
            .with_group_protocol(self.protocol.clone())
            .with_auto_offset_reset(OffsetReset::Earliest);
        config.group_instance_id = name.map(str::to_owned);
        match self.protocol {
            GroupProtocol::Classic { .. } => config
                .with_heartbeat_interval(Duration::from_millis(100))
                .with_session_timeout(session),
            // Set at the brokers.
            _ => config,
        }
    }

    async fn ours(&self, config: ConsumerConfig, topics: [&str; 2], book: &Book) -> Reader {
        let mut consumer = Consumer::new(self.side.cluster().await, config).unwrap();
        consumer.subscribe(topics).unwrap();
        Reader::start(OURS, consumer, book.clone())
    }

    fn java_configs(&self, group: &str, session: Duration) -> Vec<String> {
        let mut configs = vec![
            format!("group.id={group}"),
            format!("bootstrap.servers={}", self.side.bootstrap),
            format!("client.id={}", Other::Java.name()),
            "auto.offset.reset=earliest".to_owned(),
        ];
        match self.is_classic() {
            true => configs.extend([
                "heartbeat.interval.ms=100".to_owned(),
                format!("session.timeout.ms={}", session.as_millis()),
            ]),
            false => configs.push("group.protocol=consumer".to_owned()),
        }
        configs
    }

    /// A process is killed, then one of this client's members is gone without a word: each time
    /// the other one gets all of its partitions, and reads on behind what was committed.
    async fn deaths(&self, kafka: &Shared, java: &Java) {
        let group = self.group("deaths");
        let Traffic { names: [three, two], all, book, writer } = self.traffic(&group).await;
        let topics = [(&*three, 3), (&*two, 2)];
        let advance = async || {
            writer.advance(BETWEEN).await;
            book.reach_all(&all, writer.acknowledged()).await;
        };
        self.set_session(&group, SHORT).await;
        let configs = self.java_configs(&group, SHORT);
        let name = |life: &str| format!("{}-{group}-{life}", self.side.name);

        // With a runtime of its own, which ends with everything in it.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let config = self.consumer_config(&group, SHORT, None);
        let (bootstrap, names) = (self.side.bootstrap.clone(), [three.clone(), two.clone()]);
        let noted = book.clone();
        let _reader = runtime
            .spawn(async move {
                let side = Side::new("its own", bootstrap).await;
                let mut consumer = Consumer::new(side.cluster().await, config).unwrap();
                consumer.subscribe(names.each_ref().map(String::as_str)).unwrap();
                Reader::start(OURS, consumer, noted)
            })
            .await
            .unwrap();
        self.side.settled(&group, 1).await;
        let process = tokio::task::block_in_place(|| Java::start(kafka));
        let _member =
            Member::join(&process, Other::Java, &topics, &configs, name("first"), book.clone());
        self.side.settled(&group, 2).await;
        advance().await;
        drop(process);
        let left = self.side.settled(&group, 1).await;
        assert_eq!(left.keys().collect::<Vec<_>>(), [OURS]);
        advance().await;

        let member =
            Member::join(java, Other::Java, &topics, &configs, name("second"), book.clone());
        self.side.settled(&group, 2).await;
        advance().await;
        runtime.shutdown_background();
        let left = self.side.settled(&group, 1).await;
        assert_eq!(left.keys().collect::<Vec<_>>(), [Other::Java.name()]);
        advance().await;
        let (written, _) = writer.stop().await;
        book.reach_all(&all, written).await;
        member.leave().await;
        book.assert_nobody_repeats(&group);
    }

    /// A static member stops and comes back within its session: it has what it had, the others
    /// hear nothing of it, and each record is read once.
    async fn names(&self, java: &Java) {
        let group = self.group("names");
        let Traffic { names: [three, two], all, book, writer } = self.traffic(&group).await;
        let topics = [(&*three, 3), (&*two, 2)];
        let advance = async || {
            writer.advance(BETWEEN).await;
            book.reach(&all, writer.acknowledged()).await;
        };
        let ours = async || {
            let config = self.consumer_config(&group, LONG, Some("it"));
            self.ours(config, [&three, &two], &book).await
        };
        let mut configs = self.java_configs(&group, LONG);
        configs.push("group.instance.id=other".to_owned());
        let name = format!("{}-{group}", self.side.name);

        let mut reader = ours().await;
        self.side.settled(&group, 1).await;
        let member = Member::join(java, Other::Java, &topics, &configs, name, book.clone());
        let before = self.side.settled(&group, 2).await;
        advance().await;
        let assigned = member.assigned();
        assert!(assigned > 0);
        for _ in 0..3 {
            reader.stop().await.close(Duration::from_secs(20)).await.unwrap();
            writer.advance(BETWEEN).await;
            reader = ours().await;
            advance().await;
        }
        let after = self.side.settled(&group, 2).await;
        let who = format!("{} {group}", self.side.name);
        assert_eq!(before, after, "{who}");
        assert_eq!(member.assigned(), assigned, "{who}: the other one was disturbed");
        let (written, _) = writer.stop().await;
        book.reach(&all, written).await;
        member.leave().await;
        reader.stop().await.close(Duration::from_secs(20)).await.unwrap();
        book.sort();
        book.assert_complete(&who, &all, written);
    }
}
