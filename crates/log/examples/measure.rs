//! Figures that are no tests: `cargo run --release -p thalweg-log --example measure -- WHAT`
//!
//! - `idle [PARTITIONS]`: start time, memory and descriptors with idle partitions, after a clean
//!   stop and after a crash
//! - `recovery [GIB]`: seconds per GiB that was not flushed
//! - `append [GIB]`: CPU seconds per GiB appended in batches of 16 KiB over 200 partitions
//! - `submit [THOUSANDS]`: CPU per batch of one small record that is submitted, over 20 partitions
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    AppendContext, AppendError, AppendInfo, AppendWaiter, CreateRequest, LogConfig, LogManager,
    ManagerConfig, Submitted,
};
use thalweg_wire::Uuid;

const ID: Uuid = Uuid::from_u128(1 << 100);

fn open(dir: &TempDir) -> Result<LogManager, Box<dyn Error>> {
    let dirs = vec![dir.path().to_path_buf()];
    let mut config = ManagerConfig::new(dirs, 1, LogConfig::default(), 1_000);
    config.cluster_id = Some("measure".into());
    Ok(LogManager::open(config)?.0)
}

fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

fn cpu() -> Duration {
    let times = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(times.tv_sec as u64, times.tv_nsec as u32)
}

fn idle(partitions: i32) -> Result<(), Box<dyn Error>> {
    let dir = TempDir::new();
    let logs = open(&dir)?;
    let began = Instant::now();
    for partition in 0..partitions {
        let log = logs.create(&CreateRequest::new("topic", partition, ID), 1_000)?;
        if partition % 2 == 0 {
            log.append_as_leader(
                &mut BatchSpec::new(0, 1).build(),
                &AppendContext::client(0, 1_000),
            )?;
        }
    }
    println!("made {partitions} partitions, half with a record, in {:?}", began.elapsed());
    logs.shut_down(1, 1_000);
    drop(logs);
    for (how, clean) in [("a clean stop", true), ("a crash", false)] {
        // A process of its own, so that memory is that of the start alone.
        let mut child = std::process::Command::new(std::env::current_exe()?);
        child.arg("load").arg(dir.path()).arg(if clean { "clean" } else { "crash" });
        println!("after {how}:");
        if !child.status()?.success() {
            return Err("loading failed".into());
        }
    }
    Ok(())
}

fn load(path: &str, how: &str) -> Result<(), Box<dyn Error>> {
    let before = status("VmRSS");
    let began = Instant::now();
    let mut config = ManagerConfig::new(vec![path.into()], 1, LogConfig::default(), 1_000);
    config.cluster_id = Some("measure".into());
    let (logs, report) = LogManager::open(config)?;
    println!(
        "  {} partitions in {:?}, CPU {:?}, RSS {} KiB (before: {before} KiB), {} descriptors",
        report.dirs[0].partitions,
        began.elapsed(),
        cpu(),
        status("VmRSS"),
        descriptors()
    );
    let began = Instant::now();
    logs.flush_due(2_000);
    logs.clean_up(2_000);
    logs.checkpoint();
    println!("  one round of housekeeping: {:?}", began.elapsed());
    if how == "crash" {
        let began = Instant::now();
        logs.shut_down(1, 2_000);
        println!("  clean stop: {:?}", began.elapsed());
    }
    Ok(())
}

fn recovery(gib: u64) -> Result<(), Box<dyn Error>> {
    let dir = TempDir::new();
    let logs = open(&dir)?;
    let log = logs.create(&CreateRequest::new("topic", 0, ID), 1_000)?;
    let batch = BatchSpec::new(0, 16).value_len(1_000).build();
    let mut bytes = batch.clone();
    while log.size() < gib << 30 {
        bytes.copy_from_slice(&batch);
        log.append_as_leader(&mut bytes, &AppendContext::client(0, 1_000))?;
    }
    drop((log, logs));
    let (began, cpu_began) = (Instant::now(), cpu());
    let logs = open(&dir)?;
    let (took, used) = (began.elapsed(), cpu() - cpu_began);
    assert_eq!(logs.metrics().recovered_bytes.get() >> 30, gib);
    println!(
        "recovered {gib} GiB of one partition: {:?} and {:?} of CPU per GiB",
        took / gib as u32,
        used / gib as u32
    );
    Ok(())
}

fn append(gib: u64) -> Result<(), Box<dyn Error>> {
    let dir = TempDir::new();
    let logs = open(&dir)?;
    let mut partitions = Vec::new();
    for partition in 0..200 {
        partitions.push(logs.create(&CreateRequest::new("topic", partition, ID), 1_000)?);
    }
    let batch = BatchSpec::new(0, 16).value_len(1_000).build();
    let mut bytes = batch.clone();
    let total = gib << 30;
    let cpu_began = cpu();
    let mut done = 0;
    let mut at = 0;
    while done < total {
        bytes.copy_from_slice(&batch);
        let log = &partitions[at % partitions.len()];
        let info = log.append_as_leader(&mut bytes, &AppendContext::client(0, 1_000))?;
        log.advance_high_watermark(info.last_offset + 1);
        done += bytes.len() as u64;
        at += 1;
    }
    println!(
        "appended {gib} GiB in batches of {} bytes: {:?} of CPU per GiB, RSS {} KiB",
        batch.len(),
        (cpu() - cpu_began) / gib as u32,
        status("VmRSS")
    );
    let file = std::fs::File::create(dir.path().join("bare"))?;
    let cpu_began = cpu();
    let mut at = 0;
    while at < total {
        bytes.copy_from_slice(&batch);
        at += rustix::io::pwrite(&file, &bytes, at)? as u64;
    }
    println!("a bare loop of pwrite: {:?} of CPU per GiB", (cpu() - cpu_began) / gib as u32);
    Ok(())
}

fn submit(thousands: u64) -> Result<(), Box<dyn Error>> {
    struct Nobody;
    impl AppendWaiter for Nobody {
        fn done(&self, _: u64, _: Result<AppendInfo, AppendError>) {}
    }
    let dir = TempDir::new();
    let logs = open(&dir)?;
    let mut partitions = Vec::new();
    for partition in 0..20 {
        partitions.push(logs.create(&CreateRequest::new("topic", partition, ID), 1_000)?);
    }
    let waiter: Arc<dyn AppendWaiter> = Arc::new(Nobody);
    let batch = BatchSpec::new(0, 1).value_len(50).build();
    let mut bytes = batch.clone();
    let cpu_began = cpu();
    let count = thousands * 1_000;
    for at in 0..count {
        bytes.copy_from_slice(&batch);
        let log = &partitions[(at % 20) as usize];
        match log.submit(&mut bytes, &AppendContext::client(0, 1_000), &waiter, at) {
            Submitted::Done(result) => log.advance_high_watermark(result?.last_offset + 1),
            other => return Err(format!("{other:?}").into()),
        };
    }
    println!(
        "submitted {count} batches of {} bytes: {:?} of CPU each",
        batch.len(),
        (cpu() - cpu_began) / u32::try_from(count)?
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |default: u64| args.get(1).and_then(|n| n.parse().ok()).unwrap_or(default);
    match args.first().map(String::as_str) {
        Some("idle") => idle(number(10_000) as i32),
        Some("load") => load(&args[1], &args[2]),
        Some("recovery") => recovery(number(1)),
        Some("append") => append(number(2)),
        Some("submit") => submit(number(1_000)),
        _ => Err("idle [PARTITIONS] | recovery [GIB] | append [GIB] | submit [THOUSANDS]".into()),
    }
}
