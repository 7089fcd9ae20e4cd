//! A section of the report, as text and as JSON.

use serde_json::{Map, Value};

use super::private::Private;
use crate::text::bytes;

/// Width of the labels, columns.
const LABEL_WIDTH: usize = 20;

/// A labelled fact.
pub struct Field {
    label: &'static str,
    /// Key in JSON, with the unit of the value.
    key: String,
    text: String,
    json: Value,
}

impl Field {
    /// Returns a fact whose text and JSON are alike.
    pub fn text(label: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self::with_json(label, text.clone(), text.into())
    }

    /// Returns a fact that the system may hide.
    pub fn maybe(label: &'static str, text: Option<String>) -> Self {
        text.map_or_else(|| Self::unknown(label), |text| Self::text(label, text))
    }

    /// Returns a fact with a separate value in JSON.
    pub fn with_json(label: &'static str, text: String, json: Value) -> Self {
        Self { label, key: key(label), text, json }
    }

    pub fn number(label: &'static str, number: Option<usize>) -> Self {
        number.map_or_else(|| Self::unknown(label), |number| Self::with_json(label, number.to_string(), number.into()))
    }

    /// Returns a size in bytes, with its unit in the text.
    pub fn bytes(label: &'static str, num: Option<u64>) -> Self {
        let field = num.map_or_else(|| Self::unknown(label), |num| Self::with_json(label, bytes(num), num.into()));
        Self { key: format!("{}_bytes", field.key), ..field }
    }

    /// Returns a yes or no.
    pub fn flag(label: &'static str, is_so: bool) -> Self {
        Self::choice(label, is_so, ["yes", "no"])
    }

    /// Returns a true or false with special texts.
    pub fn choice(label: &'static str, is_so: bool, [yes, no]: [&str; 2]) -> Self {
        Self::with_json(label, (if is_so { yes } else { no }).to_owned(), is_so.into())
    }

    fn unknown(label: &'static str) -> Self {
        Self::with_json(label, "unknown".to_owned(), Value::Null)
    }
}

/// A titled group of facts.
pub struct Section {
    title: &'static str,
    fields: Vec<Field>,
    /// Name in JSON and fields of each device.
    devices: Option<(&'static str, Vec<Vec<Field>>)>,
}

impl Section {
    pub fn new(title: &'static str, fields: Vec<Field>) -> Self {
        Self { title, fields, devices: None }
    }

    /// Returns a section of devices, with the name of their list in JSON.
    pub fn of_devices(title: &'static str, fields: Vec<Field>, name: &'static str, devices: Vec<Vec<Field>>) -> Self {
        Self { title, fields, devices: Some((name, devices)) }
    }

    /// Returns its key in JSON.
    pub fn key(&self) -> String {
        key(self.title)
    }

    /// Returns its lines: the title, then a label and its text each.
    pub fn text(&self, private: &Private) -> String {
        let line = |field: &Field| format!("\n  {:LABEL_WIDTH$}{}", field.label, private.removed_from(&field.text));
        let mut text = self.title.to_owned();
        text.extend(self.fields.iter().map(line));
        if let Some((_, devices)) = &self.devices {
            for (index, device) in devices.iter().enumerate() {
                text.push_str(if index > 0 || !self.fields.is_empty() { "\n" } else { "" });
                text.extend(device.iter().map(line));
            }
        }
        text.push('\n');
        text
    }

    pub fn json(&self, private: &Private) -> Value {
        let mut object = json_of(&self.fields, private);
        if let Some((name, devices)) = &self.devices {
            let devices = devices.iter().map(|device| Value::Object(json_of(device, private))).collect();
            object.insert((*name).to_owned(), Value::Array(devices));
        }
        Value::Object(object)
    }
}

fn json_of(fields: &[Field], private: &Private) -> Map<String, Value> {
    let value = |json: &Value| match json {
        Value::String(text) => Value::String(private.removed_from(text)),
        other => other.clone(),
    };
    fields.iter().map(|field| (field.key.clone(), value(&field.json))).collect()
}

/// Returns the JSON key of a label: `max_3d_texture` of `Max 3D texture`.
fn key(label: &str) -> String {
    label.to_lowercase().replace([' ', '-'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json_are_of_the_same_fields() {
        let private = Private::default();
        let device = || vec![Field::text("Name", "x"), Field::bytes("Memory", Some(5 << 20))];
        let section = Section::of_devices("Some part", vec![Field::number("Threads", None)], "devices", vec![device(), device()]);
        let gap = " ".repeat(LABEL_WIDTH);
        let [threads, name, memory] = ["Threads", "Name", "Memory"].map(|label| format!("  {label}{}", &gap[label.len()..]));
        let expected = format!("Some part\n{threads}unknown\n\n{name}x\n{memory}5.0 MiB\n\n{name}x\n{memory}5.0 MiB\n");
        assert_eq!(section.text(&private), expected);
        let device = serde_json::json!({ "name": "x", "memory_bytes": 5 << 20 });
        let expected = serde_json::json!({ "threads": null, "devices": [device, device] });
        assert_eq!((section.key().as_str(), section.json(&private)), ("some_part", expected));
    }
}
