//! Studies of pulse oximetry: acquisitions at several delays or echo times, with the calibration of the probe.
//!
//! ```toml
//! version = 1
//! title = "Tumour, day 7"
//! calibration = "ox071-pbs"     # a built-in one, or a file (.toml) in the same folder
//! delays_us = [0.4, 8.0, 30.0]  # or echo_times_us, for a calibration of R2
//! acquisitions = ["scan_f001.sweep", "scan_f002.sweep", "scan_f003.sweep"]
//! ```

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::oxygen;
use super::toml_text::Form;
use crate::data::{OxygenCalibration, RelaxationRate};
use crate::io::bytes::write_whole;
use crate::io::error::IoError;

const FORM: Form = Form { is_not: "it is no study of pulse oximetry", versions: &[1], max_bytes: 1 << 20 };

/// Ending of the files.
pub const ENDING: &str = ".oximetry.toml";

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct OximetryFile {
    version: u32,
    title: String,
    calibration: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    delays_us: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    echo_times_us: Option<Vec<f64>>,
    acquisitions: Vec<PathBuf>,
}

/// Content of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct OximetryStudy {
    /// Name of the study.
    pub title: String,
    /// Calibration of the probe.
    pub calibration: OxygenCalibration,
    /// Time and file of each acquisition, µs.
    pub acquisitions: Vec<(f64, PathBuf)>,
}

/// Reads a file. The paths are relative to its folder.
///
/// # Errors
/// It does not read, its calibration is unknown, or the times are not those of the calibration and of the acquisitions.
pub fn read_file(path: &Path) -> Result<OximetryStudy, IoError> {
    let OximetryFile { title, calibration, delays_us, echo_times_us, acquisitions, .. } = FORM.read(path)?;
    let calibration = match oxygen::find(&calibration) {
        Some(calibration) => calibration.clone(),
        None => oxygen::read_file(&path.with_file_name(&calibration))?,
    };
    let (times, others) = match calibration.rate {
        RelaxationRate::R1 => (delays_us, echo_times_us),
        RelaxationRate::R2 => (echo_times_us, delays_us),
    };
    let times = times.unwrap_or_default();
    if times.len() != acquisitions.len() || times.is_empty() || others.is_some() {
        let (rate, found, num) = (calibration.rate, times.len(), acquisitions.len());
        return Err(FORM.refused(path, OximetryTimes { rate, found, num }));
    }
    let acquisitions = times.into_iter().zip(acquisitions.iter().map(|file| path.with_file_name(file))).collect();
    Ok(OximetryStudy { title, calibration, acquisitions })
}

/// Returns the acquisitions that a file names; none of an invalid one.
pub fn acquisitions(path: &Path) -> Vec<PathBuf> {
    let study = read_file(path).map(|study| study.acquisitions).unwrap_or_default();
    study.into_iter().map(|(_, file)| file).collect()
}

/// Writes a file; `calibration` is a name or a file.
///
/// # Errors
/// The file is not writable.
pub fn write(path: &Path, study: &OximetryStudy, calibration: &str) -> Result<(), IoError> {
    let (times, acquisitions): (Vec<f64>, Vec<PathBuf>) = study.acquisitions.iter().cloned().unzip();
    let is_r1 = study.calibration.rate == RelaxationRate::R1;
    let (delays_us, echo_times_us) = if is_r1 { (Some(times), None) } else { (None, Some(times)) };
    let file = OximetryFile {
        version: 1,
        title: study.title.clone(),
        calibration: calibration.to_owned(),
        delays_us,
        echo_times_us,
        acquisitions,
    };
    let text = toml::to_string(&file).map_err(std::io::Error::other).map_err(IoError::write(path))?;
    write_whole(path, text.as_bytes())
}

/// Times that are not those of the calibration and of the acquisitions.
#[derive(Debug, thiserror::Error)]
#[error(
    "expected {} with a time for each of {num} acquisitions, found {found}; the calibration is of {}",
    times_key(*rate), rate.label()
)]
struct OximetryTimes {
    /// Rate of the calibration, which determines the key.
    rate: RelaxationRate,
    /// Number of times under that key.
    found: usize,
    /// Number of the acquisitions.
    num: usize,
}

/// Returns the key of the times in a study of pulse oximetry.
fn times_key(rate: RelaxationRate) -> &'static str {
    match rate {
        RelaxationRate::R1 => "delays_us",
        RelaxationRate::R2 => "echo_times_us",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_reads_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.oximetry.toml");
        for (calibration, num) in [("ox071-pbs", 3), ("eprit-llw", 2)] {
            let acquisitions = (0..num).map(|k| (0.5 + f64::from(k), PathBuf::from(format!("a_f00{k}.sweep")))).collect();
            let study =
                OximetryStudy { title: "a".into(), calibration: oxygen::find(calibration).unwrap().clone(), acquisitions };
            write(&path, &study, calibration).unwrap();
            let found = read_file(&path).unwrap();
            assert_eq!((&found.title, &found.calibration), (&study.title, &study.calibration));
            let files: Vec<PathBuf> = study.acquisitions.iter().map(|(_, file)| folder.path().join(file)).collect();
            assert_eq!(super::acquisitions(&path), files);
        }
    }

    #[test]
    fn invalid_studies_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.oximetry.toml");
        let good =
            "version = 1\ntitle = \"a\"\ncalibration = \"ox071-pbs\"\ndelays_us = [1.0, 2.0]\nacquisitions = [\"a\", \"b\"]\n";
        let refused = |from: &str, to: &str, expected: &str| {
            assert!(good.contains(from));
            std::fs::write(&path, good.replace(from, to)).unwrap();
            let text = read_file(&path).unwrap_err().to_string();
            assert!(text.contains(expected), "{text}");
        };
        refused("[1.0, 2.0]", "[1.0]", "delays_us with a time for each of 2 acquisitions, found 1");
        refused(
            "delays_us",
            "echo_times_us",
            "delays_us with a time for each of 2 acquisitions, found 0; the calibration is of R1",
        );
        refused("version = 1", "version = 9", "9");
        refused("ox071-pbs", "other.toml", "other.toml");
        refused("title", "name", "name");
    }
}
