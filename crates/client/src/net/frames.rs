//! Requests and answers as bytes.

use std::sync::Arc;

use bytes::Bytes;
use thalweg_connection::pipeline;
use thalweg_wire::messages::ApiVersionsRequest;
use thalweg_wire::{Message, Reader, Request, Writer};

use crate::error::Error;
use crate::options::Options;

/// Asks for the broker's versions, and says whose client this is (KIP-511).
pub(crate) fn api_versions(options: &Options) -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: options.software_name.to_string(),
        client_software_version: options.software_version.to_string(),
        ..ApiVersionsRequest::default()
    }
}

/// Writes a request frame; the correlation id is still 0.
pub(crate) fn encode<R: Request>(
    addr: &Arc<str>,
    request: &R,
    version: i16,
    options: &Options,
) -> Result<Writer, Error> {
    let mut frame = Writer::new();
    pipeline::encode_request(&mut frame, request, version, &options.client_id)
        .map_err(|source| Error::Encode { addr: addr.clone(), api: R::API_KEY, version, source })?;
    Ok(frame)
}

/// Reads the body of a response.
pub(crate) fn decode<R: Request>(
    addr: &Arc<str>,
    body: &Bytes,
    version: i16,
) -> Result<R::Response, Error> {
    R::Response::decode(&mut Reader::shared(body), version).map_err(|source| Error::Decode {
        addr: addr.clone(),
        api: R::API_KEY,
        version,
        source,
    })
}
