//! Study panel: the open study, and buttons that open another one.

use std::path::{Path, PathBuf};

use egui::{RichText, Ui};

use super::action::{StudyAction, StudyEdit};
use super::calibration::calibration_ui;
use super::file_check::studies;
use super::loader::Loading;
use super::open::open_study::OpenStudy;
use super::pair_panel::matrix_ui;
use super::source::{BUILT_IN, Source};
use super::state::StudyState;
use super::tubes_panel::tubes_ui;
use crate::data::{Notice, Severity};
use crate::io::formats::{Access, Content, described};
use crate::ui::widgets::fields::{item, push_if_clicked};
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
    if let Some(open) = open {
        open.kind().ui(loading.is_some(), ui, actions);
    }
    if let Some(Notice { severity, text }) = &view.map_cover {
        let colours = theme::colours(ui.visuals());
        let colour = if *severity == Severity::Info { ui.visuals().weak_text_color() } else { colours.warning };
        ui.add(egui::Label::new(RichText::new(text).color(colour)).wrap());
    }
    if open.as_ref().is_some_and(|open| open.counts().is_some() || open.list().is_some()) {
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
        for (name, value) in open.kind().facts() {
            ui.label(RichText::new(name).weak());
            ui.add(egui::Label::new(value).wrap());
            ui.end_row();
        }
    });
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
