//! Memory that is bounded, and the cache of fetch sessions.

use super::metric::Source::{Coordination, Figures, Front};
use super::metric::Unit::Bytes;
use super::metric::{Metric, counter, gauge};

pub(super) const METRICS: &[Metric] = &[
    gauge(
        "thalweg_request_memory_bytes",
        "Bytes that requests hold.",
        Front(|front, out| out.value(front.sockets().request_budget().used())),
    )
    .unit(Bytes),
    gauge(
        "thalweg_request_reserve_bytes",
        "Bytes that fetches hold beside that, because other requests hold all of it.",
        Front(|front, out| out.value(front.sockets().request_budget().reserve_used())),
    )
    .unit(Bytes),
    gauge(
        "thalweg_request_memory_limit_bytes",
        "Bytes that requests may hold.",
        Front(|front, out| out.value(front.sockets().request_budget().limit())),
    )
    .unit(Bytes),
    gauge(
        "thalweg_group_memory_bytes",
        "Bytes that members of groups have left behind.",
        Coordination(|coordination, out| out.value(coordination.groups().account().used())),
    )
    .unit(Bytes),
    gauge(
        "thalweg_group_memory_limit_bytes",
        "Bytes that members of groups may leave behind.",
        Coordination(|coordination, out| out.value(coordination.groups().account().limit())),
    )
    .unit(Bytes),
    gauge(
        "thalweg_fetch_memory_bytes",
        "Bytes that answers to fetches hold, and fetches of many partitions that wait.",
        Front(|front, out| out.value(front.fetch_budget().used())),
    )
    .unit(Bytes),
    gauge(
        "thalweg_fetch_memory_limit_bytes",
        "Bytes that answers to fetches may hold, and fetches of many partitions that wait.",
        Front(|front, out| out.value(front.fetch_budget().limit())),
    )
    .unit(Bytes),
    gauge(
        "thalweg_fetch_answer_memory_bytes",
        "Bytes that answers of many partitions hold beside their records until they are sent.",
        Front(|front, out| out.value(front.answer_budget().used())),
    )
    .unit(Bytes),
    gauge(
        "thalweg_fetch_answer_memory_limit_bytes",
        "Bytes that answers of many partitions may hold beside their records.",
        Front(|front, out| out.value(front.answer_budget().limit())),
    )
    .unit(Bytes),
    gauge(
        "thalweg_fetch_session_memory_bytes",
        "Bytes that fetch sessions hold.",
        Figures(|figures, out| out.value(figures.fetch_sessions().bytes)),
    )
    .unit(Bytes),
    gauge(
        "thalweg_fetch_session_memory_limit_bytes",
        "Bytes that fetch sessions may hold.",
        Figures(|figures, out| out.value(figures.fetch_sessions().bytes_max)),
    )
    .unit(Bytes),
    gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        "Fetch sessions.",
        Figures(|figures, out| out.value(figures.fetch_sessions().sessions)),
    ),
    gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached",
        "Partitions in fetch sessions.",
        Figures(|figures, out| out.value(figures.fetch_sessions().partitions)),
    ),
    counter(
        "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total",
        "Fetch sessions that gave way to others.",
        Figures(|figures, out| out.value(figures.fetch_sessions().evictions)),
    ),
];
