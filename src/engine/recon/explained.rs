//! Part of the measured counts that an image explains: a check for lost data.

use super::CountTotals;

/// Counts that an image and the background make expect, and the counts that were measured.
///
/// MLEM without background explains all counts after every iteration by construction, so this finds data that were left out,
/// not whether an image has converged.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Explained {
    /// ⟨s, x⟩ with the sensitivity s of all data: Σ m ⊙ (A x).
    pub image: f64,
    /// Σ a.
    pub additive: f64,
    /// Σ y.
    pub measured: f64,
}

impl Explained {
    /// Of counts y with background a and an image that makes `image` counts expect; `None` where the background of all is not
    /// known.
    pub fn new(image: f64, CountTotals { measured, additive }: CountTotals) -> Option<Self> {
        Some(Self { image, additive: additive?, measured })
    }

    /// (⟨s, x⟩ + Σ a) / Σ y.
    pub fn ratio(self) -> f64 {
        (self.image + self.additive) / self.measured
    }

    /// ⟨s, x⟩ / (Σ y − Σ a), where that is more than three standard deviations of Σ y: behind a background of 95 %
    /// [`Explained::ratio`] hides missing counts of the image.
    pub fn net_ratio(self) -> Option<f64> {
        let net = self.measured - self.additive;
        (self.additive > 0.0 && net > 3.0 * self.measured.sqrt()).then(|| self.image / net)
    }

    /// The one of the two that is farther from 1.
    pub fn worse(self) -> f64 {
        let far = |ratio: f64| (ratio - 1.0).abs();
        self.net_ratio().filter(|net| far(*net) > far(self.ratio())).unwrap_or(self.ratio())
    }

    /// Returns true between 95 and 105 %; of an image of a penalised likelihood, which may be smoother than its data, up to 102 %.
    pub fn is_usual(self, is_penalised: bool) -> bool {
        match is_penalised {
            true => self.image > 0.0 && self.worse() <= 1.02,
            false => (self.worse() - 1.0).abs() <= 0.05,
        }
    }

    /// Returns true if the counts of the image are not those of a result: none, less than half of the measured ones, or more than twice as
    /// many. An image of a penalised likelihood may have fewer.
    pub fn is_no_result(self, is_penalised: bool) -> bool {
        let least = if is_penalised { 0.0 } else { 0.5 };
        // (True of NaN, too.)
        !(self.image > 0.0 && (least..=2.0).contains(&self.worse()))
    }

    /// Both figures as text, in %.
    pub fn text(self) -> String {
        let percent = |ratio: f64| format!("{:.1} %", 100.0 * ratio);
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
        let of = |image, additive, measured| Explained { image, additive, measured };
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
}
