//! Settings and an EPRI sweep become a reconstruction with total variation on a device.

use std::sync::Arc;

use super::prepared::Prepared;
use crate::data::{Notice, Sweep, Volume};
use crate::geometry::Grid;
use crate::operator::{Accumulation, NonuniformTransform, SpectralConvolution, kernel_size, num_spectral_frequencies};
use crate::plan::algorithms::total_variation::tv_settings;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::memory::{DeviceMemory, Forecast, FreeMemory, MemoryNeeds, NUM_FRAMES, check_image};
use crate::plan::error::SetupError;
use crate::plan::job::Job;
use crate::plan::job::acquisition::Acquisition;
use crate::plan::job::settings::RunSettings;
use crate::plan::platform::Platform;
use crate::plan::platform::open::choose_device;
use crate::plan::problem::SetupProblem;
use crate::recon::{
    DataProblem, ReconError, SettingsProblem, SpectrumSettings, SweepModel, TvImages, check_experiments, num_axes,
};

/// Similarity of two spectra that is reported.
const MAX_SIMILARITY: f64 = 0.99;

/// Name of its operator, for people.
const OPERATOR: &str = "frequencies";

/// Makes the algorithm for the projections that the acquisition has so far.
pub(super) fn prepare_on(device: DeviceChoice, job: &Job, acquisition: &Acquisition) -> Result<Prepared, SetupError> {
    let settings = &job.settings;
    check(acquisition, settings)?;
    let (mut platform, mut notices) = choose_device(device)?;
    let sweep = acquisition.snapshot();
    let needs = needs_of(&*platform, settings)?;
    needs.check()?;
    let images = TvImages { init: settings.inputs.init.clone(), mask: settings.inputs.mask.clone() };
    let names = text_of(&*platform);
    let (radicals, experiments, tv) =
        (&settings.inputs.radicals, &settings.inputs.experiments, tv_settings(&settings.parameters));
    let algorithm = platform.total_variation(&sweep, radicals, experiments, &settings.grid, tv, images)?;
    let prepared = Prepared::new(job, algorithm, names, Accumulation::Deterministic, &needs, None);
    let extent_mm = experiments.iter().map(|experiment| experiment.sweep.extent_mm()).fold(sweep.extent_mm(), f64::min);
    notices.extend(folded(&settings.grid, extent_mm, settings.inputs.mask.is_some()));
    notices.extend(inseparable(&sweep, settings)?);
    Ok(Prepared { notices, num_taken: sweep.num_complete(), ..prepared })
}

/// Returns the memory forecast of a run, after the end of a run that uses `given_back`.
pub(super) fn forecast_on(
    device: DeviceChoice,
    acquisition: &Acquisition,
    settings: &RunSettings,
    given_back: &[DeviceMemory],
) -> Result<Forecast, SetupError> {
    check(acquisition, settings)?;
    let (platform, _) = choose_device(device)?;
    let needs = needs_of(&*platform, settings)?.with_given_back(given_back);
    needs.check()?;
    Ok(Forecast::of(&needs, text_of(&*platform)))
}

/// Warns of radicals whose spectra differ by a factor only: their images are the halves of one. A notice reports gradients of one size: at a
/// frequency along a direction, there is then one equation for the transforms of all radicals. (Of several acquisitions, other factors in
/// each of them separate such radicals.)
fn inseparable(sweep: &Sweep, settings: &RunSettings) -> Result<Option<Notice>, ReconError> {
    if settings.inputs.radicals.is_empty() || !settings.inputs.experiments.is_empty() {
        return Ok(None);
    }
    let tolerance = tv_settings(&settings.parameters).transform_tolerance;
    let model = SweepModel::new(&sweep.without_projections(), &settings.inputs.radicals, &settings.grid, tolerance)?;
    let text = |([m, j], similarity): ([usize; 2], f64)| {
        let names = [m, j].map(|radical| &settings.inputs.radicals[radical].name);
        if similarity <= MAX_SIMILARITY {
            return Notice::info(format!(
                "the gradients have one size: only the edges of their images (total variation) separate {} from {}. A second size, or a further \
                 acquisition with other settings (--experiment), separates their spectra",
                names[0], names[1]
            ));
        }
        Notice::warning(format!(
            "the spectra of {} and {} are equal to {:.2} %: they do not separate these radicals. Check the files",
            names[0],
            names[1],
            100.0 * similarity
        ))
    };
    let is_doubtful = |similarity: f64| similarity > MAX_SIMILARITY || sweep.num_gradient_sizes() == 1;
    Ok(model.most_similar().filter(|(_, similarity)| is_doubtful(*similarity)).map(text))
}

/// Returns the largest width of an image beyond the extent of the projections, mm, which a sampled object does not need.
pub(super) fn width_beyond(grid: &Grid, extent_mm: f64) -> Option<f64> {
    let widths = (0..3).filter(|axis| grid.size[*axis] > 1).map(|axis| grid.size[axis] as f64 * grid.voxel_mm[axis]);
    Some(widths.fold(0.0, f64::max)).filter(|widest_mm| *widest_mm > 1.001 * extent_mm)
}

/// Warns of an image beyond the samples of the projections, which the model continues periodically.
fn folded(grid: &Grid, extent_mm: f64, has_mask: bool) -> Option<Notice> {
    let widest_mm = width_beyond(grid, extent_mm).filter(|_| !has_mask)?;
    Some(Notice::warning(format!(
        "the image is {widest_mm:.1} mm wide and the samples of a projection cover {extent_mm:.1} mm: signal from farther away is folded back \
         (aliasing). Choose a smaller image, or a mask"
    )))
}

fn check(acquisition: &Acquisition, settings: &RunSettings) -> Result<(), SetupError> {
    let num_slices = settings.grid.size[2];
    if acquisition.look(|sweep| sweep.space).is_slice() && num_slices != 1 {
        return Err(SetupProblem::NumSlices(num_slices).into());
    }
    let num_axes = if acquisition.look(|sweep| sweep.space).is_slice() { 2 } else { 3 };
    if let Some(axis) = (0..num_axes).find(|&axis| settings.grid.size[axis] == 1) {
        return Err(SetupProblem::FlatImage(["x", "y", "z"][axis]).into());
    }
    if acquisition.is_over() && acquisition.num_complete() == 0 {
        return Err(SetupProblem::NoProjections.into());
    }
    if !settings.inputs.radicals.is_empty() && !acquisition.look(Sweep::is_continuous_wave) {
        return Err(ReconError::from(DataProblem::RadicalsOfPulses).into());
    }
    let tv = tv_settings(&settings.parameters);
    acquisition.look(|sweep| check_experiments(sweep, &settings.inputs.radicals, &settings.inputs.experiments))?;
    if tv.spectrum.is_some() {
        if !acquisition.look(Sweep::is_continuous_wave) {
            return Err(ReconError::from(DataProblem::NoSpectra).into());
        }
        if tv.is_positive {
            return Err(ReconError::from(SettingsProblem::PositiveSpectra).into());
        }
        if !settings.inputs.radicals.is_empty() {
            return Err(ReconError::from(SettingsProblem::SpectraOfRadicals).into());
        }
        if !settings.inputs.experiments.is_empty() {
            return Err(ReconError::from(SettingsProblem::SpectraOfExperiments).into());
        }
        // (Until then further sizes may arrive.)
        if acquisition.is_over() && acquisition.look(Sweep::num_gradient_sizes) < 2 {
            return Err(ReconError::from(DataProblem::OneGradientSize).into());
        }
    }
    let other = |image: &Option<Arc<Volume>>| {
        let found = image.as_ref().map(|image| &image.grid).filter(|grid| !grid.same_as(&settings.grid))?;
        Some((Box::new(found.clone()), Box::new(settings.grid.clone())))
    };
    let of_start = other(&settings.inputs.init).map(|(found, expected)| SetupProblem::StartImage { found, expected });
    let of_mask = other(&settings.inputs.mask).map(|(found, expected)| SetupProblem::Mask { found, expected });
    of_start.or(of_mask).map_or(Ok(()), |problem| Err(problem.into()))
}

/// Returns the memory of a run: six images, the responses of levels, the field of vectors, volumes on their way to the screen, the convolution with its half
/// spectrum, and once the transform that makes its kernel.
fn needs_of(platform: &dyn Platform, settings: &RunSettings) -> Result<MemoryNeeds, SetupError> {
    let free = platform.free_memory();
    check_image(&settings.grid, &free)?;
    let size = settings.grid.size;
    let num_axes = num_axes(size) as u64;
    if let Some(spectrum) = tv_settings(&settings.parameters).spectrum {
        return spectral_needs(platform, &settings.grid, spectrum);
    }
    let num_radicals = settings.inputs.radicals.len().max(1);
    let images = ((6 + num_axes + num_radicals as u64) * num_radicals as u64 + NUM_FRAMES) * settings.grid.num_voxels() as u64;
    let of_convolution = platform.convolution_bytes(size, num_radicals);
    let kernel: u64 = kernel_size(size).iter().map(|&n| n as u64).product();
    let once = NonuniformTransform::bytes(kernel_size(size)) + 8 * kernel;
    Ok(MemoryNeeds::of([(4 * images + of_convolution + once, free)]))
}

/// Returns the memory of a run with a spectrum in each voxel: its arrays, and the convolution, twice while projections arrive. On the
/// computer are A*s, the kernels, and once the backprojection in double precision at all frequencies or the transform that makes the
/// kernels.
fn spectral_needs(platform: &dyn Platform, grid: &Grid, spectrum: SpectrumSettings) -> Result<MemoryNeeds, SetupError> {
    let (num_samples, num_voxels) = (spectrum.num_samples as u64, grid.num_voxels() as u64);
    let num_components = num_axes(grid.size) as u64 + u64::from(spectrum.strength > 0.0);
    let kernel: u64 = kernel_size(grid.size).iter().map(|&n| n as u64).product();
    let backprojection = 16 * num_spectral_frequencies(spectrum.num_samples) as u64 * num_voxels;
    let once = backprojection.max(NonuniformTransform::bytes(kernel_size(grid.size)) + 16 * kernel);
    let of_data = 8 * num_samples * num_voxels;
    let of_convolutions = 2 * platform.spectral_convolution_bytes(grid.size, spectrum.num_samples);
    // (u, its extrapolation, the mean, the point, the residual and A*s; while projections arrive, two of the power iteration and the next A*s.)
    let of_arrays = 4 * ((6 + 3 + num_components) * num_samples + NUM_FRAMES) * num_voxels;
    let on_computer = once + of_data;
    let free = platform.free_memory();
    if free.gpu.is_none() {
        return Ok(MemoryNeeds::of([(of_arrays + of_convolutions + on_computer, free)]));
    }
    let kernels = 2 * SpectralConvolution::<f32>::bytes(grid.size, spectrum.num_samples);
    FreeMemory::of_the_computer().check(kernels + on_computer)?;
    Ok(MemoryNeeds::of([(of_arrays + of_convolutions, free)]))
}

fn text_of(platform: &dyn Platform) -> [String; 2] {
    [platform.text(crate::algebra::Simd::detect()), OPERATOR.to_owned()]
}
