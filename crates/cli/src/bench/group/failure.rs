//! What a coordinator refuses, in words that say what to do.

use thalweg::error::code_name;
use thalweg_wire::ErrorCode;

use super::member::{Api, GroupSpec, Protocol};
use crate::bench::BenchError;

/// Why a member cannot go on.
pub fn explain(api: Api, code: ErrorCode, message: &str, spec: &GroupSpec) -> BenchError {
    let advice = match code {
        ErrorCode::INVALID_SESSION_TIMEOUT => format!(
            "--session-ms {} is not within the broker's group.min.session.timeout.ms and \
             group.max.session.timeout.ms (Kafka's defaults: 6000 and 1800000); choose another, or \
             change them there",
            spec.session_ms
        ),
        ErrorCode::INCONSISTENT_GROUP_PROTOCOL => {
            "it has members of another protocol or assignor; choose another --group".to_owned()
        }
        ErrorCode::GROUP_MAX_SIZE_REACHED => {
            let config = match spec.protocol {
                Protocol::Classic(_) => "group.max.size",
                Protocol::Consumer(_) => "group.consumer.max.size",
            };
            format!("the broker's {config} is below --members; raise it, or take fewer")
        }
        ErrorCode::UNSUPPORTED_ASSIGNOR => {
            "--assignor is not among the broker's group.consumer.assignors".to_owned()
        }
        ErrorCode::UNSUPPORTED_VERSION => {
            "the broker does not have --protocol consumer enabled (feature group.version 1, and \
             consumer in group.coordinator.rebalance.protocols); use --protocol classic"
                .to_owned()
        }
        ErrorCode::FENCED_INSTANCE_ID => {
            "somebody else uses the same group.instance.id; choose another --group".to_owned()
        }
        // The record of a classic group has every member in it.
        ErrorCode::UNKNOWN_SERVER_ERROR if api == Api::Sync => {
            "if the broker's log says that a record was too large, raise max.message.bytes of the \
             topic __consumer_offsets, or take fewer --members"
                .to_owned()
        }
        ErrorCode::NOT_COORDINATOR => {
            "another broker became its coordinator during the run, and the figures would be those \
             of a fail-over; run again"
                .to_owned()
        }
        _ => "a member cannot go on from there".to_owned(),
    };
    let told = match message {
        "" => String::new(),
        message => format!(" ({message})"),
    };
    BenchError::Group {
        group: spec.group.clone(),
        what: format!("{} was answered with {}{told}: {advice}", api.name(), code_name(code)),
    }
}
