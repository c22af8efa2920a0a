//! Files that are made from all messages together.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::facts::{Message, Presence};
use super::snake;

pub(super) const PRELUDE: &str = "//! What every generated module needs.\n\npub(crate) use bytes::Bytes;\n\npub(crate) use crate::api::ApiKey;\npub(crate) use crate::error::{DecodeError, Decoded, EncodeError, Encoded, non_null_unless};\npub(crate) use crate::error_code::ErrorCode;\npub(crate) use crate::message::{Message, Request};\npub(crate) use crate::raw_tags::RawTags;\npub(crate) use crate::reader::Reader;\npub(crate) use crate::uuid::Uuid;\npub(crate) use crate::view::{ArrayView, ViewElement};\npub(crate) use crate::writer::{RecordsRef, Writer};\n";

pub(super) fn api_table(messages: &BTreeMap<String, Message>) -> String {
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
    out.push_str("}\n\n/// All APIs of Kafka 4.4, by number.\npub const APIS: &[ApiInfo] = &[\n");
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

pub(super) fn metadata_enum(messages: &BTreeMap<String, Message>) -> String {
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

/// Which features give JSON to what is only sent.
pub(super) const JSON_OF_ALL: &str = "feature = \"json\"";
/// Which give it to what is stored: tools show that, and tests everything.
pub(super) const JSON_OF_RECORDS: &str = "any(feature = \"json\", feature = \"record-json\")";

pub(super) fn table(messages: &BTreeMap<String, Message>) -> String {
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
    for (feature, what, all) in [(JSON_OF_RECORDS, "record", false), (JSON_OF_ALL, "message", true)]
    {
        let _ = writeln!(
            out,
            "\n/// Calls `visitor` with the type of the named {what}, which has a form in JSON; `None` when there is none of that name.\n\
             #[cfg({feature})]\npub fn visit_{what}_in_json<V: crate::json::VisitJson>(name: &str, visitor: V) -> Option<V::Output> {{\nSome(match name {{"
        );
        for m in messages.values().filter(|m| all || m.is_stored()) {
            let _ = writeln!(out, "{:?} => visitor.visit::<super::{}>(),", m.name, m.name);
        }
        out.push_str("_ => return None,\n})\n}\n");
    }
    out
}
