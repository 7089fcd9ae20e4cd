//! Tables of a paper: their values, their text, and the file of all values.

use super::text_table::TextTable;
use super::value::{Value, text_table};

/// Tables of a paper: their values and their text.
#[derive(Default)]
pub struct Tables {
    /// All values, table by table.
    pub values: Vec<Value>,
    /// Printable tables.
    pub text: Vec<TextTable>,
    /// True without the numbers of the paper, if other sizes were measured.
    pub without_paper: bool,
}

impl Tables {
    pub fn add<R: Into<String>>(
        &mut self,
        title: impl Into<String>,
        values: impl IntoIterator<Item = Value>,
        remarks: impl IntoIterator<Item = R>,
    ) {
        let (mut values, remarks): (Vec<Value>, _) = (values.into_iter().collect(), remarks.into_iter().map(R::into).collect());
        if self.without_paper {
            values.retain(|value| value.here.is_some());
            values.iter_mut().for_each(|value| (value.paper, value.paper_mark) = (None, ""));
        }
        if !values.is_empty() {
            let all: Vec<&Value> = values.iter().collect();
            self.text.push(text_table(title.into(), &all, remarks));
            self.values.extend(values);
        }
    }

    /// Returns the whole text: heading, tables, number of missing measurements, and descriptions of the figures.
    pub fn page(&self, heading: &str, num_missing: usize, figures: &[String]) -> String {
        let mut text = heading.to_owned();
        for table in &self.text {
            text += &format!("\n{table}");
        }
        if num_missing > 0 {
            let outcome = if self.text.is_empty() { "there is no table" } else { "the tables above lack what depends on them" };
            text += &format!("\n{num_missing} measurements have not been made yet: {outcome}.\n");
        }
        for figure in figures {
            text += &format!("\n{figure}\n");
        }
        text
    }

    /// Returns the values as the bytes of a CSV file, one per line.
    ///
    /// # Errors
    /// Writing a value failed.
    pub fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for value in &self.values {
            writer.serialize(value)?;
        }
        writer.into_inner().map_err(|error| error.into_error().into())
    }
}
