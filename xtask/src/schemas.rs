//! `cargo xtask schemas <dir-of-json>`: turns the message definitions inside Kafka's published jars
//! into the compact fact files under `schemas/`.
//!
//! A fact file holds what the wire needs and nothing else: field, type, versions, nullability, tag,
//! default. One line per field, two spaces of indent per nesting level:
//!
//! ```text
//! request 1 FetchRequest versions=4-18 flexible=12+ listeners=broker,controller
//! ClusterId string 12+ null=12+ tag=0@12+ default=null ignorable
//! Topics []FetchTopic 0+
//!   Topic string 0-12 ignorable
//! struct Shared
//!   Name string 0+
//! ```

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Reads every `*.json` below `from` and rewrites `schemas/`.
pub fn run(root: &Path, from: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    collect(from, &mut files)?;
    files.sort();
    let mut written = 0;
    for file in files {
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let json: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect::<Vec<_>>()
            .join("\n");
        let value: Value =
            serde_json::from_str(&json).map_err(|e| format!("{}: {e}", file.display()))?;
        let Some(kind) = value["type"].as_str() else { continue };
        if value["validVersions"].as_str() == Some("none") {
            continue;
        }
        let name = value["name"].as_str().ok_or("a message without a name")?;
        // Tiered storage numbers the records of its own topic from 0 as the metadata log does.
        let kind = if kind == "metadata" && name.starts_with("Remote") { "remote" } else { kind };
        let folder = match kind {
            "request" | "response" | "header" => "protocol",
            "metadata" => "metadata",
            "coordinator-key" | "coordinator-value" => "coordinator",
            _ => "storage",
        };
        let dir = root.join("schemas").join(folder);
        fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
        fs::write(dir.join(format!("{name}.txt")), facts(kind, name, &value)?)
            .map_err(|e| e.to_string())?;
        written += 1;
    }
    eprintln!("{written} schema files written");
    Ok(())
}

fn collect(dir: &Path, out: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            collect(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "json") {
            out.push(path);
        }
    }
    Ok(())
}

fn facts(kind: &str, name: &str, message: &Value) -> Result<String, String> {
    let key = message["apiKey"].as_i64().map_or("-".to_owned(), |k| k.to_string());
    let mut out = format!("{kind} {key} {name}");
    let text = |field: &str| message[field].as_str();
    let _ = write!(out, " versions={}", text("validVersions").ok_or("no versions")?);
    let _ = write!(out, " flexible={}", text("flexibleVersions").unwrap_or("none"));
    if let Some(listeners) = message["listeners"].as_array() {
        let names: Vec<_> = listeners.iter().filter_map(Value::as_str).collect();
        let _ = write!(out, " listeners={}", names.join(","));
    }
    if message["latestVersionUnstable"].as_bool() == Some(true) {
        out.push_str(" unstable");
    }
    out.push('\n');
    fields(&mut out, 0, &message["fields"], name)?;
    for shared in message["commonStructs"].as_array().into_iter().flatten() {
        let shared_name = shared["name"].as_str().ok_or("a struct without a name")?;
        let _ = writeln!(out, "struct {shared_name}");
        fields(&mut out, 1, &shared["fields"], name)?;
    }
    Ok(out)
}

fn fields(out: &mut String, depth: usize, list: &Value, message: &str) -> Result<(), String> {
    for field in list.as_array().into_iter().flatten() {
        let text = |key: &str| field[key].as_str();
        let name = text("name").ok_or_else(|| format!("{message}: a field without a name"))?;
        let kind = text("type").ok_or_else(|| format!("{message}.{name}: no type"))?;
        // A field that names only tagged versions exists in those alone.
        let versions = text("versions")
            .or(text("taggedVersions"))
            .ok_or_else(|| format!("{message}.{name}: no versions"))?;
        let _ = write!(out, "{}{name} {kind} {versions}", "  ".repeat(depth));
        if let Some(nullable) = text("nullableVersions") {
            let _ = write!(out, " null={nullable}");
        }
        if let (Some(tag), Some(tagged)) = (field["tag"].as_u64(), text("taggedVersions")) {
            let _ = write!(out, " tag={tag}@{tagged}");
        }
        match &field["default"] {
            // Only the text "null" makes null the default; to Kafka's generator a bare null is as if
            // nothing stood there.
            Value::Null => {}
            Value::String(s) if s.is_empty() => {}
            Value::String(s) => {
                let _ = write!(out, " default={s}");
            }
            other => {
                let _ = write!(out, " default={other}");
            }
        }
        if field["ignorable"].as_bool() == Some(true) {
            out.push_str(" ignorable");
        }
        if let Some(flexible) = text("flexibleVersions") {
            let _ = write!(out, " flexible={flexible}");
        }
        out.push('\n');
        fields(out, depth + 1, &field["fields"], message)?;
    }
    Ok(())
}
