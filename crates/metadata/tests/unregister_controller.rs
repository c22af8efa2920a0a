//! UnregisterController (KIP-1312): the order of its checks, and its record. What Kafka answers is in `controller_oracle`.

use crate::support;

use support::fixtures::decide;
use thalweg_metadata::bootstrap::{activation_records, bootstrap_records};
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::config::broker::{Mode, embedded_defaults};
use thalweg_metadata::controller::Context;
use thalweg_metadata::features::{METADATA_VERSION, MetadataVersion};
use thalweg_metadata::image::Provenance;
use thalweg_metadata::{Delta, MetadataImage};
use thalweg_random::Random;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::*;

#[test]
fn unregister_controller_checks_itself_then_the_level() {
    let config = BrokerConfig::new(embedded_defaults(), Mode::Embedded).expect("defaults");
    let own_id = config.node_id();
    let mut image = MetadataImage::empty();
    let append = |image: &MetadataImage, records: &[MetadataRecord]| {
        let mut delta = Delta::new(image.clone());
        for record in records {
            delta.replay(record).expect("a record that fits");
        }
        delta.apply(Provenance::NONE).0
    };
    let ask = |image: &MetadataImage, controller_id: i32| {
        let context = Context { image, config: &config };
        let request = UnregisterControllerRequest { controller_id, ..Default::default() };
        let mut random = Random::new(1);
        let decision = decide(&context, &request, &mut || random.next_u64(), |_| {});
        (decision.response.error_code, decision.records)
    };
    let refused = |code: ErrorCode| (code, Vec::new());
    let level = |feature_level: i16| -> MetadataRecord {
        let name = METADATA_VERSION.to_owned();
        FeatureLevelRecord { name, feature_level, ..Default::default() }.into()
    };
    let is_transaction = |record: &MetadataRecord| {
        matches!(record, MetadataRecord::BeginTransaction(_) | MetadataRecord::EndTransaction(_))
    };
    let mut first = activation_records(&config, &bootstrap_records(MetadataVersion::LATEST), false);
    first.retain(|record| !is_transaction(record));
    let other = RegisterControllerRecord { controller_id: 7, ..Default::default() };
    first.extend([other.into(), level(32)]);
    image = append(&image, &first);
    assert_eq!(ask(&image, own_id), refused(ErrorCode::INVALID_REQUEST));
    assert_eq!(ask(&image, 7), refused(ErrorCode::UNSUPPORTED_VERSION));
    assert_eq!(ask(&image, 8), refused(ErrorCode::UNSUPPORTED_VERSION));
    image = append(&image, &[level(33)]);
    assert_eq!(ask(&image, own_id), refused(ErrorCode::INVALID_REQUEST));
    assert_eq!(ask(&image, 8), refused(ErrorCode::CONTROLLER_ID_NOT_REGISTERED));
    let (code, records) = ask(&image, 7);
    assert_eq!(code, ErrorCode::NONE);
    image = append(&image, &records);
    assert_eq!(ask(&image, 7), refused(ErrorCode::CONTROLLER_ID_NOT_REGISTERED));
}
