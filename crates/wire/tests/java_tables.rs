//! APIs, header versions and error codes against Kafka's own tables. Runs when
//! `THALWEG_KAFKA_JARS` names the folder with Kafka 4.4.0's jars.

use std::fmt::Write as _;

use crate::oracle::{self, Program};
use thalweg_wire::ErrorCode;
use thalweg_wire::api::APIS;

#[test]
fn apis_and_error_codes_are_kafkas() {
    if oracle::jars().is_none() {
        return;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/TablesOracle.java");
    let kafka = Program::source(source, "TablesOracle").succeed();

    let mut ours = String::new();
    for api in APIS {
        let _ = write!(
            ours,
            "api {} {} {} {} {} {} {}",
            api.key.0,
            api.name,
            api.min_version,
            api.max_version,
            api.max_stable_version,
            api.broker,
            api.controller
        );
        for version in api.min_version..=api.max_version {
            let (request, response) =
                (api.key.request_header_version(version), api.key.response_header_version(version));
            let _ = write!(ours, " {request}/{response}");
        }
        ours.push('\n');
    }
    for code in ErrorCode::ALL {
        let name = code.name().expect("a known code");
        let _ = writeln!(ours, "error {} {name} {}", code.0, code.is_retriable());
    }
    let differing: Vec<_> = {
        let (kafka, ours): (Vec<_>, Vec<_>) = (kafka.lines().collect(), ours.lines().collect());
        let missing = kafka.iter().filter(|l| !ours.contains(l)).map(|l| format!("- {l}"));
        let extra = ours.iter().filter(|l| !kafka.contains(l)).map(|l| format!("+ {l}"));
        missing.chain(extra).collect()
    };
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(ours.lines().count() > 200, "rows that were compared");
}
