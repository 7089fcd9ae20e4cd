//! Problems of NIfTI files.

use crate::coded::coded;

/// A problem of a NIfTI file.
#[derive(Debug, thiserror::Error)]
pub enum NiftiProblem {
    /// A file that is shorter than a NIfTI header, by its bytes.
    #[error("it is not a NIfTI file: it has {0} bytes, and a header has 348 (NIfTI-2: 540)")]
    Short(usize),
    /// The header of a pair of files, under the name of one file.
    #[error("it is the header of a .hdr/.img pair; name it so, and put its .img into the same folder")]
    Pair,
    /// A pair of files that is to be written.
    #[error("pairs of .hdr and .img are read, not written; write one file (.nii, .nii.gz)")]
    WrittenPair,
    /// A header of ANALYZE 7.5.
    #[error("it is an ANALYZE 7.5 file, in which left and right are not defined; convert it to NIfTI")]
    Analyze,
    /// A file that does not begin with a NIfTI header.
    #[error("it is not a NIfTI file: its first bytes are no such header")]
    NotNifti,
    /// Several images, where one is expected.
    #[error("it has {0} images (4-D); take one out: tomoscope convert FILE OUT --frame 1 to {0}")]
    SeveralImages(usize),
    /// A size of the image that the NIfTI library refuses, with its message.
    #[error("invalid image size: {0}")]
    ImageSize(String),
    /// More than three dimensions and time: the volumes along a dimension, and its number.
    #[error("it has {0} volumes along dimension {1}; images of three dimensions and time are read, so split it")]
    Dimension(usize, usize),
    /// A side, by its voxels, that NIfTI does not allow.
    #[error("invalid side of {0} voxels; NIfTI allows 1 to {max}", max = i16::MAX)]
    Side(usize),
    /// Colours, complex numbers and the like.
    #[error("its data type has the code {0}; integers and floats of up to 64 bits are read (no colours, no complex numbers)")]
    DataType(i16),
    /// A slope and an intercept that are not numbers.
    #[error("its scale, slope {} and intercept {}, is not a number", .0[0], .0[1])]
    Scale([f64; 2]),
    /// Values that start within the header or far behind it.
    #[error("its values start at byte {0} ('vox_offset'); 352 is usual")]
    DataStart(f32),
    /// An affine that is not finite.
    #[error("its affine holds values that are not numbers")]
    Affine,
    /// A series of images on different grids.
    #[error("images that are not on one grid are no series: {0}")]
    SeriesGrids(ndarray::ShapeError),
    /// A series of no image or of too many, by their number.
    #[error("a series has 1 to {max} images, and this one {0}", max = i16::MAX)]
    SeriesLength(usize),
    /// An image without a field of its samples.
    #[error(
        "it has no spectra: the name of its intent is not 'tomoscope field'; expected an image of reconstruct --spectral-samples"
    )]
    NoFieldAxis,
}

coded!(NiftiProblem = "io.unsupported.nifti");
