//! Members of the sticky assignors that remember what they had before the coordinator knew them.

use std::collections::BTreeSet;

use super::client::{Client, Partition, SESSION_MS};
use super::{CONFIG, consumer, mode, settle, settled, topic, world};
use crate::script::World;
use thalweg_groups::{ClassicRebalanceMode, GroupConfig};

fn partitions(of: &[i32]) -> BTreeSet<Partition> {
    of.iter().map(|partition| ("t1".to_owned(), *partition)).collect()
}

/// A consumer whose group is not there any more.
fn remembering(name: &str, had: &[i32], generation: i32) -> Client {
    let mut client = consumer(name, "sticky");
    client.remembered = Some((generation, partitions(had)));
    client
}

/// A world in which targets are computed a second after the last one.
fn gathering_world(partitions: i32) -> World {
    let mut world = World::new(GroupConfig::default());
    world.run(&CONFIG.replace("cint=0", "cint=1000"), None);
    topic(&mut world, "t1", partitions);
    world
}

/// Members join in a round whose leader assigns nothing. It rejoins, and the coordinator gives out what was left out.
fn gather(world: &mut World, clients: &mut [Client]) {
    clients.iter_mut().for_each(|client| client.run(world));
    world.memory.advance(1);
    for client in clients.iter_mut() {
        client.receive(world);
        client.assigns.iter_mut().for_each(|(_, assignment)| assignment.clear());
    }
    clients.iter_mut().for_each(|client| client.run(world));
    clients.iter_mut().for_each(|client| client.run(world));
    world.memory.advance(1_000);
    let leader = clients.iter_mut().find(|client| client.watches.is_some()).expect("a leader");
    leader.must_join = true;
    settle(world, clients);
}

/// In no order that an assignor would find by itself.
const HAD: [&[i32]; 4] = [&[0, 7, 10], &[1, 2, 11], &[3, 5, 8], &[4, 6, 9]];

#[test]
fn a_group_that_is_formed_anew_gets_back_what_it_had() {
    let mut world = gathering_world(12);
    let name = |at: usize| format!("c{at}");
    let mut clients: Vec<Client> =
        HAD.iter().enumerate().map(|(at, had)| remembering(&name(at), had, 57)).collect();
    gather(&mut world, &mut clients);
    for (client, had) in clients.iter().zip(HAD) {
        assert_eq!(client.owned, partitions(had), "{}", client.name);
    }
    // With nothing to go by it comes out otherwise.
    let mut world = gathering_world(12);
    let mut clients: Vec<Client> = (0..4).map(|at| consumer(&name(at), "sticky")).collect();
    gather(&mut world, &mut clients);
    assert!(clients.iter().zip(HAD).any(|(client, had)| client.owned != partitions(had)));
}

/// All sessions ended while the coordinator could not be reached; the clients live.
#[test]
fn members_that_were_all_fenced_get_back_what_they_had() {
    let mut world = gathering_world(12);
    let mut clients: Vec<Client> = (0..4).map(|at| consumer(&format!("c{at}"), "sticky")).collect();
    gather(&mut world, &mut clients);
    let before: Vec<_> = clients.iter().map(|client| client.owned.clone()).collect();
    world.memory.advance(2 * SESSION_MS as u64);
    // Each finds out with its next heartbeat, in another order than they came.
    clients.reverse();
    clients.iter_mut().for_each(|client| client.heartbeat(&mut world));
    clients.iter_mut().for_each(|client| assert!(client.receive(&mut world).is_some()));
    gather(&mut world, &mut clients);
    clients.reverse();
    let after: Vec<_> = clients.iter().map(|client| client.owned.clone()).collect();
    assert_eq!(before, after);
}

#[test]
fn the_newer_generation_gets_it() {
    for (old, new) in [(3, 4), (-1, 0)] {
        let mut world = gathering_world(4);
        let mut clients = vec![
            remembering("a", &[0, 3], old),
            remembering("b", &[0, 1], new),
            // It is the first to have anything, and is nobody's word.
            consumer("c", "sticky"),
        ];
        clients.rotate_right(1);
        gather(&mut world, &mut clients);
        let of = |name: &str| &clients.iter().find(|client| client.name == name).expect(name).owned;
        assert!(of("a").contains(&("t1".to_owned(), 3)), "{clients:?}");
        assert!(!of("a").contains(&("t1".to_owned(), 0)), "{clients:?}");
        assert!(of("b").is_subset(&partitions(&[0, 1])), "{clients:?}");
    }
}

/// A newcomer gets what it had of what others give up anyway; nobody gives up more for it.
#[test]
fn a_word_takes_nothing_that_could_stay() {
    for generation in [-1, 0, i32::MAX] {
        let mut world = world(12);
        let mut clients = settled(&mut world, 2, "sticky");
        let before = clients.clone();
        // Four of one member, two of which that one can keep, and one of nobody.
        let had: Vec<i32> = before[0].owned.iter().map(|(_, p)| *p).take(4).chain([77]).collect();
        clients.push(remembering("new", &had, generation));
        settle(&mut world, &mut clients);
        assert_eq!(clients.iter().map(|c| c.owned.len()).collect::<Vec<_>>(), [4, 4, 4]);
        for (client, before) in clients.iter().zip(&before) {
            assert!(client.owned.is_subset(&before.owned), "{client:?}");
        }
        // The other one said as it joined last that it had them, in the second generation.
        if generation > 2 {
            let got = clients[2].owned.intersection(&partitions(&had)).count();
            assert_eq!(got, 2, "{:?}", clients[2].owned);
        }
    }
}

/// One was away too long; what it had is with others, and comes back to it.
#[test]
fn a_member_that_was_fenced_gets_back_what_it_had() {
    let mut world = world(9);
    let mut clients = settled(&mut world, 3, "sticky");
    let before = clients.clone();
    let mut away = clients.remove(1);
    for _ in 0..5 {
        world.memory.advance(SESSION_MS as u64 / 4);
        clients.iter_mut().for_each(|client| client.beat(&mut world));
    }
    settle(&mut world, &mut clients);
    assert_eq!(clients.iter().map(|c| c.owned.len()).sum::<usize>(), 9);
    away.beat(&mut world);
    clients.insert(1, away);
    settle(&mut world, &mut clients);
    for (client, before) in clients.iter().zip(&before) {
        assert_eq!(client.owned, before.owned, "{}", client.name);
    }
}

/// What cooperative members say that they have counts like what the others say that they had.
#[test]
fn cooperative_members_claim_what_they_own() {
    let mut world = world(6);
    let mut clients = settled(&mut world, 1, "cooperative-sticky");
    let mut new = consumer("new", "cooperative-sticky");
    new.owned = partitions(&[1, 2, 4]);
    new.remembered = Some((57, BTreeSet::new()));
    // It says so as it joins.
    new.run(&mut world);
    assert!(new.waiting.is_some());
    new.lose_all();
    clients.push(new);
    settle(&mut world, &mut clients);
    assert_eq!(clients[1].owned, partitions(&[1, 2, 4]));
}

#[test]
fn user_data_that_cannot_be_read_hinders_nobody() {
    let garbage: [&[u8]; 5] =
        [&[], &[0], &[0x7f; 4], &[0xff; 40], &[0, 0, 0, 1, 0x7f, 0xff, 0, 0, 0, 9]];
    for user_data in garbage {
        let mut world = gathering_world(6);
        let mut clients: Vec<Client> =
            (0..3).map(|at| consumer(&format!("c{at}"), "sticky")).collect();
        clients.iter_mut().for_each(|client| client.user_data = Some(user_data.to_vec()));
        gather(&mut world, &mut clients);
        assert_eq!(clients.iter().map(|c| c.owned.len()).collect::<Vec<_>>(), [2; 3]);
    }
}

/// A group at the barrier, whose members remember something. Its leader assigns nothing, or what it will.
fn at_barrier(had: &[&[i32]], assigns: bool) -> (World, Vec<Client>) {
    let mut world = world(6);
    mode(&mut world, ClassicRebalanceMode::Barrier);
    let clients = had.iter().enumerate().map(|(at, had)| remembering(&format!("c{at}"), had, 57));
    let mut clients: Vec<Client> = clients.collect();
    for _ in 0..8 {
        for client in &mut clients {
            client.receive(&mut world);
            if !assigns {
                client.assigns.iter_mut().for_each(|(_, assignment)| assignment.clear());
            }
            client.send(&mut world);
        }
        world.memory.advance(100);
    }
    clients.iter_mut().for_each(|client| assert!(client.waiting.is_none() && !client.must_join));
    (world, clients)
}

#[test]
fn where_the_barrier_assigned_nothing_members_get_what_they_had() {
    let had: [&[i32]; 3] = [&[1, 2], &[0, 5], &[3, 4]];
    let (mut world, mut clients) = at_barrier(&had, false);
    assert!(clients.iter().all(|client| client.owned.is_empty()));
    mode(&mut world, ClassicRebalanceMode::Server);
    clients.iter_mut().for_each(|client| client.must_join = client.watches.is_some());
    settle(&mut world, &mut clients);
    for (client, had) in clients.iter().zip(had) {
        assert_eq!(client.owned, partitions(had), "{}", client.name);
    }
}

#[test]
fn what_the_barrier_assigned_is_newer_than_what_members_had() {
    let had: [&[i32]; 3] = [&[1, 2], &[0, 5], &[3, 4]];
    let (mut world, mut clients) = at_barrier(&had, true);
    let before = clients.clone();
    assert!(clients.iter().zip(had).all(|(client, had)| client.owned != partitions(had)));
    mode(&mut world, ClassicRebalanceMode::Server);
    settle(&mut world, &mut clients);
    for (client, before) in clients.iter().zip(&before) {
        assert_eq!((&client.owned, client.joins), (&before.owned, before.joins), "{}", client.name);
    }
}
