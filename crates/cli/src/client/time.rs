//! Moments as people write them, in UTC unless they say otherwise.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MS_PER_DAY: i64 = 86_400_000;

/// Milliseconds since 1970 of `2026-01-31`, `2026-01-31T12:00`, `2026-01-31T12:00:00.5+02:00`, or of
/// a number of milliseconds as it is. Without a zone it is UTC, as with Kafka's tools.
pub fn parse_datetime(text: &str) -> Result<i64, String> {
    let wrong = || format!("'{text}' is no time: 2026-01-31T12:00:00.000Z, or ms since 1970");
    if let Ok(ms) = text.parse::<i64>() {
        return Ok(ms);
    }
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, time),
        None => (text, "00:00"),
    };
    let mut parts = date.splitn(3, '-').map(digits);
    let (Some(Some(year)), Some(Some(month)), Some(Some(day))) =
        (parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong());
    };
    if !(1..=9_999).contains(&year) || !(1..=12).contains(&month) {
        return Err(wrong());
    }
    if day < 1 || day > days_in(year, month) {
        return Err(wrong());
    }
    let (clock, zone_ms) = split_zone(time).ok_or_else(wrong)?;
    let clock_ms = clock_ms(clock).ok_or_else(wrong)?;
    Ok(days_since_1970(year, month, day) * MS_PER_DAY + clock_ms - zone_ms)
}

/// A number of digits only: signs are none.
fn digits(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// The clock, and by how much it is ahead of UTC.
fn split_zone(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = time.find(['+', '-']) else { return Some((time, 0)) };
    let (clock, zone) = time.split_at(at);
    let (sign, zone) = zone.split_at(1);
    let (hours, minutes) = match zone.split_once(':') {
        Some(parts) => parts,
        None if zone.len() == 4 => zone.split_at_checked(2)?,
        None => (zone, "0"),
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    if hours > 18 || minutes > 59 {
        return None;
    }
    let ms = (hours * 60 + minutes) * 60_000;
    Some((clock, if sign == "-" { -ms } else { ms }))
}

fn clock_ms(clock: &str) -> Option<i64> {
    let mut parts = clock.splitn(3, ':');
    let hours = digits(parts.next()?)?;
    let minutes = digits(parts.next()?)?;
    let (seconds, fraction) = match parts.next() {
        None => ("0", ""),
        Some(seconds) => seconds.split_once('.').unwrap_or((seconds, "")),
    };
    let seconds = digits(seconds)?;
    let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit());
    if hours > 23 || minutes > 59 || seconds > 59 || fraction.len() > 9 || !is_number {
        return None;
    }
    let ms = if fraction.is_empty() { 0 } else { digits(&format!("{fraction:0<3}")[..3])? };
    Some(((hours * 60 + minutes) * 60 + seconds) * 1_000 + ms)
}

fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of years before `year`, since the year 1.
fn days_before(year: i64) -> i64 {
    let past = year - 1;
    past * 365 + past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400)
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let months: i64 = (1..month).map(|month| days_in(year, month)).sum();
    days_before(year) - days_before(1970) + months + day - 1
}

/// `2026-01-31T12:00:00.000Z`; the number itself where it lies outside the years 1 to 9999.
pub fn format_datetime(ms: i64) -> String {
    let days = ms.div_euclid(MS_PER_DAY);
    let rest = ms.rem_euclid(MS_PER_DAY);
    // A guess that is never too early, by the mean length of a year.
    let mut year = 1970 + days.div_euclid(365) + 1;
    if !(1..=10_400).contains(&year) && !(-10..=1).contains(&year) {
        return ms.to_string();
    }
    while year > 0 && days_since_1970(year, 1, 1) > days {
        year -= 1;
    }
    if !(1..=9_999).contains(&year) {
        return ms.to_string();
    }
    let mut day = days - days_since_1970(year, 1, 1) + 1;
    let mut month = 1;
    while month < 12 && day > days_in(year, month) {
        day -= days_in(year, month);
        month += 1;
    }
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    let (seconds, ms) = (rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{ms:03}Z")
}

/// A length of time as ISO 8601 has it, `P7D` or `PT1H30M`, or as [`super::parse_duration`] does.
pub fn parse_period(text: &str) -> Result<Duration, String> {
    let Some(iso) = text.strip_prefix(['P', 'p']) else { return super::parse_duration(text) };
    let wrong = || format!("'{text}' is no length of time: P7D, PT1H30M, 90m");
    let mut total = 0.0;
    let mut is_time = false;
    let mut number = String::new();
    for c in iso.to_ascii_uppercase().chars() {
        let seconds = match c {
            '0'..='9' | '.' => {
                number.push(c);
                continue;
            }
            'T' if number.is_empty() && !is_time => {
                is_time = true;
                continue;
            }
            'W' if !is_time => 604_800.0,
            'D' if !is_time => 86_400.0,
            'H' if is_time => 3_600.0,
            'M' if is_time => 60.0,
            'S' if is_time => 1.0,
            _ => return Err(wrong()),
        };
        total += number.parse::<f64>().map_err(|_| wrong())? * seconds;
        number.clear();
    }
    if !number.is_empty() || iso.is_empty() || iso.ends_with(['T', 't']) {
        return Err(wrong());
    }
    Duration::try_from_secs_f64(total).map_err(|_| wrong())
}

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        for (text, ms) in [
            ("1970-01-01", 0),
            ("2000-02-29T00:00:00.000Z", 951_782_400_000),
            ("2026-11-22T01:02:03.4", 1_795_309_323_400),
            ("2026-11-22T01:02+02:00", 1_795_302_120_000),
            ("2026-11-22 01:02:00-0130", 1_795_314_720_000),
            ("1969-12-31T23:59:59.999Z", -1),
            ("1234567", 1_234_567),
        ] {
            assert_eq!(parse_datetime(text), Ok(ms), "{text}");
        }
        for bad in [
            "",
            "now",
            "2026-13-01",
            "2026-02-29",
            "2026-1-1T24:00",
            "2026-01-01T1",
            "0000-01-01",
            "2026-01-01T00:00:00.é",
            "2026-01-01T00:00:00.12é",
            "2026-01-01T00:00+99:00",
            "2026-01-01T00:00:00.0000000000",
            "-2026-01-01",
            "2026-01-01T00:00+é00",
        ] {
            assert!(parse_datetime(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn moments_are_written_as_they_are_read() {
        for ms in [0, -1, 951_782_399_999, 951_782_400_000, 1_795_309_323_400, 253_402_300_799_999]
        {
            let text = format_datetime(ms);
            assert_eq!(parse_datetime(&text), Ok(ms), "{text}");
        }
        assert_eq!(format_datetime(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(format_datetime(i64::MIN), i64::MIN.to_string());
        assert_eq!(format_datetime(i64::MAX), i64::MAX.to_string());
        assert_eq!(format_datetime(253_402_300_800_000), "253402300800000");
    }

    #[test]
    fn lengths_of_time() {
        let seconds = Duration::from_secs;
        assert_eq!(parse_period("P7D"), Ok(seconds(604_800)));
        assert_eq!(parse_period("P1DT1H30M0.5S"), Ok(Duration::from_millis(91_800_500)));
        assert_eq!(parse_period("90m"), Ok(seconds(5_400)));
        for bad in ["P", "PT", "P1", "P1H", "PT1D", "PTT1S", "P-1D", "1y", "P1.1.1D"] {
            assert!(parse_period(bad).is_err(), "{bad}");
        }
    }
}
