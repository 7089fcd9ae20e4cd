//! Pulse oximetry of a phantom: sweeps at several delays or echo times, whose images recover or decay with the oxygen of each part.
//!
//! ```text
//! inversion recovery   S(τ) = density · (1 − 2·inv·exp(−R₁ τ))
//! echo decay           S(τ) = density · exp(−R₂ τ)
//! ```
//!
//! with the rate of the part's oxygen pressure by a calibration.

use std::f64::consts::PI;

use super::simulate::{Noise, SweepError, SweepOptions, measured};
use super::{Part, Phantom};
use crate::data::{Notice, OxygenCalibration, OxygenSeries, RelaxationRate, Roi, Study, Sweep, Unit, Volume};
use crate::geometry::Grid;
use crate::task::{Stopped, Task};

/// Usual oxygen pressures of the parts of a phantom, torr: the first part has the first one, the seventh the first one again.
pub const OXYGEN_TORR: [f64; 6] = [0.0, 5.0, 10.0, 20.0, 40.0, 60.0];

/// Usual delays after the inversion, µs: from a fifth of the shortest T₁ of 0 to 60 torr to five of the longest.
pub const DELAYS_US: [f64; 8] = [0.4, 0.8, 1.5, 2.6, 4.5, 8.0, 14.0, 30.0];

/// Settings of the oximetry of a phantom.
#[derive(Clone, Debug, PartialEq)]
pub struct OxygenOptions {
    /// Rate of each oxygen pressure.
    pub calibration: OxygenCalibration,
    /// Delays after the inversion (R₁) or echo times (R₂), µs: a sweep each.
    pub times_us: Vec<f64>,
    /// Efficiency of the inversion; 1 = whole.
    pub inversion: f64,
    /// Density 1 over the standard deviation of a voxel, in the image of one sweep ([`noise_gain`]); `None` = no noise. It is the same noise
    /// in every sweep.
    pub snr: Option<f64>,
}

/// Sweeps of a phantom with oxygen.
#[derive(Clone, Debug)]
pub struct OxygenScan {
    /// A sweep for each time.
    pub sweeps: Vec<Study<Sweep>>,
    /// True oxygen pressure, torr, the mean over the spins of each voxel; NaN where there are none. `None` without a grid.
    pub truth: Option<Volume>,
}

impl OxygenScan {
    /// Returns the sweeps as one study, named after its phantom. (Its images are no pressures: it has no truth.)
    pub fn into_study(self, title: &str, options: &OxygenOptions) -> Study<OxygenSeries> {
        let (rois, notices) = self.sweeps.first().map(|study| (study.rois.clone(), study.notices.clone())).unwrap_or_default();
        let sweeps = self.sweeps.into_iter().map(|study| study.measured);
        let acquisitions = options.times_us.iter().copied().zip(sweeps).collect();
        let series = OxygenSeries::spread(acquisitions, options.calibration.clone());
        Study { rois, notices, ..Study::new(title, series) }
    }
}

/// Returns the standard deviation of a voxel over that of a sample, for the default settings of filtered backprojection: filter
/// three-point, linear interpolation, voxels as far apart as the samples.
///
/// The filtered noise has the variance 3/8 d⁻⁴ (mean of sin⁴ω) for a volume and 1/2 d⁻² (of sin²ω) for a slice, neighbours are uncorrelated,
/// and a linear interpolation leaves 2/3 of it, the mean over places between two samples.
pub fn noise_gain(options: &SweepOptions) -> f64 {
    let directions = options.scheme.directions(options.weighting);
    let weights = directions.iter().map(|direction| direction.weight * direction.weight).sum::<f64>().sqrt();
    let step = options.step_mm;
    if options.space().is_slice() { weights / (3f64.sqrt() * 2.0 * PI * step) } else { weights / (8.0 * PI * PI * step * step) }
}

/// Simulates a sweep for each time. The noise of `options` is not used. `task` counts the projections of each sweep.
///
/// # Errors
/// Options out of range, stopped.
pub fn simulate_oxygen(
    phantom: &Phantom,
    options: &SweepOptions,
    oxygen: &OxygenOptions,
    task: &Task,
) -> Result<OxygenScan, SweepError> {
    options.check()?;
    let deviation = oxygen.snr.map_or(0.0, |snr| 1.0 / (snr * noise_gain(options)));
    let rois = phantom.with_oxygen_in_names().rois_in(options.space());
    let sweep = |(index, &time): (usize, &f64)| {
        let noise = Noise { deviation: &|_| deviation, first_stream: (index as u64) << 32 };
        let study = Study::new(
            format!("{}, {} at {time} µs", phantom.title, oxygen.calibration.rate.label()),
            measured(&phantom.at(time, oxygen), options, &noise, task)?,
        );
        Ok(Study { rois: rois.clone(), ..study })
    };
    let mut sweeps = oxygen.times_us.iter().enumerate().map(sweep).collect::<Result<Vec<_>, Stopped>>()?;
    let truth = options.truth_grid.as_ref().map(|grid| phantom.oxygen_truth(grid, task)).transpose()?;
    if let Some(first) = sweeps.first_mut() {
        first.notices.clone_from(&phantom.notices);
        first.notices.push(Notice::info(format!("Relaxation by the calibration {}", oxygen.calibration.text())));
    }
    Ok(OxygenScan { sweeps, truth })
}

impl Phantom {
    /// Returns the signal at a time in place of the density.
    fn at(&self, time_us: f64, oxygen: &OxygenOptions) -> Self {
        let factor = |po2: f64| {
            let decay = (-oxygen.calibration.rate_per_us(po2) * time_us).exp();
            match oxygen.calibration.rate {
                RelaxationRate::R1 => 1.0 - 2.0 * oxygen.inversion * decay,
                RelaxationRate::R2 => decay,
            }
        };
        self.weighted(factor)
    }

    /// Returns the same with the oxygen pressure in the names of the regions.
    fn with_oxygen_in_names(&self) -> Self {
        let named = |(index, roi): (usize, &Roi)| {
            let po2 = self.weighted(|po2| po2).density_at(roi.centre_mm) / self.density_at(roi.centre_mm);
            Roi { name: format!("part {}, {po2} torr", index + 1), ..roi.clone() }
        };
        Self { rois: self.rois.iter().enumerate().map(named).collect(), ..self.clone() }
    }

    /// Returns the same with each density multiplied by a function of the oxygen pressure.
    fn weighted(&self, factor: impl Fn(f64) -> f64) -> Self {
        let part = |(part, po2): (&Part, &f64)| Part { density: part.density * factor(*po2), ..part.clone() };
        Self { parts: self.parts.iter().zip(&self.oxygen_torr).map(part).collect(), ..self.clone() }
    }

    /// Returns the true oxygen pressure on a grid.
    fn oxygen_truth(&self, grid: &Grid, task: &Task) -> Result<Volume, Stopped> {
        let density = self.truth(grid, task)?;
        let mut truth = self.weighted(|po2| po2).truth(grid, task)?;
        truth.as_mut_slice().iter_mut().zip(density.as_slice()).for_each(|(sum, spins)| *sum /= spins);
        truth.unit = Unit::Torr;
        Ok(truth)
    }
}
