//! Creations that a disk holds up.

use std::path::Path;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use thalweg_log::{Disk, DiskOp, FaultHook, Injected};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::create_topics_request::CreatableTopic;
use thalweg_wire::messages::delete_topics_request::DeleteTopicState;
use thalweg_wire::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use thalweg_wire::messages::{
    CreateTopicsRequest, DeleteTopicsRequest, IncrementalAlterConfigsRequest,
};

use super::*;
use crate::Hooks;
use crate::net::outgoing::Outgoing;
use crate::testing::{Node, soon, until};

const PARTITIONS: i32 = 20;
const WAIT: Duration = Duration::from_secs(60);

/// Holds up the making of one directory until it is released.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    is_reached: bool,
    is_open: bool,
}

impl Gate {
    const DIRECTORY: &str = "many-15";

    fn open(&self) {
        self.state.lock().is_open = true;
        self.changed.notify_all();
    }

    /// Waits until the directory is being made.
    fn wait_until_reached(&self) {
        let mut state = self.state.lock();
        let late = self.changed.wait_while_for(&mut state, |it| !it.is_reached, WAIT);
        assert!(!late.timed_out(), "{} is not made", Gate::DIRECTORY);
    }
}

impl FaultHook for Gate {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        if op == DiskOp::CreateDir && path.ends_with(Gate::DIRECTORY) {
            let mut state = self.state.lock();
            state.is_reached = true;
            self.changed.notify_all();
            self.changed.wait_while_for(&mut state, |it| !it.is_open, WAIT);
        }
        Injected::Nothing
    }
}

fn create(name: &str, partitions: i32) -> CreateTopicsRequest {
    let topic = CreatableTopic {
        name: name.into(),
        num_partitions: partitions,
        replication_factor: 1,
        ..Default::default()
    };
    CreateTopicsRequest { topics: vec![topic], timeout_ms: 60_000, ..Default::default() }
}

/// Creates a topic; gives the code of the answer.
async fn created(client: &mut Outgoing, name: &str, partitions: i32) -> ErrorCode {
    soon("an answer", client.call(&create(name, partitions))).await.unwrap().topics[0].error_code
}

/// A broker, and a topic that is being made there until the gate is opened.
async fn held_up() -> (Arc<Node>, Arc<Gate>, tokio::task::JoinHandle<ErrorCode>) {
    let gate = Arc::new(Gate::default());
    let hooks = Hooks { disk: Disk::with_hook(gate.clone()), ..Hooks::default() };
    let node = Arc::new(Node::start_with(&[], &[""], hooks).await);
    let mut client = node.connect().await;
    let creating = tokio::spawn(async move { created(&mut client, "many", PARTITIONS).await });
    let reached = gate.clone();
    tokio::task::spawn_blocking(move || reached.wait_until_reached()).await.unwrap();
    (node, gate, creating)
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_wait_for_no_logs_of_other_topics() {
    let (node, gate, creating) = held_up().await;
    let mut client = node.connect().await;
    let configs = vec![AlterableConfig {
        name: "retention.ms".into(),
        value: Some("7".into()),
        ..Default::default()
    }];
    let resources = vec![AlterConfigsResource {
        resource_type: 2,
        resource_name: "many".into(),
        configs,
        ..Default::default()
    }];
    let alter = IncrementalAlterConfigsRequest { resources, ..Default::default() };
    let altered = soon("a decision", client.call(&alter)).await.unwrap();
    assert_eq!(altered.responses[0].error_code, ErrorCode::NONE);
    assert!(!creating.is_finished(), "the answer does not wait for the partitions");
    {
        let topics = node.services().replicas.topics();
        let topic = topics.by_name("many").unwrap();
        let hosted = |index| topic.hosted(index).map(|it| it.leader().is_local);
        for index in [0, PARTITIONS - 1] {
            assert_eq!(hosted(index), Err(ErrorCode::NOT_LEADER_OR_FOLLOWER), "{index}");
        }
    }
    gate.open();
    assert_eq!(soon("the topic", creating).await.unwrap(), ErrorCode::NONE);
    for index in 0..PARTITIONS {
        let partition = node.partition("many", index);
        assert!(partition.leader().is_local, "{index}");
        // What was decided meanwhile holds for all of them.
        assert_eq!(partition.log.config().retention_ms, 7, "{index}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_deleted_while_it_is_made_leaves_nothing() {
    let (node, gate, creating) = held_up().await;
    let mut client = node.connect().await;
    let topics = vec![DeleteTopicState { name: Some("many".into()), ..Default::default() }];
    let delete = DeleteTopicsRequest { topics, timeout_ms: 60_000, ..Default::default() };
    let deleting = tokio::spawn(async move {
        let code = soon("an answer", client.call(&delete)).await.unwrap().responses[0].error_code;
        (client, code)
    });
    // The directory that is being made holds up neither the deletion nor its answer.
    let (mut client, code) = soon("the deletion", deleting).await.unwrap();
    assert_eq!(code, ErrorCode::NONE);
    assert_eq!(soon("the topic", creating).await.unwrap(), ErrorCode::NONE);
    // A topic of the same name is another one, and its partition of that name waits for the directory.
    let again = tokio::spawn(async move { created(&mut client, "many", PARTITIONS).await });
    let replicas = &node.services().replicas;
    let made = |index| replicas.topics().by_name("many").is_some_and(|it| it.hosted(index).is_ok());
    until("the other partitions", || made(0) && made(PARTITIONS - 1)).await;
    assert!(!made(15));
    gate.open();
    assert_eq!(soon("the topic", again).await.unwrap(), ErrorCode::NONE);
    let id = replicas.topics().by_name("many").unwrap().id;
    for index in 0..PARTITIONS {
        assert_eq!(node.partition("many", index).log.topic_id(), Some(id), "{index}");
    }
    assert_eq!(replicas.logs().all().len(), PARTITIONS as usize);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_the_opening_of_logs() {
    let (node, gate, creating) = held_up().await;
    gate.open();
    let node = Arc::into_inner(node).unwrap();
    let services = Arc::clone(node.services());
    node.shut_down().await;
    let made = services.replicas.logs().all().len();
    let image = services.node.image().0;
    for group in services.replicas.openings().next(|_, _, _| Place::In(Uuid::ZERO)) {
        services.replicas.open_group(&group, &image);
    }
    assert_eq!(services.replicas.logs().all().len(), made);
    creating.abort();
}
