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
        wired.run(&format!("new delay=0 minsession=10 csession=20000 cint=0 {config}"));
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

    /// A classic group of `@1` and `@2`, of which the second came last; on connections 1 and 2.
    fn classic(config: &str, instance: &str) -> Wired {
        let mut wired = Wired::new(config);
        // From version 4 on a member without an instance id is first given an id.
        let version = if instance.is_empty() { 3 } else { 5 };
        wired.run(&format!("join g=g v={version} c=a p=range:t1 s=60000 conn=1{instance}"));
        wired.run("tick ms=0");
        let synced = wired.run("sync g=g v=3 m=@1 gen=1 a=@1: conn=1");
        assert!(synced.contains("#1 sync err=0"), "{synced}");
        wired.run("join g=g v=3 c=b p=range:t1 s=60000 conn=2");
        assert_eq!(wired.members(), 2);
        wired
    }

    /// A group of the consumer protocol, of `ma` and `mb` on connections 1 and 2.
    fn consumer(config: &str) -> Wired {
        let mut wired = Wired::new(config);
        for (member, connection) in [("ma", 1), ("mb", 2)] {
            wired.run(&format!("chb v=1 g=g m={member} e=0 rt=5000 o= t=t1 conn={connection}"));
        }
        assert_eq!(wired.members(), 2);
        wired
    }
}

#[test]
fn a_member_without_a_connection_counts_as_failed_after_the_grace() {
    let mut wired = Wired::consumer("grace=1000");
    wired.run("disconnect g=g m=mb conn=2");
    wired.run("tick ms=999");
    assert_eq!(wired.members(), 2);
    let said = wired.run("tick ms=1");
    assert!(said.contains("log cmember g=g id=mb tombstone"), "{said}");
    assert_eq!((wired.members(), wired.failed()), (1, 1));
    let said = wired.run("chb v=1 g=g m=mb e=2 conn=3");
    assert!(said.contains("err=25"), "{said}");
}

#[test]
fn a_member_that_is_heard_of_in_time_stays() {
    for again in [
        "chb v=1 g=g m=mb e=1 conn=3",
        "chb v=1 g=g m=mb e=1",
        "commit g=g v=9 m=mb gen=1 o=t1:0:5 conn=3",
    ] {
        let mut wired = Wired::consumer("grace=1000");
        wired.run("disconnect g=g m=mb conn=2");
        wired.run("tick ms=999");
        wired.run(again);
        wired.run("tick ms=10000");
        assert_eq!((wired.members(), wired.failed()), (2, 0), "{again}");
        // Its next connection counts like the first.
        wired.run("disconnect g=g m=mb conn=3");
        wired.run("tick ms=1000");
        assert_eq!((wired.members(), wired.failed()), (1, 1), "{again}");
    }
}

#[test]
fn a_member_with_another_connection_is_connected() {
    let mut wired = Wired::consumer("grace=1000");
    wired.run("chb v=1 g=g m=mb e=1 conn=2");
    wired.run("chb v=1 g=g m=mb e=1 conn=3");
    wired.run("disconnect g=g m=mb conn=2");
    wired.run("tick ms=5000");
    assert_eq!(wired.members(), 2);
    wired.run("disconnect g=g m=mb conn=3");
    // Said twice: the time counts from the first.
    wired.run("tick ms=600");
    wired.run("disconnect g=g m=mb conn=3");
    wired.run("tick ms=400");
    assert_eq!((wired.members(), wired.failed()), (1, 1));
}

#[test]
fn without_a_grace_connections_do_not_matter() {
    for config in ["", "grace=0"] {
        let mut wired = Wired::consumer(config);
        wired.run("disconnect g=g m=mb conn=2");
        wired.run("tick ms=19000");
        assert_eq!((wired.members(), wired.failed()), (2, 0));
    }
}

#[test]
fn the_grace_of_the_group_counts_and_may_be_taken_back() {
    let mut wired = Wired::consumer("");
    wired.run("gconf g=g session.timeout=20000 grace=1000");
    wired.run("disconnect g=g m=ma conn=1");
    wired.run("gconf g=g session.timeout=20000 grace=0");
    wired.run("tick ms=5000");
    assert_eq!((wired.members(), wired.failed()), (2, 0));
    wired.run("gconf g=g session.timeout=20000 grace=1000");
    wired.run("disconnect g=g m=mb conn=2");
    wired.run("tick ms=1000");
    assert_eq!((wired.members(), wired.failed()), (1, 1));
}

#[test]
fn a_shard_that_knows_no_connection_takes_the_one_that_is_gone_for_the_last() {
    let mut wired = Wired::consumer("grace=1000");
    wired.run("reload");
    wired.run("disconnect g=g m=mb conn=2");
    wired.run("chb v=1 g=g m=ma e=1 conn=1");
    wired.run("tick ms=1000");
    assert_eq!((wired.members(), wired.failed()), (1, 1));
    for nobody in ["g=g m=mb", "g=g m=nobody", "g=nobody m=ma"] {
        wired.run(&format!("disconnect {nobody} conn=9"));
    }
    wired.run("tick ms=1000");
    assert_eq!((wired.members(), wired.failed()), (1, 1));
}

#[test]
fn a_static_member_is_expected_back() {
    let mut wired = Wired::new("grace=1000");
    wired.run("chb v=1 g=g m=ma i=ia e=0 rt=5000 o= t=t1 conn=1");
    wired.run("disconnect g=g m=ma conn=1");
    wired.run("tick ms=10000");
    assert_eq!((wired.members(), wired.failed()), (1, 0));
    let mut wired = Wired::classic("grace=1000", " i=ia");
    wired.run("disconnect g=g m=@1 conn=1");
    wired.run("tick ms=10000");
    assert_eq!((wired.members(), wired.failed()), (2, 0));
}

#[test]
fn a_member_of_a_classic_group_goes_and_the_others_go_on() {
    let mut wired = Wired::classic("grace=1000", "");
    // The first has not joined again; the second waits for it.
    wired.run("disconnect g=g m=@1 conn=1");
    let said = wired.run("tick ms=1000");
    assert!(said.contains("#2 join err=0 gen=2"), "{said}");
    assert_eq!((wired.members(), wired.failed()), (1, 1));
}

#[test]
fn a_member_that_waits_for_others_goes_with_its_connection() {
    let mut wired = Wired::classic("grace=1000", "");
    // Only the broker could answer it, and nobody is there to hear that: Kafka keeps it until the others have
    // come, and for a session after that.
    wired.run("disconnect g=g m=@2 conn=2");
    let said = wired.run("tick ms=1000");
    assert!(said.contains("join err=25"), "{said}");
    assert_eq!((wired.members(), wired.failed()), (1, 1));
}

#[test]
fn a_member_that_the_log_does_not_let_go_is_tried_again() {
    let mut wired = Wired::consumer("grace=1000");
    wired.run("fail code=19");
    wired.run("disconnect g=g m=mb conn=2");
    wired.run("tick ms=1000");
    assert_eq!(wired.members(), 2);
    wired.run("tick ms=1000");
    assert_eq!(wired.members(), 1);
}

#[test]
fn why_it_went_is_told() {
    let mut wired = Wired::new("grace=1000 mode=server");
    for connection in [1, 2] {
        let member = format!("@{connection}");
        wired.run(&format!("join g=g v=3 c=a p=range:t1 s=60000 conn={connection}"));
        wired.run(&format!("sync g=g v=3 m={member} gen={connection} conn={connection}"));
    }
    wired.run("hb g=g v=3 m=@1 gen=1 conn=1");
    assert_eq!(wired.members(), 2);
    wired.run("disconnect g=g m=@2 conn=2");
    wired.run("tick ms=1000");
    assert_eq!((wired.members(), wired.failed()), (1, 1));
    let told = crate::rebalances::told(&mut wired.world, "g");
    let told = format!("{told:?}");
    assert!(told.contains("its last connection was gone"), "{told}");
}
