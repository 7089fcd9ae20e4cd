//! Views of the image, with the choice of the iterate above and the colour bar on the right.

use egui::Ui;

use super::layer::layer_panel::blend_ui;
use super::layer::radical_panel::radicals_ui;
use super::run::scrubber::scrubber_ui;
use super::run::slider::frame_slider_ui;
use super::tool::{Tool, acting};
use crate::data::ValueScale;
use crate::session::StopRule;
use crate::ui::rois::measured::{MeasuredImage, TableCache};
use crate::ui::run::run_view::RunView;
use crate::ui::slices::chips::{ChipsView, chips_ui};
use crate::ui::slices::colour_bar::colour_bar_ui;
use crate::ui::slices::comparison::panel::beside_ui;
use crate::ui::slices::comparison::{Beside, CompareMode};
use crate::ui::slices::pointer::help_text;
use crate::ui::slices::slice_panel::{pointer_text, slices_ui};
use crate::ui::slices::slices_view::SlicesView;
use crate::ui::slices::toolbar::{ToolbarView, toolbar_ui};
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::widgets::place::Place;
use crate::ui::widgets::wake::waker;
use crate::ui::widgets::{format, theme};
use crate::ui::workspace::panes::pane::ROIS;
use crate::ui::workspace::state::{Request, Workspace, request};

#[derive(Default)]
pub struct Image {
    /// Numbers of the regions in the displayed difference from the reference image.
    difference: TableCache,
}

impl Tool for Image {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Image", "Views of the image"]
    }

    /// Measures the displayed difference from the reference image.
    fn update(&mut self, work: &mut Workspace, _is_drawn: bool) {
        let patience = work.patience();
        let beside = work.runs.beside().and_then(|(_, image)| Some((image.shown.generation(), image.shown.image()?)));
        let RunView { live, shown, .. } = work.runs.active();
        let both = shown.image().zip(beside).filter(|_| work.slices.view.beside == CompareMode::Difference);
        let difference =
            both.filter(|(shown, (_, other))| shown.grid.same_as(&other.grid)).map(|(volume, (generation, minus))| {
                let key = (live.run, shown.generation(), false, Some(generation));
                MeasuredImage { key, volume, minus: Some(minus) }
            });
        self.difference.update(work.rois.masked(), difference, patience, waker(&work.ctx));
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        self.image_ui(work, ui, requests);
    }
}

impl Image {
    fn image_ui(&self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        let scale = work.scale();
        let toolbar = ToolbarView {
            view: &work.slices.view,
            colouring: &work.run().colouring,
            range: work.run().shown.range,
            scale,
            is_slice: work.study.axes().is_slice,
            liver_mean: liver_mean(work),
            has_own_window: false,
        };
        acting(requests, Workspace::apply_view, |actions| toolbar_ui(&toolbar, ui, actions));
        work.frames().into_iter().for_each(|series| frame_slider_ui(series, ui, requests));
        let is_single = work.study.images().is_some_and(|open| open.series.num_images == 1);
        if !is_single {
            scrubber_ui(work, ui, requests);
        }
        let (radicals, can_choose) = (work.run().live.radical_names(), !work.run().shown.is_past());
        radicals_ui(&radicals, &work.layer, can_choose, ui, requests);
        if let Some(image) = work.drawn_layer() {
            blend_ui(image, ui, requests);
        }
        if let Some(place) = chips_ui(&chips(work), ui) {
            requests.extend((place == Place::MeasuredImage).then(|| request(|work| work.panes.show(&ROIS))));
            place.lead(ui.ctx());
        }
        if let Some((reference, _)) = work.runs.beside() {
            let (chosen, name) = (work.slices.view.beside, reference.text());
            let refusal = |how| comparison_refusal(work, how);
            acting(requests, Workspace::apply_view, |actions| beside_ui(chosen, &name, refusal, ui, actions));
        }
        let slices = work.run().grid_shown().and_then(|grid| work.slices.view.slices_at(grid));
        let Some(volume) = work.run().shown.drawn(slices) else {
            ui.centered_and_justified(|ui| ui.label(waiting_text(work)));
            return;
        };
        let beside = self.beside(work);
        let colouring = beside.as_ref().map(|beside| beside.colouring(&work.run().colouring));
        let has_own_window = beside.as_ref().is_some_and(|beside| beside.how == CompareMode::Difference);
        let toolbar = ToolbarView { colouring: colouring.as_ref().unwrap_or(toolbar.colouring), has_own_window, ..toolbar };
        let lines = egui::vec2(ui.available_width(), 3.0 * ui.text_style_height(&egui::TextStyle::Small) + 12.0);
        let area = egui::vec2(ui.available_width(), (ui.available_height() - lines.y).max(50.0));
        let slices = SlicesView {
            view: &work.slices.view,
            colouring: &work.run().colouring,
            volume,
            rois: &work.rois.document.rois,
            // The outlines have the numbers of the displayed picture.
            table: self.outline_numbers(work, has_own_window),
            scale,
            labels: work.rois.labels,
            selected: work.rois.selected,
            draft: work.slices.draft.as_ref(),
            corners: work.slices.corners.as_ref(),
            drag: work.slices.drag.map(|active| (active.drag, active.plane)),
            axes: work.study.axes(),
            beside: beside.as_ref(),
            layer: work.drawn_layer(),
            placement: work.placement(),
            adapter: work.graphics.kind,
        };
        let (mut hovered, mut bar_help) = (None, None);
        ui.allocate_ui_with_layout(area, egui::Layout::left_to_right(egui::Align::Min), |ui| {
            let bar = theme::COLOUR_BAR_WIDTH;
            let size = egui::vec2(area.x - bar, area.y);
            PictureArea::Slices.is_at(egui::Rect::from_min_size(ui.max_rect().min, area), ui);
            ui.allocate_ui(size, |ui| {
                ui.set_min_size(size);
                hovered = acting(requests, Workspace::apply_view, |actions| slices_ui(&slices, ui, actions));
            });
            // An image that hides the displayed one has its own bar.
            let hiding = slices.layer.filter(|image| image.hides() && beside.is_none());
            let colouring = hiding.map_or(toolbar.colouring, |image| &image.display.colouring);
            let scale = hiding.map_or(toolbar.scale, |image| ValueScale::own(image.volume.unit));
            let has_own_window = toolbar.has_own_window || hiding.is_some();
            let bar = ToolbarView { colouring, scale, has_own_window, ..toolbar };
            bar_help = acting(requests, Workspace::apply_view, |actions| colour_bar_ui(&bar, ui, actions));
        });
        let made = work.run().provenance_words(work.hiding_radical());
        ui.add(egui::Label::new(egui::RichText::new(made).small()).truncate());
        // Without the whole volume no value at the pointer is shown.
        let is_whole = work.run().shown.volume().is_some_and(|whole| std::ptr::eq(whole, volume));
        let point = hovered.as_ref().and_then(|pointed| pointed.point).filter(|_| is_whole);
        let pointer = point.map_or_else(String::new, |point| {
            let of_both = beside.as_ref().and_then(|beside| beside.words_at(point, volume, scale));
            let text = pointer_text(point, volume, scale, &work.study.axes());
            let others = of_both.into_iter().chain(work.layer_text(point));
            others.fold(text, |text, other| format!("{text} · {other}"))
        });
        ui.add(egui::Label::new(egui::RichText::new(pointer).small()).truncate());
        let plane = hovered.as_ref().and_then(|pointed| pointed.plane);
        let help = hovered.map(|pointed| pointed.help).or(bar_help);
        let help = help.unwrap_or_else(|| help_text(work.slices.view.tool));
        ui.add(egui::Label::new(egui::RichText::new(help).small().weak()).truncate());
        if let Some(plane) = plane.filter(|plane| *plane != work.slices.active_plane) {
            requests.push(request(move |work| work.slices.active_plane = plane));
        }
    }

    /// Returns the numbers of the regions in the displayed picture; none where another radical hides the measured image.
    fn outline_numbers<'a>(&'a self, work: &'a Workspace, is_difference: bool) -> Option<&'a TableCache> {
        let table = if is_difference { &self.difference } else { &work.run().table };
        work.hiding_radical().is_none().then_some(table)
    }

    /// Returns the reference image and its comparison mode, if both images are comparable.
    fn beside<'a>(&'a self, work: &'a Workspace) -> Option<Beside<'a>> {
        let how = work.slices.view.beside;
        let is_compared = how != CompareMode::Off && comparison_refusal(work, how).is_none();
        let (reference, image) = work.runs.beside().filter(|_| is_compared)?;
        let other = image.shown.image().filter(|_| work.graphics.state.is_none() || image.shown.is_uploaded())?;
        let largest_difference = match how {
            // Differences by rounding have no colour.
            CompareMode::Difference => {
                let largest = work.run().colouring.window[1].abs();
                self.difference.usual_difference().unwrap_or(largest).max(1e-6 * largest)
            }
            _ => 0.0,
        };
        let names = [format!("run {}, {}", work.run().live.number, work.run().shown_words()), image.text(reference)];
        Some(Beside { how, volume: other, names, largest_difference })
    }
}

/// Returns the mean of the first region whose name contains "liver".
fn liver_mean(work: &Workspace) -> Option<f64> {
    let index = work.rois.document.rois.iter().position(|roi| roi.name.to_lowercase().contains("liver"))?;
    let table = Some(&work.run().table).filter(|table| table.is_current())?;
    table.numbers().get(index)?.as_ref()?.mean
}

/// Returns the state that changes the numbers of the displayed image.
fn chips(work: &Workspace) -> ChipsView {
    let (run, rois) = (work.run(), &work.rois.document.rois);
    let conversion = work.conversion_shown();
    let is_calibrated = work.study.calibration.bq_per_ml.is_some();
    let by_iteration = work.iteration_scheme().by_iteration;
    let rules = if by_iteration { run.forms.stop.rules(rois) } else { Vec::new() };
    let shown = run.shown_of().filter(|_| by_iteration);
    ChipsView {
        filter_mm: run.shown.filter_mm(),
        is_unfiltered: work.rois.measure_unfiltered,
        rules: rules.iter().map(StopRule::text).collect(),
        conversion,
        lacks_calibration: is_calibrated && conversion.is_none() && run.shown_of().is_some(),
        accumulation: shown.and_then(|(id, live)| live.accumulation_of(id.subiteration)),
        chosen_accumulation: run.forms.settings.accumulation.filter(|_| by_iteration),
    }
}

/// Returns the reason why a comparison with the reference image is impossible.
fn comparison_refusal(work: &Workspace, how: CompareMode) -> Option<&'static str> {
    let shown = &work.run().shown.volume()?.grid;
    match work.runs.beside().filter(|_| how != CompareMode::Off)?.1.shown.image() {
        None => Some("No image of that run is stored"),
        Some(other) if how.needs_same_grid() && !other.grid.same_as(shown) => {
            Some("The difference needs both images on the same grid")
        }
        Some(_) => None,
    }
}

/// Returns the text in place of an image.
fn waiting_text(work: &Workspace) -> String {
    match (&work.study.loading, &work.study.open) {
        (Some(loading), _) => format!("{} …", loading.source.text()),
        (None, Some(_)) if let Some((what, part, remaining)) = work.run().live.making() => {
            let remaining = remaining.filter(|_| !work.options.for_pictures);
            format::under_way(&format!("Making {what}"), Some(part), remaining)
        }
        (None, Some(_)) if work.run().live.state.is_active() => "Setting the reconstruction up …".into(),
        (None, Some(_)) => "Press Start to reconstruct.".into(),
        (None, None) => "Open a study, or drop its file here.".into(),
    }
}
