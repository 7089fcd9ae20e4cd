//! Second image: reading, position relative to the displayed image.

use std::sync::Arc;

use super::files::series_chooser::SeriesUse;
use super::state::Workspace;
use crate::data::{AttenuationMap, ImageSpace, IterateId, Modality, Notice, Placement, SeriesNames, Volume};
use crate::render::{Palette, VolumeSlot};
use crate::session::{Control, VolumesOf};
use crate::ui::layer::run_map::RunMap;
use crate::ui::layer::second_image::{SavedLayer, SecondImage};
use crate::ui::run::live::RadicalImages;
use crate::ui::slices::comparison::CompareMode;
use crate::ui::slices::slice_paint;
use crate::ui::widgets::format;
use crate::ui::widgets::wake::waker;

impl Workspace {
    pub fn remove_layer(&mut self) {
        self.layer.clear();
        self.layer.show_no_map();
        self.runs.active_mut().colouring.auto_palette = true;
    }

    /// Draws the attenuation map of the open study, with that of its bed, as the second image, as it was in a session or before. Without a map a second
    /// image of this kind is removed.
    pub fn show_attenuation(&mut self, saved: Option<SavedLayer>) {
        let maps = self.study.open.as_ref().map_or(&[][..], |open| open.study.measured.attenuation_maps());
        match AttenuationMap::sum(maps) {
            Some(map) => self.layer.show_attenuation(&map, saved),
            None => self.layer.clear(),
        }
    }

    /// Returns true if the run has replicates.
    pub fn has_deviation(&self) -> bool {
        let info = self.run().live.info.as_ref();
        info.is_some_and(|info| info.job.settings.num_replicates() > 0)
    }

    /// Requests the standard deviations of the newest image after each full iteration, and after a change of the filter. A run without
    /// replicates ends them.
    pub fn request_deviation(&mut self) {
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
    pub fn receive_deviation(&mut self, volumes: Vec<Arc<Volume>>) {
        if let Some(volume) = volumes.into_iter().next().filter(|_| self.layer.shows_deviation) {
            self.layer.show_deviation(volume);
        }
    }

    /// Shows the chosen map of the displayed run: of pulse oximetry, of the lines of its spectra, or another radical than the first.
    pub fn follow_map(&mut self) {
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
    pub fn request_radicals(&mut self) {
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
    pub fn receive_radicals(&mut self, id: IterateId, images: Vec<Arc<Volume>>) {
        self.layer.received_radicals();
        let Some(view) = self.runs.of_mut(id.run).filter(|view| !view.live.radical_names().is_empty()) else { return };
        let radicals = view.live.radicals.insert(RadicalImages { subiteration: id.subiteration, images }).clone();
        if let Some(path) = view.live.radicals_file.take() {
            self.write_radicals(id.run, &path, &radicals);
        }
    }

    /// Takes a second image that was read. A displayed image in grey becomes coloured over anatomy.
    pub fn receive_layer(&mut self) {
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
                self.notify_all(notices);
            }
            Some(Err(failure)) => self.handle_load_failure(failure, SeriesUse::SecondImage),
        }
    }

    /// Updates the numbers of the regions in the second image.
    pub fn measure_layer(&mut self) {
        let (placement, patience) = (self.placement().copied(), self.patience());
        if let Some(grid) = self.runs.active().grid_shown() {
            self.layer.measure(self.rois.masked(), grid, placement.as_ref(), patience, waker(&self.ctx));
        }
    }

    /// Sends the displayed image or the reference image to the graphics adapter, in parts; a large one is displayed after the last
    /// part.
    pub fn upload_image(&mut self, slot: VolumeSlot) {
        let (is_reference, view) = (slot == VolumeSlot::Second, &self.slices.view);
        let slices = self.run().grid_shown().and_then(|grid| view.slices_at(grid)).filter(|_| !is_reference);
        let is_drawn = !is_reference || view.beside != CompareMode::Off;
        let shown = if is_reference { self.runs.beside_mut() } else { &mut self.runs.active_mut().shown };
        let Some(state) = self.graphics.state.as_ref().filter(|_| is_drawn) else { return shown.display_at_once() };
        let (window, trace, mut failure) = (self.graphics.window, &self.options.trace, None);
        shown.upload(slices, |id, number, volume, on_device| {
            let size = volume.grid.size;
            let lent = window.zip(on_device).filter(|_| !is_reference);
            let is_on_device = lent.is_some_and(|(window, image)| slice_paint::show(state, window, slot, size, image));
            let upload = || slice_paint::upload_parts(state, (slot, number), size, volume.as_slice());
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
            self.ctx.request_repaint();
        }
        self.notify_all(failure);
    }

    /// Sends the second image to the graphics adapter, in parts.
    pub fn upload_layer(&mut self) {
        let Some(image) = self.layer.image.as_ref().filter(|_| self.graphics.uploaded_layer != Some(self.layer.generation))
        else {
            return;
        };
        let Some(state) = self.graphics.state.as_ref() else { return };
        let (number, size) = ((VolumeSlot::Layer, self.layer.generation), image.volume.grid.size);
        let uploaded = slice_paint::upload_parts(state, number, size, image.voxel_values());
        if uploaded == Ok(false) {
            return self.ctx.request_repaint();
        }
        self.graphics.uploaded_layer = Some(self.layer.generation);
        self.notify_all(uploaded.err().map(|error| Notice::error(error.to_string())));
    }

    /// Returns the second image, if it is drawn: a large one after its upload.
    pub fn drawn_layer(&self) -> Option<&SecondImage> {
        let is_uploaded = self.graphics.state.is_none() || self.graphics.uploaded_layer == Some(self.layer.generation);
        self.layer.image.as_ref().filter(|image| is_uploaded && image.is_drawn())
    }

    /// Returns the map of the run that hides the displayed image.
    pub fn hiding_map(&self) -> Option<RunMap> {
        self.drawn_layer().filter(|image| image.hides())?.map()
    }

    /// Returns the number of the radical whose image hides the displayed image.
    pub fn hiding_radical(&self) -> Option<usize> {
        if let Some(RunMap::Radical(index)) = self.hiding_map() { Some(index) } else { None }
    }

    /// Returns the position of an oblique displayed image in the world.
    pub fn placement(&self) -> Option<&Placement> {
        self.study.images().and_then(|open| open.series.placement.as_ref())
    }

    /// Returns the space of the displayed image; `None` before the first image.
    pub fn space(&self) -> Option<ImageSpace<'_>> {
        let names = self.study.images().map(|open| &open.series.names).filter(|names| **names != SeriesNames::default());
        Some(ImageSpace { grid: self.runs.active().grid_shown()?, placement: self.placement(), names })
    }

    /// Describes the value of the second image at a point of the displayed one.
    pub fn layer_text(&self, point: [f64; 3]) -> Option<String> {
        let image = self.drawn_layer()?;
        let value = image.value_at(self.placement(), point)?;
        if value.is_nan() {
            return Some(format!("{} not fitted", image.series.modality.name()));
        }
        Some(format!("{} {} {}", image.series.modality.name(), format::value(value), image.volume.unit.label()))
    }
}
