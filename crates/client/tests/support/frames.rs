//! Requests as a broker reads them that a test writes itself.
#![allow(dead_code)]

use thalweg_wire::messages::RequestHeader;
use thalweg_wire::messages::api_versions_response::ApiVersion;
use thalweg_wire::{ApiKey, Message, Reader, Writer};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// A request of a client.
pub struct ReceivedRequest {
    pub api: ApiKey,
    pub version: i16,
    pub correlation_id: i32,
    frame: Vec<u8>,
}

impl ReceivedRequest {
    /// The next one; nothing at the end of the connection.
    pub async fn read(stream: &mut TcpStream) -> Option<ReceivedRequest> {
        let len = stream.read_i32().await.ok()?;
        let mut frame = vec![0; len as usize];
        stream.read_exact(&mut frame).await.ok()?;
        let api = ApiKey(i16::from_be_bytes([frame[0], frame[1]]));
        let version = i16::from_be_bytes([frame[2], frame[3]]);
        let mut request = ReceivedRequest { api, version, correlation_id: 0, frame };
        request.correlation_id = request.header(&mut Reader::new(&request.frame)).correlation_id;
        Some(request)
    }

    fn header(&self, r: &mut Reader<'_>) -> RequestHeader {
        RequestHeader::decode(r, self.api.request_header_version(self.version)).unwrap()
    }

    /// What is asked.
    pub fn body<M: Message>(&self) -> M {
        let mut r = Reader::new(&self.frame);
        self.header(&mut r);
        M::decode(&mut r, self.version).unwrap()
    }

    /// An answer up to its body.
    pub fn begin_answer(&self) -> Writer {
        let mut w = Writer::new();
        w.begin_frame();
        w.i32(self.correlation_id);
        if self.api.response_header_version(self.version) >= 1 {
            w.uvarint(0);
        }
        w
    }
}

/// What a broker speaks: every version up to the last one of these.
pub fn versions(apis: &[(ApiKey, i16)]) -> Vec<ApiVersion> {
    let range = |&(api, max_version): &(ApiKey, i16)| ApiVersion {
        api_key: api.0,
        min_version: 0,
        max_version,
        ..ApiVersion::default()
    };
    apis.iter().map(range).collect()
}
