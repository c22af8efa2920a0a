//! Figures that several metrics share, or that several rooms add to. Each is read when the first row asks for it, once
//! for a page: the rows of one page agree.

use std::cell::OnceCell;

use thalweg_groups::{GroupCounters, GroupCounts};
use thalweg_log::CleanerMetrics;

use crate::api::services::Services;
use crate::coordination::runtime::LoadFigures;
use crate::replicas::moves::MoveFigures;

/// The figures of one page.
pub(super) struct Figures<'a> {
    services: &'a Services,
    throttled: OnceCell<Throttled>,
    connections: OnceCell<Connections>,
    partitions: OnceCell<Partitions>,
    moves: OnceCell<MoveFigures>,
    cleaner: OnceCell<CleanerMetrics>,
    fetch_sessions: OnceCell<FetchSessions>,
    marker_connections: OnceCell<MarkerConnections>,
    transaction_loads: OnceCell<LoadFigures>,
    group_loads: OnceCell<LoadFigures>,
    groups: OnceCell<(GroupCounts, GroupCounters)>,
}

/// Bytes per second of throttled replicas.
pub(super) struct Throttled {
    pub(super) leader: u64,
    pub(super) follower: u64,
}

/// Connections of clients.
pub(super) struct Connections {
    pub(super) open: usize,
    /// Closed because of a limit.
    pub(super) refused: u64,
}

/// A walk over all partitions here.
#[derive(Default)]
pub(super) struct Partitions {
    pub(super) topics: usize,
    pub(super) here: usize,
    pub(super) led: usize,
    pub(super) under_replicated: usize,
    pub(super) under_min_isr: usize,
    /// Producers that they remember, in each partition.
    pub(super) producers: usize,
}

/// The cache of fetch sessions.
pub(super) struct FetchSessions {
    pub(super) sessions: usize,
    pub(super) partitions: usize,
    pub(super) bytes: usize,
    pub(super) bytes_max: usize,
    pub(super) evictions: u64,
}

/// Connections that markers are sent on.
pub(super) struct MarkerConnections {
    pub(super) opened: u64,
    pub(super) closed: u64,
}

impl MarkerConnections {
    pub(super) fn open(&self) -> u64 {
        self.opened.saturating_sub(self.closed)
    }
}

impl<'a> Figures<'a> {
    pub(super) fn new(services: &'a Services) -> Figures<'a> {
        Figures {
            services,
            throttled: OnceCell::new(),
            connections: OnceCell::new(),
            partitions: OnceCell::new(),
            moves: OnceCell::new(),
            cleaner: OnceCell::new(),
            fetch_sessions: OnceCell::new(),
            marker_connections: OnceCell::new(),
            transaction_loads: OnceCell::new(),
            group_loads: OnceCell::new(),
            groups: OnceCell::new(),
        }
    }

    pub(super) fn throttled(&self) -> &Throttled {
        self.throttled.get_or_init(|| {
            let throttles = &self.services.replicas.shared().throttles;
            let now_ms = self.services.node.clock().monotonic_ms();
            Throttled {
                leader: throttles.leader.bytes_per_second(now_ms),
                follower: throttles.follower.bytes_per_second(now_ms),
            }
        })
    }

    pub(super) fn connections(&self) -> &Connections {
        self.connections.get_or_init(|| {
            let (open, refused) = self.services.front.sockets().connections().limits().counts();
            Connections { open, refused }
        })
    }

    /// Panics in all rooms.
    pub(super) fn panics(&self) -> u64 {
        let Services { node, replicas, coordination, .. } = self.services;
        node.metrics().panics.get()
            + replicas.logs().metrics().panics.get()
            + replicas.disk_reads().panics()
            + replicas.disk_changes().panics()
            + replicas.disk_metadata().panics()
            + replicas.disk_moves().panics()
            + coordination.groups().panics()
            + coordination.transaction_coordinator().panics()
    }

    pub(super) fn partitions(&self) -> &Partitions {
        self.partitions.get_or_init(|| {
            let table = self.services.replicas.topics();
            let mut figures = Partitions { topics: table.len(), ..Partitions::default() };
            for partition in table.iter().flat_map(|topic| topic.partitions()) {
                let missing = partition.missing_replicas();
                figures.here += 1;
                figures.led += usize::from(partition.led_epoch().is_ok());
                figures.under_replicated += usize::from(missing.replicas);
                figures.under_min_isr += usize::from(missing.min_isr);
                figures.producers += partition.log.producer_count();
            }
            figures
        })
    }

    pub(super) fn moves(&self) -> &MoveFigures {
        self.moves.get_or_init(|| self.services.replicas.moves().figures())
    }

    pub(super) fn cleaner(&self) -> &CleanerMetrics {
        self.cleaner.get_or_init(|| self.services.replicas.logs().cleaner_metrics())
    }

    pub(super) fn fetch_sessions(&self) -> &FetchSessions {
        self.fetch_sessions.get_or_init(|| {
            let cache = self.services.front.sessions();
            let (sessions, partitions) = cache.counts();
            let (bytes, bytes_max) = cache.bytes();
            FetchSessions { sessions, partitions, bytes, bytes_max, evictions: cache.evictions }
        })
    }

    pub(super) fn marker_connections(&self) -> &MarkerConnections {
        self.marker_connections.get_or_init(|| {
            let channels = &self.services.coordination.transaction_writes().markers().channels;
            MarkerConnections {
                opened: channels.connections_opened.get(),
                closed: channels.connections_closed.get(),
            }
        })
    }

    /// Loads of partitions of `__transaction_state`.
    pub(super) fn transaction_loads(&self) -> &LoadFigures {
        self.transaction_loads
            .get_or_init(|| self.services.coordination.transaction_coordinator().load_figures())
    }

    /// Loads of partitions of `__consumer_offsets`.
    pub(super) fn group_loads(&self) -> &LoadFigures {
        self.group_loads.get_or_init(|| self.services.coordination.groups().load_figures())
    }

    /// Groups and offsets in all shards.
    pub(super) fn groups(&self) -> &GroupCounts {
        &self.group_shards().0
    }

    /// Rebalances, commits and expirations in all shards.
    pub(super) fn groups_done(&self) -> &GroupCounters {
        &self.group_shards().1
    }

    fn group_shards(&self) -> &(GroupCounts, GroupCounters) {
        self.groups.get_or_init(|| self.services.coordination.groups().counts())
    }
}
