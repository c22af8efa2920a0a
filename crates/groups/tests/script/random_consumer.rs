//! Random operations on consumer groups, with members of both protocols and topics that change.

use thalweg_groups::ClassicGroup;
use thalweg_groups::consumer::{ConsumerGroup, ConsumerMember};
use thalweg_random::Random;

use super::random::Operations;
use super::{Names, World};

/// A stream of operations that is the same for the same seed and the same course of events.
pub struct ConsumerGenerator {
    random: Random,
    /// How often each topic has been made.
    lives: [u32; 3],
    /// Whether members of the classic protocol come.
    classic: bool,
    regexes: bool,
    /// The one assignor that members ask for: of two with as many votes Kafka takes whichever its hash
    /// table has first.
    assignor: &'static str,
    /// Whether Kafka is asked, too: without what is known to go wrong there.
    with_kafka: bool,
}

const GROUPS: &[&str] = &["g", "h"];
const TOPICS: &[&str] = &["t1", "t2", "u1"];
const MEMBERS: &[&str] = &["ma", "mb", "mc", "md"];
const INSTANCES: &[&str] = &["ia", "ib"];
const REGEXES: &[&str] = &["t.*", "t1", ".*", "x*"];

impl Operations for ConsumerGenerator {
    fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    fn config(&mut self) -> String {
        let max = if self.chance(20) { 2 } else { 100 };
        let interval = self.pick(&[0, 0, 1000]);
        let policy = self.pick(&["bidirectional", "bidirectional", "upgrade", "disabled"]);
        format!(
            "new csession=20000 chb=3000 cint={interval} cmax={max} policy={policy} delay=0 \
             minsession=10 retention=1 check=15000{}",
            if self.with_kafka { "" } else { self.pick(&["", " grace=500", " grace=5000"]) }
        )
    }

    fn attempt(&mut self, world: &World, names: &Names) -> Option<String> {
        if self.with_kafka {
            return self.request(world, names);
        }
        let connection = self.below(4);
        if self.chance(8) {
            let group_id = self.pick(GROUPS);
            let consumer = world.shard().logged().consumer_group(group_id);
            let classic = world.shard().group(group_id);
            let known = consumer.into_iter().flat_map(|group| group.members().keys());
            let classic = classic.into_iter().flat_map(|group| group.members()).map(|m| &m.id);
            let known: Vec<_> = known.chain(classic).collect();
            let member = Self::name(names, known.get(self.below(5) as usize)?);
            return Some(format!("disconnect g={group_id} m={member} conn={connection}"));
        }
        let mut op = self.request(world, names)?;
        let of_members = ["chb ", "hb ", "join ", "sync ", "commit "];
        if of_members.iter().any(|name| op.starts_with(name)) && self.chance(70) {
            op += &format!(" conn={connection}");
        }
        Some(op)
    }
}

impl ConsumerGenerator {
    fn request(&mut self, world: &World, names: &Names) -> Option<String> {
        let group_id = self.pick(GROUPS);
        let group = world.shard().logged().consumer_group(group_id);
        Some(match self.below(100) {
            0..12 => {
                let classic = world.shard().group(group_id);
                let has_no_protocol =
                    |g: &ClassicGroup| g.members().len() > 0 && g.protocol_name().is_none();
                if classic.is_some_and(has_no_protocol) {
                    return None; // Kafka fails at it with an error of its own.
                }
                self.join(world, group_id, group)
            }
            12..50 => self.heartbeat(world, group_id, group?, names)?,
            50..55 => {
                // A leave that could not be written is a known fault of Kafka's: few of them.
                let fails = !world.memory.failures.is_empty();
                if self.with_kafka && fails && !self.chance(20) {
                    return None;
                }
                self.leave(group_id, group?, names)?
            }
            55..58 if self.classic => {
                let members = group.map_or(0, |group| group.members().len());
                if members == 0 && !world.memory.failures.is_empty() {
                    return None; // Kafka gives an id for a group that was not written; we do not.
                }
                self.classic_join(group_id, group, names)
            }
            58..70 if self.classic => self.classic_step(group_id, group?, names)?,
            55..70 => self.heartbeat(world, group_id, group?, names)?,
            70..76 => self.commit(group_id, group, names),
            76..79 => self.fetch(group_id, group, names),
            79..84 => self.topic(world),
            84..86 => format!("cdesc g={},nobody", GROUPS.join(",")),
            86..87 => format!("list v=5 types={}", self.pick(&["consumer", "classic", "bogus"])),
            87..88 => format!("delete g={},nobody", GROUPS.join(",")),
            88..89 => format!("describe g={} v=6", GROUPS.join(",")),
            89..90 => format!("odel g={group_id} o=t1:0,t2:0"),
            90..91 => {
                if !world.memory.failures.is_empty() {
                    return None;
                }
                format!("fail code={}", self.pick(&[6, 7, 10, 19, 56]))
            }
            91..93 => "reload".into(),
            _ => format!("tick ms={}", self.pick(&[0, 1, 500, 1000, 3000, 9000, 12_000, 21_000])),
        })
    }

    pub fn new(seed: u64) -> ConsumerGenerator {
        let mut random = Random::new(seed);
        let classic = random.next_u64().is_multiple_of(3);
        let regexes = random.next_u64().is_multiple_of(2);
        let assignor = ["dealer", "backwards"][random.next_u64() as usize % 2];
        let with_kafka = false;
        ConsumerGenerator { random, lives: [0; 3], classic, regexes, assignor, with_kafka }
    }

    /// The same for a comparison with Kafka's coordinator.
    pub fn with_kafka(seed: u64) -> ConsumerGenerator {
        ConsumerGenerator { with_kafka: true, ..ConsumerGenerator::new(seed) }
    }

    /// A regular expression for a member. In Kafka what one has by an expression stays with it when the
    /// next one stands for nothing.
    fn regex(
        &mut self,
        world: &World,
        group: Option<&ConsumerGroup>,
        member: &str,
    ) -> &'static str {
        let regex = self.pick(REGEXES);
        let owns = group.and_then(|group| group.targets().get(member));
        let owns = owns.is_some_and(|target| !target.is_empty());
        let stands_for = |name: &str| match regex {
            "t.*" => name.starts_with('t'),
            "x*" => false,
            ".*" => true,
            one => name == one,
        };
        let mut topics = world.metadata.image.topics.iter();
        let is_known = topics.any(|topic| stands_for(&topic.name));
        if self.with_kafka && owns && !is_known { ".*" } else { regex }
    }

    fn topics(&mut self) -> String {
        let mut topics: Vec<&str> = TOPICS.to_vec();
        topics.retain(|_| self.chance(55));
        topics.join(",")
    }

    fn join(&mut self, world: &World, group_id: &str, group: Option<&ConsumerGroup>) -> String {
        let member = self.pick(MEMBERS);
        let known = group.and_then(|group| group.member(member));
        let mut op = format!("chb v=1 g={group_id} m={member} e=0 rt=5000 o= c=c");
        if self.regexes && self.chance(40) {
            op.push_str(&format!(" x={}", self.regex(world, group, member)));
            if self.chance(30) {
                op.push_str(&format!(" t={}", self.topics()));
            }
        } else {
            op.push_str(&format!(" t={}", self.topics()));
        }
        let instance = known.and_then(|known| known.metadata.instance_id.as_deref());
        // In Kafka a member that takes an instance owns nothing, and keeps its target assignment.
        let takes_instance = known.is_some() && instance.is_none();
        if self.chance(25) && !(self.with_kafka && takes_instance) {
            // Kafka goes on knowing a member under an instance that it has given up.
            let instance = instance.unwrap_or_else(|| self.pick(INSTANCES));
            op.push_str(&format!(" i={instance}"));
        }
        if self.chance(25) {
            op.push_str(&format!(" a={}", self.pick(&[self.assignor, self.assignor, "bogus"])));
        }
        if self.chance(10) {
            op.push_str(" rack=r1");
        }
        op
    }

    fn some_member<'g>(&mut self, group: &'g ConsumerGroup) -> Option<&'g ConsumerMember> {
        if group.members().is_empty() {
            return None;
        }
        let at = self.below(group.members().len() as u64) as usize;
        group.members().values().nth(at).map(|member| &**member)
    }

    fn name(names: &Names, id: &str) -> String {
        names.number(id).map_or_else(|| id.to_owned(), |number| format!("@{number}"))
    }

    /// What a member says that it owns: what it is to own, or that and what it has to give up.
    fn owned(&mut self, member: &ConsumerMember, world_lives: u32) -> String {
        let keep = self.chance(25);
        let mut topics: Vec<(String, Vec<String>)> = Vec::new();
        let all = member.assigned.iter();
        let all = all.chain(member.pending_revocation.iter().filter(|_| keep));
        for owned in all {
            let Some(topic) = Self::topic_of(owned.topic_id, world_lives) else { continue };
            match topics.iter_mut().find(|(known, _)| *known == topic) {
                Some((_, partitions)) => partitions.push(owned.partition.to_string()),
                None => topics.push((topic, vec![owned.partition.to_string()])),
            }
        }
        if self.chance(4) {
            topics.push(("t1:0".into(), vec!["77".into()]));
        }
        let topics =
            topics.iter().map(|(topic, partitions)| format!("{topic}:{}", partitions.join(":")));
        topics.collect::<Vec<_>>().join(",")
    }

    fn topic_of(id: thalweg_wire::Uuid, lives: u32) -> Option<String> {
        for name in TOPICS {
            for life in 0..=lives {
                if super::consumer::topic_id_of_life(name, u128::from(life)) == id {
                    return Some(format!("{name}:{life}"));
                }
            }
        }
        None
    }

    fn most_lives(&self) -> u32 {
        self.lives.iter().copied().max().unwrap_or(0)
    }

    fn heartbeat(
        &mut self,
        world: &World,
        group_id: &str,
        group: &ConsumerGroup,
        names: &Names,
    ) -> Option<String> {
        let member = self.some_member(group)?;
        let lives = self.most_lives();
        let epoch = match self.below(20) {
            0 => member.previous_epoch,
            1 => member.epoch + 1,
            2 => member.epoch - 1,
            _ => member.epoch,
        };
        if epoch <= 0 && !self.chance(20) {
            return None;
        }
        let id = Self::name(names, &member.id);
        let mut op = format!("chb v=1 g={group_id} m={id} e={epoch} c=c");
        if let Some(instance) = &member.metadata.instance_id
            && self.chance(95)
        {
            op.push_str(&format!(" i={instance}"));
        }
        if self.chance(70) {
            op.push_str(&format!(" o={}", self.owned(member, lives)));
        }
        if self.chance(12) {
            op.push_str(&format!(" t={}", self.topics()));
        }
        if self.regexes && self.chance(8) {
            op.push_str(&format!(" x={}", self.regex(world, Some(group), &member.id)));
        }
        if self.chance(6) {
            op.push_str(&format!(" a={}", self.assignor));
        }
        if self.chance(6) {
            op.push_str(&format!(" rt={}", self.pick(&[1000, 5000, 30_000])));
        }
        Some(op)
    }

    fn leave(&mut self, group_id: &str, group: &ConsumerGroup, names: &Names) -> Option<String> {
        let member = self.some_member(group)?;
        let id = Self::name(names, &member.id);
        let mut op = format!("chb v=1 g={group_id} m={id}");
        match &member.metadata.instance_id {
            Some(instance) => {
                op.push_str(&format!(" i={instance} e={}", self.pick(&[-1, -2, -2])));
            }
            None => op.push_str(" e=-1"),
        }
        Some(op)
    }

    fn commit(&mut self, group_id: &str, group: Option<&ConsumerGroup>, names: &Names) -> String {
        let topic = self.pick(TOPICS);
        let what = format!("{topic}:{}:{}:m", self.below(3), self.below(100));
        match group.and_then(|group| self.some_member(group)) {
            Some(member) if self.chance(85) => {
                let epoch = member.epoch - self.pick(&[0, 0, 0, 1, 2, -1]);
                let id = Self::name(names, &member.id);
                let version = self.pick(&[8, 9, 9, 9]);
                format!("commit g={group_id} v={version} m={id} gen={epoch} o={what}")
            }
            _ => format!("commit g={group_id} v=9 gen=-1 o={what}"),
        }
    }

    fn fetch(&mut self, group_id: &str, group: Option<&ConsumerGroup>, names: &Names) -> String {
        let stable = self.below(2);
        let mut op = format!("fetch g={group_id} v=9 o=t1:0,t2:1 stable={stable}");
        if let Some(member) = group.and_then(|group| self.some_member(group))
            && self.chance(80)
        {
            let id = Self::name(names, &member.id);
            op.push_str(&format!(" m={id} e={}", member.epoch - self.pick(&[0, 0, 0, 1])));
        }
        op
    }

    fn topic(&mut self, world: &World) -> String {
        let at = self.below(TOPICS.len() as u64) as usize;
        let name = TOPICS[at];
        match world.metadata.image.topics.by_name(name) {
            Some(topic) if self.chance(60) => {
                format!("topic n={name} p={}", topic.partitions.len() + 1)
            }
            Some(_) => {
                self.lives[at] += 1;
                format!("untopic n={name}")
            }
            None => format!("topic n={name} p={} life={}", 1 + self.below(4), self.lives[at]),
        }
    }

    fn protocols(&mut self) -> String {
        let topic = self.pick(TOPICS);
        let names = self.pick(&["range", "range,sticky", "sticky,range"]);
        names.split(',').map(|name| format!("{name}:{topic}")).collect::<Vec<_>>().join(",")
    }

    fn classic_join(
        &mut self,
        group_id: &str,
        group: Option<&ConsumerGroup>,
        names: &Names,
    ) -> String {
        let protocols = self.protocols();
        let mut op = format!("join g={group_id} v=9 c=c s=20000 r=5000 p={protocols}");
        let classic = group.and_then(|group| self.some_member(group)).filter(|m| m.is_classic());
        match classic {
            Some(member) if self.chance(60) => {
                op.push_str(&format!(" m={}", Self::name(names, &member.id)));
                if let Some(instance) = &member.metadata.instance_id {
                    op.push_str(&format!(" i={instance}"));
                }
            }
            _ if self.chance(30) => op.push_str(&format!(" i={}", self.pick(INSTANCES))),
            // From an empty consumer group Kafka sends a known member away and forgets the group, but
            // for its records.
            _ if group.is_some_and(|group| group.members().is_empty()) => {}
            _ if names.len() > 0 && self.chance(60) => {
                op.push_str(&format!(" m=@{}", names.len()));
            }
            _ => {}
        }
        op
    }

    fn classic_step(
        &mut self,
        group_id: &str,
        group: &ConsumerGroup,
        names: &Names,
    ) -> Option<String> {
        let member = self.some_member(group)?;
        let classic = member.metadata.classic.as_ref()?;
        let id = Self::name(names, &member.id);
        let instance = match &member.metadata.instance_id {
            Some(instance) => format!(" i={instance}"),
            None => String::new(),
        };
        let generation = member.epoch - self.pick(&[0, 0, 0, 0, 1]);
        let protocol = &classic.protocols.first()?.0;
        Some(match self.below(10) {
            0..3 => format!("hb g={group_id} v=4 m={id} gen={generation}{instance}"),
            3..6 => format!(
                "sync g={group_id} v=5 m={id} gen={generation} t=consumer n={protocol}{instance}"
            ),
            6 => format!("leave g={group_id} v=4 m={id}"),
            _ => {
                let protocols = self.protocols();
                let mut owned = String::new();
                for o in member.assigned.iter() {
                    if let Some(topic) = Self::topic_of(o.topic_id, self.most_lives()) {
                        let name = topic.split(':').next().unwrap_or_default();
                        owned.push_str(&format!("~{name}.{}", o.partition));
                    }
                }
                let protocols = protocols
                    .split(',')
                    .map(|protocol| format!("{protocol}{owned}"))
                    .collect::<Vec<_>>()
                    .join(",");
                format!("join g={group_id} v=9 c=c s=20000 r=5000 m={id} p={protocols}{instance}")
            }
        })
    }
}
