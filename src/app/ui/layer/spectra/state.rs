//! The newest spectra of the active run, and the lines that a background thread fits to them.
//!
//! Spectra are many times the size of an image. The window requests them only while they are displayed: the next ones after those before
//! were fitted, and with a pause that leaves the processor to the run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::regions::RegionLines;
use super::voxel_spectra::Spectra;
use crate::data::{FieldAxis, MaskedRois, RunId, Volume};
use crate::measure::spectrum::{LineFitter, LineMaps, SpectrumError, line_maps};
use crate::task::{BackgroundTask, Task};
use crate::ui::layer::line_map::{LineImages, LineSettings};

/// Pauses between the fits of a run that computes: this many times the duration of a fit, and at least this time.
const PAUSE_FACTOR: u32 = 3;
const MIN_PAUSE: Duration = Duration::from_millis(200);

/// Fits of the lines of spectra.
struct Fits {
    /// Total number of steps of the iterate.
    steps: usize,
    settings: LineSettings,
    /// Maps, or the reason why there are none.
    images: Result<LineImages, String>,
}

/// Fits under way.
struct Fitting {
    begun: Instant,
    steps: usize,
    settings: LineSettings,
    task: BackgroundTask<Result<LineImages, SpectrumError>>,
}

/// Next request of spectra.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    None,
    Now,
    /// After a pause.
    After(Duration),
}

/// Spectra of the active run and their lines.
#[derive(Default)]
pub struct SpectraState {
    settings: LineSettings,
    run: RunId,
    /// Fields of the spectra of the run; `None` = it has none.
    axis: Option<FieldAxis>,
    /// True from a request to its answer.
    is_requested: bool,
    newest: Option<Arc<Spectra>>,
    fits: Option<Fits>,
    fitting: Option<Fitting>,
    /// End of the pause after the last fits.
    paused_until: Option<Instant>,
    regions: RegionLines,
}

impl SpectraState {
    /// Takes the number of the active run. Spectra of another run are discarded; the settings of the lines stay.
    pub fn begin_run(&mut self, run: RunId) {
        if run != self.run {
            *self = Self { settings: self.settings, run, axis: self.axis, ..Self::default() };
        }
    }

    /// Takes the fields of the spectra of the active run after its set-up. Returns true if there were none before.
    pub fn set_axis(&mut self, axis: Option<FieldAxis>) -> bool {
        std::mem::replace(&mut self.axis, axis).is_none() && axis.is_some()
    }

    /// Returns true if the run has spectra; during its set-up, if the run before had some.
    pub fn has_spectra(&self) -> bool {
        self.axis.is_some()
    }

    /// Forgets spectra, maps and settings.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn settings(&self) -> LineSettings {
        self.settings
    }

    /// Takes other settings of the lines, which [`SpectraState::follow`] fits.
    pub fn set_settings(&mut self, settings: LineSettings) {
        self.settings = settings;
    }

    pub fn newest(&self) -> Option<&Spectra> {
        self.newest.as_deref()
    }

    /// Returns the maps of the newest lines.
    pub fn images(&self) -> Option<&LineImages> {
        self.fits.as_ref()?.images.as_ref().ok()
    }

    /// Returns the settings and the total number of steps of the newest lines.
    pub fn fitted(&self) -> Option<(LineSettings, usize)> {
        self.fits.as_ref().map(|fits| (fits.settings, fits.steps))
    }

    /// Returns the reason why the newest spectra have no lines.
    pub fn failure(&self) -> Option<&str> {
        self.fits.as_ref()?.images.as_ref().err().map(String::as_str)
    }

    /// Measures the lines of the regions, and the spectrum of the selected one.
    pub fn measure(&mut self, rois: &MaskedRois, selected: Option<usize>) {
        let fits = self.fits.as_ref().and_then(|fits| Some((&fits.images.as_ref().ok()?.fits, fits.settings.calibration)));
        self.regions.update(fits, rois);
        self.regions.select(self.newest.as_ref(), self.settings, rois, selected);
    }

    /// Returns the lines of the regions as they were measured last.
    pub fn regions(&self) -> &RegionLines {
        &self.regions
    }

    pub fn is_fitting(&self) -> bool {
        self.fitting.is_some()
    }

    /// Takes images that were requested, of the iterate after this number of steps. Others than a sample each are discarded.
    pub fn receive(&mut self, samples: Vec<Arc<Volume>>, steps: usize) {
        self.is_requested = false;
        if let Some(axis) = self.axis.filter(|axis| axis.num_samples == samples.len() && steps > 0) {
            self.newest = Some(Arc::new(Spectra { axis, samples, steps }));
        }
    }

    /// Takes finished fits, and begins those of newer spectra or of other settings; calls `wake` at their end.
    pub fn follow(&mut self, wake: impl FnOnce() + Send + 'static) {
        if let Some(outcome) = self.fitting.as_ref().and_then(|fitting| fitting.task.poll())
            && let Some(Fitting { begun, steps, settings, .. }) = self.fitting.take()
        {
            let images = match outcome {
                Ok(images) => images.map_err(|error| error.to_string()),
                Err(failure) => Err(failure.to_string()),
            };
            self.fits = Some(Fits { steps, settings, images });
            self.paused_until = Some(Instant::now() + (PAUSE_FACTOR * begun.elapsed()).max(MIN_PAUSE));
        }
        let Some(spectra) = &self.newest else { return };
        let wanted = (self.settings, spectra.steps);
        let under_way = self.fitting.as_ref().map(|fitting| (fitting.settings, fitting.steps));
        if under_way.or(self.fitted()) == Some(wanted) {
            return;
        }
        // Another calibration needs no other fits.
        let same = |fits: &&Fits| {
            let is_same = |of: LineSettings| (of.line, of.mask_fraction) == (self.settings.line, self.settings.mask_fraction);
            fits.steps == spectra.steps && is_same(fits.settings)
        };
        let known =
            self.fits.as_ref().filter(same).and_then(|fits| fits.images.as_ref().ok()).map(|images| Arc::clone(&images.fits));
        let (spectra, settings) = (Arc::clone(spectra), self.settings);
        let steps = spectra.steps;
        let work = move |task: &Task| lines(&spectra, known, &settings, task);
        self.fitting = Some(Fitting { begun: Instant::now(), steps, settings, task: BackgroundTask::start("lines", wake, work) });
    }

    /// Returns the next request of spectra, where the newest iterate of the run has this number of steps. [`Next::Now`] counts as sent.
    pub fn next(&mut self, steps: usize, is_running: bool) -> Next {
        let is_new = steps > 0 && self.newest.as_ref().is_none_or(|newest| newest.steps != steps);
        if !self.has_spectra() || !is_new || self.is_requested || self.is_fitting() {
            return Next::None;
        }
        let pause = self.paused_until.filter(|_| is_running).map(|until| until.saturating_duration_since(Instant::now()));
        match pause.filter(|pause| !pause.is_zero()) {
            Some(pause) => Next::After(pause),
            None => {
                self.is_requested = true;
                Next::Now
            }
        }
    }
}

/// Fits lines unless they are known, and makes their maps.
fn lines(
    spectra: &Spectra,
    known: Option<Arc<LineMaps>>,
    settings: &LineSettings,
    task: &Task,
) -> Result<LineImages, SpectrumError> {
    let fits = match known {
        Some(fits) => fits,
        None => {
            let fitter = LineFitter::new(settings.line, spectra.axis);
            Arc::new(line_maps(&spectra.samples, spectra.axis, &fitter, settings.mask_fraction, task)?)
        }
    };
    Ok(LineImages::new(fits, settings.calibration))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Unit, lorentzian_derivative};
    use crate::geometry::Grid;
    use crate::io::oxygen::find;
    use crate::measure::spectrum::Line;

    fn axis() -> FieldAxis {
        FieldAxis { first_mt: -1.0, step_mt: 0.1, num_samples: 20 }
    }

    /// A sample of lines of these widths, one voxel each.
    fn samples(widths_mt: [f64; 2]) -> Vec<Arc<Volume>> {
        let grid = Grid::centred([2, 1, 1], [1.0; 3]).unwrap();
        let values = |sample: usize| widths_mt.map(|width| lorentzian_derivative(axis().field_mt(sample), width) as f32).to_vec();
        (0..20).map(|sample| Arc::new(Volume::from_vec(grid.clone(), values(sample), Unit::Arbitrary).unwrap())).collect()
    }

    fn fit(state: &mut SpectraState) {
        state.follow(|| ());
        while state.is_fitting() {
            std::thread::sleep(Duration::from_millis(1));
            state.follow(|| ());
        }
    }

    fn widths(state: &SpectraState) -> Vec<f32> {
        state.images().unwrap().width.as_slice().to_vec()
    }

    #[test]
    fn spectra_are_requested_one_at_a_time_and_fitted() {
        let mut state = SpectraState::default();
        state.begin_run(1);
        assert_eq!(state.next(10, true), Next::None);
        assert!(state.set_axis(Some(axis())) && !state.set_axis(Some(axis())));
        assert_eq!([state.next(0, true), state.next(10, true), state.next(20, true)], [Next::None, Next::Now, Next::None]);
        state.receive(samples([0.3, 0.4]), 12);
        fit(&mut state);
        assert!((widths(&state)[0] - 0.3).abs() < 1e-4 && (widths(&state)[1] - 0.4).abs() < 1e-4);
        assert_eq!(state.next(12, true), Next::None);
        // The run has time between two fits, and none to wait for at its end.
        assert!(matches!(state.next(20, true), Next::After(_)));
        assert_eq!(state.next(20, false), Next::Now);
        // Images of something else.
        state.receive(samples([0.3, 0.4])[..1].to_vec(), 20);
        assert_eq!(state.newest().unwrap().steps, 12);
        assert_eq!(state.newest().unwrap().at(1)[3], [axis().field_mt(3), f64::from(lorentzian_derivative(-0.7, 0.4) as f32)]);
        assert!(state.newest().unwrap().at(2).is_empty());
    }

    #[test]
    fn other_settings_fit_again_and_a_calibration_alone_does_not() {
        let mut state = SpectraState::default();
        state.begin_run(1);
        state.set_axis(Some(axis()));
        state.receive(samples([0.3, 0.8]), 12);
        fit(&mut state);
        assert!(widths(&state)[1].is_nan(), "the wide line is below the mask");
        let settings = LineSettings { mask_fraction: 0.05, ..state.settings() };
        state.set_settings(settings);
        fit(&mut state);
        assert!((widths(&state)[1] - 0.8).abs() < 1e-4 && state.images().unwrap().po2.is_none());
        let fits = Arc::clone(&state.images().unwrap().fits);
        let calibration = find("eprit-llw");
        state.set_settings(LineSettings { calibration, ..settings });
        fit(&mut state);
        let images = state.images().unwrap();
        assert!(Arc::ptr_eq(&images.fits, &fits));
        let po2 = images.po2.as_ref().unwrap().as_slice()[0];
        assert!((f64::from(po2) - images.fits.line(0).unwrap().po2_torr(calibration.unwrap())).abs() < 0.1);
        state.set_settings(LineSettings { line: Line::Voigt, ..settings });
        fit(&mut state);
        assert!(state.images().unwrap().fits.line(0).unwrap().gaussian_mt.is_some());
        // Of another run nothing stays but the settings.
        state.begin_run(2);
        assert!(state.newest().is_none() && state.images().is_none() && state.has_spectra());
        assert_eq!(state.settings().line, Line::Voigt);
        // Spectra that are all 0 have no lines.
        let flat = Arc::new(Volume::filled(Grid::centred([2, 1, 1], [1.0; 3]).unwrap(), 0.0));
        let flat: Vec<_> = (0..20).map(|_| Arc::clone(&flat)).collect();
        state.receive(flat, 1);
        fit(&mut state);
        assert!(state.failure().is_some() && state.images().is_none());
    }
}
