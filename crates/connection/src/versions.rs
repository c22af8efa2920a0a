//! Which versions a broker speaks, and how that is found out.

use std::ops::RangeInclusive;

use thalweg_wire::messages::{ApiVersionsRequest, ApiVersionsResponse};
use thalweg_wire::{ApiKey, DecodeError, ErrorCode, Message, Reader, Request};

/// The versions of every API that a broker offered.
#[derive(Clone, Debug, Default)]
pub struct ApiVersions {
    /// Sorted by API.
    ranges: Vec<(ApiKey, i16, i16)>,
    features: Vec<(String, i16)>,
    features_epoch: i64,
}

/// Why a request cannot be sent to a broker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// The broker does not have the API at all.
    #[error("{0} is not offered")]
    Missing(ApiKey),
    /// No version is common.
    #[error("{api} is offered in versions {theirs:?}, but {ours:?} would be needed")]
    Disjoint {
        /// The API.
        api: ApiKey,
        /// What the broker offers.
        theirs: RangeInclusive<i16>,
        /// What is spoken here.
        ours: RangeInclusive<i16>,
    },
}

impl ApiVersions {
    /// From the broker's answer.
    pub fn from_response(response: &ApiVersionsResponse) -> ApiVersions {
        let mut ranges: Vec<_> = response
            .api_keys
            .iter()
            .map(|api| (ApiKey(api.api_key), api.min_version, api.max_version))
            .collect();
        ranges.sort_unstable_by_key(|range| range.0);
        let features = response
            .finalized_features
            .iter()
            .map(|feature| (feature.name.clone(), feature.max_version_level))
            .collect();
        ApiVersions { ranges, features, features_epoch: response.finalized_features_epoch }
    }

    /// What the broker offers of an API.
    pub fn range(&self, api: ApiKey) -> Option<RangeInclusive<i16>> {
        let at = self.ranges.binary_search_by_key(&api, |range| range.0).ok()?;
        let (_, min, max) = self.ranges[at];
        Some(min..=max)
    }

    /// The broker's APIs with their first and last versions, by number.
    pub fn iter(&self) -> impl Iterator<Item = (ApiKey, RangeInclusive<i16>)> + '_ {
        self.ranges.iter().map(|&(api, min, max)| (api, min..=max))
    }

    /// Level of a finalized feature, as `metadata.version`; `None` where it is not in use.
    pub fn feature_level(&self, name: &str) -> Option<i16> {
        self.features.iter().find(|(feature, _)| feature == name).map(|&(_, level)| level)
    }

    /// The finalized features and their levels.
    pub fn features(&self) -> impl Iterator<Item = (&str, i16)> {
        self.features.iter().map(|(name, level)| (&**name, *level))
    }

    /// The offset of the metadata that the features are from; -1 while the broker or controller has read none, and gives
    /// the lowest `metadata.version` and no other feature.
    pub fn features_epoch(&self) -> i64 {
        self.features_epoch
    }

    /// The highest common version of an API, of which `ours` are spoken here.
    pub fn pick(&self, api: ApiKey, ours: RangeInclusive<i16>) -> Result<i16, VersionError> {
        let theirs = self.range(api).ok_or(VersionError::Missing(api))?;
        let version = *theirs.end().min(ours.end());
        if version >= *theirs.start().max(ours.start()) {
            Ok(version)
        } else {
            Err(VersionError::Disjoint { api, theirs, ours })
        }
    }

    /// The highest common version of a request; versions that Kafka has not released are left out.
    pub fn pick_for<R: Request>(&self) -> Result<i16, VersionError> {
        self.pick(R::API_KEY, stable_versions::<R>())
    }
}

/// The released versions of a request.
fn stable_versions<R: Request>() -> RangeInclusive<i16> {
    let stable = R::API_KEY.info().map_or(R::MAX_VERSION, |info| info.max_stable_version);
    R::MIN_VERSION..=R::MAX_VERSION.min(stable)
}

/// Finds out what a broker speaks (KIP-511): ask in our last version; a broker that does not know
/// it answers in version 0 with UNSUPPORTED_VERSION and the versions of ApiVersions it knows.
#[derive(Debug)]
pub struct Negotiation {
    version: i16,
}

/// What to do after an answer.
#[derive(Debug)]
pub enum Step {
    /// Ask again, in [`Negotiation::version`].
    Again,
    /// Known.
    Done(ApiVersions),
}

/// Why a broker's versions cannot be found out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NegotiationError {
    /// The answer cannot be read.
    #[error("version {version}: {source}")]
    Decode {
        /// Version of the answer.
        version: i16,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// The broker answered with an error.
    #[error("answered with {0:?}")]
    Refused(ErrorCode),
}

impl Default for Negotiation {
    fn default() -> Negotiation {
        Negotiation { version: *stable_versions::<ApiVersionsRequest>().end() }
    }
}

impl Negotiation {
    /// Version to ask in.
    pub fn version(&self) -> i16 {
        self.version
    }

    /// Takes the answer's body.
    pub fn on_response(&mut self, body: &[u8]) -> Result<Step, NegotiationError> {
        // The error code comes first in all versions, before it is known which one this is.
        let code =
            body.first_chunk::<2>().map_or(ErrorCode::NONE, |b| ErrorCode(i16::from_be_bytes(*b)));
        let refused = code == ErrorCode::UNSUPPORTED_VERSION && self.version > 0;
        let version = if refused { 0 } else { self.version };
        let response = ApiVersionsResponse::decode(&mut Reader::new(body), version)
            .map_err(|source| NegotiationError::Decode { version, source })?;
        if refused {
            let theirs = ApiVersions::from_response(&response);
            // Old brokers list nothing with the error; version 0 is what they all know.
            self.version = theirs
                .range(ApiKey::API_VERSIONS)
                .map_or(0, |range| (*range.end()).clamp(0, self.version - 1));
            return Ok(Step::Again);
        }
        if response.error_code != ErrorCode::NONE {
            return Err(NegotiationError::Refused(response.error_code));
        }
        Ok(Step::Done(ApiVersions::from_response(&response)))
    }
}

#[cfg(test)]
mod tests {
    use thalweg_wire::Writer;
    use thalweg_wire::messages::api_versions_response::ApiVersion;
    use thalweg_wire::messages::{FetchRequest, MetadataRequest, ProduceRequest};

    use super::*;

    fn answer(code: ErrorCode, ranges: &[(i16, i16, i16)], version: i16) -> Vec<u8> {
        let response = ApiVersionsResponse {
            error_code: code,
            api_keys: ranges
                .iter()
                .map(|&(api_key, min_version, max_version)| ApiVersion {
                    api_key,
                    min_version,
                    max_version,
                    ..ApiVersion::default()
                })
                .collect(),
            ..ApiVersionsResponse::default()
        };
        let mut w = Writer::new();
        response.encode(&mut w, version).unwrap();
        w.to_vec()
    }

    #[test]
    fn an_older_broker_is_asked_again_in_its_version() {
        let mut negotiation = Negotiation::default();
        assert_eq!(negotiation.version(), 5);
        let body = answer(ErrorCode::UNSUPPORTED_VERSION, &[(18, 0, 2)], 0);
        assert!(matches!(negotiation.on_response(&body), Ok(Step::Again)));
        assert_eq!(negotiation.version(), 2);
        let body = answer(ErrorCode::NONE, &[(3, 0, 9), (0, 3, 7)], 2);
        let Ok(Step::Done(versions)) = negotiation.on_response(&body) else { panic!() };
        assert_eq!(versions.range(ApiKey::METADATA), Some(0..=9));
        assert_eq!(versions.pick_for::<ProduceRequest>(), Ok(7));
        assert_eq!(versions.pick_for::<MetadataRequest>(), Ok(9));
        assert_eq!(versions.pick_for::<FetchRequest>(), Err(VersionError::Missing(ApiKey::FETCH)));
    }

    #[test]
    fn a_broker_that_lists_nothing_is_asked_in_version_0() {
        let mut negotiation = Negotiation::default();
        let body = answer(ErrorCode::UNSUPPORTED_VERSION, &[], 0);
        assert!(matches!(negotiation.on_response(&body), Ok(Step::Again)));
        assert_eq!(negotiation.version(), 0);
        // Refused in version 0 too: it cannot be asked forever.
        assert_eq!(
            negotiation.on_response(&body).unwrap_err(),
            NegotiationError::Refused(ErrorCode::UNSUPPORTED_VERSION)
        );
    }

    #[test]
    fn a_broker_that_repeats_itself_is_not_asked_forever() {
        let mut negotiation = Negotiation::default();
        let body = answer(ErrorCode::UNSUPPORTED_VERSION, &[(18, 0, 9)], 0);
        let mut asked = 0;
        while let Ok(Step::Again) = negotiation.on_response(&body) {
            asked += 1;
            assert!(asked < 10);
        }
    }

    #[test]
    fn ranges_without_a_common_version_are_refused() {
        let mut negotiation = Negotiation::default();
        let body = answer(ErrorCode::NONE, &[(0, 90, 99)], 4);
        let Ok(Step::Done(versions)) = negotiation.on_response(&body) else { panic!() };
        assert!(matches!(
            versions.pick_for::<ProduceRequest>(),
            Err(VersionError::Disjoint { .. })
        ));
    }

    #[test]
    fn cut_answers_are_errors() {
        let body = answer(ErrorCode::NONE, &[(0, 0, 9)], 4);
        for len in 0..body.len() - 1 {
            assert!(Negotiation::default().on_response(&body[..len]).is_err(), "{len} bytes");
        }
    }
}
