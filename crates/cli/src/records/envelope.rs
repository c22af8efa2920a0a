//! Records as JSON objects, one a line, with the names that kcat gives their parts.
//!
//! Keys and payloads are strings. Those that are not UTF-8 are in base64, and `key_encoding` or
//! `payload_encoding` says so: kcat loses such bytes. Headers are a list of names and values in
//! turn. What `consume --json` prints `produce --json` reads.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use thalweg::ConsumerRecord;

const BASE64: &str = "base64";

/// Writes a record, and a line's end.
pub fn write(record: &ConsumerRecord<'_>, to: &mut Vec<u8>) {
    let mut object = Map::new();
    object.insert("topic".into(), record.topic().into());
    object.insert("partition".into(), record.partition().into());
    object.insert("offset".into(), record.offset().into());
    object.insert("ts".into(), record.timestamp().into());
    put(&mut object, "key", record.key());
    put(&mut object, "payload", record.value());
    if !record.headers().is_empty() {
        let mut is_text = true;
        for header in record.headers() {
            let parts = [Some(header.key), header.value];
            is_text &= parts.iter().flatten().all(|bytes| std::str::from_utf8(bytes).is_ok());
        }
        let encode = |bytes: &[u8]| match is_text {
            true => Value::from(String::from_utf8_lossy(bytes)),
            false => Value::from(STANDARD.encode(bytes)),
        };
        let of = |header: thalweg_records::record::Header<'_>| {
            [encode(header.key), header.value.map_or(Value::Null, encode)]
        };
        object.insert("headers".into(), record.headers().flat_map(of).collect());
        if !is_text {
            object.insert("headers_encoding".into(), BASE64.into());
        }
    }
    // Writing to memory does not fail, and a value of these types always has a form in JSON.
    let _ = serde_json::to_writer(&mut *to, &Value::Object(object));
    to.push(b'\n');
}

fn put(object: &mut Map<String, Value>, name: &str, bytes: Option<&[u8]>) {
    let (value, is_text) = match bytes.map(|bytes| (bytes, std::str::from_utf8(bytes))) {
        None => (Value::Null, true),
        Some((_, Ok(text))) => (text.into(), true),
        Some((bytes, Err(_))) => (STANDARD.encode(bytes).into(), false),
    };
    object.insert(name.to_owned(), value);
    if !is_text {
        object.insert(format!("{name}_encoding"), BASE64.into());
    }
}

/// A header's name and value.
type Header = (Vec<u8>, Option<Vec<u8>>);

/// What a line of `produce --json` says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Envelope {
    pub key: Option<Vec<u8>>,
    pub payload: Option<Vec<u8>>,
    pub headers: Vec<Header>,
    pub ts: Option<i64>,
    pub partition: Option<i32>,
}

/// Reads a line.
pub fn read(line: &[u8]) -> Result<Envelope, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let Value::Object(object) = value else { return Err("is not a JSON object".into()) };
    let number = |name: &str| match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_i64().map(Some).ok_or_else(|| format!("{name} is not a number")),
    };
    let ts = number("ts")?.filter(|&ts| ts >= 0);
    let partition = number("partition")?
        .map(i32::try_from)
        .transpose()
        .map_err(|_| "partition is out of range".to_owned())?;
    let headers = match object.get("headers") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(all)) => headers(all, encoding(&object, "headers")?)?,
        Some(_) => return Err("headers is not a list of names and values in turn".into()),
    };
    // A name that was mistyped must not delete a key of a compacted topic.
    if !object.contains_key("payload") {
        return Err("has no payload; null must be said".into());
    }
    let (key, payload) = (bytes(&object, "key")?, bytes(&object, "payload")?);
    Ok(Envelope { key, payload, headers, ts, partition })
}

fn headers(all: &[Value], is_base64: bool) -> Result<Vec<Header>, String> {
    if !all.len().is_multiple_of(2) {
        return Err("headers has a name without a value".into());
    }
    let one = |value: &Value| decode(value, is_base64, "headers");
    all.chunks_exact(2)
        .map(|pair| {
            let key = one(&pair[0])?.ok_or("a header's name is null")?;
            Ok((key, one(&pair[1])?))
        })
        .collect()
}

fn encoding(object: &Map<String, Value>, name: &str) -> Result<bool, String> {
    match object.get(&format!("{name}_encoding")).map(Value::as_str) {
        None => Ok(false),
        Some(Some(BASE64)) => Ok(true),
        Some(_) => Err(format!("{name}_encoding is not {BASE64}")),
    }
}

fn bytes(object: &Map<String, Value>, name: &str) -> Result<Option<Vec<u8>>, String> {
    let is_base64 = encoding(object, name)?;
    object.get(name).map_or(Ok(None), |value| decode(value, is_base64, name))
}

fn decode(value: &Value, is_base64: bool, name: &str) -> Result<Option<Vec<u8>>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if is_base64 => {
            STANDARD.decode(text).map(Some).map_err(|error| format!("{name}: {error}"))
        }
        Value::String(text) => Ok(Some(text.clone().into_bytes())),
        // A payload that is JSON itself goes as it is, in its shortest form.
        other => Ok(Some(json!(other).to_string().into_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let line = br#"{"key":null,"payload":"AP8=","payload_encoding":"base64","ts":5,
            "headers":["a","b","c",null],"partition":3,"topic":"ignored"}"#;
        let expected = Envelope {
            key: None,
            payload: Some(vec![0, 255]),
            headers: vec![(b"a".to_vec(), Some(b"b".to_vec())), (b"c".to_vec(), None)],
            ts: Some(5),
            partition: Some(3),
        };
        assert_eq!(read(line), Ok(expected));
        let inner = read(br#"{"payload":{"a":[1, 2]}}"#).unwrap();
        assert_eq!(inner.payload.as_deref(), Some(&br#"{"a":[1,2]}"#[..]));
        for bad in [
            &b"[]"[..],
            b"{",
            br#"{"payload":"","headers":["a"]}"#,
            br#"{"payload":"","headers":[null,"a"]}"#,
            br#"{"value":"x"}"#,
            br#"{"payload":"","ts":"x"}"#,
            br#"{"payload":"","partition":99999999999}"#,
            br#"{"payload":"","key":"!","key_encoding":"base64"}"#,
            br#"{"payload":"","key":"x","key_encoding":"hex"}"#,
        ] {
            assert!(read(bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }
}
