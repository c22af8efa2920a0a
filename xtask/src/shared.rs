//! What the tests of one run share, so that not each starts its own: the Java virtual machine of the
//! oracles, and a node of Apache Kafka. Their addresses are variables in the tests' environment.
//!
//! Both end with this process, whatever ends it: they watch a pipe that only this process holds.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::conformance::{answers, free_address, kill_group, prepare_kafka};
use crate::jvm::{self, Jvm};
use crate::setup::{self, Tools};

/// Names the address of the shared node.
const KAFKA: &str = "THALWEG_KAFKA";
/// What it is told beside what every node is.
const SETTINGS: &str = include_str!("../../crates/testkit/src/shared.properties");
/// How long its start may take, on a machine that has other things to do.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// Both, running.
pub struct Shared {
    jvm: Jvm,
    kafka: Node,
}

impl Shared {
    /// Starts both at once, and waits until they answer.
    pub fn start(tools: &Tools) -> Result<Shared, String> {
        let scratch = tools.root.join("target/shared");
        setup::remove(&scratch)?;
        fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
        let (jvm, kafka) = std::thread::scope(|scope| {
            let jvm = scope.spawn(|| Jvm::start(&tools.jars, &scratch.join("oracle")));
            let kafka = Node::start(tools, &scratch);
            (jvm.join(), kafka)
        });
        let jvm = jvm.map_err(|_| "the start of the oracles' virtual machine panicked")??;
        Ok(Shared { jvm, kafka: kafka? })
    }

    /// What tests find them by.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        [(jvm::ORACLE, self.jvm.address.clone()), (KAFKA, self.kafka.address.to_string())]
    }

    /// Which of them has ended by itself.
    pub fn ended(&mut self) -> Option<String> {
        let jvm = self.jvm.ended().map(|why| format!("the oracles' virtual machine: {why}"));
        jvm.or_else(|| self.kafka.ended().map(|why| format!("the shared Kafka: {why}")))
    }
}

/// A node of Apache Kafka.
struct Node {
    address: SocketAddr,
    process: Guarded,
    log: PathBuf,
}

impl Node {
    fn start(tools: &Tools, scratch: &Path) -> Result<Node, String> {
        let address = free_address();
        let mut settings = vec![("node.id", "1")];
        settings.extend(SETTINGS.lines().filter_map(|line| line.split_once('=')));
        let command = prepare_kafka(tools, address, &scratch.join("kafka"), &settings)?;
        let log = scratch.join("kafka.log");
        let process = Guarded::start(&command, &log)?;
        let mut node = Node { address, process, log };
        let deadline = Instant::now() + START_TIMEOUT;
        while !answers(address) {
            if let Some(why) = node.ended() {
                return Err(format!("the shared Kafka: {why}"));
            }
            if Instant::now() > deadline {
                return Err(format!(
                    "the shared Kafka does not answer; see {}",
                    node.log.display()
                ));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(node)
    }

    fn ended(&mut self) -> Option<String> {
        let status = self.process.shell.try_wait().ok()??;
        Some(format!("it ended with {status}; see {}", self.log.display()))
    }
}

/// A process that ends with this one: a shell is its parent, which kills both when the pipe that is its
/// standard input ends, and that pipe ends with us. When it is dropped both are killed as well.
struct Guarded {
    shell: Child,
}

impl Guarded {
    /// Runs a command whose output goes to a file.
    fn start(command: &Command, log: &Path) -> Result<Guarded, String> {
        const SCRIPT: &str = "exec 3<&0; \"$@\" 3<&- </dev/null & child=$!; \
                              { cat <&3 >/dev/null; kill -KILL 0; } & exec 3<&-; wait $child";
        let output = File::create(log).map_err(|e| format!("{}: {e}", log.display()))?;
        let errors = output.try_clone().map_err(|e| e.to_string())?;
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "sh"]).arg(command.get_program()).args(command.get_args());
        // A group of its own: what is killed is all of it, and an interrupt from the keyboard reaches us first.
        shell.process_group(0).stdin(Stdio::piped()).stdout(output).stderr(errors);
        let shell = shell.spawn().map_err(|e| format!("sh cannot be started: {e}"))?;
        Ok(Guarded { shell })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        kill_group(self.shell.id());
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    /// Whether a process is there, and no zombie.
    fn lives(id: &str) -> bool {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    }

    fn until(what: &str, check: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !check() {
            assert!(Instant::now() < deadline, "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// A process that sleeps under guard, with its id.
    fn sleeper(name: &str) -> (Guarded, String, PathBuf) {
        let log = std::env::temp_dir().join(format!("guarded-{name}-{}", std::process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$; exec sleep 600"]);
        let guarded = Guarded::start(&command, &log).unwrap();
        let read = || fs::read_to_string(&log).unwrap();
        until("its id", || read().ends_with('\n'));
        let id = read().trim().to_owned();
        assert!(lives(&id));
        (guarded, id, log)
    }

    #[test]
    fn what_is_guarded_ends_with_the_pipe_and_when_it_is_dropped() {
        let (mut guarded, id, log) = sleeper("pipe");
        // As when this process ends without another word.
        drop(guarded.shell.stdin.take());
        until("the end of the pipe is not heard", || !lives(&id));
        drop(guarded);
        fs::remove_file(log).unwrap();

        let (guarded, id, log) = sleeper("drop");
        drop(guarded);
        until("it lives on", || !lives(&id));
        fs::remove_file(log).unwrap();
    }

    #[test]
    fn the_end_of_what_is_guarded_is_seen() {
        let log = std::env::temp_dir().join(format!("guarded-ends-{}", std::process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", "exit 7"]);
        let process = Guarded::start(&command, &log).unwrap();
        let mut node = Node { address: free_address(), process, log };
        let deadline = Instant::now() + Duration::from_secs(30);
        let why = loop {
            assert!(Instant::now() < deadline, "its end is not seen");
            if let Some(why) = node.ended() {
                break why;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(why.contains("exit status: 7"), "{why}");
        fs::remove_file(&node.log).unwrap();
    }

    #[test]
    fn only_a_broker_that_knows_itself_answers() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // A broker that is still fenced knows no broker.
        let told = std::thread::spawn(move || {
            for brokers in [0, 1] {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0; 18]).unwrap();
                stream.write_all(&[0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, brokers]).unwrap();
            }
        });
        assert!(!answers(address));
        assert!(answers(address));
        told.join().unwrap();
        assert!(!answers(address), "nobody listens any more");
    }
}
