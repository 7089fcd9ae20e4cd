//! Options about injection, patient and time of a scan.

use clap::Args;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;

use crate::cli::shared::options::{number, positive};
use crate::data::SuvDefinition;
use crate::data::{NUCLIDES, Nuclide, Sex};

/// Injection, patient and time of a scan, for images in Bq/mL or uptake values.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Activity and uptake")]
pub struct UptakeOptions {
    /// Write uptake values: suvbw, sul, sul-james or suvbsa.
    ///
    /// By body weight, by lean body mass (Janmahasatian, James) or by body surface (Du Bois).
    #[arg(long, value_name = "DEFINITION", requires = "calibration")]
    pub suv: Option<SuvDefinition>,

    /// Injected activity at the time of the injection, MBq.
    ///
    /// With this or another option on injection, patient or time, written images are corrected for decay to the start of the
    /// scan, and their attenuation must be corrected.
    #[arg(long, value_name = "MBQ", value_parser = positive, requires = "calibration")]
    pub dose_mbq: Option<f64>,

    /// Time of the injection: ISO 8601, or the time before the scan (-60min).
    #[arg(long, value_name = "TIME", value_parser = injection, allow_hyphen_values = true, requires = "calibration")]
    pub injected: Option<Injection>,

    /// Start of the scan, ISO 8601.
    ///
    /// Default: that of the header of the data, else unknown; the times of a DICOM series are then those of its writing.
    #[arg(long, value_name = "TIME", value_parser = moment, requires = "calibration")]
    pub scan_start: Option<Moment>,

    /// Duration of the scan, s.
    ///
    /// Default: that of the list-mode data or of the sinogram header.
    #[arg(long, value_name = "SECS", value_parser = positive, requires = "use_of_duration")]
    pub duration_secs: Option<f64>,

    /// Half-life in s, or the nuclide: C-11, N-13, O-15, F-18, Cu-64, Ga-68, Rb-82, Zr-89, I-124.
    ///
    /// Default: that of the header of the data.
    #[arg(long, value_name = "SECS|NUCLIDE", value_parser = half_life, requires = "calibration")]
    pub half_life: Option<HalfLife>,

    /// Weight of the patient, kg.
    #[arg(long, value_name = "KG", value_parser = positive, requires = "calibration")]
    pub weight_kg: Option<f64>,

    /// Height of the patient, cm.
    #[arg(long, value_name = "CM", value_parser = positive, requires = "calibration")]
    pub height_cm: Option<f64>,

    /// Sex of the patient: female or male.
    #[arg(long, value_name = "SEX", value_parser = sex, requires = "calibration")]
    pub sex: Option<Sex>,

    /// Content of the multiplicative factors: attenuation, normalisation.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub multiplicative_includes: Vec<FactorContent>,

    /// Content of the additive background: randoms, scatter.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub additive_includes: Vec<BackgroundContent>,
}

/// A correction in the multiplicative factors; its text in capital letters is DICOM's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
pub enum FactorContent {
    /// Attenuation.
    #[strum(to_string = "ATTN", serialize = "attenuation")]
    Attenuation,
    /// Normalisation.
    #[strum(to_string = "NORM", serialize = "normalisation", serialize = "normalization")]
    Normalization,
}

/// A correction in the additive background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
pub enum BackgroundContent {
    /// Random coincidences.
    #[strum(to_string = "RAN", serialize = "randoms")]
    Randoms,
    /// Scattered coincidences.
    #[strum(to_string = "SCAT", serialize = "scatter")]
    Scatter,
}

/// A moment on the calendar, with its offset from UTC if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub local: DateTime,
    /// Offset from UTC.
    pub offset: Option<Offset>,
}

/// Time of an injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    At(Moment),
    /// A time before the scan.
    Before(SignedDuration),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfLife {
    pub secs: f64,
    /// Name of the nuclide, if it is known.
    pub nuclide: Option<&'static str>,
}

impl UptakeOptions {
    /// Returns true if an option on injection, patient or start was set.
    pub fn has_facts(&self) -> bool {
        let Self { suv, dose_mbq, injected, scan_start, half_life, weight_kg, height_cm, sex, .. } = self;
        let numbers = [dose_mbq, weight_kg, height_cm].into_iter().any(Option::is_some);
        numbers || suv.is_some() || injected.is_some() || scan_start.is_some() || half_life.is_some() || sex.is_some()
    }
}

fn moment(text: &str) -> Result<Moment, String> {
    let wrong = || format!("'{text}' is no date and time of ISO 8601 such as 2026-03-01T10:30:00 or 2026-03-01T10:30:00+01:00");
    let pieces = Pieces::parse(text).map_err(|_| wrong())?;
    let time = pieces.time().ok_or_else(wrong)?;
    Ok(Moment { local: pieces.date().to_datetime(time), offset: pieces.to_numeric_offset() })
}

fn injection(text: &str) -> Result<Injection, String> {
    let Some(before) = text.strip_prefix('-') else { return moment(text).map(Injection::At) };
    let duration = before.parse::<SignedDuration>().ok().filter(|duration| !duration.is_negative());
    let wrong = || format!("'{text}' is no time before the scan such as -60min or -1h30m");
    duration.map(Injection::Before).ok_or_else(wrong)
}

/// Parses a half-life or the name of a nuclide.
fn half_life(text: &str) -> Result<HalfLife, String> {
    if let Some(nuclide) = Nuclide::find(text) {
        return Ok(HalfLife { secs: nuclide.half_life_secs, nuclide: Some(nuclide.name) });
    }
    let names: Vec<&str> = NUCLIDES.iter().map(|nuclide| nuclide.name).collect();
    let wrong = format!("'{text}' is neither a number of seconds nor one of {}", names.join(", "));
    number(text, |secs: &f64| secs.is_finite() && *secs > 0.0, wrong).map(|secs| HalfLife { secs, nuclide: None })
}

fn sex(text: &str) -> Result<Sex, String> {
    match text {
        "female" => Ok(Sex::Female),
        "male" => Ok(Sex::Male),
        _ => Err(format!("unknown sex '{text}'; use female or male")),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn times_and_half_lives_are_parsed() {
        let local = date(2026, 3, 1).at(10, 30, 0, 0);
        assert_eq!(moment("2026-03-01T10:30:00"), Ok(Moment { local, offset: None }));
        assert_eq!(moment("2026-03-01T10:30+01:00").unwrap().offset.map(Offset::seconds), Some(3600));
        assert_eq!(injection("-60min"), Ok(Injection::Before(SignedDuration::from_mins(60))));
        assert_eq!(injection("-1h30m"), Ok(Injection::Before(SignedDuration::from_mins(90))));
        assert_eq!(injection("2026-03-01 10:30:00"), Ok(Injection::At(Moment { local, offset: None })));
        for wrong in ["60min", "-", "-x", "2026-03-01", "yesterday"] {
            assert!(injection(wrong).is_err(), "{wrong}");
        }
        assert_eq!(half_life("18F").map(|found| found.nuclide), Ok(Some("F-18")));
        assert_eq!(half_life("6588").map(|found| found.secs), Ok(6588.0));
        assert!(half_life("-3").unwrap_err().contains("Ga-68"));
        assert_eq!("attenuation".parse(), Ok(FactorContent::Attenuation));
        assert_eq!(<&str>::from(FactorContent::Normalization), "NORM");
    }
}
