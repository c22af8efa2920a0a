//! The fact files under `schemas/` as data.

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Versions {
    pub(super) lo: i16,
    pub(super) hi: i16,
}

impl Versions {
    pub(super) const NONE: Versions = Versions { lo: 0, hi: -1 };

    pub(super) fn parse(text: &str) -> Result<Versions, String> {
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

    pub(super) fn within(self, outer: Versions) -> Presence {
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
pub(super) enum Presence {
    Always,
    Never,
    If(String),
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) array: bool,
    pub(super) kind: String,
    pub(super) versions: Versions,
    pub(super) null: Versions,
    pub(super) tag: Option<u32>,
    pub(super) default: Option<String>,
    pub(super) ignorable: bool,
    pub(super) never_flexible: bool,
    pub(super) children: Vec<Field>,
}

#[derive(Debug)]
pub(super) struct Message {
    pub(super) kind: String,
    pub(super) key: Option<i16>,
    pub(super) name: String,
    pub(super) versions: Versions,
    pub(super) flexible: Versions,
    pub(super) listeners: Vec<String>,
    pub(super) unstable: bool,
    pub(super) fields: Vec<Field>,
    pub(super) shared: Vec<(String, Vec<Field>)>,
}

impl Message {
    /// Whether it is a record or part of one, not only sent.
    pub(super) fn is_stored(&self) -> bool {
        !matches!(self.kind.as_str(), "request" | "response" | "header")
    }
}

pub(super) fn parse(text: &str) -> Result<Message, String> {
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

pub(super) fn parse_fields(
    lines: &[&str],
    at: &mut usize,
    depth: usize,
) -> Result<Vec<Field>, String> {
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
