//! Parameters of algorithms and their values.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::traits::Traits;
use crate::text::either;

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in files; on the command line with hyphens.
    pub key: &'static str,
    /// Its name in the window.
    pub label: &'static str,
    /// Its meaning in one phrase: the tooltip, and the first line of the option's help.
    pub help: &'static str,
    /// The rest of the option's help, with the default; may be empty.
    pub details: &'static str,
    /// Its values.
    pub kind: Kind,
    /// True if it affects data with these traits.
    pub is_for: fn(&Traits) -> bool,
    /// Choice without which it has no effect: another parameter, and the name of its value.
    pub needs: Option<(&'static Parameter, &'static str)>,
    /// True if the title of a run and the description in an image file contain its value.
    pub is_in_short_texts: bool,
}

/// Values of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number from `min` to `max`.
    Count {
        /// Least value.
        min: u32,
        /// Greatest value.
        max: u32,
        /// Value where no other is set.
        default: u32,
    },
    /// A number from `min` to `max`.
    Number {
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
        /// Unit; empty = a pure number.
        unit: &'static str,
        /// Value where no other is set; `None` = the parameter can be left out, and is.
        default: Option<f64>,
        /// A usual value, from which a field of the window begins.
        usual: f64,
        /// Name of what takes its place where it is left out.
        absent: &'static str,
        /// Name of a value that the run finds itself, if it has any.
        found: Option<&'static str>,
    },
    /// One of several names.
    Choice {
        /// The names.
        choices: fn() -> Vec<Choice>,
        /// The one where no other is set.
        default: &'static str,
    },
}

/// A value of a [`Kind::Choice`].
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Its name in files and on the command line.
    pub key: &'static str,
    /// Its name in the window.
    pub label: &'static str,
    /// True if it is available for data with these traits.
    pub is_for: fn(&Traits) -> bool,
}

impl Choice {
    /// Returns a value with one name that suits all data.
    pub fn named(key: &'static str) -> Self {
        Self { key, label: key, is_for: |_| true }
    }
}

/// A value of a parameter.
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

/// A value that a parameter cannot have, or a parameter that an algorithm lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterProblem {
    /// No such parameter, by its key.
    #[error("no algorithm has a parameter '{0}'")]
    Unknown(String),
    /// No such value.
    #[error("'{value}' is not possible for {key}; expected {expected}")]
    Value {
        /// Key of the parameter.
        key: &'static str,
        /// The value.
        value: String,
        /// The values that are possible.
        expected: String,
    },
}

impl Parameter {
    /// Returns the value with this text.
    ///
    /// # Errors
    /// A text that is not one of its values.
    pub fn parse(&self, text: &str) -> Result<Value, ParameterProblem> {
        let value = match self.kind {
            Kind::Choice { .. } => Value::Name(text.to_owned()),
            Kind::Number { found: Some(found), .. } if found == text => Value::Name(text.to_owned()),
            Kind::Count { .. } | Kind::Number { .. } => match text.parse() {
                Ok(number) => Value::Number(number),
                Err(_) => return Err(self.not_a_value(text)),
            },
        };
        self.check(&value).map(|()| value)
    }

    /// Refuses a value that it cannot have.
    ///
    /// # Errors
    /// The value is not one of its values.
    fn check(&self, value: &Value) -> Result<(), ParameterProblem> {
        let is_possible = match (&self.kind, value) {
            (Kind::Count { min, max, .. }, Value::Number(number)) => {
                number.fract() == 0.0 && (f64::from(*min)..=f64::from(*max)).contains(number)
            }
            (Kind::Number { min, max, .. }, Value::Number(number)) => (*min..=*max).contains(number),
            (Kind::Number { found, .. }, Value::Name(name)) => *found == Some(name.as_str()),
            (Kind::Choice { choices, .. }, Value::Name(name)) => choices().iter().any(|choice| choice.key == name),
            _ => false,
        };
        is_possible.then_some(()).ok_or_else(|| self.not_a_value(value))
    }

    fn not_a_value(&self, value: impl fmt::Display) -> ParameterProblem {
        ParameterProblem::Value { key: self.key, value: value.to_string(), expected: self.expected() }
    }

    /// Returns true if it has an effect with these values of the other parameters.
    pub fn is_used(&self, parameters: &Parameters) -> bool {
        self.needs.is_none_or(|(other, name)| parameters.is(other, name))
    }

    /// Returns its values as text: "16 to 4096", "nearest, linear or cubic".
    pub fn expected(&self) -> String {
        match self.kind {
            Kind::Count { min, max, .. } => format!("a whole number from {min} to {max}"),
            Kind::Number { min, max, unit, found, .. } => {
                let number = format!("a number from {min} to {max} {unit}").trim_end().to_owned();
                found.map_or(number.clone(), |found| format!("{number}, or {found}"))
            }
            Kind::Choice { choices, .. } => either(&choices().iter().map(|choice| choice.key).collect::<Vec<_>>()),
        }
    }

    /// Returns its value where no other is set; `None` = none.
    pub fn default(&self) -> Option<Value> {
        match self.kind {
            Kind::Count { default, .. } => Some(Value::Number(f64::from(default))),
            Kind::Number { default, .. } => default.map(Value::Number),
            Kind::Choice { default, .. } => Some(Value::Name(default.to_owned())),
        }
    }

    /// Returns a value as the window shows it.
    pub fn text(&self, value: Option<&Value>) -> String {
        match (self.kind, value) {
            (Kind::Number { absent, .. }, None) => absent.to_owned(),
            (_, None) => "none".to_owned(),
            (Kind::Choice { choices, .. }, Some(Value::Name(name))) => {
                choices().iter().find(|choice| choice.key == name).map_or(name.as_str(), |choice| choice.label).to_owned()
            }
            (Kind::Number { .. }, Some(Value::Name(name))) => name.clone(),
            (Kind::Number { unit, .. }, Some(value)) => format!("{value} {unit}").trim_end().to_owned(),
            (_, Some(value)) => value.to_string(),
        }
    }
}

/// Values of an algorithm's parameters by key; those that are missing have their defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters(BTreeMap<String, Value>);

impl Parameters {
    /// Returns the value of a parameter; `None` = none.
    pub fn value(&self, parameter: &Parameter) -> Option<Value> {
        self.0.get(parameter.key).cloned().or_else(|| parameter.default())
    }

    /// Sets a value; `None` = the default, which of an optional number is none.
    pub fn set(&mut self, parameter: &Parameter, value: Option<Value>) {
        match value {
            Some(value) => _ = self.0.insert(parameter.key.to_owned(), value),
            None => _ = self.0.remove(parameter.key),
        }
    }

    /// Returns the same with this choice.
    #[must_use]
    pub fn with_choice(mut self, parameter: &Parameter, choice: impl Into<&'static str>) -> Self {
        self.set(parameter, Some(Value::Name(choice.into().to_owned())));
        self
    }

    /// Returns the same with this number.
    #[must_use]
    pub fn with_number(mut self, parameter: &Parameter, number: Option<f64>) -> Self {
        self.set(parameter, number.map(Value::Number));
        self
    }

    /// Returns a number; `None` = none.
    pub fn number(&self, parameter: &Parameter) -> Option<f64> {
        match self.value(parameter)? {
            Value::Number(number) => Some(number),
            Value::Name(_) => None,
        }
    }

    /// Returns true if a parameter has the value of this name.
    pub fn is(&self, parameter: &Parameter, name: &str) -> bool {
        self.value(parameter) == Some(Value::Name(name.to_owned()))
    }

    /// Returns a whole number.
    pub fn count(&self, parameter: &Parameter) -> usize {
        self.number(parameter).map_or(0, |number| number as usize)
    }

    /// Returns a choice.
    pub fn choice<T: FromStr + Default>(&self, parameter: &Parameter) -> T {
        match self.value(parameter) {
            Some(Value::Name(name)) => name.parse().unwrap_or_default(),
            _ => T::default(),
        }
    }

    /// Refuses values that are not possible.
    ///
    /// # Errors
    /// A value that one of these parameters cannot have, another parameter that is not known.
    pub fn check(&self, parameters: &[&Parameter], is_known: impl Fn(&str) -> bool) -> Result<(), ParameterProblem> {
        self.0.iter().try_for_each(|(key, value)| match parameters.iter().find(|parameter| parameter.key == key) {
            Some(parameter) => parameter.check(value),
            None if is_known(key) => Ok(()),
            None => Err(ParameterProblem::Unknown(key.clone())),
        })
    }

    /// Drops values that are not possible for these parameters.
    pub fn keep(&mut self, parameters: &[&Parameter]) {
        let is_possible =
            |key: &str, value: &Value| parameters.iter().any(|parameter| parameter.key == key && parameter.check(value).is_ok());
        self.0.retain(|key, value| is_possible(key, value));
    }

    /// Takes a value out, by its key.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key)
    }

    /// Takes over the values of others.
    pub fn extend(&mut self, others: Parameters) {
        self.0.extend(others.0);
    }

    /// Returns the same with every value that these parameters have, set or by default.
    pub fn in_full(&self, parameters: &[&Parameter]) -> Self {
        let named = |parameter: &&Parameter| Some((parameter.key.to_owned(), self.value(parameter)?));
        Self(parameters.iter().filter_map(named).collect())
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
            AnyValue::Flag(flag) => Value::Name(flag.to_string()),
            AnyValue::Name(name) => Value::Name(name),
        }
    }
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Parameters {
    /// Reads `null` as the default.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return BTreeMap::deserialize(deserializer).map(Self);
        }
        let values = BTreeMap::<String, Option<Value>>::deserialize(deserializer)?;
        Ok(Self(values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()))
    }
}
