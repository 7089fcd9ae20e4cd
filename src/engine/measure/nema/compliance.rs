//! Recovery coefficients against the bands of a standard, and the best of several settings.
//!
//! The distance of a coefficient from the middle of its band is in half widths: d = (RC − middle) / (half width), |d| ≤ 1 inside. A
//! setting complies if every coefficient lies in its band. Of those that comply, the recommended one has the smallest root mean
//! square of d over all spheres and quantities. If none complies, the nearest has the smallest largest |d|.

use super::recovery::Recovery;
use crate::data::{RecoveryQuantity, RecoveryStandard};

/// A recovery coefficient and its band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// Quantity.
    pub quantity: RecoveryQuantity,
    /// Inner diameter of the sphere, mm.
    pub diameter_mm: f64,
    /// Coefficient.
    pub coefficient: f64,
    /// Limits, [min, max].
    pub limits: [f64; 2],
    /// Distance from the middle in half widths: ±1 at the limits.
    pub relative: f64,
}

impl Deviation {
    /// Returns the signed distance beyond the nearer limit; 0 inside the band.
    pub fn excess(&self) -> f64 {
        self.coefficient - self.coefficient.clamp(self.limits[0], self.limits[1])
    }

    /// Describes a coefficient and its band: "A50 of 10 mm is 1.02, allowed 0.27–0.43".
    pub fn text(&self) -> String {
        let [min, max] = self.limits;
        format!("{}, allowed {min:.2}–{max:.2}", self.value_text())
    }

    /// Describes a coefficient: "A50 of 10 mm is 1.02". One outside its band has the digits that show it.
    pub fn value_text(&self) -> String {
        let Self { quantity, diameter_mm, coefficient, limits: [min, max], .. } = *self;
        let name = format!("{} of {diameter_mm} mm", quantity.label());
        if coefficient.is_nan() {
            return format!("{name} was not measured");
        }
        let is_inside = |value: f64| value >= min && value <= max;
        let rounded = |digits: i32| (coefficient * 10_f64.powi(digits)).round() / 10_f64.powi(digits);
        let digits = (2..6).find(|&digits| is_inside(rounded(digits)) == is_inside(coefficient)).unwrap_or(6);
        format!("{name} is {coefficient:.*}", digits as usize)
    }
}

/// Recovery coefficients of an image against all bands of a standard.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Each coefficient with a band; band by band, the smallest sphere first.
    pub deviations: Vec<Deviation>,
}

impl Verdict {
    /// Compares the coefficients with a standard. Quantities that were not measured fail.
    pub fn of(recovery: &Recovery, standard: &RecoveryStandard) -> Self {
        let of_band = |band: &crate::data::RecoveryBand| {
            let band = *band;
            recovery.spheres.iter().enumerate().map(move |(index, sphere)| {
                let coefficient = sphere.of(band.quantity).unwrap_or(f64::NAN);
                Deviation {
                    quantity: band.quantity,
                    diameter_mm: sphere.diameter_mm,
                    coefficient,
                    limits: band.limits[index],
                    relative: Some(band.deviation(index, coefficient)).filter(|d| d.is_finite()).unwrap_or(f64::INFINITY),
                }
            })
        };
        Self { deviations: standard.bands.iter().flat_map(of_band).collect::<Vec<_>>() }
    }

    /// Returns true if every coefficient lies in its band, limits included.
    pub fn complies(&self) -> bool {
        self.num_outside() == 0
    }

    /// Returns the number of coefficients outside their bands.
    pub fn num_outside(&self) -> usize {
        // Limits as they are written: `relative` may be rounded.
        let is_inside = |d: &&Deviation| d.coefficient >= d.limits[0] && d.coefficient <= d.limits[1];
        self.deviations.len() - self.deviations.iter().filter(is_inside).count()
    }

    /// Returns the coefficient farthest from the middle of its band, in half widths; `None` without bands.
    pub fn worst(&self) -> Option<&Deviation> {
        self.deviations.iter().max_by(|a, b| a.relative.abs().total_cmp(&b.relative.abs()))
    }

    /// Returns the largest distance from the middle of a band, in half widths.
    pub fn largest(&self) -> f64 {
        self.worst().map_or(f64::INFINITY, |worst| worst.relative.abs())
    }

    /// Returns the root mean square of the distances from the middles, in half widths.
    pub fn rms(&self) -> f64 {
        let squares: f64 = self.deviations.iter().map(|deviation| deviation.relative.powi(2)).sum();
        (squares / self.deviations.len() as f64).sqrt()
    }
}

/// Returns the index of the recommended setting of several and true, or if none complies that of the nearest one and false; `None`
/// without a verdict. A setting without verdict was not measured. A tie is the first.
pub fn best_setting<'a>(verdicts: impl Iterator<Item = Option<&'a Verdict>> + Clone) -> Option<(usize, bool)> {
    let known = || verdicts.clone().enumerate().filter_map(|(index, verdict)| Some((index, verdict?)));
    let smallest = |found: &mut dyn Iterator<Item = (usize, f64)>| found.min_by(|a, b| a.1.total_cmp(&b.1));
    let complying = &mut known().filter(|(_, verdict)| verdict.complies()).map(|(index, verdict)| (index, verdict.rms()));
    let recommended = smallest(complying).map(|(index, _)| (index, true));
    recommended
        .or_else(|| smallest(&mut known().map(|(index, verdict)| (index, verdict.largest()))).map(|(index, _)| (index, false)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RecoveryBand;
    use crate::data::nema::SPHERE_DIAMETERS_MM;
    use crate::measure::nema::SphereRecovery;

    fn standard() -> RecoveryStandard {
        let band = |quantity, limits| RecoveryBand { quantity, limits: [limits; 6] };
        let bands = vec![band(RecoveryQuantity::MeanA50, [0.4, 0.6]), band(RecoveryQuantity::Max, [0.5, 0.9])];
        RecoveryStandard { name: "s".into(), title: "S".into(), source: "here".into(), bands }
    }

    fn recovery(mean_a50: f64, max: f64) -> Recovery {
        let spheres = SPHERE_DIAMETERS_MM.map(|diameter_mm| SphereRecovery { diameter_mm, mean_a50, max, peak: None });
        Recovery { background_mean: 1.0, spheres }
    }

    #[test]
    fn a_verdict_names_the_sphere_and_its_distance() {
        let mut image = recovery(0.6, 0.7);
        let inside = Verdict::of(&image, &standard());
        assert!(inside.complies() && (inside.largest() - 1.0).abs() < 1e-12);
        assert!((inside.rms() - 0.5f64.sqrt()).abs() < 1e-12, "half the distances are 1, half 0");
        image.spheres[2].max = 0.45;
        let outside = Verdict::of(&image, &standard());
        assert_eq!((outside.complies(), outside.num_outside()), (false, 1));
        assert_eq!(outside.worst().unwrap().text(), "max of 17 mm is 0.45, allowed 0.50–0.90");
        image.spheres[5].mean_a50 = 0.75;
        let outside = Verdict::of(&image, &standard());
        assert_eq!(
            (outside.num_outside(), outside.worst().unwrap().text().as_str()),
            (2, "A50 of 37 mm is 0.75, allowed 0.40–0.60")
        );
        assert_eq!(outside.deviations[0].text(), "A50 of 10 mm is 0.60, allowed 0.40–0.60");
        // Rounded to two digits these two would seem to be in their band.
        image.spheres[5].mean_a50 = 0.6004;
        image.spheres[4].mean_a50 = 0.3951;
        let outside = Verdict::of(&image, &standard());
        let texts: Vec<String> = outside.deviations.iter().filter(|d| d.excess() != 0.0).map(Deviation::value_text).collect();
        assert_eq!(texts, ["A50 of 28 mm is 0.395", "A50 of 37 mm is 0.6004", "max of 17 mm is 0.45"]);
        // A peak was not measured.
        let of_peaks = RecoveryStandard {
            bands: vec![RecoveryBand { quantity: RecoveryQuantity::Peak, limits: [[0.0, 9.0]; 6] }],
            ..standard()
        };
        assert_eq!(Verdict::of(&image, &of_peaks).num_outside(), 6);
    }

    #[test]
    fn the_recommended_setting_lies_nearest_to_the_middles_of_the_bands() {
        let of = |mean_a50, max| Some(Verdict::of(&recovery(mean_a50, max), &standard()));
        let best_setting = |verdicts: &[Option<Verdict>]| best_setting(verdicts.iter().map(Option::as_ref));
        // The third is nearest to the middles although the fourth has the smaller sum of distances of one quantity.
        assert_eq!(best_setting(&[of(0.58, 0.7), None, of(0.52, 0.72), of(0.5, 0.88)]), Some((2, true)));
        // None complies: the smallest largest distance counts.
        assert_eq!(best_setting(&[of(0.65, 0.95), of(0.64, 0.7), of(0.62, 0.99)]), Some((1, false)));
        assert_eq!(best_setting(&[None, None]), None);
    }
}
