//! Fetch: long polls and incremental sessions. What is asked for (`plan.rs`), what there is of it (`read.rs`) and putting
//! the bytes into an answer (`answer.rs`) are apart. A fetch that is not answered at once goes through the states of
//! `parked.rs`, with memory of `room.rs`. Each file imports only files that stand before it here, or `room.rs`, which
//! imports `plan.rs` and `read.rs`.

mod answer;
mod parked;
mod plan;
mod read;
mod room;
#[cfg(test)]
mod tests;

use thalweg_wire::messages::fetch_request::FetchRequestView;
use thalweg_wire::{ErrorCode, Reader};

use crate::api::context::{Context, Scratch};
use crate::api::fetch_session::Wanted;
use crate::net::budget::Charge;
use crate::net::connection::Handled;

use parked::{ParkedFetch, State};
use plan::{Plan, Terms};
use read::Looks;
use room::{PARTITIONS_FREE, room_to_read, throttle_if_nothing};

pub(super) async fn handle(
    context: &Context,
    scratch: &mut Scratch,
    body: &[u8],
    charge: &mut Charge,
) -> Handled {
    let mut reader = Reader::new(body);
    let request = match FetchRequestView::parse(&mut reader, context.version) {
        Ok(request) => request,
        Err(error) => return Handled::Close(format!("malformed Fetch request: {error}")),
    };
    let named: usize = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    if named > PARTITIONS_FREE {
        // A session that grows takes up to twice what its partitions need, and unknown topics' names are copied.
        let each = 3 * size_of::<Wanted>() + size_of::<read::Part>();
        let bytes = named.saturating_mul(each).saturating_add(body.len());
        // What it waits for here only fetches hold.
        charge.raise_in_reserve(charge.bytes().saturating_add(bytes)).await;
        let planning = charge.split(bytes);
        let handled = begin(context, scratch, &request);
        drop(planning);
        return handled;
    }
    begin(context, scratch, &request)
}

fn begin(context: &Context, scratch: &mut Scratch, request: &FetchRequestView<'_>) -> Handled {
    let terms = Terms::of(context, request);
    let plan = match Plan::of(context, request, &terms) {
        Ok(plan) => plan,
        Err(code) => return top_level_error(context, scratch, code),
    };

    let state = match read::look(context, &terms, &plan, Looks::First, &[]) {
        Ok(attempt) => State::after_first_look(context, &terms, &plan, attempt, None),
        Err(cold) => match room_to_read(context, &plan) {
            Some(room) => State::Reads { cold, room },
            None => {
                // The next fetch may have room for what is left out. Waiting would not bring it.
                let attempt = read::look_in_memory(context, &terms, &plan);
                let throttle = throttle_if_nothing(&attempt);
                State::Answers { attempt, room: None, throttle }
            }
        },
    };
    let State::Answers { attempt, room: None, throttle } = state else {
        return park(context, terms, plan, state);
    };
    match answer::write(context, &terms, &plan, attempt, throttle, &mut scratch.reply.frame) {
        Ok(written) => {
            scratch.reply.files = written.files;
            scratch.reply.charge = written.charge;
            scratch.reply.mute = throttle;
            Handled::Reply
        }
        Err(answer::Failed::NeedsDisk(attempt, cold)) => {
            park(context, terms, plan, State::Gathers { attempt, cold, room: None, throttle })
        }
        Err(answer::Failed::Close(reason)) => Handled::Close(reason),
    }
}

/// Parks the fetch in a state.
fn park(context: &Context, terms: Terms, plan: Plan, state: State) -> Handled {
    Handled::Parked(Box::pin(ParkedFetch::new(context, terms, plan).run(state)))
}

fn top_level_error(context: &Context, scratch: &mut Scratch, code: ErrorCode) -> Handled {
    let response = thalweg_wire::messages::fetch_response::FetchResponseRef {
        error_code: code,
        ..Default::default()
    };
    context.begin(&mut scratch.reply.frame);
    let encoded = response
        .encode(&mut scratch.reply.frame, context.version)
        .and_then(|()| scratch.reply.frame.end_frame());
    match encoded {
        Ok(()) => Handled::Reply,
        Err(error) => Handled::Close(format!("Fetch cannot be answered: {error}")),
    }
}
