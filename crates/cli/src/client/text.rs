//! Values as people write them.

use std::time::Duration;

/// A time: `30` (seconds), `1.5s`, `500ms`, `2m`, `1h`, `7d`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return Err(format!("'{text}' is no time: 30, 1.5s, 500ms, 2m, 1h, 7d")),
    };
    let number: f64 =
        number.parse().map_err(|_| format!("'{text}' does not begin with a number"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| format!("'{text}' is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let ms = Duration::from_millis;
        for (text, expected) in
            [("30", ms(30_000)), ("1.5s", ms(1_500)), ("500ms", ms(500)), ("7d", ms(604_800_000))]
        {
            assert_eq!(parse_duration(text), Ok(expected), "{text}");
        }
        for bad in ["", "s", "-1", "1y", "1.2.3", "99999999999999999999999d"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
