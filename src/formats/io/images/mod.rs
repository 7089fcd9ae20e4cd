//! Images: NIfTI, NumPy, DICOM PET series and pictures in PNG. (Interfile: `sinograms`.)

pub mod description;
pub mod dicom;
pub mod film;
pub mod nifti;
pub mod numpy_image;
mod orientation;
pub mod png;
