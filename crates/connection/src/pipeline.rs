//! Requests on one connection: correlation ids, what is in flight, which header goes with which
//! version, which response answers what.
//!
//! Kafka answers the requests of a connection in the order they came, so a response belongs to the
//! oldest request in flight; a correlation id that says otherwise is an error that ends the
//! connection.

use std::collections::VecDeque;

use thalweg_wire::error::Encoded;
use thalweg_wire::{ApiKey, DecodeError, EncodeError, Reader, Request, Writer};

/// Where the correlation id stands in a request frame, length included: behind length, API key and
/// version.
const CORRELATION_AT: usize = 8;

/// A request that was sent and not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InFlight {
    /// Its number on this connection.
    pub correlation_id: i32,
    /// What it asks for.
    pub api: ApiKey,
    /// In which version, which is also the response's.
    pub version: i16,
}

/// Why a frame is not a response to what was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// Nothing was asked.
    #[error("response {0} answers no request")]
    Unasked(i32),
    /// Another request is the oldest.
    #[error("response {got} came where {api} {want} was to be answered")]
    OutOfOrder {
        /// What the oldest request asks for.
        api: ApiKey,
        /// Its correlation id.
        want: i32,
        /// That of the response.
        got: i32,
    },
    /// The response's header cannot be read.
    #[error("response header: {0}")]
    Header(#[from] DecodeError),
}

/// The requests in flight on one connection.
#[derive(Debug, Default)]
pub struct Pipeline {
    next_correlation_id: i32,
    in_flight: VecDeque<InFlight>,
}

impl Pipeline {
    /// With nothing in flight. How many may be is for the driver to say.
    pub fn new() -> Pipeline {
        Pipeline::default()
    }

    /// The request to be answered next.
    pub fn oldest(&self) -> Option<&InFlight> {
        self.in_flight.front()
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The next correlation id, for a request that will not be answered (Produce with acks=0).
    pub fn unanswered(&mut self) -> i32 {
        let id = self.next_correlation_id;
        // Like Java's client, numbers stay out of the negatives.
        self.next_correlation_id = id.checked_add(1).unwrap_or(0);
        id
    }

    /// Enters a request and gives it its correlation id.
    pub fn enter(&mut self, api: ApiKey, version: i16) -> i32 {
        let correlation_id = self.unanswered();
        self.in_flight.push_back(InFlight { correlation_id, api, version });
        correlation_id
    }

    /// The request that `frame` (without its length) answers, and where in the frame the body
    /// begins.
    pub fn accept(&mut self, frame: &[u8]) -> Result<(InFlight, usize), PipelineError> {
        let mut r = Reader::new(frame);
        let got = r.i32()?;
        let oldest = *self.in_flight.front().ok_or(PipelineError::Unasked(got))?;
        if got != oldest.correlation_id {
            let want = oldest.correlation_id;
            return Err(PipelineError::OutOfOrder { api: oldest.api, want, got });
        }
        if oldest.api.response_header_version(oldest.version) >= 1 {
            r.tags(None, |_, _| Ok(false))?;
        }
        self.in_flight.pop_front();
        Ok((oldest, frame.len() - r.remaining()))
    }
}

/// Starts a request frame: room for the length, then the header with correlation id 0. The body
/// follows, then [`Writer::end_frame`].
pub fn begin_request(w: &mut Writer, api: ApiKey, version: i16, client_id: &str) -> Encoded {
    w.begin_frame();
    w.i16(api.0);
    w.i16(version);
    w.i32(0);
    // The client id keeps its old form in every version of the header (KIP-482).
    w.nullable_string(false, Some(client_id))?;
    if api.request_header_version(version) >= 2 {
        w.uvarint(0);
    }
    Ok(())
}

/// Writes a whole request frame with correlation id 0.
pub fn encode_request<R: Request>(
    w: &mut Writer,
    request: &R,
    version: i16,
    client_id: &str,
) -> Result<(), EncodeError> {
    begin_request(w, R::API_KEY, version, client_id)?;
    request.encode(w, version)?;
    w.end_frame()
}

/// Sets the correlation id of a request frame (length included); nothing when it is too short to
/// have one.
pub fn set_correlation_id(frame: &mut [u8], correlation_id: i32) {
    if let Some(field) = frame.get_mut(CORRELATION_AT..CORRELATION_AT + 4) {
        field.copy_from_slice(&correlation_id.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use thalweg_wire::Message;
    use thalweg_wire::messages::{
        ApiVersionsRequest, MetadataRequest, RequestHeader, ResponseHeader,
    };

    use super::*;

    fn response(correlation_id: i32, header_version: i16, body: &[u8]) -> Vec<u8> {
        let mut w = Writer::new();
        let header = ResponseHeader { correlation_id, ..ResponseHeader::default() };
        header.encode(&mut w, header_version).unwrap();
        w.raw(body);
        w.to_vec()
    }

    #[test]
    fn header_is_what_the_generated_one_reads() {
        for version in [0, 1, 8, 9, 12, 13] {
            let mut w = Writer::new();
            let request = MetadataRequest { topics: Some(vec![]), ..MetadataRequest::default() };
            encode_request(&mut w, &request, version, "me").unwrap();
            set_correlation_id(w.inline_mut(), 77);
            let bytes = w.to_vec();
            assert_eq!(bytes[..4], (bytes.len() as i32 - 4).to_be_bytes());
            let mut r = Reader::new(&bytes[4..]);
            let header_version = ApiKey::METADATA.request_header_version(version);
            let header = RequestHeader::decode(&mut r, header_version).unwrap();
            assert_eq!(header.request_api_key, 3);
            assert_eq!(header.request_api_version, version);
            assert_eq!(header.correlation_id, 77);
            assert_eq!(header.client_id.as_deref(), Some("me"));
            assert_eq!(MetadataRequest::decode(&mut r, version).unwrap().topics, request.topics);
            assert_eq!(r.remaining(), 0);
        }
    }

    #[test]
    fn responses_answer_the_oldest_request() {
        let mut pipeline = Pipeline::new();
        assert_eq!(pipeline.enter(ApiVersionsRequest::API_KEY, 4), 0);
        assert_eq!(pipeline.enter(MetadataRequest::API_KEY, 12), 1);
        // ApiVersions answers with header version 0 although version 4 is flexible.
        let frame = response(0, 0, b"body");
        let (answered, at) = pipeline.accept(&frame).unwrap();
        assert_eq!((answered.api, &frame[at..]), (ApiKey::API_VERSIONS, &b"body"[..]));
        let frame = response(1, 1, b"x");
        let (answered, at) = pipeline.accept(&frame).unwrap();
        assert_eq!((answered.api, &frame[at..]), (ApiKey::METADATA, &b"x"[..]));
        assert!(pipeline.is_empty());
    }

    #[test]
    fn what_answers_nothing_is_refused() {
        let mut pipeline = Pipeline::new();
        assert_eq!(pipeline.accept(&response(0, 0, b"")), Err(PipelineError::Unasked(0)));
        pipeline.enter(MetadataRequest::API_KEY, 12);
        assert!(matches!(
            pipeline.accept(&response(5, 1, b"")),
            Err(PipelineError::OutOfOrder { want: 0, got: 5, .. })
        ));
        assert!(matches!(pipeline.accept(&[0, 0]), Err(PipelineError::Header(_))));
        assert!(!pipeline.is_empty(), "a refused response answers nothing");
    }

    #[test]
    fn correlation_ids_wrap_to_zero() {
        let mut pipeline = Pipeline::new();
        pipeline.next_correlation_id = i32::MAX;
        assert_eq!(pipeline.enter(ApiKey::METADATA, 12), i32::MAX);
        assert_eq!(pipeline.enter(ApiKey::METADATA, 12), 0);
    }
}
