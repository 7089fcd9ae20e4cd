//! Calibrations of oxygen: pO₂ from a relaxation rate, built in from `assets/calibrations`, or of a user's file.
//!
//! ```toml
//! version = 1
//! name = "my-probe"
//! title = "My probe in saline"
//! source = "calibration of 2026-01-01"
//!
//! [r1]                          # or [r2]: pO2 = slope_torr_us × (R − intercept_per_us)
//! slope_torr_us = 109.664       # torr per 1/µs
//! intercept_per_us = 0.181      # rate without oxygen, 1/µs
//! ```
//!
//! In place of `[r2]`, its linewidth LLW = R₂/(2π · 2.802 MHz/G):
//!
//! ```toml
//! [linewidth]                   # pO2 = slope_torr_per_mg × (LLW − intercept_mg)
//! slope_torr_per_mg = 1.84
//! intercept_mg = 10.2
//! ```

use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

use super::toml_text::{Form, parse};
use crate::data::{MILLIGAUSS_PER_RATE, OxygenCalibration, RelaxationRate};
use crate::io::bytes::read_text;
use crate::io::error::{Cause, IoError};
use crate::io::own::toml_text::FormProblem;

const FORM: Form = Form { is_not: "it is no calibration of oxygen", versions: &[1], max_bytes: 1 << 20 };

const FILES: [&str; 4] = [
    include_str!("../../../../assets/calibrations/ox071-pbs.toml"),
    include_str!("../../../../assets/calibrations/ox071-dmem.toml"),
    include_str!("../../../../assets/calibrations/ox071-vitrogel.toml"),
    include_str!("../../../../assets/calibrations/eprit-llw.toml"),
];

static BUILT_IN: LazyLock<Vec<OxygenCalibration>> =
    LazyLock::new(|| FILES.iter().filter_map(|text| calibration(text).ok()).collect());

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CalibrationFile {
    #[allow(dead_code)]
    version: u32,
    name: String,
    title: String,
    source: String,
    r1: Option<OfRate>,
    r2: Option<OfRate>,
    linewidth: Option<OfLinewidth>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfRate {
    slope_torr_us: f64,
    intercept_per_us: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfLinewidth {
    slope_torr_per_mg: f64,
    intercept_mg: f64,
}

/// Returns the built-in calibrations. (That each of their files parses is tested.)
pub fn built_in() -> &'static [OxygenCalibration] {
    &BUILT_IN
}

/// Returns the built-in calibration of a name.
pub fn find(name: &str) -> Option<&'static OxygenCalibration> {
    built_in().iter().find(|calibration| calibration.name.eq_ignore_ascii_case(name))
}

/// Reads a calibration.
///
/// # Errors
/// It does not read, has not exactly one of the sections, or a slope that is not positive or an intercept that is negative.
pub fn read_file(path: &Path) -> Result<OxygenCalibration, IoError> {
    calibration(&read_text(path, FORM.max_bytes)?).map_err(|problem| FORM.refused(path, problem))
}

fn calibration(text: &str) -> Result<OxygenCalibration, Cause> {
    let CalibrationFile { name, title, source, r1, r2, linewidth, .. } = parse(text, FORM.versions)?;
    for (key, text) in [("name", &name), ("title", &title), ("source", &source)] {
        if text.trim().is_empty() {
            return Err(FormProblem::EmptyText(key).into());
        }
    }
    let rate_of = |rate| move |of: OfRate| (rate, of.slope_torr_us, of.intercept_per_us);
    let of_linewidth =
        |of: OfLinewidth| (RelaxationRate::R2, of.slope_torr_per_mg * MILLIGAUSS_PER_RATE, of.intercept_mg / MILLIGAUSS_PER_RATE);
    let sections = [r1.map(rate_of(RelaxationRate::R1)), r2.map(rate_of(RelaxationRate::R2)), linewidth.map(of_linewidth)];
    let mut sections = sections.into_iter().flatten();
    let (Some((rate, slope_torr_us, intercept_per_us)), None) = (sections.next(), sections.next()) else {
        return Err(OxygenProblem::Section.into());
    };
    let is_valid = slope_torr_us.is_finite() && slope_torr_us > 0.0 && intercept_per_us.is_finite() && intercept_per_us >= 0.0;
    if !is_valid {
        return Err(OxygenProblem::Line { slope_torr_us, intercept_per_us }.into());
    }
    Ok(OxygenCalibration { name, title, source, rate, slope_torr_us, intercept_per_us })
}

/// A problem of a calibration of oxygen.
#[derive(Debug, thiserror::Error)]
enum OxygenProblem {
    /// No section, or several.
    #[error("expected one of the sections [r1], [r2] and [linewidth]")]
    Section,
    /// A slope or an intercept that is no calibration.
    #[error(
        "the slope is {slope_torr_us} torr·µs and the intercept {intercept_per_us}/µs; expected a slope above 0 and an intercept of at least 0"
    )]
    Line {
        /// Slope, torr·µs.
        slope_torr_us: f64,
        /// Intercept, 1/µs.
        intercept_per_us: f64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINE: &str =
        "version = 1\nname = 'mine'\ntitle = 'Mine'\nsource = 'us'\n[r1]\nslope_torr_us = 100\nintercept_per_us = 0.2\n";

    #[test]
    fn built_in_calibrations_parse_and_have_the_published_numbers() {
        assert_eq!(built_in().len(), FILES.len());
        for (name, slope, intercept) in
            [("OX071-PBS", 109.664, 0.181), ("ox071-dmem", 123.3941, 0.1537), ("ox071-vitrogel", 113.484, 0.130)]
        {
            let found = find(name).unwrap();
            assert_eq!((found.rate, found.slope_torr_us, found.intercept_per_us), (RelaxationRate::R1, slope, intercept));
            assert!((found.po2_torr(found.rate_per_us(40.0)) - 40.0).abs() < 1e-12);
        }
        // LLW = 1000 R₂/(2π · 2.802) mG: R₂ = 0.5/µs has 28.40 mG, hence (28.40 − 10.2) · 1.84 torr.
        let linewidth = find("eprit-llw").unwrap();
        let llw = 0.5 * 1e3 / (2.0 * std::f64::consts::PI * 2.802);
        assert_eq!(linewidth.rate, RelaxationRate::R2);
        assert!((linewidth.po2_torr(0.5) - (llw - 10.2) * 1.84).abs() < 1e-9 && (llw - 28.4).abs() < 0.01);
        assert!(find("ox063").is_none());
    }

    #[test]
    fn invalid_files_are_refused() {
        assert_eq!(calibration(MINE).unwrap().po2_sd_torr(0.01), 1.0);
        let refused = |from: &str, to: &str| {
            assert!(MINE.contains(from), "{from}");
            calibration(&MINE.replace(from, to)).unwrap_err().to_string()
        };
        let one = "expected one of the sections [r1], [r2] and [linewidth]";
        assert_eq!(refused("[r1]\nslope_torr_us = 100\nintercept_per_us = 0.2\n", ""), one);
        assert_eq!(refused("[r1]", "[linewidth]\nslope_torr_per_mg = 1\nintercept_mg = 1\n[r1]"), one);
        assert!(refused("= 100", "= 0").starts_with("the slope is 0 torr·µs and the intercept 0.2/µs; expected"));
        assert!(refused("= 0.2", "= nan").contains("the intercept NaN/µs"));
        assert_eq!(refused("'us'", "''"), "'source' is empty; enter a text");
        assert!(refused("[r1]", "[r3]").contains("unknown field `r3`"));
    }
}
