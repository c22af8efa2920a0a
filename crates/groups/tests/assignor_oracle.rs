//! The same groups given to Kafka's own assignors, and the same topics to its hash.
//!
//! `uniform` is never less balanced than Kafka's, and with the same balance never moves more: which
//! partition goes to whom is a matter of hash maps there. `range` gives the same. Hashes are the
//! same to the bit.
//!
//! Needs Java 17 and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. Without the
//! variable the test says that it was skipped; with it, whatever goes wrong fails it.
//! `THALWEG_SEED_BASE` and `THALWEG_ORACLE_CASES` choose the groups and topics.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use crate::assignors::groups::Group;
use crate::oracle::{self, Program};
use thalweg_groups::assignor::{
    ASSIGNORS, Assignor, MemberAssignment, StickyAssignor, StickyRangeAssignor,
};
use thalweg_groups::{group_hash, topic_hash};
use thalweg_random::Random;
use thalweg_random::seeds::oracle_seeds;
use thalweg_wire::Uuid;

/// Kafka's answers, one line for each question; `None` without Kafka.
fn ask(questions: &[String]) -> Option<Vec<String>> {
    oracle::jars()?;
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/AssignorOracle.java");
    let program = Program::source(source, "org.apache.kafka.coordinator.group.AssignorOracle");
    let (mut input, output) = program.start();
    let lines = questions.join("\n") + "\n";
    // Dropped at the end, it ends the program's input; answers are read meanwhile.
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let done = output.finish();
    assert_eq!(done.status, 0, "the oracle failed: {}", done.errors);
    writer.join().expect("the writer").expect("the oracle reads the questions");
    let answers: Vec<String> = done.output.lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), questions.len(), "an answer for each question: {}", done.errors);
    Some(answers)
}

fn question(assignor: &dyn Assignor, group: &Group) -> String {
    let same = if group.same_topics() { "same" } else { "mixed" };
    let mut text = format!("{} {same}", assignor.name());
    for (topic, count) in &group.topics {
        write!(text, " t:{topic}:{count}").expect("a string");
    }
    for member in &group.members {
        // Names of topics that do not exist have no id in Kafka.
        let known = member.topics.iter().filter(|topic| group.topics.contains_key(topic));
        let topics: Vec<String> = known.map(Uuid::to_string).collect();
        let partitions: Vec<String> = member
            .assignment
            .iter()
            .map(|(topic, partitions)| {
                let partitions: Vec<String> = partitions.iter().map(i32::to_string).collect();
                format!("{topic}={}", partitions.join("."))
            })
            .collect();
        let instance = member.instance_id.as_deref().unwrap_or_default();
        let (topics, partitions) = (topics.join(","), partitions.join(";"));
        write!(text, " m:{}:{instance}:{topics}:{partitions}", member.id).expect("a string");
    }
    text
}

/// Kafka's assignment, in the order of the members.
fn parse(answer: &str, group: &Group) -> Vec<Arc<MemberAssignment>> {
    let mut by_id: BTreeMap<&str, Vec<(Uuid, [i32; 1])>> = BTreeMap::new();
    for member in answer.split_terminator(':') {
        let mut words = member.split(' ');
        let id = words.next().expect("a member");
        let partitions = words.map(|word| {
            let (topic, partition) = word.rsplit_once('=').expect("a partition");
            (Uuid::parse(topic).expect("an id"), [partition.parse().expect("a number")])
        });
        by_id.insert(id, partitions.collect());
    }
    let mut of = |id: &str| by_id.remove(id).unwrap_or_default();
    group.members.iter().map(|member| Arc::new(MemberAssignment::new(of(&member.id)))).collect()
}

fn loads(assignments: &[Arc<MemberAssignment>]) -> Vec<usize> {
    let mut loads: Vec<usize> = assignments.iter().map(|assignment| assignment.len()).collect();
    loads.sort_unstable_by(|a, b| b.cmp(a));
    loads
}

#[test]
fn assignments_are_at_least_as_good_as_kafkas() {
    // What came before is always our answer to the last question, so all can be asked at once.
    let mut asked: Vec<(u64, &dyn Assignor, Group)> = Vec::new();
    for seed in oracle_seeds(400) {
        for assignor in ASSIGNORS {
            let mut random = Random::new(seed);
            let mut group = match random.below(4) {
                0 => Group::large(&mut random),
                1 => Group::small(&mut random),
                _ => Group::random(&mut random),
            };
            // Kafka believes what members claim.
            group.members.iter_mut().for_each(|member| member.assignment = Arc::default());
            for _ in 0..4 {
                asked.push((seed, assignor, group.clone()));
                group.take(group.assign(assignor));
                group.change(&mut random);
            }
        }
    }
    let questions: Vec<String> =
        asked.iter().map(|(_, assignor, group)| question(*assignor, group)).collect();
    let Some(answers) = ask(&questions) else { return };
    let (mut balanced_better, mut moved_less, mut moved) = (0, 0, (0, 0));
    for ((seed, assignor, group), answer) in asked.iter().zip(&answers) {
        let (ours, kafkas) = (group.assign(*assignor), parse(answer, group));
        // The same partitions are assigned.
        let partitions = |of: &[Arc<MemberAssignment>]| group.owners(of).into_keys().collect();
        let (all, kafkas_all): (Vec<_>, Vec<_>) = (partitions(&ours), partitions(&kafkas));
        assert_eq!(all, kafkas_all, "seed {seed}: {group:#?}");
        if assignor.name() == "range" {
            assert_eq!(ours, kafkas, "seed {seed}: {group:#?}");
            continue;
        }
        let (balance, kafkas_balance) = (loads(&ours), loads(&kafkas));
        assert!(
            balance <= kafkas_balance,
            "seed {seed}: {balance:?}, but Kafka's {kafkas_balance:?}: {group:#?}"
        );
        if balance < kafkas_balance {
            balanced_better += 1;
            continue;
        }
        let moves = (group.moves(&ours), group.moves(&kafkas));
        assert!(moves.0 <= moves.1, "seed {seed}: moves {moves:?}: {group:#?}");
        moved_less += usize::from(moves.0 < moves.1);
        moved = (moved.0 + moves.0, moved.1 + moves.1);
    }
    let (ours, kafkas) = moved;
    eprintln!(
        "of {} assignments {balanced_better} are better balanced; {moved_less} of the others have \
         fewer moves: {ours} in all, Kafka {kafkas}",
        asked.len()
    );
    assert!(ours > 0, "nothing ever moved");
}

/// The question for an assignor of consumers, who come from nothing.
fn consumers_question(assignor: &str, group: &Group) -> String {
    let mut text = format!("consumers {assignor}");
    for broker in 0..group.broker_count {
        let rack = group.brokers.get(&broker).map_or("", String::as_str);
        write!(text, " b:{broker}:{rack}").expect("a string");
    }
    for (topic, count) in &group.topics {
        let replicas = (0..*count).map(|partition| {
            let ids = group.replicas_of(*topic, partition);
            ids.iter().map(i32::to_string).collect::<Vec<_>>().join(".")
        });
        write!(text, " t:{topic}:{}", replicas.collect::<Vec<_>>().join(",")).expect("a string");
    }
    for member in &group.members {
        let topics: Vec<String> = member.topics.iter().map(Uuid::to_string).collect();
        let instance = member.instance_id.as_deref().unwrap_or_default();
        let rack = member.rack.as_deref().unwrap_or_default();
        write!(text, " m:{}:{instance}:{rack}:{}", member.id, topics.join(",")).expect("a string");
    }
    text
}

#[test]
fn as_many_partitions_are_near_as_with_kafkas_consumers() {
    let protocols: [(&str, &dyn Assignor); 4] = [
        ("range", &StickyRangeAssignor),
        ("roundrobin", &StickyAssignor),
        ("sticky", &StickyAssignor),
        ("cooperative-sticky", &StickyAssignor),
    ];
    let mut asked: Vec<(u64, usize, Group)> = Vec::new();
    for seed in oracle_seeds(600) {
        let mut random = Random::new(seed);
        let mut group = match random.below(4) {
            0 => Group::large(&mut random),
            1 => Group::small(&mut random),
            _ => Group::random(&mut random),
        };
        group.place(&mut random);
        let topics: Vec<Uuid> = group.topics.keys().copied().collect();
        if random.chance(50) {
            // More topics that go together.
            let count = 1 + random.below(12);
            group.topics.values_mut().for_each(|of_topic| *of_topic = count);
        }
        for member in &mut group.members {
            member.topics = topics.clone();
            member.assignment = Arc::default();
        }
        asked.extend((0..protocols.len()).map(|protocol| (seed, protocol, group.clone())));
    }
    let questions: Vec<String> = asked
        .iter()
        .map(|(_, protocol, group)| consumers_question(protocols[*protocol].0, group))
        .collect();
    let Some(answers) = ask(&questions) else { return };
    // Where racks count: near ones of ours and of Kafka's, by protocol.
    let mut near = [(0, 0, 0); 4];
    for ((seed, protocol, group), answer) in asked.iter().zip(&answers) {
        let (name, assignor) = protocols[*protocol];
        let (ours, kafkas) = (group.assign(assignor), parse(answer, group));
        let keys = |of: &[Arc<MemberAssignment>]| group.owners(of).into_keys().collect::<Vec<_>>();
        assert_eq!(keys(&ours), keys(&kafkas), "{name}, seed {seed}: {group:#?}");
        let most = |of: &[Arc<MemberAssignment>]| loads(of).first().copied();
        assert!(most(&ours) <= most(&kafkas) || name == "range", "{name}, seed {seed}");
        let counts = match name {
            "range" => group.racks_count_in_a_topic(),
            _ => group.racks_count(),
        };
        if counts {
            let (ours, kafkas) = (group.near(&ours), group.near(&kafkas));
            assert!(
                ours >= kafkas,
                "{name}, seed {seed}: {ours} near, Kafka's {kafkas}: {group:#?}"
            );
            let sum = &mut near[*protocol];
            *sum = (sum.0 + 1, sum.1 + ours, sum.2 + kafkas);
        }
    }
    for ((name, _), (groups, ours, kafkas)) in protocols.iter().zip(near) {
        eprintln!(
            "{name}: racks count in {groups} groups: {ours} partitions near, Kafka's {kafkas}"
        );
        assert!(groups > 20 && ours >= kafkas, "{name}: nothing to compare");
    }
}

#[test]
fn hashes_are_kafkas() {
    type Topic = (String, Uuid, Vec<Vec<String>>);
    let letters =
        ["a", "B", "7", ".", "_", "-", "é", "ß", "\u{800}", "\u{e000}", "\u{ffee}", "😀", "𝄞"];
    let mut groups: Vec<(u64, Vec<Topic>)> = Vec::new();
    for seed in oracle_seeds(400) {
        let mut random = Random::new(seed);
        // Kafka's topics have ASCII names, but its hash does not mind.
        let kinds = *random.pick(&[6, letters.len()]);
        let text = |random: &mut Random, longest: usize| -> String {
            (0..=random.below(longest)).map(|_| *random.pick(&letters[..kinds])).collect()
        };
        let racks: Vec<String> = (0..4).map(|_| text(&mut random, 12)).collect();
        let mut topics = BTreeMap::new();
        for _ in 0..random.below(6) {
            let id = Uuid::from_u128(
                (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64()),
            );
            let most = *random.pick(&[2, 10, 200]);
            let partitions = (0..random.below(most))
                .map(|_| (0..random.below(4)).map(|_| random.pick(&racks).clone()).collect())
                .collect();
            let longest = *random.pick(&[5, 30, 249]);
            topics.insert(text(&mut random, longest), (id, partitions));
        }
        let topics = topics.into_iter().map(|(name, (id, partitions))| (name, id, partitions));
        groups.push((seed, topics.collect()));
    }
    let question = |topics: &[Topic]| {
        topics.iter().fold("hash".to_owned(), |text, (name, id, partitions)| {
            let racks: Vec<String> = partitions.iter().map(|racks| racks.join(",")).collect();
            format!("{text} {name}:{id}:{}:{}", partitions.len(), racks.join(";"))
        })
    };
    let questions: Vec<String> = groups.iter().map(|(_, topics)| question(topics)).collect();
    let Some(answers) = ask(&questions) else { return };
    for ((seed, topics), answer) in groups.iter().zip(&answers) {
        let mut hashes: Vec<i64> = topics
            .iter()
            .map(|(name, id, partitions)| {
                let racks = partitions.iter().map(|racks| racks.iter().map(String::as_str));
                topic_hash(*id, name, racks)
            })
            .collect();
        let named = topics.iter().map(|(name, ..)| name.as_str()).zip(hashes.iter().copied());
        hashes.push(group_hash(named));
        let kafkas: Vec<i64> =
            answer.split(' ').map(|hash| hash.parse().expect("a number")).collect();
        assert_eq!(hashes, kafkas, "seed {seed}: {topics:?}");
    }
}
