//! Width of the peak in a profile: a Gaussian on a constant, v(x) = c + a exp(−(x − μ)² / 2 s²), fitted by least squares after
//! Levenberg and Marquardt (Moré 1978); FWHM = 2 √(2 ln 2) s.
//!
//! The standard deviation of s is that of the covariance r² (JᵀJ)⁻¹, with the residuals' variance (the reduced χ²) r² = Σ
//! residual² / (n − 4) and their derivatives J. Most of a profile may be air, which fits any constant exactly and contains no
//! information about the peak. So r² is the larger one of all points and of those within two widths of its middle. These must be
//! seven: the four parameters and three more. The peak must be three times as high as the scatter of their residuals. No width is
//! more precise than a twentieth of a voxel, over which the image is a mean. If neighbouring residuals are correlated, since the
//! image is smooth or the peak is no Gaussian, n points count as n (1 − ρ) / (1 + ρ) independent ones (Bayley and Hammersley
//! 1946), with the correlation ρ of neighbours, and the variance grows by the inverse.
//!
//! A Gaussian's full width at a tenth of its height is 1.823 FWHM and no new information; the profile there shows its tails. The
//! FWTM is therefore the width at which the profile itself, less the fitted constant, falls to a tenth of the fitted height on
//! both sides of the fitted middle. Between points its logarithm is interpolated over the square of the distance from the middle,
//! in which a Gaussian is straight. With the slope g of the Gaussian there its standard deviation is √2 r / g.
//!
//! A body has a width too, but no peak: its plateau shows in the fourth Gauss-Hermite coefficient of the residuals (van der Marel
//! and Franx 1993), about −0.15 for a sharp edge and 0 for a Gaussian, and in its top. Troughs next to a peak, which filtered
//! backprojection leaves, make the coefficient negative too. So at three quarters of its height a plateau is nearly as wide as at
//! half (a Gaussian 0.64 times, a slab seen with a resolution of its width 0.68, of a third of its width 0.80).

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::storage::Owned;
use nalgebra::{Dyn, Matrix4, OMatrix, OVector, U4, Vector4};

use super::profile::ProfilePoint;
use crate::coded::coded;
use crate::statistics::{FWHM_PER_SIGMA, quantiles};

/// Largest standard deviation of a reported width, as a fraction of it.
const MAX_UNCERTAINTY: f64 = 0.2;
/// The Gauss-Hermite coefficient h4 below which a peak may be a plateau.
const PLATEAU: f64 = -0.05;
/// The width at three quarters of the height, in parts of that at half, from which it then is one.
const FLAT_TOP: f64 = 0.72;
/// Limit of a fit: evaluations for each parameter, and one more. A fit without a peak does not converge.
const MAX_EVALUATIONS: usize = 30;
/// Parameters of a fit.
const NUM_PARAMETERS: usize = 4;
/// Fewest points of a fit and of the peak: three degrees of freedom.
const MIN_POINTS: usize = NUM_PARAMETERS + 3;
/// Reach of a peak from its middle, in parts of its width.
const REACH: f64 = 2.0;
/// Smallest height of a peak, in standard deviations of the residuals where it reaches.
const MIN_HEIGHT: f64 = 3.0;
/// Smallest standard deviation of a width, in voxels.
const MIN_SD: f64 = 0.05;

/// The width of a peak.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PeakWidth {
    /// Full width at half maximum, mm.
    pub fwhm_mm: f64,
    /// Its standard deviation, mm.
    pub sd_mm: f64,
    /// Middle of the peak, distance from the profile's start, mm.
    pub centre_mm: f64,
    /// Height of the Gaussian above the constant.
    pub height: f64,
    /// Full width at a tenth of the height, of the profile and not of the Gaussian, and its standard deviation, mm. `None`
    /// where it does not fall so far on both sides, or noise leaves it uncertain by more than a fifth.
    pub fwtm_mm: Option<[f64; 2]>,
}

impl PeakWidth {
    /// Returns the value of the Gaussian, without the constant, so far from the profile's start.
    pub fn gaussian(&self, distance_mm: f64) -> f64 {
        self.height * (-0.5 * (FWHM_PER_SIGMA * (distance_mm - self.centre_mm) / self.fwhm_mm).powi(2)).exp()
    }
}

/// Reason for which a profile has no reliable width.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error, serde::Serialize, serde::Deserialize)]
pub enum NoPeakWidth {
    /// A short line, or one that lies outside the image.
    #[error("the profile has {found} voxels; a width needs at least {MIN_POINTS}")]
    TooShort {
        /// Points.
        found: usize,
    },
    /// Values that are infinite or no numbers.
    #[error("the profile has values that are no finite numbers")]
    NotFinite,
    /// One value everywhere.
    #[error("the profile is flat")]
    Flat,
    /// The fit found no peak inside the profile.
    #[error("no Gaussian peak on a constant background fits this profile")]
    NoPeak,
    /// A body with edges, not a peak.
    #[error("the profile has a plateau, as a body has, and no Gaussian peak")]
    Plateau,
    /// The standard deviation of the width is more than a fifth of it.
    #[error("a Gaussian fits no better than {fwhm_mm:.1} ± {sd_mm:.1} mm: noise, or no single peak")]
    Uncertain {
        /// Width, mm.
        fwhm_mm: f64,
        /// Its standard deviation, mm.
        sd_mm: f64,
    },
    /// Too few voxels lie where the peak is.
    #[error("only {found} voxels lie within two widths of the peak ({fwhm_mm:.1} mm); a width needs at least {MIN_POINTS}")]
    TooFew {
        /// Voxels.
        found: usize,
        /// Width, mm.
        fwhm_mm: f64,
    },
    /// No higher than noise.
    #[error("the peak is {heights:.1} times as high as the profile scatters about it; a width needs {MIN_HEIGHT:.0} times")]
    Low {
        /// Height in standard deviations of the residuals.
        heights: f64,
    },
    /// Less than a voxel wide.
    #[error("the peak ({fwhm_mm:.2} mm) is narrower than a voxel ({voxel_mm:.2} mm)")]
    Narrow {
        /// Width, mm.
        fwhm_mm: f64,
        /// Side of a voxel along the profile, mm.
        voxel_mm: f64,
    },
    /// More than half of the profile wide.
    #[error(
        "the peak ({fwhm_mm:.1} mm) is wider than half of the profile ({half_mm:.1} mm): too little background on both sides"
    )]
    Wide {
        /// Width, mm.
        fwhm_mm: f64,
        /// Half of the profile's length, mm.
        half_mm: f64,
    },
}

coded!(NoPeakWidth = "peak-width");

/// Returns the width of the highest peak of a profile whose points lie a voxel apart (`voxel_mm`): interpolated ones between them
/// would pass for measured ones.
///
/// # Errors
/// There is no single peak, or its width is not known well enough.
pub fn peak_width(points: &[ProfilePoint], voxel_mm: f64) -> Result<PeakWidth, NoPeakWidth> {
    let (Some(first), Some(last), MIN_POINTS..) = (points.first(), points.last(), points.len()) else {
        return Err(NoPeakWidth::TooShort { found: points.len() });
    };
    if !points.iter().all(|point| point.value.is_finite()) {
        return Err(NoPeakWidth::NotFinite);
    }
    let start = Gaussian::guess(points, voxel_mm).ok_or(NoPeakWidth::Flat)?;
    let solver = LevenbergMarquardt::new().with_patience(MAX_EVALUATIONS);
    let (fit, report) = solver.minimize(start);
    let [height, centre, sigma, _] = fit.parameters.into();
    let centre_mm = fit.from_mm + centre * voxel_mm;
    if !(height > 0.0 && (first.distance_mm..=last.distance_mm).contains(&centre_mm)) {
        return Err(NoPeakWidth::NoPeak);
    }
    let fwhm_mm = FWHM_PER_SIGMA * voxel_mm * sigma.abs();
    if fwhm_mm < voxel_mm {
        return Err(NoPeakWidth::Narrow { fwhm_mm, voxel_mm });
    }
    let (found, scatter) = fit.around_peak().ok_or(NoPeakWidth::NoPeak)?;
    if found < MIN_POINTS {
        return Err(NoPeakWidth::TooFew { found, fwhm_mm });
    }
    if height < MIN_HEIGHT * scatter {
        return Err(NoPeakWidth::Low { heights: height / scatter });
    }
    let sd = fit.sd_of_sigma(scatter).filter(|_| report.termination.was_successful()).ok_or(NoPeakWidth::NoPeak)?;
    let sd_mm = voxel_mm * (FWHM_PER_SIGMA * sd).max(MIN_SD);
    let half_mm = 0.5 * (last.distance_mm - first.distance_mm);
    if fwhm_mm > half_mm {
        Err(NoPeakWidth::Wide { fwhm_mm, half_mm })
    } else if sd_mm > MAX_UNCERTAINTY * fwhm_mm {
        Err(NoPeakWidth::Uncertain { fwhm_mm, sd_mm })
    } else if fit.flatness().is_some_and(|[h4, sd]| h4 < PLATEAU.min(-2.0 * sd)) && fit.has_flat_top() {
        Err(NoPeakWidth::Plateau)
    } else {
        let fwtm_mm = fit.tenth_width().map(|[width, sd]| [width * voxel_mm, sd.max(MIN_SD) * voxel_mm]);
        Ok(PeakWidth { fwhm_mm, sd_mm, centre_mm, height: height * fit.unit, fwtm_mm })
    }
}

/// The problem that is solved: places in voxels from the highest point, values in parts of the first guess of the height.
struct Gaussian {
    /// (place, value).
    points: Vec<[f64; 2]>,
    /// Where the places begin, mm from the profile's start.
    from_mm: f64,
    /// The first guess of the height.
    unit: f64,
    /// Height a, centre μ, standard deviation s, background c.
    parameters: Vector4<f64>,
}

impl Gaussian {
    /// Returns the problem with its first guess: the median as the background, the highest point, and as wide as it is above
    /// half. `None` where all values are alike.
    fn guess(points: &[ProfilePoint], voxel_mm: f64) -> Option<Self> {
        let values = points.iter().map(|point| point.value).collect();
        let [lowest, median] = quantiles(values, [0.0, 0.5])?;
        let top = (0..points.len()).max_by(|&a, &b| points[a].value.total_cmp(&points[b].value))?;
        let highest = points[top].value;
        let background = if median < highest { median } else { lowest };
        let height = highest - background;
        if !(height > 0.0 && height.is_finite()) {
            return None;
        }
        let above = |point: &&ProfilePoint| point.value > background + 0.5 * height;
        let width = points[top..].iter().take_while(above).count() + points[..top].iter().rev().take_while(above).count();
        let from_mm = points[top].distance_mm;
        let scaled = points.iter().map(|p| [(p.distance_mm - from_mm) / voxel_mm, (p.value - background) / height]);
        let parameters = Vector4::new(1.0, 0.0, (width as f64 / FWHM_PER_SIGMA).max(0.5), 0.0);
        Some(Self { points: scaled.collect(), from_mm, unit: height, parameters })
    }

    /// Returns the number of points within the reach of the peak, and the standard deviation of the residuals there: 0 if
    /// unknown.
    fn around_peak(&self) -> Option<(usize, f64)> {
        let [_, centre, sigma, _] = self.parameters.into();
        let reach = REACH * FWHM_PER_SIGMA * sigma.abs();
        let residuals = self.residuals()?;
        let near = self.points.iter().zip(residuals.iter()).filter(|([x, _], _)| (x - centre).abs() <= reach);
        let (num, squares) = near.fold((0, 0.0), |(num, sum), (_, residual)| (num + 1, sum + residual * residual));
        let freedom = num as f64 - NUM_PARAMETERS as f64;
        Some((num, if freedom > 0.0 { (squares / freedom).sqrt() } else { 0.0 }))
    }

    /// Returns true if the profile is nearly as wide at three quarters of its height above the fitted constant as at half of it.
    fn has_flat_top(&self) -> bool {
        let [_, _, _, background] = self.parameters.into();
        let top = |at: &usize| self.points[*at][1];
        let Some(top) = (0..self.points.len()).max_by(|a, b| top(a).total_cmp(&top(b))) else { return false };
        let height = self.points[top][1] - background;
        // Distance from the highest point at which a side falls to a part of its height; to its end if it does not.
        let fall = |level: f64, side: &mut dyn Iterator<Item = &[f64; 2]>| {
            let mut before = self.points[top];
            for point in side {
                let (high, low) = (before[1] - background, point[1] - background);
                if low <= level {
                    let part = (high - level) / (high - low);
                    return (before[0] + part * (point[0] - before[0]) - self.points[top][0]).abs();
                }
                before = *point;
            }
            (before[0] - self.points[top][0]).abs()
        };
        let width =
            |level: f64| fall(level, &mut self.points[..top].iter().rev()) + fall(level, &mut self.points[top + 1..].iter());
        width(0.75 * height) >= FLAT_TOP * width(0.5 * height)
    }

    /// Returns the coefficient h4 of the Gauss-Hermite series and its standard deviation: how much flatter (negative) than a
    /// Gaussian the peak is. The Hermite functions are orthogonal, so that the fit of the others leaves it as it is.
    fn flatness(&self) -> Option<[f64; 2]> {
        let residuals = self.residuals()?;
        let [height, centre, sigma, _] = self.parameters.into();
        let hermite = self.points.iter().map(|[x, _]| {
            let t = (x - centre) / sigma;
            (4.0 * t.powi(4) - 12.0 * t * t + 3.0) / 24f64.sqrt() * (-0.5 * t * t).exp()
        });
        let (mut product, mut square) = (0.0, 0.0);
        for (residual, hermite) in residuals.iter().zip(hermite) {
            product -= residual * hermite;
            square += hermite * hermite;
        }
        let noise = (residuals.norm_squared() / (residuals.len() as f64 - 4.0)).sqrt();
        Some([product / (height * square), noise / (height * square.sqrt())])
    }

    /// Returns the full width at a tenth of the height, of the profile itself, and its standard deviation, in voxels.
    fn tenth_width(&self) -> Option<[f64; 2]> {
        let residuals = self.residuals()?;
        let [height, centre, sigma, background] = self.parameters.into();
        let level = 0.1 * height;
        let above = |point: &[f64; 2]| point[1] - background;
        let middle = self.points.iter().position(|[x, _]| *x > centre)?;
        // Distance from the middle at which a side falls to the level.
        let fall = |side: &mut dyn Iterator<Item = &[f64; 2]>| {
            let mut before = side.next()?;
            for point in side {
                let (high, low) = (above(before), above(point));
                if low <= level && level < high {
                    let straight = (high - level) / (high - low);
                    let part = if low > 0.0 { (high / level).ln() / (high / low).ln() } else { straight };
                    let [near, far] = [before, point].map(|[x, _]| (x - centre).powi(2));
                    return Some((near + part * (far - near)).sqrt());
                }
                before = point;
            }
            None
        };
        let left = fall(&mut self.points[..middle].iter().rev())?;
        let right = fall(&mut self.points[middle..].iter())?;
        let noise = (residuals.norm_squared() / (residuals.len() as f64 - 4.0)).sqrt();
        let slope = level * (2.0 * 10f64.ln()).sqrt() / sigma.abs();
        let (width, sd) = (left + right, 2f64.sqrt() * noise / slope);
        (sd <= MAX_UNCERTAINTY * width).then_some([width, sd])
    }

    /// Returns the standard deviation of s, in voxels; that of the residuals is at least `scatter`.
    fn sd_of_sigma(&self, scatter: f64) -> Option<f64> {
        let (residuals, jacobian) = (self.residuals()?, self.jacobian()?);
        let num = residuals.len() as f64;
        let squares = residuals.norm_squared();
        let curvature: Matrix4<f64> = jacobian.transpose() * jacobian;
        let reduced = (squares / (num - NUM_PARAMETERS as f64)).max(scatter * scatter);
        let variance = reduced * curvature.try_inverse()?[(2, 2)];
        let of_neighbours: f64 = residuals.as_slice().windows(2).map(|pair| pair[0] * pair[1]).sum();
        let correlation = if squares > 0.0 { (of_neighbours / squares).max(0.0) } else { 0.0 };
        let sd = (variance * (1.0 + correlation) / (1.0 - correlation)).sqrt();
        sd.is_finite().then_some(sd)
    }
}

impl LeastSquaresProblem<f64, Dyn, U4> for Gaussian {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, U4>;
    type ParameterStorage = Owned<f64, U4>;

    fn set_params(&mut self, parameters: &Vector4<f64>) {
        self.parameters = *parameters;
    }

    fn params(&self) -> Vector4<f64> {
        self.parameters
    }

    fn residuals(&self) -> Option<OVector<f64, Dyn>> {
        let [height, centre, sigma, background] = self.parameters.into();
        let residual = |[x, value]: &[f64; 2]| background + height * (-0.5 * ((x - centre) / sigma).powi(2)).exp() - value;
        Some(OVector::<f64, Dyn>::from_iterator(self.points.len(), self.points.iter().map(residual)))
    }

    fn jacobian(&self) -> Option<OMatrix<f64, Dyn, U4>> {
        let [height, centre, sigma, _] = self.parameters.into();
        let mut jacobian = OMatrix::<f64, Dyn, U4>::zeros(self.points.len());
        for (mut row, [x, _]) in jacobian.row_iter_mut().zip(&self.points) {
            let t = (x - centre) / sigma;
            let e = (-0.5 * t * t).exp();
            row.copy_from_slice(&[e, height * e * t / sigma, height * e * t * t / sigma, 1.0]);
        }
        Some(jacobian)
    }
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::random;

    const VOXEL_MM: f64 = 2.0;

    fn points(values: impl IntoIterator<Item = f64>) -> Vec<ProfilePoint> {
        let point = |(index, value)| ProfilePoint { distance_mm: VOXEL_MM * index as f64, value };
        values.into_iter().enumerate().map(point).collect()
    }

    fn gaussian(index: usize, height: f64, sigma_voxels: f64) -> f64 {
        20.0 + height * (-0.5 * ((index as f64 - 23.4) / sigma_voxels).powi(2)).exp()
    }

    fn noise(seed: u64, num: usize) -> Vec<f64> {
        let mut stream = random::stream(seed, 0);
        (0..num).map(|_| StandardNormal.sample(&mut stream)).collect()
    }

    /// A profile with the background 20, the standard deviation of which is 1.
    fn noisy(seed: u64, height: f64, sigma_voxels: f64) -> Vec<ProfilePoint> {
        points(noise(seed, 48).iter().enumerate().map(|(index, noise)| gaussian(index, height, sigma_voxels) + noise))
    }

    /// The means of three neighbours each.
    fn smoothed(values: &[f64]) -> Vec<f64> {
        values.windows(3).map(|of| of.iter().sum::<f64>() / 3.0).collect()
    }

    #[test]
    fn a_gaussian_has_its_width() {
        for sigma in [0.9, 1.0, 2.5, 7.0] {
            let found = peak_width(&points((0..48).map(|index| gaussian(index, 40.0, sigma))), VOXEL_MM).unwrap();
            let expected = 2.0 * (2.0 * 2f64.ln()).sqrt() * sigma * VOXEL_MM;
            assert!((found.fwhm_mm / expected - 1.0).abs() < 1e-6, "{found:?} is not {expected}");
            assert!((found.centre_mm - 46.8).abs() < 1e-6 && found.sd_mm == VOXEL_MM / 20.0, "{found:?}");
            let half = found.gaussian(46.8 + 0.5 * found.fwhm_mm);
            assert!((found.height - 40.0).abs() < 1e-6 && (half - 20.0).abs() < 1e-4, "{found:?}");
        }
        // Values of any size.
        for scale in [1e-30, 1e30] {
            let found = peak_width(&points((0..48).map(|index| scale * gaussian(index, 40.0, 2.0))), VOXEL_MM).unwrap();
            assert!((found.fwhm_mm - 4.0 * FWHM_PER_SIGMA).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn the_width_at_a_tenth_is_that_of_the_profile_with_its_tails() {
        // Of a Gaussian it is √(ln 10 / ln 2) FWHM.
        for sigma in [1.0, 2.5, 4.0] {
            let found = peak_width(&points((0..48).map(|index| gaussian(index, 40.0, sigma))), VOXEL_MM).unwrap();
            let [width, sd] = found.fwtm_mm.unwrap();
            let ratio = width / found.fwhm_mm;
            assert!((ratio / (10f64.ln() / 2f64.ln()).sqrt() - 1.0).abs() < 1e-6 && sd == VOXEL_MM / 20.0, "{sigma}: {found:?}");
        }
        // A narrow and a wide Gaussian together have a wider foot than one of their FWHM.
        let tailed = |x: f64| 0.8 * (-x * x / 8.0).exp() + 0.2 * (-x * x / 50.0).exp();
        let found = peak_width(&points((0..64).map(|index| 40.0 * tailed(f64::from(index) - 30.3))), VOXEL_MM).unwrap();
        let [width, _] = found.fwtm_mm.unwrap();
        assert!(width > 1.05 * 1.8226 * found.fwhm_mm, "{found:?}");
        // The noise of the FWTM is about what is told.
        let expected = 2.0 * (2.0 * 10f64.ln()).sqrt() * 3.0 * VOXEL_MM;
        let found: Vec<[f64; 2]> =
            (0..200).filter_map(|seed| peak_width(&noisy(seed, 60.0, 3.0), VOXEL_MM).ok()?.fwtm_mm).collect();
        let within = found.iter().filter(|[width, sd]| (width - expected).abs() <= 2.0 * sd).count();
        assert!(found.len() > 180 && within * 10 > found.len() * 9, "{within} of {}", found.len());
        // Too noisy for the tails, not for the half.
        let found: Vec<PeakWidth> = (0..60).filter_map(|seed| peak_width(&noisy(seed, 5.5, 4.0), VOXEL_MM).ok()).collect();
        assert!(found.len() > 10 && found.iter().all(|width| width.fwtm_mm.is_none()), "{found:?}");
    }

    #[test]
    fn two_thirds_of_the_noisy_ones_lie_within_their_standard_deviation() {
        for (height, sigma) in [(10.0, 2.0), (10.0, 4.0), (30.0, 1.0), (30.0, 3.0)] {
            let expected = FWHM_PER_SIGMA * sigma * VOXEL_MM;
            let found: Vec<PeakWidth> =
                (0..200).filter_map(|seed| peak_width(&noisy(seed, height, sigma), VOXEL_MM).ok()).collect();
            let within = found.iter().filter(|width| (width.fwhm_mm - expected).abs() <= width.sd_mm).count();
            let part = within as f64 / found.len() as f64;
            assert!(found.len() > 150 && (0.58..0.8).contains(&part), "{height} {sigma}: {part} of {}", found.len());
        }
    }

    #[test]
    fn width_and_standard_deviation_are_those_of_scipy() {
        // A Gaussian with noise of 1, and what scipy.optimize.curve_fit (1.17) makes of these values. Neighbouring residuals do not go
        // together (ρ = −0.29), so that nothing is added for that.
        let values = [
            12.13, 11.88, 12.69, 12.28, 12.02, 13.88, 16.92, 20.35, 24.38, 30.67, 37.59, 41.77, 38.75, 36.31, 28.6, 22.47, 17.52,
            14.51, 13.55, 13.44, 11.99, 13.4, 11.34, 12.35,
        ];
        let found = peak_width(&points(values), VOXEL_MM).unwrap();
        let PeakWidth { fwhm_mm, sd_mm, centre_mm, height, .. } = found;
        let pairs = [(fwhm_mm, 12.181_075), (sd_mm, 0.247_915), (centre_mm, 22.598_591), (height, 28.598_733)];
        for (found, scipy) in pairs {
            assert!((found / scipy - 1.0f64).abs() < 1e-5, "{found} is not {scipy}");
        }
    }

    #[test]
    fn the_edge_of_a_body_has_no_width() {
        // Of the air nearly all values are 0: four parameters fit the last voxels of the body exactly.
        for edge in [[0.2, 1.0, 0.3], [0.3, 1.0, 0.25]] {
            let mut values = vec![0.0; 74];
            values[70..73].copy_from_slice(&edge);
            let found = peak_width(&points(values), VOXEL_MM);
            assert!(matches!(found, Err(NoPeakWidth::TooFew { .. } | NoPeakWidth::Narrow { .. })), "{edge:?}: {found:?}");
        }
        let narrow = peak_width(&points((0..48).map(|index| gaussian(index, 40.0, 0.6))), VOXEL_MM);
        assert!(matches!(narrow, Err(NoPeakWidth::TooFew { found: 5..=6, .. })), "{narrow:?}");
    }

    #[test]
    fn troughs_next_to_a_peak_make_no_plateau() {
        // A Gaussian less a wider one, as a filter leaves it; and slabs, seen with a resolution (FWHM) of 10 voxels.
        let filtered = |x: f64| 1.5 * (-0.5 * (x / 5.6).powi(2)).exp() - 0.5 * (-0.5 * (x / 9.0).powi(2)).exp();
        let found = peak_width(&points((0..128).map(|index| filtered(f64::from(index) - 60.0))), VOXEL_MM).unwrap();
        // scipy.optimize.curve_fit: 10.58 voxels.
        assert!((found.fwhm_mm / VOXEL_MM - 10.583).abs() < 0.01, "{found:?}");
        let slab = |width: f64| {
            let sigma = 10.0 / FWHM_PER_SIGMA;
            let value = |index: i32| {
                let blurred = |k: i32| (-0.5 * ((f64::from(index) - 100.0 - 0.1 * f64::from(k)) / sigma).powi(2)).exp();
                (-(5.0 * width) as i32..=(5.0 * width) as i32).map(blurred).sum::<f64>()
            };
            peak_width(&points((0..201).map(value)), VOXEL_MM)
        };
        assert!(slab(10.0).is_ok() && slab(15.0).is_ok(), "{:?}", slab(15.0));
        assert_eq!([25.0, 30.0].map(slab), [Err(NoPeakWidth::Plateau); 2]);
    }

    #[test]
    fn noise_as_high_as_a_peak_has_no_width() {
        let height = |seed: u64| match peak_width(&noisy(seed, 2.0, 3.0), VOXEL_MM) {
            Ok(width) => Some(width.height),
            Err(_) => None,
        };
        assert!((0..200).filter_map(height).all(|height| height > 2.0), "a peak below three standard deviations has a width");
    }

    #[test]
    fn noise_has_no_width() {
        for num in [32, 128] {
            let white = |seed| peak_width(&points(noise(seed, num)), VOXEL_MM);
            assert_eq!((0..150).filter(|seed| white(*seed).is_ok()).count(), 0, "{num} points");
            let smooth = |seed| peak_width(&points(smoothed(&noise(seed, num))), VOXEL_MM);
            assert!((0..150).filter(|seed| smooth(*seed).is_ok()).count() <= 2, "{num} points");
        }
    }

    #[test]
    fn a_body_is_a_plateau_and_no_peak() {
        for (num, width) in [(256, 70), (256, 110), (128, 60), (128, 20), (64, 20), (47, 20)] {
            let inside = |index: usize| if index.abs_diff(num / 2) <= width / 2 { 10.0 } else { 0.0 };
            let sharp: Vec<f64> = (0..num).map(inside).collect();
            let noisy: Vec<f64> = smoothed(&sharp).iter().zip(noise(7, num)).map(|(value, noise)| value + 0.5 * noise).collect();
            for profile in [sharp, noisy] {
                let found = peak_width(&points(profile), VOXEL_MM);
                assert!(matches!(found, Err(NoPeakWidth::Plateau | NoPeakWidth::Uncertain { .. })), "{num} {width}: {found:?}");
            }
        }
    }

    #[test]
    fn profiles_without_a_width_have_reasons() {
        let width = |values: Vec<f64>| peak_width(&points(values), VOXEL_MM);
        assert_eq!(width(vec![1.0, 2.0, 1.0]), Err(NoPeakWidth::TooShort { found: 3 }));
        assert_eq!(width(Vec::new()), Err(NoPeakWidth::TooShort { found: 0 }));
        assert_eq!(width(vec![3.0; 40]), Err(NoPeakWidth::Flat));
        for bad in [f64::NAN, f64::INFINITY] {
            let values = (0..40).map(|index| if index == 9 { bad } else { gaussian(index, 40.0, 3.0) });
            assert_eq!(width(values.collect()), Err(NoPeakWidth::NotFinite));
        }
        assert_eq!(width((0..64).map(f64::from).collect()), Err(NoPeakWidth::NoPeak));
        let wide = width((0..48).map(|index| gaussian(index, 40.0, 11.0)).collect());
        assert!(matches!(wide, Err(NoPeakWidth::Wide { half_mm: 47.0, .. })), "{wide:?}");
        let spike = width((0..40).map(|index| if index == 20 { 1.0 } else { 0.0 }).collect());
        assert!(matches!(spike, Err(NoPeakWidth::Narrow { .. })), "{spike:?}");
        let two = width((0..48).map(|index| gaussian(index, 40.0, 3.0) + gaussian(index + 15, 36.0, 3.0)).collect());
        assert!(matches!(two, Err(NoPeakWidth::Uncertain { .. } | NoPeakWidth::NoPeak)), "{two:?}");
        // A trough is not a peak.
        assert!(width((0..48).map(|index| gaussian(index, -15.0, 3.0)).collect()).is_err());
    }
}
