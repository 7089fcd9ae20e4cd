//! The reconstruction panel: settings, start to stop, progress, accumulation, post-filter, saving.

use std::time::Duration;

use egui::{DragValue, RichText, Ui};

use crate::io::formats::{Access, Content, names};
use crate::operator::Accumulation;
use crate::plan::rays_in_use;
use crate::recon::{Explained, RaceReport};
use crate::ui::run::accumulations::{GATHERED, why_not};
use crate::ui::run::form::forecast::secs_per_iteration;
use crate::ui::run::form::forms::Forms;
use crate::ui::run::form::settings_panel::{SettingsView, by, settings_ui};
use crate::ui::run::form::stop_form::stop_form_ui;
use crate::ui::run::form::tuning::tuning_ui;
use crate::ui::run::form::variations::variations;
use crate::ui::run::live::{LiveRun, RunState};
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::widgets::fields::{anonymise_ui, name};
use crate::ui::widgets::file_task::{FileTask, Film};
use crate::ui::widgets::icons::{self, IconButton, Prominence};
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::widgets::place::Place;
use crate::ui::widgets::{format, theme};
use crate::ui::workspace::state::{Request, Workspace, anonymise, ask, request};

/// Returns the settings of the run as they were when it began, after its set-up.
fn running(work: &Workspace) -> Option<&Forms> {
    work.run().running.as_ref().filter(|_| work.live().info.is_some())
}

pub fn recon_ui(work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
    // Images of another program are only shown.
    if work.study.open.as_ref().is_some_and(|open| open.images().is_some()) {
        return image_ui(work, ui, requests);
    }
    ui.label(RichText::new("Reconstruction").heading().strong());
    buttons_ui(work, ui, requests);
    progress_ui(work, ui);
    explained_ui(work, ui);
    ui.add_space(2.0);
    let of_run = (work.study.open.as_ref(), &work.run().forms, work.live());
    accumulation_ui(of_run, work.slices.view.shows_research, ui, requests);
    requests.extend(tuning_ui(work.live(), ui).map(|tuning| request(move |work| work.set_tuning(tuning))));
    if work.iteration_scheme().by_iteration {
        let edited = stop_form_ui(&work.run().forms.stop, &work.rois.document.rois, ui);
        requests.extend(edited.map(|form| request(|work| work.run_mut().forms.stop = form)));
    }
    ui.separator();
    image_ui(work, ui, requests);
    form_ui(work, ui, requests);
}

fn buttons_ui(work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
    let (state, course, has_study) = (work.live().state, work.iteration_scheme(), work.study.open.as_ref().is_some());
    let mut chosen: Option<fn(&mut Workspace)> = None;
    let mut button = |ui: &mut Ui, enabled: bool, button: IconButton, help: &str, run: fn(&mut Workspace)| {
        if ui.add_enabled(enabled, button).on_hover_text(help).clicked() {
            chosen = Some(run);
        }
    };
    ui.horizontal_wrapped(|ui| {
        let start = if state == RunState::Idle { (icons::PLAY, "Start") } else { (icons::RESTART, "Restart") };
        // During a run, Pause is the next step.
        let is_busy = matches!(state, RunState::Running | RunState::Starting | RunState::Paused);
        let prominence = if is_busy { Prominence::Normal } else { Prominence::Primary };
        let start = IconButton::new(start.0, start.1).prominence(prominence);
        let help = if course.by_iteration {
            "Start from a uniform image with the settings below"
        } else {
            "Start with the settings below"
        };
        button(ui, has_study, start, help, Workspace::start_run);
        if state == RunState::Paused {
            let resume = IconButton::new(icons::PLAY, "Resume").prominence(Prominence::Primary);
            button(ui, true, resume, "Continue (Space)", Workspace::resume);
        } else if state.can_continue() && course.can_continue && work.run().current_frame().is_none() {
            let go_on = IconButton::new(icons::PLAY, "Continue");
            button(ui, true, go_on, "Continue to the iterations asked for, or add as many again", Workspace::continue_run);
        } else {
            let can = matches!(state, RunState::Running | RunState::Starting);
            let prominence = if can { Prominence::Primary } else { Prominence::Normal };
            let pause = IconButton::new(icons::PAUSE, "Pause").prominence(prominence);
            button(ui, can, pause, "Hold after this step (Space)", Workspace::pause);
        }
        let help = if course.by_iteration {
            "One update, then hold (S)".to_owned()
        } else {
            format!("One block of {}s, then hold (S)", course.counted)
        };
        button(ui, has_study && state != RunState::Starting, IconButton::new(icons::STEP, "Step"), &help, Workspace::step);
    });
    ui.horizontal_wrapped(|ui| {
        let stop = IconButton::new(icons::STOP, "Stop and keep image");
        button(ui, state.is_active(), stop, "End after this step and keep the image", Workspace::stop);
        again_ui(work, ui, requests);
    });
    requests.extend(chosen.map(request));
}

/// Draws the menu of variations of the run.
fn again_ui(work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
    let (Some(study), Some(running)) = (work.study.open.as_ref(), running(work).filter(|_| work.live().is_measured())) else {
        return;
    };
    let supported = work.live().info.as_ref().map_or(&[][..], |info| info.accumulations);
    let menu = ui.menu_button("Repeat run with…", |ui| {
        for variation in variations(study, running, &work.runs.remembered, supported, work.devices()) {
            ui.menu_button(variation.name, |ui| {
                for (words, forms) in variation.choices {
                    if ui.button(words).clicked() {
                        requests.push(request(|work| work.start_with(forms)));
                    }
                }
            });
        }
    });
    menu.response.on_hover_text("Repeats the run with one setting changed and compares it with this run");
}

fn progress_ui(work: &Workspace, ui: &mut Ui) {
    let live = work.live();
    let (done, total) = live.progress();
    let mut fraction = if total > 0 { done as f32 / total as f32 } else { 0.0 };
    let mut text = live.state.label().to_owned();
    if let Some((what, part, remaining)) = live.making() {
        fraction = part;
        text = format::under_way(&format!("Making {what}"), Some(part), remaining.filter(|_| !work.options.for_pictures));
    } else if work.is_waiting() {
        text = if work.study.sweep().is_some() { "waiting for projections" } else { "has all events so far" }.into();
    } else if !work.options.for_pictures
        && live.state == RunState::Running
        && let Some(remaining) = live.remaining(work.arrivals().steps_per_sec(live.steps_per_sec()))
    {
        text = format!("{} left", format::duration(remaining));
    }
    if let Some(frame) = &work.run().current_frame() {
        text = format!("{frame}: {text}");
    }
    ui.add(egui::ProgressBar::new(fraction).text(text));
}

/// Draws the part of the data that the image explains, after a complete iteration.
fn explained_ui(work: &Workspace, ui: &mut Ui) {
    optimality_ui(work, ui);
    let Some(explained) = work.live().explained else { return };
    let text = RichText::new(format!("explains {}", explained.text())).small();
    let text = if explained.is_usual(work.live().optimality.is_some()) {
        text.weak()
    } else {
        text.color(theme::colours(ui.visuals()).warning)
    };
    ui.add(egui::Label::new(text).wrap()).on_hover_text(match explained {
        Explained::Counts { .. } => {
            "Expected counts of image and background / measured counts. Outside 95 to 105 % data were lost on the way, or image and corrections do not fit the data"
        }
        Explained::Signal { .. } => {
            "1 − squared distance of the image's projections from the measured ones / squares of these. Clearly below what noise allows, image or reference spectrum do not fit the data"
        }
    });
}

/// Draws the newest distance from the maximum of the objective.
fn optimality_ui(work: &Workspace, ui: &mut Ui) {
    let Some(residual) = work.live().optimality else { return };
    let state = if residual.has_converged() { "converged" } else { "not converged" };
    let text = RichText::new(format!("{state}: optimality residual {}", residual.text())).small();
    let text = if residual.is_far() { text.color(theme::colours(ui.visuals()).warning) } else { text.weak() };
    ui.add(egui::Label::new(text).wrap()).on_hover_text(
        "Longest step of a voxel by the curvature of the data and by the penalty, a part of the largest value. At most 0.001 %: converged",
    );
}

/// Draws the forecast of the next run, or the reason of its refusal.
fn forecast_ui(work: &Workspace, ui: &mut Ui) {
    let form = &work.run().forms.settings;
    let [x, y, z]: [String; 3] = std::array::from_fn(|a| format::short_number(form.size[a] as f64 * form.voxel_mm[a]));
    let mut words = format!("image {x} × {y} × {z} mm");
    if let Ok(settings) = form.run_settings()
        && form.has_lines()
    {
        words += &format!(", field of view {} mm across", format::short_number(2.0 * settings.fov_radius_mm));
    }
    ui.add(egui::Label::new(RichText::new(words).weak()).wrap());
    match work.next_start() {
        None => {}
        Some(Ok(forecast)) => {
            let mut words = format!("needs {}", crate::text::bytes(forecast.memory_bytes));
            let secs = secs_per_iteration(work.live(), form, forecast).filter(|_| !work.options.for_pictures);
            if let Some(time) = secs.and_then(|secs| Duration::try_from_secs_f64(secs).ok()) {
                words += &format!(", about {} per iteration", format::duration(time));
            }
            if let Some(open) = work.study.open.as_ref().and_then(OpenStudy::counts)
                && let Ok(settings) = form.run_settings()
                && let Some(rays) = rays_in_use(open.counts.geometry(), &settings, &forecast.projector)
                && rays != [1, 1]
            {
                words += &format!(", {} rays per LOR", by(&rays, usize::to_string));
            }
            ui.add(egui::Label::new(RichText::new(words).weak()).wrap());
        }
        Some(Err(reason)) => {
            let words = RichText::new(format!("will be refused: {reason}")).color(theme::colours(ui.visuals()).error);
            ui.add(egui::Label::new(words).wrap());
        }
    }
}

/// Draws the choice of the accumulation, which can be switched during the run.
fn accumulation_ui(
    (study, forms, live): (Option<&OpenStudy>, &Forms, &LiveRun),
    shows_research: bool,
    ui: &mut Ui,
    requests: &mut Vec<Request>,
) {
    let supported = study.map_or(Accumulation::OF_LINES, |open| open.kind().accumulations());
    if supported.is_empty() {
        return gathered_ui(ui);
    }
    let label = ui.label("Accumulation (may be switched while running)");
    Place::Accumulation.is_at(&label);
    let in_use = live.accumulation().filter(|_| live.has_next_step());
    let current = forms.settings.accumulation.or(in_use);
    ui.horizontal_wrapped(|ui| {
        let is_shown = |accumulation: &&Accumulation| {
            shows_research || Accumulation::OF_LINES.contains(accumulation) || current == Some(**accumulation)
        };
        for &accumulation in supported.iter().filter(is_shown) {
            let mut text = RichText::new(accumulation.name());
            if accumulation.has_race() {
                text = text.color(theme::colours(ui.visuals()).error);
            }
            let reason = why_not(live, accumulation);
            let radio = egui::RadioButton::new(current == Some(accumulation), text);
            let response = ui.add_enabled(reason.is_none(), radio);
            if response.clicked() && current != Some(accumulation) {
                requests.push(request(move |work| work.set_accumulation(accumulation)));
            }
            response.on_hover_text(accumulation_help(accumulation)).on_disabled_hover_text(reason.unwrap_or_default());
        }
    });
    match (current, in_use, live.last.as_ref().and_then(|last| last.race)) {
        (Some(wanted), Some(in_use), _) if wanted != in_use => {
            ui.label(RichText::new(format!("{wanted} from the next step on")).weak());
        }
        (_, Some(in_use), Some(race)) if in_use.has_race() => {
            let words = format!("{}, image level {}", race.so_far(), RaceReport::percent(race.level));
            let label = egui::Label::new(RichText::new(words).color(theme::colours(ui.visuals()).error)).wrap();
            ui.add(label).on_hover_text(
                "Lost additions of a step, and of a voxel over all steps; the level is relative to a race-free step. More under Race, below",
            );
        }
        (None, None, _) => _ = ui.label(RichText::new("the device's default").weak()),
        _ => {}
    }
}

/// Draws the grey switch of an EPRI acquisition, with the reason.
fn gathered_ui(ui: &mut Ui) {
    ui.label(RichText::new("Accumulation").weak());
    ui.horizontal(|ui| {
        for &accumulation in Accumulation::OF_LINES {
            ui.add_enabled(false, egui::RadioButton::new(false, accumulation.name())).on_disabled_hover_text(GATHERED);
        }
    });
    ui.label(RichText::new("Each voxel by one thread: no race condition").weak()).on_hover_text(GATHERED);
}

fn accumulation_help(accumulation: Accumulation) -> &'static str {
    match accumulation {
        Accumulation::Atomic => "Every addition arrives, in any order: the last digits differ from run to run (Ctrl+1)",
        Accumulation::NonAtomic => {
            "Threads that update the same voxel or blob lose additions: the image is wrong. Not for diagnosis (Ctrl+2)"
        }
        Accumulation::Deterministic => "Every addition arrives in a fixed order: the same bits on every run (Ctrl+3)",
        Accumulation::Reload => {
            "Each blob sums its own values from a second copy of the matrix: no race condition, identical on every run (Ctrl+4)"
        }
        Accumulation::RandomCentralAtomic => {
            "LORs in random order; atomic only in the two central slices with the most collisions, a few additions are lost in the others. Not for diagnosis (Ctrl+5)"
        }
    }
}

/// Draws the settings of the next run.
fn form_ui(work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.separator();
    ui.horizontal(|ui| {
        ui.label(RichText::new("Settings for the next run").strong());
        if ui.button("Defaults").clicked() {
            requests.push(request(Workspace::reset_form));
        }
    });
    let counts = work.study.open.as_ref().and_then(OpenStudy::counts);
    let why_no_tubes = counts.and_then(|open| open.scanner_of_tubes().err()).map(|error| error.to_string());
    let settings = SettingsView {
        running: running(work).map(|running| &running.settings),
        is_active: work.live().state.is_active(),
        devices: work.devices(),
        why_no_tubes: why_no_tubes.as_deref(),
        shows_research: work.slices.view.shows_research,
    };
    let mut form = work.run().forms.settings.clone();
    let grid = egui::Grid::new("settings").num_columns(2).spacing([8.0, 4.0]);
    requests.extend(grid.show(ui, |ui| settings_ui(&mut form, &settings, ui)).inner.map(ask));
    if form != work.run().forms.settings {
        requests.push(request(|work| work.edit_form(form)));
    }
    forecast_ui(work, ui);
}

/// Returns the tooltip of the image files.
fn save_help() -> String {
    format!("The image on the screen as {} (Ctrl+S)", names(Content::Image, Access::Write))
}

const PICTURE_HELP: &str = "Screenshot as PNG, at twice the window's resolution. For a plot use its context menu";

const FILM_HELP: &str = "Animated PNG of the views, picture by picture";

fn image_ui(work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("Image").strong());
        let save = IconButton::new(icons::SAVE, "Save image…");
        if ui.add_enabled(work.run().shown.volume().is_some(), save).on_hover_text(save_help()).clicked() {
            requests.push(ask(FileTask::SaveImage));
        }
        let help = "Send a saved DICOM series to a node of the network (PACS)";
        if ui.button("Send…").on_hover_text(help).clicked() {
            requests.push(ask(FileTask::SendSeries));
        }
        requests.extend(anonymise_ui(work.is_anonymous(), ui).map(anonymise));
        ui.menu_button("Save picture", |ui| {
            for (words, area) in [("Window screenshot…", PictureArea::Window), ("Slices screenshot…", PictureArea::Slices)] {
                if ui.button(words).on_hover_text(PICTURE_HELP).clicked() {
                    requests.push(ask(FileTask::SavePicture(area)));
                }
            }
            for (text, film) in [
                ("Film of the rotating projection…", Film::Rotation),
                ("Film of the iterates or images…", Film::Iterates),
                ("Film of the time frames…", Film::Frames),
            ] {
                if ui.button(text).on_hover_text(FILM_HELP).clicked() {
                    requests.push(ask(FileTask::SaveFilm(film)));
                }
            }
        });
    });
    ui.horizontal(|ui| {
        let label = ui.label("Post-filter FWHM");
        let mut fwhm = work.run().post_filter_mm;
        let value = DragValue::new(&mut fwhm).range(0.0..=50.0).speed(0.1).max_decimals(1).suffix(" mm");
        let response = ui.add(value).labelled_by(label.id);
        name(&response, "Post-filter FWHM");
        Place::PostFilter.is_at(&response);
        response.on_hover_text("Gaussian on displayed and saved images; the reconstruction does not use it. 0 = none");
        if fwhm != work.run().post_filter_mm {
            requests.push(request(move |work| work.run_mut().post_filter_mm = fwhm));
        }
    });
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::{NodeT as _, Queryable as _};

    use std::sync::Arc;

    use super::*;
    use crate::data::{Counts, Michelogram, Study};
    use crate::plan::{Job, StartInfo};
    use crate::session::EndReason;

    #[test]
    fn what_a_run_cannot_do_is_grey_and_has_a_reason() {
        let forms = Forms::default();
        let geometry = Arc::new(crate::scanner::find("small").unwrap().geometry.clone());
        let counts = vec![0.0; geometry.num_bins()];
        let study = Study::new("empty", Counts::new(Michelogram::new(geometry, counts).unwrap()));
        let mut live = LiveRun::requested(1, 0, &[], false);
        live.info = Some(StartInfo {
            device: "Some device".into(),
            projector: "per-lor".into(),
            num_subsets: 1,
            accumulation: Accumulation::Atomic,
            accumulations: &[Accumulation::Atomic, Accumulation::Deterministic],
            estimate: Default::default(),
            memory: Vec::new(),
            job: Job::of(&study, forms.settings.run_settings().unwrap()),
        });
        let reason = why_not(&live, Accumulation::NonAtomic).unwrap();
        assert!(reason.contains("Some device with per-lor") && reason.contains("atomic, deterministic"), "{reason}");
        assert_eq!(why_not(&live, Accumulation::Atomic), None);
        let draw = |ui: &mut Ui, live: &mut LiveRun| {
            accumulation_ui((None, &forms, live), false, ui, &mut Vec::new());
        };
        let mut harness = Harness::new_ui_state(draw, live);
        let is_grey = |harness: &Harness<LiveRun>, label: &str| harness.get_by_label(label).accesskit_node().is_disabled();
        assert!(is_grey(&harness, "non-atomic") && !is_grey(&harness, "deterministic"));
        harness.get_by_label("non-atomic").hover();
        harness.run();
        assert!(harness.query_by_label(&reason).is_some(), "the reason is not shown");
        // Of a run that is gone nothing is left to be obeyed.
        harness.state_mut().state = RunState::Ended(EndReason::Cancelled);
        harness.run();
        assert!(!is_grey(&harness, "non-atomic"));
    }
}
