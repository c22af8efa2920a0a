//! Members whose connections are gone (`thalweg.group.disconnect.grace.ms`).

use thalweg_groups::GroupConfig;

use crate::script::{Names, World};

/// A world in which requests name the connection that they come on.
struct Wired {
    world: World,
    names: Names,
}

impl Wired {
    fn new(config: &str) -> Wired {
        let mut wired =
            Wired { world: World::new(GroupConfig::default()), names: Names::default() };
        wired.run(&format!("new delay=0 minsession=10 csession=60000 chb=1500 cint=0 {config}"));
        wired.run("topic n=t1 p=2 life=0");
        wired
    }

    fn run(&mut self, op: &str) -> String {
        let lines = self.world.run(&self.names.resolve(op), None);
        let lines: Vec<String> = lines.iter().map(|line| self.names.normalise(line)).collect();
        // Members that wait for their first answer have names, too.
        for line in self.world.state() {
            self.names.normalise(&line);
        }
        self.world.check();
        lines.join("\n")
    }

    /// The members of the group `g`, of whichever type it is.
    fn members(&self) -> usize {
        let consumer = self.world.shard().logged().consumer_group("g");
        let classic = self.world.shard().group("g");
        consumer.map_or(0, |group| group.members().len())
            + classic.map_or(0, |group| group.members().len())
    }

    fn failed(&self) -> u64 {
        self.world.shard().counters().disconnected_members
    }

    /// A heartbeat of a member, in the generation or epoch that it is in.
    fn beat(&mut self, member: &str, connection: u64) -> String {
        let id = self.names.resolve(member);
        if let Some(group) = self.world.shard().group("g") {
            let generation = group.generation();
            return self.run(&format!("hb g=g v=3 m={member} gen={generation} conn={connection}"));
        }
        let group = self.world.shard().logged().consumer_group("g").expect("a group");
        let member_now = group.member(&id).expect("a member");
        let (epoch, is_classic) = (member_now.epoch, member_now.metadata.classic.is_some());
        self.run(&match is_classic {
            true => format!("hb g=g v=3 m={member} gen={epoch} conn={connection}"),
            false => format!("chb v=1 g=g m={member} e={epoch} conn={connection}"),
        })
    }

    /// Two heartbeats of each of these members on its connection, so far apart; the second ones just now.
    fn beats(&mut self, members: &[(&str, u64)], interval_ms: u64) {
        for (member, connection) in members {
            self.beat(member, *connection);
        }
        self.run(&format!("tick ms={interval_ms}"));
        for (member, connection) in members {
            self.beat(member, *connection);
        }
    }

    /// Members without a connection are removed after so many milliseconds, and not before.
    fn removes_after(&mut self, ms: u64) -> String {
        let (members, failed) = (self.members(), self.failed());
        self.run(&format!("tick ms={}", ms - 1));
        assert_eq!((self.members(), self.failed()), (members, failed), "before {ms} ms");
        let said = self.run("tick ms=1");
        assert_eq!((self.members(), self.failed()), (members - 1, failed + 1), "after {ms} ms");
        said
    }

    /// No member is removed within so many milliseconds.
    fn keeps_all_for(&mut self, ms: u64) {
        let before = (self.members(), self.failed());
        self.run(&format!("tick ms={ms}"));
        assert_eq!((self.members(), self.failed()), before);
    }

    /// A classic group of `@1`, on connection 1, whose heartbeats come every 3 s.
    fn classic(config: &str, instance: &str) -> Wired {
        let mut wired = Wired::new(config);
        // From version 4 on a member without an instance id is first given an id.
        let version = if instance.is_empty() { 3 } else { 5 };
        wired.run(&format!("join g=g v={version} c=a p=range:t1 s=60000 r=60000 conn=1{instance}"));
        wired.run("tick ms=0");
        let synced = wired.run("sync g=g v=3 m=@1 gen=1 a=@1: conn=1");
        assert!(synced.contains("#1 sync err=0"), "{synced}");
        wired.beats(&[("@1", 1)], 3_000);
        wired
    }

    /// A group that the coordinator assigns, of `@1` and `@2` on connections 1 and 2, with a heartbeat every 3 s.
    fn hosted(config: &str) -> Wired {
        let mut wired = Wired::new(&format!("mode=server {config}"));
        for connection in [1, 2] {
            let member = format!("@{connection}");
            wired.run(&format!("join g=g v=3 c=a p=range:t1 s=60000 r=60000 conn={connection}"));
            wired.run(&format!("sync g=g v=3 m={member} gen={connection} conn={connection}"));
        }
        wired.beats(&[("@1", 1), ("@2", 2)], 3_000);
        assert_eq!(wired.members(), 2);
        wired
    }

    /// A group of the consumer protocol, of `ma` and `mb` on connections 1 and 2, which have joined only.
    fn joined(config: &str) -> Wired {
        let mut wired = Wired::new(config);
        for (member, connection) in [("ma", 1), ("mb", 2)] {
            wired.run(&format!("chb v=1 g=g m={member} e=0 rt=90000 o= t=t1 conn={connection}"));
        }
        assert_eq!(wired.members(), 2);
        wired
    }

    /// The same, with a heartbeat of each every 3 s.
    fn consumer(config: &str) -> Wired {
        let mut wired = Wired::joined(config);
        wired.beats(&[("ma", 1), ("mb", 2)], 3_000);
        wired
    }
}

#[test]
fn member_goes_when_its_heartbeat_is_overdue_by_the_grace() {
    let mut wired = Wired::consumer("grace=1000");
    wired.run("tick ms=1000");
    wired.run("disconnect g=g m=mb conn=2");
    let said = wired.removes_after(2 * 1_500 + 1_000);
    assert!(said.contains("log cmember g=g id=mb tombstone"), "{said}");
    let said = wired.run("chb v=1 g=g m=mb e=2 conn=3");
    assert!(said.contains("err=25"), "{said}");

    let mut wired = Wired::hosted("grace=1000");
    wired.run("tick ms=1000");
    wired.run("disconnect g=g m=@2 conn=2");
    wired.removes_after(2 * 3_000 + 1_000);
    let told = crate::rebalances::told(&mut wired.world, "g");
    let told = format!("{told:?}");
    assert!(told.contains("its connection was gone, and its heartbeat overdue"), "{told}");
}

#[test]
fn member_keeps_its_place_if_it_is_back_in_time() {
    for again in ["chb v=1 g=g m=mb e=2 conn=3", "commit g=g v=9 m=mb gen=2 o=t1:0:5 conn=3"] {
        let mut wired = Wired::consumer("grace=1000");
        wired.run("disconnect g=g m=mb conn=2");
        wired.run("tick ms=3999");
        wired.run(again);
        wired.keeps_all_for(10_000);
        // Its next connection counts like the first.
        wired.beats(&[("mb", 3)], 3_000);
        wired.run("tick ms=3000");
        wired.beat("mb", 3);
        wired.run("disconnect g=g m=mb conn=3");
        wired.removes_after(4_000);
    }
}

#[test]
fn member_with_another_connection_is_connected() {
    let mut wired = Wired::consumer("grace=1000");
    wired.run("commit g=g v=9 m=mb gen=2 o=t1:0:5 conn=3");
    wired.run("disconnect g=g m=mb conn=2");
    wired.keeps_all_for(5_000);
    wired.run("disconnect g=g m=mb conn=3");
    // Said twice: the time counts from the first.
    wired.run("tick ms=600");
    wired.run("disconnect g=g m=mb conn=3");
    wired.removes_after(3_400);
}

/// It is stopped, or its machine is gone: the coordinator cannot tell.
#[test]
fn member_with_its_connection_keeps_its_session() {
    let mut wired = Wired::consumer("grace=1000");
    wired.keeps_all_for(59_000);
    wired.run("tick ms=1000");
    assert_eq!((wired.members(), wired.failed()), (0, 0));
}

/// Its JoinGroup waits, or a proxy hung before it ended the connection. Live clients connect again.
#[test]
fn overdue_member_has_an_interval_and_the_grace_to_return() {
    let mut wired = Wired::consumer("grace=1000");
    wired.run("tick ms=20000");
    wired.run("disconnect g=g m=mb conn=2");
    wired.removes_after(4_000);
}

#[test]
fn member_with_one_heartbeat_per_connection_has_its_session() {
    // It has joined, and sent one heartbeat.
    let mut wired = Wired::joined("grace=1000");
    wired.run("tick ms=3000");
    wired.beat("mb", 2);
    wired.run("disconnect g=g m=mb conn=2");
    wired.keeps_all_for(3_000);
    // So does each of its later connections.
    for connection in 3..8 {
        wired.beat("ma", 1);
        wired.beat("mb", connection);
        wired.run(&format!("disconnect g=g m=mb conn={connection}"));
        wired.keeps_all_for(5_000);
    }
    wired.keeps_all_for(54_000);
    wired.run("tick ms=1000");
    assert_eq!((wired.members(), wired.failed()), (0, 0));
}

#[test]
fn early_heartbeat_does_not_make_the_next_one_overdue() {
    let mut wired = Wired::classic("grace=100", "");
    wired.run("tick ms=50");
    wired.beat("@1", 1);
    wired.run("disconnect g=g m=@1 conn=1");
    wired.removes_after(6_100);
    // Members of the consumer protocol are told the interval, which is 1.5 s.
    let mut wired = Wired::joined("grace=100");
    wired.beats(&[("mb", 2)], 50);
    wired.run("disconnect g=g m=mb conn=2");
    wired.removes_after(3_100);
}

/// The heartbeat was held, and is handled once more: its client has not sent it now.
#[test]
fn released_heartbeat_is_no_sign_of_life() {
    let mut wired = Wired::consumer("grace=1000");
    wired.run("tick ms=2500");
    wired.run("chb v=1 g=g m=mb e=2 repeat=1");
    wired.run("disconnect g=g m=mb conn=2");
    wired.run("tick ms=500");
    wired.run("chb v=1 g=g m=mb e=2 repeat=1");
    wired.removes_after(3_500);
}

#[test]
fn member_on_a_connection_that_is_not_noted_is_exempt() {
    let mut wired = Wired::consumer("grace=1000");
    wired.run("disconnect g=g m=mb conn=2");
    wired.beat("ma", 1);
    wired.run("chb v=1 g=g m=mb e=2");
    wired.run("chb v=1 g=g m=ma e=1");
    wired.run("disconnect g=g m=ma conn=1");
    wired.keeps_all_for(20_000);
}

#[test]
fn without_a_grace_connections_do_not_matter() {
    for config in ["", "grace=0"] {
        let mut wired = Wired::consumer(config);
        wired.run("disconnect g=g m=mb conn=2");
        wired.keeps_all_for(50_000);
    }
}

#[test]
fn the_grace_of_the_group_counts_and_may_be_taken_back() {
    let mut wired = Wired::consumer("");
    wired.run("gconf g=g session.timeout=60000 heartbeat.interval=1500 grace=1000");
    wired.run("disconnect g=g m=ma conn=1");
    wired.run("gconf g=g session.timeout=60000 heartbeat.interval=1500 grace=0");
    wired.keeps_all_for(5_000);
    wired.run("gconf g=g session.timeout=60000 heartbeat.interval=1500 grace=1000");
    wired.run("disconnect g=g m=mb conn=2");
    wired.removes_after(4_000);
}

/// Its coordinator was another one, or this one before it started again.
#[test]
fn loaded_shard_exempts_members_until_two_heartbeats() {
    let mut wired = Wired::consumer("grace=1000");
    wired.run("reload");
    wired.run("disconnect g=g m=ma conn=1");
    wired.beat("mb", 2);
    wired.run("tick ms=3000");
    wired.run("disconnect g=g m=mb conn=2");
    wired.keeps_all_for(10_000);
    wired.beats(&[("mb", 3)], 3_000);
    wired.run("disconnect g=g m=mb conn=3");
    wired.removes_after(4_000);
    for unknown in ["g=g m=mb", "g=g m=unknown", "g=unknown m=ma"] {
        wired.run(&format!("disconnect {unknown} conn=9"));
    }
    wired.keeps_all_for(10_000);
}

#[test]
fn static_member_is_expected_back() {
    let mut wired = Wired::new("grace=1000");
    wired.run("chb v=1 g=g m=ma i=ia e=0 rt=90000 o= t=t1 conn=1");
    wired.beats(&[("ma", 1)], 3_000);
    wired.run("disconnect g=g m=ma conn=1");
    wired.keeps_all_for(50_000);
    let mut wired = Wired::classic("grace=1000", " i=ia");
    wired.run("disconnect g=g m=@1 conn=1");
    wired.keeps_all_for(50_000);
}

#[test]
fn barrier_does_not_wait_for_a_dead_member() {
    let mut wired = Wired::classic("grace=1000", "");
    // The first has not joined again; the second waits for it.
    wired.run("join g=g v=3 c=b p=range:t1 s=60000 conn=2");
    assert_eq!(wired.members(), 2);
    wired.run("disconnect g=g m=@1 conn=1");
    let said = wired.removes_after(7_000);
    assert!(said.contains("join err=0 gen=2"), "{said}");
}

/// Only the broker could answer its JoinGroup: Kafka keeps it until the others have come, and for a session after that.
#[test]
fn member_that_waits_at_the_barrier_goes_with_its_connection() {
    let mut wired = Wired::classic("grace=1000", "");
    wired.run("join g=g v=3 c=b p=range:t1 s=60000 r=60000 conn=2");
    wired.run("join g=g v=3 m=@1 c=a p=range:t1 s=60000 r=60000 conn=1");
    wired.run("sync g=g v=3 m=@1 gen=2 a=@1:,@2: conn=1");
    wired.run("sync g=g v=3 m=@2 gen=2 conn=2");
    wired.beats(&[("@1", 1), ("@2", 2)], 3_000);
    wired.run("join g=g v=3 m=@2 c=b p=range:t2 s=60000 r=60000 conn=2");
    for _ in 0..3 {
        wired.keeps_all_for(3_000);
        wired.beat("@1", 1);
    }
    // Its last heartbeat is long ago, and it was not to send one.
    wired.run("disconnect g=g m=@2 conn=2");
    let said = wired.removes_after(7_000);
    assert!(said.contains("join err=25"), "{said}");
}

#[test]
fn member_that_the_log_does_not_let_go_is_tried_again() {
    let mut wired = Wired::consumer("grace=1000");
    wired.run("disconnect g=g m=mb conn=2");
    wired.run("fail code=19");
    wired.run("tick ms=4000");
    assert_eq!(wired.members(), 2);
    wired.run("tick ms=1000");
    assert_eq!(wired.members(), 1);
}
