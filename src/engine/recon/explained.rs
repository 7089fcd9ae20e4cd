//! Part of the measured data that an image explains: a check for lost data, and for an image that does not belong to its data.
//!
//! Counts: (⟨s, x⟩ + Σ a) / Σ y. Samples of EPRI projections: 1 − ‖B(A x − s′)‖² / ‖B s′‖², with the data s′ after their baseline, and the
//! window B of the frequencies that the image contains.

use std::borrow::Cow;

use super::CountTotals;
use crate::data::Direction;
use crate::geometry::dot;
use crate::statistics::median;

/// Excess of the residual over the noise, a part of the energy of the data, up to which the image of projections is usual.
const MAX_EXCESS: f64 = 0.015;

/// Part of the noise by which its estimate may be too low.
const NOISE_MARGIN: f64 = 0.2;

/// Part of the data below which the image of projections is unusual where the noise is not known.
const MIN_WITHOUT_NOISE: f64 = 0.5;

/// Data that an image and the background make expect, and the data that were measured.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Explained {
    /// Of counts.
    ///
    /// MLEM without background explains all counts after every iteration by construction, so this finds data that were left out,
    /// not whether an image has converged.
    Counts {
        /// ⟨s, x⟩ with the sensitivity s of all data: Σ m ⊙ (A x).
        image: f64,
        /// Σ a.
        additive: f64,
        /// Σ y.
        measured: f64,
    },
    /// Of samples of projections.
    Signal {
        /// ‖B(A x − s′)‖².
        residual: f64,
        /// ‖B s′‖².
        energy: f64,
        /// Expectation of ‖B n‖² with the noise n, M σ² for M samples, where the noise is known.
        noise: Option<f64>,
        /// Standard error of the ratio, if not all projections were compared.
        standard_error: Option<f64>,
        /// True if the image of derivatives is negative: then it explains as much as with the other sign of the reference spectrum. (Of pulses, an
        /// inversion makes it negative.)
        is_negative: bool,
        /// A projection that is explained far less than the others.
        odd: Option<OddProjection>,
        /// Mean value at the border of the image times its number of voxels, a part of its total, where the data hardly determine it.
        border: Option<f64>,
    },
}

/// A projection that an image explains far less than the others.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OddProjection {
    /// Its place in the acquisition, counted from 0.
    pub index: usize,
    /// Its residual over the median of all.
    pub times: f64,
}

/// Residual of an odd projection over the median of all.
const ODD_TIMES: f64 = 10.0;

/// The same over those of the next directions.
const ODD_NEXT: f64 = 3.0;

/// Residual of an odd projection over its energy, over the median of these.
const ODD_PART: f64 = 5.0;

/// A part of the energy that is always odd.
const MOST_OF_ENERGY: f64 = 0.9;

/// Smallest residual of an odd projection, of the mean energy of a projection.
const ODD_ENERGY: f64 = 0.005;

/// Number of the next directions: errors of the model change little from direction to direction.
const NUM_NEXT: usize = 2;

/// A projection that was compared with its image.
pub(super) struct Compared {
    pub direction: Direction,
    /// ‖A x − s′‖².
    pub residual: f64,
    /// ‖s′‖².
    pub energy: f64,
}

impl OddProjection {
    /// Returns the projection with the largest residual, if it is odd. (An object that is long along one direction has large residuals there,
    /// but in proportion to the energy.)
    pub(super) fn of(projections: &[Compared]) -> Option<Self> {
        let middle = |value: fn(&Compared) -> f64| median(projections.iter().map(value).collect());
        let (residual, part) = (middle(|of| of.residual)?, middle(|of| of.residual / of.energy)?);
        let mean = projections.iter().map(|of| of.energy).sum::<f64>() / projections.len() as f64;
        let (index, odd) = projections.iter().enumerate().max_by(|(_, a), (_, b)| a.residual.total_cmp(&b.residual))?;
        let cosine = |of: &Compared| {
            dot(of.direction, odd.direction).abs() / (dot(of.direction, of.direction) * dot(odd.direction, odd.direction)).sqrt()
        };
        let mut next: Vec<&Compared> =
            projections.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, of)| of).collect();
        next.sort_by(|a, b| cosine(b).total_cmp(&cosine(a)));
        let nearby = next.iter().take(NUM_NEXT).map(|of| of.residual).fold(0.0, f64::max);
        let is_odd = odd.residual > (ODD_TIMES * residual).max(ODD_NEXT * nearby)
            && odd.residual > ODD_ENERGY * mean
            && odd.residual > (ODD_PART * part).min(MOST_OF_ENERGY) * odd.energy;
        is_odd.then(|| Self { index, times: odd.residual / residual })
    }
}

/// Largest part of the total that the level at the border may be.
const MAX_BORDER: f64 = 0.1;

/// Sum of the values of a negative image, of the sum of their sizes.
const NEGATIVE: f64 = -0.5;

/// Returns true if most of the signal of an image is negative.
pub fn is_negative(values: impl Iterator<Item = f64>) -> bool {
    let [sum, sizes] = values.fold([0.0; 2], |[sum, sizes], value| [sum + value, sizes + value.abs()]);
    sum < NEGATIVE * sizes
}

impl Explained {
    /// Of counts y with background a and an image that makes `image` counts expect; `None` where the background of all is not
    /// known.
    pub fn counts(image: f64, CountTotals { measured, additive }: CountTotals) -> Option<Self> {
        Some(Explained::Counts { image, additive: additive?, measured })
    }

    /// (⟨s, x⟩ + Σ a) / Σ y, or 1 − ‖B(A x − s′)‖² / ‖B s′‖², which may be below 0.
    pub fn ratio(self) -> f64 {
        match self {
            Explained::Counts { image, additive, measured } => (image + additive) / measured,
            Explained::Signal { residual, energy, .. } => 1.0 - residual / energy,
        }
    }

    /// ⟨s, x⟩ / (Σ y − Σ a), where that is more than three standard deviations of Σ y: behind a background of 95 %
    /// [`Explained::ratio`] hides missing counts of the image.
    pub fn net_ratio(self) -> Option<f64> {
        let Explained::Counts { image, additive, measured } = self else { return None };
        let net = measured - additive;
        (additive > 0.0 && net > 3.0 * measured.sqrt()).then(|| image / net)
    }

    /// Returns the ratio of an image whose only residual is the noise of the projections, 1 − M σ² / ‖B s′‖²; `None` of counts, and where
    /// the noise is not known.
    pub fn expectation(self) -> Option<f64> {
        match self {
            Explained::Signal { energy, noise: Some(noise), .. } => Some(1.0 - noise / energy),
            _ => None,
        }
    }

    /// Returns the same without regard to the sign of the image: those soon after an inversion are negative.
    #[must_use]
    pub fn of_any_sign(mut self) -> Self {
        if let Explained::Signal { is_negative, .. } = &mut self {
            *is_negative = false;
        }
        self
    }

    /// Returns the same without regard to the border.
    fn without_border(mut self) -> Self {
        if let Explained::Signal { border, .. } = &mut self {
            *border = None;
        }
        self
    }

    /// Returns the standard error of the ratio, if not all projections were compared.
    pub fn standard_error(self) -> Option<f64> {
        match self {
            Explained::Signal { standard_error, .. } => standard_error,
            Explained::Counts { .. } => None,
        }
    }

    /// The one of the two ratios of counts that is farther from 1.
    pub fn worse(self) -> f64 {
        let far = |ratio: f64| (ratio - 1.0).abs();
        self.net_ratio().filter(|net| far(*net) > far(self.ratio())).unwrap_or(self.ratio())
    }

    /// Returns true between 95 and 105 % of the counts; of an image of a penalised likelihood, which may be smoother than its data, up to
    /// 102 %. Of projections, it returns true unless the image explains clearly less than their noise allows.
    pub fn is_usual(self, is_penalised: bool) -> bool {
        match self {
            Explained::Counts { image, .. } if is_penalised => image > 0.0 && self.worse() <= 1.02,
            Explained::Counts { .. } => (self.worse() - 1.0).abs() <= 0.05,
            Explained::Signal { is_negative: true, .. } | Explained::Signal { odd: Some(_), .. } => false,
            Explained::Signal { border: Some(part), .. } if part.abs() > MAX_BORDER => false,
            Explained::Signal { standard_error, .. } => {
                let noise = self.expectation().map(|expectation| 1.0 - expectation);
                let excess = noise.map_or(1.0 - MIN_WITHOUT_NOISE, |noise| (1.0 + NOISE_MARGIN) * noise + MAX_EXCESS);
                1.0 - self.ratio() <= excess + 3.0 * standard_error.unwrap_or(0.0)
            }
        }
    }

    /// Returns true if the counts of the image are not those of a result: none, less than half of the measured ones, or more than twice as
    /// many. An image of a penalised likelihood may have fewer. Of projections, it returns true if the ratio is not a number.
    pub fn is_no_result(self, is_penalised: bool) -> bool {
        let Explained::Counts { image, .. } = self else { return !self.ratio().is_finite() };
        let least = if is_penalised { 0.0 } else { 0.5 };
        // (True of NaN, too.)
        !(image > 0.0 && (least..=2.0).contains(&self.worse()))
    }

    /// Returns likely causes of an unusual figure, as a sentence.
    pub fn likely_causes(self, is_penalised: bool, num_subsets: usize) -> Cow<'static, str> {
        if let Explained::Signal { odd: Some(OddProjection { index, times }), .. } = self {
            return format!(
                "The residual of projection {index} (counted from 0) is {times:.0} times that of the others, and far above that of the next directions: look at it for a \
                 spike, another gradient or gain, and leave it out"
            )
            .into();
        }
        if let Explained::Signal { is_negative: false, border: Some(part), .. } = self
            && part.abs() > MAX_BORDER
            && self.without_border().is_usual(is_penalised)
        {
            return format!(
                "Values at the border of the image are not 0; all over it, that would be {:.0} % of its total: the total is uncertain. Give a --mask about \
                 the object, or measure regions. An image smaller than the object has such a border, too",
                100.0 * part
            )
            .into();
        }
        let causes = match self {
            Explained::Signal { is_negative: true, .. } => {
                "Its values are negative: the reference spectrum or the projections have the other sign, as with a phase of the modulation that is off by 180°"
            }
            Explained::Signal { .. } if is_penalised => {
                "Likely causes: a penalty so strong that the image is flat, too few iterations, an image smaller than the object, voxels that are too large, a reference spectrum that is shifted or of another line, gain or field that drifted between projections"
            }
            Explained::Signal { .. } => {
                "Likely causes: an image smaller than the object, voxels that are too large, a reference spectrum that is shifted or of another line, gain or field that drifted between projections, too few directions for a large image, a cut-off so high that noise is amplified"
            }
            _ if self.worse() >= 1.0 => {
                "Likely causes: too few iterations, a background (additive sinogram) or factors that do not belong to these data"
            }
            _ if num_subsets > 1 => {
                "Likely causes: too many subsets for so few counts, an image smaller than the object, counts without any line in the image"
            }
            _ => "Likely causes: an image smaller than the object, counts without any line in the image",
        };
        causes.into()
    }

    /// Returns all figures as text, in %.
    pub fn text(self) -> String {
        let percent = |ratio: f64| format!("{:.1} %", 100.0 * ratio);
        if let Explained::Signal { standard_error, .. } = self {
            let ratio = match standard_error {
                Some(error) => format!("{:.2} ± {:.2} %", 100.0 * self.ratio(), 100.0 * error),
                None => format!("{:.2} %", 100.0 * self.ratio()),
            };
            let noise = self.expectation().map(|ratio| format!(" (noise allows {:.2} %)", 100.0 * ratio));
            return format!("{ratio} of the signal{}", noise.unwrap_or_default());
        }
        match self.net_ratio() {
            Some(net) => format!("{} of the counts ({} net of background)", percent(self.ratio()), percent(net)),
            None => format!("{} of the counts", percent(self.ratio())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worse_of_both_figures_decides() {
        let of = |image, additive, measured| Explained::Counts { image, additive, measured };
        assert_eq!(of(100.0, 0.0, 100.0).net_ratio(), None);
        let is_usual = |image, is_penalised| of(image, 0.0, 100.0).is_usual(is_penalised);
        assert!(is_usual(100.0, false) && !is_usual(94.0, false) && !is_usual(106.0, false) && is_usual(104.0, false));
        assert!(is_usual(28.0, true) && !is_usual(0.0, true) && !is_usual(103.0, true) && !is_usual(f64::NAN, true));
        // 95 % background: the image lacks four fifths of its counts, and the whole only 4 %.
        let hidden = of(100.0, 9500.0, 10_000.0);
        assert!((hidden.ratio() - 0.96).abs() < 1e-12 && (hidden.worse() - 0.2).abs() < 1e-12 && hidden.is_no_result(false));
        // Less than noise is left of the background: only the whole can be looked at.
        assert_eq!(of(0.5, 100.0, 110.0).net_ratio(), None);
        let is_no_result = |image, is_penalised| of(image, 0.0, 100.0).is_no_result(is_penalised);
        assert!(of(0.0, 100.0, 100.0).is_no_result(false) && !is_no_result(60.0, false) && is_no_result(40.0, false));
        assert!(of(0.0, 300.0, 100.0).is_no_result(false) && !is_no_result(199.0, false));
        assert!(is_no_result(201.0, false) && is_no_result(201.0, true) && !is_no_result(28.0, true) && is_no_result(0.0, true));
        assert!(is_no_result(f64::NAN, false) && is_no_result(f64::NAN, true) && !is_usual(f64::NAN, false));
        assert_eq!(of(51.0, 9500.0, 10_000.0).text(), "95.5 % of the counts (10.2 % net of background)");
    }
    #[test]
    fn projections_are_held_against_their_noise() {
        let of = |residual, noise, standard_error| Explained::Signal {
            residual,
            energy: 100.0,
            noise,
            standard_error,
            is_negative: false,
            odd: None,
            border: None,
        };
        let negative = Explained::Signal {
            residual: 0.0,
            energy: 1.0,
            noise: None,
            standard_error: None,
            is_negative: true,
            odd: None,
            border: None,
        };
        assert!(negative.of_any_sign().is_usual(false));
        assert!(!negative.is_usual(false) && negative.likely_causes(true, 1).contains("other sign"));
        assert!(
            is_negative([-3.0, 1.0, -1.0].into_iter()) && !is_negative([-3.0, 2.0].into_iter()) && !is_negative([].into_iter())
        );
        let is_usual = |residual, noise| of(residual, noise, None).is_usual(true);
        assert!(is_usual(1.4, Some(0.0)) && !is_usual(1.6, Some(0.0)) && !is_usual(f64::NAN, Some(0.0)));
        assert!(is_usual(55.0, Some(45.0)) && !is_usual(56.0, Some(45.0)));
        assert!(is_usual(49.0, None) && !is_usual(51.0, None));
        assert!(of(7.0, Some(0.0), Some(0.02)).is_usual(false) && !of(8.0, Some(0.0), Some(0.02)).is_usual(false));
        assert_eq!(of(12.0, Some(3.0), Some(0.02)).text(), "88.00 ± 2.00 % of the signal (noise allows 97.00 %)");
        assert_eq!((of(12.0, None, None).text(), of(12.0, None, None).net_ratio()), ("88.00 % of the signal".to_owned(), None));
        let projections = |last: f64, energy: f64, nearby: f64| {
            let of = |degrees: f64, residual: f64, energy: f64| Compared {
                direction: [degrees.to_radians().cos(), degrees.to_radians().sin(), 0.0],
                residual,
                energy,
            };
            [of(0.0, 1.0, 100.0), of(80.0, nearby, 100.0), of(45.0, 3.0, 100.0), of(95.0, last, energy), of(170.0, 1.0, 100.0)]
        };
        let odd = |last, energy, nearby| OddProjection::of(&projections(last, energy, nearby));
        assert_eq!(odd(31.0, 100.0, 2.0), Some(OddProjection { index: 3, times: 15.5 }));
        assert_eq!([odd(19.0, 100.0, 2.0), odd(31.0, 400.0, 2.0), odd(31.0, 1e5, 2.0), odd(31.0, 100.0, 11.0)], [None; 4]);
        let with_border = |part| Explained::Signal {
            residual: 0.0,
            energy: 1.0,
            noise: Some(0.0),
            standard_error: None,
            is_negative: false,
            odd: None,
            border: Some(part),
        };
        assert!(with_border(0.09).is_usual(true) && !with_border(0.11).is_usual(true) && !with_border(-0.11).is_usual(true));
        assert!(with_border(0.2).likely_causes(true, 1).contains("20 % of its total"));
        assert!(of(f64::NAN, None, None).is_no_result(true) && !of(140.0, None, None).is_no_result(false));
    }
}
