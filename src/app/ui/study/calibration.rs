//! Calibration of a scan's images in Bq/mL per count/mm, also from a uniform phantom.

/// Calibration of the open scan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Calibration factor, Bq/mL per count/mm; `None`: none.
    pub bq_per_ml: Option<f64>,
    /// Activity concentration of the calibration phantom, Bq/mL.
    pub phantom_bq_per_ml: f64,
}

impl Calibration {
    /// Returns the calibration factor from the mean of a region in a uniform phantom, counts/mm.
    ///
    /// # Errors
    /// The concentration or the mean is not positive.
    pub fn of_phantom(self, mean: f64) -> Result<f64, String> {
        let Self { phantom_bq_per_ml: activity, .. } = self;
        if !(activity.is_finite() && activity > 0.0) {
            return Err(
                "the phantom's activity concentration is not known yet: give it, in Bq/mL at the time of the scan".to_owned()
            );
        }
        let factor = activity / mean;
        let is_sound = mean > 0.0 && factor.is_finite();
        is_sound.then_some(factor).ok_or_else(|| {
            format!("the mean of the selected ROI is {mean} counts/mm, where that of a phantom with activity is positive")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_is_the_activity_over_the_mean() {
        let phantom = |phantom_bq_per_ml| Calibration { bq_per_ml: None, phantom_bq_per_ml };
        assert_eq!(phantom(5000.0).of_phantom(0.025), Ok(200_000.0));
        assert!(phantom(0.0).of_phantom(0.025).unwrap_err().contains("not known yet"));
        for mean in [0.0, -1.0, f64::NAN] {
            assert!(phantom(5000.0).of_phantom(mean).unwrap_err().contains("counts/mm"), "{mean}");
        }
    }
}
