//! `thalweg bench group` against the broker in this process: a short form of every scenario, and
//! what is said where a run cannot be.

use crate::limited;

use std::process::{Command, Output};

use serde_json::Value;
use thalweg::{Admin, AdminConfig, Cluster, Options};
use thalweg_testkit::TestBroker;

const THALWEG: &str = env!("CARGO_BIN_EXE_thalweg");

/// Members that are quick, so that a run takes a few seconds.
const QUICK: [&str; 10] = [
    "--members",
    "6",
    "--partitions",
    "12",
    "--heartbeat-ms",
    "100",
    "--session-ms",
    "1000",
    "--settle-seconds",
    "0.5",
];

async fn start() -> TestBroker {
    TestBroker::builder().config("group.min.session.timeout.ms", 500).start().await
}

fn bench(broker: &TestBroker, options: &[&str]) -> Output {
    let mut command = Command::new(THALWEG);
    command.args(["bench", "group", "--bootstrap-server", &broker.bootstrap()]);
    limited::output(command.args(options))
}

/// Runs it to a good end; returns its report.
#[track_caller]
fn report(broker: &TestBroker, options: &[&str]) -> Value {
    let output = bench(broker, &[&QUICK, options, &["--json"]].concat());
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["double_ownership"], 0, "{report}");
    assert_eq!(report["errors"], 0, "{report}");
    assert_eq!(report["heartbeat_ms"], 100.0, "{report}");
    // The broker is this process, which is found by its port.
    assert_eq!(report["broker_pid"], std::process::id(), "{report}");
    assert!(report["formed"]["rss_after"].as_u64() > Some(0), "{report}");
    let heartbeats = report["settled"]["cost"]["heartbeats"].as_u64().unwrap();
    assert!((15..=60).contains(&heartbeats), "6 members, half a second: {report}");
    report
}

#[track_caller]
fn events<'a>(report: &'a Value, names: &[&str]) -> &'a [Value] {
    let events = report["events"].as_array().unwrap();
    let got: Vec<&str> = events.iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(got, names, "{report}");
    assert!(events.iter().all(|event| event["is_stable"] == true), "{report}");
    events
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newcomer_pauses_who_is_eager_and_nobody_who_is_cooperative() {
    let broker = TestBroker::builder()
        .config("group.min.session.timeout.ms", 500)
        .config("thalweg.group.classic.rebalance.mode", "barrier")
        .start()
        .await;
    let options = ["--rounds", "2", "--assignor", "range"];
    let eager = report(&broker, &options);
    for event in events(&eager, &["join 1", "join 2"]) {
        assert_eq!((&event["members"], &event["paused"]), (&7.into(), &6.into()), "{event}");
        assert!(event["moves"].as_u64() >= event["least_moves"].as_u64(), "{event}");
        assert_eq!(event["least_moves"], 1, "12 over 6, one of them gives one: {event}");
        assert!(event["slowest_pause_ms"].as_f64() > Some(0.0), "{event}");
    }
    let options = ["--rounds", "1", "--assignor", "cooperative-sticky", "--auto-commit-ms", "200"];
    let cooperative = report(&broker, &options);
    let event = &events(&cooperative, &["join 1"])[0];
    assert_eq!((&event["paused"], &event["moves"]), (&0.into(), &1.into()), "{event}");
    assert_eq!(event["kept"], 5, "{event}");
    assert!(cooperative["settled"]["cost"]["commits"].as_u64() > Some(5), "{cooperative}");
    // Nothing is left behind.
    let cluster = Cluster::connect(&broker.bootstrap(), Options::default()).await.unwrap();
    let (metadata, _) = cluster.refresh(&["bench-group"]).await.unwrap();
    assert!(!metadata.topics.contains_key("bench-group"));
    let admin = Admin::new(cluster, AdminConfig::default());
    let group = eager["group"].as_str().unwrap();
    for (_, deleted) in admin.delete_groups([group]).await {
        assert!(deleted.unwrap_err().to_string().contains("GROUP_ID_NOT_FOUND"));
    }
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_that_go_leave_their_partitions_for_as_long_as_it_takes_to_see() {
    let broker = start().await;
    let left = report(&broker, &["--scenario", "leave", "--rounds", "1", "--assignor", "sticky"]);
    let event = &events(&left, &["leave 1"])[0];
    assert_eq!((&event["members"], &event["moves"]), (&5.into(), &2.into()), "{event}");
    assert_eq!(event["least_moves"], 2, "{event}");
    let crashed =
        report(&broker, &["--scenario", "crash", "--rounds", "1", "--assignor", "roundrobin"]);
    let event = &events(&crashed, &["crash 1"])[0];
    // Its session lasts 1000 ms from its last heartbeat, up to 100 ms earlier.
    assert!(event["unowned_ms"]["max"].as_f64() > Some(850.0), "{event}");
    assert!(event["unavailable_after_stop"].as_f64() > Some(0.0), "{event}");
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_grows_from_nothing_and_from_some_members() {
    let broker = TestBroker::builder()
        .config("group.min.session.timeout.ms", 500)
        .config("group.initial.rebalance.delay.ms", 500)
        .start()
        .await;
    let options = ["--scenario", "grow", "--rounds", "2", "--over-ms", "100"];
    let output = bench(&broker, &[&QUICK, &options[..], &["--json"]].concat());
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let grown: Value = serde_json::from_slice(&output.stdout).unwrap();
    for event in events(&grown, &["grow 1", "grow 2"]) {
        assert_eq!((&event["members"], &event["least_moves"]), (&6.into(), &0.into()), "{event}");
        assert_eq!((&event["moves"], &event["rejoins"]), (&0.into(), &0.into()), "{event}");
    }
    // All join within the first round's delay, and are in one round.
    assert_eq!(
        (&grown["rejoins_per_member"], &grown["heartbeat_ms"]),
        (&0.0.into(), &100.0.into())
    );
    assert_eq!((&grown["errors"], &grown["double_ownership"]), (&0.into(), &0.into()), "{grown}");

    let grown = report(&broker, &[&options[..], &["--grow-from", "4"]].concat());
    for event in events(&grown, &["grow 1", "grow 2"]) {
        assert_eq!((&event["members"], &event["least_moves"]), (&6.into(), &4.into()), "{event}");
        assert!(event["moves"].as_u64() >= Some(4), "{event}");
    }
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn static_members_are_rolled_without_a_move_and_a_storm_ends() {
    let broker = start().await;
    let options = ["--scenario", "roll", "--static", "--rounds", "2", "--down-ms", "200"];
    let rolled = report(&broker, &options);
    for event in events(&rolled, &["roll 1", "roll 2"]) {
        assert_eq!((&event["moves"], &event["rejoins"]), (&0.into(), &0.into()), "{event}");
        assert!(event["stable_after_ms"].as_f64() >= Some(200.0), "{event}");
    }
    let storm = report(
        &broker,
        &[
            "--scenario",
            "storm",
            "--duration",
            "1",
            "--storm-every-ms",
            "500",
            "--storm-percent",
            "20",
        ],
    );
    events(&storm, &["tick 1", "tick 2", "after it"]);
    assert_eq!(storm["summary"]["killed"], 4, "20 % of 6 is 2 at each tick: {storm}");
    assert!(storm["summary"]["unavailable_after_stop"].as_f64() > Some(0.0), "{storm}");
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_cannot_be_says_what_to_do() {
    let broker = TestBroker::builder()
        .config("group.coordinator.rebalance.protocols", "classic")
        .config("group.max.size", 3)
        .start()
        .await;
    let failed = |options: &[&str], code, says: &str| {
        let output = bench(&broker, options);
        assert_eq!(output.status.code(), Some(code), "{options:?}: {output:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(says), "{options:?}: {error}");
    };
    failed(&["--session-ms", "5000"], 1, "group.min.session.timeout.ms");
    failed(&["--members", "4"], 1, "group.max.size");
    failed(&["--heartbeat-ms", "9000", "--session-ms", "9000"], 2, "--heartbeat-ms");
    failed(&["--scenario", "join", "--duration", "5"], 2, "--duration");
    failed(&["--assignor", "uniform"], 2, "cooperative-sticky");
    failed(&["--broker-pid", "4294967295"], 2, "no such process");
    failed(&["--topic-config", "nonsense"], 2, "name=value");
    failed(&["--topic-config", "no.such=1"], 1, "bench-group");
    let mut nobody = Command::new(THALWEG);
    let nobody = limited::output(nobody.args(["bench", "group", "--bootstrap", "127.0.0.1:1"]));
    assert_eq!(nobody.status.code(), Some(1), "{nobody:?}");
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("127.0.0.1:1"), "{nobody:?}");
    // Whether the broker does not offer it or refuses it.
    failed(&["--protocol", "consumer"], 1, "--protocol classic");
    // A topic that was there is not touched, and one with other partitions refused.
    let kept = bench(&broker, &["--members", "2", "--partitions", "2", "--rounds", "1", "--keep"]);
    assert!(kept.status.success(), "{kept:?}");
    failed(&["--members", "2", "--partitions", "3"], 1, "has 2 partitions");
    broker.shut_down().await;
}
