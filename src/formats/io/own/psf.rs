//! Point spread functions by the distance from the scanner's axis (`--psf`).
//!
//! ```toml
//! version = 1
//! radius_mm = [0, 100, 200, 300]             # from the axis, rising
//! radial_fwhm_mm = [4.7, 5.0, 5.6, 6.4]      # away from the axis
//! tangential_fwhm_mm = [4.7, 4.8, 4.9, 5.1]  # across that
//! axial_fwhm_mm = [4.9, 5.1, 5.5, 5.9]
//! ```
//!
//! Widths between two distances are interpolated, those beyond the first and the last are as there.

use std::path::Path;

use serde::Deserialize;

use super::toml_text;
use crate::coded::coded;
use crate::data::{Psf, PsfAtRadius, PsfError};
use crate::io::bytes::read_text;
use crate::io::error::{Cause, IoError};

/// Version of the format.
const VERSION: u32 = 1;

/// Largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PsfFile {
    #[allow(dead_code)]
    version: u32,
    radius_mm: Vec<f64>,
    radial_fwhm_mm: Vec<f64>,
    tangential_fwhm_mm: Vec<f64>,
    axial_fwhm_mm: Vec<f64>,
}

/// Reads a point spread function.
///
/// # Errors
/// It does not read, or is invalid.
pub fn read_file(path: &Path) -> Result<Psf, IoError> {
    let text = read_text(path, MAX_BYTES)?;
    let refused = |problem: Cause| IoError::unsupported(path, NotAPsf(problem));
    let PsfFile { radius_mm, radial_fwhm_mm, tangential_fwhm_mm, axial_fwhm_mm, .. } =
        toml_text::parse(&text, &[VERSION]).map_err(|problem| refused(problem.into()))?;
    let expected = radius_mm.len();
    let keys =
        [("radial_fwhm_mm", &radial_fwhm_mm), ("tangential_fwhm_mm", &tangential_fwhm_mm), ("axial_fwhm_mm", &axial_fwhm_mm)];
    if let Some((key, values)) = keys.into_iter().find(|(_, values)| values.len() != expected) {
        return Err(refused(PsfProblem::Len { key, found: values.len(), expected }.into()));
    }
    let rows = (0..expected).map(|k| PsfAtRadius {
        radius_mm: radius_mm[k],
        radial_fwhm_mm: radial_fwhm_mm[k],
        tangential_fwhm_mm: tangential_fwhm_mm[k],
        axial_fwhm_mm: axial_fwhm_mm[k],
    });
    Psf::ByRadius(rows.collect()).checked().map_err(|error| refused(PsfProblem::Widths(error).into()))
}

/// A problem of a point spread function.
#[derive(Debug, thiserror::Error)]
enum PsfProblem {
    /// Widths that are no point spread function.
    #[error(transparent)]
    Widths(PsfError),
    /// A list of another length than that of the distances.
    #[error("{key} has {found} numbers where radius_mm has {expected}")]
    Len {
        /// Its key.
        key: &'static str,
        /// Numbers of this list.
        found: usize,
        /// Numbers of `radius_mm`.
        expected: usize,
    },
}

/// A file that is no point spread function, with the problem.
#[derive(Debug, thiserror::Error)]
#[error("it is no point spread function that is understood ({0})")]
struct NotAPsf(#[source] Cause);

coded!(NotAPsf = "io.unsupported.tomoscope");
