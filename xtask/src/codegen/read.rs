//! Statements that read fields, of the owned form and of views.

use std::fmt::Write as _;

use super::facts::{Field, Presence, Versions};
use super::{Emitter, Form, snake};

impl Emitter<'_> {
    pub(super) fn read_tags(&mut self, fields: &[Field], form: Form) {
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
    pub(super) fn tag_guard(&self, field: &Field) -> String {
        match (field.tag, self.present(field)) {
            (Some(tag), Presence::If(e)) => format!(
                "if !({e}) {{ return Err(DecodeError::TagNotInVersion {{ tag: {tag}, version }}); }}"
            ),
            _ => String::new(),
        }
    }

    /// The flexibility flag a field is read and written with.
    pub(super) fn field_flex(&self, field: &Field) -> &'static str {
        if field.never_flexible { "false" } else { self.flex() }
    }

    pub(super) fn read_expr(&self, field: &Field, form: Form) -> String {
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

    pub(super) fn null_checked(&self, field: &Field, call: String) -> String {
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

    pub(super) fn element_read(&self, field: &Field, flex: &str, form: Form) -> String {
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
}
