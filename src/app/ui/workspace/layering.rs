//! Second image: actions, reading, position relative to the displayed image.

use std::sync::Arc;

use egui::Context;

use super::app::App;
use super::series_chooser::SeriesUse;
use crate::data::{AttenuationMap, ImageSpace, IterateId, Modality, Notice, Placement, SeriesNames, Volume};
use crate::render::{Palette, VolumeSlot};
use crate::session::{Control, VolumesOf};
use crate::ui::layer::action::LayerAction;
use crate::ui::layer::run_map::RunMap;
use crate::ui::layer::second_image::{SavedLayer, SecondImage};
use crate::ui::run::live::RadicalImages;
use crate::ui::slices::comparison::CompareMode;
use crate::ui::slices::slice_paint;
use crate::ui::widgets::format;
use crate::ui::widgets::wake::waker;

impl App {
    pub(super) fn apply_layer(&mut self, ctx: &Context, action: LayerAction) {
        match action {
            LayerAction::Ask(task) => _ = self.ask(ctx, task),
            LayerAction::ShowAttenuation => self.show_attenuation(None),
            LayerAction::ShowDeviation => {
                self.layer.clear();
                self.layer.shows_deviation = true;
            }
            LayerAction::ShowOxygen(map) => self.layer.show_map(RunMap::Oxygen(map)),
            LayerAction::ShowLine(map) => self.layer.show_map(RunMap::Line(map)),
            LayerAction::FitLines(settings) => self.spectra.set_settings(settings),
            LayerAction::ShowRadical { index, opacity } => self.layer.show_radical(index, opacity),
            LayerAction::CancelLoading => self.layer.cancel(),
            LayerAction::Remove => {
                self.layer.clear();
                self.layer.show_no_map();
                self.runs.active_mut().colouring.auto_palette = true;
            }
            LayerAction::Confirm => self.with_layer(|image| image.is_confirmed = true),
            LayerAction::Display(display) => self.layer.set_display(*display),
            LayerAction::Register(registration) => self.with_layer(|image| image.register(registration)),
            LayerAction::UndoRegistration => {
                self.with_layer(|image| image.registration = image.undo.pop().unwrap_or(image.registration));
            }
        }
    }

    /// Draws the attenuation map of the open study, with that of its bed, as the second image, as it was in a session or before. Without a map a second
    /// image of this kind is removed.
    pub(super) fn show_attenuation(&mut self, saved: Option<SavedLayer>) {
        let maps = self.study.open.as_ref().map_or(&[][..], |open| open.study.measured.attenuation_maps());
        match AttenuationMap::sum(maps) {
            Some(map) => self.layer.show_attenuation(&map, saved),
            None => self.layer.clear(),
        }
    }

    /// Returns true if the run has replicates.
    pub(super) fn has_deviation(&self) -> bool {
        let info = self.run().live.info.as_ref();
        info.is_some_and(|info| info.job.settings.num_replicates() > 0)
    }

    /// Requests the standard deviations of the newest image after each full iteration, and after a change of the filter. A run without
    /// replicates ends them.
    pub(super) fn request_deviation(&mut self) {
        let run = self.runs.active();
        if !self.layer.shows_deviation || run.live.info.is_none() {
            return;
        }
        if !self.has_deviation() {
            return self.layer.clear();
        }
        let Some(last) = &run.live.last else { return };
        let steps = if run.live.is_running() { last.iteration * run.live.num_subsets() } else { last.subiteration };
        let post_filter_fwhm_mm = Some(run.post_filter_mm).filter(|mm| *mm > 0.0);
        let key = (run.live.run, steps, post_filter_fwhm_mm.map(f64::to_bits));
        if steps > 0 && self.layer.requests_deviation(key) {
            self.session.send(Control::ReadVolumes(VolumesOf::Deviation(post_filter_fwhm_mm)));
        }
    }

    /// Takes the standard deviations of an image.
    pub(super) fn receive_deviation(&mut self, volumes: Vec<Arc<Volume>>) {
        if let Some(volume) = volumes.into_iter().next().filter(|_| self.layer.shows_deviation) {
            self.layer.show_deviation(volume);
        }
    }

    /// Shows the chosen map of the displayed run: of pulse oximetry, of the lines of its spectra, or another radical than the first.
    pub(super) fn follow_map(&mut self) {
        let run = self.runs.active();
        let (oxygen, line, radical) = (self.layer.oxygen, self.layer.line, self.layer.radical);
        let names = run.live.radical_names();
        let of_oxygen = |(rate, images)| Some((RunMap::Oxygen(oxygen), oxygen.name(rate), oxygen.of(images)?));
        let of_line = |images| Some((RunMap::Line(line), line.name(), line.of(images)?));
        let of_radicals = || {
            let image = run.live.radicals.as_ref()?.images.get(radical).filter(|_| radical > 0)?;
            Some((RunMap::Radical(radical), names.get(radical)?.as_str(), image))
        };
        let wanted = run.live.oxygen_maps().and_then(of_oxygen);
        let wanted = wanted.or_else(|| self.spectra.images().and_then(of_line)).or_else(of_radicals);
        // An earlier image is shown without the map of all.
        self.layer.follow_map(wanted.filter(|_| !run.shown.is_past()));
    }

    /// Requests the images of all radicals after each iterate where another than the first is shown. One request is on its way at a time.
    pub(super) fn request_radicals(&mut self) {
        let live = &self.runs.active().live;
        let Some(last) = live.last.as_ref().filter(|_| live.in_memory().is_some() && !live.radical_names().is_empty()) else {
            return;
        };
        let is_old = live.radicals.as_ref().is_none_or(|radicals| radicals.subiteration != last.subiteration);
        if is_old && self.layer.requests_radicals(live.run) {
            self.session.send(Control::ReadVolumes(VolumesOf::Coupled));
        }
    }

    /// Takes the images of all radicals of a run, and writes them if that was requested.
    pub(super) fn receive_radicals(&mut self, ctx: &Context, id: IterateId, images: Vec<Arc<Volume>>) {
        self.layer.received_radicals();
        let Some(view) = self.runs.of_mut(id.run).filter(|view| !view.live.radical_names().is_empty()) else { return };
        let radicals = view.live.radicals.insert(RadicalImages { subiteration: id.subiteration, images }).clone();
        if let Some(path) = view.live.radicals_file.take() {
            self.write_radicals(ctx, id.run, &path, &radicals);
        }
    }

    fn with_layer(&mut self, change: impl FnOnce(&mut SecondImage)) {
        if let Some(image) = &mut self.layer.image {
            change(image);
        }
    }

    /// Takes a second image that was read. A displayed image in grey becomes coloured over anatomy.
    pub(super) fn receive_layer(&mut self, ctx: &Context) {
        let names: Option<SeriesNames> = self.study.images().map(|open| open.series.names.clone());
        let is_restoring = self.layer.is_restoring();
        match self.layer.receive(names.as_ref()) {
            None => {}
            Some(Ok(notices)) => {
                let is_anatomy = |image: &SecondImage| matches!(image.series.modality, Modality::Ct | Modality::Mr);
                let colouring = &mut self.runs.active_mut().colouring;
                let is_over_anatomy = self.layer.image.as_ref().is_some_and(is_anatomy);
                if is_over_anatomy && !is_restoring && colouring.palette == Palette::InvertedGrey {
                    (colouring.palette, colouring.auto_palette) = (Palette::HotIron, false);
                }
                self.notify_all(ctx, notices);
            }
            Some(Err(failure)) => self.handle_load_failure(ctx, failure, SeriesUse::SecondImage),
        }
    }

    /// Updates the numbers of the regions in the second image.
    pub(super) fn measure_layer(&mut self, ctx: &Context) {
        let (placement, patience) = (self.placement().copied(), self.patience());
        if let Some(grid) = self.runs.active().grid_shown() {
            self.layer.measure(self.rois.masked(), grid, placement.as_ref(), patience, waker(ctx));
        }
    }

    /// Sends the displayed image or the reference image to the graphics adapter, in parts; a large one is displayed after the last
    /// part.
    pub(super) fn upload_image(&mut self, slot: VolumeSlot, frame: &eframe::Frame, ctx: &Context) {
        let (is_reference, view) = (slot == VolumeSlot::Second, &self.slices.view);
        let slices = self.run().grid_shown().and_then(|grid| view.slices_at(grid)).filter(|_| !is_reference);
        let is_drawn = !is_reference || view.beside != CompareMode::Off;
        let shown = if is_reference { self.runs.beside_mut() } else { &mut self.runs.active_mut().shown };
        let Some(state) = frame.wgpu_render_state().filter(|_| is_drawn) else { return shown.display_at_once() };
        let (window, trace, mut failure) = (self.window_number, &self.options.trace, None);
        shown.upload(slices, |id, number, volume, on_device| {
            let size = volume.grid.size;
            let lent = window.zip(on_device).filter(|_| !is_reference);
            let is_on_device = lent.is_some_and(|(window, image)| slice_paint::show(state, window, slot, size, image));
            let upload = || slice_paint::upload_part(state, (slot, number), size, volume.as_slice());
            let is_complete = is_on_device
                || upload().unwrap_or_else(|error| {
                    failure = Some(Notice::error(error.to_string()));
                    true
                });
            if is_complete && !is_reference {
                let figures = [
                    ("run", id.run as f64),
                    ("iteration", id.iteration as f64),
                    ("subiteration", id.subiteration as f64),
                    ("on_device", f64::from(u8::from(is_on_device))),
                ];
                trace.record("iterate_shown", &figures);
            }
            is_complete
        });
        if shown.has_upload() {
            ctx.request_repaint();
        }
        self.notify_all(ctx, failure);
    }

    /// Sends the second image to the graphics adapter, in parts.
    pub(super) fn upload_layer(&mut self, frame: &eframe::Frame, ctx: &Context) {
        let Some(image) = self.layer.image.as_ref().filter(|_| self.uploaded_layer != Some(self.layer.generation)) else {
            return;
        };
        let Some(state) = frame.wgpu_render_state() else { return };
        let (number, size) = ((VolumeSlot::Layer, self.layer.generation), image.volume.grid.size);
        let uploaded = slice_paint::upload_part(state, number, size, image.voxel_values());
        if uploaded == Ok(false) {
            return ctx.request_repaint();
        }
        self.uploaded_layer = Some(self.layer.generation);
        self.notify_all(ctx, uploaded.err().map(|error| Notice::error(error.to_string())));
    }

    /// Returns the second image, if it is drawn: a large one after its upload.
    pub(super) fn drawn_layer(&self) -> Option<&SecondImage> {
        let is_uploaded = self.graphics.is_none() || self.uploaded_layer == Some(self.layer.generation);
        self.layer.image.as_ref().filter(|image| is_uploaded && image.is_drawn())
    }

    /// Returns the map of the run that hides the displayed image.
    pub(super) fn hiding_map(&self) -> Option<RunMap> {
        self.drawn_layer().filter(|image| image.hides())?.map()
    }

    /// Returns the number of the radical whose image hides the displayed image.
    pub(super) fn hiding_radical(&self) -> Option<usize> {
        if let Some(RunMap::Radical(index)) = self.hiding_map() { Some(index) } else { None }
    }

    /// Returns the position of an oblique displayed image in the world.
    pub(super) fn placement(&self) -> Option<&Placement> {
        self.study.images().and_then(|open| open.series.placement.as_ref())
    }

    /// Returns the space of the displayed image; `None` before the first image.
    pub(super) fn space(&self) -> Option<ImageSpace<'_>> {
        let names = self.study.images().map(|open| &open.series.names).filter(|names| **names != SeriesNames::default());
        Some(ImageSpace { grid: self.runs.active().grid_shown()?, placement: self.placement(), names })
    }

    /// Describes the value of the second image at a point of the displayed one.
    pub(super) fn layer_text(&self, point: [f64; 3]) -> Option<String> {
        let image = self.drawn_layer()?;
        let value = image.value_at(self.placement(), point)?;
        if value.is_nan() {
            return Some(format!("{} not fitted", image.series.modality.name()));
        }
        Some(format!("{} {} {}", image.series.modality.name(), format::value(value), image.volume.unit.label()))
    }
}
