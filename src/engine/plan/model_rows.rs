//! Rows of a sinogram in the model of a run, ȳ = m ⊙ (A x) + a: measured counts, expected counts of an image x, and factors.
//!
//! A x is that of the projector per LOR, the definition of A, with the rays, the resolution model, the resampled slices and the
//! time of flight of the run.

use std::sync::Arc;

use rayon::prelude::*;

use super::attenuation::factors::AttenuationOfRows;
use super::error::SetupError;
use super::job::Job;
use super::job::data::Data;
use super::job::settings::RunSettings;
use super::projector::inputs::ProjectorInputs;
use super::projector::settings::{ProjectorChoice, rays_per_bin};
use crate::algebra::{Backend as _, Host, Voxels};
use crate::data::{Counts, Michelogram, SinogramRow, Volume};
use crate::geometry::Grid;
use crate::operator::{AxialRuns, Composed, Misfit, OperatorError, Siddon, ViewProjector, inner_grid};
use crate::scanner::ScanGeometry;

/// Row of a sinogram: its values and their model, by tangential position and over all time-of-flight bins.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRow {
    /// The row.
    pub row: SinogramRow,
    /// Distance of each line from the axis, mm.
    pub s_mm: Vec<f64>,
    /// Measured counts y.
    pub measured: Vec<f32>,
    /// Projection A x of the image, counts.
    pub projected: Vec<f32>,
    /// Factors m of attenuation and normalisation; `None` = 1.
    pub multiplicative: Option<Vec<f32>>,
    /// The part of m that is attenuation, if it was projected from maps; the rest is normalisation.
    pub attenuation: Option<Vec<f32>>,
    /// Expected randoms and scatter a, counts; `None` = 0.
    pub additive: Option<Vec<f32>>,
    /// Expected counts ȳ.
    pub expected: Vec<f32>,
}

impl ModelRow {
    /// Returns the part of the factors that is normalisation, where that of attenuation is known.
    pub fn normalisation(&self) -> Option<Vec<f32>> {
        let (all, attenuation) = (self.multiplicative.as_ref()?, self.attenuation.as_ref()?);
        // (Without a pair that passes, the factor is 0 for each normalisation.)
        let part = |(all, attenuation): (&f32, &f32)| if *attenuation > 0.0 { all / attenuation } else { 0.0 };
        Some(all.iter().zip(attenuation).map(part).collect())
    }
}

/// Reason for which a run has no rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoModelRows {
    /// Data of another kind.
    #[error("These data have no sinogram rows.")]
    NoSinogram,
    /// Data on a remote host.
    #[error("The projection data are on the remote host. Sinogram rows need local data.")]
    Remote,
    /// A projector that traces no lines.
    #[error("This projector traces no lines. Sinogram rows need the projector axial-runs or per-lor.")]
    Projector,
}

impl NoModelRows {
    /// Returns the reason for which data have no rows; `None` if they have.
    pub fn of(data: &Data) -> Option<Self> {
        match data.counts() {
            Some(counts) => counts.prompts.is_remote().then_some(NoModelRows::Remote),
            None => Some(NoModelRows::NoSinogram),
        }
    }

    /// Returns the reason for which a run with this projector has no rows; `None` if it has.
    pub fn of_run(job: &Job, projector: &str) -> Option<Self> {
        let with_lines = [ProjectorChoice::AXIAL_RUNS, ProjectorChoice::PER_LOR];
        let traces_lines = with_lines.iter().any(|choice| choice.name() == projector);
        Self::of(job.data()).or((!traces_lines).then_some(NoModelRows::Projector))
    }
}

/// Model of the rows of a run.
pub struct ModelRows {
    counts: Counts,
    projector: Siddon,
    attenuation: Option<AttenuationOfRows>,
    /// Images of the run.
    image: Voxels,
    /// Steps between an image and its projection, if any.
    steps: Option<Composed<Host, ()>>,
}

impl ModelRows {
    /// Returns the model of a run with this projector; `None` if it has no rows ([`NoModelRows::of_run`]).
    ///
    /// # Errors
    /// Time-of-flight bins that do not suit, too little memory.
    pub fn new(job: &Job, projector: &str) -> Result<Option<Self>, SetupError> {
        let settings = &job.settings;
        let has_rows = NoModelRows::of_run(job, projector).is_none();
        let Some(counts) = job.data().counts().filter(|_| has_rows) else { return Ok(None) };
        let counts = settings.tof.of(counts)?;
        let of_projector = settings.of_projector(settings.device, counts.tof_bins());
        let inner = resampled_grid(counts.geometry(), settings, projector);
        let inputs = ProjectorInputs { geometry: counts.geometry(), settings: &of_projector, inner };
        let projector = inputs.siddon();
        let (image, model) = inputs.image_model(ViewProjector::<Host>::voxels(&projector));
        let steps = model.map(|model| Composed::new(&mut Host, (), &model)).transpose()?;
        let attenuation = AttenuationOfRows::new(counts.geometry(), &counts.attenuation);
        Ok(Some(Self { counts, projector, attenuation, image, steps }))
    }

    /// Returns the image that is projected: of an image of the run, after resolution model and resampling.
    ///
    /// # Errors
    /// Too little memory.
    pub fn projected_image(&self, image: &Volume) -> Result<Vec<f32>, OperatorError> {
        let x = self.image.coefficients(image);
        let Some(steps) = &self.steps else { return Ok(x) };
        let mut out = Host.zeros(ViewProjector::<Host>::voxels(&self.projector).len())?;
        let x = Host.upload(Arc::new(x))?;
        steps.image(&mut Host, &x, &mut out)?;
        Ok(Host.read(&out, <[f32]>::to_vec)?)
    }

    /// Returns a row, for an image of [`ModelRows::projected_image`].
    pub fn row(&self, row: SinogramRow, projected_image: &[f32]) -> ModelRow {
        let Counts { prompts, multiplicative, additive, .. } = &self.counts;
        let num_tangential = prompts.geometry.num_tangential;
        let bin = |tangential_pos| self.projector.bin_sum([row.view, tangential_pos], row.plane, projected_image) as f32;
        let projected: Vec<f32> = (0..num_tangential).into_par_iter().map(bin).collect();
        let values = |data: &Option<Michelogram>| data.as_ref().map(|data| row.values(data));
        let (multiplicative, additive) = (values(multiplicative), values(additive));
        let at = |values: &Option<Vec<f32>>, index: usize, none: f32| values.as_ref().map_or(none, |values| values[index]);
        let expected = projected.iter().enumerate();
        let expected = expected.map(|(index, p)| at(&multiplicative, index, 1.0) * p.max(0.0) + at(&additive, index, 0.0));
        ModelRow {
            row,
            s_mm: (0..num_tangential).map(|tangential_pos| prompts.geometry.s_mm(tangential_pos)).collect(),
            measured: row.values(prompts),
            expected: expected.collect(),
            projected,
            multiplicative,
            attenuation: self.attenuation.as_ref().map(|attenuation| attenuation.row(row, num_tangential)),
            additive,
        }
    }
}

/// Returns the grid to which a run resamples its images, if it does: that of the projector axial-runs for other slices than its own.
fn resampled_grid(geometry: &Arc<ScanGeometry>, settings: &RunSettings, projector: &str) -> Option<Grid> {
    let RunSettings { grid, fov_radius_mm, rays, .. } = settings;
    let rays = rays_per_bin(geometry, grid, *fov_radius_mm, *rays);
    let is_axial_runs = projector == ProjectorChoice::AXIAL_RUNS.name();
    match is_axial_runs.then(|| AxialRuns::new(Arc::clone(geometry), grid.clone(), *fov_radius_mm, rays))? {
        Err(OperatorError::Unsuitable(Misfit::PlaneStep { .. } | Misfit::Classes { .. })) => inner_grid(geometry, grid),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{AttenuationMap, Psf, Study, TofBins, Unit};
    use crate::operator::Subset;
    use crate::phantom::{self, SimulationOptions};
    use crate::plan::algorithms::registry::AlgorithmChoice;
    use crate::plan::attenuation::factors::attenuation_factors;
    use crate::plan::device::choice::DeviceChoice;
    use crate::plan::job::defaults::default_settings;
    use crate::plan::platform::choose::choose_projector;
    use crate::plan::projector::settings::Rays;
    use crate::scanner::find;
    use crate::task::Task;

    /// A scan with factors and background, which differ from bin to bin.
    fn scan(tof: Option<TofBins>) -> Study<Counts> {
        let geometry = Arc::new(find("small").unwrap().geometry.clone());
        let phantom = phantom::by_name("cylinder", &geometry).unwrap();
        let options =
            SimulationOptions { counts: 2e6, attenuation: true, background_fraction: 0.3, tof, ..SimulationOptions::default() };
        phantom::simulate(&phantom, geometry, &options, &Task::new()).unwrap()
    }

    /// A job on slices of this height, and an image of it.
    fn job_and_image(study: &Study<Counts>, slice_mm: f64, psf: Option<&str>) -> (Job, Volume) {
        let defaults = default_settings(&study.measured).unwrap();
        let [nx, ny, nz] = defaults.grid.size;
        let [dx, dy, dz] = defaults.grid.voxel_mm;
        let grid = Grid::centred([nx, ny, (nz as f64 * dz / slice_mm).round() as usize], [dx, dy, slice_mm]).unwrap();
        let psf: Option<Psf> = psf.map(|text| text.parse().unwrap());
        let (algorithm, device) = (AlgorithmChoice::MLEM, DeviceChoice::Cpu);
        let job = Job::of(study, RunSettings { algorithm, device, psf, grid: grid.clone(), ..defaults });
        let values = (0..grid.num_voxels()).map(|voxel| 0.1 + (voxel % 17) as f32);
        (job, Volume::from_vec(grid, values.collect(), Unit::CountsPerMm).unwrap())
    }

    /// Largest difference of some rows from the whole projection by the run's own projector, relative to the largest value.
    fn largest_error(job: &Job, image: &Volume, projector: &str) -> f64 {
        let settings = &job.settings;
        let counts = settings.tof.of(job.data().counts().unwrap()).unwrap();
        let geometry = Arc::clone(counts.geometry());
        let mut chosen = choose_projector(&geometry, &settings.of_projector(DeviceChoice::Cpu, counts.tof_bins())).unwrap();
        assert_eq!(chosen.entry.name, projector);
        let whole = chosen.system.project(Subset::ALL, image, &Task::new()).unwrap();
        let whole = chosen.system.data().in_order(whole);
        let whole = match counts.tof_bins() {
            Some(bins) => Michelogram::with_tof(Arc::clone(&geometry), bins, whole).unwrap(),
            None => Michelogram::new(Arc::clone(&geometry), whole).unwrap(),
        };
        let rows = ModelRows::new(job, projector).unwrap().unwrap();
        let projected_image = rows.projected_image(image).unwrap();
        let (mut error, mut largest) = (0f64, 0f64);
        for row in [SinogramRow { view: 0, plane: 0 }, SinogramRow { view: 7, plane: 5 }, SinogramRow { view: 20, plane: 30 }] {
            let found = rows.row(row, &projected_image);
            assert_eq!(found.measured, row.values(&counts.prompts));
            let [m, a] = [&counts.multiplicative, &counts.additive].map(|data| row.values(data.as_ref().unwrap()));
            assert!(m.iter().any(|m| *m < 0.9) && a.iter().any(|a| *a > 0.0));
            for (index, p) in row.values(&whole).into_iter().enumerate() {
                let expected = f64::from(m[index] * p + a[index]);
                error = error.max((f64::from(found.expected[index]) - expected).abs());
                largest = largest.max(expected);
            }
        }
        assert!(largest > 0.0);
        error / largest
    }

    #[test]
    fn a_row_is_that_of_the_whole_projection_with_corrections_and_resolution_model() {
        let study = scan(None);
        for (slice_mm, psf) in [(2.5, None), (2.5, Some("5,6,7")), (2.3, None), (2.3, Some("5"))] {
            let (job, image) = job_and_image(&study, slice_mm, psf);
            let error = largest_error(&job, &image, "axial-runs");
            assert!(error < 1e-5, "slices of {slice_mm} mm, {psf:?}: {error:e}");
        }
    }

    #[test]
    fn a_row_with_time_of_flight_is_the_sum_over_its_bins() {
        // Bins that end inside the object: the sums are not whole line integrals.
        let study = scan(Some(TofBins { num: 3, width_mm: 20.0, fwhm_mm: 30.0 }));
        let (mut job, image) = job_and_image(&study, 2.5, Some("5"));
        // The definition: axial runs weigh whole steps, not pieces of a line.
        job.settings.projector = ProjectorChoice::PER_LOR;
        let error = largest_error(&job, &image, "per-lor");
        assert!(error < 1e-5, "{error:e}");
    }

    #[test]
    fn factors_of_maps_are_apart_from_those_of_files() {
        let study = scan(None);
        let (mut job, _) = job_and_image(&study, 2.5, None);
        let maps: Vec<Arc<AttenuationMap>> = [([20, 20, 12], 0.0096), ([30, 4, 12], 0.004)]
            .map(|(size, per_mm)| {
                let grid = Grid::centred(size, [5.0, 5.0, 8.0]).unwrap();
                let per_mm = Volume { unit: Unit::Unknown, ..Volume::filled(grid, per_mm) };
                Arc::new(AttenuationMap { file: "mu.nii".into(), per_mm, ct: None })
            })
            .into();
        let counts = job.data().counts().unwrap().clone();
        let of_files = counts.multiplicative.clone().unwrap();
        let whole = attenuation_factors(counts.geometry(), &maps, Rays::Auto, &Task::new()).unwrap();
        let mut both = whole.clone();
        both.scale_bins(&of_files.counts);
        let study = Study { measured: Counts { multiplicative: Some(both), attenuation: maps, ..counts }, ..study };
        job = Job::of(&study, *job.settings);
        let rows = ModelRows::new(&job, "axial-runs").unwrap().unwrap();
        let row = SinogramRow { view: 3, plane: 20 };
        let image = Volume::filled(job.settings.grid.clone(), 1.0);
        let found = rows.row(row, &rows.projected_image(&image).unwrap());
        let (attenuation, normalisation) = (found.attenuation.clone().unwrap(), found.normalisation().unwrap());
        assert!(attenuation.iter().any(|factor| *factor < 0.5));
        for (found, expected) in [(attenuation, row.values(&whole)), (normalisation, row.values(&of_files))] {
            found
                .iter()
                .zip(&expected)
                .for_each(|(found, expected)| assert!((found - expected).abs() < 1e-5 * expected.max(1.0)));
        }
    }

    #[test]
    fn data_without_rows_and_projectors_without_lines_are_named() {
        let study = scan(None);
        let (job, _) = job_and_image(&study, 2.5, None);
        assert_eq!(NoModelRows::of_run(&job, "axial-runs"), None);
        assert_eq!(NoModelRows::of_run(&job, "tubes"), Some(NoModelRows::Projector));
        assert!(ModelRows::new(&job, "tubes").unwrap().is_none());
        let remote = Michelogram::elsewhere(Arc::clone(study.measured.geometry()));
        assert_eq!(NoModelRows::of(&Data::from(Counts::new(remote))), Some(NoModelRows::Remote));
    }
}
