//! Tubes of response: a small TOML header (`NAME.tubes`) and a file of little-endian 32-bit floats (`NAME.tubes.f32`).
//!
//! ```toml
//! version = 1
//! scanner = "tomoscope VrPET"     # as projection data name it
//! num_samples = [117, 7, 7]       # along the line, across it, along the axis
//! spacing_mm = [0.74, 0.74, 0.76]
//! num_radial = 59                 # distances from the axis that have a tube
//! num_ring_differences = 30       # ring differences that have one
//! data_file = "vrpet.tubes.f32"   # in the same folder
//! data_checksum = "crc32 cbf43926"
//!
//! [made]                          # their simulation, if known
//! isotope = "F-18"               # left out where positrons do not travel
//! is_collinear = false
//! num_histories = 1000000000
//! seed = 1
//! median_error_percent = 2.1      # standard errors on the single tubes' axes
//! worst_tenth_error_percent = 6.4
//! outside_percent = 1.2           # coincidences whose decay lies outside the samples of their tube
//!
//! [made.super_lors]               # if tubes are shared
//! median_error_percent = 1.1      # standard error on the axes of the shared tubes, if known
//!
//! [made.super_lors.sizes]
//! radial = 6
//! ring_differences = 5
//! along = 9                       # samples of the running mean along the line
//!
//! [made.super_lors.deviation]     # from the single tubes
//! inner_percent = 60.1
//! edge_percent = 70.2
//! ```
//!
//! The data file holds `[radial][ring difference][along][across][axial]`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::toml_text::Form;
use crate::data::{TubeSampling, TubeSet, TubeSetError, TubesMade};
use crate::io::bytes::write_f32_le;
use crate::io::error::IoError;

const VERSION: u32 = 1;

const FORM: Form = Form { is_not: "these are not tubes of response", versions: &[VERSION], max_bytes: 1 << 16 };

/// Most coefficients: 4 GiB of them.
const MAX_COEFFICIENTS: usize = 1 << 30;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    scanner: String,
    num_samples: [usize; 3],
    spacing_mm: [f64; 3],
    num_radial: usize,
    num_ring_differences: usize,
    data_file: String,
    data_checksum: String,
    made: Option<TubesMade>,
}

/// Reads tubes.
///
/// # Errors
/// Not a header of this form, another version, a data file that is missing, of another size or another one than the header's,
/// invalid coefficients.
pub fn read_tubes(path: &Path) -> Result<TubeSet, IoError> {
    let (header, data) = FORM.read_header::<Header>(path)?;
    let refused = |problem: TubesProblem| FORM.refused(path, problem);
    let sampling = TubeSampling {
        num: header.num_samples,
        spacing_mm: header.spacing_mm,
        num_radial: header.num_radial,
        num_ring_differences: header.num_ring_differences,
    };
    let num = sampling.num_coefficients().filter(|num| (1..=MAX_COEFFICIENTS).contains(num));
    let num = num.ok_or_else(|| refused(TubesProblem::NumCoefficients(MAX_COEFFICIENTS)))?;
    let set = TubeSet::new(header.scanner, sampling, data.numbers(num)?).map_err(|error| refused(error.into()))?;
    Ok(TubeSet { made: header.made, ..set })
}

/// Writes tubes: the header to `path`, the coefficients next to it.
///
/// # Errors
/// A failed write; existing files then remain.
pub fn write_tubes(path: &Path, tubes: &TubeSet) -> Result<(), IoError> {
    let data = data_file(path);
    let sampling = &tubes.sampling;
    Form::write(
        [path, &data],
        |writer| write_f32_le(writer, &tubes.coefficients),
        |data_file, data_checksum| Header {
            version: VERSION,
            scanner: tubes.scanner.clone(),
            num_samples: sampling.num,
            spacing_mm: sampling.spacing_mm,
            num_radial: sampling.num_radial,
            num_ring_differences: sampling.num_ring_differences,
            data_file,
            data_checksum,
            made: tubes.made.clone(),
        },
    )
}

/// Returns the data file that belongs to a header.
pub fn data_file(header: &Path) -> PathBuf {
    header.with_extension("tubes.f32")
}

/// A problem of tubes of response.
#[derive(Debug, thiserror::Error)]
enum TubesProblem {
    /// No coefficients, or too many.
    #[error("they would have none, or more than {0} coefficients")]
    NumCoefficients(usize),
    /// Coefficients that are not a set of tubes.
    #[error(transparent)]
    Tubes(#[from] TubeSetError),
}
