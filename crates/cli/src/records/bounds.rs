//! Where reading begins and where it ends.

use std::collections::HashMap;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use thalweg::{Consumer, Position, TopicPartition};

use crate::client::time::parse_datetime;
use crate::client::{CliError, parse_duration};

/// For the help of a command.
pub const PLACES: &str = "\
Places: beginning, end, stored (what the group committed), 42 (an offset), -10 (so many before the \
end), @2026-01-31T12:00 (a time, UTC without a zone), @1700000000000 (the same in ms since 1970), @-15m (so \
long ago).";

/// A place in each partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Beginning,
    End,
    Stored,
    Offset(i64),
    /// So many records before the end.
    Before(i64),
    /// The first record that is not older, in ms since 1970.
    Time(i64),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        let wrong = || format!("'{text}' is no place. {PLACES}");
        // kcat writes s@ and e@ for where to begin and to end; here the option says which.
        let time = text.strip_prefix("s@").or(text.strip_prefix("e@")).or(text.strip_prefix('@'));
        if let Some(time) = time {
            return match time.strip_prefix('-') {
                Some(ago) => {
                    let ago = parse_duration(ago)?;
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                    let then = now.saturating_sub(ago).as_millis();
                    Ok(Place::Time(i64::try_from(then).unwrap_or(i64::MAX)))
                }
                None => parse_datetime(time).map(Place::Time).map_err(|_| wrong()),
            };
        }
        match text {
            "beginning" | "earliest" => Ok(Place::Beginning),
            "end" | "latest" => Ok(Place::End),
            "stored" => Ok(Place::Stored),
            number => match number.parse::<i64>() {
                Ok(offset @ 0..) => Ok(Place::Offset(offset)),
                Ok(before) => Ok(Place::Before(before.checked_neg().ok_or_else(wrong)?)),
                Err(_) => Err(wrong()),
            },
        }
    }
}

/// The offset that a place is in each partition; nothing for what only the group knows.
pub async fn offsets(
    consumer: &Consumer,
    partitions: &[TopicPartition],
    place: Place,
) -> Result<HashMap<TopicPartition, i64>, CliError> {
    let ends = async || consumer.end_offsets(partitions).await.map(HashMap::from_iter);
    Ok(match place {
        Place::Stored => HashMap::new(),
        Place::Offset(offset) => partitions.iter().map(|p| (p.clone(), offset)).collect(),
        Place::Beginning => consumer.beginning_offsets(partitions).await?.into_iter().collect(),
        Place::End => ends().await?,
        Place::Before(count) => {
            let begins = consumer.beginning_offsets(partitions).await?;
            let mut found: HashMap<TopicPartition, i64> = ends().await?;
            for (partition, begin) in begins {
                if let Some(end) = found.get_mut(&partition) {
                    *end = end.saturating_sub(count).max(begin);
                }
            }
            found
        }
        Place::Time(time) => {
            let mut found: HashMap<TopicPartition, i64> = ends().await?;
            let wanted = partitions.iter().map(|partition| (partition.clone(), time));
            for (partition, at) in consumer.offsets_for_times(wanted).await? {
                // Without such a record it is the end.
                if let Some(at) = at {
                    found.insert(partition, at.offset);
                }
            }
            found
        }
    })
}

/// Moves offsets that a log does not have to the nearest one that it has; says which. Of a consumer that reads what
/// `is_committed` the end that is known is that of committed records, behind which the log may go on.
pub async fn clamp(
    consumer: &Consumer,
    offsets: &mut HashMap<TopicPartition, i64>,
    is_committed: bool,
) -> Result<Vec<String>, CliError> {
    let mut partitions: Vec<TopicPartition> = offsets.keys().cloned().collect();
    partitions.sort_unstable();
    let begins = consumer.beginning_offsets(&partitions).await?;
    let ends: HashMap<_, _> = consumer.end_offsets(&partitions).await?.into_iter().collect();
    let mut moved = Vec::new();
    for (partition, begin) in begins {
        let end = ends.get(&partition).copied().unwrap_or(begin).max(begin);
        let end = if is_committed { i64::MAX } else { end };
        let Some(offset) = offsets.get_mut(&partition) else { continue };
        let nearest = (*offset).clamp(begin, end);
        if nearest != *offset {
            let (is, which) = match nearest == begin && *offset < begin {
                true => ("begins at", begin),
                false => ("ends at", end),
            };
            moved.push(format!(
                "{partition}: the log {is} {which}; reading begins there, not at {offset}"
            ));
            *offset = nearest;
        }
    }
    Ok(moved)
}

/// A place to begin at.
pub fn begin(offsets: &HashMap<TopicPartition, i64>, of: &TopicPartition) -> Option<Position> {
    offsets.get(of).map(|&offset| Position::at(offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        for (text, place) in [
            ("beginning", Place::Beginning),
            ("latest", Place::End),
            ("stored", Place::Stored),
            ("0", Place::Offset(0)),
            ("-5", Place::Before(5)),
            ("@17", Place::Time(17)),
            ("s@17", Place::Time(17)),
            ("@1970-01-02", Place::Time(86_400_000)),
            ("@1970-01-01T01:00+02:00", Place::Time(-3_600_000)),
        ] {
            assert_eq!(text.parse(), Ok(place), "{text}");
        }
        assert!(matches!("@-1h".parse(), Ok(Place::Time(1_000_000_000_000..))));
        assert_eq!("@-999999d".parse(), Ok(Place::Time(0)));
        for bad in ["", "@", "@x", "@-x", "middle", "99999999999999999999", "-9223372036854775808"]
        {
            assert!(bad.parse::<Place>().is_err(), "{bad}");
        }
    }
}
