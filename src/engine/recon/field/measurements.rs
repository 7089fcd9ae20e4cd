//! Transforms of projections over that of the reference spectrum, at low frequencies.

use std::f64::consts::TAU;

use rayon::prelude::*;

use crate::data::{Direction, Projection, ReferenceSpectrum, Sweep, SweepKind};
use crate::fft::Complex;
use crate::recon::fbp::{Baseline, BaselineFit};
use crate::recon::reference::reference_spectrum_at;
use crate::statistics::median;

/// Smallest gradient, of the largest one, whose projections are used.
const MIN_GRADIENT: f64 = 0.5;

/// Most projections: of more, every second, third, … is used.
const MAX_PROJECTIONS: usize = 500;

/// Sizes of gradients that differ by less are one.
const SAME_GRADIENT: f64 = 1e-3;

/// Part of the projections with one size of the gradient, from which on others are left out.
const MOST: f64 = 0.8;

/// Projections along unit vectors, at times −½ … ½.
pub(super) struct Measurements<'a> {
    sweep: &'a Sweep,
    reference: &'a ReferenceSpectrum,
    step_mt: f64,
    rows: Vec<Vec<f64>>,
    pub directions: Vec<Direction>,
    pub times: Vec<f64>,
    /// Largest gradient over that of each projection.
    pub stretches: Vec<f64>,
    /// True if all gradients have one size.
    pub has_one_size: bool,
}

/// P/H of all projections at one frequency.
pub(super) struct Frequency {
    /// The frequency of the object, radians a sample of the projections under the largest gradient.
    pub omega: f64,
    pub values: Vec<Complex<f64>>,
    /// |H| over its root mean square.
    pub weights: Vec<f64>,
}

/// Returns projections without the few whose gradients have another size than the others: such a size is rather a mistake of the file.
fn without_odd_sizes(used: Vec<(usize, &Projection)>) -> Vec<(usize, &Projection)> {
    let size = median(used.iter().map(|(_, projection)| projection.gradient()).collect()).unwrap_or(1.0);
    let is_usual = |(_, projection): &(usize, &Projection)| (projection.gradient() - size).abs() < SAME_GRADIENT;
    let num_usual = used.iter().filter(|of| is_usual(of)).count();
    let are_few_odd = num_usual as f64 >= MOST * used.len() as f64;
    used.into_iter().filter(|of| !are_few_odd || is_usual(of)).collect()
}

impl<'a> Measurements<'a> {
    /// Returns the continuous-wave projections with a reference spectrum; `None` of others.
    pub fn of(sweep: &'a Sweep) -> Option<Self> {
        let SweepKind::ContinuousWave { reference: Some(reference), step_mt, .. } = &sweep.kind else { return None };
        let num = sweep.projections.len();
        let is_used = |(index, projection): &(usize, &Projection)| {
            index % num.div_ceil(MAX_PROJECTIONS) == 0
                && projection.gradient() > MIN_GRADIENT
                && projection.values.len() == sweep.num_points
                && projection.values.iter().all(|value| value.is_finite())
        };
        let used: Vec<(usize, &Projection)> = sweep.projections.iter().enumerate().filter(is_used).collect();
        let used = without_odd_sizes(used);
        let baseline = BaselineFit::new(Baseline::Line, sweep.num_points);
        let row = |(_, projection): &(usize, &Projection)| {
            let mut row: Vec<f64> = projection.values.iter().map(|value| f64::from(*value)).collect();
            baseline.subtract(&mut row);
            row
        };
        let sizes: Vec<f64> = used.iter().map(|(_, projection)| projection.gradient()).collect();
        let [smallest, largest] = [f64::min, f64::max].map(|of| sizes.iter().copied().reduce(of).unwrap_or(1.0));
        let has_one_size = largest - smallest < SAME_GRADIENT;
        let unit = |((_, projection), size): (&(usize, &Projection), &f64)| projection.direction.map(|value| value / size);
        let last = num.saturating_sub(1).max(1) as f64;
        Some(Self {
            sweep,
            reference,
            step_mt: *step_mt,
            rows: used.par_iter().map(row).collect(),
            directions: used.iter().zip(&sizes).map(unit).collect(),
            times: used.iter().map(|(index, _)| *index as f64 / last - 0.5).collect(),
            stretches: sizes.iter().map(|size| if has_one_size { 1.0 } else { 1.0 / size }).collect(),
            has_one_size,
        })
    }

    /// Returns the distance of samples, mT.
    pub fn step_mt(&self) -> f64 {
        self.step_mt
    }

    /// Returns the samples of a projection.
    pub fn num_points(&self) -> f64 {
        self.sweep.num_points as f64
    }

    /// Returns the number of projections.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns P/H at a multiple of the frequency 2π/L; `None` where H is 0 or unusable, and above the frequencies of the samples.
    pub fn at(&self, multiple: f64) -> Option<Frequency> {
        let omega = TAU * multiple / self.sweep.num_points as f64;
        let omegas: Vec<f64> = self.stretches.iter().map(|stretch| omega * stretch).collect();
        if omegas.iter().any(|omega| *omega >= 0.5 * TAU) {
            return None;
        }
        let distinct = if self.has_one_size { &omegas[..1.min(omegas.len())] } else { &omegas };
        let spectra = reference_spectrum_at(distinct, self.reference, self.sweep, self.step_mt).ok()?;
        let spectrum = |index: usize| spectra[if self.has_one_size { 0 } else { index }];
        let square: f64 = (0..self.len()).map(|index| spectrum(index).norm_sqr()).sum::<f64>() / self.len() as f64;
        let transform = |index: usize| {
            let step = Complex::from_polar(1.0, -omegas[index]);
            let start = Complex::from_polar(1.0, omegas[index] * self.sweep.centre);
            // (Horner's rule from the last sample on.)
            start * self.rows[index].iter().rev().fold(Complex::default(), |sum, value| sum * step + value)
        };
        let values: Vec<Complex<f64>> = (0..self.len()).into_par_iter().map(|index| transform(index) / spectrum(index)).collect();
        let weights: Vec<f64> = (0..self.len()).map(|index| spectrum(index).norm() / square.sqrt()).collect();
        let is_usable = square > 0.0 && values.iter().all(|value| value.re.is_finite() && value.im.is_finite());
        is_usable.then_some(Frequency { omega, values, weights })
    }
}
