//! Statements that read fields, of the owned form and of views.

use std::fmt::Write as _;

use super::facts::{Field, Presence, Versions};
use super::{Emitter, Form, snake};

/// The variable into which a field of the owned form is read.
pub(super) fn variable(field: &Field) -> String {
    let name = snake(&field.name);
    // Names that the statements around it have.
    match name.as_str() {
        "r" | "tag" | "version" | "flex" | "unknown_tags" => format!("its_{name}"),
        _ => name,
    }
}

impl Emitter<'_> {
    /// Tags of the owned form, into a variable for each field and one for those that are unknown.
    pub(super) fn read_owned_tags(&mut self, fields: &[Field]) {
        if !self.has_tags() {
            return;
        }
        let tagged: Vec<&Field> = fields.iter().filter(|f| f.tag.is_some()).collect();
        if tagged.is_empty() {
            let read = match self.flex() {
                "true" => "r.unknown_tags()?",
                _ => "if flex { r.unknown_tags()? } else { RawTags::default() }",
            };
            let _ = writeln!(self.out, "let unknown_tags = {read};");
            return;
        }
        for field in tagged {
            let value = self.default_expr(field, Form::Owned);
            let _ = writeln!(self.out, "let mut {} = {value};", variable(field));
        }
        let open = self.flexible_block();
        let arms = self.tag_arms(fields, Form::Owned);
        let _ = writeln!(
            self.out,
            "let mut unknown_tags = RawTags::default();\n{open} r.tags(Some(&mut unknown_tags), {arms})?; }}"
        );
    }

    /// Tags of a view; those that are unknown are gone past.
    pub(super) fn read_known_tags(&mut self, fields: &[Field]) {
        if !self.has_tags() {
            return;
        }
        let open = self.flexible_block();
        let arms = self.tag_arms(fields, Form::View);
        let _ = writeln!(self.out, "{open} r.tags(None, {arms})?; }}");
    }

    fn flexible_block(&self) -> &'static str {
        if self.flex() == "true" { "{" } else { "if flex {" }
    }

    /// A closure that reads the tags that are known.
    fn tag_arms(&self, fields: &[Field], form: Form) -> String {
        let mut arms = String::new();
        for field in fields {
            let Some(tag) = field.tag else { continue };
            let guard = self.tag_guard(field);
            let target = match form {
                Form::Owned => variable(field),
                _ => format!("m.{}", snake(&field.name)),
            };
            let read = self.read_expr(field, form);
            let _ = writeln!(arms, "{tag} => {{ {guard} {target} = {read}; }}");
        }
        format!("|r, tag| {{ match tag {{ {arms} _ => return Ok(false), }} Ok(true) }}")
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
