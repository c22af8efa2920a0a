//! `cargo xtask codegen`: writes `crates/wire/src/gen/` from the fact files under `schemas/`, and
//! `crates/metadata/src/config/gen/` from the tables of configs.
//!
//! Three forms come out of one description: *owned* structs that decode and encode (all messages),
//! *views* that decode without allocating (`VIEWS`), and *refs* that encode from borrowed parts
//! (`REFS`). Only what stands here knows in which version a field appears.

mod borrowed;
mod configs;
mod facts;
mod read;
mod tables;
mod write;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use facts::{Field, Message, Presence, parse};
use read::variable;
use tables::{PRELUDE, api_table, metadata_enum, table};

/// Messages that a broker or client reads so often that they get a borrowed form.
const VIEWS: &[&str] = &[
    "ProduceRequest",
    "ProduceResponse",
    "FetchRequest",
    "FetchResponse",
    "OffsetCommitRequest",
    "HeartbeatRequest",
    "MetadataRequest",
    "ListOffsetsRequest",
];
/// Messages written so often that they get a form that borrows everything.
const REFS: &[&str] = &["ProduceRequest", "ProduceResponse", "FetchRequest", "FetchResponse"];

/// Fields that hold a secret, whatever their message: `Debug` hides them.
const SECRETS: &[&str] = &["AuthBytes", "Hmac", "SaltedPassword", "ServerKey", "StoredKey"];
/// Structs with the name and the value of a config: `Debug` hides the value if the name is one of a secret.
const CONFIGS: &[&str] =
    &["AlterableConfig", "ConfigRecord", "DescribeConfigsResourceResult", "DescribeConfigsSynonym"];

/// `ThrottleTimeMs` -> `throttle_time_ms`.
fn snake(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, &c) in chars.iter().enumerate() {
        let boundary = i > 0
            && c.is_uppercase()
            && (chars[i - 1].is_lowercase()
                || chars[i - 1].is_ascii_digit()
                || chars.get(i + 1).is_some_and(|n| n.is_lowercase()));
        if boundary {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    match out.as_str() {
        "type" | "match" | "ref" | "where" | "move" | "in" | "use" => format!("{out}_"),
        _ => out,
    }
}

fn camel(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or(String::new(), |c| c.to_lowercase().chain(chars).collect())
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Owned,
    View,
    Ref,
}

struct Emitter<'m> {
    message: &'m Message,
    out: String,
}

impl Emitter<'_> {
    fn is_struct(kind: &str) -> bool {
        kind.starts_with(|c: char| c.is_uppercase())
    }

    fn scalar(field: &Field) -> Option<&'static str> {
        Some(match field.kind.as_str() {
            "int16" if field.name == "ErrorCode" => "ErrorCode",
            "bool" => "bool",
            "int8" => "i8",
            "int16" => "i16",
            "uint16" => "u16",
            "int32" => "i32",
            "uint32" => "u32",
            "int64" => "i64",
            "float64" => "f64",
            "uuid" => "Uuid",
            _ => return None,
        })
    }

    fn nullable(&self, field: &Field) -> bool {
        field.null.within(self.message.versions) != Presence::Never
    }

    fn present(&self, field: &Field) -> Presence {
        field.versions.within(self.message.versions)
    }

    fn flex(&self) -> &'static str {
        match self.message.flexible.within(self.message.versions) {
            Presence::Always => "true",
            Presence::Never => "false",
            Presence::If(_) => "flex",
        }
    }

    fn struct_name(kind: &str, form: Form) -> String {
        match form {
            Form::Owned => kind.to_owned(),
            Form::View => format!("{kind}View<'a>"),
            Form::Ref => format!("{kind}Ref<'a>"),
        }
    }

    /// Element type of an array, or the type of a field that is none.
    fn base_type(&self, field: &Field, form: Form) -> String {
        if let Some(scalar) = Self::scalar(field) {
            return scalar.into();
        }
        match (field.kind.as_str(), form) {
            ("string", Form::Owned) => "String".into(),
            ("string", _) => "&'a str".into(),
            ("bytes" | "records", Form::Owned) => "Bytes".into(),
            ("records", Form::Ref) => "RecordsRef<'a>".into(),
            ("bytes" | "records", _) => "&'a [u8]".into(),
            (kind, form) => Self::struct_name(kind, form),
        }
    }

    fn field_type(&self, field: &Field, form: Form) -> String {
        let base = self.base_type(field, form);
        let plain = match (field.array, form) {
            (false, _) => base,
            (true, Form::Owned) => format!("Vec<{base}>"),
            (true, Form::View) => format!("ArrayView<'a, {base}>"),
            (true, Form::Ref) => format!("&'a [{base}]"),
        };
        let records_ref = form == Form::Ref && field.kind == "records" && !field.array;
        if self.nullable(field) && !records_ref { format!("Option<{plain}>") } else { plain }
    }

    fn default_expr(&self, field: &Field, form: Form) -> String {
        let nullable = self.nullable(field);
        if form == Form::Ref && field.kind == "records" && !field.array {
            return "RecordsRef::Null".into();
        }
        // Records have no default of their own in Kafka; absent means null.
        if nullable && (field.default.as_deref() == Some("null") || field.kind == "records") {
            return "None".into();
        }
        let value = match (field.kind.as_str(), field.default.as_deref()) {
            _ if field.array => match form {
                Form::Ref => "&[]".to_owned(),
                _ => "Default::default()".to_owned(),
            },
            ("string", Some(text)) if form == Form::Owned => format!("{text:?}.to_owned()"),
            ("string", Some(text)) => format!("{text:?}"),
            ("string", None) if form == Form::Owned => "String::new()".to_owned(),
            ("string", None) => "\"\"".to_owned(),
            ("bool", d) => d.unwrap_or("false").to_owned(),
            ("float64", d) => format!("{:?}", d.unwrap_or("0").parse::<f64>().unwrap_or(0.0)),
            ("int16", d) if field.name == "ErrorCode" => format!("ErrorCode({})", d.unwrap_or("0")),
            ("int8" | "int16" | "uint16" | "int32" | "uint32" | "int64", d) => {
                d.unwrap_or("0").to_owned()
            }
            ("bytes", _) if form != Form::Owned => "&[]".to_owned(),
            _ => "Default::default()".to_owned(),
        };
        if nullable { format!("Some({value})") } else { value }
    }

    fn structs(&self) -> Vec<(String, &[Field])> {
        fn walk<'f>(
            emitter: &Emitter<'_>,
            fields: &'f [Field],
            out: &mut Vec<(String, &'f [Field])>,
        ) {
            for field in fields {
                if emitter.present(field) != Presence::Never && !field.children.is_empty() {
                    out.push((field.kind.clone(), &field.children));
                    walk(emitter, &field.children, out);
                }
            }
        }
        let mut out = vec![(self.message.name.clone(), self.message.fields.as_slice())];
        walk(self, &self.message.fields, &mut out);
        for (name, fields) in &self.message.shared {
            out.push((name.clone(), fields));
            walk(self, fields, &mut out);
        }
        out
    }

    /// A struct used only by fields of versions that are gone is not emitted; neither are fields.
    fn live<'f>(&self, fields: &'f [Field]) -> Vec<&'f Field> {
        fields.iter().filter(|f| self.present(f) != Presence::Never).collect()
    }

    fn emit(&mut self) {
        let message = self.message;
        let v = message.versions;
        let _ = writeln!(
            self.out,
            "//! {}, versions {} to {}.\n\nuse super::prelude::*;\n",
            message.name, v.lo, v.hi
        );
        let structs: Vec<(String, Vec<Field>)> = self
            .structs()
            .into_iter()
            .map(|(name, fields)| (name, self.live(fields).into_iter().cloned().collect()))
            .collect();
        let mut seen = Vec::new();
        for (i, (name, fields)) in structs.iter().enumerate() {
            if seen.contains(name) {
                continue;
            }
            seen.push(name.clone());
            self.owned(name, fields, i == 0);
            if VIEWS.contains(&message.name.as_str()) {
                self.view(name, fields, i == 0);
            }
            if REFS.contains(&message.name.as_str()) {
                self.by_ref(name, fields);
            }
        }
        self.message_impl();
    }

    fn flex_line(&mut self, fields: &[Field], always: bool) {
        let used = always
            || fields
                .iter()
                .any(|f| f.array || matches!(f.kind.as_str(), "string" | "bytes" | "records"));
        if self.flex() == "flex" && used {
            let Presence::If(e) = self.message.flexible.within(self.message.versions) else {
                return;
            };
            let _ = writeln!(self.out, "let flex = {e};");
        }
    }

    fn has_tags(&self) -> bool {
        self.flex() != "false"
    }

    fn owned(&mut self, name: &str, fields: &[Field], top: bool) {
        let what =
            if top { "message".to_owned() } else { format!("part of {}", self.message.name) };
        let is_config = CONFIGS.contains(&name);
        let has_secret = is_config || fields.iter().any(|f| SECRETS.contains(&f.name.as_str()));
        let derived = if has_secret { "Clone, PartialEq" } else { "Clone, Debug, PartialEq" };
        let _ = writeln!(
            self.out,
            "/// `{name}`, {what}.\n#[derive({derived})]\n#[allow(missing_docs)]\npub struct {name} {{"
        );
        for field in fields {
            let kind = self.field_type(field, Form::Owned);
            let _ = writeln!(self.out, "pub {}: {kind},", snake(&field.name));
        }
        if self.has_tags() {
            self.out.push_str("/// Tagged fields this version does not know, kept as they came.\npub unknown_tags: RawTags,\n");
        }
        self.out.push_str("}\n\n");
        if has_secret {
            self.debug_without_secrets(name, fields, is_config);
        }

        let _ = writeln!(self.out, "impl Default for {name} {{\nfn default() -> Self {{\nSelf {{");
        for field in fields {
            let value = self.default_expr(field, Form::Owned);
            let _ = writeln!(self.out, "{}: {value},", snake(&field.name));
        }
        if self.has_tags() {
            self.out.push_str("unknown_tags: RawTags::default(),\n");
        }
        self.out.push_str("}\n}\n}\n\n");

        let _ = writeln!(self.out, "impl {name} {{");
        let _ = writeln!(
            self.out,
            "#[allow(unused_variables)]\npub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {{"
        );
        self.flex_line(fields, self.has_tags());
        // Each field is a variable of its own: assigning to those of a default struct would drop what is
        // there, and compiling that for all messages takes long.
        for field in fields.iter().filter(|f| f.tag.is_none()) {
            let read = self.read_expr(field, Form::Owned);
            let value = match self.present(field) {
                Presence::Always => read,
                Presence::If(e) => {
                    format!(
                        "if {e} {{ {read} }} else {{ {} }}",
                        self.default_expr(field, Form::Owned)
                    )
                }
                Presence::Never => continue,
            };
            let _ = writeln!(self.out, "let {} = {value};", variable(field));
        }
        self.read_owned_tags(fields);
        self.out.push_str("Ok(Self {\n");
        for field in fields {
            let (name, read) = (snake(&field.name), variable(field));
            let _ = if name == read {
                writeln!(self.out, "{name},")
            } else {
                writeln!(self.out, "{name}: {read},")
            };
        }
        if self.has_tags() {
            self.out.push_str("unknown_tags,\n");
        }
        self.out.push_str("})\n}\n\n");
        self.writer(name, fields, Form::Owned);
        self.out.push_str("}\n\n");
        self.json(name, fields);
    }

    /// `Debug` of a struct that holds a secret. Unknown tags are left out.
    fn debug_without_secrets(&mut self, name: &str, fields: &[Field], is_config: bool) {
        let _ = writeln!(
            self.out,
            "impl std::fmt::Debug for {name} {{\nfn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{\nlet mut shown = f.debug_struct(\"{name}\");"
        );
        for field in fields {
            let field_name = snake(&field.name);
            let body = if SECRETS.contains(&field.name.as_str()) {
                format!("shown.field(\"{field_name}\", &crate::secret::HIDDEN);")
            } else if is_config && field.name == "Value" {
                format!(
                    "if crate::secret::is_sensitive_name(&self.name) {{ shown.field(\"{field_name}\", &crate::secret::HIDDEN); }} else {{ shown.field(\"{field_name}\", &self.{field_name}); }}"
                )
            } else {
                format!("shown.field(\"{field_name}\", &self.{field_name});")
            };
            let _ = writeln!(self.out, "{body}");
        }
        self.out.push_str("shown.finish_non_exhaustive()\n}\n}\n\n");
    }

    fn guarded(&mut self, field: &Field, body: &str) {
        match self.present(field) {
            Presence::Always => {
                let _ = writeln!(self.out, "{body}");
            }
            Presence::If(e) => {
                let _ = writeln!(self.out, "if {e} {{ {body} }}");
            }
            Presence::Never => {}
        }
    }

    /// The features with which this message has a form in JSON.
    fn json_features(&self) -> &'static str {
        if self.message.is_stored() { tables::JSON_OF_RECORDS } else { tables::JSON_OF_ALL }
    }

    fn json(&mut self, name: &str, fields: &[Field]) {
        let json = self.json_features();
        let _ = writeln!(
            self.out,
            "#[cfg({json})]\nimpl {name} {{\n#[allow(unused_variables, unused_mut)]\npub(crate) fn json(&self, version: i16) -> serde_json::Value {{\nlet mut o = serde_json::Map::new();"
        );
        for field in fields {
            let at = format!("self.{}", snake(&field.name));
            let nullable = self.nullable(field);
            let (var, value) = if field.array {
                (
                    "v",
                    format!(
                        "serde_json::Value::Array(v.iter().map(|v| {}).collect())",
                        Self::json_value(field, "v")
                    ),
                )
            } else {
                ("v", Self::json_value(field, "v"))
            };
            let key = if field.kind == "records" {
                format!("{}SizeInBytes", camel(&field.name))
            } else {
                camel(&field.name)
            };
            let expr = if nullable {
                format!("match &{at} {{ Some({var}) => {value}, None => serde_json::Value::Null }}")
            } else {
                format!("{{ let {var} = &{at}; {value} }}")
            };
            let mut body = format!("o.insert({key:?}.into(), {expr});");
            // Kafka shows the size of records, but under the field's own name that there are none.
            if field.kind == "records" && nullable {
                body = format!(
                    "match &{at} {{ Some(v) => o.insert({key:?}.into(), {value}), None => o.insert({:?}.into(), serde_json::Value::Null) }};",
                    camel(&field.name)
                );
            }
            if field.tag.is_some() {
                body = format!("if {} {{ {body} }}", self.set_expr(field, Form::Owned));
            }
            self.guarded(field, &body);
        }
        self.out.push_str("serde_json::Value::Object(o)\n}\n}\n\n");
    }

    fn json_value(field: &Field, v: &str) -> String {
        match field.kind.as_str() {
            "int16" if field.name == "ErrorCode" => format!("{v}.0.into()"),
            "bool" | "int8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "float64" => {
                format!("(*{v}).into()")
            }
            "uuid" => format!("{v}.to_string().into()"),
            "string" => format!("{v}.as_str().into()"),
            "bytes" => format!("crate::json::base64({v}).into()"),
            "records" => format!("{v}.len().into()"),
            _ => format!("{v}.json(version)"),
        }
    }

    fn message_impl(&mut self) {
        let m = self.message;
        let flexible = match m.flexible.within(m.versions) {
            Presence::Always => m.versions.lo,
            Presence::Never => i16::MAX,
            Presence::If(_) => m.flexible.lo,
        };
        let name = &m.name;
        let json = self.json_features();
        let is_throttle = |field: &Field| field.name == "ThrottleTimeMs";
        let throttle = match m.fields.iter().any(is_throttle) {
            true => "fn throttle_time_ms(&self) -> i32 { self.throttle_time_ms }\n",
            false => "",
        };
        let _ = writeln!(
            self.out,
            "impl Message for {name} {{\nconst NAME: &'static str = {name:?};\nconst MIN_VERSION: i16 = {};\nconst MAX_VERSION: i16 = {};\nconst FLEXIBLE_FROM: i16 = {flexible};\n\
             fn decode(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {{ Self::check_version(version)?; Self::read(r, version) }}\n\
             fn encode(&self, w: &mut Writer, version: i16) -> Encoded {{ Self::check_written_version(version)?; self.write(w, version) }}\n\
             {throttle}}}\n\n#[cfg({json})]\nimpl crate::json::ToJson for {name} {{\n\
             fn to_json(&self, version: i16) -> serde_json::Value {{ self.json(version) }}\n}}\n",
            m.versions.lo, m.versions.hi
        );
        if let Some(key) = m.key {
            match m.kind.as_str() {
                "request" => {
                    let response = name.replace("Request", "Response");
                    let _ = writeln!(
                        self.out,
                        "impl Request for {name} {{\nconst API_KEY: ApiKey = ApiKey({key});\ntype Response = super::{}::{response};\n}}",
                        snake(&response)
                    );
                }
                "metadata" | "remote" | "coordinator-key" | "coordinator-value" => {
                    let _ = writeln!(
                        self.out,
                        "impl {name} {{\n/// Number of this record type.\npub const KEY: i16 = {key};\n}}"
                    );
                }
                _ => {}
            }
        }
    }
}

/// The folders of generated code: of the messages, and of the configs.
pub const FOLDERS: [&str; 2] = ["crates/wire/src/gen", "crates/metadata/src/config/gen"];

/// Writes the generated files below `to` (the repository, or a scratch folder for the check).
pub fn run(root: &Path, to: &Path) -> Result<(), String> {
    let [messages, configs] = FOLDERS;
    write_messages(root, &to.join(messages))?;
    write_configs(root, &to.join(configs))
}

fn write_messages(root: &Path, to: &Path) -> Result<(), String> {
    let mut messages = BTreeMap::new();
    for folder in ["protocol", "metadata", "coordinator", "storage", "thalweg"] {
        let dir = root.join("schemas").join(folder);
        for entry in fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))? {
            let path = entry.map_err(|e| e.to_string())?.path();
            let text = fs::read_to_string(&path).map_err(|e| e.to_string())?;
            let message = parse(&text).map_err(|e| format!("{}: {e}", path.display()))?;
            messages.insert(message.name.clone(), message);
        }
    }
    empty(to)?;
    let mut index = String::from(
        "//! Generated by `cargo xtask codegen` from `schemas/`; not edited by hand.\n\npub(crate) mod prelude;\npub mod api_table;\npub mod metadata_record;\npub(crate) mod table;\n",
    );
    for message in messages.values() {
        let mut emitter = Emitter { message, out: String::new() };
        emitter.emit();
        let module = snake(&message.name);
        fs::write(to.join(format!("{module}.rs")), emitter.out).map_err(|e| e.to_string())?;
        let _ = writeln!(index, "pub mod {module};");
    }
    index.push('\n');
    for message in messages.values() {
        let _ = writeln!(index, "pub use {}::{};", snake(&message.name), message.name);
    }
    fs::write(to.join("mod.rs"), index).map_err(|e| e.to_string())?;
    fs::write(to.join("prelude.rs"), PRELUDE).map_err(|e| e.to_string())?;
    fs::write(to.join("api_table.rs"), api_table(&messages)).map_err(|e| e.to_string())?;
    fs::write(to.join("metadata_record.rs"), metadata_enum(&messages))
        .map_err(|e| e.to_string())?;
    fs::write(to.join("table.rs"), table(&messages)).map_err(|e| e.to_string())?;
    format(root, to)
}

fn write_configs(root: &Path, to: &Path) -> Result<(), String> {
    let table = |name: &str| {
        let path = root.join("crates/metadata/src/config/tables").join(name);
        fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
    };
    empty(to)?;
    let index = "//! Generated by `cargo xtask codegen` from `config/tables/`; not edited by hand.\n\npub(super) mod broker;\npub(super) mod topic;\n";
    for (name, text) in [
        ("mod.rs", index.to_owned()),
        ("broker.rs", configs::broker(&table("broker.txt")?)?),
        ("topic.rs", configs::topic(&table("topic.txt")?)?),
    ] {
        fs::write(to.join(name), text).map_err(|e| e.to_string())?;
    }
    format(root, to)
}

fn empty(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|e| e.to_string())?;
    }
    fs::create_dir_all(folder).map_err(|e| e.to_string())
}

/// Formats the modules of a folder of generated code.
fn format(root: &Path, folder: &Path) -> Result<(), String> {
    let status = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root.join("rustfmt.toml"))
        .arg(folder.join("mod.rs"))
        .status()
        .map_err(|e| format!("rustfmt: {e}"))?;
    if !status.success() {
        return Err("rustfmt refused the generated code".into());
    }
    Ok(())
}

/// Whether the committed code is what the generator writes now.
pub fn check(root: &Path, scratch: &Path) -> Result<(), String> {
    run(root, scratch)?;
    for folder in FOLDERS {
        let (committed, written) = (root.join(folder), scratch.join(folder));
        let mut names = Vec::new();
        for dir in [&committed, &written] {
            for entry in fs::read_dir(dir).map_err(|e| e.to_string())? {
                names.push(entry.map_err(|e| e.to_string())?.file_name());
            }
        }
        names.sort();
        names.dedup();
        for name in names {
            let (old, new) = (fs::read(committed.join(&name)), fs::read(written.join(&name)));
            if old.ok() != new.ok() {
                let name = name.to_string_lossy();
                return Err(format!("{folder}/{name} is stale: run `cargo xtask codegen`"));
            }
        }
    }
    Ok(())
}
