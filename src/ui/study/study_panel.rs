//! The study panel: what is open, and ways to open something else.

use std::path::{Path, PathBuf};

use egui::{RichText, Ui};

use super::action::StudyAction;
use super::calibration::{Calibration, calibration_ui};
use super::list_panel::{attenuation_ui, list_feed_ui};
use super::loader::{BUILT_IN, Loading};
use super::open::open_study::{OpenData, OpenStudy};
use super::openable::studies;
use super::pair_panel::matrix_ui;
use super::sweep_facts::sweep_feed_ui;
use super::tubes_panel::tubes_ui;
use crate::io::Correction;
use crate::io::formats::{Access, Content, described};
use crate::plan::ScanFiles;
use crate::session::{MatrixFile, Producer, TubeSource};

/// What the panel shows.
pub struct StudyView<'a> {
    /// The study that is open.
    pub study: Option<&'a OpenStudy>,
    /// The one that is being read or simulated.
    pub loading: Option<&'a Loading>,
    /// Files opened lately, newest first.
    pub recent: &'a [PathBuf],
    /// Text of the path field.
    pub path_text: &'a str,
    /// Tubes of response that are on their way.
    pub tube_maker: Option<&'a Producer<TubeSource>>,
    /// A matrix that is on its way.
    pub matrix_maker: Option<&'a Producer<MatrixFile>>,
    /// What its images are in Bq/mL.
    pub calibration: Calibration,
    /// Name of the selected region.
    pub selected_roi: Option<&'a str>,
    /// Whether times are told.
    pub show_timings: bool,
}

/// The study panel.
pub fn study_ui(view: &StudyView, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    ui.label(RichText::new("Study").heading().strong());
    if let Some(loading) = view.loading {
        loading_ui(loading, ui, actions);
    }
    match view.study {
        Some(open) => facts_ui(open, ui),
        None if view.loading.is_none() => {
            ui.label("No study is open. Open a file, drop one here, or choose a built-in study.");
        }
        None => {}
    }
    if let Some(open) = view.study.and_then(OpenStudy::pairs) {
        matrix_ui(open, view.matrix_maker, ui, actions);
    }
    if let Some(open) = view.study.and_then(OpenStudy::counts).filter(|open| open.scanner_of_tubes().is_ok()) {
        tubes_ui(open.tubes.as_deref(), view.tube_maker, view.show_timings, ui, actions);
    }
    match view.study.map(|open| &open.data) {
        Some(OpenData::Counts(open)) => {
            if let Some(files) = &open.files {
                ui.add_enabled_ui(view.loading.is_none(), |ui| corrections_ui(files, ui, actions));
            }
        }
        Some(OpenData::Events(open)) => {
            ui.add_enabled_ui(view.loading.is_none(), |ui| attenuation_ui(open, ui, actions));
            list_feed_ui(open, ui, actions);
        }
        Some(OpenData::Sweep(open)) => sweep_feed_ui(open, ui, actions),
        _ => {}
    }
    if let Some(OpenData::Counts(_) | OpenData::Events(_)) = view.study.map(|open| &open.data) {
        calibration_ui(view.calibration, view.selected_roi, ui, actions);
    }
    ui.horizontal(|ui| {
        let [tubes, matrix, rois, session] =
            [Content::Tubes, Content::Matrix, Content::Rois, Content::Session].map(|content| described(content, Access::Read));
        let help = format!("Opens {}; for the open scan {tubes}, {matrix} or {rois}; or {session}", studies());
        if ui.button("Open…").on_hover_text(help).clicked() {
            actions.push(StudyAction::AskForFile);
        }
        let [list, sweep] = [Content::ListMode, Content::Sweep].map(|content| described(content, Access::Follow));
        let help = format!("Opens {list} or {sweep} while the scanner writes it");
        if ui.button("Follow…").on_hover_text(help).clicked() {
            actions.push(StudyAction::AskToFollow);
        }
        ui.menu_button("Built-in", |ui| {
            for (index, study) in BUILT_IN.iter().enumerate() {
                if ui.button(study.title).clicked() {
                    actions.push(StudyAction::BuiltIn(index));
                    ui.close();
                }
            }
        });
        ui.menu_button("Recent", |ui| recent_ui(view.recent, ui, actions));
    });
    let help = "Saves study, run settings, ROIs, views and plots in a session file (.session) (Ctrl+Shift+S)";
    if ui.add_enabled(view.study.is_some(), egui::Button::new("Save session…")).on_hover_text(help).clicked() {
        actions.push(StudyAction::AskSaveSession);
    }
    path_field_ui(view.path_text, ui, actions);
}

fn loading_ui(loading: &Loading, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    ui.label(format!("{} …", loading.source.text()));
    let bar = match loading.fraction() {
        Some(fraction) => egui::ProgressBar::new(fraction).show_percentage(),
        None => egui::ProgressBar::new(0.0).animate(true),
    };
    ui.add(bar);
    if ui.button("Cancel loading").clicked() {
        actions.push(StudyAction::CancelLoading);
    }
    ui.separator();
}

/// The title of the study and the facts about it.
fn facts_ui(open: &OpenStudy, ui: &mut Ui) {
    ui.add(egui::Label::new(RichText::new(open.title()).strong()).wrap());
    egui::Grid::new("study facts").num_columns(2).spacing([8.0, 2.0]).show(ui, |ui| {
        for (name, value) in open.facts() {
            ui.label(RichText::new(name).weak());
            ui.add(egui::Label::new(value).wrap());
            ui.end_row();
        }
    });
}

/// Ways to correct a study from a file.
fn corrections_ui(files: &ScanFiles, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    let buttons = [
        (Correction::Multiplicative, "Multiplicative…", "Factors: attenuation and normalisation (.hs)", "multiplicative"),
        (Correction::Additive, "Additive…", "Background: scatter and randoms (.hs)", "additive"),
    ];
    egui::Grid::new("corrections").num_columns(2).spacing([8.0, 4.0]).show(ui, |ui| {
        for (which, title, help, name) in buttons {
            if ui.button(title).on_hover_text(help).clicked() {
                actions.push(StudyAction::AskForCorrection(which));
            }
            let without = ui.add_enabled(files.correction(which).is_some(), egui::Button::new("without"));
            let label = format!("without {name}");
            without.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, without.enabled(), &label));
            if without.clicked() {
                actions.push(StudyAction::RemoveCorrection(which));
            }
            ui.end_row();
        }
    });
    let mut inside = files.additive_inside;
    let check = egui::Checkbox::new(&mut inside, "additive inside the factors (STIR)");
    let check = ui.add_enabled(files.is_fully_corrected(), check);
    let help = "The additive file is added before the factors are applied: it holds additive / multiplicative";
    if check.on_hover_text(help).on_disabled_hover_text("Takes both corrections").changed() {
        actions.push(StudyAction::SetAdditiveInside(inside));
    }
}

fn recent_ui(recent: &[PathBuf], ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    if recent.is_empty() {
        ui.label("No file was opened yet.");
        return;
    }
    for path in recent {
        if ui.button(short(path)).on_hover_text(path.display().to_string()).clicked() {
            actions.push(StudyAction::Open(path.clone()));
            ui.close();
        }
    }
    ui.separator();
    if ui.button("Forget these").clicked() {
        actions.push(StudyAction::ForgetRecent);
        ui.close();
    }
}

/// The file's name with its folder's.
fn short(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match path.parent().and_then(Path::file_name) {
        Some(folder) => format!("{}/{name}", folder.to_string_lossy()),
        None => name.into_owned(),
    }
}

fn path_field_ui(path_text: &str, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    ui.horizontal(|ui| {
        let mut text = path_text.to_owned();
        let width = ui.available_width() - 54.0;
        let field = egui::TextEdit::singleline(&mut text).desired_width(width).hint_text("path of a study");
        let response = ui.add(field);
        if text != path_text {
            actions.push(StudyAction::EditPath(text.clone()));
        }
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        let can = !text.trim().is_empty();
        if ui.add_enabled(can, egui::Button::new("Read")).clicked() || (can && entered) {
            actions.push(StudyAction::Open(PathBuf::from(text.trim())));
        }
    });
}
