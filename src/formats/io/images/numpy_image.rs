//! Images as NumPy arrays (`.npy`): values `[z, y, x]`, 32-bit floats. Grid and unit are in the provenance record of the array
//! ([`provenance`]), because an array has no field for them.

use std::path::{Path, PathBuf};

use crate::coded::coded;
use crate::data::{Notice, Unit, Volume};
use crate::geometry::Grid;
use crate::io::bytes::npy::{Array, read_array3, write_header};
use crate::io::bytes::{PendingFile, write_f32_le};
use crate::io::error::{IoError, Mismatch};
use crate::io::image_problem::ImageProblem;
use crate::io::notice;
use crate::io::own::provenance;
use crate::io::own::provenance::{Found, ImageRecord};

/// Reads an image, whose grid is in its provenance record, and its notices.
///
/// # Errors
/// No array of three dimensions, no provenance record, a record of another number of voxels.
pub fn read_image(path: &Path) -> Result<(Volume, Vec<Notice>), IoError> {
    let missing = || {
        let (record, image) = (provenance::path_beside(path), path.to_owned());
        IoError::unsupported(path, NumpyImageProblem::NoRecord(record, image))
    };
    let Found { record: found, path: record, names_the_file } = provenance::read(path).ok_or_else(missing)?;
    let image: ImageRecord = serde_json::from_value(found["image"].clone()).map_err(|_| missing())?;
    let (grid, unit) = image.grid_and_unit().map_err(|source| IoError::Grid(record.clone(), source))?;
    let array = read_array3(path)?;
    if array.shape != grid.shape() {
        let [nz, ny, nx] = array.shape;
        let problem = NumpyImageProblem::OtherRecord(record, Mismatch { found: [nx, ny, nz], expected: grid.size });
        return Err(IoError::unsupported(path, problem));
    }
    let (volume, mut notices) = volume(path, array, grid, unit)?;
    if !names_the_file {
        notices.push(notice::warning(path, format!("its grid is taken from {}, which does not name it", record.display())));
    }
    Ok((volume, notices))
}

/// Reads an array without a record, whose voxels have this size. Its middle is at the scanner's centre, and the unit of its
/// values is unknown.
///
/// # Errors
/// No array of three dimensions, invalid voxels.
pub fn read_image_of_voxels(path: &Path, voxel_mm: [f64; 3]) -> Result<(Volume, Vec<Notice>), IoError> {
    let array = read_array3(path)?;
    let [nz, ny, nx] = array.shape;
    let grid = Grid::centred([nx, ny, nz], voxel_mm).map_err(|source| IoError::Grid(path.to_owned(), source))?;
    volume(path, array, grid, Unit::Unknown)
}

fn volume(path: &Path, array: Array<3>, grid: Grid, unit: Unit) -> Result<(Volume, Vec<Notice>), IoError> {
    let volume = Volume::from_vec(grid, array.values, unit);
    let volume = volume.ok_or_else(|| IoError::unsupported(path, ImageProblem::Voxels))?;
    let left = (array.num_left > 0)
        .then(|| format!("it has {} more bytes than its header describes; they are left unread", array.num_left));
    let texts = [left, volume.not_finite().map(|values| values.to_string())].into_iter().flatten();
    let notices = texts.map(|text| notice::warning(path, text)).collect();
    Ok((volume, notices))
}

/// Writes the values of an image. Its grid is lost unless its provenance record is written too ([`provenance::write`]).
///
/// # Errors
/// A failed write; an existing file then remains.
pub fn write_image(path: &Path, volume: &Volume) -> Result<(), IoError> {
    let file = PendingFile::create(path)?;
    file.write(|writer| {
        write_header(writer, volume.grid.shape())?;
        write_f32_le(writer, volume.as_slice())
    })?;
    file.commit()
}

/// A problem of an image in a NumPy array.
#[derive(Debug, thiserror::Error)]
enum NumpyImageProblem {
    /// A missing provenance record, by its path and that of its image.
    #[error(
        "no provenance record with the position of its voxels ({}); copy the record there, or set the voxel size: \
         tomoscope convert {} OUT --voxel-mm X,Y,Z",
        .0.display(), .1.display()
    )]
    NoRecord(PathBuf, PathBuf),
    /// A record, by its path, of another size than its image.
    #[error(
        "it has {} × {} × {} voxels along x, y and z, its record {} has {} × {} × {}; they do not belong together",
        .1.found[0], .1.found[1], .1.found[2], .0.display(), .1.expected[0], .1.expected[1], .1.expected[2]
    )]
    OtherRecord(PathBuf, Mismatch<[usize; 3]>),
}

coded!(NumpyImageProblem = "io.unsupported.numpy");
