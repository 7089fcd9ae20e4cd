//! A setting of a run, declared once: the form of the window, the option with its help, the refusal, the provenance record, the session file
//! and the messages to a server follow from its row.
//!
//! A new setting of some algorithms is a row in their lists ([`super::registry::ALGORITHMS`]) and the code that computes with its value.

use std::fmt;

use super::traits::Traits;
use super::value::{NO, Value, YES};
use crate::text::either;

/// A setting of a run.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in files; on the command line with hyphens.
    pub key: &'static str,
    /// A former name on the command line; empty if there is none.
    pub alias: &'static str,
    /// Its name in the window and in tables.
    pub label: &'static str,
    /// Its meaning in one phrase: the tooltip, and the first line of the option's help.
    pub help: &'static str,
    /// The rest of the option's help, with the default; may be empty.
    pub details: &'static str,
    /// Heading of its option; empty = that of the algorithms of its data.
    pub heading: &'static str,
    /// Its values.
    pub kind: Kind,
    /// True if it affects data with these traits.
    pub is_for: fn(&Traits) -> bool,
    /// Choice without which it has no effect: another setting, and the name of its value; empty = any value.
    pub needs: Option<(&'static Setting, &'static str)>,
    /// True if the title of a run and the description in an image file contain its value.
    pub is_in_short_texts: bool,
    /// True if only the reproduction of a paper needs it. The window shows it where the user asks for such settings.
    pub is_research: bool,
    /// True if a provenance record has it in a field, and not among the settings of the algorithm.
    pub is_recorded_apart: bool,
}

/// Values of a setting.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A number from `min` to `max`.
    Number {
        /// True for whole numbers.
        is_whole: bool,
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
        /// Unit; empty = a pure number.
        unit: &'static str,
        /// Value where no other is set; `None` = the setting can be left out, and is.
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
    /// Its description; may be empty.
    pub help: &'static str,
    /// True if it is available for data with these traits.
    pub is_for: fn(&Traits) -> bool,
}

impl Choice {
    /// Returns a value with one name that suits all data.
    pub fn named(key: &'static str) -> Self {
        Self { key, label: key, help: "", is_for: |_| true }
    }
}

/// A value that a setting cannot have, or a setting that an algorithm lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingProblem {
    /// No such setting, by its key.
    #[error("no algorithm has a parameter '{0}'")]
    Unknown(String),
    /// No such value.
    #[error("'{value}' is not possible for {key}; expected {expected}")]
    Value {
        /// Key of the setting.
        key: &'static str,
        /// The value.
        value: String,
        /// The values that are possible.
        expected: String,
    },
}

/// Rows are made by these functions, one after the other.
impl Setting {
    const fn new(key: &'static str, label: &'static str, kind: Kind) -> Self {
        Self {
            key,
            alias: "",
            label,
            help: "",
            details: "",
            heading: "",
            kind,
            is_for: |_| true,
            needs: None,
            is_in_short_texts: false,
            is_research: false,
            is_recorded_apart: false,
        }
    }

    /// Returns a number in a unit, from `min` to `max`, that can be left out.
    pub const fn number(key: &'static str, label: &'static str, unit: &'static str, min: f64, max: f64) -> Self {
        let (default, usual, absent, found) = (None, min, "none", None);
        Self::new(key, label, Kind::Number { is_whole: false, min, max, unit, default, usual, absent, found })
    }

    /// Returns a whole number from `min` to `max`, that can be left out.
    pub const fn count(key: &'static str, label: &'static str, unit: &'static str, min: u32, max: u32) -> Self {
        let (min, max) = (min as f64, max as f64);
        let (default, usual, absent, found) = (None, min, "none", None);
        Self::new(key, label, Kind::Number { is_whole: true, min, max, unit, default, usual, absent, found })
    }

    /// Returns a choice between several names, with the default.
    pub const fn choice(key: &'static str, label: &'static str, choices: fn() -> Vec<Choice>, default: &'static str) -> Self {
        Self::new(key, label, Kind::Choice { choices, default })
    }

    /// Returns a setting that is off or on, and off by default.
    pub const fn switch(key: &'static str, label: &'static str) -> Self {
        Self::choice(key, label, || [NO, YES].map(Choice::named).into(), NO)
    }

    /// Has this number where no other is set; a field of the window begins with it, too.
    pub const fn with_default(mut self, number: f64) -> Self {
        if let Kind::Number { default, usual, .. } = &mut self.kind {
            (*default, *usual) = (Some(number), number);
        }
        self
    }

    /// A field of the window begins with this number.
    pub const fn usual(mut self, number: f64) -> Self {
        if let Kind::Number { usual, .. } = &mut self.kind {
            *usual = number;
        }
        self
    }

    /// Has this name where the number is left out.
    pub const fn absent(mut self, name: &'static str) -> Self {
        if let Kind::Number { absent, .. } = &mut self.kind {
            *absent = name;
        }
        self
    }

    /// The run can find the number; such a value has this name.
    pub const fn or_found(mut self, name: &'static str) -> Self {
        if let Kind::Number { found, .. } = &mut self.kind {
            *found = Some(name);
        }
        self
    }

    /// Has this meaning, in one phrase, and these details of the option's help.
    pub const fn help(mut self, help: &'static str, details: &'static str) -> Self {
        (self.help, self.details) = (help, details);
        self
    }

    /// Its option is under this heading, and had another name before.
    pub const fn option(mut self, heading: &'static str, alias: &'static str) -> Self {
        (self.heading, self.alias) = (heading, alias);
        self
    }

    /// Affects some data only.
    pub const fn is_for(mut self, is_for: fn(&Traits) -> bool) -> Self {
        self.is_for = is_for;
        self
    }

    /// Has no effect unless another setting has this value; empty = any value.
    pub const fn needs(mut self, other: &'static Setting, value: &'static str) -> Self {
        self.needs = Some((other, value));
        self
    }

    /// The title of a run and the description in an image file contain it.
    pub const fn in_short_texts(mut self) -> Self {
        self.is_in_short_texts = true;
        self
    }

    /// Only the reproduction of a paper needs it.
    pub const fn research(mut self) -> Self {
        self.is_research = true;
        self
    }

    /// A provenance record has it in a field, and not among the settings of the algorithm.
    pub const fn recorded_apart(mut self) -> Self {
        self.is_recorded_apart = true;
        self
    }
}

impl Setting {
    /// Returns the value with this text.
    ///
    /// # Errors
    /// A text that is not one of its values.
    pub fn parse(&self, text: &str) -> Result<Value, SettingProblem> {
        let value = match self.kind {
            Kind::Choice { .. } => Value::Name(text.to_owned()),
            Kind::Number { found: Some(found), .. } if found == text => Value::Name(text.to_owned()),
            Kind::Number { .. } => match text.parse() {
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
    pub(super) fn check(&self, value: &Value) -> Result<(), SettingProblem> {
        let is_possible = match (&self.kind, value) {
            (Kind::Number { is_whole, min, max, .. }, Value::Number(number)) => {
                (!is_whole || number.fract() == 0.0) && (*min..=*max).contains(number)
            }
            (Kind::Number { found, .. }, Value::Name(name)) => *found == Some(name.as_str()),
            (Kind::Choice { choices, .. }, Value::Name(name)) => choices().iter().any(|choice| choice.key == name),
            (Kind::Choice { .. }, Value::Number(_)) => false,
        };
        is_possible.then_some(()).ok_or_else(|| self.not_a_value(value))
    }

    fn not_a_value(&self, value: impl fmt::Display) -> SettingProblem {
        SettingProblem::Value { key: self.key, value: value.to_string(), expected: self.expected() }
    }

    /// Returns true if it is off or on.
    pub fn is_switch(&self) -> bool {
        matches!(self.kind, Kind::Choice { choices, .. } if choices().iter().any(|choice| choice.key == YES))
    }

    /// Returns its values as text: "a whole number from 16 to 4096", "nearest, linear or cubic".
    pub fn expected(&self) -> String {
        match self.kind {
            Kind::Number { is_whole, min, max, unit, found, .. } => {
                let kind = if is_whole { "a whole number" } else { "a number" };
                let number = format!("{kind} from {min} to {max} {unit}").trim_end().to_owned();
                found.map_or(number.clone(), |found| format!("{number}, or {found}"))
            }
            Kind::Choice { choices, .. } => either(&choices().iter().map(|choice| choice.key).collect::<Vec<_>>()),
        }
    }

    /// Returns its value where no other is set; `None` = none.
    pub fn default(&self) -> Option<Value> {
        match self.kind {
            Kind::Number { default, .. } => default.map(Value::Number),
            Kind::Choice { default, .. } => Some(Value::Name(default.to_owned())),
        }
    }

    /// Returns a value as the window shows it.
    pub fn text(&self, value: Option<&Value>) -> String {
        match (self.kind, value) {
            (Kind::Number { absent, .. }, None) => absent.to_owned(),
            (Kind::Choice { choices, .. }, Some(Value::Name(name))) => {
                choices().iter().find(|choice| choice.key == name).map_or(name.as_str(), |choice| choice.label).to_owned()
            }
            (Kind::Number { unit, .. }, Some(value @ Value::Number(_))) => format!("{value} {unit}").trim_end().to_owned(),
            (_, Some(value)) => value.to_string(),
            (Kind::Choice { .. }, None) => "none".to_owned(),
        }
    }
}
