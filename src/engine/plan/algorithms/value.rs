//! The value of a setting.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Names of the values of a setting that is off or on.
pub const NO: &str = "no";
/// The other one.
pub const YES: &str = "yes";

/// A value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A name.
    Name(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Name(name) => name.fmt(f),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Number(number) if serializer.is_human_readable() => {
                if number.fract() == 0.0 && number.abs() < 1e15 {
                    serializer.serialize_i64(*number as i64)
                } else {
                    serializer.serialize_f64(*number)
                }
            }
            value if serializer.is_human_readable() => value.to_string().serialize(serializer),
            value => (matches!(value, Value::Number(_)), value.to_string()).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return AnyValue::deserialize(deserializer).map(Value::from);
        }
        let (is_number, text) = <(bool, String)>::deserialize(deserializer)?;
        Ok(if is_number { Value::Number(text.parse().map_err(de::Error::custom)?) } else { Value::Name(text) })
    }
}

/// A value in JSON or TOML.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number or a name")]
enum AnyValue {
    Number(f64),
    Flag(bool),
    Name(String),
}

impl From<AnyValue> for Value {
    fn from(value: AnyValue) -> Self {
        match value {
            AnyValue::Number(number) => Value::Number(number),
            AnyValue::Flag(flag) => Value::Name(if flag { YES } else { NO }.to_owned()),
            AnyValue::Name(name) => Value::Name(name),
        }
    }
}
