//! Texts of `tomoscope info`: lines of names and values.

use crate::data::Notice;

/// Description of a file: lines of text, JSON, and notices.
pub type Described = (Lines, serde_json::Value, Vec<Notice>);

/// Names and values.
pub type Lines = Vec<(&'static str, String)>;

/// Returns a number with six decimals, without the zeros at the end.
pub fn decimal(value: f64) -> String {
    format!("{value:.6}").trim_end_matches('0').trim_end_matches('.').to_owned()
}
