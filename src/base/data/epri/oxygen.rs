//! Oxygen from a relaxation rate of a spin probe: pO₂ = slope · (R − intercept).
//!
//! A relaxation rate of a dissolved probe grows linearly with the oxygen about it. R₁ is less sensitive to the concentration of the
//! probe than R₂ (Epel et al., Magn Reson Med 2014, mrm.24926). Pages on R₂ use the linewidth LLW = R₂/(2π · 2.802 MHz/G) in its place.

use std::f64::consts::TAU;

use super::sweep::{Projection, Sweep};

/// Electron's frequency in a field, MHz/G.
const MHZ_PER_GAUSS: f64 = 2.802;

/// Linewidth of a rate of 1/µs, mG.
pub const MILLIGAUSS_PER_RATE: f64 = 1e3 / (TAU * MHZ_PER_GAUSS);

/// Returns the rate R₂ with this half width at half maximum of a Lorentzian line, mT; 1/µs.
pub fn rate_of_linewidth(half_width_mt: f64) -> f64 {
    // (1 mT = 10⁴ mG.)
    1e4 * half_width_mt / MILLIGAUSS_PER_RATE
}

/// A relaxation rate, 1/µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum RelaxationRate {
    /// Spin–lattice relaxation, from images at several delays after an inversion or a saturation.
    R1,
    /// Spin–spin relaxation, from images at several echo times.
    R2,
}

impl RelaxationRate {
    /// Returns the name in files: "r1".
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the label: "R1".
    pub fn label(self) -> &'static str {
        match self {
            RelaxationRate::R1 => "R1",
            RelaxationRate::R2 => "R2",
        }
    }
}

/// Calibration of a probe in a medium, and its source.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OxygenCalibration {
    /// Name on the command line.
    pub name: String,
    /// Name in texts.
    pub title: String,
    /// Publication of the numbers.
    pub source: String,
    /// Measured rate.
    pub rate: RelaxationRate,
    /// Oxygen pressure per rate, torr·µs.
    pub slope_torr_us: f64,
    /// Rate without oxygen, 1/µs.
    pub intercept_per_us: f64,
}

impl OxygenCalibration {
    /// Returns the oxygen pressure at a rate, torr.
    pub fn po2_torr(&self, rate_per_us: f64) -> f64 {
        self.slope_torr_us * (rate_per_us - self.intercept_per_us)
    }

    /// Returns the standard deviation of the pressure from that of the rate, torr.
    pub fn po2_sd_torr(&self, rate_sd_per_us: f64) -> f64 {
        self.slope_torr_us * rate_sd_per_us
    }

    /// Returns the rate at an oxygen pressure, 1/µs.
    pub fn rate_per_us(&self, po2_torr: f64) -> f64 {
        self.intercept_per_us + po2_torr / self.slope_torr_us
    }

    /// Describes it: title and formula.
    pub fn text(&self) -> String {
        let Self { title, rate, slope_torr_us, intercept_per_us, .. } = self;
        format!("{title}: pO2 = {slope_torr_us:.3} torr·µs × ({} − {intercept_per_us:.4}/µs)", rate.label())
    }
}

/// Pulse acquisitions of the same object at several delays or echo times.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct OxygenSeries {
    /// Delays after the inversion (R₁) or echo times (R₂), µs, in the order of reconstruction.
    pub times_us: Vec<f64>,
    /// An acquisition for each time.
    pub sweeps: Vec<Sweep>,
    /// Calibration of the probe.
    pub calibration: OxygenCalibration,
}

/// Largest difference of a direction of two acquisitions of a series.
const SAME_DIRECTION: f64 = 1e-2;

/// Reason why an acquisition does not belong to the series of a first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeriesProblem {
    /// Pulses and spectra.
    #[error("it is continuous-wave, or the first acquisition is")]
    Kind,
    /// A slice and a volume, or slices along other axes.
    #[error("one of it and the first acquisition is a slice, the other is a volume or another slice")]
    Space,
    /// Another number of samples, or another extent.
    #[error("its projections have other samples or another extent than those of the first acquisition")]
    Sampling,
    /// Other directions.
    #[error("its projections have other directions, or another number, than those of the first acquisition")]
    Directions,
    /// The data of another time.
    #[error("it has the data of acquisition {0} of the series: was a file named twice?")]
    SameData(usize),
}

/// Returns the first acquisition, by its index, that does not belong to a series of pulse oximetry, with the reason.
pub fn not_of_a_series(sweeps: &[Sweep]) -> Option<(usize, SeriesProblem)> {
    let first = sweeps.first()?;
    let is_other =
        |a: &Projection, b: &Projection| (0..3).any(|axis| (a.direction[axis] - b.direction[axis]).abs() > SAME_DIRECTION);
    let problem = |index: usize, sweep: &Sweep| {
        let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-3 * first.step_mm * first.num_points as f64;
        if sweep.is_continuous_wave() != first.is_continuous_wave() {
            return Some(SeriesProblem::Kind);
        }
        if sweep.space != first.space {
            return Some(SeriesProblem::Space);
        }
        let (extent, centre) = ([sweep.extent_mm(), first.extent_mm()], [sweep, first].map(|of| of.centre * of.step_mm));
        if sweep.num_points != first.num_points || !is_near(extent[0], extent[1]) || !is_near(centre[0], centre[1]) {
            return Some(SeriesProblem::Sampling);
        }
        let mut pairs = sweep.projections.iter().zip(&first.projections);
        if sweep.num_complete() != first.num_complete() || pairs.any(|(a, b)| is_other(a, b)) {
            return Some(SeriesProblem::Directions);
        }
        let has_same = |earlier: &Sweep| earlier.projections.iter().zip(&sweep.projections).all(|(a, b)| a.values == b.values);
        let twin = sweeps[..index].iter().position(|earlier| sweep.num_complete() > 0 && has_same(earlier));
        twin.map(|earlier| SeriesProblem::SameData(earlier + 1))
    };
    sweeps.iter().enumerate().skip(1).find_map(|(index, sweep)| Some((index, problem(index, sweep)?)))
}

impl OxygenSeries {
    /// Returns acquisitions in the order of reconstruction: first the time with the most signal, then the other end, then each time as
    /// far as possible from those before. So a few images span the recovery or decay.
    pub fn spread(acquisitions: Vec<(f64, Sweep)>, calibration: OxygenCalibration) -> Self {
        let mut rest = acquisitions;
        rest.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        if calibration.rate == RelaxationRate::R1 {
            rest.reverse();
        }
        let mut rest: Vec<(usize, (f64, Sweep))> = rest.into_iter().enumerate().collect();
        let (mut ranks, mut ordered): (Vec<usize>, Vec<(f64, Sweep)>) = (Vec::new(), Vec::new());
        while !rest.is_empty() {
            let distance = |rank: usize| ranks.iter().map(|taken| taken.abs_diff(rank)).min().unwrap_or(0);
            // (Of equal distances the first: `max_by_key` would take the last.)
            let farthest = (0..rest.len()).rev().max_by_key(|&index| distance(rest[index].0)).unwrap_or(0);
            let (rank, acquisition) = rest.remove(farthest);
            ranks.push(rank);
            ordered.push(acquisition);
        }
        let (times_us, sweeps) = ordered.into_iter().unzip();
        Self { times_us, sweeps, calibration }
    }

    /// Returns the name of a time in a sentence: "delay".
    pub fn time_name(&self) -> &'static str {
        match self.calibration.rate {
            RelaxationRate::R1 => "delay",
            RelaxationRate::R2 => "echo time",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{GradientAxis, SweepKind, SweepMetadata, SweepSpace};

    #[test]
    fn what_is_no_acquisition_of_the_series_is_named() {
        let projection = |angle: f64, value: f32| Projection {
            direction: [angle.cos(), angle.sin(), 0.0],
            weight: 1.0,
            values: vec![value, 2.0, 3.0].into(),
        };
        let sweep = |value: f32| Sweep {
            kind: SweepKind::Pulse,
            space: SweepSpace::Slice([GradientAxis::X, GradientAxis::Y]),
            num_points: 3,
            step_mm: 1.0,
            centre: 1.0,
            projections: vec![projection(0.0, value), projection(1.0, value)],
            num_expected: Some(2),
            secs_per_projection: None,
            facts: SweepMetadata::default(),
        };
        let of_last = |last: Sweep| not_of_a_series(&[sweep(1.0), sweep(2.0), last]);
        assert_eq!(of_last(sweep(3.0)), None);
        assert_eq!(of_last(sweep(2.0)), Some((2, SeriesProblem::SameData(2))));
        let wave = SweepKind::ContinuousWave { step_mt: 1.0, gradient_mt_per_mm: 1.0, reference: None };
        assert_eq!(of_last(Sweep { kind: wave, ..sweep(3.0) }), Some((2, SeriesProblem::Kind)));
        assert_eq!(of_last(Sweep { space: SweepSpace::Volume, ..sweep(3.0) }), Some((2, SeriesProblem::Space)));
        assert_eq!(of_last(Sweep { step_mm: 1.1, ..sweep(3.0) }), Some((2, SeriesProblem::Sampling)));
        let turned = Sweep { projections: vec![projection(0.0, 3.0), projection(1.2, 3.0)], ..sweep(3.0) };
        assert_eq!(of_last(turned), Some((2, SeriesProblem::Directions)));
        let short = Sweep { projections: vec![projection(0.0, 3.0)], ..sweep(3.0) };
        assert_eq!(of_last(short), Some((2, SeriesProblem::Directions)));
    }

    #[test]
    fn the_first_times_span_all() {
        let sweep = Sweep {
            kind: SweepKind::Pulse,
            space: SweepSpace::Volume,
            num_points: 3,
            step_mm: 1.0,
            centre: 1.0,
            projections: Vec::new(),
            num_expected: None,
            secs_per_projection: None,
            facts: SweepMetadata::default(),
        };
        let order = |rate| {
            let [name, title, source] = ["probe"; 3].map(str::to_owned);
            let calibration = OxygenCalibration { name, title, source, rate, slope_torr_us: 100.0, intercept_per_us: 0.2 };
            let times = [1.0, 2.0, 3.0, 5.0, 8.0];
            OxygenSeries::spread(times.map(|time| (time, sweep.clone())).to_vec(), calibration).times_us
        };
        assert_eq!(order(RelaxationRate::R1), [8.0, 1.0, 3.0, 5.0, 2.0]);
        assert_eq!(order(RelaxationRate::R2), [1.0, 8.0, 3.0, 2.0, 5.0]);
    }
}
