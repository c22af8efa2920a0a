//! Views, which are read in place, and refs, which are written from borrowed parts.

use std::fmt::Write as _;

use super::facts::{Field, Presence};
use super::{Emitter, Form, snake};

impl Emitter<'_> {
    pub(super) fn view(&mut self, name: &str, fields: &[Field], top: bool) {
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
    pub(super) fn read_view_tags(&mut self, fields: &[Field]) {
        if fields.iter().any(|f| f.tag.is_some()) {
            self.read_known_tags(fields);
            return;
        }
        match self.flex() {
            "true" => self.out.push_str("r.skip_tags()?;\n"),
            "flex" => self.out.push_str("if flex { r.skip_tags()?; }\n"),
            _ => {}
        }
    }

    /// Field by which a view is walked: an array of structs that is never null.
    pub(super) fn walked<'f>(&self, fields: &'f [Field]) -> Option<&'f Field> {
        fields.iter().find(|f| {
            f.array
                && Self::is_struct(&f.kind)
                && f.tag.is_none()
                && !self.nullable(f)
                && self.present(f) == Presence::Always
        })
    }

    /// For messages made of topics made of partitions: parsing that hands out every partition.
    pub(super) fn parse_each(&mut self, name: &str, fields: &[Field]) {
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
    pub(super) fn skip(&mut self, fields: &[Field]) {
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

    pub(super) fn skip_stmt(&self, field: &Field) -> String {
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

    pub(super) fn view_to_owned(&mut self, name: &str, fields: &[Field]) {
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

    pub(super) fn by_ref(&mut self, name: &str, fields: &[Field]) {
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
}
