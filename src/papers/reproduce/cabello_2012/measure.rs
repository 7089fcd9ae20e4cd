//! One reconstruction: figures of its images every few iterations, its times, and its loss by the race condition.

use std::time::Instant;

use super::implementation::Implementation;
use super::plan::{Plan, Scan};
use crate::data::{PairCounts, ResponseMatrix, RoiSums, Study, Unit};
use crate::measure::{
    ProfileInterpolation, ProfilePoint, RoiStats, contrast_to_noise, correlation, full_width_at_half_maximum, noise_to_signal,
    peak_width, profile,
};
use crate::operator::Accumulation;
use crate::phantom::Phantom;
use crate::plan::{AlgorithmChoice, Job, Prepared, RunInputs, RunSettings, prepare};
use crate::recon::{Stage, StepReport};
use crate::reproduce::prelude::*;
use crate::statistics::median_and_spread;

/// Distance about a point within which its width is measured, mm: half way to its neighbours.
const REACH_MM: f64 = 2.5;

/// A measured reconstruction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub scan: String,
    pub counts: f64,
    pub device: String,
    pub accumulation: Accumulation,
    /// Time from the data to the beginning of the first iteration, s.
    pub setup_s: f64,
    /// Time of an iteration without measuring: median, and half of the interquartile range, s.
    pub iteration_s: [f64; 2],
    /// Time of all iterations, measuring included, s.
    pub iterations_s: f64,
    /// Measurements every few iterations.
    pub samples: Vec<Sample>,
    /// Position along x through the centre, mm, and value, after the plan's iterations.
    pub profile: Vec<[f64; 2]>,
}

/// Measurements of the image after some iterations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    pub iteration: usize,
    /// Correlation with the reference's image after the same number of iterations.
    pub correlation: Option<f64>,
    /// Share of the backprojection that this iteration lost by its race condition.
    pub lost: Option<f64>,
    pub noise: Option<Noise>,
    pub widths: Vec<Width>,
}

/// Measurements of regions.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Noise {
    /// Coefficient of variation of the hot, the warm and the cold region.
    pub cv: [Option<f64>; 3],
    /// Contrast-to-noise ratio of hot and warm.
    pub cnr: Option<f64>,
}

/// The width of a point source, mm.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Width {
    /// FWHM of a Gaussian on a background.
    pub fwhm_mm: Option<f64>,
    /// Width of the profile at half of its maximum.
    pub at_half_mm: Option<f64>,
}

pub struct Data<'a> {
    pub plan: &'a Plan,
    pub scan: Scan,
    pub study: Arc<Study<PairCounts>>,
    pub matrix: Arc<ResponseMatrix>,
}

/// A run with the image after the plan's iterations (or the last one), and all measured images.
pub struct Reconstruction {
    pub run: Run,
    pub image: Volume,
    pub measured: Arc<Vec<Volume>>,
}

/// Reconstructs; `None` if the operator lacks this accumulation on this device. `reference` contains the measured images of the
/// reference; `None` for the reference.
pub fn reconstruct(
    data: &Data,
    implementation: Implementation,
    num_iterations: usize,
    reference: Option<&[Volume]>,
) -> Result<Option<Reconstruction>, ReproduceError> {
    let (plan, task) = (data.plan, Task::new());
    let begin = Instant::now();
    let settings = RunSettings {
        inputs: RunInputs { matrix: Some(Arc::clone(&data.matrix)), ..RunInputs::default() },
        num_iterations,
        device: implementation.device,
        ..RunSettings::new(AlgorithmChoice::MLEM, plan.grid()?)
    };
    let job = Job::of(&data.study, settings);
    let Prepared { mut algorithm, info, .. } = prepare(&job, &task)?;
    if !info.accumulations.contains(&implementation.accumulation) {
        return Ok(None);
    }
    algorithm.set_accumulation(implementation.accumulation);
    let setup_s = begin.elapsed().as_secs_f64();

    let phantom = plan.phantom(data.scan)?;
    let begin = Instant::now();
    let (mut secs, mut samples, mut measured, mut along) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let empty = Volume { unit: Unit::DecaysPerMm3, ..Volume::filled(plan.grid()?, 0.0) };
    let mut image = empty.clone();
    for iteration in 1..=num_iterations {
        let report = algorithm.step(&task)?;
        secs.push(secs_of(&report));
        if iteration % plan.measured_every != 0 && iteration != num_iterations {
            continue;
        }
        let mut volume = empty.clone();
        algorithm.volume_into(&mut volume)?;
        let same = reference.and_then(|images| images.get(measured.len()));
        samples.push(Sample {
            iteration,
            correlation: same.and_then(|same| correlation(volume.as_slice(), same.as_slice())),
            lost: report.em.and_then(|em| em.race).map(|race| race.lost),
            noise: (data.scan == Scan::Rods).then(|| noise(&phantom, &volume)),
            widths: if data.scan == Scan::Ellipsoid { widths(&phantom, &volume) } else { Vec::new() },
        });
        if iteration <= plan.num_iterations {
            along = along_x(&volume).into_iter().map(|point| [point.distance_mm, point.value]).collect();
            image = volume.clone();
        }
        measured.push(volume);
    }
    let (median, spread) = median_and_spread(secs).unwrap_or_default();
    let run = Run {
        scan: data.scan.name(),
        counts: data.study.measured.total(),
        device: info.device,
        accumulation: implementation.accumulation,
        setup_s,
        iteration_s: [median, spread],
        iterations_s: begin.elapsed().as_secs_f64(),
        samples,
        profile: along,
    };
    Ok(Some(Reconstruction { run, image, measured: Arc::new(measured) }))
}

/// Returns the seconds of the stages that every iteration has.
fn secs_of(report: &StepReport) -> f64 {
    let once = [Stage::Sensitivity, Stage::Race].map(|stage| report.stages[stage].as_secs_f64());
    report.stages.total().as_secs_f64() - once[0] - once[1]
}

/// Returns the figures of the regions of the rods.
fn noise(phantom: &Phantom, volume: &Volume) -> Noise {
    let sums = |name: &str| -> Option<RoiSums> {
        let roi = phantom.rois.iter().find(|roi| roi.name == name)?;
        Some(roi.mask(&volume.grid).sums(volume.as_slice()))
    };
    let regions = ["hot", "warm", "cold"].map(sums);
    let stats = |region: &Option<RoiSums>| RoiStats::of(region.as_ref()?, volume.grid.voxel_ml());
    let cnr = stats(&regions[0]).zip(stats(&regions[1])).and_then(|(hot, warm)| contrast_to_noise(&hot, &warm));
    Noise { cv: regions.map(|region| noise_to_signal(&region?)), cnr }
}

/// Returns the central values of an image along x, a voxel apart; distances are x, mm.
fn along_x(volume: &Volume) -> Vec<ProfilePoint> {
    let grid = &volume.grid;
    let first = grid.mm_from_voxel([0.0; 3])[0];
    let last = grid.mm_from_voxel([grid.size[0] as f64 - 1.0, 0.0, 0.0])[0];
    let mut points = profile(volume, [first, 0.0, 0.0], [last, 0.0, 0.0], grid.size[0], ProfileInterpolation::Linear);
    points.iter_mut().for_each(|point| point.distance_mm += first);
    points
}

/// Returns the widths of the points, which lie on the x axis.
fn widths(phantom: &Phantom, volume: &Volume) -> Vec<Width> {
    let (points, voxel_mm) = (along_x(volume), volume.grid.voxel_mm[0]);
    let sources = phantom.rois.iter().filter(|roi| roi.name.starts_with("point"));
    let width = |source_mm: f64| {
        let is_near = |point: &&ProfilePoint| (point.distance_mm - source_mm).abs() <= REACH_MM;
        let near: Vec<ProfilePoint> = points.iter().filter(is_near).copied().collect();
        let values: Vec<f64> = near.iter().map(|point| point.value).collect();
        Width {
            fwhm_mm: peak_width(&near, voxel_mm).ok().map(|width| width.fwhm_mm),
            at_half_mm: full_width_at_half_maximum(&values, voxel_mm),
        }
    };
    sources.map(|roi| width(roi.centre_mm[0])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaussians of known widths on a warm background where the points are.
    #[test]
    fn points_have_their_widths() {
        let plan = Plan::new(false, None);
        let phantom = plan.phantom(Scan::Ellipsoid).unwrap();
        let mut volume = Volume::filled(plan.grid().unwrap(), 0.0);
        let fwhm_mm = |number: usize| 1.2 + 0.2 * number as f64;
        let grid = volume.grid.clone();
        for ((k, j, i), value) in volume.values.indexed_iter_mut() {
            let [x, y, z] = grid.mm_from_voxel([i as f64, j as f64, k as f64]);
            let of = |number: usize| {
                let square = (x - 5.0 * number as f64).powi(2) + y * y + z * z;
                (-4.0 * 2f64.ln() * square / fwhm_mm(number).powi(2)).exp()
            };
            *value = (0.02 + (0..6).map(of).sum::<f64>()) as f32;
        }
        let found = widths(&phantom, &volume);
        assert_eq!(found.len(), 6);
        for (number, width) in found.iter().enumerate() {
            let [fitted, at_half] = [width.fwhm_mm, width.at_half_mm].map(|mm| mm.unwrap() / fwhm_mm(number) - 1.0);
            assert!(fitted.abs() < 0.01 && at_half.abs() < 0.12, "{number}: {width:?}");
        }
    }

    #[test]
    fn the_true_rods_have_no_noise() {
        let plan = Plan::new(false, None);
        let phantom = plan.phantom(Scan::Rods).unwrap();
        let mut volume = phantom.truth(&plan.grid().unwrap(), 2.0, &Task::new()).unwrap();
        let found = noise(&phantom, &volume);
        assert!(found.cv[0].unwrap() < 1e-6 && found.cv[1].unwrap() < 1e-6 && found.cv[2].is_none() && found.cnr.is_none());
        // ±10 % from slice column to slice column.
        let nx = volume.grid.size[0];
        volume
            .as_mut_slice()
            .iter_mut()
            .enumerate()
            .for_each(|(at, v)| *v *= if (at % nx).is_multiple_of(2) { 1.1 } else { 0.9 });
        let found = noise(&phantom, &volume);
        assert!((found.cv[0].unwrap() - 0.1).abs() < 0.002 && (found.cv[1].unwrap() - 0.1).abs() < 0.002, "{found:?}");
        // (6 − 2) / √((0.6² + 0.2²) / 2).
        assert!((found.cnr.unwrap() - 4.0 / 0.2f64.sqrt()).abs() < 0.1, "{found:?}");
    }
}
