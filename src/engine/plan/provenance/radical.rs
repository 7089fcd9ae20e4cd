//! Radical of an image of total variation with spectra of radicals.

use serde::{Deserialize, Serialize};

/// Radical of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadicalRecord {
    /// Its name.
    pub name: String,
    /// Names of all radicals of the run, in the order of their images.
    pub separated: Vec<String>,
}

impl RadicalRecord {
    /// Returns the record of the first of these radicals; `None` without radicals.
    pub fn first(separated: Vec<String>) -> Option<Self> {
        Some(Self { name: separated.first()?.clone(), separated })
    }

    /// Returns the record of another radical of the run, numbered from 0.
    pub fn numbered(mut self, index: usize) -> Self {
        if let Some(name) = self.separated.get(index) {
            self.name.clone_from(name);
        }
        self
    }

    /// Returns its text: "radical tam".
    pub fn text(&self) -> String {
        format!("radical {}", self.name)
    }
}
