//! The Java virtual machine in which the oracles of the tests run (`java/OracleServer.java`): its start
//! and its end. xtask starts one for a whole run of the tests and puts its address into their
//! environment; a test that finds none there starts its own (`oracle.rs`). Both include this file.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Names the directory with Kafka's jars.
pub const JARS: &str = "THALWEG_KAFKA_JARS";
/// Where the virtual machine listens that was started for all tests.
pub const ORACLE: &str = "THALWEG_ORACLE";

const SOURCE: &str = include_str!("../java/OracleServer.java");
/// How long a start may take, on a machine that has other things to do.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running virtual machine. It ends with its standard input, so also when the process that started it
/// dies; and it is killed when this is dropped.
#[derive(Debug)]
pub struct Jvm {
    /// Where it listens.
    pub address: String,
    child: Child,
    scratch: PathBuf,
}

impl Jvm {
    /// Starts one and waits until it listens. `scratch` is a directory for what it compiles and says;
    /// it is made anew, and removed when the virtual machine is dropped.
    ///
    /// # Errors
    /// If it does not start, with what it said.
    pub fn start(jars: &Path, scratch: &Path) -> Result<Jvm, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", scratch.display());
        let _ = fs::remove_dir_all(scratch);
        let classes = scratch.join("classes");
        fs::create_dir_all(&classes).map_err(failed)?;
        let source = scratch.join("OracleServer.java");
        fs::write(&source, SOURCE).map_err(failed)?;
        let log = scratch.join("oracle.log");
        let errors = File::create(&log).map_err(failed)?;
        let class_path = format!("{}:{}", classes.display(), jars.join("*").display());
        let mut command = Command::new("java");
        // Most of what runs in it is short: code that is compiled with little effort.
        command.args(["-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", &class_path]);
        command.arg(&source).arg(scratch).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let child = command.spawn().map_err(|error| format!("java cannot be started: {error}"))?;
        let mut jvm = Jvm { address: String::new(), child, scratch: scratch.to_owned() };
        let output = jvm.child.stdout.take().ok_or("no output of java")?;
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(output).read_line(&mut line);
            // Nobody hears it who has given up waiting.
            let _ = tell.send(read.ok().and_then(|_| line.trim().parse::<u16>().ok()));
        });
        match told.recv_timeout(START_TIMEOUT) {
            Ok(Some(port)) => jvm.address = format!("127.0.0.1:{port}"),
            Ok(None) => {
                let said = fs::read_to_string(&log).unwrap_or_default();
                return Err(format!("the oracles' Java virtual machine does not start: {said}"));
            }
            Err(_) => return Err("the oracles' Java virtual machine does not listen".into()),
        }
        Ok(jvm)
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        let said = fs::read_to_string(self.scratch.join("oracle.log")).unwrap_or_default();
        Some(format!("it ended with {status}: {said}"))
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.scratch);
    }
}
