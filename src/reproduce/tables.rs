//! The tables of a paper as they are made: their values, how they are printed, and the file of all values.

use super::ReproduceError;
use super::folder::Folder;
use super::text_table::TextTable;
use super::value::{Value, text_table};

/// Tables as they are made: their values, and how they are printed.
#[derive(Default)]
pub(super) struct Tables {
    pub values: Vec<Value>,
    pub text: Vec<TextTable>,
    /// Leaves the paper's numbers out: they do not belong beside those of other sizes.
    pub without_paper: bool,
}

impl Tables {
    /// Adds a table of values.
    pub fn add(&mut self, title: impl Into<String>, mut values: Vec<Value>, remarks: Vec<String>) {
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

    /// Writes the values, one a line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_csv(&self, folder: &Folder, name: &str) -> Result<(), ReproduceError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let failed = |reason: String| ReproduceError::File { path: folder.path(name), doing: "written", reason };
        for value in &self.values {
            writer.serialize(value).map_err(|error| failed(error.to_string()))?;
        }
        let bytes = writer.into_inner().map_err(|error| failed(error.to_string()))?;
        folder.write(name, &bytes)
    }
}
