//! Values of settings.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::setting::{Setting, SettingProblem};
use super::value::Value;

/// Values of settings by key; those that are missing have their defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(BTreeMap<String, Value>);

impl Values {
    /// Returns the value of a setting; `None` = none.
    pub fn value(&self, setting: &Setting) -> Option<Value> {
        self.0.get(setting.key).cloned().or_else(|| setting.default())
    }

    /// Sets a value; `None` = the default, which of an optional number is none.
    pub fn set(&mut self, setting: &Setting, value: Option<Value>) {
        match value {
            Some(value) => _ = self.0.insert(setting.key.to_owned(), value),
            None => _ = self.0.remove(setting.key),
        }
    }

    /// Returns the same with this choice.
    #[must_use]
    pub fn with_choice(mut self, setting: &Setting, choice: impl Into<&'static str>) -> Self {
        self.set(setting, Some(Value::Name(choice.into().to_owned())));
        self
    }

    /// Returns the same with this number.
    #[must_use]
    pub fn with_number(mut self, setting: &Setting, number: Option<f64>) -> Self {
        self.set(setting, number.map(Value::Number));
        self
    }

    /// Returns a number; `None` = none.
    pub fn number(&self, setting: &Setting) -> Option<f64> {
        match self.value(setting)? {
            Value::Number(number) => Some(number),
            Value::Name(_) => None,
        }
    }

    /// Returns true if a setting has an effect with these values of the others.
    pub fn uses(&self, setting: &Setting) -> bool {
        setting.needs.is_none_or(|(other, name)| if name.is_empty() { self.value(other).is_some() } else { self.is(other, name) })
    }

    /// Returns true if a setting has the value of this name.
    pub fn is(&self, setting: &Setting, name: &str) -> bool {
        self.value(setting) == Some(Value::Name(name.to_owned()))
    }

    /// Returns a whole number.
    pub fn count(&self, setting: &Setting) -> usize {
        self.number(setting).map_or(0, |number| number as usize)
    }

    /// Returns a choice.
    pub fn choice<T: FromStr + Default>(&self, setting: &Setting) -> T {
        match self.value(setting) {
            Some(Value::Name(name)) => name.parse().unwrap_or_default(),
            _ => T::default(),
        }
    }

    /// Refuses values that are not possible.
    ///
    /// # Errors
    /// A value that one of these settings cannot have, another setting that is not known.
    pub fn check(&self, settings: &[&Setting], is_known: impl Fn(&str) -> bool) -> Result<(), SettingProblem> {
        self.0.iter().try_for_each(|(key, value)| match settings.iter().find(|setting| setting.key == key) {
            Some(setting) => setting.check(value),
            None if is_known(key) => Ok(()),
            None => Err(SettingProblem::Unknown(key.clone())),
        })
    }

    /// Drops values that are not possible for these settings.
    pub fn keep(&mut self, settings: &[&Setting]) {
        let is_possible =
            |key: &str, value: &Value| settings.iter().any(|setting| setting.key == key && setting.check(value).is_ok());
        self.0.retain(|key, value| is_possible(key, value));
    }

    /// Takes a value out, by its key.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key)
    }

    /// Takes over the values of others.
    pub fn extend(&mut self, others: Values) {
        self.0.extend(others.0);
    }

    /// Returns the values that a provenance record has of these settings, set or by default.
    pub fn in_full(&self, settings: &[&Setting]) -> Self {
        let named = |setting: &&Setting| Some((setting.key.to_owned(), self.value(setting)?));
        Self(settings.iter().filter(|setting| !setting.is_recorded_apart).filter_map(named).collect())
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Values {
    /// Reads `null` as the default.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return BTreeMap::deserialize(deserializer).map(Self);
        }
        let values = BTreeMap::<String, Option<Value>>::deserialize(deserializer)?;
        Ok(Self(values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()))
    }
}
