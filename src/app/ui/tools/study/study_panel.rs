//! Study panel: the open study, and buttons that open another one.

use std::path::{Path, PathBuf};

use egui::{RichText, Ui};

use super::calibration::calibration_ui;
use super::counts::corrections_ui;
use super::edit;
use super::image::image_ui;
use super::list::list_ui;
use super::pair::matrix_ui;
use super::sweep::sweep_feed_ui;
use super::tubes::tubes_ui;
use crate::data::{Notice, Severity};
use crate::io::formats::{Access, Content, described};
use crate::ui::study::file_check::studies;
use crate::ui::study::loader::Loading;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::study::source::{BUILT_IN, Source};
use crate::ui::study::state::StudyState;
use crate::ui::widgets::fields::{item, push_if_clicked};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::icons::{self, IconButton};
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, Workspace, ask, open_source, request};

/// Draws the panel. `cover`: notice on an attenuation map that ends inside the image of the next run.
pub fn study_ui(work: &Workspace, cover: Option<&Notice>, ui: &mut Ui, requests: &mut Vec<Request>) {
    let StudyState { open, loading, tube_maker, matrix_maker, calibration, .. } = &work.study;
    ui.label(RichText::new("Study").heading().strong());
    if let Some(loading) = loading {
        loading_ui(loading, ui, requests);
    }
    match open {
        Some(open) => facts_ui(open, ui),
        None if loading.is_none() => {
            ui.label("No study is open. Open a file, drop one here, or choose a built-in study.");
        }
        None => {}
    }
    if let Some(open) = work.study.pairs() {
        matrix_ui(open, matrix_maker.as_ref(), ui, requests);
    }
    if let Some(open) = open.as_ref().and_then(OpenStudy::counts).filter(|open| open.scanner_of_tubes().is_ok()) {
        tubes_ui(open.tubes.as_deref(), tube_maker.as_ref(), !work.options.for_pictures, ui, requests);
    }
    if let Some(open) = open {
        kind_ui(open, loading.is_some(), ui, requests);
    }
    if let Some(Notice { severity, text }) = cover {
        let colours = theme::colours(ui.visuals());
        let colour = if *severity == Severity::Info { ui.visuals().weak_text_color() } else { colours.warning };
        ui.add(egui::Label::new(RichText::new(text).color(colour)).wrap());
    }
    if open.as_ref().is_some_and(|open| open.counts().is_some() || open.list().is_some()) {
        let selected = work.rois.selected.and_then(|index| work.rois.document.rois.get(index));
        calibration_ui(*calibration, selected.map(|roi| roi.name.as_str()), ui, requests);
    }
    ui.horizontal_wrapped(|ui| {
        let [tubes, matrix, rois, session] =
            [Content::Tubes, Content::Matrix, Content::Rois, Content::Session].map(|content| described(content, Access::Read));
        let help = format!("Opens {}; for the open scan {tubes}, {matrix} or {rois}; or {session}", studies());
        let open_file = ui.add(IconButton::new(icons::OPEN, "Open…")).on_hover_text(help);
        push_if_clicked(open_file, requests, ask(FileTask::OpenStudy));
        let [list, sweep] = [Content::ListMode, Content::Sweep].map(|content| described(content, Access::Follow));
        let help = format!("Opens {list} or {sweep} while the scanner writes it");
        let follow = ui.add(IconButton::new(icons::FOLLOW, "Follow…")).on_hover_text(help);
        push_if_clicked(follow, requests, ask(FileTask::Follow));
        ui.menu_button("Built-in", |ui| {
            for study in &BUILT_IN {
                item(ui, study.title, requests, open_source(Source::BuiltIn(study.clone())));
            }
        });
        ui.menu_button("Recent", |ui| recent_ui(&work.preferences.recent, ui, requests));
        let help = "Saves study, run settings, ROIs, views and plots in a session file (.session) (Ctrl+Shift+S)";
        let save = ui.add_enabled(open.is_some(), IconButton::new(icons::SAVE, "Save session…")).on_hover_text(help);
        push_if_clicked(save, requests, ask(FileTask::SaveSession));
    });
    path_field_ui(&work.study.path_text, ui, requests);
}

/// Draws the buttons of the kind of data; `is_loading`: another study is being loaded.
fn kind_ui(open: &OpenStudy, is_loading: bool, ui: &mut Ui, requests: &mut Vec<Request>) {
    if let Some(files) = open.counts().and_then(|open| open.files.as_ref()) {
        ui.add_enabled_ui(!is_loading, |ui| corrections_ui(files, ui, requests));
    }
    open.list().into_iter().for_each(|open| list_ui(open, is_loading, ui, requests));
    open.sweep().into_iter().for_each(|open| sweep_feed_ui(open, ui, requests));
    open.images().into_iter().for_each(|open| image_ui(open, ui, requests));
}

fn loading_ui(loading: &Loading, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.label(format!("{} …", loading.source.text()));
    let bar = match loading.fraction() {
        Some(fraction) => egui::ProgressBar::new(fraction).show_percentage(),
        None => egui::ProgressBar::new(0.0).animate(true),
    };
    ui.add(bar);
    push_if_clicked(ui.button("Cancel loading"), requests, request(Workspace::cancel_loading));
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

fn recent_ui(recent: &[PathBuf], ui: &mut Ui, requests: &mut Vec<Request>) {
    if recent.is_empty() {
        ui.label("No file was opened yet.");
        return;
    }
    for path in recent {
        item(ui, &short(path), requests, open_source(Source::file(path))).on_hover_text(path.display().to_string());
    }
    ui.separator();
    item(ui, "Forget these", requests, request(|work| work.preferences.recent.clear()));
}

/// Returns the names of the file and its folder.
fn short(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match path.parent().and_then(Path::file_name) {
        Some(folder) => format!("{}/{name}", folder.to_string_lossy()),
        None => name.into_owned(),
    }
}

fn path_field_ui(path_text: &str, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.horizontal(|ui| {
        let mut text = path_text.to_owned();
        let width = ui.available_width() - 54.0;
        let field = egui::TextEdit::singleline(&mut text).desired_width(width).hint_text("path of a study");
        let response = ui.add(field);
        if text != path_text {
            requests.push({
                let text = text.clone();
                edit(|study| study.path_text = text)
            });
        }
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        let can = !text.trim().is_empty();
        if ui.add_enabled(can, egui::Button::new("Read")).clicked() || (can && entered) {
            requests.push(open_source(Source::file(text.trim())));
        }
    });
}
