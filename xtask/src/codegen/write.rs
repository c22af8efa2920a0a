//! Statements that write fields, of the owned form and of refs.

use std::fmt::Write as _;

use super::facts::{Field, Presence, Versions};
use super::{Emitter, Form, snake};

impl Emitter<'_> {
    /// Bytes of a field that always takes as many.
    pub(super) fn fixed_size(field: &Field) -> Option<usize> {
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
    pub(super) fn runs<'f>(&self, fields: &'f [&'f Field]) -> Vec<&'f [&'f Field]> {
        fields
            .chunk_by(|a, b| {
                Self::fixed_size(a).is_some()
                    && Self::fixed_size(b).is_some()
                    && self.present(a) == self.present(b)
            })
            .collect()
    }

    /// Writes a run of fields of fixed size at once.
    pub(super) fn write_fixed(run: &[&Field]) -> String {
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

    pub(super) fn writer(&mut self, name: &str, fields: &[Field], form: Form) {
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
            if unknown && tagged.is_empty() {
                let flex = self.flex();
                let _ = writeln!(
                    self.out,
                    "w.unknown_tags({flex}, &self.unknown_tags, {name:?}, version)\n}}"
                );
                return;
            }
            let start = if unknown { "self.unknown_tags.len()" } else { "0" };
            if tagged.is_empty() {
                body.push_str("w.uvarint(0);");
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
    pub(super) fn set_expr(&self, field: &Field, form: Form) -> String {
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

    pub(super) fn absent_check(&self, name: &str, field: &Field, form: Form) -> String {
        if field.ignorable {
            return String::new();
        }
        let set = self.set_expr(field, form);
        format!(
            "if {set} {{ return Err(EncodeError::NotInVersion {{ message: {name:?}, field: {:?}, version }}); }}",
            field.name
        )
    }

    pub(super) fn write_stmt(&self, name: &str, field: &Field, form: Form) -> String {
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
}
