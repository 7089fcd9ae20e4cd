//! The question how a list of events is to be read: what its own file does not tell.

use std::path::{Path, PathBuf};

use egui::{Context, DragValue, TextEdit, Ui};

use super::action::StudyAction;
use crate::io::FileKind;
use crate::plan::ListFiles;
use crate::ui::widgets::fields::name;
use crate::ui::widgets::modal::modal_ui;

/// Endings of tables of crystals.
const TABLES: [&str; 4] = [".lut", ".hscan", ".geom", ".crystals.toml"];

/// A file that a list is read with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListTable {
    /// The table of the scanner's crystals.
    Crystals,
    /// CASToR: how well all pairs of crystals count.
    Normalization,
}

/// The fields.
#[derive(Clone, Debug, PartialEq)]
pub struct ListForm {
    /// The list as it will be read, but for the tables.
    pub files: ListFiles,
    /// Paths of the tables; empty = none.
    crystals: String,
    normalization: String,
    /// Width and step of the time of flight while it is left out, ps.
    tof_ps: [f64; 2],
}

impl ListForm {
    /// As files are read now.
    pub fn of(files: &ListFiles) -> Self {
        let text = |path: &Option<PathBuf>| path.as_ref().map_or_else(String::new, |path| path.display().to_string());
        let crystals = text(&files.crystals.clone().or_else(|| table_beside(&files.list)));
        let tof_ps = files.yrt.tof_ps.unwrap_or([400.0, 0.0]);
        Self { crystals, normalization: text(&files.normalization), tof_ps, files: files.clone() }
    }

    /// The files as the form has them.
    pub fn files(&self) -> ListFiles {
        let path = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(PathBuf::from);
        ListFiles { crystals: path(&self.crystals), normalization: path(&self.normalization), ..self.files.clone() }
    }

    /// Takes a table that was chosen.
    pub fn take(&mut self, table: ListTable, path: &Path) {
        *self.path_mut(table) = path.display().to_string();
    }

    fn path_mut(&mut self, table: ListTable) -> &mut String {
        match table {
            ListTable::Crystals => &mut self.crystals,
            ListTable::Normalization => &mut self.normalization,
        }
    }

    fn is_yrt(&self) -> bool {
        FileKind::of(&self.files.list) == Some(FileKind::YrtList)
    }
}

/// Whether a list's file leaves something open that can be told.
pub fn can_be_told(list: &Path) -> bool {
    matches!(FileKind::of(list), Some(FileKind::YrtList | FileKind::Castor))
}

/// The only table of crystals that lies beside a list that does not name its own.
fn table_beside(list: &Path) -> Option<PathBuf> {
    if FileKind::of(list) != Some(FileKind::YrtList) {
        return None;
    }
    let is_table = |path: &PathBuf| TABLES.iter().any(|ending| path.to_string_lossy().ends_with(ending));
    let entries = list.parent()?.read_dir().ok()?.flatten().map(|entry| entry.path());
    // A table of one name may stand beside its header.
    let mut tables: Vec<PathBuf> =
        entries.filter(is_table).filter(|path| path.extension().is_some_and(|ending| ending != "hscan")).collect();
    if tables.len() == 1 { tables.pop() } else { None }
}

/// The question, in front of everything else.
pub fn list_form_ui(form: &ListForm, ctx: &Context, actions: &mut Vec<StudyAction>) {
    let mut edited = form.clone();
    let is_escaped = modal_ui(ctx, "read list", "Open list-mode data", |ui| {
        let words = if form.is_yrt() {
            "A YRT-PET file has no header: set its scanner and event fields here."
        } else {
            "Information missing in the file's header, or files in another folder."
        };
        ui.add(egui::Label::new(words).wrap());
        ui.add_space(4.0);
        let help = "The table of the scanner's crystals (.lut, .hscan, .geom, .crystals.toml)";
        table_ui(&mut edited, ListTable::Crystals, "Table of crystals", help, ui, actions);
        if form.is_yrt() {
            yrt_ui(&mut edited, ui);
        } else {
            let help = "CASToR normalisation file (.Cdh) with the detection efficiencies of all crystal pairs";
            table_ui(&mut edited, ListTable::Normalization, "Normalisation", help, ui, actions);
        }
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            let read = ui.button("Read list");
            if read.clicked() {
                actions.push(StudyAction::ReadList);
            }
            if ui.button("Close").clicked() {
                actions.push(StudyAction::CloseListForm);
            }
            read
        })
        .inner
    });
    if edited != *form {
        actions.insert(0, StudyAction::EditListForm(Box::new(edited)));
    }
    if is_escaped {
        actions.push(StudyAction::CloseListForm);
    }
}

fn table_ui(form: &mut ListForm, table: ListTable, label: &str, help: &str, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    let label = ui.label(label).on_hover_text(help);
    ui.horizontal(|ui| {
        let edit = TextEdit::singleline(form.path_mut(table)).desired_width(300.0).hint_text("path");
        ui.add(edit).labelled_by(label.id).on_hover_text(help);
        if ui.button("Choose…").on_hover_text(help).clicked() {
            actions.push(StudyAction::AskForListTable(table));
        }
    });
}

/// What an event holds beside its time and crystals.
fn yrt_ui(form: &mut ListForm, ui: &mut Ui) {
    let mut has_tof = form.files.yrt.tof_ps.is_some();
    let help = "Each event has the difference of its times, in ps";
    ui.checkbox(&mut has_tof, "Events have time of flight").on_hover_text(help);
    ui.horizontal(|ui| {
        let [fwhm, step] = &mut form.tof_ps;
        let field = |ui: &mut Ui, label: &str, help: &str, low: f64, value: &mut f64| {
            ui.label(label);
            let response = ui.add_enabled(has_tof, DragValue::new(value).range(low..=1e5).max_decimals(4).suffix(" ps"));
            name(&response.on_hover_text(help), label);
        };
        field(ui, "FWHM", "Uncertainty of the time of flight", 0.001, fwhm);
        field(ui, "Step", "Step of the stored times; 0 = continuous", 0.0, step);
    });
    form.files.yrt.tof_ps = has_tof.then_some(form.tof_ps);
    let help = "Each event has its expected randoms, counts per second";
    ui.checkbox(&mut form.files.yrt.has_randoms, "Events have their randoms").on_hover_text(help);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_lies_alone_beside_a_list_without_a_header_is_found() {
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
