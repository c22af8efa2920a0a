//! How many elements an array may have, and how many fields a tagged section, against Kafka's own
//! classes. Runs when `THALWEG_KAFKA_JARS` names the folder with Kafka 4.4.0's jars.

use crate::oracle::{self, Program};
use thalweg_wire::error::Decoded;
use thalweg_wire::messages::{ApiVersionsRequest, ElectLeadersRequest, MetadataRequest};
use thalweg_wire::{Message, Reader, Writer};

/// A message of one part that stands many times.
struct Case {
    name: &'static str,
    version: i16,
    begin: Vec<u8>,
    part: &'static [u8],
    times: usize,
    end: &'static [u8],
}

impl Case {
    /// What the oracle is asked.
    fn words(&self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let (begin, part, end) = (hex(&self.begin), hex(self.part), hex(self.end));
        format!("{},{},{begin},{part},{},{end}", self.name, self.version, self.times)
    }

    fn verdict(&self) -> &'static str {
        let bytes = [&self.begin[..], &self.part.repeat(self.times), self.end].concat();
        fn read<M: Message>(bytes: &[u8], version: i16) -> Decoded<()> {
            M::decode(&mut Reader::new(bytes), version).map(drop)
        }
        let read = match self.name {
            "ApiVersionsRequest" => read::<ApiVersionsRequest>,
            "ElectLeadersRequest" => read::<ElectLeadersRequest>,
            "MetadataRequest" => read::<MetadataRequest>,
            name => panic!("{name}"),
        };
        if read(&bytes, self.version).is_ok() { "read" } else { "refused" }
    }
}

fn varint(value: u32) -> Vec<u8> {
    let mut w = Writer::new();
    w.uvarint(value);
    w.to_vec()
}

#[test]
fn limits_of_arrays_and_tagged_sections_are_kafkas() {
    let mut cases = Vec::new();
    for times in [999_999, 1_000_000, 1_000_001, 1_000_100] {
        let count = (times as i32).to_be_bytes();
        // Topics with empty names, in both forms; then the partitions of a topic "a".
        cases.push(Case {
            name: "MetadataRequest",
            version: 0,
            begin: count.to_vec(),
            part: &[0, 0],
            times,
            end: &[],
        });
        cases.push(Case {
            name: "MetadataRequest",
            version: 9,
            begin: varint(times as u32 + 1),
            part: &[1, 0],
            times,
            end: &[1, 0, 0, 0],
        });
        cases.push(Case {
            name: "ElectLeadersRequest",
            version: 0,
            begin: [&[0, 0, 0, 1, 0, 1, b'a'][..], &count].concat(),
            part: &[0, 0, 0, 7],
            times,
            end: &[0, 0, 0, 9],
        });
    }
    // Two empty names, then unknown fields without content, or counts for which there are too few bytes.
    for (count, times) in [
        (9_999, 9_999),
        (10_000, 10_000),
        (10_001, 10_001),
        (20_000, 20_000),
        (3, 2),
        (4, 2),
        (5, 2),
        (i32::MAX as u32, 2),
        (1 << 31, 2),
        (u32::MAX, 2),
    ] {
        let begin = [&[1, 1][..], &varint(count)].concat();
        let (name, part) = ("ApiVersionsRequest", &[99, 0]);
        cases.push(Case { name, version: 4, begin, part, times, end: &[] });
    }
    let ours: Vec<_> = cases.iter().map(Case::verdict).collect();
    let read = ours.iter().filter(|verdict| **verdict == "read").count();
    assert_eq!((read, ours.len()), (8, 22));
    if oracle::jars().is_none() {
        return;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/LimitsOracle.java");
    let program = Program::source(source, "LimitsOracle").args(cases.iter().map(Case::words));
    let kafkas = program.succeed();
    for ((case, ours), kafkas) in cases.iter().zip(ours).zip(kafkas.lines()) {
        assert_eq!(ours, kafkas, "{}", case.words());
    }
    assert_eq!(kafkas.lines().count(), cases.len());
}
