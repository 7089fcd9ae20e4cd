//! Default settings. PET: OSEM with subsets and iterations that suit the data ([`super::subsets::SubsetRule`]), voxels as wide as
//! the bins and half a ring spacing high, the circle inscribed in the image as field of view. EPRI sweep: one-stage filtered
//! backprojection onto the sampled region.

use super::settings::RunSettings;
use super::subsets::SubsetRule;
use crate::data::{BasisKind, Counts, EventList, ImageSeries, PairCounts, Study, Sweep, SweepKind, SweepSpace};
use crate::geometry::Grid;
use crate::operator::grid_about_zero;
use crate::plan::algorithms::penalised::{BETA, KAPPA, KAPPA_OF_FILE};
use crate::plan::algorithms::registry::{AlgorithmChoice, SUBSET_ORDER, filter_parameters};
use crate::plan::algorithms::total_variation::{LAMBDA, NUM_ITERATIONS, SPECTRAL_SAMPLES};
use crate::plan::algorithms::values::Values;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::SetupError;
use crate::plan::list_mode::sampling::list_grid;
use crate::plan::problem::SetupProblem;
use crate::plan::simulation::matrix::{default_basis, display_grid};
use crate::recon::{FilterSettings, SPECTRAL_STRENGTH, SubsetOrder};
use crate::scanner::ScanGeometry;

/// Most voxels along an axis of the image of a sweep.
const MAX_SWEEP_SIDE: usize = 128;

/// Most voxels along an axis of the image with a spectrum in each, and most samples of a spectrum.
const MAX_SPECTRAL_SIDE: usize = 32;
const MAX_SPECTRAL_SAMPLES: usize = 128;

/// Returns the default settings for an EPRI acquisition: total variation where filtered backprojection does not take it.
pub(super) fn default_settings_of_sweep(sweep: &Sweep) -> Result<RunSettings, SetupError> {
    if lacks_reference_or_size(sweep) { default_spectral_settings(sweep) } else { default_sweep_settings(sweep) }
}

/// Returns true if filtered backprojection does not take an acquisition with gradients of several sizes: one of them is too small, or there is
/// no reference spectrum.
fn lacks_reference_or_size(sweep: &Sweep) -> bool {
    let has_reference = matches!(sweep.kind, SweepKind::ContinuousWave { reference: Some(_), .. });
    sweep.separates_spectra() && !(has_reference && sweep.has_similar_gradients())
}

/// Returns the default settings for projection data.
///
/// # Errors
/// The scanner's default image grid is invalid.
pub fn default_settings(counts: &Counts) -> Result<RunSettings, SetupError> {
    Ok(osem(SubsetRule::of_counts(counts), counts.geometry().default_grid()?))
}

impl RunSettings {
    /// Returns the settings for a study that comes with the start of a penalised reconstruction: SVRG on the grid of its images, with
    /// its strength and its κ.
    pub fn with_preset<M>(self, study: &Study<M>) -> Self {
        let Some(preset) = &study.preset else { return self };
        let algorithm = AlgorithmChoice::SVRG;
        let parameters = Values::default().with_number(&BETA, preset.strength);
        let grid = preset.start.as_ref().or(preset.kappa.as_ref()).map_or(self.grid, |image| image.grid.clone());
        Self {
            algorithm,
            parameters: if preset.kappa.is_some() { parameters.with_choice(&KAPPA, KAPPA_OF_FILE) } else { parameters },
            num_subsets: self.subset_rule.map_or(self.num_subsets, |rule| rule.num_subsets_of(algorithm)),
            fov_radius_mm: grid.inscribed_radius_mm(),
            grid,
            ..self
        }
    }
}

/// Returns settings of OSEM with the subsets and iterations of the rule.
fn osem(rule: SubsetRule, grid: Grid) -> RunSettings {
    RunSettings {
        num_iterations: rule.num_iterations(),
        num_subsets: rule.num_subsets(),
        subset_rule: Some(rule),
        ..RunSettings::new(AlgorithmChoice::OSEM, grid)
    }
}

/// Returns the default settings for an EPRI sweep.
///
/// # Errors
/// The image grid is invalid.
pub fn default_sweep_settings(sweep: &Sweep) -> Result<RunSettings, SetupError> {
    let parameters = filter_parameters(&FilterSettings::for_sweep(sweep));
    Ok(RunSettings { parameters, ..RunSettings::new(AlgorithmChoice::FBP, sweep_grid(sweep, None, None)?) })
}

/// Returns the default settings for a spectrum in each voxel: total variation on the planned field of view, or on the sampled region.
fn default_spectral_settings(sweep: &Sweep) -> Result<RunSettings, SetupError> {
    let side = sweep.num_points.min(MAX_SPECTRAL_SIDE);
    let size = if sweep.space.is_slice() { [side, side, 1] } else { [side; 3] };
    let extent_mm = sweep.facts.field_of_view_mm.unwrap_or(sweep.extent_mm());
    let grid = grid_about_zero(size, [extent_mm / side as f64; 3])?;
    let num_samples = sweep.num_points.min(MAX_SPECTRAL_SAMPLES);
    let parameters =
        Values::default().with_number(&SPECTRAL_SAMPLES, Some(num_samples as f64)).with_number(&LAMBDA, Some(SPECTRAL_STRENGTH));
    Ok(RunSettings { parameters, num_iterations: NUM_ITERATIONS, ..RunSettings::new(AlgorithmChoice::TV, grid) })
}

/// Returns the default settings for a crystal-pair histogram.
///
/// # Errors
/// The image grid is invalid.
pub fn default_pair_settings(pairs: &PairCounts) -> Result<RunSettings, SetupError> {
    let grid = display_grid(&pairs.ring, &default_basis(&pairs.ring, BasisKind::Blobs))?;
    Ok(RunSettings::new(AlgorithmChoice::MLEM, grid))
}

/// Returns the settings of images of another program: their grid, on the CPU.
///
/// # Errors
/// No image.
pub fn default_image_settings(series: &ImageSeries) -> Result<RunSettings, SetupError> {
    let grid = series.grid().ok_or(SetupProblem::NoImage)?.clone();
    Ok(RunSettings { device: DeviceChoice::Cpu, ..RunSettings::new(AlgorithmChoice::AS_READ, grid) })
}

/// Returns the image grid of a sweep. Missing values follow from the samples: the image spans the sampled region, in voxels as
/// wide as the sample distance or, for very many samples, wider. A two-dimensional sweep has one slice, as thick as its pixels
/// are wide along x.
///
/// # Errors
/// The grid is invalid.
pub fn sweep_grid(sweep: &Sweep, size: Option<[usize; 3]>, voxel_mm: Option<[f64; 3]>) -> Result<Grid, SetupError> {
    let extent_mm = sweep.extent_mm();
    let one_slice = |size: [usize; 3]| if sweep.space.is_slice() { [size[0], size[1], 1] } else { size };
    let (size, voxel_mm) = match (size, voxel_mm) {
        (Some(size), Some(voxel_mm)) => (size, voxel_mm),
        (Some(size), None) => (size, voxel_of(extent_mm, sweep.space, size)),
        (None, Some(voxel_mm)) => (one_slice(covering_size([extent_mm; 3], voxel_mm)?), voxel_mm),
        (None, None) => {
            let side = sweep.num_points.min(MAX_SWEEP_SIDE);
            (one_slice([side; 3]), [extent_mm / side as f64; 3])
        }
    };
    Ok(grid_about_zero(size, voxel_mm)?)
}

/// Returns the side of voxels that fill the extent along each axis, `size` in number; a slice is as thick as they are wide.
fn voxel_of(extent_mm: f64, space: SweepSpace, size: [usize; 3]) -> [f64; 3] {
    let [x, y, z] = size.map(|n| extent_mm / n.max(1) as f64);
    [x, y, if space.is_slice() { x } else { z }]
}

/// Returns a grid of `size` voxels with the extent of the scanner's default grid: 256 × 256 × 47 over the 700 mm of a
/// Discovery STE gives voxels of 2.734 × 2.734 × 3.27 mm.
///
/// # Errors
/// The grid is invalid.
pub fn covering_grid(geometry: &ScanGeometry, size: [usize; 3]) -> Result<Grid, SetupError> {
    let default = geometry.default_grid()?;
    let voxel_mm = std::array::from_fn(|a| default.size[a] as f64 * default.voxel_mm[a] / size[a] as f64);
    Ok(Grid::centred(size, voxel_mm)?)
}

/// Returns a grid of voxels of this size that covers at least the scanner's default grid.
///
/// # Errors
/// The grid is invalid.
pub fn grid_of_voxels(geometry: &ScanGeometry, voxel_mm: [f64; 3]) -> Result<Grid, SetupError> {
    let default = geometry.default_grid()?;
    let extent_mm = std::array::from_fn(|a| default.size[a] as f64 * default.voxel_mm[a]);
    let size = covering_size(extent_mm, voxel_mm)?;
    Ok(Grid::centred(size, voxel_mm)?)
}

/// Returns the number of voxels of this size that cover a length along each axis.
fn covering_size(extent_mm: [f64; 3], voxel_mm: [f64; 3]) -> Result<[usize; 3], SetupError> {
    // Invalid voxels give the same error as in any grid.
    Grid::centred([1; 3], voxel_mm)?;
    let count = |a: usize| {
        // A quotient that is whole up to rounding must not cost a voxel more.
        let count = extent_mm[a] / voxel_mm[a];
        (count - 1e-9 * count).ceil().max(1.0)
    };
    let counts: [f64; 3] = std::array::from_fn(count);
    match counts.iter().position(|count| *count > f64::from(u32::MAX)) {
        Some(axis) => {
            let (voxel_mm, extent_mm, num_voxels) = (voxel_mm[axis], extent_mm[axis], counts[axis]);
            Err(SetupProblem::SmallVoxels { voxel_mm, extent_mm, num_voxels }.into())
        }
        None => Ok(counts.map(|count| count as usize)),
    }
}

/// Returns the default settings for list-mode data.
///
/// # Errors
/// The image grid is invalid.
pub fn default_list_settings(list: &EventList) -> Result<RunSettings, SetupError> {
    let parameters = Values::default().with_choice(&SUBSET_ORDER, SubsetOrder::Sequential);
    Ok(RunSettings { parameters, ..osem(SubsetRule::of_list(list), list_grid(&list.facts)?) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::find;

    #[test]
    fn grids_reach_across_the_field_of_view() {
        let geometry = &find("discovery-ste").unwrap().geometry;
        let grid = covering_grid(geometry, [256, 256, 47]).unwrap();
        assert!((grid.voxel_mm[0] - 700.0 / 256.0).abs() < 1e-9 && (grid.voxel_mm[2] - 3.27).abs() < 1e-9);
        assert!((grid.inscribed_radius_mm() - 350.0).abs() < 1e-9);
        assert_eq!(grid_of_voxels(geometry, [700.0 / 256.0, 5.0, 3.27]).unwrap().size, [256, 140, 47]);
        assert!(grid_of_voxels(geometry, [f64::NAN, 1.0, 1.0]).is_err());
        assert!(grid_of_voxels(geometry, [1e-12; 3]).is_err());
        assert!(covering_grid(geometry, [0, 1, 1]).is_err());
    }
}
