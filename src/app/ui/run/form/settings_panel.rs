//! The settings of the next run in the reconstruction panel. The rows of an algorithm follow from its entry in the registry.

use egui::{DragValue, RichText, Ui};

use super::devices::{device_in_words, device_menu};
use super::settings::{Bounds, SettingsForm, psf_text};
use super::sources::{sources_text, sources_ui};
use crate::data::{Psf, TofBins};
use crate::plan::{
    AlgorithmChoice, DataKind, Device, Kind, NO, ProjectorChoice, Rays, Setting, TofSettings, Value, YES, projector,
};
use crate::text::counted;
use crate::ui::widgets::fields::{any_size, menu, name};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::image_axes::ImageAxes;
use crate::ui::widgets::{format, theme};

pub struct SettingsView<'a> {
    /// The form of the run that is watched, as it was when the run began; `None` = there is no run.
    pub running: Option<&'a SettingsForm>,
    /// True until that run is over.
    pub is_active: bool,
    pub devices: &'a [Device],
    /// Reason why the scan has no tubes of response, if it has none.
    pub why_no_tubes: Option<&'a str>,
    /// True if the settings are shown that only the reproduction of a paper needs.
    pub shows_research: bool,
}

impl SettingsView<'_> {
    /// Draws the label of a row. It has a mark if the value differs from that of the run; the tooltip contains the value of the
    /// run.
    fn label<T: PartialEq>(
        &self,
        ui: &mut Ui,
        label: &str,
        next: &T,
        of: impl Fn(&SettingsForm) -> T,
        text: impl Fn(&T) -> String,
    ) {
        match self.running.map(of).filter(|running| running != next) {
            None => _ = ui.label(label),
            Some(running) => {
                let verb = if self.is_active { "runs" } else { "ran" };
                let marked = RichText::new(format!("{label} •")).color(theme::colours(ui.visuals()).shown_mark);
                ui.label(marked).on_hover_text(format!("{verb} with {}", text(&running)));
            }
        }
    }
}

/// Draws the rows of the form. Returns the file that the user wants to choose.
pub fn settings_ui(form: &mut SettingsForm, view: &SettingsView, ui: &mut Ui) -> Option<FileTask> {
    let mut asked = None;
    let Bounds { traits, space, .. } = form.bounds;
    let axes = ImageAxes::of(space);
    if traits.kind == DataKind::Events {
        frames_ui(form, view, ui);
    }
    algorithm_ui(form, view, ui);
    if !form.bounds.is_sweep() || form.algorithm.is_least_squares() {
        view.label(ui, "Iterations", &form.num_iterations, |form| form.num_iterations, usize::to_string);
        name(&ui.add(DragValue::new(&mut form.num_iterations).range(1..=10_000)), "Iterations");
        ui.end_row();
    }
    if form.has_lines() {
        subsets_ui(form, view, ui);
    }
    rows_ui(form, view, false, ui);
    if form.has_radicals() {
        view.label(ui, "Radicals", &form.radicals, |form| form.radicals.clone(), |sources| sources_text(sources));
        asked = sources_ui(&mut form.radicals, ui);
    }
    size_ui(form, view, axes.shown(), ui);
    voxel_ui(form, view, axes.shown(), ui);
    if form.bounds.is_sweep() {
        extent_ui(form, ui);
    }
    if form.has_lines() {
        view.label(ui, "Rays per LOR", &form.rays, |form| form.rays, rays_text);
        rays_ui(&mut form.rays, ui);
        view.label(ui, "Resolution model", &form.psf, |form| form.psf.clone(), psf_text);
        asked = psf_ui(&mut form.psf, ui);
        if let Some(bins) = form.bounds.tof {
            view.label(ui, "Time of flight", &form.tof, |form| form.tof, |tof| tof_text(tof, &bins));
            tof_ui(&mut form.tof, &bins, ui);
        }
    }
    if traits.kind == DataKind::Projections {
        view.label(ui, "Projector", &form.projector, |form| form.projector, |choice| choice.name().to_owned());
        projector_menu(&mut form.projector, view, ui);
    }
    view.label(ui, "Device", &form.device, |form| form.device, |choice| device_in_words(view.devices, *choice));
    device_menu(view.devices, &mut form.device, ui);
    if view.shows_research {
        rows_ui(form, view, true, ui);
    }
    asked
}

/// Draws the settings of the algorithm: those that only the reproduction of a paper needs, or the others.
fn rows_ui(form: &mut SettingsForm, view: &SettingsView, is_research: bool, ui: &mut Ui) {
    let traits = form.bounds.traits;
    for setting in form.algorithm.settings() {
        if setting.is_research == is_research && (setting.is_for)(&traits) && form.parameters.uses(setting) {
            setting_ui(setting, form, view, ui);
        }
    }
}

fn algorithm_ui(form: &mut SettingsForm, view: &SettingsView, ui: &mut Ui) {
    let label = |choice: &AlgorithmChoice| choice.entry().label.to_owned();
    view.label(ui, "Algorithm", &form.algorithm, |form| form.algorithm, label);
    let mut chosen = form.algorithm;
    menu(ui, "Algorithm", chosen.entry().label, |ui| {
        for choice in AlgorithmChoice::all_for(form.bounds.traits) {
            ui.selectable_value(&mut chosen, choice, choice.entry().label).on_hover_text(choice.entry().help);
        }
    });
    if chosen != form.algorithm {
        form.set_algorithm(chosen);
    }
}

/// Draws the number of subsets, and its bound: the reason of a low default, or the largest number that the data support.
fn subsets_ui(form: &mut SettingsForm, view: &SettingsView, ui: &mut Ui) {
    let has_subsets = form.algorithm.entry().has_subsets;
    ui.add_enabled_ui(has_subsets, |ui| {
        view.label(ui, "Subsets", &form.num_subsets, |form| form.num_subsets, usize::to_string);
    });
    name(&ui.add_enabled(has_subsets, DragValue::new(&mut form.num_subsets).range(1..=512)), "Subsets");
    ui.end_row();
    let Some(rule) = form.subset_rule.filter(|_| has_subsets && !form.algorithm.has_penalty()) else { return };
    let (text, help) = match (rule.notice(form.num_subsets), rule.why_lowered()) {
        (Some(notice), _) => {
            (RichText::new(format!("at most {}", rule.max_subsets())).color(theme::colours(ui.visuals()).warning), notice.text)
        }
        (None, Some(reason)) => {
            let default = format!("{} × {}", counted(rule.num_subsets(), "subset"), counted(rule.num_iterations(), "iteration"));
            (RichText::new(format!("default {default}")).weak(), reason)
        }
        (None, None) => return,
    };
    ui.label("");
    ui.label(text).on_hover_text(help);
    ui.end_row();
}

fn setting_ui(setting: &Setting, form: &mut SettingsForm, view: &SettingsView, ui: &mut Ui) {
    let value = form.parameters.value(setting);
    let of = |form: &SettingsForm| form.parameters.value(setting);
    view.label(ui, setting.label, &value, of, |value| setting.text(value.as_ref()));
    let mut next = value.clone();
    match setting.kind {
        Kind::Choice { .. } if setting.is_switch() => {
            if let Some(is_on) = ticked(form.parameters.is(setting, YES), setting.label, setting.help, ui) {
                next = Some(Value::Name(if is_on { YES } else { NO }.to_owned()));
            }
            ui.end_row();
        }
        Kind::Choice { choices, .. } => menu(ui, setting.label, &setting.text(value.as_ref()), |ui| {
            for choice in choices().iter().filter(|choice| (choice.is_for)(&form.bounds.traits)) {
                let response = ui.selectable_value(&mut next, Some(Value::Name(choice.key.to_owned())), choice.label);
                if !choice.help.is_empty() {
                    response.on_hover_text(choice.help);
                }
            }
        }),
        Kind::Number { is_whole, min, max, unit, default, usual, absent, found } => {
            ui.horizontal(|ui| {
                if default.is_none() {
                    let set = format!("Set {}", setting.label);
                    if let Some(is_set) = ticked(next.is_some(), &set, setting.help, ui) {
                        next = is_set.then_some(Value::Number(usual));
                    }
                }
                if let Some(found) = found {
                    let mut is_found = form.parameters.is(setting, found);
                    let response = ui.checkbox(&mut is_found, found);
                    name(&response, &format!("{} {found}", setting.label));
                    if response.on_hover_text(setting.help).changed() {
                        let number = default.map(Value::Number);
                        next = if is_found { Some(Value::Name(found.to_owned())) } else { number };
                    }
                }
                match &mut next {
                    Some(Value::Name(_)) => {}
                    Some(Value::Number(number)) => {
                        let field = match is_whole {
                            true => DragValue::new(number).range(min..=max).max_decimals(0),
                            false => any_size(number, min..=max, usual),
                        };
                        let field = if unit.is_empty() { field } else { field.suffix(format!(" {unit}")) };
                        named_field(field, setting, ui);
                    }
                    _ => _ = ui.label(absent).on_hover_text(setting.help),
                }
            });
            ui.end_row();
        }
    }
    if next != value {
        form.parameters.set(setting, next);
    }
}

/// Draws a box without text, with this accessible name; returns its new state after a click.
fn ticked(mut is_on: bool, name: &str, help: &str, ui: &mut Ui) -> Option<bool> {
    let response = ui.checkbox(&mut is_on, "");
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, is_on, name));
    response.on_hover_text(help).changed().then_some(is_on)
}

fn named_field(field: DragValue, setting: &Setting, ui: &mut Ui) {
    let response = ui.add(field);
    name(&response, setting.label);
    response.on_hover_text(setting.help);
}

/// Draws the numbers of voxels along the axes of these names.
fn size_ui(form: &mut SettingsForm, view: &SettingsView, axes: &[&str], ui: &mut Ui) {
    let text = |size: &[usize; 3]| by(&size[..axes.len()], usize::to_string);
    view.label(ui, &format!("Voxels {}", axes.join(", ")), &form.size, |form| form.size, text);
    let mut size = form.size;
    ui.horizontal(|ui| {
        for (axis, size) in axes.iter().zip(&mut size) {
            name(&ui.add(DragValue::new(size).range(1..=2048)), &format!("Voxels {axis}"));
        }
    });
    ui.end_row();
    form.set_size(size);
}

/// Draws the sides of the voxels.
fn voxel_ui(form: &mut SettingsForm, view: &SettingsView, axes: &[&str], ui: &mut Ui) {
    let text = |sides: &[f64; 3]| format!("{} mm", by(&sides[..axes.len()], |side| format!("{side:.3}")));
    view.label(ui, "Voxel mm", &form.voxel_mm, |form| form.voxel_mm, text);
    ui.horizontal(|ui| {
        for (axis, side) in axes.iter().zip(&mut form.voxel_mm) {
            let value = DragValue::new(side).range(0.01..=50.0).speed(0.02).max_decimals(3);
            name(&ui.add(value), &format!("Voxel mm {axis}"));
        }
    });
    ui.end_row();
}

/// Extents that the image of a sweep can have.
fn extent_ui(form: &mut SettingsForm, ui: &mut Ui) {
    let Bounds { samples_mm, field_of_view_mm, .. } = form.bounds;
    ui.label("Image spans");
    // One above the other: a wrapped row would reach into the next row of the form.
    ui.vertical(|ui| {
        let help = "Sets the field of view to the extent of the projections (same number of voxels)";
        if ui.button(format!("Samples {} mm", format::value(samples_mm))).on_hover_text(help).clicked() {
            form.set_extent(samples_mm);
        }
        let Some(field_mm) = field_of_view_mm else { return };
        let help = "Sets the field of view to the planned extent (same number of voxels)";
        if ui.button(format!("Field of view {} mm", format::short_number(field_mm))).on_hover_text(help).clicked() {
            form.set_extent(field_mm);
        }
    });
    ui.end_row();
}

/// Draws the menu of projectors; tubes are grey if the scan has none.
fn projector_menu(chosen: &mut ProjectorChoice, view: &SettingsView, ui: &mut Ui) {
    let is_shown = |choice: &ProjectorChoice| {
        view.shows_research || choice == chosen || projector(choice.name()).is_none_or(|entry| !entry.is_research)
    };
    let choices: Vec<ProjectorChoice> = ProjectorChoice::all().filter(is_shown).collect();
    menu(ui, "Projector", chosen.name(), |ui| {
        for choice in choices {
            let why_not = view.why_no_tubes.filter(|_| choice.uses_tubes());
            let item = egui::Button::selectable(*chosen == choice, choice.name());
            let response = ui.add_enabled(why_not.is_none(), item);
            if response.clicked() {
                *chosen = choice;
            }
            response.on_disabled_hover_text(why_not.unwrap_or_default());
        }
    });
}

const FRAMES_HELP: &str = "Parts of the time that are reconstructed one after the other, each with these settings: 6x10,4x60 are six frames of ten seconds and then four of sixty, 0-60,60-300 go from one second to another. Empty: all of it as one image";

fn frames_ui(form: &mut SettingsForm, view: &SettingsView, ui: &mut Ui) {
    let text = |text: &String| if text.is_empty() { "all of it as one image".to_owned() } else { text.clone() };
    view.label(ui, "Frames", &form.frames, |form| form.frames.clone(), text);
    let field = egui::TextEdit::singleline(&mut form.frames).desired_width(110.0).hint_text("6x10,4x60");
    let response = ui.add(field);
    response.widget_info(|| {
        let mut info = egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Frames");
        info.current_text_value = Some(form.frames.clone());
        info
    });
    response.on_hover_text(FRAMES_HELP);
    ui.end_row();
}

/// Returns a text such as "64 × 64 × 32".
pub fn by<T>(values: &[T], text: impl Fn(&T) -> String) -> String {
    values.iter().map(text).collect::<Vec<_>>().join(" × ")
}

fn rays_text(rays: &Rays) -> String {
    match rays {
        Rays::Auto => "auto".into(),
        Rays::Fixed { tangential, axial } => format!("{tangential} × {axial}"),
    }
}

fn tof_text(tof: &TofSettings, bins: &TofBins) -> String {
    match bins.mashed(tof.mash) {
        Ok(TofBins { num, width_mm, .. }) if tof.is_used => format!("{num} × {width_mm:.0} mm"),
        _ => "not used".to_owned(),
    }
}

/// Draws the use of the time of flight: whether, and how many neighbouring bins are added up.
fn tof_ui(tof: &mut TofSettings, bins: &TofBins, ui: &mut Ui) {
    // (Of another study before: what does not divide the bins of this one.)
    if bins.mashed(tof.mash).is_err() {
        tof.mash = 1;
    }
    ui.vertical(|ui| {
        ui.checkbox(&mut tof.is_used, "used").on_hover_text("Each count lies about its place on the line; else anywhere on it");
        let mashes = (1..=bins.num).filter(|mash| bins.num.is_multiple_of(*mash));
        ui.add_enabled_ui(tof.is_used, |ui| {
            menu(ui, "Time-of-flight bins", &tof_text(tof, bins), |ui| {
                for mash in mashes {
                    let choice = TofSettings { mash, ..*tof };
                    ui.selectable_value(tof, choice, tof_text(&choice, bins));
                }
            });
        });
    });
    ui.end_row();
}

const PSF_HELP: &str = "Gaussian point spread function (FWHM) as part of the projections, in both directions. It sharpens the image and overshoots at edges: small hot spheres can come out too hot. The post-filter is something else: it blurs the finished image";

/// Accessible names of its widths.
const PSF_NAMES: [&str; 3] = ["Resolution model, x", "Resolution model, y", "Resolution model, z"];

/// Width that a new model has along each axis, mm.
const NEW_PSF_MM: f64 = 4.5;

const PSF_FILE_HELP: &str =
    "Reads widths by the distance from the axis (TOML): radius_mm, radial_fwhm_mm, tangential_fwhm_mm, axial_fwhm_mm";

/// Draws the resolution model: whether there is one, and its widths along x, y and z. Returns the request for its file.
fn psf_ui(psf: &mut Option<Psf>, ui: &mut Ui) -> Option<FileTask> {
    let mut asked = None;
    // One below the other: the fields are too long for a row.
    ui.vertical(|ui| {
        let mut is_modelled = psf.is_some();
        if ui.checkbox(&mut is_modelled, "Gaussian (FWHM)").on_hover_text(PSF_HELP).changed() {
            *psf = is_modelled.then_some(Psf::Everywhere([NEW_PSF_MM; 3]));
        }
        match psf {
            None => {}
            Some(Psf::Everywhere(fwhm_mm)) => {
                let mut edited = *fwhm_mm;
                ui.horizontal(|ui| {
                    for (axis, width) in PSF_NAMES.into_iter().zip(&mut edited) {
                        let field = DragValue::new(width).range(0.0..=50.0).speed(0.05).max_decimals(2).suffix(" mm");
                        name(&ui.add(field).on_hover_text(PSF_HELP), axis);
                    }
                });
                // (Without any width there would be no model: the last one stays.)
                if let Ok(Psf::Everywhere(valid)) = Psf::Everywhere(edited).checked() {
                    *fwhm_mm = valid;
                }
            }
            Some(by_radius @ Psf::ByRadius(_)) => _ = ui.add(egui::Label::new(by_radius.to_string()).wrap()),
        }
        if ui.button("Resolution file…").on_hover_text(PSF_FILE_HELP).clicked() {
            asked = Some(FileTask::Psf);
        }
    });
    ui.end_row();
    asked
}

fn rays_ui(rays: &mut Rays, ui: &mut Ui) {
    ui.horizontal(|ui| {
        let mut automatic = *rays == Rays::Auto;
        if ui.checkbox(&mut automatic, "auto").changed() {
            *rays = if automatic { Rays::Auto } else { Rays::Fixed { tangential: 1, axial: 1 } };
        }
        if let Rays::Fixed { tangential, axial } = rays {
            name(&ui.add(DragValue::new(tangential).range(1..=16)), "Rays per LOR, tangential");
            ui.label("×");
            name(&ui.add(DragValue::new(axial).range(1..=16)), "Rays per LOR, axial");
        }
    });
    ui.end_row();
}
