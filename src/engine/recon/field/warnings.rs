//! Warnings of a reference spectrum at another field, of drift, and of the other sign.

use super::fit::{FieldFit, WithError};
use crate::data::{Notice, ReferenceSpectrum, Sweep, SweepKind};
use crate::io::cut_off;
use crate::measure::DoubleIntegral;

/// Part of the width of the line from peak to peak up to which a shift is usual.
const MAX_SHIFT: f64 = 0.1;

/// The same in distances of samples.
const MAX_STEPS: f64 = 0.3;

/// Usual change of the gain.
const MAX_GAIN: f64 = 0.05;

/// Part of the area of a line beyond the sweep that is usual.
const MAX_BEYOND: f64 = 0.05;

/// Warns of a reference spectrum that does not suit the projections of a finished acquisition: its field, drift of field or gain, its sign,
/// its width. Returns nothing more of projections that are cut off, whose own warning comes first.
pub fn field_warnings(sweep: &Sweep) -> Vec<Notice> {
    let SweepKind::ContinuousWave { reference: Some(reference), step_mt, .. } = &sweep.kind else { return Vec::new() };
    let beyond = tails_beyond(reference, sweep.num_points as f64 * step_mt);
    if cut_off(sweep).is_some() {
        return beyond.into_iter().collect();
    }
    let of_fit = FieldFit::of(sweep).map_or(Vec::new(), |fit| fit.warnings(reference, *step_mt));
    of_fit.into_iter().chain(beyond).collect()
}

/// Warns of a line that a sweep over `sweep_mt` does not contain.
fn tails_beyond(reference: &ReferenceSpectrum, sweep_mt: f64) -> Option<Notice> {
    let integral = DoubleIntegral::of(reference)?;
    let beyond = integral.beyond_sweep;
    (beyond > MAX_BEYOND).then(|| {
        Notice::warning(format!(
            "The field sweep of {sweep_mt:.3} mT leaves out about {:.0} % of the area of the line, in its tails: the total of the image is wrong by up to \
             that. Measure a wider sweep",
            100.0 * beyond
        ))
    })
}

impl FieldFit {
    /// Returns true if the reference spectrum is clearly at another field than the projections, whose samples are `step_mt` apart.
    pub fn is_shifted(&self, reference: &ReferenceSpectrum, step_mt: f64) -> bool {
        self.shift_mt.exceeds(threshold_mt(reference, step_mt))
    }

    /// Returns the warnings for projections whose samples are `step_mt` apart; none of a reference that suits them.
    pub fn warnings(&self, reference: &ReferenceSpectrum, step_mt: f64) -> Vec<Notice> {
        let width_mt = reference.peak_to_peak_mt();
        let threshold_mt = threshold_mt(reference, step_mt);
        let shift = self.is_shifted(reference, step_mt).then(|| {
            format!(
                "The lines of the projections are {} mT from the line of the reference spectrum, which is {width_mt:.3} mT wide from peak to peak: the \
                 image is blurred and distorted. Measure both at one frequency, or move the reference by this shift (--field-shift auto)",
                self.shift_mt.text()
            )
        });
        let drift = self.drift_mt.filter(|drift| drift.exceeds(threshold_mt)).map(|drift| {
            format!(
                "The field drifts by {} mT from the first to the last projection, relative to the microwave frequency. The line is {width_mt:.3} mT wide \
                 from peak to peak: the image is distorted. Measure again at a stable frequency",
                drift.text()
            )
        });
        let gain = self.gain.exceeds(MAX_GAIN).then(|| {
            let percent = WithError { value: 100.0 * self.gain.value, standard_error: 100.0 * self.gain.standard_error };
            format!(
                "The signal changes by {} % of its mean from the first to the last projection, as by a drift of the gain or the tuning, or a probe that decays: \
                 values in the image are wrong. Measure again, or with directions in random order",
                percent.text()
            )
        });
        let sign = (self.amount.value < 0.0).then(|| {
            "The projections have the other sign than the reference spectrum: the image is negative. The phase of the modulation is off by 180° in one of \
             them"
                .to_owned()
        });
        [shift, drift, gain, sign].into_iter().flatten().map(Notice::warning).collect()
    }
}

/// Returns the largest usual shift.
fn threshold_mt(reference: &ReferenceSpectrum, step_mt: f64) -> f64 {
    (MAX_SHIFT * reference.peak_to_peak_mt()).max(MAX_STEPS * step_mt)
}

impl WithError {
    /// Returns the number with its error to two digits: "0.0943 ± 0.0021".
    pub fn text(&self) -> String {
        let digits = (1 - self.standard_error.abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
        format!("{:.digits$} ± {:.digits$}", self.value, self.standard_error)
    }
}
