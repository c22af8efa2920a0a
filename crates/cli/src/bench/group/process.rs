//! What the broker's process uses, where it runs on this machine; what this one uses; and how many
//! files it may have open.

use std::net::SocketAddr;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::bench::BenchError;

/// Descriptors beyond those of the members: the runtime, the cluster's connections, the terminal.
const SPARE_FILES: u64 = 64;

/// The broker's process, on this machine.
#[derive(Clone, Copy, Debug)]
pub struct BrokerProcess {
    pub pid: u32,
}

impl BrokerProcess {
    /// The one with that id.
    pub fn of(pid: u32) -> Result<BrokerProcess, BenchError> {
        let process = BrokerProcess { pid };
        match process.cpu() {
            Some(_) => Ok(process),
            None => Err(BenchError::Usage(format!("--broker-pid {pid}: there is no such process"))),
        }
    }

    /// The one that listens where `addr` leads; `None` when it is another machine's, or another
    /// user's.
    pub fn listening_at(addr: SocketAddr) -> Option<BrokerProcess> {
        // Only this machine's own addresses can be bound here.
        std::net::TcpListener::bind((addr.ip(), 0)).ok()?;
        let inodes = listeners(addr.port());
        let processes = std::fs::read_dir("/proc").ok()?.flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.into_iter().find(|pid| has_socket(*pid, &inodes)).map(|pid| BrokerProcess { pid })
    }

    /// CPU time of all its threads so far.
    pub fn cpu(&self) -> Option<Duration> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        // The name of the command may contain anything; behind it come numbers.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let ticks = ticks(11)? + ticks(12)?;
        Some(Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64))
    }

    /// Its resident bytes.
    pub fn rss(&self) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    }
}

/// Inodes of the sockets that listen on a port.
fn listeners(port: u16) -> Vec<String> {
    const LISTEN: &str = "0A";
    let mut inodes = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (Some(local), Some(state), Some(inode)) =
                (fields.get(1), fields.get(3), fields.get(9))
            else {
                continue;
            };
            let is_ours = local.rsplit(':').next() == Some(&format!("{port:04X}"));
            if is_ours && *state == LISTEN {
                inodes.push(format!("socket:[{inode}]"));
            }
        }
    }
    inodes
}

fn has_socket(pid: u32, inodes: &[String]) -> bool {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.into_iter().any(|file| {
        std::fs::read_link(file.path())
            .is_ok_and(|to| inodes.iter().any(|inode| to.as_os_str() == inode.as_str()))
    })
}

/// CPU time of this process so far.
pub fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Lets this process have a socket for each of so many members.
pub fn allow_files(members: u64) -> Result<(), BenchError> {
    let needed = members + SPARE_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let refused = |why: String| {
        BenchError::Usage(format!(
            "{members} members need {needed} open files; {why}: raise it (ulimit -Hn {needed}, or \
             LimitNOFILE of the service) or take fewer --members"
        ))
    };
    match limit.maximum {
        Some(maximum) if maximum < needed => {
            Err(refused(format!("the hard limit of this process is {maximum}")))
        }
        maximum => setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum })
            .map_err(|error| refused(format!("the limit cannot be raised ({error})"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_by_its_port() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let found = BrokerProcess::listening_at(listener.local_addr().unwrap()).unwrap();
        assert_eq!(found.pid, std::process::id());
        assert!(found.rss().unwrap() > 1 << 20);
        assert!(found.cpu().is_some());
        // An address of documentation is nobody's.
        assert!(BrokerProcess::listening_at("192.0.2.1:9092".parse().unwrap()).is_none());
    }

    #[test]
    fn a_process_that_is_not_there_is_refused() {
        let error = BrokerProcess::of(u32::MAX).unwrap_err().to_string();
        assert!(error.contains("no such process"), "{error}");
    }

    #[test]
    fn a_limit_that_cannot_be_is_said() {
        let maximum = getrlimit(Resource::Nofile).maximum;
        if let Some(maximum) = maximum {
            let error = allow_files(maximum).unwrap_err().to_string();
            assert!(error.contains("ulimit -Hn"), "{error}");
        }
        allow_files(1).unwrap();
    }
}
