//! State of the second image.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::line_map::LineMap;
use super::oxygen_map::OxygenMap;
use super::run_map::RunMap;
use super::second_image::{Display, LayerOrder, Registration, SavedLayer, SecondImage, SecondKind, file_name};
use crate::data::{
    AttenuationMap, CompactValues, CompactVolume, ImageChoice, ImageSeries, MaskedRois, Notice, Placement, RunId, SeriesNames,
    Volume,
};
use crate::geometry::Grid;
use crate::io::IoError;
use crate::task::BackgroundTask;
use crate::ui::rois::second_numbers::SecondNumbers;
use crate::ui::study::loader::LoadFailure;
use crate::ui::widgets::background_value::BackgroundValue;

type Read = Result<(ImageSeries, CompactVolume, Vec<Notice>), LoadFailure>;

/// Run, number of steps, and width of the filter in mm as bits.
type DeviationKey = (RunId, usize, Option<u64>);

/// Number of the second image and its registration; regions; grid and position of the displayed image.
type NumbersKey = (u64, Registration, MaskedRois, Grid, Option<Placement>);

/// Second image that is being read.
struct Loading {
    path: PathBuf,
    /// State in the session that is being restored.
    saved: Option<SavedLayer>,
    task: BackgroundTask<Read>,
}

/// Second image, or the one that is being read.
#[derive(Default)]
pub struct LayerState {
    pub image: Option<SecondImage>,
    /// Number of second images so far.
    pub generation: u64,
    /// Numbers of the regions in it; without values while they are computed.
    pub numbers: Option<SecondNumbers>,
    measured: BackgroundValue<NumbersKey, Vec<Option<[f64; 2]>>>,
    loading: Option<Loading>,
    /// True if the standard deviations of the displayed image are the second one, or will be.
    pub shows_deviation: bool,
    /// The newest of them that were requested.
    requested_deviation: Option<DeviationKey>,
    /// Chosen map of a study of pulse oximetry.
    pub oxygen: OxygenMap,
    /// Chosen map of a run with spectra.
    pub line: LineMap,
    /// Number of the chosen radical of a run with several; 0 = the displayed image.
    pub radical: usize,
    /// Opacity of a radical that was not shown before.
    radical_opacity: f32,
    /// Run whose images of all radicals were requested and have not arrived.
    requested_radicals: Option<RunId>,
    /// Display of each map of a run that was shown before.
    map_displays: Vec<(RunMap, Display)>,
}

/// Reads images and their notices: [`read_images`](crate::io::read_images) or, over an EPRI study,
/// [`read_epri_images`](crate::io::read_epri_images).
pub type ReadSeries = fn(&Path, ImageChoice) -> Result<(ImageSeries, Vec<Notice>), IoError>;

impl LayerState {
    /// Starts reading the first image of a file or a series with this reader; calls `wake` at its end.
    pub fn start(&mut self, path: &Path, read: ReadSeries, wake: impl FnOnce() + Send + 'static) {
        (self.shows_deviation, self.requested_deviation) = (false, None);
        self.show_no_map();
        let of = path.to_owned();
        let read = move |_: &_| {
            let (mut series, notices) = read(&of, ImageChoice::Number(1))?;
            let image = series.images.drain(..).next().ok_or("the file contains no image")?;
            Ok((series, CompactVolume::new(image.volume), notices))
        };
        let task = BackgroundTask::start("second image", wake, read);
        self.loading = Some(Loading { path: path.to_owned(), saved: None, task });
    }

    /// Takes the attenuation map of a study, as it was drawn in a session or before.
    pub fn show_attenuation(&mut self, map: &AttenuationMap, saved: Option<SavedLayer>) {
        self.clear();
        let image = self.image.insert(SecondImage::of_attenuation(map));
        saved.into_iter().for_each(|saved| image.restore(saved));
        self.generation += 1;
    }

    /// Returns true if the standard deviations of this image are wanted and were not requested yet.
    pub fn requests_deviation(&mut self, key: DeviationKey) -> bool {
        self.shows_deviation && self.requested_deviation.replace(key) != Some(key)
    }

    /// Takes standard deviations of the displayed image. Display and registration stay; a window that was not changed follows them.
    pub fn show_deviation(&mut self, volume: Arc<Volume>) {
        let mut image = SecondImage::of_deviation(volume);
        if let Some(before) = self.image.take().filter(|before| before.kind == SecondKind::Deviation) {
            let is_changed = before.display.colouring.window != [0.0, before.volume.range[1].max(f32::MIN_POSITIVE)];
            let window = if is_changed { before.display.colouring.window } else { image.display.colouring.window };
            (image.display, image.registration, image.undo) = (before.display, before.registration, before.undo);
            image.display.colouring.window = window;
        }
        self.image = Some(image);
        self.generation += 1;
    }

    /// Shows a map of the displayed run over its image, by its name; without one none. A second image of another kind stays.
    pub fn follow_map(&mut self, wanted: Option<(RunMap, &str, &Arc<Volume>)>) {
        if self.loading.is_some() || self.image.as_ref().is_some_and(|image| image.map().is_none()) {
            return;
        }
        let is_shown = |image: &SecondImage| match (image.volume.values(), wanted) {
            (CompactValues::Float(shown), Some((map, _, volume))) => image.map() == Some(map) && Arc::ptr_eq(shown, volume),
            _ => false,
        };
        if self.image.as_ref().map_or(wanted.is_none(), is_shown) {
            return;
        }
        if let Some((map, before)) = self.image.take().and_then(|image| Some((image.map()?, image.display))) {
            self.map_displays.retain(|(of, _)| *of != map);
            self.map_displays.push((map, before));
        }
        self.image = wanted.map(|(map, name, volume)| {
            let mut image = SecondImage::of_map(map, name, Arc::clone(volume));
            if let RunMap::Radical(_) = map {
                image.display.opacity = self.radical_opacity;
            }
            if let Some((_, before)) = self.map_displays.iter().find(|(of, _)| *of == map) {
                let automatic = std::mem::replace(&mut image.display, before.clone()).colouring.window;
                let colouring = &mut image.display.colouring;
                colouring.window = if colouring.auto_window { automatic } else { colouring.window };
            }
            image
        });
        self.generation += 1;
    }

    /// Chooses a map of the run, in place of another second image.
    pub fn show_map(&mut self, map: RunMap) {
        if self.image.as_ref().is_some_and(|image| image.map().is_none()) {
            self.clear();
        }
        self.cancel();
        match map {
            RunMap::Oxygen(map) => self.oxygen = map,
            RunMap::Line(map) => self.line = map,
            RunMap::Radical(index) => self.radical = index,
        }
    }

    /// Shows the image of a run alone from now on.
    pub fn show_no_map(&mut self) {
        (self.oxygen, self.line, self.radical) = (OxygenMap::Signal, LineMap::Signal, 0);
    }

    /// Chooses the radical that is shown, and its opacity over the image of the first.
    pub fn show_radical(&mut self, index: usize, opacity: f32) {
        let map = RunMap::Radical(index);
        self.show_map(map);
        self.radical_opacity = opacity;
        let shown = self.image.iter_mut().filter(|image| image.map() == Some(map)).map(|image| &mut image.display);
        let before = self.map_displays.iter_mut().filter(|(of, _)| *of == map).map(|(_, display)| display);
        shown.chain(before).for_each(|display| (display.order, display.opacity) = (LayerOrder::Above, opacity));
    }

    /// Returns true if the images of all radicals of a run are wanted, and none are on their way.
    pub fn requests_radicals(&mut self, run: RunId) -> bool {
        self.radical > 0 && self.requested_radicals.replace(run) != Some(run)
    }

    /// Ends the wait for images of radicals.
    pub fn received_radicals(&mut self) {
        self.requested_radicals = None;
    }

    /// Takes another display of the second image. A changed window no longer follows the image.
    pub fn set_display(&mut self, display: Display) {
        if let Some(image) = &mut self.image {
            let is_automatic = display.colouring.auto_window && display.colouring.window == image.display.colouring.window;
            image.display = display;
            image.display.colouring.auto_window = is_automatic;
        }
    }

    /// Returns the display of the attenuation map, if it is the second image.
    pub fn shown_attenuation(&self) -> Option<SavedLayer> {
        self.image.as_ref().filter(|image| image.kind == SecondKind::Attenuation).map(SecondImage::saved)
    }

    /// Starts reading the second image of a session.
    pub fn restore(&mut self, saved: SavedLayer, read: ReadSeries, wake: impl FnOnce() + Send + 'static) {
        self.start(&saved.path, read, wake);
        self.loading.iter_mut().for_each(|loading| loading.saved = Some(saved.clone()));
    }

    /// Returns true if the second image of a session is being read.
    pub fn is_restoring(&self) -> bool {
        self.loading.as_ref().is_some_and(|loading| loading.saved.is_some())
    }

    pub fn saved(&self) -> Option<SavedLayer> {
        let coming = || self.loading.as_ref()?.saved.clone();
        self.image.as_ref().filter(|image| !image.is_of_run()).map(SecondImage::saved).or_else(coming)
    }

    /// Updates the numbers of the regions, in the background after a change: numbers of another image are never shown. Waits no
    /// longer than `patience`, and calls `wake` when later ones are ready.
    pub fn measure(
        &mut self,
        rois: &MaskedRois,
        grid: &Grid,
        placement: Option<&Placement>,
        patience: Duration,
        wake: impl FnOnce() + Send + 'static,
    ) {
        let Some(image) = self.image.as_ref().filter(|image| image.is_drawn()) else {
            self.numbers = None;
            return;
        };
        let key = (self.generation, image.registration, rois.clone(), grid.clone(), placement.copied());
        let (of, (.., rois, on, at)) = (image.clone(), key.clone());
        let compute = move || rois.masks(&on).iter().map(|mask| of.mean_and_sd(&on, at.as_ref(), mask)).collect();
        self.measured.update("second image", key.clone(), patience, wake, compute);
        let means = self.measured.newest().filter(|(of, _)| **of == key).map_or_else(Vec::new, |(_, means)| means.clone());
        let (name, unit) = (image.series.modality.name().to_owned(), image.volume.unit.label());
        self.numbers = Some(SecondNumbers { name, unit, means });
    }

    /// Returns the name of the file that is being read.
    pub fn loading(&self) -> Option<String> {
        self.loading.as_ref().map(|loading| file_name(&loading.path))
    }

    /// Gives up reading.
    pub fn cancel(&mut self) {
        self.loading = None;
    }

    /// Shows the standard deviations of the displayed image between the replicates of its run.
    pub fn follow_deviation(&mut self) {
        self.clear();
        self.shows_deviation = true;
    }

    pub fn clear(&mut self) {
        *self = Self { generation: self.generation, ..Self::default() };
    }

    /// Takes the image that was read; `names` are those of the displayed image. Returns notices, or the error.
    pub fn receive(&mut self, names: Option<&SeriesNames>) -> Option<Result<Vec<Notice>, LoadFailure>> {
        let outcome = self.loading.as_ref()?.task.poll()?;
        let Loading { path, saved, .. } = self.loading.take()?;
        let is_of_session = saved.is_some();
        let outcome = outcome.unwrap_or_else(|failure| Err(failure.to_string().into())).map(|(series, volume, notices)| {
            let image = self.image.insert(SecondImage::new(&path, series, volume, names));
            saved.into_iter().for_each(|saved| image.restore(saved));
            self.generation += 1;
            notices
        });
        Some(outcome.map_err(|failure| match failure {
            LoadFailure::Text(text) if is_of_session => format!("the second image of the session is not shown: {text}").into(),
            failure => failure,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Roi, RoiShape};

    #[test]
    fn numbers_are_those_of_the_second_image_that_is_shown() {
        let grid = Grid::centred([6; 3], [2.0; 3]).unwrap();
        let image = |value: f32| Arc::new(Volume::filled(grid.clone(), value));
        let ball = |x_mm: f64| vec![Roi::new("ball", RoiShape::Sphere { radius_mm: 3.0 }, [x_mm, 0.0, 0.0])].into();
        let mut layer = LayerState::default();
        let mut mean = |volume: Option<Arc<Volume>>, rois: &MaskedRois| {
            volume.into_iter().for_each(|volume| layer.show_deviation(volume));
            let [early, later] = [Duration::ZERO, Duration::from_millis(5)].map(|patience| {
                layer.measure(rois, &grid, None, patience, || {});
                layer.numbers.as_ref().unwrap().means.first().map(|mean| mean.unwrap()[0])
            });
            let mut last = later;
            while last.is_none() {
                std::thread::sleep(Duration::from_millis(1));
                layer.measure(rois, &grid, None, Duration::ZERO, || {});
                last = layer.numbers.as_ref().unwrap().means.first().map(|mean| mean.unwrap()[0]);
            }
            ([early, later], last.unwrap())
        };
        for (volume, x_mm, expected) in [(Some(image(3.0)), 0.0, 3.0), (Some(image(5.0)), 0.0, 5.0), (None, 1.0, 5.0)] {
            let (before, last) = mean(volume, &ball(x_mm));
            assert_eq!(last, expected);
            assert!(before.into_iter().flatten().all(|mean| mean == expected), "{before:?}");
        }
        layer.clear();
        layer.measure(&ball(0.0), &grid, None, Duration::ZERO, || {});
        assert_eq!(layer.numbers, None);
    }
}
