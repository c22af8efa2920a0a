//! Config values: the nine types of Kafka's configs, how they are read and how they are printed.
//!
//! Reading follows Java where users can see it: surrounding characters up to U+0020 are dropped,
//! numbers are those that `Integer.parseInt` and `Double.parseDouble` take (ASCII digits only), and
//! lists are split at commas with the white space around them.

use std::fmt::{self, Write as _};

use super::error::HIDDEN;

/// The type of a config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigType {
    /// `true` or `false`, in any case.
    Boolean,
    /// Text.
    String,
    /// 32-bit integer.
    Int,
    /// 16-bit integer.
    Short,
    /// 64-bit integer.
    Long,
    /// 64-bit float.
    Double,
    /// Texts separated by commas.
    List,
    /// Name of a Java class. Never loaded; only the form of the name is checked.
    Class,
    /// Text that must not be shown.
    Password,
}

impl ConfigType {
    /// The type's name as the tables and Kafka's tools spell it.
    pub fn name(self) -> &'static str {
        match self {
            ConfigType::Boolean => "boolean",
            ConfigType::String => "string",
            ConfigType::Int => "int",
            ConfigType::Short => "short",
            ConfigType::Long => "long",
            ConfigType::Double => "double",
            ConfigType::List => "list",
            ConfigType::Class => "class",
            ConfigType::Password => "password",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<ConfigType> {
        Some(match name {
            "boolean" => ConfigType::Boolean,
            "string" => ConfigType::String,
            "int" => ConfigType::Int,
            "short" => ConfigType::Short,
            "long" => ConfigType::Long,
            "double" => ConfigType::Double,
            "list" => ConfigType::List,
            "class" => ConfigType::Class,
            "password" => ConfigType::Password,
            _ => return None,
        })
    }

    /// The number DescribeConfigs uses for the type.
    pub fn wire_id(self) -> i8 {
        match self {
            ConfigType::Boolean => 1,
            ConfigType::String => 2,
            ConfigType::Int => 3,
            ConfigType::Short => 4,
            ConfigType::Long => 5,
            ConfigType::Double => 6,
            ConfigType::List => 7,
            ConfigType::Class => 8,
            ConfigType::Password => 9,
        }
    }

    /// Reads a value of this type, or says why the text is none.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        let trimmed = java_trim(text);
        Ok(match self {
            ConfigType::Boolean => {
                if trimmed.eq_ignore_ascii_case("true") {
                    Value::Boolean(true)
                } else if trimmed.eq_ignore_ascii_case("false") {
                    Value::Boolean(false)
                } else {
                    return Err("must be true or false".into());
                }
            }
            ConfigType::String => Value::String(trimmed.to_owned()),
            ConfigType::Password => Value::Password(trimmed.to_owned()),
            ConfigType::Int => Value::Int(integer(trimmed, "a 32-bit integer")?),
            ConfigType::Short => Value::Short(integer(trimmed, "a 16-bit integer")?),
            ConfigType::Long => Value::Long(integer(trimmed, "a 64-bit integer")?),
            ConfigType::Double => {
                Value::Double(java_double(trimmed).ok_or("must be a decimal number")?)
            }
            ConfigType::List => Value::List(split_list(trimmed)),
            ConfigType::Class => {
                if is_class_name(trimmed) {
                    Value::Class(trimmed.to_owned())
                } else {
                    return Err("must be the name of a Java class".into());
                }
            }
        })
    }
}

/// The value of a config. `Debug` hides passwords.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    Boolean(bool),
    String(String),
    Int(i32),
    Short(i16),
    Long(i64),
    Double(f64),
    List(Vec<String>),
    Class(String),
    Password(String),
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Boolean(value) => write!(f, "Boolean({value})"),
            Value::String(value) => write!(f, "String({value:?})"),
            Value::Int(value) => write!(f, "Int({value})"),
            Value::Short(value) => write!(f, "Short({value})"),
            Value::Long(value) => write!(f, "Long({value})"),
            Value::Double(value) => write!(f, "Double({value})"),
            Value::List(values) => write!(f, "List({values:?})"),
            Value::Class(value) => write!(f, "Class({value:?})"),
            Value::Password(_) => write!(f, "Password({HIDDEN})"),
        }
    }
}

impl Value {
    /// The value as Kafka prints it, passwords included.
    pub fn to_text(&self) -> String {
        match self {
            Value::Boolean(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Short(value) => value.to_string(),
            Value::Long(value) => value.to_string(),
            Value::Double(value) => double_text(*value),
            Value::List(values) => values.join(","),
            Value::String(value) | Value::Class(value) | Value::Password(value) => value.clone(),
        }
    }

    /// The value as a float, for comparison with bounds; `None` for what is not a number.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Value::Int(value) => Some(f64::from(*value)),
            Value::Short(value) => Some(f64::from(*value)),
            // Kafka compares bounds as doubles too, so the rounding of large values is the same.
            Value::Long(value) => Some(*value as f64),
            Value::Double(value) => Some(*value),
            _ => None,
        }
    }
}

/// Drops the characters that Java's `String.trim` drops: everything up to U+0020 at both ends.
pub(crate) fn java_trim(text: &str) -> &str {
    text.trim_matches(|c: char| c <= ' ')
}

/// Splits at commas and drops the white space around them; an empty text is an empty list.
pub(crate) fn split_list(trimmed: &str) -> Vec<String> {
    if trimmed.is_empty() {
        return Vec::new();
    }
    trimmed.split(',').map(|part| trim_regex_space(part).to_owned()).collect()
}

/// Drops what the class `\s` of Java's regular expressions matches, at both ends.
pub(crate) fn trim_regex_space(text: &str) -> &str {
    text.trim_matches(|c: char| matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r'))
}

fn integer<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("must be {what}"))
}

fn is_class_name(name: &str) -> bool {
    let part = |part: &str| {
        let mut chars = part.chars();
        let first = chars.next();
        first.is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$')
            && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    name.split('.').all(part)
}

/// What `Double.parseDouble` takes: decimal and hexadecimal floats, `NaN`, `Infinity`, and a
/// trailing `d` or `f`.
fn java_double(text: &str) -> Option<f64> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = match unsigned {
        "NaN" => f64::NAN,
        "Infinity" => f64::INFINITY,
        _ => {
            let number = unsigned.strip_suffix(['d', 'D', 'f', 'F']);
            let lower = unsigned.get(..2).map(str::to_ascii_lowercase);
            if lower.as_deref() == Some("0x") {
                // In a hexadecimal float `d` and `f` are digits, but only before the exponent.
                java_hex_double(unsigned.get(2..)?)?
            } else {
                decimal_double(number.unwrap_or(unsigned))?
            }
        }
    };
    Some(if negative { -magnitude } else { magnitude })
}

fn decimal_double(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, Some(text.get(at + 1..)?)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !digits(whole) || !digits(fraction) {
        return None;
    }
    if let Some(exponent) = exponent {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if unsigned.is_empty() || !digits(unsigned) {
            return None;
        }
    }
    text.parse().ok()
}

/// A hexadecimal float without its `0x`: digits with an optional point, then a binary exponent.
fn java_hex_double(text: &str) -> Option<f64> {
    let text = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    let at = text.find(['p', 'P'])?;
    let (mantissa, exponent) = (text.get(..at)?, text.get(at + 1..)?);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let negative = exponent.starts_with('-');
    // Larger exponents overflow or vanish anyway, whatever the mantissa of a config line is.
    let exponent = unsigned.parse::<i32>().unwrap_or(i32::MAX).min(1 << 24);
    let mut scale = if negative { -exponent } else { exponent };
    let mut bits: u64 = 0;
    let mut sticky = false;
    for digit in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        if bits >> 60 == 0 {
            bits = bits << 4 | digit;
        } else {
            // The bits beyond 64 only matter for rounding: keep whether any of them was set.
            sticky |= digit != 0;
            scale = scale.saturating_add(4);
        }
    }
    scale = scale.saturating_sub(i32::try_from(fraction.len()).ok()?.saturating_mul(4));
    if sticky {
        bits |= 1;
    }
    // Two steps keep the factor within the range of a double; the product rounds at most once
    // more for subnormal results, which no config has a use for.
    let scale = scale.clamp(-2200, 2200);
    let half = scale / 2;
    Some(bits as f64 * 2f64.powi(half) * 2f64.powi(scale - half))
}

/// A float as Java's `Double.toString` prints it.
pub(crate) fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-3..1e7).contains(&magnitude) {
        let mut text = value.to_string();
        if !text.contains('.') {
            text.push_str(".0");
        }
        return text;
    }
    if magnitude.to_bits() == 1 {
        // Java shows two digits at least, and of this one the second is not 0.
        return if value > 0.0 { "4.9E-324" } else { "-4.9E-324" }.into();
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let mut text = mantissa.to_owned();
    if !text.contains('.') {
        text.push_str(".0");
    }
    let _ = write!(text, "E{exponent}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_java_reads_them() {
        let int = |text| ConfigType::Int.parse(text).ok();
        assert_eq!(int(" +7\t"), Some(Value::Int(7)));
        assert_eq!(int("-2147483648"), Some(Value::Int(i32::MIN)));
        for bad in ["2147483648", "", "+", "1_0", "0x1", "1.0", "1 0"] {
            assert_eq!(int(bad), None, "{bad}");
        }
        let double = |text| match ConfigType::Double.parse(text) {
            Ok(Value::Double(value)) => Some(value),
            _ => None,
        };
        for (text, value) in [
            ("1", 1.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-3d", 0.001),
            ("0x1p4", 16.0),
            ("0x1.8p1", 3.0),
            ("-Infinity", f64::NEG_INFINITY),
            ("1f", 1.0),
            ("0x.8p0f", 0.5),
        ] {
            assert_eq!(double(text), Some(value), "{text}");
        }
        assert!(double("NaN").is_some_and(f64::is_nan));
        for bad in ["", ".", "inf", "nan", "1e", "0x1", "1,5", "1ff", "--1", "e5", "é"] {
            assert_eq!(double(bad), None, "{bad}");
        }
    }

    #[test]
    fn floats_are_printed_as_java_prints_them() {
        for (value, text) in [
            (0.5, "0.5"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (1e7, "1.0E7"),
            (0.001, "0.001"),
            (0.0001, "1.0E-4"),
            (f64::MAX, "1.7976931348623157E308"),
            (123456.789, "123456.789"),
            (1.25e-7, "1.25E-7"),
        ] {
            assert_eq!(double_text(value), text);
        }
    }

    #[test]
    fn lists_lose_the_space_around_commas() {
        let list = |text| match ConfigType::List.parse(text) {
            Ok(Value::List(values)) => values,
            other => panic!("{other:?}"),
        };
        assert_eq!(list("  "), Vec::<String>::new());
        assert_eq!(list(" a , b\t,c "), ["a", "b", "c"]);
        assert_eq!(list("a,,b,"), ["a", "", "b", ""]);
    }
}
