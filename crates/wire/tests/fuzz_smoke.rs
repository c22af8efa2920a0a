//! A short, reproducible run of what the fuzz targets do: noise, and damaged messages.

use crate::common;
#[path = "../../../fuzz/src/wire.rs"]
mod wire;

use common::facts::{self, Fill};
use thalweg_random::{Random, seeds};
use thalweg_wire::api::APIS;
use thalweg_wire::table::MESSAGES;
use thalweg_wire::{Message, Writer, messages::RequestHeader};

/// What is drawn differs from commit to commit: the test command sets where it begins.
fn seeded(test: u64) -> Random {
    Random::new(seeds::base(0).wrapping_add(test))
}

#[test]
fn noise() {
    let mut random = seeded(11);
    for _ in 0..20_000 {
        let len = random.below(200);
        let mut data = random.bytes(len);
        // Small numbers make more of noise: lengths that fit, versions there are.
        if random.chance(70) {
            data.iter_mut().for_each(|byte| *byte %= 24);
        }
        wire::request(&data);
        wire::response(&data);
        wire::record(&data);
        wire::views(&data);
    }
}

#[test]
fn damaged_frames() {
    let mut random = seeded(12);
    let all = facts::all();
    let find = |name: &str| all.iter().find(|m| m.name == name).expect("a message");
    for (i, api) in APIS.iter().enumerate() {
        for (v, version) in (api.min_version..=api.max_version).enumerate() {
            for _ in 0..12 {
                let body = find(&format!("{}Request", api.name));
                let mut frame = Writer::new();
                RequestHeader {
                    request_api_key: api.key.0,
                    request_api_version: version,
                    client_id: Some("someone".into()),
                    ..Default::default()
                }
                .encode(&mut frame, api.key.request_header_version(version))
                .expect("a header");
                let head = frame.len();
                frame.raw(&body.message(version, Fill::Random, &mut random));
                let mut data = frame.to_vec();
                wire::request(&data);
                let mut tail = data.split_off(head);
                random.damage(&mut tail);
                data.extend(tail);
                wire::request(&data);

                let body = find(&format!("{}Response", api.name));
                let mut data = [(i as u16).to_be_bytes(), (v as u16).to_be_bytes()].concat();
                data.extend(7i32.to_be_bytes());
                if api.key.response_header_version(version) > 0 {
                    data.push(0);
                }
                let mut tail = body.message(version, Fill::Random, &mut random);
                random.damage(&mut tail);
                data.extend(tail);
                wire::response(&data);
            }
        }
    }
}

#[test]
fn damaged_records_and_views() {
    let mut random = seeded(13);
    let all = facts::all();
    let find = |name: &str| all.iter().find(|m| m.name == name).expect("a message");
    let records = MESSAGES
        .iter()
        .filter(|(name, _, _)| !name.ends_with("Request") && !name.ends_with("Response"));
    for (i, (name, lo, hi)) in records.enumerate() {
        for (v, version) in (*lo..=*hi).enumerate() {
            for _ in 0..20 {
                let mut data = [(i as u16).to_be_bytes(), (v as u16).to_be_bytes()].concat();
                let mut tail = find(name).message(version, Fill::Random, &mut random);
                random.damage(&mut tail);
                data.extend(tail);
                wire::record(&data);
            }
        }
    }
    let views = [
        "ProduceRequest",
        "ProduceResponse",
        "FetchRequest",
        "FetchResponse",
        "OffsetCommitRequest",
        "ListOffsetsRequest",
        "HeartbeatRequest",
        "MetadataRequest",
    ];
    for (i, name) in views.iter().enumerate() {
        let message = find(name);
        for (v, version) in message.versions.clone().enumerate() {
            for round in 0..150 {
                let mut data = vec![i as u8, v as u8];
                let mut tail = message.message(version, Fill::Random, &mut random);
                if round > 20 {
                    random.damage(&mut tail);
                }
                data.extend(tail);
                wire::views(&data);
            }
        }
    }
}
