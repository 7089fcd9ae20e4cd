//! Total variation: minimises ½‖A u − s‖² + λ′ Σ|∇u| by the steps of [`Arrays`].
//!
//! A*A is a convolution, so that a step needs transforms of twice the image's size and nothing of the projections.

use std::sync::Arc;
use std::time::Instant;

use super::arrays::{Advance, Arrays, Problem};
use super::experiments::{check_experiments, named};
use super::explained::explained;
use super::kernels::TotalVariationKernels;
use super::known::{Known, Model};
use super::lattice::{Lattice, voxel_volume, weights};
use super::settings::{SPECTRAL_STRENGTH, TvImages, TvSettings};
use super::start::backprojected;
use super::strength::{strength_by_noise, strength_scale};
use crate::algebra::{BackendError, Image, PendingVolume, Voxels};
use crate::data::{Experiment, Projection, Radical, RoiMask, RoiSums, Sweep, Volume};
use crate::geometry::Grid;
use crate::operator::{Accumulation, OperatorError};
use crate::recon::fbp::{GradientSizes, check_projection, check_sweep};
use crate::recon::image_readout::ImageReadout;
use crate::recon::{
    Algorithm, AscentReport, AscentTuning, DataProblem, Explained, ObjectiveValue, ReconError, SettingsProblem, Stage,
    StageTimes, StepReport,
};
use crate::task::Task;

/// Smallest integral of A*s that it is scaled by, of the integral of |A*s|.
const MIN_INTEGRAL: f64 = 0.01;

/// Steps from one computation of the objective to the next.
const STEPS_TO_OBJECTIVE: usize = 10;

/// Projections that arrive wait for this many steps, or until they are a part of those in the image: to take them costs as much as many
/// steps.
const STEPS_TO_DATA: usize = 20;
/// That part.
const PART_OF_DATA: f64 = 0.1;

/// λ of projections whose noise is not known.
const DEFAULT_STRENGTH: f64 = 1.0;

/// Least λ′ that is found, of the largest |A*s|: with less of it the level of the image is hardly determined.
const MIN_STRENGTH: f64 = 1e-6;

/// λ that was found by the noise of some projections of the first acquisition.
#[derive(Clone, Copy)]
struct FoundStrength {
    strength: f64,
    num_projections: usize,
}

/// Total variation on any back end. An iteration is a step.
pub struct TotalVariation<B: TotalVariationKernels> {
    backend: B,
    grid: Grid,
    lattice: Lattice,
    settings: TvSettings,
    images: TvImages,
    mask: Option<B::Array<Image>>,
    /// The acquisition without its projections.
    sweep: Sweep,
    radicals: Vec<Radical>,
    /// Further acquisitions of the same object.
    experiments: Vec<Experiment>,
    /// Those that have arrived and are not in the image yet.
    waiting: Vec<Projection>,
    num_expected: Option<usize>,
    /// Projections of the first acquisition in the sums.
    taken: Vec<Projection>,
    known: Option<Known>,
    /// λ by the noise.
    found: Option<FoundStrength>,
    arrays: Option<Arrays<B>>,
    /// True if the arrays lack projections of the sums.
    are_old: bool,
    iteration: usize,
    /// Iteration before which projections were taken last.
    taken_at: usize,
    /// Relative change of the image by the last step, or the relative change of the total if that is larger.
    update: f64,
    /// Relative change of the total by a step, the mean over those from one move of the level to the next.
    level_update: f64,
    shown: ImageReadout<B, Voxels>,
    /// Shown before the first step.
    zeros: B::Array<Image>,
    /// Displayed amplitude of the spectrum in each voxel, and its iteration.
    amplitude: Option<(usize, B::Array<Image>)>,
}

impl<B: TotalVariationKernels> TotalVariation<B> {
    /// Ready for the first step with the projections that `sweep` has so far, for an image of each of these radicals; of none one image, with
    /// the sweep's own spectrum, or of pulses.
    ///
    /// # Errors
    /// Data or settings that do not suit, not enough memory on the device.
    pub fn new(
        mut backend: B,
        sweep: &Sweep,
        radicals: &[Radical],
        grid: &Grid,
        settings: TvSettings,
        images: TvImages,
    ) -> Result<Self, ReconError> {
        check_sweep(sweep, GradientSizes::Any)?;
        if let Some(strength) = settings.strength.filter(|strength| !(*strength > 0.0 && strength.is_finite())) {
            return Err(SettingsProblem::TvStrength(strength).into());
        }
        if let Some(spectrum) = settings.spectrum {
            if settings.is_positive {
                return Err(SettingsProblem::PositiveSpectra.into());
            }
            if !(spectrum.strength >= 0.0 && spectrum.strength.is_finite()) {
                return Err(SettingsProblem::SpectralStrength(spectrum.strength).into());
            }
        }
        let num_voxels = grid.num_voxels();
        if images.init.as_ref().is_some_and(|init| init.as_slice().iter().any(|value| !value.is_finite())) {
            return Err(SettingsProblem::TvStart.into());
        }
        let mask = images.mask.as_ref().map(|mask| mask_values(mask)).transpose()?;
        let mask = mask.map(|values| backend.upload(Arc::new(values))).transpose()?;
        // (An unusable spectrum is refused now, not after the first projections.)
        let num_images = Model::new(&sweep.without_projections(), radicals, grid, &settings)?.num_images();
        let spectral_weight = settings.spectrum.map_or(0.0, |spectrum| spectrum.strength as f32);
        let lattice = Lattice { size: grid.size, weights: weights(grid), num_images, spectral_weight };
        backend.check_field(&lattice)?;
        Ok(Self {
            zeros: backend.zeros(num_voxels)?,
            amplitude: None,
            shown: ImageReadout::new(Voxels::whole(grid.clone())),
            backend,
            grid: grid.clone(),
            lattice,
            settings,
            images,
            mask,
            sweep: sweep.without_projections(),
            radicals: radicals.to_vec(),
            experiments: Vec::new(),
            waiting: sweep.projections.clone(),
            num_expected: sweep.num_expected,
            taken: Vec::new(),
            known: None,
            found: None,
            arrays: None,
            are_old: false,
            iteration: 0,
            taken_at: 0,
            update: f64::INFINITY,
            level_update: 0.0,
        })
    }

    /// Returns the same with further acquisitions of the object, which the sums contain from the first step on.
    ///
    /// # Errors
    /// Experiments that do not suit the first acquisition, or a run with a spectrum in each voxel.
    pub fn with_experiments(self, experiments: &[Experiment]) -> Result<Self, ReconError> {
        if !experiments.is_empty() && self.settings.spectrum.is_some() {
            return Err(SettingsProblem::SpectraOfExperiments.into());
        }
        check_experiments(&self.sweep, &self.radicals, experiments)?;
        // (As for the first one: an unusable spectrum is refused now.)
        for experiment in experiments {
            let empty = experiment.sweep.without_projections();
            let model = Model::new(&empty, &experiment.radicals, &self.grid, &self.settings);
            model.map_err(|error| named(experiment, error))?;
        }
        Ok(Self { experiments: experiments.to_vec(), ..self })
    }

    /// Returns λ′/λ. Of spectra in each voxel, which have no h, it is max |A*s|/1000.
    fn strength_scale(&self, known: &Known) -> f64 {
        if self.settings.spectrum.is_some() {
            return 1e-3 * known.largest;
        }
        let further = self.experiments.iter().map(|experiment| {
            let sweep = &*experiment.sweep;
            (sweep, &experiment.radicals[..], sweep.num_complete())
        });
        strength_scale([(&self.sweep, &self.radicals[..], self.taken.len())].into_iter().chain(further), &self.grid)
    }

    /// Returns λ: the one of the settings, or the one that was found.
    fn strength(&self) -> f64 {
        let usual = if self.settings.spectrum.is_some() { SPECTRAL_STRENGTH } else { DEFAULT_STRENGTH };
        self.settings.strength.or(self.found.map(|found| found.strength)).unwrap_or(usual)
    }

    /// Finds λ by the noise, where the settings have none. While projections arrive, it is found again where their number has doubled, and
    /// with the last ones.
    fn find_strength(&mut self, known: &Known) -> Result<(), ReconError> {
        let num_projections = self.taken.len();
        let is_recent = self.found.is_some_and(|found| num_projections < 2 * found.num_projections);
        if !self.settings.is_by_noise() || (is_recent && !self.is_complete()) {
            return Ok(());
        }
        let first = self.first();
        let all: Vec<_> = acquisitions(&first, &self.radicals, &self.experiments).collect();
        let strength = strength_by_noise(&all, &self.grid)?.unwrap_or(DEFAULT_STRENGTH);
        let strength = strength.max(MIN_STRENGTH * known.largest / self.strength_scale(known));
        self.found = Some(FoundStrength { strength, num_projections });
        Ok(())
    }

    /// Returns the first acquisition with the projections in the sums.
    fn first(&self) -> Sweep {
        Sweep { projections: self.taken.clone(), ..self.sweep.clone() }
    }

    /// Returns true if the next step takes the projections that wait.
    fn takes_waiting(&self) -> bool {
        let num_waiting = self.waiting.len();
        let is_last = self.num_expected.is_some_and(|expected| self.taken.len() + num_waiting >= expected);
        let is_part = num_waiting as f64 >= PART_OF_DATA * self.taken.len() as f64;
        let are_late = self.iteration >= self.taken_at + STEPS_TO_DATA;
        num_waiting > 0 && (is_last || is_part || are_late || self.is_still())
    }

    /// Adds the projections that wait to the sums, and first those of the experiments.
    fn take_waiting(&mut self) -> Result<(), ReconError> {
        let projections = std::mem::take(&mut self.waiting);
        let block = Sweep { projections, ..self.sweep.clone() };
        let mut known = self.sums_of(&block, &self.radicals)?;
        match &mut self.known {
            None => {
                for experiment in &self.experiments {
                    known.add(&self.sums_of(&experiment.sweep, &experiment.radicals)?);
                }
                self.known = Some(known);
            }
            Some(sums) => sums.add(&known),
        }
        self.taken.extend(block.projections);
        Ok(())
    }

    /// Returns the sums over the projections of an acquisition.
    fn sums_of(&self, sweep: &Sweep, radicals: &[Radical]) -> Result<Known, ReconError> {
        let model = Model::new(sweep, radicals, &self.grid, &self.settings)?;
        Ok(Known::of(&model, sweep))
    }

    /// Makes or renews the arrays that depend on the projections. The image stays.
    fn renew_arrays(&mut self, known: &Known, task: &Task) -> Result<(), ReconError> {
        let coupling = known.coupling(&mut self.backend, self.grid.size)?;
        let sums = (coupling, self.backend.upload(single(&known.of_data))?);
        let finds_levels = self.finds_levels();
        let problem = Problem { lattice: self.lattice, mask: self.mask.as_ref(), settings: &self.settings, finds_levels };
        if let Some(arrays) = &mut self.arrays {
            return arrays.renew(&mut self.backend, &problem, sums, task);
        }
        let start = self.start(known, task);
        task.check().map_err(OperatorError::from)?;
        let mean = self.backend.upload(start)?;
        self.arrays = Some(Arrays::new(&mut self.backend, &problem, sums, mean, task)?);
        Ok(())
    }

    /// Returns the images that the first step begins with.
    fn start(&self, known: &Known, task: &Task) -> Arc<Vec<f32>> {
        match (self.settings.spectrum, &self.images.init) {
            (Some(_), _) => Arc::new(vec![0.0; self.lattice.num_images * self.grid.num_voxels()]),
            (None, Some(init)) if self.lattice.num_images == 1 => Arc::new(init.as_slice().to_vec()),
            _ => self.backprojected(task).map_or_else(
                || {
                    let of_radical = |values: &Vec<f64>| start_image(values, &self.grid, self.settings.is_positive);
                    single(&known.of_data.iter().map(of_radical).collect::<Vec<_>>())
                },
                Arc::new,
            ),
        }
    }

    /// Returns one image by filtered backprojection, from 0 on where asked for; `None` of several, of PyEPRI's iterates, and of projections that
    /// filtered backprojection does not take.
    fn backprojected(&self, task: &Task) -> Option<Vec<f32>> {
        let floor = if self.settings.is_positive { 0.0 } else { f32::NEG_INFINITY };
        let is_single = self.lattice.num_images == 1 && self.experiments.is_empty() && self.radicals.is_empty();
        if !is_single || self.settings.has_pyepri_iterates {
            return None;
        }
        let image = backprojected(&self.first(), &self.grid, task).ok()?;
        let is_finite = image.iter().all(|value| value.is_finite());
        is_finite.then(|| image.into_iter().map(|value| value.max(floor)).collect())
    }

    /// Returns true if the levels of the images move in separate steps: of derivatives, where they may have any sign.
    fn finds_levels(&self) -> bool {
        let TvSettings { is_positive, spectrum, has_pyepri_iterates, .. } = self.settings;
        self.sweep.is_continuous_wave() && spectrum.is_none() && !is_positive && !has_pyepri_iterates
    }

    /// Returns true if all projections that are expected are in the image.
    fn is_complete(&self) -> bool {
        self.waiting.is_empty() && self.num_expected.is_some_and(|expected| self.taken.len() >= expected)
    }

    fn is_still(&self) -> bool {
        self.update < self.settings.tolerance && self.arrays.as_ref().is_some_and(Arrays::has_begun)
    }

    /// Renews the peak-to-peak amplitude of the spectrum in each voxel, which is shown of it.
    fn renew_amplitude(&mut self) -> Result<(), BackendError> {
        let is_old = self.amplitude.as_ref().is_none_or(|(iteration, _)| *iteration != self.iteration);
        let Some(arrays) = self.arrays.as_ref().filter(|_| is_old && self.settings.spectrum.is_some()) else { return Ok(()) };
        let amplitudes = self.backend.amplitudes(arrays.coupling(), &arrays.mean, &self.lattice)?;
        self.amplitude = Some((self.iteration, amplitudes));
        Ok(())
    }

    /// Returns the images of all radicals, or of all samples of the spectra, `[image][z, y, x]`.
    ///
    /// # Errors
    /// Device failure.
    pub fn images(&mut self) -> Result<Vec<Vec<f32>>, ReconError> {
        let num_voxels = self.grid.num_voxels();
        let Some(arrays) = &self.arrays else { return Ok(vec![vec![0.0; num_voxels]; self.lattice.num_images]) };
        Ok(self.backend.read(&arrays.mean, |values| values.chunks_exact(num_voxels).map(<[f32]>::to_vec).collect())?)
    }
}

/// Returns all acquisitions with the spectra of their radicals.
fn acquisitions<'a>(
    first: &'a Sweep,
    radicals: &'a [Radical],
    experiments: &'a [Experiment],
) -> impl Iterator<Item = (&'a Sweep, &'a [Radical])> {
    let further = experiments.iter().map(|experiment| (&*experiment.sweep, &experiment.radicals[..]));
    [(first, radicals)].into_iter().chain(further)
}

/// Returns the array of the image that is shown.
fn shown<'a, B: TotalVariationKernels>(
    amplitude: &'a Option<(usize, B::Array<Image>)>,
    arrays: &'a Option<Arrays<B>>,
    zeros: &'a B::Array<Image>,
) -> &'a B::Array<Image> {
    match (amplitude, arrays) {
        (Some((_, amplitude)), _) => amplitude,
        (None, Some(arrays)) => &arrays.mean,
        (None, None) => zeros,
    }
}

/// Returns A*s with the integral 1, as PyEPRI begins; 0 if A*s has hardly an integral, as of a few derivatives.
fn start_image(of_data: &[f64], grid: &Grid, is_positive: bool) -> Vec<f64> {
    let [sum, sizes] = of_data.iter().fold([0.0; 2], |[sum, sizes], value| [sum + value, sizes + value.abs()]);
    let scale = if sum.abs() > MIN_INTEGRAL * sizes { 1.0 / (voxel_volume(grid) * sum) } else { 0.0 };
    of_data.iter().map(|value| if is_positive { (scale * value).max(0.0) } else { scale * value }).collect()
}

/// Returns images in a row, in single precision.
fn single(images: &[Vec<f64>]) -> Arc<Vec<f32>> {
    Arc::new(images.iter().flatten().map(|value| *value as f32).collect())
}

/// Returns 1 where a mask is positive, else 0.
fn mask_values(mask: &Volume) -> Result<Vec<f32>, SettingsProblem> {
    let values: Vec<f32> = mask.as_slice().iter().map(|value| if *value > 0.0 { 1.0 } else { 0.0 }).collect();
    if values.iter().any(|value| *value > 0.0) { Ok(values) } else { Err(SettingsProblem::EmptyMask) }
}

impl<B: TotalVariationKernels> Algorithm for TotalVariation<B> {
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        task.check().map_err(OperatorError::from)?;
        let mut stages = StageTimes::default();
        let start = Instant::now();
        if self.takes_waiting() {
            self.take_waiting()?;
            (self.are_old, self.taken_at) = (true, self.iteration);
        }
        if self.are_old {
            let known = self.known.take().ok_or(DataProblem::AllUsed)?;
            let renewed = self.renew_arrays(&known, task).and_then(|()| self.find_strength(&known));
            self.known = Some(known);
            renewed?;
            self.are_old = false;
            stages[Stage::Filter] = start.elapsed();
        }
        let known = self.known.as_ref().ok_or(DataProblem::AllUsed)?;
        let (strength, energy) = (self.strength() * self.strength_scale(known), known.energy);
        let start = Instant::now();
        let problem = Problem {
            lattice: self.lattice,
            mask: self.mask.as_ref(),
            settings: &self.settings,
            finds_levels: self.finds_levels(),
        };
        let arrays = self.arrays.as_mut().ok_or(DataProblem::AllUsed)?;
        let is_due = (self.iteration + 1).is_multiple_of(STEPS_TO_OBJECTIVE) || self.iteration == 0;
        let Advance { update, change_of_total, objective, step_size } =
            arrays.advance(&mut self.backend, &problem, strength, is_due)?;
        stages[Stage::Update] = start.elapsed();
        self.iteration += 1;
        if let Some(change) = change_of_total {
            self.level_update = change / STEPS_TO_OBJECTIVE as f64;
        }
        self.update = update.max(self.level_update);
        let objective = objective
            .map(|[misfit, variation]| ObjectiveValue { log_likelihood: -(misfit + energy), penalty: strength * variation });
        let tuning = AscentTuning { strength: self.strength(), gamma: 0.0, step_factor: 1.0 };
        Ok(StepReport {
            iteration: self.iteration,
            subiteration: self.iteration,
            subset: 0,
            completes_iteration: self.iteration.is_multiple_of(STEPS_TO_OBJECTIVE) || self.is_still(),
            num_events: None,
            stages,
            em: None,
            ascent: Some(AscentReport { objective, optimality: None, step_size, num_halved: 0, update: self.update, tuning }),
        })
    }

    fn num_subsets(&self) -> usize {
        1
    }

    fn append(&mut self, projections: Vec<Projection>, is_last: bool) -> Result<(), ReconError> {
        let first = self.taken.len() + self.waiting.len();
        for (k, projection) in projections.iter().enumerate() {
            check_projection(projection, first + k, (self.sweep.num_points, self.sweep.space), GradientSizes::Any)?;
        }
        self.waiting.extend(projections);
        if is_last {
            self.num_expected = Some(self.taken.len() + self.waiting.len());
        }
        Ok(())
    }

    /// Without projections there is no image, and a converged one changes with the next projections only.
    fn is_waiting(&self) -> bool {
        self.waiting.is_empty() && (self.known.is_none() || (self.is_still() && !self.is_complete()))
    }

    fn converged(&self) -> Option<String> {
        (self.is_still() && self.is_complete()).then(|| {
            let (update, tolerance) = (self.update, self.settings.tolerance);
            format!("the last step changed the image by {update:.1e} of its norm or total, less than {tolerance:.0e}")
        })
    }

    fn unconverged(&self) -> Option<String> {
        self.settings.unconverged(self.update)
    }

    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
        self.renew_amplitude()?;
        let image = shown(&self.amplitude, &self.arrays, &self.zeros);
        Ok(self.shown.volume_into(&mut self.backend, image, 1.0, volume)?)
    }

    fn begin_volume(&mut self) -> Result<Option<PendingVolume>, ReconError> {
        self.renew_amplitude()?;
        let image = shown(&self.amplitude, &self.arrays, &self.zeros);
        Ok(self.shown.begin_volume(&mut self.backend, image, 1.0)?)
    }

    fn explained(&mut self, _task: &Task) -> Result<Option<Explained>, ReconError> {
        let images = self.images()?;
        let images: Vec<Vec<f64>> = images.iter().map(|image| image.iter().map(|value| f64::from(*value)).collect()).collect();
        let first = self.first();
        explained(
            &images,
            acquisitions(&first, &self.radicals, &self.experiments),
            &self.grid,
            &self.settings,
            self.mask.is_some(),
        )
    }

    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError> {
        Ok(self.shown.set_rois(&mut self.backend, masks)?)
    }

    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
        self.renew_amplitude()?;
        let image = shown(&self.amplitude, &self.arrays, &self.zeros);
        Ok(self.shown.roi_sums(&mut self.backend, image)?)
    }

    fn num_images(&self) -> usize {
        self.lattice.num_images
    }

    /// One read of the device has all images.
    fn images_into(&mut self, volumes: &mut [Volume]) -> Result<(), ReconError> {
        let num_voxels = self.grid.num_voxels();
        let Some(arrays) = &self.arrays else { return Ok(()) };
        let copy = |values: &[f32]| {
            let images = volumes.iter_mut().zip(values.chunks_exact(num_voxels));
            images.for_each(|(volume, image)| volume.as_mut_slice().copy_from_slice(image));
        };
        Ok(self.backend.read(&arrays.mean, copy)?)
    }

    /// Nothing is added by several threads.
    fn set_accumulation(&mut self, _: Accumulation) {}

    fn accumulations(&self) -> &'static [Accumulation] {
        &[]
    }

    fn tuning(&self) -> Option<AscentTuning> {
        let is_known = self.found.is_some() || !self.settings.is_by_noise();
        is_known.then(|| AscentTuning { strength: self.strength(), gamma: 0.0, step_factor: 1.0 })
    }

    /// A new λ; the image stays.
    fn set_tuning(&mut self, tuning: AscentTuning) {
        if tuning.strength > 0.0 && tuning.strength.is_finite() {
            self.settings.strength = Some(tuning.strength);
            self.update = f64::INFINITY;
            if let Some(arrays) = &mut self.arrays {
                arrays.begin();
            }
        }
    }
}
