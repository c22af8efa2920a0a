//! Groups whose members and partitions are in racks (KIP-881).

use std::collections::BTreeSet;

use super::client::Client;
use super::{CONFIG, consumer, settle, topic};
use crate::script::World;
use thalweg_groups::GroupConfig;

const PROTOCOLS: [&str; 4] = ["range", "roundrobin", "sticky", "cooperative-sticky"];

/// Partition 0 of `t1` is in the first of these racks, and so on in turn.
fn world_in(racks: &[&str], partitions: i32) -> World {
    let mut world = World::new(GroupConfig::default());
    world.run(CONFIG, None);
    let event = world.metadata.brokers(racks);
    world.memory.event(event);
    topic(&mut world, "t1", partitions);
    world
}

fn member(rack: &str, protocol: &'static str) -> Client {
    let mut client = consumer(rack, protocol);
    client.rack = Some(rack.to_owned());
    client
}

/// How many partitions members have of each rack, if the racks take turns.
fn near(clients: &[Client], racks: &[&str]) -> usize {
    let is_near = |client: &Client, partition: i32| {
        client.rack.as_deref() == Some(racks[partition as usize % racks.len()])
    };
    clients.iter().map(|c| c.owned.iter().filter(|(_, p)| is_near(c, *p)).count()).sum()
}

#[test]
fn members_get_what_is_in_their_rack_and_keep_it() {
    let racks = ["ra", "rb", "rc"];
    for protocol in PROTOCOLS {
        let mut world = world_in(&racks, 12);
        let mut clients = Vec::new();
        // Against the order of the partitions and of the ids: by chance nobody is near.
        for rack in ["rc", "ra", "rb"] {
            clients.push(member(rack, protocol));
            settle(&mut world, &mut clients);
        }
        assert_eq!(near(&clients, &racks), 12, "{protocol}: {clients:?}");
        // What is not near is not moved for it: a member of another rack takes its share and no more.
        let before: Vec<BTreeSet<_>> = clients.iter().map(|c| c.owned.clone()).collect();
        clients.push(member("rd", protocol));
        settle(&mut world, &mut clients);
        let sizes: Vec<usize> = clients.iter().map(|c| c.owned.len()).collect();
        assert_eq!(sizes, [3; 4], "{protocol}");
        for (client, before) in clients.iter().zip(&before) {
            assert!(client.owned.is_subset(before), "{protocol}: {client:?}");
        }
        assert_eq!(near(&clients, &racks), 9, "{protocol}: {clients:?}");
    }
}

/// A replica's rack that changes, or a member's, moves nothing by itself.
#[test]
fn nothing_moves_for_racks_alone() {
    for protocol in PROTOCOLS {
        let mut world = world_in(&["ra", "rb"], 8);
        let mut clients = vec![member("ra", protocol), member("rb", protocol)];
        settle(&mut world, &mut clients);
        let before: Vec<BTreeSet<_>> = clients.iter().map(|c| c.owned.clone()).collect();
        let event = world.metadata.brokers(&["rb", "ra"]);
        world.memory.event(event);
        settle(&mut world, &mut clients);
        clients[0].rack = Some("rb".to_owned());
        clients[0].must_join = true;
        settle(&mut world, &mut clients);
        let after: Vec<BTreeSet<_>> = clients.iter().map(|c| c.owned.clone()).collect();
        assert_eq!(before, after, "{protocol}");
    }
}
