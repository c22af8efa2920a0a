//! Random lives of an observer beside a quorum.

use thalweg_random::Random;
use thalweg_replication::Epochs;
use thalweg_replication::observer::{Endpoint, Next, Observer, Question, SnapshotId};
use thalweg_wire::messages::VotersRecord;

use super::quorum::{Quorum, Record};
use super::{Disk, RETRY, observer, voter};

const STEPS: usize = 600;
/// Questions within which an observer has to have everything, once everybody answers.
const HEALED_STEPS: usize = 400;

/// Who refused what was asked last, without a pause since.
type Refused = Option<Endpoint>;

/// One question. Whether the observer can go on.
#[allow(clippy::too_many_arguments)]
fn ask(
    observer: &mut Observer,
    refused: &mut Refused,
    disk: &mut Disk,
    quorum: &Quorum,
    now: &mut u64,
    random: &mut Random,
    loss: usize,
    history: &mut Vec<String>,
) -> bool {
    let (to, question) = match observer.next(*now, disk) {
        Next::Wait(until) => {
            assert!(until > *now && until <= *now + RETRY.backoff_max_ms);
            *now = until;
            *refused = None;
            return true;
        }
        Next::Ask(to, question) => (to, question),
    };
    assert_ne!(refused.as_ref(), Some(&to), "who has refused is asked again at once");
    *refused = None;
    *now += 1 + random.below(5) as u64;
    if random.chance(loss) {
        history.push(format!("{now}: {to} is not heard"));
        observer.failed(*now);
        *refused = Some(to);
        return true;
    }
    let done = match &question {
        Question::Fetch(request) => match quorum.fetch(&to, request, random) {
            None => {
                observer.failed(*now);
                *refused = Some(to);
                return true;
            }
            Some(response) => {
                let asked = &request.topics[0].partitions[0];
                let (from, epoch) = (asked.fetch_offset, asked.current_leader_epoch);
                let told = &response.responses[0].partitions[0];
                let leader = &told.current_leader;
                let (leads, of) = (leader.leader_id, leader.leader_epoch);
                let (diverging, snapshot) = (&told.diverging_epoch, &told.snapshot_id);
                history.push(format!(
                    "{now}: {to} from {from} in {epoch}: {}, {leads} leads {of}, up to {}, diverging {} {}, \
                     snapshot {}",
                    told.error_code, told.high_watermark, diverging.epoch, diverging.end_offset,
                    snapshot.end_offset
                ));
                *refused = told.error_code.is_err().then_some(to);
                observer.fetched(response, *now, disk)
            }
        },
        Question::FetchSnapshot(request) => match quorum.fetch_snapshot(&to, request, random) {
            None => {
                observer.failed(*now);
                *refused = Some(to);
                return true;
            }
            Some(response) => {
                *refused = response.error_code.is_err().then(|| to.clone());
                history.push(format!("{now}: {to} a piece of a snapshot: {}", response.error_code));
                observer.snapshot_fetched(response, *now)
            }
        },
    };
    match done {
        Ok(step) => {
            disk.carry_out(step);
            disk.epoch = disk.epoch.max(observer.quorum().epoch());
        }
        Err(error) => {
            history.push(format!("{now}: {error}"));
            assert!(!error.is_fatal() || quorum.has_forgotten, "{error}");
            return !error.is_fatal();
        }
    }
    let known = observer.quorum();
    if let Some(leader) = known.leader() {
        let elected = quorum.elected.get(&known.epoch());
        assert_eq!(elected, Some(&leader.id), "it does not lead epoch {}", known.epoch());
    }
    true
}

/// The log names the voters, once there is something in it.
fn tell_voters(observer: &mut Observer, disk: &Disk, ids: &[i32]) {
    if disk.log_end() > 0 {
        let voters = ids.iter().map(|id| voter(*id, "CONTROLLER")).collect();
        let record = VotersRecord { voters, ..VotersRecord::default() };
        observer.quorum_mut().voters(&record, "CONTROLLER");
    }
}

/// What was committed, and the snapshot that the log began with then.
#[derive(Default)]
struct Before {
    committed: Vec<Record>,
    base: Option<SnapshotId>,
}

impl Before {
    fn of(disk: &Disk) -> Before {
        Before { committed: disk.committed(), base: disk.log.base }
    }
}

/// What is committed here is committed there, and more every time.
fn check(disk: &Disk, quorum: &Quorum, before: &mut Before) {
    let now = disk.committed();
    // A snapshot of a quorum that has lost everything may end where this log is committed, or behind: nobody can tell.
    let is_another = quorum.has_forgotten && disk.log.base != before.base;
    assert!(is_another || now.starts_with(&before.committed), "what was committed is not any more");
    let is_committed = quorum.has_forgotten || quorum.committed.starts_with(&now);
    assert!(is_committed, "the quorum has not committed this");
    *before = Before::of(disk);
}

pub fn live(seed: u64, history: &mut Vec<String>) {
    let random = &mut Random::new(seed);
    let count = *random.pick(&[1, 3, 3, 5]);
    let names_endpoints = random.chance(70);
    let mut quorum = Quorum::new(count, names_endpoints);
    let ids: Vec<i32> = quorum.controllers.keys().copied().collect();
    // Endpoints come from answers, from the configuration, or from the log.
    let bootstrap = if random.chance(50) { ids.clone() } else { vec![*random.pick(&ids)] };
    let has_all = bootstrap.len() == ids.len();
    let of_log = !has_all && random.chance(50);
    let voters = if of_log || names_endpoints && has_all { &[][..] } else { &ids[..] };
    quorum.names_endpoints |= of_log;
    quorum.ignores_epochs = random.chance(30);
    let forgets = random.chance(10);
    let mut disk = Disk::default();
    let mut observed = observer(&bootstrap, voters, 0);
    let (mut now, mut before, mut epoch) = (0, Before::default(), 0);
    let mut refused = None;
    for step in 0..STEPS {
        if of_log {
            tell_voters(&mut observed, &disk, &ids);
        }
        if forgets && step == STEPS / 2 {
            history.push(format!("{now}: the quorum loses what it has committed"));
            quorum.forget(random);
        }
        match random.below(20) {
            0 => quorum.elect(random),
            1..=4 => quorum.write(random),
            5..=8 => quorum.replicate(random),
            9 => quorum.snapshot(random),
            10 if random.chance(30) => {
                let id = *random.pick(&ids);
                let controller = quorum.controllers.get_mut(&id).unwrap();
                controller.is_down = !controller.is_down;
                if controller.leader == Some(id) {
                    // It comes back as a follower.
                    controller.leader = None;
                }
            }
            11 if random.chance(30) => {
                history.push(format!("{now}: the observer starts again"));
                // What was not flushed may be gone; how far it is committed is not written down.
                if random.chance(50) {
                    let end = disk.log.start() + random.below(disk.log.records.len() + 1) as i64;
                    disk.log.truncate(end);
                }
                disk.high_watermark = disk.log.base.map(|base| base.end_offset);
                let epoch_known = if random.chance(50) { disk.epoch } else { 0 };
                let last = disk.latest_epoch().unwrap_or(0);
                observed = observer(&bootstrap, voters, epoch_known.max(last));
                refused = None;
                (before, epoch) = (Before::of(&disk), 0);
            }
            12 if random.chance(15) => quorum.resign(),
            _ => {
                let goes_on = ask(
                    &mut observed,
                    &mut refused,
                    &mut disk,
                    &quorum,
                    &mut now,
                    random,
                    15,
                    history,
                );
                if !goes_on {
                    return;
                }
                check(&disk, &quorum, &mut before);
                assert!(observed.quorum().epoch() >= epoch, "the epoch goes back");
                epoch = observed.quorum().epoch();
            }
        }
    }

    if forgets {
        return;
    }
    history.push("everything works again".into());
    quorum.controllers.values_mut().for_each(|controller| controller.is_down = false);
    let is_known = |id: &i32| bootstrap.contains(id) || !voters.is_empty();
    let can_ask = |down: i32| ids.iter().any(|id| *id != down && is_known(id));
    let may_be_down = if random.chance(50) { &bootstrap } else { &ids };
    let down = *random.pick(may_be_down);
    if ids.len() > 1 && (can_ask(down) || of_log && disk.log_end() > 0) {
        history.push(format!("but for {down}"));
        let controller = quorum.controllers.get_mut(&down).unwrap();
        controller.is_down = true;
        if controller.leader == Some(down) {
            controller.leader = None;
        }
    }
    for _ in 0..100 {
        if quorum.leader().is_some_and(|id| {
            let epochs = quorum.controllers.values().map(|it| it.epoch);
            Some(quorum.controllers[&id].epoch) == epochs.max()
        }) {
            break;
        }
        quorum.elect(random);
    }
    for _ in 0..50 {
        quorum.replicate(random);
    }
    let leader = quorum.leader().expect("one is elected");
    assert_eq!(quorum.controllers[&leader].high_watermark, Some(quorum.committed.len() as i64));
    let is_complete = |disk: &Disk| disk.committed() == quorum.committed;
    for _ in 0..HEALED_STEPS {
        if of_log {
            tell_voters(&mut observed, &disk, &ids);
        }
        ask(&mut observed, &mut refused, &mut disk, &quorum, &mut now, random, 0, history);
        check(&disk, &quorum, &mut before);
    }
    assert!(
        is_complete(&disk),
        "it does not have everything: {} of {}",
        before.committed.len(),
        quorum.committed.len()
    );
}
