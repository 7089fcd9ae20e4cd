//! The fit of shift, drift and gain.

use super::angular::{Column, angular_functions, num_distinct, num_functions};
use super::measurements::{Frequency, Measurements};
use super::orthonormal::{NUM_FACTORS, Orthonormal, product};
use super::small_matrix::{inverse, least_squares, sandwich};
use crate::data::{Direction, Sweep};
use crate::fft::Complex;
use crate::geometry::dot;
use crate::statistics::median;

/// Fewest distinct directions.
const MIN_DIRECTIONS: usize = 8;

/// Fewest frequencies: they have to separate a shift from a phase.
const MIN_FREQUENCIES: usize = 3;

/// Part of the directions that is the largest number of angular functions of one parity.
const MAX_FUNCTIONS: f64 = 0.6;

/// Largest degrees, of a slice and of a volume.
const MAX_DEGREES: [usize; 2] = [40, 12];

/// Degrees beyond |ω| R, where the transform of an object of the radius R still has something.
const MARGIN: f64 = 2.0;

/// Radii of the object that are tried, parts of the length of the sweep: the smallest one with which the fit is as good.
const RADII: [f64; 3] = [0.45, 0.32, 0.23];

/// Standard deviations by which a fit with a smaller radius may be worse.
const MAX_WORSE: f64 = 4.0;

/// Largest shift that is tried, part of the length of the sweep.
const MAX_SHIFT: f64 = 1.0 / 6.0;

/// Smallest part of the variance of the times that is outside a constant and the directions, whose drifts are a shift and a translation.
const MIN_VARIANCE: f64 = 0.01;

/// Smallest information of the signal on a drift, over the information that noise simulates.
const MIN_INFORMATION: f64 = 3.0;

/// Largest number of iterations.
const MAX_ITERATIONS: usize = 8;

/// Mean square residual of a projection, of the median of all, above which it has less weight.
const MAX_MISFIT: f64 = 4.0;

/// Numbers of the parameters; the last one is the phase.
const SHIFT: usize = 0;
const DRIFT: usize = 1;
const GAIN: usize = 2;

/// Shift and drift in samples, relative change of the gain, phase in radians.
type Parameters = [f64; NUM_FACTORS];

/// A number and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WithError {
    /// The number.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// Standard errors beyond which a difference is taken as real.
const NUM_ERRORS: f64 = 5.0;

impl WithError {
    /// Returns true if the number differs from 0 by more than five standard errors and more than a threshold.
    pub fn exceeds(&self, threshold: f64) -> bool {
        self.value.abs() > (NUM_ERRORS * self.standard_error).max(threshold)
    }

    fn times(self, factor: f64) -> Self {
        Self { value: factor * self.value, standard_error: factor.abs() * self.standard_error }
    }
}

/// Field and gain of projections relative to their reference spectrum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldFit {
    /// Field of the lines of the projections minus that of the line of the reference spectrum, mT, in the middle of the acquisition.
    pub shift_mt: WithError,
    /// Change of this field from the first to the last projection, mT; `None` where the projections do not show it, as in a half circle in
    /// order, where a drift is nearly a translation of the object.
    pub drift_mt: Option<WithError>,
    /// Change of the gain from the first to the last projection, of the mean gain.
    pub gain: WithError,
    /// Amount of the probe, relative to the one of the reference spectrum: negative if one of them has the other sign.
    pub amount: WithError,
}

impl FieldFit {
    /// Fits shift, drift and gain; `None` of pulses, without a reference spectrum, with fewer than 8 distinct directions, and where the
    /// projections have no signal or do not show a shift.
    pub fn of(sweep: &Sweep) -> Option<Self> {
        let measurements = Measurements::of(sweep)?;
        let mut fit = Fit::new(&measurements, sweep.space.is_slice())?;
        let start = fit.scanned();
        let mut best = fit.refined(RADII[0], start, false)?;
        fit.centre = fit.centroid(&best);
        let mut radius = RADII[0];
        for smaller in RADII.into_iter().skip(1) {
            let Some(found) = fit.refined(smaller, best.parameters, false).filter(|found| !found.is_worse_than(&best)) else {
                break;
            };
            (best, radius) = (found, smaller);
        }
        if radius == RADII[0] {
            fit.centre = [0.0; 3];
        }
        let drifting = measurements.separate_drift().then(|| fit.refined(radius, best.parameters, true)).flatten();
        let drifting = drifting.filter(|drifting| drifting.information > MIN_INFORMATION);
        let step_mt = measurements.step_mt();
        let of = |solution: &Solution, index: usize| WithError {
            value: solution.parameters[index],
            standard_error: solution.errors[index],
        };
        let drift = drifting.as_ref().map(|drifting| of(drifting, DRIFT));
        // A clear drift is a part of the model; else its error would be one of the shift.
        let best = drifting.filter(|_| drift.is_some_and(|drift| drift.exceeds(0.0))).unwrap_or(best);
        let shift = of(&best, SHIFT);
        let amount = measurements.amount(shift.value)?;
        amount.exceeds(0.0).then(|| Self {
            shift_mt: shift.times(step_mt),
            drift_mt: drift.map(|drift| drift.times(step_mt)),
            gain: of(&best, GAIN),
            amount,
        })
    }
}

impl Measurements<'_> {
    /// Returns true if a drift of the field is neither a shift nor a translation of the object, by the order of the directions.
    fn separate_drift(&self) -> bool {
        let row = |index: usize| {
            let [x, y, z] = self.directions[index];
            [1.0, x, y, z]
        };
        // (A slice has nothing along its normal.)
        let rows = (0..self.len()).map(|index| (row(index), 1.0, self.times[index]));
        let Some(fitted) = least_squares(rows, 1e-6 * self.len() as f64) else { return false };
        let rest = (0..self.len()).map(|index| (self.times[index] - product(&row(index), &fitted)).powi(2)).sum::<f64>();
        let mean = self.times.iter().sum::<f64>() / self.len() as f64;
        rest > MIN_VARIANCE * self.times.iter().map(|time| (time - mean).powi(2)).sum::<f64>()
    }

    /// Returns the amount of the probe, by the real part of P/H at half the lowest frequency of the sweep, where it has the sign of
    /// an object of any shape; `None` where that is not known.
    fn amount(&self, shift: f64) -> Option<WithError> {
        let real = |frequency: Frequency| -> Vec<f64> {
            let turned = frequency.values.iter().zip(&self.stretches);
            turned.map(|(value, stretch)| (value * Complex::from_polar(1.0, frequency.omega * stretch * shift)).re).collect()
        };
        let values = real(self.at(0.5)?);
        let value = crate::statistics::mean(&values)?;
        let standard_error = crate::statistics::standard_deviation(&values)? / (values.len() as f64).sqrt();
        // Baselines act on the lowest frequency most: the next one has to agree.
        let next = crate::statistics::mean(&real(self.at(1.0)?))?;
        (value * next > 0.0).then_some(WithError { value, standard_error })
    }
}

/// A fit with the functions of one radius.
struct Solution {
    parameters: Parameters,
    errors: Parameters,
    /// Sums of squares and degrees of freedom of the frequencies.
    rests: Vec<(f64, f64)>,
    /// The transform of the object at the lowest frequency.
    lowest: Vec<Complex<f64>>,
    /// Information of the signal on a drift, over what noise adds to the squares.
    information: f64,
}

impl Solution {
    /// Returns true if the residuals with fewer functions are clearly larger than those with more, `other`.
    fn is_worse_than(&self, other: &Self) -> bool {
        let both = self.rests.iter().zip(&other.rests);
        let (excess, num) = both.fold((0.0, 0.0), |(excess, num), ((small, of_small), (big, of_big))| {
            (excess + (small - big) / (big / of_big), num + of_small - of_big)
        });
        num > 0.0 && excess / num > 1.0 + MAX_WORSE * (2.0 / num).sqrt()
    }
}

/// Frequencies, functions and weights of a fit.
struct Fit<'a> {
    measurements: &'a Measurements<'a>,
    frequencies: Vec<Frequency>,
    functions: [Vec<Column>; 2],
    max_degree: usize,
    /// Centre of the object along the directions, samples.
    centre: Direction,
    /// Weights of the projections.
    weights: Vec<f64>,
    /// Functions of all frequencies where gradients have one size, else of each frequency.
    bases: Vec<Orthonormal>,
}

impl<'a> Fit<'a> {
    fn new(measurements: &'a Measurements<'a>, is_slice: bool) -> Option<Self> {
        let num_directions = num_distinct(&measurements.directions);
        if num_directions < MIN_DIRECTIONS {
            return None;
        }
        let most = (MAX_FUNCTIONS * num_directions as f64) as usize;
        let cap = MAX_DEGREES[usize::from(!is_slice)];
        let max_degree = (0..=cap).take_while(|degree| num_functions(is_slice, *degree) <= most).last()?;
        let functions = angular_functions(&measurements.directions, is_slice, max_degree);
        let wanted = (1..).take_while(|multiple| degree_at(*multiple, RADII[RADII.len() - 1]) <= max_degree);
        let frequencies = wanted.map_while(|multiple| measurements.at(f64::from(multiple))).collect();
        let weights = vec![1.0; measurements.len()];
        let fit = Self { measurements, frequencies, functions, max_degree, centre: [0.0; 3], weights, bases: Vec::new() };
        let fit = fit.with_bases();
        (fit.num_used(RADII[0]) >= MIN_FREQUENCIES).then_some(fit)
    }

    /// Returns the number of frequencies whose functions of a radius are few enough.
    fn num_used(&self, radius: f64) -> usize {
        (1..).zip(&self.frequencies).take_while(|(multiple, _)| degree_at(*multiple, radius) <= self.max_degree).count()
    }

    /// Makes the functions orthonormal under the present weights.
    fn with_bases(self) -> Self {
        let num = if self.measurements.has_one_size { 1 } else { self.frequencies.len() };
        let Measurements { stretches, times, .. } = self.measurements;
        let drifts = stretches.iter().zip(times).map(|(stretch, time)| stretch * time).collect::<Vec<f64>>();
        let factors = || [stretches.clone(), drifts.clone(), times.clone(), vec![1.0; times.len()]];
        let bases = (0..num).map(|index| Orthonormal::new(&self.functions, &self.roots(index), factors())).collect();
        Self { bases, ..self }
    }

    fn base(&self, index: usize) -> &Orthonormal {
        &self.bases[if self.measurements.has_one_size { 0 } else { index }]
    }

    /// Returns the square roots of the weights at a frequency. (Under gradients of one size, |H| is the same for all projections.)
    fn roots(&self, index: usize) -> Vec<f64> {
        let roots = self.weights.iter().map(|weight| weight.sqrt());
        match self.measurements.has_one_size {
            true => roots.collect(),
            false => roots.zip(&self.frequencies[index].weights).map(|(root, size)| root * size).collect(),
        }
    }

    /// Returns the weighted real and imaginary parts of the transform of the object at a frequency, with these parameters.
    fn corrected(&self, index: usize, parameters: &Parameters) -> [Vec<f64>; 2] {
        let Frequency { omega, values, .. } = &self.frequencies[index];
        let Measurements { stretches, times, directions, .. } = self.measurements;
        let roots = self.roots(index);
        let at = |i: usize| {
            let [shift, drift, gain, phase] = *parameters;
            let angle = omega * (stretches[i] * (shift + drift * times[i]) + dot(directions[i], self.centre)) + phase;
            values[i] * Complex::from_polar(roots[i] / (1.0 + gain * times[i]), angle)
        };
        let values: Vec<Complex<f64>> = (0..values.len()).map(at).collect();
        [values.iter().map(|value| value.re).collect(), values.iter().map(|value| value.im).collect()]
    }

    /// Returns the parameters with the shift of the smallest residuals, of shifts at equal distances.
    fn scanned(&self) -> Parameters {
        let num_used = self.num_used(RADII[0]);
        let largest = MAX_SHIFT * self.measurements.num_points();
        let highest = self.frequencies[..num_used].iter().map(|frequency| frequency.omega).fold(0.0, f64::max);
        let num = (largest * highest / 0.5).ceil().max(1.0) as i64;
        let objective = |shift: f64| -> f64 {
            let of = |index: usize| {
                let (base, degree) = (self.base(index), degree_at(index as u32 + 1, RADII[0]));
                let [real, imaginary] = self.corrected(index, &[shift, 0.0, 0.0, 0.0]);
                let freedom = 2.0 * self.weights.len() as f64 - base.num_up_to(degree) as f64;
                let rest = base.rest(0, degree, &real) + base.rest(1, degree, &imaginary);
                freedom * rest.max(f64::MIN_POSITIVE).ln()
            };
            (0..num_used).map(of).sum()
        };
        let shifts = (-num..=num).map(|step| largest * step as f64 / num as f64);
        let best = shifts.map(|shift| (shift, objective(shift))).min_by(|a, b| a.1.total_cmp(&b.1));
        [best.map_or(0.0, |(shift, _)| shift), 0.0, 0.0, 0.0]
    }

    /// Returns the centroid of the object by the phase of its transform at the lowest frequency, samples.
    fn centroid(&self, solution: &Solution) -> Direction {
        let sign = solution.lowest.iter().map(|value| value.re).sum::<f64>().signum();
        let row =
            |(value, n): (&Complex<f64>, &Direction)| (*n, value.norm_sqr(), -(value * sign).arg() / self.frequencies[0].omega);
        let size: f64 = solution.lowest.iter().map(Complex::norm_sqr).sum();
        // (A slice has nothing along its normal.)
        let rows = solution.lowest.iter().zip(&self.measurements.directions).map(row);
        least_squares(rows, 1e-6 * size).unwrap_or_default()
    }

    /// Fits from these parameters on, with the functions of a radius; `None` where the projections do not determine them.
    fn refined(&mut self, radius: f64, start: Parameters, with_drift: bool) -> Option<Solution> {
        let (mut parameters, mut solution) = (start, None);
        let limit = self.measurements.num_points() / 20.0;
        for _ in 0..MAX_ITERATIONS {
            let Step { change, errors, rests, lowest, misfits, information } = self.step(radius, &parameters, with_drift)?;
            let limits = [limit, limit, 0.5, 0.5];
            (0..NUM_FACTORS).for_each(|j| parameters[j] += change[j].clamp(-limits[j], limits[j]));
            parameters[GAIN] = parameters[GAIN].clamp(-1.8, 1.8);
            let is_small = (0..NUM_FACTORS).all(|j| change[j].abs() <= 0.02 * errors[j]);
            solution = Some(Solution { parameters, errors, rests, lowest, information });
            let is_same = self.reweigh(&misfits);
            if is_small && is_same {
                break;
            }
        }
        solution
    }

    /// Gives projections with large residuals less weight; returns true if hardly any weight has changed.
    fn reweigh(&mut self, misfits: &[f64]) -> bool {
        let limit = MAX_MISFIT * median(misfits.to_vec()).unwrap_or(0.0);
        let weights: Vec<f64> = misfits.iter().map(|misfit| if *misfit > limit { limit / misfit } else { 1.0 }).collect();
        let changed = weights.iter().zip(&self.weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        if changed < 0.01 || limit == 0.0 {
            return true;
        }
        let Self { measurements, frequencies, functions, max_degree, centre, .. } = self;
        let fit = Fit {
            measurements,
            frequencies: std::mem::take(frequencies),
            functions: std::mem::take(functions),
            max_degree: *max_degree,
            centre: *centre,
            weights,
            bases: Vec::new(),
        };
        *self = fit.with_bases();
        false
    }

    /// One step of Gauss and Newton.
    fn step(&self, radius: f64, parameters: &Parameters, with_drift: bool) -> Option<Step> {
        let num = self.weights.len();
        let num_used = self.num_used(radius);
        let Measurements { stretches, times, .. } = self.measurements;
        let (mut squares, mut by_noise, mut score) =
            ([[0.0; NUM_FACTORS]; NUM_FACTORS], [[0.0; NUM_FACTORS]; NUM_FACTORS], [0.0; NUM_FACTORS]);
        let mut of_scores = [[0.0; NUM_FACTORS]; NUM_FACTORS];
        let (mut rests, mut lowest, mut misfits) = (Vec::new(), Vec::new(), vec![0.0; num]);
        let is_free = |j: usize| with_drift || j != DRIFT;
        for index in 0..num_used {
            let (base, degree, omega) = (self.base(index), degree_at(index as u32 + 1, radius), self.frequencies[index].omega);
            let [mut real, mut imaginary] = self.corrected(index, parameters);
            let energy = product(&real, &real) + product(&imaginary, &imaginary);
            let [of_real, of_imaginary] = [base.take_off(0, degree, &mut real), base.take_off(1, degree, &mut imaginary)];
            let freedom = 2.0 * num as f64 - base.num_up_to(degree) as f64;
            let rest = product(&real, &real) + product(&imaginary, &imaginary);
            let variance = (rest / freedom).max(1e-24 * energy / num as f64).max(f64::MIN_POSITIVE);
            let column = |j: usize| {
                let factor = |i: usize| match j {
                    SHIFT => omega * stretches[i],
                    DRIFT => omega * stretches[i] * times[i],
                    GAIN => times[i],
                    _ => 1.0,
                };
                let of = |values: &[f64], sign: f64| (0..num).map(|i| sign * factor(i) * values[i]).collect::<Vec<f64>>();
                let [mut a, mut b] = match j {
                    GAIN => [of(&of_real, -1.0), of(&of_imaginary, -1.0)],
                    _ => [of(&of_imaginary, -1.0), of(&of_real, 1.0)],
                };
                base.take_off(0, degree, &mut a);
                base.take_off(1, degree, &mut b);
                [a, b]
            };
            let columns: [[Vec<f64>; 2]; NUM_FACTORS] = std::array::from_fn(column);
            let with =
                |j: usize, other: [&[f64]; 2]| (product(&columns[j][0], other[0]) + product(&columns[j][1], other[1])) / variance;
            let scores: Parameters = std::array::from_fn(|j| if is_free(j) { with(j, [&real, &imaginary]) } else { 0.0 });
            let power = |j: usize| if j == SHIFT || j == DRIFT { omega } else { 1.0 };
            for (j, own) in scores.iter().enumerate() {
                score[j] += own;
                for (k, other) in scores.iter().enumerate().take(j + 1) {
                    of_scores[j][k] += own * other;
                    if is_free(j) && is_free(k) {
                        squares[j][k] += with(j, [&columns[k][0], &columns[k][1]]);
                        by_noise[j][k] += power(j) * power(k) * base.by_noise(degree, j, k);
                    }
                }
            }
            for (i, misfit) in misfits.iter_mut().enumerate() {
                let part = self.weights[i] * base.leverage(degree, i).max(0.05);
                *misfit += (real[i].powi(2) + imaginary[i].powi(2)) / (2.0 * variance * part * num_used as f64);
            }
            if index == 0 {
                let roots = self.roots(0);
                lowest = (0..num).map(|i| Complex::new(of_real[i], of_imaginary[i]) / roots[i]).collect();
            }
            rests.push((rest, freedom));
        }
        let num_free = if with_drift { NUM_FACTORS } else { NUM_FACTORS - 1 };
        let by_frequency = num_used as f64 / num_used.saturating_sub(num_free).max(1) as f64;
        let full = |matrix: &[[f64; NUM_FACTORS]; NUM_FACTORS]| -> [[f64; NUM_FACTORS]; NUM_FACTORS] {
            std::array::from_fn(|j| std::array::from_fn(|k| if k > j { matrix[k][j] } else { matrix[j][k] }))
        };
        let [mut squares, by_noise, of_scores] = [full(&squares), full(&by_noise), full(&of_scores)];
        if !with_drift {
            squares[DRIFT][DRIFT] = 1.0;
        }
        // The squares by noise alone determine nothing.
        let signal = std::array::from_fn(|j| std::array::from_fn(|k| squares[j][k] - by_noise[j][k]));
        let inverse = inverse(&signal)?;
        let [of_noise, of_scatter] = [sandwich(&inverse, &squares), sandwich(&inverse, &of_scores)];
        let error = |j: usize| of_noise[j][j].max(by_frequency * of_scatter[j][j]).sqrt();
        let change = inverse.map(|row| -row.iter().zip(&score).map(|(a, b)| a * b).sum::<f64>());
        let information = 1.0 / (inverse[DRIFT][DRIFT] * by_noise[DRIFT][DRIFT].max(f64::MIN_POSITIVE));
        Some(Step { change, errors: std::array::from_fn(error), rests, lowest, misfits, information })
    }
}

/// Results of one step.
struct Step {
    change: Parameters,
    errors: Parameters,
    rests: Vec<(f64, f64)>,
    lowest: Vec<Complex<f64>>,
    information: f64,
    /// Mean square residual of each projection, of the variance.
    misfits: Vec<f64>,
}

/// Returns the largest degree of the functions at a multiple of the lowest frequency, for a radius that is a part of the length.
fn degree_at(multiple: u32, radius: f64) -> usize {
    (std::f64::consts::TAU * f64::from(multiple) * radius + MARGIN).ceil() as usize
}
