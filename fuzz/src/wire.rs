//! Messages of every kind from arbitrary bytes.
//!
//! What is checked beyond the absence of panics: nothing is read that was not there, and what was
//! read and can be written is, written and read and written once more, the same bytes.

use bytes::Bytes;
use thalweg_wire::api::APIS;
use thalweg_wire::error::EncodeError;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::{
    RequestHeader, ResponseHeader, fetch_request, fetch_response, heartbeat_request,
    list_offsets_request, metadata_request, offset_commit_request, produce_request,
    produce_response,
};
use thalweg_wire::table::{MESSAGES, Visit, visit};
use thalweg_wire::{ApiKey, Message, Reader, Writer};

/// Reads a message; gives the bytes left when it is one.
struct RoundTrip<'a> {
    bytes: &'a Bytes,
    version: i16,
}

impl Visit for RoundTrip<'_> {
    type Output = Option<usize>;

    fn visit<M: Message>(self) -> Option<usize> {
        let mut r = Reader::shared(self.bytes);
        let message = M::decode(&mut r, self.version).ok()?;
        let left = r.remaining();
        assert!(left <= self.bytes.len());
        let Some(written) = write(&message, self.version) else { return Some(left) };
        // Repaired text may be longer than what came in; memory is allowed by the input's length.
        let mut r = Reader::shared(&written);
        let again = M::decode(&mut r, self.version).expect("what was written is read");
        assert_eq!(r.remaining(), 0, "{} v{}", M::NAME, self.version);
        assert_eq!(write(&again, self.version).as_ref(), Some(&written));
        Some(left)
    }
}

/// The message's bytes; `None` for what can be read but not be written.
fn write<M: Message>(message: &M, version: i16) -> Option<Bytes> {
    let mut w = Writer::new();
    match message.encode(&mut w, version) {
        Ok(()) => {
            let bytes = w.to_vec();
            assert_eq!(bytes.len(), w.len());
            Some(bytes.into())
        }
        Err(EncodeError::BadTag(_) | EncodeError::TooLong(_)) => None,
        Err(e) => panic!("{} v{version} was read but: {e}", M::NAME),
    }
}

fn round_trip(name: &str, bytes: &Bytes, version: i16) -> Option<usize> {
    visit(name, RoundTrip { bytes, version }).unwrap_or_else(|| panic!("no message {name}"))
}

/// A frame as a listener gets it: header, then the body of whatever request the header names.
pub fn request(data: &[u8]) {
    let frame = Bytes::copy_from_slice(data);
    let Some((key, version)) = key_and_version(data) else { return };
    let header_version = key.request_header_version(version);
    let mut r = Reader::shared(&frame);
    let Ok(header) = RequestHeader::decode(&mut r, header_version) else { return };
    assert_eq!((header.request_api_key, header.request_api_version), (key.0, version));
    let body = frame.slice_ref(r.rest());
    if let Some(name) = key.name() {
        round_trip(&format!("{name}Request"), &body, version);
    }
}

/// The first four bytes choose API and version; then come header and body of its response.
pub fn response(data: &[u8]) {
    let Some((chosen, rest)) = data.split_first_chunk::<4>() else { return };
    let api = &APIS[usize::from(u16::from_be_bytes([chosen[0], chosen[1]])) % APIS.len()];
    let versions = (api.max_version - api.min_version + 1).unsigned_abs();
    let offset = u16::from_be_bytes([chosen[2], chosen[3]]) % versions;
    let version = api.min_version + offset as i16;
    let frame = Bytes::copy_from_slice(rest);
    let mut r = Reader::shared(&frame);
    let header_version = api.key.response_header_version(version);
    if ResponseHeader::decode(&mut r, header_version).is_ok() {
        let body = frame.slice_ref(r.rest());
        round_trip(&format!("{}Response", api.name), &body, version);
    }
}

/// The first four bytes choose a schema and its version: records of the metadata log, of the
/// coordinators and of control batches, stored state, consumer protocol metadata. Then the same
/// bytes as a metadata record whose type and version stand in front.
pub fn record(data: &[u8]) {
    let Some((chosen, rest)) = data.split_first_chunk::<4>() else { return };
    let others: Vec<_> = MESSAGES
        .iter()
        .filter(|(name, _, _)| !name.ends_with("Request") && !name.ends_with("Response"))
        .collect();
    let key = i16::from_be_bytes([chosen[0], chosen[1]]);
    let number = u16::from_be_bytes([chosen[2], chosen[3]]);
    let (name, lo, hi) = others[usize::from(key.unsigned_abs()) % others.len()];
    let version = lo + (number % (hi - lo + 1).unsigned_abs()) as i16;
    let bytes = Bytes::copy_from_slice(rest);
    round_trip(name, &bytes, version);

    let (key, version) = (key % 64, number as i16 % 8);
    if let Ok(record) = MetadataRecord::decode(&mut Reader::shared(&bytes), key, version) {
        assert_eq!(record.key(), key);
        assert!(MetadataRecord::versions(key).is_some_and(|all| all.contains(&version)));
        let mut w = Writer::new();
        if record.encode(&mut w, version).is_ok() {
            // Bytes are compared, because not every number equals itself.
            let again = MetadataRecord::decode(&mut Reader::new(&w.to_vec()), key, version);
            let mut second = Writer::new();
            again.expect("a record").encode(&mut second, version).expect("the same record");
            assert_eq!(second.to_vec(), w.to_vec());
        }
    }
}

/// The first two bytes choose a message that is read in place and its version. The view has to
/// accept what the owned form accepts, see the same, and hand out as many elements as it says.
pub fn views(data: &[u8]) {
    let Some(([which, version], rest)) = data.split_first_chunk::<2>() else { return };
    let bytes = Bytes::copy_from_slice(rest);

    macro_rules! view {
        ($module:ident::$owned:ident, $view:ident $(, $topics:ident)?) => {{
            type Owned = thalweg_wire::messages::$owned;
            let versions = (Owned::MAX_VERSION - Owned::MIN_VERSION + 1).unsigned_abs();
            let version = Owned::MIN_VERSION + (u16::from(*version) % versions) as i16;
            let mut r = Reader::new(&bytes);
            let view = $module::$view::parse(&mut r, version);
            let mut owned_reader = Reader::shared(&bytes);
            let owned = Owned::decode(&mut owned_reader, version);
            // Only the owned form has a budget, as only it takes memory.
            if !matches!(owned, Err(thalweg_wire::DecodeError::OverBudget(_))) {
                assert_eq!(view.is_ok(), owned.is_ok());
            }
            if let Ok(view) = &view {
                let through = view.owned();
                assert!(write(&through, version).is_some());
                if owned.is_ok() {
                    assert_eq!(r.remaining(), owned_reader.remaining());
                }
                $(
                    let count = view.$topics.iter().inspect(|t| { let _ = t.owned(); }).count();
                    assert_eq!(count, view.$topics.len());
                    let mut handed_out = 0usize;
                    let mut each = Reader::new(&bytes);
                    $module::$view::parse_each(&mut each, version, |_, _| handed_out += 1)
                        .expect("one walk accepts what the other does");
                    assert_eq!(each.remaining(), r.remaining());
                    let _ = handed_out;
                )?
            }
        }};
    }

    match which % 8 {
        0 => view!(produce_request::ProduceRequest, ProduceRequestView, topic_data),
        1 => view!(produce_response::ProduceResponse, ProduceResponseView, responses),
        2 => view!(fetch_request::FetchRequest, FetchRequestView, topics),
        3 => view!(fetch_response::FetchResponse, FetchResponseView, responses),
        4 => view!(offset_commit_request::OffsetCommitRequest, OffsetCommitRequestView, topics),
        5 => view!(list_offsets_request::ListOffsetsRequest, ListOffsetsRequestView, topics),
        6 => view!(heartbeat_request::HeartbeatRequest, HeartbeatRequestView),
        _ => view!(metadata_request::MetadataRequest, MetadataRequestView),
    }
}

/// API and version as they stand in front of every request.
fn key_and_version(data: &[u8]) -> Option<(ApiKey, i16)> {
    let (head, _) = data.split_first_chunk::<4>()?;
    let key = ApiKey(i16::from_be_bytes([head[0], head[1]]));
    Some((key, i16::from_be_bytes([head[2], head[3]])))
}
