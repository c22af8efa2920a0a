//! ApiVersions: what this broker speaks, and the features it knows (KIP-35, KIP-511, KIP-584). From version 5 on a
//! client can name the cluster and the node that it means to speak to (KIP-1242).

use thalweg_wire::messages::ApiVersionsRequest;
use thalweg_wire::messages::api_versions_response::{
    ApiVersion, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};
use thalweg_wire::{ApiKey, ErrorCode, Message, Reader};

use crate::api::context::{Context, Scratch};
use crate::api::table;
use crate::net::budget::Charge;
use crate::net::connection::Handled;

pub(super) async fn handle(
    context: &Context,
    scratch: &mut Scratch,
    body: &[u8],
    _charge: &mut Charge,
) -> Handled {
    let known = ApiVersionsRequest::MIN_VERSION..=ApiVersionsRequest::MAX_VERSION;
    let (response, version) = if !known.contains(&context.version) {
        // The oldest form, which a newer client can always read, says which version to use instead.
        let own = ApiVersion {
            api_key: ApiKey::API_VERSIONS.0,
            min_version: *known.start(),
            max_version: *known.end(),
            ..Default::default()
        };
        let refusal = ApiVersionsResponse {
            error_code: ErrorCode::UNSUPPORTED_VERSION,
            api_keys: vec![own],
            ..Default::default()
        };
        (refusal, 0)
    } else {
        let request = match ApiVersionsRequest::decode(&mut Reader::new(body), context.version) {
            Ok(request) => request,
            Err(error) => return Handled::Close(format!("malformed ApiVersions request: {error}")),
        };
        let error_code = refusal(context, &request);
        let response = if error_code.is_ok() {
            let version = &request.client_software_version;
            scratch.heartbeats.set_software(&request.client_software_name, version);
            answer(context)
        } else {
            ApiVersionsResponse { error_code, ..Default::default() }
        };
        (response, context.version)
    };
    context.begin(&mut scratch.reply.frame);
    match response
        .encode(&mut scratch.reply.frame, version)
        .and_then(|()| scratch.reply.frame.end_frame())
    {
        Ok(()) => Handled::Reply,
        Err(error) => Handled::Close(format!("ApiVersions cannot be answered: {error}")),
    }
}

/// Why the request is refused; `NONE` if it is not. The checks are in Kafka's order.
fn refusal(context: &Context, request: &ApiVersionsRequest) -> ErrorCode {
    let has_words = is_client_word(&request.client_software_name)
        && is_client_word(&request.client_software_version);
    // Versions that lack a field decode it as its default.
    let names_half_a_node = request.cluster_id.is_some() != (request.node_id != -1);
    if names_half_a_node || (context.version >= 3 && !has_words) {
        return ErrorCode::INVALID_REQUEST;
    }
    let services = &context.services;
    match &request.cluster_id {
        Some(cluster)
            if *cluster != services.node.cluster_id() || request.node_id != services.node.id() =>
        {
            ErrorCode::REBOOTSTRAP_REQUIRED
        }
        _ => ErrorCode::NONE,
    }
}

/// Software names and versions: letters, digits, `.` and `-`, beginning and ending with a letter or
/// digit (KIP-511).
fn is_client_word(text: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    ends(text.chars().next())
        && ends(text.chars().next_back())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
}

fn answer(context: &Context) -> ApiVersionsResponse {
    let services = &context.services;
    let image = services.node.image();
    let api_keys = table::APIS
        .iter()
        .filter_map(|api| match services.control.controller().remote() {
            // A client learns of no version that the controllers do not speak.
            Some(remote) if api.is_forwarded() => {
                let (first, last) = remote.range(api.key)?.into_inner();
                let (min, max) = (api.min_advertised().max(first), api.max_version.min(last));
                (min <= max).then_some((api.key, min, max))
            }
            _ => Some((api.key, api.min_advertised(), api.max_version)),
        })
        .map(|(key, min_version, max_version)| ApiVersion {
            api_key: key.0,
            min_version,
            max_version,
            ..Default::default()
        })
        .collect();
    let supported_features = thalweg_metadata::features::SUPPORTED
        .iter()
        // Older clients cannot read a feature whose lowest level is 0 (KAFKA-17492).
        .filter(|range| context.version >= 4 || range.min > 0)
        .map(|range| SupportedFeatureKey {
            name: range.name.to_owned(),
            min_version: range.min,
            max_version: range.max,
            ..Default::default()
        })
        .collect();
    let finalized_features = image
        .finalized_features()
        .chain([("kraft.version", services.control.controller().kraft_version())])
        .filter(|(_, level)| *level > 0)
        .map(|(name, level)| FinalizedFeatureKey {
            name: name.to_owned(),
            min_version_level: level,
            max_version_level: level,
            ..Default::default()
        })
        .collect();
    ApiVersionsResponse {
        api_keys,
        supported_features,
        finalized_features,
        finalized_features_epoch: image.offset(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::is_client_word;

    #[test]
    fn client_words() {
        for good in ["apache-kafka-java", "4.4.0", "a", "v1.0-rc.1"] {
            assert!(is_client_word(good), "{good}");
        }
        for bad in ["", "-a", "a-", "a b", ".1", "ü"] {
            assert!(!is_client_word(bad), "{bad}");
        }
    }
}
