//! Random valid messages, made from the fact files in `schemas/` and nothing else: neither the
//! generator's reading of them nor the generated code has a part in it.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use thalweg_random::Random;

#[derive(Debug)]
struct Field {
    kind: String,
    array: bool,
    versions: RangeInclusive<i16>,
    null: RangeInclusive<i16>,
    tag: Option<u32>,
    never_flexible: bool,
}

/// One message as its fact file describes it.
#[derive(Debug)]
pub struct Facts {
    pub name: String,
    pub versions: RangeInclusive<i16>,
    flexible: RangeInclusive<i16>,
    /// Structs by name; the message itself has the empty name.
    structs: BTreeMap<String, Vec<Field>>,
}

/// How a message is filled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// Null where possible, everything else empty and absent.
    Least,
    /// Nothing null, one element each, all tagged fields.
    One,
    /// Long arrays of empty elements: what takes most memory for its bytes.
    ManyEmpty,
    /// Anything.
    Random,
}

/// Nothing.
fn none() -> RangeInclusive<i16> {
    RangeInclusive::new(1, 0)
}

fn range(text: &str) -> RangeInclusive<i16> {
    let number = |t: &str| t.parse::<i16>().expect("a version");
    match (text, text.split_once('-')) {
        ("none", _) => none(),
        (_, Some((lo, hi))) => number(lo)..=number(hi),
        _ => match text.strip_suffix('+') {
            Some(lo) => number(lo)..=i16::MAX,
            None => number(text)..=number(text),
        },
    }
}

/// Every message there is a fact file for.
pub fn all() -> Vec<Facts> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let mut files: Vec<_> = fs::read_dir(root)
        .expect("the fact files")
        .flat_map(|folder| fs::read_dir(folder.expect("a folder").path()).expect("a folder"))
        .map(|file| file.expect("a file").path())
        .collect();
    files.sort();
    files.iter().map(|file| parse(&fs::read_to_string(file).expect("a fact file"))).collect()
}

fn parse(text: &str) -> Facts {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a first line").split(' ').collect();
    let setting = |name: &str| {
        head.iter().find_map(|w| w.strip_prefix(name)?.strip_prefix('=')).map_or(none(), range)
    };
    let mut structs: BTreeMap<String, Vec<Field>> = BTreeMap::new();
    // The struct that lines of each depth belong to.
    let mut open = vec![String::new()];
    structs.insert(String::new(), Vec::new());
    for line in lines {
        if let Some(name) = line.strip_prefix("struct ") {
            // Lines of depth one follow, and belong to it.
            open = vec![String::new(), name.to_owned()];
            structs.entry(name.to_owned()).or_default();
            continue;
        }
        let depth = (line.len() - line.trim_start().len()) / 2;
        let words: Vec<&str> = line.split_whitespace().collect();
        let option = |name: &str| words.iter().find_map(|w| w.strip_prefix(name));
        let kind = words[1].trim_start_matches("[]").to_owned();
        open.truncate(depth + 1);
        structs.entry(open[depth].clone()).or_default().push(Field {
            kind: kind.clone(),
            array: words[1].starts_with("[]"),
            versions: range(words[2]),
            null: option("null=").map_or(none(), range),
            tag: option("tag=").and_then(|t| t.split('@').next()?.parse().ok()),
            never_flexible: words.contains(&"flexible=none"),
        });
        open.push(kind);
    }
    Facts {
        name: head[2].to_owned(),
        versions: setting("versions"),
        flexible: setting("flexible"),
        structs,
    }
}

impl Facts {
    /// A valid message of `version`.
    pub fn message(&self, version: i16, fill: Fill, random: &mut Random) -> Vec<u8> {
        let flexible = self.flexible.contains(&version);
        let mut filler = Filler { facts: self, version, flexible, fill, random, out: Vec::new() };
        filler.fields("");
        filler.out
    }
}

struct Filler<'a> {
    facts: &'a Facts,
    version: i16,
    flexible: bool,
    fill: Fill,
    random: &'a mut Random,
    out: Vec<u8>,
}

impl Filler<'_> {
    fn fields(&mut self, of: &str) {
        let fields = self.facts.structs.get(of).unwrap_or_else(|| panic!("no struct {of}"));
        for field in fields {
            if field.tag.is_none() && field.versions.contains(&self.version) {
                self.field(field);
            }
        }
        if self.flexible {
            self.tags(fields);
        }
    }

    fn tags(&mut self, fields: &[Field]) {
        let mut bodies: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        for field in fields {
            let Some(tag) = field.tag else { continue };
            let wanted = match self.fill {
                Fill::Least | Fill::ManyEmpty => false,
                Fill::One => true,
                Fill::Random => self.random.chance(50),
            };
            if wanted && field.versions.contains(&self.version) {
                let before = std::mem::take(&mut self.out);
                self.field(field);
                bodies.insert(tag, std::mem::replace(&mut self.out, before));
            }
        }
        if self.fill == Fill::Random && self.random.chance(15) {
            let len = self.random.below(20);
            bodies.insert(60 + self.random.next_u64() as u32 % 100_000, self.random.bytes(len));
        }
        self.varint(bodies.len() as u32);
        for (tag, body) in bodies {
            self.varint(tag);
            self.varint(body.len() as u32);
            self.out.extend(body);
        }
    }

    fn varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }

    /// The length in front of a value, or null.
    fn length(&mut self, field: &Field, text: bool, len: Option<usize>) {
        match (self.flexible && !field.never_flexible, text) {
            (true, _) => self.varint(len.map_or(0, |len| len as u32 + 1)),
            (false, true) => {
                let len = len.map_or(-1, |len| len as i16);
                self.out.extend(len.to_be_bytes());
            }
            (false, false) => {
                let len = len.map_or(-1, |len| len as i32);
                self.out.extend(len.to_be_bytes());
            }
        }
    }

    fn field(&mut self, field: &Field) {
        let null = field.null.contains(&self.version)
            && match self.fill {
                Fill::Least => true,
                Fill::One | Fill::ManyEmpty => false,
                Fill::Random => self.random.chance(25),
            };
        if field.array {
            let count = match self.fill {
                Fill::Least => 0,
                Fill::One => 1,
                // Nested arrays stay empty, or messages would grow without bound.
                Fill::ManyEmpty if self.out.len() < 64 => 300,
                Fill::ManyEmpty => 0,
                Fill::Random if self.out.len() > 3000 => 0,
                Fill::Random if self.random.chance(3) => 130,
                Fill::Random => self.random.below(4),
            };
            self.length(field, false, (!null).then_some(count));
            if !null {
                (0..count).for_each(|_| self.value(&field.kind, field));
            }
            return;
        }
        let structure = field.kind.starts_with(|c: char| c.is_uppercase());
        match (structure, null) {
            (true, true) if field.tag.is_some() => self.varint(0),
            (true, true) => self.out.push(0xff),
            (true, false) => {
                if field.null.contains(&self.version) {
                    self.out.push(1);
                }
                self.fields(&field.kind);
            }
            (false, true) => self.length(field, field.kind == "string", None),
            (false, false) => self.value(&field.kind, field),
        }
    }

    fn value(&mut self, kind: &str, field: &Field) {
        let fixed = match kind {
            "bool" => {
                self.out.push(self.random.below(2) as u8);
                return;
            }
            "int8" => 1,
            "int16" | "uint16" => 2,
            "int32" | "uint32" => 4,
            "int64" => 8,
            "float64" => {
                self.out.extend((self.random.below(1000) as f64 / 8.0).to_be_bytes());
                return;
            }
            "uuid" => 16,
            "string" | "bytes" | "records" => {
                let len = match self.fill {
                    Fill::Least | Fill::ManyEmpty => 0,
                    Fill::One => 5,
                    Fill::Random if self.random.chance(3) => 120 + self.random.below(20),
                    Fill::Random => self.random.below(12),
                };
                self.length(field, kind == "string", Some(len));
                for _ in 0..len {
                    let byte = self.random.next_u64() as u8;
                    self.out.push(if kind == "string" { b' ' + byte % 90 } else { byte });
                }
                return;
            }
            of => {
                self.fields(of);
                return;
            }
        };
        let bytes = match self.fill {
            Fill::Random | Fill::One => self.random.bytes(fixed),
            _ => vec![0; fixed],
        };
        self.out.extend(bytes);
    }
}
