//! The metadata image as requests look at it.

use std::ops::Deref;
use std::sync::Arc;

use thalweg_metadata::image::{BrokerRegistration, MetadataImage};

/// A reader's hold on the image of one moment.
#[derive(Clone, Debug)]
pub(crate) struct View(pub(crate) Arc<MetadataImage>);

/// A broker as clients are told of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BrokerAddress<'a> {
    pub(crate) id: i32,
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) rack: Option<&'a str>,
}

impl Deref for View {
    type Target = MetadataImage;
    fn deref(&self) -> &MetadataImage {
        &self.0
    }
}

fn node<'a>(broker: &'a BrokerRegistration, listener: &str) -> Option<BrokerAddress<'a>> {
    let endpoint = broker.endpoint(listener)?;
    Some(BrokerAddress {
        id: broker.id,
        host: &endpoint.host,
        port: endpoint.port,
        rack: broker.rack.as_deref(),
    })
}

impl View {
    /// A broker that is up, at its address for clients of `listener`.
    pub(crate) fn endpoint(&self, id: i32, listener: &str) -> Option<BrokerAddress<'_>> {
        let broker = self.cluster.broker(id)?;
        if broker.fenced { None } else { node(broker, listener) }
    }

    /// All brokers that are up.
    pub(crate) fn nodes<'a>(
        &'a self,
        listener: &'a str,
    ) -> impl Iterator<Item = BrokerAddress<'a>> {
        self.cluster.brokers.values().filter(|b| !b.fenced).filter_map(move |b| node(b, listener))
    }

    /// Who leads a partition.
    pub(crate) fn partition_leader(&self, topic: &str, partition: i32) -> Option<i32> {
        let partition = self.topics.by_name(topic)?.partitions.get(&partition)?;
        (partition.leader >= 0).then_some(partition.leader)
    }

    /// Finalized features and their levels.
    pub(crate) fn finalized_features(&self) -> impl Iterator<Item = (&str, i16)> {
        let version = self
            .features
            .metadata_version
            .map(|v| (thalweg_metadata::features::METADATA_VERSION, v.level()));
        version.into_iter().chain(self.features.levels.iter().map(|(n, l)| (n.as_str(), *l)))
    }

    /// Offset of the last metadata record in the image.
    pub(crate) fn offset(&self) -> i64 {
        self.provenance.offset
    }
}
