//! CPU and memory of compaction, for `bench/compaction.py`:
//!
//! - `fill DIR KIND MEGABYTES`: a log directory with a partition t-0 of that many bytes, cleanly closed.
//!   Its keys come twice, in the order of the first time; KIND says how:
//!   - `whole`: a batch of ten records is replaced as a whole or not at all, so no batch is taken apart
//!   - `again`: the same, and a pass has been through the first half, so that only the second is new
//!   - `spread`: each fourth batch is the one before it anew, so that no segment stays as it is
//!   - `parts`: of each batch of the first half every second record is replaced
//!   - `lz4`, `zstd`, `gzip`, `snappy`: the same, compressed
//! - `clean DIR`: one pass; prints `cleaned FROM TO READ WRITTEN NANOSECONDS MAP_BYTES PEAK_RSS_KIB`, the
//!   nanoseconds those of CPU.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use thalweg_log::{AppendContext, CreateRequest, LogConfig, LogManager, ManagerConfig};
use thalweg_records::{BatchBuilder, BatchOptions, Compression, CompressionSpec, Compressor};
use thalweg_wire::Uuid;

const NOW: i64 = 1_700_000_000_000;
const RECORDS_PER_BATCH: u64 = 10;
const VALUE_BYTES: usize = 1_000;

fn open(dir: &Path) -> Result<LogManager, Box<dyn Error>> {
    let settings = LogConfig {
        compact: true,
        delete: false,
        segment_bytes: 100 << 20,
        min_cleanable_dirty_ratio: 0.0,
        ..LogConfig::default()
    };
    let mut config = ManagerConfig::new(vec![dir.to_path_buf()], 1, settings, NOW);
    config.cluster_id = Some("measure".into());
    Ok(LogManager::open(config)?.0)
}

/// Words by chance, which compress like text.
fn value(random: &mut u64, out: &mut Vec<u8>) {
    const WORDS: [&str; 16] = [
        "river ", "bank ", "flow ", "line ", "deep ", "stone ", "water ", "valley ", "bed ",
        "slope ", "current ", "bend ", "ford ", "delta ", "mouth ", "source ",
    ];
    out.clear();
    while out.len() < VALUE_BYTES {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        out.extend_from_slice(WORDS[(*random % 16) as usize].as_bytes());
        out.extend_from_slice(&(*random >> 40).to_string().into_bytes());
    }
    out.truncate(VALUE_BYTES);
}

fn fill(dir: &Path, kind: &str, megabytes: u64) -> Result<(), Box<dyn Error>> {
    let codec = match kind {
        "whole" | "again" | "spread" | "parts" => Compression::None,
        other => Compression::from_name(other).ok_or("no such kind")?,
    };
    let logs = open(dir)?;
    let log = logs.create(&CreateRequest::new("t", 0, Uuid::from_u128(1 << 100)), NOW)?;
    let mut compressor = Compressor::new();
    let mut random = 0x9e37_79b9_7f4a_7c15;
    let mut text = Vec::new();
    let keys = megabytes * 1_000_000 / (VALUE_BYTES as u64 + 40) / 2;
    let compression = CompressionSpec::new(codec);
    let mut append = |batch: &[u64]| -> Result<(), Box<dyn Error>> {
        let options = BatchOptions { compression, ..BatchOptions::default() };
        let mut builder = BatchBuilder::new(options);
        for key in batch {
            value(&mut random, &mut text);
            builder.append(NOW, Some(format!("key-{key:016}").as_bytes()), Some(&text), &[]);
        }
        let mut bytes = builder.finish(&mut compressor)?;
        log.append_as_leader(&mut bytes, &AppendContext::client(0, NOW))?;
        Ok(())
    };
    let all: Vec<u64> = match kind {
        "spread" => (0..keys + keys / 2).collect(),
        _ => (0..keys).collect(),
    };
    for batch in all.chunks(RECORDS_PER_BATCH as usize) {
        append(batch)?;
        let number = batch.first().map_or(0, |key| key / RECORDS_PER_BATCH);
        if kind == "spread" && number % 3 == 2 {
            append(batch)?;
        }
    }
    if kind == "again" {
        log.roll(NOW)?;
        log.advance_high_watermark(i64::MAX);
        logs.clean_once(NOW).ok_or("nothing is due")?;
    }
    // Half of them again, and as many that are new.
    let again: Vec<u64> = match kind {
        "spread" => Vec::new(),
        "whole" | "again" => {
            all.iter().copied().filter(|key| (key / RECORDS_PER_BATCH).is_multiple_of(2)).collect()
        }
        _ => all.iter().copied().filter(|key| key.is_multiple_of(2)).collect(),
    };
    let new: Vec<u64> = (keys..keys + keys / 2).collect();
    for (old, new) in
        again.chunks(RECORDS_PER_BATCH as usize).zip(new.chunks(RECORDS_PER_BATCH as usize))
    {
        append(old)?;
        append(new)?;
    }
    log.roll(NOW)?;
    log.advance_high_watermark(i64::MAX);
    println!("{} bytes, {} records", log.size(), log.log_end_offset());
    logs.shut_down(1, NOW);
    Ok(())
}

fn cpu() -> Duration {
    let times = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(times.tv_sec as u64, times.tv_nsec as u32)
}

fn peak_rss_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn clean(dir: &Path) -> Result<(), Box<dyn Error>> {
    let logs = open(dir)?;
    let log = logs.get("t", 0).ok_or("there is no partition t-0")?;
    log.advance_high_watermark(i64::MAX);
    let begun = cpu();
    let pass = logs.clean_once(NOW).ok_or("nothing is due")?;
    let took = cpu() - begun;
    let end = pass.end_offset.ok_or("the pass did not come to its end")?;
    println!(
        "cleaned {} {end} {} {} {} {} {}",
        pass.first_dirty_offset,
        pass.bytes_read,
        pass.bytes_written,
        took.as_nanos(),
        pass.map_memory,
        peak_rss_kib()
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["fill", dir, kind, megabytes] => fill(Path::new(dir), kind, megabytes.parse()?),
        ["clean", dir] => clean(Path::new(dir)),
        _ => Err("fill DIR KIND MEGABYTES, or clean DIR".into()),
    }
}
