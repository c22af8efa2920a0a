//! Which values a config takes, beyond its type.

use std::fmt;

use super::value::Value;

/// The values a config takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Valid {
    /// Everything of the config's type.
    Any,
    /// A number within bounds, both inclusive.
    Range {
        /// Smallest value.
        min: f64,
        /// Largest value; `None` for no limit.
        max: Option<f64>,
    },
    /// One of some words.
    OneOf(Vec<&'static str>),
    /// One of some words, in any case. The words are in lower case here.
    OneOfIgnoringCase(Vec<&'static str>),
    /// A list without empty members. Members that stand twice are dropped before the check.
    List {
        /// The members allowed; empty for any.
        of: Vec<&'static str>,
        /// Whether the list may be empty.
        may_be_empty: bool,
        /// Whether the config may be unset.
        may_be_null: bool,
    },
    /// Any text but the empty one.
    NonEmpty,
    /// Any text, but it must be set.
    NonNull,
    /// 1 to 9, or -1 for the codec's default.
    GzipLevel,
    /// `*`, or `partition:broker` pairs.
    ThrottledReplicas,
    /// `id@host:port` entries.
    Voters,
    /// `host:port` entries.
    HostPorts,
    /// `earliest`, `latest`, or `by_duration:` and an ISO-8601 duration.
    OffsetReset,
}

impl Valid {
    /// Reads the column of the tables.
    pub(crate) fn from_column(column: &'static str) -> Option<Valid> {
        let words = |text: &'static str| -> Option<Vec<&'static str>> {
            Some(text.strip_suffix('}')?.split(',').collect())
        };
        Some(match column {
            "-" => Valid::Any,
            "nonempty" => Valid::NonEmpty,
            "nonnull" => Valid::NonNull,
            "gzip-level" => Valid::GzipLevel,
            "throttled-replicas" => Valid::ThrottledReplicas,
            "voters" => Valid::Voters,
            "host-ports" => Valid::HostPorts,
            "offset-reset" => Valid::OffsetReset,
            _ => {
                if let Some(rest) = column.strip_prefix("list") {
                    let (rest, may_be_null) = strip(rest, "+null");
                    let (rest, may_be_empty) = strip(rest, "+empty");
                    let of = match rest.strip_prefix('{') {
                        Some(rest) => words(rest)?,
                        None if rest.is_empty() => Vec::new(),
                        None => return None,
                    };
                    Valid::List { of, may_be_empty, may_be_null }
                } else if let Some(rest) = column.strip_prefix("{~") {
                    Valid::OneOfIgnoringCase(words(rest)?)
                } else if let Some(rest) = column.strip_prefix('{') {
                    Valid::OneOf(words(rest)?)
                } else {
                    let (min, max) = column.split_once("..")?;
                    let max = if max.is_empty() { None } else { Some(max.parse().ok()?) };
                    Valid::Range { min: min.parse().ok()?, max }
                }
            }
        })
    }

    /// Checks a value of the right type; `None` is a config that is not set.
    pub fn check(&self, value: Option<&Value>) -> Result<(), String> {
        match self {
            Valid::Any => Ok(()),
            Valid::Range { min, max } => {
                let number = value.and_then(Value::number).ok_or("must be set")?;
                // Written so that NaN passes, as it does in Kafka.
                if number < *min {
                    return Err(format!("must be at least {min}"));
                }
                match max {
                    Some(max) if number > *max => Err(format!("must be at most {max}")),
                    _ => Ok(()),
                }
            }
            Valid::OneOf(words) => match value {
                Some(Value::String(text)) if words.contains(&text.as_str()) => Ok(()),
                _ => Err(format!("must be one of {}", words.join(", "))),
            },
            Valid::OneOfIgnoringCase(words) => match value {
                Some(Value::String(text)) if words.contains(&text.to_lowercase().as_str()) => {
                    Ok(())
                }
                _ => Err(format!("must be one of {}, in any case", words.join(", "))),
            },
            Valid::List { of, may_be_empty, may_be_null } => {
                let Some(Value::List(values)) = value else {
                    return if *may_be_null { Ok(()) } else { Err("must be set".into()) };
                };
                if values.is_empty() && !may_be_empty {
                    return Err("must not be empty".into());
                }
                for member in values {
                    if member.is_empty() {
                        return Err("must not have empty members".into());
                    }
                    if !of.is_empty() && !of.contains(&member.as_str()) {
                        return Err(format!("{member} is none of {}", of.join(", ")));
                    }
                }
                Ok(())
            }
            Valid::NonEmpty => match value {
                Some(Value::String(text)) if text.is_empty() => Err("must not be empty".into()),
                _ => Ok(()),
            },
            Valid::NonNull => match value {
                None => Err("must be set".into()),
                Some(_) => Ok(()),
            },
            Valid::GzipLevel => match value {
                Some(Value::Int(level)) if *level == -1 || (1..=9).contains(level) => Ok(()),
                _ => Err("must be 1 to 9, or -1 for the default level".into()),
            },
            Valid::ThrottledReplicas => match value {
                Some(Value::List(members)) if throttled_replicas(members) => Ok(()),
                _ => Err("must be * or a list of partition:broker pairs".into()),
            },
            Valid::Voters => match value {
                Some(Value::List(entries)) => {
                    entries.iter().try_for_each(|entry| Voter::parse(entry).map(drop))
                }
                _ => Err("must be set".into()),
            },
            Valid::HostPorts => match value {
                Some(Value::List(entries)) => {
                    entries.iter().try_for_each(|entry| host_port(entry).map(drop))
                }
                _ => Err("must be set".into()),
            },
            Valid::OffsetReset => match value {
                Some(Value::String(text)) if offset_reset(text) => Ok(()),
                _ => Err("must be earliest, latest or by_duration:PnDTnHnMn.nS".into()),
            },
        }
    }
}

impl fmt::Display for Valid {
    /// As in the column of the tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Valid::Any => f.write_str("-"),
            Valid::Range { min, max: None } => write!(f, "{min}.."),
            Valid::Range { min, max: Some(max) } => write!(f, "{min}..{max}"),
            Valid::OneOf(words) => write!(f, "{{{}}}", words.join(",")),
            Valid::OneOfIgnoringCase(words) => write!(f, "{{~{}}}", words.join(",")),
            Valid::List { of, may_be_empty, may_be_null } => {
                f.write_str("list")?;
                if !of.is_empty() {
                    write!(f, "{{{}}}", of.join(","))?;
                }
                f.write_str(if *may_be_empty { "+empty" } else { "" })?;
                f.write_str(if *may_be_null { "+null" } else { "" })
            }
            Valid::NonEmpty => f.write_str("nonempty"),
            Valid::NonNull => f.write_str("nonnull"),
            Valid::GzipLevel => f.write_str("gzip-level"),
            Valid::ThrottledReplicas => f.write_str("throttled-replicas"),
            Valid::Voters => f.write_str("voters"),
            Valid::HostPorts => f.write_str("host-ports"),
            Valid::OffsetReset => f.write_str("offset-reset"),
        }
    }
}

fn strip<'a>(text: &'a str, suffix: &str) -> (&'a str, bool) {
    match text.strip_suffix(suffix) {
        Some(rest) => (rest, true),
        None => (text, false),
    }
}

fn throttled_replicas(members: &[String]) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let members: Vec<&str> = members.iter().map(|member| super::value::java_trim(member)).collect();
    let pairs = members.iter().all(|member| {
        member.is_empty()
            || member.split_once(':').is_some_and(|(left, right)| number(left) && number(right))
    });
    pairs || members.concat() == "*"
}

/// One entry of `controller.quorum.voters`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voter {
    /// Node id.
    pub id: i32,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl Voter {
    /// Reads `id@host:port`.
    pub fn parse(entry: &str) -> Result<Voter, String> {
        let form = || format!("{entry:?} is not of the form id@host:port");
        // Java's split drops empty parts at the end, so a trailing @ goes unnoticed there too.
        let (id, address) = entry.trim_end_matches('@').split_once('@').ok_or_else(form)?;
        if address.contains('@') {
            return Err(form());
        }
        let id = id.parse().map_err(|_| format!("{id:?} is not a node id"))?;
        let (host, port) = host_port(address)?;
        Ok(Voter { id, host, port })
    }
}

/// Reads `host:port` or `[v6]:port`, with an optional scheme in front, as Kafka does.
pub(crate) fn host_port(entry: &str) -> Result<(String, u16), String> {
    let form = || format!("{entry:?} is not of the form host:port");
    let (address, port) = entry.rsplit_once(':').ok_or_else(form)?;
    if port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) {
        return Err(form());
    }
    let port = port.parse().map_err(|_| format!("{port:?} is not a port"))?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '%' | '.' | '_');
    let host = match address.split_once("://") {
        Some((scheme, rest)) if scheme.chars().all(is_scheme) => rest,
        _ => address,
    };
    let host = host.strip_prefix('[').unwrap_or(host);
    let host = host.strip_suffix(']').unwrap_or(host);
    if !is_host(host) {
        return Err(form());
    }
    Ok((host.to_owned(), port))
}

/// Whether a text has only characters that a host name or address can have.
pub(crate) fn is_host(host: &str) -> bool {
    host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '%' | '.' | '_' | ':'))
}

fn offset_reset(text: &str) -> bool {
    match text {
        "earliest" | "latest" => true,
        _ => text.strip_prefix("by_duration:").is_some_and(|duration| {
            // A negative duration would start in the future.
            duration_nanos(duration).is_some_and(|nanos| nanos >= 0)
        }),
    }
}

/// Reads an ISO-8601 duration as `java.time.Duration` does: days, hours, minutes and seconds.
pub(crate) fn duration_nanos(text: &str) -> Option<i128> {
    let upper = text.to_ascii_uppercase();
    let (negate, rest) = match upper.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, upper.strip_prefix('+').unwrap_or(&upper)),
    };
    let rest = rest.strip_prefix('P')?;
    let (date, time) = match rest.split_once('T') {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None => (rest, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    if !date.is_empty() {
        total += whole(date.strip_suffix('D')?)?.checked_mul(86_400_000_000_000)?;
    }
    let mut rest = time;
    for (unit, nanos) in [('H', 3_600_000_000_000), ('M', 60_000_000_000)] {
        if let Some((number, after)) = rest.split_once(unit) {
            total += whole(number)?.checked_mul(nanos)?;
            rest = after;
        }
    }
    if !rest.is_empty() {
        let number = rest.strip_suffix('S')?;
        let (seconds, fraction) = match number.split_once(['.', ',']) {
            Some((seconds, fraction)) => (seconds, fraction),
            None => (number, ""),
        };
        if fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let mut nanos: i128 = 0;
        if !fraction.is_empty() {
            nanos = format!("{fraction:0<9}").parse().ok()?;
        }
        if seconds.starts_with('-') {
            nanos = -nanos;
        }
        total += whole(seconds)?.checked_mul(1_000_000_000)? + nanos;
    }
    let total = if negate { -total } else { total };
    let seconds = total.div_euclid(1_000_000_000);
    i64::try_from(seconds).ok().map(|_| total)
}

fn whole(text: &str) -> Option<i128> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse::<i64>().ok().map(i128::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voters() {
        let voter = Voter::parse("1@[::1]:9093").expect("a voter");
        assert_eq!(voter, Voter { id: 1, host: "::1".into(), port: 9093 });
        for bad in ["1", "@a:1", "x@a:1", "1@a", "1@a:b", "1@a:70000", "1@a b:1", "1@2@a:1"] {
            assert!(Voter::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(duration_nanos("PT1.5S"), Some(1_500_000_000));
        assert_eq!(duration_nanos("p1dt2h"), Some(93_600_000_000_000));
        assert_eq!(duration_nanos("-PT1M"), Some(-60_000_000_000));
        assert_eq!(duration_nanos("PT-0.5S"), Some(-500_000_000));
        for bad in ["", "P", "PT", "1D", "P1", "PT1", "P1H", "PT1S1M", "PTS", "PT1.0000000000S"] {
            assert_eq!(duration_nanos(bad), None, "{bad}");
        }
        assert!(offset_reset("by_duration:PT1H"));
        assert!(!offset_reset("by_duration:-PT1H"));
    }

    #[test]
    fn throttled() {
        let check = |members: &[&str]| {
            throttled_replicas(&members.iter().map(|m| m.to_string()).collect::<Vec<_>>())
        };
        assert!(check(&[]) && check(&["*"]) && check(&["0:1", "1:2"]) && check(&["0:1", ""]));
        assert!(!check(&["0:1", "*"]) && !check(&["a:1"]) && !check(&["0"]) && !check(&["0:1:2"]));
    }
}
