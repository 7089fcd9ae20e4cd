//! Closed forms: points in a disc or a ball, whose projections are sums of shifted lines.

use rand_distr::{Distribution, StandardNormal, Uniform};

use super::*;
use crate::data::{FieldShift, Projection, ReferenceSpectrum, Sweep, SweepKind, SweepMetadata, SweepSpace};
use crate::random;

const NUM_POINTS: usize = 256;
/// Distance of samples: a sweep of 6 mT.
const STEP_MT: f64 = 6.0 / NUM_POINTS as f64;
/// Under 0.2 mT/mm the sweep is 30 mm long.
const STEP_MM: f64 = STEP_MT / 0.2;

/// An acquisition, with what is wrong in it.
#[derive(Clone, Copy)]
struct Case {
    seed: u64,
    num_projections: usize,
    is_slice: bool,
    is_shuffled: bool,
    /// Half width at half maximum of the Lorentzian line, mT.
    width_mt: f64,
    /// Of the largest sample.
    noise: f64,
    /// Line of each projection against the reference, mT.
    shift_mt: f64,
    drift_mt: f64,
    gain: f64,
    sign: f64,
    /// Smallest gradient, of the largest.
    min_gradient: f64,
    /// Distance of three lines, mT.
    splitting_mt: f64,
    /// Size of a baseline of each projection, of the largest sample.
    baseline: f64,
}

const CLEAN: Case = Case {
    seed: 1,
    num_projections: 48,
    is_slice: true,
    is_shuffled: true,
    width_mt: 0.05,
    noise: 0.01,
    shift_mt: 0.0,
    drift_mt: 0.0,
    gain: 0.0,
    sign: 1.0,
    min_gradient: 1.0,
    splitting_mt: 0.0,
    baseline: 0.0,
};

impl Case {
    /// First derivative of the lines at a field.
    fn line(&self, field_mt: f64) -> f64 {
        let at = |b: f64| -2.0 * self.width_mt * b / (b * b + self.width_mt.powi(2)).powi(2);
        let places: &[f64] = if self.splitting_mt > 0.0 { &[-1.0, 0.0, 1.0] } else { &[0.0] };
        places.iter().map(|place| at(field_mt - place * self.splitting_mt)).sum()
    }

    fn sweep(&self) -> Sweep {
        let mut stream = random::stream(self.seed, 0);
        let mut uniform = |from: f64, to: f64| Uniform::new(from, to).unwrap().sample(&mut stream);
        // 5 mm about a centre at a distance of 3 mm.
        let mut point = || {
            loop {
                let v: [f64; 3] = std::array::from_fn(|_| uniform(-1.0, 1.0));
                if v.iter().map(|x| x * x).sum::<f64>() < 1.0 {
                    return [2.5 + 5.0 * v[0], 1.5 + 5.0 * v[1], -1.0 + 5.0 * v[2]];
                }
            }
        };
        let body: Vec<[f64; 3]> = (0..40).map(|_| point()).collect();
        let num = self.num_projections;
        let direction = |index: usize| {
            let part = (index as f64 + 0.5) / num as f64;
            if self.is_slice {
                let (sin, cos) = (std::f64::consts::PI * part).sin_cos();
                return [cos, sin, 0.0];
            }
            let (sin, cos) = (index as f64 * 2.399_963).sin_cos();
            let rest = (1.0 - part * part).sqrt();
            [rest * cos, rest * sin, part]
        };
        let mut order: Vec<usize> = (0..num).collect();
        if self.is_shuffled {
            order.sort_by_key(|index| (index * 7919 + 13 * self.seed as usize) % 1009);
        }
        let middle = (NUM_POINTS / 2) as f64;
        let mut rows: Vec<([f64; 3], Vec<f64>)> = Vec::new();
        for (number, index) in order.into_iter().enumerate() {
            let time = number as f64 / (num - 1) as f64 - 0.5;
            let size = self.min_gradient + (1.0 - self.min_gradient) * (0.5 + 0.5 * (3.7 * index as f64).cos());
            let n = direction(index).map(|v| size * v);
            let value = |i: usize| {
                let at = |r: &[f64; 3]| {
                    let t = n.iter().zip(r).map(|(n, r)| n * r).sum::<f64>();
                    self.line((i as f64 - middle) * STEP_MT - 0.2 * t - self.shift_mt - self.drift_mt * time)
                };
                self.sign * (1.0 + self.gain * time) * body.iter().map(at).sum::<f64>()
            };
            rows.push((n, (0..NUM_POINTS).map(value).collect()));
        }
        let largest = rows.iter().flat_map(|(_, row)| row).fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let mut normal = || -> f64 { StandardNormal.sample(&mut stream) };
        let mut projections = Vec::new();
        for (direction, row) in rows {
            let [offset, slope] = [normal(), normal()].map(|size| self.baseline * largest * size);
            let noisy = row.into_iter().enumerate().map(|(i, value)| {
                let baseline = offset + slope * (i as f64 / middle - 1.0);
                (value + baseline + self.noise * largest * normal()) as f32
            });
            projections.push(Projection { direction, weight: 1.0, values: noisy.collect() });
        }
        let values = (0..NUM_POINTS).map(|i| self.line((i as f64 - middle) * STEP_MT) as f32).collect();
        let reference = Some(ReferenceSpectrum { values, step_mt: STEP_MT });
        Sweep {
            kind: SweepKind::ContinuousWave { step_mt: STEP_MT, gradient_mt_per_mm: 0.2, reference },
            space: if self.is_slice {
                SweepSpace::Slice([crate::data::GradientAxis::X, crate::data::GradientAxis::Y])
            } else {
                SweepSpace::Volume
            },
            num_points: NUM_POINTS,
            step_mm: STEP_MM,
            centre: middle,
            num_expected: Some(num),
            projections,
            secs_per_projection: None,
            facts: SweepMetadata::default(),
        }
    }
}

/// Asserts that a number is the true one within three standard errors, and that these are small.
fn assert_found(what: &str, found: WithError, truth: f64, largest_error: f64) {
    let WithError { value, standard_error } = found;
    assert!((value - truth).abs() < 3.0 * standard_error, "{what}: {value} ± {standard_error}, expected {truth}");
    assert!(standard_error < largest_error, "{what}: ± {standard_error}");
}

#[test]
fn shift_drift_and_gain_are_found() {
    for width_mt in [0.05, 0.2, 0.4] {
        for (shift_mt, drift_mt, gain) in [(0.03, 0.0, 0.0), (-0.2, 0.03, -0.2), (0.0, -0.03, 0.3), (0.7, 0.0, -0.5)] {
            let case = Case { width_mt, shift_mt, drift_mt, gain, ..CLEAN };
            let fit = FieldFit::of(&case.sweep()).unwrap();
            assert_found("shift", fit.shift_mt, shift_mt, 0.01 + 0.04 * width_mt);
            assert_found("drift", fit.drift_mt.unwrap(), drift_mt, 0.004 + 0.02 * width_mt);
            assert_found("gain", fit.gain, gain, 0.02);
            assert!(fit.amount.value > 0.0);
        }
    }
}

#[test]
fn shifts_are_found_in_volumes_with_hyperfine_lines_and_under_unequal_gradients() {
    let shifted = Case { shift_mt: 0.05, ..CLEAN };
    let volume = Case { is_slice: false, num_projections: 208, ..shifted };
    let [triplet, unequal, opposite] =
        [Case { splitting_mt: 0.6, ..shifted }, Case { min_gradient: 0.8, ..shifted }, Case { sign: -1.0, ..shifted }];
    for case in [volume, triplet, unequal, opposite] {
        let fit = FieldFit::of(&case.sweep()).unwrap();
        assert_found("shift", fit.shift_mt, 0.05, 0.004);
        assert_eq!(fit.amount.value > 0.0, case.sign > 0.0);
    }
}

/// In order, a drift is nearly a translation: its error says so.
#[test]
fn a_drift_in_order_has_a_large_error() {
    let of = |is_shuffled| FieldFit::of(&Case { is_shuffled, drift_mt: 0.03, ..CLEAN }.sweep()).unwrap().drift_mt;
    let [shuffled, in_order] = [true, false].map(of);
    assert!(
        in_order.is_none_or(|drift| drift.standard_error > 10.0 * shuffled.unwrap().standard_error),
        "{in_order:?} {shuffled:?}"
    );
}

/// Along a spiral from pole to equator the time is the coordinate z: a drift is a translation.
#[test]
fn a_drift_that_is_a_translation_is_not_reported() {
    let case = Case { is_slice: false, num_projections: 208, is_shuffled: false, ..CLEAN };
    for seed in 0..6 {
        let fit = FieldFit::of(&Case { seed, noise: 0.001, ..case }.sweep()).unwrap();
        assert_eq!(fit.drift_mt, None);
    }
}

#[test]
fn one_bad_projection_is_no_shift() {
    let mut sweep = CLEAN.sweep();
    let spike = sweep.projections[11].values.iter().rev().map(|value| -3.0 * value).collect();
    sweep.projections[11].values = spike;
    let fit = FieldFit::of(&sweep).unwrap();
    assert!(fit.shift_mt.value.abs() < 0.004 && fit.gain.value.abs() < 0.03, "{fit:?}");
}

#[test]
fn a_shift_of_the_sweep_takes_it_off() {
    let mut sweep = Case { shift_mt: 0.05, ..CLEAN }.sweep();
    sweep.facts.field_shift = Some(FieldShift { shift_mt: 0.05, standard_error_mt: None });
    assert_found("shift", FieldFit::of(&sweep).unwrap().shift_mt, 0.0, 0.004);
}

#[test]
fn warnings_name_what_differs() {
    let texts = |case: Case| field_warnings(&case.sweep()).into_iter().map(|notice| notice.text).collect::<Vec<_>>().join("; ");
    let shifted = texts(Case { shift_mt: 0.03, ..CLEAN });
    assert!(shifted.contains("0.03") && shifted.contains("--field-shift auto") && shifted.contains("0.047 mT wide"), "{shifted}");
    let drifting = texts(Case { drift_mt: 0.03, ..CLEAN });
    assert!(drifting.contains("drifts by 0.0") && !drifting.contains("--field-shift"), "{drifting}");
    let falling = texts(Case { gain: -0.2, ..CLEAN });
    assert!(falling.contains("changes by -2") || falling.contains("changes by -1"), "{falling}");
    let negative = texts(Case { sign: -1.0, ..CLEAN });
    assert!(negative.contains("other sign"), "{negative}");
}

#[test]
fn clean_data_have_no_warning() {
    let cases = [
        CLEAN,
        Case { num_projections: 24, is_shuffled: false, ..CLEAN },
        Case { splitting_mt: 0.6, ..CLEAN },
        Case { min_gradient: 0.8, ..CLEAN },
        Case { baseline: 0.05, ..CLEAN },
        Case { num_projections: 60, is_shuffled: false, ..CLEAN },
        Case { num_projections: 150, is_slice: false, is_shuffled: false, ..CLEAN },
    ];
    for seed in 0..126 {
        let [width_mt, noise] = [[0.05, 0.2, 0.4][seed as usize % 3], [0.001, 0.01, 0.05][seed as usize / 3 % 3]];
        let case = Case { seed, width_mt, noise, ..cases[seed as usize / 9 % cases.len()] };
        let warnings = field_warnings(&case.sweep());
        let (of_sweep, others): (Vec<_>, Vec<_>) = warnings.iter().partition(|warning| warning.text.contains("in its tails"));
        assert!(others.is_empty(), "{seed}: {warnings:?} {:?}", FieldFit::of(&case.sweep()));
        // Lorentzians with half widths of 0.2 and 0.4 mT have 4 and 8 % of their area beyond 6 mT.
        assert!(of_sweep.is_empty() || width_mt > 0.1, "{seed}: {warnings:?}");
        assert!(seed > 8 || of_sweep.len() == usize::from(width_mt == 0.4), "{seed}: {warnings:?}");
    }
}

#[test]
fn data_that_do_not_show_it_have_no_fit() {
    let few = Case { num_projections: 7, ..CLEAN }.sweep();
    assert_eq!(FieldFit::of(&few), None);
    let mut without = CLEAN.sweep();
    without.kind = SweepKind::Pulse;
    assert_eq!(FieldFit::of(&without), None);
    let repeated = Case { num_projections: 3, ..CLEAN }.sweep();
    let mut many = repeated.clone();
    (0..20).for_each(|_| many.projections.extend(repeated.projections.iter().cloned()));
    assert_eq!(FieldFit::of(&many), None);
    assert_eq!(FieldFit::of(&CLEAN.sweep().without_projections()), None);
    let noise = Case { noise: 300.0, ..CLEAN }.sweep();
    assert!(field_warnings(&noise).is_empty());
}
