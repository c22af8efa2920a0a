//! Makes modules of the Rust code blocks of README and guide, for the program `guide`, so that they are
//! compiled and run as they are shown. What is changed in them:
//!
//! - `"127.0.0.1:9092"` is the broker that the program is given;
//! - `println!` is a macro that prints a line at once, and takes a millisecond as work does;
//! - functions and types are public, and statements without a function become one.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

const DOCUMENTS: [(&str, &str); 2] =
    [("readme", "../../README.md"), ("guide", "../../crates/client/README.md")];

/// A code block, with a name of its own.
struct Block {
    name: String,
    code: String,
}

/// `First consumer` as part of a name.
fn slug(heading: &str) -> String {
    let letters = heading.trim_matches(['#', ' ']).chars();
    let letters: String = letters
        .filter_map(|c| if c == ' ' { Some('_') } else { c.is_ascii_alphanumeric().then_some(c) })
        .collect();
    letters.to_ascii_lowercase()
}

/// The Rust blocks of a document. Each is called by the heading that it stands below, and its number
/// there.
fn blocks(document: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut section, mut number) = (String::new(), 0);
    let mut open: Option<(bool, String)> = None;
    for line in text.lines() {
        match &mut open {
            Some((is_rust, code)) if line.trim_end() == "```" => {
                if *is_rust {
                    number += 1;
                    let name = format!("{document}_{section}_{number}");
                    blocks.push(Block { name, code: std::mem::take(code) });
                }
                open = None;
            }
            Some((_, code)) => {
                code.push_str(line);
                code.push('\n');
            }
            None if line.starts_with("```") => {
                open = Some((line.starts_with("```rust"), String::new()));
            }
            None if line.starts_with('#') => (section, number) = (slug(line), 0),
            None => {}
        }
    }
    blocks
}

/// The block as a module.
fn module(block: &Block) -> String {
    let code = block.code.replace("\"127.0.0.1:9092\"", "&crate::bootstrap()");
    let code = code.replace("println!(", "crate::work!(").replace("ecrate::work!(", "eprintln!(");
    let is_item = |line: &str| {
        ["fn ", "async fn ", "struct ", "enum "].iter().any(|start| line.starts_with(start))
    };
    let body = match code.lines().any(is_item) {
        true => {
            let public =
                |line| if is_item(line) { format!("pub {line}\n") } else { format!("{line}\n") };
            code.lines().map(public).collect()
        }
        false => format!(
            "pub async fn run() -> Result<(), Box<dyn std::error::Error>> {{\n{code}\nOk(())\n}}"
        ),
    };
    format!("#[allow(unused)]\npub mod {} {{\n{body}\n}}\n", block.name)
}

fn main() {
    let mut out = String::new();
    let mut names = Vec::new();
    for (document, path) in DOCUMENTS {
        println!("cargo::rerun-if-changed={path}");
        let text = fs::read_to_string(path).expect("the document is there");
        for block in blocks(document, &text) {
            out.push_str(&module(&block));
            names.push(block.name);
        }
    }
    writeln!(out, "/// All of them.\npub const BLOCKS: &[&str] = &{names:?};").expect("a string");
    let folder = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&folder).join("guide.rs"), out).expect("the folder can be written");
}
