//! Stored sensitivities of list-mode data: a small TOML header (`NAME.sensitivity`) and a file of little-endian 32-bit floats
//! (`NAME.sensitivity.f32`).
//!
//! ```toml
//! version = 1
//! made_of = "6c62272e07bb014262b821756295c58d"   # the fingerprint of all that it depends on
//! num_pairs = 294528                             # pairs of crystals that could count
//! size = [64, 64, 15]                            # voxels along x, y, z
//! voxel_mm = [2.0, 2.0, 2.5]
//! origin_mm = [-63.0, -63.0, -17.5]              # middle of the first voxel
//! data_file = "a.sensitivity.f32"                # in the same folder
//! data_checksum = "crc32 cbf43926"
//! ```
//!
//! The data file holds a value for each voxel, mm, x fastest.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::toml_text::Form;
use crate::data::{Unit, Volume};
use crate::geometry::Grid;
use crate::io::bytes::write_f32_le;
use crate::io::error::IoError;

const VERSION: u32 = 1;

const FORM: Form = Form { is_not: "this is no sensitivity", versions: &[VERSION], max_bytes: 1 << 16 };

/// A sensitivity in its files.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedSensitivity {
    /// Fingerprint of all that it depends on.
    pub made_of: String,
    /// Pairs of crystals that could count.
    pub num_pairs: u64,
    /// Σ m_p a_pj of each voxel, mm.
    pub volume: Volume,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    made_of: String,
    num_pairs: u64,
    size: [usize; 3],
    voxel_mm: [f64; 3],
    origin_mm: [f64; 3],
    data_file: String,
    data_checksum: String,
}

/// Reads a sensitivity.
///
/// # Errors
/// Not a header of this form, another version, an invalid grid, a data file that is missing, of another size or another one than
/// the header's; values that no sensitivity has.
pub fn read_sensitivity(path: &Path) -> Result<SavedSensitivity, IoError> {
    let (header, data) = FORM.read_header::<Header>(path)?;
    let grid = Grid::new(header.size, header.voxel_mm, header.origin_mm);
    let grid = grid.map_err(|source| IoError::Grid(path.to_owned(), source))?;
    let values = data.numbers(grid.num_voxels())?;
    if values.iter().any(|value| !(value.is_finite() && *value >= 0.0)) {
        return Err(FORM.refused(path, SensitivityProblem::Values(path.with_file_name(&header.data_file))));
    }
    let volume = Volume::from_vec(grid, values, Unit::Mm);
    let volume = volume.ok_or_else(|| FORM.refused(path, SensitivityProblem::Voxels))?;
    Ok(SavedSensitivity { made_of: header.made_of, num_pairs: header.num_pairs, volume })
}

/// Writes a sensitivity: the header to `path`, the numbers next to it.
///
/// # Errors
/// A failed write; existing files then remain.
pub fn write_sensitivity(path: &Path, sensitivity: &SavedSensitivity) -> Result<(), IoError> {
    let SavedSensitivity { made_of, num_pairs, volume } = sensitivity;
    let data = data_file(path);
    Form::write(
        [path, &data],
        |writer| write_f32_le(writer, volume.as_slice()),
        |data_file, data_checksum| Header {
            version: VERSION,
            made_of: made_of.clone(),
            num_pairs: *num_pairs,
            size: volume.grid.size,
            voxel_mm: volume.grid.voxel_mm,
            origin_mm: volume.grid.origin_mm,
            data_file,
            data_checksum,
        },
    )
}

/// Returns the data file that belongs to a header.
pub fn data_file(header: &Path) -> PathBuf {
    header.with_extension("sensitivity.f32")
}

/// A problem of a stored sensitivity.
#[derive(Debug, thiserror::Error)]
enum SensitivityProblem {
    /// A sensitivity that is negative or not finite.
    #[error("{} contains negative or non-finite values", .0.display())]
    Values(PathBuf),
    /// Another number of voxels than the grid has.
    #[error("its voxels do not fill its grid")]
    Voxels,
}
