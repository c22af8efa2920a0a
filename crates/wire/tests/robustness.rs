//! Bytes from outside: whatever they are, reading ends in a message or an error, and takes no more
//! memory than the reader allows for their length.

mod common;

use bytes::Bytes;
use common::alloc::{Counting, count};
use common::facts::{self, Facts, Fill};
use common::forms;
use thalweg_random::Random;
use thalweg_wire::error::{DecodeError, Decoded, EncodeError};
use thalweg_wire::messages::fetch_request::FetchRequestView;
use thalweg_wire::messages::produce_request::ProduceRequestView;
use thalweg_wire::messages::{ApiVersionsRequest, ProduceRequest};
use thalweg_wire::table::{MESSAGES, Visit, visit};
use thalweg_wire::{Message, Reader, Writer};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Reads a message; gives the bytes left and, when it can be written, what is written.
struct Read<'a> {
    bytes: &'a Bytes,
    version: i16,
}

type Again = (usize, Result<Vec<u8>, EncodeError>);

impl Visit for Read<'_> {
    type Output = Decoded<Again>;

    fn visit<M: Message>(self) -> Decoded<Again> {
        let allowed = Reader::new(self.bytes).allowance();
        // Copying and sharing: both ways of keeping bytes.
        let (shared, taken) = count(|| {
            let mut r = Reader::shared(self.bytes);
            let message = M::decode(&mut r, self.version);
            (message, r.remaining())
        });
        assert!(taken.peak <= allowed, "{} v{}: {} > {allowed}", M::NAME, self.version, taken.peak);
        let (copied, taken) = count(|| M::decode(&mut Reader::new(self.bytes), self.version));
        assert!(taken.peak <= allowed, "{} v{}: {} > {allowed}", M::NAME, self.version, taken.peak);
        // Copies count against the allowance, so that one may end where the other does not.
        if copied != Err(DecodeError::OverBudget(self.bytes.len())) {
            assert_eq!(copied.is_ok(), shared.0.is_ok(), "{} v{}", M::NAME, self.version);
        }
        let message = shared.0?;
        let mut w = Writer::new();
        Ok((shared.1, message.encode(&mut w, self.version).map(|()| w.to_vec())))
    }
}

fn read(name: &str, bytes: &Bytes, version: i16) -> Decoded<Again> {
    visit(name, Read { bytes, version }).unwrap_or_else(|| panic!("no message {name}"))
}

/// Calls `f` for every message, in every version.
fn for_each_form(mut f: impl FnMut(&Facts, i16)) {
    let all = facts::all();
    let names: Vec<_> = MESSAGES.iter().map(|(n, lo, hi)| (*n, *lo..=*hi)).collect();
    let mut found: Vec<_> = all.iter().map(|m| (m.name.as_str(), m.versions.clone())).collect();
    found.sort_by_key(|(name, _)| *name);
    assert_eq!(found, names, "fact files and generated messages");
    for message in &all {
        for version in message.versions.clone() {
            f(message, version);
        }
    }
}

#[test]
fn valid_messages_are_read_and_written_again() {
    let mut random = Random::new(1);
    for_each_form(|facts, version| {
        let fills = [Fill::Least, Fill::One, Fill::ManyEmpty].into_iter();
        for fill in fills.chain([Fill::Random; 6]) {
            let bytes: Bytes = facts.message(version, fill, &mut random).into();
            let at = format!("{} v{version} {fill:?} {bytes:02x?}", facts.name);
            let (left, written) = read(&facts.name, &bytes, version).expect(&at);
            assert_eq!(left, 0, "{at}");
            let written: Bytes = written.expect(&at).into();
            // Defaults of tagged fields are dropped once, and then nothing changes any more.
            let (left, again) = read(&facts.name, &written, version).expect(&at);
            assert_eq!((left, again.as_deref()), (0, Ok(&written[..])), "{at}");
            forms::difference(&facts.name, &bytes, version).expect(&at);
        }
    });
}

#[test]
fn messages_cut_short_anywhere_are_refused() {
    let mut random = Random::new(2);
    for_each_form(|facts, version| {
        for fill in [Fill::One, Fill::Random] {
            let bytes: Bytes = facts.message(version, fill, &mut random).into();
            for end in 0..bytes.len().min(1500) {
                let cut = bytes.slice(..end);
                assert!(
                    read(&facts.name, &cut, version).is_err(),
                    "{} v{version} is read from {end} of {} bytes",
                    facts.name,
                    bytes.len()
                );
                assert!(
                    forms::has_view(&facts.name)
                        .then(|| forms::difference(&facts.name, &cut, version))
                        .is_none_or(|r| r.is_err())
                );
            }
        }
    });
}

#[test]
fn damaged_messages_end_in_a_message_or_an_error() {
    let mut random = Random::new(3);
    let (mut read_anyway, mut refused) = (0, 0);
    for_each_form(|facts, version| {
        for round in 0..60 {
            let fill = if round % 3 == 0 { Fill::One } else { Fill::Random };
            let mut bytes = facts.message(version, fill, &mut random);
            bytes.truncate(4000);
            random.damage(&mut bytes);
            let bytes = Bytes::from(bytes);
            match read(&facts.name, &bytes, version) {
                Err(_) => {
                    refused += 1;
                    // Views refuse what the owned form refuses.
                    if forms::has_view(&facts.name) {
                        let same = forms::difference(&facts.name, &bytes, version);
                        same.expect_err(&facts.name);
                    }
                }
                Ok((left, written)) => {
                    read_anyway += 1;
                    assert!(left <= bytes.len());
                    match written {
                        Ok(written) => {
                            let written = Bytes::from(written);
                            let again = read(&facts.name, &written, version);
                            assert_eq!(again, Ok((0, Ok(written.to_vec()))), "{}", facts.name);
                            if left == 0 {
                                let same = forms::difference(&facts.name, &bytes, version);
                                same.expect(&facts.name);
                            }
                        }
                        // Replacement characters are longer than what they stand for.
                        Err(e) => assert!(
                            matches!(e, EncodeError::BadTag(_) | EncodeError::TooLong(_)),
                            "{} v{version}: {e}",
                            facts.name
                        ),
                    }
                }
            }
        }
    });
    assert!(read_anyway > 1000 && refused > 1000, "{read_anyway} read, {refused} refused");
}

#[test]
fn a_small_frame_that_claims_a_huge_array_is_refused_without_memory() {
    // No transactional id, acks, timeout; then 2^28 topics.
    let fixed: &[u8; 12] = &[0xff, 0xff, 0xff, 0xff, 0, 0, 0x75, 0x30, 0x10, 0, 0, 0];
    let flexible: &[u8; 12] = &[0, 0xff, 0xff, 0, 0, 0x75, 0x30, 0x81, 0x80, 0x80, 0x80, 0x01];
    for (version, bytes) in [(3, fixed), (8, fixed), (9, flexible), (13, flexible)] {
        let claim = DecodeError::TooManyElements { count: 1 << 28, have: 0 };
        let (owned, taken) = count(|| ProduceRequest::decode(&mut Reader::new(bytes), version));
        assert_eq!((owned, taken.calls), (Err(claim), 0), "v{version}");
        let (view, taken) = count(|| ProduceRequestView::parse(&mut Reader::new(bytes), version));
        assert_eq!((view.err(), taken.calls), (Some(claim), 0), "v{version}");
        let each = ProduceRequestView::parse_each(&mut Reader::new(bytes), version, |_, _| {
            panic!("no partition is there");
        });
        assert_eq!(each.err(), Some(claim), "v{version}");
    }
}

#[test]
fn tagged_sections_may_be_large_but_not_larger_than_they_are() {
    // An ApiVersions request: two empty names, then the tagged section.
    let with_tags = |count: &[u8], tags: &[u8]| Bytes::from([&[1, 1], count, tags].concat());
    let message = |bytes: &Bytes| read("ApiVersionsRequest", bytes, 4);

    // Counts and sizes beyond what follows.
    for count in [&[0xff, 0xff, 0xff, 0xff, 0x0f][..], &[0x80, 0x80, 0x80, 0x80, 0x01], &[1]] {
        let bytes = with_tags(count, &[]);
        let refused = message(&bytes);
        assert!(matches!(refused, Err(DecodeError::TooManyElements { .. })), "{bytes:02x?}");
    }
    let bytes = with_tags(&[1], &[99, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0]);
    assert_eq!(message(&bytes), Err(DecodeError::Truncated { need: u32::MAX as usize, have: 2 }));
    // A count that never ends.
    assert_eq!(message(&with_tags(&[0xff; 6], &[])), Err(DecodeError::BadVarint));

    // Ten thousand unknown fields without content are read, and no more.
    let bytes = with_tags(&[0x90, 0x4e], &[99, 0].repeat(10_000));
    assert_eq!(message(&bytes), Ok((0, Err(EncodeError::BadTag(99)))));
    let bytes = with_tags(&[0x91, 0x4e], &[99, 0].repeat(10_001));
    assert_eq!(message(&bytes), Err(DecodeError::AboveLimit { count: 10_001, max: 10_000 }));
    // The largest tag there can be comes back as it was.
    let bytes = with_tags(&[2], &[0x63, 1, 7, 0xff, 0xff, 0xff, 0xff, 0x0f, 2, 8, 9]);
    assert_eq!(message(&bytes), Ok((0, Ok(bytes.to_vec()))));

    // A known field's size has to be its own: FetchRequest's ClusterId with a byte too many or few.
    let mut w = Writer::new();
    thalweg_wire::messages::FetchRequest { cluster_id: Some("abc".into()), ..Default::default() }
        .encode(&mut w, 12)
        .expect("a valid request");
    let valid = w.to_vec();
    let body = valid.len() - 4;
    assert_eq!(valid[body - 2..body], [0, 4], "tag and size");
    for size in [0, 3, 5] {
        let mut bytes = valid.clone();
        bytes[body - 1] = size;
        bytes.push(0);
        assert!(read("FetchRequest", &bytes.clone().into(), 12).is_err(), "size {size}");
        assert!(FetchRequestView::parse(&mut Reader::new(&bytes), 12).is_err(), "size {size}");
    }
}

#[test]
fn unknown_tags_that_cannot_be_written_in_order_are_refused() {
    let write = |tags: &[u32]| {
        let mut request = ApiVersionsRequest::default();
        tags.iter().for_each(|tag| request.unknown_tags.push(*tag, Bytes::new()));
        request.encode(&mut Writer::new(), 4)
    };
    assert_eq!(write(&[3, 4, u32::MAX]), Ok(()));
    assert_eq!(write(&[4, 4]), Err(EncodeError::BadTag(4)));
    assert_eq!(write(&[5, 4]), Err(EncodeError::BadTag(4)));
    let mut fetch = thalweg_wire::messages::FetchRequest::default();
    fetch.unknown_tags.push(0, Bytes::new());
    assert_eq!(fetch.encode(&mut Writer::new(), 12), Err(EncodeError::BadTag(0)));
}

#[test]
fn versions_that_do_not_exist_are_refused_both_ways() {
    struct Outside;
    impl Visit for Outside {
        type Output = ();
        fn visit<M: Message>(self) {
            for version in [i16::MIN, -1, M::MIN_VERSION - 1, M::MAX_VERSION + 1, i16::MAX] {
                let message = M::NAME;
                assert_eq!(
                    M::decode(&mut Reader::new(&[0; 64]), version),
                    Err(DecodeError::UnsupportedVersion { message, version })
                );
                assert_eq!(
                    M::default().encode(&mut Writer::new(), version),
                    Err(EncodeError::UnsupportedVersion { message, version })
                );
            }
        }
    }
    for (name, _, _) in MESSAGES {
        visit(name, Outside);
    }
}

#[test]
fn memory_for_an_array_is_asked_for_before_it_is_taken() {
    let mut bytes = vec![0; 60_000];
    bytes[..4].copy_from_slice(&50_000i32.to_be_bytes());
    let (result, taken) =
        count(|| Reader::new(&bytes).vec(false, |r| r.i8().map(|b| [i64::from(b); 100])));
    assert_eq!(result, Err(DecodeError::OverBudget(60_000)));
    assert_eq!(taken.calls, 0);
}

#[test]
fn a_string_is_no_longer_than_kafka_allows() {
    for len in [0x7fff, 0x8000] {
        let mut w = Writer::new();
        w.uvarint(len + 1);
        let bytes = [w.to_vec(), vec![b'a'; len as usize]].concat();
        let result = if len == 0x7fff { Ok(()) } else { Err(DecodeError::BadLength(0x8000)) };
        assert_eq!(Reader::new(&bytes).nullable_str(true).map(drop), result);
        assert_eq!(Reader::new(&bytes).nullable_string(true).map(drop), result);
        assert_eq!(Reader::new(&bytes).skip_str(true, true), result);
    }
}
