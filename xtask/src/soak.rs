//! A long run of one broker over one directory: every codec is written and read back, with pauses
//! for nobody; it is stopped now kindly, now by `kill -9`, and started again. What must hold: every
//! record that was acknowledged comes back as it was sent, before and after a restart, nothing
//! panics, and memory, descriptors and threads creep neither within one process nor from one to
//! the next. (The short form ends before anything could creep and does not look at that.)

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::limited::Limited;
use crate::ports;

/// Compression, ratio and size of the records of each load.
const LOADS: [(&str, &str, &str); 6] = [
    ("none", "1", "1024"),
    ("lz4", "4", "1024"),
    ("zstd", "6", "300"),
    ("snappy", "4", "1024"),
    ("gzip", "6", "1024"),
    ("none", "1", "100"),
];
/// Seconds that one load writes for; in the short form, which only has to see that it works.
const LOAD_SECONDS: u32 = 8;
const SHORT_LOAD_SECONDS: u32 = 3;
/// Records per second of one load.
const RATE: u32 = 20_000;
/// How long the broker may take to start, to stop and to answer, with all that was ever written.
const BROKER_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a load may take that reads all of that.
const LOAD_TIMEOUT: Duration = Duration::from_secs(600);
/// Times that one process writes all loads; once in the short form.
const PASSES: usize = 4;
/// Rounds after which the broker is taken to be warm.
const WARM_ROUNDS: usize = 3;
/// What memory may grow by after that: half of what it was and this much.
const GROWTH_MIB: u64 = 48;
/// What descriptors and threads may grow by.
const GROWTH_COUNT: u64 = 32;

/// What a running broker holds.
#[derive(Clone, Copy, Debug)]
struct Sample {
    rss_mib: u64,
    descriptors: u64,
    threads: u64,
}

struct Broker {
    child: Child,
    load_seconds: u32,
    bootstrap: String,
    metrics: String,
}

/// Runs for `minutes`, and at least until each way to stop was taken.
pub fn run(root: &Path, binary: &Path, minutes: u64) -> Result<(), String> {
    let scratch = root.join("target/soak");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    }
    fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let load_seconds = if minutes == 0 { SHORT_LOAD_SECONDS } else { LOAD_SECONDS };
    let passes = if minutes == 0 { 1 } else { PASSES };
    let mut samples = Vec::new();
    let mut written = [0; LOADS.len()];
    let mut records = 0;
    let mut round = 0;
    while round < 2 || Instant::now() < end {
        let kill = round % 2 == 0;
        let mut broker = Broker::start(binary, &scratch, load_seconds)?;
        // What the last round wrote is still there, whichever way it ended.
        if round > 0 {
            for (at, written) in written.iter_mut().enumerate() {
                let read = broker.read(binary, at, &["--delete-after"])?;
                if read != *written {
                    let way = if kill { "a clean stop" } else { "a kill" };
                    return Err(format!("soak-{at}: {written} records before {way}, {read} after"));
                }
                *written = 0;
            }
        }
        let mut sample = None;
        for _ in 0..passes {
            for (at, written) in written.iter_mut().enumerate() {
                records += broker.write_and_follow(binary, at, written)?;
            }
            let now = broker.sample()?;
            within(sample.get_or_insert(now), &now)
                .map_err(|grown| format!("within round {round}: {grown}"))?;
        }
        let sample = broker.sample()?;
        let panics = broker.metric("thalweg_panics_total")?;
        if panics != 0 {
            return Err(format!("{panics} requests panicked; see {}", scratch.display()));
        }
        broker.stop(kill)?;
        println!("soak: round {round}: {records} records so far, {sample:?}, killed: {kill}");
        samples.push(sample);
        round += 1;
    }
    complaints(&scratch)?;
    creep(&samples)?;
    fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))
}

/// Each round is a new process on an older directory: what it holds must not depend on that.
fn creep(samples: &[Sample]) -> Result<(), String> {
    let warm = samples.iter().take(WARM_ROUNDS).copied().reduce(|a, b| Sample {
        rss_mib: a.rss_mib.max(b.rss_mib),
        descriptors: a.descriptors.max(b.descriptors),
        threads: a.threads.max(b.threads),
    });
    let Some(warm) = warm else { return Ok(()) };
    for (round, sample) in samples.iter().enumerate().skip(WARM_ROUNDS) {
        within(&warm, sample).map_err(|grown| format!("round {round}: {grown}"))?;
    }
    Ok(())
}

/// Whether a broker holds no more than it may after it held `warm`.
fn within(warm: &Sample, now: &Sample) -> Result<(), String> {
    let grown = now.rss_mib > warm.rss_mib + warm.rss_mib / 2 + GROWTH_MIB
        || now.descriptors > warm.descriptors + GROWTH_COUNT
        || now.threads > warm.threads + GROWTH_COUNT;
    if grown { Err(format!("{now:?}, and warm {warm:?}")) } else { Ok(()) }
}

/// Errors in the broker's log are failures of the run.
fn complaints(scratch: &Path) -> Result<(), String> {
    let path = scratch.join("broker.log");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    match text.lines().find(|line| line.contains("ERROR") || line.contains("panicked")) {
        Some(line) => Err(format!("{}: {line}", path.display())),
        None => Ok(()),
    }
}

impl Broker {
    fn start(binary: &Path, scratch: &Path, load_seconds: u32) -> Result<Broker, String> {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(scratch.join("broker.log"))
            .map_err(|e| e.to_string())?;
        let metrics = format!("127.0.0.1:{}", ports::free());
        let mut child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--metrics", &metrics, "--data"])
            .arg(scratch.join("data"))
            .args([
                "--set",
                "log.segment.delete.delay.ms=1000",
                "--set",
                "log.segment.bytes=16777216",
            ])
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|e| format!("{}: {e}", binary.display()))?;
        let out = child.stdout.take().ok_or("no output")?;
        let _limited = Limited::new(&child, BROKER_TIMEOUT);
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).map_err(|e| e.to_string())?;
        let bootstrap = line
            .split_whitespace()
            .find_map(|word| {
                word.rsplit_once("://")
                    .map_or(Some(word), |(_, address)| Some(address))
                    .filter(|w| w.starts_with("127.0.0.1:"))
            })
            .map(|word| word.trim_end_matches(',').to_owned());
        let broker =
            Broker { child, load_seconds, bootstrap: bootstrap.unwrap_or_default(), metrics };
        if !line.starts_with("ready") || broker.bootstrap.is_empty() {
            return Err(format!("the broker did not start: {line:?}; see broker.log"));
        }
        Ok(broker)
    }

    fn bench(&self, binary: &Path, kind: &str, at: usize) -> Command {
        let mut command = Command::new(binary);
        let topic = format!("soak-{at}");
        command
            .args(["bench", kind, "--bootstrap-server", &self.bootstrap, "--topic", &topic])
            .args(["--partitions", "12", "--connections", "3", "--json", "--quiet"]);
        command
    }

    /// Writes one load while a reader follows it, and reads the topic, to which `before` records
    /// were written already; gives the records written.
    fn write_and_follow(&self, binary: &Path, at: usize, before: &mut u64) -> Result<u64, String> {
        let (codec, ratio, size) = LOADS[at];
        let mut produce = self.bench(binary, "produce", at);
        produce.args(["--compression", codec, "--record-size", size, "--acks", "all"]).args([
            "--rate",
            &RATE.to_string(),
            "--seconds",
            &self.load_seconds.to_string(),
        ]);
        if codec != "none" {
            produce.args(["--compress-ratio", ratio]);
        }
        let writer = produce.stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
        // The topic is there as soon as the writer has begun.
        std::thread::sleep(Duration::from_secs(1));
        let mut follow = self.bench(binary, "fetch", at);
        follow
            .args(["--record-size", size, "--from", "latest", "--verify", "records"])
            .args(["--seconds", &(self.load_seconds - 1).to_string()]);
        let followed = report(follow.stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?);
        let written = report(writer)?;
        if followed? == 0 {
            return Err(format!("nobody saw what was written to soak-{at}"));
        }
        *before += written;
        let read = self.read(binary, at, &[])?;
        if read != *before {
            return Err(format!("soak-{at}: {before} records acknowledged, {read} read"));
        }
        Ok(written)
    }

    /// Reads a topic from the beginning to its end, every record verified.
    fn read(&self, binary: &Path, at: usize, more: &[&str]) -> Result<u64, String> {
        let mut fetch = self.bench(binary, "fetch", at);
        fetch.args(["--record-size", LOADS[at].2, "--verify", "records"]).args(more);
        report(fetch.stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?)
    }

    fn sample(&self) -> Result<Sample, String> {
        let proc = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(proc.join("status")).map_err(|e| e.to_string())?;
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        };
        let descriptors = fs::read_dir(proc.join("fd")).map_err(|e| e.to_string())?.count() as u64;
        Ok(Sample {
            rss_mib: field("VmRSS:").unwrap_or(0) / 1024,
            descriptors,
            threads: field("Threads:").unwrap_or(0),
        })
    }

    fn metric(&self, name: &str) -> Result<u64, String> {
        let mut stream = TcpStream::connect(&self.metrics).map_err(|e| e.to_string())?;
        stream.set_read_timeout(Some(BROKER_TIMEOUT)).map_err(|e| e.to_string())?;
        let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).map_err(|e| e.to_string())?;
        let mut page = String::new();
        stream.read_to_string(&mut page).map_err(|e| e.to_string())?;
        page.lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok())
            .map(|value| value as u64)
            .ok_or(format!("{name} is not among the metrics"))
    }

    fn stop(&mut self, kill: bool) -> Result<(), String> {
        if kill {
            self.child.kill().map_err(|e| e.to_string())?;
        } else {
            let id = self.child.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &id]).status();
        }
        let _limited = Limited::new(&self.child, BROKER_TIMEOUT);
        let status = self.child.wait().map_err(|e| e.to_string())?;
        if !kill && !status.success() {
            return Err(format!("the broker stopped with {status}"));
        }
        Ok(())
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // After a failure; stopped already otherwise.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The records of a bench run that ended without errors.
fn report(child: Child) -> Result<u64, String> {
    let _limited = Limited::new(&child, LOAD_TIMEOUT);
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let json: Value = serde_json::from_str(text.trim()).map_err(|e| format!("{e}: {text:?}"))?;
    let errors = json.get("errors").and_then(Value::as_u64);
    match (output.status.success(), errors, json.get("records").and_then(Value::as_u64)) {
        (true, Some(0), Some(records)) => Ok(records),
        _ => Err(format!("a load failed: {text}")),
    }
}
