//! Groups that the coordinator assigns beside Kafka's classic groups, in lock step, as far as both are to give the
//! same answers. `hosted_differences.txt` says where they are not to, and what is compared.

use std::collections::{BTreeMap, BTreeSet};

use thalweg_groups::{ClassicGroup, ClassicGroupState};
use thalweg_random::Random;
use thalweg_random::seeds::oracle_seeds;

use crate::kafka_oracle::{Kafka, Pair};

/// The file of differences.
const DIFFERENCES: &str = include_str!("hosted_differences.txt");

/// Sessions outlast a life.
const SESSION_MS: u64 = 1_000_000;
const ASSIGNORS: [&str; 4] = ["range", "roundrobin", "sticky", "cooperative-sticky"];
const TOPICS: [&str; 3] = ["t1", "t2", "t3"];

/// A field of answers in which both may differ.
struct Difference {
    line: &'static str,
    operation: &'static str,
    field: &'static str,
    ours: &'static str,
    kafkas: &'static str,
}

/// Whether `text` is what `pattern` says, in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut last = None;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = Some(part);
    }
    rest.is_empty() || last.is_some_and(|part| part.is_empty())
}

fn differences() -> Vec<Difference> {
    let mut all = Vec::new();
    let is_comment = |line: &&str| !line.starts_with('#');
    for block in DIFFERENCES.split("\n\n") {
        let lines: Vec<&str> = block.lines().filter(is_comment).collect();
        let Some(first) = lines.first() else { continue };
        assert!(lines.iter().any(|line| line.starts_with("with: ")), "no client: {first}");
        let fields: Vec<&&str> = lines.iter().filter(|line| line.contains(" | ")).collect();
        let is_of_rounds = lines.iter().any(|line| line.starts_with("round: "));
        assert_ne!(fields.is_empty(), !is_of_rounds, "neither compared nor of rounds: {first}");
        for line in fields {
            let parts: Vec<&str> = line.split('|').map(str::trim).collect();
            let [operation, field, ours, kafkas] = parts[..] else { panic!("{line}") };
            all.push(Difference { line, operation, field, ours, kafkas });
        }
    }
    all
}

/// The fields of an answer by name. Sets may have blanks in them.
fn fields(answer: &str) -> BTreeMap<&str, String> {
    let mut fields: BTreeMap<&str, String> = BTreeMap::new();
    let mut depth = 0i32;
    let mut last = "";
    for word in answer.split(' ') {
        match word.split_once('=').filter(|_| depth == 0) {
            Some((name, value)) => {
                last = name;
                fields.insert(name, value.to_owned());
            }
            None => {
                let value = fields.entry(last).or_default();
                value.push(' ');
                value.push_str(word);
            }
        }
        depth += word.matches(['{', '[', '<']).count() as i32;
        depth -= word.matches(['}', ']', '>']).count() as i32;
    }
    fields
}

#[derive(Clone)]
struct Consumer {
    /// Number of its id.
    number: usize,
    instance: Option<&'static str>,
    /// What it says as it joins.
    said: String,
    topics: Vec<&'static str>,
}

struct Life<'k, 'd> {
    pair: Pair<'k>,
    random: Random,
    history: Vec<String>,
    consumers: Vec<Consumer>,
    generation: i32,
    leader: usize,
    protocol: String,
    owned: BTreeMap<usize, Vec<(&'static str, i32)>>,
    differences: &'d [Difference],
    needed: &'d mut BTreeSet<&'static str>,
}

impl Life<'_, '_> {
    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        *self.random.pick(from)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Runs an operation on both. Their answers are the same, but for what may differ in a group that is hosted.
    fn run(&mut self, op: &str) {
        self.history.push(op.to_owned());
        let (ours, kafkas) = self.pair.answers(op);
        if ours == kafkas {
            return;
        }
        let operation = op.split(' ').next().unwrap_or_default();
        let is_hosted = self.pair.world.shard().logged().consumer_group("g").is_some();
        if !is_hosted || ours.len() != kafkas.len() {
            self.fail(&ours, &kafkas);
        }
        for (our, kafka) in ours.iter().zip(&kafkas) {
            let (our, kafka) = (fields(our), fields(kafka));
            for name in our.keys().chain(kafka.keys()) {
                let (our, kafka) = (our.get(name), kafka.get(name));
                if our == kafka {
                    continue;
                }
                let known = self.differences.iter().find(|difference| {
                    difference.operation == operation
                        && difference.field == *name
                        && our.is_some_and(|our| matches(difference.ours, our))
                        && kafka.is_some_and(|kafka| matches(difference.kafkas, kafka))
                });
                match known {
                    Some(difference) => _ = self.needed.insert(difference.line),
                    None => self.fail(&ours, &kafkas),
                }
            }
        }
    }

    fn fail(&self, ours: &[String], kafkas: &[String]) -> ! {
        for op in &self.history {
            eprintln!("> {op}");
        }
        panic!("ours:  {ours:#?}\nkafka: {kafkas:#?}\n{:#?}", self.pair.world.state());
    }

    fn group(&self) -> Option<&ClassicGroup> {
        self.pair.world.shard().group("g")
    }

    fn is(&self, state: ClassicGroupState) -> bool {
        self.group().is_some_and(|group| group.state() == state)
    }

    /// A consumer comes: with a round trip for its id, without, or as a static member.
    fn join(&mut self, instance: Option<&'static str>) {
        let count = 1 + self.below(2);
        let topics: Vec<&'static str> = TOPICS[..count].to_vec();
        let protocols = ["range", self.pick(&ASSIGNORS[1..])]
            .map(|name| format!("{name}:{}", topics.join("+")));
        let rebalance = self.pick(&[10_000, 60_000]);
        let said = format!("c=c p={} s={SESSION_MS} r={rebalance}", protocols.join(","));
        let before = self.pair.names.len();
        match instance {
            Some(instance) => self.run(&format!("join g=g v=9 {said} i={instance}")),
            None if self.chance(40) => self.run(&format!("join g=g v=3 {said}")),
            None => {
                self.run(&format!("join g=g v=9 {said}"));
                let number = self.pair.names.len();
                self.chatter();
                self.run(&format!("join g=g v=9 {said} m=@{number}"));
            }
        }
        let number = self.pair.names.len();
        assert_eq!(number, before + 1, "{:?}", self.history);
        self.consumers.push(Consumer { number, instance, said, topics });
    }

    /// What others ask, at any time.
    fn chatter(&mut self) {
        let op = match self.below(6) {
            0 => "describe g=g,nobody v=6".to_owned(),
            1 => "list v=5".to_owned(),
            2 => "fetch g=g v=8 o=t1:0,t2:1,t3:7 stable=0".to_owned(),
            3 => "fetch g=g v=8 o=all stable=1".to_owned(),
            4 => "commit g=g v=8 o=t1:0:5:m:3".to_owned(),
            _ => "hb g=g v=4 m=stranger gen=1".to_owned(),
        };
        self.run(&op);
    }

    /// Lets a round that has begun come to its end: all are stable.
    fn complete(&mut self) {
        for _ in 0..40 {
            if !self.is(ClassicGroupState::PreparingRebalance) {
                break;
            }
            self.run("tick ms=3000");
        }
        assert!(self.is(ClassicGroupState::CompletingRebalance), "{:?}", self.history);
        let group = self.pair.world.shard().group("g").expect("a group");
        self.generation = group.generation();
        self.protocol = group.protocol_name().unwrap_or_default().to_owned();
        let leader = group.leader().cloned().expect("a leader");
        self.leader = self.pair.names.number(&leader).expect("its number");
        let members: BTreeSet<usize> =
            group.members().filter_map(|member| self.pair.names.number(&member.id)).collect();
        self.consumers.retain(|consumer| members.contains(&consumer.number));
        let leaves_out = self.chance(25);
        self.owned.clear();
        for topic in TOPICS {
            let takers: Vec<usize> = self
                .consumers
                .iter()
                .filter(|consumer| consumer.topics.contains(&topic))
                .map(|consumer| consumer.number)
                .collect();
            for partition in 0..4 {
                if !(takers.is_empty() || leaves_out && self.chance(30)) {
                    let taker = takers[partition as usize % takers.len()];
                    self.owned.entry(taker).or_default().push((topic, partition));
                }
            }
        }
        let mut order = self.consumers.clone();
        while !order.is_empty() {
            let at = self.below(order.len());
            let consumer = order.swap_remove(at);
            let sync = self.sync_of(&consumer);
            self.run(&sync);
            if self.chance(20) {
                self.chatter();
            }
        }
        assert!(!self.is(ClassicGroupState::CompletingRebalance), "{:?}", self.history);
    }

    fn instance_of(consumer: &Consumer) -> String {
        consumer.instance.map_or_else(String::new, |instance| format!(" i={instance}"))
    }

    fn sync_of(&self, consumer: &Consumer) -> String {
        let assigned = self.consumers.iter().map(|member| {
            let owned = self.owned.get(&member.number).map_or(&[][..], Vec::as_slice);
            format!("@{}:!{}", member.number, assignment(owned))
        });
        let assigned = match consumer.number == self.leader {
            true => format!(" a={}", assigned.collect::<Vec<_>>().join(",")),
            false => String::new(),
        };
        format!(
            "sync g=g v=5 m=@{} gen={} t=consumer n={}{}{assigned}",
            consumer.number,
            self.generation,
            self.protocol,
            Self::instance_of(consumer)
        )
    }

    /// A request that starts no round in Kafka, mostly of a member that is right about itself.
    fn quiet(&mut self) {
        let at = self.below(self.consumers.len());
        let consumer = self.consumers[at].clone();
        let member = match self.below(20) {
            0 => "stranger".to_owned(),
            1 => String::new(),
            _ => format!("@{}", consumer.number),
        };
        let generation = match self.below(14) {
            0 => self.generation + 1,
            1 => -1,
            _ => self.generation,
        };
        let instance = match self.below(14) {
            0 => " i=ix".to_owned(),
            1 => " i=ia".to_owned(),
            2 => String::new(),
            _ => Self::instance_of(&consumer),
        };
        let version = self.pick(&[8, 8, 9]);
        let op = match self.below(100) {
            0..25 => format!("hb g=g v=4 m={member} gen={generation}{instance}"),
            25..40 => {
                let kind = self.pick(&["consumer", "consumer", "consumer", "connect"]);
                let other = self.pick(&ASSIGNORS);
                let name = if self.chance(80) { self.protocol.clone() } else { other.to_owned() };
                format!("sync g=g v=5 m={member} gen={generation} t={kind} n={name}{instance}")
            }
            40..60 => {
                let transactional = self.chance(30);
                let owned = self.owned.get(&consumer.number).cloned().unwrap_or_default();
                let (topic, partition) = match owned.is_empty() || self.chance(20) {
                    // What only Kafka takes is not read later.
                    true => (self.pick(&TOPICS), 2 + self.below(2) as i32),
                    false => self.pick(&owned),
                };
                let what = format!("{topic}:{partition}:{}:m", self.below(1000));
                let who = format!("m={member} gen={generation}{instance}");
                match transactional {
                    true => format!("tcommit g=g v=3 pid=7 pe=1 {who} o={what}"),
                    false => format!("commit g=g v={version} {who} o={what}"),
                }
            }
            60..66 => {
                let who = self.pick(&["", " m=stranger e=5", " m=stranger e=-1"]);
                let stable = self.below(2);
                format!("fetch g=g v=9{who} o=t1:0,t2:1,t3:7 stable={stable}")
            }
            66..70 => "odel g=g o=t1:0,t2:0,t3:1".to_owned(),
            70..74 => "describe g=g,nobody v=6".to_owned(),
            74..77 => "list v=5".to_owned(),
            77..79 => "delete g=g,nobody".to_owned(),
            79..81 => "leave g=g v=4 m=stranger,/iy".to_owned(),
            81..92 if consumer.number != self.leader => {
                // It has missed the answer, or asks again.
                let said = &consumer.said;
                let instance = Self::instance_of(&consumer);
                format!("join g=g v=9 {said} m=@{}{instance}", consumer.number)
            }
            92..96 if consumer.instance.is_some() => {
                let instance = Self::instance_of(&consumer);
                let op = format!("join g=g v=9 {}{instance}", consumer.said);
                self.run(&op);
                let number = self.pair.names.len();
                if self.leader == consumer.number {
                    self.leader = number;
                }
                let owned = self.owned.remove(&consumer.number).unwrap_or_default();
                self.owned.insert(number, owned);
                self.consumers[at].number = number;
                return;
            }
            _ => format!("tick ms={}", self.pick(&[0, 10, 500])),
        };
        self.run(&op);
    }
}

/// The bytes of an assignment, in hex.
fn assignment(owned: &[(&str, i32)]) -> String {
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in owned {
        topics.entry(topic).or_default().push(*partition);
    }
    let mut bytes = 1i16.to_be_bytes().to_vec();
    bytes.extend((topics.len() as i32).to_be_bytes());
    for (topic, partitions) in topics {
        bytes.extend((topic.len() as i16).to_be_bytes());
        bytes.extend(topic.as_bytes());
        bytes.extend((partitions.len() as i32).to_be_bytes());
        partitions.iter().for_each(|partition| bytes.extend(partition.to_be_bytes()));
    }
    bytes.extend((-1i32).to_be_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn hosted_groups_answer_as_classic_groups_of_kafka_do() {
    let Some(mut kafka) = Kafka::start() else { return };
    let differences = differences();
    let mut needed = BTreeSet::new();
    let (mut hosted, mut alone) = (0, 0);
    let seeds = oracle_seeds(60);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let mut life = Life {
            pair: Pair::new(&mut kafka),
            random: Random::new(seed ^ 0x4057_ed0a),
            history: Vec::new(),
            consumers: Vec::new(),
            generation: 0,
            leader: 0,
            protocol: String::new(),
            owned: BTreeMap::new(),
            differences: &differences,
            needed: &mut needed,
        };
        let delay = life.pick(&[0, 3000]);
        life.run(&format!("new mode=server delay={delay} cint=0 maxsession=2000000 maxmeta=5"));
        for topic in TOPICS {
            life.run(&format!("topic n={topic} p=4"));
        }
        let count = life.pick(&[1, 2, 3, 4]);
        let is_static = life.below(3);
        for at in 0..count {
            let instance = ["ia", "ib"].get(at).copied().filter(|_| at < is_static);
            life.join(instance);
            life.chatter();
        }
        life.complete();
        for _ in 0..40 {
            life.quiet();
        }
        if life.consumers.len() > 1 {
            hosted += u64::from(life.group().is_none());
            continue;
        }
        // Alone, a member does what it will.
        assert!(life.group().is_some(), "{:?}", life.history);
        alone += 1;
        let consumer = life.consumers[0].clone();
        let instance = Life::instance_of(&consumer);
        life.run(&format!("join g=g v=9 {} m=@{}{instance}", consumer.said, consumer.number));
        life.complete();
        for _ in 0..10 {
            life.quiet();
        }
        let number = life.consumers[0].number;
        life.run(&format!("leave g=g v=4 m=@{number}"));
        life.consumers.clear();
        life.chatter();
        life.join(None);
        life.complete();
        life.run(&format!("tick ms={}", SESSION_MS + 1));
        life.chatter();
    }
    kafka.end();
    assert!(hosted >= cases / 3 && alone >= cases / 10, "{hosted} hosted, {alone} alone");
    for difference in &differences {
        assert!(needed.contains(difference.line), "no life needs: {}", difference.line);
    }
}
