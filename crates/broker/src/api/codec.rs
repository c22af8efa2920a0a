//! Requests are decoded into memory that is charged, and answers are encoded into frames.

use thalweg_wire::{DecodeError, Message, Reader, Request, Writer};

use crate::api::context::{Context, Scratch};
use crate::net::budget::Charge;
use crate::net::buffers;
use crate::net::connection::{Handled, LateReply, Reply};

/// Decoded memory that a request is given at first, per byte of its frame, in bytes.
const GRANT_PER_BYTE: usize = 2;
/// The least that it is given.
const GRANT_MIN: usize = 4 << 10;

/// Decodes a request into memory of its own. That is charged before it is taken: decoding is given
/// an allowance that the charge covers, and begins anew with more where it was not enough. The
/// charge that comes back belongs to the request, and lasts longer than that of its frame.
pub(super) async fn decode<R: Request>(
    context: &Context,
    body: &[u8],
    charge: &mut Charge,
) -> Result<(R, Charge), String> {
    let frame = charge.bytes();
    let most = Reader::new(body).allowance();
    let mut grant = body.len().saturating_mul(GRANT_PER_BYTE).max(GRANT_MIN).min(most);
    loop {
        charge.raise_to(frame.saturating_add(grant)).await;
        let mut reader = Reader::new(body);
        reader.limit_allowance(grant);
        match R::decode(&mut reader, context.version) {
            Ok(request) => {
                let mut held = charge.split(grant);
                held.lower_to(grant - reader.allowance());
                return Ok((request, held));
            }
            Err(DecodeError::OverBudget(_)) if grant < most => {
                grant = grant.saturating_mul(4).min(most);
            }
            Err(error) => return Err(format!("malformed {} request: {error}", R::NAME)),
        }
    }
}

/// Writes the answer to `frame`; what keeps that from being done closes the connection.
fn write<M: Message>(context: &Context, frame: &mut Writer, response: &M) -> Result<(), String> {
    context.begin(frame);
    response.encode(frame, context.version).and_then(|()| frame.end_frame()).map_err(|error| {
        let reason = format!("{} cannot be answered: {error}", context.api_key);
        tracing::error!(reason, version = context.version, "an answer could not be encoded");
        reason
    })
}

/// The answer as a frame of its own.
pub(crate) fn encode<M: Message>(context: &Context, response: &M) -> LateReply {
    let mut frame = buffers::take_frame();
    let close = write(context, &mut frame, response).err();
    LateReply { reply: Reply { frame, ..Reply::default() }, close }
}

/// The answer in the connection's frame.
pub(super) fn reply<M: Message>(context: &Context, scratch: &mut Scratch, response: &M) -> Handled {
    match write(context, &mut scratch.reply.frame, response) {
        Ok(()) => Handled::Reply,
        Err(reason) => Handled::Close(reason),
    }
}
