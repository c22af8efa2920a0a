//! Random lives of groups of classic consumers that the coordinator assigns.

use std::collections::BTreeSet;

use thalweg_coordinator::Token;
use thalweg_groups::{ClassicRebalanceMode, ConnectionId, GroupShard};
use thalweg_random::{Random, seeds};
use thalweg_wire::ErrorCode;

use super::client::{Client, GROUP, Partition, SESSION_MS};
use super::{CONFIG, check_owners, settle, topic};
use crate::script::World;
use thalweg_groups::GroupConfig;

const PROTOCOLS: &[&[&str]] = &[
    &["range"],
    &["roundrobin"],
    &["sticky"],
    &["cooperative-sticky"],
    &["range", "cooperative-sticky"],
    &["range", "own"],
    &["cooperative-sticky", "own"],
];
const TOPICS: &[&[&str]] = &[&["t1"], &["t1"], &["t1", "t2"], &["t2"], &["t1", "t3"]];
/// The racks of the brokers.
const RACKS: &[&[&str]] = &[&[], &[], &["a", "b", "c"], &["a", "b", ""]];
const CLIENTS: usize = 7;

struct Life<'h> {
    world: World,
    clients: Vec<Client>,
    /// Consumers that died without a word: what they own is theirs until their sessions end.
    dead: Vec<Client>,
    random: Random,
    names: usize,
    protocols: &'static [&'static str],
    history: &'h mut Vec<String>,
}

#[test]
fn random_lives_keep_the_invariants() {
    seeds::family("server-assigned", 300, 45, |seed, history| {
        let mut random = Random::new(seed ^ 0x4057_ed00);
        let protocols = *random.pick(PROTOCOLS);
        let mut world = World::new(GroupConfig::default());
        let interval = *random.pick(&[0, 0, 1000]);
        let grace = *random.pick(&[0, 300, 3000]);
        let config = CONFIG.replace("cint=0", &format!("cint={interval} grace={grace}"));
        world.run(&config, None);
        let racks = *random.pick(RACKS);
        if !racks.is_empty() {
            let event = world.metadata.brokers(racks);
            world.memory.event(event);
        }
        topic(&mut world, "t1", 1 + random.below(6));
        topic(&mut world, "t2", 1 + random.below(6));
        let clients = Vec::new();
        let mut life =
            Life { world, clients, dead: Vec::new(), random, names: 0, protocols, history };
        life.history.push(format!(
            "protocols {protocols:?} interval {interval} grace {grace} racks {racks:?}"
        ));
        for _ in 0..120 {
            life.step();
        }
        life.end();
    });
}

impl Life<'_> {
    fn say(&mut self, what: String) {
        self.history.push(what);
    }

    fn step(&mut self) {
        let some = self.random.below(self.clients.len());
        match self.random.below(100) {
            0..12 if self.clients.len() < CLIENTS => self.start(),
            12..16 if !self.clients.is_empty() => {
                let mut client = self.clients.swap_remove(some);
                self.say(format!("{} leaves", client.name));
                if client.waiting.is_none() && !client.member_id.is_empty() {
                    client.leave(&mut self.world);
                }
                // A member that is waiting for an answer, or whose leave is lost, is fenced later.
                if client.receive(&mut self.world) != Some(ErrorCode::NONE) {
                    client.lose_all();
                    self.dead.push(client);
                }
            }
            16..20 if !self.clients.is_empty() => {
                let mut client = self.clients.swap_remove(some);
                // Its machine may die with it: then nobody hears of that.
                if self.random.chance(70) {
                    self.say(format!("{} dies", client.name));
                    client.disconnect(&mut self.world);
                } else {
                    self.say(format!("{} dies with its machine", client.name));
                }
                self.dead.push(client);
            }
            20..22 if !self.clients.is_empty() => self.restart(some),
            22..24 if !self.clients.is_empty() && self.clients[some].waiting.is_none() => {
                self.say(format!("{}'s connection breaks", self.clients[some].name));
                self.clients[some].disconnect(&mut self.world);
                self.names += 1;
                self.clients[some].connection = Some(ConnectionId(self.names as u64));
                // It comes back at once, on another one.
                self.clients[some].beat(&mut self.world);
            }
            24..28 => {
                let name = *self.random.pick(&["t1", "t2", "t3"]);
                let known = self.world.metadata.image.topics.by_name(name);
                let partitions = known.map_or(0, |topic| topic.partitions.len()) as i32;
                if partitions < 8 {
                    self.say(format!("{name} has {} partitions", partitions + 1));
                    topic(&mut self.world, name, partitions + 1);
                }
            }
            28 => self.change_mode(),
            29..31 => {
                self.say("an append fails".into());
                self.world.memory.failures.push(ErrorCode::NOT_LEADER_OR_FOLLOWER);
            }
            31..33 => self.reload(),
            33..36 => {
                let (append, commit, jobs) =
                    (self.random.chance(60), self.random.chance(60), self.random.chance(60));
                self.say(format!("append {append}, commit {commit}, jobs {jobs}"));
                let memory = &mut self.world.memory;
                (memory.auto_append, memory.auto_commit, memory.auto_jobs) = (append, commit, jobs);
                if self.random.chance(30) {
                    self.world.compute_elsewhere();
                }
            }
            36..40 => {
                self.say("what waits goes on".into());
                self.go_on();
            }
            40..50 => {
                let ms = *self.random.pick(&[1, 100, 1_000, 3_000]);
                self.say(format!("{ms} ms pass"));
                self.pass(ms);
            }
            50..54 => self.commit_of_the_past(),
            _ if !self.clients.is_empty() => {
                let client = &mut self.clients[some];
                let received = client.receive(&mut self.world);
                let mut what = format!("{} received {received:?}", client.name);
                if client.waiting.is_none() && !client.send(&mut self.world) {
                    client.heartbeat(&mut self.world);
                    what.push_str(", sends a heartbeat");
                }
                self.say(what);
            }
            _ => {}
        }
        self.world.check();
        self.check_owners();
    }

    fn start(&mut self) {
        let mut name = format!("c{}", self.names);
        self.names += 1;
        let topics = *self.random.pick(TOPICS);
        let is_cooperative = self.protocols[0] == "cooperative-sticky";
        let protocols = match self.random.below(20) {
            0 => &["own"],
            _ if is_cooperative => self.protocols,
            1 => *self.random.pick(PROTOCOLS),
            _ => self.protocols,
        };
        let mut client = Client::new(name.clone(), protocols, topics);
        client.rack = Some((*self.random.pick(&["a", "a", "b", "c", ""])).to_owned());
        client.connection = Some(ConnectionId(self.names as u64));
        if self.random.chance(20) {
            // It was somewhere else before, or so it says.
            let had = (0..self.random.below(4)).map(|_| {
                let topic = *self.random.pick(&["t1", "t2", "t3", "t9"]);
                (topic.to_owned(), self.random.below(9))
            });
            let had = had.collect();
            client.remembered = Some((self.random.below(60) - 1, had));
        }
        if self.random.chance(3) {
            let length = self.random.below(20);
            client.user_data = Some((0..length).map(|_| self.random.below(3) as u8).collect());
        }
        if self.random.chance(20) {
            client.instance_id = Some(format!("i-{name}"));
            name.push_str(", static,");
        }
        self.say(format!("{name} starts: {protocols:?} {topics:?}"));
        self.clients.push(client);
    }

    /// The process of a consumer starts again. The old one is gone: it owns nothing.
    fn restart(&mut self, at: usize) {
        let old = &mut self.clients[at];
        let name = old.name.clone();
        old.lose_all();
        let mut new = Client::new(name.clone(), &old.protocols, &old.topics);
        new.instance_id = old.instance_id.clone();
        let old = std::mem::replace(&mut self.clients[at], new);
        self.say(format!("{name} starts again"));
        if old.instance_id.is_none() {
            self.dead.push(old);
        }
    }

    /// The setting changes, for a while.
    fn change_mode(&mut self) {
        let now = self.world.config.consumer.classic_rebalance_mode;
        let other = match now {
            ClassicRebalanceMode::Barrier => ClassicRebalanceMode::Server,
            ClassicRebalanceMode::Server => ClassicRebalanceMode::Barrier,
        };
        self.say(format!("{other:?}"));
        super::mode(&mut self.world, other);
    }

    fn reload(&mut self) {
        self.say("reload".into());
        self.world.memory.close(ErrorCode::NOT_COORDINATOR);
        for client in self.clients.iter_mut().chain(&mut self.dead) {
            client.receive(&mut self.world);
            assert_eq!(client.waiting, None::<Token>, "a request is left after unload");
        }
        let config = self.world.config.clone();
        self.world.memory.reload(GroupShard::new(config));
        let image = self.world.metadata.whole();
        self.world.memory.event(image);
    }

    fn go_on(&mut self) {
        let memory = &mut self.world.memory;
        (memory.auto_append, memory.auto_commit, memory.auto_jobs) = (true, true, true);
        memory.settle();
        while memory.run_job() {}
    }

    fn pass(&mut self, ms: u64) {
        self.world.memory.advance(ms);
    }

    /// Members of the group as the log has it.
    fn members(&self) -> BTreeSet<String> {
        let logged = self.world.shard().logged().consumer_group(GROUP);
        let classic = self.world.shard().group(GROUP);
        let logged = logged.into_iter().flat_map(|group| group.members().keys());
        let classic = classic.into_iter().flat_map(|g| g.members().map(|member| &member.id));
        logged.chain(classic).map(ToString::to_string).collect()
    }

    /// A consumer that the coordinator has fenced has had its time: whoever is alive and does not know
    /// it yet owns nothing that counts. (Its sessions ended because it sent nothing.)
    fn check_owners(&mut self) {
        let members = self.members();
        let holds = |client: &&Client| members.contains(&client.member_id);
        let counted: Vec<Client> =
            self.clients.iter().chain(&self.dead).filter(holds).cloned().collect();
        check_owners(&counted);
    }

    /// An offset of a partition that a consumer had in a generation that has passed, sent in that or, as
    /// some clients do that have joined again since, in the generation of now.
    fn commit_of_the_past(&mut self) {
        if !self.world.memory.failures.is_empty() {
            return;
        }
        let memory = &self.world.memory;
        let before = (memory.auto_append, memory.auto_commit, memory.auto_jobs);
        self.go_on();
        let members = self.members();
        let is_hosted = self.world.shard().group(GROUP).is_none()
            && self.world.config.consumer.classic_rebalance_mode == ClassicRebalanceMode::Server;
        let lost =
            self.clients.iter().filter(|client| members.contains(&client.member_id)).flat_map(
                |client| {
                    let is_lost = |(generation, partition): &&(i32, Partition)| {
                        *generation < client.generation && !client.owned.contains(partition)
                    };
                    client.past.iter().filter(is_lost).map(move |past| (client, past))
                },
            );
        let lost: Vec<(&Client, &(i32, Partition))> = lost.collect();
        if is_hosted && !lost.is_empty() {
            let (client, (generation, partition)) = *self.random.pick(&lost);
            let is_now = self.random.chance(50);
            let generation = if is_now { client.generation } else { *generation };
            let said = client.commit(&mut self.world, generation, partition);
            let what = format!("{} commits {partition:?} of {generation}: {said:?}", client.name);
            let has = |other: &&Client| {
                other.owned.contains(partition) && members.contains(&other.member_id)
            };
            if let Some(owner) = self.clients.iter().find(has) {
                assert_ne!(said, ErrorCode::NONE, "{what}, which {} has", owner.name);
            }
            self.say(what);
        }
        let memory = &mut self.world.memory;
        (memory.auto_append, memory.auto_commit, memory.auto_jobs) = before;
    }

    /// A group that has settled has no rebalance that is not over.
    fn check_rebalances(&mut self) {
        let told = crate::rebalances::told(&mut self.world, GROUP);
        let open = told.rebalances.iter().find(|rebalance| rebalance.over_ms < 0);
        assert!(told.mode != "server" || open.is_none(), "{open:#?}");
    }

    /// Everything goes on and everybody does what he is told: the group settles. Then one event more,
    /// of which nobody hears who keeps his partitions.
    fn end(&mut self) {
        super::mode(&mut self.world, ClassicRebalanceMode::Server);
        self.world.memory.failures.clear();
        self.go_on();
        for client in self.clients.iter_mut().chain(&mut self.dead) {
            client.receive(&mut self.world);
        }
        // Without those of other assignors, and without the dead.
        self.clients
            .retain(|client| client.protocols == self.protocols && client.waiting.is_none());
        // A new member that waits at a barrier has five minutes, also if its client is gone.
        for _ in 0..65 {
            self.pass(SESSION_MS as u64 / 4);
            for client in &mut self.clients {
                client.beat(&mut self.world);
            }
            self.go_on();
        }
        self.dead.clear();
        if self.clients.is_empty() {
            self.start();
            self.clients[0].protocols = self.protocols.to_vec();
        }
        self.say("the end".into());
        settle(&mut self.world, &mut self.clients);
        self.check_rebalances();
        let before = self.clients.clone();
        let topics = self.clients[0].topics.clone();
        match self.random.below(3) {
            0 => self.clients.push(Client::new("last".to_owned(), self.protocols, &topics)),
            1 if self.clients.len() > 1 => {
                let mut gone = self.clients.pop().expect("one");
                gone.leave(&mut self.world);
                assert_eq!(gone.receive(&mut self.world), Some(ErrorCode::NONE));
            }
            _ => topic(&mut self.world, "t1", 9),
        }
        self.say("one event more".into());
        self.pass(1_000);
        settle(&mut self.world, &mut self.clients);
        let own = self.protocols.contains(&"own");
        for (client, before) in self.clients.iter().zip(&before) {
            let told = client.told > before.told;
            assert!(
                own || !told || client.owned != before.owned,
                "{client:?} was told for nothing"
            );
        }
        self.reload();
        let before = self.clients.clone();
        settle(&mut self.world, &mut self.clients);
        for (client, before) in self.clients.iter().zip(&before) {
            assert_eq!((client.told, client.joins), (before.told, before.joins), "after a restart");
        }
    }
}
