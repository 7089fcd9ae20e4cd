//! Settings of the spectrometer for a reference spectrum, against those for the projections.
//!
//! Samples are proportional to the gain and to the number of scans that were added, so that the reference is scaled by them. Other settings
//! act on the line, or in ways that depend on the probe (saturation, overmodulation): a difference is a warning, with the factor that the
//! values would have without such effects.

use std::path::Path;

use crate::data::{Notice, ReferenceSpectrum};

/// Part by which a setting may differ without a word.
const TOLERANCE: f64 = 0.02;

/// Phase that may differ without a word, degrees.
const MAX_PHASE_DEG: f64 = 5.0;

/// Settings in the header of a spectrum, as far as it has them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpectrumSettings {
    /// Gain of the receiver as a factor.
    pub gain: Option<f64>,
    /// Scans that were added.
    pub num_scans: Option<f64>,
    /// Scans that were planned.
    pub num_planned: Option<f64>,
    /// True if the values are divided by gain and scans already.
    pub is_normalised: bool,
    /// Time of a sample, s.
    pub conversion_secs: Option<f64>,
    /// Time constant of the receiver's low-pass filter, s.
    pub time_constant_secs: Option<f64>,
    /// Temperature of the sample, K.
    pub temperature_k: Option<f64>,
    /// Harmonic of the modulation that was detected.
    pub harmonic: Option<f64>,
    /// Amplitude of the modulation, mT.
    pub modulation_mt: Option<f64>,
    /// Microwave power, mW.
    pub power_mw: Option<f64>,
    /// Phase of the receiver, degrees.
    pub phase_deg: Option<f64>,
    /// Microwave frequency, GHz.
    pub frequency_ghz: Option<f64>,
}

/// Scales a reference spectrum as the projections, and returns notices of the scale and of other differences. The settings are those of
/// the spectrum, of the file `reference`, and of the projections.
pub fn match_settings(
    spectrum: &mut ReferenceSpectrum,
    [own, of_projections]: [&SpectrumSettings; 2],
    reference: &Path,
) -> Vec<Notice> {
    let mut notices = Vec::new();
    let both = |setting: fn(&SpectrumSettings) -> Option<f64>| Some([setting(own)?, setting(of_projections)?]);
    let name = format!("The reference spectrum {}", reference.display());
    let factors = [("gain", both(|of| of.gain)), ("number of scans", both(|of| of.num_scans))];
    let differing = factors.into_iter().filter_map(|(what, values)| Some((what, values.filter(is_other)?)));
    let differing: Vec<(&str, [f64; 2])> = differing.collect();
    if own.is_normalised != of_projections.is_normalised {
        notices.push(Notice::warning(format!(
            "{name} and the projections differ in their normalisation by gain and scans (SctNorm): the level of the image is wrong. Normalise both"
        )));
    } else if !own.is_normalised && !differing.is_empty() {
        let factor: f64 = differing.iter().map(|(_, [own, other])| other / own).product();
        spectrum.values = spectrum.values.iter().map(|value| (factor * f64::from(*value)) as f32).collect();
        let text = |(what, [own, other]): &(&str, [f64; 2])| format!("{what} {} and {}", short(*own), short(*other));
        let differences = differing.iter().map(text).collect::<Vec<_>>().join(", ");
        notices.push(Notice::info(format!(
            "{name} is multiplied by {}, as it and the projections differ in {differences}",
            short(factor)
        )));
    }
    for (of, settings) in [(name.as_str(), own), ("The file of the projections", of_projections)] {
        if let (Some(done), Some(planned)) = (settings.num_scans, settings.num_planned)
            && done != planned
        {
            notices.push(Notice::warning(format!(
                "{of} has {} of the planned scans, {} of {}: they were ended early. The scale of the reference follows from the scans that were done",
                if done < planned { "a part" } else { "more than all" },
                short(done),
                short(planned)
            )));
        }
    }
    // Values grow with this power of the setting: with the temperature by Curie's law.
    let powers: [(&str, &str, Setting, f64); 4] = [
        ("conversion time", "s", |of| of.conversion_secs, 1.0),
        ("modulation amplitude", "mT", |of| of.modulation_mt, 1.0),
        ("microwave power", "mW", |of| of.power_mw, 0.5),
        ("temperature", "K", |of| of.temperature_k, -1.0),
    ];
    for (what, unit, setting, power) in powers {
        if let Some([own, other]) = both(setting).filter(is_other) {
            notices.push(Notice::warning(format!(
                "{name} has another {what} than the projections, {} and {} {unit}: their values differ by a factor of about {}. Measure both alike",
                short(own),
                short(other),
                short((other / own).powf(power))
            )));
        }
    }
    if let Some([own, other]) = both(|of| of.time_constant_secs).filter(is_other) {
        notices.push(Notice::warning(format!(
            "{name} has another time constant than the projections, {} and {} s: the filter broadens and delays their lines differently. Measure both \
             alike",
            short(own),
            short(other)
        )));
    }
    if let Some([own, other]) = both(|of| of.harmonic).filter(is_other) {
        notices.push(Notice::warning(format!(
            "{name} is of the harmonic {own} of the modulation, the projections are of {other}: the image is wrong. Measure both alike"
        )));
    }
    if let Some([own, other]) = both(|of| of.phase_deg)
        && let apart = ((other - own + 180.0).rem_euclid(360.0) - 180.0).abs()
        && apart > MAX_PHASE_DEG
    {
        notices.push(Notice::warning(format!(
            "{name} and the projections differ in the phase of the receiver, {} and {}°: their values differ by a factor of about {}",
            short(own),
            short(other),
            short(apart.to_radians().cos())
        )));
    }
    notices
}

/// A setting of a header.
type Setting = fn(&SpectrumSettings) -> Option<f64>;

/// Returns true if two values differ by more than the tolerance.
fn is_other([own, other]: &[f64; 2]) -> bool {
    *own > 0.0 && *other > 0.0 && (other / own - 1.0).abs() > TOLERANCE
}

/// Returns a number with three digits that count, as short as possible: "0.06", "1250".
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (2 - value.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: SpectrumSettings = SpectrumSettings {
        gain: Some(1000.0),
        num_scans: Some(1.0),
        num_planned: Some(1.0),
        is_normalised: false,
        conversion_secs: Some(0.0025),
        time_constant_secs: Some(0.002_56),
        temperature_k: Some(300.0),
        harmonic: Some(1.0),
        modulation_mt: Some(0.06),
        power_mw: Some(20.05),
        phase_deg: Some(180.0),
        frequency_ghz: Some(1.086_252),
    };

    /// Text and scale of the differences of a reference with these settings.
    fn differences(own: SpectrumSettings) -> (Vec<String>, f32) {
        // From peak to peak 4 samples.
        let values = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0].map(|value: f32| value);
        let mut spectrum = ReferenceSpectrum { values: values.into(), step_mt: 0.025 };
        let notices = match_settings(&mut spectrum, [&own, &SETTINGS], Path::new("h.DSC"));
        (notices.into_iter().map(|notice| notice.text).collect(), spectrum.values[2])
    }

    #[test]
    fn gain_and_scans_scale_the_reference() {
        assert_eq!(differences(SETTINGS), (Vec::new(), 1.0));
        let (texts, scale) =
            differences(SpectrumSettings { gain: Some(100.0), num_scans: Some(16.0), num_planned: None, ..SETTINGS });
        assert!((scale - 10.0 / 16.0).abs() < 1e-6);
        assert!(texts[0].contains("multiplied by 0.625") && texts[0].contains("number of scans 16 and 1"), "{texts:?}");
        let (texts, scale) = differences(SpectrumSettings { gain: Some(100.0), is_normalised: true, ..SETTINGS });
        assert!(scale == 1.0 && texts[0].contains("SctNorm"), "{texts:?}");
        assert_eq!(differences(SpectrumSettings::default()), (Vec::new(), 1.0));
    }

    #[test]
    fn other_settings_are_warned_of_with_their_factor() {
        let text = |own: SpectrumSettings| differences(own).0.join("; ");
        let modulation = text(SpectrumSettings { modulation_mt: Some(0.060_000_000_000_000_005 / 2.0), ..SETTINGS });
        assert!(modulation.contains("0.03 and 0.06 mT") && modulation.contains("about 2."), "{modulation}");
        let power = text(SpectrumSettings { power_mw: Some(20.05 / 4.0), ..SETTINGS });
        assert!(power.contains("5.01 and 20.1 mW") && power.contains("about 2."), "{power}");
        assert!(text(SpectrumSettings { harmonic: Some(2.0), ..SETTINGS }).contains("harmonic 2 of the modulation"));
        let phase = text(SpectrumSettings { phase_deg: Some(0.0), ..SETTINGS });
        assert!(phase.contains("0 and 180°") && phase.contains("about -1"), "{phase}");
        let filter = text(SpectrumSettings { time_constant_secs: Some(0.163_84), ..SETTINGS });
        assert!(filter.contains("another time constant") && filter.contains("0.164 and 0.00256 s"), "{filter}");
        // Curie's law: at 100 K three times the values of 300 K.
        let cold = text(SpectrumSettings { temperature_k: Some(100.0), ..SETTINGS });
        assert!(cold.contains("another temperature") && cold.contains("100 and 300 K") && cold.contains("about 0.333"), "{cold}");
    }

    #[test]
    fn scans_that_were_ended_early_are_named() {
        let (texts, scale) = differences(SpectrumSettings { num_scans: Some(5.0), num_planned: Some(16.0), ..SETTINGS });
        assert!((scale - 0.2).abs() < 1e-6, "{scale}");
        assert!(texts.iter().any(|text| text.contains("a part of the planned scans, 5 of 16")), "{texts:?}");
        assert_eq!(differences(SpectrumSettings { num_planned: None, ..SETTINGS }).0, Vec::<String>::new());
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.060_000_000_000_000_005, 1250.0, 0.0, -1.0, 18.04].map(short), ["0.06", "1250", "0", "-1", "18"]);
    }
}
