//! `thalweg log dump`: what is in a file, by its name.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use thalweg_log::files;
use thalweg_records::Decompressor;

use super::batches::{BatchReader, Found, batch_json, last_offset_at, records};
use super::decode::Decoder;
use crate::client::{Align, CliError, Out, Table};

/// Options of `thalweg log dump`.
#[derive(Args)]
pub(super) struct DumpArgs {
    /// Files: .log, .index, .timeindex, .txnindex, .snapshot, .checkpoint, *-checkpoint,
    /// partition.metadata
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Show every record, not only batches
    #[arg(long)]
    deep: bool,
    /// Show keys, values and headers, too
    #[arg(long)]
    print_data: bool,
    /// What records are [default: what the directory's name says]
    #[arg(long, value_enum, value_name = "KIND")]
    decoder: Option<Decoder>,
    /// Show so many batches or entries of each file at most
    #[arg(long, value_name = "NUMBER")]
    limit: Option<u64>,
    /// Print JSON, an object per line
    #[arg(long)]
    json: bool,
}

/// What can be shown.
const EXPECTED: &str = "a segment (.log), an index (.index, .timeindex, .txnindex), a snapshot (.snapshot), a \
                        checkpoint (.checkpoint, *-checkpoint) or partition.metadata";

/// What is wrong with a file, if anything.
type Verdict = Result<(), String>;

pub(super) fn run(args: &DumpArgs) -> Result<(), CliError> {
    let mut out = Out::new();
    let (mut sound, mut broken, mut absent) = (0usize, Vec::new(), 0usize);
    for path in &args.files {
        if !args.json {
            out.line(&format!("{}:", path.display()))?;
        }
        let mut dump = Dump { args, path, out: &mut out, shown: 0 };
        match dump.file()? {
            Ok(()) => sound += 1,
            Err(why) => {
                absent += usize::from(!path.exists());
                broken.push(format!("{}: {why}", path.display()));
            }
        }
    }
    out.finish()?;
    let said = broken.join("; ");
    match (broken.is_empty(), sound) {
        (true, _) => Ok(()),
        (false, 0) if absent == broken.len() => Err(CliError::NotFound(said)),
        (false, 0) => Err(CliError::Failed(said)),
        (false, _) => Err(CliError::Partly(said)),
    }
}

/// One file.
struct Dump<'a> {
    args: &'a DumpArgs,
    path: &'a Path,
    out: &'a mut Out,
    shown: u64,
}

impl Dump<'_> {
    fn file(&mut self) -> Result<Verdict, CliError> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Files on their way out, or in, keep what they are in front of it.
        let plain = [".deleted", ".cleaned", ".swap"]
            .iter()
            .fold(name.as_str(), |name, end| name.strip_suffix(end).unwrap_or(name));
        let base = plain.split(['.', '-']).next().and_then(|digits| digits.parse().ok());
        let end = plain.rsplit_once('.').map_or("", |(_, end)| end);
        match (plain, end, base) {
            (_, "log" | "checkpoint", _) => self.batches(),
            (_, "index", Some(base)) => self.with_bytes(|dump, bytes| dump.offsets(bytes, base)),
            (_, "timeindex", Some(base)) => self.with_bytes(|dump, bytes| dump.times(bytes, base)),
            (_, "txnindex", _) => self.with_bytes(Dump::aborted),
            (_, "snapshot", _) => self.with_bytes(Dump::producers),
            ("leader-epoch-checkpoint", ..) => self.with_bytes(Dump::epochs),
            ("partition.metadata", ..) => self.with_bytes(Dump::partition),
            (name, ..) if name.ends_with("-checkpoint") => self.with_bytes(Dump::checkpoint),
            _ if self.path.is_dir() => Ok(Err(format!("is a directory; give {EXPECTED} in it"))),
            _ => Ok(Err(format!("its name is not that of {EXPECTED}"))),
        }
    }

    fn with_bytes(
        &mut self,
        show: impl FnOnce(&mut Self, &[u8]) -> Result<Verdict, CliError>,
    ) -> Result<Verdict, CliError> {
        match std::fs::read(self.path) {
            Ok(bytes) => show(self, &bytes),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    /// Whether one more is to be shown.
    fn has_room(&mut self) -> bool {
        self.shown += 1;
        self.args.limit.is_none_or(|limit| self.shown <= limit)
    }

    fn object(&mut self, mut value: Value) -> Result<(), CliError> {
        value["file"] = json!(self.path.display().to_string());
        self.out.line(&value.to_string())
    }

    /// Entries as a table, or an object each.
    fn entries(
        &mut self,
        columns: &[&'static str],
        rows: impl Iterator<Item = Vec<Value>>,
    ) -> Result<(), CliError> {
        let mut table = Table::new(columns.iter().map(|name| (*name, Align::Right)));
        for row in rows {
            if !self.has_room() {
                break;
            }
            if self.args.json {
                let mut value = json!({});
                for (name, cell) in columns.iter().zip(row) {
                    value[*name] = cell;
                }
                self.object(value)?;
                continue;
            }
            table.row(row.into_iter().map(|cell| match cell {
                Value::Null => String::new(),
                Value::String(text) => text,
                cell => cell.to_string(),
            }));
        }
        self.out.table(&table)
    }

    fn batches(&mut self) -> Result<Verdict, CliError> {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.to_owned());
        let parent = path.parent().and_then(Path::file_name).unwrap_or_default();
        let by_name = Decoder::of_directory(&parent.to_string_lossy());
        let decoder = self.args.decoder.unwrap_or(by_name);
        let deep = self.args.deep || self.args.print_data;
        let mut batches = match BatchReader::open(self.path) {
            Ok(batches) => batches,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let mut decompressor = Decompressor::new();
        let mut verdict = Ok(());
        loop {
            let found = match batches.next() {
                Ok(Some(found)) => found,
                Ok(None) => return Ok(verdict),
                Err(error) => return Ok(Err(error.to_string())),
            };
            let (position, batch) = match found {
                Found::Batch(position, batch) => (position, batch),
                Found::Reserved(bytes) => {
                    let value = json!({"reserved": bytes});
                    match self.args.json {
                        true => self.object(value)?,
                        false => self.out.line(&format!("  {bytes} bytes are set aside"))?,
                    }
                    continue;
                }
                Found::Broken(position, why) => {
                    return Ok(Err(format!("at position {position}: {why}")));
                }
            };
            if !self.has_room() {
                return Ok(verdict);
            }
            let mut shown = batch_json(position, &batch);
            if !batch.crc_is_valid() && verdict.is_ok() {
                verdict = Err(format!("at position {position}: the checksum is wrong"));
            }
            if !self.args.json {
                self.out.line(&format!("  {}", fields(&shown)))?;
            }
            let mut all = Vec::new();
            let mut damage = Ok(());
            if deep {
                let (json, out) = (self.args.json, &mut *self.out);
                let data = self.args.print_data;
                damage = records(&batch, &mut decompressor, data, decoder, |record| {
                    if json {
                        all.push(record);
                        return Ok(());
                    }
                    out.line(&format!("    {}", fields(&record)))
                })?;
            }
            if let Err(why) = damage {
                shown["error"] = json!(why);
                if verdict.is_ok() {
                    verdict = Err(format!("at position {position}: {why}"));
                }
            }
            if self.args.json {
                if deep {
                    shown["records"] = Value::Array(all);
                }
                self.object(shown)?;
            }
        }
    }

    fn offsets(&mut self, bytes: &[u8], base: i64) -> Result<Verdict, CliError> {
        let (entries, rest) = files::offset_index(bytes, base);
        let row = |entry: &files::OffsetEntry| vec![json!(entry.offset), json!(entry.position)];
        self.entries(&["offset", "position"], entries.iter().map(row))?;
        let ordered = entries.windows(2).all(|pair| match pair {
            [one, next] => one.offset < next.offset && one.position < next.position,
            _ => true,
        });
        if !ordered {
            return Ok(Err("entries are not in order".to_owned()));
        }
        if let Ok(log) = File::open(self.beside("log")) {
            for entry in &entries {
                match last_offset_at(&log, entry.position) {
                    Ok(offset) if offset == entry.offset => {}
                    Ok(offset) => {
                        let (position, claimed) = (entry.position, entry.offset);
                        return Ok(Err(format!(
                            "the batch at {position} ends at offset {offset}, not at {claimed}"
                        )));
                    }
                    Err(why) => return Ok(Err(why)),
                }
            }
        }
        Ok(whole(rest))
    }

    fn times(&mut self, bytes: &[u8], base: i64) -> Result<Verdict, CliError> {
        let (entries, rest) = files::time_index(bytes, base);
        let row = |entry: &files::TimeEntry| vec![json!(entry.timestamp), json!(entry.offset)];
        self.entries(&["timestamp", "offset"], entries.iter().map(row))?;
        let ordered = entries.windows(2).all(|pair| match pair {
            [one, next] => one.timestamp < next.timestamp && one.offset <= next.offset,
            _ => true,
        });
        if !ordered {
            return Ok(Err("entries are not in order".to_owned()));
        }
        Ok(whole(rest))
    }

    fn aborted(&mut self, bytes: &[u8]) -> Result<Verdict, CliError> {
        let (entries, rest) = match files::txn_index(bytes) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let columns = ["producer_id", "first_offset", "last_offset", "last_stable_offset"];
        let row = |txn: &thalweg_log::AbortedTxn| {
            let fields =
                [txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset];
            fields.map(Value::from).to_vec()
        };
        self.entries(&columns, entries.iter().map(row))?;
        Ok(whole(rest))
    }

    fn producers(&mut self, bytes: &[u8]) -> Result<Verdict, CliError> {
        let entries = match files::producer_snapshot(bytes) {
            Ok(entries) => entries,
            Err(why) => return Ok(Err(why)),
        };
        let columns = [
            "producer_id",
            "epoch",
            "coordinator_epoch",
            "last_timestamp",
            "last_sequence",
            "last_offset",
            "txn_first_offset",
        ];
        let row = |entry: &files::SnapshotEntry| {
            vec![
                json!(entry.producer_id),
                json!(entry.epoch),
                json!(entry.coordinator_epoch),
                json!(entry.last_timestamp),
                json!(entry.last_sequence),
                json!(entry.last_offset),
                json!(entry.txn_first_offset),
            ]
        };
        self.entries(&columns, entries.iter().map(row))?;
        Ok(Ok(()))
    }

    fn epochs(&mut self, bytes: &[u8]) -> Result<Verdict, CliError> {
        let epochs = match files::leader_epochs(bytes) {
            Ok(epochs) => epochs,
            Err(why) => return Ok(Err(why)),
        };
        let row = |(epoch, offset): &(i32, i64)| vec![json!(epoch), json!(offset)];
        self.entries(&["epoch", "start_offset"], epochs.iter().map(row))?;
        Ok(Ok(()))
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> Result<Verdict, CliError> {
        let entries = match files::offset_checkpoint(bytes) {
            Ok(entries) => entries,
            Err(why) => return Ok(Err(why)),
        };
        let row = |(topic, partition, offset): &(String, i32, i64)| {
            vec![json!(topic), json!(partition), json!(offset)]
        };
        self.entries(&["topic", "partition", "offset"], entries.iter().map(row))?;
        Ok(Ok(()))
    }

    fn partition(&mut self, bytes: &[u8]) -> Result<Verdict, CliError> {
        match files::partition_metadata(bytes) {
            Ok(id) => {
                let row = vec![json!(id.to_string())];
                self.entries(&["topic_id"], std::iter::once(row))?;
                Ok(Ok(()))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    /// The file of the same segment with another ending.
    fn beside(&self, end: &str) -> PathBuf {
        self.path.with_extension(end)
    }
}

fn whole(rest: usize) -> Verdict {
    match rest {
        0 => Ok(()),
        rest => Err(format!("{rest} bytes behind the last entry are none")),
    }
}

/// `name=value` for each field, on one line.
fn fields(value: &Value) -> String {
    let Some(object) = value.as_object() else { return value.to_string() };
    let field = |(name, value): (&String, &Value)| match value {
        Value::String(text) if !text.is_empty() && !text.contains(char::is_whitespace) => {
            format!("{name}={}", text.escape_debug())
        }
        value => format!("{name}={value}"),
    };
    object.iter().map(field).collect::<Vec<_>>().join(" ")
}
