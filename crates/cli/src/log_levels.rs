//! The levels of what `thalweg serve` logs, which can be changed while it runs (KIP-412).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use thalweg_broker::{LOGGERS, LogLevel, LogLevels, ROOT_LOGGER, logged_modules};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::reload;

/// The filter of a subscriber, and the levels it is made of.
pub(crate) struct Levels<S> {
    /// Levels that were set, and that of the root.
    own: Mutex<BTreeMap<String, LogLevel>>,
    filter: reload::Handle<Targets, S>,
}

impl<S: 'static> Levels<S> {
    /// A filter that lets `root` and what is worse through, and its levels.
    pub(crate) fn new(root: LevelFilter) -> (reload::Layer<Targets, S>, Levels<S>) {
        let own = BTreeMap::from([(ROOT_LOGGER.to_owned(), level(root))]);
        let (layer, filter) = reload::Layer::new(targets(&own));
        (layer, Levels { own: Mutex::new(own), filter })
    }

    fn own(&self) -> MutexGuard<'_, BTreeMap<String, LogLevel>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> std::fmt::Debug for Levels<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Levels").field("own", &self.own).finish_non_exhaustive()
    }
}

impl<S: 'static> LogLevels for Levels<S> {
    fn levels(&self) -> BTreeMap<String, LogLevel> {
        let own = self.own();
        LOGGERS
            .iter()
            .chain([&ROOT_LOGGER])
            .map(|name| ((*name).to_owned(), in_force(&own, name)))
            .collect()
    }

    fn set(&self, target: &str, level: Option<LogLevel>) {
        let mut own = self.own();
        match level {
            Some(level) => own.insert(target.to_owned(), level),
            None => own.remove(target),
        };
        // Fails only without the subscriber, and then nothing is logged.
        let _ = self.filter.reload(targets(&own));
    }
}

/// The level of a target: its own, or that of what it is in.
fn in_force(own: &BTreeMap<String, LogLevel>, target: &str) -> LogLevel {
    let mut at = target;
    loop {
        if let Some(level) = own.get(at) {
            return *level;
        }
        match at.rsplit_once("::") {
            Some((outer, _)) => at = outer,
            None if at == ROOT_LOGGER => return LogLevel::Off,
            None => at = ROOT_LOGGER,
        }
    }
}

fn targets(own: &BTreeMap<String, LogLevel>) -> Targets {
    let others = own.iter().filter(|(name, _)| *name != ROOT_LOGGER);
    Targets::new().with_default(filter(in_force(own, ROOT_LOGGER))).with_targets(others.flat_map(
        |(name, level)| {
            logged_modules(name).into_iter().map(|module| (module.to_owned(), filter(*level)))
        },
    ))
}

fn level(filter: LevelFilter) -> LogLevel {
    match filter {
        LevelFilter::OFF => LogLevel::Off,
        LevelFilter::ERROR => LogLevel::Error,
        LevelFilter::WARN => LogLevel::Warn,
        LevelFilter::INFO => LogLevel::Info,
        LevelFilter::DEBUG => LogLevel::Debug,
        _ => LogLevel::Trace,
    }
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off | LogLevel::Fatal => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_level_acts_at_once_on_its_target_and_what_is_in_it() {
        let lines = Lines::default();
        let (filter, levels) = Levels::new(LevelFilter::INFO);
        let writer = lines.clone();
        let layer = tracing_subscriber::fmt::layer().with_writer(move || writer.clone());
        let subscriber = tracing_subscriber::registry().with(filter).with(layer);
        let logged = || {
            tracing::debug!(target: "thalweg_broker::net::frame", "from net");
            tracing::debug!(target: "thalweg_broker::node::pool", "from pool");
            tracing::info!(target: "thalweg_log", "from log");
            let text = String::from_utf8(std::mem::take(&mut lines.0.lock().unwrap())).unwrap();
            ["from net", "from pool", "from log"].map(|line| text.contains(line))
        };
        tracing::subscriber::with_default(subscriber, || {
            assert_eq!(logged(), [false, false, true]);
            levels.set("thalweg_broker::net", Some(LogLevel::Debug));
            assert_eq!(logged(), [true, false, true]);
            levels.set("thalweg_broker", Some(LogLevel::Debug));
            levels.set("thalweg_broker::net", None);
            assert_eq!(levels.levels()["thalweg_broker::net"], LogLevel::Debug);
            assert_eq!(logged(), [true, true, true]);
            levels.set("thalweg_broker", None);
            levels.set("thalweg_broker::kraft", Some(LogLevel::Debug));
            tracing::debug!(target: "thalweg_broker::control::kraft::log", "from kraft");
            let text = String::from_utf8(std::mem::take(&mut lines.0.lock().unwrap())).unwrap();
            assert!(text.contains("from kraft"), "{text}");
            levels.set("thalweg_broker::kraft", None);
            levels.set(ROOT_LOGGER, Some(LogLevel::Fatal));
            assert_eq!(levels.levels()["thalweg_log"], LogLevel::Fatal);
            assert_eq!(logged(), [false, false, false]);
        });
    }
}
