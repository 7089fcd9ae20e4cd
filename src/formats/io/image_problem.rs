//! Problems of images of any format.

use crate::coded::coded;

/// A problem of an image of any format.
#[derive(Debug, thiserror::Error)]
pub enum ImageProblem {
    /// The number of voxels is not that of the grid.
    #[error("its voxels do not fill its grid")]
    Voxels,
    /// A side, by its voxels, the format and its limit, that is too long for the format.
    #[error("a side of {0} voxels does not fit in {1} (at most {2}); write Interfile (.hv)")]
    LongSide(usize, &'static str, usize),
    /// An image that the file does not have: its number, and the number of images.
    #[error("it has no image {0}; its images are 1 to {1}")]
    NoSuchImage(usize, usize),
    /// Voxel axes that are not along the patient's, or not at right angles.
    #[error("its voxel axes are oblique to the patient's or not at right angles; resample it to axes along the patient's first")]
    Oblique,
    /// An oblique image in a format without directions.
    #[error("the image is oblique, and this format has no directions of axes; write NIfTI (.nii.gz) or DICOM (.dcm)")]
    ObliqueFormat,
}

coded!(ImageProblem = "io.unsupported.image");
