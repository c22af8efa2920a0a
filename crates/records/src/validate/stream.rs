//! Walking the records of a compressed batch as they come out of the codec.
//!
//! The stream is decompressed once, into a window of which nothing is kept but the few bytes of a
//! field that a piece cuts. As in Kafka's skipping reader the record's length field is compared with
//! `max.decompressed.message.bytes` and not with its fields.

use thalweg_wire::varint;

use super::failure::{Failure, Reason};
use super::tally::Tally;
use super::walk::quick_record;
use super::{STEP_BYTES, ValidationConfig};
use crate::batch::Compression;
use crate::codec::{CodecError, Decompressor};
use crate::record::{RecordFault, check_size};

/// Longest run of fields that is read at once: length, attributes, both deltas, length of the key.
const FIELDS_MAX: usize = 5 + 1 + 10 + 5 + 5;

pub(super) struct StreamWalk {
    state: State,
    /// Bytes of a key, value or header to step over first.
    skip: usize,
    left: i32,
    tail: Tail,
    /// `max.decompressed.message.bytes`
    max_record_bytes: i32,
}

#[derive(Clone, Copy)]
enum State {
    Record,
    ValueLen,
    HeaderCount,
    HeaderKeyLen(u32),
    HeaderValueLen(u32),
    End,
}

/// What comes behind the available bytes.
enum Tail {
    More,
    Nothing,
    Error(CodecError),
}

/// Why the walk stops within the available bytes.
enum Stop {
    /// It needs more of them.
    Short,
    Fault(RecordFault),
}

impl StreamWalk {
    pub fn begin(
        payload: &[u8],
        codec: Compression,
        count: i32,
        decompressor: &mut Decompressor,
        config: &ValidationConfig,
    ) -> Result<StreamWalk, Failure> {
        let walk = StreamWalk {
            state: State::Record,
            skip: 0,
            left: count,
            tail: Tail::More,
            max_record_bytes: config.max_decompressed_message_bytes,
        };
        if count == 0 {
            // A batch without records is not opened at all (and cannot come from a client).
            return Ok(StreamWalk { state: State::End, tail: Tail::Nothing, ..walk });
        }
        decompressor.begin(codec, payload, config.max_decompressed_bytes).map_err(Reason::Codec)?;
        if count < 0 {
            return Err(Failure::read(RecordFault::NegativeCount(count).into(), 0, true));
        }
        Ok(walk)
    }

    /// Walks on; true at the end of the records and of the stream.
    pub fn step(
        &mut self,
        payload: &[u8],
        decompressor: &mut Decompressor,
        tally: &mut Tally,
    ) -> Result<bool, Failure> {
        if let (State::End, Tail::Nothing) = (self.state, &self.tail) {
            return Ok(true);
        }
        let pause_at = decompressor.produced().saturating_add(STEP_BYTES as u64);
        loop {
            let available = decompressor.available();
            let mut at = 0;
            let stop = self.walk(available, &mut at, tally);
            let inside = self.inside(&available[at..]);
            decompressor.consume(at);
            match stop {
                Stop::Fault(fault) => return Err(self.fault(fault, tally)),
                Stop::Short => match &self.tail {
                    Tail::More => {}
                    Tail::Nothing if matches!(self.state, State::End) => return Ok(true),
                    Tail::Nothing => return Err(self.fault(RecordFault::Truncated, tally)),
                    Tail::Error(CodecError::MissingChecksum) if inside => {
                        return Err(self.fault(RecordFault::Truncated, tally));
                    }
                    Tail::Error(error) => return Err(Reason::Codec(*error).into()),
                },
            }
            match decompressor.fill(payload) {
                Ok(0) => self.tail = Tail::Nothing,
                Ok(_) => {}
                Err(error @ CodecError::TooLarge { .. }) => return Err(Reason::Codec(error).into()),
                Err(error) => self.tail = Tail::Error(error),
            }
            if decompressor.produced() >= pause_at {
                return Ok(false);
            }
        }
    }

    /// Whether the stream broke behind a record's length, which Kafka reports in another way than
    /// before it.
    fn inside(&self, rest: &[u8]) -> bool {
        match self.state {
            State::End => false,
            State::Record => self.skip > 0 || varint::read_i32(rest).is_some(),
            _ => true,
        }
    }

    fn fault(&self, fault: RecordFault, tally: &Tally) -> Failure {
        // Records are counted when their first fields are read.
        let index = match self.state {
            State::Record => tally.count(),
            _ => (tally.count() - 1).max(0),
        };
        Reason::Record { index, fault, internal: false }.into()
    }

    fn walk(&mut self, bytes: &[u8], at: &mut usize, tally: &mut Tally) -> Stop {
        loop {
            if self.skip > 0 {
                let n = self.skip.min(bytes.len() - *at);
                *at += n;
                self.skip -= n;
                if self.skip > 0 {
                    return Stop::Short;
                }
            }
            match self.state {
                State::Record => {
                    if let Some(kept) = tally.sum() {
                        let (mut sum, mut rest, mut left) = (*kept, &bytes[*at..], self.left);
                        let max = self.max_record_bytes.max(0) as u32;
                        while left > 0
                            && let Some(next) = quick_record::<false>(rest, max, &mut sum)
                        {
                            rest = next;
                            left -= 1;
                        }
                        (*kept, *at, self.left) = (sum, bytes.len() - rest.len(), left);
                    }
                    if self.left == 0 {
                        self.state = State::End;
                        continue;
                    }
                    let rest = &bytes[*at..];
                    if rest.len() < FIELDS_MAX && matches!(self.tail, Tail::More) {
                        return Stop::Short;
                    }
                    match first_fields(rest, self.max_record_bytes, tally) {
                        Ok((n, key_len)) => {
                            *at += n;
                            self.skip = usize::try_from(key_len).unwrap_or(0);
                            self.left -= 1;
                            self.state = State::ValueLen;
                        }
                        Err(stop) => return stop,
                    }
                }
                State::ValueLen => match self.length(bytes, at) {
                    Ok(len) => {
                        self.skip = usize::try_from(len).unwrap_or(0);
                        self.state = State::HeaderCount;
                    }
                    Err(stop) => return stop,
                },
                State::HeaderCount => match self.length(bytes, at).map(u32::try_from) {
                    Ok(Ok(count)) => self.state = after_header(count),
                    Ok(Err(_)) => {
                        let what = "header count is negative";
                        return Stop::Fault(RecordFault::Structure(what));
                    }
                    Err(stop) => return stop,
                },
                State::HeaderKeyLen(left) => match self.length(bytes, at).map(usize::try_from) {
                    Ok(Ok(len)) => {
                        self.skip = len;
                        self.state = State::HeaderValueLen(left);
                    }
                    Ok(Err(_)) => {
                        let what = "header key has a negative length";
                        return Stop::Fault(RecordFault::Structure(what));
                    }
                    Err(stop) => return stop,
                },
                State::HeaderValueLen(left) => match self.length(bytes, at) {
                    Ok(len) => {
                        self.skip = usize::try_from(len).unwrap_or(0);
                        self.state = after_header(left - 1);
                    }
                    Err(stop) => return stop,
                },
                State::End => {
                    return if *at < bytes.len() {
                        Stop::Fault(RecordFault::Trailing)
                    } else {
                        Stop::Short
                    };
                }
            }
        }
    }

    fn length(&self, bytes: &[u8], at: &mut usize) -> Result<i32, Stop> {
        let rest = &bytes[*at..];
        match varint::read_i32(rest) {
            Some((value, n)) => {
                *at += n;
                Ok(value)
            }
            None => Err(short_or(rest, varint::MAX_LEN_32, "length is not a valid varint")),
        }
    }
}

fn after_header(left: u32) -> State {
    if left == 0 { State::Record } else { State::HeaderKeyLen(left) }
}

fn short_or(rest: &[u8], longest: usize, what: &'static str) -> Stop {
    if rest.len() < longest { Stop::Short } else { Stop::Fault(RecordFault::Structure(what)) }
}

/// Reads up to the key and counts the record; bytes read, and the key's length.
fn first_fields(
    rest: &[u8],
    max_record_bytes: i32,
    tally: &mut Tally,
) -> Result<(usize, i32), Stop> {
    const DELTA: &str = "delta is not a valid varint";
    let (len, mut at) = varint::read_i32(rest).ok_or(if rest.len() < varint::MAX_LEN_32 {
        Stop::Short
    } else {
        Stop::Fault(RecordFault::LengthVarint)
    })?;
    check_size(len, max_record_bytes).map_err(Stop::Fault)?;
    at += 1;
    let tail = rest.get(at..).ok_or(Stop::Short)?;
    let (timestamp_delta, n) =
        varint::read_i64(tail).ok_or_else(|| short_or(tail, varint::MAX_LEN_64, DELTA))?;
    at += n;
    let tail = &rest[at..];
    let (offset_delta, n) =
        varint::read_i32(tail).ok_or_else(|| short_or(tail, varint::MAX_LEN_32, DELTA))?;
    at += n;
    let tail = &rest[at..];
    let (key_len, n) = varint::read_i32(tail)
        .ok_or_else(|| short_or(tail, varint::MAX_LEN_32, "key length is not a valid varint"))?;
    at += n;
    tally.record(timestamp_delta, offset_delta, key_len >= 0);
    Ok((at, key_len))
}
