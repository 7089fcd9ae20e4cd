//! Images as NumPy arrays (`.npy`): values `[z, y, x]`, 32-bit floats. Where the voxels are and what they hold is told by the
//! record beside the array ([`provenance`]), for an array has no place for it.

use std::path::Path;

use crate::data::{Notice, Unit, Volume};
use crate::geometry::Grid;
use crate::io::bytes::npy::{Array3, read_array3, write_header};
use crate::io::bytes::{PendingFile, write_f32_le};
use crate::io::error::{IoError, Unsupported};
use crate::io::own::provenance;
use crate::io::own::provenance::{Found, ImageRecord};

/// Reads an image whose grid stands in the record beside it, and says what a user should know about it.
///
/// # Errors
/// No array of three dimensions, no record beside it, a record of another number of voxels.
pub fn read_image(path: &Path) -> Result<(Volume, Vec<Notice>), IoError> {
    let missing = || {
        let (record, image) = (provenance::path_beside(path), path.to_owned());
        IoError::unsupported(path, Unsupported::NoRecord { record, image })
    };
    let Found { record: found, path: record, names_the_file } = provenance::read(path).ok_or_else(missing)?;
    let image: ImageRecord = serde_json::from_value(found["image"].clone()).map_err(|_| missing())?;
    let (grid, unit) = image.grid_and_unit().map_err(|source| IoError::Grid { path: record.clone(), source })?;
    let array = read_array3(path)?;
    if array.shape != grid.shape() {
        let [nz, ny, nx] = array.shape;
        let problem = Unsupported::OtherRecord { found: [nx, ny, nz], record, expected: grid.size };
        return Err(IoError::unsupported(path, problem));
    }
    let (volume, mut notices) = volume(path, array, grid, unit)?;
    if !names_the_file {
        let text = format!("{}: its grid is taken from {}, which does not name it", path.display(), record.display());
        notices.push(Notice::warning(text));
    }
    Ok((volume, notices))
}

/// The same of an array without a record, whose voxels have this size: its middle is put at the scanner's centre, and what its
/// values mean is not known.
///
/// # Errors
/// No array of three dimensions, voxels that cannot be.
pub fn read_image_of_voxels(path: &Path, voxel_mm: [f64; 3]) -> Result<(Volume, Vec<Notice>), IoError> {
    let array = read_array3(path)?;
    let [nz, ny, nx] = array.shape;
    let grid = Grid::centred([nx, ny, nz], voxel_mm).map_err(|source| IoError::Grid { path: path.to_owned(), source })?;
    volume(path, array, grid, Unit::Unknown)
}

fn volume(path: &Path, array: Array3, grid: Grid, unit: Unit) -> Result<(Volume, Vec<Notice>), IoError> {
    let volume = Volume::from_vec(grid, array.values, unit);
    let volume = volume.ok_or_else(|| IoError::unsupported(path, Unsupported::Voxels))?;
    let left = (array.num_left > 0)
        .then(|| format!("it has {} more bytes than its header describes; they are left unread", array.num_left));
    let texts = [left, volume.not_finite().map(|values| values.to_string())].into_iter().flatten();
    let notices = texts.map(|text| Notice::warning(format!("{}: {text}", path.display()))).collect();
    Ok((volume, notices))
}

/// Writes the values of an image. Its grid is lost unless a record is written beside it ([`provenance::write`]).
///
/// # Errors
/// The file cannot be written; what was there before then still is.
pub fn write_image(path: &Path, volume: &Volume) -> Result<(), IoError> {
    let file = PendingFile::create(path)?;
    file.write(|writer| {
        write_header(writer, volume.grid.shape())?;
        write_f32_le(writer, volume.as_slice())
    })?;
    file.commit()
}
