//! Form for reading list-mode data with information that is missing in the file.

use std::path::{Path, PathBuf};

use crate::io::formats::{Format, ListLack};
use crate::plan::ListFiles;
use crate::ui::widgets::file_task::ListTable;

/// Endings of crystal tables.
const TABLES: [&str; 4] = [".lut", ".hscan", ".geom", ".crystals.toml"];

#[derive(Clone, Debug, PartialEq)]
pub struct ListForm {
    /// Files and settings except the paths of the tables.
    pub files: ListFiles,
    /// Paths of the tables; empty: none.
    crystals: String,
    normalization: String,
    /// FWHM and step of the time of flight, ps; stored while the events have none.
    pub tof_ps: [f64; 2],
}

impl ListForm {
    pub fn of(files: &ListFiles) -> Self {
        let text = |path: &Option<PathBuf>| path.as_ref().map_or_else(String::new, |path| path.display().to_string());
        let crystals = text(&files.crystals.clone().or_else(|| table_in_folder(&files.list)));
        let tof_ps = files.yrt.tof_ps.unwrap_or([400.0, 0.0]);
        Self { crystals, normalization: text(&files.normalization), tof_ps, files: files.clone() }
    }

    pub fn files(&self) -> ListFiles {
        let path = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(PathBuf::from);
        ListFiles { crystals: path(&self.crystals), normalization: path(&self.normalization), ..self.files.clone() }
    }

    pub fn set_table(&mut self, table: ListTable, path: &Path) {
        *self.path_mut(table) = path.display().to_string();
    }

    pub fn path_mut(&mut self, table: ListTable) -> &mut String {
        match table {
            ListTable::Crystals => &mut self.crystals,
            ListTable::Normalization => &mut self.normalization,
        }
    }

    /// Returns true if the file lacks its scanner and the fields of its events.
    pub fn lacks_scanner(&self) -> bool {
        lacks_scanner(&self.files.list)
    }
}

/// Returns true if the format of a list-mode file lacks information that the form has.
pub fn has_form(list: &Path) -> bool {
    lack_of(list) != ListLack::Nothing
}

/// Returns true if the format of a list-mode file lacks the scanner.
pub fn lacks_scanner(list: &Path) -> bool {
    lack_of(list) == ListLack::Scanner
}

/// Returns the facts that a list-mode file lacks, by its name.
fn lack_of(list: &Path) -> ListLack {
    Format::of(list).map_or(ListLack::Nothing, Format::lacks)
}

/// Returns the only crystal table in the folder of a file that lacks its scanner.
fn table_in_folder(list: &Path) -> Option<PathBuf> {
    if !lacks_scanner(list) {
        return None;
    }
    let is_table = |path: &PathBuf| TABLES.iter().any(|ending| path.to_string_lossy().ends_with(ending));
    let entries = list.parent()?.read_dir().ok()?.flatten().map(|entry| entry.path());
    // A .hscan file is the header of another table.
    let mut tables: Vec<PathBuf> =
        entries.filter(is_table).filter(|path| path.extension().is_some_and(|ending| ending != "hscan")).collect();
    if tables.len() == 1 { tables.pop() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_crystal_table_next_to_a_file_without_header_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
        put("a.lmDat");
        put("ring.lut");
        put("ring.hscan");
        let files = ListFiles::of(&folder.path().join("a.lmDat"));
        let read = ListForm::of(&files).files();
        assert_eq!(read, ListFiles { crystals: Some(folder.path().join("ring.lut")), ..files.clone() });
        put("other.crystals.toml");
        assert_eq!(ListForm::of(&files).files(), files, "which of them it is nobody knows");
    }
}
