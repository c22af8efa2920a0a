//! Random operations that make sense often enough to get somewhere.

use thalweg_groups::{ClassicGroup, ClassicGroupState, GroupConfig};
use thalweg_random::Random;

use super::{Names, World};

/// A stream of operations.
pub trait Operations {
    fn random(&mut self) -> &mut Random;

    /// The first operation of a script.
    fn config(&mut self) -> String;

    /// The next operation, if this one makes sense.
    fn attempt(&mut self, world: &World, names: &Names) -> Option<String>;

    /// The next operation.
    fn next(&mut self, world: &World, names: &Names) -> String {
        loop {
            if let Some(op) = self.attempt(world, names) {
                return op;
            }
        }
    }

    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.random().next_u64() % bound
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// A random life of a shard: `begin` comes before the first of its steps.
pub fn live<G: Operations>(
    mut generator: G,
    history: &mut Vec<String>,
    begin: impl FnOnce(&mut World),
    mut step: impl FnMut(&mut World, &mut Names, &mut G, &mut Vec<String>),
) -> World {
    let mut world = World::new(GroupConfig::default());
    let mut names = Names::default();
    history.push(generator.config());
    world.run(&history[0], None);
    begin(&mut world);
    for _ in 0..150 {
        step(&mut world, &mut names, &mut generator, history);
    }
    world
}

/// Holds up what is written, committed and computed from now on, or lets some of it go on.
pub fn delay(world: &mut World, random: &mut impl Operations, history: &mut Vec<String>) {
    match random.below(10) {
        0 => {
            world.memory.auto_append = random.below(2) == 0;
            world.memory.auto_commit = random.below(2) == 0;
            world.memory.auto_jobs = random.below(2) == 0;
            history.push(format!(
                "(append {}, commit {}, jobs {})",
                world.memory.auto_append, world.memory.auto_commit, world.memory.auto_jobs
            ));
        }
        1 => {
            history.push("(append one)".into());
            world.memory.append_one();
        }
        2 => {
            let end = world.memory.log.len() as u64;
            let offset = random.below(end + 1) as i64;
            history.push(format!("(commit {offset})"));
            world.memory.commit(offset);
        }
        3 => {
            history.push("(job)".into());
            world.memory.run_job();
        }
        _ => {}
    }
}

/// Everything that was held up goes on, and nothing is held up from now on.
pub fn delay_nothing(world: &mut World) {
    world.memory.auto_append = true;
    world.memory.auto_commit = true;
    world.memory.auto_jobs = true;
    world.memory.settle();
    while world.memory.run_job() {}
}

/// A stream of operations that is the same for the same seed and the same course of events.
pub struct Generator {
    random: Random,
    /// What each member said last, by its full id.
    said: Vec<(String, String)>,
}

const GROUPS: &[&str] = &["g", "h"];
const TOPICS: &[&str] = &["t1", "t2", "t3"];
const INSTANCES: &[&str] = &["ia", "ib"];
const PROTOCOLS: &[&str] = &["range", "roundrobin", "sticky"];

impl Operations for Generator {
    fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    fn config(&mut self) -> String {
        let max = if self.chance(40) { 1 + self.below(3) } else { 100 };
        let delay = self.pick(&[0, 3000, 5000]);
        format!("new max={max} delay={delay} minsession=10 maxmeta=5 retention=1 check=15000")
    }

    fn attempt(&mut self, world: &World, names: &Names) -> Option<String> {
        let group_id = self.pick(GROUPS);
        let group = world.shard().group(group_id);
        let groups = GROUPS.join(",");
        Some(match self.below(100) {
            0..18 => self.join_new(group_id, group, world)?,
            18..38 => self.join_again(group_id, group, names)?,
            38..58 => self.sync(group_id, group, names)?,
            58..64 => {
                let (member, instance) = self.member(group, names)?;
                let generation = self.generation(group);
                format!("hb g={group_id} v=4 m={member} gen={generation}{instance}")
            }
            64..68 => {
                let (member, instance) = self.member(group, names)?;
                let instance = instance.trim_start().trim_start_matches("i=").to_owned();
                let who = match self.below(3) {
                    0 if !instance.is_empty() => format!("/{instance}"),
                    1 => format!("{member},stranger,/ia"),
                    _ => format!("{member}/{instance}"),
                };
                format!("leave g={group_id} v=4 m={who}")
            }
            68..76 => self.commit(group_id, group, names),
            76..79 => {
                let stable = self.below(2);
                let what = if self.chance(50) { "all".to_owned() } else { "t1:0,t2:1,t3:7".into() };
                format!("fetch g={group_id} v=8 o={what} stable={stable}")
            }
            79..81 => format!("odel g={group_id} o=t1:0,t2:0,t3:1"),
            81..82 => format!("describe g={groups},nobody v={}", 5 + self.below(2)),
            82..83 => format!("list v=5 states={}", self.pick(&["stable", "Empty", "bogus"])),
            83..84 => format!("delete g={groups},nobody"),
            84..85 => format!("topicdel t={}", self.pick(TOPICS)),
            85..87 => {
                if world.memory.failures.is_empty() {
                    format!("fail code={}", self.pick(&[6, 7, 10, 19, 56]))
                } else {
                    return None;
                }
            }
            87..88 => "reload".into(),
            _ => {
                let ms = self.pick(&[0, 1, 999, 3000, 5000, 9999, 10_000, 20_000, 61_000]);
                format!("tick ms={ms}")
            }
        })
    }
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator { random: Random::new(seed), said: Vec::new() }
    }

    fn protocols(&mut self) -> String {
        let start = self.below(PROTOCOLS.len() as u64) as usize;
        let count = 1 + self.below(3) as usize;
        let topic = match self.below(8) {
            0 => "!0001".to_owned(),
            1 => "!00010000000100".to_owned(),
            2 => String::new(),
            _ => self.pick(TOPICS).to_owned(),
        };
        (0..count)
            .map(|i| format!("{}:{topic}", PROTOCOLS[(start + i) % PROTOCOLS.len()]))
            .collect::<Vec<_>>()
            .join(",")
    }

    fn timeouts(&mut self) -> String {
        let session = self.pick(&[9, 10_000, 10_000, 20_000, 60_000]);
        let rebalance = self.pick(&[-5, 10_000, 20_000, 30_000, 60_000]);
        format!("s={session} r={rebalance}")
    }

    fn protocol_type(&mut self) -> &'static str {
        self.pick(&["consumer", "consumer", "consumer", "consumer", "consumer", "connect", ""])
    }

    fn join_new(
        &mut self,
        group_id: &str,
        group: Option<&ClassicGroup>,
        world: &World,
    ) -> Option<String> {
        if group.is_none() && !world.memory.failures.is_empty() {
            // Kafka gives an id for a group that was not written; we do not.
            return None;
        }
        let version = self.pick(&[0, 3, 4, 5, 8, 9]);
        let mut instance = String::new();
        if version >= 5 && self.chance(60) {
            let id = self.pick(INSTANCES);
            // Kafka goes on waiting for the old id to sync.
            let unsynced = group.is_some_and(|g| {
                g.is_unsynced_instance(id) && g.state() == ClassicGroupState::Stable
            });
            if unsynced {
                return None;
            }
            instance = format!(" i={id}");
        }
        let protocols = self.protocols();
        let timeouts = self.timeouts();
        let kind = self.protocol_type();
        let client = self.pick(&["a", "b"]);
        let timeouts = for_instance(&instance, timeouts);
        Some(format!(
            "join g={group_id} v={version} c={client} t={kind} p={protocols} {timeouts}{instance}"
        ))
    }

    /// A member that exists, mostly, and its instance.
    fn member(&mut self, group: Option<&ClassicGroup>, names: &Names) -> Option<(String, String)> {
        let known = names.len() as u64;
        if known == 0 {
            return None;
        }
        if let Some(group) = group
            && group.members().len() > 0
            && self.chance(92)
        {
            let at = self.below(group.members().len() as u64) as usize;
            let member = group.members().nth(at)?;
            let number = names.number(&member.id)?;
            let instance = match &member.instance_id {
                Some(id) if self.chance(92) => format!(" i={id}"),
                None if self.chance(3) => " i=ia".to_owned(),
                _ => String::new(),
            };
            return Some((format!("@{number}"), instance));
        }
        Some((format!("@{}", 1 + self.below(known)), String::new()))
    }

    fn generation(&mut self, group: Option<&ClassicGroup>) -> i32 {
        let generation = group.map_or(0, ClassicGroup::generation);
        if self.chance(93) { generation } else { generation + self.pick(&[-1, 1]) }
    }

    fn join_again(
        &mut self,
        group_id: &str,
        group: Option<&ClassicGroup>,
        names: &Names,
    ) -> Option<String> {
        let known = names.len();
        let (member, instance) = if self.chance(35) && known > 0 {
            // One of the last ids given out: probably a member that was sent back for it.
            let back = self.below(3.min(known as u64)) as usize;
            (format!("@{}", known - back), String::new())
        } else {
            self.member(group, names)?
        };
        let said = self.said.iter().rev().find(|(id, _)| *id == member).map(|(_, said)| said);
        let said = match said.cloned() {
            Some(said) if self.chance(70) => said,
            _ => {
                let said = format!("p={} {}", self.protocols(), self.timeouts());
                self.said.push((member.clone(), said.clone()));
                said
            }
        };
        let said = for_instance(&instance, said);
        let kind = self.protocol_type();
        Some(format!("join g={group_id} v=9 c=a m={member} t={kind} {said}{instance}"))
    }

    fn sync(
        &mut self,
        group_id: &str,
        group: Option<&ClassicGroup>,
        names: &Names,
    ) -> Option<String> {
        let group = group?;
        let (mut member, mut instance) = self.member(Some(group), names)?;
        if let Some(leader) = group.leader()
            && self.chance(40)
        {
            member = format!("@{}", names.number(leader)?);
            instance = String::new();
        }
        let generation = self.generation(Some(group));
        let assignments: Vec<String> = group
            .members()
            .filter_map(|m| names.number(&m.id))
            .filter(|_| self.chance(85))
            .map(|number| format!("@{number}:p{number}"))
            .collect();
        let mut op = format!("sync g={group_id} m={member} gen={generation}{instance}");
        if !assignments.is_empty() {
            op.push_str(&format!(" a={}", assignments.join(",")));
        }
        if self.chance(50) {
            return Some(format!("{op} v=3"));
        }
        let name = group.protocol_name().unwrap_or("range");
        let name = if self.chance(95) { name } else { self.pick(PROTOCOLS) };
        let kind = group.protocol_type().unwrap_or("consumer");
        Some(format!("{op} v=5 t={kind} n={name}"))
    }

    fn commit(&mut self, group_id: &str, group: Option<&ClassicGroup>, names: &Names) -> String {
        let offset = self.below(1000);
        let topic = self.pick(TOPICS);
        let partition = self.below(2);
        let mut what = format!("{topic}:{partition}:{offset}:m");
        if self.chance(20) {
            what.push_str(&format!(",t1:0:{offset}:toolong"));
        }
        match self.below(4) {
            0 => format!("commit g={group_id} v=3 ret={} o={what}", self.pick(&[-1, 0, 20_000])),
            1 => format!("commit g={group_id} v=8 o={what}:3"),
            _ => match self.member(group, names) {
                Some((member, instance)) => {
                    let generation = self.generation(group);
                    let version = self.pick(&[8, 9]);
                    format!(
                        "commit g={group_id} v={version} m={member} gen={generation} o={what}{instance}"
                    )
                }
                None => format!("commit g={group_id} v=9 gen=1 m=stranger o={what}"),
            },
        }
    }
}

/// Kafka never gets past the moment when static members without a rebalance timeout are missing.
fn for_instance(instance: &str, said: String) -> String {
    if instance.is_empty() { said } else { said.replace("r=-5", "r=10000") }
}
