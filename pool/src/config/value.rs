//! One value of a configuration, before it is known what it should be.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

const SPAN: &str = "a duration such as 30s, 250ms, 2m or 1h is expected";
const NUMBER: &str = "a whole number is expected";

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Number(u64),
    Other(String),
}

impl Value {
    pub(super) fn number(&self) -> Result<usize, &'static str> {
        let number = match self {
            Value::Number(number) => usize::try_from(*number).ok(),
            Value::Text(text) => text.trim().parse().ok(),
            Value::Other(_) => None,
        };
        number.ok_or(NUMBER)
    }

    pub(super) fn is_off(&self) -> bool {
        matches!(self, Value::Text(text) if text.trim().eq_ignore_ascii_case("off"))
    }

    pub(super) fn span(&self) -> Result<Duration, &'static str> {
        match self {
            Value::Text(text) => span(text).ok_or(SPAN),
            _ => Err(SPAN),
        }
    }

    pub(super) fn span_or_off(&self) -> Result<Option<Duration>, &'static str> {
        if self.is_off() { Ok(None) } else { self.span().map(Some) }
    }

    pub(super) fn one_of<T: Copy>(
        &self,
        words: &[(&str, T)],
        expected: &'static str,
    ) -> Result<T, &'static str> {
        let Value::Text(text) = self else { return Err(expected) };
        let found = words.iter().find(|(word, _)| text.trim().eq_ignore_ascii_case(word));
        found.map(|(_, value)| *value).ok_or(expected)
    }
}

/// `1h 30m`, `250ms`; a number without a unit is refused, because everybody reads it differently.
fn span(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let part = match &rest[..end] {
            "us" => Duration::from_micros(number),
            "ms" => Duration::from_millis(number),
            "s" => Duration::from_secs(number),
            "m" => Duration::from_secs(number.checked_mul(60)?),
            "h" => Duration::from_secs(number.checked_mul(3600)?),
            "d" => Duration::from_secs(number.checked_mul(86_400)?),
            _ => return None,
        };
        total = total.checked_add(part)?;
        rest = rest[end..].trim_start();
    }
    Some(total)
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) | Value::Other(text) => f.write_str(text),
            Value::Number(number) => write!(f, "{number}"),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl Visitor<'_> for Any {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value::Text(text.to_owned()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
                Ok(Value::Number(number))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
                Ok(u64::try_from(number).map_or_else(|_| Value::Other(number.to_string()), Value::Number))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
                Ok(Value::Other(number.to_string()))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Other(value.to_string()))
            }
        }

        deserializer.deserialize_any(Any)
    }
}
