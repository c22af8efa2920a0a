//! A broker that was killed: what it says of that at its next start.

use std::io::Read;

use rustix::process::{Pid, Signal, kill_process};
use thalweg::{Connection, Options};

use super::{Broker, Data, create, produce};
use crate::limited::Limited;

const PARTITIONS: i32 = 8;
const SETTINGS: [&str; 4] = ["--set", "log.preallocate=true", "--set", "log.segment.bytes=1048576"];

#[tokio::test]
async fn what_a_kill_always_leaves_is_one_line_and_no_warning() {
    let data = Data::new("killed");
    {
        let broker =
            Broker::start(&data.0, 4_096, &[&["--log-level", "error"], &SETTINGS[..]].concat());
        let client = Connection::open(&broker.address, &Options::default()).await.unwrap();
        let topic = create(&client, "young", PARTITIONS, ("retention.ms", "-1")).await;
        assert_eq!(produce(&client, topic, PARTITIONS, 100).await, [0; 8]);
        // It is killed when it is dropped.
    }
    let mut broker = Broker::start(&data.0, 4_096, &SETTINGS);
    let limited = Limited::new(&broker.child);
    kill_process(Pid::from_child(&broker.child), Signal::TERM).unwrap();
    let mut stderr = String::new();
    broker.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(broker.child.wait().unwrap().success(), "{stderr}");
    drop(limited);
    let (summary, others): (Vec<&str>, Vec<&str>) =
        stderr.lines().partition(|line| line.contains("the last stop was not clean"));
    assert_eq!(summary.len(), 1, "{stderr}");
    assert!(summary[0].contains("INFO") && summary[0].contains("partitions=8"), "{summary:?}");
    assert!(summary[0].contains("epochs_collected=8"), "{summary:?}");
    assert!(!summary[0].contains("zeros_cut_off=0"), "{summary:?}");
    let dir = data.0.to_str().unwrap();
    assert!(!others.iter().any(|line| line.contains("WARN") && line.contains(dir)), "{stderr}");
}
