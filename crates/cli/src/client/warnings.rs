//! The client's warnings, for stderr: lost connections and topics that are missing are logged by the
//! client crate, and are no errors of its calls.
//!
//! A warning is not repeated within [`REPEAT`]. The client tries again several times a second for as
//! long as a cluster is away, and logs each time.

use std::collections::VecDeque;
use std::fmt::{Debug, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::stderr::warn;

/// How long the same warning is not said again.
const REPEAT: Duration = Duration::from_secs(10);
/// Warnings that are remembered.
const REMEMBERED_MAX: usize = 64;
/// Where the client's events come from.
const CLIENT: &str = "thalweg";

/// Says the client's warnings on stderr from now on, but for those of the target `told`, which the command
/// tells in its own words. Called again, it does nothing.
pub fn show(told: Option<&'static str>) {
    // Fails where another subscriber takes the events, which shows them then.
    let warnings = Warnings { told, recent: Mutex::default() };
    let _ = tracing::subscriber::set_global_default(warnings);
}

struct Warnings {
    told: Option<&'static str>,
    recent: Mutex<Recent>,
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let is_client = target.split("::").next() == Some(CLIENT);
        is_client
            && Some(target) != self.told
            && !metadata.is_span()
            && *metadata.level() <= tracing::Level::WARN
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        let text = text.joined();
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.is_new(&text, Instant::now()) {
            warn(&text);
        }
    }

    // No span is enabled.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Warnings of the last while, the oldest first.
#[derive(Default)]
struct Recent(VecDeque<(Instant, String)>);

impl Recent {
    fn is_new(&mut self, text: &str, now: Instant) -> bool {
        while self.0.front().is_some_and(|(said, _)| now.duration_since(*said) >= REPEAT) {
            self.0.pop_front();
        }
        if self.0.iter().any(|(_, known)| known == text) {
            return false;
        }
        if self.0.len() == REMEMBERED_MAX {
            self.0.pop_front();
        }
        self.0.push_back((now, text.to_owned()));
        true
    }
}

/// An event as a sentence: its message, the other fields, the error.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
    error: String,
}

impl Text {
    fn joined(self) -> String {
        let Text { mut message, fields, error } = self;
        for part in [fields, error].iter().filter(|part| !part.is_empty()) {
            message.push_str(": ");
            message.push_str(part);
        }
        message
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            "error" => write!(self.error, "{value:?}"),
            name => {
                let between = if self.fields.is_empty() { "" } else { ", " };
                write!(self.fields, "{between}{name} {value:?}")
            }
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_repeated_only_after_a_while() {
        let mut recent = Recent::default();
        let begun = Instant::now();
        assert!(recent.is_new("a", begun) && recent.is_new("b", begun + REPEAT / 2));
        assert!(!recent.is_new("a", begun + REPEAT - Duration::from_nanos(1)));
        assert!(recent.is_new("a", begun + REPEAT) && !recent.is_new("b", begun + REPEAT));
        for n in 0..10 * REMEMBERED_MAX {
            recent.is_new(&n.to_string(), begun + REPEAT);
            assert!(recent.0.len() <= REMEMBERED_MAX);
        }
    }

    #[test]
    fn an_event_becomes_a_sentence() {
        struct Taken(std::sync::Arc<Mutex<Vec<String>>>, Warnings);
        impl Subscriber for Taken {
            fn enabled(&self, metadata: &Metadata<'_>) -> bool {
                self.1.enabled(metadata)
            }
            fn event(&self, event: &Event<'_>) {
                let mut text = Text::default();
                event.record(&mut text);
                self.0.lock().unwrap().push(text.joined());
            }
            fn new_span(&self, span: &Attributes<'_>) -> Id {
                self.1.new_span(span)
            }
            fn record(&self, _: &Id, _: &Record<'_>) {}
            fn record_follows_from(&self, _: &Id, _: &Id) {}
            fn enter(&self, _: &Id) {}
            fn exit(&self, _: &Id) {}
        }
        let texts = std::sync::Arc::default();
        let warnings = Warnings { told: Some("thalweg::told"), recent: Mutex::default() };
        let taken = Taken(std::sync::Arc::clone(&texts), warnings);
        tracing::subscriber::with_default(taken, || {
            let error = std::io::Error::other("refused");
            tracing::warn!(target: "thalweg::consumer", %error, "not reached");
            tracing::warn!(target: "thalweg", topic = %"t", code = "NONE", "missing");
            tracing::info!(target: "thalweg", "not shown");
            tracing::warn!(target: "thalweg_broker", "not shown");
            tracing::warn!(target: "thalweg::told", "not shown");
        });
        assert_eq!(*texts.lock().unwrap(), ["not reached: refused", "missing: topic t, code NONE"]);
    }
}
