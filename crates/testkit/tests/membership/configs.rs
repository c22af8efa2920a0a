//! Changes of configs that the broker which is asked refuses itself, as Java's does: the controllers do not know what
//! fits a broker.

use thalweg::Connection;
use thalweg_wire::messages::alter_configs_request::{
    AlterConfigsResource as LegacyResource, AlterableConfig as LegacyConfig,
};
use thalweg_wire::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use thalweg_wire::messages::{AlterConfigsRequest, IncrementalAlterConfigsRequest};

use super::*;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;

/// Type, name, configs with their values.
type Asked<'a> = (i8, &'a str, Vec<(&'a str, Option<&'a str>)>);

/// The errors of a request that changes single configs, and of one that replaces them, both only checked.
async fn errors(connection: &Connection, asked: &[Asked<'_>]) -> [Vec<ErrorCode>; 2] {
    let resources = asked.iter().map(|(kind, name, configs)| AlterConfigsResource {
        resource_type: *kind,
        resource_name: (*name).into(),
        configs: configs
            .iter()
            .map(|(name, value)| AlterableConfig {
                name: (*name).into(),
                value: value.map(str::to_owned),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    });
    let request = IncrementalAlterConfigsRequest {
        resources: resources.collect(),
        validate_only: true,
        ..Default::default()
    };
    let changed = connection.send(&request).await.unwrap().responses;
    let resources = asked.iter().map(|(kind, name, configs)| LegacyResource {
        resource_type: *kind,
        resource_name: (*name).into(),
        configs: configs
            .iter()
            .map(|(name, value)| LegacyConfig {
                name: (*name).into(),
                value: value.map(str::to_owned),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    });
    // Java gives no answer to the older form where a resource is named twice.
    let mut named: Vec<_> = asked.iter().map(|(kind, name, _)| (kind, name)).collect();
    named.sort_unstable();
    named.dedup();
    let resources = resources.filter(|_| named.len() == asked.len());
    let request = AlterConfigsRequest {
        resources: resources.collect(),
        validate_only: true,
        ..Default::default()
    };
    let replaced = connection.send(&request).await.unwrap().responses;
    // Java's order is its own.
    let of = |mut all: Vec<(i8, String, ErrorCode)>| {
        all.sort_by(|a, b| (a.0, &a.1, a.2.0).cmp(&(b.0, &b.1, b.2.0)));
        all.into_iter().map(|(.., code)| code).collect()
    };
    let changed = changed.into_iter().map(|it| (it.resource_type, it.resource_name, it.error_code));
    let replaced =
        replaced.into_iter().map(|it| (it.resource_type, it.resource_name, it.error_code));
    [of(changed.collect()), of(replaced.collect())]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configs_of_brokers_are_checked_by_the_broker_that_is_asked() {
    let Some(builder) = Kafka::builder() else { return };
    let kafka = builder.feature("share.version", 0).feature("streams.version", 0).start();
    let java = kafka.bootstrap(Kafka::INTERNAL);
    let data = Data::new();
    let broker = joining(&kafka).data(&data.0).start().await;
    let own = broker.bootstrap();
    topic_tool(&own, &["--create", "--topic", "t", "--replica-assignment", "10"]);
    let theirs = admin(&java).await;
    let t = TopicRef::from("t");
    eventually("the topic", async || theirs.describe_topics([t.clone()]).await[&t].is_ok()).await;
    let ours = Connection::open(&own, &Options::default()).await.unwrap();
    let theirs = Connection::open(&java, &Options::default()).await.unwrap();
    // Each broker speaks of itself and of one that it is not.
    for (what, own, other) in [("this one", "10", "1"), ("all", "", "77")] {
        let cases: Vec<(&str, Vec<Asked<'_>>)> = vec![
            ("good", vec![(BROKER, own, vec![("log.cleaner.threads", Some("2"))])]),
            ("not a number", vec![(BROKER, own, vec![("log.cleaner.threads", Some("many"))])]),
            ("read-only", vec![(BROKER, own, vec![("log.dirs", Some("/elsewhere"))])]),
            ("another broker", vec![(BROKER, other, vec![("log.cleaner.threads", Some("2"))])]),
            ("no broker", vec![(BROKER, "one", vec![("log.cleaner.threads", Some("2"))])]),
            ("no value", vec![(BROKER, own, vec![("log.cleaner.threads", None)])]),
            ("no such type", vec![(77, "t", vec![("retention.ms", Some("1"))])]),
            (
                "twice, and one that is good",
                vec![
                    (TOPIC, "t", vec![("retention.ms", Some("1000"))]),
                    (TOPIC, "none", vec![("retention.ms", Some("1000"))]),
                    (TOPIC, "none", vec![("retention.ms", Some("1000"))]),
                ],
            ),
            (
                "some here, some at the controller",
                vec![
                    (BROKER, other, vec![("log.cleaner.threads", Some("2"))]),
                    (TOPIC, "t", vec![("retention.ms", Some("1000"))]),
                    (BROKER, own, vec![("log.cleaner.threads", Some("many"))]),
                    (TOPIC, "none", vec![("retention.ms", Some("1000"))]),
                ],
            ),
        ];
        for (case, asked) in cases {
            let of_java: Vec<Asked<'_>> = asked
                .iter()
                .map(|(kind, named, configs)| {
                    let named = match *named {
                        "10" => "1",
                        "1" => "10",
                        named => named,
                    };
                    (*kind, named, configs.clone())
                })
                .collect();
            let (mut here, mut there) =
                (errors(&ours, &asked).await, errors(&theirs, &of_java).await);
            for answers in [&mut here, &mut there] {
                answers.iter_mut().for_each(|codes| codes.sort_by_key(|code| code.0));
            }
            eprintln!("{what}, {case}: {here:?}");
            assert_eq!(here, there, "{what}, {case}");
        }
    }
    broker.shut_down().await;
}
