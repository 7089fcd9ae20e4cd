//! Noise of values at several times: the rest of the values without the signals that a recovery or decay can have.
//!
//! Signals of a range of rates, and sums of them as in projections and streaks, fill few directions of the space of the times: for a recovery the
//! constant and two more leave 2 to 3 % of the signal. They are the largest directions of the singular value decomposition of the curves.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::fit::RateFitter;
use crate::data::{RelaxationRate, Volume};
use crate::statistics::quantiles;

/// Directions of the signals.
const NUM_DIRECTIONS: usize = 3;

/// Rates of the curves.
const NUM_RATES: usize = 40;

/// Quantiles of the fitted rates that limit the range, and the factor by which it is wider.
const RANGE: [f64; 2] = [0.05, 0.95];
const MARGIN: f64 = 1.1;

/// Projector on the space without signals, Q.
pub(super) struct WithoutSignals(pub DMatrix<f64>);

impl WithoutSignals {
    /// Returns that of the rates of a map, 1/µs; `None` of so few times that signals fill the space, and without a rate.
    pub fn new(fitter: &RateFitter, rates: &Volume) -> Option<Self> {
        let found = rates.as_slice().iter().filter(|rate| rate.is_finite()).map(|rate| f64::from(*rate)).collect();
        let [low, high] = quantiles(found, RANGE)?;
        let times = fitter.times_us();
        if times.len() <= NUM_DIRECTIONS {
            return None;
        }
        let [low, high] = [low / MARGIN, high * MARGIN];
        let rate = |k: usize| low * (high / low).powf(k as f64 / (NUM_RATES as f64 - 1.0));
        let mut curves = DMatrix::from_fn(times.len(), NUM_RATES, |time, k| (-rate(k) * times[time]).exp());
        let mut projector = DMatrix::identity(times.len(), times.len());
        let mut remove = |direction: &DVector<f64>| projector -= direction * direction.transpose();
        let mut num = NUM_DIRECTIONS;
        if fitter.rate() == RelaxationRate::R1 {
            curves.column_iter_mut().for_each(|mut curve| curve.add_scalar_mut(-curve.mean()));
            remove(&DVector::from_element(times.len(), (times.len() as f64).sqrt().recip()));
            num -= 1;
        }
        let SymmetricEigen { eigenvalues, eigenvectors } = SymmetricEigen::new(&curves * curves.transpose());
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by(|a, b| eigenvalues[*b].total_cmp(&eigenvalues[*a]));
        order.iter().take(num).for_each(|&index| remove(&eigenvectors.column(index).into_owned()));
        Some(Self(projector))
    }

    /// Returns the dimension of the space.
    pub fn dimension(&self) -> usize {
        self.0.nrows() - NUM_DIRECTIONS
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::data::Unit;
    use crate::geometry::Grid;

    pub const DELAYS: [f64; 8] = [0.4, 0.8, 1.5, 2.6, 4.5, 8.0, 14.0, 30.0];

    /// Rates of 0 to 60 torr.
    pub fn rates() -> Volume {
        let grid = Grid::centred([100, 1, 1], [1.0; 3]).unwrap();
        Volume::from_vec(grid, (0..100).map(|k| 0.18 + 0.0055 * k as f32).collect(), Unit::PerMicrosecond).unwrap()
    }

    #[test]
    fn little_is_left_of_signals_and_all_of_the_rest() {
        for rate in [RelaxationRate::R1, RelaxationRate::R2] {
            let fitter = RateFitter::new(rate, &DELAYS).unwrap();
            let without = WithoutSignals::new(&fitter, &rates()).unwrap();
            assert_eq!(without.dimension(), 5);
            assert!((without.0.trace() - 5.0).abs() < 1e-9 && (&without.0 * &without.0 - &without.0).norm() < 1e-9);
            for per_us in [0.2, 0.4, 0.7] {
                let signal = DVector::from_iterator(8, DELAYS.iter().map(|time| 1.0 - 1.8 * f64::exp(-per_us * time)));
                let decay = DVector::from_iterator(8, DELAYS.iter().map(|time| f64::exp(-per_us * time)));
                let values = if rate == RelaxationRate::R1 { signal } else { decay };
                let left = (&without.0 * &values).norm() / values.norm();
                assert!(left < 0.04, "{rate:?} {per_us}: {left}");
            }
        }
        let few = RateFitter::new(RelaxationRate::R1, &DELAYS[..3]).unwrap();
        assert!(WithoutSignals::new(&few, &rates()).is_none());
    }
}
