//! The signals that end a broker.

use std::process::{Child, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};

use super::{Broker, Data};
use crate::limited::Limited;

/// Whether the directory has the marker of a clean stop.
fn is_clean(data: &Data) -> bool {
    data.0.join(".kafka_cleanshutdown").exists()
}

fn end(child: &mut Child, signal: Signal) -> ExitStatus {
    let _limited = Limited::new(child);
    kill_process(Pid::from_child(child), signal).unwrap();
    child.wait().unwrap()
}

#[test]
fn each_stop_signal_stops_the_broker_cleanly() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let data = Data::new("signals");
        // The test itself may have been started by nohup.
        let defaults = ["env", "--default-signal=HUP"];
        let mut broker = Broker::start_by(&defaults, &data.0, 4_096, &[]);
        // The terminal that a SIGHUP tells of takes no lines any more.
        drop(broker.child.stderr.take());
        let status = end(&mut broker.child, signal);
        assert!(status.success() && is_clean(&data), "{signal:?}: {status}");
    }
}

#[test]
fn a_broker_started_by_nohup_outlives_its_terminal() {
    let data = Data::new("nohup");
    let mut broker = Broker::start_by(&["env", "--ignore-signal=HUP"], &data.0, 4_096, &[]);
    kill_process(Pid::from_child(&broker.child), Signal::HUP).unwrap();
    // A signal that is not ignored is delivered before the process serves a request.
    broker.metric("kafka_server_socketservermetrics_connection_count");
    assert!(broker.child.try_wait().unwrap().is_none());
    let status = end(&mut broker.child, Signal::TERM);
    assert!(status.success() && is_clean(&data), "{status}");
}
