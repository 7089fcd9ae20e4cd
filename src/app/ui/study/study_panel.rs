//! Study panel: the open study, and buttons that open another one.

use std::path::{Path, PathBuf};

use egui::{RichText, Ui};

use super::action::{StudyAction, StudyEdit};
use super::calibration::calibration_ui;
use super::file_check::studies;
use super::image_panel::image_ui;
use super::list_panel::{added_attenuation_ui, attenuation_help, attenuation_ui, list_feed_ui};
use super::loader::Loading;
use super::open::open_study::{OpenData, OpenStudy};
use super::pair_panel::matrix_ui;
use super::source::{BUILT_IN, Source};
use super::state::StudyState;
use super::sweep_facts::sweep_feed_ui;
use super::tubes_panel::tubes_ui;
use crate::data::{Notice, Severity};
use crate::io::Correction;
use crate::io::formats::{Access, Content, described};
use crate::plan::ScanFiles;
use crate::ui::widgets::fields::{button, item, push_if_clicked, remove_button};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::icons::{self, IconButton};
use crate::ui::widgets::theme;

pub struct StudyView<'a> {
    pub state: &'a StudyState,
    /// Recent files, newest first.
    pub recent: &'a [PathBuf],
    /// Name of the selected region.
    pub selected_roi: Option<&'a str>,
    pub show_timings: bool,
    /// Notice on an attenuation map that ends inside the image of the next run.
    pub map_cover: Option<Notice>,
}

pub fn study_ui(view: &StudyView, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    let StudyState { open, loading, tube_maker, matrix_maker, .. } = view.state;
    ui.label(RichText::new("Study").heading().strong());
    if let Some(loading) = loading {
        loading_ui(loading, ui, actions);
    }
    match open {
        Some(open) => facts_ui(open, ui),
        None if loading.is_none() => {
            ui.label("No study is open. Open a file, drop one here, or choose a built-in study.");
        }
        None => {}
    }
    if let Some(open) = view.state.pairs() {
        matrix_ui(open, matrix_maker.as_ref(), ui, actions);
    }
    if let Some(open) = open.as_ref().and_then(OpenStudy::counts).filter(|open| open.scanner_of_tubes().is_ok()) {
        tubes_ui(open.tubes.as_deref(), tube_maker.as_ref(), view.show_timings, ui, actions);
    }
    match open.as_ref().map(|open| &open.data) {
        Some(OpenData::Counts(open)) => {
            if let Some(files) = &open.files {
                ui.add_enabled_ui(loading.is_none(), |ui| corrections_ui(files, ui, actions));
            }
        }
        Some(OpenData::Events(open)) => {
            ui.add_enabled_ui(loading.is_none(), |ui| attenuation_ui(open, ui, actions));
            list_feed_ui(open, ui, actions);
        }
        Some(OpenData::Sweep(open)) => sweep_feed_ui(open, ui, actions),
        Some(OpenData::Images(open)) => image_ui(open, ui, actions),
        Some(OpenData::Pairs(_) | OpenData::Oximetry(_)) | None => {}
    }
    if let Some(Notice { severity, text }) = &view.map_cover {
        let colours = theme::colours(ui.visuals());
        let colour = if *severity == Severity::Info { ui.visuals().weak_text_color() } else { colours.warning };
        ui.add(egui::Label::new(RichText::new(text).color(colour)).wrap());
    }
    if let Some(OpenData::Counts(_) | OpenData::Events(_)) = open.as_ref().map(|open| &open.data) {
        calibration_ui(view.state.calibration, view.selected_roi, ui, actions);
    }
    ui.horizontal_wrapped(|ui| {
        let [tubes, matrix, rois, session] =
            [Content::Tubes, Content::Matrix, Content::Rois, Content::Session].map(|content| described(content, Access::Read));
        let help = format!("Opens {}; for the open scan {tubes}, {matrix} or {rois}; or {session}", studies());
        let open_file = ui.add(IconButton::new(icons::OPEN, "Open…")).on_hover_text(help);
        push_if_clicked(open_file, actions, StudyAction::Ask(FileTask::OpenStudy));
        let [list, sweep] = [Content::ListMode, Content::Sweep].map(|content| described(content, Access::Follow));
        let help = format!("Opens {list} or {sweep} while the scanner writes it");
        let follow = ui.add(IconButton::new(icons::FOLLOW, "Follow…")).on_hover_text(help);
        push_if_clicked(follow, actions, StudyAction::Ask(FileTask::Follow));
        ui.menu_button("Built-in", |ui| {
            for study in &BUILT_IN {
                item(ui, study.title, actions, StudyAction::Open(Source::BuiltIn(study.clone())));
            }
        });
        ui.menu_button("Recent", |ui| recent_ui(view.recent, ui, actions));
        let help = "Saves study, run settings, ROIs, views and plots in a session file (.session) (Ctrl+Shift+S)";
        let save = ui.add_enabled(open.is_some(), IconButton::new(icons::SAVE, "Save session…")).on_hover_text(help);
        push_if_clicked(save, actions, StudyAction::Ask(FileTask::SaveSession));
    });
    path_field_ui(&view.state.path_text, ui, actions);
}

fn loading_ui(loading: &Loading, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    ui.label(format!("{} …", loading.source.text()));
    let bar = match loading.fraction() {
        Some(fraction) => egui::ProgressBar::new(fraction).show_percentage(),
        None => egui::ProgressBar::new(0.0).animate(true),
    };
    ui.add(bar);
    push_if_clicked(ui.button("Cancel loading"), actions, StudyAction::CancelLoading);
    ui.separator();
}

/// Draws the title of the study and its facts.
fn facts_ui(open: &OpenStudy, ui: &mut Ui) {
    ui.add(egui::Label::new(RichText::new(open.title()).strong()).wrap());
    egui::Grid::new("study facts").num_columns(2).spacing([8.0, 4.0]).min_row_height(0.0).show(ui, |ui| {
        for (name, value) in open.facts() {
            ui.label(RichText::new(name).weak());
            ui.add(egui::Label::new(value).wrap());
            ui.end_row();
        }
    });
}

/// Draws the choice of correction files.
fn corrections_ui(files: &ScanFiles, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    let buttons = [
        (Correction::Multiplicative, "Multiplicative…", "Factors: attenuation and normalisation (.hs)", "multiplicative"),
        (Correction::Additive, "Additive…", "Background: scatter and randoms (.hs)", "additive"),
    ];
    egui::Grid::new("corrections").num_columns(2).spacing([8.0, 4.0]).show(ui, |ui| {
        for (which, title, help, name) in buttons {
            button(ui, title, help, actions, StudyAction::Ask(FileTask::Correct(which)));
            let mut without = files.clone();
            *without.correction_mut(which) = None;
            remove_button(ui, files.correction(which).is_some(), name, actions, StudyAction::Open(without.into()));
            ui.end_row();
        }
        button(ui, "Attenuation…", &attenuation_help(), actions, StudyAction::Ask(FileTask::Attenuation));
        let without = ScanFiles { attenuation: None, added_attenuation: Vec::new(), ct: None, mu_unit: None, ..files.clone() };
        remove_button(ui, files.attenuation.is_some(), "attenuation", actions, StudyAction::Open(without.into()));
        ui.end_row();
        if files.attenuation.is_some() {
            let without = ScanFiles { added_attenuation: Vec::new(), ..files.clone() };
            added_attenuation_ui(&files.added_attenuation, StudyAction::Open(without.into()), ui, actions);
            ui.end_row();
        }
    });
    let mut changed = files.clone();
    let check = |can: bool, value: &mut bool, [title, help, without]: [&str; 3], ui: &mut Ui| {
        let check = ui.add_enabled(can, egui::Checkbox::new(value, title));
        check.on_hover_text(help).on_disabled_hover_text(without).changed()
    };
    let inverse = [
        "multiplicative holds correction factors (ACF)",
        "The multiplicative file holds the inverse of efficiency × survival, as STIR's attenuation correction factors",
        "Takes a multiplicative file",
    ];
    let inside = [
        "additive inside the factors (STIR)",
        "The additive file is added before the factors are applied: it holds additive / multiplicative",
        "Takes both corrections",
    ];
    let of_factors = check(files.multiplicative.is_some(), &mut changed.multiplicative_inverse, inverse, ui);
    if check(files.is_fully_corrected(), &mut changed.additive_inside, inside, ui) || of_factors {
        actions.push(StudyAction::Open(changed.into()));
    }
}

fn recent_ui(recent: &[PathBuf], ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    if recent.is_empty() {
        ui.label("No file was opened yet.");
        return;
    }
    for path in recent {
        item(ui, &short(path), actions, StudyAction::Open(Source::file(path))).on_hover_text(path.display().to_string());
    }
    ui.separator();
    item(ui, "Forget these", actions, StudyAction::ForgetRecent);
}

/// Returns the names of the file and its folder.
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
            actions.push(StudyAction::Edit(StudyEdit::Path(text.clone())));
        }
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        let can = !text.trim().is_empty();
        if ui.add_enabled(can, egui::Button::new("Read")).clicked() || (can && entered) {
            actions.push(StudyAction::Open(Source::file(text.trim())));
        }
    });
}
