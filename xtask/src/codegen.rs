//! `cargo xtask codegen`: writes `crates/wire/src/gen/` from the fact files under `schemas/`.
//!
//! Three forms come out of one description: *owned* structs that decode and encode (all messages),
//! *views* that decode without allocating (`VIEWS`), and *refs* that encode from borrowed parts
//! (`REFS`). Only what stands here knows in which version a field appears.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

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

#[derive(Clone, Copy, PartialEq, Debug)]
struct Versions {
    lo: i16,
    hi: i16,
}

impl Versions {
    const NONE: Versions = Versions { lo: 0, hi: -1 };

    fn parse(text: &str) -> Result<Versions, String> {
        let bad = |_| format!("bad version range {text:?}");
        if text == "none" {
            return Ok(Versions::NONE);
        }
        if let Some(lo) = text.strip_suffix('+') {
            return Ok(Versions { lo: lo.parse().map_err(bad)?, hi: i16::MAX });
        }
        if let Some((lo, hi)) = text.split_once('-') {
            return Ok(Versions { lo: lo.parse().map_err(bad)?, hi: hi.parse().map_err(bad)? });
        }
        let only = text.parse().map_err(bad)?;
        Ok(Versions { lo: only, hi: only })
    }

    fn within(self, outer: Versions) -> Presence {
        if self.hi < self.lo || self.hi < outer.lo || self.lo > outer.hi {
            return Presence::Never;
        }
        match (self.lo > outer.lo, self.hi < outer.hi) {
            (false, false) => Presence::Always,
            (true, false) => Presence::If(format!("version >= {}", self.lo)),
            (false, true) => Presence::If(format!("version <= {}", self.hi)),
            (true, true) if self.lo == self.hi => Presence::If(format!("version == {}", self.lo)),
            (true, true) => Presence::If(format!("({}..={}).contains(&version)", self.lo, self.hi)),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
enum Presence {
    Always,
    Never,
    If(String),
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    array: bool,
    kind: String,
    versions: Versions,
    null: Versions,
    tag: Option<u32>,
    default: Option<String>,
    ignorable: bool,
    never_flexible: bool,
    children: Vec<Field>,
}

#[derive(Debug)]
struct Message {
    kind: String,
    key: Option<i16>,
    name: String,
    versions: Versions,
    flexible: Versions,
    listeners: Vec<String>,
    unstable: bool,
    fields: Vec<Field>,
    shared: Vec<(String, Vec<Field>)>,
}

fn parse(text: &str) -> Result<Message, String> {
    let mut lines = text.lines().filter(|l| !l.trim().is_empty());
    let head: Vec<&str> = lines.next().ok_or("empty schema")?.split_whitespace().collect();
    let [kind, key, name, rest @ ..] = head.as_slice() else { return Err("bad first line".into()) };
    let mut message = Message {
        kind: (*kind).into(),
        key: key.parse().ok(),
        name: (*name).into(),
        versions: Versions::NONE,
        flexible: Versions::NONE,
        listeners: Vec::new(),
        unstable: false,
        fields: Vec::new(),
        shared: Vec::new(),
    };
    for word in rest {
        match word.split_once('=') {
            Some(("versions", v)) => message.versions = Versions::parse(v)?,
            Some(("flexible", v)) => message.flexible = Versions::parse(v)?,
            Some(("listeners", v)) => message.listeners = v.split(',').map(Into::into).collect(),
            None if *word == "unstable" => message.unstable = true,
            _ => return Err(format!("{name}: unknown word {word:?}")),
        }
    }
    let lines: Vec<&str> = lines.collect();
    let mut at = 0;
    while at < lines.len() {
        if let Some(shared) = lines[at].strip_prefix("struct ") {
            at += 1;
            let fields = parse_fields(&lines, &mut at, 1)?;
            message.shared.push((shared.trim().into(), fields));
        } else {
            message.fields.extend(parse_fields(&lines, &mut at, 0)?);
        }
    }
    Ok(message)
}

fn parse_fields(lines: &[&str], at: &mut usize, depth: usize) -> Result<Vec<Field>, String> {
    let mut out = Vec::new();
    while *at < lines.len() {
        let line = lines[*at];
        let indent = line.len() - line.trim_start().len();
        if indent < depth * 2 || (depth == 0 && line.starts_with("struct ")) {
            break;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, kind, versions, rest @ ..] = words.as_slice() else {
            return Err(format!("bad field line {line:?}"));
        };
        let mut field = Field {
            name: (*name).into(),
            array: kind.starts_with("[]"),
            kind: kind.trim_start_matches("[]").into(),
            versions: Versions::parse(versions)?,
            null: Versions::NONE,
            tag: None,
            default: None,
            ignorable: false,
            never_flexible: false,
            children: Vec::new(),
        };
        for word in rest {
            match word.split_once('=') {
                Some(("null", v)) => field.null = Versions::parse(v)?,
                Some(("tag", v)) => {
                    let (tag, tagged) = v.split_once('@').ok_or("bad tag")?;
                    field.tag = Some(tag.parse().map_err(|_| "bad tag")?);
                    if Versions::parse(tagged)? != field.versions {
                        return Err(format!("{name}: tagged in some versions only"));
                    }
                }
                Some(("default", v)) => field.default = Some(v.into()),
                Some(("flexible", "none")) => field.never_flexible = true,
                None if *word == "ignorable" => field.ignorable = true,
                _ => return Err(format!("{name}: unknown word {word:?}")),
            }
        }
        *at += 1;
        field.children = parse_fields(lines, at, depth + 1)?;
        out.push(field);
    }
    Ok(out)
}

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
        let _ = writeln!(
            self.out,
            "/// `{name}`, {what}.\n#[derive(Clone, Debug, PartialEq)]\n#[allow(missing_docs)]\npub struct {name} {{"
        );
        for field in fields {
            let kind = self.field_type(field, Form::Owned);
            let _ = writeln!(self.out, "pub {}: {kind},", snake(&field.name));
        }
        if self.has_tags() {
            self.out.push_str("/// Tagged fields this version does not know, kept as they came.\npub unknown_tags: RawTags,\n");
        }
        self.out.push_str("}\n\n");

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
            "#[allow(unused_variables, clippy::field_reassign_with_default)]\npub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {{"
        );
        self.flex_line(fields, self.has_tags());
        self.out.push_str("let mut m = Self::default();\n");
        for field in fields.iter().filter(|f| f.tag.is_none()) {
            let body =
                format!("m.{} = {};", snake(&field.name), self.read_expr(field, Form::Owned));
            self.guarded(field, &body);
        }
        self.read_tags(fields, Form::Owned);
        self.out.push_str("Ok(m)\n}\n\n");
        self.writer(name, fields, Form::Owned);
        self.out.push_str("}\n\n");
        self.json(name, fields);
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

    fn read_tags(&mut self, fields: &[Field], form: Form) {
        if !self.has_tags() {
            return;
        }
        let mut arms = String::new();
        for field in fields {
            let Some(tag) = field.tag else { continue };
            let guard = self.tag_guard(field);
            let _ = writeln!(
                arms,
                "{tag} => {{ {guard} m.{} = {}; }}",
                snake(&field.name),
                self.read_expr(field, form)
            );
        }
        let keep = match form {
            Form::Owned => "Some(&mut unknown_tags)",
            _ => "None",
        };
        let open = if self.flex() == "true" { "{" } else { "if flex {" };
        let body = if arms.is_empty() {
            "|_, _| Ok(false)".to_owned()
        } else {
            format!("|r, tag| {{ match tag {{ {arms} _ => return Ok(false), }} Ok(true) }}")
        };
        let (pre, post) = match form {
            Form::Owned => {
                ("let mut unknown_tags = RawTags::default();", "m.unknown_tags = unknown_tags;")
            }
            _ => ("", ""),
        };
        let _ = writeln!(self.out, "{open} {pre} r.tags({keep}, {body})?; {post} }}");
    }

    /// Refuses a tagged field in versions that do not have it.
    fn tag_guard(&self, field: &Field) -> String {
        match (field.tag, self.present(field)) {
            (Some(tag), Presence::If(e)) => format!(
                "if !({e}) {{ return Err(DecodeError::TagNotInVersion {{ tag: {tag}, version }}); }}"
            ),
            _ => String::new(),
        }
    }

    /// The flexibility flag a field is read and written with.
    fn field_flex(&self, field: &Field) -> &'static str {
        if field.never_flexible { "false" } else { self.flex() }
    }

    fn read_expr(&self, field: &Field, form: Form) -> String {
        let flex = self.field_flex(field);
        let nullable = self.nullable(field);
        if field.array {
            let element = self.element_read(field, flex, form);
            let call = match form {
                Form::View => {
                    let method = if nullable { "nullable_array_view" } else { "array_view" };
                    format!("r.{method}({flex}, version)?")
                }
                _ => {
                    let method = if nullable { "nullable_vec" } else { "vec" };
                    format!("r.{method}({flex}, |r| {element})?")
                }
            };
            return self.null_checked(field, call);
        }
        if let Some(scalar) = Self::scalar(field) {
            return match scalar {
                "ErrorCode" => "ErrorCode(r.i16()?)".into(),
                "Uuid" => "r.uuid()?".into(),
                other => format!("r.{other}()?"),
            };
        }
        let method = match (field.kind.as_str(), form) {
            ("string", Form::Owned) => "string",
            ("string", _) => "str",
            ("bytes" | "records", Form::Owned) => "bytes",
            ("bytes" | "records", _) => "slice",
            (kind, _) => {
                let read = match form {
                    Form::View => format!("{kind}View::read(r, version)?"),
                    _ => format!("{kind}::read(r, version)?"),
                };
                if !nullable {
                    return read;
                }
                // A nullable struct has a marker in front: one byte, or in a tag an unsigned varint.
                let present = if field.tag.is_some() { "r.uvarint()? > 0" } else { "r.i8()? >= 0" };
                let call = format!("if {present} {{ Some({read}) }} else {{ None }}");
                return self.null_checked(field, call);
            }
        };
        if nullable {
            self.null_checked(field, format!("r.nullable_{method}({flex})?"))
        } else {
            format!("r.{method}({flex})?")
        }
    }

    fn null_checked(&self, field: &Field, call: String) -> String {
        // Null may be allowed from a version on that is later than the field's first.
        let allowed = field.null.within(Versions {
            lo: field.versions.lo.max(self.message.versions.lo),
            hi: field.versions.hi.min(self.message.versions.hi),
        });
        match allowed {
            Presence::If(e) => format!("non_null_unless({e}, {call}, {:?})?", field.name),
            _ => call,
        }
    }

    fn element_read(&self, field: &Field, flex: &str, form: Form) -> String {
        if let Some(scalar) = Self::scalar(field) {
            return match scalar {
                "ErrorCode" => "Ok(ErrorCode(r.i16()?))".into(),
                "Uuid" => "r.uuid()".into(),
                other => format!("r.{other}()"),
            };
        }
        match field.kind.as_str() {
            "string" => format!("r.string({flex})"),
            "bytes" => format!("r.bytes({flex})"),
            kind => format!("{}::read(r, version)", Self::struct_name(kind, form)),
        }
    }

    /// Bytes of a field that always takes as many.
    fn fixed_size(field: &Field) -> Option<usize> {
        if field.array {
            return None;
        }
        Some(match field.kind.as_str() {
            "bool" | "int8" => 1,
            "int16" | "uint16" => 2,
            "int32" | "uint32" => 4,
            "int64" | "float64" => 8,
            "uuid" => 16,
            _ => return None,
        })
    }

    /// Splits fields so that neighbours of fixed size that the same versions have stay together:
    /// they are bounds-checked once.
    fn runs<'f>(&self, fields: &'f [&'f Field]) -> Vec<&'f [&'f Field]> {
        fields
            .chunk_by(|a, b| {
                Self::fixed_size(a).is_some()
                    && Self::fixed_size(b).is_some()
                    && self.present(a) == self.present(b)
            })
            .collect()
    }

    /// Writes a run of fields of fixed size at once.
    fn write_fixed(run: &[&Field]) -> String {
        let mut at = 0;
        let mut body = String::new();
        for field in run {
            let size = Self::fixed_size(field).unwrap_or(0);
            let value = format!("self.{}", snake(&field.name));
            let bytes = match Self::scalar(field) {
                Some("ErrorCode" | "Uuid") if size == 16 => format!("{value}.0"),
                Some("ErrorCode") => format!("{value}.0.to_be_bytes()"),
                Some("bool") => format!("[u8::from({value})]"),
                _ => format!("{value}.to_be_bytes()"),
            };
            let _ = write!(body, "b[{at}..{}].copy_from_slice(&{bytes});", at + size);
            at += size;
        }
        format!("let mut b = [0; {at}]; {body} w.raw(&b);")
    }

    fn writer(&mut self, name: &str, fields: &[Field], form: Form) {
        let _ = writeln!(
            self.out,
            "#[allow(unused_variables)]\npub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {{"
        );
        self.flex_line(fields, self.has_tags());
        let untagged: Vec<&Field> = fields.iter().filter(|f| f.tag.is_none()).collect();
        let mut runs = self.runs(&untagged).into_iter().peekable();
        while let Some(run) = runs.next() {
            let body = match run {
                [field] => self.write_stmt(name, field, form),
                fields => Self::write_fixed(fields),
            };
            let absent: String =
                run.iter().map(|field| self.absent_check(name, field, form)).collect();
            // Newer versions write a run and the next one at once.
            if let Some(next) = runs.next_if(|next| {
                self.present(run[0]) == Presence::Always
                    && matches!(self.present(next[0]), Presence::If(_))
                    && [run[0], next[0]].iter().all(|f| Self::fixed_size(f).is_some())
            }) {
                let both: Vec<&Field> = run.iter().chain(next).copied().collect();
                let checks: String =
                    next.iter().map(|field| self.absent_check(name, field, form)).collect();
                let all = Self::write_fixed(&both);
                let Presence::If(e) = self.present(next[0]) else { continue };
                let _ = writeln!(self.out, "if {e} {{ {all} }} else {{ {body} {checks} }}");
                continue;
            }
            match self.present(run[0]) {
                Presence::If(e) if !absent.is_empty() => {
                    let _ = writeln!(self.out, "if {e} {{ {body} }} else {{ {absent} }}");
                }
                _ => self.guarded(run[0], &body),
            }
        }
        if self.has_tags() {
            let tagged: Vec<&Field> = {
                let mut t: Vec<&Field> = fields.iter().filter(|f| f.tag.is_some()).collect();
                t.sort_by_key(|f| f.tag);
                t
            };
            let mut body = String::new();
            let unknown = form == Form::Owned;
            let start = if unknown { "self.unknown_tags.len()" } else { "0" };
            if tagged.is_empty() {
                body.push_str(if unknown {
                    "w.raw_tags(&self.unknown_tags)?;"
                } else {
                    "w.uvarint(0);"
                });
            } else {
                let _ = writeln!(body, "let mut count = {start};");
                for (i, field) in tagged.iter().enumerate() {
                    let test = self.set_expr(field, form);
                    let test = match self.present(field) {
                        Presence::If(e) => format!("{e} && {test}"),
                        _ => test,
                    };
                    let _ = writeln!(body, "let tag_{i} = {test}; count += usize::from(tag_{i});");
                }
                body.push_str("w.uvarint(count as u32);\nif count > 0 {\n");
                if unknown {
                    body.push_str("let mut raw = self.unknown_tags.as_slice();\n");
                }
                for (i, field) in tagged.iter().enumerate() {
                    let tag = field.tag.unwrap_or(0);
                    if unknown {
                        let _ = writeln!(body, "w.raw_tags_below(Some({tag}), &mut raw)?;");
                    }
                    let stmt = self.write_stmt(name, field, form);
                    let _ = writeln!(
                        body,
                        "if tag_{i} {{ let at = w.begin_tag({tag}); {stmt} w.end_tag(at); }}"
                    );
                }
                if unknown {
                    body.push_str("w.raw_tags_below(None, &mut raw)?;\n");
                }
                body.push_str("}\n");
            }
            if self.flex() == "true" {
                let _ = writeln!(self.out, "{body}");
            } else {
                let _ = writeln!(self.out, "if flex {{ {body} }}");
                if unknown {
                    let _ = writeln!(
                        self.out,
                        "else if self.unknown_tags.len() > 0 {{ return Err(EncodeError::NotInVersion {{ message: {name:?}, field: \"unknown_tags\", version }}); }}"
                    );
                }
            }
            for field in &tagged {
                let absent = self.absent_check(name, field, form);
                if let Presence::If(e) = self.present(field)
                    && !absent.is_empty()
                {
                    let _ = writeln!(self.out, "if !({e}) {{ {absent} }}");
                }
            }
        }
        self.out.push_str("Ok(())\n}\n");
    }

    /// An expression that says whether the field differs from its default.
    fn set_expr(&self, field: &Field, form: Form) -> String {
        let at = format!("self.{}", snake(&field.name));
        let nullable = self.nullable(field);
        if form == Form::Ref && field.kind == "records" {
            return format!("!{at}.is_null()");
        }
        if nullable && self.default_expr(field, form) == "None" {
            return format!("{at}.is_some()");
        }
        if nullable {
            let inner = if field.array {
                "v.is_empty()".to_owned()
            } else {
                match field.kind.as_str() {
                    "string" if field.default.is_none() => "v.is_empty()".to_owned(),
                    "string" => format!("*v == {:?}", field.default.as_deref().unwrap_or("")),
                    "bytes" => "v.is_empty()".to_owned(),
                    _ => "*v == Default::default()".to_owned(),
                }
            };
            return format!("!{at}.as_ref().is_some_and(|v| {inner})");
        }
        if field.array
            || field.kind == "bytes"
            || (field.kind == "string" && field.default.is_none())
        {
            return format!("!{at}.is_empty()");
        }
        match field.kind.as_str() {
            "string" => format!("{at} != {:?}", field.default.as_deref().unwrap_or("")),
            "bool" if field.default.as_deref() == Some("true") => format!("!{at}"),
            "bool" => at,
            "uuid" => format!("!{at}.is_zero()"),
            kind if Self::is_struct(kind) => format!("{at} != Default::default()"),
            _ => format!("{at} != {}", self.default_expr(field, form)),
        }
    }

    fn absent_check(&self, name: &str, field: &Field, form: Form) -> String {
        if field.ignorable {
            return String::new();
        }
        let set = self.set_expr(field, form);
        format!(
            "if {set} {{ return Err(EncodeError::NotInVersion {{ message: {name:?}, field: {:?}, version }}); }}",
            field.name
        )
    }

    fn write_stmt(&self, name: &str, field: &Field, form: Form) -> String {
        let flex = self.field_flex(field);
        let at = format!("self.{}", snake(&field.name));
        let nullable = self.nullable(field);
        let null_guard = match field.null.within(Versions {
            lo: field.versions.lo.max(self.message.versions.lo),
            hi: field.versions.hi.min(self.message.versions.hi),
        }) {
            Presence::If(e) => format!(
                "if {at}.is_none() && !({e}) {{ return Err(EncodeError::Null {{ message: {name:?}, field: {:?}, version }}); }}",
                field.name
            ),
            _ => String::new(),
        };
        if field.array {
            let element = if let Some(scalar) = Self::scalar(field) {
                match scalar {
                    "ErrorCode" => "{ w.i16(v.0); Ok(()) }".to_owned(),
                    "Uuid" => "{ w.uuid(*v); Ok(()) }".to_owned(),
                    other => format!("{{ w.{other}(*v); Ok(()) }}"),
                }
            } else {
                match field.kind.as_str() {
                    "string" => format!("w.string({flex}, v)"),
                    "bytes" => format!("w.bytes({flex}, v)"),
                    _ => "v.write(w, version)".to_owned(),
                }
            };
            let arg = match (nullable, form) {
                (true, Form::Owned) => format!("{at}.as_deref()"),
                (true, _) => at.clone(),
                (false, Form::Owned) => format!("Some(&{at}[..])"),
                (false, _) => format!("Some({at})"),
            };
            return format!("{null_guard} w.array({flex}, {arg}, |w, v| {element})?;");
        }
        if let Some(scalar) = Self::scalar(field) {
            return match scalar {
                "ErrorCode" => format!("w.i16({at}.0);"),
                "Uuid" => format!("w.uuid({at});"),
                other => format!("w.{other}({at});"),
            };
        }
        match field.kind.as_str() {
            "string" if nullable => {
                let arg = if form == Form::Owned { format!("{at}.as_deref()") } else { at };
                format!("{null_guard} w.nullable_string({flex}, {arg})?;")
            }
            "string" => {
                let arg = if form == Form::Owned { format!("&{at}") } else { at };
                format!("w.string({flex}, {arg})?;")
            }
            "bytes" | "records" if form == Form::Ref && field.kind == "records" => {
                format!("w.records({flex}, &{at})?;")
            }
            "bytes" | "records" => {
                let (method, arg) = match (field.kind.as_str(), nullable, form) {
                    ("records", true, _) => ("shared_bytes", format!("{at}.as_ref()")),
                    ("records", false, _) => ("shared_bytes", format!("Some(&{at})")),
                    (_, true, Form::Owned) => ("nullable_bytes", format!("{at}.as_deref()")),
                    (_, true, _) => ("nullable_bytes", at),
                    (_, false, Form::Owned) => ("bytes", format!("&{at}")),
                    (_, false, _) => ("bytes", at),
                };
                format!("{null_guard} w.{method}({flex}, {arg})?;")
            }
            _ if nullable => {
                let (yes, no) = if field.tag.is_some() {
                    ("w.uvarint(1);", "w.uvarint(0);")
                } else {
                    ("w.i8(1);", "w.i8(-1);")
                };
                format!(
                    "{null_guard} match &{at} {{ Some(v) => {{ {yes} v.write(w, version)?; }} None => {{ {no} }} }}"
                )
            }
            _ => format!("{at}.write(w, version)?;"),
        }
    }

    fn view(&mut self, name: &str, fields: &[Field], top: bool) {
        let lifetime_used = fields.iter().any(|f| f.array || Self::scalar(f).is_none());
        let phantom =
            if lifetime_used { "" } else { "_lifetime: std::marker::PhantomData<&'a ()>,\n" };
        let _ = writeln!(
            self.out,
            "/// `{name}` read in place, nothing copied.\n#[derive(Clone, Copy, Debug)]\n#[allow(missing_docs)]\npub struct {name}View<'a> {{"
        );
        for field in fields {
            let kind = self.field_type(field, Form::View);
            let _ = writeln!(self.out, "pub {}: {kind},", snake(&field.name));
        }
        let _ = writeln!(self.out, "{phantom}}}\n");
        let _ = writeln!(
            self.out,
            "impl Default for {name}View<'_> {{\nfn default() -> Self {{\nSelf {{"
        );
        for field in fields {
            let value = self.default_expr(field, Form::View);
            let _ = writeln!(self.out, "{}: {value},", snake(&field.name));
        }
        if !lifetime_used {
            self.out.push_str("_lifetime: std::marker::PhantomData,\n");
        }
        self.out.push_str("}\n}\n}\n\n");
        let _ = writeln!(
            self.out,
            "impl<'a> ViewElement<'a> for {name}View<'a> {{\n#[inline]\n#[allow(unused_variables)]\nfn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {{"
        );
        self.flex_line(fields, self.has_tags());
        self.out.push_str("let mut m = Self::default();\n");
        for field in fields.iter().filter(|f| f.tag.is_none()) {
            let body = format!("m.{} = {};", snake(&field.name), self.read_expr(field, Form::View));
            self.guarded(field, &body);
        }
        self.read_view_tags(fields);
        self.out.push_str("Ok(m)\n}\n\n");
        self.skip(fields);
        self.out.push_str("}\n\n");
        self.view_to_owned(name, fields);
        if top {
            let owned = &self.message.name;
            let _ = writeln!(
                self.out,
                "impl<'a> {name}View<'a> {{\n/// Reads and checks the whole message in place; no allocation.\npub fn parse(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {{\n{owned}::check_version(version)?;\n<Self as ViewElement>::read(r, version)\n}}\n}}\n"
            );
            self.parse_each(name, fields);
        }
    }

    /// Tags of a view; where none is known they are only gone past.
    fn read_view_tags(&mut self, fields: &[Field]) {
        if fields.iter().any(|f| f.tag.is_some()) {
            self.read_tags(fields, Form::View);
            return;
        }
        match self.flex() {
            "true" => self.out.push_str("r.skip_tags()?;\n"),
            "flex" => self.out.push_str("if flex { r.skip_tags()?; }\n"),
            _ => {}
        }
    }

    /// Field by which a view is walked: an array of structs that is never null.
    fn walked<'f>(&self, fields: &'f [Field]) -> Option<&'f Field> {
        fields.iter().find(|f| {
            f.array
                && Self::is_struct(&f.kind)
                && f.tag.is_none()
                && !self.nullable(f)
                && self.present(f) == Presence::Always
        })
    }

    /// For messages made of topics made of partitions: parsing that hands out every partition.
    fn parse_each(&mut self, name: &str, fields: &[Field]) {
        let Some(outer) = self.walked(fields) else { return };
        let Some(inner) = self.walked(&outer.children) else { return };
        let owned = &self.message.name;
        let (topic, partition) = (&outer.kind, &inner.kind);
        let _ = writeln!(
            self.out,
            "impl<'a> {name}View<'a> {{\n\
             /// Reads and checks the whole message in place and hands out every `{partition}` on the way, in\n\
             /// one walk over the bytes. The `{topic}` beside it is filled as far as it stands in front of\n\
             /// its `{partition}`s. After an error the message is not valid, whatever was handed out.\n\
             pub fn parse_each(r: &mut Reader<'a>, version: i16, mut each: impl FnMut(&{topic}View<'a>, {partition}View<'a>)) -> Decoded<Self> {{\n\
             {owned}::check_version(version)?;"
        );
        self.flex_line(fields, self.has_tags());
        self.out.push_str("let mut m = Self::default();\n");
        for field in fields.iter().filter(|f| f.tag.is_none()) {
            let value = if field.name == outer.name {
                let flex = self.field_flex(field);
                format!(
                    "r.array_view_each({flex}, version, |r| {topic}View::walk(r, version, &mut each))?"
                )
            } else {
                self.read_expr(field, Form::View)
            };
            self.guarded(field, &format!("m.{} = {value};", snake(&field.name)));
        }
        self.read_view_tags(fields);
        self.out.push_str("Ok(m)\n}\n}\n\n");

        let _ = writeln!(
            self.out,
            "impl<'a> {topic}View<'a> {{\n#[inline]\n\
             fn walk(r: &mut Reader<'a>, version: i16, each: &mut impl FnMut(&Self, {partition}View<'a>)) -> Decoded<()> {{"
        );
        let fields: Vec<Field> = self.live(&outer.children).into_iter().cloned().collect();
        self.flex_line(&fields, self.has_tags());
        self.out.push_str("let mut m = Self::default();\n");
        for field in fields.iter().filter(|f| f.tag.is_none()) {
            let body = if field.name == inner.name {
                let flex = self.field_flex(field);
                format!(
                    "r.array_view_each::<{partition}View<'a>>({flex}, version, |r| {{ each(&m, {partition}View::read(r, version)?); Ok(()) }})?;"
                )
            } else {
                format!("m.{} = {};", snake(&field.name), self.read_expr(field, Form::View))
            };
            self.guarded(field, &body);
        }
        self.read_view_tags(&fields);
        self.out.push_str("Ok(())\n}\n}\n\n");
    }

    /// Goes past an element: every length is checked as when it is read, nothing is built.
    fn skip(&mut self, fields: &[Field]) {
        self.out.push_str(
            "#[inline]\n#[allow(unused_variables)]\nfn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {\n",
        );
        self.flex_line(fields, self.has_tags());
        let untagged: Vec<&Field> = fields.iter().filter(|f| f.tag.is_none()).collect();
        for run in self.runs(&untagged) {
            let size: usize = run.iter().filter_map(|f| Self::fixed_size(f)).sum();
            let body = if size > 0 { format!("r.skip({size})?;") } else { self.skip_stmt(run[0]) };
            self.guarded(run[0], &body);
        }
        if fields.iter().any(|f| f.tag.is_some()) {
            let mut arms = String::new();
            for field in fields {
                let Some(tag) = field.tag else { continue };
                let stmt = match Self::fixed_size(field) {
                    Some(size) => format!("r.skip({size})?;"),
                    None => self.skip_stmt(field),
                };
                let _ = writeln!(arms, "{tag} => {{ {} {stmt} }}", self.tag_guard(field));
            }
            let tags = format!(
                "r.tags(None, |r, tag| {{ match tag {{ {arms} _ => return Ok(false), }} Ok(true) }})?;"
            );
            let _ = match self.flex() {
                "true" => writeln!(self.out, "{tags}"),
                _ => writeln!(self.out, "if flex {{ {tags} }}"),
            };
        } else if self.has_tags() {
            let _ = match self.flex() {
                "true" => writeln!(self.out, "r.skip_tags()?;"),
                _ => writeln!(self.out, "if flex {{ r.skip_tags()?; }}"),
            };
        }
        self.out.push_str("Ok(())\n}\n");
    }

    fn skip_stmt(&self, field: &Field) -> String {
        let flex = self.field_flex(field);
        let nullable = self.nullable(field);
        let always_or_never_null = !self.null_checked(field, String::new()).contains("non_null");
        if field.array && always_or_never_null {
            let element = self.base_type(field, Form::View);
            return format!("r.skip_array::<{element}>({flex}, version, {nullable})?;");
        }
        match field.kind.as_str() {
            "string" if always_or_never_null => format!("r.skip_str({flex}, {nullable})?;"),
            kind if Self::is_struct(kind) && !nullable && !field.array => {
                format!("{kind}View::skip(r, version)?;")
            }
            _ => format!(
                "let _: {} = {};",
                self.field_type(field, Form::View),
                self.read_expr(field, Form::View)
            ),
        }
    }

    fn view_to_owned(&mut self, name: &str, fields: &[Field]) {
        let _ = writeln!(
            self.out,
            "impl {name}View<'_> {{\n/// Copies everything out. Tagged fields this version does not know are not in a view.\npub fn owned(&self) -> {name} {{\n{name} {{"
        );
        for field in fields {
            let at = format!("self.{}", snake(&field.name));
            let one = |v: &str| match field.kind.as_str() {
                _ if Self::scalar(field).is_some() => v.to_owned(),
                "string" => format!("{v}.to_owned()"),
                "bytes" | "records" => format!("Bytes::copy_from_slice({v})"),
                _ => format!("{v}.owned()"),
            };
            let plain = |v: &str| match (field.array, Self::scalar(field)) {
                (true, Some(_)) => format!("{v}.iter().collect()"),
                (true, None) => format!("{v}.iter().map(|v| {}).collect()", one("v")),
                (false, _) => one(v),
            };
            let value = if self.nullable(field) {
                format!("{at}.map(|v| {})", plain("v"))
            } else {
                plain(&at)
            };
            let _ = writeln!(self.out, "{}: {value},", snake(&field.name));
        }
        if self.has_tags() {
            self.out.push_str("unknown_tags: RawTags::default(),\n");
        }
        self.out.push_str("}\n}\n}\n\n");
    }

    fn by_ref(&mut self, name: &str, fields: &[Field]) {
        let lifetime_used = fields.iter().any(|f| f.array || Self::scalar(f).is_none());
        let phantom = if lifetime_used {
            ""
        } else {
            "#[doc(hidden)] pub _lifetime: std::marker::PhantomData<&'a ()>,\n"
        };
        let _ = writeln!(
            self.out,
            "/// `{name}` to be written from borrowed parts.\n#[derive(Clone, Debug, PartialEq)]\n#[allow(missing_docs)]\npub struct {name}Ref<'a> {{"
        );
        for field in fields {
            let kind = self.field_type(field, Form::Ref);
            let _ = writeln!(self.out, "pub {}: {kind},", snake(&field.name));
        }
        let _ = writeln!(self.out, "{phantom}}}\n");
        let _ = writeln!(
            self.out,
            "impl Default for {name}Ref<'_> {{\nfn default() -> Self {{\nSelf {{"
        );
        for field in fields {
            let value = self.default_expr(field, Form::Ref);
            let _ = writeln!(self.out, "{}: {value},", snake(&field.name));
        }
        if !lifetime_used {
            self.out.push_str("_lifetime: std::marker::PhantomData,\n");
        }
        self.out.push_str("}\n}\n}\n\n");
        let _ = writeln!(self.out, "impl {name}Ref<'_> {{");
        if name == self.message.name {
            let _ = writeln!(
                self.out,
                "/// Appends the message in `version`'s form.\npub fn encode(&self, w: &mut Writer, version: i16) -> Encoded {{\n{name}::check_written_version(version)?;\nself.write(w, version)\n}}"
            );
        }
        self.writer(name, fields, Form::Ref);
        self.out.push_str("}\n\n");
    }

    fn json(&mut self, name: &str, fields: &[Field]) {
        let _ = writeln!(
            self.out,
            "#[cfg(feature = \"json\")]\nimpl {name} {{\n#[allow(unused_variables, unused_mut)]\npub(crate) fn json(&self, version: i16) -> serde_json::Value {{\nlet mut o = serde_json::Map::new();"
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
        let _ = writeln!(
            self.out,
            "impl Message for {name} {{\nconst NAME: &'static str = {name:?};\nconst MIN_VERSION: i16 = {};\nconst MAX_VERSION: i16 = {};\nconst FLEXIBLE_FROM: i16 = {flexible};\n\
             fn decode(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {{ Self::check_version(version)?; Self::read(r, version) }}\n\
             fn encode(&self, w: &mut Writer, version: i16) -> Encoded {{ Self::check_written_version(version)?; self.write(w, version) }}\n\
             #[cfg(feature = \"json\")]\nfn to_json(&self, version: i16) -> serde_json::Value {{ self.json(version) }}\n}}\n",
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

/// Writes the generated files to `to` (the crate's `gen` folder, or a scratch folder for the check).
pub fn run(root: &Path, to: &Path) -> Result<(), String> {
    let mut messages = BTreeMap::new();
    for folder in ["protocol", "metadata", "coordinator", "storage"] {
        let dir = root.join("schemas").join(folder);
        for entry in fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))? {
            let path = entry.map_err(|e| e.to_string())?.path();
            let text = fs::read_to_string(&path).map_err(|e| e.to_string())?;
            let message = parse(&text).map_err(|e| format!("{}: {e}", path.display()))?;
            messages.insert(message.name.clone(), message);
        }
    }
    if to.exists() {
        fs::remove_dir_all(to).map_err(|e| e.to_string())?;
    }
    fs::create_dir_all(to).map_err(|e| e.to_string())?;
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
    let status = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root.join("rustfmt.toml"))
        .arg(to.join("mod.rs"))
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
    let committed = root.join("crates/wire/src/gen");
    let mut names = Vec::new();
    for dir in [&committed, &scratch.to_path_buf()] {
        for entry in fs::read_dir(dir).map_err(|e| e.to_string())? {
            names.push(entry.map_err(|e| e.to_string())?.file_name());
        }
    }
    names.sort();
    names.dedup();
    for name in names {
        let (old, new) = (fs::read(committed.join(&name)), fs::read(scratch.join(&name)));
        if old.ok() != new.ok() {
            return Err(format!("{} is stale: run `cargo xtask codegen`", name.to_string_lossy()));
        }
    }
    Ok(())
}

const PRELUDE: &str = "//! What every generated module needs.\n\npub(crate) use bytes::Bytes;\n\npub(crate) use crate::api::ApiKey;\npub(crate) use crate::error::{DecodeError, Decoded, EncodeError, Encoded, non_null_unless};\npub(crate) use crate::error_code::ErrorCode;\npub(crate) use crate::message::{Message, Request};\npub(crate) use crate::raw_tags::RawTags;\npub(crate) use crate::reader::Reader;\npub(crate) use crate::uuid::Uuid;\npub(crate) use crate::view::{ArrayView, ViewElement};\npub(crate) use crate::writer::{RecordsRef, Writer};\n";

fn api_table(messages: &BTreeMap<String, Message>) -> String {
    let mut requests: Vec<&Message> = messages.values().filter(|m| m.kind == "request").collect();
    requests.sort_by_key(|m| m.key);
    let mut out = String::from(
        "//! Every API of the protocol: number, name, versions, and which listeners serve it.\n\nuse crate::api::{ApiInfo, ApiKey};\n\n#[allow(missing_docs)]\nimpl ApiKey {\n",
    );
    for m in &requests {
        let name = m.name.trim_end_matches("Request");
        let _ = writeln!(
            out,
            "pub const {}: ApiKey = ApiKey({});",
            snake(name).to_uppercase(),
            m.key.unwrap_or(-1)
        );
    }
    out.push_str("}\n\n/// All APIs of Kafka 4.3, by number.\npub const APIS: &[ApiInfo] = &[\n");
    for m in &requests {
        let flexible = match m.flexible.within(m.versions) {
            Presence::Always => m.versions.lo,
            Presence::Never => i16::MAX,
            Presence::If(_) => m.flexible.lo,
        };
        let _ = writeln!(
            out,
            "ApiInfo {{ key: ApiKey({}), name: {:?}, min_version: {}, max_version: {}, max_stable_version: {}, flexible_from: {flexible}, broker: {}, controller: {} }},",
            m.key.unwrap_or(-1),
            m.name.trim_end_matches("Request"),
            m.versions.lo,
            m.versions.hi,
            if m.unstable { m.versions.hi - 1 } else { m.versions.hi },
            m.listeners.iter().any(|l| l == "broker"),
            m.listeners.iter().any(|l| l == "controller"),
        );
    }
    out.push_str("];\n");
    out
}

fn metadata_enum(messages: &BTreeMap<String, Message>) -> String {
    let mut records: Vec<&Message> = messages.values().filter(|m| m.kind == "metadata").collect();
    records.sort_by_key(|m| m.key);
    let mut out = String::from(
        "//! One record of the metadata log, whatever its type.\n\nuse super::prelude::*;\n\n/// A record of `__cluster_metadata`.\n#[derive(Clone, Debug, PartialEq)]\n#[allow(missing_docs)]\npub enum MetadataRecord {\n",
    );
    let short = |m: &Message| m.name.trim_end_matches("Record").to_owned();
    for m in &records {
        let _ = writeln!(out, "{}(super::{}),", short(m), m.name);
    }
    out.push_str("}\n\nimpl MetadataRecord {\n/// Number of the record's type.\npub fn key(&self) -> i16 {\nmatch self {\n");
    for m in &records {
        let _ = writeln!(out, "Self::{}(_) => {},", short(m), m.key.unwrap_or(-1));
    }
    out.push_str("}\n}\n\n/// Reads a record of type `key`.\npub fn decode(r: &mut Reader<'_>, key: i16, version: i16) -> Decoded<Self> {\nOk(match key {\n");
    for m in &records {
        let _ = writeln!(
            out,
            "{} => Self::{}(super::{}::decode(r, version)?),",
            m.key.unwrap_or(-1),
            short(m),
            m.name
        );
    }
    out.push_str("_ => return Err(DecodeError::UnknownRecordType { key }),\n})\n}\n\n/// Appends the record's body in `version`'s form.\npub fn encode(&self, w: &mut Writer, version: i16) -> Encoded {\nmatch self {\n");
    for m in &records {
        let _ = writeln!(out, "Self::{}(m) => m.encode(w, version),", short(m));
    }
    out.push_str("}\n}\n\n/// Versions this type of record can be written in.\npub fn versions(key: i16) -> Option<std::ops::RangeInclusive<i16>> {\nSome(match key {\n");
    for m in &records {
        let _ = writeln!(out, "{} => {}..={},", m.key.unwrap_or(-1), m.versions.lo, m.versions.hi);
    }
    out.push_str("_ => return None,\n})\n}\n}\n\n");
    for m in &records {
        let _ = writeln!(
            out,
            "impl From<super::{0}> for MetadataRecord {{ fn from(m: super::{0}) -> Self {{ Self::{1}(m) }} }}",
            m.name,
            short(m)
        );
    }
    out
}

fn table(messages: &BTreeMap<String, Message>) -> String {
    let mut out = String::from(
        "//! Every message by its name: for tools and tests that work with any of them.\n\nuse crate::table::Visit;\n\n/// Every message with its first and last version, by name.\npub const MESSAGES: &[(&str, i16, i16)] = &[\n",
    );
    for m in messages.values() {
        let _ = writeln!(out, "({:?}, {}, {}),", m.name, m.versions.lo, m.versions.hi);
    }
    out.push_str("];\n\n/// Calls `visitor` with the type of the named message; `None` when there is none of that name.\npub fn visit<V: Visit>(name: &str, visitor: V) -> Option<V::Output> {\nSome(match name {\n");
    for m in messages.values() {
        let _ = writeln!(out, "{:?} => visitor.visit::<super::{}>(),", m.name, m.name);
    }
    out.push_str("_ => return None,\n})\n}\n");
    out
}
